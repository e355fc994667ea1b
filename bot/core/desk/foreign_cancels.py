"""Somebody else cancels our orders: another holder of a key, a second program, the venue's desk.

Such an order is shown canceled by a read, and no write of ours can have ended it: no cancel was
sent, and no amend but such as left it its id. A self-trade ends orders so too: for a while after
one nothing is counted. Two within a minute are a finding, until a minute passes without another.
"""

from collections import deque
from typing import Final

from bot.core.desk.outbox import Outbox
from bot.core.messages import Answer, Done, OrderShown
from bot.core.orders.order import OwnOrder, State
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import OrderStatus
from venue.wire.names import OrderId

CANCELLED_BY_OTHERS: Final = "cancelled_by_others"
WITHIN_NS: Final = 60 * NS_PER_SECOND
_LEAST: Final = 2
_ASKED_MAX: Final = 5_000


class ForeignCancels:
    """Counts the orders that somebody else cancelled of late."""

    __slots__ = ("_asked", "_out", "_recent", "_self_trade_ns", "_self_trades")

    def __init__(self, out: Outbox) -> None:
        self._out = out
        self._asked: dict[OrderId, None] = {}
        self._recent: deque[tuple[int, OrderId]] = deque()
        self._self_trades = 0
        self._self_trade_ns = -WITHIN_NS

    def on_write(self, order_id: OrderId) -> None:
        """We send a cancel or an amend of an order: whatever its answer says, it may end the id."""
        self._asked[order_id] = None
        if len(self._asked) > _ASKED_MAX:
            del self._asked[next(iter(self._asked))]

    def on_amended(self, order_id: OrderId) -> None:
        """An amend was answered with this order: it goes on under this id."""
        self._asked.pop(order_id, None)

    def on_read(self, own: OwnOrder, answer: Answer, now_ns: int) -> None:
        """A read of an order has come back; `own` is as it was before that."""
        if not isinstance(answer, Done) or not isinstance(answer.body, OrderShown):
            return
        shown = answer.body.order
        is_ours = own.state is State.OPEN and own.order_id == shown.order_id and not own.inherited
        is_canceled = shown.status is OrderStatus.CANCELED and shown.filled_qty < shown.qty
        if not (is_ours and is_canceled):
            return
        if shown.order_id in self._asked or self._is_self_trade(now_ns):
            return
        self._out.note("warning", "order_cancelled_by_others", order_id=shown.order_id)
        self._recent.append((now_ns, shown.order_id))
        if len(self._recent) >= _LEAST:
            self._out.find(
                CANCELLED_BY_OTHERS,
                f"somebody else cancels our orders, {shown.order_id} the last of them: see who "
                "else has a key of this account",
            )

    def age(self, now_ns: int) -> None:
        """Time has passed: what is a minute old counts no more."""
        while self._recent and now_ns - self._recent[0][0] > WITHIN_NS:
            self._recent.popleft()
        if not self._recent:
            self._out.clear(CANCELLED_BY_OTHERS)

    def _is_self_trade(self, now_ns: int) -> bool:
        if self._out.self_trades != self._self_trades:
            self._self_trades = self._out.self_trades
            self._self_trade_ns = now_ns
        return now_ns - self._self_trade_ns < WITHIN_NS
