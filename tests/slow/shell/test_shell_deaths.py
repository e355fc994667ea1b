"""Claims about the shell's own faults: whatever dies in it, quotes are pulled and the exit says
so.
"""

import asyncio
import os
import random
from contextlib import ExitStack
from unittest import mock

import pytest

from bot.core import messages as m
from bot.core.trader import Trader
from bot.io.client import feed, rest
from bot.io.client.feed import Feed
from bot.io.journal import journal
from bot.io.journal.journal import Journal
from bot.io.metrics.metrics import Metrics
from bot.io.run.inbox import ConflatingQueue
from bot.io.run.result import Exit
from bot.io.run.runner import DRAIN_NS, Child
from tests.builders.shell.life import Life, Plan, assert_answered_once, live
from venue.wire.instant import NS_PER_SECOND

POINTS = 3
LATEST_S = DRAIN_NS / NS_PER_SECOND + 2.5
"""From the death to the end of the process (ten seconds), with the last reads' own time."""


class Bomb:
    """Raises once, at the n-th call from when the bot quotes, and does its work otherwise."""

    def __init__(
        self, home, name: str, at: int, fault: type[Exception] = ZeroDivisionError
    ) -> None:
        self._home, self._name, self._at, self._fault = home, name, at, fault
        self._real = getattr(home, name)
        self.calls = 0
        self.went_off = False

    def __get__(self, owner, kind=None):
        return lambda *args, **options: self._call(owner, *args, **options)

    def __call__(self, *args, **options):
        return self._strike(lambda: self._real(*args, **options))

    def _call(self, owner, *args, **options):
        return self._strike(lambda: self._real(owner, *args, **options))

    def _strike(self, work):
        self.calls += 1
        if self.calls == self._at:
            self.went_off = True
            raise self._fault(28, "planted")
        return work()

    def planted(self):
        """In its place while the block lasts."""
        return mock.patch.object(self._home, self._name, self)


# What is called in each task, the exception it may meet, and the calls before which it does.
SEAMS = {
    "channel": (feed, "event_of", ZeroDivisionError, (3, 40)),
    "journal": (journal, "write_all", ZeroDivisionError, (3, 18)),
    "disk": (os, "fdatasync", OSError, (3, 18)),
    "trader": (Trader, "receive", ZeroDivisionError, (5, 120)),
    "inbox": (ConflatingQueue, "take_events", ZeroDivisionError, (5, 120)),
    "metrics": (Metrics, "on_effect", ZeroDivisionError, (5, 120)),
    "metrics of events": (Metrics, "on_event", ZeroDivisionError, (5, 120)),
    "subscribe": (Feed, "subscribe", ZeroDivisionError, (1, 2)),
    "entries": (Journal, "append", ZeroDivisionError, (5, 200)),
}
CASES = [(name, place) for name in SEAMS for place in range(POINTS)]


def run_with(bomb: Bomb, seed: int) -> Life:
    """A run that ends by itself once the bomb goes off."""
    with ExitStack() as stack:
        # Within the virtual disk, which stands in for the operating system's as well.
        plan = Plan(seed=seed, faulty_s=2.5, calm_s=1.0, crowd_per_s=6.0)
        plan.planted = lambda: stack.enter_context(bomb.planted())
        return live(plan)


@pytest.mark.parametrize(("name", "place"), CASES)
def test_a_fault_in_any_task_pulls_the_quotes_and_ends_with_another_code_than_0(name, place):
    home, attribute, fault, (low, high) = SEAMS[name]
    dice = random.Random(f"{name} {place}")
    at = int(low * (high / low) ** ((place + dice.random()) / POINTS))
    bomb = Bomb(home, attribute, at, fault)
    life = run_with(bomb, seed=place)
    assert bomb.went_off, f"only {bomb.calls} calls"
    assert life.ended.exit_code is not Exit.OK
    assert life.ended.died
    # What rests may be all that a lost answer left; then the exit code says that something does.
    assert life.truth.resting() == [] or life.ended.exit_code is Exit.LEFT_OVER
    assert life.truth.self_trades == 0
    assert life.watch.cancelled == 0


@pytest.mark.parametrize("at_s", [0.05, 0.9])
@pytest.mark.parametrize("child", ["journal", "feed", "status"])
@pytest.mark.parametrize("raises", [True, False])
def test_a_child_that_ends_at_any_time_stops_the_bot_within_ten_seconds(child, at_s, raises):
    ended_s = [0.0]

    async def dies(life: Life) -> None:
        await asyncio.sleep(at_s)
        ended_s[0] = life.loop.time()
        if raises:
            raise ZeroDivisionError

    def mortal(real):
        async def run(self) -> None:
            async with asyncio.TaskGroup() as tasks:
                beside = tasks.create_task(real(self))
                await dies(born[0])
                beside.cancel()

        return run

    born: list[Life] = []

    def children(life: Life) -> tuple[Child, ...]:
        born.append(life)
        return (Child("status", lambda: dies(life)),) if child == "status" else ()

    with ExitStack() as stack:
        for home, name in ((Journal, "journal"), (Feed, "feed")):
            if name == child:
                stack.enter_context(mock.patch.object(home, "run", mortal(home.run)))
        life = live(Plan(seed=3, faulty_s=3.0, calm_s=1.0, children=children))
    assert child in life.ended.died
    assert life.ended.exit_code is Exit.BUG
    assert life.truth.resting() == []
    assert life.ended_s - ended_s[0] <= LATEST_S


@pytest.mark.parametrize("at_s", [0.4, 1.1, 2.3])
def test_when_the_disk_refuses_no_create_leaves_any_more_and_all_are_cancelled(at_s):
    refused_from: list[int] = []
    sent: list[int] = []

    async def act(life: Life) -> None:
        await asyncio.sleep(at_s)
        full = mock.patch.object(os, "write", refuse)
        full.start()
        life.on_end.append(full.stop)
        refused_from.append(life.watch.creates)

    def refuse(_handle: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    life = live(Plan(seed=4, faulty_s=2.5, calm_s=1.0, crowd_per_s=6.0, act=act))
    sent.append(life.watch.creates)
    assert life.ended.exit_code is not Exit.OK
    # A create whose entry was on disk before may still be on its way to the socket, no other one.
    assert sent[0] == refused_from[0]
    assert life.truth.resting() == []
    assert life.watch.unjournalled == []


@pytest.mark.parametrize("at_s", [0.02, 0.31, 0.9, 1.7, 2.4])
def test_sigterm_at_any_time_cancels_everything_and_ends_well(at_s):
    async def act(life: Life) -> None:
        life.loop.call_later(at_s, life.terminate)

    life = live(Plan(seed=6, faulty_s=2.5, crowd_per_s=6.0, act=act, stop=False))
    assert life.ended.exit_code is Exit.OK
    assert life.truth.resting() == []
    assert_answered_once(life)
    stop_ns = next(e.at_ns for e in life.entries if isinstance(e.message, m.StopRequested))
    for entry in life.entries:
        if entry.at_ns > stop_ns and isinstance(entry.message, m.Send):
            assert not isinstance(entry.message.request, m.Create | m.AmendResting)


def test_a_fault_while_a_reply_is_read_is_an_unknown_answer_and_no_death():
    bomb = Bomb(rest, "answer_of", 14)
    life = run_with(bomb, seed=1)
    assert bomb.went_off
    assert life.ended.exit_code is Exit.OK
    assert life.truth.resting() == []
