"""What the rungs are truly worth: one seeded path of the log value, and fair values along it.

Fair values are kept in whole millicents, so that accounts made of them are exact. Every stream of
draws hangs on the seed and its own name alone: what one trader does or draws shifts no other's.

Source: strategy, 3, Reference world; 1, notation.
"""

import math
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
        self.fair_mc = _fairs(self.log_values, log_strikes, self.jump_points)
        self.pays = tuple(value == PAYOUT_MC for value in self.fair_mc[-1])

    def point(self, since_ns: int) -> int:
        """The point of the path that holds so long after the beginning, the outcome at its end."""
        return min(max(since_ns // self._point_ns, 0), len(self.fair_mc) - 1)

    def fairs(self, since_ns: int) -> tuple[int, ...]:
        """Millicents that each rung is worth so long after the beginning."""
        return self.fair_mc[self.point(since_ns)]

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


def _fairs(
    log_values: Floats, log_strikes: list[float], jump_points: npt.NDArray[np.int64]
) -> list[tuple[int, ...]]:
    """Fair values at every point, given what may still come: exact for normal jumps."""
    points = len(log_values) - 1
    done = np.searchsorted(jump_points, np.arange(points), side="right")
    gone = (1 - NATURE.resolved_later) * np.arange(points) / (points - 1)
    left = NATURE.diffusion_variance * (1 - gone)
    scale = np.sqrt(2 * (left + NATURE.jump_variance * (NATURE.jumps - done)))
    half, erfc = PAYOUT_MC / 2, math.erfc
    fairs = [
        tuple([round(half * erfc((strike - value) / width)) for strike in log_strikes])
        for value, width in zip(log_values[:-1].tolist(), scale.tolist(), strict=True)
    ]
    last = float(log_values[-1])
    fairs.append(tuple([PAYOUT_MC if last > strike else 0 for strike in log_strikes]))
    return fairs
