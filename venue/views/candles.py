"""Candles of one market, aligned to the Unix epoch, kept packed. Readings: docs/assumptions.md#S7,
#S52, #S54."""

from bisect import bisect_left
from typing import Final

import msgspec

from venue.views.packed import PackedRows, PackedSnapshot
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

STORED: Final = (CandleInterval.S30, CandleInterval.M1, CandleInterval.H1, CandleInterval.D1)
"""The stored rollups; 4h and 12h are re-aggregated from hourly ones when asked for."""

CANDLES_MAX: Final = 10_000
"""The newest candles of one answer, and the newest hours it is made from: nearly a week of minutes,
or a year of hours. A longer answer would hold up others."""


class Bucket(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One bucket of a rollup; prices in canonical YES cents, volume in shares. Snapshots hold these
    rows: add fields at the end only, with a default."""

    start_ns: int
    open: Price
    high: Price
    low: Price
    close: Price
    volume: Qty
    trade_count: int

    def with_later(self, later: "Bucket") -> "Bucket":
        return Bucket(
            self.start_ns,
            self.open,
            max(self.high, later.high),
            min(self.low, later.low),
            later.close,
            Qty(self.volume + later.volume),
            self.trade_count + later.trade_count,
        )


_BUCKETS: Final = msgspec.msgpack.Decoder(Bucket)


class RollupSnapshot(msgspec.Struct, frozen=True):
    """The buckets of one stored rollup; `latest` is the one that may still grow."""

    interval: CandleInterval
    closed: PackedSnapshot
    latest: Bucket | None


class _Rollup:
    __slots__ = ("closed", "latest", "length_ns")

    def __init__(self, length_ns: int) -> None:
        self.length_ns = length_ns
        self.closed = PackedRows(_BUCKETS)
        self.latest: Bucket | None = None

    def add_print(self, at_ns: int, price: Price, qty: Qty) -> None:
        start_ns = at_ns - at_ns % self.length_ns
        latest, printed = self.latest, Bucket(start_ns, price, price, price, price, qty, 1)
        if latest is not None and latest.start_ns == start_ns:
            self.latest = latest.with_later(printed)
        else:
            if latest is not None:
                self.closed.append(latest)
            self.latest = printed

    def between(self, low_ns: int, high_ns: int) -> tuple[list[Bucket], bool]:
        """The newest buckets that begin from `low_ns` to below `high_ns`; whether older are cut."""
        low = bisect_left(self.closed, low_ns, key=_start_ns)
        high = bisect_left(self.closed, high_ns, key=_start_ns)
        last = self.latest
        shown = [last] if last is not None and low_ns <= last.start_ns < high_ns else []
        first = max(low, high + len(shown) - CANDLES_MAX)
        return [self.closed[place] for place in range(first, high)] + shown, first > low


class Candles:
    def __init__(self) -> None:
        self._stored: dict[CandleInterval, _Rollup] = {
            name: _Rollup(LENGTH_NS[name]) for name in STORED
        }

    @classmethod
    def from_rows(cls, snapshot: tuple[RollupSnapshot, ...]) -> "Candles":
        candles = cls()
        for kept in snapshot:
            rollup = candles._stored[kept.interval]
            rollup.closed = PackedRows.from_rows(_BUCKETS, kept.closed)
            rollup.latest = kept.latest
        return candles

    def to_rows(self) -> tuple[RollupSnapshot, ...]:
        return tuple(
            [
                RollupSnapshot(interval, rollup.closed.to_rows(), rollup.latest)
                for interval, rollup in self._stored.items()
            ]
        )

    def add_print(self, at_ns: int, price: Price, qty: Qty) -> None:
        """Count one print; `at_ns` never goes back."""
        for rollup in self._stored.values():
            rollup.add_print(at_ns, price, qty)

    def window(
        self, interval: CandleInterval, from_ns_: int, to_ns_: int
    ) -> tuple[model.Candle, ...]:
        """Candles that share an instant with a window (S54), each whole, oldest first; of more than
        `CANDLES_MAX` the newest."""
        rollup = self._stored.get(interval)
        length_ns = LENGTH_NS[interval]
        first_ns = from_ns_ - from_ns_ % length_ns
        if rollup is None:
            buckets = self._regrouped(first_ns, to_ns_, length_ns)
        else:
            buckets, _ = rollup.between(first_ns, to_ns_ + 1)
        return tuple(map(_shown, buckets))

    def _regrouped(self, first_ns: int, to_ns_: int, length_ns: int) -> list[Bucket]:
        """Whole groups of hours that begin at or between two instants, oldest first."""
        end_ns = to_ns_ - to_ns_ % length_ns + length_ns
        hours, cut = self._stored[CandleInterval.H1].between(first_ns, end_ns)
        grouped: list[Bucket] = []
        for hour in hours:
            start_ns = hour.start_ns - hour.start_ns % length_ns
            if grouped and grouped[-1].start_ns == start_ns:
                grouped[-1] = grouped[-1].with_later(hour)
            else:
                grouped.append(msgspec.structs.replace(hour, start_ns=start_ns))
        # What the cut left of the first group is not that group.
        return grouped[1:] if cut else grouped


def _start_ns(bucket: Bucket) -> int:
    return bucket.start_ns


def _shown(bucket: Bucket) -> model.Candle:
    return model.Candle(
        timestamp=from_ns(bucket.start_ns),
        open=bucket.open,
        high=bucket.high,
        low=bucket.low,
        close=bucket.close,
        volume=bucket.volume,
        trade_count=bucket.trade_count,
    )
