"""All rungs of an event as one curve: fair values from every source at once.

The chance that the value ends above a strike can only fall as the strike rises. Sources of all
rungs, and the implied value, are fitted by two numbers (`LineFit`); each rung is then drawn
back to its own data by as much as the line has proved wrong there (`ModelError`); last, the curve
is made non-increasing. Values in canonical YES cents.

A rung is looked at anew when what is known of it changed, or when its age has made it a twentieth
less sure. The age of a book is counted since others changed it. Were it younger for being shown
again, each write of ours would make it so; the line would lean to that rung, what it moved would
be learned as volatility, and the more would age count: quotes would follow themselves for ever.

A fair value keeps its object until it has moved by a quarter of a cent, so that nobody after it
works on what did not move. What is slow (the shape, volatilities, the feed's worth) is learned once
a second.

Formulas: docs/pricing.md#section-1a.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from math import erfc
from operator import mul, sub, truediv
from typing import Final

import msgspec

from bot.core.distribution import monotone
from bot.core.fair_value.estimators import (
    Estimate,
    FeedTrust,
    Volatility,
    baseline_volatility,
    from_book,
    from_prints,
    merged,
    stood_for,
)
from bot.strategy.api import ImpliedView, Levels
from bot.strategy.pricing.probit import (
    FAIR_MAX_CENTS,
    FAIR_MIN_CENTS,
    clipped,
    from_probit,
    probit,
    slope,
)
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS

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
    """How the line proves wrong at every rung: a shape that lasts, and what is left besides.

    A value that is not lognormal bends the curve away from the line, at each rung in its own way.
    The mean of that over an hour is the shape; how much of it is more than chance, all rungs say
    together. What comes and goes on top of it is the allowance. shapes: cents to add to the line.
    allowances: cents squared by which that may be off; never below a quarter.

    Formulas: docs/pricing.md#section-1a, step 3.
    """

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
    """The line d(u) = height - steepness * u through the probits of all rungs, with u the logarithm
    of the strike: a lognormal value. Weighted least squares. Each rung is weighted in cents by the
    line itself, and only again once the line has moved.

    Formulas: docs/pricing.md#section-1a, step 2.
    """

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


_LOG_SD_PRIOR: Final = 0.30
"""Standard deviation of the logarithm of the final value before anything is known (judgement)."""

_SPREAD_SD_LEARNED: Final = 0.25
_SPREAD_SD_GUESSED: Final = 0.5
"""How sure the prior of the line's steepness is, relative to it."""

_LEARN_NS: Final = NS_PER_SECOND

_STEADY_CENTS: Final = 0.25
_STEADY_WEIGHT: Final = 1.15
"""A fair value is the same object while it, and one over its variance, stay within these."""

_APART: Final = 1 + 1e-9
"""The least ratio of two strikes of one curve."""

_LESS_SURE: Final = 0.05
_LOOK_MIN_NS: Final = NS_PER_SECOND // 4
_LOOK_MAX_NS: Final = 60 * NS_PER_SECOND
"""A rung is looked at anew when its variance has grown by this part, but not before and not later
than this."""

_ROUGHER: Final = 1.1
"""And when its volatility is more than this many times what it was, or less than one over it."""

_WEIGHTLESS: Final = 1e-12
"""The weight of a rung that is over, and of one held by the only side of a book that is not
believed now: it moves no other, whatever the line or that side says of it."""

_TOLD_MIN: Final = 0.5
"""A steepness is learned from only where the market has told at least this part of it: what the
prior said must not come back as what was learned."""

_AGE_MAX_S: Final = 4.0
"""A book that is believed counts as no older than this: one that others have left alone for longer
is shown and confirmed again, and as good as it was (judgement)."""

_SPAN_SD: Final = 2.0
"""A ladder is listed where the value may end: it spans no less than so many deviations."""

_MARKET_SPEAKS: Final = 2
"""Rungs with data of their own from which on the market, not the feed, says where the value is."""

_PROBIT_SCALE: Final = 1 / math.sqrt(2)
_HALF_PAYOUT: Final = PAYOUT_CENTS / 2


class RungInput(msgspec.Struct, frozen=True):
    """What is known of one rung: the book of others (`ExternalBook.shown`), since when, and
    the faded traded price with the mean instant of its prints (`TradedPrice.read`).

    confirmed_ns: of a book that is not believed now (its market is halted, or nothing has shown it
    for long), when it was last confirmed: it ages from then on. is_over: it has resolved, or its
    outcome is certain. What was known of it is of before; it has no fair value any more.
    """

    bids: Levels
    asks: Levels
    changed_ns: int
    traded: tuple[float, int] | None
    confirmed_ns: int | None = None
    is_over: bool = False


class Fair(msgspec.Struct, frozen=True):
    """A rung's fair value, 0.5..99.5 cents, and its standard deviation in cents: at most 50, as of
    anything between nothing and the whole payout."""

    value_cents: float
    sd_cents: float


_NOTHING_SEEN: Final = RungInput((), (), 0, None)


class _Own:
    """What the curve keeps of one rung."""

    def __init__(self, u: float) -> None:
        self.u = u  # its log strike
        self.seen = _NOTHING_SEEN  # as it was looked at last
        # What its own data said of its value, and one over the variance; 0: it said nothing.
        self.cents = self.inverse = 0.0
        self.has_spoken = False  # it once said something
        self.used_volatility = 0.0  # by which its data aged
        self.realised = Volatility()  # of its fair value
        # How sure its value is, and was when it was shown: one over the variance.
        self.weight, self.shown_weight = 1.0, 0.0


class FairCurve:
    """The fair curve of one event; it learns, so keep one for the life of the event."""

    def __init__(self, strikes: Sequence[float] | None) -> None:
        """strikes: lowest first, in the unit of the implied value (dollars); None for a binary
        market. Raises ValueError unless `is_ladder`.
        """
        if strikes is not None and not is_ladder(strikes):
            raise ValueError(f"strikes must be above zero and rising: {list(strikes)}")
        count = 1 if strikes is None else len(strikes)
        self._is_ladder = strikes is not None
        logs = [math.log(strike) for strike in strikes] if strikes is not None else [0.0]
        self._log_reference = (logs[0] + logs[-1]) / 2
        self._us = [log - self._log_reference for log in logs]
        self._fit = LineFit(self._us)
        span = self._us[-1] - self._us[0]
        self._steepness_guess = max(1 / _LOG_SD_PRIOR, _SPAN_SD / span if span > 0 else 0.0)
        self._lessons = ModelError(count)
        self._owns = [_Own(u) for u in self._us]
        self._known = 0  # rungs with data of their own
        self._is_news = False  # whether one spoke for the first time since the last lesson
        # A rung's value is base + pull * erfc of its log strike's place on the line.
        self._blends = [(0.0, _HALF_PAYOUT, u) for u in self._us]
        self._weighed = (0, 0)
        self._looked_at: list[int] = []
        self.again_ns = [0] * count
        """When each rung is evaluated again although nothing of it changed."""
        self._one_sided: dict[int, bool] = {}  # rungs with such a book: is it not believed now
        self.volatilities = [0.0] * count
        """Cents per sqrt(second) that the fair value of each rung moves, as learned."""
        self._fairs: list[Fair | None] = [None] * count
        self.all_cents = [math.nan] * count
        """The values shown, and of rungs that are over what the others imply; each is not a number
        while nothing is known."""
        self._unsure: set[int] = set()  # rungs whose values are not as sure as was shown
        self._shown: tuple[Fair | None, ...] = (None,) * count
        self.moved: Sequence[int] = ()
        """The places of the fair values that are other objects since the last `update`, lowest
        first."""
        self.drawn_cents: Sequence[float] = ()
        """The values before they were made non-increasing; empty while nothing is known."""
        self._log_sd_rate = 0.0
        self._log_sd_seconds = 0.0
        self._trust = FeedTrust()
        self._learned_ns: int | None = None

    # --- what it shows ----------------------------------------------------------------------------

    def update(
        self,
        rungs: Sequence[RungInput],
        implied: ImpliedView | None,
        seconds_to_resolution: float,
        now_ns: int,
    ) -> tuple[Fair | None, ...]:
        """The fair curve now, in strike order; None for a rung of which nothing is known.

        rungs: one per strike; one that did not change is best passed as the same object. now_ns: on
        the clock of the inputs' instants. On a ladder all are known as soon as one source of any
        rung, or the implied value, is, but for those that are over. A single binary market has only
        its own data; `implied` tells it nothing.
        """
        self.moved = ()
        left_s = seconds_to_resolution if seconds_to_resolution > 1.0 else 1.0
        for index, (rung, own) in enumerate(zip(rungs, self._owns, strict=True)):
            if rung is not own.seen or now_ns >= self.again_ns[index]:
                self._look(index, rung, left_s, now_ns)
        if not self._is_ladder:
            return self._alone(left_s, now_ns)
        if implied is not None and not _is_sane(implied):
            implied = None
        if implied is None and not self._known:
            return self._nothing()
        line = self._fit.fit(self._prior(implied, left_s))
        self._draw_back(line)
        if self._learned_ns is None or now_ns >= self._learned_ns + _LEARN_NS:
            self._learn(line, implied, left_s, now_ns)
        return self._shown

    @property
    def line_cents(self) -> tuple[float, ...]:
        """What the line alone says of each rung, its learned shape left out; empty before it."""
        line = self._fit.line
        return () if line is None else tuple(from_probit(line.at(u)) for u in self._us)

    # --- a rung's own data ------------------------------------------------------------------------

    def _look(self, index: int, rung: RungInput, left_s: float, now_ns: int) -> None:
        """Take in what a rung's own data says now."""
        own = self._owns[index]
        own.seen = rung
        self._looked_at.append(index)
        volatility = self.volatilities[index] or baseline_volatility(slope(0.0), left_s)
        own.used_volatility = volatility
        if rung.confirmed_ns is None:
            age_s = (now_ns - rung.changed_ns) / NS_PER_SECOND
            if stands := age_s >= _AGE_MAX_S:
                age_s = _AGE_MAX_S
        else:
            age_s, stands = (now_ns - rung.confirmed_ns) / NS_PER_SECOND, False
        bids, asks = rung.bids, rung.asks
        said = from_book(bids, asks, age_s, volatility)
        printed: Estimate | None = None
        if rung.traded is not None:
            cents, at_ns = rung.traded
            age_s = (now_ns - at_ns) / NS_PER_SECOND
            printed = from_prints(cents, age_s, bids, asks, volatility)
            said = merged(said, printed)
        if (not bids) is not (not asks):
            self._one_sided[index] = rung.confirmed_ns is not None
        else:
            self._one_sided.pop(index, None)
        if said is None:
            self._known -= own.inverse > 0
            own.inverse = 0.0
            self._fit.drop(index)
            self.again_ns[index] = now_ns + _LOOK_MAX_NS
            return
        if not own.inverse:
            self._known += 1
            if not own.has_spoken:
                own.has_spoken = self._is_news = True
        variance = said.variance
        cents = own.cents = said.cents
        own.inverse = 1 / variance
        allowed = variance + self._lessons.allowances[index]
        self._fit.take(index, probit(clipped(cents)), allowed)
        growth = volatility * volatility
        if stands:  # the prints alone grow older, and count for a part of the whole
            growth *= 0.0 if printed is None else variance / printed.variance
        wait_ns = _LOOK_MAX_NS
        if growth > 0:
            wait_s = _LESS_SURE * variance / growth
            wait_ns = round(wait_s * NS_PER_SECOND) if wait_s < 60.0 else _LOOK_MAX_NS
        self.again_ns[index] = now_ns + max(wait_ns, _LOOK_MIN_NS)

    def _alone(self, left_s: float, now_ns: int) -> tuple[Fair | None, ...]:
        if not self._known:
            return self._nothing()
        cents = _bounded(self._owns[0].cents, self._owns[0].seen)
        self._looked_at.clear()
        self._blend((0,), None)
        self._show([cents])
        if self._learned_ns is None or now_ns >= self._learned_ns + _LEARN_NS:
            self._learned_ns = now_ns
            self._learn_volatility(0, cents, slope(probit(cents)), left_s, now_ns)
        return self._shown

    # --- the curve --------------------------------------------------------------------------------

    def _prior(self, implied: ImpliedView | None, left_s: float) -> Prior:
        """What the line should be before looking: from this event's own past; else from its
        outermost rungs, or where it was listed, so that a ladder of a day is not judged by the
        width of one of a quarter; else that of an unknown value.
        """
        steepness, relative_sd = self._steepness_guess, _SPREAD_SD_GUESSED
        if self._log_sd_seconds > 0:
            # What was learned is how fast the value widens: the line steepens as the end nears.
            rate = self._log_sd_rate / self._log_sd_seconds
            steepness = 1 / (rate * math.sqrt(left_s))
            # Never so sure of a line far too flat that no ladder could steepen it again.
            flatter = self._steepness_guess / steepness
            relative_sd = _SPREAD_SD_LEARNED * (flatter if flatter > 1.0 else 1.0)
        elif (outermost := self._fit.outermost()) is not None:
            (low_u, low_d), (high_u, high_d) = outermost
            if low_d > high_d:
                steepness = (low_d - high_d) / (high_u - low_u)
        if implied is None:
            return Prior(steepness, relative_sd)
        drift = max(0.0, implied.age_s) / left_s / steepness**2
        return Prior(
            steepness,
            relative_sd,
            math.log(implied.value_dollars) - self._log_reference,
            math.sqrt(self._trust.log_sd(implied.confidence) ** 2 + drift),
        )

    def _blend(self, places: Iterable[int], line: ProbitLine | None) -> None:
        """How the own data of these rungs and the line with its shape are blended there, and how
        sure that is, without a line by own data alone. Those that are by far not as sure as was
        shown, or surer, are shown anew."""
        allowances, shapes = self._lessons.allowances, self._lessons.shapes
        owns, blends, steep_squares = self._owns, self._blends, self._fit.steep_squares
        for index in places:
            own, allowance = owns[index], allowances[index]
            u, inverse = own.u, own.inverse
            odds = allowance * inverse
            share = odds / (1 + odds)
            rest = 1 - share
            blends[index] = (share * own.cents + rest * shapes[index], rest * _HALF_PAYOUT, u)
            if own.seen.is_over:
                weight = _WEIGHTLESS
            elif line is None:
                weight = inverse
            else:
                unsure = steep_squares[index] * line.variance_at(u)
                weight = 1 / (rest * (allowance + rest * unsure))
            own.weight, shown = weight, own.shown_weight
            if weight > shown * _STEADY_WEIGHT or shown > weight * _STEADY_WEIGHT:
                self._unsure.add(index)

    def _draw_back(self, line: ProbitLine) -> None:
        """The line drawn back to each rung's own data, made monotone, inside one-sided bounds."""
        weighed = (self._fit.weighed, self._known)
        if weighed != self._weighed:
            self._weighed = weighed
            self._looked_at = list(range(len(self._owns)))
        self._blend(self._looked_at, line)
        self._looked_at = []
        height, steepness = line.height * _PROBIT_SCALE, line.steepness * _PROBIT_SCALE
        values = [base + pull * erfc(steepness * u - height) for base, pull, u in self._blends]
        self.drawn_cents = values
        if sorted(values, reverse=True) != values:
            values = monotone(values, [own.weight for own in self._owns])
        one_sided = self._one_sided
        if one_sided or values[0] > FAIR_MAX_CENTS or values[-1] < FAIR_MIN_CENTS:
            inside = [_bounded(v, own.seen) for v, own in zip(values, self._owns, strict=True)]
            weights = [
                _WEIGHTLESS if one_sided.get(index) else own.weight
                for index, own in enumerate(self._owns)
            ]
            values = monotone(inside, weights)
        self._show(values)

    def _show(self, values: list[float]) -> None:
        """Show these, and as the objects they were where they have hardly moved."""
        shown = self.all_cents
        moved = [
            index
            for index, change in enumerate(map(sub, values, shown))
            if not -_STEADY_CENTS < change < _STEADY_CENTS
        ]
        if self._unsure:
            moved = sorted(self._unsure.union(moved))
            self._unsure.clear()
        if not moved:
            return
        for index in moved:
            shown[index] = values[index]
        if sorted(shown, reverse=True) != shown:
            # A new value beside one that was kept: only all of them together are in order.
            shown[:] = values
            moved = list(range(len(values)))
        fairs, owns = self._fairs, self._owns
        for index in moved:
            own = owns[index]
            weight = own.shown_weight = own.weight
            sd_cents = 1 / math.sqrt(weight)
            sd_cents = sd_cents if sd_cents < _HALF_PAYOUT else _HALF_PAYOUT
            fairs[index] = None if own.seen.is_over else Fair(shown[index], sd_cents)
        self._shown, self.moved = tuple(fairs), moved

    def _nothing(self) -> tuple[Fair | None, ...]:
        """Nothing is known of any rung."""
        count = len(self._us)
        self._fairs, self.all_cents = [None] * count, [math.nan] * count
        self.drawn_cents = ()
        # Whatever is known next weighs every rung anew, whichever were looked at before.
        self._weighed = (0, 0)
        self._looked_at.clear()
        self._shown, self.moved = (None,) * count, range(count)
        return self._shown

    # --- what is learned --------------------------------------------------------------------------

    def _learn(
        self, line: ProbitLine, implied: ImpliedView | None, left_s: float, now_ns: int
    ) -> None:
        """Once a second: shape and allowance, volatilities, the width of the value per
        sqrt(second), and what the feed is worth."""
        learned_ns, self._learned_ns = self._learned_ns, now_ns
        elapsed_s = 0.0 if learned_ns is None else (now_ns - learned_ns) / NS_PER_SECOND
        is_news, self._is_news = self._is_news, False
        residuals: list[tuple[float, float] | None] = []
        for index, (own, fair) in enumerate(zip(self._owns, self._fairs, strict=True)):
            deviations = line.at(own.u)
            inverse = own.inverse
            residual = own.cents - from_probit(deviations)
            residuals.append((residual, 1 / inverse) if inverse > 0 else None)
            if fair is not None:
                steep = slope(deviations)
                if is_news:  # the whole line is another one now, and no price has moved
                    own.realised.restart(fair.value_cents, now_ns)
                self._learn_volatility(index, fair.value_cents, steep, left_s, now_ns)
        if elapsed_s > 0:
            self._lessons.learn(residuals, elapsed_s)
            self._blend(range(len(self._owns)), line)
        if self._known < _MARKET_SPEAKS or line.told < _TOLD_MIN:
            return
        fade = 0.5 ** (elapsed_s / HALF_LIFE_S)
        step_s = min(elapsed_s, STEP_MAX_S)
        log_sd_rate = 1 / (line.steepness * math.sqrt(left_s))
        self._log_sd_rate = self._log_sd_rate * fade + log_sd_rate * step_s
        self._log_sd_seconds = self._log_sd_seconds * fade + step_s
        if implied is not None:
            log_median = self._log_reference + line.height / line.steepness
            log_value = math.log(implied.value_dollars)
            self._trust.observe(log_value, implied.confidence, log_median, now_ns)

    def _learn_volatility(
        self, index: int, cents: float, steep: float, left_s: float, now_ns: int
    ) -> None:
        own = self._owns[index]
        own.realised.update(cents, now_ns)
        volatility = max(own.realised.cents_per_sqrt_s, baseline_volatility(steep, left_s))
        self.volatilities[index] = volatility
        used = own.used_volatility
        if volatility > used * _ROUGHER or used > volatility * _ROUGHER:
            self.again_ns[index] = now_ns


def is_ladder(strikes: Sequence[float]) -> bool:
    """Whether one curve can be drawn over the logarithms of these: above zero, finite and rising.
    Strikes so near each other that their logarithms hardly differ are one to it."""
    rising = all(low * _APART < high for low, high in itertools.pairwise(strikes))
    return bool(strikes) and strikes[0] > 0 and strikes[-1] < math.inf and rising


def _is_sane(implied: ImpliedView) -> bool:
    """Whether an implied value can be one; others, not-a-number included, are no news."""
    return 0 < implied.value_dollars < math.inf and math.isfinite(implied.confidence)


def _bounded(cents: float, rung: RungInput) -> float:
    """A value inside 0.5..99.5, and not beyond the only side of a one-sided book, as far as that
    side has enough shares."""
    if rung.bids and not rung.asks:
        floor = stood_for(rung.bids)
        cents = cents if floor is None else max(cents, floor)
    elif rung.asks and not rung.bids:
        ceiling = stood_for(rung.asks)
        cents = cents if ceiling is None else min(cents, ceiling)
    return clipped(cents)
