"""Claims about the journal: torn anywhere it reads to its last whole entry; no intent is lost."""

import asyncio
import errno
import os
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.io.journal import journal as journal_module
from bot.io.journal.journal import Journal, cut_torn_tail, read_journal, remember, segments
from bot.io.journal.records import OPENING, Entry, Head, JournalFault, Segment, framed
from bot.io.state.locks import StateDirectory, StateFault
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, create, sent
from venue.wire import codec, model
from venue.wire.names import ClientOrderId

pytestmark = pytest.mark.anyio

DONE = m.Ok(m.OrderBody(codec.decode(ORDER_JSON, model.Order)))


@pytest.fixture
def anyio_backend():
    return "asyncio"


def intent(name: str) -> m.UnconfirmedCreate:
    made = create(name)
    return m.UnconfirmedCreate(made.order, made.body)


def reply(answer: m.Answer, number: int = 1) -> m.Response:
    return m.Response(m.RequestId(number), answer)


SAMPLE: list[m.Event | m.Effect] = [
    m.Started("ab" * 10, (intent("old-1"),)),
    m.Tick(),
    m.BookUpdate(create().order.market_id, 5, ((40, 7),), ((45, 3),)),
    sent(create("a-1"), 1),
    sent(m.CancelResting(ORDER_ID), 2),
    reply(DONE, 1),
    m.Noted("info", "quoting", {"rungs": 3, "text": "x"}),
    m.WakeAt(9),
    m.DrainComplete((ORDER_ID,), (ClientOrderId("a-2"),)),
]


def segment_bytes(messages=SAMPLE, left=()) -> bytes:
    entries = b"".join(framed(Entry(number, each)) for number, each in enumerate(messages))
    return OPENING + framed(Head(1, tuple(left))) + entries


def test_every_message_reads_back_as_it_was():
    segment = Segment(segment_bytes(), "s")
    assert [entry.message for entry in segment.entries()] == SAMPLE


def test_a_segment_cut_at_any_byte_reads_to_the_last_whole_entry(tmp_path):
    data = segment_bytes()
    ends = []
    at = len(OPENING + framed(Head(1, ())))
    for number, each in enumerate(SAMPLE):
        at += len(framed(Entry(number, each)))
        ends.append(at)
    path = tmp_path / "journal-00000001.log"
    for cut in range(len(data)):
        segment = Segment(data[:cut], "s")
        whole = sum(end <= cut for end in ends)
        assert [entry.message for entry in segment.entries()] == SAMPLE[:whole]
        assert segment.whole_bytes <= cut
    path.write_bytes(data[:-3])
    assert cut_torn_tail(path) == len(framed(Entry(8, SAMPLE[8]))) - 3
    assert path.read_bytes() == data[: ends[-2]]
    assert cut_torn_tail(path) == 0


# Not the version's byte: damaged, it may be that of another version that is read.
@given(
    st.integers(0, len(segment_bytes()) - 1).filter(lambda at: at != len(OPENING) - 1),
    st.integers(1, 255),
)
def test_a_damaged_byte_never_yields_a_wrong_entry(at, flip):
    data = bytearray(segment_bytes())
    data[at] ^= flip
    try:
        entries = [entry.message for entry in Segment(bytes(data), "s").entries()]
    except JournalFault:
        assert at < len(OPENING)
        return
    assert entries == SAMPLE[: len(entries)]
    assert len(entries) < len(SAMPLE)


def test_another_version_is_refused_with_a_clear_word(tmp_path):
    path = tmp_path / "journal-00000001.log"
    path.write_bytes(segment_bytes().replace(OPENING, b"LMKJ\x08", 1))
    with pytest.raises(JournalFault, match="journal version 8, this program reads versions 1 to 7"):
        list(read_journal(path))
    path.write_bytes(b"something else entirely")
    with pytest.raises(JournalFault, match="not a journal"):
        remember([path])


def test_a_journal_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "real").write_bytes(segment_bytes())
    (tmp_path / "journal-00000001.log").symlink_to(tmp_path / "real")
    with pytest.raises(JournalFault):
        list(read_journal(tmp_path / "journal-00000001.log"))


# --- the journal on disk --------------------------------------------------------------------------


class Writing:
    """A journal with its task running."""

    def __init__(self, folder, **options) -> None:
        self.failures: list[str] = []
        self.journal = Journal(folder, 1, self.failures.append, **options)
        self.task = asyncio.ensure_future(self.journal.run())

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])
        self.journal.close()


async def test_what_is_durable_can_be_read_by_another_process(tmp_path):
    writing = Writing(tmp_path)
    writing.journal.append(5, SAMPLE[3])
    assert await writing.journal.durable()
    [path] = segments(tmp_path)
    assert list(read_journal(path)) == [Entry(5, SAMPLE[3])]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await writing.stop()


async def test_what_nobody_waits_for_is_written_at_the_end(tmp_path):
    writing = Writing(tmp_path)
    writing.journal.append(5, m.Tick())
    await writing.stop()
    assert [entry.message for entry in read_journal(segments(tmp_path)[0])] == [m.Tick()]


async def test_many_waiters_share_few_syncs(tmp_path, monkeypatch):
    syncs = 0
    real = os.fdatasync

    def counted(handle: int) -> None:
        nonlocal syncs
        syncs += 1
        real(handle)

    writing = Writing(tmp_path)
    monkeypatch.setattr(os, "fdatasync", counted)

    async def one(number: int) -> bool:
        writing.journal.append(number, sent(create(f"a-{number}"), number))
        return await writing.journal.durable()

    assert all(await asyncio.gather(*(one(number) for number in range(1, 101))))
    assert syncs <= 3
    await writing.stop()


async def test_the_next_run_learns_of_the_open_intents(tmp_path):
    first = Writing(tmp_path)
    first.journal.append(1, sent(create("a-1"), 1))
    first.journal.append(2, sent(create("a-2"), 2))
    first.journal.append(3, reply(DONE, 1))
    await first.stop()
    second = Writing(tmp_path)
    assert second.journal.memory.open_intents == (intent("a-2"),)
    await second.stop()
    third = Writing(tmp_path)
    assert third.journal.memory.open_intents == (intent("a-2"),)
    await third.stop()


async def test_a_torn_tail_is_cut_when_the_next_run_begins(tmp_path):
    first = Writing(tmp_path)
    first.journal.append(1, sent(create("a-1"), 1))
    await first.stop()
    [path] = segments(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + framed(Entry(2, reply(DONE)))[:-1])
    second = Writing(tmp_path)
    assert path.read_bytes() == whole
    assert second.journal.memory.open_intents == (intent("a-1"),)
    await second.stop()


async def test_a_run_that_died_before_its_head_was_whole_hides_nothing(tmp_path):
    first = Writing(tmp_path)
    first.journal.append(1, sent(create("a-1"), 1))
    await first.stop()
    (tmp_path / "journal-00000002.log").write_bytes(OPENING + b"\x09")
    second = Writing(tmp_path)
    assert second.journal.memory.open_intents == (intent("a-1"),)
    await second.stop()


async def test_a_full_segment_is_followed_by_the_next_and_old_ones_go(tmp_path):
    writing = Writing(tmp_path, segment_bytes=200, segments_kept=3)
    writing.journal.append(0, sent(create("a-0"), 1))
    for number in range(30):
        writing.journal.append(number, m.FeedClosed("x" * 50))
        assert await writing.journal.durable()
    await writing.stop()
    kept = segments(tmp_path)
    assert len(kept) == 3
    assert kept[-1].name > "journal-00000009.log"
    assert remember(kept).open_intents == (intent("a-0"),)


async def test_a_disk_that_refuses_stops_every_create(tmp_path, monkeypatch):
    writing = Writing(tmp_path)

    def full(_handle: int, _data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal_module.os, "write", full)
    writing.journal.append(1, sent(create(), 1))
    assert not await writing.journal.durable()
    monkeypatch.undo()
    writing.journal.append(2, sent(create("a-2"), 2))
    assert not await writing.journal.durable()
    assert len(writing.failures) == 1
    assert "No space left" in writing.failures[0]
    await writing.stop()


def delete(folder: Path) -> None:
    for segment in segments(folder):
        segment.unlink()


def move(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def put_another_there(folder: Path) -> None:
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    move(folder)
    copy.rename(folder)


@pytest.mark.parametrize("happens", [delete, move, put_another_there])
async def test_a_journal_that_the_next_run_would_not_find_stops_every_create(tmp_path, happens):
    folder = tmp_path / "state"
    folder.mkdir()
    writing = Writing(folder)
    writing.journal.append(1, sent(create(), 1))
    assert await writing.journal.durable()
    happens(folder)
    writing.journal.append(2, sent(create("a-2"), 2))
    assert not await writing.journal.durable()
    (failure,) = writing.failures
    assert failure.endswith("the journal was deleted or moved while it was written")
    await writing.stop()


async def test_a_journal_whose_task_ended_lets_nobody_wait(tmp_path):
    writing = Writing(tmp_path)
    writing.task.cancel()
    await asyncio.wait([writing.task])
    writing.journal.append(1, sent(create(), 1))
    waiting = asyncio.ensure_future(writing.journal.durable())
    await asyncio.sleep(0)
    writing.journal.give_up("its task ended")
    async with asyncio.timeout(1):
        assert not await waiting
        assert not await writing.journal.durable()
    assert writing.failures == ["its task ended"]
    await writing.stop()


# --- the state directory --------------------------------------------------------------------------


def test_the_state_directory_is_for_its_owner_alone(tmp_path):
    (tmp_path / "s").mkdir(mode=0o755)
    state = StateDirectory.open(tmp_path / "s")
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700
    state.close()


def test_a_folder_of_something_else_that_others_may_read_is_not_taken_from_them(tmp_path):
    other = tmp_path / "project"
    other.mkdir(mode=0o755)
    (other / "notes").write_text("mine")
    with pytest.raises(StateFault, match="holds 1 other files or folders and no bot's"):
        StateDirectory.open(other)
    assert stat.S_IMODE(other.stat().st_mode) == 0o755
    assert [each.name for each in other.iterdir()] == ["notes"]


@pytest.mark.parametrize("lock", ["lock", "reaper-lock"])
def test_the_state_of_a_bot_or_of_its_reaper_is_used_whatever_its_mode_has_become(tmp_path, lock):
    StateDirectory.open(tmp_path / "s", lock).close()
    (tmp_path / "s" / "journal-00000001.log").write_bytes(b"")
    (tmp_path / "s").chmod(0o2775)
    StateDirectory.open(tmp_path / "s").close()
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) & 0o777 == 0o700


def test_a_file_of_something_else_named_lock_makes_its_folder_no_bots(tmp_path):
    (tmp_path / "s").mkdir(mode=0o755)
    (tmp_path / "s" / "lock").write_text("pid 4711")
    with pytest.raises(StateFault, match="no bot's"):
        StateDirectory.open(tmp_path / "s")


def test_a_new_volume_is_taken_with_what_its_file_system_put_there(tmp_path):
    (tmp_path / "s").mkdir(mode=0o755)
    (tmp_path / "s" / "lost+found").mkdir()
    StateDirectory.open(tmp_path / "s").close()
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700


def test_a_folder_that_is_closed_to_others_already_may_hold_other_files(tmp_path):
    (tmp_path / "s").mkdir(mode=0o700)
    (tmp_path / "s" / "key").write_text("k")
    StateDirectory.open(tmp_path / "s").close()


def test_a_second_bot_on_the_same_state_is_refused_until_the_first_is_gone(tmp_path):
    first = StateDirectory.open(tmp_path / "s")
    with pytest.raises(StateFault, match="another bot is running on it"):
        StateDirectory.open(tmp_path / "s")
    first.close()
    StateDirectory.open(tmp_path / "s").close()


def test_a_state_directory_or_lock_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "s").symlink_to(tmp_path / "real")
    with pytest.raises(StateFault, match="a link or a file"):
        StateDirectory.open(tmp_path / "s")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateFault):
        StateDirectory.open(tmp_path / "t")
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_there_for_all_is_not_taken_from_them(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    with pytest.raises(StateFault, match="is there for all"):
        StateDirectory.open(shared)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
