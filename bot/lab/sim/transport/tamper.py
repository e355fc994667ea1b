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
    body = answer.body if isinstance(answer, m.Done) else None
    cursor: str = getattr(request, "cursor", "")
    match fault, body:
        case "book_unavailable", _ if isinstance(request, m.ReadBook):
            return m.Refused(503, Code.ENGINE_UNAVAILABLE, "")
        case "cursor_refused", _ if cursor:
            return m.Refused(400, Code.INVALID_CURSOR, "")
        case "garbled_list", _ if body is not None:
            return garbled(request, rng)
        case "book_emptied", m.BookShown():
            return m.Done(m.BookShown(replace(body.book, bids=(), asks=())))
        case "row_repeated", m.OrdersShown(orders=(first, *_)):
            return m.Done(replace(body, orders=(first, *body.orders)))
        case "row_repeated", m.FillsShown(fills=(newest, *_)):
            return m.Done(replace(body, fills=(newest, *body.fills)))
        case "odd_status", m.OrdersShown(orders=(first, *others)):
            return m.Done(replace(body, orders=(_odd(first, rng), *others)))
        case "odd_status", m.OrderShown() if body.order.status in model.RESTING:
            return m.Done(m.OrderShown(_odd(body.order, rng)))
        case (
            "cursor_repeated",
            m.OrdersShown() | m.FillsShown() | m.PositionsShown() | m.SeriesShown(),
        ) if cursor and body.cursor:
            return m.Done(replace(body, cursor=cursor))
    return None


def _odd(order: model.Order, rng: random.Random) -> model.Order:
    status = rng.choice((model.OrderStatus.UNKNOWN, model.OrderStatus.ACCEPTED))
    return replace(order, status=status)
