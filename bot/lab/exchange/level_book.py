"""A market's book as the channel shows it, put together from changes of levels."""

from bot.core.strategy import Levels
from venue.core import messages as v
from venue.wire.money import BookSide, Price, Qty


class LevelBook:
    """Shares by price of each side, canonical YES. at_ns: of the newest change."""

    __slots__ = ("_levels", "asks", "at_ns", "bids")

    def __init__(self, at_ns: int) -> None:
        self.bids: dict[Price, Qty] = {}
        self.asks: dict[Price, Qty] = {}
        self.at_ns = at_ns
        self._levels: tuple[Levels, Levels] | None = None

    def change(self, event: v.LevelChanged) -> None:
        """A level has another size, 0 where it is gone."""
        sizes = self.bids if event.side is BookSide.BID else self.asks
        if event.size:
            sizes[event.price] = event.size
        else:
            sizes.pop(event.price, None)
        self.at_ns = event.at_ns
        self._levels = None

    def levels(self) -> tuple[Levels, Levels]:
        """Bids and asks, best first."""
        if self._levels is None:
            bids = tuple(sorted(self.bids.items(), reverse=True))
            self._levels = (bids, tuple(sorted(self.asks.items())))
        return self._levels
