"""Recent outcomes of our writes: rejected creates and amends, failed cancels, and orders that
somebody else cancelled.
"""

from collections import OrderedDict, deque
from typing import Final

import msgspec

from bot.core.messages import AmendResting, Answer, Create, Ok, OrderBody, Rejected, Write
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import Outbox, keep_newest
from bot.core.orders.reject_policy import POLICIES
from bot.core.orders.transitions import OrderEvent
from venue.wire.errors import Row, Sequenced, row_for
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import OrderStatus
from venue.wire.money import BookSide
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import Amend, QtyOrder

BLOCKED_MAX: Final = 1_000
"""Rejected writes kept; a forgotten one is rejected once more and blocked again."""

SIDES_MAX: Final = 1_000
OFTEN: Final = 3
OFTEN_WITHIN_NS: Final = 60 * NS_PER_SECOND

_Asked = QtyOrder | tuple[OrderId, Amend]
_SideKey = tuple[MarketId, BookSide]


class RejectHistory:
    """Remembers what was refused, and forgets the oldest beyond its bounds.

    A write that was refused as our own bug, or that can never succeed as it is, is blocked by what
    it asks for, its client_order_id left out: the same is never sent again. Three refusals of one
    side of a rung within a minute are a sign that more of them would follow.
    """

    def __init__(self) -> None:
        self.blocked: OrderedDict[_Asked, None] = OrderedDict()
        self._times: OrderedDict[_SideKey, tuple[int, ...]] = OrderedDict()

    def refused(self, own: OwnOrder, request: Write, row: Row, now_ns: int) -> None:
        """A first send of a write was refused."""
        asked = _asked(request)
        policy = POLICIES[row.advice]
        if asked is None or row.sequenced is not Sequenced.DECIDED or not policy.counts:
            return
        if policy.blocks or isinstance(request, AmendResting):
            keep_newest(self.blocked, asked, None, BLOCKED_MAX)
        key = (own.market_id, own.book_side)
        since_ns = now_ns - OFTEN_WITHIN_NS
        times = (*(at for at in self._times.get(key, ()) if at > since_ns), now_ns)
        keep_newest(self._times, key, times[-OFTEN:], SIDES_MAX)

    def is_blocked(self, request: Write) -> bool:
        """True if just this was rejected before as something that cannot succeed."""
        asked = _asked(request)
        return asked is not None and asked in self.blocked

    def often(self, own: OwnOrder, now_ns: int) -> bool:
        """True if this side of its rung was rejected three times within the last minute."""
        times = self._times.get((own.market_id, own.book_side), ())
        return len(times) == OFTEN and times[0] > now_ns - OFTEN_WITHIN_NS


def _asked(request: Write) -> _Asked | None:
    """What a write asks for, whatever its client_order_id; None for what may be repeated."""
    if isinstance(request, Create):
        if request.again:
            return None
        return msgspec.structs.replace(request.order, client_order_id=ClientOrderId(""))
    if isinstance(request, AmendResting):
        return (request.order_id, request.amend)
    return None


FAILING_NS: Final = 3 * NS_PER_SECOND
"""So long no cancel must have worked."""

_APART_NS: Final = 30 * NS_PER_SECOND
"""A failure this long after the one before starts a new count: nothing was to be cancelled in
between."""

_ORDERS_MIN: Final = 3
"""About so many orders, or all that there are."""

_ENDS_NOTHING: Final = (0, 429)
"""Statuses of a request that never left, or that is to wait: nothing else leaves then either."""


CANCELLED_BY_OTHERS: Final = "cancelled_by_others"
WITHIN_NS: Final = 60 * NS_PER_SECOND
_LEAST: Final = 2


class CancelHealth:
    """The cancels that failed since one last worked. `now_ns` never steps back.

    One order that cannot be cancelled is that order's own matter: its size counts in every limit.
    Where no cancel has worked for a while, though several were tried, nothing is placed until one
    does. What stops creates anyway does not count here: a refused key, a venue that is halted or
    asks to wait.
    """

    def __init__(self) -> None:
        self._since_ns: int | None = None
        self._newest_ns = 0
        self._orders: set[OwnOrder] = set()

    def on_answer(self, own: OwnOrder, answer: Answer, live: int, now_ns: int) -> str | None:
        """An answer to the cancel of an order, while so many may be live. Why nothing may be placed
        from now on; "" once cancels work, None where the answer shows neither."""
        if isinstance(answer, Ok):
            return self.on_success()
        said = getattr(answer, "reason", "")
        if isinstance(answer, Rejected):
            policy = POLICIES[row_for(answer.status, answer.code).advice]
            if policy.of_change is OrderEvent.TOO_LATE:
                return self.on_success()
            if not policy.is_cancel_fault or answer.status in _ENDS_NOTHING:
                return None
            said = f"{answer.status} {answer.code}".rstrip()
        if self._since_ns is None or now_ns > self._newest_ns + _APART_NS:
            self._since_ns = now_ns
            self._orders.clear()
        self._newest_ns = now_ns
        if len(self._orders) < _ORDERS_MIN:
            self._orders.add(own)
        lasts_ns = now_ns - self._since_ns
        if lasts_ns < FAILING_NS or len(self._orders) < min(_ORDERS_MIN, live):
            return None
        return f"no cancel has worked for {lasts_ns // NS_PER_SECOND} s, the last answer: {said}"

    def on_success(self) -> str:
        """A cancel did its work, or there is nothing left to cancel."""
        self._since_ns = None
        self._orders.clear()
        return ""


class ForeignCancels:
    """The orders that somebody else cancelled lately: another holder of a key, the venue's desk.

    A read shows such an order canceled, and no write of ours can have ended it: none is undecided,
    and it was not to be cancelled. A self-trade ends orders so too: for a while after one nothing
    is counted. Two within a minute raise an alert, until a minute passes without another.
    """

    def __init__(self, out: Outbox) -> None:
        self._out = out
        self._recent_ns: deque[int] = deque()
        self._self_trades = 0
        self._self_trade_ns = -WITHIN_NS

    def on_read(self, own: OwnOrder, answer: Answer, now_ns: int) -> None:
        """A read of an order has come back; `own` is as it was before that."""
        if not isinstance(answer, Ok) or not isinstance(answer.body, OrderBody):
            return
        shown = answer.body.order
        is_wanted = (
            own.state is State.OPEN and not own.cancel_requested and own.order_id == shown.order_id
        )
        is_canceled = shown.status is OrderStatus.CANCELED and shown.filled_qty < shown.qty
        if own.from_previous_run or not (is_wanted and is_canceled) or self._is_self_trade(now_ns):
            return
        self._out.note("warning", "order_cancelled_by_others", order_id=shown.order_id)
        self._drop_old(now_ns)
        self._recent_ns.append(now_ns)
        if len(self._recent_ns) >= _LEAST:
            self._out.find(
                CANCELLED_BY_OTHERS,
                f"somebody else cancels our orders, {shown.order_id} the last of them: see who "
                "else has a key of this account",
            )

    def age(self, now_ns: int) -> None:
        """Drop cancels of more than a minute ago."""
        self._drop_old(now_ns)
        if not self._recent_ns:
            self._out.clear(CANCELLED_BY_OTHERS)

    def _drop_old(self, now_ns: int) -> None:
        while self._recent_ns and now_ns - self._recent_ns[0] > WITHIN_NS:
            self._recent_ns.popleft()

    def _is_self_trade(self, now_ns: int) -> bool:
        if self._out.counters.self_trades != self._self_trades:
            self._self_trades = self._out.counters.self_trades
            self._self_trade_ns = now_ns
        return now_ns - self._self_trade_ns < WITHIN_NS
