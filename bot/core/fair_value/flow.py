"""What one event teaches about trading in it: how often fills come, and what they cost us.

Fill intensity: a quote at distance d from the fair value fills A exp(-k d) times a second, on one
rung and side, pooled over all rungs. Prints at least d from the fair value of their instant are
counted for d of half a cent to six cents; ln(count) falls by k per cent of d, by least squares.

Adverse selection: how far the fair value has moved against a fill of ours after ten seconds, by
rung and side, drawn to its prior until many fills have been judged.

Formulas: docs/pricing.md#section-1c-intensity.
"""

import math
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from bot.strategy.api import Intensity
from bot.strategy.pricing.costs import adverse_prior, shrunk, slope_of
from bot.strategy.pricing.samples import DECAY_MAX, DECAY_MIN
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price
from venue.wire.names import MarketId

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK

DISTANCES_CENTS: Final = tuple(0.5 * step for step in range(1, 13))
"""The distances at which prints are counted (specified)."""

REFIT_NS: Final = 600 * NS_PER_SECOND
"""Between two fits (specified)."""

MARKOUT_NS: Final = 10 * NS_PER_SECOND
"""After this time the fair value says what a fill was worth (specified)."""

_PRINTS_MIN: Final = 30
"""No fit with fewer prints (judgement)."""

_POINTS_MIN: Final = 4
"""Distances with prints of their own that a fit needs (judgement)."""

_KEPT: Final = 0.9
"""Part of the counts that each fit keeps: a memory of about an hour and a half (judgement)."""

_FADE: Final = 0.99
"""Each fill of a side counts for this much of itself after the next one (judgement)."""

_PENDING_MAX: Final = 512
"""Most fills that await their ten seconds; the oldest are dropped."""


class _PendingFill(NamedTuple):
    due_ns: int
    market_id: MarketId
    side: BookSide
    fair_cents: float


class AdverseSelection(NamedTuple):
    """Cents by which the fair value moves against a fill on either side; None before the first
    judged fill of that side."""

    bid_cents: float | None
    ask_cents: float | None


NO_FILLS: Final = AdverseSelection(None, None)


class FlowModel:
    """The flow model of one event."""

    def __init__(self) -> None:
        self.intensity: Intensity | None = None  # until enough was printed
        self.adverse: dict[MarketId, AdverseSelection] = {}
        """By rung; none of a rung without a judged fill."""
        self._counts = [0.0] * len(DISTANCES_CENTS)
        self._prints = 0.0
        self._side_seconds = 0.0
        self._decided_ns: int | None = None
        self._refit_ns: int | None = None
        self._pending: deque[_PendingFill] = deque(maxlen=_PENDING_MAX)
        # How many fills, and the faded mean of cents against them.
        self._means: dict[tuple[MarketId, BookSide], tuple[float, float]] = {}

    def on_print(self, fair_cents: float | None, price: Price, taker: BookSide) -> None:
        """A trade at this fair value of its rung. taker: BID when YES was bought."""
        if fair_cents is None:
            return
        distance = price - fair_cents if taker is _BID else fair_cents - price
        self._prints += 1
        for place, least in enumerate(DISTANCES_CENTS):
            if distance < least:
                break
            self._counts[place] += 1

    def on_own_fill(
        self, market_id: MarketId, fair_cents: float | None, side: BookSide, now_ns: int
    ) -> None:
        """A fill of ours was booked while the fair value of its rung was this."""
        if fair_cents is not None:
            self._pending.append(_PendingFill(now_ns + MARKOUT_NS, market_id, side, fair_cents))

    def on_decision(
        self, fairs: Mapping[MarketId, float | None], now_ns: int
    ) -> Collection[MarketId]:
        """The event is decided at these fair values. Returns the rungs whose adverse selection was
        learned. The time since the last decision counts for ten seconds at most."""
        if self._decided_ns is not None:
            elapsed_ns = now_ns - self._decided_ns
            if elapsed_ns > 0:
                rungs = len(fairs) - list(fairs.values()).count(None)
                self._side_seconds += 2 * rungs * min(elapsed_ns, MARKOUT_NS) / NS_PER_SECOND
        self._decided_ns = now_ns
        if self._refit_ns is None or now_ns >= self._refit_ns:
            if self._refit_ns is not None:
                self._refit()
            self._refit_ns = now_ns + REFIT_NS
        if not self._pending or self._pending[0].due_ns > now_ns:
            return ()
        return self._judge_fills(fairs, now_ns)

    def _judge_fills(
        self, fairs: Mapping[MarketId, float | None], now_ns: int
    ) -> Collection[MarketId]:
        """A fill on a rung without a fair value by now teaches nothing."""
        judged: dict[MarketId, float] = {}
        while self._pending and self._pending[0].due_ns <= now_ns:
            fill = self._pending.popleft()
            fair = fairs.get(fill.market_id)
            if fair is None:
                continue
            against = fill.fair_cents - fair
            if fill.side is _ASK:
                against = -against
            count, mean = self._means.get((fill.market_id, fill.side), (0.0, 0.0))
            count = count * _FADE + 1
            self._means[fill.market_id, fill.side] = count, mean + (against - mean) / count
            judged[fill.market_id] = fair
        for market_id, fair in judged.items():
            prior = adverse_prior(slope_of(fair))
            self.adverse[market_id] = AdverseSelection(
                self._shrunk(market_id, _BID, prior), self._shrunk(market_id, _ASK, prior)
            )
        return judged

    def _refit(self) -> None:
        fitted = fit(self._counts, self._side_seconds)
        if self._prints >= _PRINTS_MIN and fitted is not None:
            amplitude, decay = fitted
            self.intensity = Intensity(amplitude, decay, int(self._prints))
        self._counts = [count * _KEPT for count in self._counts]
        self._prints *= _KEPT
        self._side_seconds *= _KEPT

    def _shrunk(self, market_id: MarketId, side: BookSide, prior: float) -> float | None:
        learned = self._means.get((market_id, side))
        return None if learned is None else shrunk(learned[1], learned[0], prior)


def fit(counts: Sequence[float], side_seconds: float) -> tuple[float, float] | None:
    """(A per second, k per cent) by least squares of ln(count) on distance.

    counts: of prints at least as far as each of DISTANCES_CENTS. side_seconds: rungs and sides
    watched, times how long. None where too few distances have prints, or k is outside 0.1..3.
    """
    points = [
        (distance, math.log(count))
        for distance, count in zip(DISTANCES_CENTS, counts, strict=True)
        if count >= 1
    ]
    if len(points) < _POINTS_MIN or side_seconds <= 0:
        return None
    mean_d = sum(distance for distance, _ in points) / len(points)
    mean_log = sum(log for _, log in points) / len(points)
    across = sum((distance - mean_d) * (log - mean_log) for distance, log in points)
    decay = -across / sum((distance - mean_d) ** 2 for distance, _ in points)
    if not DECAY_MIN <= decay <= DECAY_MAX:
        return None
    return math.exp(mean_log + decay * mean_d) / side_seconds, decay
