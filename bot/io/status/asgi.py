"""The few types of ASGI that the status page speaks, and how one answer is sent."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

import msgspec

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"


class HttpResponse(msgspec.Struct, frozen=True):
    """One whole response."""

    status: int
    kind: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def said(status: int, text: str, *headers: tuple[bytes, bytes]) -> HttpResponse:
    """A line of text, made plain."""
    return HttpResponse(status, TEXT, plain(text).encode() + b"\n", headers)


def plain(text: str) -> str:
    """What a strategy, a venue or a person said, as one line that steers no terminal: a question
    mark for every sign that cannot be printed."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


async def reply(send: Send, answer: HttpResponse, headers: Headers) -> None:
    """Send a whole response."""
    length = b"%d" % len(answer.body)
    named = ((b"content-type", answer.kind.encode()), (b"content-length", length))
    await send(
        {
            "type": "http.response.start",
            "status": answer.status,
            "headers": [*named, *answer.headers, *headers],
        }
    )
    await send({"type": "http.response.body", "body": answer.body})


async def body_of(receive: Receive, most: int) -> bytes | None:
    """The request's body; None when it is longer than `most`, or the caller has gone."""
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts += message.get("body", b"")
        if len(parts) > most:
            return None
        if not message.get("more_body", False):
            return bytes(parts)


def header(scope: Message, name: bytes) -> str | None:
    """A header's value; None when it is absent, "" when it is there more than once."""
    found = [value for key, value in scope["headers"] if key == name]
    if not found:
        return None
    return found[0].decode("latin-1") if len(found) == 1 else ""
