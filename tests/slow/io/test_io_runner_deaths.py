"""Claims about faults in the loop and its tasks: quotes are pulled, and the run says what died."""

import asyncio
import os
from collections.abc import Callable

import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.io.client.feed import Feed
from bot.io.journal.journal import Journal, read_journal, segments
from bot.io.metrics.metrics import Metrics
from bot.io.run.inbox import ConflatingQueue
from bot.io.run.result import Exit, RunResult
from bot.io.run.runner import Child, Runner
from tests.builders.io.fakes import FakeTrader, run, runner_of
from tests.builders.io.hostile import hostile, says
from tests.builders.io.samples import ORDER_ID, create, sent
from venue.wire.money import Price
from venue.wire.requests import Amend

pytestmark = pytest.mark.anyio


async def raises() -> None:
    await asyncio.sleep(0.01)
    raise ZeroDivisionError


async def returns() -> None:
    await asyncio.sleep(0.01)


async def is_cancelled() -> None:
    """Die of a cancellation that nobody of ours asked for."""
    await asyncio.sleep(0.01)
    raise asyncio.CancelledError


DEATHS = (raises, returns, is_cancelled)


def assert_stopped(trader: FakeTrader, ended: RunResult, name: str) -> None:
    assert trader.of(m.StopRequested), "the trader was told to pull its quotes"
    assert isinstance(trader.events[-1], m.Tick), "and got to act on it"
    assert name in ended.died
    assert ended.exit_code is Exit.BUG


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("name", ["status", "lines", "terminal"])
async def test_a_run_stops_when_one_of_its_tasks_ends(tmp_path, name, death):
    trader = FakeTrader()
    ended = await run(runner_of(trader, tmp_path), None, (Child(name, death),))
    assert_stopped(trader, ended, name)


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize(("name", "kind"), [("feed", Feed), ("journal", Journal)])
async def test_a_run_stops_when_its_channel_or_journal_ends(
    tmp_path, monkeypatch, name, kind, death
):
    monkeypatch.setattr(kind, "run", lambda _self: death())
    trader = FakeTrader()
    ended = await run(runner_of(trader, tmp_path), None)
    assert_stopped(trader, ended, name)
    assert bool(trader.of(m.JournalFailed)) == (name == "journal")


@pytest.mark.parametrize("death", DEATHS)
async def test_the_end_of_the_embedded_venue_stops_the_run_without_a_crash(tmp_path, death):
    trader = FakeTrader()
    ended = await run(runner_of(trader, tmp_path), None, (Child("venue", death),))
    assert trader.of(m.StopRequested)
    assert ended.exit_code is Exit.VENUE
    assert not ended.crashed


def broken(*_arguments: object) -> None:
    raise ZeroDivisionError


def once_broken(real: Callable[..., object]) -> Callable[..., object]:
    calls = 0

    def call(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ZeroDivisionError
        return real(*arguments)

    return call


@pytest.mark.parametrize(
    ("kind", "method", "name"),
    [
        (ConflatingQueue, "take_events", "loop"),
        (Journal, "append", "journal"),
        (Metrics, "on_event", "shell"),
        (Runner, "_receive", "loop"),
        (FakeTrader, "receive", "trader"),
    ],
)
async def test_a_single_exception_in_the_loop_stops_the_bot_in_good_order(
    tmp_path, monkeypatch, kind, method, name
):
    monkeypatch.setattr(kind, method, once_broken(getattr(kind, method)))
    trader = FakeTrader()
    assert_stopped(trader, await run(runner_of(trader, tmp_path), None), name)


AMEND = m.AmendResting(ORDER_ID, Amend(price=Price(41)))
SENDS = [sent(create(), 1), sent(AMEND, 2), sent(m.CancelResting(ORDER_ID), 3)]


def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on every write fails but the opening of a segment."""
    real = os.write

    def write(handle: int, data: bytes) -> int:
        if bytes(data[:4]) == b"LMKJ":
            return real(handle, data)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", write)


@pytest.mark.parametrize(
    ("fails", "code"),
    [
        (lambda patch: patch.setattr(Journal, "append", broken), Exit.BUG),
        (full_disk, Exit.VENUE),
    ],
    ids=["a bug", "a full disk"],
)
async def test_a_failed_journal_lets_only_cancels_leave_and_reaches_the_trader(
    tmp_path, monkeypatch, fails, code
):
    def behave(event: m.Event) -> list[m.Effect]:
        if not isinstance(event, m.Started):
            return []
        fails(monkeypatch)
        return list(SENDS)

    async with hostile(says(404, b"")) as site:
        trader = FakeTrader(behave)
        ended = await run(runner_of(trader, tmp_path, site.base_url), None)
    assert [raw.split(b" ")[0] for raw in site.requests] == [b"DELETE"]
    assert len(trader.of(m.JournalFailed)) == 1
    answers = {reply.request_id: reply.answer for reply in trader.of(m.Response)}
    assert (answers[1].status, answers[2].status) == (0, 0)
    assert ended.exit_code is code
    assert ended.crashed is (code is Exit.BUG)


async def test_a_run_ends_although_the_trader_cannot_say_what_is_left(tmp_path):
    trader = FakeTrader(finishes=False)
    trader.left_over = broken
    ended = await run(runner_of(trader, tmp_path, drain_ns=100_000_000))
    assert ended.overdue
    assert ended.exit_code is Exit.LEFT_OVER
    assert ended.crashed
    written = [entry.message for entry in read_journal(segments(tmp_path)[0])]
    assert not [each for each in written if isinstance(each, m.DrainComplete)]


async def test_a_trader_that_stops_by_itself_has_the_usual_time_to_drain(tmp_path):
    def stop(event: m.Event) -> list[m.Effect]:
        trader.phase = Phase.STOPPING
        return []

    trader = FakeTrader(stop, finishes=False)
    trader.left = m.DrainComplete((ORDER_ID,), ())
    ended = await run(runner_of(trader, tmp_path, drain_ns=100_000_000), None)
    assert ended.overdue
    assert ended.exit_code is Exit.LEFT_OVER


async def test_a_failed_journal_starts_the_deadline_of_the_shutdown(tmp_path):
    trader = FakeTrader(finishes=False)
    loop = runner_of(trader, tmp_path, drain_ns=100_000_000)
    running = asyncio.ensure_future(run(loop, None))
    await trader.until(m.Tick)
    loop.tell(m.JournalFailed("disk full"))
    assert (await running).overdue
