"""Which prints of a rung are takes of ours: what we have done ourselves is no news to us.

A take clears the touch that it was wished for, so its own print looks like that of somebody who
knows more. The print may come before the answer to the take or after it; the channel names nobody.
"""

from collections.abc import Iterable
from typing import Final

from bot.core.market_data.queue_position import place_of
from bot.core.orders.order import OwnOrder
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide

_APART_NS: Final = 5 * NS_PER_SECOND
"""A print comes no further from the sending of its take, nor from the answer to that; one that is
later may be anybody's (judgement)."""


class OwnTradeFilter:
    """The shares that takes of ours have traded on one rung, and whose prints are still to come."""

    def __init__(self) -> None:
        # By taker; below zero where prints have come of a take that has no answer yet.
        self._left = {BookSide.BID: 0, BookSide.ASK: 0}
        self._until_ns = 0

    def answered(self, shown: model.Order, now_ns: int) -> None:
        """The answer to a take of ours shows what it has traded."""
        place = place_of(shown)
        if place is None:
            return
        self._forget(now_ns)
        self._left[place[0]] += shown.filled_qty
        self._until_ns = now_ns + _APART_NS

    def part_of(self, taker: BookSide, size: int, own: Iterable[OwnOrder], now_ns: int) -> int:
        """How many shares of a print are ours, 0..size. own: our orders of the rung that may be
        live."""
        since_ns = now_ns - _APART_NS
        under_way = sum(
            order.remaining
            for order in own
            if order.is_take and order.book_side is taker and order.placed_ns >= since_ns
        )
        self._forget(now_ns)
        part = min(size, self._left[taker] + under_way)
        if part <= 0:
            return 0
        self._left[taker] -= part
        self._until_ns = now_ns + _APART_NS
        return part

    def _forget(self, now_ns: int) -> None:
        if now_ns > self._until_ns:
            self._left = dict.fromkeys(BookSide, 0)
