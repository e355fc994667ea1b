"""Reads the venue's truth: our account by the engine's events, and which writes may be live.

A write counts from when it left until no copy can arrive any more and the bot has a response.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bot.core import messages as m
from bot.core.account.portfolio import Portfolio
from venue.engine import messages as v
from venue.wire.model import RESTING
from venue.wire.money import Outcome, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import Amend, QtyOrder, TimeInForce

DOLLAR = 100
_RATE_UNITS = 10**8

BookPlace = tuple[MarketId, bool]
"""A side of a market: True for the bids (canonical YES)."""

_judged: list[tuple[str, ...]] = [()]


class Broken(AssertionError):
    """An invariant does not hold."""

    def __init__(self, invariant: str, text: object) -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant
        self.world: object = None  # in which it does not hold, if known


def check(holds: bool, invariant: str, text: object) -> None:
    if not holds and (not _judged[-1] or invariant in _judged[-1]):
        raise Broken(invariant, text)


@contextmanager
def only(*invariants: str) -> Iterator[None]:
    """Judge by these alone; by all of them where none is named."""
    _judged.append(invariants)
    try:
        yield
    finally:
        _judged.pop()


def level_of(outcome: Outcome, price: int) -> int:
    return price if outcome is Outcome.YES else DOLLAR - price


def side_of(order: QtyOrder | v.OrderState) -> BookPlace:
    return order.market_id, (order.outcome is Outcome.YES) == (order.side is Side.BUY)


def may_rest(order: QtyOrder | v.OrderState) -> bool:
    return order.time_in_force is TimeInForce.GTC


@dataclass
class Truth:
    cash: dict[Ticker, int] = field(default_factory=dict)
    paid: dict[Ticker, int] = field(default_factory=dict)  # the part of it that is payouts
    held: dict[tuple[MarketId, Outcome], int] = field(default_factory=dict)
    working: dict[OrderId, v.OrderState] = field(default_factory=dict)
    working_in: dict[MarketId, dict[OrderId, v.OrderState]] = field(default_factory=dict)
    side_of: dict[OrderId, BookPlace] = field(default_factory=dict)  # of every order there ever was
    foreign: dict[OrderId, None] = field(default_factory=dict)  # orders the bot did not place
    resolved: dict[MarketId, Outcome] = field(default_factory=dict)
    filled: dict[OrderId, int] = field(default_factory=dict)
    names: dict[OrderId, ClientOrderId] = field(default_factory=dict)
    fills: list[tuple[int, v.FillBooked]] = field(default_factory=list)  # with the world's time
    # Fills of no order of the bot's, which it may not know of yet.
    strange: dict[str, OrderId] = field(default_factory=dict)
    unshown_cents: int = 0  # what fills cost beyond the interface's fee (S16)

    def net(self, market: MarketId) -> int:
        held = self.held
        return held.get((market, Outcome.YES), 0) - held.get((market, Outcome.NO), 0)

    def moved(self, event: Ticker, cents: int) -> None:
        self.cash[event] = self.cash.get(event, 0) + cents

    def on_order(self, order: v.OrderState) -> None:
        self.filled[order.order_id] = order.filled_qty
        self.side_of[order.order_id] = side_of(order)
        here = self.working_in.setdefault(order.market_id, {})
        if order.status in RESTING:
            self.working[order.order_id] = here[order.order_id] = order
        else:
            self.working.pop(order.order_id, None)
            here.pop(order.order_id, None)

    def renames(self, before: OrderId, order_id: OrderId) -> None:
        self.names[order_id] = self.names[before]
        if before in self.foreign:
            self.foreign[order_id] = None

    def bot_knows(self, book: Portfolio) -> None:
        """Fills of somebody else that the bot has booked are strange no more."""
        for name, order_id in list(self.strange.items()):
            if book.filled_qty(order_id) >= self.filled.get(order_id, 0):
                del self.strange[name]

    def resting(self) -> list[v.OrderState]:
        return list(self.working.values())

    def ours(self) -> Iterator[v.OrderState]:
        return (order for key, order in self.working.items() if key not in self.foreign)


class Fees:
    def __init__(self, rate: str) -> None:
        self._rate_units = round(float(rate) * _RATE_UNITS)

    def fee_cents(self, price: int, qty: int) -> int:
        exact = self._rate_units * qty * price * (DOLLAR - price)
        return -(-exact // (_RATE_UNITS * DOLLAR))


class Possible:
    __slots__ = ("is_bid", "is_buy", "levels", "outcome", "price", "qty", "rests")

    def __init__(self, order: QtyOrder | v.OrderState, qty: int) -> None:
        self.rests = may_rest(order)
        self.outcome = order.outcome
        self.is_buy = order.side is Side.BUY
        self.is_bid = side_of(order)[1]
        self.price: int = order.price
        self.levels: tuple[int, ...] = (level_of(order.outcome, order.price),)  # canonical YES
        self.qty = qty  # all that may fill

    def may_become(self, amend: Amend) -> None:
        if amend.price is not None:
            self.levels = (*self.levels, level_of(self.outcome, amend.price))
            worse = max if self.is_buy else min
            self.price = worse(self.price, amend.price)
        if amend.qty is not None:
            self.qty = max(self.qty - 1, 0) + amend.qty

    def loses(self, fees: Fees) -> int:
        per_share = self.price if self.is_buy else DOLLAR - self.price
        return per_share * self.qty + fees.fee_cents(self.price, self.qty)


class Flight:
    def __init__(self, truth: Truth, markets: Iterable[MarketId]) -> None:
        self._truth = truth
        self.orders: dict[ClientOrderId, QtyOrder] = {}  # what each create asked for
        self.order_of: dict[ClientOrderId, OrderId] = {}
        self._landing = {market: dict[ClientOrderId, QtyOrder]() for market in markets}
        self._copies: dict[ClientOrderId, int] = {}
        self._over: set[ClientOrderId] = set()
        self._explained: set[ClientOrderId] = set()
        self._amending: dict[OrderId, list[Amend]] = {}

    def on_listed(self, market: MarketId) -> None:
        self._landing[market] = {}

    def is_under_way(self, market: MarketId) -> bool:
        return bool(self._landing[market] or self._amending)

    def possible(self, market: MarketId) -> list[Possible]:
        """The possibly live orders on a rung; none on a resolved one, which rejects all."""
        if market in self._truth.resolved:
            return []
        out = []
        for order_id, order in self._truth.working_in.get(market, {}).items():
            if order_id not in self._truth.foreign:
                each = Possible(order, order.remaining_qty)
                for amend in self._amending.get(order_id, ()):
                    each.may_become(amend)
                out.append(each)
        return out + [Possible(wanted, wanted.qty) for wanted in self._landing[market].values()]

    def count(self) -> int:
        open_rungs = (key for key in self._landing if key not in self._truth.resolved)
        landing = sum(may_rest(each) for key in open_rungs for each in self._landing[key].values())
        return sum(1 for _ in self._truth.ours()) + landing

    def on_create_sent(self, request: m.Create) -> None:
        """B1: one client_order_id is one order. B12: a retry of a create asks for the same."""
        name = request.order.client_order_id
        known = self.orders.get(name)
        check(known in (None, request.order), "B1", "a client_order_id of two orders")
        check((known is not None) == request.again, "B12", f"again is {request.again}")
        self.orders[name] = request.order
        self._copies[name] = self._copies.get(name, 0) + 1
        self._over.discard(name)

    def may_land(self, order: QtyOrder) -> None:
        self._landing[order.market_id][order.client_order_id] = order

    def on_landed(self, market: MarketId, name: ClientOrderId, order_id: OrderId) -> None:
        """A create became this order. B1: it is its only one."""
        known = self.order_of.setdefault(name, order_id)
        check(known == order_id, "B1", "two orders for one client_order_id")
        self._landing[market].pop(name, None)

    def on_amend_sent(self, request: m.AmendResting) -> None:
        self._amending.setdefault(request.order_id, []).append(request.amend)

    def copy_ends(self, request: m.Request) -> None:
        if isinstance(request, m.AmendResting):
            left = self._amending.get(request.order_id, [])
            if request.amend in left:
                left.remove(request.amend)
            if not left:
                self._amending.pop(request.order_id, None)
        elif isinstance(request, m.Create):
            name = request.order.client_order_id
            self._copies[name] = self._copies.get(name, 0) - 1
            if self._copies[name] <= 0:
                del self._copies[name]
                if name in self._over:
                    self._over.remove(name)
                    self._landing[request.order.market_id].pop(name, None)

    def never_left(self, request: m.Request) -> None:
        self.copy_ends(request)
        if isinstance(request, m.Create) and not request.again:
            self.on_rejected(request.order)

    def on_rejected(self, order: QtyOrder) -> None:
        name = order.client_order_id
        if name in self._copies:
            self._over.add(name)
        else:
            self._landing[order.market_id].pop(name, None)

    def on_create_resolved(self, name: ClientOrderId, order_id: OrderId | None = None) -> None:
        """B6: a create resolved without an order does not rest; one with an order rests as that one
        or its equal."""
        working, made = self._truth.working, self.order_of.get(name)
        if made in working and made != order_id:
            named = None if order_id is None else working.get(order_id)
            equal = named is not None and _place_of(named) == _place_of(working[made])
            check(equal, "B6", f"{name} rests as {made}, not as {order_id}")
        for landing in self._landing.values():
            if name in landing:
                self._explained.add(name)
                self.on_rejected(landing[name])

    def remembered(self, names: Collection[ClientOrderId], *, lost: bool = False) -> None:
        """B6: unless its journal is lost, a new process knows every create that may land."""
        for landing in self._landing.values():
            for name, order in list(landing.items()):
                if name not in names:
                    known = lost or name in self._explained
                    check(known, "B6", f"{name} may land and is forgotten")
                    self.on_rejected(order)


def _place_of(order: v.OrderState) -> tuple[MarketId, Outcome, Side, int]:
    return order.market_id, order.outcome, order.side, order.price
