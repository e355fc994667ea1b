"""Values stated from outside the venue, and the fair curve of an event moved by them.

The curve is fitted to the market first, and the statements move the result. So no statement is ever
judged by a curve that contains it, and what the curve learns of the market does not depend on them.
A statement further from the market than `max_deviations` is dropped until its source makes another.

Formulas: docs/pricing.md#section-1a, step 6.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from bot.core.distribution import monotone
from bot.core.fair_value.curve import Fair, FairCurve, ProbitLine
from bot.core.messages import OutsideValue, ValueUnit
from bot.core.orders.outbox import NEVER_NS
from bot.core.report import OutsideValueReport, value_text
from bot.core.settings import OPERATOR, OutsideSource
from bot.strategy.pricing.probit import FAIR_MAX_CENTS, FAIR_MIN_CENTS, clipped, from_probit, probit
from bot.strategy.pricing.probit import slope as cents_per_deviation
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS
from venue.wire.names import Ticker

AHEAD_NS_MAX: Final = 60 * NS_PER_SECOND
"""How far the clock of a source may be ahead of ours."""

_STEADY_CENTS: Final = 0.25
_STEADY_SD: Final = 1.07
"""The moved values keep their objects while each of them changes by less."""

_NO_MARKET: Final = "no prices of the market to compare it with"
_NO_LADDER: Final = "a binary market says nothing of a value in dollars"


class StatedValue(NamedTuple):
    """A statement and the settings of its source."""

    value: OutsideValue
    source: OutsideSource

    @property
    def until_ns(self) -> int:
        """When it expires."""
        return min(self.value.until_ns, self.value.observed_ns + self.source.max_age_ns)


class OutsideSources:
    """The newest statement of each source about each subject, for one series."""

    def __init__(self, sources: Iterable[OutsideSource]) -> None:
        self._sources: Mapping[str, OutsideSource] = {}
        self._values: dict[tuple[str, Ticker], OutsideValue] = {}
        self._malformed: dict[tuple[str, Ticker], str] = {}
        self._unread: dict[str, str] = {}  # why a source could not be read
        self.configure(sources)

    def configure(self, sources: Iterable[OutsideSource]) -> None:
        """Change the sources; statements of one that is gone are forgotten."""
        self._sources = {OPERATOR: OutsideSource(name=OPERATOR)} | {
            each.name: each for each in sources
        }
        for name in {name for name, _ in (*self._values, *self._malformed)} | set(self._unread):
            if name not in self._sources:
                self.clear(name)
                self._unread.pop(name, None)

    def take(self, value: OutsideValue, now_ns: int) -> None:
        """Put a statement in the place of the source's former one about the subject. A malformed
        one leaves the former to age."""
        place = (value.source, value.about)
        fault = self._fault_of(value, now_ns)
        if fault:
            self._malformed[place] = fault
            return
        self._malformed.pop(place, None)
        self._values[place] = value

    def clear(self, source: str, about: Ticker | None = None) -> None:
        """Forget the statements of a source. about: those about this subject alone."""
        for places in (self._values, self._malformed):
            for place in [key for key in places if key[0] == source and about in (None, key[1])]:
                del places[place]

    def on_read(self, source: str, fault: str) -> None:
        """A source was read. fault: why without a result, else empty."""
        if fault:
            self._unread[source] = fault
        else:
            self._unread.pop(source, None)

    @property
    def stated(self) -> tuple[StatedValue, ...]:
        """Every statement, expired ones too."""
        return tuple(
            StatedValue(value, self._sources[value.source]) for value in self._values.values()
        )

    @property
    def faults(self) -> list[str]:
        """What could not be read or understood, for a person."""
        unread = [f"{source}: {why}" for source, why in self._unread.items()]
        malformed = [
            f"{source} about {about}: {why}" for (source, about), why in self._malformed.items()
        ]
        return [*unread, *malformed]

    def _fault_of(self, value: OutsideValue, now_ns: int) -> str:
        """Why a statement cannot be used whatever the market says; empty if it can."""
        highest = 1.0 if value.unit is ValueUnit.CHANCE else math.inf
        if value.source not in self._sources:
            return "the configuration has no such source"
        if not 0 < value.value < highest:
            return f"a {value.unit} of {value.value:g}"
        if not 0 < value.sd < highest:
            return f"a standard deviation of {value.sd:g}"
        if value.observed_ns > now_ns + AHEAD_NS_MAX:
            return "its time lies ahead"
        return ""


class OutsideCurve:
    """The fair curve of one event, moved by the statements about it."""

    def __init__(self) -> None:
        self._stated: tuple[StatedValue, ...] = ()
        self._dropped: dict[OutsideValue, str] = {}
        self._has_market = False
        self._market: dict[OutsideValue, float] = {}  # what the market says instead
        self._fairs: tuple[Fair | None, ...] = ()
        self.all_cents: Sequence[float] = ()
        """As `FairCurve.all_cents`."""

    @property
    def stated(self) -> tuple[StatedValue, ...]:
        """Expired and dropped ones too."""
        return self._stated

    def use(self, stated: Iterable[StatedValue]) -> None:
        """Use these statements, and no others, from the next call of `adjusted` on."""
        self._stated = tuple(stated)
        values = {each.value for each in self._stated}
        self._dropped = {value: why for value, why in self._dropped.items() if value in values}

    def next_expiry_ns(self, now_ns: int) -> int:
        """When the next statement expires; NEVER_NS without one."""
        return min([e.until_ns for e in self._stated if e.until_ns > now_ns], default=NEVER_NS)

    def adjusted(
        self, curve: FairCurve, tickers: Sequence[Ticker], left_s: float, now_ns: int
    ) -> tuple[Fair | None, ...]:
        """The published values of the curve, moved by the statements in force. A value keeps its
        object while none has moved by a quarter of a cent.

        tickers: of the rungs in strike order. left_s: seconds to the resolution, at least 1.
        """
        fairs, cents = curve.published, curve.all_cents
        self._has_market = not any(map(math.isnan, cents))
        live = [
            each
            for each in self._stated
            if now_ns < each.until_ns and each.value not in self._dropped
        ]
        self._market = {}
        if not live or not self._has_market:
            self._fairs, self.all_cents = fairs, cents
            return fairs
        values, sds = list(cents), [0.0 if fair is None else fair.sd_cents for fair in fairs]
        dollars = [each for each in live if each.value.unit is ValueUnit.DOLLARS]
        if dollars:
            values, sds = self._moved(dollars, curve, values, sds, max(1.0, left_s), now_ns)
        places = {ticker: index for index, ticker in enumerate(tickers)}
        for each in live:
            index = places.get(each.value.about)
            if index is None or fairs[index] is None:
                continue
            aged = curve.volatilities[index] ** 2 * _age_s(each.value, now_ns)
            self._weigh_chance(each, cents[index], fairs[index], index, values, sds, aged)
        if sorted(values, reverse=True) != values:
            values = monotone(values, [1 / (sd * sd) if sd > 0 else 1e-12 for sd in sds])
        self._publish(fairs, [clipped(value) for value in values], sds)
        return self._fairs

    def rows(self, now_ns: int) -> tuple[OutsideValueReport, ...]:
        """A row for each statement."""
        return tuple(self._row(each, now_ns) for each in self._stated)

    def _row(self, stated: StatedValue, now_ns: int) -> OutsideValueReport:
        value = stated.value
        return OutsideValueReport(
            source=value.source,
            about=value.about,
            unit=value.unit,
            value=value.value,
            sd=value.sd,
            age_ns=max(0, now_ns - value.observed_ns),
            left_ns=max(0, stated.until_ns - now_ns),
            weight=stated.source.weight,
            market=self._market.get(value),
            unused=self._unused(stated, now_ns),
        )

    def faults(self, now_ns: int) -> list[str]:
        """The statements that a person should look at: dropped ones, and those of a polled source
        that has made no new one in time."""
        return [
            f"{each.value.source} about {each.value.about}: {why}"
            for each in self._stated
            if (why := _expiry(each, now_ns) or self._dropped_why(each, now_ns))
        ]

    def _unused(self, stated: StatedValue, now_ns: int) -> str:
        """Why a statement does not count now; empty if it does."""
        if now_ns >= stated.until_ns:
            return "expired"
        why = self._dropped_why(stated, now_ns)
        return why or ("" if self._has_market else _NO_MARKET)

    def _dropped_why(self, stated: StatedValue, now_ns: int) -> str:
        return "" if now_ns >= stated.until_ns else self._dropped.get(stated.value, "")

    def _moved(
        self,
        stated: Sequence[StatedValue],
        curve: FairCurve,
        values: list[float],
        sds: list[float],
        left_s: float,
        now_ns: int,
    ) -> tuple[list[float], list[float]]:
        """Values and standard deviations of the curve moved along the log strike, to the mean of
        its own median and the stated ones, weighted by precision."""
        line, us = curve.line, curve.log_strikes
        if line is None:
            for each in stated:
                self._dropped[each.value] = _NO_LADDER
        if line is None or not any(sds):
            return values, sds
        deviations = _deviations(values, line, us)
        median, median_sd = _median(us, deviations, sds, line.steepness)
        precision = weighted = 0.0
        for each in stated:
            value = each.value
            log_value = math.log(value.value)
            variance = (value.sd / value.value) ** 2
            variance += _age_s(value, now_ns) / left_s / line.steepness**2
            self._market[value] = math.exp(median)
            if self._is_absurd(each, log_value - median, variance + median_sd**2):
                continue
            precision += each.source.weight / variance
            weighted += each.source.weight / variance * (log_value - median)
        if not precision:
            return values, sds
        own = 1 / median_sd**2
        move = line.steepness * weighted / (own + precision)
        surer = math.sqrt(own / (own + precision))
        return [from_probit(d + move) for d in deviations], [sd * surer for sd in sds]

    def _weigh_chance(
        self,
        stated: StatedValue,
        market_cents: float,
        fair: Fair | None,
        index: int,
        values: list[float],
        sds: list[float],
        aged: float,
    ) -> None:
        """Weigh a rung's value against the chance stated of it. aged: cents squared."""
        assert fair is not None
        cents = PAYOUT_CENTS * stated.value.value
        variance = (PAYOUT_CENTS * stated.value.sd) ** 2 + aged
        self._market[stated.value] = market_cents / PAYOUT_CENTS
        if self._is_absurd(stated, cents - market_cents, variance + fair.sd_cents**2):
            return
        own, precision = 1 / sds[index] ** 2, stated.source.weight / variance
        values[index] += precision / (own + precision) * (cents - values[index])
        sds[index] = 1 / math.sqrt(own + precision)

    def _is_absurd(self, stated: StatedValue, apart: float, variance: float) -> bool:
        """True if a statement lies too far from the market; it is dropped then."""
        deviations = abs(apart) / math.sqrt(variance)
        if deviations <= stated.source.max_deviations:
            return False
        market, unit = self._market[stated.value], stated.value.unit
        self._dropped[stated.value] = (
            f"{value_text(stated.value.value, unit)} is {deviations:.1f} standard deviations from "
            f"the market's {value_text(market, unit)}"
        )
        return True

    def _publish(
        self, market: Sequence[Fair | None], values: Sequence[float], sds: Sequence[float]
    ) -> None:
        before = self._fairs
        if len(before) == len(values) and all(
            (was is None) is (fair is None) and (was is None or _is_steady(was, value, sd))
            for was, fair, value, sd in zip(before, market, values, sds, strict=True)
        ):
            return
        self.all_cents = values
        self._fairs = tuple(
            None if fair is None else Fair(value, sd)
            for fair, value, sd in zip(market, values, sds, strict=True)
        )


def _expiry(stated: StatedValue, now_ns: int) -> str:
    """That a statement expired without a newer one; the operator's end as they were meant to."""
    return "expired" if now_ns >= stated.until_ns and stated.source.is_polled else ""


def _age_s(value: OutsideValue, now_ns: int) -> float:
    return max(0, now_ns - value.observed_ns) / NS_PER_SECOND


def _deviations(values: Sequence[float], line: ProbitLine, us: Sequence[float]) -> list[float]:
    """The rungs' places in standard deviations; the line knows those of clipped values better."""
    found = []
    for cents, u in zip(values, us, strict=True):
        deviations = probit(cents)
        if cents <= FAIR_MIN_CENTS:
            deviations = min(deviations, line.height - line.steepness * u)
        elif cents >= FAIR_MAX_CENTS:
            deviations = max(deviations, line.height - line.steepness * u)
        found.append(deviations)
    return found


def _median(
    us: Sequence[float], deviations: Sequence[float], sds: Sequence[float], steepness: float
) -> tuple[float, float]:
    """The log strike that a curve gives half the payout, and its standard deviation: by the slope
    between two rungs, or by the line beyond them. One value drives all rungs, so their errors count
    as one: that of the nearest rung. sds: cents, 0 for a rung that is over."""
    us_at = [
        low + (high - low) * d / (d - e)
        for (low, d), (high, e) in itertools.pairwise(zip(us, deviations, strict=True))
        if d >= 0 > e
    ]
    end = 0 if deviations[0] < 0 else -1
    median = us_at[0] if us_at else us[end] + deviations[end] / steepness
    nearest, sd_cents = min(
        ((d, sd) for d, sd in zip(deviations, sds, strict=True) if sd > 0), key=_distance
    )
    return median, sd_cents / cents_per_deviation(nearest) / steepness


def _distance(rung: tuple[float, float]) -> float:
    return abs(rung[0])


def _is_steady(was: Fair, value: float, sd: float) -> bool:
    return (
        abs(value - was.value_cents) < _STEADY_CENTS
        and sd < was.sd_cents * _STEADY_SD
        and was.sd_cents < sd * _STEADY_SD
    )
