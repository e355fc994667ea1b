"""Claims about fees, costs and sizes: published points, limits, and what they hang on."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.strategy.api import OwnQuote, RungView
from bot.strategy.pricing import fees
from bot.strategy.pricing.costs import (
    PRIOR_FILLS,
    adverse_prior,
    capital,
    glosten_milgrom,
    shrunk,
    slope_of,
    staleness,
)
from bot.strategy.pricing.fees import FillSizes, expected_fee, least_size
from bot.strategy.pricing.probit import from_probit, slope
from bot.strategy.pricing.sizes import PLENTY, confidence, level_sizes, payable, rooms
from tests.builders.strategies.views import rung
from venue.wire.money import (
    BookSide,
    FeeRate,
    FeeUnits,
    Price,
    Qty,
    fee_cents,
    reserve_cents,
)

MAKER = FeeRate.parse("0.0175")
FREE = FeeRate.parse("0")
prices = st.integers(1, 99)

# --- fees -----------------------------------------------------------------------------------------


def test_before_any_fill_half_of_an_order_s_fills_are_whole_and_half_of_one_share() -> None:
    sizes = FillSizes().of_order(20)
    exact = (fee_cents(MAKER, Qty(20), Price(50)) + fee_cents(MAKER, Qty(1), Price(50))) / 21
    assert expected_fee(MAKER, sizes, 50) == pytest.approx(exact)


def test_an_order_of_one_share_fills_by_one_share() -> None:
    assert expected_fee(MAKER, FillSizes().of_order(1), 50) == 1.0


def test_fills_that_were_seen_replace_the_guess() -> None:
    sizes = FillSizes()
    for _ in range(2_000):
        sizes.on_own_fill(8)
    per_share = fee_cents(MAKER, Qty(8), Price(50)) / 8
    assert expected_fee(MAKER, sizes.of_order(20), 50) == pytest.approx(per_share, rel=0.05)


def test_no_fill_is_taken_to_be_larger_than_its_order() -> None:
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
def test_the_expected_fee_lies_between_the_exact_one_and_a_cent_more_a_fill(
    price: int, size: int
) -> None:
    exact = 0.0175 * price * (100 - price) / 100
    found = expected_fee(MAKER, FillSizes().of_order(size), price)
    assert exact - 1e-9 <= found <= exact + 1


@pytest.mark.parametrize(("price", "size"), [(5, 11), (50, 9), (95, 11)])
def test_the_least_size_wastes_a_tenth_of_its_fee_at_most(price: int, size: int) -> None:
    assert least_size(MAKER, price) == size


@given(st.sampled_from(["0.0100", "0.0175", "0.07", "1"]), prices)
def test_no_smaller_order_than_the_least_wastes_as_little(text: str, price: int) -> None:
    rate = FeeRate.parse(text)
    exact = float(text) * price * (100 - price) / 100
    least = least_size(rate, price)

    def waste(size: int) -> float:
        return fee_cents(rate, Qty(size), Price(price)) / (exact * size) - 1

    assert waste(least) <= 0.1 + 1e-9
    assert all(waste(size) > 0.1 - 1e-9 for size in range(1, least))


def test_the_least_size_is_found_in_a_few_steps_however_small_the_rate_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def counted(rate: FeeRate, qty: Qty, price: Price) -> int:
        asked.append(qty)
        assert len(asked) < 100
        return fee_cents(rate, qty, price)

    monkeypatch.setattr(fees, "fee_cents", counted)
    assert least_size(FeeRate.parse("0.00000001"), 1) == 91_827_365


def test_where_there_is_no_fee_one_share_is_enough() -> None:
    assert least_size(FREE, 50) == 1


# --- costs ----------------------------------------------------------------------------------------


@given(st.floats(0.01, 0.99), st.floats(0, 0.9), st.sampled_from([1, -1]))
def test_the_cap_is_the_loss_to_takers_of_whom_some_know_the_outcome(
    chance: float, informed: float, sign: int
) -> None:
    # An ask is lifted by those who know of a YES, and by half of all others whatever comes.
    pays = chance if sign < 0 else 1 - chance
    knowing = informed * pays
    others = (1 - informed) / 2
    given_a_fill = (knowing + others * pays) / (knowing + others)
    assert glosten_milgrom(chance, informed, sign) == pytest.approx(100 * (given_a_fill - pays))


def test_what_is_learned_of_fills_outweighs_what_was_assumed_after_fifty() -> None:
    assert shrunk(2.0, 0, 0.4) == pytest.approx(0.4)
    assert shrunk(2.0, PRIOR_FILLS, 0.4) == pytest.approx(1.2)
    assert shrunk(2.0, 5_000, 0.4) == pytest.approx(2.0, rel=0.02)
    assert shrunk(-3.0, 1_000, 0.4) == 0.0


def test_the_prior_is_half_of_a_step_of_the_curve() -> None:
    assert adverse_prior(slope(0.0), 0.02) == pytest.approx(0.01 * 100 / math.sqrt(2 * math.pi))


@given(st.integers(1, 99))
def test_the_slope_by_the_cent_is_that_of_the_curve(cents: int) -> None:
    deviations = next(d / 1_000 for d in range(-2_500, 2_501) if from_probit(d / 1_000) >= cents)
    assert slope_of(cents) == pytest.approx(slope(deviations), rel=0.02)


def test_only_what_has_to_be_bought_ties_up_cash() -> None:
    assert capital(95, 10, 0, 0.18) == pytest.approx(0.171)
    assert capital(95, 10, 4, 0.18) == pytest.approx(0.171 * 0.6)
    assert capital(95, 10, 10, 0.18) == capital(95, 10, 500, 0.18) == 0.0


def test_an_older_quote_and_a_doubtful_value_cost_more() -> None:
    assert staleness(0.5, 4.0, 0.0, 0.5) == pytest.approx(1.0)
    assert staleness(0.0, 4.0, 3.0, 0.5) == pytest.approx(1.5)
    assert staleness(0.0, 4.0, 3.0, 0.0) == 0.0


# --- sizes ----------------------------------------------------------------------------------------


def test_a_value_known_to_a_cent_and_a_half_is_worth_half_the_size() -> None:
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
def test_what_is_payable_is_paid_for_by_shares_and_cash_with_all_that_is_locked_for_fees(
    cash: int, price: int, held: int, rate: str
) -> None:
    dearer = FeeRate.parse(rate)
    qty = payable(cash, Price(price), held, dearer)
    bought = qty - held
    assert bought >= 0
    assert reserve_cents(dearer, Qty(bought), Price(price), FeeUnits(0)) <= cash


def test_the_dearer_fee_of_a_market_counts_where_cash_is_short() -> None:
    dear = msgspec.structs.replace(rung(0, 50.0), taker_fee_rate=FeeRate.parse("0.07"))
    # Of 100 shares at 50 the venue locks 5,175 cents.
    assert rooms(dear, 50.0, 3, 5_100, 50, 50) == (98, 98)


def test_near_the_edges_only_what_reduces_the_position_has_room() -> None:
    assert rooms(rung(0, 2.0, net=30), 2.0, 3, None, 1, 4) == (0, 30)
    assert rooms(rung(0, 98.0, net=-7), 98.0, 3, None, 96, 99) == (7, 0)
    assert rooms(rung(0, 98.0), 98.0, 3, None, 96, 99) == (0, 0)
    assert rooms(rung(0, 50.0, net=30), 50.0, 3, None, 48, 52) == (PLENTY, PLENTY)


def test_what_rests_of_ours_is_paid_for_already() -> None:
    resting = OwnQuote(BookSide.BID, Price(40), Qty(10), 0.0, 1.0)
    view = type(bare := rung(0, 50.0))(
        **{name: getattr(bare, name) for name in bare.__struct_fields__} | {"own": (resting,)}
    )
    assert rooms(bare, 50.0, 3, 0, 40, 60) == (0, 0)
    assert rooms(view, 50.0, 3, 0, 40, 60) == (10, 0)


@pytest.mark.parametrize(("qty", "room"), [(10, 10), (4, 10), (15, 14)])
def test_what_sells_shares_held_holds_no_cash_back_to_be_counted_as_ours(
    qty: int, room: int
) -> None:
    def rests(side: BookSide, price: int, net: int) -> RungView:
        resting = OwnQuote(side, Price(price), Qty(qty), 0.0, 1.0)
        return msgspec.structs.replace(rung(0, 50.0, net=net, rate=MAKER), own=(resting,))

    # Of fifteen shares five are bought: the 200 cents that these hold back buy four.
    assert rooms(rests(BookSide.BID, 40, -10), 50.0, 3, 0, 40, 60) == (room, 0)
    assert rooms(rests(BookSide.ASK, 60, 10), 50.0, 3, 0, 40, 60) == (0, room)
