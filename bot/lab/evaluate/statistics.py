"""What chance allows: paired bootstrap, frontiers at equal risk, Holm's correction.

Strategies are compared on the same seeds only, and every interval resamples seeds for both at once.
Resampling is seeded, so the same results give the same page.

What holdings gain while they are held is zero on average wherever fair values are true
expectations, whatever is held: so profit without it has the same mean and varies several times
less. Means are taken of that (a control variate with its coefficient known to be 1), risk of the
whole profit.

Source: strategy, 3, Protocol 2, 3, 5 and 7; Glasserman, Monte Carlo Methods in Financial
Engineering (2003), 4.1.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
K = TypeVar("K")

RESAMPLES: Final = 2_000
_SEED: Final = 20_270_101


class Interval(msgspec.Struct, frozen=True):
    """An estimate with its 95 % interval, and how unlikely it is under no difference at all."""

    value: float
    low: float
    high: float
    p: float


class Sample(NamedTuple):
    """The lives of a frontier: a row by seed for each setting, seeds in one order everywhere.

    nets: profits, whose standard deviation is the risk. edges: what means are taken of, of the same
    expectation as the profits, or the profits themselves.
    """

    nets: Floats
    edges: Floats

    def at(self, setting: int) -> "Sample":
        """The rows of one setting alone."""
        return Sample(self.nets[setting : setting + 1], self.edges[setting : setting + 1])


def resamples(count: int, times: int = RESAMPLES, seed: int = _SEED) -> Ints:
    """`times` draws of `count` places with replacement; the same for the same arguments."""
    rng = np.random.Generator(np.random.PCG64([seed, count]))
    return rng.integers(0, count, (times, count))


def interval(value: float, drawn: Floats) -> Interval:
    """The percentile interval of an estimate, and the two-sided share beyond zero.

    The share is at least one of the resamples plus one: no bootstrap proves more.
    """
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    tail = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    return Interval(value, low, high, min(1.0, 2 * (tail + 1) / (len(drawn) + 1)))


def mean_difference(first: Floats, second: Floats, places: Ints) -> Interval:
    """The mean of what the first gained over the second, seed by seed."""
    gains = first - second
    return interval(float(gains.mean()), gains[places].mean(axis=1))


def ratio(nets: Floats, edges: Floats | None = None) -> float:
    """Mean by standard deviation over seeds; 0 where nothing varies. edges: see `Sample`."""
    spread = float(nets.std(ddof=1)) if len(nets) > 1 else 0.0
    mean = float((nets if edges is None else edges).mean())
    return mean / spread if spread > 0 else 0.0


def ratio_difference(first: Sample, second: Sample, places: Ints) -> Interval:
    """The difference of the two ratios, both resampled at once. Each of one setting."""
    one, other = (ratio(each.nets[0], each.edges[0]) for each in (first, second))
    return interval(one - other, _ratios(first, places) - _ratios(second, places))


def _ratios(sample: Sample, places: Ints) -> Floats:
    spread = sample.nets[0][places].std(axis=1, ddof=1)
    safe = np.where(spread > 0, spread, 1.0)
    found: Floats = np.where(spread > 0, sample.edges[0][places].mean(axis=1) / safe, 0.0)
    return found


# --- frontiers ------------------------------------------------------------------------------------


def mean_at(sd: float, sds: Sequence[float], means: Sequence[float]) -> float:
    """The mean that a frontier offers at a standard deviation.

    Between its points, and between its calmest one and doing nothing (0, 0), by straight lines:
    trading less of the same gives those. Beyond its wildest point what that one gives: more risk
    than it takes need not be taken. Of points of equal sd the best counts.
    """
    points = sorted({0.0: 0.0, **_best_by_sd(sds, means)}.items())
    low_sd, low_mean = points[0]
    for high_sd, high_mean in points[1:]:
        if sd <= high_sd:
            share = (sd - low_sd) / (high_sd - low_sd)
            return low_mean + share * (high_mean - low_mean)
        low_sd, low_mean = high_sd, high_mean
    return low_mean


def _best_by_sd(sds: Sequence[float], means: Sequence[float]) -> dict[float, float]:
    best: dict[float, float] = {}
    for sd, mean in zip(sds, means, strict=True):
        if sd > 0:
            best[sd] = max(mean, best.get(sd, -math.inf))
    return best


def difference_at_equal_sd(first: Sample, second: Sample, sd: float, places: Ints) -> Interval:
    """What the first frontier gains over the second at a standard deviation.

    Both frontiers are drawn anew from every resample, so their own sds are as uncertain as they
    are.
    """
    drawn_first, drawn_second = _drawn(first, places), _drawn(second, places)
    drawn = np.array(
        [
            mean_at(sd, *one) - mean_at(sd, *other)
            for one, other in zip(drawn_first, drawn_second, strict=True)
        ]
    )
    value = mean_at(sd, *_points(first)) - mean_at(sd, *_points(second))
    return interval(value, drawn)


def _points(sample: Sample) -> tuple[list[float], list[float]]:
    return sample.nets.std(axis=1, ddof=1).tolist(), sample.edges.mean(axis=1).tolist()


def _drawn(sample: Sample, places: Ints) -> list[tuple[list[float], list[float]]]:
    """Sds and means of every point, resample by resample."""
    sds = np.stack([row[places].std(axis=1, ddof=1) for row in sample.nets], axis=1).tolist()
    means = np.stack([row[places].mean(axis=1) for row in sample.edges], axis=1).tolist()
    return list(zip(sds, means, strict=True))


# --- many claims ----------------------------------------------------------------------------------


def holm(ps: Mapping[K, float]) -> dict[K, float]:
    """Holm's corrected p of each claim, as if every one had been made alone.

    The smallest is multiplied by their number, the next by one less, and so on; none falls below
    the one before it, none rises above 1.
    """
    out: dict[K, float] = {}
    highest = 0.0
    for place, (claim, p) in enumerate(sorted(ps.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, (len(ps) - place) * p))
        out[claim] = highest
    return {claim: out[claim] for claim in ps}


def signs(first: Floats, second: Floats) -> tuple[int, int]:
    """On how many seeds the first gained more, and on how many the second."""
    return int((first > second).sum()), int((first < second).sum())
