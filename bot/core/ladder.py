"""All rungs of an event as one curve: fair values from every source at once, and what they imply.

The chance that the value ends above a strike can only fall as the strike rises. Sources of all
rungs, and the implied value, are fitted by two numbers (a probit line in the logarithm of the
strike: a lognormal value); each rung is then drawn back to its own data by as much as the line has
proved wrong there; last, the curve is made non-increasing. Values in canonical YES cents.

Source: strategy, 1(a) and 1(h).
"""

import itertools
import math
from collections.abc import Sequence
from typing import Final

import msgspec

from bot.core.estimate import (
    Estimate,
    FeedTrust,
    Volatility,
    baseline_volatility,
    clipped,
    from_book,
    from_prints,
    from_probit,
    merged,
    probit,
    slope,
)
from bot.core.strategy import ImpliedView, Levels
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Price

_ROUNDS_MAX: Final = 4
_CONVERGED: Final = 1e-3
"""The fit stops when a round moves the line by less than this, in standard deviations."""

_DEVIATIONS_MAX: Final = 2.5
"""Weights are taken no further out: beyond it half a cent moves the probit by half a unit."""

_LOG_SD_PRIOR: Final = 0.30
"""Standard deviation of the logarithm of the final value before anything is known (judgement)."""

_SPREAD_SD_LEARNED: Final = 0.25
_SPREAD_SD_GUESSED: Final = 0.5
"""How sure the prior of the line's steepness is, relative to it."""

_HALF_LIFE_S: Final = 3600.0
_STEP_MAX_S: Final = 60.0
"""One look counts for no more than a minute of evidence, however long the silence before it."""

_ALLOWANCE_MIN: Final = 0.25
_ALLOWANCE_PRIOR: Final = 1.0
_ALLOWANCE_PRIOR_S: Final = 60.0
"""Cents squared by which the line may be wrong at a rung: its floor, and what is assumed for the
first minute (judgement)."""


class RungInput(msgspec.Struct, frozen=True):
    """What is known of one rung: the book of others (`Book.others`), its age since it was last
    confirmed, and the faded traded price with its age (`TradedPrice.read`)."""

    bids: Levels
    asks: Levels
    book_age_s: float
    traded: tuple[float, float] | None


class Fair(msgspec.Struct, frozen=True):
    """A rung's fair value, 0.5..99.5 cents, and its standard deviation in cents."""

    value_cents: float
    sd_cents: float


class _Line(msgspec.Struct, frozen=True):
    """The fit d(u) = height - steepness * u and its covariance, u the log strike."""

    height: float
    steepness: float
    height_variance: float
    covariance: float
    steepness_variance: float

    def at(self, u: float) -> float:
        return self.height - self.steepness * u

    def is_near(self, other: "_Line", us: Sequence[float]) -> bool:
        """Whether two lines agree at both ends of the ladder."""
        return all(abs(self.at(u) - other.at(u)) < _CONVERGED for u in (us[0], us[-1]))

    def variance_at(self, u: float) -> float:
        return self.height_variance + (self.steepness_variance * u - 2 * self.covariance) * u


class FairCurve:
    """The fair curve of one event; it learns, so keep one for the life of the event."""

    def __init__(self, strikes: Sequence[float] | None) -> None:
        """strikes: lowest first, in the unit of the implied value (dollars); None for a binary
        market. Raises ValueError unless they are above zero and strictly rising.
        """
        if strikes is not None and not _is_ladder(strikes):
            raise ValueError(f"strikes must be above zero and rising: {list(strikes)}")
        count = 1 if strikes is None else len(strikes)
        self._is_ladder = strikes is not None
        logs = [math.log(strike) for strike in strikes] if strikes is not None else [0.0]
        self._log_reference = (logs[0] + logs[-1]) / 2
        self._u = [log - self._log_reference for log in logs]
        self._slopes = [slope(0.0)] * count
        self._line: _Line | None = None
        self._volatility = [Volatility() for _ in range(count)]
        self._errors = [_ALLOWANCE_PRIOR * _ALLOWANCE_PRIOR_S] * count
        self._error_seconds = [_ALLOWANCE_PRIOR_S] * count
        self._log_sd_rate = 0.0
        self._log_sd_seconds = 0.0
        self._trust = FeedTrust()
        self._now_ns: int | None = None

    def update(
        self,
        rungs: Sequence[RungInput],
        implied: ImpliedView | None,
        seconds_to_resolution: float,
        now_ns: int,
    ) -> tuple[Fair | None, ...]:
        """The fair curve now, in strike order; None for a rung of which nothing is known.

        rungs: one per strike. On a ladder all are known as soon as one source of any rung, or the
        implied value, is. A single binary market has only its own data; `implied` tells it nothing.
        """
        left_s = max(seconds_to_resolution, 1.0)
        elapsed_s = 0.0 if self._now_ns is None else max(0, now_ns - self._now_ns) / NS_PER_SECOND
        self._now_ns = now_ns
        known = [self._estimate(index, rung, left_s) for index, rung in enumerate(rungs)]
        if not self._is_ladder:
            return (self._alone(known[0], now_ns),)
        if implied is not None and not _is_sane(implied):
            implied = None
        if implied is None and not any(known):
            return (None,) * len(known)
        line = self._line = self._fit(known, implied, left_s)
        curve = self._draw_back(known, line, rungs, elapsed_s)
        if sum(each is not None for each in known) >= _MARKET_SPEAKS:
            self._learn(line, implied, left_s, elapsed_s, now_ns)
        for volatility, fair in zip(self._volatility, curve, strict=True):
            volatility.update(fair.value_cents, now_ns)
        return tuple(curve)

    def _estimate(self, index: int, rung: RungInput, left_s: float) -> Estimate | None:
        baseline = baseline_volatility(self._slopes[index], left_s)
        realised = self._volatility[index].cents_per_sqrt_s
        volatility = realised if realised > baseline else baseline
        book = from_book(rung.bids, rung.asks, rung.book_age_s, volatility)
        if rung.traded is None:
            return book
        cents, age_s = rung.traded
        return merged(book, from_prints(cents, age_s, rung.bids, rung.asks, volatility))

    def _alone(self, known: Estimate | None, now_ns: int) -> Fair | None:
        if known is None:
            return None
        cents = clipped(known.cents)
        self._slopes[0] = slope(probit(cents))
        self._volatility[0].update(cents, now_ns)
        return Fair(cents, math.sqrt(known.variance))

    def _fit(
        self, known: Sequence[Estimate | None], implied: ImpliedView | None, left_s: float
    ) -> _Line:
        """The line through everything known, weighted; at least one source there is."""
        points = []
        for u, each in zip(self._u, known, strict=True):
            if each is not None:
                points.append((u, probit(clipped(each.cents)), each.variance))
        steepness_prior, relative_sd = self._steepness_prior(points, left_s)
        prior_weight = 1 / (relative_sd * steepness_prior) ** 2
        feed_u, feed_sd = 0.0, 0.0
        if implied is not None:
            feed_u = math.log(implied.value_dollars) - self._log_reference
            drift = max(0.0, implied.age_s) / left_s / steepness_prior**2
            feed_sd = math.sqrt(self._trust.log_sd(implied.confidence) ** 2 + drift)
        line = self._line
        for _ in range(_ROUNDS_MAX):
            steepness = steepness_prior if line is None else line.steepness
            feed_weight = 1 / (steepness * feed_sd) ** 2 if feed_sd > 0 else 0.0
            before = line
            line = _solve(points, line, feed_u, feed_weight, steepness_prior, prior_weight)
            if before is not None and line.is_near(before, self._u):
                break
        assert line is not None
        return line

    def _steepness_prior(
        self, points: Sequence[tuple[float, float, float]], left_s: float
    ) -> tuple[float, float]:
        """What the line's steepness should be before looking, and how sure that is, relative.

        Learned from this event's own past; else from its outermost rungs, so that a ladder of a
        day is not judged by the width of one of a quarter; else the prior of an unknown value.
        """
        if self._log_sd_seconds > 0:
            rate = self._log_sd_rate / self._log_sd_seconds
            return 1 / (rate * math.sqrt(left_s)), _SPREAD_SD_LEARNED
        if len(points) >= _MARKET_SPEAKS:
            (low_u, low_d, _), (high_u, high_d, _) = points[0], points[-1]
            steepness = (low_d - high_d) / (high_u - low_u)
            if steepness > 0:
                return steepness, _SPREAD_SD_GUESSED
        return 1 / _LOG_SD_PRIOR, _SPREAD_SD_GUESSED

    def _draw_back(
        self,
        known: Sequence[Estimate | None],
        line: _Line,
        rungs: Sequence[RungInput],
        elapsed_s: float,
    ) -> list[Fair]:
        """The line drawn back to each rung's own data, made monotone, inside one-sided bounds."""
        values, weights = [], []
        fade = 0.5 ** (elapsed_s / _HALF_LIFE_S)
        step_s = min(elapsed_s, _STEP_MAX_S)
        for index, (u, each) in enumerate(zip(self._u, known, strict=True)):
            deviations = line.at(u)
            fit = from_probit(deviations)
            if each is not None and step_s > 0:
                error = (each.cents - fit) ** 2 - each.variance
                self._errors[index] = self._errors[index] * fade + error * step_s
                self._error_seconds[index] = self._error_seconds[index] * fade + step_s
            allowance = self._errors[index] / self._error_seconds[index]
            if allowance < _ALLOWANCE_MIN:
                allowance = _ALLOWANCE_MIN
            self._slopes[index] = steep = slope(deviations)
            value, weight = fit, 1 / (allowance + steep * steep * line.variance_at(u))
            if each is not None:
                own = 1 / each.variance
                value = (each.cents * own + fit * weight) / (own + weight)
                weight += own
            values.append(value)
            weights.append(weight)
        bounded = [_bounded(v, r) for v, r in zip(monotone(values, weights), rungs, strict=True)]
        repaired = monotone(bounded, weights)
        return [Fair(v, 1 / math.sqrt(w)) for v, w in zip(repaired, weights, strict=True)]

    def _learn(
        self,
        line: _Line,
        implied: ImpliedView | None,
        left_s: float,
        elapsed_s: float,
        now_ns: int,
    ) -> None:
        """Learn the width of the value per sqrt(second), and what the feed is worth."""
        fade = 0.5 ** (elapsed_s / _HALF_LIFE_S)
        step_s = min(elapsed_s, _STEP_MAX_S)
        log_sd_rate = 1 / (line.steepness * math.sqrt(left_s))
        self._log_sd_rate = self._log_sd_rate * fade + log_sd_rate * step_s
        self._log_sd_seconds = self._log_sd_seconds * fade + step_s
        if implied is not None:
            log_median = self._log_reference + line.height / line.steepness
            log_value = math.log(implied.value_dollars)
            self._trust.observe(log_value, implied.confidence, log_median, now_ns)


_MARKET_SPEAKS: Final = 2
"""Rungs with data of their own from which on the market, not the feed, says where the value is."""


def _is_ladder(strikes: Sequence[float]) -> bool:
    rising = all(low < high for low, high in itertools.pairwise(strikes))
    return bool(strikes) and strikes[0] > 0 and rising


def _is_sane(implied: ImpliedView) -> bool:
    """Whether an implied value can be one; others, not-a-number included, are no news."""
    return 0 < implied.value_dollars < math.inf and math.isfinite(implied.confidence)


def _solve(
    points: Sequence[tuple[float, float, float]],
    before: _Line | None,
    feed_u: float,
    feed_weight: float,
    steepness_prior: float,
    prior_weight: float,
) -> _Line:
    """One round of weighted least squares: a 2 x 2 system. Weights are those of cents, seen
    through the slope of the curve as the round before drew it."""
    w = feed_weight
    wu = feed_weight * feed_u
    wuu = feed_weight * feed_u * feed_u + prior_weight
    wd = 0.0
    wud = prior_weight * steepness_prior
    for u, d, variance in points:
        guess = abs(d if before is None else before.height - before.steepness * u)
        weight = slope(guess if guess < _DEVIATIONS_MAX else _DEVIATIONS_MAX)
        weight = weight * weight / variance
        w += weight
        wu += weight * u
        wuu += weight * u * u
        wd += weight * d
        wud -= weight * u * d
    determinant = w * wuu - wu * wu
    steepness = (w * wud + wu * wd) / determinant
    # A noisy ladder may lean the wrong way: the curve of a survival never rises.
    steepness = max(steepness, _STEEPNESS_MIN * steepness_prior)
    height = (wd + wu * steepness) / w
    return _Line(height, steepness, wuu / determinant, wu / determinant, w / determinant)


_STEEPNESS_MIN: Final = 0.05


def _bounded(cents: float, rung: RungInput) -> float:
    """A value inside 0.5..99.5, and not beyond the only side of a one-sided book."""
    if rung.bids and not rung.asks:
        cents = max(cents, rung.bids[0][0])
    elif rung.asks and not rung.bids:
        cents = min(cents, rung.asks[0][0])
    return clipped(cents)


def monotone(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The non-increasing sequence nearest to `values` in weighted squares (pool adjacent
    violators). weights: above zero, as many as values.
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        count = 1
        while pools and pools[-1][0] < value:
            before, before_weight, before_count = pools.pop()
            total = before_weight + weight
            value = (before * before_weight + value * weight) / total
            weight = total
            count += before_count
        pools.append((value, weight, count))
    return [value for value, _, count in pools for _ in range(count)]


def bucket_masses(values_cents: Sequence[float]) -> tuple[float, ...]:
    """The chance of each of the n + 1 outcomes that a curve implies, lowest first; they add up
    to 1. Below zero where the values rise: raw mids of a ladder may, a repaired curve never does.
    """
    edges = [float(PAYOUT_CENTS), *values_cents, 0.0]
    return tuple((low - high) / PAYOUT_CENTS for low, high in itertools.pairwise(edges))


class Arbitrage(msgspec.Struct, frozen=True):
    """Buying YES of rung `low` at `ask` and selling YES of the higher rung `high` at `bid` pays
    at least nothing in every outcome and brings `bid - ask` cents a share before fees."""

    low: int
    high: int
    ask: Price
    bid: Price

    @property
    def gain_cents(self) -> int:
        """Locked in per share, before the fees of both legs."""
        return self.bid - self.ask


def arbitrages(
    best_bids: Sequence[Price | None], best_asks: Sequence[Price | None]
) -> tuple[Arbitrage, ...]:
    """For each rung whose bid is above a lower rung's ask, the best such pair.

    None where a side is empty. A non-increasing curve inside all bid-ask intervals exists if and
    only if there is none among different rungs, so pairs are the complete test.
    """
    found: list[Arbitrage] = []
    cheapest: tuple[Price, int] | None = None
    for index, (bid, ask) in enumerate(zip(best_bids, best_asks, strict=True)):
        if bid is not None and cheapest is not None and bid > cheapest[0]:
            found.append(Arbitrage(cheapest[1], index, cheapest[0], bid))
        if ask is not None and (cheapest is None or ask < cheapest[0]):
            cheapest = (ask, index)
    return tuple(found)
