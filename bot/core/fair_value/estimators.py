"""Estimates of one rung's fair value from its own data, and how sure they are.

Values are canonical YES cents, variances cents squared, times integer nanoseconds, ages seconds.
Constants marked (judgement) are unmeasured starting points.
"""

import math
from typing import Final

import msgspec

from bot.core.market_data.market_state import microprice
from bot.strategy.api import Levels
from venue.wire.instant import NS_PER_SECOND

VARIANCE_FLOOR: Final = 0.3
"""Cents squared: no source is surer than about half a cent (judgement)."""

_SIZE_REF: Final = 20.0
"""Shares at the touch at which its width counts for twice the variance (judgement)."""

_SPEAKS_QTY: Final = 5
_SPEAKS_CENTS: Final = 10
"""A side of a book counts from the price up to which it has this many shares, at most this many
cents behind its touch; fewer shares count in proportion. Else an order of a share or two would set
the price for next to nothing. On two days of recorded depth this forecasts the mid of ten seconds
later better, by 1% and by 10%. In the reference world, where a maker knows as much with a share as
with twenty, ten shares cost a hundredth of the edge, and five nothing."""

_BLIND_HALF_CENTS: Final = 5.0
"""Half spread assumed for prints without a two-sided book, and the most of any book (judgement)."""


_TRADED_HALF_LIFE_S: Final = 120.0
_TRADED_HALF_LIFE_MIN_S: Final = 0.5
_PRINT_VARIANCE: Final = 1.0
"""Cents squared by which a print is off, for it comes from one side."""


class TradedPrice:
    """The price at which a rung trades: prints weighted by size, older ones fading.

    The last print is never forgotten: its age says what it is worth.
    """

    __slots__ = ("_now_ns", "_size", "mean", "volatility_cents")

    def __init__(self) -> None:
        self.mean: tuple[float, int] | None = None
        """The faded mean price in cents and the mean instant of its prints; neither changes between
        prints. None before the first print."""
        self.volatility_cents = 0.0
        """Cents per sqrt(second) of the rung's value: prints fade as fast as it moves by a print's
        own error, in two minutes at the latest."""
        self._size = 0.0
        self._now_ns = 0

    def update(self, price: int, size: int, now_ns: int) -> None:
        """Add a print of `size` shares at canonical `price`. Size 0 adds nothing."""
        if size <= 0:
            return
        moved = self.volatility_cents * self.volatility_cents
        half_life_s = _TRADED_HALF_LIFE_S
        if moved * _TRADED_HALF_LIFE_S > _PRINT_VARIANCE:
            half_life_s = max(_TRADED_HALF_LIFE_MIN_S, _PRINT_VARIANCE / moved)
        elapsed_s = max(0, now_ns - self._now_ns) / NS_PER_SECOND
        self._now_ns = max(now_ns, self._now_ns)
        self._size = self._size * 0.5 ** (elapsed_s / half_life_s) + size
        if self.mean is None:
            self.mean = float(price), self._now_ns
            return
        part, (cents, mean_ns) = size / self._size, self.mean
        self.mean = (
            cents + part * (price - cents),
            mean_ns + round(part * (self._now_ns - mean_ns)),
        )


class Estimate(msgspec.Struct, frozen=True):
    """A value in cents and its variance in cents squared."""

    cents: float
    variance: float


def from_book(bids: Levels, asks: Levels, age_s: float, volatility: float) -> Estimate | None:
    """The estimate of a book of others; None unless it has two sides that do not cross.

    age_s: since others changed it. volatility: cents per sqrt(second). A wide or thin book has a
    large variance.
    """
    if not bids or not asks or bids[0][0] >= asks[0][0]:
        return None
    bid, bid_size = bids[0] if bids[0][1] >= _SPEAKS_QTY else _deep_touch(bids, -1)
    ask, ask_size = asks[0] if asks[0][1] >= _SPEAKS_QTY else _deep_touch(asks, 1)
    half = (ask - bid) / 2
    variance = half * half / 3 * (1 + _SIZE_REF / (bid_size + ask_size))
    if age_s > 0:
        variance += volatility * volatility * age_s
    variance += VARIANCE_FLOOR
    thinner = bid_size if bid_size < ask_size else ask_size
    if thinner < _SPEAKS_QTY:
        variance *= _SPEAKS_QTY / thinner
    return Estimate(microprice(bid, bid_size, ask, ask_size), variance)


def _deep_touch(levels: Levels, away: int) -> tuple[int, int]:
    """The price up to which a side has `_SPEAKS_QTY` shares, and the shares up to there; the last
    price of a side that has fewer. levels: not empty. away: the sign of a price behind the touch.
    """
    farthest = levels[0][0] + away * _SPEAKS_CENTS
    size = 0
    for price, qty in levels:
        if (price - farthest) * away > 0:
            return farthest, size
        size += qty
        if size >= _SPEAKS_QTY:
            break
    return price, size


def supported_price(levels: Levels) -> int | None:
    """The best price of a side up to which it has enough shares to count; None without any."""
    size = 0
    for price, qty in levels:
        size += qty
        if size >= _SPEAKS_QTY:
            return price
    return None


def from_prints(
    cents: float, age_s: float, bids: Levels, asks: Levels, volatility: float
) -> Estimate:
    """The estimate of the traded price. It lies about 0.8 half spreads from fair, for prints come
    from one side at a time. Its error grows with age as a book's does: four times as fast forecast
    the next recorded print worse by a fifth."""
    half = _BLIND_HALF_CENTS
    if bids and asks and bids[0][0] < asks[0][0]:
        # Orders far off count as none.
        half = min(half, (asks[0][0] - bids[0][0]) / 2)
    variance = 0.64 * half * half
    if age_s > 0:
        variance += volatility * volatility * age_s
    return Estimate(cents, variance if variance > VARIANCE_FLOOR else VARIANCE_FLOOR)


def merged(first: Estimate | None, second: Estimate | None) -> Estimate | None:
    """Two independent estimates as one, weighted by one over their variance; None if both are."""
    if first is None or second is None:
        return first or second
    total = first.variance + second.variance
    cents = (first.cents * second.variance + second.cents * first.variance) / total
    return Estimate(cents, first.variance * second.variance / total)


class FeedTrust:
    """How far off the implied value tends to be, learned by class of confidence.

    Each class holds one forecast at a time and compares it with the curve's median ten minutes
    later, in logarithms. The prior is an error of 2% at confidence 1 and of 12% at 0 (judgement),
    worth ten comparisons.
    """

    _CLASSES: Final = 5
    _HORIZON_NS: Final = 600 * NS_PER_SECOND
    _PRIOR_COUNT: Final = 10.0
    _FADE: Final = 0.98

    __slots__ = ("_counts", "_pending", "_squares")

    def __init__(self) -> None:
        self._squares = [0.0] * self._CLASSES
        self._counts = [0.0] * self._CLASSES
        self._pending: list[tuple[float, int] | None] = [None] * self._CLASSES

    def _class(self, confidence: float) -> int:
        return min(self._CLASSES - 1, max(0, int(confidence * self._CLASSES)))

    def log_sd(self, confidence: float) -> float:
        """Standard deviation of the logarithm of the implied value, at this confidence (0..1)."""
        prior = min(0.12, max(0.02, 0.02 + 0.10 * (1 - confidence)))
        at = self._class(confidence)
        squares = self._PRIOR_COUNT * prior * prior + self._squares[at]
        return math.sqrt(squares / (self._PRIOR_COUNT + self._counts[at]))

    def learn_error(
        self, log_value: float, confidence: float, log_median: float, now_ns: int
    ) -> None:
        """The feed says `log_value` now; the curve of the market's own data says `log_median`."""
        for at, forecast in enumerate(self._pending):
            if forecast is not None and now_ns >= forecast[1]:
                error = forecast[0] - log_median
                self._squares[at] = self._squares[at] * self._FADE + error * error
                self._counts[at] = self._counts[at] * self._FADE + 1
                self._pending[at] = None
        at = self._class(confidence)
        if self._pending[at] is None:
            self._pending[at] = (log_value, now_ns + self._HORIZON_NS)
