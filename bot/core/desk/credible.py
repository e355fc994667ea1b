"""Whether a response is about the order that was asked about.

Connections and caches mix responses up: a server that writes one twice leaves it to be read as the
answer to the next request. Whatever was asked may have been carried out all the same, so that such
a response counts as none; a second one in a run is a contradiction.
"""

from typing import Final

from bot.core import messages as m
from bot.core.orders.order import OwnOrder, slot_shown
from venue.wire.errors import Advice, row_for

_ABOUT_AN_ORDER: Final = (Advice.ENDED, Advice.LOOK_AGAIN)
"""What is refused of an order that there is, or was."""

_ABOUT_A_CREATE: Final = (Advice.EXISTS,)
"""What is refused of one that is being made."""


def is_foreign(own: OwnOrder, request: m.Request, body: m.Body, *, is_anothers: bool) -> bool:
    """True when a 2xx to a request about an order of ours shows another order than was asked.

    is_anothers: the id shown is, or was, that of another order of ours. An amend may change the id
    of an order (S13): then what is shown stands where it stood, and is no other of ours.
    """
    if not isinstance(body, (m.OrderShown, m.CancelShown)):
        return True
    if isinstance(body, m.CancelShown) is not isinstance(request, m.CancelResting):
        return True
    shown = body.order
    if isinstance(request, m.Create):
        if shown.client_order_id:
            return shown.client_order_id != own.client_order_id
        return is_anothers or slot_shown(shown)[: _told(own)] != own.slots[0][: _told(own)]
    assert isinstance(request, (m.AmendResting, m.CancelResting, m.ReadOrder))
    if shown.order_id == request.order_id:
        return False
    may_be_renamed = own.amend is not None or own.is_stranger
    return is_anothers or not may_be_renamed or slot_shown(shown)[:3] != own.slots[0][:3]


def _told(own: OwnOrder) -> int:
    """How much of what a create asked for its order is known to have kept: an earlier run may have
    moved it to another price."""
    return 3 if own.inherited else 4


def refuses_another(request: m.Request, answer: m.Refused) -> bool:
    """True when a refusal cannot be that of such a write. One that comes again when a create is
    sent again is believed: then it is the venue's own way of refusing it."""
    advice = row_for(answer.status, answer.code).advice
    if isinstance(request, m.Create) and not request.again:
        return advice in _ABOUT_AN_ORDER
    return isinstance(request, m.AmendResting) and advice in _ABOUT_A_CREATE


def is_news(own: OwnOrder, request: m.Request, answer: m.Answer) -> bool:
    """True when an answer may say anything of an order that is not known; a read often does not."""
    if isinstance(request, m.ReadOrder) and isinstance(answer, m.Done):
        return not isinstance(answer.body, m.OrderShown) or not own.is_shown_as_known(
            answer.body.order
        )
    return True
