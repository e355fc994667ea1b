"""The distribution that a ladder implies, its alarms, and arbitrage against a linear program."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from bot.core.distribution import alarms, implied_distribution
from bot.strategy.pricing.arbitrage import arbitrages
from tests.builders.scale import cases
from venue.wire.money import Price

Array = npt.NDArray[np.int64]


def feasible(bids: Array, asks: Array) -> npt.NDArray[np.bool_]:
    """True if the linear program "S non-increasing, bid <= S <= ask on every rung" has a solution.

    bids, asks: one ladder a row. Every constraint bounds a difference of two unknowns (with a zero
    for the bounds), and such a program is feasible if and only if the graph of the constraints has
    no cycle of a negative sum (Farkas): exact, in whole cents, by the Floyd-Warshall recursion.
    """
    count, rungs = bids.shape
    zero = rungs
    far = 10**6
    distance = np.full((rungs + 1, rungs + 1, count), far, dtype=np.int64)
    for rung in range(rungs):
        distance[rung, rung] = 0
        distance[zero, rung] = asks[:, rung]  # S - 0 <= ask
        distance[rung, zero] = -bids[:, rung]  # 0 - S <= -bid
        if rung:
            distance[rung - 1, rung] = 0  # S(i + 1) - S(i) <= 0
    distance[zero, zero] = 0
    for via in range(rungs + 1):
        distance = np.minimum(distance, distance[:, via, None, :] + distance[None, via, :, :])
    return np.asarray((np.diagonal(distance) >= 0).all(axis=1))


def test_arbitrage_is_found_exactly_if_no_falling_curve_fits_the_books() -> None:
    rng = np.random.default_rng(9)
    count = cases(20_000, quick=20_000)
    base = np.sort(rng.integers(5, 95, (count, 6)), axis=1)[:, ::-1]
    bids = np.clip(base + rng.integers(-8, 5, (count, 6)), 1, 97)
    asks = np.clip(bids + rng.integers(1, 12, (count, 6)), 2, 99)
    fits = feasible(bids, asks)
    assert 0.1 < fits.mean() < 0.9
    for row in range(count):
        found = arbitrages([Price(int(p)) for p in bids[row]], [Price(int(p)) for p in asks[row]])
        assert (not found) == fits[row], (bids[row], asks[row])


def test_every_arbitrage_pays_in_every_outcome() -> None:
    rng = np.random.default_rng(10)
    for _ in range(500):
        bids = rng.integers(1, 98, 5)
        asks = np.minimum(99, bids + rng.integers(1, 10, 5))
        for each in arbitrages([Price(int(p)) for p in bids], [Price(int(p)) for p in asks]):
            for outcome in range(6):
                low, high = 100 * (outcome > each.low), 100 * (outcome > each.high)
                assert low - each.ask + each.bid - high >= each.bid - each.ask > 0


def test_probabilities_and_quantiles_follow_from_the_curve() -> None:
    found = implied_distribution([100.0, 200.0, 400.0], [90.0, 50.0, 10.0])
    assert found.chances == pytest.approx((0.1, 0.4, 0.4, 0.1))
    assert found.low == pytest.approx(100.0)
    assert found.median == pytest.approx(200.0)
    assert found.high == pytest.approx(400.0)


def test_quantiles_are_interpolated_by_the_logarithm_of_the_strike() -> None:
    found = implied_distribution([100.0, 400.0], [75.0, 25.0])
    assert found.median == pytest.approx(math.sqrt(100.0 * 400.0))


def test_quantiles_outside_the_strikes_are_unknown() -> None:
    found = implied_distribution([100.0, 200.0], [60.0, 55.0])
    assert (found.low, found.median, found.high) == (None, None, None)


NAMES = ("100", "110", "120")


def kinds(
    touches: list[tuple[int | None, int | None]],
    drawn: tuple[float, ...] = (),
    fit: tuple[float, ...] = (),
) -> list[str]:
    shown = [
        (None if bid is None else Price(bid), None if ask is None else Price(ask))
        for bid, ask in touches
    ]
    return [alarm.kind for alarm in alarms(NAMES, shown, drawn, fit)]


def test_a_ladder_in_order_raises_no_alarm() -> None:
    touches = [(69, 71), (49, 51), (29, 31)]
    assert kinds(touches, (70.0, 50.0, 30.0), (70.0, 50.0, 30.0)) == []


def test_an_arbitrage_raises_an_alarm_that_names_both_rungs() -> None:
    (alarm,) = alarms(NAMES, [(Price(50), Price(52)), (Price(55), Price(57)), (None, None)], (), ())
    assert alarm.kind == "arbitrage"
    assert alarm.text == "110 bid 55 over 100 ask 52"


def test_a_rising_curve_raises_an_alarm() -> None:
    assert kinds([(None, None)] * 3, (50.0, 53.0, 20.0)) == ["negative_mass"]


def test_an_outcome_far_from_its_fitted_probability_raises_an_alarm() -> None:
    touches = [(69, 71), (67, 69), (29, 31)]
    assert kinds(touches, (), (70.0, 50.0, 30.0)) == ["thin_mass"]
    touches = [(89, 91), (49, 51), (29, 31)]
    assert kinds(touches, (), (60.0, 50.0, 30.0)) == ["thin_mass", "thick_mass"]


def test_tiny_probabilities_are_not_compared() -> None:
    touches = [(98, 99), (49, 51), (29, 31)]
    assert kinds(touches, (), (99.4, 50.0, 30.0)) == []
