"""Planted bugs of group D: books that are believed though nothing speaks for them any more."""

from collections.abc import Iterable
from typing import Final

from bot.core.books.book import Book
from bot.core.books.others import Others
from bot.core.event.rung import Rung
from bot.core.orders.order import OwnOrder
from bot.core.strategy import Levels
from tests.mutants.bug import Bug, Patch

_believable = Book.believable


def _kept(self: Rung) -> None:
    self.doubt()


def _crossed_too(self: Book, now_ns: int, max_age_ns: int) -> bool:
    asks, self.asks = self.asks, ()
    try:
        return _believable(self, now_ns, max_age_ns)
    finally:
        self.asks = asks


def _ours_too(self: Others, own: Iterable[OwnOrder]) -> tuple[Levels, Levels]:
    return self._book.bids, self._book.asks


MARKET: Final = (
    Bug(
        "reconnect-keeps-the-book",
        (42,),
        "The book from before a disconnect is quoted on after it.",
        ("B4",),
        (Patch(Rung, "forget_book", _kept),),
        likely=("feed_close",),
    ),
    Bug(
        "own-size-is-theirs",
        (47,),
        "Our own orders are left in the book that our quotes follow.",
        ("B2",),
        (Patch(Others, "left", _ours_too),),
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
