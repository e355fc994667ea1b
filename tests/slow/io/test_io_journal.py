"""Claims about the journal: torn anywhere it reads to its last whole entry; no intent is lost."""

import asyncio
import os
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.io.journal.journal import Journal, read_journal, remember, segments
from bot.io.journal.records import OPENING, Entry, Head, JournalFault, Segment, framed
from bot.io.state.locks import StateDirectory, StateFault
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, create, intent, reply, sent
from venue.wire import codec, model
from venue.wire.names import ClientOrderId

pytestmark = pytest.mark.anyio

DONE = m.Ok(m.OrderBody(codec.decode(ORDER_JSON, model.Order)))


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


def test_a_file_that_is_no_journal_is_refused(tmp_path):
    path = tmp_path / "journal-00000001.log"
    path.write_bytes(b"something else entirely")
    with pytest.raises(JournalFault, match="not a journal"):
        remember([path])


def test_a_journal_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "real").write_bytes(segment_bytes())
    (tmp_path / "journal-00000001.log").symlink_to(tmp_path / "real")
    with pytest.raises(JournalFault):
        list(read_journal(tmp_path / "journal-00000001.log"))


# --- the journal on disk --------------------------------------------------------------------------


class RunningJournal:
    """A journal with its task running."""

    def __init__(self, folder, **options) -> None:
        self.failures: list[str] = []
        self.journal = Journal(folder, 1, self.failures.append, **options)
        self.task = asyncio.ensure_future(self.journal.run())

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])
        self.journal.close()


async def test_a_durable_entry_can_be_read_by_another_process(tmp_path):
    running = RunningJournal(tmp_path)
    running.journal.append(5, SAMPLE[3])
    assert await running.journal.durable()
    [path] = segments(tmp_path)
    assert list(read_journal(path)) == [Entry(5, SAMPLE[3])]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await running.stop()


async def test_entries_nobody_waits_for_are_written_at_the_end(tmp_path):
    running = RunningJournal(tmp_path)
    running.journal.append(5, m.Tick())
    await running.stop()
    assert [entry.message for entry in read_journal(segments(tmp_path)[0])] == [m.Tick()]


async def test_many_waiters_share_few_syncs(tmp_path, monkeypatch):
    syncs = 0
    real = os.fdatasync

    def counted(handle: int) -> None:
        nonlocal syncs
        syncs += 1
        real(handle)

    running = RunningJournal(tmp_path)
    monkeypatch.setattr(os, "fdatasync", counted)

    async def one(number: int) -> bool:
        running.journal.append(number, sent(create(f"a-{number}"), number))
        return await running.journal.durable()

    assert all(await asyncio.gather(*(one(number) for number in range(1, 101))))
    assert syncs <= 3
    await running.stop()


async def test_the_next_runs_know_the_unconfirmed_creates(tmp_path):
    first = RunningJournal(tmp_path)
    first.journal.append(1, sent(create("a-1"), 1))
    first.journal.append(2, sent(create("a-2"), 2))
    first.journal.append(3, reply(DONE, 1))
    await first.stop()
    second = RunningJournal(tmp_path)
    assert second.journal.memory.open_intents == (intent("a-2"),)
    await second.stop()
    third = RunningJournal(tmp_path)
    assert third.journal.memory.open_intents == (intent("a-2"),)
    await third.stop()


async def test_a_torn_tail_is_cut_when_the_next_run_begins(tmp_path):
    first = RunningJournal(tmp_path)
    first.journal.append(1, sent(create("a-1"), 1))
    await first.stop()
    [path] = segments(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + framed(Entry(2, reply(DONE)))[:-1])
    second = RunningJournal(tmp_path)
    assert path.read_bytes() == whole
    assert second.journal.memory.open_intents == (intent("a-1"),)
    await second.stop()


async def test_full_segments_are_rotated_and_the_oldest_deleted(tmp_path):
    running = RunningJournal(tmp_path, segment_bytes=200, segments_kept=3)
    running.journal.append(0, sent(create("a-0"), 1))
    for number in range(30):
        running.journal.append(number, m.FeedClosed("x" * 50))
        assert await running.journal.durable()
    await running.stop()
    kept = segments(tmp_path)
    assert len(kept) == 3
    assert kept[-1].name > "journal-00000009.log"
    assert remember(kept).open_intents == (intent("a-0"),)


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
async def test_no_create_leaves_once_the_journal_was_deleted_or_moved(tmp_path, happens):
    folder = tmp_path / "state"
    folder.mkdir()
    running = RunningJournal(folder)
    running.journal.append(1, sent(create(), 1))
    assert await running.journal.durable()
    happens(folder)
    running.journal.append(2, sent(create("a-2"), 2))
    assert not await running.journal.durable()
    (failure,) = running.failures
    assert failure.endswith("the journal was deleted or moved while it was written")
    await running.stop()


async def test_nobody_waits_for_a_journal_whose_task_ended(tmp_path):
    running = RunningJournal(tmp_path)
    running.task.cancel()
    await asyncio.wait([running.task])
    running.journal.append(1, sent(create(), 1))
    waiting = asyncio.ensure_future(running.journal.durable())
    await asyncio.sleep(0)
    running.journal.give_up("its task ended")
    async with asyncio.timeout(1):
        assert not await waiting
        assert not await running.journal.durable()
    assert running.failures == ["its task ended"]
    await running.stop()


# --- the state directory --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "name"),
    [(0o755, None), (0o755, "lost+found/"), (0o700, "key")],
    ids=["empty", "a new volume", "private with other files"],
)
def test_a_state_directory_is_made_private(tmp_path, mode, name):
    folder = tmp_path / "s"
    folder.mkdir(mode=mode)
    if name is not None:
        (folder / name).mkdir() if name.endswith("/") else (folder / name).write_text("k")
    StateDirectory.open(folder).close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("mode", "name", "fault"),
    [
        (0o755, "notes", "holds 1 other files or folders and no bot's"),
        (0o755, "lock", "no bot's"),
        (0o1777, None, "is there for all"),
    ],
)
def test_a_folder_of_another_program_is_refused_as_state_and_unchanged(tmp_path, mode, name, fault):
    folder = tmp_path / "other"
    folder.mkdir()
    folder.chmod(mode)
    if name is not None:
        (folder / name).write_text("pid 4711")
    with pytest.raises(StateFault, match=fault):
        StateDirectory.open(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == mode
    assert [each.name for each in folder.iterdir()] == ([] if name is None else [name])


@pytest.mark.parametrize("lock", ["lock", "reaper-lock"])
def test_the_state_of_a_bot_or_its_reaper_is_made_private_again(tmp_path, lock):
    StateDirectory.open(tmp_path / "s", lock).close()
    (tmp_path / "s" / "journal-00000001.log").write_bytes(b"")
    (tmp_path / "s").chmod(0o2775)
    StateDirectory.open(tmp_path / "s").close()
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) & 0o777 == 0o700


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
