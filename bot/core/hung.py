"""Cancels whose answer does not come, at the end of a run: given up, so that another can be sent.

A cancel may be sent as often as one likes, and there is little time. The one that hangs counts as
one without an answer, and what it says after all changes nothing: the next one says it too.

Source: interface, DELETE /orders/{order_id}; reliability, rows 30, 65, B13.
"""

from bot.core.account import HURRIED_NS
from bot.core.life import Fact, State
from bot.core.messages import CancelResting
from bot.core.outbox import Outbox


def give_up_cancels(out: Outbox, now_ns: int) -> None:
    """Take every cancel that was sent `HURRIED_NS` ago and has no answer for one that gets none."""
    for request_id, pending in out.pending.items():
        own = pending.own
        hangs = isinstance(pending.request, CancelResting) and (
            now_ns >= pending.begun_ns + HURRIED_NS
        )
        if own is not None and hangs:
            out.pending[request_id] = pending.unheard()
            if own.state is State.CANCELLING:
                own.answered(Fact.NO_ANSWER, now_ns)
                out.note("warning", "cancel_hangs", order_id=own.order_id or "")
