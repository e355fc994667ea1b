"""A strategy whose skew can be worked out by hand: its middle moves half a cent a share held."""

import math

from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, Strategy
from venue.wire.money import BookSide, Price, Qty

PER_SHARE_CENTS = 0.5
HALF_SPREAD_CENTS = 1


def prices(fair: float, net: int, best_bid: int | None, best_ask: int | None) -> tuple[int, int]:
    """Its bid and its ask: around the fair value less half a cent a share, never at the touch."""
    middle = fair - PER_SHARE_CENTS * net
    bid = min(math.floor(middle - HALF_SPREAD_CENTS), 98 if best_ask is None else best_ask - 1)
    ask = max(math.ceil(middle + HALF_SPREAD_CENTS), 2 if best_bid is None else best_bid + 1)
    return max(1, min(98, bid)), min(99, max(2, ask))


class Leaning(Strategy):
    name = "leaning"

    class Params(Strategy.Params):
        """lot_qty: shares of a quote."""

        lot_qty: int = Field(8, ge=1, le=100)

    def quote(self, view: EventView) -> Quotes:
        lot = Qty(self.params.lot_qty)
        wanted = {}
        for rung in view.rungs:
            if rung.fair_cents is None:
                continue
            bid, ask = prices(rung.fair_cents, rung.net_qty, rung.best_bid, rung.best_ask)
            wanted[rung.market_id] = (
                Quote(BookSide.BID, Price(bid), lot),
                Quote(BookSide.ASK, Price(max(ask, bid + 1)), lot),
            )
        return wanted


STRATEGY = Leaning
