"""Wanted quotes without their flicker: the safest that was wanted of late, of each level of a side.

A quote steps back at once, and comes forward once it has been wanted so long. Nothing else keeps a
value that swings a tick back and forth from moving an order at every swing. What is returned is at
most as bold, and at most as large, as what is wanted now; what is wanted now is its limit, so that
an order which stands there is left there.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Final

from bot.strategy.api import Quote
from venue.wire.money import BookSide, Price, Qty

_BID: Final = BookSide.BID

_Levels = tuple[list[Price], list[Qty]]
"""The prices of a side, the best first, and the shares at each."""

_PRICE = attrgetter("price")
_QTY = attrgetter("qty")

BySide = tuple[list[Quote], list[Quote]]
"""The bids and the asks of quotes, the best of each side first."""


def by_side(wanted: Iterable[Quote]) -> BySide:
    """The bids and the asks of these quotes, the best of each side first."""
    bids: list[Quote] = []
    asks: list[Quote] = []
    for quote in wanted:
        (bids if quote.side is _BID else asks).append(quote)
    bids.sort(key=_PRICE, reverse=True)
    asks.sort(key=_PRICE)
    return bids, asks


class QuoteDebouncer:
    """The memory of one side of one rung. window_ns: how long a bolder or larger wish must last; it
    comes into force at most twice as long after it began."""

    def __init__(self, side: BookSide, window_ns: int) -> None:
        self._safer: Callable[[Price, Price], Price] = min if side is _BID else max
        self._window_ns = window_ns
        self.forget()

    def forget(self) -> None:
        """What was wanted says nothing any more: the next wish is taken as it is."""
        self._last: _Levels | None = None
        self._before: _Levels = ([], [])
        self._now: _Levels = ([], [])
        self._turn_ns = 0

    def last(self, window_ns: int) -> None:
        """Let a wish last another time from here on."""
        self._turn_ns += window_ns - self._window_ns
        self._window_ns = window_ns

    def quotes(self, wanted: Sequence[Quote], now_ns: int) -> tuple[Sequence[Quote], int | None]:
        """The steady quotes of this side, best first, and when they may change by themselves.

        wanted: what is wanted now, the best first.
        """
        if not self._window_ns:
            return wanted, None
        fresh: _Levels = (list(map(_PRICE, wanted)), list(map(_QTY, wanted)))
        if self._last is None:
            self._before = self._now = fresh
            self._turn_ns = now_ns + self._window_ns
        elif now_ns >= self._turn_ns:
            alone = now_ns >= self._turn_ns + self._window_ns
            # Nothing was said for a whole window: what was wanted last was wanted throughout.
            self._before = self._last if alone else self._now
            self._now = fresh
            self._turn_ns = now_ns + self._window_ns
        else:
            self._now = self._safest(self._now, fresh)
        self._last = fresh
        steady = self._safest(self._before, self._now)
        if steady == fresh:
            return wanted, None
        return _held_back(wanted, steady), self._turn_ns

    def _safest(self, some: _Levels, others: _Levels) -> _Levels:
        """Level by level the less bold price and the lesser size; as many levels as both have."""
        if some == others:
            return some
        (prices, sizes), (other_prices, other_sizes) = some, others
        return list(map(self._safer, prices, other_prices)), list(map(min, sizes, other_sizes))


def _held_back(wanted: Sequence[Quote], steady: _Levels) -> list[Quote]:
    """The quotes at steady levels: what is wanted is their limit."""
    quotes: list[Quote] = []
    for quote, price, qty in zip(wanted, *steady, strict=False):
        if price == quote.price and qty == quote.qty:
            quotes.append(quote)
        else:
            limit = quote.price if quote.limit is None else quote.limit
            quotes.append(Quote(quote.side, price, qty, limit))
    return quotes
