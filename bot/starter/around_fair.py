"""Quotes around the fitted curve, moved by the inventory; takes orders far from their value."""

from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy, Take
from venue.wire.money import BookSide, Price, Qty


class AroundFair(Strategy):
    name = "around_fair"

    class Params(Strategy.Params):
        half_spread_cents: int = Field(3, ge=1, le=49, description="from the value to a quote")
        lot_qty: int = Field(10, ge=1, le=1_000, description="shares of a quote or a take")
        skew_cents: float = Field(0.05, ge=0, le=1, description="how far each share held moves it")
        take_cents: int = Field(8, ge=1, le=98, description="so far from its value it is taken")

    def quote(self, view: EventView) -> Quotes:
        return {rung.market_id: self._wanted(rung) for rung in view.rungs}  # lowest strike first

    def _wanted(self, rung: RungView) -> tuple[Quote | Take, ...]:
        if rung.fair_cents is None or not rung.quotable:
            return ()  # nothing known, nothing wanted
        params, lot = self.params, Qty(self.params.lot_qty)
        wanted: list[Quote | Take] = []
        value = min(max(rung.fair_cents - params.skew_cents * rung.net_qty, 0), 100)
        bid, ask = round(value - params.half_spread_cents), round(value + params.half_spread_cents)
        if bid >= 1 and (rung.best_ask is None or bid < rung.best_ask):
            wanted.append(Quote(BookSide.BID, Price(bid), lot))
        if ask <= 99 and (rung.best_bid is None or ask > rung.best_bid):
            wanted.append(Quote(BookSide.ASK, Price(ask), lot))
        if rung.best_ask is not None and rung.best_ask <= value - params.take_cents:
            wanted.append(Take(BookSide.BID, rung.best_ask, lot))
        return tuple(wanted)


STRATEGY = AroundFair
