"""Candles of one market: rollups of its prints, kept as they grow, and coarser ones made from them.

Buckets are aligned to the Unix epoch, UTC. Each rollup keeps its newest buckets up to a number,
so a market's candles take bounded memory however long it trades.

Source: interface, GET /markets/{market_id}/candles; silence S7.
"""

from bisect import bisect_left
from typing import Final

import msgspec

from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, from_ns
from venue.wire.model import CandleInterval
from venue.wire.money import Price, Qty

_HOUR_NS: Final = 3600 * NS_PER_SECOND

LENGTH_NS: Final[dict[CandleInterval, int]] = {
    CandleInterval.S30: 30 * NS_PER_SECOND,
    CandleInterval.M1: 60 * NS_PER_SECOND,
    CandleInterval.H1: _HOUR_NS,
    CandleInterval.H4: 4 * _HOUR_NS,
    CandleInterval.H12: 12 * _HOUR_NS,
    CandleInterval.D1: 24 * _HOUR_NS,
}

BUCKETS_KEPT: Final[dict[CandleInterval, int]] = {
    CandleInterval.S30: 2_880,
    CandleInterval.M1: 10_080,
    CandleInterval.H1: 17_520,
    CandleInterval.D1: 3_650,
}
"""The stored rollups and how many traded buckets of each are kept: at least a day, a week, two
years and ten years. 4h and 12h are re-aggregated from hourly ones."""

_SLACK: Final = 64
"""Old buckets are dropped this many at a time."""


class _Bucket(msgspec.Struct):
    start_ns: int
    open: Price
    high: Price
    low: Price
    close: Price
    volume: Qty
    trade_count: int

    def add(self, later: "_Bucket") -> None:
        self.high = max(self.high, later.high)
        self.low = min(self.low, later.low)
        self.close = later.close
        self.volume = Qty(self.volume + later.volume)
        self.trade_count += later.trade_count


class Candles:
    """The candles of one market."""

    def __init__(self) -> None:
        self._stored: dict[CandleInterval, list[_Bucket]] = {name: [] for name in BUCKETS_KEPT}

    def add(self, at_ns: int, price: Price, qty: Qty) -> None:
        """Count one print; `at_ns` never goes back."""
        for interval, buckets in self._stored.items():
            start_ns = at_ns - at_ns % LENGTH_NS[interval]
            _append(buckets, _Bucket(start_ns, price, price, price, price, qty, 1))
            if len(buckets) >= BUCKETS_KEPT[interval] + _SLACK:
                del buckets[:_SLACK]

    def window(
        self, interval: CandleInterval, from_ns_: int, to_ns_: int
    ) -> tuple[model.Candle, ...]:
        """Candles that begin at or between two instants, oldest first, none without a trade.

        A candle that is still going on is shown as it stands.
        """
        length_ns = LENGTH_NS[interval]
        stored = self._stored.get(interval)
        if stored is None:
            stored = self._regrouped(from_ns_, to_ns_ + length_ns, length_ns)
        low = bisect_left(stored, from_ns_, key=_start_ns)
        high = bisect_left(stored, to_ns_ + 1, key=_start_ns)
        return tuple(map(_shown, stored[low:high]))

    def _regrouped(self, from_ns_: int, to_ns_: int, length_ns: int) -> list[_Bucket]:
        hourly = self._stored[CandleInterval.H1]
        low = bisect_left(hourly, from_ns_ - from_ns_ % length_ns, key=_start_ns)
        high = bisect_left(hourly, to_ns_, key=_start_ns)
        grouped: list[_Bucket] = []
        for hour in hourly[low:high]:
            start_ns = hour.start_ns - hour.start_ns % length_ns
            _append(grouped, msgspec.structs.replace(hour, start_ns=start_ns))
        return grouped


def _append(buckets: list[_Bucket], later: _Bucket) -> None:
    if buckets and buckets[-1].start_ns == later.start_ns:
        buckets[-1].add(later)
    else:
        buckets.append(later)


def _start_ns(bucket: _Bucket) -> int:
    return bucket.start_ns


def _shown(bucket: _Bucket) -> model.Candle:
    return model.Candle(
        timestamp=from_ns(bucket.start_ns),
        open=bucket.open,
        high=bucket.high,
        low=bucket.low,
        close=bucket.close,
        volume=bucket.volume,
        trade_count=bucket.trade_count,
    )
