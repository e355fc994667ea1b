"""How much of the best of many trials is their number: two measures of it.

Deflated Sharpe ratio: the probability that the true ratio of the best is above the ratio that the
best of so many trials without any merit would show. Probability of backtest overfitting: over all
ways to choose by one half of the cases, how often what was chosen lies in the worse half of the
trials on the other.

Source: Bailey, Lopez de Prado, The deflated Sharpe ratio (2014); Bailey, Borwein, Lopez de Prado,
Zhu, The probability of backtest overfitting (2017).
"""

import itertools
import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Final

import msgspec
import numpy as np

from bot.lab.evaluate.statistics import Floats, ratio, sds

BLOCKS_MAX: Final = 12
BLOCKS_MIN: Final = 6
"""Fewer give fewer than twenty ways to choose half of them: too coarse for a probability."""

_EULER: Final = 0.5772156649015329
_NORMAL: Final = NormalDist()


class Deflated(msgspec.Struct, frozen=True, kw_only=True):
    """The best of `trials` by its mean over its standard deviation.

    ratio: what it shows. by_chance: what the best of so many would show on average if none had any
    merit. probability: that its true ratio is above that, 0 to 1.
    """

    ratio: float
    by_chance: float
    probability: float
    trials: int


class Overfitting(msgspec.Struct, frozen=True, kw_only=True):
    """probability: share of the ways to choose in which the chosen was not above the median of the
    other half. splits: how many ways; blocks: of cases. lost: mean of what the chosen showed where
    it was chosen less what it showed elsewhere."""

    probability: float
    splits: int
    blocks: int
    lost: float


def best_by_chance(deviation: float, trials: int) -> float:
    """The ratio that the best of so many trials shows on average where every true ratio is 0.

    deviation: of the ratios over trials. 0 for a single one.
    """
    if trials < 2:
        return 0.0
    first = _NORMAL.inv_cdf(1 - 1 / trials)
    second = _NORMAL.inv_cdf(1 - 1 / (trials * math.e))
    return deviation * ((1 - _EULER) * first + _EULER * second)


def probability_above(
    shown: float, chance: float, cases: int, skewness: float, kurtosis: float
) -> float:
    """How probable it is that a true ratio is above `chance` where `shown` was estimated from so
    many cases of this skewness and kurtosis (3 for a normal distribution)."""
    variance = 1 - skewness * shown + (kurtosis - 1) / 4 * shown**2
    # Never negative for moments of one sample; 0 where it takes two values alone.
    return _NORMAL.cdf((shown - chance) * math.sqrt((cases - 1) / max(variance, 1e-12)))


def deflated(rows: Floats, best: int, trials: int) -> Deflated | None:
    """The deflated ratio of the best row of results. rows: by case for each trial that has a
    result. trials: how many were made in all. None where nothing varies, or of fewer than three
    cases."""
    row = rows[best]
    if len(row) < 3 or not sds(row):
        return None
    standard = (row - row.mean()) / row.std()
    skewness, kurtosis = float((standard**3).mean()), float((standard**4).mean())
    ratios = [ratio(each) for each in rows]
    shown = ratios[best]
    chance = best_by_chance(float(np.std(ratios, ddof=1)) if len(ratios) > 1 else 0.0, trials)
    return Deflated(
        ratio=shown,
        by_chance=chance,
        probability=probability_above(shown, chance, len(row), skewness, kurtosis),
        trials=trials,
    )


def overfitting(rows: Floats, score: Callable[[Floats], Floats]) -> Overfitting | None:
    """Combinatorially symmetric cross-validation.

    rows: a row of results by case for each trial. score: of such rows, a number each, the higher
    the better. The cases are cut into as many equal blocks as there can be, the first few left out
    where they do not come out even. None for fewer than two trials or BLOCKS_MIN cases.
    """
    trials, cases = rows.shape
    blocks = min(BLOCKS_MAX, cases) // 2 * 2
    if trials < 2 or blocks < BLOCKS_MIN:
        return None
    places = np.arange(cases - cases // blocks * blocks, cases).reshape(blocks, -1)
    worse: list[bool] = []
    lost: list[float] = []
    for half in itertools.combinations(range(blocks), blocks // 2):
        inside = np.isin(np.arange(blocks), half)
        past, after = (score(rows[:, places[mask].ravel()]) for mask in (inside, ~inside))
        chosen = int(np.argmax(past))
        # Its rank among the others, ties shared.
        equal = int((after == after[chosen]).sum()) - 1
        below = int((after < after[chosen]).sum()) + equal / 2
        worse.append(below / (trials - 1) <= 0.5)
        lost.append(float(past[chosen] - after[chosen]))
    splits = len(lost)
    return Overfitting(
        probability=sum(worse) / splits, splits=splits, blocks=blocks, lost=sum(lost) / splits
    )
