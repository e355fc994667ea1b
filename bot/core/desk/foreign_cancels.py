"""Somebody else cancels our orders: another holder of a key, a second program, the venue's desk.

A read shows such an order canceled, and no write of ours can have ended it: none is undecided, and
it was not to be cancelled. A self-trade ends orders so too: for a while after one nothing is
counted. Two within a minute raise an alert, until a minute passes without another.
"""

from collections import deque
from typing import Final

from bot.core.desk.outbox import Outbox
from bot.core.messages import Answer, Done, OrderShown
from bot.core.orders.order import OwnOrder, State
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import OrderStatus

CANCELLED_BY_OTHERS: Final = "cancelled_by_others"
WITHIN_NS: Final = 60 * NS_PER_SECOND
_LEAST: Final = 2


class ForeignCancels:
    """Counts the orders that somebody else cancelled of late."""

    def __init__(self, out: Outbox) -> None:
        self._out = out
        self._recent_ns: deque[int] = deque()
        self._self_trades = 0
        self._self_trade_ns = -WITHIN_NS

    def on_read(self, own: OwnOrder, answer: Answer, now_ns: int) -> None:
        """A read of an order has come back; `own` is as it was before that."""
        if not isinstance(answer, Done) or not isinstance(answer.body, OrderShown):
            return
        shown = answer.body.order
        is_wanted = own.state is State.OPEN and not own.doomed and own.order_id == shown.order_id
        is_canceled = shown.status is OrderStatus.CANCELED and shown.filled_qty < shown.qty
        if own.inherited or not (is_wanted and is_canceled) or self._is_self_trade(now_ns):
            return
        self._out.note("warning", "order_cancelled_by_others", order_id=shown.order_id)
        self._recent_ns.append(now_ns)
        if len(self._recent_ns) >= _LEAST:
            self._out.find(
                CANCELLED_BY_OTHERS,
                f"somebody else cancels our orders, {shown.order_id} the last of them: see who "
                "else has a key of this account",
            )

    def age(self, now_ns: int) -> None:
        """Time has passed: what is a minute old counts no more."""
        while self._recent_ns and now_ns - self._recent_ns[0] > WITHIN_NS:
            self._recent_ns.popleft()
        if not self._recent_ns:
            self._out.clear(CANCELLED_BY_OTHERS)

    def _is_self_trade(self, now_ns: int) -> bool:
        if self._out.counters.self_trades != self._self_trades:
            self._self_trades = self._out.counters.self_trades
            self._self_trade_ns = now_ns
        return now_ns - self._self_trade_ns < WITHIN_NS
