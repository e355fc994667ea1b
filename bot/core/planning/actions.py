"""The changes that a plan may want, the shares that it may sell, and the orders that it must not
cross.

`bot.core.execution.executor` carries actions out, the most valuable first. A limit may refuse any
of them at the instant it would leave.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from bot.core.orders.order import OwnOrder, State
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, canonical
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import Amend, QtyOrder, TimeInForce

_BID: Final = BookSide.BID


class CreateAction(msgspec.Struct, frozen=True):
    """Place a new order at a canonical price, by the route given."""

    book_side: BookSide
    price: Price
    outcome: Outcome
    side: Side
    qty: Qty
    why: str
    value: float = 0.0
    """Of any action: cents of edge expected to be gained over the horizon, or of risk taken off."""
    time_in_force: TimeInForce = TimeInForce.GTC
    """An order that does not rest trades now or not at all. It has no value and leaves first."""

    def to_qty_order(self, market_id: MarketId, qty: int, name: str) -> QtyOrder:
        """The create of so many of its shares, under the client_order_id `name`."""
        return QtyOrder(
            market_id,
            self.outcome,
            self.side,
            canonical(self.outcome, self.price),
            Qty(qty),
            self.time_in_force,
            ClientOrderId(name),
        )


class AmendAction(msgspec.Struct, frozen=True):
    """Change a resting order."""

    order: OwnOrder
    amend: Amend
    keeps_priority: bool
    why: str
    value: float = 0.0
    is_step_back: bool = False
    """True if the order rests at a bolder price than the quotes of its side allow: nothing but a
    lack of tokens holds the amend back, and then it is cancelled instead."""

    @property
    def is_improvement(self) -> bool:
        """True if it moves the order toward the touch."""
        own, price = self.order, self.amend.price
        if price is None:
            return False
        yes_price = canonical(own.outcome, price)
        return yes_price > own.yes_price if own.book_side is _BID else yes_price < own.yes_price


class CancelAction(msgspec.Struct, frozen=True):
    """Cancel a resting order."""

    order: OwnOrder
    why: str
    value: float = 0.0
    more: CreateAction | None = None
    """The shares that an order which replaces this one has on top of its own; None without one. An
    order that no limit admits need not be cancelled for it."""
    instead: bool = False
    """True when another order for just its shares follows. Until a limit admits that one, this one
    need not be cancelled."""
    is_step_back: bool = False
    """As of an amend; without quotes on its side: True if its edge is below zero."""

    @property
    def gives_way(self) -> bool:
        """True when the order is cancelled for no other reason than that another replaces it."""
        return self.instead or self.more is not None


Action = CreateAction | AmendAction | CancelAction


class Plan(msgspec.Struct, frozen=True):
    """The changes on one market, cancels first."""

    actions: tuple[Action, ...]
    again_ns: int | None
    """When to plan again although nothing has changed; None for never."""


def free_shares(yes_qty: int, no_qty: int, orders: Iterable[OwnOrder]) -> tuple[int, int]:
    """YES and NO inventory less the shares that our sells may still sell; may be below zero."""
    for own in orders:
        if own.side is Side.SELL:
            if own.outcome is Outcome.YES:
                yes_qty -= own.max_fillable
            else:
                no_qty -= own.max_fillable
    return yes_qty, no_qty


def crosses(side: BookSide, price: Price, orders: Iterable[OwnOrder]) -> list[OwnOrder]:
    """Our own live orders that a quote at this canonical price would trade with.

    Every price counts at which an order may rest, whatever its state.
    """
    sign = 1 if side is _BID else -1
    return [
        own
        for own in orders
        if own.state is not State.CLOSED
        and own.book_side is not side
        and any(sign * each <= sign * price for each in own.yes_prices)
    ]
