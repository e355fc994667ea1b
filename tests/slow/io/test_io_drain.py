"""Claims about the time that a stopped run has to cancel everything."""

import time

import pytest

from bot.core import messages as m
from bot.io.run.runner import GAP_NS_MAX, ShutdownDeadline
from tests.builders.io.fakes import FakeTrader, run, runner_of
from tests.builders.io.samples import ORDER_ID, sent
from venue.wire.instant import NS_PER_SECOND

pytestmark = pytest.mark.anyio

LENGTH_NS = 8 * NS_PER_SECOND
STEP_NS = NS_PER_SECOND // 10


@pytest.fixture
def anyio_backend():
    return "asyncio"


def lived(drain: ShutdownDeadline, now_ns: int) -> int:
    """For how long it goes on from a look then, with a look every tenth of a second."""
    began_ns = now_ns
    while not drain.is_over(now_ns):
        now_ns += STEP_NS
    return now_ns - began_ns


def test_a_drain_ends_when_its_time_is_up_and_a_second_stop_adds_none():
    drain = ShutdownDeadline(LENGTH_NS, 0)
    drain.start_countdown(0)
    drain.start_countdown(5 * NS_PER_SECOND)
    assert lived(drain, 0) == LENGTH_NS


def test_time_in_which_the_process_stood_still_is_not_of_the_drain():
    drain = ShutdownDeadline(LENGTH_NS, 0)
    drain.start_countdown(0)
    assert not drain.is_over(STEP_NS)
    assert not drain.is_over(60 * NS_PER_SECOND)
    assert lived(drain, 60 * NS_PER_SECOND) == LENGTH_NS - STEP_NS - GAP_NS_MAX


def test_a_stop_that_came_before_the_process_stood_still_has_all_of_its_time_after_it():
    drain = ShutdownDeadline(LENGTH_NS, 0)
    drain.is_over(60 * NS_PER_SECOND)
    drain.start_countdown(STEP_NS)
    assert lived(drain, 60 * NS_PER_SECOND) == LENGTH_NS


def test_a_loop_whose_every_turn_is_slow_has_an_end():
    drain = ShutdownDeadline(LENGTH_NS, 0)
    drain.start_countdown(0)
    looks = [drain.is_over(turn * 30 * NS_PER_SECOND) for turn in range(9)]
    assert looks == [False] * 8 + [True]


def test_a_loop_with_nothing_to_do_looks_often_enough_for_its_waiting_to_count():
    drain = ShutdownDeadline(LENGTH_NS, 0)
    assert drain.next_ns(LENGTH_NS) == LENGTH_NS
    drain.start_countdown(0)
    assert drain.next_ns(LENGTH_NS) < GAP_NS_MAX


async def test_a_run_that_stands_still_right_after_its_stop_goes_on_cancelling(tmp_path):
    pauses_s = [1.6]

    def stand_still(event: m.Event) -> list[m.Effect]:
        if isinstance(event, m.StopRequested):
            return [sent(m.CancelResting(ORDER_ID), 4)]
        if isinstance(event, m.Tick) and trader.stopping and pauses_s:
            time.sleep(pauses_s.pop())
        return []

    trader = FakeTrader(stand_still)
    ended = await run(runner_of(trader, tmp_path, drain_ns=1_200_000_000))
    assert trader.of(m.Response)
    assert not ended.overdue
