"""What the limits of order size and rung position leave of the quotes of one rung, by itself."""

from collections.abc import Sequence
from operator import mul
from typing import Final

import msgspec

from bot.core.limits.risk import Exposure
from bot.core.settings import RiskSettings
from bot.core.strategy import Quote
from venue.wire.money import BookSide, Qty

_BID: Final = BookSide.BID


class Sheet:
    """What is known of one rung while its quotes are these, and what is held and the limits too.

    rows: of each quote the row in which its size stands: even for bids, odd for asks, the best
    first. caps: what order size and rung position leave of each quote, and losses: the most that
    one share of it can lose, by row; 0 where there is none. full: the quotes as their caps leave
    them. sums: shares of the bids and of the asks as their caps leave them, and what they can lose
    together; qty, cents: the same of both sides. sizes, kept: by row what stood after the last
    sharing, and the quotes of these sizes.
    """

    __slots__ = (
        "caps",
        "cents",
        "full",
        "index",
        "kept",
        "losses",
        "qty",
        "quotes",
        "rows",
        "sizes",
        "sums",
    )

    def __init__(
        self, quotes: tuple[Quote, ...], index: int, held: Exposure, limits: RiskSettings
    ) -> None:
        self.quotes = quotes
        self.index = index
        bids: list[tuple[int, int]] = []
        asks: list[tuple[int, int]] = []
        for place, quote in enumerate(quotes):
            if quote.side is _BID:
                bids.append((-quote.price, place))
            else:
                asks.append((quote.price, place))
        rows = 2 * max(len(bids), len(asks))
        self.rows = [0] * len(quotes)
        self.caps, self.losses = [0] * rows, [0] * rows
        for first, side in ((0, bids), (1, asks)):
            if side:
                side.sort()
                self._cap(side, first, held, limits)
        self.sums = bids_sum, asks_sum = self._sums(0), self._sums(1)
        self.qty, self.cents = bids_sum[0] + asks_sum[0], bids_sum[1] + asks_sum[1]
        self.full = self._sized(self.caps)
        self.sizes: Sequence[int] = tuple(self.caps)  # as sharing tells them
        self.kept = self.full

    def _cap(
        self, side: list[tuple[int, int]], row: int, held: Exposure, limits: RiskSettings
    ) -> None:
        """Bring one side within the caps of order size and rung position, best first."""
        quotes, losses = self.quotes, held.share_losses(self.index, is_bid=row == 0)
        room = held.position_room_of(self.index, limits.rung_position_qty, is_bid=row == 0)
        for _, place in side:
            quote = quotes[place]
            self.rows[place] = row
            self.losses[row] = losses[quote.price]
            self.caps[row] = max(0, min(quote.qty, limits.order_qty, room))
            room -= self.caps[row]
            row += 2

    def _sized(self, sizes: Sequence[int]) -> tuple[Quote, ...]:
        """The quotes with these sizes by row; `quotes` itself where that is what they want."""
        wanted = [sizes[row] for row in self.rows]
        if wanted == [quote.qty for quote in self.quotes]:
            return self.quotes
        return tuple(
            quote if size == quote.qty else msgspec.structs.replace(quote, qty=Qty(size))
            for quote, size in zip(self.quotes, wanted, strict=True)
            if size > 0
        )

    def stands(self, sizes: Sequence[int]) -> None:
        """These sizes stand, by row; `kept` is the same object while they are the same."""
        if sizes != self.sizes:
            self.sizes = sizes
            self.kept = self._sized(sizes)

    def _sums(self, row: int) -> tuple[int, int]:
        caps = self.caps[row::2]
        return sum(caps), sum(map(mul, caps, self.losses[row::2]))
