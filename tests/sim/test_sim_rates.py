"""Claims about the judge's rates: what a pace and a minute bear, and not one more."""

import pytest

from bot.core import messages as m
from bot.core.settings import BreakerSettings, PaceSettings, RiskSettings, TraderSettings
from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.judge.rates import Rates
from bot.lab.sim.odds import SECOND
from venue.wire import codec
from venue.wire.money import Outcome, Side
from venue.wire.requests import QtyOrder, TimeInForce


def rates(breakers=None, pace=None, resting_orders=200):
    settings = TraderSettings(
        series_ticker="ACME-VAL",
        risk=RiskSettings(
            series_loss_cents=3_000, rung_position_qty=50, order_qty=10,
            resting_orders=resting_orders,
        ),
        breakers=breakers or BreakerSettings(),
        pace=pace or PaceSettings(),
    )  # fmt: skip
    return Rates(settings, 0)


def create(price, qty):
    order = QtyOrder("market", Outcome.YES, Side.BUY, price, qty, TimeInForce.GTC, "name")
    return m.Create(order, codec.encode_new_order(order), False)


def test_markets_share_the_pace_of_the_account():
    held = rates(pace=PaceSettings(writes_per_second=1, writes_burst=2))
    held.written("one", 0)
    held.written("two", 0)
    with pytest.raises(Broken, match="B5: more writes than the pace of the account"):
        held.written("three", SECOND // 2)


def test_a_minute_bears_creates_of_so_many_cents():
    held = rates(BreakerSettings(notional_cents_per_minute=1_000))
    held.created(create(50, 10), 0)
    held.created(create(50, 10), 59 * SECOND)
    held.created(create(50, 10), 60 * SECOND)
    with pytest.raises(Broken, match="B13: creates of 1050 cents in a minute, at most 1000"):
        held.created(create(5, 10), 61 * SECOND)


def test_a_limit_that_is_not_given_follows_from_the_others():
    held = rates(resting_orders=1)
    for _ in range(60):
        held.created(create(1, 1), 0)
    with pytest.raises(Broken, match="B13: 61 creates in a minute, at most 60"):
        held.created(create(1, 1), 0)


def test_nothing_new_leaves_once_more_has_filled_than_a_minute_bears():
    held = rates(BreakerSettings(fills_per_minute=2))
    held.booked(2, 0)
    held.written("one", SECOND)
    held.booked(3, SECOND)
    with pytest.raises(Broken, match="B13: new exposure after 3 fills in a minute, at most 2"):
        held.written("one", 2 * SECOND)
    held.cleared()
    held.written("one", 2 * SECOND)
