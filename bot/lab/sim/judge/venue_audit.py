"""The auditor of the venue: after every command its books balance, by arithmetic of its own.

Kept up to date event by event, so that each check costs a few additions.
"""

from typing import Any

from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.possible import DOLLAR
from bot.lab.sim.venue.simulated import SimulatedVenue
from venue.core import messages as v
from venue.wire.model import TERMINAL, OrderStatus
from venue.wire.money import BookSide, Outcome
from venue.wire.names import MarketId, OrderId, UserId


class VenueAudit:
    """Watches every command of the engine. Must watch from before the first user is paid in."""

    def __init__(self, exchange: SimulatedVenue) -> None:
        self._deposits = 0
        self._cash: dict[UserId, tuple[int, int]] = {}
        self._total = 0
        self._interest: dict[MarketId, int] = {}
        self._interest_total = 0
        self._fees = 0
        self._held: dict[tuple[MarketId, Outcome, UserId], int] = {}
        self._sides: dict[tuple[MarketId, Outcome], int] = {}
        self._orders: dict[OrderId, v.OrderState] = {}
        self._ended: dict[OrderId, int] = {}
        self._reserved = 0
        self._levels: dict[tuple[MarketId, BookSide], dict[int, int]] = {}
        self._traders: dict[str, UserId] = {}
        self._takers: dict[type, Any] = {
            v.BalanceChanged: self._balance,
            v.PositionChanged: self._position,
            v.OpenInterestChanged: self._open_interest,
            v.FillBooked: self._fill,
            v.OrderChanged: self._order,
            v.LevelChanged: self._level,
        }
        exchange.watchers.append(self.applied)

    def applied(self, command: v.Command, _: v.Answer, events: list[v.Event], __: int) -> None:
        if isinstance(command, v.Deposit) and events:
            self._deposits += command.amount_cents
        elif isinstance(command, v.Withdraw) and events:
            self._deposits -= command.amount_cents
        if not events:
            return
        takers = self._takers
        for event in events:
            take = takers.get(type(event))
            if take is not None:
                take(event)
        self._traders.clear()
        owed = self._total + DOLLAR * self._interest_total + self._fees
        check(owed == self._deposits, "V1", f"{owed} cents of {self._deposits}")
        market = getattr(events[-1], "market_id", None)
        if market is not None:
            self._book_is_open(market)
            self._shares_pair(market)

    def _balance(self, event: v.BalanceChanged) -> None:
        available, reserved = event.available_cents, event.reserved_cents
        check(available >= 0 and reserved >= 0, "V3", event)
        before = self._cash.get(event.user_id, (0, 0))
        self._cash[event.user_id] = (available, reserved)
        self._total += available + reserved - before[0] - before[1]
        if event.user_id == MAKER:
            check(reserved == self._reserved, "V3", f"{reserved} held, {self._reserved} needed")

    def _position(self, event: v.PositionChanged) -> None:
        check(event.qty >= 0, "V4", event)
        key = (event.market_id, event.outcome, event.user_id)
        change = event.qty - self._held.get(key, 0)
        self._held[key] = event.qty
        side = (event.market_id, event.outcome)
        self._sides[side] = self._sides.get(side, 0) + change

    def _open_interest(self, event: v.OpenInterestChanged) -> None:
        check(event.open_interest >= 0, "V2", event)
        self._interest_total += event.open_interest - self._interest.get(event.market_id, 0)
        self._interest[event.market_id] = event.open_interest

    def _fill(self, event: v.FillBooked) -> None:
        check(event.fee_cents >= 0, "V14", event)
        self._fees += event.fee_cents
        if self._traders.pop(event.trade_id, None) == event.user_id:
            check(False, "V10", f"one user on both sides of {event.trade_id}")
        else:
            self._traders[event.trade_id] = event.user_id

    def _order(self, event: v.OrderChanged) -> None:
        order = event.order
        key = order.order_id
        ended = self._ended.get(key)
        check(ended is None, "V6", f"{key} was over")
        before = self._orders.get(key)
        filled = 0 if before is None else before.filled_qty
        check(order.filled_qty >= filled, "V5", f"filled of {key} fell")
        check(order.remaining_qty >= 0, "V5", order)
        check(order.filled_qty + order.remaining_qty <= order.qty, "V5", order)
        over = order.status in TERMINAL
        check(over == (order.remaining_qty == 0), "V6", order)
        check((order.status is OrderStatus.FILLED) <= (order.filled_qty == order.qty), "V6", order)
        if order.user_id == MAKER:
            needed = 0 if before is None else before.reserved_cents
            self._reserved += order.reserved_cents - needed
        if over:
            self._orders.pop(key, None)
            if order.user_id == MAKER:
                self._ended[key] = order.filled_qty
        else:
            self._orders[key] = order

    def _level(self, event: v.LevelChanged) -> None:
        levels = self._levels.setdefault((event.market_id, event.side), {})
        if event.size:
            levels[event.price] = event.size
        else:
            levels.pop(event.price, None)

    def _book_is_open(self, market: MarketId) -> None:
        """V7: the book is neither crossed nor locked."""
        bids = self._levels.get((market, BookSide.BID))
        asks = self._levels.get((market, BookSide.ASK))
        if bids and asks:
            check(max(bids) < min(asks), "V7", f"{market}: bid {max(bids)}, ask {min(asks)}")

    def _shares_pair(self, market: MarketId) -> None:
        """V2: as many YES as NO shares, and as many as the open interest says."""
        yes = self._sides.get((market, Outcome.YES), 0)
        no = self._sides.get((market, Outcome.NO), 0)
        interest = self._interest.get(market, 0)
        check(yes == no == interest, "V2", f"{market}: {yes} YES, {no} NO, interest {interest}")
