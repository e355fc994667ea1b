"""A tiny crowd: patient floor quotes on every rung, impatient takers around a wandering value."""

import random

from tests.sim.exchange import CROWD, Exchange
from tests.sim.odds import Odds
from venue.core import messages as v
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import QtyOrder, TimeInForce

FLOOR, *TAKERS = CROWD
_FLOOR_QTY = 50


class Crowd:
    """Traders that only buy, YES or NO, so that no holdings need to be kept."""

    def __init__(self, odds: Odds, exchange: Exchange, rng: random.Random) -> None:
        self._exchange = exchange
        self._rng = rng
        self._shock = odds.shock
        self._made = 0
        self._resting: list[tuple[MarketId, OrderId]] = []
        self.value: dict[MarketId, float] = {}
        for markets in exchange.markets.values():
            top = rng.uniform(55.0, 90.0)
            for index, market in enumerate(markets):
                self.value[market] = max(6.0, top - index * rng.uniform(8.0, 18.0))
        self._markets = list(self.value)

    def open(self, now_ns: int) -> None:
        """Put a floor under every rung."""
        for market in self._markets:
            self._floor(market, now_ns)

    def _floor(self, market: MarketId, now_ns: int) -> None:
        """Two resting orders of one user, well away from the value."""
        value, width = self.value[market], self._rng.choice((2, 4, 7))
        self._buy(FLOOR, market, Outcome.YES, round(value - width), _FLOOR_QTY, now_ns)
        self._buy(FLOOR, market, Outcome.NO, round(100 - value - width), _FLOOR_QTY, now_ns)

    def act(self, now_ns: int) -> None:
        """One act of one of them."""
        rng = self._rng
        market = rng.choice(self._markets)
        step = rng.gauss(0.0, 0.6) + (rng.choice((-15, 15)) if rng.random() < self._shock else 0)
        self.value[market] = min(94.0, max(6.0, self.value[market] + step))
        draw = rng.random()
        if draw < 0.2 and self._resting:
            market, order_id = self._resting.pop(rng.randrange(len(self._resting)))
            self._exchange.apply(v.CancelOrder(FLOOR, order_id), now_ns)
            self._floor(market, now_ns)
            return
        user = rng.choice(TAKERS)
        outcome = rng.choice((Outcome.YES, Outcome.NO))
        value = self.value[market] if outcome is Outcome.YES else 100 - self.value[market]
        if draw < 0.55:
            price, tif = round(value + rng.uniform(2.0, 8.0)), TimeInForce.IOC
        else:
            price, tif = round(value - rng.uniform(-1.0, 4.0)), TimeInForce.GTC
        self._buy(user, market, outcome, price, rng.randint(1, 12), now_ns, tif)

    def _buy(
        self,
        user: str,
        market: MarketId,
        outcome: Outcome,
        price: int,
        qty: int,
        now_ns: int,
        tif: TimeInForce = TimeInForce.GTC,
    ) -> None:
        self._made += 1
        order = QtyOrder(
            market,
            outcome,
            Side.BUY,
            Price(min(99, max(1, price))),
            Qty(qty),
            tif,
            ClientOrderId(f"crowd-{self._made}"),
        )
        answer = self._exchange.apply(v.PlaceOrder(user, order), now_ns)  # type: ignore[arg-type]
        if isinstance(answer, v.Placed) and answer.order.remaining_qty and user == FLOOR:
            self._resting.append((market, answer.order.order_id))
