"""Cancels whose answer does not come, at the end of a run: each is sent again beside itself, once.

A cancel may be sent as often as one likes, and there is little time. Both are listened to: an
answer that decides counts whichever of them it is to, and one that says nothing is nothing while
the other may still come. A third has to wait for the answer to one of the two, or a venue that is
slow with all of them would be buried under them.

Source: interface, DELETE /orders/{order_id}; reliability, rows 30, 65, B13, B14.
"""

from collections.abc import Iterator
from typing import Final

from bot.core.desk.outbox import HANGS_NS, Outbox, Pending
from bot.core.desk.spend import Lane
from bot.core.messages import CancelResting, RequestId
from bot.core.orders.life import State
from bot.core.orders.order import OwnOrder

_CANCELLING: Final = State.CANCELLING

_BESIDE_MAX: Final = 2


def send_beside(out: Outbox, now_ns: int) -> None:
    """Send every cancel again whose newest sending left `HANGS_NS` ago and has no answer. What is
    over by now needs none: its answer is nobody's business any more."""
    under_way: dict[OwnOrder, list[int]] = {}
    for request_id, pending in _cancels(out):
        if pending.own is None or now_ns < pending.begun_ns + HANGS_NS:
            continue
        if not pending.own.is_live:
            out.pending[request_id] = pending.unheard()
    for _, pending in _cancels(out):
        if pending.own is not None and pending.own.state is _CANCELLING:
            under_way.setdefault(pending.own, []).append(pending.begun_ns)
    for own, begun_ns in under_way.items():
        hangs = now_ns >= max(begun_ns) + HANGS_NS and now_ns >= own.due_ns
        if not hangs or len(begun_ns) >= _BESIDE_MAX or own.order_id is None:
            continue
        if not out.send(CancelResting(own.order_id), Lane.CANCEL, "no answer yet", now_ns, own):
            return
        out.note("warning", "cancel_hangs", order_id=own.order_id)


def is_beside(out: Outbox, own: OwnOrder) -> bool:
    """Whether another cancel of an order is under way, its answer to this one being taken in."""
    return any(pending.own is own for _, pending in _cancels(out))


def hear_no_other(out: Outbox, own: OwnOrder) -> None:
    """The cancel of an order has been decided: what others say of it changes nothing."""
    for request_id, pending in _cancels(out):
        if pending.own is own:
            out.pending[request_id] = pending.unheard()


def _cancels(out: Outbox) -> Iterator[tuple[RequestId, Pending]]:
    for request_id, pending in list(out.pending.items()):
        if isinstance(pending.request, CancelResting):
            yield request_id, pending
