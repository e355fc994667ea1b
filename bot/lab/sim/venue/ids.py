"""A venue on which an amended order goes on under another id: the one before ends as canceled.

What an order has filled is shown by its new id too, and a fill keeps the id that its order had. Of
one whose new ids begin at nothing no answer tells what filled just before an amend, and no limit
could count it before the fills are listed: it is not drawn.
"""

from msgspec.structs import replace

from venue.core import messages as v
from venue.core.engine import Engine
from venue.wire.errors import Code
from venue.wire.model import OrderStatus
from venue.wire.money import Cents, Qty
from venue.wire.names import OrderId, UserId


class ChangingIds:
    """The engine, with other ids for the orders of one user."""

    def __init__(self, engine: Engine, user_id: UserId) -> None:
        self._engine = engine
        self._user_id = user_id
        self._shown: dict[OrderId, OrderId] = {}  # by the engine's
        self._engines: dict[OrderId, OrderId] = {}  # by the one that is shown now
        self._over: dict[OrderId, v.OrderState] = {}  # as they ended, by an id that an amend took
        self._last: dict[OrderId, v.OrderState] = {}

    def apply(self, command: v.Command, now_ns: int) -> tuple[v.Answer, list[v.Event]]:
        if isinstance(command, v.CancelOrder | v.AmendOrder):
            if command.order_id in self._over:
                return v.Refused(Code.ORDER_NOT_CANCELABLE, "it has another id"), []
            order_id = self._engines.get(command.order_id, command.order_id)
            command = replace(command, order_id=order_id)
        answer, events = self._engine.apply(command, now_ns)
        ended: list[v.Event] = []
        if isinstance(answer, v.Amended) and answer.order.user_id == self._user_id:
            ended = [self._renamed(answer.order.order_id, now_ns)]
        shown = [*ended, *(self._event(event) for event in events)]
        if isinstance(answer, v.Placed | v.Amended | v.Cancelled):
            answer = replace(answer, order=self._order(answer.order))
        return answer, shown

    def _renamed(self, order_id: OrderId, now_ns: int) -> v.Event:
        before = self._order(self._last[order_id])
        self._engines.pop(before.order_id, None)
        number = int(before.order_id) + 1
        self._shown[order_id] = after = OrderId(str(number))
        self._engines[after] = order_id
        over = replace(
            before,
            status=OrderStatus.CANCELED,
            remaining_qty=Qty(0),
            reserved_cents=Cents(0),
            updated_ns=now_ns,
        )
        self._over[before.order_id] = over
        return v.OrderChanged(now_ns, over)

    def _event(self, event: v.Event) -> v.Event:
        if isinstance(event, v.OrderChanged) and event.order.user_id == self._user_id:
            self._last[event.order.order_id] = event.order
            return replace(event, order=self._order(event.order))
        if isinstance(event, v.FillBooked) and event.user_id == self._user_id:
            return replace(event, order_id=self._shown.get(event.order_id, event.order_id))
        return event

    def order(self, order_id: OrderId) -> v.OrderState | None:
        """An order by an id that it has or had."""
        if order_id in self._over:
            return self._over[order_id]
        order = self._engine.order(self._engines.get(order_id, order_id))
        return None if order is None else self._order(order)

    def _order(self, order: v.OrderState) -> v.OrderState:
        return replace(order, order_id=self._shown.get(order.order_id, order.order_id))
