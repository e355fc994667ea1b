"""Claims about the shell when a person or the venue holds it back: a kill switch, and a 429."""

import asyncio

from bot.core import messages as m
from bot.io.state.kill_switch_file import KillSwitchFile
from tests.builders.shell.life import Life, Plan, assert_exact, live
from venue.rest import faults
from venue.wire.instant import NS_PER_SECOND


def test_a_kill_switch_set_from_outside_pulls_every_order_until_it_is_reset():
    resting: list[int] = []

    async def until(life: Life, holds, longest_s: float) -> None:
        async with asyncio.timeout(longest_s):
            while not holds(life.truth.resting()):  # noqa: ASYNC110 - the engine wakes nobody
                await asyncio.sleep(0.05)
        resting.append(len(life.truth.resting()))

    async def act(life: Life) -> None:
        switch = KillSwitchFile(life.folder)
        await until(life, lambda orders: len(orders) >= 4, 5)
        switch.set("no heartbeat", "reaper", 0)
        await until(life, lambda orders: not orders, 9)
        placed = len(life.truth.orders)
        await asyncio.sleep(5)
        assert len(life.truth.orders) == placed, "no order is placed while latched"
        switch.clear()
        await until(life, lambda orders: len(orders) >= 4, 9)

    assert_exact(live(Plan(seed=7, faulty_s=26.0, act=act)))
    assert resting == [4, 0, 4]


def test_quotes_are_back_within_a_second_after_the_retry_after_of_a_429():
    async def act(life: Life) -> None:
        await asyncio.sleep(2)
        once = faults.Times(1)
        rule = faults.FaultRule(faults.FaultKind.RATE_LIMITED, once, retry_after_s=3)
        life.site.venue.faults.set(rule)

    life = live(Plan(seed=7, faulty_s=9.0, crowd_per_s=6.0, act=act))
    assert_exact(life)
    assert life.ended.report.counters.rate_limited == 1
    (struck_ns,) = [
        entry.at_ns
        for entry in life.entries
        if isinstance(entry.message, m.Response)
        and isinstance(entry.message.answer, m.Rejected)
        and entry.message.answer.status == 429
    ]
    after_ns = [
        entry.at_ns - struck_ns
        for entry in life.entries
        if entry.at_ns > struck_ns
        and isinstance(entry.message, m.Send)
        and isinstance(entry.message.request, m.Create | m.AmendResting)
    ]
    assert 3 * NS_PER_SECOND <= min(after_ns) <= 4 * NS_PER_SECOND
