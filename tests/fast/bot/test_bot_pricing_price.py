"""Claims about the choice of a price: the best whole cent, and where a side may stand."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.strategy.api import Quote
from bot.strategy.pricing.price import (
    best_edge,
    best_price,
    boldest,
    enough_edge,
    fee_per_share,
    gap_of,
    inside,
    legal,
    quotes_of,
)
from tests.builders.scale import cases
from venue.wire.money import PRICE_MAX, PRICE_MIN, BookSide, FeeRate, Price, Qty

BID, ASK = BookSide.BID, BookSide.ASK

signs = st.sampled_from([1, -1])
decays = st.floats(0.1, 3)
prices = st.integers(1, 99)


def gain(sign: int, worth: float, fair: float, decay: float, aversion: float, price: int) -> float:
    """Flow times what a fill gives, as the formula has it."""
    edge = sign * (worth - price)
    if aversion > 0:
        edge = (1 - math.exp(-aversion * edge)) / aversion
    return math.exp(-decay * abs(fair - price)) * edge


@pytest.mark.slow
@settings(deadline=None, max_examples=cases(100_000, quick=1_000))
@given(
    signs,
    st.floats(-50, 150),
    st.floats(0.5, 99.5),
    decays,
    st.sampled_from([0.0, 0.0, 1e-5, 0.01, 0.3]),
    st.tuples(prices, prices).map(sorted),
)
def test_the_price_equals_brute_force_over_every_legal_cent(
    sign: int, worth: float, fair: float, decay: float, aversion: float, legal_prices: list[int]
) -> None:
    low, high = legal_prices
    enough = enough_edge(decay, aversion)
    chosen = inside(best_price(sign, worth, fair, enough, decay, aversion), low, high)
    gains = {p: gain(sign, worth, fair, decay, aversion, p) for p in range(low, high + 1)}
    best = max(gains.values())
    if best > 0:
        assert gains[chosen] == pytest.approx(best, rel=1e-9, abs=1e-300)
    else:
        assert gains[chosen] <= 0


@given(signs, st.floats(10, 90), st.floats(0.5, 99.5), decays, st.floats(0, 5))
def test_a_share_worth_more_is_never_bid_for_or_offered_lower(
    sign: int, worth: float, fair: float, decay: float, more: float
) -> None:
    enough = enough_edge(decay)
    at, above = (best_price(sign, each, fair, enough, decay, 0.0) for each in (worth, worth + more))
    assert at <= above


@given(decays, st.floats(1e-9, 1e-6))
def test_the_best_edge_of_the_risk_averse_tends_to_that_of_the_neutral(
    decay: float, aversion: float
) -> None:
    assert best_edge(decay) == 1 / decay
    assert best_edge(decay, aversion) == pytest.approx(1 / decay, rel=1e-4)
    assert best_edge(decay, aversion) == pytest.approx(math.log1p(aversion / decay) / aversion)


@given(decays, st.sampled_from([0.0, 1e-5, 0.01, 0.3]))
def test_left_just_enough_a_cent_is_worth_what_the_one_behind_it_is(
    decay: float, aversion: float
) -> None:
    worth = 50.0 + enough_edge(decay, aversion)
    at, behind = (gain(1, worth, 90.0, decay, aversion, price) for price in (50, 49))
    assert at == pytest.approx(behind, rel=1e-9)


def test_the_risk_averse_ask_for_less_edge() -> None:
    edges = [best_edge(0.6, aversion) for aversion in (0.0, 0.01, 0.1, 1.0)]
    assert edges == sorted(edges, reverse=True)
    assert len(set(edges)) == len(edges)


# --- where a side may stand -----------------------------------------------------------------------

touches = st.one_of(st.none(), prices)


@given(touches, touches, st.integers(1, 3))
def test_a_legal_price_touches_no_book_and_leaves_one_to_the_other_side(
    bid: int | None, ask: int | None, gap: int
) -> None:
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
def test_an_old_book_is_left_one_more_tick(age_s: float, ticks: int) -> None:
    assert gap_of(age_s) == ticks


@pytest.mark.parametrize(
    ("sign", "worth", "edge", "price"),
    [(1, 50.0, 0.5, 49), (-1, 50.0, 0.5, 51), (1, 49.2, 0.2, 49)],
)
def test_the_boldest_price_leaves_the_edge(
    sign: int, worth: float, edge: float, price: int
) -> None:
    assert boldest(sign, worth, edge) == price


def test_the_fee_of_a_share_is_that_of_the_order_rounded_up() -> None:
    rate = FeeRate.parse("0.0175")
    told = {size: round(fee_per_share(rate, size, 50), 2) for size in (1, 5, 20, 100)}
    assert told == {1: 1.00, 5: 0.60, 20: 0.45, 100: 0.44}


def test_levels_become_quotes_bids_first_with_and_without_limits() -> None:
    assert quotes_of([(48, 10), (47, 5, 48)], [(52, 7, 51)]) == (
        Quote(BID, Price(48), Qty(10)),
        Quote(BID, Price(47), Qty(5), Price(48)),
        Quote(ASK, Price(52), Qty(7), Price(51)),
    )
