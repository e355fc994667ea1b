"""One channel connection: uvicorn's protocol with a paced intake and deadlines.

Frames are taken from a peer a little at a time and only while the application has taken the last
message and the peer reads our answers. What is beyond the pace stays unread, and soon in the peer;
so does what is sent behind a handshake, until that is answered.

Of uvicorn's WebSocketsSansIOProtocol this leans on the asyncio callbacks, `run_asgi`, `receive`,
`handle_*`, `send_receive_event_to_app`, and the attributes `scope`, `queue`, `writable`, `frames`,
`curr_msg_data_type`, `close_sent`, `close_timeout`, `default_headers`, `handshake_initiated`,
`handshake_complete` and `conn` (with `accept`, `reader.buffer`, `fail`). A test names them all.
"""

import asyncio
from asyncio.transports import BaseTransport
from http import HTTPStatus
from typing import Any, Final

from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import CloseCode, Frame
from websockets.http11 import Request

from venue.listen import limits
from venue.listen.malformed import malformed_answer
from venue.listen.transport import PoliteTransport
from venue.stream.socket import ABORT_EXTENSION

_NO_HANDSHAKE: Final = "not a handshake of the channel: GET, RFC 6455, version 13"

_AFTER_HANDSHAKE: Final = ("websocket.send", "websocket.close")

_PIECE_BYTES_MIN: Final = 256
_PIECE_BYTES_MAX: Final = 4_096
"""Parsed in one turn of the loop: the smaller as long as frames are small, which is at most some
40 of them and less than a millisecond; twice as much with every turn amid a large one."""

_BURST_S: Final = limits.INTAKE_BURST / limits.INTAKE_PER_SECOND


class StreamProtocol(WebSocketsSansIOProtocol):
    """A connection from its handshake on."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.close_timeout = limits.LINGER_S
        self._unparsed = bytearray()
        self._reading = True
        self._piece_bytes = _PIECE_BYTES_MIN
        self._frame_count = 0
        self._free_at_s = 0.0
        """Loop time from which on the next piece may be taken; in the past by the burst left."""
        self._turn: asyncio.Handle | None = None
        self._message_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._handshake_timer: asyncio.TimerHandle | None = None

    # --- the connection ------------------------------------------------------------------------

    def connection_made(self, transport: BaseTransport) -> None:
        """Take the connection over from HTTP; the handshake has a deadline."""
        assert isinstance(transport, PoliteTransport), "handed over by HttpProtocol"
        super().connection_made(transport)
        self._door = transport
        self._handshake_timer = self.loop.call_later(limits.HEAD_DEADLINE_S, self._still_shaking)

    def _still_shaking(self) -> None:
        if not self.handshake_complete:
            self._door.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, its deadlines and what it sent."""
        self._door.lost()
        self._unparsed.clear()
        for timer in (self._turn, self._message_timer, self._write_timer, self._handshake_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def handle_connect(self, event: Request) -> None:
        """Go on with a handshake that can succeed; `data_received` refuses any other."""
        if self.conn.accept(event).status_code == HTTPStatus.SWITCHING_PROTOCOLS:
            super().handle_connect(event)

    async def run_asgi(self) -> None:
        """Let the application cut a connection: a polite close would wait for the peer to read."""
        self.scope["extensions"][ABORT_EXTENSION] = {"abort": self._door.abort}
        await super().run_asgi()

    # --- intake --------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Keep what came and parse what may be parsed now."""
        if self._door.is_closing():
            self._door.drop(len(data))
        elif not self.handshake_initiated:
            super().data_received(data)
            if not self.handshake_initiated:
                # HttpProtocol hands whole headers over, so this one is refused for good; not in
                # the library's words, which are plain text.
                self._door.unread = True
                self._door.write(malformed_answer(_NO_HANDSHAKE, self.default_headers))
                self._door.close()
        else:
            self._unparsed += data
            if self._turn is None:
                self._take()
            if self._unparsed and self._reading:
                self._reading = False
                self._door.pause_reading()

    def _take(self) -> None:
        """Parse the next piece, if the pace, the application and the peer's own reading allow."""
        self._turn = None
        if not self._unparsed or self._door.is_closing() or not self.handshake_complete:
            return
        if not self.writable.is_set() or not (self.queue.empty() or self.close_sent):
            return  # `receive` or `resume_writing` comes back here
        now_s = self.loop.time()
        if self._free_at_s > now_s:
            self._turn = self.loop.call_at(self._free_at_s, self._take)
            return
        piece = bytes(self._unparsed[: self._piece_bytes])
        del self._unparsed[: self._piece_bytes]
        self._frame_count = 0
        super().data_received(piece)
        many = self._frame_count > 1
        self._piece_bytes = (
            _PIECE_BYTES_MIN if many else min(2 * self._piece_bytes, _PIECE_BYTES_MAX)
        )
        cost = self._frame_count + len(piece) / 1024
        self._free_at_s = max(self._free_at_s, now_s - _BURST_S) + cost / limits.INTAKE_PER_SECOND
        if self._door.is_closing():
            return
        self._watch_message()
        if self._unparsed:
            self._turn = self.loop.call_soon(self._take)
        elif not self._reading:
            self._reading = True
            self._door.resume_reading()

    async def receive(self) -> ASGIReceiveEvent:
        """The next message for the application, which has dealt with the one before."""
        message = await self.queue.get()
        if self._turn is None:
            self._take()
        return message

    async def send(self, message: ASGISendEvent) -> None:
        """Send for the application; after its last word nobody asks for messages any more.

        Raises ClientDisconnected, an OSError, once the connection has ended or is ending: uvicorn
        takes an answer behind a peer's breach for a fault of ours and logs it with a traceback.
        """
        await self.writable.wait()
        if self.close_sent and message["type"] in _AFTER_HANDSHAKE:
            raise ClientDisconnected
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            # A refusal is an end as good as any; uvicorn would log it as a fault of ours.
            self.handshake_complete = True
        accepted = message["type"] == "websocket.accept"
        if (accepted or self.close_sent) and self._turn is None:
            self._take()

    def send_receive_event_to_app(self) -> None:
        """Hand a whole message over. One that calls itself text and is not ends the connection."""
        data = b"".join(self.frames)
        self.frames = []
        self._stop_message_timer()
        if self.close_sent:
            return
        if self.curr_msg_data_type == "text":
            try:
                self.queue.put_nowait({"type": "websocket.receive", "text": data.decode()})
            except UnicodeDecodeError:
                self.conn.fail(CloseCode.INVALID_DATA)
                self.handle_parser_exception()
        else:
            self.queue.put_nowait({"type": "websocket.receive", "bytes": data})

    def handle_parser_exception(self) -> None:
        """Close with the code that says what was wrong, and let the peer read it."""
        self._door.unread = True
        super().handle_parser_exception()

    def handle_cont(self, event: Frame) -> None:
        """Count a frame, then as uvicorn does."""
        self._frame_count += 1
        super().handle_cont(event)

    def handle_text(self, event: Frame) -> None:
        """Count a frame, then as uvicorn does."""
        self._frame_count += 1
        super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        """Count a frame, then as uvicorn does."""
        self._frame_count += 1
        super().handle_bytes(event)

    def handle_ping(self) -> None:
        """Count a frame, then as uvicorn does."""
        self._frame_count += 1
        super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Count a frame, then as uvicorn does."""
        self._frame_count += 1
        super().handle_pong(event)

    # --- deadlines -----------------------------------------------------------------------------

    def _watch_message(self) -> None:
        """Have the clock run while we wait for the rest of a message that has begun."""
        if self._unparsed or not (self.frames or self.conn.reader.buffer):
            self._stop_message_timer()
        elif self._message_timer is None:
            deadline_s = limits.MESSAGE_DEADLINE_S
            self._message_timer = self.loop.call_later(deadline_s, self._door.abort)

    def _stop_message_timer(self) -> None:
        if self._message_timer is not None:
            self._message_timer.cancel()
            self._message_timer = None

    def pause_writing(self) -> None:
        """The buffers are full: the peer has ten seconds to read, and is not listened to."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(limits.WRITE_DEADLINE_S, self._door.abort)

    def resume_writing(self) -> None:
        """The peer reads."""
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        if self._turn is None:
            self._take()
