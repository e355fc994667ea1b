"""Claims about the command log: durable on return, whole or not at all, cut where it was torn."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.venue.journal_files import (
    amounts,
    bit_flips,
    deposits,
    file_size_limit,
    refuse_call,
    segment_files,
    write_log,
)
from venue.engine.messages import AddKey, Deposit, PlaceOrder
from venue.storage.log import BEGUN_FILE, LogBroken, LogFull
from venue.storage.record import HEADER_BYTES, LogRecord, StateFault, frame
from venue.storage.statedir import StateDir
from venue.wire.money import Outcome, Side
from venue.wire.requests import BudgetOrder, QtyOrder, TimeInForce
from venue.wire.routes import KeyScope

ROOT = Path(__file__).parents[3]


def after_restart(path):
    """What the log holds after a restart, and the state directory's notices."""
    with StateDir.open(path) as state:
        held = amounts(state)
        state.log().close()
        assert amounts(state) == held
        return held, state.notices


def test_the_log_reads_back_each_entry_with_its_sequence_and_instant(tmp_path):
    commands = [
        AddKey("ab" * 32, "lm_abc", None, (KeyScope.READ, KeyScope.TRADE)),
        PlaceOrder(
            "ann", QtyOrder("m", Outcome.YES, Side.BUY, 50, 3, TimeInForce.GTC, 'id "1" \u20ac')
        ),
        PlaceOrder("ann", BudgetOrder("m", Outcome.NO, 50, 2**62, TimeInForce.IOC, "id 2")),
    ]
    with StateDir.open(tmp_path / "state") as state:
        log = state.log()
        log.append(10, commands[:1])
        log.append(20, commands[1:])
        assert log.next_sequence == 4
        assert list(state.entries(0)) == [
            LogRecord(1, 10, commands[0]),
            LogRecord(2, 20, commands[1]),
            LogRecord(3, 20, commands[2]),
        ]
        log.close()


def test_entries_begin_after_the_given_sequence(tmp_path):
    write_log(tmp_path / "state", 6, each=3)
    with StateDir.open(tmp_path / "state") as state:
        assert amounts(state, 7) == list(range(8, 19))
        assert amounts(state, 18) == []


def test_a_reopened_log_appends_after_its_last_entry(tmp_path):
    path = write_log(tmp_path / "state", 3)
    with StateDir.open(path) as state:
        log = state.log()
        assert log.next_sequence == 4
        assert log.append(1_500, []) == 0
        log.append(2_000, deposits(2, 4))
        log.close()
        assert amounts(state) == [1, 2, 3, 4, 5]


def test_an_append_returns_the_bytes_it_wrote(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        log = state.log()
        size = log.append(1, deposits(3)) + log.append(2, deposits(1, 4))
        log.close()
    assert segment_files(tmp_path / "state")[0].stat().st_size == HEADER_BYTES + size


def test_a_log_cut_at_any_byte_loses_only_the_torn_append(tmp_path):
    path = write_log(tmp_path / "state", 4, each=2)
    file = segment_files(path)[0]
    whole = file.read_bytes()
    frame_bytes = (len(whole) - HEADER_BYTES) // 4
    for length in range(HEADER_BYTES, len(whole) + 1):
        file.write_bytes(whole[:length])
        held, notices = after_restart(path)
        kept, torn = divmod(length - HEADER_BYTES, frame_bytes)
        assert held == list(range(1, 1 + 2 * kept))
        assert len(notices) == (torn > 0)
        assert file.stat().st_size == HEADER_BYTES + kept * frame_bytes


def test_a_log_cut_at_any_byte_takes_appends_again(tmp_path):
    path = write_log(tmp_path / "state", 2)
    file = segment_files(path)[0]
    whole = file.read_bytes()
    for length in range(HEADER_BYTES, len(whole), 7):
        file.write_bytes(whole[:length])
        with StateDir.open(path) as state:
            log = state.log()
            log.append(9, [Deposit("ann", 99)])
            log.close()
            assert amounts(state) == [*range(1, log.next_sequence - 1), 99]


@pytest.mark.parametrize("tail", [bytes(1), bytes(4096), b"\xff" * 100, b"\x93" * 9000])
def test_the_log_cuts_off_garbage_after_its_last_append(tmp_path, tail):
    path = write_log(tmp_path / "state", 3)
    file = segment_files(path)[0]
    whole = file.read_bytes()
    file.write_bytes(whole + tail)
    held, notices = after_restart(path)
    assert held == [1, 2, 3]
    assert f"{len(tail)} bytes" in notices[0]
    assert file.read_bytes() == whole


@pytest.mark.parametrize("part", ["header", "middle"])
def test_a_flipped_bit_in_the_log_is_a_fault_that_names_the_file_and_byte(tmp_path, part):
    path = write_log(tmp_path / "state", 4)
    file = segment_files(path)[0]
    whole = file.read_bytes()
    frame_bytes = (len(whole) - HEADER_BYTES) // 4
    start, length = {
        "header": (0, HEADER_BYTES),
        "middle": (HEADER_BYTES + frame_bytes, frame_bytes),
    }[part]
    named = file.name if part == "header" else f"{file.name}, byte {start}: "
    with StateDir.open(path) as state:
        for flipped in bit_flips(whole, start, start + length):
            file.write_bytes(flipped)
            with pytest.raises(StateFault, match=named):
                amounts(state)
            with pytest.raises(StateFault, match=named):
                state.log()
            assert file.read_bytes() == flipped


def test_a_cut_sealed_segment_is_a_fault(tmp_path):
    path = write_log(tmp_path / "state", 5, segment_records=3)
    file = segment_files(path)[0]
    whole = file.read_bytes()
    with StateDir.open(path) as state:
        for length in range(len(whole)):
            file.write_bytes(whole[:length])
            with pytest.raises(StateFault, match=file.name):
                amounts(state)


def test_a_missing_segment_is_a_fault(tmp_path):
    path = write_log(tmp_path / "state", 9, segment_records=3)
    first, second, _ = segment_files(path)
    second.rename(tmp_path / "kept")
    with StateDir.open(path) as state:
        with pytest.raises(StateFault, match="ends with sequence 3, and the next segment"):
            amounts(state)
        (tmp_path / "kept").rename(second)
        first.unlink()
        with pytest.raises(StateFault, match="begins with sequence 4, and 1 is needed"):
            amounts(state)


@pytest.mark.parametrize(
    ("segment", "after_sequence", "fault"),
    [
        (lambda ours, theirs: ours[:8] + b"\x02" + ours[9:], 0, "format version 2, and"),
        (lambda ours, theirs: theirs, 0, "another state directory"),
        (lambda ours, theirs: ours + frame(2, 9, deposits(1)), 0, "sequence 2 instead of 4"),
        (lambda ours, theirs: ours, 4, "ends with"),
    ],
    ids=["later version", "other directory", "sequence twice", "snapshot beyond the end"],
)
def test_a_log_that_cannot_be_the_directory_s_own_is_a_fault(
    tmp_path, segment, after_sequence, fault
):
    path = write_log(tmp_path / "ours", 3)
    (file,), (theirs,) = segment_files(path), segment_files(write_log(tmp_path / "theirs"))
    file.write_bytes(segment(file.read_bytes(), theirs.read_bytes()))
    with StateDir.open(path) as state, pytest.raises(StateFault, match=fault):
        amounts(state, after_sequence)


def test_the_log_begins_a_new_segment_after_its_maximum_of_records_or_bytes(tmp_path):
    path = write_log(tmp_path / "records", 7, segment_records=3)
    names = [file.name for file in segment_files(path)]
    assert names == [f"commands-{first:020d}.log" for first in (1, 4, 7)]
    assert after_restart(path) == ([1, 2, 3, 4, 5, 6, 7], [])
    path = write_log(tmp_path / "bytes", 40, segment_bytes=500)
    files = segment_files(path)
    assert len(files) > 2
    assert all(file.stat().st_size <= 500 for file in files)
    assert after_restart(path) == (list(range(1, 41)), [])


def test_the_log_recovers_from_a_crash_before_a_new_segment_s_header(tmp_path):
    path = write_log(tmp_path / "state", 6, segment_records=3)
    header = segment_files(path)[1].read_bytes()[:HEADER_BYTES]
    newest = path / f"commands-{7:020d}.log"
    for length in range(HEADER_BYTES):
        (path / BEGUN_FILE).write_text("4")
        newest.write_bytes(header[:length])
        held, notices = after_restart(path)
        assert held == [1, 2, 3, 4, 5, 6]
        assert len(notices) == 1
        assert after_restart(path) == (held, [])
    (path / BEGUN_FILE).write_text("4")
    newest.write_bytes(bytes(HEADER_BYTES))
    assert after_restart(path)[0] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("records", [3, 50_000])
def test_a_missing_or_emptied_newest_segment_is_a_fault_that_names_it(tmp_path, records):
    path = write_log(tmp_path / "state", 8, segment_records=records)
    newest = segment_files(path)[-1]
    for length in (0, HEADER_BYTES - 1):
        newest.write_bytes(newest.read_bytes()[:length])
        with pytest.raises(StateFault, match=f"{newest.name}: has been emptied"):
            StateDir.open(path)
    newest.unlink()
    with pytest.raises(StateFault, match=f"{newest.name}: is missing"):
        StateDir.open(path)
    assert newest not in segment_files(path)


def test_opening_a_log_of_an_older_version_notes_its_newest_segment(tmp_path):
    path = write_log(tmp_path / "state", 4, segment_records=3)
    (path / BEGUN_FILE).unlink()
    assert after_restart(path) == ([1, 2, 3, 4], [])
    segment_files(path)[-1].unlink()
    with pytest.raises(StateFault, match="is missing"):
        StateDir.open(path)


@pytest.mark.parametrize("noted", [b"", b"x", b"-1"])
def test_a_damaged_note_of_the_newest_segment_is_a_fault(tmp_path, noted):
    path = write_log(tmp_path / "state", 3)
    (path / BEGUN_FILE).write_bytes(noted)
    with pytest.raises(StateFault, match="begun: is damaged"):
        StateDir.open(path)


# --- a disk that refuses --------------------------------------------------------------------------


@pytest.fixture
def open_log(tmp_path):
    """A state directory with three appends, its log and the log's file."""
    path = write_log(tmp_path / "state", 3)
    with StateDir.open(path) as state:
        log = state.log()
        yield state, log, segment_files(path)[0]
        log.close()


def test_an_append_beyond_the_system_s_file_size_limit_leaves_no_trace(open_log):
    state, log, file = open_log
    before = file.read_bytes()
    with file_size_limit(len(before) + 10):
        for _ in range(3):
            with pytest.raises(LogFull):
                log.append(5, deposits(1, 4))
            assert file.read_bytes() == before
    log.append(6, deposits(1, 4))
    assert amounts(state) == [1, 2, 3, 4]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_an_append_to_a_full_disk_leaves_no_trace_and_the_next_append_succeeds(
    open_log, monkeypatch, number
):
    state, log, file = open_log
    before = file.read_bytes()
    refuse_call(monkeypatch, "pwrite", number)
    with pytest.raises(LogFull, match=file.name):
        log.append(5, deposits(1, 4))
    assert file.read_bytes() == before
    assert log.next_sequence == 4
    log.append(6, deposits(1, 4))
    assert amounts(state) == [1, 2, 3, 4]


def test_a_write_that_stops_half_way_is_cut_back(open_log, monkeypatch):
    state, log, file = open_log
    before = file.read_bytes()
    real = os.pwrite
    room = [7]

    def stopping(handle, data, offset):
        if not room[0]:
            raise OSError(errno.ENOSPC, "no room")
        count = real(handle, data[: room[0]], offset)
        room[0] -= count
        return count

    monkeypatch.setattr(os, "pwrite", stopping)
    with pytest.raises(LogFull):
        log.append(5, deposits(2, 4))
    assert file.read_bytes() == before
    room[0] = 10_000
    log.append(6, deposits(2, 4))
    assert amounts(state) == [1, 2, 3, 4, 5]


def test_a_log_finishes_a_write_that_the_system_takes_in_pieces(open_log, monkeypatch):
    state, log, _ = open_log
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda handle, data, at: real(handle, data[:3], at))
    log.append(5, deposits(2, 4))
    assert amounts(state) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "failing",
    [
        [("fdatasync", errno.EIO)],
        [("fdatasync", errno.ENOSPC)],
        [("pwrite", errno.EIO)],
        [("pwrite", errno.ENOSPC), ("ftruncate", errno.EIO)],
        [("pwrite", errno.ENOSPC), ("fsync", errno.EIO)],
    ],
    ids=["sync", "disk full at the sync", "write", "cutting back", "sync of the cut"],
)
def test_after_an_unclear_disk_fault_the_log_is_broken_and_asks_the_disk_no_more(
    open_log, monkeypatch, failing
):
    state, log, _ = open_log
    calls = [refuse_call(monkeypatch, name, number) for name, number in failing]
    for _ in range(3):
        with pytest.raises(LogBroken):
            log.append(5, deposits(1, 4))
    assert [len(each) for each in calls] == [1] * len(failing)
    assert amounts(state)[:3] == [1, 2, 3]


def test_a_log_whose_file_was_deleted_takes_nothing_more(open_log):
    _, log, file = open_log
    file.unlink()
    for _ in range(2):
        with pytest.raises(LogBroken, match="was deleted"):
            log.append(5, deposits(1, 4))


@pytest.mark.parametrize(
    ("call", "number"),
    [
        *[("pwrite", errno.ENOSPC), ("open", errno.EMFILE)],
        *[("open", errno.ENFILE), ("open", errno.ENOMEM)],
    ],
)
def test_a_segment_that_cannot_be_created_leaves_no_trace_and_the_next_append_succeeds(
    tmp_path, monkeypatch, call, number
):
    path = write_log(tmp_path / "state", 3, segment_records=3)
    with StateDir.open(path, segment_records=3) as state:
        log = state.log()
        refuse_call(monkeypatch, call, number)
        with pytest.raises(LogFull, match=os.strerror(number)):
            log.append(5, deposits(1, 4))
        assert len(segment_files(path)) == 1
        log.append(6, deposits(1, 4))
        log.close()
        assert log.segments_begun == 1
        assert amounts(state) == [1, 2, 3, 4]


def test_an_append_with_an_entry_beyond_64_bits_writes_nothing(open_log):
    state, log, file = open_log
    before = file.read_bytes()
    with pytest.raises(OverflowError):
        log.append(5, [Deposit("ann", 1), Deposit("ann", 2**80)])
    assert file.read_bytes() == before
    log.append(6, deposits(1, 4))
    assert amounts(state) == [1, 2, 3, 4]


def test_a_closed_log_takes_no_append(open_log):
    _, log, _ = open_log
    log.close()
    log.close()
    with pytest.raises(LogBroken, match="closed"):
        log.append(5, deposits(1, 4))


def test_a_probe_for_room_leaves_no_trace_in_the_log(tmp_path):
    path = write_log(tmp_path / "state", 3)
    (segment,) = segment_files(path)
    with StateDir.open(path) as state:
        log = state.log()
        before = segment.read_bytes()
        with file_size_limit(len(before) + 100), pytest.raises(LogFull):
            log.try_room()
        assert segment.read_bytes() == before
        log.try_room()
        assert segment.read_bytes() == before
        log.append(5, deposits(1, 4))
        log.close()
        assert amounts(state) == [1, 2, 3, 4]


def test_a_probe_that_cannot_be_cut_back_breaks_the_log_until_it_is_reopened(tmp_path, monkeypatch):
    path = write_log(tmp_path / "state", 3)
    with StateDir.open(path) as state:
        log = state.log()
        refuse_call(monkeypatch, "ftruncate", errno.EIO)
        with pytest.raises(LogBroken):
            log.try_room()
        with pytest.raises(LogBroken):
            log.try_room()
        log.close()
    with StateDir.open(path) as state:
        log = state.log()
        log.append(5, deposits(1, 4))
        log.close()
        assert amounts(state) == [1, 2, 3, 4]


def test_a_probe_begins_the_segment_that_could_not_be_created(tmp_path, monkeypatch):
    path = write_log(tmp_path / "state", 3, segment_records=3)
    with StateDir.open(path, segment_records=3) as state:
        log = state.log()
        refuse_call(monkeypatch, "open", errno.EMFILE)
        with pytest.raises(LogFull, match=os.strerror(errno.EMFILE)):
            log.append(5, deposits(1, 4))
        log.try_room()
        log.try_room()
        assert log.segments_begun == 1
        log.append(5, deposits(1, 4))
        log.close()
        assert amounts(state) == [1, 2, 3, 4]


APPENDER = """
import sys
from pathlib import Path
from tests.builders.venue.journal_files import deposits
from venue.storage.statedir import StateDir
with StateDir.open(Path(sys.argv[1])) as state:
    log = state.log()
    while True:
        log.append(1, deposits(20, log.next_sequence))
        sys.stdout.write(f"{log.next_sequence - 1}\\n")
        sys.stdout.flush()
"""


def test_a_killed_process_loses_no_acknowledged_append(tmp_path):
    path = tmp_path / "state"
    acknowledged = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", APPENDER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for _ in range(40):
            process.stdout.readline()
        process.kill()
        said = process.communicate()[0].splitlines()
        acknowledged = max([acknowledged, *map(int, said)])
        held, _ = after_restart(path)
        assert len(held) >= acknowledged
        assert held == list(range(1, len(held) + 1))
        assert len(held) % 20 == 0
