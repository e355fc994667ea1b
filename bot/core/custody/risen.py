"""Orders of ours that are over and come back: in a list of what rests, after their end was known.

A venue that was set back to an earlier state brings them back to life. They are cancelled as what
was found resting is; one that comes back too often is asked about instead.

Source: reliability, rows 59 and 62, B13.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from bot.core.desk.desk import Desk
from bot.core.desk.outbox import Outbox
from bot.core.desk.shelf import keep_newest
from bot.core.orders.order import OwnOrder
from venue.wire import model
from venue.wire.names import OrderId

_RISES_MAX: Final = 2
"""An id that came back from its end so often, and was cancelled, is asked about from then on: where
a read by it shows that it is over, nothing stands behind the row that lists it, which is neither
written about nor waited for any more. Where it rests the cancels were not carried out."""

_KEPT_MAX: Final = 1_000


class Risen:
    """Which orders came back, and what was done about each.

    is_news: whether the last list showed one that the list before it did not: a second list is to
    confirm it. may_rest: what the last list showed of all that ever came back, but for what is let
    be.
    """

    def __init__(
        self,
        desk: Desk,
        out: Outbox,
        cancel: Callable[[model.Order, int], None],
        ask: Callable[[OwnOrder], None],
    ) -> None:
        """cancel: has an order that rests cancelled, as of such a time. ask: has one read by its
        id."""
        self._desk = desk
        self._out = out
        self._cancel = cancel
        self._ask = ask
        self._shown: frozenset[OrderId] = frozenset()  # over, and yet in the last list
        self._rises: OrderedDict[OrderId, int] = OrderedDict()  # how often one was cancelled for it
        self._asked: OrderedDict[OrderId, OwnOrder] = OrderedDict()  # what became of it after that
        self.is_news = False
        self.may_rest: frozenset[OrderId] = frozenset()

    def listed(self, by_id: Mapping[OrderId, model.Order], over_ns: int, now_ns: int) -> bool:
        """A whole list of what rests: cancel what it shows, as the list before it did, of orders
        that were over at `over_ns`. Whether this list shows one."""
        risen = {
            order.order_id: order
            for order in self._desk.not_live(by_id)
            if self._desk.ended_by(order.order_id, over_ns) and not self.is_let_be(order.order_id)
        }
        for order_id in [each for each in risen if each in self._shown]:  # in the list's order
            self._out.note("error", "ended_order_rests", order_id=order_id)
            rises = self._rises.get(order_id, 0)
            if rises < _RISES_MAX:
                keep_newest(self._rises, order_id, rises + 1, _KEPT_MAX)
                self._cancel(risen[order_id], now_ns)
            else:
                own = OwnOrder.found_risen(risen[order_id], over_ns, now_ns)
                keep_newest(self._asked, order_id, own, _KEPT_MAX)
                self._ask(own)
        self.is_news = bool(risen.keys() - self._shown)
        self._shown = frozenset(risen)
        came_back = (each for each in self._rises if not self.is_let_be(each))
        self.may_rest = self._shown.union(came_back).intersection(by_id)
        return bool(risen)

    def is_let_be(self, order_id: OrderId) -> bool:
        """Whether nothing stands behind the rows of an id: it was read to be over, not unknown, and
        no cancel was sent since it was asked about. It stays one of ours, though the desk forgets
        it."""
        own = self._asked.get(order_id)
        if own is None or own.is_live or own.is_unfound:
            return False
        return own.last_write_ns < own.placed_ns
