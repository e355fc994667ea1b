"""Takes: which of them may leave now, and as which orders.

A take is about this moment: it leaves on the tick of the answer that contains it, or it is dropped
and counted by its reason. It is dropped if the view of its book is frozen, if another take of the
market is in flight, or if it could meet an order of ours that may be live.
"""

from collections.abc import Iterable, Sequence

from bot.core.orders.order import OwnOrder
from bot.core.planning.actions import CreateAction, crosses, free_shares
from bot.core.quoting.event_quoter import MarketQuoter
from bot.core.report import TakeOutcome
from bot.core.risk.limits import takable
from bot.strategy.api import Take
from venue.wire.money import BookSide, Outcome, Qty, Side
from venue.wire.requests import TimeInForce


def leaving(
    rung: MarketQuoter, wanted: Iterable[Take], ceiling: Qty | None
) -> tuple[list[Take], list[TakeOutcome]]:
    """The takes of an answer that may leave, on the price grid of the market; and why others may
    not. ceiling: the most shares of one order there, None while unknown."""
    fate = None if rung.state.settles_ns is None else TakeOutcome.UNSETTLED
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
    """Why our live orders on its market bar a take; None if they do not."""
    for own in orders:
        if own.is_take or (own.is_unknown and own.book_side is take.side):
            return TakeOutcome.UNDECIDED
    return TakeOutcome.MEETS_OWN if crosses(take.side, take.price, orders) else None


def routes(
    take: Take, yes_qty: Qty, no_qty: Qty, orders: Sequence[OwnOrder]
) -> tuple[CreateAction, ...]:
    """The one or two orders of a take: inventory is sold before anything is bought.

    A whole take is one order, for nobody can fill two of them both or neither: a sale if the free
    shares suffice, else a purchase.
    """
    held = Outcome.NO if take.side is BookSide.BID else Outcome.YES
    yes_free, no_free = free_shares(yes_qty, no_qty, orders)
    free = no_free if held is Outcome.NO else yes_free
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
