"""Whether what rests on a side of a rung is what is wanted there: the uptime that is measured.

A side is on target when every quote wanted there has enough shares resting at its price, or up to
the tolerance on the safe side of it. Enough is what is short by no more than a resize is sent for,
a share at the least: the rest of a partly filled order that is not topped up yet still is the
quote, and nothing never is.
"""

from collections.abc import Iterable, Sequence

from bot.core.orders.order import OwnOrder, State
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from venue.wire.money import BookSide

_RESTS = (State.OPEN, State.PENDING_REPLACE)
_WHOLE_PCT = 10**2


def sides_on_target(
    wanted: Sequence[Quote], orders: Iterable[OwnOrder], pace: PaceSettings
) -> tuple[BookSide, ...]:
    """The sides on which all that is wanted rests, bids first; one where nothing is wanted is none
    of them. wanted: the quotes that orders are steered to. orders: our live ones of the rung."""
    resting = [own for own in orders if own.state in _RESTS]
    return tuple(side for side in BookSide if _is_on_target(side, wanted, resting, pace))


def _is_on_target(
    side: BookSide, wanted: Sequence[Quote], resting: Sequence[OwnOrder], pace: PaceSettings
) -> bool:
    sign = 1 if side is BookSide.BID else -1
    quotes = sorted((each for each in wanted if each.side is side), key=lambda q: -sign * q.price)
    left = sorted(
        ([sign * own.yes_price, int(own.remaining)] for own in resting if own.book_side is side),
        reverse=True,
    )
    for quote in quotes:
        bold = sign * quote.price
        missing = max(1, -(-quote.qty * (_WHOLE_PCT - pace.resize_pct) // _WHOLE_PCT))
        for order in left:
            if bold - pace.tolerance_ticks <= order[0] <= bold:
                used = min(order[1], missing)
                order[1] -= used
                missing -= used
        if missing > 0:
            return False
    return bool(quotes)
