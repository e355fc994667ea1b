"""Avellaneda and Stoikov's tables 1 to 3, with the formulas that the strategy quotes by.

The acceptance is on our own figures, of 20,000 runs: the paper's, of 1,000, differ from them by
their sampling error, and two of its standard deviations (12.7, 12.8) by nearly three of them.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
import pytest

from bot.strategy.pricing.avellaneda import liquidity_spread, optimal_spread, reservation_price

START, HORIZON, SIGMA, STEP, DECAY, AMPLITUDE = 100.0, 1.0, 2.0, 0.005, 1.5, 140.0
STEPS, RUNS = 200, 20_000
LEFTS = [HORIZON - step * STEP for step in range(STEPS)]


class Outcome(NamedTuple):
    """Mean and standard deviation of the profit, and of the final holding."""

    profit: float
    profit_sd: float
    held: float
    held_sd: float


def mean_spread(gamma):
    return sum(optimal_spread(gamma, SIGMA, left, DECAY) for left in LEFTS) / STEPS


@functools.cache
def simulated(gamma, skewed):
    """20,000 runs of the paper's world, all at once. skewed: quotes around the reservation price
    with the spread of the moment; else around the mid with the average spread."""
    rng = np.random.default_rng(8)
    mid = np.full(RUNS, START)
    held, cash = np.zeros(RUNS), np.zeros(RUNS)
    average = mean_spread(gamma)
    for left in LEFTS:
        if skewed:
            centre = reservation_price(mid, held, gamma, SIGMA, left)
            half = optimal_spread(gamma, SIGMA, left, DECAY) / 2
        else:
            centre, half = mid, average / 2
        bid, ask = centre - half, centre + half
        bought = rng.random(RUNS) < AMPLITUDE * STEP * np.exp(-DECAY * (mid - bid))
        sold = rng.random(RUNS) < AMPLITUDE * STEP * np.exp(-DECAY * (ask - mid))
        held += bought
        held -= sold
        cash += sold * ask - bought * bid
        mid = mid + SIGMA * math.sqrt(STEP) * np.where(rng.random(RUNS) < 0.5, 1.0, -1.0)
    profit = cash + held * mid
    return Outcome(profit.mean(), profit.std(), held.mean(), held.std())


# gamma, skewed, spread, profit, its sd (exact where it is known), sd of the final holding.
TABLES = [
    (0.1, True, 1.49, 64.91, 6.55, 2.92),
    (0.1, False, 1.49, 68.32, 13.46, 8.40),
    (0.01, True, 1.35, 68.50, 8.96, 5.23),
    (0.01, False, 1.35, 68.67, 13.68, 8.73),
    (1.0, True, 3.03, 31.46, 4.82, 1.64),
    (1.0, False, 3.03, 43.62, 10.73, 5.18),
]


@pytest.mark.parametrize(
    ("gamma", "skewed", "spread", "profit", "profit_sd", "held_sd"),
    TABLES,
    ids=[f"{row[0]}-{'inventory' if row[1] else 'symmetric'}" for row in TABLES],
)
def test_the_formulas_reproduce_the_tables(gamma, skewed, spread, profit, profit_sd, held_sd):
    got = simulated(gamma, skewed)
    assert mean_spread(gamma) == pytest.approx(spread, abs=0.006)
    assert got.profit == pytest.approx(profit, abs=0.3)
    assert got.profit_sd == pytest.approx(profit_sd, rel=0.03)
    assert got.held_sd == pytest.approx(held_sd, rel=0.03)
    assert got.held == pytest.approx(0.0, abs=4 * held_sd / math.sqrt(RUNS))


PUBLISHED = [
    (0.1, True, 1.49, 65.0, 6.6),
    (0.1, False, 1.49, 68.4, 12.7),
    (0.01, True, 1.35, 68.6, 8.7),
    (0.01, False, 1.35, 68.8, 12.8),
    (1.0, True, 3.02, 31.4, 5.0),
    (1.0, False, 3.02, 44.0, 11.0),
]


@pytest.mark.parametrize(("gamma", "skewed", "spread", "profit", "profit_sd"), PUBLISHED)
def test_the_published_figures_lie_within_their_sampling_error(
    gamma, skewed, spread, profit, profit_sd
):
    got = simulated(gamma, skewed)
    assert mean_spread(gamma) == pytest.approx(spread, abs=0.015)
    assert abs(got.profit - profit) < 1.5 * profit_sd / math.sqrt(1_000)
    assert abs(got.profit_sd - profit_sd) < 3.5 * profit_sd / math.sqrt(2_000)


def test_the_spread_of_the_preprint_excludes_the_risk_term():
    # The preprint of 2006 prints 1.29, 1.33 and 1.15 for gamma .1, .01 and .5: rounded, or cut.
    assert liquidity_spread(0.1, DECAY) == pytest.approx(1.29, abs=0.01)
    assert liquidity_spread(0.01, DECAY) == pytest.approx(1.33, abs=0.01)
    assert liquidity_spread(0.5, DECAY) == pytest.approx(1.15, abs=0.01)
