"""What a caller may ask of the engine: orders by size or budget, amends; the priority rule."""

import enum
from typing import NewType

import msgspec

from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId

RequestBody = NewType("RequestBody", bytes)
"""The exact bytes of a write; a re-send repeats them to the letter."""


class TimeInForce(enum.StrEnum):
    GTC = "gtc"
    IOC = "ioc"
    FOK = "fok"


class QtyOrder(msgspec.Struct, frozen=True, tag="qty", tag_field="kind", gc=False):
    """An order for a number of shares. `price` is the limit for the named outcome."""

    market_id: MarketId
    outcome: Outcome
    side: Side
    price: Price
    qty: Qty
    time_in_force: TimeInForce
    client_order_id: ClientOrderId


class BudgetOrder(msgspec.Struct, frozen=True, tag="budget", tag_field="kind", gc=False):
    """A purchase for an amount of cash, fees included. price: the worst acceptable per share.
    Raises ValueError for gtc: it never rests."""

    market_id: MarketId
    outcome: Outcome
    price: Price
    budget_cents: Cents
    time_in_force: TimeInForce
    client_order_id: ClientOrderId

    def __post_init__(self) -> None:
        if self.time_in_force is TimeInForce.GTC:
            raise ValueError("a budget order is ioc or fok: it never rests")


NewOrder = QtyOrder | BudgetOrder


class Amend(msgspec.Struct, frozen=True, gc=False):
    """A change of a resting order. qty: the new REMAINING size. Raises ValueError when both are
    None."""

    price: Price | None = None
    qty: Qty | None = None

    def __post_init__(self) -> None:
        if self.price is None and self.qty is None:
            raise ValueError("an amend gives a price, a remaining qty, or both")


def keeps_priority(old_price: Price, old_qty: Qty, new_price: Price, new_qty: Qty) -> bool:
    """True if an amended order keeps its place in the queue: same price, and the remaining size
    does not increase."""
    return new_price == old_price and new_qty <= old_qty
