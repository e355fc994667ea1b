"""Which orders of ours rest, as far as the answers in the journal tell.

A memory for the next run, not a truth: what a list of the venue's does not confirm is not there.
"""

from collections import OrderedDict
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.orders.order import slot_shown
from bot.io.journal.intents import is_order_of
from venue.wire import model
from venue.wire.errors import Advice, Sequenced, row_for
from venue.wire.money import Qty
from venue.wire.names import OrderId
from venue.wire.requests import QtyOrder

WORKING_MAX: Final = 1_000
"""Orders remembered, above every limit on resting orders. One forgotten is only not kept at a
start; it is cancelled like any stranger."""

EARLIER_IDS_MAX: Final = 8
"""Ids that amends took from an order, as many as are remembered of each."""


class _Known:
    """An order, how many writes about it have no answer yet, and whether one never got one."""

    __slots__ = ("doubt", "order", "waiting")

    def __init__(self, order: m.JournaledOrder, doubt: bool) -> None:
        self.order = order
        self.waiting = 0
        self.doubt = doubt

    def shown(self) -> m.JournaledOrder:
        """It as of now."""
        settled = not self.waiting and not self.doubt
        return msgspec.structs.replace(self.order, settled=settled)


def _is_foreign(known: m.JournaledOrder, body: m.Body) -> bool:
    """True if an answer about an order shows another one: another id, which an amend may give
    (S13), and not even its market, outcome and side."""
    if not isinstance(body, m.OrderBody | m.CancelBody) or body.order.order_id == known.order_id:
        return False
    return slot_shown(body.order)[:3] != (known.market_id, known.outcome.value, known.side.value)


class OpenOrderIndex:
    """Follows a journal, entry by entry.

    An order comes in when the answer to its create shows it resting, and goes when an answer shows
    its end, when a run begins to quote without having taken it over, and when a run ends with a
    read that shows nothing left.
    """

    def __init__(
        self, known: tuple[m.JournaledOrder, ...] = (), under_way: tuple[m.Send, ...] = ()
    ) -> None:
        """under_way: writes of the same run that have no answer yet."""
        self._known: OrderedDict[OrderId, _Known] = OrderedDict()
        self._asked: dict[m.RequestId, m.Write | m.ReadOrder] = {}
        for order in known:
            self._known[order.order_id] = _Known(order, not order.settled)
        for send in under_way:
            self._sent(send)

    def orders(self) -> tuple[m.JournaledOrder, ...]:
        """The orders, oldest first; at most WORKING_MAX."""
        return tuple(known.shown() for known in self._known.values())

    def follow(self, message: m.Event | m.Effect, at_ns: int) -> None:
        """Take in the next entry."""
        match message:
            case m.Send():
                self._sent(message)
            case m.Response() if message.request_id in self._asked:
                self._answered(self._asked.pop(message.request_id), message.answer, at_ns)
            case m.Started():
                if message.new_account:
                    self._known.clear()
                self._asked.clear()
                for known in self._known.values():
                    # What the run before still waited for may have been carried out.
                    known.doubt = known.doubt or known.waiting > 0
                    known.waiting = 0
            case m.OrdersAdopted():
                kept = frozenset(message.order_ids)
                for order_id in [each for each in self._known if each not in kept]:
                    del self._known[order_id]
            case m.DrainComplete(left=(), unknown=(), unshown=False):
                self._known.clear()

    def identified(self, order: QtyOrder, order_id: OrderId, at_ns: int) -> None:
        """A create without an answer was found resting; how much of it is for a list to say."""
        known = m.JournaledOrder(
            client_order_id=order.client_order_id,
            order_id=order_id,
            market_id=order.market_id,
            outcome=order.outcome,
            side=order.side,
            price=order.price,
            remaining=order.qty,
            filled=Qty(0),
            placed_ns=at_ns,
        )
        self._known[order_id] = _Known(known, doubt=False)
        if len(self._known) > WORKING_MAX:
            self._known.popitem(last=False)

    def _sent(self, send: m.Send) -> None:
        match send.request:
            case m.Create():
                self._asked[send.request_id] = send.request
            case m.ReadOrder(order_id=order_id):
                if order_id in self._known:
                    self._asked[send.request_id] = send.request
            case m.AmendResting(order_id=order_id) | m.CancelResting(order_id=order_id):
                known = self._known.get(order_id)
                if known is not None:
                    self._asked[send.request_id] = send.request
                    known.waiting += 1
                    # Nobody amends an order before an earlier doubt about it is over.
                    known.doubt &= not isinstance(send.request, m.AmendResting)

    def _answered(self, request: m.Write | m.ReadOrder, answer: m.Answer, at_ns: int) -> None:
        if isinstance(request, m.Create):
            body = answer.body if isinstance(answer, m.Ok) else None
            if isinstance(body, m.OrderBody) and is_order_of(request.order, body.order):
                self._created(request, body.order, at_ns)
            return
        known = self._known.get(request.order_id)
        if known is None:
            return
        if not isinstance(request, m.ReadOrder):
            known.waiting = max(0, known.waiting - 1)
        if isinstance(answer, m.Ok) and _is_foreign(known.order, answer.body):
            answer = m.Unknown("it shows another order than was asked about")
        match answer:
            case m.Ok(body=m.CancelBody()):
                del self._known[request.order_id]
            case m.Ok(body=m.OrderBody(order=shown)):
                self._shown(known, request, shown)
            case m.Rejected():
                row = row_for(answer.status or 429, answer.code)
                if row.advice is Advice.ENDED:
                    del self._known[request.order_id]
                else:
                    known.doubt |= row.sequenced is Sequenced.UNKNOWN
            case m.Unknown():
                known.doubt |= not isinstance(request, m.ReadOrder)

    def _created(self, create: m.Create, shown: model.Order, at_ns: int) -> None:
        if shown.status in model.TERMINAL:
            self._known.pop(shown.order_id, None)
            return
        self.identified(create.order, shown.order_id, at_ns)
        known = self._known[shown.order_id]
        known.order = msgspec.structs.replace(
            known.order,
            price=shown.price,
            remaining=shown.remaining_qty,
            filled=shown.filled_qty,
        )

    def _shown(
        self,
        known: _Known,
        request: m.AmendResting | m.CancelResting | m.ReadOrder,
        shown: model.Order,
    ) -> None:
        order = known.order
        if shown.status in model.TERMINAL:
            is_cancelled = shown.status is model.OrderStatus.CANCELED
            if is_cancelled and isinstance(request, m.ReadOrder) and (known.waiting or known.doubt):
                return  # an amend without an answer may have it rest under another id (S13)
            del self._known[order.order_id]
        elif isinstance(request, m.AmendResting):
            # The order_id may be another one after an amend (S13).
            del self._known[order.order_id]
            earlier = order.previous_ids
            if shown.order_id != order.order_id:
                # Where it shows fewer fills than there were, those are its own alone.
                goes_on = shown.filled_qty >= order.filled
                unshown = Qty(0) if goes_on else order.filled
                earlier = (*(earlier if goes_on else ()), (order.order_id, unshown))
            known.order = msgspec.structs.replace(
                order,
                order_id=shown.order_id,
                previous_ids=earlier[-EARLIER_IDS_MAX:],
                price=shown.price,
                remaining=shown.remaining_qty,
                filled=shown.filled_qty,
            )
            self._known[shown.order_id] = known
        elif shown.filled_qty > order.filled:
            known.order = msgspec.structs.replace(
                order, remaining=shown.remaining_qty, filled=shown.filled_qty
            )
