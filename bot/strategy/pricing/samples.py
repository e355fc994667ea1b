"""Measurements of the published rules: moves per tick, and flow by distance, in cents from the
value before the trade. Each instance serves one market."""

import math
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from bot.strategy.api import Print
from venue.wire.money import BookSide

_Floats = npt.NDArray[np.float64]
DECAY_MIN: Final = 0.1
DECAY_MAX: Final = 3.0
"""Fits outside are not credible: the one before stays in use (specified)."""

_BUCKETS: Final = 60
_SEARCH_STEPS: Final = 80
_WARM_UP_S: Final = 60.0
"""A move within the first seconds says nothing about the volatility in the long run."""
_GOLDEN: Final = (math.sqrt(5) - 1) / 2


class Fit(NamedTuple):
    """A curve amplitude * exp(-decay * distance); decay per cent."""

    amplitude: float
    decay: float


class TickVolatility:
    """The root mean square of price changes per tick, over a fixed number of ticks. A tick without
    a view repeats the price before it."""

    def __init__(self, ticks: int, tick_s: float) -> None:
        self._samples: deque[float] = deque(maxlen=ticks)
        self._tick_s = tick_s
        self._next_s = -math.inf
        self._last_known = 0.0

    @property
    def has_enough(self) -> bool:
        return len(self._samples) == self._samples.maxlen

    def add_price(self, price: float, now_s: float) -> None:
        """Sample a price, at most once a tick; `now_s` never steps back."""
        if now_s < self._next_s:
            return
        if self._samples:
            missed = math.floor((now_s - self._next_s) / self._tick_s)
            before = self._samples[-1]
            self._samples.extend(before for _ in range(min(missed, self._samples.maxlen or 0)))
            self._next_s += (missed + 1) * self._tick_s
        else:
            self._next_s = now_s + self._tick_s
        self._samples.append(price)

    def cents_per_tick(self) -> float:
        """The volatility; while nothing moves the last one above zero, 0 before any."""
        if len(self._samples) > 1:
            moves = np.diff(np.fromiter(self._samples, dtype=np.float64))
            now = math.sqrt(float(moves @ moves) / len(self._samples))
            if now > 0:
                self._last_known = now
        return self._last_known


class TradeDistances:
    """Traded amount by distance, over a fixed number of ticks that had a trade."""

    def __init__(self, ticks: int) -> None:
        self._ticks: deque[dict[float, int]] = deque(maxlen=ticks)
        self._fit: Fit | None = None
        self._is_fitted = True

    @property
    def has_enough(self) -> bool:
        return len(self._ticks) == self._ticks.maxlen

    def add_prints(self, prints: Iterable[Print], value: float) -> None:
        """Add the trades of one tick, at their distances from the value before them."""
        tick: dict[float, int] = {}
        for each in prints:
            distance = abs(each.price - value)
            tick[distance] = tick.get(distance, 0) + each.qty
        if tick:
            self._ticks.append(tick)
            self._is_fitted = False

    def fit(self) -> Fit | None:
        """The least-squares exponential of amount by distance, or None with fewer than three
        distances or if its decay is noise."""
        if not self._is_fitted:
            self._is_fitted = True
            amounts: dict[float, int] = {}
            for tick in self._ticks:
                for distance, amount in tick.items():
                    amounts[distance] = amounts.get(distance, 0) + amount
            ordered = sorted(amounts)
            self._fit = nearest_exponential(
                np.array(ordered), np.array([amounts[each] for each in ordered], dtype=np.float64)
            )
        return self._fit


class Arrivals:
    """How deep market orders reach into the book, and how far the value moves, over a window.

    Of the trades between two views only the deepest of each taker's side counts: one sweep is one
    arrival. The window moves in sixtieths of its length.
    """

    def __init__(self, window_s: float, depth_ticks: int) -> None:
        self._bucket_s = window_s / _BUCKETS
        self._warm_up_s = min(_WARM_UP_S, window_s - self._bucket_s)
        self._deepest = np.zeros((_BUCKETS, depth_ticks + 1))
        self._squares = np.zeros(_BUCKETS)
        self._bucket: int | None = None
        self._start_s = 0.0
        self._now_s = 0.0
        self._value: float | None = None
        self._places = np.arange(depth_ticks) + 0.5

    def add_view(self, value: float, prints: Iterable[Print], now_s: float) -> None:
        """One view: the value now, and the trades since the view before it."""
        row = self._advance(now_s)
        if self._value is not None:
            self._squares[row] += (value - self._value) ** 2
            deepest = {BookSide.BID: 0.0, BookSide.ASK: 0.0}
            for each in prints:
                # A taker who buys reaches up from the value, one who sells reaches down.
                away = each.price - self._value
                depth = away if each.taker is BookSide.BID else -away
                deepest[each.taker] = max(deepest[each.taker], depth)
            for depth in deepest.values():
                if depth > 0:
                    # The places strictly nearer than the trade: at its own price there is a queue.
                    reached = math.ceil(depth - 0.5)
                    self._deepest[row, min(reached, len(self._places))] += 1
        self._value = value

    def _advance(self, now_s: float) -> int:
        """Move the window to now; the row that now belongs to."""
        bucket = math.floor(now_s / self._bucket_s)
        if self._bucket is None:
            self._start_s = now_s
        else:
            for old in range(self._bucket + 1, min(bucket, self._bucket + _BUCKETS) + 1):
                self._deepest[old % _BUCKETS] = 0
                self._squares[old % _BUCKETS] = 0
        self._bucket, self._now_s = bucket, now_s
        return bucket % _BUCKETS

    def _seconds(self) -> float:
        """How much of the window has been seen."""
        oldest = ((self._bucket or 0) - _BUCKETS + 1) * self._bucket_s
        return self._now_s - max(self._start_s, oldest)

    def volatility(self) -> float:
        """Cents per root of a second that the value moved, 0 until a minute has been seen."""
        seconds = self._seconds()
        if seconds < self._warm_up_s:
            return 0.0
        return math.sqrt(float(self._squares.sum()) / seconds)

    def fit(self, arrivals_min: int) -> Fit | None:
        """Arrivals per second and side at a distance, a straight line through their logarithms.

        None with fewer than `arrivals_min` arrivals or three distances, or if the decay is noise.
        """
        ends = self._deepest.sum(axis=0)
        # At place j all arrivals that reached further than j places.
        reached = np.cumsum(ends[::-1])[::-1][1:]
        some = int(np.count_nonzero(reached))
        seconds = self._seconds()
        if ends.sum() < arrivals_min or some < 3 or seconds <= 0:
            return None
        per_side_s = reached[:some] / (2 * seconds)
        slope, level = np.polyfit(self._places[:some], np.log(per_side_s), 1)
        return _credible(math.exp(level), -float(slope))


def nearest_exponential(distances: _Floats, amounts: _Floats) -> Fit | None:
    """The least-squares exponential of the amounts.

    For a given decay the best amplitude is a division, so only the decay is searched: on a grid
    over its credible range, then by golden sections around its best point. None with fewer than
    three distances, or if the best decay is at an end of the range.
    """
    if len(distances) < 3:
        return None
    grid = np.geomspace(DECAY_MIN, DECAY_MAX, _SEARCH_STEPS)
    shapes = np.exp(-np.outer(grid, distances))
    amplitudes = shapes @ amounts / np.einsum("ij,ij->i", shapes, shapes)
    errors = ((amounts - amplitudes[:, None] * shapes) ** 2).sum(axis=1)
    best = int(np.argmin(errors))
    if best in (0, _SEARCH_STEPS - 1):
        return None
    low, high = float(grid[best - 1]), float(grid[best + 1])
    for _ in range(_SEARCH_STEPS // 2):
        span = _GOLDEN * (high - low)
        if _error(high - span, distances, amounts)[0] < _error(low + span, distances, amounts)[0]:
            high = low + span
        else:
            low = high - span
    decay = (low + high) / 2
    return _credible(_error(decay, distances, amounts)[1], decay)


def _error(decay: float, distances: _Floats, amounts: _Floats) -> tuple[float, float]:
    """The squared error of the best curve of this decay, and its amplitude."""
    shape = np.exp(-decay * distances)
    amplitude = float(shape @ amounts) / float(shape @ shape)
    rest = amounts - amplitude * shape
    return float(rest @ rest), amplitude


def _credible(amplitude: float, decay: float) -> Fit | None:
    good = DECAY_MIN <= decay <= DECAY_MAX and 0 < amplitude < math.inf
    return Fit(amplitude, decay) if good else None
