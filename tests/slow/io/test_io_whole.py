"""Claims about replacing a file: readers see the old content or the new, never a part."""

import os
import stat
import subprocess
import sys

import pytest

from bot.io.state import atomic_file as whole
from bot.io.state.atomic_file import replace_file, replace_named


@pytest.mark.parametrize("name", ["a", "n" * 255], ids=["short", "longest"])
def test_a_new_file_has_the_mode_of_any_new_file(tmp_path, name):
    replace_named(tmp_path / name, b"1")
    (tmp_path / "b").write_bytes(b"1")
    assert (tmp_path / name).read_bytes() == b"1"
    assert (tmp_path / name).stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_replaced_file_keeps_its_mode_and_the_link_to_it(tmp_path):
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_bytes(b"old")
    there.chmod(0o640)
    link.symlink_to(there)
    replace_named(link, b"new")
    assert link.is_symlink()
    assert there.read_bytes() == b"new"
    assert stat.S_IMODE(there.stat().st_mode) == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_named(pipe, b"through")
        assert os.read(reader, 99) == b"through"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_is_overwritten_where_its_folder_takes_no_new_file(tmp_path, monkeypatch):
    def refused(*_arguments):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(whole.os, "open", refused)
    replace_named(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_content_and_no_other_file(tmp_path, monkeypatch):
    def broken(_handle):
        raise OSError(5, "Input/output error")

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(whole.os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output error"):
        replace_named(tmp_path / "a", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_the_half_written_file_of_a_killed_process_is_replaced(tmp_path):
    (tmp_path / f"a.{os.getpid()}.new").write_bytes(b"half")
    replace_named(tmp_path / "a", b"whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"whole")]


def test_two_processes_with_one_id_may_replace_a_file_at_once(tmp_path, monkeypatch):
    place, really = tmp_path / "a", os.fsync
    other = (
        f"import os; os.getpid = lambda: {os.getpid()}; from pathlib import Path; "
        "from bot.io.state.atomic_file import replace_file; "
        f"replace_file(Path({str(place)!r}), b'other')"
    )

    def meanwhile(handle: int) -> None:
        monkeypatch.setattr(whole.os, "fsync", really)
        subprocess.run([sys.executable, "-c", other], check=True)
        really(handle)

    monkeypatch.setattr(whole.os, "fsync", meanwhile)
    replace_file(place, b"ours")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"ours")]
