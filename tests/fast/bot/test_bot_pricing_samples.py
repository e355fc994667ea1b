"""Measurements of strategies: volatility per tick, flow by distance, arrivals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.strategy.api import Print
from bot.strategy.pricing.samples import (
    Arrivals,
    TickVolatility,
    TradeDistances,
    nearest_exponential,
)
from tests.builders.bot.planned import ASK, BID
from venue.wire.money import BookSide, Price, Qty


def trade(price: int, qty: int = 1, taker: BookSide = BID) -> Print:
    return Print(Price(price), Qty(qty), taker, 0.0)


def test_the_volatility_is_the_root_mean_square_of_moves() -> None:
    buffer = TickVolatility(4, 1.0)
    for now, price in enumerate([50.0, 53.0, 53.0, 49.0]):
        buffer.add_price(price, float(now))
    assert buffer.cents_per_tick() == pytest.approx(math.sqrt((9 + 0 + 16) / 4))


def test_a_tick_without_a_view_repeats_the_last_price() -> None:
    seen, sparse = TickVolatility(10, 1.0), TickVolatility(10, 1.0)
    for now, price in enumerate([50.0, 50.0, 50.0, 50.0, 54.0]):
        seen.add_price(price, float(now))
    sparse.add_price(50.0, 0.0)
    sparse.add_price(54.0, 4.0)
    assert sparse.cents_per_tick() == seen.cents_per_tick() > 0


def test_views_within_one_tick_are_one_sample() -> None:
    buffer = TickVolatility(10, 1.0)
    for price, now in [(50.0, 0.0), (90.0, 0.2), (50.0, 1.0)]:
        buffer.add_price(price, now)
    assert buffer.cents_per_tick() == 0.0


def test_a_full_buffer_forgets_the_oldest_tick() -> None:
    buffer = TickVolatility(3, 1.0)
    fullness = []
    for now, price in enumerate([10.0, 20.0, 20.0, 20.0, 21.0]):
        buffer.add_price(price, float(now))
        fullness.append(buffer.has_enough)
    assert fullness == [False, False, True, True, True]
    assert buffer.cents_per_tick() == pytest.approx(math.sqrt(1 / 3))


def test_without_moves_the_last_volatility_stays() -> None:
    buffer = TickVolatility(2, 1.0)
    assert buffer.cents_per_tick() == 0.0
    buffer.add_price(50.0, 0.0)
    buffer.add_price(52.0, 1.0)
    before = buffer.cents_per_tick()
    buffer.add_price(52.0, 1_000.0)
    assert buffer.cents_per_tick() == before > 0


@settings(deadline=None, max_examples=50)
@given(st.floats(0.15, 2.5), st.floats(1, 500))
def test_the_fit_recovers_an_exact_exponential(decay: float, amplitude: float) -> None:
    distances = np.arange(0.5, 12.5)
    fit = nearest_exponential(distances, amplitude * np.exp(-decay * distances))
    assert fit is not None
    assert fit.decay == pytest.approx(decay, rel=1e-4)
    assert fit.amplitude == pytest.approx(amplitude, rel=1e-3)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0.1, 100), min_size=3, max_size=10))
def test_no_nearby_decay_fits_better(amounts: list[float]) -> None:
    distances, wanted = np.arange(len(amounts)) + 0.5, np.array(amounts)
    fit = nearest_exponential(distances, wanted)
    if fit is None:
        return

    def error(decay: float) -> float:
        shape = np.exp(-decay * distances)
        rest = wanted - (shape @ wanted) / (shape @ shape) * shape
        return float(rest @ rest)

    assert error(fit.decay) <= min(error(fit.decay * 0.99), error(fit.decay * 1.01)) + 1e-9


@pytest.mark.parametrize(
    "amounts", [[1.0, 2.0, 4.0, 8.0], [5.0, 5.0, 5.0, 5.0], [9.0, 0.0, 0.0, 0.0]], ids=str
)
def test_amounts_that_do_not_decay_have_no_fit(amounts: list[float]) -> None:
    assert nearest_exponential(np.arange(4) * 1.0 + 0.5, np.array(amounts)) is None


def test_amounts_are_summed_by_distance_over_both_sides() -> None:
    trades = TradeDistances(100)
    for price, qty in [(51, 60), (49, 40), (52, 55), (53, 30), (47, 1)]:
        trades.add_prints([trade(price, qty)], 50.0)
    expected = nearest_exponential(np.array([1.0, 2.0, 3.0]), np.array([100.0, 55.0, 31.0]))
    assert trades.fit() == expected is not None


def test_fewer_than_three_distances_have_no_fit() -> None:
    trades = TradeDistances(100)
    trades.add_prints([trade(51, 9), trade(52, 3)], 50.0)
    assert trades.fit() is None


def test_the_oldest_tick_with_a_trade_is_forgotten() -> None:
    short, fresh = TradeDistances(3), TradeDistances(3)
    short.add_prints([trade(50, 1_000)], 50.0)
    for buffer in (short, fresh):
        for price, qty in [(51, 90), (52, 50), (53, 20)]:
            buffer.add_prints([trade(price, qty)], 50.0)
    assert short.has_enough
    assert short.fit() == fresh.fit() is not None


def poisson_arrivals(amplitude: float, decay: float, seconds: int) -> Arrivals:
    """A world whose orders reach beyond d cents with rate A exp(-k d) a second and side."""
    rng = np.random.default_rng(5)
    arrivals = Arrivals(600, 70)
    arrivals.add_view(50.0, (), 0.0)
    depths = rng.exponential(1 / decay, (seconds, 2))
    hits = rng.random((seconds, 2)) < amplitude
    for now in range(seconds):
        prints = []
        for column, (taker, sign) in enumerate(((BID, 1), (ASK, -1))):
            if hits[now, column]:
                # The last whole cent that the order reaches.
                price = 50 + sign * min(49, math.floor(depths[now, column] + 0.5))
                prints.append(trade(price, 1, taker))
        arrivals.add_view(50.0, prints, now + 1.0)
    return arrivals


def test_the_fit_recovers_a_known_intensity() -> None:
    fit = poisson_arrivals(0.5, 0.4, 600).fit(20)
    assert fit is not None
    assert fit.decay == pytest.approx(0.4, rel=0.25)
    assert fit.amplitude == pytest.approx(0.5, rel=0.35)


def test_only_the_deepest_trade_of_a_sweep_counts() -> None:
    swept, deepest = Arrivals(600, 70), Arrivals(600, 70)
    for arrivals, prices in ((swept, [51, 52, 54]), (deepest, [54])):
        arrivals.add_view(50.0, (), 0.0)
        for now in range(1, 40):
            arrivals.add_view(50.0, [trade(price) for price in prices], float(now))
    assert swept.fit(10) == deepest.fit(10)


def test_a_trade_reaches_only_strictly_nearer_prices() -> None:
    arrivals = Arrivals(600, 70)
    arrivals.add_view(50.5, (), 0.0)
    # Distances 0.5, 1.5 and 3.5 above 50.5: none, one and three whole places.
    for now, price in enumerate([51, 52, 54, 54, 54, 53, 53, 52, 52, 52, 52, 52], 1):
        arrivals.add_view(50.5, [trade(price)], float(now))
    fit = arrivals.fit(3)
    assert fit is not None
    counts = np.array([11.0, 5.0, 3.0])
    slope, level = np.polyfit([0.5, 1.5, 2.5], np.log(counts / (2 * 12)), 1)
    assert fit.decay == pytest.approx(-slope)
    assert fit.amplitude == pytest.approx(math.exp(level))


def test_trades_on_the_wrong_side_of_the_value_do_not_count() -> None:
    right, both = Arrivals(600, 70), Arrivals(600, 70)
    for arrivals in (right, both):
        arrivals.add_view(50.0, (), 0.0)
    for now in range(1, 100):
        good = [trade(51 + now % 4)]
        right.add_view(50.0, good, float(now))
        both.add_view(50.0, [*good, trade(40, 1, BID), trade(60, 1, ASK)], float(now))
    assert both.fit(1) == right.fit(1) is not None


def test_few_arrivals_have_no_fit() -> None:
    assert poisson_arrivals(0.5, 0.4, 600).fit(100_000) is None
    assert Arrivals(600, 70).fit(3) is None


def test_arrivals_older_than_the_window_are_forgotten() -> None:
    arrivals = poisson_arrivals(0.5, 0.4, 600)
    arrivals.add_view(50.0, (), 601.0)
    assert arrivals.fit(20) is not None
    arrivals.add_view(50.0, (), 1_300.0)
    assert arrivals.fit(1) is None


def test_the_volatility_per_root_second_is_independent_of_sampling() -> None:
    rng = np.random.default_rng(3)
    coarse, fine = Arrivals(600, 70), Arrivals(600, 70)
    steps = 50 + np.cumsum(0.1 * rng.standard_normal(2_400))
    for index, value in enumerate(steps.tolist()):
        fine.add_view(value, (), index / 4)
        if index % 4 == 0:
            coarse.add_view(value, (), index / 4)
    assert fine.volatility() == pytest.approx(0.2, rel=0.1)
    assert coarse.volatility() == pytest.approx(0.2, rel=0.15)


def test_moves_older_than_the_window_are_forgotten() -> None:
    arrivals = Arrivals(600, 70)
    arrivals.add_view(50.0, (), 0.0)
    arrivals.add_view(60.0, (), 1.0)
    arrivals.add_view(60.0, (), 2_000.0)
    assert arrivals.volatility() == 0.0
    arrivals.add_view(66.0, (), 2_001.0)
    # Of the window's 600 seconds the last bucket, of ten, is one second old.
    assert arrivals.volatility() == pytest.approx(6 / math.sqrt(591))


def test_the_initial_volatility_is_zero() -> None:
    arrivals = Arrivals(600, 70)
    assert arrivals.volatility() == 0.0
    arrivals.add_view(50.0, (), 5.0)
    assert arrivals.volatility() == 0.0
