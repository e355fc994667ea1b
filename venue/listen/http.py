"""One REST connection: uvicorn's protocol with deadlines, caps, and a word for what is malformed.

Of uvicorn's HttpToolsProtocol this leans on the asyncio callbacks, the parser callbacks `on_*`,
`send_400_response`, `handle_websocket_upgrade`, and the attributes `app`, `connections` (of each
`client`), `cycle` (with `scope`, `body`, `more_body`, `response_started`), `pipeline` (newest on
the left), `url`, `scope`, `flow`, `loop`, `parser`, `headers`, `server_state.default_headers`. A
test names them all.
"""

import asyncio
import enum
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.server import ServerState

from venue.listen import limits
from venue.listen.intake import Intake, Stage
from venue.listen.malformed import CLOSE, malformed_answer
from venue.listen.stream import StreamProtocol
from venue.listen.transport import PoliteTransport
from venue.stream.hub import is_loopback
from venue.stream.socket import ABORT_EXTENSION
from venue.wire.limits import BODY_BYTES_MAX

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

_MALFORMED: Final = "not an HTTP/1.1 request within the size caps"
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_READS_BODY: Final = frozenset({"POST", "PUT"})
"""Nothing is submitted for these before their whole body is there."""


class _Awaited(enum.Enum):
    """What is to come next from the peer."""

    HEAD = enum.auto()
    BODY = enum.auto()
    NOTHING = enum.auto()  # it may begin a request, and need not


class _Malformed(Exception):
    """Too large, or of another protocol. Raised through the parser, which gives up."""


class HttpProtocol(HttpToolsProtocol):
    """A connection until it ends or becomes one of the channel."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._application: Application = config.loaded_app
        self.app = self._answer
        self._awaited = _Awaited.HEAD
        self._requests = 0
        self._unanswered = 0
        """Whole headers without a whole answer."""
        self._timed: tuple[_Awaited, int] | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._bytes = 0
        """Of the head or body under way, as far as they came in pieces of their own."""
        self._fields = 0
        self._field_bytes = 0
        self._pieces = 0
        self._deaf = False
        """Something malformed came while good requests wait for their answers."""
        self._begins = True
        """Whether the next byte is the first of a request, or of an empty line before it."""
        self._intake = Intake()
        self._door: PoliteTransport | None = None
        """None for a connection beyond the cap."""

    # --- the connection ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or cut it when there are too many, of all or of its address."""
        if len(self.connections) >= limits.CONNECTIONS_MAX or self._has_its_share(transport):
            transport.abort()
            return
        self._door = PoliteTransport(transport, self.loop)
        super().connection_made(self._door)
        self._watch()

    def _has_its_share(self, transport: asyncio.Transport) -> bool:
        """Whether the peer's address has as many connections as one may have."""
        most = limits.CONNECTIONS_PER_ADDRESS_MAX
        peer = get_remote_addr(transport)
        if len(self.connections) < most or peer is None or is_loopback(peer[0]):
            return False
        clients = [getattr(connection, "client", None) for connection in self.connections]
        return [client[0] for client in clients if client is not None].count(peer[0]) >= most

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its deadlines."""
        if self._door is None:
            return
        self._door.lost()
        self._stop_timers()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """The peer sends no more. Whole requests are answered still; then the end."""
        amid = self._awaited is not _Awaited.NOTHING and not self._deaf
        if amid or not self._unanswered:
            return False
        self._deaf = True
        return True

    def data_received(self, data: bytes) -> None:
        """Feed the parser, within the caps, and start or stop the clock for what is missing."""
        door = self._door
        if door is None:
            return
        if self._deaf or door.is_closing():
            door.drop(len(data))
            return
        for begin in range(0, len(data), limits.PARSED_AT_ONCE_BYTES):
            end = begin + limits.PARSED_AT_ONCE_BYTES
            self._intake.add(data[begin:end])
            if not self._parse_what_is_there():
                self._leave(self._intake.drop() + data[end:])
                return
        self._watch()

    def _parse_what_is_there(self) -> bool:
        """Feed the parser what may be fed by now. Whether what comes next is still for it."""
        while not self._intake.is_empty:
            if self._awaited is _Awaited.NOTHING:
                # Even an empty line, which no parser calls the beginning of a request.
                self._await(_Awaited.HEAD)
            piece = self._intake.piece(self._stage, self.headers)
            if not piece:
                break
            if not self._parse(piece):
                return False
        return True

    def _leave(self, unparsed: bytes) -> None:
        """Parse no more; what came behind a handshake is the channel's."""
        successor = self.transport.get_protocol()
        if unparsed and isinstance(successor, StreamProtocol):
            successor.data_received(unparsed)

    @property
    def _stage(self) -> Stage:
        if self._begins:
            return Stage.START
        return Stage.BODY if self._awaited is _Awaited.BODY else Stage.HEAD

    def _parse(self, piece: bytes) -> bool:
        """Feed the parser. Whether what comes next is still for it."""
        before = self._awaited, self._requests
        super().data_received(piece)
        if self.transport.is_closing() or self._deaf or self.transport.get_protocol() is not self:
            return False
        if before == (self._awaited, self._requests):
            self._bytes += len(piece)
            head = self._awaited is _Awaited.HEAD
            if self._bytes > (limits.HEAD_BYTES_MAX if head else limits.BODY_WIRE_BYTES_MAX):
                self.send_400_response("")
                return False
        return True

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to the channel, unless requests before it wait for answers.

        Their answers would come amid its frames. They are given, and the connection ends then.
        """
        if self._unanswered > 1:
            self._unanswered -= 1  # itself, which gets none
            self._stop_read_timer()
            assert self._door is not None, "only a taken connection is parsed"
            self._door.unread = True
            self._deaf = True
            self.flow.pause_reading()
            return
        self._stop_timers()
        super().handle_websocket_upgrade()

    # --- the parser's callbacks ----------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._begins = False
        self._await(_Awaited.HEAD)
        self._fields = self._field_bytes = self._pieces = 0
        assert self._door is not None, "only a taken connection is parsed"
        self.scope["extensions"] = {ABORT_EXTENSION: {"abort": self._door.abort}}

    def on_url(self, url: bytes) -> None:
        """A piece of the request's target."""
        super().on_url(url)
        if len(self.url) > limits.HEAD_LINE_BYTES_MAX:
            raise _Malformed

    def on_header(self, name: bytes, value: bytes) -> None:
        """A whole field of the header, or of a trailer."""
        size = len(name) + len(value) + 4
        self._fields += 1
        self._field_bytes += size
        if (
            size > limits.HEAD_LINE_BYTES_MAX
            or self._fields > limits.HEAD_FIELDS_MAX
            or self._field_bytes + len(self.url) > limits.HEAD_BYTES_MAX
        ):
            raise _Malformed
        if self._awaited is _Awaited.HEAD:  # a trailer is no header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A whole header: the request is answered now, or once those before it are."""
        version = self.parser.get_http_version()
        if version not in _VERSIONS or len(self.pipeline) >= limits.PIPELINED_MAX:
            raise _Malformed
        if not _is_framed(version, self.headers):
            raise _Malformed
        super().on_headers_complete()
        self._requests += 1
        self._unanswered += 1
        self._await(_Awaited.BODY)

    def on_body(self, body: bytes) -> None:
        """A piece of a body. As soon as it is too long nothing more of the connection is looked at:
        whatever the answer is, it is the last one."""
        self._pieces += 1
        if self._pieces > limits.BODY_PIECES_MAX:
            raise _Malformed
        super().on_body(body)
        if len(self.cycle.body) > BODY_BYTES_MAX:
            assert self._door is not None, "only a taken connection is parsed"
            self._door.unread = True
            self._deaf = True
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """A whole request."""
        super().on_message_complete()
        self._begins = True
        self._await(_Awaited.NOTHING)

    def _await(self, awaited: _Awaited) -> None:
        self._awaited = awaited
        self._bytes = 0

    # --- answers -------------------------------------------------------------------------------

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request; when the answer comes before the body has, it is the last one. The last
        one says so: whoever keeps the connection would lose the next request on it."""

        async def send_or_end(message: Message) -> None:
            assert self._door is not None, "only a taken connection is answered"
            if message["type"] == "http.response.start":
                if CLOSE in message["headers"]:
                    await asyncio.sleep(limits.HOLD_S)
                if is_early := self._is_early(scope):
                    self._door.unread = True
                is_last = is_early or (self._deaf and self._unanswered == 1)
                if is_last and CLOSE not in message["headers"]:
                    message = {**message, "headers": [*message["headers"], CLOSE]}
                # The head goes out with the body: one system call, one packet.
                self._door.hold()
                await send(message)
            else:
                await self._send_in_parts(send, message)

        await self._application(scope, receive, send_or_end)

    async def _send_in_parts(self, send: Send, message: Message) -> None:
        """Send a body, a long one as fast as the peer takes it: by how much is left of it nobody
        could tell who reads slowly from who reads nothing."""
        assert self._door is not None, "only a taken connection is answered"
        body, size = message["body"], limits.PART_BYTES
        last = max(0, len(body) - 1) // size * size
        for begin in range(0, last, size):
            await send({**message, "body": body[begin : begin + size], "more_body": True})
            self._door.release()
        await send({**message, "body": body[last:]} if last else message)
        self._door.release()

    def _is_early(self, scope: Message) -> bool:
        return self.cycle.scope is scope and self.cycle.more_body

    def send_400_response(self, msg: str) -> None:
        """Say that the request is malformed, and close; but never instead of another's answer.

        Called by uvicorn when the parser gives up; its own text is not used.
        """
        assert self._door is not None, "only a taken connection is parsed"
        self._door.unread = True
        self._stop_read_timer()
        in_body = self._awaited is _Awaited.BODY
        # What was never submitted may be refused, if it is its turn to be answered.
        refusable = in_body and self._unanswered == 1 and self.scope["method"] in _READS_BODY
        if self._unanswered and not (refusable and not self.cycle.response_started):
            if in_body and self.pipeline:
                self.pipeline.popleft()  # the newest: its body will never be whole
                self._unanswered -= 1
            self._deaf = True
            self.flow.pause_reading()
            return
        self.transport.write(malformed_answer(_MALFORMED, self.server_state.default_headers))
        self.transport.close()

    def on_response_complete(self) -> None:
        """An answer was sent: the next request's turn, or the end if there can be none."""
        super().on_response_complete()
        self._unanswered -= 1
        if self._deaf and not self._unanswered:
            self.transport.close()

    # --- deadlines -----------------------------------------------------------------------------

    def _watch(self) -> None:
        """Have the clock run for what is awaited, from when it first was."""
        timed = self._awaited, self._requests
        if timed == self._timed:
            return
        self._stop_read_timer()
        if self._awaited is _Awaited.NOTHING:
            return
        head = self._awaited is _Awaited.HEAD
        deadline_s = limits.HEAD_DEADLINE_S if head else limits.BODY_DEADLINE_S
        self._timed = timed
        self._read_timer = self.loop.call_later(deadline_s, self.transport.abort)

    def pause_writing(self) -> None:
        """The buffers are full: the peer has ten seconds to read."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(limits.WRITE_DEADLINE_S, self.transport.abort)

    def resume_writing(self) -> None:
        """The peer reads."""
        super().resume_writing()
        self._stop_write_timer()

    def _stop_timers(self) -> None:
        self._stop_read_timer()
        self._stop_write_timer()

    def _stop_read_timer(self) -> None:
        self._timed = None
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def _is_framed(version: str, fields: list[tuple[bytes, bytes]]) -> bool:
    """Whether a header names one host, if it must, and says no other coding of its body than
    chunks, the one that the parser undoes. fields: their names in small letters.

    Source: RFC 9112, 3.2 and 6.1.
    """
    hosts = sum(name == b"host" for name, _ in fields)
    codings = [value for name, value in fields if name == b"transfer-encoding"]
    is_named = hosts == 1 if version == "1.1" else hosts <= 1
    return is_named and (not codings or [each.strip().lower() for each in codings] == [b"chunked"])
