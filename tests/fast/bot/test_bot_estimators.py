"""Estimates from one rung's own data, and their errors."""

import math
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.fair_value.curve import FairCurve, RungInput
from bot.core.fair_value.estimators import (
    VARIANCE_FLOOR,
    Estimate,
    FeedTrust,
    TradedPrice,
    from_book,
    from_prints,
    merged,
)
from bot.strategy.api import Levels
from bot.strategy.pricing.probit import clipped, from_probit, probit, slope
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty

S = NS_PER_SECOND


def level(price: int, size: int) -> Levels:
    return ((Price(price), Qty(size)),)


@settings(deadline=None)
@given(st.floats(0.5, 99.5))
def test_from_probit_inverts_probit(cents: float) -> None:
    assert from_probit(probit(cents)) == pytest.approx(cents, abs=1e-9)


def test_the_slope_is_the_derivative_of_the_value() -> None:
    for deviations in (-2.0, -0.5, 0.0, 1.3):
        numeric = (from_probit(deviations + 1e-6) - from_probit(deviations - 1e-6)) / 2e-6
        assert slope(deviations) == pytest.approx(numeric, rel=1e-6)


def test_the_initial_volatility_of_a_50_cent_rung_is_a_fortieth_of_a_cent_per_root_second() -> None:
    curve = FairCurve(None)
    curve.update([RungInput(level(49, 50), level(51, 50), 0, None)], None, 30 * 86_400, 0)
    assert curve.volatilities[0] == pytest.approx(0.0248, abs=1e-4)
    assert curve.volatilities[0] * math.sqrt(3_600) == pytest.approx(1.49, abs=0.01)


@pytest.mark.parametrize(("cents", "inside"), [(-3, 0.5), (0.4, 0.5), (7.25, 7.25), (100, 99.5)])
def test_values_are_kept_half_a_tick_from_certainty(cents: float, inside: float) -> None:
    assert clipped(cents) == inside
    assert probit(cents) == probit(inside)


def learned(mids: Iterable[float], step_s: int = 1) -> list[float]:
    """The volatility of a binary market after each of these mids, so far apart in time."""
    curve, out = FairCurve(None), []
    for at, mid in enumerate(mids):
        half = 1 if mid % 1 == 0 else 1.5
        bid, ask = level(round(mid - half), 100), level(round(mid + half), 100)
        curve.update([RungInput(bid, ask, at * step_s * S, None)], None, 1e12, at * step_s * S)
        out.append(curve.volatilities[0])
    return out


def test_a_move_of_a_cent_a_second_is_a_volatility_of_one() -> None:
    found = learned(50 + second % 2 for second in range(600))
    assert max(found[:60]) < 1e-3
    assert found[-1] == pytest.approx(1.0, rel=0.01)


def test_the_variance_halves_in_a_quiet_half_life() -> None:
    found = learned([*(50 + second % 2 for second in range(9_000)), *[51] * 900])
    assert found[-1] ** 2 == pytest.approx(found[8_999] ** 2 / 2, rel=0.02)


def test_the_traded_price_is_the_mean_by_size() -> None:
    traded = TradedPrice()
    traded.update(40, 10, 5 * S)
    traded.update(46, 20, 5 * S)
    assert traded.mean == (pytest.approx(44.0), 5 * S)


def test_a_trade_a_half_life_ago_counts_half() -> None:
    traded = TradedPrice()
    traded.update(40, 10, 0)
    traded.update(46, 10, 120 * S)
    reading = traded.mean
    assert reading == (pytest.approx(44.0), 80 * S)


def test_the_traded_price_keeps_its_instant() -> None:
    traded = TradedPrice()
    assert traded.mean is None
    traded.update(40, 0, 0)
    assert traded.mean is None
    traded.update(40, 10, 0)
    assert traded.mean == (40.0, 0)
    traded.update(50, 10, 30 * 86_400 * S)
    assert traded.mean == (pytest.approx(50.0), 30 * 86_400 * S)


def test_a_tight_thick_and_fresh_book_has_the_smallest_variance() -> None:
    tight = from_book(level(49, 50), level(51, 50), 0, 0.1)
    wide = from_book(level(47, 50), level(53, 50), 0, 0.1)
    thin = from_book(level(49, 2), level(51, 2), 0, 0.1)
    old = from_book(level(49, 50), level(51, 50), 100, 0.1)
    assert tight == Estimate(50.0, pytest.approx(1 / 3 * 1.2 + VARIANCE_FLOOR))
    assert thin.variance == pytest.approx((1 / 3 * 6 + VARIANCE_FLOOR) * 2.5)
    assert old.variance == pytest.approx(1 / 3 * 1.2 + VARIANCE_FLOOR + 1.0)
    assert wide.variance == pytest.approx(9 / 3 * 1.2 + VARIANCE_FLOOR)


def mirrored(levels: Levels) -> Levels:
    """The same levels on the other side."""
    return tuple((Price(100 - price), qty) for price, qty in levels)


@pytest.mark.parametrize(
    ("bids", "from_cents", "from_qty"),
    [
        (level(45, 5) + level(44, 50), 45, 5),
        (level(45, 4) + level(44, 50), 44, 54),
        (level(45, 1) + level(44, 1) + level(43, 3) + level(42, 50), 43, 5),
        (level(45, 1) + level(35, 50), 35, 51),
        (level(45, 1) + level(34, 50), 35, 1),
        (level(45, 3) + level(41, 1), 41, 4),
        (level(45, 3), 45, 3),
        (level(45, 3) + level(30, 1), 35, 3),
    ],
    ids=[
        "five at the touch",
        "four at the touch",
        "five down to the third price",
        "five as far as counts",
        "five too far behind",
        "never five",
        "one price",
        "never five, and far apart",
    ],
)
def test_a_side_counts_from_the_price_with_five_shares_within_ten_cents(
    bids, from_cents, from_qty
) -> None:
    asks = level(60, 50)
    spoken = from_book(bids, asks, 0, 0.1)
    cents = (from_cents * 50 + 60 * from_qty) / (50 + from_qty)
    assert spoken.cents == pytest.approx(cents)
    other = from_book(mirrored(asks), mirrored(bids), 0, 0.1)
    assert other == Estimate(pytest.approx(100 - spoken.cents), pytest.approx(spoken.variance))


def test_a_single_share_ahead_of_a_book_hardly_moves_its_estimate() -> None:
    bids, asks = level(45, 40), level(55, 40)
    plain = from_book(bids, asks, 0, 0.1)
    led = from_book(level(54, 1) + bids, asks, 0, 0.1)
    assert led.cents == pytest.approx(plain.cents, abs=0.1)


@pytest.mark.parametrize(
    ("bids", "asks"),
    [((), ()), (level(40, 1), ()), ((), level(40, 1)), (level(40, 1), level(40, 1))],
    ids=["empty", "no asks", "no bids", "locked"],
)
def test_a_one_sided_or_locked_book_has_no_estimate(bids: Levels, asks: Levels) -> None:
    assert from_book(bids, asks, 0, 0.1) is None


def test_the_variance_of_a_trade_grows_with_the_spread_and_age() -> None:
    bids, asks = level(48, 1), level(52, 1)
    assert from_prints(49.0, 0, bids, asks, 0.1).variance == pytest.approx(1.6**2)
    assert from_prints(49.0, 100, bids, asks, 0.1).variance == pytest.approx(1.6**2 + 1.0)
    assert from_prints(49.0, 0, (), (), 0.1).variance == pytest.approx(4.0**2)
    assert from_prints(49.0, 0, level(50, 1), level(51, 1), 0.1).variance == VARIANCE_FLOOR


def test_a_wide_book_makes_a_trade_no_less_certain_than_no_book() -> None:
    blind = from_prints(49.0, 0, (), (), 0.1)
    assert from_prints(49.0, 0, level(1, 500), level(99, 500), 0.1) == blind
    assert from_prints(49.0, 0, level(44, 5), level(55, 5), 0.1) == blind


def test_merged_estimates_weigh_by_precision() -> None:
    both = merged(Estimate(40.0, 1.0), Estimate(46.0, 2.0))
    assert both == Estimate(pytest.approx(42.0), pytest.approx(2 / 3))
    assert merged(None, Estimate(40.0, 1.0)) == merged(Estimate(40.0, 1.0), None)
    assert merged(None, None) is None


def test_the_initial_error_of_the_feed_follows_its_confidence() -> None:
    trust = FeedTrust()
    assert trust.log_sd(1.0) == pytest.approx(0.02)
    assert trust.log_sd(0.5) == pytest.approx(0.07)
    assert trust.log_sd(0.0) == pytest.approx(0.12)
    assert trust.log_sd(-5.0) == pytest.approx(0.12)


def test_a_wrong_feed_is_trusted_less_in_its_confidence_class_only() -> None:
    trust = FeedTrust()
    for minute in range(0, 1_000, 5):
        trust.learn_error(0.3, 0.95, 0.0, minute * 60 * S)
    assert trust.log_sd(0.95) > 0.25
    assert trust.log_sd(0.5) == pytest.approx(0.07)


def test_an_accurate_feed_is_trusted_more_than_its_confidence() -> None:
    trust = FeedTrust()
    for minute in range(0, 1_000, 5):
        trust.learn_error(4.8, 0.05, 4.8, minute * 60 * S)
    assert trust.log_sd(0.05) < 0.06


def test_a_forecast_is_judged_ten_minutes_later() -> None:
    trust = FeedTrust()
    trust.learn_error(0.5, 1.0, 0.0, 0)
    trust.learn_error(0.5, 1.0, 0.0, 599 * S)
    assert trust.log_sd(1.0) == pytest.approx(0.02)
    trust.learn_error(0.5, 1.0, 0.0, 600 * S)
    assert trust.log_sd(1.0) > 0.1
