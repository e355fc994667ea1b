"""Fills of others around the opening: what it held of them, the next balance and positions say.

What the account came to at the opening is what was read then, and reads lag: of what traded around
them the opening holds all up to some instant, and its shares may hold more of it than its cash. The
times of the fills tell roughly which instant that was. What is read later, and compared among no
fills, tells it exactly: where it differs by what lies between two such instants, it was the other.

Source: design, law 9; reliability, rows 54, 58, 63, B9.
"""

from bisect import insort
from itertools import accumulate
from typing import Final

from venue.wire.money import Cents
from venue.wire.names import MarketId

_KEPT_MAX: Final = 100

Slot = tuple[MarketId, str]
"""What shares are of: the market, and the outcome by its name."""


class _Passed:
    """Amounts in the order of their times, and how much of them was there at the opening: that of
    all up to some instant."""

    def __init__(self) -> None:
        self._amounts: list[tuple[int, int]] = []
        self._held = 0

    def add(self, created_ns: int, amount: int, *, held: bool) -> None:
        """One more, of which its time says whether it was there."""
        if len(self._amounts) < _KEPT_MAX:
            insort(self._amounts, (created_ns, amount))
            self._held += amount if held else 0

    def explain(self, difference: int) -> bool:
        """Whether there is so much more than is known of, or, below zero, less, because more or
        less of these was there: then that is so from here on."""
        if difference and difference not in self.differences():
            return False
        self._held -= difference
        return True

    def differences(self) -> tuple[int, ...]:
        """What `explain` says yes to, beside 0."""
        sums = accumulate((amount for _, amount in self._amounts), initial=0)
        return tuple(dict.fromkeys(self._held - each for each in sums if each != self._held))


class LateFills:
    """Those of no order of this life that no read has told of yet.

    opening_cents: what is in the opening balance of the cash that is booked since.
    """

    def __init__(self) -> None:
        self.opening_cents = 0
        self._cash = _Passed()
        self._shares: dict[Slot, _Passed] = {}
        self._read_ns = 0

    def opened(self, read_ns: int) -> None:
        """The books are open with what was asked for by then: it says nothing of itself."""
        self._read_ns = read_ns

    def cash(self, created_ns: int, cents: Cents, *, held: bool) -> None:
        """A fill of so much cash, of which its time says whether the opening held it."""
        self._cash.add(created_ns, cents, held=held)

    def shares(self, slot: Slot, created_ns: int, moved: int, *, held: bool) -> None:
        """A fill of so many shares, likewise."""
        self._shares.setdefault(slot, _Passed()).add(created_ns, moved, held=held)

    def slots(self, begun_ns: int) -> list[Slot]:
        """Of what a list of positions tells that was begun then: where there is a fill of which the
        opening may hold the shares, in first-seen order."""
        return list(self._shares) if begun_ns > self._read_ns else []

    def cash_may_differ(self) -> tuple[int, ...]:
        """What a balance may show beside what its fills come to: see `cash_left`."""
        return self._cash.differences()

    def cash_left(self, difference_cents: Cents, begun_ns: int) -> Cents:
        """What is left of a difference that a balance shows, begun then and compared among no
        fills: 0 where the opening held more or fewer of these."""
        if begun_ns <= self._read_ns:
            return difference_cents
        if not self._cash.explain(difference_cents):
            return difference_cents
        self.opening_cents -= difference_cents
        self._cash = _Passed()
        return Cents(0)

    def explain_shares(self, slot: Slot, more: int) -> bool:
        """Whether so many more shares are shown than are booked, below zero fewer, 0 as many,
        because the opening held more or fewer of these."""
        is_told = self._shares[slot].explain(more)
        if is_told:
            del self._shares[slot]
        return is_told
