"""What one rung's own data says its fair value is, and how sure that is; all fed with `now`.

Floats live here and in `curve` only; prices become integers again in a strategy.
Values are canonical YES cents, variances cents squared, times integer nanoseconds, ages seconds.
Constants marked (judgement) are starting points that nobody has measured.
"""

import math
from typing import Final

import msgspec

from bot.core.market_data.book import weighted
from bot.strategy.api import Levels
from venue.wire.instant import NS_PER_SECOND

VARIANCE_FLOOR: Final = 0.3
"""Cents squared: no source is surer than about half a cent (judgement)."""

_SIZE_REF: Final = 20.0
"""Shares at the touch at which its width counts for twice the variance (judgement)."""

_SPEAKS_QTY: Final = 5
_SPEAKS_CENTS: Final = 10
"""A side of a book speaks from where so many shares stand, counted from its touch, or from so many
cents behind that; fewer shares count in proportion. An order of a share or two would
name a price for next to nothing. On two days of recorded depth the middle ten seconds later is met
closer by this, by 1% and by 10%. In the reference world, where a maker knows as much with a share
as with twenty, ten shares cost a hundredth of the edge, and five nothing."""

_BLIND_HALF_CENTS: Final = 5.0
"""Half spread taken for prints when the book shows no two sides, and the most that one says of them
(judgement)."""


def baseline_volatility(slope_cents: float, seconds_to_resolution: float) -> float:
    """Cents per sqrt(second) if what is still uncertain comes evenly over the time left.

    slope_cents: of the rung (`slope`). seconds_to_resolution: above 0. A 50c rung 30 days out
    moves 0.025, or 1.5c an hour.
    """
    return slope_cents / math.sqrt(seconds_to_resolution)


class Volatility:
    """Realised volatility of one value: squared moves over time, older ones fading."""

    __slots__ = ("_half_life_s", "_moves", "_now_ns", "_seconds", "_value")

    _WARM_UP_S: Final = 60.0

    def __init__(self, half_life_s: float = 900.0) -> None:
        self._half_life_s = half_life_s
        self._moves = 0.0
        self._seconds = 0.0
        self._value: float | None = None
        self._now_ns = 0

    def update(self, value: float, now_ns: int) -> None:
        """The value is now this. A time that stepped back counts as no time passed."""
        if self._value is not None:
            elapsed_s = (now_ns - self._now_ns) / NS_PER_SECOND if now_ns > self._now_ns else 0.0
            fade = 0.5 ** (elapsed_s / self._half_life_s)
            self._moves = self._moves * fade + (value - self._value) ** 2
            self._seconds = self._seconds * fade + elapsed_s
        self._value = value
        if now_ns > self._now_ns:
            self._now_ns = now_ns

    def restart(self, value: float, now_ns: int) -> None:
        """The value is now this because more is known of it, not because it moved."""
        self._value = value
        self._now_ns = max(now_ns, self._now_ns)

    @property
    def cents_per_sqrt_s(self) -> float:
        """The volatility, 0 until a minute has been seen: a few moves say nothing yet."""
        if self._seconds < self._WARM_UP_S:
            return 0.0
        return math.sqrt(self._moves / self._seconds)


_TRADED_HALF_LIFE_S: Final = 120.0
_TRADED_HALF_LIFE_MIN_S: Final = 0.5
_PRINT_VARIANCE: Final = 1.0
"""Cents squared by which a print is off, for it comes from one side."""


class TradedPrice:
    """The price at which a rung trades: prints weighted by size, older ones fading.

    However old, the last of it is never forgotten: its age says what it is worth. half_life_s: two
    minutes, or as soon as the value has moved by a print's own error (`follow`).
    """

    __slots__ = ("_cents", "_mean_ns", "_now_ns", "_size", "half_life_s")

    def __init__(self, half_life_s: float = _TRADED_HALF_LIFE_S) -> None:
        self.half_life_s = half_life_s
        self._size = 0.0
        self._cents: float | None = None
        self._mean_ns = 0
        self._now_ns = 0

    def update(self, price: int, size: int, now_ns: int) -> None:
        """A print of `size` shares at canonical `price` arrived now. Size 0 adds nothing."""
        if size <= 0:
            return
        elapsed_s = max(0, now_ns - self._now_ns) / NS_PER_SECOND
        self._now_ns = max(now_ns, self._now_ns)
        before = self._size * 0.5 ** (elapsed_s / self.half_life_s)
        self._size = before + size
        part = size / self._size
        if self._cents is None:
            self._cents, self._mean_ns = float(price), self._now_ns
        else:
            self._cents += part * (price - self._cents)
            self._mean_ns += round(part * (self._now_ns - self._mean_ns))

    def follow(self, volatility: float) -> None:
        """The value moves by so many cents per sqrt(second): forget accordingly."""
        moved = volatility * volatility
        if moved * _TRADED_HALF_LIFE_S > _PRINT_VARIANCE:
            self.half_life_s = max(_TRADED_HALF_LIFE_MIN_S, _PRINT_VARIANCE / moved)
        else:
            self.half_life_s = _TRADED_HALF_LIFE_S

    def read(self) -> tuple[float, int] | None:
        """The faded mean price in cents and the mean instant of its prints: both stand still
        between prints, however they fade. None when nothing was printed."""
        return None if self._cents is None else (self._cents, self._mean_ns)


class Estimate(msgspec.Struct, frozen=True):
    """A value in cents and its variance in cents squared."""

    cents: float
    variance: float


def from_book(bids: Levels, asks: Levels, age_s: float, volatility: float) -> Estimate | None:
    """What a book of others says; None unless it has two sides that do not cross.

    age_s: since others changed it. volatility: cents per sqrt(second). The farther apart the
    sides speak (`_spoken`), and the thinner they are there, the less it says.
    """
    if not bids or not asks or bids[0][0] >= asks[0][0]:
        return None
    bid, bid_size = bids[0] if bids[0][1] >= _SPEAKS_QTY else _spoken(bids, -1)
    ask, ask_size = asks[0] if asks[0][1] >= _SPEAKS_QTY else _spoken(asks, 1)
    half = (ask - bid) / 2
    variance = half * half / 3 * (1 + _SIZE_REF / (bid_size + ask_size))
    if age_s > 0:
        variance += volatility * volatility * age_s
    variance += VARIANCE_FLOOR
    thinner = bid_size if bid_size < ask_size else ask_size
    if thinner < _SPEAKS_QTY:
        variance *= _SPEAKS_QTY / thinner
    return Estimate(weighted(bid, bid_size, ask, ask_size), variance)


def _spoken(levels: Levels, away: int) -> tuple[int, int]:
    """The price of a side from which it speaks, and the shares from its touch up to there; of one
    that has too few the last price. levels: not empty. away: the sign of a price behind the touch.
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


def stood_for(levels: Levels) -> int | None:
    """The best price of a side up to which enough shares stand to speak; None where none is."""
    size = 0
    for price, qty in levels:
        size += qty
        if size >= _SPEAKS_QTY:
            return price
    return None


def from_prints(
    cents: float, age_s: float, bids: Levels, asks: Levels, volatility: float
) -> Estimate:
    """What the traded price says: it lies about 0.8 half spreads from fair, for prints come from
    one side at a time; its error grows with age as a book's does (four times as fast was worse on
    recorded trades, by a fifth in what the next print is)."""
    half = _BLIND_HALF_CENTS
    if bids and asks and bids[0][0] < asks[0][0]:
        # Orders far off say no more of where it trades than none would.
        half = min(half, (asks[0][0] - bids[0][0]) / 2)
    variance = 0.64 * half * half
    if age_s > 0:
        variance += volatility * volatility * age_s
    return Estimate(cents, variance if variance > VARIANCE_FLOOR else VARIANCE_FLOOR)


def merged(first: Estimate | None, second: Estimate | None) -> Estimate | None:
    """Two independent estimates as one, weighted by how sure each is; None when both are."""
    if first is None or second is None:
        return first or second
    total = first.variance + second.variance
    cents = (first.cents * second.variance + second.cents * first.variance) / total
    return Estimate(cents, first.variance * second.variance / total)


class FeedTrust:
    """How far off the implied value tends to be, learned by class of confidence.

    Each class holds one forecast at a time: what the feed said is compared with where the curve's
    median stands ten minutes later, in logarithms. Before that the unit of `confidence` is taken
    at its word: an error of 2% at 1 and of 12% at 0 (judgement), worth ten comparisons.
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

    def observe(self, log_value: float, confidence: float, log_median: float, now_ns: int) -> None:
        """The feed says `log_value` now, and the curve of the market's own data `log_median`."""
        for at, forecast in enumerate(self._pending):
            if forecast is not None and now_ns >= forecast[1]:
                error = forecast[0] - log_median
                self._squares[at] = self._squares[at] * self._FADE + error * error
                self._counts[at] = self._counts[at] * self._FADE + 1
                self._pending[at] = None
        at = self._class(confidence)
        if self._pending[at] is None:
            self._pending[at] = (log_value, now_ns + self._HORIZON_NS)
