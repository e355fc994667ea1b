"""What comes back from reads and over cut connections, spoiled in the ways a service spoils it.

Nothing here changes a number that carries a checksum on a real wire: replies are cut, repeated,
emptied, or hold values of a later version, never another price.
"""

import random

import msgspec

from bot.core import messages as m
from bot.io.client.answers import answer_of
from venue.wire import codec, model
from venue.wire.errors import Code
from venue.wire.money import Cents

_PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"


def garbled(request: m.Request, answer: m.Answer, rng: random.Random) -> m.Answer:
    body = body_of(answer) if isinstance(answer, m.Done) else b"{}"
    status = 200 if isinstance(answer, m.Done) else 502
    spoiled = rng.choice(
        (
            body[: rng.randint(0, len(body) - 1)],
            body + body[: rng.randint(1, len(body))],
            _PAGE,
            b"\xff\xfe" + body,
            b"",
        )
    )
    return answer_of(request, status, spoiled)


def body_of(answer: m.Done) -> bytes:
    return codec.encode(_plain(answer))


def _plain(answer: m.Done) -> object:
    body = answer.body
    match body:
        case m.OrderShown():
            return body.order
        case m.CancelShown():
            return model.Cancelled(body.order, body.reduced_by)
        case m.OrdersShown():
            return model.OrdersPage(body.orders, body.cursor)
        case m.FillsShown():
            return model.FillsPage(body.fills, body.cursor)
        case m.PositionsShown():
            return model.PositionsPage(body.positions, body.cursor)
        case m.BalanceShown():
            return body.balance
        case m.SeriesShown():
            return model.EventsPage(body.events, body.cursor)
        case m.BookShown():
            return body.book


def spoiled_read(
    fault: str, request: m.Read, answer: m.Answer, rng: random.Random
) -> m.Answer | None:
    body = answer.body if isinstance(answer, m.Done) else None
    match fault:
        case "book_unavailable" if isinstance(request, m.ReadBook):
            return m.Refused(503, Code.ENGINE_UNAVAILABLE, "")
        case "book_emptied" if isinstance(body, m.BookShown):
            return m.Done(m.BookShown(msgspec.structs.replace(body.book, bids=(), asks=())))
        case "row_repeated":
            return _repeated(body)
        case "odd_status":
            return _odd_status(body, rng)
        case "cursor_refused" if getattr(request, "cursor", ""):
            return m.Refused(400, Code.INVALID_CURSOR, "")
        case "cursor_repeated" if getattr(body, "cursor", "") and getattr(request, "cursor", ""):
            assert isinstance(body, m.OrdersShown | m.FillsShown | m.PositionsShown | m.SeriesShown)
            assert not isinstance(request, m.ReadOrder | m.ReadBalance | m.ReadBook)
            return m.Done(msgspec.structs.replace(body, cursor=request.cursor))
        case "garbled_list" if isinstance(answer, m.Done):
            return garbled(request, answer, rng)
    return None


def _repeated(body: m.Body | None) -> m.Answer | None:
    if isinstance(body, m.OrdersShown) and body.orders:
        return m.Done(m.OrdersShown((body.orders[0], *body.orders), body.cursor))
    if isinstance(body, m.FillsShown) and body.fills:
        return m.Done(m.FillsShown((body.fills[0], *body.fills), body.cursor))
    return None


def _odd_status(body: m.Body | None, rng: random.Random) -> m.Answer | None:
    status = rng.choice((model.OrderStatus.UNKNOWN, model.OrderStatus.ACCEPTED))
    if isinstance(body, m.OrdersShown) and body.orders:
        odd = msgspec.structs.replace(body.orders[0], status=status)
        return m.Done(m.OrdersShown((odd, *body.orders[1:]), body.cursor))
    if isinstance(body, m.OrderShown) and body.order.status in model.RESTING:
        return m.Done(m.OrderShown(msgspec.structs.replace(body.order, status=status)))
    return None


def with_odd_costs(body: m.PositionsShown, rng: random.Random) -> m.Answer:
    rows = tuple(_odd_costs(row, rng) for row in body.positions)
    return m.Done(m.PositionsShown(rows, body.cursor))


def _odd_costs(row: model.Position, rng: random.Random) -> model.Position:
    return msgspec.structs.replace(
        row,
        cost_basis=Cents(rng.randint(-(10**9), 10**9)),
        avg_entry_price=Cents(rng.randint(-100, 1_000)),
        realized_pnl=Cents(rng.randint(-(10**9), 10**9)),
    )
