"""Scores the forecasts of live runs: our fair value, the market's mid and each source from outside.

A journal is replayed, and each rung is read at fixed times before its event resolves. Events count
whose outcome the runs learned. See docs/lab.md#live-scores.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from bot.core import messages as m
from bot.core.distribution import certain
from bot.core.quoting.event_quoter import EventQuoter
from bot.core.trader import Trader
from bot.strategy.pricing.probit import from_probit
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Outcome
from venue.wire.names import MarketId, Ticker

FAIR: Final = "fair value"
MID: Final = "market mid"
_LATE_NS: Final = 60 * NS_PER_SECOND
"""A run that was away at the time counts if it was back this soon."""

_CHANCE_MIN: Final = 0.005
"""A chance outside 0.5 % to 99.5 % counts as the nearer of these in the log score."""


class LiveScore(msgspec.Struct, frozen=True, kw_only=True):
    """brier: mean squared error of the chance; log_score: mean of minus the logarithm of the chance
    of the outcome; lower is better for both. fair_brier, fair_log_score: those of our fair value
    on the same forecasts."""

    horizon_s: int
    way: str
    forecasts: int
    events: int
    brier: float
    log_score: float
    fair_brier: float
    fair_log_score: float


class _Moment(NamedTuple):
    """The rungs of an event at one horizon, lowest strike first."""

    market_ids: tuple[MarketId, ...]
    is_ladder: bool
    chances: dict[str, list[float | None]]  # of YES, by way


class LiveScores:
    """Gathers forecasts and outcomes over any number of runs; then `scores`."""

    def __init__(self, horizons_s: Sequence[int]) -> None:
        """horizons_s: seconds before the resolution."""
        self._horizons_s = tuple(horizons_s)
        self._moments: dict[tuple[Ticker, int], _Moment] = {}
        self._winners: dict[MarketId, Outcome] = {}
        self._before_ns: int | None = None

    def begin_run(self) -> None:
        """The following steps are of another run."""
        self._before_ns = None

    def on_step(
        self, trader: Trader, event: m.Event, effects: Iterable[m.Effect], at_ns: int
    ) -> None:
        """An event that the trader has taken, and what it made of it."""
        if isinstance(event, m.Started):
            self._winners.update(event.winners)
        for effect in effects:
            if isinstance(effect, m.Noted) and effect.name == "winner_told":
                market_id = MarketId(str(effect.fields["market_id"]))
                self._winners[market_id] = Outcome(str(effect.fields["winner"]))
        if not isinstance(event, m.Tick):
            return
        for ladder in trader.quoting.ladders:
            for horizon_s in self._horizons_s:
                due_ns = ladder.resolution_ns - horizon_s * NS_PER_SECOND
                place = (ladder.event.event_ticker, horizon_s)
                is_due = self._before_ns is not None and self._before_ns < due_ns <= at_ns
                if is_due and at_ns <= due_ns + _LATE_NS and place not in self._moments:
                    self._moments[place] = _moment_of(ladder, at_ns)
        self._before_ns = at_ns

    def scores(self) -> tuple[LiveScore, ...]:
        """By horizon and way; none without an event whose outcome is known."""
        found: dict[tuple[int, str], list[tuple[Ticker, float, float, bool]]] = defaultdict(list)
        for (event, horizon_s), moment in self._moments.items():
            for way, chance, fair, won in _judged(moment, self._winners):
                found[horizon_s, way].append((event, chance, fair, won))
        order = sorted(found, key=lambda key: (-key[0], key[1] != FAIR, key[1] != MID, key[1]))
        return tuple(_score(*key, found[key]) for key in order)


def _moment_of(ladder: EventQuoter, now_ns: int) -> _Moment:
    chances: dict[str, list[float | None]] = {
        FAIR: [None if each is None else each.value_cents / PAYOUT_CENTS for each in ladder.fairs],
        MID: [
            (view.bids[0][0] + view.asks[0][0]) / 2 / PAYOUT_CENTS
            if view.bids and view.asks
            else None
            for view in ladder.views
        ],
    }
    for stated in () if ladder.outside is None else ladder.outside.stated:
        if now_ns < stated.until_ns:
            row = chances.setdefault(stated.value.source, [None] * len(ladder.rungs))
            for index, chance in _stated_chances(ladder, stated.value):
                row[index] = chance
    return _Moment(tuple(rung.market_id for rung in ladder.rungs), ladder.is_ladder, chances)


def _stated_chances(ladder: EventQuoter, value: m.OutsideValue) -> Iterator[tuple[int, float]]:
    """The chances that a statement gives rungs. A value of the company is the median; the width
    around it is that of the market's own line."""
    if value.unit is m.ValueUnit.CHANCE:
        for index, rung in enumerate(ladder.rungs):
            if rung.market.ticker == value.about:
                yield index, value.value
    elif ladder.curve is not None and ladder.curve.line is not None:
        steepness, log_value = ladder.curve.line.steepness, math.log(value.value)
        for index, log_strike in enumerate(ladder.curve.log_strikes):
            yield index, from_probit(steepness * (log_value - log_strike)) / PAYOUT_CENTS


def _judged(
    moment: _Moment, winners: Mapping[MarketId, Outcome]
) -> Iterator[tuple[str, float, float, bool]]:
    """Way, its chance, that of our fair value, and True if YES came; of rungs with all three."""
    won = [winners.get(market_id) for market_id in moment.market_ids]
    outcomes = certain(won) if moment.is_ladder else won
    for way, chances in moment.chances.items():
        for chance, fair, outcome in zip(chances, moment.chances[FAIR], outcomes, strict=True):
            if chance is not None and fair is not None and outcome is not None:
                yield way, chance, fair, outcome is Outcome.YES


def _score(
    horizon_s: int, way: str, rows: Sequence[tuple[Ticker, float, float, bool]]
) -> LiveScore:
    count = len(rows)
    return LiveScore(
        horizon_s=horizon_s,
        way=way,
        forecasts=count,
        events=len({event for event, *_ in rows}),
        brier=sum((chance - won) ** 2 for _, chance, _, won in rows) / count,
        log_score=sum(_log_loss(chance, won=won) for _, chance, _, won in rows) / count,
        fair_brier=sum((fair - won) ** 2 for _, _, fair, won in rows) / count,
        fair_log_score=sum(_log_loss(fair, won=won) for _, _, fair, won in rows) / count,
    )


def _log_loss(chance: float, *, won: bool) -> float:
    clipped = min(1 - _CHANCE_MIN, max(_CHANCE_MIN, chance))
    return -math.log(clipped if won else 1 - clipped)
