"""Claims about the breakers' part of the file, and that no configuration lifts a compiled cap."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bot.config.bot_config import in_ns
from bot.config.checks import beyond_caps
from bot.config.sections import Breakers
from bot.core.execution.pre_trade_checks import HeldBack
from bot.core.risk.breakers import ORDER_NOTIONAL_CENTS_CAP, ORDER_QTY_CAP, TICKS_THROUGH_CAP
from bot.core.settings import BreakerSettings, RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.strategy.api import Strategy
from tests.builders.bot import made
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import Ticker


def test_a_file_that_says_nothing_of_breakers_has_the_traders_own_defaults():
    assert BreakerSettings(**in_ns(Breakers())) == BreakerSettings()


def test_the_age_of_the_unknown_is_given_in_milliseconds():
    assert in_ns(Breakers(unknown_age_ms=60_000))["unknown_age_ns"] == 60_000_000_000


@pytest.mark.parametrize(
    "number",
    [
        {"loss_cents": -1},
        {"rejects_per_minute": 0},
        {"unknown_age_ms": 0},
        {"ticks_through": 99},
        {"off": 1},
    ],
)
def test_a_number_that_makes_no_sense_is_refused(number):
    with pytest.raises(ValidationError):
        Breakers(**number)


@pytest.mark.parametrize(
    ("numbers", "order_qty", "place"),
    [
        ({}, ORDER_QTY_CAP + 1, ("risk", "order_qty")),
        (
            {"order_notional_cents": ORDER_NOTIONAL_CENTS_CAP + 1},
            1,
            ("breakers", "order_notional_cents"),
        ),
        ({"ticks_through": TICKS_THROUGH_CAP + 1}, 1, ("breakers", "ticks_through")),
    ],
)
def test_a_number_beyond_a_compiled_cap_is_refused_with_the_cap_and_its_home(
    numbers, order_qty, place
):
    [(where, text)] = beyond_caps(Breakers(**numbers), order_qty)
    assert where == place
    assert "compiled cap" in text
    assert "bot/core/risk/breakers.py" in text


def test_the_caps_themselves_are_allowed():
    at_caps = Breakers(
        order_notional_cents=ORDER_NOTIONAL_CENTS_CAP, ticks_through=TICKS_THROUGH_CAP
    )
    assert list(beyond_caps(at_caps, ORDER_QTY_CAP)) == []


NUMBERS = st.integers(0, 10**7)


@settings(deadline=None, max_examples=300)
@given(
    order_qty=st.integers(1, 10**6),
    notional=NUMBERS,
    ticks=st.integers(0, 98),
    price=st.integers(1, 99),
    qty=st.integers(1, 10**6),
    outcome=st.sampled_from(list(Outcome)),
    side=st.sampled_from(list(Side)),
    best=st.tuples(st.integers(1, 49), st.integers(50, 99)),
)
def test_no_settings_let_an_order_past_a_compiled_cap(
    order_qty, notional, ticks, price, qty, outcome, side, best
):
    risk = RiskSettings(
        event_loss_cents=Cents(10**9),
        series_loss_cents=Cents(10**9),
        rung_position_qty=Qty(10**6),
        order_qty=Qty(order_qty),
    )
    numbers = BreakerSettings(order_notional_cents=notional, ticks_through=ticks)
    trader = Trader(
        TraderSettings(series_ticker=Ticker("ACME-VAL"), risk=risk, breakers=numbers),
        lambda: Strategy(None),
    )
    bid, ask = best
    bids, asks = ((Price(bid), Qty(1)),), ((Price(ask), Qty(1)),)
    own = made.own(outcome=outcome, side=side, price=price, qty=qty)
    rung = SimpleNamespace(
        market_id=made.MARKET,
        state=SimpleNamespace(bids=bids, asks=asks, without_own=lambda _own: (bids, asks)),
        is_side_suspended=lambda _side, _now_ns: False,
    )
    checks = trader._sending.checks
    verdict = checks.within_caps(rung, own.book_side, own.outcome, own.price, qty)
    through = own.yes_price - ask if own.book_side is BookSide.BID else bid - own.yes_price
    if verdict.reason is None:
        assert qty <= ORDER_QTY_CAP
        assert price * qty <= ORDER_NOTIONAL_CENTS_CAP
        assert through <= min(ticks, TICKS_THROUGH_CAP)
    else:
        assert verdict.reason is HeldBack.CAP
