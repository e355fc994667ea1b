"""What one event teaches about trading in it: how often fills come, and what they cost us.

Fill intensity: a quote a distance d from the fair value is taken to fill A exp(-k d) times a
second, on one rung and side, pooled over all rungs. The prints at least d from the fair value of
their instant are counted for d of half a cent to six cents; ln(count) falls by k per cent of d, by
least squares.

Adverse selection: how far the fair value stands against a fill of ours ten seconds after it, by
rung and side, drawn to what was assumed of it until many fills have spoken.

Floats live here; memory is bounded; every time is passed in.

Formulas: docs/pricing.md#section-1c-intensity.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
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
"""After so long the fair value says what a fill was worth (specified)."""


_PRINTS_MIN: Final = 30
"""Fewer prints say nothing (judgement)."""

_POINTS_MIN: Final = 4
"""Distances with prints of their own that a fit needs (judgement)."""

_KEPT: Final = 0.9
"""What is left of the counts after each fit: about an hour and a half is remembered (judgement)."""

_FADE: Final = 0.99
"""Each fill of a side counts for this much less once another has come there (judgement)."""

_PENDING_MAX: Final = 512
"""Fills awaiting their ten seconds at most; the oldest go unheard."""


class _PendingFill(NamedTuple):
    due_ns: int
    market_id: MarketId
    side: BookSide
    fair_cents: float


class AdverseSelection(NamedTuple):
    """Cents by which the fair value moves against a fill on either side; None while no fill of
    that side has spoken."""

    bid_cents: float | None
    ask_cents: float | None


_NOTHING: Final = AdverseSelection(None, None)


class _Mean:
    """A fading mean, and how many fills it is of."""

    def __init__(self) -> None:
        self.count = 0.0
        self.mean = 0.0

    def add(self, value: float) -> None:
        self.count = self.count * _FADE + 1
        self.mean += (value - self.mean) / self.count


class FlowModel:
    """What one event has taught. intensity: None until enough was printed."""

    def __init__(self) -> None:
        self.intensity: Intensity | None = None
        self._counts = [0.0] * len(DISTANCES_CENTS)
        self._prints = 0.0
        self._side_seconds = 0.0
        self._looked_ns: int | None = None
        self._refit_ns: int | None = None
        self._pending: deque[_PendingFill] = deque(maxlen=_PENDING_MAX)
        self._means: dict[tuple[MarketId, BookSide], _Mean] = {}
        self._adverse: dict[MarketId, AdverseSelection] = {}

    # --- believing --------------------------------------------------------------------------------

    def printed(self, fair_cents: float | None, price: Price, taker: BookSide) -> None:
        """A trade was shown at this fair value of its rung. taker: BID when YES was bought."""
        if fair_cents is None:
            return
        distance = price - fair_cents if taker is _BID else fair_cents - price
        self._prints += 1
        for place, least in enumerate(DISTANCES_CENTS):
            if distance < least:
                break
            self._counts[place] += 1

    def filled(
        self, market_id: MarketId, fair_cents: float | None, side: BookSide, now_ns: int
    ) -> None:
        """A fill of ours was booked on a side of a rung while its fair value was this."""
        if fair_cents is not None:
            self._pending.append(_PendingFill(now_ns + MARKOUT_NS, market_id, side, fair_cents))

    def looked(self, rungs: int, now_ns: int) -> bool:
        """The event is decided now, with a fair value of so many rungs; the time since the last
        look counts for as many, for ten seconds at most. Whether a fill is to be judged."""
        if self._looked_ns is not None:
            elapsed_ns = now_ns - self._looked_ns
            if elapsed_ns > 0:
                self._side_seconds += 2 * rungs * min(elapsed_ns, MARKOUT_NS) / NS_PER_SECOND
        self._looked_ns = now_ns
        if self._refit_ns is None:
            self._refit_ns = now_ns + REFIT_NS
        elif now_ns >= self._refit_ns:
            self._refit_ns = now_ns + REFIT_NS
            self._refit()
        return self.is_due(now_ns)

    def is_due(self, now_ns: int) -> bool:
        """Whether some fill of ours has had its ten seconds: `judge` it."""
        return bool(self._pending) and self._pending[0].due_ns <= now_ns

    def judge(self, fairs: Mapping[MarketId, float | None], now_ns: int) -> tuple[MarketId, ...]:
        """Learn from the fills whose time has come, by the fair values of now. The rungs of which
        more is known. A fill on a rung without a fair value goes unheard."""
        judged: dict[MarketId, float] = {}
        while self.is_due(now_ns):
            fill = self._pending.popleft()
            fair = fairs.get(fill.market_id)
            if fair is None:
                continue
            against = fill.fair_cents - fair
            if fill.side is _ASK:
                against = -against
            self._means.setdefault((fill.market_id, fill.side), _Mean()).add(against)
            judged[fill.market_id] = fair
        for market_id, fair in judged.items():
            prior = adverse_prior(slope_of(fair))
            self._adverse[market_id] = AdverseSelection(
                self._shrunk(market_id, _BID, prior),
                self._shrunk(market_id, _ASK, prior),
            )
        return tuple(judged)

    # --- telling ----------------------------------------------------------------------------------

    def adverse(self, market_id: MarketId) -> AdverseSelection:
        """What fills of a rung have cost."""
        return self._adverse.get(market_id, _NOTHING)

    # --- learning ---------------------------------------------------------------------------------

    def _refit(self) -> None:
        fitted = fit(self._counts, self._side_seconds)
        if self._prints >= _PRINTS_MIN and fitted is not None:
            amplitude, decay = fitted
            self.intensity = Intensity(amplitude, decay, int(self._prints))
        self._counts = [count * _KEPT for count in self._counts]
        self._prints *= _KEPT
        self._side_seconds *= _KEPT

    def _shrunk(self, market_id: MarketId, side: BookSide, prior: float) -> float | None:
        mean = self._means.get((market_id, side))
        return None if mean is None else shrunk(mean.mean, mean.count, prior)


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
