"""Wanted quotes without their flicker: the safest that was wanted of late, of each level of a side.

A quote steps back at once, and comes forward once it has been wanted so long. Nothing else keeps a
value that swings a tick back and forth from moving an order at every swing. What is returned is at
most as bold, and at most as large, as what is wanted now; what is wanted now is its limit, so that
an order which stands there is left there.

Source: reliability, rows 27 and 38; design, The bot, item 5.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final

from bot.core.strategy import Quote
from venue.wire.money import BookSide, Price, Qty

_BID: Final = BookSide.BID

_Level = tuple[int, int]
"""Boldness of a price (higher is nearer to the other side) and shares."""

_PRICE = attrgetter("price")


def by_side(wanted: Iterable[Quote]) -> tuple[list[Quote], list[Quote]]:
    """The bids and the asks of these quotes, the best of each side first."""
    bids: list[Quote] = []
    asks: list[Quote] = []
    for quote in wanted:
        (bids if quote.side is _BID else asks).append(quote)
    if len(bids) > 1:
        bids.sort(key=_PRICE, reverse=True)
    if len(asks) > 1:
        asks.sort(key=_PRICE)
    return bids, asks


known_sides = lru_cache(maxsize=1_024)(by_side)
"""As `by_side`, of a tuple. Prices swing: what is wanted of a rung has mostly been wanted before.
The lists are not to be changed."""


class Steady:
    """The memory of one side of one rung. window_ns: how long a bolder or larger wish must last; it
    comes into force at most twice as long after it began."""

    __slots__ = ("_before", "_last", "_now", "_sign", "_since_ns", "_wanted", "_window_ns")

    def __init__(self, side: BookSide, window_ns: int) -> None:
        self._sign = 1 if side is _BID else -1
        self._window_ns = window_ns
        self.forget()

    def last(self, window_ns: int) -> None:
        """Let a wish last another time from here on."""
        self._window_ns = window_ns

    def forget(self) -> None:
        """What was wanted says nothing any more: the next wish is taken as it is."""
        self._wanted: Sequence[Quote] | None = None  # what `_last` are the levels of
        self._last: list[_Level] | None = None
        self._before: list[_Level] = []
        self._now: list[_Level] = []
        self._since_ns = 0

    def quotes(self, wanted: Sequence[Quote], now_ns: int) -> tuple[Sequence[Quote], int | None]:
        """The steady quotes of this side, and when they may change by themselves. wanted: those of
        this side alone, best first; so is what is returned. Neither is changed by anybody."""
        if not self._window_ns:
            return wanted, None
        if wanted is self._wanted and self._last is not None:
            fresh: list[_Level] = self._last
        else:
            sign = self._sign
            fresh = [(sign * quote.price, quote.qty) for quote in wanted]
            self._wanted = wanted
        if self._last is None:
            self._before = self._now = fresh
            self._since_ns = now_ns
        elif now_ns >= self._since_ns + self._window_ns:
            alone = now_ns >= self._since_ns + 2 * self._window_ns
            # Nothing was said for a whole window: what was wanted last was wanted throughout.
            self._before = self._last if alone else self._now
            self._now = fresh
            self._since_ns = now_ns
        else:
            self._now = _safest(self._now, fresh)
        self._last = fresh
        steady = _safest(self._before, self._now)
        if steady == fresh:
            return wanted, None
        held_back = [
            self._held_back(quote, level) for quote, level in zip(wanted, steady, strict=False)
        ]
        return held_back, self._since_ns + self._window_ns

    def _held_back(self, quote: Quote, level: _Level) -> Quote:
        price, qty = Price(self._sign * level[0]), Qty(level[1])
        if price == quote.price and qty == quote.qty:
            return quote
        return Quote(quote.side, price, qty, quote.price if quote.limit is None else quote.limit)


def _safest(some: list[_Level], others: list[_Level]) -> list[_Level]:
    """Level by level the less bold price and the lesser size; as many levels as both have."""
    if some == others:
        return some
    return [
        (a[0] if a[0] < b[0] else b[0], a[1] if a[1] < b[1] else b[1])
        for a, b in zip(some, others, strict=False)
    ]
