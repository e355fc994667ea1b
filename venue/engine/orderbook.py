"""One market's resting orders: price-time queues in canonical YES prices. A half is 99 linked
queues; joining, leaving and shrinking cost the same at any depth. The occupied levels are bits of
one integer: its highest or lowest bit is the best price."""

from collections.abc import Iterator
from typing import Final, Generic, Self, TypeVar

from venue.wire.money import PAYOUT_CENTS, BookSide, Price, Qty

_BID: Final = BookSide.BID
_NONE: Final = Qty(0)


class BookEntry:
    """Something that can rest in a book. remaining: shares still working, >= 0. level: where it
    rests, or None."""

    __slots__ = ("_after", "_before", "level", "remaining")
    _after: Self | None
    _before: Self | None
    level: "PriceQueue[Self] | None"

    def __init__(self, remaining: Qty) -> None:
        self._after = None
        self._before = None
        self.level = None
        self.remaining = remaining


E = TypeVar("E", bound=BookEntry)


class PriceQueue(Generic[E]):
    __slots__ = ("_first", "_last", "price", "side", "size")
    _first: E | None
    _last: E | None

    def __init__(self, side: BookSide, price: Price) -> None:
        self._first = None
        self._last = None
        self.side = side
        self.price = price
        self.size = 0

    def __iter__(self) -> Iterator[E]:
        """The entries, oldest first. The queue must not change on the way."""
        entry = self._first
        while entry is not None:
            yield entry
            entry = entry._after


class HalfBook(Generic[E]):
    """The bids, or the asks, of one market. Every price is canonical YES cents, 1..99."""

    __slots__ = ("_highest_first", "_levels", "_occupied")

    def __init__(self, side: BookSide) -> None:
        self._highest_first = side is _BID
        # Indexed by price; the slot of price 0 stays empty.
        self._levels: tuple[PriceQueue[E], ...] = tuple(
            PriceQueue(side, Price(p)) for p in range(PAYOUT_CENTS)
        )
        self._occupied = 0

    def add_entry(self, entry: E, price: Price) -> PriceQueue[E]:
        """Put an entry, which rests nowhere and has shares left, at the back of its price; the
        level it joined."""
        level = self._levels[price]
        entry.level = level
        last = level._last
        if last is None:
            level._first = entry
            self._occupied |= 1 << price
        else:
            last._after = entry
            entry._before = last
        level._last = entry
        level.size += entry.remaining
        return level

    def remove(self, entry: E) -> None:
        """Take a resting entry out; its `remaining` stays as it is."""
        level = entry.level
        assert level is not None
        before, after = entry._before, entry._after
        if before is None:
            level._first = after
            if after is None:
                self._occupied ^= 1 << level.price
        else:
            before._after = after
            entry._before = None
        if after is None:
            level._last = before
        else:
            after._before = before
            entry._after = None
        level.size -= entry.remaining
        entry.level = None

    def shrink(self, entry: E, shares: int) -> None:
        """Take 1..remaining shares off a resting entry, which keeps its place; with nothing left it
        leaves."""
        level = entry.level
        assert level is not None
        if shares == entry.remaining:
            self.remove(entry)
            entry.remaining = _NONE
        else:
            level.size -= shares
            entry.remaining = Qty(entry.remaining - shares)

    def best_price(self) -> Price | None:
        """The best price anything rests at: the highest bid, the lowest ask; None when empty."""
        occupied = self._occupied
        if not occupied:
            return None
        if self._highest_first:
            return Price(occupied.bit_length() - 1)
        return Price((occupied & -occupied).bit_length() - 1)

    def first_within(self, limit: Price) -> E | None:
        """The entry next in line, if its price is `limit` or better for the one who takes it."""
        occupied = self._occupied
        if not occupied:
            return None
        if self._highest_first:
            price = occupied.bit_length() - 1
            return self._levels[price]._first if price >= limit else None
        price = (occupied & -occupied).bit_length() - 1
        return self._levels[price]._first if price <= limit else None

    def level(self, price: Price) -> PriceQueue[E]:
        return self._levels[price]

    def levels(self) -> Iterator[PriceQueue[E]]:
        """The levels that hold anything, best first. The book must not change on the way."""
        ordered = reversed(self._levels) if self._highest_first else iter(self._levels)
        return (level for level in ordered if level.size)

    def levels_within(self, limit: Price) -> Iterator[PriceQueue[E]]:
        """The levels that hold anything as far as `limit`, best first. The book must not change."""
        for level in self.levels():
            if level.price < limit if self._highest_first else level.price > limit:
                return
            yield level


class OrderBook(Generic[E]):
    __slots__ = ("asks", "bids")

    def __init__(self) -> None:
        self.bids: HalfBook[E] = HalfBook(BookSide.BID)
        self.asks: HalfBook[E] = HalfBook(BookSide.ASK)

    def half(self, side: BookSide) -> HalfBook[E]:
        return self.bids if side is _BID else self.asks
