"""What is owned, in the terms of a spot market: shares of a base, and cash for the rest.

The base of a rung is YES. A NO share is a dollar at the end less a YES share, so it counts as one
share less of the base and a dollar of cash: the value of the whole is then exact at every price.
"""

from bot.core.strategy import EventView, RungView
from venue.wire.money import PAYOUT_CENTS, BookSide, Qty, complement, notional


def cash_in_all(view: EventView) -> int | None:
    """Cash in cents, what the event's own orders hold back included; None while it is unknown.

    A bid sells NO that is held before it buys YES, an ask sells YES before it buys NO: what sells
    holds no cash back. Fees that are held back, less than a cent a share, are not counted.
    """
    if view.cash_cents is None:
        return None
    return view.cash_cents + sum(sum(held_back(rung)) for rung in view.rungs if rung.own)


def held_back(rung: RungView) -> tuple[int, int]:
    """The cash that the rung's own bids, and its own asks, hold back, in cents."""
    to_sell = {BookSide.BID: int(rung.no_qty), BookSide.ASK: int(rung.yes_qty)}
    cents = {BookSide.BID: 0, BookSide.ASK: 0}
    for own in rung.own:
        sold = min(to_sell[own.side], own.qty)
        to_sell[own.side] -= sold
        price = own.price if own.side is BookSide.BID else complement(own.price)
        cents[own.side] += notional(price, Qty(own.qty - sold))
    return cents[BookSide.BID], cents[BookSide.ASK]


def base_and_cash(rung: RungView, cash_cents: int) -> tuple[int, int]:
    """Shares of the base, below zero where NO prevails, and cash in cents with NO counted in."""
    return rung.net_qty, cash_cents + PAYOUT_CENTS * rung.no_qty
