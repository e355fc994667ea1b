"""The value of a queue position: expected fills, edges, and the comparison of two prices."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.market_data.queue_position import Queues
from bot.core.orders.order import OwnOrder, State
from bot.core.planning.queue_value import (
    EDGE_MIN_CENTS,
    QuoteEconomics,
    TradeRates,
    fills,
    quote_economics,
)
from bot.core.settings import PaceSettings
from tests.builders.bot import made
from tests.builders.bot.made import T0
from tests.builders.bot.planned import ASK, BID, bid, plan
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Outcome, Price, Qty

sizes = st.floats(0, 1_000, allow_subnormal=False)
"""Numbers that a float holds with fewer digits than others are no sizes."""


def worth(
    fair=50.0, volume=20.0, bids=(), asks=(), queues=None, move=0.05, capital=0.0
) -> QuoteEconomics:
    return QuoteEconomics(fair, (volume, volume), bids, asks, queues, move, capital)


def levels(*pairs):
    return tuple((Price(price), Qty(size)) for price, size in pairs)


def queue_with_own(others: int, came: int = 0) -> tuple[Queues, OwnOrder]:
    """A bid of ten at 40 with `others` before it and `came` behind."""
    own = made.own(State.OPEN, price=40, qty=10)
    queues = Queues(1.0)
    queues.on_book(levels((40, others)), (), 10, [], T0)
    queues.on_own_write(made.shown(own), 20, [own], T0)
    queues.on_book(levels((40, others + 10)), (), 20, [own], T0)
    queues.on_book(levels((40, others + 10 + came)), (), 30, [own], T0)
    return queues, own


def test_expected_fills_follow_the_exponential_formula():
    assert fills(20, 5, 10) == pytest.approx(20 * (math.exp(-0.25) - math.exp(-0.75)))


@given(st.floats(0.01, 1_000), sizes, sizes)
def test_expected_fills_exceed_neither_size_nor_volume(volume, ahead, qty):
    assert 0 <= fills(volume, ahead, qty) <= min(qty, volume) * (1 + 1e-9)


@given(st.floats(0.1, 1_000), sizes, st.floats(0, 100), st.floats(1, 100))
def test_fewer_shares_ahead_never_reduce_expected_fills(volume, ahead, more, qty):
    assert fills(volume, ahead, qty) >= fills(volume, ahead + more, qty)


def test_a_side_without_trades_has_the_prior_rate():
    assert per_second(TradeRates(), T0) == pytest.approx(1 / 120)


def test_the_trade_rate_converges_to_the_observed_rate():
    flow = TradeRates()
    for second in range(0, 6_000, 10):
        flow.on_trade(20, T0 + second * NS_PER_SECOND)
    assert per_second(flow, T0 + 6_000 * NS_PER_SECOND) == pytest.approx(2.0, rel=0.15)


def test_the_trade_rate_decays_without_trades():
    flow = TradeRates()
    flow.on_trade(1_000, T0)
    soon, late = per_second(flow, T0), per_second(flow, T0 + 3_600 * NS_PER_SECOND)
    assert late < soon / 20


def test_a_clock_that_stops_or_runs_back_changes_no_rate():
    flow = TradeRates()
    flow.on_trade(5, T0)
    assert per_second(flow, T0) == per_second(flow, T0)
    assert per_second(flow, T0 - 5) == per_second(flow, T0)


def per_second(flow: TradeRates, now_ns: int) -> float:
    """Shares a second that are expected to trade against the bids."""
    pace = PaceSettings(place_horizon_ns=NS_PER_SECOND)
    rates = (flow, TradeRates())
    return quote_economics(50.0, rates, ((), ()), Queues(1.0), pace, 0.0, now_ns).volumes[0]


@pytest.mark.parametrize(
    ("side", "price", "edge"),
    [(BID, 47, 3.0), (ASK, 52, 2.0), (BID, 50, EDGE_MIN_CENTS), (ASK, 40, EDGE_MIN_CENTS)],
)
def test_the_edge_is_the_distance_from_fair_and_at_least_half_a_cent(side, price, edge):
    assert worth().edge(side, Price(price)) == edge


def test_without_a_fair_value_the_edge_is_the_minimum():
    assert worth(fair=None).edge(BID, Price(1)) == EDGE_MIN_CENTS


@pytest.mark.parametrize(("side", "price", "behind"), [(BID, 38, 2), (BID, 41, 0), (ASK, 63, 3)])
def test_expected_volume_falls_with_the_distance_behind_the_touch(side, price, behind):
    here = worth(bids=levels((40, 5)), asks=levels((60, 5)))
    assert here.joining(side, Price(price), 10**6, 1.0) == pytest.approx(
        20 * math.exp(-0.6 * behind)
    )


def test_without_other_orders_all_volume_trades_at_our_price():
    assert worth().joining(BID, Price(3), 10**6, 1.0) == pytest.approx(20)


def test_a_queue_position_is_worth_the_additional_fills_it_brings():
    queues, own = queue_with_own(others=0, came=40)
    here = worth(bids=levels((40, 40)), queues=queues)
    more = fills(20, 0, 10) - fills(20, 40, 10)
    assert here.queue_value_cents(own, 2.0) == pytest.approx(2 * more)


def test_the_last_queue_position_is_worth_nothing():
    queues, own = queue_with_own(others=30)
    assert worth(bids=levels((40, 30)), queues=queues).queue_value_cents(own, 2.0) == 0


def test_an_unknown_queue_position_counts_as_the_last():
    own = made.own(State.OPEN, price=40, qty=10)
    here = worth(bids=levels((40, 30)))
    assert here.queue_value_cents(own, 2.0) == 0
    assert here.staying(own, 2.0) == here.joining(BID, Price(40), 10, 2.0)


def test_staying_counts_the_queue_position_and_joining_the_back_of_the_queue():
    queues, own = queue_with_own(others=0, came=40)
    here = worth(bids=levels((40, 40)), queues=queues)
    assert here.staying(own, 2.0) == pytest.approx(2 * fills(20, 0, 10))
    assert here.joining(BID, Price(40), 10, 2.0) == pytest.approx(2 * fills(20, 40, 10))
    assert here.staying(own, -1.0) < 0


def test_a_no_order_is_valued_on_the_ask_side():
    own = made.own(State.OPEN, outcome=Outcome.NO, price=40, qty=10)
    here = worth(bids=levels((40, 500)), asks=levels((60, 7)))
    assert here.staying(own, 1.0) == pytest.approx(fills(20, 7, 10))


def test_settings_are_converted_to_cents_and_shares():
    pace = PaceSettings(place_horizon_ns=120 * NS_PER_SECOND, move_millicents=70)
    flow = TradeRates()
    day = quote_economics(50.0, (flow, flow), ((), ()), Queues(1.0), pace, 86_400.0, T0)
    assert day.volumes == pytest.approx((1.0, 1.0))
    assert day.move_cents == pytest.approx(0.07)
    assert day.capital_cents == pytest.approx(0.002)


@pytest.mark.parametrize(("ahead", "behind", "moves"), [(60, 0, True), (0, 60, False)])
def test_an_order_near_its_price_moves_only_from_a_place_behind_others(ahead, behind, moves):
    queues, own = queue_with_own(ahead, behind)
    bids = levels((41, 5), (40, 60))
    here = worth(fair=60.0, volume=8.0, bids=bids, queues=queues)
    near = PaceSettings(tolerance_ticks=1, dwell_ns=0, resize_pct=50)
    assert bool(plan([bid(41)], [own], pace=near, worth=here).actions) is moves
