"""Paired bootstrap, frontiers at equal risk, Holm's correction, and the best of many trials.

Each resample draws the same seeds for both strategies. Means and risks leave out the luck of
inventory where its distribution is known: docs/strategies.md, "The account".

Glasserman, Monte Carlo Methods in Financial Engineering (2003), 4.1; Hesterberg, What teachers
should know about the bootstrap (2015), of few cases; Abramowitz, Stegun, Handbook of Mathematical
Functions (1964), 26.7.5, for the quantile of t; Bailey, Lopez de Prado, The deflated Sharpe ratio
(2014); Bailey, Borwein, Lopez de Prado, Zhu, The probability of backtest overfitting (2017).
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
K = TypeVar("K")

RESAMPLES: Final = 2_000
CASES_MIN: Final = 5  # fewer give no interval: drawn again they say nothing of others
_NORMAL: Final = NormalDist()
_SEED: Final = 20_270_101
BLOCKS_MAX: Final = 12
BLOCKS_MIN: Final = 6  # fewer can be halved in fewer than twenty ways: too coarse
_EULER: Final = 0.5772156649015329
_ROUNDING: Final = 1e-9  # of the largest value: rows that vary by less vary by rounding alone


class Interval(msgspec.Struct, frozen=True):
    """An estimate with its 95 % interval. least, most: its ends, in JSON `low` and `high`; None
    with too few cases."""

    value: float
    least: float | None = msgspec.field(name="low")
    most: float | None = msgspec.field(name="high")
    p: float  # under no difference at all

    @property
    def low(self) -> float:
        return -math.inf if self.least is None else self.least

    @property
    def high(self) -> float:
        return math.inf if self.most is None else self.most


class Sample(NamedTuple):
    """The runs of a frontier: a row by seed for each setting, seeds in one order everywhere."""

    nets: Floats  # profits
    edges: Floats  # what means are taken of, of the same expectation
    held: Floats  # variance of nets less edges, as known before; mean of the squared difference
    edges_by_gains: Floats  # each change of an edge by what inventory had gained by then, summed
    gains: Floats  # what inventory had gained, on average over the run

    @classmethod
    def of_profits(cls, nets: Floats) -> "Sample":
        nothing = np.zeros_like(nets)
        return cls(nets, nets, nothing, nothing, nothing)

    def at_setting(self, setting: int) -> "Sample":
        return Sample(*(rows[setting : setting + 1] for rows in self))

    def means(self) -> Floats:
        found: Floats = self.edges.mean(axis=-1)
        return found

    def sds(self) -> Floats:
        """Of profits, by setting; 0 with fewer than two seeds."""
        if self.nets.shape[-1] < 2:
            return np.zeros(self.nets.shape[:-1])
        known = self.held.mean(axis=-1)
        variance = self.edges.var(axis=-1, ddof=1) + known + 2 * self._shared()
        # With few seeds what the two shared may seem more than any two things can share.
        least = (self.edges.std(axis=-1, ddof=1) - np.sqrt(known)) ** 2
        return _beyond_rounding(np.sqrt(np.maximum(variance, least)), self.nets)

    def _shared(self) -> Floats:
        """The covariance of the edge and what inventory gains, by setting.

        A part of the edge can share something only with the gains before it. The edge of the other
        seeds, as if it came steadily, is the control variate: it nearly halves the variance.
        """
        count = self.edges.shape[-1]
        of_others = (self.edges.sum(axis=-1, keepdims=True) - self.edges) / (count - 1)
        found: Floats = (self.edges_by_gains - of_others * self.gains).mean(axis=-1)
        return found

    def ratios(self) -> Floats:
        means, sds = self.means(), self.sds()
        return np.divide(means, sds, out=np.zeros_like(means), where=sds > 0)

    def drawn(self, places: Ints) -> "Sample":
        return Sample(*(rows[:, places] for rows in self))


def sds(rows: Floats) -> Floats:
    """Of each row; 0 with fewer than two values, and of one value alone."""
    if rows.shape[-1] < 2:
        return np.zeros(rows.shape[:-1])
    return _beyond_rounding(rows.std(axis=-1, ddof=1), rows)


def _beyond_rounding(deviations: Floats, rows: Floats) -> Floats:
    """0 where deviations are no more than the rounding of the rows' values."""
    least = _ROUNDING * np.abs(rows).max(axis=-1)
    return np.where(deviations > least, deviations, 0.0)


def resamples(count: int, times: int = RESAMPLES) -> Ints:
    """`times` draws of `count` places with replacement."""
    rng = np.random.Generator(np.random.PCG64([_SEED, count]))
    return rng.integers(0, count, (times, count))


def interval(value: float, drawn: Floats, cases: int) -> Interval:
    """The percentile interval of an estimate, and the two-sided share beyond zero.

    cases: what was drawn from; fewer than CASES_MIN give no ends and a share of 1. Resamples of few
    cases lie too close together: each is moved away from the estimate by as much as Student's
    interval of a mean is wider. The share is at least one of the resamples plus one, and the chance
    that without any difference all cases lie on one side.
    """
    if cases < CASES_MIN:
        return Interval(value, None, None, 1.0)
    apart: Floats = value + _wider(cases) * (drawn - value)
    low, high = np.quantile(apart, (0.025, 0.975)).tolist()
    tail = min(int((apart <= 0).sum()), int((apart >= 0).sum()))
    share = max(2 * (tail + 1) / (len(drawn) + 1), 2.0 ** (1 - cases))
    return Interval(value, low, high, min(1.0, share))


def _wider(cases: int) -> float:
    z, free = _NORMAL.inv_cdf(0.975), cases - 1
    t = z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
    t += (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * free**3)
    return t / z * math.sqrt(cases / free)


def mean_difference(first: Floats, second: Floats, places: Ints) -> Interval:
    gains = first - second
    return interval(float(gains.mean()), gains[places].mean(axis=1), len(gains))


def ratios(rows: Floats) -> Floats:
    return Sample.of_profits(rows).ratios()


def ratio_difference(first: Sample, second: Sample, places: Ints) -> Interval:
    value = float(first.ratios()[0] - second.ratios()[0])
    drawn = first.drawn(places).ratios()[0] - second.drawn(places).ratios()[0]
    return interval(value, drawn, first.nets.shape[-1])


# --- frontiers ------------------------------------------------------------------------------------


def means_at(at: Floats, sds: Floats, means: Floats) -> Floats:
    """The means of a frontier at some standard deviations.

    Straight lines join its points and doing nothing (0, 0): trading less of the same gives those.
    Beyond its wildest point its mean stays. Of points of equal sd the best counts.
    """
    order = np.lexsort((means, sds))
    order = order[sds[order] > 0]
    found: Floats = np.interp(at, np.append(0.0, sds[order]), np.append(0.0, means[order]))
    return found


def difference_at_equal_sd(
    first: Sample, second: Sample, sds: Sequence[float], places: Ints
) -> Interval:
    return interval(*drawn_difference(first, second, sds, places), first.nets.shape[-1])


def drawn_difference(
    first: Sample, second: Sample, sds: Sequence[float], places: Ints
) -> tuple[float, Floats]:
    """The estimate of `difference_at_equal_sd`, and its value for each row of places."""
    at = np.array(sds)

    def offered(sample: Sample) -> Floats:
        shape = -1, len(sample.nets)
        rows = zip(sample.sds().T.reshape(shape), sample.means().T.reshape(shape), strict=True)
        return np.array([means_at(at, *row).mean() for row in rows])

    value = float((offered(first) - offered(second))[0])
    return value, offered(first.drawn(places)) - offered(second.drawn(places))


def holm(ps: Mapping[K, float]) -> dict[K, float]:
    """Holm's corrected p of each claim, at most 1."""
    out = dict(ps)
    highest = 0.0
    for place, (claim, p) in enumerate(sorted(ps.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, (len(ps) - place) * p))
        out[claim] = highest
    return out


def signs(first: Floats, second: Floats) -> tuple[int, int]:
    """On how many seeds the first gained more, and on how many the second."""
    return int((first > second).sum()), int((first < second).sum())


# --- the best of many trials ----------------------------------------------------------------------


class DeflatedRatio(msgspec.Struct, frozen=True, kw_only=True):
    """The best of `trials` by its mean over its standard deviation."""

    ratio: float  # what it shows
    by_chance: float  # what the best of so many would show on average if none had any merit
    probability: float  # that its true ratio is above that, 0 to 1
    trials: int


class Overfitting(msgspec.Struct, frozen=True, kw_only=True):
    probability: float  # share of the splits in which the chosen was not above the other's median
    splits: int  # how many ways
    blocks: int  # of cases
    lost: float  # mean of what the chosen showed where it was chosen less what it showed elsewhere


def best_by_chance(deviation: float, trials: int) -> float:
    """The ratio that the best of so many trials shows on average where every true ratio is 0; 0 for
    one trial. deviation: of the ratios over trials."""
    if trials < 2:
        return 0.0
    first = _NORMAL.inv_cdf(1 - 1 / trials)
    second = _NORMAL.inv_cdf(1 - 1 / (trials * math.e))
    return deviation * ((1 - _EULER) * first + _EULER * second)


def probability_above(
    shown: float, chance: float, cases: int, skewness: float, kurtosis: float
) -> float:
    """The probability that a true ratio is above `chance` when `shown` was estimated. kurtosis: 3
    for a normal distribution."""
    variance = 1 - skewness * shown + (kurtosis - 1) / 4 * shown**2
    # Never negative for moments of one sample; 0 where it takes two values alone.
    return _NORMAL.cdf((shown - chance) * math.sqrt((cases - 1) / max(variance, 1e-12)))


def deflated(rows: Floats, best: int, trials: int) -> DeflatedRatio | None:
    """Of the best row of results. rows: by case for each trial that has a result. trials: how many
    were made in all. None where nothing varies, or of fewer than three cases."""
    row = rows[best]
    if len(row) < 3 or not sds(row):
        return None
    standard = (row - row.mean()) / row.std()
    skewness, kurtosis = float((standard**3).mean()), float((standard**4).mean())
    each = ratios(rows)
    shown = float(each[best])
    chance = best_by_chance(float(np.std(each, ddof=1)) if len(each) > 1 else 0.0, trials)
    return DeflatedRatio(
        ratio=shown,
        by_chance=chance,
        probability=probability_above(shown, chance, len(row), skewness, kurtosis),
        trials=trials,
    )


def overfitting(rows: Floats, score: Callable[[Floats], Floats]) -> Overfitting | None:
    """Combinatorially symmetric cross-validation.

    rows: results by case for each trial. score: a number for each row, the higher the better. Cases
    are cut into equal blocks; the first few are left out where they do not come out even. None for
    fewer than two trials or BLOCKS_MIN cases.
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
