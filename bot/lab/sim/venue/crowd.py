"""A crowd around wandering values: patient floors, small quotes that come and go, a few takers.

Its acts come in short bursts, as a market's do: most move a level and few trade, so most of what
the channel carries is books.
"""

import random
from collections import deque
from collections.abc import Container

from bot.lab.sim.odds import Odds
from bot.lab.sim.venue.simulated import CROWD, SimulatedVenue
from venue.engine import messages as v
from venue.wire.money import (
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    Outcome,
    Price,
    Qty,
    Side,
    canonical,
    complement,
)
from venue.wire.names import ClientOrderId, MarketId, OrderId, UserId
from venue.wire.requests import Amend, QtyOrder, TimeInForce

FLOOR, FLICKERER, *TAKERS = CROWD
_FLOOR_QTY = 50
_PATIENT_MAX = 6
"""Small quotes that rest on one market at once."""


class BuyingCrowd:
    """Traders that only buy, YES or NO, so that no holdings need to be kept.

    value: what a YES share of each market is thought to be worth, cents. takes: whether values
    move, and some of them take what is offered.
    """

    def __init__(self, odds: Odds, exchange: SimulatedVenue, rng: random.Random) -> None:
        self._exchange = exchange
        self._prefix = "" if odds.first is None else "second-"
        self._rng = rng
        self._shock = odds.shock
        self._made = 0
        self._floors: dict[MarketId, list[OrderId]] = {}
        self._patient: dict[MarketId, deque[OrderId]] = {}
        self._flickers: dict[MarketId, OrderId] = {}
        self.value: dict[MarketId, float] = {}
        self._left: dict[MarketId, None] = {}
        self.takes = True
        for markets in exchange.markets.values():
            top = rng.uniform(55.0, 90.0)
            for index, market in enumerate(markets):
                self.value[market] = max(6.0, top - index * rng.uniform(8.0, 18.0))
                self._patient[market] = deque()
        self._markets = list(self.value)
        self.dead = self._markets[-1] if odds.dead_rung and len(self._markets) > 1 else None

    def open(self, now_ns: int) -> None:
        for market in self._markets:
            if market == self.dead:
                self.buy(FLOOR, market, Outcome.YES, 1, _FLOOR_QTY, now_ns)
                self.buy(FLOOR, market, Outcome.NO, 1, _FLOOR_QTY, now_ns)
            else:
                self._floor(market, now_ns)

    def comes_to(self, market: MarketId, ladder: list[MarketId], now_ns: int) -> None:
        """A market is listed: the crowd trades there, at a value between those of its neighbours.

        ladder: the rungs of its event, the new one among them, lowest strike first.
        """
        place = ladder.index(market)
        low = self.value[ladder[place + 1]] if place + 1 < len(ladder) else 6.0
        high = self.value[ladder[place - 1]] if place else 94.0
        self.value[market] = self._rng.uniform(min(low, high), max(low, high))
        self._patient[market] = deque()
        self._markets.append(market)
        self._floor(market, now_ns)

    def refloor(self, resolved: Container[MarketId], now_ns: int) -> None:
        for market in self._markets:
            if market != self.dead and market not in resolved:
                self._floor(market, now_ns)

    def _floor(self, market: MarketId, now_ns: int) -> None:
        for order_id in self._floors.pop(market, []):
            self._exchange.apply(v.CancelOrder(FLOOR, order_id), now_ns)
        value, width = self.value[market], self._rng.choice((2, 4, 7))
        below, above = round(value - width), round(complement(Price(round(value))) - width)
        for outcome, price in ((Outcome.YES, below), (Outcome.NO, above)):
            placed = self.buy(FLOOR, market, outcome, price, _FLOOR_QTY, now_ns)
            if placed is not None:
                self._floors.setdefault(market, []).append(placed)

    def act(self, now_ns: int) -> None:
        rng = self._rng
        market = rng.choice(self._markets)
        if market == self.dead or market in self._left:
            return
        drawn = rng.random()
        patient = self._patient[market]
        if drawn < 0.80:
            # A small quote comes, or the oldest one goes, or changes its size.
            if len(patient) >= _PATIENT_MAX or (patient and drawn < 0.30):
                self._exchange.apply(v.CancelOrder(TAKERS[0], patient.popleft()), now_ns)
            elif patient and drawn < 0.55:
                amend = Amend(qty=Qty(rng.randint(1, 12)))
                self._exchange.apply(v.AmendOrder(TAKERS[0], patient[-1], amend), now_ns)
            else:
                outcome, value = self._side(market)
                price = round(value - rng.uniform(1.0, 6.0))
                order_id = self.buy(TAKERS[0], market, outcome, price, rng.randint(1, 12), now_ns)
                if order_id is not None:
                    patient.append(order_id)
            return
        if not self.takes:
            return
        step = rng.gauss(0.0, 0.4) + (rng.choice((-15, 15)) if rng.random() < self._shock else 0)
        self.value[market] = min(94.0, max(6.0, self.value[market] + step))
        if drawn < 0.84:
            self._floor(market, now_ns)
            return
        outcome, value = self._side(market)
        price = round(value + rng.uniform(1.0, 8.0))
        user, qty = rng.choice(TAKERS[1:]), rng.randint(1, 12)
        self.buy(user, market, outcome, price, qty, now_ns, TimeInForce.IOC)

    def leave(self, market: MarketId, now_ns: int) -> None:
        if market == self.dead:
            return
        self._left[market] = None
        self.unflick(market, now_ns)
        for order_id in self._floors.pop(market, []):
            self._exchange.apply(v.CancelOrder(FLOOR, order_id), now_ns)
        while self._patient[market]:
            self._exchange.apply(v.CancelOrder(TAKERS[0], self._patient[market].popleft()), now_ns)

    def rest(self) -> None:
        self._left.update(dict.fromkeys(self._markets))

    def come_back(self, market: MarketId) -> None:
        self._left.pop(market, None)

    def jump(self, market: MarketId, cents: int, now_ns: int) -> None:
        if market == self.dead or market in self._left:
            return
        self.value[market] = min(94.0, max(6.0, self.value[market] + cents))
        self._floor(market, now_ns)
        outcome, value = (
            (Outcome.YES, self.value[market])
            if cents > 0
            else (Outcome.NO, complement(Price(0)) - self.value[market])
        )
        self.buy(TAKERS[1], market, outcome, round(value), 12, now_ns, TimeInForce.IOC)

    def take(
        self, order: v.OrderState, rng: random.Random, now_ns: int, most: int | None = None
    ) -> None:
        is_bid = (order.outcome is Outcome.YES) == (order.side is Side.BUY)
        level = canonical(order.outcome, order.price)
        qty = 0
        for price, size in self._exchange.engine.depth(
            order.market_id, BookSide.BID if is_bid else BookSide.ASK
        ):
            if price == level:
                qty += rng.randint(1, size) if most is None else min(most, size)
                break
            qty += size
        outcome = Outcome.NO if is_bid else Outcome.YES
        user, at = rng.choice(TAKERS[1:]), canonical(outcome, level)
        self.buy(user, order.market_id, outcome, at, max(1, qty), now_ns, TimeInForce.IOC)

    def _side(self, market: MarketId) -> tuple[Outcome, float]:
        value = self.value[market]
        if self._rng.random() < 0.5:
            return Outcome.YES, value
        return Outcome.NO, complement(Price(0)) - value

    def flick(self, market: MarketId, up: bool, now_ns: int) -> None:
        known = self._flickers.get(market)
        price = Price(max(PRICE_MIN, round(self.value[market]) - 2 + up))
        if known is not None:
            amended = self._exchange.apply(
                v.AmendOrder(FLICKERER, known, Amend(price=price, qty=Qty(9))), now_ns
            )
            if isinstance(amended, v.Amended) and amended.order.remaining_qty:
                return
            del self._flickers[market]
        order_id = self.buy(FLICKERER, market, Outcome.YES, price, 9, now_ns)
        if order_id is not None:
            self._flickers[market] = order_id

    def unflick(self, market: MarketId, now_ns: int) -> None:
        order_id = self._flickers.pop(market, None)
        if order_id is not None:
            self._exchange.apply(v.CancelOrder(FLICKERER, order_id), now_ns)

    def buy(
        self,
        user: UserId,
        market: MarketId,
        outcome: Outcome,
        price: int,
        qty: int,
        now_ns: int,
        tif: TimeInForce = TimeInForce.GTC,
    ) -> OrderId | None:
        """Buy for somebody, the bot's account among them; the order if any of it rests."""
        self._made += 1
        order = QtyOrder(
            market,
            outcome,
            Side.BUY,
            Price(min(PRICE_MAX, max(PRICE_MIN, price))),
            Qty(qty),
            tif,
            ClientOrderId(f"{self._prefix}crowd-{self._made}"),
        )
        answer = self._exchange.apply(v.PlaceOrder(user, order), now_ns)
        if isinstance(answer, v.Placed) and answer.order.remaining_qty:
            return answer.order.order_id
        return None
