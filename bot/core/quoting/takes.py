"""From a wish to trade now to the orders that do it: what may leave at all, and by which route.

A take is about this very moment: what cannot leave on the beat of the answer that wished for it is
dropped, and told by its reason. None leaves where the book it was wished for is not known to be the
book there is, where another one of the rung has no answer yet, or where it could meet anything of
ours that may be live.
"""

from collections.abc import Iterable, Sequence

from bot.core.orders.order import OwnOrder
from bot.core.planning.actions import CreateAction, crosses, free_shares
from bot.core.quoting.market_quoter import MarketQuoter
from bot.core.report import TakeOutcome
from bot.core.risk.limits import takable
from bot.strategy.api import Take
from venue.wire.money import BookSide, Outcome, Qty, Side
from venue.wire.requests import TimeInForce


def leaving(
    rung: MarketQuoter, wanted: Iterable[Take], ceiling: Qty | None
) -> tuple[list[Take], list[TakeOutcome]]:
    """The takes of an answer that may leave this rung, as its market takes them; and why others may
    not. ceiling: the most shares of one order there, None while none is known."""
    fate = None if rung.is_settled else TakeOutcome.UNSETTLED
    if not rung.may_send:
        fate = TakeOutcome.UNQUOTABLE
    takes: list[Take] = []
    dropped: list[TakeOutcome] = []
    for each in wanted:
        take = takable(each, rung.market, ceiling)
        if take is None or fate is not None:
            dropped.append(fate or TakeOutcome.HELD_BACK)
        else:
            takes.append(take)
    return takes, dropped


def barred(take: Take, orders: Sequence[OwnOrder]) -> TakeOutcome | None:
    """Why our orders of its rung keep a take from leaving now; None when they do not.

    orders: all of the rung that may be live.
    """
    for own in orders:
        if own.is_take or (own.is_unknown and own.book_side is take.side):
            return TakeOutcome.UNDECIDED
    return TakeOutcome.MEETS_OWN if crosses(take.side, take.price, orders) else None


def routes(
    take: Take, yes_qty: Qty, no_qty: Qty, orders: Sequence[OwnOrder]
) -> tuple[CreateAction, ...]:
    """The one or two orders that carry a take out: what is held is sold before anything is bought.

    A whole take is one order, for two of them could not be filled both or neither: a sale where
    free shares suffice, else a purchase of all of it.
    """
    held = Outcome.NO if take.side is BookSide.BID else Outcome.YES
    free = free_shares(yes_qty, no_qty, orders).of(held)
    sold = max(0, min(free, take.qty))
    if take.whole and sold < take.qty:
        sold = 0
    tif = TimeInForce.FOK if take.whole else TimeInForce.IOC
    out = []
    if sold:
        why = f"take {take.side} {take.price} from shares held"
        out.append(CreateAction(take.side, take.price, held, Side.SELL, Qty(sold), why, 0.0, tif))
    if sold < take.qty:
        why, left = f"take {take.side} {take.price}", Qty(take.qty - sold)
        out.append(CreateAction(take.side, take.price, held.other, Side.BUY, left, why, 0.0, tif))
    return tuple(out)
