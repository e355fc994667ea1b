"""Claims about a file that is replaced whole; one that a person named, as the file that it is."""

import os
import stat
import subprocess
import sys

import pytest

from bot.io.state import atomic_file as whole
from bot.io.state.atomic_file import replace_file, replace_named


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    replace_named(tmp_path / "a", b"1")
    (tmp_path / "b").write_bytes(b"1")
    assert (tmp_path / "a").read_bytes() == b"1"
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_the_mode_of_one_that_is_there_stays_and_a_link_still_leads_to_it(tmp_path):
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_bytes(b"old")
    there.chmod(0o640)
    link.symlink_to(there)
    replace_named(link, b"new")
    assert link.is_symlink()
    assert there.read_bytes() == b"new"
    assert stat.S_IMODE(there.stat().st_mode) == 0o640


def test_what_is_no_plain_file_takes_the_bytes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_named(pipe, b"through")
        assert os.read(reader, 99) == b"through"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_that_takes_no_other_file_has_this_one_overwritten(tmp_path, monkeypatch):
    def refused(*_arguments):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(whole.os, "open", refused)
    replace_named(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_one_that_cannot_be_written_leaves_the_old_content_and_nothing_else(tmp_path, monkeypatch):
    def broken(_handle):
        raise OSError(5, "Input/output error")

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(whole.os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output error"):
        replace_named(tmp_path / "a", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_what_a_killed_process_of_this_number_left_is_in_nobodys_way(tmp_path):
    (tmp_path / f"a.{os.getpid()}.new").write_bytes(b"half")
    replace_named(tmp_path / "a", b"whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"whole")]


def test_a_name_as_long_as_names_may_be_is_written(tmp_path):
    replace_named(tmp_path / ("n" * 255), b"1")
    assert (tmp_path / ("n" * 255)).read_bytes() == b"1"


def test_another_process_of_this_number_may_replace_the_file_meanwhile(tmp_path, monkeypatch):
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
