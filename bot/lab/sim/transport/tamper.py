"""What comes back of reads, spoiled in the ways a service spoils it.

Nothing here changes a number that carries a checksum on a real wire: replies are cut, repeated,
emptied, or hold values of a later version, never another price.
"""

import random
from typing import Final

from msgspec.structs import replace

from bot.core import messages as m
from bot.io.client.answers import answer_of
from venue.wire import model
from venue.wire.errors import Code

_GARBLED: Final = (
    *((200, text) for text in (b"", b'{"order": {"qty": 1', b"{}{", b"\xff\xfe{}")),
    (502, b"<html><body><h1>502 Bad Gateway</h1></body></html>"),
)


def garbled(request: m.Request, rng: random.Random) -> m.Answer:
    return answer_of(request, *rng.choice(_GARBLED))


def spoiled_read(
    fault: str, request: m.Read, answer: m.Answer, rng: random.Random
) -> m.Answer | None:
    """The answer that a fault makes of this one; None where it has no occasion."""
    body = answer.body if isinstance(answer, m.Ok) else None
    cursor: str = getattr(request, "cursor", "")
    match fault, body:
        case "book_unavailable", _ if isinstance(request, m.ReadBook):
            return m.Rejected(503, Code.ENGINE_UNAVAILABLE, "")
        case "cursor_refused", _ if cursor:
            return m.Rejected(400, Code.INVALID_CURSOR, "")
        case "garbled_list", _ if body is not None:
            return garbled(request, rng)
        case "book_emptied", m.BookBody():
            return m.Ok(m.BookBody(replace(body.book, bids=(), asks=())))
        case "row_repeated", m.OrdersBody(orders=(first, *_)):
            return m.Ok(replace(body, orders=(first, *body.orders)))
        case "row_repeated", m.FillsBody(fills=(newest, *_)):
            return m.Ok(replace(body, fills=(newest, *body.fills)))
        case "odd_status", m.OrdersBody(orders=(first, *others)):
            return m.Ok(replace(body, orders=(_odd(first, rng), *others)))
        case "odd_status", m.OrderBody() if body.order.status in model.RESTING:
            return m.Ok(m.OrderBody(_odd(body.order, rng)))
        case (
            "cursor_repeated",
            m.OrdersBody() | m.FillsBody() | m.PositionsBody() | m.SeriesBody(),
        ) if cursor and body.cursor:
            return m.Ok(replace(body, cursor=cursor))
    return None


def _odd(order: model.Order, rng: random.Random) -> model.Order:
    status = rng.choice((model.OrderStatus.UNKNOWN, model.OrderStatus.ACCEPTED))
    return replace(order, status=status)
