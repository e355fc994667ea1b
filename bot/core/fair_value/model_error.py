"""How the line through a ladder proves wrong: a shape that lasts, and what is left beside it.

A value that is not lognormal bends the curve away from the line for as long as it lasts, at each
rung in its own way. Looked at over an hour the mean of that is the shape; how much of it is more
than chance is told by all rungs together. What comes and goes on top of it is the allowance: by so
much the line with its shape may be off at a rung now. Cents and cents squared.

Formulas: docs/pricing.md#section-1a, step 3.
"""

from collections.abc import Sequence
from operator import truediv
from typing import Final

HALF_LIFE_S: Final = 3600.0
STEP_MAX_S: Final = 60.0
"""One look counts for no more than a minute of evidence, however long the silence before it."""

_ALLOWANCE_MIN: Final = 0.25
_ALLOWANCE_PRIOR: Final = 1.0
_PRIOR_S: Final = 60.0
"""Cents squared by which the line may be wrong at a rung: its floor, and what is assumed for the
first minute (judgement)."""

_DOUBT: Final = 2.0

_VARIANCE_MIN: Final = 0.3

_ERROR_LASTS_S: Final = 120.0
"""Looks closer than this show the same error of a book twice, not two errors (judgement)."""

_LOOK_S: Final = 2 * _ERROR_LASTS_S
"""So many seconds are worth one look."""


class ModelError:
    """What was learned of every rung. shapes: cents to add to the line. allowances: cents squared
    by which that may be off; never below a quarter."""

    __slots__ = ("_excess", "_noise", "_residuals", "_seconds", "allowances", "shapes")

    def __init__(self, count: int) -> None:
        self._residuals = [0.0] * count
        self._noise = [0.0] * count
        self._excess = [_ALLOWANCE_PRIOR * _PRIOR_S] * count
        self._seconds = [_PRIOR_S] * count
        self.shapes = [0.0] * count
        self.allowances = [_ALLOWANCE_PRIOR] * count

    def learn(self, residuals: Sequence[tuple[float, float] | None], elapsed_s: float) -> None:
        """Take in, per rung, (data less line in cents, variance of the data); None: no data.

        elapsed_s: since the last time, above zero.
        """
        fade = 0.5 ** (elapsed_s / HALF_LIFE_S)
        step_s = min(elapsed_s, STEP_MAX_S)
        means, noises = self._residuals, self._noise
        excesses, seconds = self._excess, self._seconds
        for index, seen in enumerate(residuals):
            if seen is None:
                continue
            residual, variance = seen
            means[index] = means[index] * fade + residual * step_s
            noises[index] = noises[index] * fade + variance * step_s
            excess = (residual * residual - variance) * step_s
            excesses[index] = excesses[index] * fade + excess
            seconds[index] = seconds[index] * fade + step_s
        self._conclude()

    def _conclude(self) -> None:
        means, unsures, chances = [], [], []
        surprise = 0.0
        for residual, noise, seconds in zip(
            self._residuals, self._noise, self._seconds, strict=True
        ):
            mean, variance = residual / seconds, noise / seconds
            if variance < _VARIANCE_MIN:
                variance = _VARIANCE_MIN
            looks = seconds / _LOOK_S if seconds > _LOOK_S else 1.0
            means.append(mean)
            unsures.append(variance / looks)
            # By how much the mean excess of a rung may be off, squared, by chance alone.
            chances.append(2 * variance * variance / looks)
            surprise += mean * mean * looks / variance
        # The share of the means that is more than chance (James and Stein, its positive part).
        chance = _DOUBT * len(means)
        share = 1 - chance / surprise if surprise > chance else 0.0
        explained = share * (2 - share)
        self.shapes = [share * mean for mean in means]
        excess = [
            total / seconds - explained * mean * mean
            for total, seconds, mean in zip(self._excess, self._seconds, means, strict=True)
        ]
        weight = sum([1 / chance for chance in chances])
        pooled = sum(map(truediv, excess, chances)) / weight
        spread = sum([((e - pooled) ** 2 - c) / c for e, c in zip(excess, chances, strict=True)])
        spread = max(0.0, spread / weight)
        allowances = self.allowances = []
        for e, c, u in zip(excess, chances, unsures, strict=True):
            allowance = pooled + (e - pooled) * spread / (spread + c)
            allowances.append(
                (allowance if allowance > _ALLOWANCE_MIN else _ALLOWANCE_MIN) + share * u
            )
