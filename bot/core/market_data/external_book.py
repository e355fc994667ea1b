"""The book of one market without our own size, as of an instant at which both speak of one time."""

from collections.abc import Iterable, Sequence
from typing import Final

from bot.core.market_data.book import Book
from bot.core.orders.order import IN_FLIGHT, OwnOrder
from bot.strategy.api import Levels
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty

_BID: Final = BookSide.BID

_UNSETTLED_MAX_NS: Final = NS_PER_SECOND


class ExternalBook:
    """What others have in one book."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._left: tuple[Levels, Levels] | None = None  # until the book or our orders change
        # Until our orders change: what is of ours, and whether a write to some is under way.
        self._mine: tuple[dict[Price, Qty], dict[Price, Qty]] | None = None
        self._is_writing = False
        self.shown: tuple[Levels, Levels] = ((), ())  # what `settled` returned last
        self.changed_ns = 0  # by our clock, since when; a write of ours does not change it
        # While `shown` is frozen, because the book and our orders are not of one instant: when it
        # moves again at the latest; else None.
        self.settled_from_ns: int | None = None
        self.is_behind = False  # they did not when it was asked for last, though it may have moved
        self.depth_ns: int | None = None  # when it was last settled with something in it
        # The venue's time of our newest change that its book has to show, 0 when a read has shown
        # that it holds all of them.
        self.owed_ns = 0
        self._settled_book: tuple[Levels, Levels] | None = None  # with ours, as `shown` came of it
        self._changed_ns = 0  # by the venue's time, our newest change that a write has shown

    def book_changed(self) -> None:
        """The book is another one."""
        self._left = None

    def own_changed(self) -> None:
        """Our orders, or how they stand, are not what they were: whoever changes them tells."""
        self._left = self._mine = None

    def wrote(self, venue_ns: int) -> None:
        """An answer to a write showed an order of ours as of this instant of the venue's."""
        self._changed_ns = max(self._changed_ns, venue_ns)
        self.owed_ns = max(self.owed_ns, venue_ns)

    def held_at(self, venue_ns: int) -> None:
        """The very book was read as of this instant of the venue's: it holds our changes until
        then, though no frame has said so."""
        if venue_ns >= self._changed_ns:
            self._changed_ns = 0

    @property
    def has_caught_up(self) -> bool:
        """Whether both may speak of one time now that did not when it was asked for last."""
        return self.is_behind and (self._book.ts_ns or 0) >= self._changed_ns

    def forget_stamps(self) -> None:
        """The venue's clock ran backwards: no book is waited for by the old one."""
        self._changed_ns = self.owed_ns = 0

    def left(self, own: Iterable[OwnOrder]) -> tuple[Levels, Levels]:
        """The book without our own size; what may rest at two prices is taken out at both.

        Right only while book and orders speak of the same instant: see `settled`.
        """
        if self._left is None:
            mine = self._mine or self._gathered(own)
            self._left = self._book.others(*mine)
        return self._left

    def settled(self, own: Sequence[OwnOrder], now_ns: int) -> tuple[Levels, Levels]:
        """The book without our own size, as of the last instant at which both spoke of one time.

        While a write of ours is under way, or its effect is not in the book yet, our own size
        would be taken for others', or theirs for ours; quotes that followed would follow
        themselves, for ever. So it stands still meanwhile: a second at most where the
        book says something else by then, and for as long as it does not where it does not.
        """
        book = self._book
        if self._mine is None:
            self._gathered(own)
        is_one = not self._is_writing and (book.ts_ns is None or book.ts_ns >= self._changed_ns)
        self.is_behind = not is_one
        if is_one:
            self.settled_from_ns = None
        else:
            if self.settled_from_ns is None:
                self.settled_from_ns = now_ns + _UNSETTLED_MAX_NS
            if now_ns < self.settled_from_ns:
                return self.shown
            self.settled_from_ns = None
        if is_one or self._settled_book != (book.bids, book.asks):
            left = self._left or self.left(own)
            if left is not self.shown:
                if left != self.shown:
                    self.changed_ns = now_ns
                self.shown, self._settled_book = left, None
            if is_one and self._settled_book is None:
                self._settled_book = (book.bids, book.asks)
        if self.shown != ((), ()):
            self.depth_ns = now_ns
        return self.shown

    def _gathered(self, own: Iterable[OwnOrder]) -> tuple[dict[Price, Qty], dict[Price, Qty]]:
        """Shares of ours at each canonical price, bids and asks; at both where one of two is
        theirs."""
        bids: dict[Price, Qty] = {}
        asks: dict[Price, Qty] = {}
        self._is_writing = False
        for order in own:
            if order.state in IN_FLIGHT:
                self._is_writing = True
            mine, left = bids if order.book_side is _BID else asks, order.remaining
            for level in order.yes_prices:
                mine[level] = Qty(mine.get(level, 0) + left)
        self._mine = (bids, asks)
        return self._mine
