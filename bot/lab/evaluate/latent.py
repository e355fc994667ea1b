"""What the rungs are truly worth: one seeded path of the log value, and fair values along it.

Fair values are kept in whole millicents, so that accounts made of them are exact. Every stream of
draws hangs on the seed and its own name alone: what one trader does or draws shifts no other's.

See docs/pricing.md#section-1b for the covariance of what rungs pay; for that of the next move the
tetrachoric series: Pearson, Phil. Trans. A 195 (1900).
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from bot.lab.evaluate.worlds import NATURE, Tails, World
from venue.wire.money import PAYOUT_CENTS

Floats = npt.NDArray[np.float64]

MILLICENTS: Final = 1000
"""Thousandths of a cent in a cent."""

PAYOUT_MC: Final = PAYOUT_CENTS * MILLICENTS
GRID: Final = 4
"""Points of the path in a step."""

_START_DOLLARS: Final = 100e9
_STUDENT_FREEDOM: Final = 4
_SERIES_ENDS: Final = 1e-8
"""Powers of a correlation below this are left out."""

STREAMS: Final = ("latent", "jumps", "noise", "mood", "informed", "sweeps", "makers")
STREAMS_OF_THE_TRADER: Final = ("arbitrage", "feed", "latency", "faults", "stalls")


def stream(seed: int, name: str) -> np.random.Generator:
    """The draws of one stream of a seed, the same on every machine."""
    place = (*STREAMS, *STREAMS_OF_THE_TRADER).index(name)
    return np.random.Generator(np.random.PCG64([seed, place]))


class Latent:
    """The path of one seed. `fair_mc[point][rung]` in millicents; the last point, one beyond the
    end of trading, is the outcome.

    log_values: by point. strikes: dollars, rising. pays: whether each rung resolves YES.
    jump_points: at which point each scheduled jump falls.
    """

    def __init__(self, world: World, seed: int) -> None:
        points = world.steps * GRID
        self._point_ns = world.step_ns // GRID
        total_sd = math.sqrt(NATURE.diffusion_variance + NATURE.jumps * NATURE.jump_variance)
        ranks = [(rung + 1) / (world.rungs + 1) for rung in range(world.rungs)]
        log_strikes = [total_sd * NormalDist().inv_cdf(rank) for rank in ranks]
        self.strikes = [round(_START_DOLLARS * math.exp(each)) for each in log_strikes]
        moves = stream(seed, "latent").normal(0.0, 1.0, points + 1)
        traded = NATURE.diffusion_variance * (1 - NATURE.resolved_later)
        moves[:points] *= math.sqrt(traded / points)
        moves[points] *= math.sqrt(NATURE.diffusion_variance - traded)
        self.jump_points, sizes = _jumps(world, seed, points)
        np.add.at(moves, self.jump_points - 1, sizes)
        self.log_values: Floats = np.concatenate(([0.0], np.cumsum(moves)))
        left = _variance_left(points + 1, self.jump_points)
        self.fair_mc = _fairs(self.log_values, log_strikes, left)
        self._loads = _loads(self.log_values, log_strikes, left)
        self.pays = tuple(value == PAYOUT_MC for value in self.fair_mc[-1])

    def point(self, since_ns: int) -> int:
        """The point of the path that holds so long after the beginning, the outcome at its end."""
        return min(max(since_ns // self._point_ns, 0), len(self.fair_mc) - 1)

    def fairs(self, since_ns: int) -> tuple[int, ...]:
        """Millicents that each rung is worth so long after the beginning."""
        return self.fair_mc[self.point(since_ns)]

    def move_variance(self, point: int, held: Sequence[int]) -> float:
        """Cents^2: the variance, as it stands at a point, of what `held` shares of each rung, below
        zero of NO, gain until the next one. Exact for normal jumps; the last point has no next one.

        Its sum over a path has the mean of what was gained, squared: gains before and after a point
        are uncorrelated, whatever is held and why.
        """
        if point >= len(self._loads):
            fairs = [fair / MILLICENTS for fair in self.fair_mc[point]]
            return payoff_variance(fairs, held)
        total = 0.0
        for loads in self._loads[point]:
            total += sum([load * qty for load, qty in zip(loads, held, strict=True)]) ** 2
        return total

    def since_ns(self, point: int) -> int:
        """When, after the beginning, a point of the path is reached."""
        return point * self._point_ns


def _jumps(world: World, seed: int, points: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """At which points the scheduled jumps fall, and their sizes."""
    rng = stream(seed, "jumps")
    places = 1 + rng.permutation(points - 2)[: NATURE.jumps]
    plain = rng.normal(0.0, 1.0, NATURE.jumps)
    chi = rng.chisquare(_STUDENT_FREEDOM, NATURE.jumps)
    if world.tails is Tails.STUDENT:
        # Scaled to unit variance: that of t with f degrees of freedom is f / (f - 2).
        spread = math.sqrt((_STUDENT_FREEDOM - 2) / _STUDENT_FREEDOM)
        plain = plain / np.sqrt(chi / _STUDENT_FREEDOM) * spread
    return np.sort(places).astype(np.int64), plain * math.sqrt(NATURE.jump_variance)


def payoff_variance(fairs_cents: Sequence[float], held: Sequence[int]) -> float:
    """Cents^2: the variance of what `held` shares of each rung will have paid, strikes rising.

    The covariance of two rungs is the fair value of the higher strike by what that of the lower one
    lacks of 100.
    """
    total, below = 0.0, 0.0
    for fair, qty in zip(fairs_cents, held, strict=True):
        lacks = PAYOUT_CENTS - fair
        total += fair * qty * (2 * below + lacks * qty)
        below += lacks * qty
    return total


def _variance_left(points: int, jump_points: npt.NDArray[np.int64]) -> Floats:
    """Of the log value, by point: what may still come until the outcome."""
    done = np.searchsorted(jump_points, np.arange(points), side="right")
    gone = (1 - NATURE.resolved_later) * np.arange(points) / (points - 1)
    left: Floats = NATURE.diffusion_variance * (1 - gone)
    return left + NATURE.jump_variance * (NATURE.jumps - done)


def _fairs(log_values: Floats, log_strikes: list[float], left: Floats) -> list[tuple[int, ...]]:
    """Fair values at every point, given what may still come: exact for normal jumps."""
    half, erfc = PAYOUT_MC / 2, math.erfc
    fairs = [
        tuple([round(half * erfc((strike - value) / width)) for strike in log_strikes])
        for value, width in zip(log_values[:-1].tolist(), np.sqrt(2 * left).tolist(), strict=True)
    ]
    last = float(log_values[-1])
    fairs.append(tuple([PAYOUT_MC if last > strike else 0 for strike in log_strikes]))
    return fairs


def _loads(
    log_values: Floats, log_strikes: list[float], left: Floats
) -> list[list[tuple[float, ...]]]:
    """By point but the last before the outcome, the terms of the covariance of the next move: each
    a load by rung, and the covariance of two rungs is the sum over terms of their loads' product.

    Term n is the correlation of value and outcome that the move brings to the n-th power by n!, and
    of each rung the density and the Hermite polynomial of degree n - 1 at its distance in sds.
    """
    shares = (1 - left[1:] / left[:-1]).tolist()
    found: list[list[tuple[float, ...]]] = []
    for value, sd, share in zip(log_values.tolist(), np.sqrt(left).tolist(), shares, strict=False):
        away = [(value - strike) / sd for strike in log_strikes]
        density = [PAYOUT_CENTS * math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in away]
        before, hermite = [0.0] * len(away), [1.0] * len(away)
        terms: list[tuple[float, ...]] = []
        power, degree = share, 1
        while power > _SERIES_ENDS * share:
            root = math.sqrt(power / math.factorial(degree))
            terms.append(tuple([root * h * f for h, f in zip(hermite, density, strict=True)]))
            after = [
                x * h - (degree - 1) * b for x, h, b in zip(away, hermite, before, strict=True)
            ]
            before, hermite = hermite, after
            power, degree = power * share, degree + 1
        found.append(terms)
    return found
