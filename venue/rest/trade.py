"""Order writes: one request, one command, and the engine's answer as the interface words it
(docs/assumptions.md#S1)."""

from typing import Final

from venue.engine import messages as m
from venue.rest.faults import FaultKind, Verb
from venue.rest.params import order_in_path
from venue.rest.venue_port import (
    INTERNAL_ERROR_TEXT,
    ConnectionCut,
    EngineOverloaded,
    EngineUnavailable,
    ReplyLost,
    Request,
    Response,
)
from venue.views.account import shown_order
from venue.wire import codec, model
from venue.wire.codec import Refusal
from venue.wire.errors import Code

OK: Final = 200
CREATED: Final = 201


class UnexpectedAnswer(Exception):
    """The engine answered a command with another command's answer: a fault of the venue."""


async def create_order(request: Request) -> Response:
    """POST /orders: 201 for a new order, 200 for a re-send of a known one (S1)."""
    order = codec.parse_new_order(await request.body(), request.venue.find_market)
    submitted_ns = request.venue.now_ns()
    answer = await _submit(request, Verb.CREATE, m.PlaceOrder(request.user_id, order))
    if not isinstance(answer, m.Placed):
        raise UnexpectedAnswer(type(answer).__name__)
    shown = shown_order(
        answer.order,
        created_ns=submitted_ns,
        client_order_id=answer.client_order_id,
        spent_cents=answer.spent_cents,
    )
    return CREATED if answer.fresh else OK, codec.encode(shown)


async def amend_order(request: Request) -> Response:
    order_id = order_in_path(request.parameter)
    amend = codec.parse_amend(await request.body())
    submitted_ns = request.venue.now_ns()
    answer = await _submit(request, Verb.AMEND, m.AmendOrder(request.user_id, order_id, amend))
    if not isinstance(answer, m.Amended):
        raise UnexpectedAnswer(type(answer).__name__)
    return OK, codec.encode(shown_order(answer.order, created_ns=submitted_ns))


async def cancel_order(request: Request) -> Response:
    """DELETE /orders/{order_id}; a body, if there is one, is not read."""
    order_id = order_in_path(request.parameter)
    answer = await _submit(request, Verb.CANCEL, m.CancelOrder(request.user_id, order_id))
    if not isinstance(answer, m.Cancelled):
        raise UnexpectedAnswer(type(answer).__name__)
    # Only creates and amends speak of the gateway's instant; a cancelled order keeps its own.
    order = shown_order(answer.order, created_ns=answer.order.created_ns)
    return OK, codec.encode(model.Cancelled(order, answer.reduced_by))


async def _submit(request: Request, verb: Verb, command: m.Command) -> object:
    """The engine's answer. Raises Refusal with its refusal, and what a fault in force asks for."""
    fault = request.venue.faults.strike(verb)
    if fault is not None and not fault.is_after:
        raise _failure(fault)
    answer = await request.venue.submit(command)
    if fault is not None:
        # Whatever the engine said, refusals too: it is the answer that gets lost.
        raise _failure(fault)
    if isinstance(answer, m.Refused):
        raise Refusal(answer.code, answer.message)
    return answer


_FAILURES: Final[dict[FaultKind, type[Exception]]] = {
    FaultKind.ENGINE_UNAVAILABLE: EngineUnavailable,
    FaultKind.ENGINE_OVERLOADED: EngineOverloaded,
    FaultKind.RESULT_UNKNOWN_BEFORE: ReplyLost,
    FaultKind.RESULT_UNKNOWN_AFTER: ReplyLost,
    FaultKind.DROP_BEFORE: ConnectionCut,
    FaultKind.DROP_AFTER: ConnectionCut,
}
"""How a fault ends a write; the others are internal errors."""


def _failure(fault: FaultKind) -> Exception:
    kind = _FAILURES.get(fault)
    return Refusal(Code.INTERNAL_ERROR, INTERNAL_ERROR_TEXT) if kind is None else kind()
