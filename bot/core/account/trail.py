"""What a balance may show that was read while fills went on, and what several of them say together.

The venue's cash passes through what it was after each fill, one after the other. A read among fills
shows one of these: which, is not told. What it differs from our books by is therefore known up to
the fills that it may lack; of several reads only one difference fits them all. So a difference is
found, and its absence too, on a market that never pauses.

Source: reliability, row 58, B9; design, law 4.
"""

from collections import deque
from typing import Final

from venue.wire.money import Cents

READS_NEEDED: Final = 3
"""So many reads in a row must have a difference in common that none of them explains."""

READS_MAX: Final = 8
"""After so many in a row that nothing explains there is a difference, though it is never the same:
fees charged twice, for one."""

_FILLS_KEPT: Final = 1_000


class CashTrail:
    """The cash of the newest fills, and the reads among them that agreed with nothing so far."""

    def __init__(self) -> None:
        self._fills: deque[tuple[int, int]] = deque()
        self._dropped_ns = -1
        self._common: frozenset[int] | None = None
        self._reads = 0
        self._first_ns = 0

    def booked(self, cash_cents: int, now_ns: int) -> None:
        """A fill was booked now, and did this to our cash; in the order in which they happened."""
        self._fills.append((now_ns, cash_cents))
        if len(self._fills) > _FILLS_KEPT:
            self._dropped_ns, _ = self._fills.popleft()

    def settle(self) -> None:
        """A read among no fills was compared: what the others said is no longer asked."""
        self._common = None
        self._reads = 0

    def amid(
        self, difference_cents: int, known_cents: int, begun_ns: int, lag_ns: int
    ) -> Cents | None:
        """What the cash differs by, as far as a read among fills tells.

        difference_cents: what it has beyond the books as they are now. known_cents: the difference
        that was found last, 0 for none. begun_ns: when the read began; fills booked up to `lag_ns`
        before that may be missing in it. Returns `known_cents` if that explains the read; another
        difference once it is sure, or, after many reads, likely; else None.
        """
        told = self._possible(difference_cents, begun_ns, lag_ns)
        if told is None:
            return None
        may_be, likely = told
        if known_cents in may_be:
            self.settle()
            return Cents(known_cents)
        common = self._join(may_be, begun_ns)
        enough = READS_NEEDED if len(common) == 1 else READS_MAX
        if self._reads < enough:
            return None
        found = min(common or may_be, key=lambda cents: abs(cents - difference_cents - likely))
        self.settle()
        return Cents(found)

    def agreed(
        self, difference_cents: int, begun_ns: int, lag_ns: int, after_ns: int | None
    ) -> Cents | None:
        """The one difference that enough reads in a row have in common, all of them begun after
        `after_ns` (None: not yet), be it known or not; None while there is none. For what must be
        certain: nothing is guessed, however many reads there were.

        difference_cents, begun_ns, lag_ns: as of `amid`.
        """
        told = self._possible(difference_cents, begun_ns, lag_ns)
        if told is None or after_ns is None or begun_ns <= after_ns:
            return None
        common = self._join(told[0], begun_ns)
        if self._first_ns <= after_ns or not common:  # this read is the first of others
            self.settle()
            common = self._join(told[0], begun_ns)
        if self._reads < READS_NEEDED or len(common) > 1:
            return None
        self.settle()
        return Cents(*common)

    def _possible(
        self, difference_cents: int, begun_ns: int, lag_ns: int
    ) -> tuple[frozenset[int], int] | None:
        """What the cash may differ by, and the likeliest of that; None when a fill that the read
        may lack is not remembered."""
        since_ns = begun_ns - lag_ns
        while self._fills and self._fills[0][0] < since_ns:
            self._fills.popleft()
        if self._dropped_ns >= since_ns:
            return None
        missing, likely = 0, difference_cents
        may_be = {difference_cents}
        for booked_ns, cash_cents in reversed(self._fills):
            missing += cash_cents
            may_be.add(difference_cents + missing)
            if booked_ns > begun_ns:
                likely = difference_cents + missing
        return frozenset(may_be), likely

    def _join(self, may_be: frozenset[int], begun_ns: int) -> frozenset[int]:
        if not self._reads:
            self._first_ns = begun_ns
        self._reads += 1
        self._common = may_be if self._common is None else self._common & may_be
        return self._common
