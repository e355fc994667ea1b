"""Planted bugs of group D: books that are believed though nothing speaks for them any more."""

from collections.abc import Iterable
from typing import Final

from bot.core.market_data.book import Book
from bot.core.market_data.external_book import ExternalBook
from bot.core.orders.order import OwnOrder
from bot.core.quoting.market_quoter import MarketQuoter
from bot.lab.sim.run import Patch
from bot.strategy.api import Levels
from tests.mutants.bug import Bug

_believable = Book.believable


def _kept(self: MarketQuoter) -> None:
    self.doubt()


def _crossed_too(self: Book, now_ns: int, max_age_ns: int) -> bool:
    asks, self.asks = self.asks, ()
    try:
        return _believable(self, now_ns, max_age_ns)
    finally:
        self.asks = asks


def _ours_too(self: ExternalBook, own: Iterable[OwnOrder]) -> tuple[Levels, Levels]:
    return self._book.bids, self._book.asks


MARKET: Final = (
    Bug(
        "reconnect-keeps-the-book",
        (42,),
        "The book from before a disconnect is quoted on after it.",
        ("B4",),
        (Patch(MarketQuoter, "forget_book", _kept),),
        likely=("feed_close",),
    ),
    Bug(
        "own-size-is-theirs",
        (47,),
        "Our own orders are left in the book that our quotes follow.",
        ("B2",),
        (Patch(ExternalBook, "left", _ours_too),),
    ),
    Bug(
        "crossed-book-quoted",
        (48,),
        "A crossed book is quoted on.",
        ("B4",),
        (Patch(Book, "believable", _crossed_too),),
        likely=("frame_crossed",),
    ),
)
