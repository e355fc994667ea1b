"""The websocket shell of the channel. No credential is needed. The client's next message is read
only once everything that waits is sent and the rate limit allows: a flood of subscribes waits in
the client."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from venue.stream.hub import Connection, Hub
from venue.wire import codec
from venue.wire.errors import CODES, Code
from venue.wire.model import ErrorBody
from venue.wire.routes import API_PREFIX, STREAM_PATH

ABORT_EXTENSION: Final = "laddermaker.abort"
"""Where the server puts `{"abort": function}`: it cuts the transport without a closing word."""

CLOSE_POLICY: Final = 1008
"""Close code after too many unparseable frames (RFC 6455, 7.4.1: policy violation)."""

REPLIES_PER_SECOND: Final = 100
REPLIES_BURST: Final = 600
"""Replies and first books sent to one connection at once: nearly three of the largest sets, then
one every two seconds."""

BYTES_LIKE_A_REPLY: Final = 512
"""To read so much of a message costs as much as to send a frame, and counts as one."""

LONG_MESSAGE_BYTES: Final = 4 * 1024
"""Some forty targets. Of longer messages one is read in a turn of the loop, so that orders need not
wait."""

_BURST_S: Final = REPLIES_BURST / REPLIES_PER_SECOND
_FRAMES_IN_A_TURN: Final = 4
"""Sent before the others get their turn: a tenth of a millisecond."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
Take = Callable[[Connection, bytes, asyncio.Event], Awaitable[None]]
"""Acts on a message of the client. The event is to be set once the answer has been sent."""


def make_stream(hub: Hub, now_ns: Callable[[], int]) -> Application:
    reading_long, shaking = asyncio.Lock(), asyncio.Lock()

    def act(connection: Connection, data: bytes, idle: asyncio.Event) -> None:
        idle.clear()
        hub.receive(connection, data, now_ns())

    async def take(connection: Connection, data: bytes, idle: asyncio.Event) -> None:
        if len(data) <= LONG_MESSAGE_BYTES:
            act(connection, data, idle)
            return
        async with reading_long:
            act(connection, data, idle)
            await asyncio.sleep(0)

    async def stream(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        async with shaking:
            # One handshake is answered in a turn: nobody has shown a key here either.
            await asyncio.sleep(0)
        client = scope.get("client")
        address = "" if client is None else client[0]
        if scope["path"] != API_PREFIX + STREAM_PATH:
            await _refuse(send, Code.MARKET_NOT_FOUND, "no such path")
            return
        if not hub.has_room(address):
            await _refuse(send, Code.ENGINE_UNAVAILABLE, "too many connections to the channel")
            return
        await send({"type": "websocket.accept"})
        abort = scope["extensions"][ABORT_EXTENSION]["abort"]
        connection = hub.connect(abort, now_ns(), address)
        try:
            await _converse(take, connection, now_ns, receive, send)
        finally:
            hub.disconnect(connection)

    return stream


async def _refuse(send: Send, code: Code, message: str) -> None:
    await send(
        {
            "type": "websocket.http.response.start",
            "status": CODES[code].status,
            "headers": [(b"content-type", b"application/json")],
        }
    )
    body = codec.encode(ErrorBody(code.value, message))
    await send({"type": "websocket.http.response.body", "body": body})


async def _converse(
    take: Take, connection: Connection, now_ns: Callable[[], int], receive: Receive, send: Send
) -> None:
    idle = asyncio.Event()
    reading = asyncio.ensure_future(_read(take, connection, receive, idle))
    writing = asyncio.ensure_future(_write(connection, now_ns, send, idle))
    try:
        await asyncio.wait((reading, writing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (reading, writing):
            task.cancel()
        ended = await asyncio.gather(reading, writing, return_exceptions=True)
    if connection.channel.closing and reading.done() and not reading.cancelled():
        # The peer may be gone by now; there is nobody left to tell.
        with contextlib.suppress(OSError):
            await send({"type": "websocket.close", "code": CLOSE_POLICY})
    for failure in ended:
        if isinstance(failure, Exception) and not isinstance(failure, OSError):
            raise failure


async def _read(take: Take, connection: Connection, receive: Receive, idle: asyncio.Event) -> None:
    now_s = asyncio.get_running_loop().time
    free_at_s = now_s() - _BURST_S
    while not connection.channel.closing:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text")
        data = message["bytes"] if text is None else text.encode()
        await take(connection, data, idle)
        await idle.wait()
        replies = 1 + max(len(connection.channel.rungs), len(data) // BYTES_LIKE_A_REPLY)
        free_at_s = max(free_at_s, now_s() - _BURST_S) + replies / REPLIES_PER_SECOND
        await asyncio.sleep(free_at_s - now_s())


async def _write(
    connection: Connection, now_ns: Callable[[], int], send: Send, idle: asyncio.Event
) -> None:
    """Send what waits, and say `idle` each time nothing does. Ends with OSError at a lost peer."""
    sent = 0
    while True:
        frame = connection.channel.next_frame(now_ns())
        if frame is not None:
            await send({"type": "websocket.send", "text": frame.decode()})
            sent += 1
            if sent % _FRAMES_IN_A_TURN == 0:
                await asyncio.sleep(0)
            continue
        idle.set()
        await connection.ready.wait()
        connection.ready.clear()
