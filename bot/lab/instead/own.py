"""What of ours rested where at each instant of a session, from what its answers showed of it.

An answer shows an order as of its last change, by the venue's clock; a list of fills has each with
its own instant. Put in order the two say what rested, between answers too. Fills up to the shares
that an answer shows as filled are in it, also where they are stamped later than the order, as fills
of one taker are that come one nanosecond after the other. What no answer and no list ever showed is
not known: a create whose answer was lost is, once a read has shown its order. What is shown with a
time that cannot be read is passed over, as the bot books no such fill.

The same reader follows a journal and a session that never was: both are measured alike.
"""

from collections.abc import Container, Iterable

import msgspec

from bot.core import messages as m
from bot.lab.export.mine import filled_with
from venue.wire import instant, model
from venue.wire.money import BookSide, Outcome, Price, Side, book_side, canonical
from venue.wire.names import MarketId, OrderId


class Change(msgspec.Struct, frozen=True):
    """An order of ours as it stands from `at_ns` on, canonical YES. qty: shares that rest."""

    at_ns: int
    market_id: MarketId
    order_id: OrderId
    side: BookSide
    price: Price
    qty: int


class OwnFill(msgspec.Struct, frozen=True):
    """A fill of ours, canonical YES, at the venue's instant. fee_cents: None where not told."""

    at_ns: int
    market_id: MarketId
    order_id: OrderId
    trade_id: str
    side: BookSide
    price: Price
    qty: int
    fee_cents: int | None
    maker: bool


class _Seen(msgspec.Struct, frozen=True, order=True):
    """An order as of its last change."""

    at_ns: int
    filled: int
    price: Price
    rests: int
    whole: int


class _Made:
    """One order: what never changes of it, and what was seen."""

    __slots__ = ("created_ns", "market_id", "outcome", "seen", "side")

    def __init__(self, order: model.Order, outcome: Outcome, side: Side, created_ns: int) -> None:
        self.market_id = order.market_id
        self.outcome = outcome
        self.side = book_side(outcome, side)
        self.created_ns = created_ns
        self.seen: dict[_Seen, None] = {}


class Own:
    """Follows the answers of one session. Give it every one, then ask."""

    def __init__(self) -> None:
        self._made: dict[OrderId, _Made] = {}
        self._fills: dict[str, OwnFill] = {}
        self._known: set[tuple[OrderId, str, int, int]] = set()

    def take(self, body: m.Body) -> None:
        """What an answer showed."""
        match body:
            case m.OrderShown() | m.CancelShown():
                self._order(body.order)
            case m.OrdersShown():
                for order in body.orders:
                    self._order(order)
            case m.FillsShown():
                for fill in body.fills:
                    self._fill(fill)
            case _:
                pass

    def _order(self, order: model.Order) -> None:
        # A list shows most orders as it did the last time.
        known = (order.order_id, order.updated_at, order.remaining_qty, order.price)
        if known in self._known:
            return
        self._known.add(known)
        try:
            created_ns, at_ns = instant.to_ns(order.created_at), instant.to_ns(order.updated_at)
        except ValueError:
            return
        made = self._made.get(order.order_id)
        if made is None:
            if order.outcome is model.ShownOutcome.UNKNOWN or order.side is model.ShownSide.UNKNOWN:
                return
            outcome, side = Outcome(order.outcome.value), Side(order.side.value)
            made = self._made[order.order_id] = _Made(order, outcome, side, created_ns)
        rests = order.remaining_qty if order.status in model.RESTING else 0
        price = canonical(made.outcome, order.price)
        made.seen[_Seen(at_ns, order.filled_qty, price, rests, order.qty)] = None

    def _fill(self, fill: model.Fill) -> None:
        if fill.fill_id in self._fills or model.ShownOutcome.UNKNOWN is fill.outcome:
            return
        if fill.side is model.ShownSide.UNKNOWN:
            return
        try:
            created_ns = instant.to_ns(fill.created_at)
        except ValueError:
            return
        outcome = Outcome(fill.outcome.value)
        self._fills[fill.fill_id] = OwnFill(
            created_ns,
            fill.market_id,
            fill.order_id,
            fill.trade_id,
            book_side(outcome, Side(fill.side.value)),
            canonical(outcome, fill.outcome_price),
            fill.qty,
            fill.fee_cents,
            fill.liquidity is not model.Liquidity.TAKER,
        )

    # --- what came of it --------------------------------------------------------------------------

    def fills(self) -> list[OwnFill]:
        """Every fill that was shown, the oldest first."""
        return sorted(self._fills.values(), key=lambda fill: fill.at_ns)

    def changes(self) -> list[Change]:
        """Every change of what rests, the oldest first."""
        mine: dict[OrderId, list[OwnFill]] = {}
        for fill in self.fills():
            mine.setdefault(fill.order_id, []).append(fill)
        rows = [
            change
            for order_id, made in self._made.items()
            for change in _life(order_id, made, mine.get(order_id, []))
        ]
        return sorted(rows, key=lambda change: change.at_ns)


def _life(order_id: OrderId, made: _Made, fills: list[OwnFill]) -> Iterable[Change]:
    """One order, from its creation on."""

    def change(at_ns: int, price: Price, qty: int) -> Change:
        return Change(at_ns, made.market_id, order_id, made.side, price, max(0, qty))

    seen = sorted(made.seen)
    first = seen[0]
    rests, price, until_ns, filled = 0, first.price, made.created_ns, 0
    sums = filled_with([fill.qty for fill in fills], max(at.filled for at in seen))
    told = list(zip(fills, sums, strict=True))
    if first.at_ns > made.created_ns:
        # Its first answer was lost: whole when it came, less what it met at once.
        met = sum(fill.qty for fill in fills if fill.at_ns <= made.created_ns)
        rests = first.whole - met
        yield change(made.created_ns, price, rests)
    for at in seen:
        for fill, upto in told:
            if until_ns < fill.at_ns < at.at_ns and upto > filled:
                rests -= fill.qty
                yield change(fill.at_ns, price, rests)
        rests, price, until_ns, filled = at.rests, at.price, at.at_ns, at.filled
        yield change(at.at_ns, price, rests)
    for fill, upto in told:
        if rests > 0 and fill.at_ns > until_ns and upto > filled:
            rests -= fill.qty
            yield change(fill.at_ns, price, rests)


class Resting:
    """What of ours rests, as changes are gone through in order."""

    def __init__(self, changes: Iterable[Change]) -> None:
        self._ahead = iter(changes)
        self._next = next(self._ahead, None)
        self._orders: dict[OrderId, Change] = {}
        self._sizes: dict[tuple[MarketId, BookSide, Price], int] = {}

    def until(self, at_ns: int) -> None:
        """Take in every change up to an instant, that itself included."""
        while self._next is not None and self._next.at_ns <= at_ns:
            self._turn(self._next)
            self._next = next(self._ahead, None)

    def _turn(self, change: Change) -> None:
        before = self._orders.pop(change.order_id, None)
        if before is not None:
            self._add(before, -before.qty)
        if change.qty:
            self._orders[change.order_id] = change
            self._add(change, change.qty)

    def _add(self, change: Change, qty: int) -> None:
        key = (change.market_id, change.side, change.price)
        size = self._sizes.pop(key, 0) + qty
        if size:
            self._sizes[key] = size

    def beside(self, market_id: MarketId, side: BookSide, prices: Container[Price]) -> int:
        """Shares of ours on a side at other prices than these."""
        return sum(
            qty
            for (of, on, price), qty in self._sizes.items()
            if of == market_id and on is side and price not in prices
        )

    def at(self, market_id: MarketId, side: BookSide, price: Price) -> int:
        """Shares of ours at a price."""
        return self._sizes.get((market_id, side, price), 0)
