"""The choice of a price: the value to quote around, the best whole cent, the legal range."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.strategy.api import EventView, OwnQuote, Quote
from bot.strategy.pricing.price import (
    best_edge,
    best_price,
    boldest,
    enough_edge,
    fee_per_share,
    gap_of,
    legal,
    middle,
    outward,
    placed,
    quotes_of,
    value_of,
)
from bot.strategy.pricing.sizes import base_and_cash, cash_in_all
from tests.builders.bot.planned import ASK, BID
from tests.builders.strategies.views import rung, view
from venue.wire.money import PRICE_MAX, PRICE_MIN, BookSide, FeeRate, Price, Qty, complement

signs = st.sampled_from([1, -1])
decays = st.floats(0.1, 3)
prices = st.integers(1, 99)


def gain(sign: int, worth: float, fair: float, decay: float, aversion: float, price: int) -> float:
    """Flow times what a fill gives, as the formula has it."""
    edge = sign * (worth - price)
    if aversion > 0:
        edge = (1 - math.exp(-aversion * edge)) / aversion
    return math.exp(-decay * abs(fair - price)) * edge


@given(signs, st.floats(10, 90), st.floats(0.5, 99.5), decays, st.floats(0, 5))
def test_a_higher_value_never_lowers_the_best_price(sign, worth, fair, decay, more) -> None:
    enough = enough_edge(decay)
    at, above = (best_price(sign, each, fair, enough, decay, 0.0) for each in (worth, worth + more))
    assert at <= above


@given(decays, st.floats(1e-9, 1e-6))
def test_the_best_edge_tends_to_the_risk_neutral_one_as_aversion_vanishes(decay, aversion) -> None:
    assert best_edge(decay) == 1 / decay
    assert best_edge(decay, aversion) == pytest.approx(1 / decay, rel=1e-4)
    assert best_edge(decay, aversion) == pytest.approx(math.log1p(aversion / decay) / aversion)


@given(decays, st.sampled_from([0.0, 1e-5, 0.01, 0.3]))
def test_at_the_least_edge_two_neighbouring_cents_gain_the_same(decay, aversion) -> None:
    worth = 50.0 + enough_edge(decay, aversion)
    at, behind = (gain(1, worth, 90.0, decay, aversion, price) for price in (50, 49))
    assert at == pytest.approx(behind, rel=1e-9)


def test_more_risk_aversion_means_a_smaller_edge() -> None:
    edges = [best_edge(0.6, aversion) for aversion in (0.0, 0.01, 0.1, 1.0)]
    assert edges == sorted(edges, reverse=True)
    assert len(set(edges)) == len(edges)


touches = st.one_of(st.none(), prices)


@given(touches, touches, st.integers(1, 3))
def test_a_legal_price_does_not_cross_the_touch(bid, ask, gap) -> None:
    best_bid = None if bid is None else Price(bid)
    best_ask = None if ask is None else Price(ask)
    for side in (BID, ASK):
        span = legal(side, best_bid, best_ask, gap=gap)
        fits = {
            price
            for price in range(PRICE_MIN, PRICE_MAX + 1)
            if (
                price < PRICE_MAX and (ask is None or price <= ask - gap)
                if side is BID
                else price > PRICE_MIN and (bid is None or price >= bid + gap)
            )
        }
        assert fits == (set() if span is None else set(range(span[0], span[1] + 1)))


@pytest.mark.parametrize(("age_s", "ticks"), [(0.0, 1), (2.0, 1), (2.01, 2), (60.0, 2)])
def test_an_old_book_widens_the_gap_by_a_tick(age_s: float, ticks: int) -> None:
    assert gap_of(age_s) == ticks


@pytest.mark.parametrize(
    ("sign", "worth", "edge", "price"),
    [(1, 50.0, 0.5, 49), (-1, 50.0, 0.5, 51), (1, 49.2, 0.2, 49)],
)
def test_the_boldest_price_leaves_the_required_edge(sign, worth, edge, price) -> None:
    assert boldest(sign, worth, edge) == price


def test_the_fee_of_a_share_is_that_of_its_order_rounded_up() -> None:
    rate = FeeRate.parse("0.0175")
    fees = {size: round(fee_per_share(rate, size, 50), 2) for size in (1, 5, 20, 100)}
    assert fees == {1: 1.00, 5: 0.60, 20: 0.45, 100: 0.44}


def test_levels_become_quotes_with_bids_first() -> None:
    assert quotes_of([(48, 10), (47, 5, 48)], [(52, 7, 51)]) == (
        Quote(BID, Price(48), Qty(10)),
        Quote(BID, Price(47), Qty(5), Price(48)),
        Quote(ASK, Price(52), Qty(7), Price(51)),
    )


def test_each_source_names_its_price() -> None:
    full = msgspec.structs.replace(rung(0, 70.0, bid=40, ask=60, micro=44.0), last_price=Price(55))
    assert value_of(full, "fair") == 70.0
    assert value_of(full, "mid") == 50.0
    assert value_of(full, "micro") == 44.0
    assert value_of(full, "last") == 55


@pytest.mark.parametrize("source", ["mid", "micro", "last"])
def test_a_missing_source_falls_back_to_the_fair_value(source: str) -> None:
    assert value_of(rung(0, 70.0, bid=40), source) == 70.0  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["fair", "micro", "last"])
def test_without_a_fair_value_the_mid_is_used(source: str) -> None:
    assert value_of(rung(0, None, bid=40, ask=60), source) == 50.0  # type: ignore[arg-type]


def test_a_one_sided_book_without_a_fair_value_has_no_value() -> None:
    assert value_of(rung(0, None, ask=60), "fair") is None
    assert middle(rung(0, None, ask=60)) is None


def test_a_price_is_rounded_away_from_the_other_side() -> None:
    assert (outward(BID, 47.3), outward(ASK, 47.3)) == (47, 48)
    assert (outward(BID, 48.0), outward(ASK, 48.0)) == (48, 48)


def test_floating_point_dust_does_not_cost_a_cent() -> None:
    below, above = 100 * 0.29, 100 * 1.1 - 62
    assert below < 29
    assert above > 48
    assert (outward(BID, below), outward(ASK, above)) == (29, 48)


def test_a_quote_is_placed_off_the_touch_and_within_the_price_range() -> None:
    seen = rung(0, 50.0, bid=40, ask=60)
    assert (placed(BID, 70.0, seen), placed(ASK, 30.0, seen)) == (59, 41)
    assert (placed(BID, 70.0, seen, gap=2), placed(ASK, 30.0, seen, gap=2)) == (58, 42)
    assert (placed(BID, 0.9, seen), placed(ASK, 99.1, seen)) == (None, None)
    assert (placed(BID, 1.0, seen), placed(ASK, 99.0, seen)) == (1, 99)


def test_without_a_legal_price_nothing_is_placed() -> None:
    assert placed(BID, 50.0, rung(0, 50.0, ask=1)) is None
    assert placed(ASK, 50.0, rung(0, 50.0, bid=99)) is None


def view_with(
    *orders: tuple[BookSide, int, int], net: int = 0, cash: int | None = 1_000
) -> EventView:
    mine = tuple(OwnQuote(s, Price(p), Qty(q), 0.0, 0.0) for s, p, q in orders)
    seen = msgspec.structs.replace(rung(0, 50.0, net=net), own=mine)
    return msgspec.structs.replace(view(seen), cash_cents=cash)


@pytest.mark.parametrize(
    ("net", "orders", "held_back"),
    [
        (0, [(BID, 48, 10)], 480),
        (0, [(ASK, 60, 10)], 400),
        (0, [(BID, 48, 10), (BID, 40, 5), (ASK, 60, 10)], 480 + 200 + 400),
        (10, [(ASK, 60, 10)], 0),
        (-10, [(BID, 48, 10)], 0),
        (4, [(ASK, 60, 10)], 6 * 40),
        (12, [(ASK, 60, 10), (ASK, 70, 10)], 8 * 30),
        (10, [(BID, 48, 10)], 480),
    ],
    ids=str,
)
def test_only_buying_orders_lock_cash(net, orders, held_back) -> None:
    assert cash_in_all(view_with(*orders, net=net)) == 1_000 + held_back


def test_unknown_cash_stays_unknown() -> None:
    assert cash_in_all(view_with((BID, 48, 10), cash=None)) is None


@pytest.mark.parametrize("net", [-30, 0, 30])
@pytest.mark.parametrize("price", [1, 37, 99])
def test_base_and_cash_are_worth_the_holdings_at_every_price(net: int, price: int) -> None:
    held = rung(0, 50.0, net=net)
    worth = price * held.yes_qty + complement(Price(price)) * held.no_qty
    base, cash = base_and_cash(held, 500)
    assert base * price + cash == 500 + worth
