"""What of the bot's writes may be live: creates and amends on their way, and what rests.

A write counts from when it left until it is over for certain: every copy of it has arrived or can
no more, and the bot has been told.
"""

from collections.abc import Collection, Iterable

from bot.core import messages as m
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.possible import Fees, Possible
from bot.lab.sim.judge.truth import Truth, may_rest, place_of
from venue.wire.money import Side
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import Amend, QtyOrder


class Flight:
    """The writes of every life of the bot. bodies: what each create was sent as. order_of: what it
    became."""

    def __init__(self, truth: Truth, markets: Iterable[MarketId]) -> None:
        self._truth = truth
        self.bodies: dict[ClientOrderId, bytes] = {}
        self.order_of: dict[ClientOrderId, OrderId] = {}
        self._landing = {market: dict[ClientOrderId, QtyOrder]() for market in markets}
        self._copies: dict[ClientOrderId, int] = {}
        self._over: dict[ClientOrderId, None] = {}
        self._explained: dict[ClientOrderId, None] = {}
        self._amending: dict[OrderId, list[Amend]] = {}

    def listed(self, market: MarketId) -> None:
        self._landing[market] = {}

    def is_under_way(self, market: MarketId) -> bool:
        return bool(self._landing[market] or self._amending)

    def possible(self, market: MarketId) -> list[Possible]:
        out = []
        foreign = self._truth.foreign
        for order_id, order in self._truth.working_in.get(market, {}).items():
            if order_id not in foreign:
                each = Possible(order.outcome, order.side, order.price, order.remaining_qty)
                for amend in self._amending.get(order_id, ()):
                    each.may_become(amend)
                out.append(each)
        for wanted in self._landing[market].values():
            rests = may_rest(wanted)
            out.append(Possible(wanted.outcome, wanted.side, wanted.price, wanted.qty, rests=rests))
        return out

    def locks_cents(self, fees: Fees) -> int:
        cents = 0
        for its in self._landing.values():
            for each in its.values():
                if each.side is Side.BUY:
                    cents += each.price * each.qty + fees.of(each.price, each.qty)
        for order_id, amends in self._amending.items():
            order = self._truth.working.get(order_id)
            if order is not None and order.side is Side.BUY:
                for amend in amends:
                    # Of another size a fill just before makes it more, which the venue refuses.
                    if amend.price is not None and amend.qty is None:
                        locked = amend.price * order.remaining_qty
                        locked += fees.of(amend.price, order.remaining_qty)
                        cents += max(0, locked - order.reserved_cents)
        return cents

    def count(self) -> int:
        open_rungs = (key for key in self._landing if key not in self._truth.resolved)
        landing = sum(may_rest(each) for key in open_rungs for each in self._landing[key].values())
        return sum(1 for _ in self._truth.ours()) + landing

    # --- on its way -------------------------------------------------------------------------------

    def leaves(self, request: m.Create) -> None:
        name = request.order.client_order_id
        self.bodies[name] = request.body
        self._copies[name] = self._copies.get(name, 0) + 1
        self._over.pop(name, None)

    def may_land(self, order: QtyOrder) -> None:
        self._landing[order.market_id][order.client_order_id] = order

    def landed(self, market: MarketId, name: ClientOrderId, order_id: OrderId) -> None:
        """A create became this order. B1: it is its only one."""
        known = self.order_of.setdefault(name, order_id)
        check(known == order_id, "B1", "two orders for one client_order_id")
        self._landing[market].pop(name, None)

    def amends(self, request: m.AmendResting) -> None:
        self._amending.setdefault(request.order_id, []).append(request.amend)

    def copy_ends(self, request: m.Request) -> None:
        if isinstance(request, m.AmendResting):
            left = self._amending.get(request.order_id)
            if left and request.amend in left:
                left.remove(request.amend)
                if not left:
                    del self._amending[request.order_id]
        elif isinstance(request, m.Create):
            name = request.order.client_order_id
            left_copies = self._copies.get(name, 0) - 1
            if left_copies > 0:
                self._copies[name] = left_copies
                return
            self._copies.pop(name, None)
            if self._over.pop(name, self) is None:
                self._landing[request.order.market_id].pop(name, None)

    def never_left(self, request: m.Request) -> None:
        self.copy_ends(request)
        if isinstance(request, m.Create) and not request.again:
            self.refused(request.order)

    def refused(self, order: QtyOrder) -> None:
        name = order.client_order_id
        if name in self._copies:
            self._over[name] = None
        else:
            self._landing[order.market_id].pop(name, None)

    def settled(self, name: ClientOrderId, order_id: OrderId | None = None) -> None:
        """The bot says that this create made no order, or knows the order: it counts it no more.

        B6: when it says none, none of it rests; when it names one, that is it, or its equal.
        """
        made = self.order_of.get(name)
        rests = None if made is None else self._truth.working.get(made)
        if rests is not None:
            named = None if order_id is None else self._truth.working.get(order_id)
            equal = named is not None and place_of(named) == place_of(rests)
            check(equal or order_id == made, "B6", f"{name} rests as {made}, not as {order_id}")
        for landing in self._landing.values():
            order = landing.get(name)
            if order is not None:
                self._explained[name] = None
                self.refused(order)

    def remembered(self, names: Collection[ClientOrderId], *, lost: bool = False) -> None:
        """A life begins that knows of these creates alone: no other is ever sent again.

        B6: unless its journal is lost, it knows every one that may land.
        """
        for landing in self._landing.values():
            for name, order in list(landing.items()):
                if name not in names:
                    check(
                        lost or name in self._explained, "B6", f"{name} may land and is forgotten"
                    )
                    self.refused(order)
