"""Claims about the pool strategy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.amm import Amm
from tests.builders.strategies.scenes import changed, own
from tests.builders.strategies.views import prices, rung, view
from venue.wire.money import BookSide

BID, ASK = BookSide.BID, BookSide.ASK


def make(**params: int) -> Amm:
    return Amm(Amm.Params.model_validate(params))


def test_the_default_is_ten_levels_on_each_side() -> None:
    quotes = make().quote(view(rung(0, 50.0)))
    assert prices(quotes, 0, BID) == list(range(49, 39, -1))
    assert prices(quotes, 0, ASK) == list(range(51, 61))


def test_levels_around_a_fractional_value_are_rounded_outward() -> None:
    bids, asks = make(depth_cents=3).levels(50.5, 0, 0, 20_000)
    assert [price for price, _ in bids] == [49, 48]
    assert [price for price, _ in asks] == [52, 53]


@given(st.floats(1, 99), st.integers(0, 2_000), st.integers(0, 2_000), st.integers(0, 100_000))
def test_the_levels_never_cost_more_than_the_cash(
    value: float, yes: int, no: int, cash: int
) -> None:
    bids, asks = make().levels(value, yes, no, float(cash))
    # Shares held are sold first, by the boldest levels; what is bought is paid in cash.
    spent, left = 0, no
    for price, size in bids:
        spent += max(0, size - left) * price
        left = max(0, left - size)
    left = yes
    for price, size in asks:
        spent += max(0, size - left) * (100 - price)
        left = max(0, left - size)
    assert spent <= cash + 1e-6


@given(st.floats(1, 99), st.integers(0, 500), st.integers(0, 500))
def test_the_levels_of_yes_and_no_mirror_each_other(value: float, yes: int, no: int) -> None:
    bids, asks = make().levels(value, yes, no, 20_000)
    mirrored_bids, mirrored_asks = make().levels(100 - value, no, yes, 20_000)
    near = {100 - price: size for price, size in mirrored_asks}
    for price, size in bids:
        assert near.get(price, 0) == pytest.approx(size, abs=1)
    assert [100 - price for price, _ in asks] == pytest.approx(
        [price for price, _ in mirrored_bids], abs=1
    )


def test_inventory_deepens_both_sides_of_the_pool_alike() -> None:
    flat, long = make().levels(50.0, 0, 0, 20_000), make().levels(50.0, 100, 0, 20_000)
    assert long[1][0][1] > flat[1][0][1]
    assert long[0][0][1] > flat[0][0][1]
    assert long[0][0][1] == pytest.approx(long[1][0][1], abs=1)


def test_levels_smaller_than_one_share_are_left_out() -> None:
    bids, _ = make().levels(50.0, 0, 0, 900.0)
    liquidity = 450 / (50**0.5 - 40**0.5)
    sizes = {price: liquidity * (price**-0.5 - (price + 1) ** -0.5) for price in range(49, 39, -1)}
    assert min(sizes.values()) < 1 < max(sizes.values()) < 2
    assert dict(bids) == {price: 1 for price, size in sizes.items() if size >= 1}


@pytest.mark.parametrize(("value", "bids", "asks"), [(3.0, False, True), (97.0, True, False)])
def test_outside_its_price_range_a_pool_quotes_only_toward_the_range(
    value: float, bids: bool, asks: bool
) -> None:
    levels = make(p_min_cents=5, p_max_cents=95).levels(value, 100, 100, 20_000)
    assert (bool(levels[0]), bool(levels[1])) == (bids, asks)


@pytest.mark.parametrize("value", [0.5, 1.0, 3.0, 4.5, 5.0, 50.0, 94.5, 95.0, 97.0, 99.5])
def test_every_level_lies_within_the_price_range(value: float) -> None:
    levels = make(p_min_cents=5, p_max_cents=95).levels(value, 100, 100, 20_000)
    at = [price for side in levels for price, _ in side]
    assert at
    assert 5 <= min(at) <= max(at) <= 95


def test_scarce_cash_is_shared_equally_among_the_rungs() -> None:
    alone = make().quote(changed(view(rung(0, 50.0)), cash_cents=10_000))
    shared = make().quote(changed(view(rung(0, 50.0), rung(1, 50.0)), cash_cents=10_000))
    assert shared["m0"] == shared["m1"]
    for one, other in zip(shared["m0"], alone["m0"], strict=True):
        assert one.qty == pytest.approx(other.qty / 2, abs=1)


def test_a_resolved_rung_gets_no_share_of_scarce_cash() -> None:
    alone = make().quote(changed(view(rung(0, 50.0)), cash_cents=10_000))
    beside = make().quote(changed(view(rung(0, 50.0), rung(1, None)), cash_cents=10_000))
    assert beside == alone


def test_cash_reserved_by_resting_orders_still_counts_as_capital() -> None:
    strategy = make()
    first = strategy.quote(changed(view(rung(0, 50.0)), cash_cents=10_000))
    resting = tuple(own(quote.side, quote.price, quote.qty) for quote in first["m0"])
    later = changed(view(changed(rung(0, 50.0), own=resting)), cash_cents=30)
    assert strategy.quote(later)["m0"] is first["m0"]


def test_cash_of_orders_placed_after_the_balance_read_is_not_counted_twice() -> None:
    strategy = make()
    laid = strategy.quote(changed(view(rung(0, 50.0)), cash_cents=10_000))
    resting = tuple(own(each.side, each.price, each.qty) for each in laid["m0"])
    later = changed(view(changed(rung(0, 50.0), own=resting)), cash_cents=10_000)
    assert strategy.quote(later) == laid


def test_cash_spent_by_a_fill_no_longer_counts_as_capital() -> None:
    strategy = make()
    laid = strategy.quote(changed(view(rung(0, 50.0)), cash_cents=10_000))
    resting = tuple(own(each.side, each.price, each.qty) for each in laid["m0"])
    strategy.quote(changed(view(changed(rung(0, 50.0), own=resting)), cash_cents=630))
    asks = tuple(each for each in resting if each.side is ASK)
    bought = sum(each.qty for each in resting if each.side is BID)
    filled = changed(rung(0, 50.0), own=asks, yes_qty=bought)
    later = changed(view(filled), cash_cents=630)
    assert strategy.quote(later) == make().quote(later)


def test_levels_that_would_cross_the_book_are_left_out() -> None:
    quotes = make().quote(view(rung(0, 50.0, bid=30, ask=46)))
    assert prices(quotes, 0, BID)[0] == 45


def test_a_rung_without_a_fair_value_is_not_quoted() -> None:
    assert make().quote(view(rung(0, None))) == {}
