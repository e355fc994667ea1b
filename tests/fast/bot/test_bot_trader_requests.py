"""The whole trader and its requests: the cost of a quiet book, foreign usage, a revoked key."""

import random
from collections import Counter
from functools import partial

import pytest

from bot.core import messages as m
from bot.core.orders.request_budget import RequestBudget
from bot.core.report import Phase
from bot.core.settings import BudgetSettings, TraderSettings
from bot.core.trader import Trader
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.world import SimulatedWorld
from bot.strategy.api import Strategy
from tests.builders.bot.engines import RISK
from tests.builders.bot.thin import Thin
from tests.builders.bot.worlds import calm, creates, quoting, resting
from venue.wire.names import Ticker


def count_requests(world: SimulatedWorld) -> Counter[str]:
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
    count = count_requests(world)
    world.driver.run_until(world.now_ns + 60 * SECOND)
    assert sum(count.values()) <= 2 * 60
    assert count["Create"] == count["AmendResting"] == count["CancelResting"] == 0


def test_traders_on_one_credential_share_one_request_budget():
    purse = RequestBudget(BudgetSettings(), 0)
    settings = TraderSettings(series_ticker=Ticker("X"), risk=RISK)
    one, two = (Trader(settings, lambda: Strategy(None), purse) for _ in range(2))
    assert one.out.purse is two.out.purse is purse
    for trader in (one, two):
        trader.receive(m.Started("0" * 20, ()), SECOND)
        trader.receive(m.Tick(), SECOND)
    assert purse.in_flight == len(one.out.pending) + len(two.out.pending) == 10


def others(world: SimulatedWorld, until_ns: int, per_second: int, rng: random.Random) -> None:
    """A second client on our key."""
    if world.now_ns < until_ns:
        world.exchange.front.bucket(m.Key.TRADE, world.now_ns).spend_token(world.now_ns)
        gap_s = rng.expovariate(per_second)
        world.schedule_after(int(gap_s * SECOND), partial(others, world, until_ns, per_second, rng))


def test_foreign_usage_of_the_key_raises_an_alert_until_it_ends_and_stops_no_quotes():
    world = quoting()
    world.driver.run_until(world.now_ns + 10 * SECOND)
    trader, began_ns = world.process.trader, world.now_ns
    others(world, began_ns + 20 * SECOND, 400, random.Random(1))
    assert world.driver.run_until(
        began_ns + 20 * SECOND, lambda: "foreign_spend" in trader.out.findings
    )
    assert trader.report(world.now_ns).foreign_tokens > 100
    world.driver.run_until(began_ns + 20 * SECOND)
    assert trader.phase is Phase.QUOTING
    assert world.driver.run_until(
        began_ns + 30 * SECOND, lambda: "foreign_spend" not in trader.out.findings
    )


class Throttled(Thin):
    """Answers one request, once `code` is set, by a 429 with Retry-After: 3."""

    code = ""
    rejected_ns = 0

    def ask(self, send: m.Send) -> None:
        if not self.code or self.rejected_ns:
            super().ask(send)
            return
        self.rejected_ns = self.now_ns
        rejected = m.Rejected(429, self.code, "")
        self.give(m.Response(send.request_id, rejected, 0, 3 * SECOND))


@pytest.mark.parametrize("code", ["rate_limited", "engine_overloaded"])
def test_one_429_with_retry_after_3_costs_three_seconds_and_no_more(code):
    thin = Throttled([50, 40])
    thin.start()
    thin.run(10)
    count = len(thin.orders)
    for own in list(thin.trader.desk.live_orders)[:2]:
        own.cancel_requested = True
        thin.trader.quoting.orders_changed(own.market_id)
    thin.code = code
    thin.run(7, thin.show_all, SECOND)
    assert thin.rejected_ns
    closed_ns = range(thin.rejected_ns + 1, thin.rejected_ns + 29 * SECOND // 10)
    assert not [at_ns for at_ns, _ in thin.sent if at_ns in closed_ns]
    assert len(thin.orders) == count
    assert "foreign_spend" not in thin.trader.out.findings


@pytest.mark.parametrize("standby", [False, True])
def test_only_a_standby_key_can_cancel_while_the_key_is_revoked(standby):
    world = quoting(calm(variants={"standby": "yes"} if standby else {}))
    rests = resting(world)
    world.network.revoked = True
    gone = world.driver.run_until(world.now_ns + 15 * SECOND, lambda: resting(world) == 0)
    assert gone is standby
    assert "key_refused" in world.process.trader.out.findings
    before = creates(world)
    world.driver.run_until(world.now_ns + 5 * SECOND)
    assert creates(world) == before
    world.network.revoked = False
    findings = world.process.trader.out.findings
    assert world.driver.run_until(
        world.now_ns + 20 * SECOND,
        lambda: "key_refused" not in findings and resting(world) == rests,
    )
