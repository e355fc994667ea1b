"""The loop that carries the crowd's commands to the venue."""

import asyncio
import collections
import time

import anyio
import pytest

from tests.builders.venue.crowd_simulation import ladder
from tests.builders.venue.crowd_tapes import book, listed, rung, write
from venue.crowd.run import CrowdPlan, opening_commands, run_crowd
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import read_tape
from venue.engine.engine import Engine

pytestmark = pytest.mark.anyio
PLAN = CrowdPlan(CrowdSettings(), tuple(ladder()))


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Full(Exception):
    """The venue's line is full."""


class Desk:
    """A venue of one engine; refuses to take every `full_every`-th command if that is given."""

    def __init__(self, plan, full_every=0):
        self.engine, self.observers, self.full_every = Engine(b"k" * 32), [], full_every
        self.asked = 0
        self.answers = collections.Counter()
        for command in [*plan.catalogue, *opening_commands(plan)]:
            self.engine.apply(command, self.now_ns())

    def now_ns(self):
        return time.time_ns()

    def observe(self, observer):
        self.observers.append(observer)

    async def submit(self, command):
        self.asked += 1
        if self.full_every and self.asked % self.full_every == 0:
            raise Full
        answer, events = self.engine.apply(command, self.now_ns())
        self.answers[type(answer).__name__] += 1
        await asyncio.sleep(0)
        for observer in self.observers:
            observer(events)
        return answer


async def run_for(seconds, plan, desk, not_taken=()):
    with anyio.move_on_after(seconds) as scope:
        await run_crowd(plan, desk.submit, desk.now_ns, desk.observe, not_taken)
    return scope.cancelled_caught


async def test_orders_stand_soon_after_the_start():
    desk = Desk(PLAN)
    assert await run_for(1.5, PLAN, desk)
    assert desk.answers["Placed"] >= 30
    assert desk.answers["Refused"] <= 2


async def test_a_command_that_is_not_taken_does_not_end_the_crowd():
    desk = Desk(PLAN, full_every=5)
    assert await run_for(1.5, PLAN, desk, (Full,))
    assert desk.asked >= 10


async def test_a_fault_that_was_not_named_ends_the_crowd():
    desk = Desk(PLAN, full_every=1)
    with pytest.raises(Full):
        await run_for(1.5, PLAN, desk)


async def test_the_crowd_ends_with_its_tape(tmp_path):
    records = [book(0, "A", [[40, 5]], []), book(1, "A", [[41, 5]], [])]
    tape = read_tape(write(tmp_path, {"KX-1": [rung("A", "10")]}, records))
    plan = CrowdPlan(CrowdSettings(tape_speed=10), tuple(listed(tape)), tape)
    desk = Desk(plan)
    assert not await run_for(2, plan, desk)
    assert desk.answers["Placed"] == 2
