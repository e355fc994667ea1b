"""The maker's account as the engine's own events make it; shares no arithmetic with the bot."""

from collections import Counter
from dataclasses import dataclass, field

from venue.engine import messages as v
from venue.wire.model import RESTING, MarketState
from venue.wire.money import Outcome, Side
from venue.wire.names import MarketId, OrderId, UserId

MAKER = UserId("maker")


@dataclass
class Truth:
    """Orders, shares and cash of the maker, and whether it ever met itself."""

    orders: dict[OrderId, v.OrderState] = field(default_factory=dict)
    names: dict[str, OrderId] = field(default_factory=dict)
    held: dict[tuple[MarketId, Outcome], int] = field(default_factory=dict)
    resolved: set[MarketId] = field(default_factory=set)
    cash_cents: int = 0
    booked: list[v.FillBooked] = field(default_factory=list)
    self_trades: int = 0
    commands: Counter[str] = field(default_factory=Counter)

    def applied(
        self, command: v.Command, answer: v.Answer, events: list[v.Event], _now_ns: int
    ) -> None:
        mine = isinstance(command, v.PlaceOrder | v.AmendOrder | v.CancelOrder) and (
            command.user_id == MAKER
        )
        if mine:
            self.commands[type(command).__name__] += 1
        if mine and isinstance(answer, v.Placed):
            known = self.names.setdefault(answer.client_order_id, answer.order.order_id)
            assert known == answer.order.order_id, "one client_order_id, two orders"
        touched = set()
        for event in events:
            match event:
                case v.OrderChanged() if event.order.user_id == MAKER:
                    self.orders[event.order.order_id] = event.order
                    touched.add(event.order.order_id)
                case v.PositionChanged(user_id=user) if user == MAKER:
                    self.held[event.market_id, event.outcome] = event.qty
                case v.BalanceChanged(user_id=user) if user == MAKER:
                    self.cash_cents = event.available_cents + event.reserved_cents
                case v.FillBooked(user_id=user) if user == MAKER:
                    self.booked.append(event)
                case v.MarketStateChanged(state=MarketState.RESOLVED):
                    self.resolved.add(event.market_id)
                case _:
                    pass
        if isinstance(command, v.PlaceOrder | v.AmendOrder) and mine and len(touched) > 1:
            self.self_trades += 1

    @property
    def fills(self) -> int:
        return len(self.booked)

    def resting(self) -> list[v.OrderState]:
        return [order for order in self.orders.values() if order.status in RESTING]

    def resting_at(self, market: MarketId, is_bid: bool) -> dict[int, int]:
        """Shares by canonical price on one side of a rung."""
        found: dict[int, int] = {}
        for order in self.resting():
            is_yes = order.outcome is Outcome.YES
            if order.market_id == market and (is_yes == (order.side is Side.BUY)) is is_bid:
                price = order.price if is_yes else 100 - order.price
                found[price] = found.get(price, 0) + order.remaining_qty
        return found
