"""Join the touch of tight books with long queues, as long as the queue place is worth it.

Half a tick around the microprice, less an inventory skew: never better than the touch of others,
and cancelled as soon as the value of its queue place is negative.

Source: hftbacktest, queue-based market making in large-tick assets.
"""

import math
from typing import Any

from pydantic import Field

from bot.strategy.api import EventView, Quote, Quotes, RungView, Strategy
from bot.strategy.pricing.price import LastQuotes, fee_per_share, gap_of, legal, quotes_of
from bot.strategy.pricing.queue_value import QueueRates, TouchRates, queue_value
from venue.wire.money import PRICE_MAX, PRICE_MIN, TICK_CENTS, BookSide, Qty

_BID = BookSide.BID
_ASK = BookSide.ASK


class QueueTouch(Strategy):
    """Bids and asks at the touch, one lot each, as long as the queue place is worth it."""

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
            1.0, ge=0, le=20, description="ticks that the value has moved once the touch is gone"
        )
        counts_fees: bool = Field(True, description="subtract the maker fee from the edge")
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
            0.05,
            ge=0,
            le=100,
            description="prior: times per second that the price comes through us",
        )
        prior_s: float = Field(
            60.0, gt=0, le=86_400, description="weight of the prior, in seconds of observation"
        )
        half_life_s: float = Field(
            600.0, gt=0, le=86_400, description="seconds after which an observation counts half"
        )

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self._prior = QueueRates(
            params.trades_per_s, params.cancels_per_s, params.away_per_s, params.through_per_s
        )
        self._rates: dict[tuple[str, BookSide], TouchRates] = {}
        self._views: dict[str, tuple[RungView, tuple[Quote, ...]]] = {}
        self._last = LastQuotes()

    def quote(self, view: EventView) -> Quotes:
        """Quotes at the touch of every market whose book has two sides."""
        return {rung.market_id: self._both_sides(rung, view.now_s) for rung in view.rungs}

    def _both_sides(self, rung: RungView, now_s: float) -> tuple[Quote, ...]:
        before = self._views.get(rung.market_id)
        if before is not None and before[0] is rung:  # sampled already
            return before[1]
        quotes = quotes_of(self._side(rung, 1, now_s), self._side(rung, -1, now_s))
        quotes = self._last.reuse(rung.market_id, quotes)
        self._views[rung.market_id] = (rung, quotes)
        return quotes

    def _side(self, rung: RungView, sign: int, now_s: float) -> list[tuple[int, int, int]]:
        """The levels of one side as (price, size, limit), best first. sign: +1 bids, -1 asks."""
        side = _BID if sign > 0 else _ASK
        rates = self._sample(rung, side, now_s)
        held_lots = rung.net_qty / self.params.lot_qty
        if rung.microprice_cents is None or sign * held_lots >= self.params.grid:
            return []
        half = self.params.half_ticks * TICK_CENTS
        reserve = rung.microprice_cents - half / self.params.grid * held_lots
        limit = self._boldest(rung, sign, reserve - sign * half)
        if limit is None:
            return []
        # Join, never improve: a new order is at most as bold as the touch of others, but one that
        # is bolder already keeps its queue place.
        price = min(limit, rung.bids[0][0]) if sign > 0 else max(limit, rung.asks[0][0])
        size = self.params.lot_qty
        out: list[tuple[int, int, int]] = []
        for step in range(self.params.levels):
            at = price - sign * step * TICK_CENTS
            if not PRICE_MIN <= at <= PRICE_MAX:
                break
            bold = limit if step == 0 else at
            own_price, ahead = _queue(rung, side, at, bold)
            # A level behind the touch has the value that it will have as the touch.
            edge = sign * (reserve - price) + sign * (at - own_price)
            if self.params.counts_fees:
                edge -= fee_per_share(rung.maker_fee_rate, size, own_price)
            if queue_value(ahead, rates, edge, self.params.run_over_ticks * TICK_CENTS) >= 0:
                out.append((at, size, bold))
        return out

    def _boldest(self, rung: RungView, sign: int, worth: float) -> int | None:
        """The boldest whole cent on the safe side of `worth` that does not touch the book; None
        without one, or if a side of the book is empty."""
        side = _BID if sign > 0 else _ASK
        open_to = legal(side, rung.best_bid, rung.best_ask, gap=gap_of(rung.book_age_s))
        if open_to is None or not rung.bids or not rung.asks:
            return None
        low, high = open_to
        price = min(math.floor(worth), high) if sign > 0 else max(math.ceil(worth), low)
        return price if low <= price <= high else None

    def _sample(self, rung: RungView, side: BookSide, now_s: float) -> QueueRates:
        """The rates of a touch, after this view."""
        rates = self._rates.get((rung.market_id, side))
        if rates is None:
            rates = TouchRates(side, self._prior, self.params.prior_s, self.params.half_life_s)
            self._rates[rung.market_id, side] = rates
        rates.on_view(rung.bids if side is _BID else rung.asks, rung.prints, now_s)
        return rates.current()


def _queue(rung: RungView, side: BookSide, price: int, limit: int) -> tuple[int, float]:
    """Our price and the shares of others ahead: of the boldest of our orders between `price` and
    `limit`, else of the back of the queue at `price`."""
    low, high = min(price, limit), max(price, limit)
    mine = [own for own in rung.own if own.side is side and low <= own.price <= high]
    if mine:
        best = max(mine, key=lambda own: own.price if side is _BID else -own.price)
        return best.price, best.ahead_qty
    others = rung.bids if side is _BID else rung.asks
    return price, float(next((size for at, size in others if at == price), Qty(0)))


STRATEGY = QueueTouch
