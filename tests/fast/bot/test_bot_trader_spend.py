"""Claims about the whole trader and its requests: what a quiet book costs, who else is on the key,
and what a refused key leaves resting."""

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from bot.core import messages as m
from bot.core.orders.request_budget import RequestBudget
from bot.core.report import Phase
from bot.core.settings import BudgetSettings, TraderSettings
from bot.core.trader import Trader
from bot.lab.exchange.exchange import Response
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.world import SimulatedWorld
from bot.strategy.api import Strategy
from tests.fast.bot.test_bot_trader import RISK, calm, creates, quoting, resting
from venue.wire.names import Ticker


def sent(world: SimulatedWorld) -> Counter[str]:
    """Kinds of requests from here on; grows as they leave."""
    count: Counter[str] = Counter()
    send = world.network.send_request

    def counted(process, effect):
        count[type(effect.request).__name__] += 1
        send(process, effect)

    world.network.send_request = counted  # type: ignore[method-assign]
    return count


def test_a_quiet_book_costs_less_than_two_requests_a_second():
    world = quoting()
    world.driver.run_until(world.now_ns + 5 * SECOND)
    count = sent(world)
    world.driver.run_until(world.now_ns + 60 * SECOND)
    assert sum(count.values()) <= 2 * 60
    assert count["Create"] == count["AmendResting"] == count["CancelResting"] == 0


def test_traders_on_one_credential_spend_from_one_purse():
    purse = RequestBudget(BudgetSettings(), 0)
    settings = TraderSettings(series_ticker=Ticker("X"), risk=RISK)
    one, two = (Trader(settings, lambda: Strategy(None), purse) for _ in range(2))
    assert one.out.purse is two.out.purse is purse
    for trader in (one, two):
        trader.receive(m.Started("0" * 20, ()), SECOND)
        trader.receive(m.Tick(), SECOND)
    assert purse.in_flight == len(one.out.pending) + len(two.out.pending) == 10


def others(world: SimulatedWorld, until_ns: int, per_second: int) -> None:
    """A second client on our key."""
    if world.now_ns < until_ns:
        world.exchange.front.bucket(m.Key.TRADE, world.now_ns).spend_token(world.now_ns)
        gap_s = world._rng.expovariate(per_second)
        world.schedule_after(int(gap_s * SECOND), partial(others, world, until_ns, per_second))


def test_a_second_client_on_the_key_is_found_while_quotes_go_on_and_forgotten_once_it_went():
    world = quoting()
    world.driver.run_until(world.now_ns + 10 * SECOND)
    trader, began_ns = world.process.trader, world.now_ns
    others(world, began_ns + 20 * SECOND, 400)
    assert world.driver.run_until(
        began_ns + 20 * SECOND, lambda: "foreign_spend" in trader.out.findings
    )
    assert trader.report(world.now_ns).foreign_tokens > 100
    world.driver.run_until(began_ns + 20 * SECOND)
    assert trader.phase is Phase.QUOTING
    assert world.driver.run_until(
        began_ns + 30 * SECOND, lambda: "foreign_spend" not in trader.out.findings
    )


@pytest.mark.parametrize("code", ["rate_limited", "engine_overloaded"])
def test_one_429_with_retry_after_3_costs_three_seconds_and_no_more(code):
    world = quoting()
    world.driver.run_until(world.now_ns + 10 * SECOND)
    trader, reply, refused_ns = world.process.trader, world.network._reply, []

    def refused(call, response):
        if refused_ns:
            return reply(call, response)
        refused_ns.append(world.now_ns)
        return reply(call, Response(m.Rejected(429, code, ""), 0, 3 * SECOND))

    rests, count = resting(world), sent(world)
    world.network._reply = refused  # type: ignore[method-assign]
    for own in list(trader.desk.live_orders)[:2]:
        own.cancel_requested = True
        trader.quoting.orders_changed(own.market_id)
    assert world.driver.run_until(world.now_ns + 5 * SECOND, lambda: bool(refused_ns))
    closed = Counter(count)
    world.driver.run_until(refused_ns[0] + 29 * SECOND // 10)
    assert count == closed
    world.driver.run_until(refused_ns[0] + 4 * SECOND)
    assert resting(world) == rests
    assert "foreign_spend" not in trader.out.findings


@pytest.mark.parametrize("standby", [False, True])
def test_when_the_key_is_revoked_only_a_standby_key_can_take_the_orders_away(standby):
    world = quoting(replace(calm(), variants={"standby": "yes"} if standby else {}))
    world.network.revoked = True
    gone = world.driver.run_until(world.now_ns + 15 * SECOND, lambda: resting(world) == 0)
    assert gone is standby
    assert "key_refused" in world.process.trader.out.findings
    before = creates(world)
    world.driver.run_until(world.now_ns + 5 * SECOND)
    assert creates(world) == before


def test_after_the_key_works_again_everything_is_quoted_again():
    world = quoting(replace(calm(), variants={"standby": "yes"}))
    rests = resting(world)
    world.network.revoked = True
    world.driver.run_until(world.now_ns + 15 * SECOND)
    world.network.revoked = False
    assert world.driver.run_until(world.now_ns + 20 * SECOND, lambda: resting(world) == rests)
    assert "key_refused" not in world.process.trader.out.findings
