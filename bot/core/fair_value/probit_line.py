"""The two numbers that draw a whole ladder: a line through probits, kept fitted as rungs change.

d(u) = height - steepness * u, with u the logarithm of the strike: a lognormal value. Weighted least
squares. Each rung is weighted in cents by the line itself, and only again once the line has moved.

Formulas: docs/pricing.md#section-1a, step 2.
"""

from collections.abc import Sequence
from operator import mul
from typing import Final

import msgspec

from bot.strategy.pricing.probit import slope

_ROUNDS_MAX: Final = 4
_NEAR: Final = 0.02
"""Weights stand while the line stays this near to where they were taken, in standard deviations:
within it none is off by more than a tenth."""

_DEVIATIONS_MAX: Final = 2.5
"""Weights are taken no further out: beyond it half a cent moves the probit by half a unit."""

_STEEPNESS_MIN: Final = 0.05
"""A noisy ladder may lean the wrong way, and the curve of a survival never rises: the line keeps
this part of the steepness it should have."""


class ProbitLine(msgspec.Struct, frozen=True):
    """The fit d(u) = height - steepness * u and its covariance, u the log strike.

    told: how much of what is known of the steepness comes from data and not from the prior, 0..1;
    0 where the data say that it rises.
    """

    height: float
    steepness: float
    height_variance: float
    covariance: float
    steepness_variance: float
    told: float

    def at(self, u: float) -> float:
        """Standard deviations in the money of a rung at this log strike."""
        return self.height - self.steepness * u

    def variance_at(self, u: float) -> float:
        """How unsure that is, squared."""
        return self.height_variance + (self.steepness_variance * u - 2 * self.covariance) * u


class Prior(msgspec.Struct, frozen=True):
    """What the line should be before any rung is looked at: its steepness with the relative
    standard deviation of that, and where the feed has it cross one half, if there is a feed.

    feed_u: log strike. feed_sd: standard deviation of that; 0 without a feed.
    """

    steepness: float
    relative_sd: float
    feed_u: float = 0.0
    feed_sd: float = 0.0


class LineFit:
    """Data of all rungs, and the line through it."""

    def __init__(self, us: Sequence[float]) -> None:
        """us: log strikes, rising, one per rung."""
        self._us = tuple(us)
        self._deviations = [0.0] * len(us)
        self._inverse = [0.0] * len(us)  # one over the variance; 0 where a rung has no data
        self._reference: ProbitLine | None = None
        self.steep_squares = [0.0] * len(us)
        """Of each rung, the square of the cents that the curve moved there per standard deviation,
        when all were weighed last."""
        self.line: ProbitLine | None = None
        self.weighed = 0
        """How often all rungs were weighted again because the line had moved."""

    def take(self, index: int, deviations: float, variance: float) -> None:
        """A rung's own data says this, in probits; variance in cents squared, above zero."""
        self._deviations[index] = deviations
        self._inverse[index] = 1 / variance
        if self._reference is None:
            self.steep_squares[index] = _steep_square(deviations)

    def drop(self, index: int) -> None:
        """Nothing is known of a rung by its own data."""
        self._inverse[index] = 0.0

    def outermost(self) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """(log strike, probit) of the lowest and the highest rung with data; None below two."""
        known = [index for index, inverse in enumerate(self._inverse) if inverse > 0]
        if len(known) <= 1:
            return None
        low, high = known[0], known[-1]
        return (
            (self._us[low], self._deviations[low]),
            (self._us[high], self._deviations[high]),
        )

    def fit(self, prior: Prior) -> ProbitLine:
        """The line through everything known, by weighted least squares: a 2 x 2 system. There must
        be a feed, or data of some rung."""
        us, guessed, feed_u = self._us, prior.steepness, prior.feed_u
        sure = 1 / (prior.relative_sd * guessed) ** 2
        for _ in range(_ROUNDS_MAX):
            reference, feed = self._reference, 0.0
            if prior.feed_sd > 0:
                steepness = guessed if reference is None else reference.steepness
                feed = 1 / (steepness * prior.feed_sd) ** 2
            weights = list(map(mul, self.steep_squares, self._inverse))
            weighted_us = list(map(mul, weights, us))
            w = sum(weights, feed)
            wu = sum(weighted_us, feed * feed_u)
            wuu = sum(map(mul, weighted_us, us), feed * feed_u * feed_u + sure)
            wd = sum(map(mul, weights, self._deviations))
            wud = sure * guessed - sum(map(mul, weighted_us, self._deviations))
            determinant = w * wuu - wu * wu
            steepness = fitted = (w * wud + wu * wd) / determinant
            # What is known of the steepness whatever the height is determinant / w, with the prior.
            told = 1 - sure * w / determinant
            if fitted < _STEEPNESS_MIN * guessed:
                steepness, told = _STEEPNESS_MIN * guessed, 0.0
            height = (wd + wu * steepness) / w
            line = self.line = ProbitLine(
                height, steepness, wuu / determinant, wu / determinant, w / determinant, told
            )
            if reference is not None:
                # Whether the weights were taken by a line that agrees at both ends of the ladder.
                up, steeper = height - reference.height, steepness - reference.steepness
                if -_NEAR < up - steeper * us[0] < _NEAR and -_NEAR < up - steeper * us[-1] < _NEAR:
                    break
            self._reference = line
            self.weighed += 1
            self.steep_squares = [_steep_square(line.at(u)) for u in us]
        return line


def _steep_square(deviations: float) -> float:
    """The square of the cents that the curve moves there per standard deviation."""
    out = abs(deviations)
    steep = slope(out if out < _DEVIATIONS_MAX else _DEVIATIONS_MAX)
    return steep * steep
