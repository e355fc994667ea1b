"""Claims about faults inside the shell: quotes are pulled and the exit code says so."""

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
from tests.builders.shell.life import Life, Plan, assert_answered_once, live

POINTS = 3


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
def test_a_fault_in_any_task_pulls_the_quotes_and_ends_with_an_error_code(name, place):
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


@pytest.mark.parametrize("at_s", [0.02, 0.31, 0.9, 1.7, 2.4])
def test_sigterm_at_any_time_cancels_everything_and_ends_with_0(at_s):
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


def test_a_fault_while_a_response_is_read_makes_it_unknown_and_ends_nothing():
    bomb = Bomb(rest, "answer_of", 14)
    life = run_with(bomb, seed=1)
    assert bomb.went_off
    assert life.ended.exit_code is Exit.OK
    assert life.truth.resting() == []
