"""Markets, books, own orders, shares and cash as the crowd sees them: from events alone."""

import math
from collections.abc import Iterable

import msgspec

from venue.engine import messages as m
from venue.wire.model import RESTING, MarketState, VenueState
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import MarketId, OrderId, ProjectId, Ticker, UserId
from venue.wire.strike import dollars_per_unit


class Spot(msgspec.Struct, frozen=True):
    """One market and what the crowd needs of its event. log_strike: logarithm of the strike in its
    company's unit; None for a binary market."""

    market: m.ListMarket
    project_id: ProjectId
    resolution_ns: int
    log_strike: float | None


class Depth(msgspec.Struct):
    bids: dict[Price, Qty] = msgspec.field(default_factory=dict)
    asks: dict[Price, Qty] = msgspec.field(default_factory=dict)

    def side(self, side: BookSide) -> dict[Price, Qty]:
        return self.bids if side is BookSide.BID else self.asks


class CrowdView:
    def __init__(self, users: Iterable[UserId], cash_cents: Cents) -> None:
        self.spots: dict[MarketId, Spot] = {}
        self.venue_open = True
        self.cash_cents: dict[UserId, Cents] = dict.fromkeys(users, cash_cents)
        self._companies: dict[ProjectId, dict[MarketId, Spot]] = {}
        self._events: dict[Ticker, m.ListEvent] = {}
        self._dollars_per_unit: dict[ProjectId, int] = {}
        self._active: dict[MarketId, bool] = {}
        self._depths: dict[MarketId, Depth] = {}
        self._orders: dict[tuple[UserId, MarketId], dict[OrderId, m.OrderState]] = {}
        self._shares: dict[tuple[UserId, MarketId, Outcome], Qty] = {}

    def open_with(self, catalogue: Iterable[m.Command | m.AccessCommand]) -> None:
        for command in catalogue:
            match command:
                case m.ListEvent():
                    self._events[command.event_ticker] = command
                case m.ListMarket():
                    self._list(command)
                case m.HaltMarket(market_id=market_id):
                    self._active[market_id] = False
                case m.ResumeMarket(market_id=market_id):
                    self._active[market_id] = True
                case m.ResolveMarket(market_id=market_id):
                    self._forget(market_id)
                case m.SetVenueState(state=state):
                    self.venue_open = state is VenueState.OPEN
                case _:
                    pass

    def observe(self, events: Iterable[m.Event]) -> None:
        for event in events:
            match event:
                case m.LevelChanged():
                    self._level(event)
                case m.OrderChanged(order=order):
                    if order.user_id in self.cash_cents:
                        self._order(order)
                case m.PositionChanged():
                    if event.user_id in self.cash_cents:
                        self._position(event)
                case m.BalanceChanged():
                    if event.user_id in self.cash_cents:
                        self.cash_cents[event.user_id] = event.available_cents
                case m.MarketStateChanged(market_id=market_id, state=market_state):
                    if market_state is MarketState.RESOLVED:
                        self._forget(market_id)
                    else:
                        self._active[market_id] = market_state is MarketState.ACTIVE
                case m.VenueStateChanged(state=venue_state):
                    self.venue_open = venue_state is VenueState.OPEN
                case m.EventListed(event=listed):
                    self._events[listed.event_ticker] = listed
                case m.MarketListed(market=market):
                    self._list(market)
                case _:
                    pass

    def is_active(self, market_id: MarketId) -> bool:
        return self.venue_open and self._active.get(market_id, False)

    def spots_of(self, project_id: ProjectId) -> list[Spot]:
        return list(self._companies.get(project_id, {}).values())

    def best(self, market_id: MarketId, side: BookSide, but: UserId) -> Price | None:
        """The best price of a side without what `but` rests there; None when nothing is left."""
        levels = dict(self._depths[market_id].side(side))
        for order in self.orders(but, market_id):
            price = canonical(order.outcome, order.price)
            if book_side(order.outcome, order.side) is side and price in levels:
                levels[price] = Qty(levels[price] - order.remaining_qty)
        prices = [price for price, size in levels.items() if size > 0]
        if not prices:
            return None
        return max(prices) if side is BookSide.BID else min(prices)

    def orders(self, user_id: UserId, market_id: MarketId) -> list[m.OrderState]:
        """An account's resting orders on a market, oldest first."""
        return list(self._orders.get((user_id, market_id), {}).values())

    def free_shares(self, user_id: UserId, market_id: MarketId, outcome: Outcome) -> Qty:
        offered = sum(
            order.remaining_qty
            for order in self.orders(user_id, market_id)
            if order.side is Side.SELL and order.outcome is outcome
        )
        return Qty(max(0, self._shares.get((user_id, market_id, outcome), 0) - offered))

    def dollars_per_unit(self, project_id: ProjectId) -> int:
        """The unit of a company, that of its first rung, in dollars; 1 as long as it has none."""
        return self._dollars_per_unit.get(project_id, 1)

    def _list(self, market: m.ListMarket) -> None:
        event = self._events[market.event_ticker]
        spot = self.spots[market.market_id] = Spot(
            market,
            event.project_id,
            event.resolution_date_ns,
            self._log_strike(market, event.project_id),
        )
        self._companies.setdefault(event.project_id, {})[market.market_id] = spot
        self._active[market.market_id] = True
        self._depths[market.market_id] = Depth()

    def _log_strike(self, market: m.ListMarket, project_id: ProjectId) -> float | None:
        if market.strike_value is None:
            return None
        strike = float(market.strike_value)
        unit = dollars_per_unit(market.strike_unit)
        base = self._dollars_per_unit.setdefault(project_id, unit)
        if market.strike_unit is not None and unit != base:
            strike *= unit / base
        return math.log(strike) if strike > 0 else None

    def _forget(self, market_id: MarketId) -> None:
        spot = self.spots.pop(market_id, None)
        if spot is None:
            return
        del self._companies[spot.project_id][market_id]
        del self._active[market_id], self._depths[market_id]
        for user_id in self.cash_cents:
            self._orders.pop((user_id, market_id), None)
            for outcome in Outcome:
                self._shares.pop((user_id, market_id, outcome), None)

    def _level(self, event: m.LevelChanged) -> None:
        depth = self._depths.get(event.market_id)
        if depth is None:
            return
        levels = depth.side(event.side)
        if event.size > 0:
            levels[event.price] = event.size
        else:
            levels.pop(event.price, None)

    def _order(self, order: m.OrderState) -> None:
        if order.market_id not in self.spots:
            return
        orders = self._orders.setdefault((order.user_id, order.market_id), {})
        if order.status in RESTING:
            orders[order.order_id] = order
        else:
            orders.pop(order.order_id, None)

    def _position(self, event: m.PositionChanged) -> None:
        key = (event.user_id, event.market_id, event.outcome)
        if event.qty > 0 and event.market_id in self.spots:
            self._shares[key] = event.qty
        else:
            self._shares.pop(key, None)
