"""Joining the touch of tight books with long queues, while the place in the queue is worth it.

Half a tick around the microprice, less a skew for what is held: never better than the touch of
others, and gone as soon as the order's place in the queue is worth less than nothing.

Source: hftbacktest, queue-based market making in large-tick assets.
"""

import math
from typing import Any

from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from bot.strategy.pricing.price import fee_per_share, gap_of, legal, quotes_of
from bot.strategy.pricing.queue_value import QueueRates, TouchRates, queue_value
from venue.wire.money import PRICE_MAX, PRICE_MIN, TICK_CENTS, BookSide, Qty

_BID = BookSide.BID
_ASK = BookSide.ASK


class QueueTouch(Strategy):
    """Bids and asks at the touch, one lot each, as long as the queue is worth standing in."""

    name = "queue_touch"

    class Params(Strategy.Params):
        """Sizes in shares, prices in ticks of a cent, rates per second."""

        half_ticks: float = Field(
            0.49, gt=0, le=20, description="ticks from the reservation price to either quote"
        )
        grid: int = Field(
            10, ge=1, le=1_000, description="lots held that stop a side, and skew by one half"
        )
        lot_qty: int = Field(10, ge=1, le=100_000, description="shares of one order")
        levels: int = Field(1, ge=1, le=10, description="orders a side, a tick apart")
        run_over_ticks: float = Field(
            1.0, ge=0, le=20, description="ticks that the value has moved when the touch is gone"
        )
        counts_fees: bool = Field(True, description="whether the maker fee comes off the edge")
        trades_per_s: float = Field(
            1.0, gt=0, le=10_000, description="prior: shares per second that trade at a touch"
        )
        cancels_per_s: float = Field(
            0.02, ge=0, le=100, description="prior: cancels per second of a share ahead"
        )
        away_per_s: float = Field(
            0.05, ge=0, le=100, description="prior: times per second that the touch moves away"
        )
        through_per_s: float = Field(
            0.05, ge=0, le=100, description="prior: times per second that it comes through us"
        )
        prior_s: float = Field(
            60.0, gt=0, le=86_400, description="seconds of watching that the prior counts for"
        )
        half_life_s: float = Field(
            600.0, gt=0, le=86_400, description="seconds after which what was seen counts half"
        )

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._prior = QueueRates(
            params.trades_per_s, params.cancels_per_s, params.away_per_s, params.through_per_s
        )
        self._rates: dict[tuple[str, BookSide], TouchRates] = {}
        self._last: dict[str, tuple[RungView, tuple[Quote, ...]]] = {}

    def quote(self, view: EventView) -> Quotes:
        """Quotes at the touch of every rung whose book has two sides."""
        return {rung.market_id: self._both_sides(rung, view.now_s) for rung in view.rungs}

    def _both_sides(self, rung: RungView, now_s: float) -> tuple[Quote, ...]:
        before = self._last.get(rung.market_id)
        if before is not None and before[0] is rung:
            return before[1]
        quotes = quotes_of(self._side(rung, 1, now_s), self._side(rung, -1, now_s))
        if before is not None and before[1] == quotes:
            quotes = before[1]
        self._last[rung.market_id] = (rung, quotes)
        return quotes

    def _side(self, rung: RungView, sign: int, now_s: float) -> list[tuple[int, int, int]]:
        """The levels of one side as (price, size, limit), best first. sign: +1 bids, -1 asks."""
        side = _BID if sign > 0 else _ASK
        rates = self._seen(rung, side, now_s)
        held_lots = rung.net_qty / self.params.lot_qty
        if rung.microprice_cents is None or sign * held_lots >= self.params.grid:
            return []
        half = self.params.half_ticks * TICK_CENTS
        reserve = rung.microprice_cents - half / self.params.grid * held_lots
        limit = self._boldest(rung, sign, reserve - sign * half)
        if limit is None:
            return []
        # Joining, never improving: the touch of others is as bold as a new order gets, but one
        # that stands bolder already is not sent to the back of a queue for it.
        price = min(limit, rung.bids[0][0]) if sign > 0 else max(limit, rung.asks[0][0])
        size = self.params.lot_qty
        out: list[tuple[int, int, int]] = []
        for step in range(self.params.levels):
            at = price - sign * step * TICK_CENTS
            if not PRICE_MIN <= at <= PRICE_MAX:
                break
            bold = limit if step == 0 else at
            stands, ahead = _queue(rung, side, at, bold)
            # A level behind the touch is worth what it will be as the touch.
            edge = sign * (reserve - price) + sign * (at - stands)
            if self.params.counts_fees:
                edge -= fee_per_share(rung.maker_fee_rate, size, stands)
            if queue_value(ahead, rates, edge, self.params.run_over_ticks * TICK_CENTS) >= 0:
                out.append((at, size, bold))
        return out

    def _boldest(self, rung: RungView, sign: int, worth: float) -> int | None:
        """The boldest whole cent on the safe side of `worth` that touches no book; None without
        one, or without two sides to stand between."""
        side = _BID if sign > 0 else _ASK
        open_to = legal(side, rung.best_bid, rung.best_ask, gap=gap_of(rung.book_age_s))
        if open_to is None or not rung.bids or not rung.asks:
            return None
        low, high = open_to
        price = min(math.floor(worth), high) if sign > 0 else max(math.ceil(worth), low)
        return price if low <= price <= high else None

    def _seen(self, rung: RungView, side: BookSide, now_s: float) -> QueueRates:
        """The rates of a touch, this view taken in."""
        rates = self._rates.get((rung.market_id, side))
        if rates is None:
            rates = TouchRates(side, self._prior, self.params.prior_s, self.params.half_life_s)
            self._rates[rung.market_id, side] = rates
        rates.saw(rung.bids if side is _BID else rung.asks, rung.prints, now_s)
        return rates.read()


def _queue(rung: RungView, side: BookSide, price: int, limit: int) -> tuple[int, float]:
    """Where we stand for a wanted price, and the shares of others ahead: an order of ours between
    `price` and `limit`, the boldest of them, else the back of the queue at `price`."""
    low, high = min(price, limit), max(price, limit)
    ours = [own for own in rung.own if own.side is side and low <= own.price <= high]
    if ours:
        best = max(ours, key=lambda own: own.price if side is _BID else -own.price)
        return best.price, best.ahead_qty
    others = rung.bids if side is _BID else rung.asks
    return price, float(next((size for at, size in others if at == price), Qty(0)))


STRATEGY = QueueTouch
