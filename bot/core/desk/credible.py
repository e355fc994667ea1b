"""Whether an answer is about the very order that was asked about, and tells nothing impossible.

Connections and caches mix answers up: a server that writes one twice leaves it to be read as the
answer to the next request. Whatever was asked may have been carried out all the same.

Source: interface, POST /orders, PUT and DELETE /orders/{order_id}; reliability, rows 20, 21, B1.
"""

from collections.abc import Callable
from typing import Final

from bot.core import messages as m
from bot.core.desk.shelf import slot_shown, slots_of
from bot.core.orders.order import OwnOrder, State
from venue.wire import model
from venue.wire.errors import Advice, row_for
from venue.wire.names import OrderId

_ABOUT_AN_ORDER: Final = (Advice.ENDED, Advice.LOOK_AGAIN)
"""What is refused of an order that there is, or was."""

_ABOUT_A_CREATE: Final = (Advice.EXISTS,)
"""What is refused of one that is being made."""


def doubt_about(
    answer: m.Answer,
    request: m.Request,
    own: OwnOrder,
    find: Callable[[OrderId], OwnOrder | None],
    knows: Callable[[OrderId], bool],
    is_anothers: Callable[[OrderId, OwnOrder], bool],
) -> str:
    """Why an answer about an order of ours is not to be believed; empty when it is.

    find: the live order of ours with an id, None when there is none. knows: whether an id is, or
    was, one of ours. is_anothers: whether it is of one that is over, which this one's create cannot
    have made.
    """
    if isinstance(answer, m.Refused):
        is_about = row_for(answer.status, answer.code).advice not in _never_of(request)
        return "" if is_about else "it refuses what was not asked for"
    if not isinstance(answer, m.Done):
        return ""
    if not isinstance(answer.body, (m.OrderShown, m.CancelShown)):
        return "it shows no order"
    shown = answer.body.order
    holder = find(shown.order_id)
    is_over = holder is None and knows(shown.order_id)
    is_unnamed = isinstance(request, m.Create) and not shown.client_order_id
    is_about = _is_about(own, request, answer.body, shown, holder, is_over)
    if not is_about or (is_unnamed and is_anothers(shown.order_id, own)):
        return "it shows another order than was asked about"
    if (
        isinstance(request, m.Create)
        and not request.again
        and holder is not None
        and is_named_otherwise(holder, own)
    ):
        # Where ids are given anew it says so again when it is asked again; were it believed at
        # once, the order that has the id would rest uncounted.
        return "it names the id of another order"
    # A cancel ends the order whatever it says of fills: asking again could go on for ever.
    if isinstance(answer.body, m.OrderShown) and not own.may_have_filled(shown.filled_qty):
        return "it shows more filled than was asked for"
    return ""


def _is_about(
    own: OwnOrder,
    request: m.Request,
    body: m.Body,
    shown: model.Order,
    holder: OwnOrder | None,
    is_over: bool,
) -> bool:
    """holder: the order of ours that has the id shown. is_over: it was one of ours, and ended."""
    if isinstance(body, m.CancelShown) is not isinstance(request, m.CancelResting):
        return False
    # One that was found resting may be the very order that the create or amend made.
    may_be_named = holder is own or holder is None or holder.is_stranger
    if isinstance(request, m.Create):
        name = shown.client_order_id
        if name:
            return name == own.client_order_id
        # Without a name what is shown may be any order's: never one of another market, outcome or
        # side, nor one that is over and had another price, or what was made would rest uncounted.
        wanted, there = slots_of(own)[0], slot_shown(shown)
        return may_be_named and (there == wanted if is_over else there[:3] == wanted[:3])
    is_amend = isinstance(request, m.AmendResting)
    if shown.order_id != own.order_id and (is_amend or _may_have_moved(own, request)):
        # An order that is over takes no other's place: what is amended would rest uncounted.
        is_free = may_be_named and not is_over
        return is_free and slot_shown(shown)[:3] == slots_of(own)[0][:3]
    return shown.order_id == own.order_id


def _may_have_moved(own: OwnOrder, request: m.Request) -> bool:
    """Whether what is read or cancelled under an order's id may be what an undecided amend made of
    it, under another id (S13); of an earlier run's order no amend is known."""
    may_have = own.amend is not None or own.is_stranger
    if isinstance(request, m.CancelResting):
        return may_have
    is_undecided = may_have and own.state in (State.BLURRED, State.CLOSING)
    return is_undecided and isinstance(request, m.ReadOrder)


def _never_of(request: m.Request) -> tuple[Advice, ...]:
    """What no refusal of such a write can come to. One that is told so again when it is sent again
    is believed: then it is the venue's own way of refusing it."""
    if isinstance(request, m.Create) and not request.again:
        return _ABOUT_AN_ORDER
    return _ABOUT_A_CREATE if isinstance(request, m.AmendResting) else ()


def is_news(own: OwnOrder, request: m.Request, answer: m.Answer) -> bool:
    """Whether an answer may say anything of an order that is not known; a read often does not."""
    if isinstance(request, m.ReadOrder) and isinstance(answer, m.Done):
        return not isinstance(answer.body, m.OrderShown) or not own.is_shown_as_known(
            answer.body.order
        )
    return True


def is_named_otherwise(holder: OwnOrder, own: OwnOrder) -> bool:
    """Whether the order of ours that has an id is known to be another one than this, which was just
    made with that id: one that was found resting may be the very same."""
    return not holder.is_stranger and holder.client_order_id != own.client_order_id


def echoes(own: OwnOrder, shown: model.Order) -> bool:
    """Whether a create's reply shows the order that was asked for (row 20)."""
    return (
        shown.market_id == own.market_id
        and shown.outcome.value == own.outcome.value
        and shown.side.value == own.own_side.value
        and shown.price == own.price
        and shown.qty == own.qty
        and shown.time_in_force.value == own.time_in_force.value
    )
