"""The worlds in which strategies are compared: seeds, true values, and the acts of the crowd.

Fair values are whole millicents, so that accounts made of them are exact. Each stream of draws
depends on the seed and its name alone, and worlds of one seed thin the same draws.

See docs/pricing.md#section-3-world, and #section-1b for the covariance of payouts; for that of the
next move the tetrachoric series: Pearson, Phil. Trans. A 195 (1900).
"""

import enum
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from bot.lab.progress import is_whole
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, PRICE_MAX, PRICE_MIN, FeeRate

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MILLICENTS: Final = 1000  # thousandths of a cent in a cent
PAYOUT_MC: Final = PAYOUT_CENTS * MILLICENTS
GRID: Final = 4  # points of the path in a step
START_DOLLARS: Final = 100e9
_SERIES_ENDS: Final = 1e-8  # powers of a correlation below this are left out

_STREAMS: Final = (
    *("latent", "jumps", "noise", "mood", "informed", "sweeps", "makers"),
    *("arbitrage", "feed", "latency", "faults", "stalls", "outside"),
)
_LATENCY_DRAWS: Final = 1 << 14
_SWEEP_QTY: Final = 500


class TakerMix(enum.StrEnum):
    BASE = "base"
    TOXIC = "toxic"  # more of those who know the value, and nearly all of them after a jump
    THIN = "thin"  # less than a third of those who do not know it


class Nature(msgspec.Struct, frozen=True, kw_only=True):
    """Shared by all worlds. Rates are a step and, but for the arbitrageur's, a rung; variances are
    of the log value; `qty_mean` is of geometric sizes in shares."""

    diffusion_variance: float = 0.04  # until the outcome
    # The part of it that comes after trading: at the very end every cent is a coin toss.
    resolved_later: float = 0.25
    jumps: int = 8  # scheduled
    jump_variance: float = 0.003  # of each
    noise_per_side: float = 0.4  # takers that would trade at no distance from their own view
    noise_decay_per_cent: float = 0.6  # of their number, with distance
    view_sd_cents: float = 1.0  # of their view from the fair value of so long ago
    view_lag_steps: int = 3
    noise_qty_mean: float = 8.0
    mood_half_life_steps: float = 70.0  # one sentiment for all rungs
    mood_tilt: float = 1.6  # log odds of buying at one standard deviation of it
    informed_per_rung: float = 0.02  # looks by somebody who knows the value
    informed_per_rung_toxic: float = 0.10
    informed_qty_mean: float = 16.0
    sweep_share: float = 0.70  # chance that a rung is swept after a jump
    sweep_share_toxic: float = 0.95
    sweep_delay_s: tuple[float, float] = (0.05, 0.8)
    thin_share: float = 0.3
    makers: int = 2
    maker_visits: float = 0.4
    maker_offset_cents: tuple[float, float] = (2.0, 4.0)
    maker_lag_steps: tuple[int, int] = (0, 1)
    maker_leaves: float = 0.1  # share of visits at which it takes its quotes away
    maker_qty_mean: float = 20.0
    arbitrage_looks: float = 1.0
    feed_interval_s: float = 5.0
    feed_lag_s: tuple[float, float] = (5.0, 60.0)
    feed_noise: tuple[float, float] = (0.01, 0.08)  # shares of the value
    feed_confidence_error: float = 0.3
    order_median_ms: float = 40.0  # to the engine; half of it again on the way back
    order_p99_ms: float = 250.0
    feed_ms: float = 100.0
    unknown_share: float = 0.001
    refused_share: float = 0.001
    stall_s: float = 20.0
    stalls_per_hour: float = 1.0
    maker_fee: str = "0.0175"
    taker_fee: str = "0.07"


NATURE: Final = Nature()

STEP_NS: Final = 10 * NS_PER_SECOND


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    theme: bool = False
    flow: TakerMix = TakerMix.BASE
    fees: int = 1  # fees, latency: times the reference's
    latency: int = 1
    rungs: int = 7
    steps: int = 600

    @property
    def name(self) -> str:
        """`theme-toxic-fees4x-latency10x`; equal parts are left out."""
        parts = ["theme" if self.theme else "independent", str(self.flow)]
        if self.fees != 1:
            parts.append(f"fees{self.fees}x")
        if self.latency != 1:
            parts.append(f"latency{self.latency}x")
        return "-".join(parts)

    @property
    def size_key(self) -> str:
        return f"{self.name}/{self.rungs}x{self.steps}"

    @property
    def life_ns(self) -> int:
        return self.steps * STEP_NS

    @property
    def resolution_ns(self) -> int:
        """From the start to the resolution: the variance left after trading has passed."""
        return int(self.life_ns / (1 - NATURE.resolved_later))

    @property
    def feed_ns(self) -> int:
        return int(NATURE.feed_ms * self.latency * NS_PER_MS)

    @property
    def maker_rate(self) -> FeeRate:
        return FeeRate(FeeRate.parse(NATURE.maker_fee).e8 * self.fees)

    @property
    def taker_rate(self) -> FeeRate:
        return FeeRate(FeeRate.parse(NATURE.taker_fee).e8 * self.fees)


def grid() -> tuple[Scenario, ...]:
    cells = itertools.product(TakerMix, (1, 4), (1, 10), (False, True))
    return tuple(
        Scenario(theme=each[3], flow=each[0], fees=each[1], latency=each[2]) for each in cells
    )


def worlds_named(text: str) -> tuple[Scenario, ...]:
    """text: names of cells, `base` or `all`, by comma. Raises ValueError."""
    cells = {cell.name: cell for cell in grid()}
    groups = {name: [cell] for name, cell in cells.items()}
    groups |= {"all": list(grid()), "base": list(grid()[:2])}
    found: dict[Scenario, None] = {}
    for name in (part.strip() for part in text.split(",")):
        if name not in groups:
            raise ValueError(f"no world {name!r}; there are base, all, {', '.join(cells)}")
        found |= dict.fromkeys(groups[name])
    return tuple(found)


def sized(world: Scenario, steps: int) -> Scenario:
    return msgspec.structs.replace(world, steps=steps)


# --- seeds ----------------------------------------------------------------------------------------


HOLDOUT: Final = range(9001, 10_000)

_HEAD: Final = (
    "# Openings of the holdout\n\n"
    "Seeds 9001-9999 are looked at once per release. `bot evaluate --holdout` adds a line here\n"
    "before it lives through the first of them.\n\n"
    "| date (UTC) | seeds | strategies | worlds | code |\n|---|---|---|---|---|\n"
)


class SeedFault(Exception):
    """These seeds cannot be run; the text says why."""


def seeds_named(text: str) -> range:
    """text: `1-999` or `7`. Raises SeedFault for anything else."""
    first, dash, last = text.strip().partition("-")
    ends = (first, last) if dash else (first, first)
    if not (all(map(is_whole, ends)) and 1 <= int(ends[0]) <= int(ends[1])):
        raise SeedFault(f"seeds {text!r}: two numbers from 1 on, the smaller first, such as 1-999")
    return range(int(ends[0]), int(ends[1]) + 1)


def is_held_out(seeds: range) -> bool:
    """True if any seed is."""
    return seeds.start < HOLDOUT.stop and seeds.stop > HOLDOUT.start


def span(seeds: range) -> str:
    return f"{seeds.start}-{seeds.stop - 1}"


def blocks_named(seeds: str, tune: str, *, holdout: bool) -> tuple[range, range | None]:
    """The reported seeds and the tuning seeds. Raises SeedFault for the holdout without its flag,
    and for a seed in both."""
    reported = seeds_named(seeds)
    tuned = seeds_named(tune) if tune else None
    for block in (reported, tuned):
        if block is not None and is_held_out(block) and not holdout:
            raise SeedFault(
                f"seeds {span(block)}: 9001-9999 are the holdout, looked at once per release; "
                "--holdout opens it and logs that"
            )
    if tuned is not None and tuned.start < reported.stop and reported.start < tuned.stop:
        raise SeedFault(
            f"--tune {span(tuned)} shares seeds with --seeds {span(reported)}: a choice "
            "on a seed proves nothing there; take others, or leave --tune out and have that said"
        )
    return reported, tuned


def log_opening(
    path: Path, date: str, seeds: range, strategies: str, worlds: str, code: str
) -> None:
    """Raises SeedFault where the log cannot be written."""
    line = f"| {date} | {span(seeds)} | {strategies} | {worlds} | {code} |\n"
    try:
        head = "" if path.exists() else _HEAD
        with path.open("a", encoding="utf-8") as log:
            log.write(head + line)
    except OSError as fault:
        raise SeedFault(
            f"--holdout: {path}, where each opening is logged, cannot be written from here: "
            f"{fault.strerror}; nothing was opened"
        ) from None


POINT_NS: Final = STEP_NS // GRID


def stream(seed: int, name: str) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([seed, _STREAMS.index(name)]))


class TruePath:
    """The path of one seed. `fair_mc[point][rung]` in millicents; the last point, one beyond the
    end of trading, is the outcome. strikes: dollars, rising. pays: True for rungs that resolve YES.
    """

    def __init__(self, world: Scenario, seed: int) -> None:
        points = world.steps * GRID
        total_sd = math.sqrt(NATURE.diffusion_variance + NATURE.jumps * NATURE.jump_variance)
        ranks = [(rung + 1) / (world.rungs + 1) for rung in range(world.rungs)]
        self._log_strikes = [total_sd * NormalDist().inv_cdf(rank) for rank in ranks]
        self.strikes = [round(START_DOLLARS * math.exp(each)) for each in self._log_strikes]
        moves = stream(seed, "latent").normal(0.0, 1.0, points + 1)
        traded = NATURE.diffusion_variance * (1 - NATURE.resolved_later)
        moves[:points] *= math.sqrt(traded / points)
        moves[points] *= math.sqrt(NATURE.diffusion_variance - traded)
        jumps = stream(seed, "jumps")
        places = 1 + jumps.permutation(points - 2)[: NATURE.jumps]
        self.jump_points: Ints = np.sort(places).astype(np.int64)
        sizes = jumps.normal(0.0, 1.0, NATURE.jumps) * math.sqrt(NATURE.jump_variance)
        np.add.at(moves, self.jump_points - 1, sizes)
        self.log_values: Floats = np.concatenate(([0.0], np.cumsum(moves)))  # by point
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
        return min(max(since_ns // POINT_NS, 0), len(self.fair_mc) - 1)

    def fairs(self, since_ns: int) -> tuple[int, ...]:
        return self.fair_mc[self.point(since_ns)]

    def move_variances(self, held: Ints) -> Floats:
        """Cents^2, for each point before the outcome: the variance, as known at that point, of what
        the inventory gains until the next one. held: shares by point and rung, NO below zero.

        Their sum over a path has the mean of the squared gain: gains before and after a point are
        uncorrelated. The covariance of two rungs is a series; term n is the correlation of value
        and outcome that the move brings to the n-th power by n!, and of each rung the density and
        the Hermite polynomial of degree n - 1 at its distance.
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
    """Cents^2. The covariance of two rungs is the fair value of the higher strike by what that of
    the lower one lacks of 100."""
    total, below = 0.0, 0.0
    for fair, qty in zip(fairs_cents, held, strict=True):
        lacks = PAYOUT_CENTS - fair
        total += fair * qty * (2 * below + lacks * qty)
        below += lacks * qty
    return total


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
    value_dollars: float
    confidence: float  # 0 to 1


Act = Noise | Informed | Visit | Look | Published
Acts = Iterator[tuple[int, Act]]


class RandomInputs(NamedTuple):
    """One seed of one world. Instants are nanoseconds since the start."""

    true_path: TruePath
    acts: list[tuple[int, Act]]  # sorted
    latency_ms: list[float]  # latency_ms, chances (0..1): of the trader's k-th request
    chances: list[float]
    stalls: list[tuple[int, int]]  # from and until when the channel delivers nothing


def draw(world: Scenario, seed: int) -> RandomInputs:
    true_path = TruePath(world, seed)
    looks = _times_ns(world, stream(seed, "arbitrage"), NATURE.arbitrage_looks).tolist()
    acts: list[tuple[int, Act]] = [
        *_noise(world, seed, true_path),
        *_informed(world, seed),
        *_sweeps(world, seed, true_path),
        *_visits(world, seed, true_path),
        *((at_ns, Look()) for at_ns in looks),
        *_published(world, seed, true_path),
    ]
    acts.sort(key=lambda act: act[0])
    sigma = math.log(NATURE.order_p99_ms / NATURE.order_median_ms) / NormalDist().inv_cdf(0.99)
    plain = stream(seed, "latency").normal(0.0, sigma, _LATENCY_DRAWS)
    latency_ms = NATURE.order_median_ms * world.latency * np.exp(plain)
    return RandomInputs(
        true_path,
        acts,
        latency_ms.tolist(),
        stream(seed, "faults").random(_LATENCY_DRAWS).tolist(),
        _stalls(world, seed),
    )


def _times_ns(world: Scenario, rng: np.random.Generator, per_step: float) -> Any:
    """A Poisson stream over the life, in order."""
    count = rng.poisson(per_step * world.steps)
    return np.sort((rng.random(count) * world.life_ns).astype(np.int64))


def _lagged_cents(
    world: Scenario, true_path: TruePath, times_ns: Any, rung: int, lags: Any
) -> Floats:
    """What a rung was worth `lags` steps before each instant, cents."""
    column = np.array([fairs[rung] for fairs in true_path.fair_mc], dtype=float)
    points = times_ns * GRID // STEP_NS - lags * GRID
    values: Floats = column[np.maximum(points, 0)] / MILLICENTS
    return values


def _mood(world: Scenario, seed: int) -> Floats:
    """By step: an Ornstein-Uhlenbeck path of unit variance."""
    keep = 0.5 ** (1 / NATURE.mood_half_life_steps)
    shocks = stream(seed, "mood").normal(0.0, 1.0, world.steps + 1)
    mood, path = float(shocks[0]), []
    spread = math.sqrt(1 - keep * keep)
    for shock in shocks.tolist():
        mood = keep * mood + spread * shock
        path.append(mood)
    return np.array(path)


def _noise(world: Scenario, seed: int, true_path: TruePath) -> Acts:
    rng, mood = stream(seed, "noise"), _mood(world, seed)
    for rung in range(world.rungs):
        times = _times_ns(world, rng, 2 * NATURE.noise_per_side)
        count = len(times)
        sides, kept = rng.random(count), rng.random(count)
        distances = rng.exponential(1 / NATURE.noise_decay_per_cent, count)
        errors = rng.normal(0.0, NATURE.view_sd_cents, count)
        sizes = rng.geometric(1 / NATURE.noise_qty_mean, count)
        tilts = mood[times // STEP_NS] * (NATURE.mood_tilt if world.theme else 0.0)
        buys = sides < 1 / (1 + np.exp(-tilts))
        views = _lagged_cents(world, true_path, times, rung, NATURE.view_lag_steps) + errors
        limits = np.where(buys, np.floor(views + distances), np.ceil(views - distances))
        stay = kept < (NATURE.thin_share if world.flow is TakerMix.THIN else 1.0)
        legal = np.clip(limits, PRICE_MIN, PRICE_MAX).astype(int)
        rows = zip(*(each[stay].tolist() for each in (times, buys, legal, sizes)), strict=True)
        yield from ((at, Noise(rung, buy, limit, size)) for at, buy, limit, size in rows)


def _informed(world: Scenario, seed: int) -> Acts:
    rng = stream(seed, "informed")
    most, toxic = NATURE.informed_per_rung_toxic, world.flow is TakerMix.TOXIC
    share = 1.0 if toxic else NATURE.informed_per_rung / most
    for rung in range(world.rungs):
        times = _times_ns(world, rng, most)
        kept = rng.random(len(times))
        sizes = rng.geometric(1 / NATURE.informed_qty_mean, len(times))
        rows = zip(*(each[kept < share].tolist() for each in (times, sizes)), strict=True)
        yield from ((at, Informed(rung, size, sweep=False)) for at, size in rows)


def _sweeps(world: Scenario, seed: int, true_path: TruePath) -> Acts:
    rng = stream(seed, "sweeps")
    share = NATURE.sweep_share_toxic if world.flow is TakerMix.TOXIC else NATURE.sweep_share
    for point in true_path.jump_points.tolist():
        chances = rng.random(world.rungs)
        delays_s = rng.uniform(*NATURE.sweep_delay_s, world.rungs)
        for rung in range(world.rungs):
            if chances[rung] < share:
                at_ns = point * POINT_NS + int(delays_s[rung] * NS_PER_SECOND)
                if at_ns < world.life_ns:
                    yield at_ns, Informed(rung, _SWEEP_QTY, sweep=True)


def _visits(world: Scenario, seed: int, true_path: TruePath) -> Acts:
    rng = stream(seed, "makers")
    low, high = NATURE.maker_lag_steps
    for maker in range(NATURE.makers):
        for rung in range(world.rungs):
            times = _times_ns(world, rng, NATURE.maker_visits)
            count = len(times)
            times[:1] = 0  # everybody is there when the market opens
            values = _lagged_cents(
                world, true_path, times, rung, rng.integers(low, high + 1, count)
            )
            bids = np.floor(values - rng.uniform(*NATURE.maker_offset_cents, count))
            asks = np.ceil(values + rng.uniform(*NATURE.maker_offset_cents, count))
            sizes = rng.geometric(1 / NATURE.maker_qty_mean, (count, 2)).tolist()
            stays = (rng.random(count) >= NATURE.maker_leaves) | (times == 0)
            for at, bid, ask, (bid_qty, ask_qty), stay in zip(
                times.tolist(), bids.tolist(), asks.tolist(), sizes, stays.tolist(), strict=True
            ):
                has_bid, has_ask = stay and bid >= PRICE_MIN, stay and ask <= PRICE_MAX
                prices = int(bid) if has_bid else None, int(ask) if has_ask else None
                yield at, Visit(maker, rung, *prices, bid_qty, ask_qty)


def _published(world: Scenario, seed: int, true_path: TruePath) -> Acts:
    rng = stream(seed, "feed")
    count = int(world.life_ns / NS_PER_SECOND / NATURE.feed_interval_s)
    lag_ns = int(rng.uniform(*NATURE.feed_lag_s) * NS_PER_SECOND)
    low, high = NATURE.feed_noise
    spreads = low * (high / low) ** rng.random(count)
    errors = rng.normal(0.0, 1.0, count) * spreads
    wrong = NATURE.feed_confidence_error
    shown = spreads * rng.uniform(1 - wrong, 1 + wrong, count)
    for place in range(count):
        at_ns = int(place * NATURE.feed_interval_s * NS_PER_SECOND)
        log_value = true_path.log_values[true_path.point(at_ns - lag_ns)] + errors[place]
        # The unit of confidence is read as the trader's first guess of it: 2% at 1, 12% at 0.
        confidence = min(1.0, max(0.0, float(1 - (shown[place] - 0.02) / 0.10)))
        yield at_ns, Published(START_DOLLARS * math.exp(log_value), confidence)


def _stalls(world: Scenario, seed: int) -> list[tuple[int, int]]:
    rng = stream(seed, "stalls")
    hours = world.life_ns / (3600 * NS_PER_SECOND)
    starts = np.sort(rng.random(rng.poisson(NATURE.stalls_per_hour * hours)) * world.life_ns)
    return [(int(at), int(at + NATURE.stall_s * NS_PER_SECOND)) for at in starts]
