"""Where an order that was never sent would stand: the shares of others before it, by two readings.

A book shows sizes and no order of arrival. All that is there when we come stands before us; prints
at the price eat from the front; what else leaves was cancelled. `averse` takes every cancel to be
behind us, as far as there is anything behind; `likely` takes it to be before us with the chance
a^3 / (a^3 + b^3) of `a` shares before and `b` behind. What comes later stands behind. Never are
there more before us than the book shows.

A book speaks of everything up to its own instant. So a print that is not newer is in it, whichever
of the two comes first: traded shares are not taken for cancelled ones as well.
"""

import enum
import math
from typing import Final

_POWER: Final = 3


class Bound(enum.StrEnum):
    """How the queue is read."""

    AVERSE = "averse"
    LIKELY = "likely"


class Place:
    """The place of one order. ahead: shares of others before it. Times are the venue's own."""

    __slots__ = (
        "_before",
        "_bound",
        "_came_ns",
        "_from_ns",
        "_least",
        "_newer",
        "_others",
        "_shown_ns",
        "_stood",
        "ahead",
    )

    def __init__(self, others: int, shown_ns: int, bound: Bound) -> None:
        """others: shares at its price in the book of `shown_ns`, the newest when it came."""
        self._bound = bound
        self._came_ns = self._from_ns = self._shown_ns = shown_ns
        self.ahead = self._before = float(others)  # `_before`: as of `_from_ns`, prints since off
        # Shares of the book before the newest (averse: before its instant, with what came in it);
        # of the newest; and the fewest that a book of its instant showed.
        self._stood = self._others = self._least = others
        self._newer: list[tuple[int, int]] = []  # prints newer than the newest book

    def printed(self, size: int, ts_ns: int) -> int:
        """A print at its price, on its side. How much of it went beyond the shares before us."""
        if ts_ns <= self._came_ns or ts_ns <= self._from_ns:
            return 0  # a book that is over has it already
        if ts_ns > self._shown_ns or (ts_ns == self._shown_ns and self._is_kind()):
            beyond = max(0, size - math.ceil(self.ahead))
            self.ahead = max(0.0, self.ahead - size)
            self._newer.append((ts_ns, size))
            return beyond
        # The newest book showed it before it came: it is no cancel.
        beyond = max(0, size - math.ceil(self._before))
        self._before = max(0.0, self._before - size)
        self._stood = max(0, self._stood - size)
        self._take_in()
        return beyond

    def shown(self, others: int, ts_ns: int) -> None:
        """A book shows `others` shares beside ours at its price."""
        if ts_ns < self._shown_ns:
            return
        if others == self._others == self._stood and not self._newer:
            # Nothing came and nothing left: before us stands who stood there.
            self._before = self.ahead
            if ts_ns > self._shown_ns:
                self._from_ns, self._shown_ns = self._shown_ns, ts_ns
            return
        if ts_ns == self._shown_ns and self._is_averse():
            # One instant has several books, and a print of it that is still to come may be in the
            # first of them: it is held against what stood before all of them.
            self._stood += max(0, others - self._others)
            self._least = min(self._least, others)
        else:
            explained = sum(size for at_ns, size in self._newer if at_ns <= ts_ns)
            self._newer = [row for row in self._newer if row[0] > ts_ns]
            self._before = self.ahead + self._still_to_come()
            self._stood = max(0, self._others - explained)
            self._least = others
        self._others = others
        if ts_ns > self._shown_ns:
            self._from_ns, self._shown_ns = self._shown_ns, ts_ns
        self._take_in()

    def _is_averse(self) -> bool:
        """Whether no share may be told to fill that might not have."""
        return self._bound is Bound.AVERSE

    def _is_kind(self) -> bool:
        """Whether no share may be left out that might have filled: then what a book lacks that was
        cancelled in the instant of a print, which is still to come, is not taken for the print."""
        return False

    def _still_to_come(self) -> int:
        """Shares of prints that are newer than the book: they are off `ahead`, not off the book."""
        return sum(size for _, size in self._newer)

    def _take_in(self) -> None:
        """What of the newest book's decrease stood before us."""
        before = self._before
        gone = max(0, self._stood - self._others)
        behind = max(0.0, self._stood - before)
        took = max(gone * self._chance(before, behind), gone - behind)
        ahead = min(max(0.0, before - took), float(self._least))
        self.ahead = max(0.0, ahead - self._still_to_come())

    def _chance(self, before: float, behind: float) -> float:
        """The chance that a cancelled share stood before us."""
        if self._bound is Bound.AVERSE or before <= 0:
            return 0.0
        return float(before**_POWER / (before**_POWER + behind**_POWER))

    def passed(self) -> None:
        """Somebody traded through its price: nobody is before it any more."""
        self.ahead = self._before = 0.0
