"""Everything that happens in a world whatever the trader does, drawn before it begins.

Acts are sorted by instant. What differs between worlds is made by thinning the same draws, so that
worlds of one seed are as alike as they can be.
"""

import enum
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bot.lab.evaluate.latent import GRID, MILLICENTS, Floats, Latent, stream
from bot.lab.evaluate.worlds import NATURE, Flow, World
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import PRICE_MAX, PRICE_MIN

_START_DOLLARS = 100e9
_LATENCY_DRAWS = 1 << 14
_SWEEP_QTY = 500
_Z_99 = 2.3263478740408408


class Class(enum.StrEnum):
    """Who acts; also the counterparty of a fill."""

    NOISE = "noise"
    INFORMED = "informed"
    SWEEP = "sweep"
    MAKER = "maker"
    ARBITRAGE = "arbitrage"
    SELF = "self"  # the trader crossed the spread


class Noise(NamedTuple):
    """A taker without knowledge: buys YES up to a limit, or sells it (buys NO) down to one."""

    rung: int
    buys: bool
    limit: int
    qty: int


class Informed(NamedTuple):
    """A look at a rung by somebody who knows its value; `sweep`: because of a jump."""

    rung: int
    qty: int
    sweep: bool


class Visit(NamedTuple):
    """A background maker's visit to a rung; bid and ask None when it leaves."""

    maker: int
    rung: int
    bid: int | None
    ask: int | None
    bid_qty: int
    ask_qty: int


class Look(NamedTuple):
    """The arbitrageur looks at the whole ladder."""


class Published(NamedTuple):
    """An implied value: dollars, and a confidence of 0..1."""

    value_dollars: float
    confidence: float


Act = Noise | Informed | Visit | Look | Published


class Draws(NamedTuple):
    """One seed of one world. acts: (nanoseconds since the beginning, act), sorted.

    latency_ms: of the trader's k-th request to the engine. chances: what befalls it, 0..1.
    stalls: from and until when the channel stands still, nanoseconds since the beginning.
    """

    latent: Latent
    acts: list[tuple[int, Act]]
    latency_ms: list[float]
    chances: list[float]
    stalls: list[tuple[int, int]]


def draw(world: World, seed: int) -> Draws:
    """All draws of a seed."""
    latent = Latent(world, seed)
    acts = [
        *_noise(world, seed, latent),
        *_informed(world, seed),
        *_sweeps(world, seed, latent),
        *_visits(world, seed, latent),
        *_looks(world, seed),
        *_published(world, seed, latent),
    ]
    acts.sort(key=lambda act: act[0])
    sigma = math.log(NATURE.order_p99_ms / NATURE.order_median_ms) / _Z_99
    plain = stream(seed, "latency").normal(0.0, sigma, _LATENCY_DRAWS)
    latency_ms = NATURE.order_median_ms * world.latency * np.exp(plain)
    return Draws(
        latent,
        acts,
        latency_ms.tolist(),
        stream(seed, "faults").random(_LATENCY_DRAWS).tolist(),
        _stalls(world, seed),
    )


def _times_ns(world: World, rng: np.random.Generator, per_step: float) -> Any:
    """Instants of a Poisson stream over the life, in order."""
    count = rng.poisson(per_step * world.steps)
    return np.sort((rng.random(count) * world.life_ns).astype(np.int64))


def _lagged_cents(world: World, latent: Latent, times_ns: Any, rung: int, lags: Any) -> Floats:
    """What a rung was worth `lags` steps before each instant, cents."""
    column: Floats = np.array([fairs[rung] for fairs in latent.fair_mc], dtype=float) / MILLICENTS
    points = times_ns * GRID // world.step_ns - lags * GRID
    values: Floats = column[np.maximum(points, 0)]
    return values


def _mood(world: World, seed: int) -> Floats:
    """One sentiment by step: an Ornstein-Uhlenbeck path of unit variance."""
    keep = 0.5 ** (1 / NATURE.mood_half_life_steps)
    shocks = stream(seed, "mood").normal(0.0, 1.0, world.steps + 1)
    mood, path = float(shocks[0]), []
    spread = math.sqrt(1 - keep * keep)
    for shock in shocks.tolist():
        mood = keep * mood + spread * shock
        path.append(mood)
    return np.array(path)


def _noise(world: World, seed: int, latent: Latent) -> list[tuple[int, Act]]:
    rng, mood = stream(seed, "noise"), _mood(world, seed)
    acts: list[tuple[int, Act]] = []
    for rung in range(world.rungs):
        times = _times_ns(world, rng, 2 * NATURE.noise_per_side)
        count = len(times)
        sides, kept = rng.random(count), rng.random(count)
        distances = rng.exponential(1 / NATURE.noise_decay_per_cent, count)
        errors = rng.normal(0.0, NATURE.view_sd_cents, count)
        sizes = rng.geometric(1 / NATURE.noise_qty_mean, count)
        tilts = mood[times // world.step_ns] * (NATURE.mood_tilt if world.theme else 0.0)
        buys = sides < 1 / (1 + np.exp(-tilts))
        views = _lagged_cents(world, latent, times, rung, NATURE.view_lag_steps) + errors
        limits = np.where(buys, np.floor(views + distances), np.ceil(views - distances))
        stay = kept < (NATURE.thin_share if world.flow is Flow.THIN else 1.0)
        rows = zip(times, buys, limits, sizes, stay, strict=True)
        acts += [
            (int(at), Noise(rung, bool(buy), _price(limit), int(size)))
            for at, buy, limit, size, stays in rows
            if stays
        ]
    return acts


def _informed(world: World, seed: int) -> list[tuple[int, Act]]:
    rng = stream(seed, "informed")
    most, toxic = NATURE.informed_per_rung_toxic, world.flow is Flow.TOXIC
    share = 1.0 if toxic else NATURE.informed_per_rung / most
    acts: list[tuple[int, Act]] = []
    for rung in range(world.rungs):
        times = _times_ns(world, rng, most)
        kept = rng.random(len(times))
        sizes = rng.geometric(1 / NATURE.informed_qty_mean, len(times))
        acts += [
            (int(at), Informed(rung, int(size), sweep=False))
            for at, keep, size in zip(times, kept, sizes, strict=True)
            if keep < share
        ]
    return acts


def _sweeps(world: World, seed: int, latent: Latent) -> list[tuple[int, Act]]:
    rng = stream(seed, "sweeps")
    share = NATURE.sweep_share_toxic if world.flow is Flow.TOXIC else NATURE.sweep_share
    acts: list[tuple[int, Act]] = []
    for point in latent.jump_points.tolist():
        chances = rng.random(world.rungs)
        delays_s = rng.uniform(*NATURE.sweep_delay_s, world.rungs)
        for rung in range(world.rungs):
            if chances[rung] < share:
                at_ns = latent.since_ns(point) + int(delays_s[rung] * NS_PER_SECOND)
                acts.append((at_ns, Informed(rung, _SWEEP_QTY, sweep=True)))
    return [act for act in acts if act[0] < world.life_ns]


def _visits(world: World, seed: int, latent: Latent) -> list[tuple[int, Act]]:
    rng = stream(seed, "makers")
    low, high = NATURE.maker_lag_steps
    acts: list[tuple[int, Act]] = []
    for maker in range(NATURE.makers):
        for rung in range(world.rungs):
            times = _times_ns(world, rng, NATURE.maker_visits)
            count = len(times)
            # Everybody is there when the market opens.
            times[: min(count, 1)] = 0
            values = _lagged_cents(world, latent, times, rung, rng.integers(low, high + 1, count))
            bids = np.floor(values - rng.uniform(*NATURE.maker_offset_cents, count))
            asks = np.ceil(values + rng.uniform(*NATURE.maker_offset_cents, count))
            sizes = rng.geometric(1 / NATURE.maker_qty_mean, (count, 2)).tolist()
            leaves = rng.random(count) < NATURE.maker_leaves
            for place, at in enumerate(times.tolist()):
                stays = at == 0 or not leaves[place]
                bid, ask = int(bids[place]), int(asks[place])
                acts.append(
                    (
                        at,
                        Visit(
                            maker,
                            rung,
                            bid if stays and bid >= PRICE_MIN else None,
                            ask if stays and ask <= PRICE_MAX else None,
                            *sizes[place],
                        ),
                    )
                )
    return acts


def _looks(world: World, seed: int) -> list[tuple[int, Act]]:
    rng = stream(seed, "arbitrage")
    return [(int(at), Look()) for at in _times_ns(world, rng, NATURE.arbitrage_looks)]


def _published(world: World, seed: int, latent: Latent) -> list[tuple[int, Act]]:
    rng = stream(seed, "feed")
    count = int(world.life_s / NATURE.feed_interval_s)
    lag_ns = int(rng.uniform(*NATURE.feed_lag_s) * NS_PER_SECOND)
    low, high = NATURE.feed_noise
    spreads = low * (high / low) ** rng.random(count)
    errors = rng.normal(0.0, 1.0, count) * spreads
    wrong = NATURE.feed_confidence_error
    told = spreads * rng.uniform(1 - wrong, 1 + wrong, count)
    acts: list[tuple[int, Act]] = []
    for place in range(count):
        at_ns = int(place * NATURE.feed_interval_s * NS_PER_SECOND)
        log_value = latent.log_values[latent.point(at_ns - lag_ns)] + errors[place]
        # The unit of confidence is read as the trader's first guess of it: 2% at 1, 12% at 0.
        confidence = min(1.0, max(0.0, 1 - (told[place] - 0.02) / 0.10))
        value = _START_DOLLARS * math.exp(log_value)
        acts.append((at_ns, Published(float(value), float(confidence))))
    return acts


def _stalls(world: World, seed: int) -> list[tuple[int, int]]:
    rng = stream(seed, "stalls")
    hours = world.life_s / 3600
    starts = np.sort(rng.random(rng.poisson(NATURE.stalls_per_hour * hours)) * world.life_ns)
    return [(int(at), int(at + NATURE.stall_s * NS_PER_SECOND)) for at in starts]


def feed_ns(world: World) -> int:
    """How long a frame takes to the trader."""
    return int(NATURE.feed_ms * world.latency * NS_PER_MS)


def _price(limit: float) -> int:
    """A legal price; a taker's limit beyond them is the nearest one."""
    return int(min(max(limit, PRICE_MIN), PRICE_MAX))


def counted(acts: Sequence[tuple[int, Act]], kind: type[Act]) -> int:
    """How many acts are of a kind."""
    return sum(type(act) is kind for _, act in acts)
