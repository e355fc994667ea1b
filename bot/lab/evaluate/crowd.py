"""The crowd's acts at the venue: what was drawn, carried out against the book that stands there."""

from typing import Final

from bot.lab.evaluate.draws import Class, Informed, Noise, Visit
from bot.lab.evaluate.latent import MILLICENTS
from bot.lab.evaluate.market import TrueValueMarket
from bot.lab.evaluate.worlds import NATURE, World
from venue.core import messages as v
from venue.wire.money import (
    PRICE_MAX,
    PRICE_MIN,
    Cents,
    Outcome,
    Price,
    Qty,
    canonical,
    fee_cents,
)
from venue.wire.names import MarketId, OrderId, UserId
from venue.wire.requests import Amend

_BULK: Final = 100
"""Shares over which a fee a share is told: the ceiling hardly counts there."""


class Crowd:
    """Everybody but the trader. noise_qty: shares that noise traded, and of them with us."""

    def __init__(self, world: World, venue: TrueValueMarket, start_ns: int) -> None:
        self._venue = venue
        self._users = [UserId(f"crowd.maker.{number}") for number in range(NATURE.makers)]
        self._orders: dict[tuple[int, int, bool], OrderId] = {}
        self._fees_mc = [0] * (PRICE_MAX + 1)
        for price in range(PRICE_MIN, PRICE_MAX + 1):
            fee = fee_cents(world.taker_rate, Qty(_BULK), Price(price))
            self._fees_mc[price] = fee * MILLICENTS // _BULK
        self._taker_rate = world.taker_rate
        self.noise_qty = 0
        for user in self._users:
            venue.exchange.apply(v.AddUser(user), start_ns)
            venue.exchange.apply(v.Deposit(user, Cents(10_000_000_000)), start_ns)

    def noise(self, act: Noise, now_ns: int) -> None:
        """Somebody trades who knows nothing, if the book is within their reach."""
        venue = self._venue
        market = venue.markets[act.rung]
        bid, ask = venue.best(market)
        if act.buys:
            within = ask is not None and ask <= act.limit
        else:
            within = bid is not None and bid >= act.limit
        if within:
            answer = venue.trade(
                Class.NOISE, market, buys=act.buys, price=act.limit, qty=act.qty, now_ns=now_ns
            )
            assert isinstance(answer, v.Placed), answer
            self.noise_qty += answer.order.filled_qty

    def informed(self, act: Informed, now_ns: int) -> None:
        """Somebody who knows the value takes what is off by more than the taker's fee."""
        venue = self._venue
        market = venue.markets[act.rung]
        fair_mc = venue.account.fairs_mc[act.rung]
        bid, ask = venue.best(market)
        who = Class.SWEEP if act.sweep else Class.INFORMED
        if ask is not None and ask * MILLICENTS + self._fees_mc[ask] < fair_mc:
            limit = int(ask)
            while (
                limit < PRICE_MAX and (limit + 1) * MILLICENTS + self._fees_mc[limit + 1] < fair_mc
            ):
                limit += 1
            venue.trade(who, market, buys=True, price=limit, qty=act.qty, now_ns=now_ns)
        elif bid is not None and bid * MILLICENTS - self._fees_mc[bid] > fair_mc:
            limit = int(bid)
            while (
                limit > PRICE_MIN and (limit - 1) * MILLICENTS - self._fees_mc[limit - 1] > fair_mc
            ):
                limit -= 1
            venue.trade(who, market, buys=False, price=limit, qty=act.qty, now_ns=now_ns)

    def visit(self, act: Visit, now_ns: int) -> None:
        """A background maker looks after its two orders; it never crosses the book knowingly."""
        market = self._venue.markets[act.rung]
        best_bid, best_ask = self._venue.best(market)
        bid, ask = act.bid, act.ask
        if bid is not None and best_ask is not None:
            bid = min(bid, best_ask - 1)
        if ask is not None and best_bid is not None:
            ask = max(ask, best_bid + 1)
        self._side(act, market, True, bid, act.bid_qty, now_ns)
        self._side(act, market, False, ask, act.ask_qty, now_ns)

    def _side(
        self, act: Visit, market: MarketId, buys: bool, price: int | None, qty: int, now_ns: int
    ) -> None:
        user, key = self._users[act.maker], (act.maker, act.rung, buys)
        resting = self._orders.get(key)
        if price is None or not PRICE_MIN <= price <= PRICE_MAX:
            if resting is not None:
                self._venue.cancel(user, resting, now_ns)
                del self._orders[key]
            return
        if resting is not None:
            outcome = Outcome.YES if buys else Outcome.NO
            amend = Amend(price=canonical(outcome, Price(price)), qty=Qty(qty))
            answer = self._venue.amend(user, resting, amend, now_ns)
            if isinstance(answer, v.Amended):
                if not answer.order.remaining_qty:
                    del self._orders[key]
                return
            del self._orders[key]  # it has traded away
        placed = self._venue.trade(
            Class.MAKER,
            market,
            buys=buys,
            price=price,
            qty=qty,
            now_ns=now_ns,
            rests=True,
            user=user,
        )
        assert isinstance(placed, v.Placed), placed
        if placed.order.remaining_qty:
            self._orders[key] = placed.order.order_id

    def look(self, now_ns: int) -> None:
        """The arbitrageur takes a higher rung's bid against a lower rung's ask below it."""
        venue = self._venue
        cheapest: tuple[int, MarketId] | None = None
        for market in venue.markets:
            bid, ask = venue.best(market)
            if bid is not None and cheapest is not None and bid > cheapest[0]:
                self._arbitrage(cheapest[1], market, cheapest[0], bid, now_ns)
                return
            if ask is not None and (cheapest is None or ask < cheapest[0]):
                cheapest = (ask, market)

    def _arbitrage(self, low: MarketId, high: MarketId, ask: int, bid: int, now_ns: int) -> None:
        books = self._venue.books
        qty = min(books[low].asks[Price(ask)], books[high].bids[Price(bid)])
        fees = sum(fee_cents(self._taker_rate, qty, Price(price)) for price in (ask, bid))
        if qty * (bid - ask) <= fees:
            return
        who = Class.ARBITRAGE
        self._venue.trade(who, low, buys=True, price=ask, qty=qty, now_ns=now_ns)
        self._venue.trade(who, high, buys=False, price=bid, qty=qty, now_ns=now_ns)
