"""Which quotes would trade at once, and which orders must not stay where they stand.

Source: reliability, rows 14, 22, 26, 38, B5.
"""

from typing import Final

from bot.core.orders.order import OwnOrder, State
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


def why_to_go(own: OwnOrder, fair_cents: float | None) -> str | None:
    """Why an order is to be cancelled now or when its time has come, whatever is wanted; None where
    it is not. fair_cents: the fair value of its rung, None while unknown.

    One that steps back, and whose change has no definite answer, may stand where it stood until
    reads have told, for seconds: a cancel tells at once.
    """
    if own.doomed:
        return own.why
    if own.state is not State.BLURRED or own.amend is None or fair_cents is None:
        return None
    stuck = steps_back(own, own.amend, fair_cents)
    return "beyond the fair price, and its change has no answer" if stuck else None
