"""What a strategy is told of a rung since it was last asked: prints, fills of ours, what rests.

A rung on which nothing happened costs nothing: the empty tuples are shared, and what rests of ours
is told in the same tuple until something about it may have changed, or its age has. What rests
where is gathered once for as long as our orders, and the queues that they stand in, stay as they
are; what stands before it, and how old it is, is told anew with every book.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from bot.core.books.queue import QueueAhead, Queues
from bot.core.orders.order import OwnOrder, State
from bot.core.strategy import Levels, OwnFill, OwnQuote, Print
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK

KEPT_MAX: Final = 64
"""Prints, and fills, told at once at most: the newest. The curve has learned from all of them."""

AGE_STEP_NS: Final = NS_PER_SECOND
"""Ages of what rests are told anew at least so often."""

_RESTS: Final = frozenset({State.OPEN, State.AMENDING, State.BLURRED, State.CANCELLING})
"""The states in which an order is known to stand in the book, as far as anybody knows."""

_INF: Final = math.inf

_Row = TypeVar("_Row")

_Rests = tuple[BookSide, Price, Qty, int, Sequence[QueueAhead | None]]
"""Shares of ours at a price, since when the oldest order of them was placed, and the queue of each
order; None while nothing is known of it."""


class Recent:
    """The news of one rung. has_news: something is to be told that was not told yet."""

    __slots__ = (
        "_book",
        "_epoch",
        "_fills",
        "_own",
        "_own_until_ns",
        "_prints",
        "_rests",
        "has_news",
    )

    def __init__(self) -> None:
        self.has_news = False
        self._prints: list[tuple[Price, Qty, BookSide, int]] = []
        self._fills: list[tuple[BookSide, Price, Qty, int]] = []
        self._own: tuple[OwnQuote, ...] = ()
        self._own_until_ns = 0
        self._book: tuple[Levels, Levels] | None = None  # with which `_own` was told
        self._rests: list[_Rests] | None = None  # until our orders or their queues change
        self._epoch = 0  # of the queues

    # --- believing --------------------------------------------------------------------------------

    def printed(self, price: Price, qty: Qty, taker: BookSide, now_ns: int) -> None:
        """A trade was shown; our place in the queue may be another one."""
        _keep(self._prints, (price, qty, taker, now_ns))
        self.has_news = True
        self._own_until_ns = 0

    def filled(self, side: BookSide, price: Price, qty: Qty, now_ns: int) -> None:
        """A fill of ours was booked, canonical."""
        _keep(self._fills, (side, price, qty, now_ns))
        self.has_news = True

    def own_changed(self) -> None:
        """Something about our orders is not what it was."""
        self._rests = None
        self._own_until_ns = 0

    def place_changed(self) -> None:
        """What stands before our orders may be another."""
        self._own_until_ns = 0

    # --- telling ----------------------------------------------------------------------------------

    def prints(self, now_ns: int) -> tuple[Print, ...]:
        """The trades since the strategy was last asked, oldest first."""
        if not self._prints:
            return ()
        return tuple(
            [
                Print(price, qty, taker, _seconds(now_ns - at_ns))
                for price, qty, taker, at_ns in self._prints
            ]
        )

    def fills(self, now_ns: int) -> tuple[OwnFill, ...]:
        """Our fills since the strategy was last asked, oldest first."""
        if not self._fills:
            return ()
        return tuple(
            OwnFill(side, price, qty, _seconds(now_ns - at_ns))
            for side, price, qty, at_ns in self._fills
        )

    def own(
        self, orders: Sequence[OwnOrder], queues: Queues, book: tuple[Levels, Levels], now_ns: int
    ) -> tuple[OwnQuote, ...]:
        """What rests of ours, bids before asks and the boldest first; the very tuple told before
        where nothing can have changed but ages by less than a second.

        book: that of others, canonical, the very object of before where it is the same; what stands
        there counts as before us while nothing better is known of our place.
        """
        if not orders:
            return ()
        if now_ns >= self._own_until_ns or book is not self._book:
            if self._rests is None or self._epoch != queues.epoch:
                self._rests, self._epoch = _resting(orders, queues), queues.epoch
            self._own, self._book = _told(self._rests, book, now_ns), book
            self._own_until_ns = now_ns + AGE_STEP_NS
        return self._own

    def told(self) -> None:
        """The strategy was asked: what comes now is news."""
        self._prints.clear()
        self._fills.clear()
        self.has_news = False


def _keep(rows: list[_Row], row: _Row) -> None:
    rows.append(row)
    if len(rows) > KEPT_MAX:
        del rows[0]


def _seconds(ns: int) -> float:
    return ns / NS_PER_SECOND if ns > 0 else 0.0


def _resting(orders: Iterable[OwnOrder], queues: Queues) -> list[_Rests]:
    """One row for each price of each side at which something of ours rests, bids before asks and
    the boldest first."""
    bids: dict[Price, list[OwnOrder]] = {}
    asks: dict[Price, list[OwnOrder]] = {}
    for own in orders:
        if own.remaining > 0 and own.state in _RESTS:
            (bids if own.side is _BID else asks).setdefault(own.level, []).append(own)
    places = [(_BID, price, bids[price]) for price in sorted(bids, reverse=True)]
    places += [(_ASK, price, asks[price]) for price in sorted(asks)]
    return [
        (
            side,
            price,
            Qty(sum(own.remaining for own in here)),
            min(own.placed_ns for own in here),
            [queues.of(own) for own in here],
        )
        for side, price, here in places
    ]


def _told(
    rests: Iterable[_Rests], book: tuple[Levels, Levels], now_ns: int
) -> tuple[OwnQuote, ...]:
    """What rests as a strategy sees it."""
    told = []
    for side, price, qty, placed_ns, queues in rests:
        least = _INF
        for queue in queues:
            if queue is not None and queue.is_placed:
                ahead = queue.likely
            else:
                levels = book[0] if side is _BID else book[1]
                ahead = float(next((size for at, size in levels if at == price), 0))
            if ahead < least:
                least = ahead
        age_s = (now_ns - placed_ns) / NS_PER_SECOND if now_ns > placed_ns else 0.0
        told.append(OwnQuote(side, price, qty, least, age_s))
    return tuple(told)
