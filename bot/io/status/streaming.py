"""Server-sent events: each reader gets the newest there is, nothing is queued, and few may read.

A reader that is slower than the picture changes skips pictures. One that takes nothing at all is
dropped by the kernel, `TCP_USER_TIMEOUT` after the last byte it took (see `bot.io.status.serving`).
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from bot.io.status.asgi import Receive, Send

READERS_MAX: Final = 16
TICK_S: Final = 1.0


def framed(kind: str, data: object) -> bytes:
    """One event as it goes over the wire; JSON has no line break in it."""
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(data))


class Streams:
    """The readers of one server."""

    def __init__(self, tick_s: float = TICK_S, readers_max: int = READERS_MAX) -> None:
        self._tick_s = tick_s
        self._readers_max = readers_max
        self._readers = 0
        self._closed = asyncio.Event()

    @property
    def is_full(self) -> bool:
        """Whether no further reader is taken."""
        return self._readers >= self._readers_max or self._closed.is_set()

    @property
    def readers(self) -> int:
        """How many read now."""
        return self._readers

    def close(self) -> None:
        """End every stream, in good order."""
        self._closed.set()

    async def feed(self, receive: Receive, send: Send, news: Callable[[], bytes]) -> None:
        """Send a reader what is new to it, at once and then once a tick, until it or we end.

        The head of the response has been sent. news: what to send next; nothing is sent for b"".
        """
        self._readers += 1
        ends = [asyncio.ensure_future(_gone(receive)), asyncio.ensure_future(self._closed.wait())]
        try:
            while not any(end.done() for end in ends):
                body = news()
                if body:
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                await asyncio.wait(ends, timeout=self._tick_s, return_when=asyncio.FIRST_COMPLETED)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._readers -= 1
            for end in ends:
                end.cancel()


async def _gone(receive: Receive) -> None:
    """Return when the reader has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass
