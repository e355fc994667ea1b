"""What a strategy is told of a rung since it was last asked: prints, fills of ours, what rests.

What rests of ours is told in the same tuple until something about it may have changed, or its age
has.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from bot.core.market_data.book import size_at
from bot.core.market_data.queue_position import Queues
from bot.core.orders.order import OwnOrder, State
from bot.strategy.api import Levels, OwnFill, OwnQuote, Print
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK

KEPT_MAX: Final = 64
"""Prints, and fills, told at once at most: the newest. The curve has learned from all of them."""

AGE_STEP_NS: Final = NS_PER_SECOND
"""Ages of what rests are told anew at least so often."""

_RESTS: Final = frozenset(
    {State.OPEN, State.PENDING_REPLACE, State.REPLACE_UNKNOWN, State.PENDING_CANCEL}
)
"""The states in which an order is known to stand in the book, as far as anybody knows."""

_Row = TypeVar("_Row")


class RecentActivity:
    """The news of one rung."""

    def __init__(self) -> None:
        self.has_news = False  # something changed since the strategy was last shown it
        self._prints: list[tuple[Price, Qty, BookSide, int]] = []
        self._fills: list[tuple[BookSide, Price, Qty, int]] = []
        self._own: tuple[OwnQuote, ...] = ()
        self._own_until_ns = 0
        self._book: tuple[Levels, Levels] | None = None  # with which `_own` was told

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
        """Our orders, or the shares queued before them, may have changed."""
        self._own_until_ns = 0

    # --- telling ----------------------------------------------------------------------------------

    def prints(self, now_ns: int) -> tuple[Print, ...]:
        """The trades since the strategy was last asked, oldest first."""
        return tuple(
            Print(price, qty, taker, _seconds(now_ns - at_ns))
            for price, qty, taker, at_ns in self._prints
        )

    def fills(self, now_ns: int) -> tuple[OwnFill, ...]:
        """Our fills since the strategy was last asked, oldest first."""
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
            self._own, self._book = _resting(orders, queues, book, now_ns), book
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


def _resting(
    orders: Iterable[OwnOrder], queues: Queues, book: tuple[Levels, Levels], now_ns: int
) -> tuple[OwnQuote, ...]:
    """One row for each price of each side at which something of ours rests, bids before asks and
    the boldest first."""
    bids: dict[Price, tuple[int, float, int]] = {}  # shares, those before them, placed when
    asks: dict[Price, tuple[int, float, int]] = {}
    for own in orders:
        qty = own.remaining
        if qty <= 0 or own.state not in _RESTS:
            continue
        rows, levels = (bids, book[0]) if own.book_side is _BID else (asks, book[1])
        queue, price, placed_ns = queues.of(own), own.yes_price, own.placed_ns
        if queue is not None and queue.is_placed:
            ahead = queue.likely
        else:
            ahead = float(size_at(levels, price))
        if price in rows:
            more, least, first_ns = rows[price]
            qty, ahead, placed_ns = Qty(qty + more), min(ahead, least), min(placed_ns, first_ns)
        rows[price] = (qty, ahead, placed_ns)
    sides = ((_BID, sorted(bids.items(), reverse=True)), (_ASK, sorted(asks.items())))
    return tuple(
        [
            OwnQuote(side, price, Qty(qty), ahead, _seconds(now_ns - placed_ns))
            for side, rows_of in sides
            for price, (qty, ahead, placed_ns) in rows_of
        ]
    )
