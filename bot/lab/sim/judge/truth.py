"""The maker's account as the engine's events make it: cash, shares, orders, and whose they are."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from venue.core import messages as v
from venue.wire.model import RESTING
from venue.wire.money import Outcome, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import QtyOrder, TimeInForce


@dataclass
class Truth:
    """The maker's account as the engine's events make it. paid: what of the cash of an event its
    resolved shares have paid. foreign: orders the bot did not place. fills: of its account, each
    with its instant by the world's time. strange: those of them that are of no order of the bot's
    and that it may not know of yet. renamed: ids that amends have ended."""

    cash: dict[Ticker, int] = field(default_factory=dict)
    paid: dict[Ticker, int] = field(default_factory=dict)
    held: dict[tuple[MarketId, Outcome], int] = field(default_factory=dict)
    working: dict[OrderId, v.OrderState] = field(default_factory=dict)
    working_in: dict[MarketId, dict[OrderId, v.OrderState]] = field(default_factory=dict)
    foreign: dict[OrderId, None] = field(default_factory=dict)
    resolved: dict[MarketId, Outcome] = field(default_factory=dict)
    filled: dict[OrderId, int] = field(default_factory=dict)
    names: dict[OrderId, ClientOrderId] = field(default_factory=dict)
    fills: list[tuple[int, v.FillBooked]] = field(default_factory=list)
    strange: dict[str, OrderId] = field(default_factory=dict)
    renamed: dict[OrderId, None] = field(default_factory=dict)
    flow_cents: int = 0

    def shares(self, market: MarketId, outcome: Outcome) -> int:
        return self.held.get((market, outcome), 0)

    def net(self, market: MarketId) -> int:
        return self.shares(market, Outcome.YES) - self.shares(market, Outcome.NO)

    def moved(self, event: Ticker, cents: int) -> None:
        self.cash[event] = self.cash.get(event, 0) + cents
        self.flow_cents += cents

    def pays(self, event: Ticker, cents: int) -> None:
        self.moved(event, cents)
        self.paid[event] = self.paid.get(event, 0) + cents

    def take(self, order: v.OrderState) -> None:
        self.filled[order.order_id] = order.filled_qty
        here = self.working_in.setdefault(order.market_id, {})
        if order.status in RESTING:
            self.working[order.order_id] = here[order.order_id] = order
        else:
            self.working.pop(order.order_id, None)
            here.pop(order.order_id, None)

    def resting(self) -> list[v.OrderState]:
        return list(self.working.values())

    def over(self, markets: Iterable[MarketId]) -> bool:
        return all(market in self.resolved for market in markets)

    def ours(self) -> Iterator[v.OrderState]:
        return (order for key, order in self.working.items() if key not in self.foreign)


def place_of(order: v.OrderState) -> tuple[MarketId, Outcome, Side, int]:
    return order.market_id, order.outcome, order.side, order.price


def may_rest(order: QtyOrder | v.OrderState) -> bool:
    return order.time_in_force is TimeInForce.GTC
