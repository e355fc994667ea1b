"""Fees, costs, sizes and the hurdle: published points, limits, and brute force."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.strategy.api import OwnQuote, RungView
from bot.strategy.pricing.costs import (
    PRIOR_FILLS,
    adverse_prior,
    capital,
    charges,
    glosten_milgrom,
    shrunk,
    slope_of,
    staleness,
    tightness,
)
from bot.strategy.pricing.fees import FillSizes, expected_fee, least_size
from bot.strategy.pricing.probit import from_probit, slope
from bot.strategy.pricing.sizes import PLENTY, confidence, level_sizes, payable, rooms
from tests.builders.strategies.views import rung
from venue.wire.money import BookSide, FeeRate, FeeUnits, Price, Qty, fee_cents, reserve_cents

MAKER = FeeRate.parse("0.0175")
FREE = FeeRate.parse("0")
prices = st.integers(1, 99)


def test_the_expected_fee_before_any_fill_assumes_whole_orders_and_single_shares() -> None:
    sizes = FillSizes().of_order(20)
    exact = (fee_cents(MAKER, Qty(20), Price(50)) + fee_cents(MAKER, Qty(1), Price(50))) / 21
    assert expected_fee(MAKER, sizes, 50) == pytest.approx(exact)
    assert expected_fee(MAKER, FillSizes().of_order(1), 50) == 1.0


def test_observed_fill_sizes_replace_the_assumption() -> None:
    sizes = FillSizes()
    for _ in range(2_000):
        sizes.on_own_fill(8)
    per_share = fee_cents(MAKER, Qty(8), Price(50)) / 8
    assert expected_fee(MAKER, sizes.of_order(20), 50) == pytest.approx(per_share, rel=0.05)


def test_no_fill_is_assumed_larger_than_its_order() -> None:
    sizes = FillSizes()
    sizes.on_own_fill(500)
    assert max(size for size, _ in sizes.of_order(20)) == 20


@given(st.lists(st.integers(1, 10_000), max_size=300))
def test_at_most_sixteen_sizes_of_fills_are_remembered(fills: list[int]) -> None:
    sizes = FillSizes()
    for qty in fills:
        sizes.on_own_fill(qty)
    assert len(sizes.of_order(10_000)) <= 18


@given(prices, st.integers(1, 200))
def test_the_expected_fee_lies_between_the_exact_one_and_a_cent_more_a_fill(price, size) -> None:
    exact = 0.0175 * price * (100 - price) / 100
    found = expected_fee(MAKER, FillSizes().of_order(size), price)
    assert exact - 1e-9 <= found <= exact + 1


@pytest.mark.parametrize(
    ("rate", "price", "size"),
    [
        (MAKER, 5, 11),
        (MAKER, 50, 9),
        (MAKER, 95, 11),
        (FREE, 50, 1),
        (FeeRate.parse("0.00000001"), 1, 91_827_365),
    ],
)
def test_the_least_size_wastes_at_most_a_tenth_of_its_fee(rate, price, size):
    assert least_size(rate, price) == size


@given(st.sampled_from(["0.0100", "0.0175", "0.07", "1"]), prices)
def test_every_smaller_order_wastes_more_than_a_tenth(text: str, price: int) -> None:
    rate = FeeRate.parse(text)
    exact = float(text) * price * (100 - price) / 100
    least = least_size(rate, price)

    def waste(size: int) -> float:
        return fee_cents(rate, Qty(size), Price(price)) / (exact * size) - 1

    assert waste(least) <= 0.1 + 1e-9
    assert all(waste(size) > 0.1 - 1e-9 for size in range(1, least))


@given(st.floats(0.01, 0.99), st.floats(0, 0.9), st.sampled_from([1, -1]))
def test_the_adverse_selection_cap_is_the_loss_to_informed_takers(chance, informed, sign) -> None:
    # An ask is lifted by those who know of a YES, and by half of all others whatever comes.
    pays = chance if sign < 0 else 1 - chance
    knowing = informed * pays
    others = (1 - informed) / 2
    given_a_fill = (knowing + others * pays) / (knowing + others)
    assert glosten_milgrom(chance, informed, sign) == pytest.approx(100 * (given_a_fill - pays))


def test_observed_adverse_selection_outweighs_the_prior_after_fifty_fills() -> None:
    assert shrunk(2.0, 0, 0.4) == pytest.approx(0.4)
    assert shrunk(2.0, PRIOR_FILLS, 0.4) == pytest.approx(1.2)
    assert shrunk(2.0, 5_000, 0.4) == pytest.approx(2.0, rel=0.02)
    assert shrunk(-3.0, 1_000, 0.4) == 0.0


def test_the_adverse_selection_prior_is_half_a_step_of_the_curve() -> None:
    assert adverse_prior(slope(0.0), 0.02) == pytest.approx(0.01 * 100 / math.sqrt(2 * math.pi))


@given(st.integers(1, 99))
def test_the_slope_by_cents_equals_that_of_the_curve(cents: int) -> None:
    deviations = next(d / 1_000 for d in range(-2_500, 2_501) if from_probit(d / 1_000) >= cents)
    assert slope_of(cents) == pytest.approx(slope(deviations), rel=0.02)


def test_only_shares_to_be_bought_lock_capital() -> None:
    assert capital(95, 10, 0, 0.18) == pytest.approx(0.171)
    assert capital(95, 10, 4, 0.18) == pytest.approx(0.171 * 0.6)
    assert capital(95, 10, 10, 0.18) == capital(95, 10, 500, 0.18) == 0.0


def test_an_older_quote_and_an_uncertain_value_cost_more() -> None:
    assert staleness(0.5, 4.0, 0.0, 0.5) == pytest.approx(1.0)
    assert staleness(0.0, 4.0, 3.0, 0.5) == pytest.approx(1.5)
    assert staleness(0.0, 4.0, 3.0, 0.0) == 0.0


def test_a_standard_deviation_of_a_cent_and_a_half_halves_the_size() -> None:
    assert confidence(1.5) == 0.5
    assert level_sizes(10, 3, 1.5, 0.0) == [10, 15, 22]
    assert level_sizes(10, 3, 1.5, 1.5) == [5, 7, 11]
    assert level_sizes(10, 2, 1.5, 500.0) == [1, 1]


@given(
    st.integers(0, 10**6),
    prices,
    st.integers(0, 500),
    st.sampled_from(["0", "0.0175", "0.07", "1"]),
)
def test_a_payable_size_is_covered_by_shares_and_cash_including_fees(
    cash, price, held, rate
) -> None:
    dearer = FeeRate.parse(rate)
    qty = payable(cash, Price(price), held, dearer)
    bought = qty - held
    assert bought >= 0
    assert reserve_cents(dearer, Qty(bought), Price(price), FeeUnits(0)) <= cash


def test_the_higher_fee_rate_counts_when_cash_is_short() -> None:
    dear = msgspec.structs.replace(rung(0, 50.0), taker_fee_rate=FeeRate.parse("0.07"))
    # Of 100 shares at 50 the venue locks 5,175 cents.
    assert rooms(dear, 50.0, 3, 5_100, 50, 50) == (98, 98)


def test_near_the_price_bounds_only_reductions_have_room() -> None:
    assert rooms(rung(0, 2.0, net=30), 2.0, 3, None, 1, 4) == (0, 30)
    assert rooms(rung(0, 98.0, net=-7), 98.0, 3, None, 96, 99) == (7, 0)
    assert rooms(rung(0, 98.0), 98.0, 3, None, 96, 99) == (0, 0)
    assert rooms(rung(0, 50.0, net=30), 50.0, 3, None, 48, 52) == (PLENTY, PLENTY)


def test_a_resting_order_is_paid_for_already() -> None:
    resting = OwnQuote(BookSide.BID, Price(40), Qty(10), 0.0, 1.0)
    bare = rung(0, 50.0)
    assert rooms(bare, 50.0, 3, 0, 40, 60) == (0, 0)
    with_order = msgspec.structs.replace(bare, own=(resting,))
    assert rooms(with_order, 50.0, 3, 0, 40, 60) == (10, 0)


@pytest.mark.parametrize(("qty", "room"), [(10, 10), (4, 10), (15, 14)])
def test_a_resting_sale_of_held_shares_frees_no_cash(qty, room) -> None:
    def rests(side: BookSide, price: int, net: int) -> RungView:
        resting = OwnQuote(side, Price(price), Qty(qty), 0.0, 1.0)
        return msgspec.structs.replace(rung(0, 50.0, net=net, rate=MAKER), own=(resting,))

    # Of fifteen shares five are bought: the 200 cents that these hold back buy four.
    assert rooms(rests(BookSide.BID, 40, -10), 50.0, 3, 0, 40, 60) == (room, 0)
    assert rooms(rests(BookSide.ASK, 60, 10), 50.0, 3, 0, 40, 60) == (0, room)


held = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=8)
lots = st.integers(1, 50)


def fairs_of(draw: st.DataObject, rungs: int) -> list[tuple[int, float]]:
    """Fair values of some of so many rungs, in whole cents, never rising with the strike."""
    fairs = sorted(draw.draw(st.lists(st.integers(1, 99), min_size=rungs, max_size=rungs)))
    known = draw.draw(st.sets(st.integers(0, rungs - 1)))
    return [(at, float(fair)) for at, fair in enumerate(reversed(fairs)) if at in known]


def worst(shares: list[tuple[int, int]], cash: int) -> int:
    """What is owned in the worst outcome, in cents: in outcome b the b lowest rungs pay YES."""
    return cash + min(
        sum(100 * (yes if rung < outcome else no) for rung, (yes, no) in enumerate(shares))
        for outcome in range(len(shares) + 1)
    )


@given(held, lots, st.data())
def test_a_charge_is_the_rate_on_the_worst_case_that_a_lot_adds(shares, lot, data) -> None:
    fairs = fairs_of(data, len(shares))
    found = charges(shares, fairs, lot, 2.0)
    assert len(found) == len(fairs)
    for (place, fair), (bid, ask) in zip(fairs, found, strict=True):
        bought, sold = list(shares), list(shares)
        yes, no = shares[place]
        bought[place], sold[place] = (yes + lot, no), (yes, no + lot)
        cents = int(fair)
        adds_bid = worst(shares, 0) - worst(bought, -lot * cents)
        adds_ask = worst(shares, 0) - worst(sold, -lot * (100 - cents))
        assert bid == pytest.approx(2.0 * adds_bid / 100 / lot)
        assert ask == pytest.approx(2.0 * adds_ask / 100 / lot)


@given(held, lots, st.integers(1, 200), st.data())
def test_more_yes_inventory_never_lowers_bid_charges_or_raises_ask_charges(
    shares, lot, more, data
) -> None:
    fairs = fairs_of(data, len(shares))
    at = data.draw(st.integers(0, len(shares) - 1))
    yes, no = shares[at]
    after = [*shares[:at], (yes + more, no), *shares[at + 1 :]]
    for low, high in zip(
        charges(shares, fairs, lot, 1.0), charges(after, fairs, lot, 1.0), strict=True
    ):
        assert high[0] >= low[0]
        assert high[1] <= low[1]


def test_without_inventory_a_share_is_charged_for_all_it_can_lose() -> None:
    high, low = charges([(0, 0)] * 3, [(0, 90.0), (2, 20.0)], 10, 1.0)
    assert high == pytest.approx((0.9, 0.1))
    assert low == pytest.approx((0.2, 0.8))


def test_a_pair_changes_no_charge() -> None:
    fairs = [(0, 70.0), (1, 40.0)]
    assert charges([(5, 5), (9, 2)], fairs, 10, 1.0) == charges([(0, 0), (7, 0)], fairs, 10, 1.0)


@pytest.mark.parametrize(
    ("limit", "part"),
    [
        (None, 0.0),
        (0, 1.0),
        (40_000, 1.0),
        (45_000, 0.8),
        (50_000, 0.5),
        (60_000, 0.0),
        (10**12, 0),
    ],
)
def test_a_tighter_limit_counts_more_of_the_hurdle(limit, part) -> None:
    # Ten rungs of ten shares pay out 10,000 cents: four times that is tight, six times ample.
    assert tightness(limit, 10, 10) == pytest.approx(part)
