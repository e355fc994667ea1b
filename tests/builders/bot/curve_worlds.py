"""Two worlds to judge a fair curve in: books, prints and a feed around a truth that is known.

The value of a company moves as a random walk in its logarithm. In one world what it ends at is
lognormal, in the other a skewed mixture of two, which no line through probits can follow. Books
show the truth with an error that lasts two minutes and is the larger the wider they are, prints
come from one side at a time, and the feed is off by an error that lasts.

See docs/pricing.md#section-1a-measured.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bot.core.fair_value.curve import RungInput
from bot.strategy.api import ImpliedView
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty

RUNGS = 7
LOOK_S = 20.0
LEFT_S = 30 * 86_400.0
LOG_SD = 0.2
STRIKES = [100.0 * math.exp(LOG_SD * 0.45 * (index - (RUNGS - 1) / 2)) for index in range(RUNGS)]
FEED_LOG_SD = 0.04
_ERROR_HALVES = 0.58
_ERROR_S = 120.0
"""How far the middle of a book is off, in half spreads, and how long that lasts."""

_PRINTS_PER_S = 1 / 60


class World(NamedTuple):
    """Parts of what the value may end at: weight, shift of its logarithm, and width of it."""

    name: str
    parts: tuple[tuple[float, float, float], ...]


LOGNORMAL = World("lognormal", ((1.0, 0.0, LOG_SD),))
MIXTURE = World("skewed mixture", ((0.72, 0.06, 0.65 * LOG_SD), (0.28, -0.16, 1.4 * LOG_SD)))


class Look(NamedTuple):
    """One look at the ladder: the truth, and what there is to see of it."""

    truth: list[float]
    inputs: list[RungInput]
    mids: list[float]
    implied: ImpliedView
    now_ns: int


def survival_cents(world: World, log_value: float) -> list[float]:
    """What each rung is worth."""
    return [
        sum(
            50 * weight * math.erfc((math.log(strike) - log_value - shift) / width / math.sqrt(2))
            for weight, shift, width in world.parts
        )
        for strike in STRIKES
    ]


def looks(world: World, seed: int, count: int) -> Iterator[Look]:
    """A run of looks, the same for the same seed."""
    rng = np.random.default_rng(seed)
    log_value = math.log(100.0) + 0.5 * LOG_SD * rng.standard_normal()
    step_sd = LOG_SD * math.sqrt(LOOK_S / LEFT_S)
    keep = math.exp(-LOOK_S / _ERROR_S)
    feed_error = FEED_LOG_SD * rng.standard_normal()
    halves = rng.integers(1, 7, RUNGS)
    errors = _ERROR_HALVES * halves * rng.standard_normal(RUNGS)
    traded: list[tuple[float, float, int] | None] = [None] * RUNGS
    for number in range(count):
        now_ns = round(number * LOOK_S * NS_PER_SECOND)
        log_value += step_sd * rng.standard_normal()
        errors = keep * errors
        errors += _ERROR_HALVES * halves * math.sqrt(1 - keep * keep) * rng.standard_normal(RUNGS)
        feed_error = (
            0.99 * feed_error + FEED_LOG_SD * math.sqrt(1 - 0.99**2) * rng.standard_normal()
        )
        truth = survival_cents(world, log_value)
        inputs, mids = [], []
        for rung, value in enumerate(truth):
            half = int(halves[rung])
            middle = value + errors[rung]
            bid = min(98 - 2 * half, max(1, math.floor(middle - half + rng.random())))
            ask = bid + 2 * half
            sizes = rng.geometric(1 / 30, 2)
            if rng.random() < LOOK_S * _PRINTS_PER_S:
                side = 1 if rng.random() < 0.5 else -1
                price = value + side * 0.8 * half + rng.standard_normal()
                old = traded[rung]
                weight, cents, at_ns = old or (0.0, 0.0, now_ns)
                weight *= 0.5 ** ((now_ns - at_ns) / NS_PER_SECOND / 120)
                total = weight + 1
                price = min(99, max(1, round(price)))
                traded[rung] = (total, (weight * cents + price) / total, now_ns)
            mids.append((bid + ask) / 2)
            seen = traded[rung]
            inputs.append(
                RungInput(
                    ((Price(bid), Qty(int(sizes[0]))),),
                    ((Price(ask), Qty(int(sizes[1]))),),
                    now_ns,
                    None if seen is None else (seen[1], seen[2]),
                )
            )
        implied = ImpliedView(math.exp(log_value + feed_error), 0.8, 0.0)
        yield Look(truth, inputs, mids, implied, now_ns)
