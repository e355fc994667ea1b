"""Claims about the state directory: one process, its owner's alone, keys for ever, snapshots."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.venue.journal_files import amounts, segment_files, written
from venue.storage.record import StateFault
from venue.storage.statedir import LOCK_FILE, StateDir

ROOT = Path(__file__).parents[3]


def mode(path):
    """The permission bits of a file."""
    return path.stat().st_mode & 0o777


def snapshots(state):
    """What the directory has, newest first."""
    return [sequence for sequence, _ in state.snapshots()]


# --- whose directory it is ------------------------------------------------------------------------


def test_the_directory_and_everything_in_it_is_for_the_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        path = written(tmp_path / "deep" / "state")
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


def test_the_name_of_every_directory_that_is_made_is_synced_in_the_one_above(tmp_path, monkeypatch):
    synced, real = set(), os.fsync

    def noted(handle):
        synced.add(Path(os.readlink(f"/proc/self/fd/{handle}")))
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    path = tmp_path / "deep" / "er" / "state"
    StateDir.open(path).close()
    assert {tmp_path, tmp_path / "deep", tmp_path / "deep" / "er", path} <= synced


def test_a_name_that_no_directory_can_have_is_refused(tmp_path):
    with pytest.raises(StateFault, match="cannot be opened: File name too long"):
        StateDir.open(tmp_path / ("x" * 300))


def test_a_symbolic_link_to_a_directory_is_refused(tmp_path):
    written(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(StateFault, match="symbolic link"):
        StateDir.open(tmp_path / "link")


@pytest.mark.parametrize("name", ["keys", "lock", "commands-00000000000000000001.log"])
def test_a_symbolic_link_inside_is_refused(tmp_path, name):
    path = written(tmp_path / "state")
    (path / name).rename(tmp_path / "elsewhere")
    (path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateFault, match=name), StateDir.open(path) as state:
        amounts(state)


@pytest.mark.parametrize("bits", [0o770, 0o707, 0o720, 0o702])
def test_a_directory_that_others_may_write_to_is_refused(tmp_path, bits):
    path = written(tmp_path / "state")
    path.chmod(bits)
    if bits & 0o022:
        with pytest.raises(StateFault, match="chmod 700"):
            StateDir.open(path)
    path.chmod(0o755)
    StateDir.open(path).close()


def test_something_that_is_no_directory_is_refused(tmp_path):
    (tmp_path / "state").write_text("")
    with pytest.raises(StateFault, match="cannot be opened"):
        StateDir.open(tmp_path / "state")


def test_a_directory_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StateFault, match="cannot be opened"):
        StateDir.open(tmp_path / "file" / "state")


def test_a_second_process_is_refused_at_once_with_the_number_of_the_first(tmp_path):
    path = written(tmp_path / "state")
    program = (
        "import sys; from pathlib import Path; from venue.storage.statedir import StateDir; "
        "StateDir.open(Path(sys.argv[1]))"
    )
    with StateDir.open(path):
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    assert done.returncode != 0
    assert f"in use by process {os.getpid()}" in done.stderr


def test_a_directory_whose_lock_file_was_taken_away_is_in_use_all_the_same(tmp_path):
    with StateDir.open(tmp_path / "state"):
        (tmp_path / "state" / LOCK_FILE).unlink()
        with pytest.raises(StateFault, match="in use by another process"):
            StateDir.open(tmp_path / "state")
    StateDir.open(tmp_path / "state").close()


def test_a_directory_is_free_again_once_it_is_closed(tmp_path):
    with StateDir.open(tmp_path / "state"), pytest.raises(StateFault, match="in use"):
        StateDir.open(tmp_path / "state")
    StateDir.open(tmp_path / "state").close()


def test_a_refused_directory_leaves_no_descriptor_open(tmp_path):
    with StateDir.open(tmp_path / "state"):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with pytest.raises(StateFault):
                StateDir.open(tmp_path / "state")
        assert len(os.listdir("/proc/self/fd")) == before


# --- keys -----------------------------------------------------------------------------------------


def test_keys_are_made_once_and_differ_between_directories(tmp_path):
    with StateDir.open(tmp_path / "one") as one:
        keys = (one.keys.order_id_key, one.keys.cursor_key)
    with StateDir.open(tmp_path / "one") as one, StateDir.open(tmp_path / "two") as two:
        assert (one.keys.order_id_key, one.keys.cursor_key) == keys
        assert len({*keys, two.keys.order_id_key, two.keys.cursor_key}) == 4
    assert {len(key) for key in keys} == {32}


def test_keys_never_show(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        shown = f"{state!r} {state} {state.keys!r} {state.keys}"
        for key in (state.keys.order_id_key, state.keys.cursor_key):
            assert repr(key) not in shown
            assert key.hex() not in shown


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o666])
def test_keys_that_others_may_read_or_write_are_refused(tmp_path, bits):
    path = written(tmp_path / "state")
    (path / "keys").chmod(bits)
    with pytest.raises(StateFault, match="chmod 600"):
        StateDir.open(path)


def test_damaged_keys_are_refused(tmp_path):
    path = written(tmp_path / "state")
    whole = (path / "keys").read_bytes()
    for number in range(len(whole)):
        damaged = bytearray(whole)
        damaged[number] ^= 1
        (path / "keys").write_bytes(damaged)
        with pytest.raises(StateFault, match="keys"):
            StateDir.open(path)
        (path / "keys").write_bytes(whole[:number])
        with pytest.raises(StateFault, match="keys"):
            StateDir.open(path)


def test_a_log_without_keys_is_refused_and_gets_no_new_ones(tmp_path):
    path = written(tmp_path / "state")
    (path / "keys").unlink()
    with pytest.raises(StateFault, match="is missing"):
        StateDir.open(path)
    assert not (path / "keys").exists()


def test_what_a_crash_left_of_making_the_keys_does_no_harm(tmp_path):
    path = tmp_path / "state"
    path.mkdir(0o700)
    (path / ".keys.new").write_bytes(b"half")
    with StateDir.open(path):
        assert sorted(file.name for file in path.iterdir()) == ["keys", "lock"]


# --- snapshots ------------------------------------------------------------------------------------


def test_the_newest_snapshot_comes_back_whole(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        assert next(state.snapshots(), None) is None
        state.write_snapshot(7, b"seven")
        state.write_snapshot(12, b"")
        state.write_snapshot(9, b"nine")
        assert next(state.snapshots(), None) == (12, b"")
        assert snapshots(state) == [12, 9, 7]
        assert state.notices == []


def test_a_damaged_snapshot_is_passed_over_with_a_notice(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path) as state:
        state.write_snapshot(7, b"seven")
        state.write_snapshot(9, b"nine")
        newest = max(path.glob("snapshot-*"))
        whole = newest.read_bytes()
        for number in range(len(whole)):
            damaged = bytearray(whole)
            damaged[number] ^= 0x10
            for data in (damaged, whole[:number]):
                newest.write_bytes(data)
                state.notices.clear()
                assert next(state.snapshots(), None) == (7, b"seven")
                assert len(state.notices) == 1
                assert newest.name in state.notices[0]


def test_a_misnamed_snapshot_is_passed_over_with_a_notice(tmp_path):
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


def test_beside_a_server_only_sealed_segments_are_read(tmp_path):
    path = written(tmp_path / "state", 8, segment_records=3)
    with StateDir.open(path) as server, StateDir.open_sealed(path) as reader:
        assert amounts(reader) == [1, 2, 3, 4, 5, 6]
        assert amounts(reader, 4) == [5, 6]
        assert amounts(reader, 6) == []
        assert amounts(server) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_directory_with_one_segment_has_nothing_sealed(tmp_path):
    path = written(tmp_path / "state", 8)
    with StateDir.open_sealed(path) as reader:
        assert amounts(reader) == []


def test_a_directory_is_compacted_by_one_process_at_a_time(tmp_path):
    path = written(tmp_path / "state")
    with StateDir.open_sealed(path), pytest.raises(StateFault, match="being compacted by process"):
        StateDir.open_sealed(path)


def test_a_directory_that_is_not_there_is_not_made_by_a_reader(tmp_path):
    with pytest.raises(StateFault, match="cannot be opened"):
        StateDir.open_sealed(tmp_path / "state")
    assert not (tmp_path / "state").exists()


def test_pruning_keeps_two_snapshots_and_what_the_older_one_needs(tmp_path):
    path = written(tmp_path / "state", 14, segment_records=3)
    with StateDir.open(path) as state:
        for sequence in (3, 6, 9):
            state.write_snapshot(sequence, b"payload")
        state.prune()
        assert snapshots(state) == [9, 6]
        assert state.first_sequence() == 7
        assert amounts(state, 6) == list(range(7, 15))
        assert amounts(state, 9) == list(range(10, 15))


def test_pruning_keeps_a_segment_that_the_older_snapshot_needs_in_part(tmp_path):
    path = written(tmp_path / "state", 14, segment_records=3)
    with StateDir.open(path) as state:
        for sequence in (5, 9):
            state.write_snapshot(sequence, b"payload")
        state.prune()
        assert state.first_sequence() == 4
        assert amounts(state, 5) == list(range(6, 15))


def test_with_one_good_snapshot_nothing_is_pruned(tmp_path):
    path = written(tmp_path / "state", 14, segment_records=3)
    with StateDir.open(path) as state:
        state.write_snapshot(9, b"payload")
        state.write_snapshot(12, b"payload")
        (path / f"snapshot-{12:020d}.snap").write_bytes(b"damaged")
        state.prune()
        assert len(segment_files(path)) == 5
        assert snapshots(state) == [9]


def test_pruning_removes_older_damaged_snapshots(tmp_path):
    path = written(tmp_path / "state", 14, segment_records=3)
    with StateDir.open(path) as state:
        for sequence in (3, 6, 9):
            state.write_snapshot(sequence, b"payload")
        (path / f"snapshot-{3:020d}.snap").write_bytes(b"damaged")
        state.prune()
    assert len(list(path.glob("snapshot-*"))) == 2


def test_what_a_killed_writer_left_of_a_snapshot_goes_with_the_next_one(tmp_path):
    path = tmp_path / "state"
    with StateDir.open(path) as state:
        left = path / f".snapshot-{7:020d}.snap.new"
        left.write_bytes(b"half of a snapshot")
        state.write_snapshot(9, b"nine")
        assert not left.exists()
        assert snapshots(state) == [9]


def test_pruning_never_takes_the_segment_that_is_written_to(tmp_path):
    path = written(tmp_path / "state", 3)
    with StateDir.open(path) as state:
        state.write_snapshot(2, b"payload")
        state.write_snapshot(3, b"payload")
        state.prune()
        assert amounts(state, 3) == []
        assert len(segment_files(path)) == 1


def test_a_strange_file_among_the_segments_is_a_fault(tmp_path):
    path = written(tmp_path / "state", 3)
    (path / "commands-1.log").write_bytes(b"")
    with pytest.raises(StateFault, match="take it away"):
        StateDir.open(path)
