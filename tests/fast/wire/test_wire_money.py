"""Claims about money: the mirror, the fee, the reserve, and the text of a rate."""

import itertools
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venue.wire import money
from venue.wire.money import BookSide, FeeRate, FeeUnits, Outcome, Price, Qty, Side

PRICES = st.integers(1, 99).map(Price)
RATES = st.integers(0, 10**8).map(FeeRate)
SIZES = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    13,
    21,
    49,
    50,
    51,
    99,
    100,
    101,
    333,
    1000,
    12345,
    10**6,
)
RATE_TEXTS = ("0", "0.0007", "0.0100", "0.0175", "0.07", "0.99999999", "1", "0.00000001")


def exact_fee_cents(rate_text, qty, price):
    """rate x qty x p x (1 - p) in cents, p in dollars, by fractions alone."""
    p = Fraction(price, 100)
    return Fraction(rate_text) * qty * p * (1 - p) * 100


@given(PRICES)
def test_the_complement_of_a_price_is_its_price_for_the_other_outcome(price):
    complement = money.complement(price)
    assert money.is_price(complement)
    assert price + complement == money.PAYOUT_CENTS
    assert money.canonical(Outcome.YES, price) == price
    assert money.canonical(Outcome.NO, price) == complement


@pytest.mark.parametrize(
    ("outcome", "side", "resting"),
    [
        (Outcome.YES, Side.BUY, BookSide.BID),
        (Outcome.NO, Side.SELL, BookSide.BID),
        (Outcome.YES, Side.SELL, BookSide.ASK),
        (Outcome.NO, Side.BUY, BookSide.ASK),
    ],
)
def test_an_order_rests_on_its_canonical_side_of_the_book(outcome, side, resting):
    assert money.book_side(outcome, side) is resting
    assert money.book_side(outcome.other, side) is resting.other


@pytest.mark.parametrize(("value", "legal"), [(0, False), (1, True), (99, True), (100, False)])
def test_a_price_is_whole_cents_from_1_to_99(value, legal):
    assert money.is_price(value) is legal


@pytest.mark.parametrize("rate_text", RATE_TEXTS)
def test_the_fee_equals_the_formula_in_exact_fractions(rate_text):
    rate = FeeRate.parse(rate_text)
    for qty, price in itertools.product(SIZES, range(1, 100)):
        exact = exact_fee_cents(rate_text, qty, price)
        units = money.fee_units(rate, Qty(qty), Price(price))
        assert Fraction(units, money.FEE_UNITS_PER_CENT) == exact
        assert money.fee_cents(rate, Qty(qty), Price(price)) == ceil(exact)


@given(RATES, st.integers(0, 10**6), PRICES)
def test_the_fee_is_the_same_for_either_outcome(rate, qty, price):
    assert money.fee_units(rate, qty, price) == money.fee_units(rate, qty, money.complement(price))


@given(st.integers(1, 10**8).map(FeeRate), st.integers(1, 10**6), PRICES)
def test_any_positive_rate_costs_at_least_one_cent(rate, qty, price):
    assert money.fee_cents(rate, qty, price) >= 1


@pytest.mark.parametrize(
    ("units", "cents"),
    [
        (0, 0),
        (1, 1),
        (money.FEE_UNITS_PER_CENT - 1, 1),
        (money.FEE_UNITS_PER_CENT, 1),
        (money.FEE_UNITS_PER_CENT + 1, 2),
    ],
)
def test_a_sum_of_fees_rounds_up_to_the_next_cent(units, cents):
    assert money.ceil_cents(FeeUnits(units)) == cents


def test_the_fees_of_many_fills_are_rounded_once():
    rate, one_lot = FeeRate.parse("0.0007"), Qty(1)
    units = sum(money.fee_units(rate, one_lot, Price(50)) for _ in range(1000))
    assert money.ceil_cents(FeeUnits(units)) == 18
    assert 1000 * money.fee_cents(rate, one_lot, Price(50)) == 1000


@st.composite
def bought_orders(draw):
    """(maker rate, taker rate, limit, qty, fills of (size, price, maker?)) of one buy order."""
    maker, taker = draw(RATES), draw(RATES)
    limit, qty = draw(st.integers(1, 99)), draw(st.integers(1, 500))
    fills, left = [], qty
    while left and draw(st.booleans()):
        size = draw(st.integers(1, left))
        fills.append((size, draw(st.integers(1, limit)), draw(st.booleans())))
        left -= size
    return maker, taker, limit, qty, fills


@given(bought_orders())
def test_the_reserve_covers_every_split_of_fills_at_the_limit_or_better(order):
    maker, taker, limit, qty, fills = order
    rate = max(maker, taker)
    reserve = money.reserve_cents(rate, Qty(qty), Price(limit), FeeUnits(0))
    fees, left = 0, qty
    for size, price, is_maker in fills:
        before = money.ceil_cents(FeeUnits(fees))
        fees += money.fee_units(maker if is_maker else taker, Qty(size), Price(price))
        cost = size * price + money.ceil_cents(FeeUnits(fees)) - before
        left -= size
        still_reserved = money.reserve_cents(rate, Qty(left), Price(limit), FeeUnits(fees))
        assert cost + still_reserved <= reserve
        assert still_reserved >= 0
        reserve = still_reserved
    if left == 0:
        assert reserve == 0


@given(RATES, RATES, st.lists(st.tuples(st.integers(1, 200), PRICES, st.booleans()), min_size=1))
def test_the_fees_of_a_sale_never_exceed_its_proceeds(maker, taker, fills):
    fees = proceeds = 0
    for size, price, is_maker in fills:
        fees += money.fee_units(maker if is_maker else taker, Qty(size), price)
        proceeds += size * price
    assert money.ceil_cents(FeeUnits(fees)) <= proceeds


@pytest.mark.parametrize(
    ("rate", "qty", "price", "fees_so_far", "cents"),
    [
        ("0.07", 100, 50, 0, 5000 + 175),
        ("0.0007", 1000, 50, 0, 50_000 + 18),
        ("0", 10, 33, 0, 330),
        ("0.07", 0, 50, 0, 0),
        # 0.5 cents of fees were charged as a whole cent: the next half cent is already paid.
        ("0.0200", 1, 50, money.FEE_UNITS_PER_CENT // 2, 50),
    ],
)
def test_reserves_of_example_orders_equal_the_formula(rate, qty, price, fees_so_far, cents):
    reserve = money.reserve_cents(FeeRate.parse(rate), Qty(qty), Price(price), fees_so_far)
    assert reserve == cents


@given(RATES)
def test_a_rate_parses_its_own_text(rate):
    assert FeeRate.parse(str(rate)) == rate


@pytest.mark.parametrize(
    ("text", "e8", "shown"),
    [
        ("0", 0, "0.0000"),
        ("0.07", 7_000_000, "0.0700"),
        ("0.0700", 7_000_000, "0.0700"),
        ("0.01750000", 1_750_000, "0.0175"),
        ("0.00000001", 1, "0.00000001"),
        ("1", 10**8, "1.0000"),
        ("1.00000000", 10**8, "1.0000"),
    ],
)
def test_a_rate_is_read_exactly_and_shown_with_at_least_four_decimals(text, e8, shown):
    assert FeeRate.parse(text) == FeeRate(e8)
    assert str(FeeRate.parse(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "", ".5", "1.", "+0.1", "-0.1", "0.1\n", " 0.1", "1e-2", "2", "1.00000001", "0.000000001",
        "00.1", "0,1", "nan", "0.١", "０.1", "0x1", "0.1 ",
    ],
)  # fmt: skip
def test_a_text_that_is_no_rate_is_rejected(text):
    with pytest.raises(ValueError, match="not a fee rate"):
        FeeRate.parse(text)


@pytest.mark.parametrize(
    ("so_far", "rate", "qty", "price", "fees", "charge"),
    [
        (0, "0", 10, 50, 0, 0),
        (0, "0.0175", 1, 40, 4_200_000_000, 1),
        (0, "0.07", 10, 50, 175_000_000_000, 18),
        (0, "1", 100, 50, 25_000_000_000_000, 2_500),
        # A second fill is charged what the order's sum has grown by: nothing, or a cent, or more.
        (4_200_000_000, "0.0175", 1, 40, 8_400_000_000, 0),
        (8_400_000_000, "0.0175", 1, 40, 12_600_000_000, 1),
        (10_000_000_000, "0.0175", 1, 40, 14_200_000_000, 1),
        (175_000_000_000, "0.07", 10, 50, 350_000_000_000, 17),
    ],
)
def test_a_fill_is_charged_the_growth_of_its_order_s_rounded_fee_sum(
    so_far, rate, qty, price, fees, charge
):
    result = money.fill_fee(FeeUnits(so_far), FeeRate.parse(rate), Qty(qty), Price(price))
    assert result == (fees, charge)
    assert [type(each) for each in result] == [int, int]


@given(st.lists(st.tuples(RATES, st.integers(1, 10**6), PRICES), max_size=30))
def test_the_fees_of_an_order_are_its_exact_sum_rounded_up_once(fills):
    units, paid, exact = FeeUnits(0), 0, Fraction(0)
    for rate, qty, price in fills:
        units, fee = money.fill_fee(units, rate, Qty(qty), price)
        exact += Fraction(rate.e8, 10**8) * qty * price * (100 - price) / 100
        assert fee >= 0
        paid += fee
        assert paid == ceil(exact)


@pytest.mark.parametrize(("price", "qty", "cents"), [(37, 12, 444), (99, 1, 99), (1, 0, 0)])
def test_notional_is_price_times_shares_in_whole_cents(price, qty, cents):
    result = money.notional(Price(price), Qty(qty))
    assert (result, type(result)) == (cents, int)


@given(RATES, PRICES, st.integers(0, 10**5))
def test_qty_within_is_the_largest_size_that_the_cash_pays(rate, price, cents):
    qty = money.qty_within(rate, price, cents)
    assert money.reserve_cents(rate, qty, price, FeeUnits(0)) <= cents
    assert money.reserve_cents(rate, Qty(qty + 1), price, FeeUnits(0)) > cents


def test_qty_within_debts_is_nothing():
    assert money.qty_within(FeeRate.parse("0.01"), Price(1), -101) == 0
