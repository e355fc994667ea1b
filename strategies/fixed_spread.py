"""The tutorial strategy: one bid and one ask in every market, a fixed distance from its value.

It needs only a price. The more inventory it has, the less it adds to it.
"""

import math

from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from venue.wire.money import PRICE_MAX, PRICE_MIN, BookSide, Price, Qty


class FixedSpread(Strategy):
    """Bids and asks `half_spread_cents` around the microprice, or the fair value if there is none.

    A market without either is not quoted. The side that adds to the inventory stops at
    `max_position_qty`; the side that reduces it always quotes a whole lot.
    """

    name = "fixed_spread"

    class Params(Strategy.Params):
        """half_spread_cents: from the value to either quote. Sizes in shares."""

        half_spread_cents: int = Field(2, ge=1, le=49, description="from the value to a quote")
        lot_qty: int = Field(10, ge=1, le=100_000, description="shares of a quote")
        max_position_qty: int = Field(
            100, ge=1, le=1_000_000, description="inventory of one market, long or short"
        )

    def quote(self, view: EventView) -> Quotes:
        """One bid and one ask a market, if there is a legal price and room for a share."""
        return {rung.market_id: self._both_sides(rung) for rung in view.rungs}

    def _both_sides(self, rung: RungView) -> tuple[Quote, ...]:
        value = rung.fair_cents if rung.microprice_cents is None else rung.microprice_cents
        if value is None:
            return ()
        # Never at or through the touch of others: quotes rest, they do not take.
        bid_max = PRICE_MAX if rung.best_ask is None else rung.best_ask - 1
        ask_min = PRICE_MIN if rung.best_bid is None else rung.best_bid + 1
        bid = min(math.floor(value - self.params.half_spread_cents), bid_max)
        ask = max(math.ceil(value + self.params.half_spread_cents), ask_min)
        room = self.params.max_position_qty
        bid_qty = min(self.params.lot_qty, room - rung.net_qty)
        ask_qty = min(self.params.lot_qty, room + rung.net_qty)
        quotes = []
        if bid >= PRICE_MIN and bid_qty > 0:
            quotes.append(Quote(BookSide.BID, Price(bid), Qty(bid_qty)))
        if ask <= PRICE_MAX and ask_qty > 0:
            quotes.append(Quote(BookSide.ASK, Price(ask), Qty(ask_qty)))
        return tuple(quotes)


STRATEGY = FixedSpread
