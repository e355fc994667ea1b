"""What became of fills: how far values had moved so long after each, with honest error bars.

A markout is  sign * (value some time after the fill - price)  in thousandths of a cent a share,
sign +1 for a fill that made us longer YES. Fills close together meet the same move, so they are no
independent evidence: fills of one stretch of time as long as the horizon count as one cluster.

Sums are exact integers; only what is shown is a float. Memory is bounded: of a horizon that has
passed nothing is kept but the sums.
"""

import math
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

from bot.core.report import Against, MarkoutReport
from venue.wire.instant import NS_PER_SECOND

HORIZONS_S: Final = (1, 10, 60, 300)
"""So long after a fill its price is compared with the value, seconds."""

ADVERSE: Final = 1
"""The place in `HORIZONS_S` of the move that counts as adverse selection."""

OPEN_MAX: Final = 20_000
"""Horizons waited for at once; a fill beyond that is left out of the markouts, and counted."""

LATE_MAX_NS: Final = 60 * NS_PER_SECOND
_LOOK_AGAIN_NS: Final = NS_PER_SECOND
"""A value that is not known at its horizon is looked for so often, and for so long."""

MILLI: Final = 1_000
"""Thousandths of a cent to a cent."""

OPEN_STRETCHES: Final = 8
"""So many stretches of time may still grow: of ten seconds and more every one that a value which
comes a minute late may be of."""

_AGAINST: Final = tuple(Against)
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

    def add(self, markout: int, qty: int, bucket: int) -> None:
        """A markout of `qty` shares, in the stretch of time with this number. One that comes later
        than the newest OPEN_STRETCHES were begun counts with the oldest of those."""
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

    def absorb(self, other: "Moments") -> None:
        """Count those of another in; clusters of the two stay apart."""
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
    def mean(self) -> float | None:
        """Thousandths of a cent a share; None without fills."""
        return self.moved / self.shares if self.shares else None

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


class Markouts:
    """The moments of every horizon, against the fair value and against the mid of others."""

    __slots__ = ("_moments",)

    def __init__(self) -> None:
        self._moments = [[Moments() for _ in HORIZONS_S] for _ in _AGAINST]

    def add(self, against: Against, horizon: int, markout: int, qty: int, filled_ns: int) -> None:
        """A markout is known. horizon: its place in HORIZONS_S."""
        bucket = filled_ns // (HORIZONS_S[horizon] * NS_PER_SECOND)
        self._moments[_AGAINST.index(against)][horizon].add(markout, qty, bucket)

    def absorb(self, other: "Markouts") -> None:
        """Count those of another in."""
        for mine, theirs in zip(self._moments, other._moments, strict=True):
            for moments, more in zip(mine, theirs, strict=True):
                moments.absorb(more)

    def report(self) -> tuple[MarkoutReport, ...]:
        """Those that have fills, by what they are against, then by horizon."""
        return tuple(self._rows())

    def _rows(self) -> Iterator[MarkoutReport]:
        for against, row in zip(_AGAINST, self._moments, strict=True):
            for horizon_s, each in zip(HORIZONS_S, row, strict=True):
                mean, error = each.mean, each.error
                if mean is not None:
                    yield MarkoutReport(
                        horizon_s=horizon_s,
                        against=against,
                        fills=each.fills,
                        qty=each.shares,
                        mean_cents=mean / MILLI,
                        error_cents=None if error is None else error / MILLI,
                    )


_Fill = TypeVar("_Fill")


class Horizons(Generic[_Fill]):
    """The horizons that are waited for, soonest first. missed: those that were never sampled."""

    def __init__(self) -> None:
        self._open: list[tuple[int, int, int, int, _Fill, Against]] = []
        self._count = 0
        self.missed = 0

    @property
    def due_ns(self) -> int | None:
        """When the next horizon is over; None when none is waited for."""
        return self._open[0][0] if self._open else None

    def open(self, fill: _Fill, filled_ns: int) -> None:
        """Wait for every horizon of a fill."""
        if len(self._open) + len(HORIZONS_S) * len(_AGAINST) > OPEN_MAX:
            self.missed += len(HORIZONS_S) * len(_AGAINST)
            return
        for place, horizon_s in enumerate(HORIZONS_S):
            for against in _AGAINST:
                at_ns = filled_ns + horizon_s * NS_PER_SECOND
                self._push(at_ns, at_ns, place, fill, against)

    def _push(self, due_ns: int, at_ns: int, place: int, fill: _Fill, against: Against) -> None:
        self._count += 1
        heappush(self._open, (due_ns, self._count, at_ns, place, fill, against))

    def sample(
        self,
        now_ns: int,
        value: Callable[[_Fill, Against, int], int | None],
        known: Callable[[_Fill, Against, int, int], None],
    ) -> None:
        """Sample the horizons that are over.

        value: of a fill's rung, the first known at or after an instant, in thousandths of a cent;
        None while it is not known, and then it is asked for again, a minute long. known: told of
        each sample, with the horizon's place and the value.
        """
        while self._open and self._open[0][0] <= now_ns:
            _, _, at_ns, place, fill, against = heappop(self._open)
            found = value(fill, against, at_ns)
            if found is not None:
                known(fill, against, place, found)
            elif now_ns < at_ns + LATE_MAX_NS:
                self._push(now_ns + _LOOK_AGAIN_NS, at_ns, place, fill, against)
            else:
                self.missed += 1

    def waiting(self, place: int, against: Against) -> Iterator[_Fill]:
        """The fills whose horizon of this place is waited for, in no particular order of time but
        always the same."""
        return (row[4] for row in self._open if row[3] == place and row[5] is against)
