"""All rungs of an event as one curve: fair values from every source at once.

The chance that the value ends above a strike can only fall as the strike rises. Two numbers, a line
through probits, fit the sources of all rungs and the implied value. Each rung is then drawn back to
its own data by as much as the line has proved wrong there. Last, the curve is made non-increasing.
Values are canonical YES cents, variances cents squared.

A rung is read again when its inputs change, or once their age has made it a twentieth less sure.
The age of a book counts since others changed it. If each frame renewed it, each write of ours
would; the line would lean to that rung, its move would count as volatility, and quotes would follow
themselves for ever.

A fair value keeps its object until it has moved by a quarter of a cent, so that nothing downstream
is recomputed for less. Shapes, volatilities and the worth of the feed are learned once a second.

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
    from_book,
    from_prints,
    merged,
    supported_price,
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

_LEARN_NS: Final = NS_PER_SECOND

# The line.
_LOG_SD_PRIOR: Final = 0.30
"""Standard deviation of the logarithm of the final value before anything is known (judgement)."""

_SPREAD_SD_LEARNED: Final = 0.25
_SPREAD_SD_GUESSED: Final = 0.5
"""How sure the prior of the line's steepness is, relative to it."""

_SPAN_SD: Final = 2.0
"""A ladder is listed where the value may end: it spans at least this many deviations."""

_ROUNDS_MAX: Final = 4
_NEAR: Final = 0.02
"""Weights are kept while the line stays this near to where they were taken, in standard deviations:
then no weight is off by more than a tenth."""

_DEVIATIONS_MAX: Final = 2.5
"""Weights are taken no further out: beyond it half a cent moves the probit by half a unit."""

_STEEPNESS_MIN: Final = 0.05
"""A noisy ladder may lean the wrong way, and a survival curve never rises: the line keeps this part
of the steepness that the prior expects."""

_FROM_DATA_MIN: Final = 0.5
"""A steepness is learned only where at least this part of it comes from data: the prior must not
come back as a lesson."""

_MARKET_SPEAKS: Final = 2
"""Rungs with own data from which on the market, not the feed, says where the value is."""

# The model error.
_ALLOWANCE_MIN: Final = 0.25
_ALLOWANCE_PRIOR: Final = 1.0
_PRIOR_S: Final = 60.0
"""Cents squared by which the line may be wrong at a rung: its floor, and the assumption for the
first minute (judgement)."""

_DOUBT: Final = 2.0
_VARIANCE_MIN: Final = 0.3
_ERROR_LASTS_S: Final = 120.0
"""Looks closer than this show the same error of a book twice, not two errors (judgement)."""

_LOOK_S: Final = 2 * _ERROR_LASTS_S
"""This many seconds are worth one look."""

# A rung's own data.
_LESS_SURE: Final = 0.05
_LOOK_MIN_NS: Final = NS_PER_SECOND // 4
_LOOK_MAX_NS: Final = 60 * NS_PER_SECOND
"""A rung is read again when its variance has grown by this part, within these bounds."""

_VOLATILITY_HALF_LIFE_S: Final = 900.0
_VOLATILITY_MIN_S: Final = 60.0
"""Realised volatility is the root of squared moves over time, older ones fading; it counts once it
covers a minute, for a few moves say nothing yet."""

_ROUGHER: Final = 1.1
"""It is also read again when its volatility changed by more than this factor, up or down."""

_AGE_MAX_S: Final = 4.0
"""A believed book counts as no older than this: the venue confirms a book that others leave alone,
and it is as good as it was (judgement)."""

_WEIGHTLESS: Final = 1e-12
"""The weight of a rung that is over, and of one held by the only side of a book that is not
believed now: it moves no other rung."""

# The output.
_STEADY_CENTS: Final = 0.25
_STEADY_WEIGHT: Final = 1.15
"""A fair value is the same object while it, and one over its variance, change by less."""

_APART: Final = 1 + 1e-9
"""The least ratio of two strikes of one curve."""

_PROBIT_SCALE: Final = 1 / math.sqrt(2)
_HALF_PAYOUT: Final = PAYOUT_CENTS / 2
_SLOPE_MAX: Final = slope(0.0)


class RungInput(msgspec.Struct, frozen=True):
    """The inputs of one rung: the book of others, since when by our clock it is that book, and
    the faded traded price with the mean instant of its prints (`TradedPrice.mean`).

    confirmed_ns: of a book that is not believed now (its market is halted, or nothing has confirmed
    it for long), when it was last confirmed; it ages from then on. is_over: the rung has resolved,
    or its outcome is certain, so it has no fair value any more.
    """

    bids: Levels
    asks: Levels
    changed_ns: int
    traded: tuple[float, int] | None
    confirmed_ns: int | None = None
    is_over: bool = False


NO_INPUT: Final = RungInput((), (), 0, None)


class Fair(msgspec.Struct, frozen=True):
    """A rung's fair value, 0.5..99.5 cents, and its standard deviation in cents: at most 50, as of
    anything between nothing and the whole payout."""

    value_cents: float
    sd_cents: float


class ProbitLine(msgspec.Struct, frozen=True):
    """The fit d(u) = height - steepness * u and its covariance, u the log strike.

    from_data: how much of the knowledge of the steepness comes from data and not from the prior,
    0..1; 0 where the data say that it rises.
    """

    height: float
    steepness: float
    height_variance: float
    covariance: float
    steepness_variance: float
    from_data: float


class _RungFit:
    """The curve's state of one rung."""

    def __init__(self, u: float) -> None:
        self.u = u  # log strike
        self.input = NO_INPUT  # as it was read last
        # What its own data says of its value, and one over the variance; 0: it says nothing.
        self.cents = self.inverse = 0.0
        self.has_data = False  # it once said something
        self.used_volatility = 0.0  # by which its data aged
        # Of its fair value: the newest, when, and faded sums of squared moves and of seconds.
        self.value: float | None = None
        self.value_ns = 0
        self.moves = self.moves_s = 0.0
        # How sure its value is, and was when it was published: one over the variance.
        self.weight, self.published_weight = 1.0, 0.0
        # Faded sums over time: data less line, variance of the data, squared error above that.
        self.residual = self.noise = 0.0
        self.excess, self.seconds = _ALLOWANCE_PRIOR * _PRIOR_S, _PRIOR_S
        self.shape = 0.0  # cents to add to the line
        # Cents squared by which line and shape may be off; never below a quarter.
        self.allowance = _ALLOWANCE_PRIOR


class FairCurve:
    """The fair curve of one event; it learns, so keep one for the life of the event."""

    def __init__(self, strikes: Sequence[float] | None) -> None:
        """strikes: lowest first, in the unit of the implied value (dollars); None for a binary
        market. Raises ValueError unless `is_ladder`.
        """
        if strikes is not None and not is_ladder(strikes):
            raise ValueError(f"strikes must be above zero and rising: {list(strikes)}")
        logs = [0.0] if strikes is None else [math.log(strike) for strike in strikes]
        count = len(logs)
        self._is_ladder = strikes is not None
        self._log_reference = (logs[0] + logs[-1]) / 2
        self._us = [log - self._log_reference for log in logs]
        self.log_strikes: Sequence[float] = logs
        """0 for a binary market."""
        self._rungs = [_RungFit(u) for u in self._us]
        span = self._us[-1] - self._us[0]
        self._steepness_guess = max(1 / _LOG_SD_PRIOR, _SPAN_SD / span if span > 0 else 0.0)
        self._with_data = 0  # rungs with data of their own
        self._is_first_data = False  # some rung had data for the first time since the last lesson
        # The line: by rung the probit of its data, one over the variance (0: no data), and the
        # square of the cents that the curve moves there per standard deviation.
        self._deviations = [0.0] * count
        self._precisions = [0.0] * count
        self._steep_squares = [0.0] * count
        self._weighed_by: ProbitLine | None = None  # the line that `_steep_squares` are taken by
        self._weighings = 0
        self.line: ProbitLine | None = None
        # A rung's value is base + pull * erfc of its log strike's place on the line.
        self._blends = [(0.0, _HALF_PAYOUT, u) for u in self._us]
        self._blended = (0, 0)  # weighings and rungs with data when all of them were blended last
        self._changed: list[int] = []  # places of the rungs read since they were blended
        self.again_ns = [0] * count
        """When each rung is read again although nothing of it changed."""
        self._one_sided: dict[int, bool] = {}  # rungs with such a book: is it not believed now
        self.volatilities = [0.0] * count
        """Cents per sqrt(second) that the fair value of each rung moves, as learned."""
        self._fairs: list[Fair | None] = [None] * count
        self.all_cents = [math.nan] * count
        """The published values, and of rungs that are over what the others imply; each is not a
        number while nothing is known."""
        self._unsure: set[int] = set()  # rungs whose values are not as sure as was published
        self._published: tuple[Fair | None, ...] = (None,) * count
        self.moved: Sequence[int] = ()
        """The places of the fair values that the last `update` replaced, lowest first."""
        self.drawn_cents: Sequence[float] = ()
        """The values before they were made non-increasing; empty while nothing is known."""
        self._log_sd_rate = self._log_sd_seconds = 0.0
        self._trust = FeedTrust()
        self._learned_ns: int | None = None

    def update(
        self,
        rungs: Sequence[RungInput],
        implied: ImpliedView | None,
        variance_s: float,
        now_ns: int,
    ) -> tuple[Fair | None, ...]:
        """The fair curve now, in strike order; None for a rung of which nothing is known.

        variance_s: the ordinary time, in seconds, that brings the variance of the value until it is
        known: the time left, and what coming dates are worth (docs/operations.md#calendar).
        rungs: one per strike; one that did not change is best passed as the same object. now_ns: on
        the same clock as the timestamps of the inputs. On a ladder every rung is known as soon as
        one source of any rung, or the implied value, is, but for those that are over. A single
        binary market has only its own data.
        """
        self.moved = ()
        left_s = variance_s if variance_s > 1.0 else 1.0
        again_ns = self.again_ns
        for index, (seen, rung) in enumerate(zip(rungs, self._rungs, strict=True)):
            if seen is not rung.input or now_ns >= again_ns[index]:
                self._read_rung(index, seen, left_s, now_ns)
        is_due = self._learned_ns is None or now_ns >= self._learned_ns + _LEARN_NS
        if not self._is_ladder:
            return self._update_binary(left_s, now_ns, is_due=is_due)
        if implied is not None and not (
            0 < implied.value_dollars < math.inf and math.isfinite(implied.confidence)
        ):
            implied = None
        if implied is None and not self._with_data:
            return self._forget_values()
        line = self._fit_line(implied, left_s)
        self._draw_back(line)
        if is_due:
            self._learn(line, implied, left_s, now_ns)
        return self._published

    @property
    def published(self) -> tuple[Fair | None, ...]:
        """What the last `update` returned."""
        return self._published

    @property
    def line_cents(self) -> tuple[float, ...]:
        """The line alone at each rung, without the learned shape; empty before the first fit."""
        line = self.line
        if line is None:
            return ()
        return tuple(from_probit(line.height - line.steepness * u) for u in self._us)

    # --- a rung's own data ------------------------------------------------------------------------

    def _read_rung(self, index: int, seen: RungInput, left_s: float, now_ns: int) -> None:
        """Estimate a rung from its own data, and when to do so again."""
        rung = self._rungs[index]
        rung.input = seen
        self._changed.append(index)
        volatility = self.volatilities[index] or _SLOPE_MAX / math.sqrt(left_s)
        rung.used_volatility = volatility
        since_ns = seen.changed_ns if seen.confirmed_ns is None else seen.confirmed_ns
        age_s = (now_ns - since_ns) / NS_PER_SECOND
        is_capped = seen.confirmed_ns is None and age_s >= _AGE_MAX_S
        bids, asks = seen.bids, seen.asks
        estimate = from_book(bids, asks, _AGE_MAX_S if is_capped else age_s, volatility)
        printed: Estimate | None = None
        if seen.traded is not None:
            cents, at_ns = seen.traded
            age_s = (now_ns - at_ns) / NS_PER_SECOND
            printed = from_prints(cents, age_s, bids, asks, volatility)
            estimate = merged(estimate, printed)
        if (not bids) is not (not asks):
            self._one_sided[index] = seen.confirmed_ns is not None
        else:
            self._one_sided.pop(index, None)
        if estimate is None:
            self._with_data -= rung.inverse > 0
            rung.inverse = self._precisions[index] = 0.0
            self.again_ns[index] = now_ns + _LOOK_MAX_NS
            return
        if not rung.inverse:
            self._with_data += 1
            if not rung.has_data:
                rung.has_data = self._is_first_data = True
        variance = estimate.variance
        rung.cents, rung.inverse = estimate.cents, 1 / variance
        deviations = self._deviations[index] = probit(estimate.cents)
        self._precisions[index] = 1 / (variance + rung.allowance)
        if self._weighed_by is None:
            self._steep_squares[index] = _steep_square(deviations)
        growth = volatility * volatility
        if is_capped:  # only the prints age on, and they are a part of the whole
            growth *= 0.0 if printed is None else variance / printed.variance
        wait_ns = _LOOK_MAX_NS
        if growth > 0:
            wait_s = _LESS_SURE * variance / growth
            wait_ns = round(wait_s * NS_PER_SECOND) if wait_s < 60.0 else _LOOK_MAX_NS
        self.again_ns[index] = now_ns + max(wait_ns, _LOOK_MIN_NS)

    def _update_binary(
        self, left_s: float, now_ns: int, *, is_due: bool
    ) -> tuple[Fair | None, ...]:
        if not self._with_data:
            return self._forget_values()
        rung = self._rungs[0]
        cents = _bounded(rung.cents, rung.input)
        self._changed.clear()
        self._blend((0,), None)
        self._publish([cents])
        if is_due:
            self._learned_ns = now_ns
            self._learn_volatility(0, cents, slope(probit(cents)), left_s, now_ns)
        return self._published

    # --- the line ---------------------------------------------------------------------------------

    def _fit_line(self, implied: ImpliedView | None, left_s: float) -> ProbitLine:
        """The line through all data and the feed, by weighted least squares: a 2 x 2 system. Rungs
        are weighted in cents by the line itself, and again only once the line has moved.

        The prior of the steepness comes from this event's own past; else from its outermost rungs,
        or where it was listed, so that a ladder of a day is not judged by the width of one of a
        quarter.

        Formulas: docs/pricing.md#section-1a, step 2.
        """
        guessed, relative_sd = self._steepness_guess, _SPREAD_SD_GUESSED
        known = [index for index, precision in enumerate(self._precisions) if precision > 0]
        if self._log_sd_seconds > 0:
            # What was learned is how fast the value widens: the line steepens as the end nears.
            rate = self._log_sd_rate / self._log_sd_seconds
            guessed = 1 / (rate * math.sqrt(left_s))
            # Never so sure of a line far too flat that no ladder could steepen it again.
            relative_sd = _SPREAD_SD_LEARNED * max(1.0, self._steepness_guess / guessed)
        elif len(known) > 1:
            low, high = known[0], known[-1]
            fall = self._deviations[low] - self._deviations[high]
            if fall > 0:
                guessed = fall / (self._us[high] - self._us[low])
        feed_u = feed_sd = 0.0
        if implied is not None:
            drift = max(0.0, implied.age_s) / left_s / guessed**2
            feed_u = math.log(implied.value_dollars) - self._log_reference
            feed_sd = math.sqrt(self._trust.log_sd(implied.confidence) ** 2 + drift)
        us, sure = self._us, 1 / (relative_sd * guessed) ** 2
        for _ in range(_ROUNDS_MAX):
            reference, feed = self._weighed_by, 0.0
            if feed_sd > 0:
                steepness = guessed if reference is None else reference.steepness
                feed = 1 / (steepness * feed_sd) ** 2
            weights = list(map(mul, self._steep_squares, self._precisions))
            weighted_us = list(map(mul, weights, us))
            w = sum(weights, feed)
            wu = sum(weighted_us, feed * feed_u)
            wuu = sum(map(mul, weighted_us, us), feed * feed_u * feed_u + sure)
            wd = sum(map(mul, weights, self._deviations))
            wud = sure * guessed - sum(map(mul, weighted_us, self._deviations))
            determinant = w * wuu - wu * wu
            steepness = fitted = (w * wud + wu * wd) / determinant
            # determinant / w is the precision of the steepness at any height, with the prior.
            from_data = 1 - sure * w / determinant
            if fitted < _STEEPNESS_MIN * guessed:
                steepness, from_data = _STEEPNESS_MIN * guessed, 0.0
            height = (wd + wu * steepness) / w
            line = self.line = ProbitLine(
                height, steepness, wuu / determinant, wu / determinant, w / determinant, from_data
            )
            if reference is not None:
                # The weights hold if they were taken by a line that agrees at both ends.
                up, steeper = height - reference.height, steepness - reference.steepness
                if -_NEAR < up - steeper * us[0] < _NEAR and -_NEAR < up - steeper * us[-1] < _NEAR:
                    break
            self._weighed_by = line
            self._weighings += 1
            self._steep_squares = [_steep_square(height - steepness * u) for u in us]
        return line

    # --- the curve --------------------------------------------------------------------------------

    def _blend(self, places: Iterable[int], line: ProbitLine | None) -> None:
        """Weigh the own data of these rungs against the line with its shape; by own data alone
        without a line. Rungs that became far surer, or less sure, are published again."""
        rungs, blends, steep_squares = self._rungs, self._blends, self._steep_squares
        for index in places:
            rung = rungs[index]
            u, inverse, allowance = rung.u, rung.inverse, rung.allowance
            odds = allowance * inverse
            share = odds / (1 + odds)
            rest = 1 - share
            blends[index] = (share * rung.cents + rest * rung.shape, rest * _HALF_PAYOUT, u)
            if rung.input.is_over:
                weight = _WEIGHTLESS
            elif line is None:
                weight = inverse
            else:
                unsure = steep_squares[index] * (
                    line.height_variance + (line.steepness_variance * u - 2 * line.covariance) * u
                )
                weight = 1 / (rest * (allowance + rest * unsure))
            rung.weight, published = weight, rung.published_weight
            if weight > published * _STEADY_WEIGHT or published > weight * _STEADY_WEIGHT:
                self._unsure.add(index)

    def _draw_back(self, line: ProbitLine) -> None:
        """The line drawn back to each rung's own data, made monotone, inside one-sided bounds."""
        blended = (self._weighings, self._with_data)
        if blended != self._blended:
            self._blended = blended
            self._changed = list(range(len(self._rungs)))
        self._blend(self._changed, line)
        self._changed = []
        height, steepness = line.height * _PROBIT_SCALE, line.steepness * _PROBIT_SCALE
        values = [base + pull * erfc(steepness * u - height) for base, pull, u in self._blends]
        self.drawn_cents = values
        if sorted(values, reverse=True) != values:
            values = monotone(values, [rung.weight for rung in self._rungs])
        one_sided = self._one_sided
        if one_sided or values[0] > FAIR_MAX_CENTS or values[-1] < FAIR_MIN_CENTS:
            inside = [_bounded(v, rung.input) for v, rung in zip(values, self._rungs, strict=True)]
            weights = [
                _WEIGHTLESS if one_sided.get(index) else rung.weight
                for index, rung in enumerate(self._rungs)
            ]
            values = monotone(inside, weights)
        self._publish(values)

    def _publish(self, values: list[float]) -> None:
        """Publish these values; a value that has hardly moved keeps its object."""
        published = self.all_cents
        moved = [
            index
            for index, change in enumerate(map(sub, values, published))
            if not -_STEADY_CENTS < change < _STEADY_CENTS
        ]
        if self._unsure:
            moved = sorted(self._unsure.union(moved))
            self._unsure.clear()
        if not moved:
            return
        for index in moved:
            published[index] = values[index]
        if sorted(published, reverse=True) != published:
            # A new value next to a kept one: only all of the new ones are in order.
            published[:] = values
            moved = list(range(len(values)))
        fairs, rungs = self._fairs, self._rungs
        for index in moved:
            rung = rungs[index]
            weight = rung.published_weight = rung.weight
            sd_cents = 1 / math.sqrt(weight)
            sd_cents = sd_cents if sd_cents < _HALF_PAYOUT else _HALF_PAYOUT
            fairs[index] = None if rung.input.is_over else Fair(published[index], sd_cents)
        self._published, self.moved = tuple(fairs), moved

    def _forget_values(self) -> tuple[Fair | None, ...]:
        """Without any source no rung has a value."""
        count = len(self._us)
        self._fairs, self.all_cents = [None] * count, [math.nan] * count
        self.drawn_cents = ()
        self._blended = (0, 0)  # the next data blends every rung
        self._changed.clear()
        self._published, self.moved = (None,) * count, range(count)
        return self._published

    # --- learning --------------------------------------------------------------------------------

    def _learn(
        self, line: ProbitLine, implied: ImpliedView | None, left_s: float, now_ns: int
    ) -> None:
        """Learn the model error, volatilities, the width of the value per sqrt(second), and how far
        off the feed is."""
        learned_ns, self._learned_ns = self._learned_ns, now_ns
        elapsed_s = 0.0 if learned_ns is None else (now_ns - learned_ns) / NS_PER_SECOND
        fade, step_s = 0.5 ** (elapsed_s / HALF_LIFE_S), min(elapsed_s, STEP_MAX_S)
        is_first_data, self._is_first_data = self._is_first_data, False
        for index, (rung, fair) in enumerate(zip(self._rungs, self._fairs, strict=True)):
            deviations = line.height - line.steepness * rung.u
            if rung.inverse > 0:
                residual, variance = rung.cents - from_probit(deviations), 1 / rung.inverse
                rung.residual = rung.residual * fade + residual * step_s
                rung.noise = rung.noise * fade + variance * step_s
                rung.excess = rung.excess * fade + (residual * residual - variance) * step_s
                rung.seconds = rung.seconds * fade + step_s
            if fair is not None:
                if is_first_data:  # the whole line jumped, and no price has moved
                    rung.value, rung.value_ns = fair.value_cents, max(now_ns, rung.value_ns)
                self._learn_volatility(index, fair.value_cents, slope(deviations), left_s, now_ns)
        if elapsed_s > 0:
            self._learn_model_error()
            self._blend(range(len(self._rungs)), line)
        if self._with_data < _MARKET_SPEAKS or line.from_data < _FROM_DATA_MIN:
            return
        log_sd_rate = 1 / (line.steepness * math.sqrt(left_s))
        self._log_sd_rate = self._log_sd_rate * fade + log_sd_rate * step_s
        self._log_sd_seconds = self._log_sd_seconds * fade + step_s
        if implied is not None:
            log_median = self._log_reference + line.height / line.steepness
            log_value = math.log(implied.value_dollars)
            self._trust.learn_error(log_value, implied.confidence, log_median, now_ns)

    def _learn_model_error(self) -> None:
        """How the line proves wrong at every rung: a shape that lasts, and the error besides it.

        A value that is not lognormal bends the curve away from the line, at each rung in its own
        way. The mean of that over an hour is the shape; all rungs together say how much of it is
        more than chance. What comes and goes on top of it is the allowance.

        Formulas: docs/pricing.md#section-1a, step 3.
        """
        means, unsures, chances = [], [], []
        surprise = 0.0
        for rung in self._rungs:
            seconds = rung.seconds
            mean, variance = rung.residual / seconds, rung.noise / seconds
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
        excess = [
            rung.excess / rung.seconds - explained * mean * mean
            for rung, mean in zip(self._rungs, means, strict=True)
        ]
        weight = sum([1 / chance for chance in chances])
        pooled = sum(map(truediv, excess, chances)) / weight
        spread = sum([((e - pooled) ** 2 - c) / c for e, c in zip(excess, chances, strict=True)])
        spread = max(0.0, spread / weight)
        for rung, mean, e, c, u in zip(self._rungs, means, excess, chances, unsures, strict=True):
            allowance = pooled + (e - pooled) * spread / (spread + c)
            rung.shape = share * mean
            rung.allowance = (
                allowance if allowance > _ALLOWANCE_MIN else _ALLOWANCE_MIN
            ) + share * u

    def _learn_volatility(
        self, index: int, cents: float, steep: float, left_s: float, now_ns: int
    ) -> None:
        """steep: cents per standard deviation. At least the volatility of a value whose uncertainty
        comes evenly over the time left: a 50c rung 30 days out moves 0.025, or 1.5c an hour."""
        rung = self._rungs[index]
        if rung.value is not None:
            elapsed_s = max(0, now_ns - rung.value_ns) / NS_PER_SECOND
            fade = 0.5 ** (elapsed_s / _VOLATILITY_HALF_LIFE_S)
            rung.moves = rung.moves * fade + (cents - rung.value) ** 2
            rung.moves_s = rung.moves_s * fade + elapsed_s
        rung.value, rung.value_ns = cents, max(now_ns, rung.value_ns)
        volatility = steep / math.sqrt(left_s)
        if rung.moves_s >= _VOLATILITY_MIN_S:
            volatility = max(math.sqrt(rung.moves / rung.moves_s), volatility)
        self.volatilities[index] = volatility
        used = rung.used_volatility
        if volatility > used * _ROUGHER or used > volatility * _ROUGHER:
            self.again_ns[index] = now_ns


def is_ladder(strikes: Sequence[float]) -> bool:
    """True if one curve can be drawn over the logarithms of these: above zero, finite and rising.
    Strikes whose logarithms hardly differ count as equal."""
    rising = all(low * _APART < high for low, high in itertools.pairwise(strikes))
    return bool(strikes) and strikes[0] > 0 and strikes[-1] < math.inf and rising


def _steep_square(deviations: float) -> float:
    """The square of the cents that the curve moves there per standard deviation."""
    steep = slope(min(abs(deviations), _DEVIATIONS_MAX))
    return steep * steep


def _bounded(cents: float, rung: RungInput) -> float:
    """A value inside 0.5..99.5, and not beyond the only side of a one-sided book, as far as that
    side has enough shares."""
    if rung.bids and not rung.asks:
        floor = supported_price(rung.bids)
        cents = cents if floor is None else max(cents, floor)
    elif rung.asks and not rung.bids:
        ceiling = supported_price(rung.asks)
        cents = cents if ceiling is None else min(cents, ceiling)
    return clipped(cents)
