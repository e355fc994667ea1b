"""Claims about the command log: durable on return, whole or not at all, cut where it was torn."""

import contextlib
import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.venue.journal_files import amounts, deposits, segment_files, written
from venue.engine.messages import AddKey, Deposit, PlaceOrder
from venue.storage.log import BEGUN_FILE, LogBroken, LogFull
from venue.storage.record import HEADER_BYTES, LogRecord, StateFault, frame
from venue.storage.statedir import StateDir
from venue.wire.money import Outcome, Side
from venue.wire.requests import BudgetOrder, QtyOrder, TimeInForce
from venue.wire.routes import KeyScope

ROOT = Path(__file__).parents[3]


def reopened(path):
    """What the log holds after a restart, and the state directory's notices."""
    with StateDir.open(path) as state:
        held = amounts(state)
        state.log().close()
        assert amounts(state) == held
        return held, state.notices


def test_entries_come_back_with_sequence_instant_and_command(tmp_path):
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
    written(tmp_path / "state", 6, each=3)
    with StateDir.open(tmp_path / "state") as state:
        assert amounts(state, 7) == list(range(8, 19))
        assert amounts(state, 18) == []


def test_a_snapshot_beyond_the_end_of_the_log_is_a_fault(tmp_path):
    written(tmp_path / "state", 3)
    with StateDir.open(tmp_path / "state") as state, pytest.raises(StateFault, match="ends with"):
        amounts(state, 4)


def test_the_log_goes_on_where_it_ended(tmp_path):
    path = written(tmp_path / "state", 3)
    with StateDir.open(path) as state:
        log = state.log()
        assert log.next_sequence == 4
        log.append(2_000, deposits(2, 4))
        log.close()
        assert amounts(state) == [1, 2, 3, 4, 5]


def test_an_append_says_how_many_bytes_it_wrote(tmp_path):
    with StateDir.open(tmp_path / "state") as state:
        log = state.log()
        size = log.append(1, deposits(3)) + log.append(2, deposits(1, 4))
        log.close()
    assert segment_files(tmp_path / "state")[0].stat().st_size == HEADER_BYTES + size


def test_an_append_of_nothing_writes_nothing(tmp_path):
    path = written(tmp_path / "state", 1)
    before = segment_files(path)[0].read_bytes()
    with StateDir.open(path) as state:
        log = state.log()
        assert log.append(1, []) == 0
        log.close()
    assert segment_files(path)[0].read_bytes() == before


def test_a_log_cut_at_any_byte_loses_at_most_the_append_that_was_cut(tmp_path):
    path = written(tmp_path / "state", 4, each=2)
    file = segment_files(path)[0]
    whole = file.read_bytes()
    frame_bytes = (len(whole) - HEADER_BYTES) // 4
    for length in range(HEADER_BYTES, len(whole) + 1):
        file.write_bytes(whole[:length])
        held, notices = reopened(path)
        kept, torn = divmod(length - HEADER_BYTES, frame_bytes)
        assert held == list(range(1, 1 + 2 * kept))
        assert len(notices) == (torn > 0)
        assert file.stat().st_size == HEADER_BYTES + kept * frame_bytes


def test_a_log_cut_at_any_byte_takes_appends_again(tmp_path):
    path = written(tmp_path / "state", 2)
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
def test_rubbish_behind_the_last_append_is_cut_off(tmp_path, tail):
    path = written(tmp_path / "state", 3)
    file = segment_files(path)[0]
    whole = file.read_bytes()
    file.write_bytes(whole + tail)
    held, notices = reopened(path)
    assert held == [1, 2, 3]
    assert f"{len(tail)} bytes" in notices[0]
    assert file.read_bytes() == whole


def test_any_bit_flipped_in_the_middle_of_the_log_is_a_fault_that_names_file_and_byte(tmp_path):
    path = written(tmp_path / "state", 4)
    file = segment_files(path)[0]
    whole = file.read_bytes()
    frame_bytes = (len(whole) - HEADER_BYTES) // 4
    start = HEADER_BYTES + frame_bytes
    with StateDir.open(path) as state:
        for bit in range(start * 8, (start + frame_bytes) * 8):
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            file.write_bytes(flipped)
            with pytest.raises(StateFault, match=f"{file.name}, byte {start}: "):
                amounts(state)
            with pytest.raises(StateFault, match=f"{file.name}, byte {start}: "):
                state.log()
            assert file.read_bytes() == flipped


def test_any_bit_flipped_in_a_header_is_a_fault(tmp_path):
    path = written(tmp_path / "state", 2)
    file = segment_files(path)[0]
    whole = file.read_bytes()
    with StateDir.open(path) as state:
        for bit in range(HEADER_BYTES * 8):
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            file.write_bytes(flipped)
            with pytest.raises(StateFault, match=file.name):
                amounts(state)


def test_any_byte_cut_off_a_sealed_segment_is_a_fault(tmp_path):
    path = written(tmp_path / "state", 5, segment_records=3)
    file = segment_files(path)[0]
    whole = file.read_bytes()
    with StateDir.open(path) as state:
        for length in range(len(whole)):
            file.write_bytes(whole[:length])
            with pytest.raises(StateFault, match=file.name):
                amounts(state)


def test_a_missing_segment_is_a_fault(tmp_path):
    path = written(tmp_path / "state", 9, segment_records=3)
    first, second, _ = segment_files(path)
    second.rename(tmp_path / "kept")
    with StateDir.open(path) as state:
        with pytest.raises(StateFault, match="ends with sequence 3, and the next segment"):
            amounts(state)
        (tmp_path / "kept").rename(second)
        first.unlink()
        with pytest.raises(StateFault, match="begins with sequence 4, and 1 is needed"):
            amounts(state)


def test_a_record_that_repeats_a_sequence_is_a_fault(tmp_path):
    path = written(tmp_path / "state", 2)
    with segment_files(path)[0].open("ab") as file:
        file.write(frame(2, 9, deposits(1)))
    with StateDir.open(path) as state, pytest.raises(StateFault, match="sequence 2 instead of 3"):
        amounts(state)


def test_a_segment_of_a_later_version_is_refused_with_a_clear_word(tmp_path):
    path = written(tmp_path / "state", 1)
    file = segment_files(path)[0]
    later = bytearray(file.read_bytes())
    later[8] = 2
    file.write_bytes(later)
    with StateDir.open(path) as state, pytest.raises(StateFault, match="format version 2, and"):
        amounts(state)


def test_a_segment_of_another_directory_is_refused(tmp_path):
    ours, theirs = written(tmp_path / "ours"), written(tmp_path / "theirs")
    segment_files(ours)[0].write_bytes(segment_files(theirs)[0].read_bytes())
    with StateDir.open(ours) as state, pytest.raises(StateFault, match="another state directory"):
        amounts(state)


def test_the_log_goes_on_in_a_new_segment_after_so_many_records(tmp_path):
    path = written(tmp_path / "state", 7, segment_records=3)
    names = [file.name for file in segment_files(path)]
    assert names == [f"commands-{first:020d}.log" for first in (1, 4, 7)]
    assert reopened(path) == ([1, 2, 3, 4, 5, 6, 7], [])


def test_the_log_goes_on_in_a_new_segment_before_one_grows_too_long(tmp_path):
    path = written(tmp_path / "state", 40, segment_bytes=500)
    files = segment_files(path)
    assert len(files) > 2
    assert all(file.stat().st_size <= 500 for file in files)
    assert reopened(path) == (list(range(1, 41)), [])


def test_a_crash_between_making_a_segment_and_its_header_is_recovered_from(tmp_path):
    path = written(tmp_path / "state", 6, segment_records=3)
    header = segment_files(path)[1].read_bytes()[:HEADER_BYTES]
    newest = path / f"commands-{7:020d}.log"
    for length in range(HEADER_BYTES):
        (path / BEGUN_FILE).write_text("4")
        newest.write_bytes(header[:length])
        held, notices = reopened(path)
        assert held == [1, 2, 3, 4, 5, 6]
        assert len(notices) == 1
        assert reopened(path) == (held, [])
    (path / BEGUN_FILE).write_text("4")
    newest.write_bytes(bytes(HEADER_BYTES))
    assert reopened(path)[0] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("records", [3, 50_000])
def test_a_newest_segment_that_is_gone_or_emptied_is_a_fault_that_names_it(tmp_path, records):
    path = written(tmp_path / "state", 8, segment_records=records)
    newest = segment_files(path)[-1]
    for length in (0, HEADER_BYTES - 1):
        newest.write_bytes(newest.read_bytes()[:length])
        with pytest.raises(StateFault, match=f"{newest.name}: has been emptied"):
            StateDir.open(path)
    newest.unlink()
    with pytest.raises(StateFault, match=f"{newest.name}: is missing"):
        StateDir.open(path)
    assert newest not in segment_files(path)


def test_a_log_that_was_written_before_its_newest_segment_was_noted_is_noted_from_then_on(tmp_path):
    path = written(tmp_path / "state", 4, segment_records=3)
    (path / BEGUN_FILE).unlink()
    assert reopened(path) == ([1, 2, 3, 4], [])
    segment_files(path)[-1].unlink()
    with pytest.raises(StateFault, match="is missing"):
        StateDir.open(path)


@pytest.mark.parametrize("noted", [b"", b"x", b"-1"])
def test_a_damaged_note_of_the_newest_segment_is_a_fault(tmp_path, noted):
    path = written(tmp_path / "state", 3)
    (path / BEGUN_FILE).write_bytes(noted)
    with pytest.raises(StateFault, match="begun: is damaged"):
        StateDir.open(path)


# --- a disk that refuses --------------------------------------------------------------------------


@contextlib.contextmanager
def file_size_limit(size):
    """No file may grow beyond `size`; the operating system itself refuses."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def opened(tmp_path):
    """A state directory with three appends, and its log."""
    written(tmp_path / "state", 3)
    with StateDir.open(tmp_path / "state") as state:
        log = state.log()
        yield state, log
        log.close()


def only_file(state):
    """The one segment of a state directory."""
    (file,) = segment_files(state._folder.path)
    return file


def refuse(monkeypatch, name, number, when=lambda count: count == 1):
    """Let an operating system call fail with this errno on the calls that `when` names."""
    real, calls = getattr(os, name), []

    def refusing(*arguments, **named):
        calls.append(arguments)
        if when(len(calls)):
            raise OSError(number, os.strerror(number))
        return real(*arguments, **named)

    monkeypatch.setattr(os, name, refusing)
    return calls


def test_a_real_limit_on_the_size_leaves_nothing_of_the_append_and_later_ones_succeed(opened):
    state, log = opened
    before = only_file(state).read_bytes()
    with file_size_limit(len(before) + 10):
        for _ in range(3):
            with pytest.raises(LogFull):
                log.append(5, deposits(1, 4))
            assert only_file(state).read_bytes() == before
    log.append(6, deposits(1, 4))
    assert amounts(state) == [1, 2, 3, 4]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_leaves_nothing_of_the_append_and_later_ones_succeed(
    opened, monkeypatch, number
):
    state, log = opened
    before = only_file(state).read_bytes()
    refuse(monkeypatch, "pwrite", number)
    with pytest.raises(LogFull, match=only_file(state).name):
        log.append(5, deposits(1, 4))
    assert only_file(state).read_bytes() == before
    assert log.next_sequence == 4
    log.append(6, deposits(1, 4))
    assert amounts(state) == [1, 2, 3, 4]


def test_a_write_that_stops_half_way_is_cut_back(opened, monkeypatch):
    state, log = opened
    before = only_file(state).read_bytes()
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
    assert only_file(state).read_bytes() == before
    room[0] = 10_000
    log.append(6, deposits(2, 4))
    assert amounts(state) == [1, 2, 3, 4, 5]


def test_a_write_in_small_pieces_is_finished(opened, monkeypatch):
    state, log = opened
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda handle, data, at: real(handle, data[:3], at))
    log.append(5, deposits(2, 4))
    assert amounts(state) == [1, 2, 3, 4, 5]


def test_after_a_failed_sync_the_log_takes_nothing_more_and_never_syncs_again(opened, monkeypatch):
    _, log = opened
    syncs = refuse(monkeypatch, "fdatasync", errno.EIO)
    writes = refuse(monkeypatch, "pwrite", errno.EIO, when=lambda _: False)
    with pytest.raises(LogBroken):
        log.append(5, deposits(1, 4))
    for _ in range(3):
        with pytest.raises(LogBroken, match="synced"):
            log.append(6, deposits(1, 4))
    assert len(syncs) == 1
    assert len(writes) == 1


def test_a_log_that_was_deleted_takes_nothing_more(opened):
    state, log = opened
    only_file(state).unlink()
    for _ in range(2):
        with pytest.raises(LogBroken, match="was deleted"):
            log.append(5, deposits(1, 4))


def test_a_full_disk_at_the_sync_is_no_clean_refusal(opened, monkeypatch):
    _, log = opened
    refuse(monkeypatch, "fdatasync", errno.ENOSPC)
    with pytest.raises(LogBroken):
        log.append(5, deposits(1, 4))


def test_a_disk_that_errs_breaks_the_log(opened, monkeypatch):
    _, log = opened
    refuse(monkeypatch, "pwrite", errno.EIO)
    with pytest.raises(LogBroken):
        log.append(5, deposits(1, 4))
    with pytest.raises(LogBroken):
        log.append(5, deposits(1, 4))


@pytest.mark.parametrize("call", ["ftruncate", "fsync"])
def test_an_append_that_cannot_be_cut_back_breaks_the_log(opened, monkeypatch, call):
    state, log = opened
    refuse(monkeypatch, "pwrite", errno.ENOSPC)
    refuse(monkeypatch, call, errno.EIO)
    with pytest.raises(LogBroken):
        log.append(5, deposits(1, 4))
    monkeypatch.undo()
    with pytest.raises(LogBroken):
        log.append(5, deposits(1, 4))
    assert amounts(state) == [1, 2, 3]


@pytest.mark.parametrize(
    ("call", "number"),
    [
        *[("pwrite", errno.ENOSPC), ("open", errno.EMFILE)],
        *[("open", errno.ENFILE), ("open", errno.ENOMEM)],
    ],
)
def test_no_room_or_no_file_for_a_new_segment_leaves_no_trace_and_later_appends_succeed(
    tmp_path, monkeypatch, call, number
):
    path = written(tmp_path / "state", 3, segment_records=3)
    with StateDir.open(path, segment_records=3) as state:
        log = state.log()
        refuse(monkeypatch, call, number)
        with pytest.raises(LogFull, match=os.strerror(number)):
            log.append(5, deposits(1, 4))
        assert len(segment_files(path)) == 1
        log.append(6, deposits(1, 4))
        log.close()
        assert log.segments_begun == 1
        assert amounts(state) == [1, 2, 3, 4]


def test_an_entry_that_no_record_can_hold_is_refused_with_nothing_written(opened):
    state, log = opened
    before = only_file(state).read_bytes()
    with pytest.raises(OverflowError):
        log.append(5, [Deposit("ann", 1), Deposit("ann", 2**80)])
    assert only_file(state).read_bytes() == before
    log.append(6, deposits(1, 4))
    assert amounts(state) == [1, 2, 3, 4]


def test_a_closed_log_takes_nothing(opened):
    _, log = opened
    log.close()
    log.close()
    with pytest.raises(LogBroken, match="closed"):
        log.append(5, deposits(1, 4))


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


def test_what_was_acknowledged_before_a_kill_is_there_after_it(tmp_path):
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
        held, _ = reopened(path)
        assert len(held) >= acknowledged
        assert held == list(range(1, len(held) + 1))
        assert len(held) % 20 == 0
