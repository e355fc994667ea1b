"""Claims about crashes: whatever call of the operating system is the last one, nothing is lost.

A crash is simulated at every call that changes the disk in turn, and a power cut that takes what
was not synced. What has been acknowledged until then must be there afterwards.
"""

import pytest

from tests.builders.venue.journal_disk import Disk, crashes
from tests.builders.venue.journal_files import amounts, deposits, segment_files, written
from tests.builders.venue.recovery_histories import carried_out, full_hash
from venue.storage.recovery import compact, recover
from venue.storage.statedir import StateDir


@pytest.fixture
def disk(monkeypatch):
    """The disk of this process."""
    return Disk(monkeypatch)


def test_acknowledged_appends_survive_a_crash_at_any_call(disk, tmp_path):
    acknowledged = {}

    def act(path):
        acknowledged[path] = 0
        with StateDir.open(path, segment_records=4) as state:
            log = state.log()
            for _ in range(6):
                log.append(7, deposits(2, log.next_sequence))
                acknowledged[path] = log.next_sequence - 1

    def check(path):
        with StateDir.open(path, segment_records=4) as state:
            held = amounts(state)
            log = state.log()
            assert amounts(state) == held
            assert len(held) >= acknowledged[path]
            assert len(held) <= acknowledged[path] + 2
            assert held == list(range(1, len(held) + 1))
            assert len(held) % 2 == 0
            log.append(8, deposits(3, log.next_sequence))
            log.close()
            assert amounts(state) == list(range(1, len(held) + 4))

    assert crashes(disk, tmp_path, act, check) > 50


@pytest.mark.parametrize("more", [0, 1])
def test_what_an_opened_log_goes_on_from_survives_a_power_cut(disk, tmp_path, more):
    def act(path):
        with StateDir.open(path, segment_records=1) as state:
            log = state.log()
            for _ in range(2):
                log.append(7, deposits(1, log.next_sequence))

    def check(path):
        with StateDir.open(path) as state:
            log = state.log()
            log.append(8, deposits(more, log.next_sequence))
            log.close()
            held = amounts(state)
        disk.cut_power(path)
        with StateDir.open(path) as state:
            assert amounts(state) == held

    assert crashes(disk, tmp_path, act, check) > 30


def test_keys_that_have_been_used_survive_a_crash_at_any_call(disk, tmp_path):
    used = {}

    def act(path):
        with StateDir.open(path) as state:
            used[path] = state.keys.order_id_key, state.keys.cursor_key
            state.write_snapshot(1, b"after their first use")

    def check(path):
        with StateDir.open(path) as state:
            keys = state.keys.order_id_key, state.keys.cursor_key
        assert used.get(path, keys) == keys
        assert not (path / ".keys.new").exists()

    assert crashes(disk, tmp_path, act, check) > 10


def test_cutting_a_torn_tail_can_itself_be_cut_short(disk, tmp_path):
    torn = written(tmp_path / "torn", 3)
    with segment_files(torn)[0].open("ab") as file:
        file.write(b"half of an append")

    def act(path):
        with StateDir.open(path) as state:
            state.log().close()

    def check(path):
        with StateDir.open(path) as state:
            assert amounts(state) == [1, 2, 3]
            state.log().close()
            assert amounts(state) == [1, 2, 3]

    assert crashes(disk, tmp_path, act, check, torn) > 6


def test_a_crash_at_any_call_of_compacting_changes_nothing_of_what_is_recovered(disk, tmp_path):
    grown = tmp_path / "grown"
    with StateDir.open(grown, segment_records=20) as state:
        live = full_hash(
            carried_out(state, 5, 60, lambda e: e.sequence in (30, 90) and compact(grown))
        )

    def check(path):
        with StateDir.open(path) as state:
            assert full_hash(recover(state)) == live
            assert state.notices == []
        compact(path)
        with StateDir.open(path) as state:
            assert full_hash(recover(state)) == live

    assert crashes(disk, tmp_path, compact, check, grown) > 20
