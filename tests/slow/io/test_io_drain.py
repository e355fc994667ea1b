"""Claims about the deadline of a shutdown: how long a stopped run may go on cancelling."""

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


def shutdown_length(drain: ShutdownDeadline, now_ns: int) -> int:
    """How long the shutdown lasts from here, checked every tenth of a second."""
    began_ns = now_ns
    while not drain.is_over(now_ns):
        now_ns += STEP_NS
    return now_ns - began_ns


def test_a_second_stop_does_not_extend_the_shutdown():
    drain = ShutdownDeadline(LENGTH_NS, 0)
    drain.start_countdown(0)
    drain.start_countdown(5 * NS_PER_SECOND)
    assert shutdown_length(drain, 0) == LENGTH_NS


def test_time_in_which_the_process_stood_still_does_not_count_against_the_shutdown():
    drain = ShutdownDeadline(LENGTH_NS, 0)
    drain.start_countdown(0)
    assert not drain.is_over(STEP_NS)
    assert not drain.is_over(60 * NS_PER_SECOND)
    assert shutdown_length(drain, 60 * NS_PER_SECOND) == LENGTH_NS - STEP_NS - GAP_NS_MAX


def test_a_shutdown_that_begins_after_a_standstill_has_its_full_time():
    drain = ShutdownDeadline(LENGTH_NS, 0)
    drain.is_over(60 * NS_PER_SECOND)
    drain.start_countdown(STEP_NS)
    assert shutdown_length(drain, 60 * NS_PER_SECOND) == LENGTH_NS


def test_a_shutdown_ends_although_every_turn_of_the_loop_is_slow():
    drain = ShutdownDeadline(LENGTH_NS, 0)
    drain.start_countdown(0)
    looks = [drain.is_over(turn * 30 * NS_PER_SECOND) for turn in range(9)]
    assert looks == [False] * 8 + [True]


def test_an_idle_loop_checks_the_shutdown_deadline_often_enough():
    drain = ShutdownDeadline(LENGTH_NS, 0)
    assert drain.next_ns(LENGTH_NS) == LENGTH_NS
    drain.start_countdown(0)
    assert drain.next_ns(LENGTH_NS) < GAP_NS_MAX


async def test_a_run_that_stands_still_after_its_stop_goes_on_cancelling(tmp_path):
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
