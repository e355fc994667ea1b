"""What happens in a world whatever the trader does: the true values and the crowd's acts of a seed.

One path of the log value, with fair values along it in whole millicents, so that accounts made of
them are exact. Each stream of draws depends on the seed and its own name alone, and worlds of one
seed differ by thinning the same draws: what one trader does or draws shifts no other's.

See docs/pricing.md#section-1b for the covariance of what rungs pay; for that of the next move the
tetrachoric series: Pearson, Phil. Trans. A 195 (1900).
"""

import enum
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from bot.lab.evaluate.worlds import NATURE, STEP_NS, Flow, World
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, PRICE_MAX, PRICE_MIN

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MILLICENTS: Final = 1000
"""Thousandths of a cent in a cent."""

PAYOUT_MC: Final = PAYOUT_CENTS * MILLICENTS
GRID: Final = 4
"""Points of the path in a step."""

POINT_NS: Final = STEP_NS // GRID

_START_DOLLARS: Final = 100e9
_SERIES_ENDS: Final = 1e-8
"""Powers of a correlation below this are left out."""

_STREAMS: Final = (
    *("latent", "jumps", "noise", "mood", "informed", "sweeps", "makers"),
    *("arbitrage", "feed", "latency", "faults", "stalls"),
)
_LATENCY_DRAWS: Final = 1 << 14
_SWEEP_QTY: Final = 500


def stream(seed: int, name: str) -> np.random.Generator:
    """The draws of one stream of a seed, the same on every machine."""
    return np.random.Generator(np.random.PCG64([seed, _STREAMS.index(name)]))


class Latent:
    """The path of one seed. `fair_mc[point][rung]` in millicents; the last point, one beyond the
    end of trading, is the outcome.

    log_values: by point. strikes: dollars, rising. pays: True for each rung that resolves YES.
    jump_points: at which point each scheduled jump falls.
    """

    def __init__(self, world: World, seed: int) -> None:
        points = world.steps * GRID
        total_sd = math.sqrt(NATURE.diffusion_variance + NATURE.jumps * NATURE.jump_variance)
        ranks = [(rung + 1) / (world.rungs + 1) for rung in range(world.rungs)]
        self._log_strikes = [total_sd * NormalDist().inv_cdf(rank) for rank in ranks]
        self.strikes = [round(_START_DOLLARS * math.exp(each)) for each in self._log_strikes]
        moves = stream(seed, "latent").normal(0.0, 1.0, points + 1)
        traded = NATURE.diffusion_variance * (1 - NATURE.resolved_later)
        moves[:points] *= math.sqrt(traded / points)
        moves[points] *= math.sqrt(NATURE.diffusion_variance - traded)
        jumps = stream(seed, "jumps")
        places = 1 + jumps.permutation(points - 2)[: NATURE.jumps]
        self.jump_points: Ints = np.sort(places).astype(np.int64)
        sizes = jumps.normal(0.0, 1.0, NATURE.jumps) * math.sqrt(NATURE.jump_variance)
        np.add.at(moves, self.jump_points - 1, sizes)
        self.log_values: Floats = np.concatenate(([0.0], np.cumsum(moves)))
        # What may still come of the log value, by point.
        done = np.searchsorted(self.jump_points, np.arange(points + 1), side="right")
        gone = (1 - NATURE.resolved_later) * np.arange(points + 1) / points
        self._left: Floats = NATURE.diffusion_variance * (1 - gone)
        self._left = self._left + NATURE.jump_variance * (NATURE.jumps - done)
        self.fair_mc = self._fairs()
        self.pays = tuple(value == PAYOUT_MC for value in self.fair_mc[-1])

    def _fairs(self) -> list[tuple[int, ...]]:
        """Fair values at every point, given what may still come: exact for normal jumps."""
        half, erfc = PAYOUT_MC / 2, math.erfc
        widths = np.sqrt(2 * self._left).tolist()
        fairs = [
            tuple([round(half * erfc((strike - value) / width)) for strike in self._log_strikes])
            for value, width in zip(self.log_values[:-1].tolist(), widths, strict=True)
        ]
        last = float(self.log_values[-1])
        fairs.append(tuple([PAYOUT_MC if last > strike else 0 for strike in self._log_strikes]))
        return fairs

    def point(self, since_ns: int) -> int:
        """The point of the path that holds so long after the start, the outcome at its end."""
        return min(max(since_ns // POINT_NS, 0), len(self.fair_mc) - 1)

    def fairs(self, since_ns: int) -> tuple[int, ...]:
        """Millicents that each rung is worth so long after the start."""
        return self.fair_mc[self.point(since_ns)]

    def move_variances(self, held: Ints) -> Floats:
        """Cents^2, for each point before the outcome: the variance, as known at that point, of what
        the holdings gain until the next one. held: shares by point and rung, NO below zero.

        Their sum over a path has the mean of what was gained, squared: gains before and after a
        point are uncorrelated, whatever is held and why. The covariance of two rungs is a series;
        term n is the correlation of value and outcome that the move brings to the n-th power by n!,
        and of each rung the density and the Hermite polynomial of degree n - 1 at its distance.
        """
        shares = 1 - self._left[1:] / self._left[:-1]
        sds = np.sqrt(self._left[:-1])
        away = (self.log_values[:-2, None] - np.array(self._log_strikes)) / sds[:, None]
        density = PAYOUT_CENTS * np.exp(-away * away / 2) / math.sqrt(2 * math.pi)
        weights = density * held[:-1]
        before, hermite = np.zeros_like(away), np.ones_like(away)
        found, powers, degree = np.zeros(len(shares)), shares.copy(), 1
        while (counts := powers > _SERIES_ENDS * shares).any():
            terms = powers / math.factorial(degree) * (hermite * weights).sum(axis=1) ** 2
            found += np.where(counts, terms, 0.0)
            before, hermite = hermite, away * hermite - (degree - 1) * before
            powers, degree = powers * shares, degree + 1
        fairs = [fair / MILLICENTS for fair in self.fair_mc[-2]]
        return np.append(found, _payoff_variance(fairs, held[-1].tolist()))


def _payoff_variance(fairs_cents: Sequence[float], held: Sequence[int]) -> float:
    """Cents^2: the variance of what `held` shares of each rung pay, strikes rising. The covariance
    of two rungs is the fair value of the higher strike by what that of the lower one lacks of 100.
    """
    total, below = 0.0, 0.0
    for fair, qty in zip(fairs_cents, held, strict=True):
        lacks = PAYOUT_CENTS - fair
        total += fair * qty * (2 * below + lacks * qty)
        below += lacks * qty
    return total


class Class(enum.StrEnum):
    """Who of the crowd acts."""

    NOISE = "noise"
    INFORMED = "informed"
    SWEEP = "sweep"
    MAKER = "maker"
    ARBITRAGE = "arbitrage"


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
    """One seed of one world. Instants are nanoseconds since the start; acts are sorted by them.

    latency_ms, chances: how long the trader's k-th request takes, and what happens to it (0..1).
    stalls: from and until when the channel delivers nothing.
    """

    latent: Latent
    acts: list[tuple[int, Act]]
    latency_ms: list[float]
    chances: list[float]
    stalls: list[tuple[int, int]]


def draw(world: World, seed: int) -> Draws:
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
    sigma = math.log(NATURE.order_p99_ms / NATURE.order_median_ms) / NormalDist().inv_cdf(0.99)
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
    points = times_ns * GRID // STEP_NS - lags * GRID
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
        tilts = mood[times // STEP_NS] * (NATURE.mood_tilt if world.theme else 0.0)
        buys = sides < 1 / (1 + np.exp(-tilts))
        views = _lagged_cents(world, latent, times, rung, NATURE.view_lag_steps) + errors
        limits = np.where(buys, np.floor(views + distances), np.ceil(views - distances))
        stay = kept < (NATURE.thin_share if world.flow is Flow.THIN else 1.0)
        legal = np.clip(limits, PRICE_MIN, PRICE_MAX).astype(int)
        rows = zip(*(each[stay].tolist() for each in (times, buys, legal, sizes)), strict=True)
        acts += [(at, Noise(rung, buy, limit, size)) for at, buy, limit, size in rows]
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
        rows = zip(*(each[kept < share].tolist() for each in (times, sizes)), strict=True)
        acts += [(at, Informed(rung, size, sweep=False)) for at, size in rows]
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
                at_ns = point * POINT_NS + int(delays_s[rung] * NS_PER_SECOND)
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
            times[:1] = 0  # everybody is there when the market opens
            values = _lagged_cents(world, latent, times, rung, rng.integers(low, high + 1, count))
            bids = np.floor(values - rng.uniform(*NATURE.maker_offset_cents, count))
            asks = np.ceil(values + rng.uniform(*NATURE.maker_offset_cents, count))
            sizes = rng.geometric(1 / NATURE.maker_qty_mean, (count, 2)).tolist()
            stays = (rng.random(count) >= NATURE.maker_leaves) | (times == 0)
            for at, bid, ask, (bid_qty, ask_qty), stay in zip(
                times.tolist(), bids.tolist(), asks.tolist(), sizes, stays.tolist(), strict=True
            ):
                has_bid, has_ask = stay and bid >= PRICE_MIN, stay and ask <= PRICE_MAX
                prices = int(bid) if has_bid else None, int(ask) if has_ask else None
                acts.append((at, Visit(maker, rung, *prices, bid_qty, ask_qty)))
    return acts


def _looks(world: World, seed: int) -> list[tuple[int, Act]]:
    rng = stream(seed, "arbitrage")
    return [(at, Look()) for at in _times_ns(world, rng, NATURE.arbitrage_looks).tolist()]


def _published(world: World, seed: int, latent: Latent) -> list[tuple[int, Act]]:
    rng = stream(seed, "feed")
    count = int(world.life_ns / NS_PER_SECOND / NATURE.feed_interval_s)
    lag_ns = int(rng.uniform(*NATURE.feed_lag_s) * NS_PER_SECOND)
    low, high = NATURE.feed_noise
    spreads = low * (high / low) ** rng.random(count)
    errors = rng.normal(0.0, 1.0, count) * spreads
    wrong = NATURE.feed_confidence_error
    shown = spreads * rng.uniform(1 - wrong, 1 + wrong, count)
    acts: list[tuple[int, Act]] = []
    for place in range(count):
        at_ns = int(place * NATURE.feed_interval_s * NS_PER_SECOND)
        log_value = latent.log_values[latent.point(at_ns - lag_ns)] + errors[place]
        # The unit of confidence is read as the trader's first guess of it: 2% at 1, 12% at 0.
        confidence = min(1.0, max(0.0, float(1 - (shown[place] - 0.02) / 0.10)))
        acts.append((at_ns, Published(_START_DOLLARS * math.exp(log_value), confidence)))
    return acts


def _stalls(world: World, seed: int) -> list[tuple[int, int]]:
    rng = stream(seed, "stalls")
    hours = world.life_ns / (3600 * NS_PER_SECOND)
    starts = np.sort(rng.random(rng.poisson(NATURE.stalls_per_hour * hours)) * world.life_ns)
    return [(int(at), int(at + NATURE.stall_s * NS_PER_SECOND)) for at in starts]
