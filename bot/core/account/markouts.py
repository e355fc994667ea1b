"""Markouts of fills: how far values had moved so long after each, with honest error bars.

A markout is  sign * (value some time after the fill - price)  in thousandths of a cent a share,
sign +1 for a fill that made us longer YES. Fills close together meet the same move, so they are no
independent evidence: fills of one stretch of time as long as the horizon count as one cluster.

Sums are exact integers; only the rows are floats. Memory is bounded: of a horizon that has passed
nothing is kept but the sums.
"""

import math
from typing import Final

from bot.core.report import Against, MarkoutReport
from venue.wire.instant import NS_PER_SECOND

HORIZONS_S: Final = (1, 10, 60, 300)
"""So long after a fill its price is compared with the value, seconds."""

ADVERSE: Final = 1
"""The place in `HORIZONS_S` of the move that counts as adverse selection."""

LATE_MAX_NS: Final = 60 * NS_PER_SECOND
"""Timeout of a value that is not known at its horizon."""

MILLI: Final = 1_000
"""Thousandths of a cent to a cent."""

OPEN_STRETCHES: Final = 8
"""So many stretches of time may still grow: of ten seconds and more every one that a value which
comes a minute late may be of."""

_Squared = tuple[int, int, int, int]


class Moments:
    """The mean of a markout, weighted by shares, and its standard error over clusters."""

    __slots__ = ("_open", "_squared", "fills", "moved", "shares")

    def __init__(self) -> None:
        self.fills = 0
        self.shares = 0
        self.moved = 0  # sum of shares * markout
        # Of the clusters that are over: sums of W * W, S * W and S * S, with W their shares and S
        # their shares * markout; of those that may still grow W and S, by stretch of time.
        self._squared = (0, 0, 0, 0)
        self._open: dict[int, tuple[int, int]] = {}

    def add_markout(self, markout: int, qty: int, bucket: int) -> None:
        """Add a markout of `qty` shares, in the stretch of time with this number. One that is
        older than the newest OPEN_STRETCHES counts with the oldest of those."""
        self.fills += 1
        self.shares += qty
        self.moved += qty * markout
        if bucket not in self._open and len(self._open) == OPEN_STRETCHES:
            oldest = min(self._open)
            if bucket < oldest:
                bucket = oldest
            else:
                self._squared = _with(self._squared, self._open.pop(oldest))
        w, s = self._open.get(bucket, (0, 0))
        self._open[bucket] = (w + qty, s + qty * markout)

    def merge(self, other: "Moments") -> None:
        """Add those of another; clusters of the two stay apart."""
        self.fills += other.fills
        self.shares += other.shares
        self.moved += other.moved
        count, ww, sw, ss = other._with_open()
        mine = self._squared
        self._squared = (mine[0] + count, mine[1] + ww, mine[2] + sw, mine[3] + ss)

    def _with_open(self) -> _Squared:
        squared = self._squared
        for cluster in self._open.values():
            squared = _with(squared, cluster)
        return squared

    @property
    def mean(self) -> float:
        """Thousandths of a cent a share. At least one markout was added."""
        return self.moved / self.shares

    @property
    def error(self) -> float | None:
        """The standard error of `mean`; None below two clusters."""
        count, ww, sw, ss = self._with_open()
        if count < 2:
            return None
        w, s = self.shares, self.moved
        # sum over clusters of (S - mean * W) ** 2, times w * w, so that it stays whole
        squares = ss * w * w - 2 * sw * s * w + ww * s * s
        return math.sqrt(max(0, squares) * count / (count - 1)) / (w * w)


def _with(squared: _Squared, cluster: tuple[int, int]) -> _Squared:
    """These sums and those of one more cluster: its shares, and its shares * markout."""
    (count, ww, sw, ss), (w, s) = squared, cluster
    return count + 1, ww + w * w, sw + s * w, ss + s * s


class Markouts(dict[tuple[Against, int], Moments]):
    """The moments of each horizon that has fills, against the fair value and the mid of others."""

    def add_markout(
        self, against: Against, horizon: int, markout: int, qty: int, filled_ns: int
    ) -> None:
        """horizon: its place in HORIZONS_S."""
        bucket = filled_ns // (HORIZONS_S[horizon] * NS_PER_SECOND)
        moments = self.setdefault((against, horizon), Moments())
        moments.add_markout(markout, qty, bucket)

    def merge(self, other: "Markouts") -> None:
        """Add those of another."""
        for key, moments in other.items():
            self.setdefault(key, Moments()).merge(moments)

    def rows(self) -> tuple[MarkoutReport, ...]:
        """Those that have fills, by `Against`, then by horizon."""
        rows = []
        for against in Against:
            for horizon, horizon_s in enumerate(HORIZONS_S):
                each = self.get((against, horizon))
                if each is not None:
                    error = each.error
                    rows.append(
                        MarkoutReport(
                            horizon_s=horizon_s,
                            against=against,
                            fills=each.fills,
                            qty=each.shares,
                            mean_cents=each.mean / MILLI,
                            error_cents=None if error is None else error / MILLI,
                        )
                    )
        return tuple(rows)
