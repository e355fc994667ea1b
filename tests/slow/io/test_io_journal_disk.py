"""Claims about a disk that fails: no create after the first refused write, whichever it is."""

import asyncio
import errno
import os

import pytest

from bot.core import messages as m
from bot.io.journal import journal as journal_module
from bot.io.journal import recovery as intents_module
from bot.io.journal.journal import Journal, read_journal, remember, segments
from bot.io.journal.records import JournalFault
from bot.io.state import atomic_file
from tests.builders.io.samples import create, sent

pytestmark = pytest.mark.anyio

CREATES = 6


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Faulty:
    """The os module as the journal sees it; its call number `at` of `name` and all later ones fail.

    number: the fault; None takes only half of what is given, and 0 nothing at all.
    """

    def __init__(self, name: str, at: int, number: int | None) -> None:
        self._name = name
        self._at = at
        self._number = number
        self.calls = 0

    def __getattr__(self, name: str):
        real = getattr(os, name)
        return real if name != self._name else lambda *given: self._call(real, *given)

    def _call(self, real, *given):
        self.calls += 1
        if self.calls <= self._at:
            return real(*given)
        if self._number is None:
            return real(given[0], given[1][: max(1, len(given[1]) // 2)])
        if self._number == 0:
            return 0
        raise OSError(self._number, os.strerror(self._number))


def give(monkeypatch, system) -> None:
    """Have the journal use this instead of the operating system."""
    for module in (journal_module, atomic_file):
        monkeypatch.setattr(module, "os", system)


class Run:
    """A journal under way; counts the creates that it let leave before and after a failure."""

    def __init__(self, folder) -> None:
        self.failures: list[str] = []
        self.left: list[str] = []
        self.left_after = 0
        self.journal = Journal(folder, 1, self.failures.append, segment_bytes=900)
        self._task = asyncio.ensure_future(self.journal.run())

    async def creates(self, names) -> None:
        for number, name in enumerate(names):
            self.journal.append(number, sent(create(name), number))
            if await self.journal.durable():
                self.left.append(name)
                self.left_after += bool(self.failures)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        self.journal.close()


NAMES = [f"a-{number}" for number in range(CREATES)]


async def calls_of(name: str, folder, monkeypatch) -> int:
    """How often a whole run calls it."""
    counting = Faulty(name, 10**9, errno.EIO)
    give(monkeypatch, counting)
    folder.mkdir()
    run = Run(folder)
    await run.creates(NAMES)
    await run.stop()
    assert run.left == NAMES
    return counting.calls


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("write", 0),
        *(
            (name, fault)
            for name in ("write", "fdatasync", "fsync", "open", "close")
            for fault in (errno.ENOSPC, errno.EIO, errno.EROFS)
        ),
    ],
)
async def test_a_fault_at_any_call_of_the_disk_lets_no_later_create_leave(
    tmp_path, monkeypatch, name, fault
):
    total = await calls_of(name, tmp_path / "whole", monkeypatch)
    assert total >= 4
    for at in range(total):
        folder = tmp_path / str(at)
        folder.mkdir()
        give(monkeypatch, Faulty(name, at, fault))
        try:
            run = Run(folder)
        except JournalFault:
            continue  # the start is refused: nothing leaves at all
        await run.creates(NAMES)
        await run.stop()
        give(monkeypatch, os)
        assert run.left_after == 0
        assert len(run.failures) <= 1
        assert bool(run.failures) == (run.left != NAMES)
        known = {each.order.client_order_id for each in remember(segments(folder)).open_intents}
        assert set(run.left) <= known, "one left that the disk does not know"


@pytest.mark.parametrize("name", ["write", "fdatasync", "fsync"])
async def test_starts_that_the_disk_refuses_leave_no_segments(tmp_path, monkeypatch, name):
    run = Run(tmp_path)
    await run.creates(NAMES[:1])
    await run.stop()
    before = segments(tmp_path)
    give(monkeypatch, Faulty(name, 0, errno.ENOSPC))
    for _ in range(3):
        with pytest.raises(JournalFault, match="No space left on device"):
            Run(tmp_path)
    assert segments(tmp_path) == before


async def test_a_disk_that_takes_only_half_each_time_loses_nothing(tmp_path, monkeypatch):
    give(monkeypatch, Faulty("write", 0, None))
    run = Run(tmp_path)
    await run.creates(NAMES)
    await run.stop()
    assert run.left == NAMES
    read = [entry.message for path in segments(tmp_path) for entry in read_journal(path)]
    assert read == [sent(create(name), number) for number, name in enumerate(NAMES)]


async def test_a_disk_that_stands_still_fills_no_memory_and_counts_as_failed(tmp_path):
    failures: list[str] = []
    journal = Journal(tmp_path, 1, failures.append, backlog_bytes_max=10_000)
    for number in range(1_000):
        journal.append(number, m.FeedClosed("x" * 100))
    assert len(failures) == 1
    assert "does not keep up" in failures[0]
    assert journal.broken
    assert not await journal.durable()
    journal.close()


async def test_more_open_creates_than_can_be_stop_every_create(tmp_path, monkeypatch):
    monkeypatch.setattr(intents_module, "OPEN_MAX", 2)
    run = Run(tmp_path)
    await run.creates(NAMES)
    await run.stop()
    assert run.left == NAMES[:2]
    assert len(run.failures) == 1


async def test_a_create_that_nobody_waits_for_any_more_hinders_nobody(tmp_path):
    run = Run(tmp_path)
    run.journal.append(1, sent(create("a-1"), 1))
    waiting = asyncio.ensure_future(run.journal.durable())
    await asyncio.sleep(0)
    waiting.cancel()
    await run.creates(["a-2"])
    assert run.left == ["a-2"]
    await run.stop()
