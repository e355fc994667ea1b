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
        if known_cents in may_be:
            self.settle()
            return Cents(known_cents)
        self._reads += 1
        self._common = frozenset(may_be) if self._common is None else self._common & may_be
        enough = READS_NEEDED if len(self._common) == 1 else READS_MAX
        if self._reads < enough:
            return None
        found = min(
            self._common or may_be, key=lambda cents: abs(cents - difference_cents - likely)
        )
        self.settle()
        return Cents(found)
