"""Claims about the state directory: one process, its owner's alone, keys for ever, snapshots."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.venue.journal_files import amounts, bit_flips, segment_files, write_log
from venue.storage.folder import make_directory
from venue.storage.record import StateFault
from venue.storage.statedir import LOCK_FILE, StateDir

ROOT = Path(__file__).parents[3]


def mode(path):
    return path.stat().st_mode & 0o777


def snapshots(state):
    """What the directory has, newest first."""
    return [sequence for sequence, _ in state.snapshots()]


# --- whose directory it is ------------------------------------------------------------------------


def test_the_state_directory_and_its_files_are_readable_by_their_owner_only(tmp_path):
    before = os.umask(0)
    try:
        path = write_log(tmp_path / "deep" / "state")
        with StateDir.open(path) as state:
            state.write_snapshot(5, b"payload")
        with StateDir.open_sealed(path):
            pass
    finally:
        os.umask(before)
    assert mode(path) == 0o700
    names = {file.name: mode(file) for file in path.iterdir()}
    assert len(names) == 6
    assert set(names.values()) == {0o600}


@pytest.mark.parametrize("name", ["x" * 300, "file", "file/state"])
def test_a_path_that_cannot_be_a_directory_is_a_fault(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(StateFault, match="cannot be opened"):
        StateDir.open(tmp_path / name)


@pytest.mark.parametrize("name", ["", "keys", "lock", "commands-00000000000000000001.log"])
def test_a_symbolic_link_as_the_directory_or_in_it_is_a_fault(tmp_path, name):
    path = write_log(tmp_path / "state")
    (path / name).rename(tmp_path / "elsewhere")
    (path / name).symlink_to(tmp_path / "elsewhere")
    fault = name or "symbolic link"
    with pytest.raises(StateFault, match=fault), StateDir.open(path) as state:
        amounts(state)


@pytest.mark.parametrize("bits", [0o770, 0o720, 0o702])
def test_a_directory_that_others_may_write_to_is_a_fault(tmp_path, bits):
    path = write_log(tmp_path / "state")
    path.chmod(bits)
    with pytest.raises(StateFault, match="chmod 700"):
        StateDir.open(path)
    path.chmod(0o755)
    StateDir.open(path).close()


def test_a_second_process_fails_at_once_with_the_process_id_of_the_first(tmp_path):
    path = write_log(tmp_path / "state")
    program = (
        "import sys; from pathlib import Path; from venue.storage.statedir import StateDir; "
        "StateDir.open(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", program, str(path)]
    with StateDir.open(path):
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False
        )
    assert done.returncode != 0
    assert f"in use by process {os.getpid()}" in done.stderr


def test_a_directory_without_its_lock_file_is_still_in_use(tmp_path):
    with StateDir.open(tmp_path / "state"):
        (tmp_path / "state" / LOCK_FILE).unlink()
        with pytest.raises(StateFault, match="in use by another process"):
            StateDir.open(tmp_path / "state")
    StateDir.open(tmp_path / "state").close()


def test_a_directory_in_use_is_a_fault_that_leaves_no_descriptor_open(tmp_path):
    with StateDir.open(tmp_path / "state"):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with pytest.raises(StateFault, match="in use"):
                StateDir.open(tmp_path / "state")
        assert len(os.listdir("/proc/self/fd")) == before
    StateDir.open(tmp_path / "state").close()


@pytest.mark.parametrize("made", [0, 1, 2, 3])
def test_every_new_directory_is_synced_in_its_parent_also_after_a_killed_attempt(
    tmp_path, monkeypatch, made
):
    levels = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"]
    synced = set()
    is_killed = made > 0

    def fsync(handle):
        if is_killed and levels[made - 1].exists():
            raise KeyboardInterrupt
        synced.add(os.readlink(f"/proc/self/fd/{handle}"))

    monkeypatch.setattr(os, "fsync", fsync)
    if made:
        with pytest.raises(KeyboardInterrupt):
            make_directory(levels[-1])
        assert [level.exists() for level in levels] == [place < made for place in range(3)]
    is_killed = False
    make_directory(levels[-1])
    assert levels[-1].is_dir()
    assert {str(level.parent) for level in levels} <= synced


# --- keys -----------------------------------------------------------------------------------------


def test_keys_survive_a_reopening_and_differ_between_directories(tmp_path):
    with StateDir.open(tmp_path / "one") as one:
        keys = (one.keys.order_id_key, one.keys.cursor_key)
    with StateDir.open(tmp_path / "one") as one, StateDir.open(tmp_path / "two") as two:
        assert (one.keys.order_id_key, one.keys.cursor_key) == keys
        assert len({*keys, two.keys.order_id_key, two.keys.cursor_key}) == 4
    assert {len(key) for key in keys} == {32}


def test_the_text_of_a_state_directory_shows_no_key(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        shown = f"{state!r} {state} {state.keys!r} {state.keys}"
        for key in (state.keys.order_id_key, state.keys.cursor_key):
            assert repr(key) not in shown
            assert key.hex() not in shown


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o666])
def test_keys_that_others_may_read_or_write_are_a_fault(tmp_path, bits):
    path = write_log(tmp_path / "state")
    (path / "keys").chmod(bits)
    with pytest.raises(StateFault, match="chmod 600"):
        StateDir.open(path)


def test_damaged_keys_are_a_fault(tmp_path):
    path = write_log(tmp_path / "state")
    whole = (path / "keys").read_bytes()
    cut = [whole[:length] for length in range(len(whole))]
    for damaged in (*bit_flips(whole), *cut):
        (path / "keys").write_bytes(damaged)
        with pytest.raises(StateFault, match="keys"):
            StateDir.open(path)


def test_a_log_without_keys_is_a_fault_and_gets_no_new_keys(tmp_path):
    path = write_log(tmp_path / "state")
    (path / "keys").unlink()
    with pytest.raises(StateFault, match="is missing"):
        StateDir.open(path)
    assert not (path / "keys").exists()


def test_a_half_written_keys_file_does_not_stop_a_start(tmp_path):
    path = tmp_path / "state"
    path.mkdir(0o700)
    (path / ".keys.new").write_bytes(b"half")
    with StateDir.open(path):
        assert sorted(file.name for file in path.iterdir()) == ["keys", "lock"]


# --- snapshots ------------------------------------------------------------------------------------


def test_snapshots_are_read_newest_first(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        assert next(state.snapshots(), None) is None
        state.write_snapshot(7, b"seven")
        state.write_snapshot(12, b"")
        state.write_snapshot(9, b"nine")
        assert next(state.snapshots(), None) == (12, b"")
        assert snapshots(state) == [12, 9, 7]
        assert state.notices == []


def test_a_damaged_snapshot_is_skipped_with_a_notice(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path) as state:
        state.write_snapshot(7, b"seven")
        state.write_snapshot(9, b"nine")
        newest = max(path.glob("snapshot-*"))
        whole = newest.read_bytes()
        cut = [whole[:length] for length in range(len(whole))]
        for damaged in (*bit_flips(whole), *cut):
            newest.write_bytes(damaged)
            state.notices.clear()
            assert next(state.snapshots(), None) == (7, b"seven")
            assert len(state.notices) == 1
            assert newest.name in state.notices[0]


def test_a_misnamed_snapshot_is_skipped_with_a_notice(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path) as state:
        state.write_snapshot(7, b"seven")
        (path / f"snapshot-{7:020d}.snap").rename(path / f"snapshot-{8:020d}.snap")
        assert next(state.snapshots(), None) is None
        assert "misnamed" in state.notices[0]


def test_a_snapshot_that_cannot_be_written_leaves_the_older_ones_and_nothing_else(
    tmp_path, monkeypatch
):
    path = tmp_path / "state"
    with StateDir.open(path) as state:
        state.write_snapshot(7, b"seven")
        names = sorted(path.iterdir())

        def refusing(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "pwrite", refusing)
        with pytest.raises(StateFault, match="No space left"):
            state.write_snapshot(9, b"nine")
        assert sorted(path.iterdir()) == names
        assert snapshots(state) == [7]


# --- sealed segments and pruning ------------------------------------------------------------------


def test_a_sealed_reader_sees_only_sealed_segments(tmp_path):
    path = write_log(tmp_path / "state", 8, segment_records=3)
    with StateDir.open(path) as server, StateDir.open_sealed(path) as reader:
        assert amounts(reader) == [1, 2, 3, 4, 5, 6]
        assert amounts(reader, 4) == [5, 6]
        assert amounts(reader, 6) == []
        assert amounts(server) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_sealed_reader_sees_nothing_of_an_only_segment(tmp_path):
    path = write_log(tmp_path / "state", 8)
    with StateDir.open_sealed(path) as reader:
        assert amounts(reader) == []


def test_a_directory_is_compacted_by_one_process_at_a_time(tmp_path):
    path = write_log(tmp_path / "state")
    with StateDir.open_sealed(path), pytest.raises(StateFault, match="being compacted by process"):
        StateDir.open_sealed(path)


def test_a_sealed_reader_does_not_create_a_missing_directory(tmp_path):
    with pytest.raises(StateFault, match="cannot be opened"):
        StateDir.open_sealed(tmp_path / "state")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("written_at", "damaged", "kept", "first_sequence"),
    [
        ((3, 6, 9), None, [9, 6], 7),
        ((5, 9), None, [9, 5], 4),  # the older one needs a segment in part
        ((9, 12), 12, [9], 1),
        ((3, 6, 9), 3, [9, 6], 7),
    ],
)
def test_pruning_keeps_two_good_snapshots_and_the_segments_they_need(
    tmp_path, written_at, damaged, kept, first_sequence
):
    path = write_log(tmp_path / "state", 14, segment_records=3)
    with StateDir.open(path) as state:
        for sequence in written_at:
            state.write_snapshot(sequence, b"payload")
        if damaged is not None:
            (path / f"snapshot-{damaged:020d}.snap").write_bytes(b"damaged")
        state.prune()
        assert snapshots(state) == kept
        assert state.first_sequence() == first_sequence
        for sequence in kept:
            assert amounts(state, sequence) == list(range(sequence + 1, 15))
        assert (path / f"snapshot-{3:020d}.snap").exists() is False


def test_the_next_snapshot_removes_a_half_written_one(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path) as state:
        left = path / f".snapshot-{7:020d}.snap.new"
        left.write_bytes(b"half of a snapshot")
        state.write_snapshot(9, b"nine")
        assert not left.exists()
        assert snapshots(state) == [9]


def test_pruning_keeps_the_segment_that_is_written_to(tmp_path):
    path = write_log(tmp_path / "state", 3)
    with StateDir.open(path) as state:
        state.write_snapshot(2, b"payload")
        state.write_snapshot(3, b"payload")
        state.prune()
        assert amounts(state, 3) == []
        assert len(segment_files(path)) == 1


def test_an_unknown_file_among_the_segments_is_a_fault(tmp_path):
    path = write_log(tmp_path / "state", 3)
    (path / "commands-1.log").write_bytes(b"")
    with pytest.raises(StateFault, match="take it away"):
        StateDir.open(path)
