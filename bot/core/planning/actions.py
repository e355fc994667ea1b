"""What a plan may wish for, the shares that it may sell, and the orders that it must not cross.

Wishes are carried out by `bot.core.execution.executor`, the most valuable first. Any of them may be
refused by a limit at the instant it would leave.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from bot.core.orders.order import OwnOrder
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, canonical
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import Amend, QtyOrder, TimeInForce

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_SELL: Final = Side.SELL
_YES: Final = Outcome.YES

MERGED: Final = "to be merged with what is missing"
"""Why an order goes that is to come back larger at its price."""


class CreateAction(msgspec.Struct, frozen=True):
    """A new order is wanted at a canonical price, by the route given.

    value of any wish: cents of edge expected to be gained over the horizon, or of risk taken off.
    time_in_force: one that does not rest trades now or not at all, and has no value of its own: it
    leaves first.
    """

    book_side: BookSide
    price: Price
    outcome: Outcome
    side: Side
    qty: Qty
    why: str
    value: float = 0.0
    time_in_force: TimeInForce = TimeInForce.GTC

    def order(self, market_id: MarketId, qty: int, name: str) -> QtyOrder:
        """What a create of so many of its shares asks for, under the client_order_id `name`."""
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
    """A change of a resting order is wanted. `keeps_place`: whether it keeps its place."""

    order: OwnOrder
    amend: Amend
    keeps_place: bool
    why: str
    value: float = 0.0


class CancelAction(msgspec.Struct, frozen=True):
    """The end of a resting order is wanted. more: what is to come beside its shares in an order
    that takes its place; None where none does. Of what no limit admits, it need not give way.
    instead: another one is to come for just its shares, and it need not give way before that may.
    """

    order: OwnOrder
    why: str
    value: float = 0.0
    more: CreateAction | None = None
    instead: bool = False

    @property
    def gives_way(self) -> bool:
        """Whether it goes for no other reason than that another one is to take its place."""
        return self.instead or self.more is not None


Action = CreateAction | AmendAction | CancelAction


class Plan(msgspec.Struct, frozen=True):
    """What to change on a rung, cancels first; `again_ns` is when to look once more, if ever."""

    wishes: tuple[Action, ...]
    again_ns: int | None


def cancels_first(wishes: Iterable[Action]) -> tuple[Action, ...]:
    """The wishes, cancels first, else as they were; of several about one order the first stands."""
    ordered = sorted(wishes, key=_is_no_cancel)
    seen: set[int] = set()
    out: list[Action] = []
    for wish in ordered:
        if not isinstance(wish, CreateAction):
            if id(wish.order) in seen:
                continue
            seen.add(id(wish.order))
        out.append(wish)
    return tuple(out)


def _is_no_cancel(wish: Action) -> bool:
    return not isinstance(wish, CancelAction)


class FreeShares(msgspec.Struct):
    """Shares held that no order of ours may be selling; taken from as routes are chosen."""

    yes: int
    no: int
    yes_promised: int = 0
    no_promised: int = 0

    @property
    def has_some(self) -> bool:
        """Whether a share of either outcome is free."""
        return self.yes > 0 or self.no > 0

    def of(self, outcome: Outcome) -> int:
        """Free shares of an outcome; may be below zero while sells are undecided."""
        return self.yes if outcome is _YES else self.no

    def take(self, outcome: Outcome, qty: int) -> Qty:
        """Up to `qty` shares of an outcome; what is returned is no longer free."""
        taken = max(0, min(self.of(outcome), qty))
        if outcome is _YES:
            self.yes -= taken
        else:
            self.no -= taken
        return Qty(taken)

    def unpromised(self, outcome: Outcome) -> int:
        """Free shares of an outcome to which no purchase gives way yet."""
        return self.of(outcome) - (self.yes_promised if outcome is _YES else self.no_promised)

    def promise(self, outcome: Outcome, qty: int) -> None:
        """A purchase gives way to so many more: they are free until their sale is chosen."""
        if outcome is _YES:
            self.yes_promised += qty
        else:
            self.no_promised += qty


def free_shares(yes_qty: Qty, no_qty: Qty, orders: Iterable[OwnOrder]) -> FreeShares:
    """Held shares less everything that our own sells may still sell."""
    free = FreeShares(yes_qty, no_qty)
    for own in orders:
        if own.side is _SELL:
            if own.outcome is _YES:
                free.yes -= own.max_fillable
            else:
                free.no -= own.max_fillable
    return free


def crosses(side: BookSide, price: Price, orders: Iterable[OwnOrder]) -> list[OwnOrder]:
    """Our own live orders that a quote at this canonical price would trade with.

    Every price counts at which an order may rest, whatever its state.
    """
    if side is _BID:
        return [
            own
            for own in orders
            if own.is_live and own.book_side is _ASK and min(own.yes_prices) <= price
        ]
    return [
        own
        for own in orders
        if own.is_live and own.book_side is _BID and max(own.yes_prices) >= price
    ]
