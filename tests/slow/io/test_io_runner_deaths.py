"""Claims about death in the loop and beside it: whatever ends, quotes are pulled and it is told."""

import asyncio
import os
from collections.abc import Callable

import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.io.client.feed import Feed
from bot.io.journal.journal import Journal
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


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def raises() -> None:
    """Die with an exception."""
    await asyncio.sleep(0.01)
    raise ZeroDivisionError


async def returns() -> None:
    """Come to an end."""
    await asyncio.sleep(0.01)


async def is_cancelled() -> None:
    """Die of a cancellation that nobody of ours asked for."""
    await asyncio.sleep(0.01)
    raise asyncio.CancelledError


DEATHS = (raises, returns, is_cancelled)


def stopped_and_told(trader: FakeTrader, ended: RunResult, name: str) -> None:
    """What every death must lead to."""
    assert trader.of(m.StopRequested), "the trader was told to pull its quotes"
    assert isinstance(trader.events[-1], m.Tick), "and got to act on it"
    assert name in ended.died
    assert ended.exit_code is Exit.BUG


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("name", ["status", "lines", "terminal"])
async def test_the_death_of_a_child_stops_the_bot(tmp_path, name, death):
    trader = FakeTrader()
    ended = await run(runner_of(trader, tmp_path), None, (Child(name, death),))
    stopped_and_told(trader, ended, name)


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize(("name", "kind"), [("feed", Feed), ("journal", Journal)])
async def test_the_death_of_the_channel_or_the_journal_stops_the_bot(
    tmp_path, monkeypatch, name, kind, death
):
    monkeypatch.setattr(kind, "run", lambda _self: death())
    trader = FakeTrader()
    ended = await run(runner_of(trader, tmp_path), None)
    stopped_and_told(trader, ended, name)
    assert bool(trader.of(m.JournalFailed)) == (name == "journal")


@pytest.mark.parametrize("death", DEATHS)
async def test_the_death_of_the_embedded_venue_is_no_bug_of_the_bot(tmp_path, death):
    trader = FakeTrader()
    ended = await run(runner_of(trader, tmp_path), None, (Child("venue", death),))
    assert trader.of(m.StopRequested)
    assert ended.exit_code is Exit.VENUE
    assert not ended.crashed


def broken(*_arguments: object) -> None:
    """Raise, whatever is asked."""
    raise ZeroDivisionError


def once_broken(real: Callable[..., object]) -> Callable[..., object]:
    """Raise at the third call only."""
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
async def test_a_stumble_of_the_loop_stops_the_bot_in_good_order(
    tmp_path, monkeypatch, kind, method, name
):
    monkeypatch.setattr(kind, method, _method(once_broken(getattr(kind, method))))
    trader = FakeTrader()
    stopped_and_told(trader, await run(runner_of(trader, tmp_path), None), name)


def _method(call: Callable[..., object]) -> Callable[..., object]:
    """A plain function, so that it binds."""
    return lambda *arguments: call(*arguments)


async def test_a_journal_that_takes_no_entry_lets_no_create_and_no_amend_out(tmp_path, monkeypatch):
    monkeypatch.setattr(Journal, "append", broken)
    amend = m.AmendResting(ORDER_ID, Amend(price=Price(41)))
    sends = [sent(create(), 1), sent(amend, 2), sent(m.CancelResting(ORDER_ID), 3)]

    def behave(event: m.Event) -> list[m.Effect]:
        return list(sends) if isinstance(event, m.Started) else []

    async with hostile(says(404, b"")) as site:
        trader = FakeTrader(behave)
        ended = await run(runner_of(trader, tmp_path, site.base_url), None)
    assert [raw.split(b" ")[0] for raw in site.requests] == [b"DELETE"]
    stopped_and_told(trader, ended, "journal")


async def test_a_full_disk_lets_no_create_and_no_amend_out_and_ends_with_3(tmp_path, monkeypatch):
    real = os.write

    def full(handle: int, data: bytes) -> int:
        if bytes(data[:4]) == b"LMKJ":
            return real(handle, data)
        raise OSError(28, "No space left on device")

    amend = m.AmendResting(ORDER_ID, Amend(price=Price(41)))
    sends = [sent(create(), 1), sent(amend, 2), sent(m.CancelResting(ORDER_ID), 3)]

    def behave(event: m.Event) -> list[m.Effect]:
        if not isinstance(event, m.Started):
            return []
        monkeypatch.setattr(os, "write", full)
        return list(sends)

    async with hostile(says(404, b"")) as site:
        trader = FakeTrader(behave)
        ended = await run(runner_of(trader, tmp_path, site.base_url), None)
    assert [raw.split(b" ")[0] for raw in site.requests] == [b"DELETE"]
    assert ended.exit_code is Exit.VENUE
    assert not ended.crashed


async def test_an_end_comes_even_if_the_trader_can_no_longer_say_what_is_left(tmp_path):
    trader = FakeTrader(finishes=False)
    trader.left_over = broken
    ended = await run(runner_of(trader, tmp_path, drain_ns=100_000_000))
    assert ended.overdue
    assert ended.exit_code is Exit.LEFT_OVER
    assert ended.crashed


async def test_a_trader_that_stops_by_itself_has_as_long_as_one_that_is_stopped(tmp_path):
    def stop(event: m.Event) -> list[m.Effect]:
        trader.phase = Phase.STOPPING
        return []

    trader = FakeTrader(stop, finishes=False)
    trader.left = m.DrainComplete((ORDER_ID,), ())
    ended = await run(runner_of(trader, tmp_path, drain_ns=100_000_000), None)
    assert ended.overdue
    assert ended.exit_code is Exit.LEFT_OVER


async def test_a_failed_journal_bounds_the_drain_like_a_stop(tmp_path):
    trader = FakeTrader(finishes=False)
    loop = runner_of(trader, tmp_path, drain_ns=100_000_000)
    running = asyncio.ensure_future(run(loop, None))
    await trader.until(m.Tick)
    loop.tell(m.JournalFailed("disk full"))
    assert (await running).overdue
