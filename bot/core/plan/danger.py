"""Which quotes would trade at once, and which orders must not stay where they stand."""

from typing import Final

from bot.core.orders.order import OwnOrder
from bot.core.strategy import Levels
from venue.wire.money import BookSide, Price, canonical
from venue.wire.requests import Amend

_BID: Final = BookSide.BID


def reaches(side: BookSide, price: Price, theirs: Levels) -> bool:
    """Whether an order at a price would trade with the best of the other side."""
    if not theirs:
        return False
    return price >= theirs[0][0] if side is _BID else price <= theirs[0][0]


def steps_back(own: OwnOrder, amend: Amend, fair_cents: float) -> bool:
    """Whether an order stands where others would gladly trade with it, and a change would bring it
    further from that."""
    if amend.price is None:
        return False
    sign = 1 if own.side is _BID else -1
    price = canonical(own.outcome, amend.price)
    return sign * own.level > sign * fair_cents and sign * price < sign * own.level
