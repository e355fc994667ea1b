"""The front door: uvicorn as a library, refusals in the Error shape, and a way to cut connections.
The proxy before a venue does the rest (docs/security.md). A test names everything of uvicorn that
this uses."""

import asyncio
import contextlib
import logging
import resource
import socket
import traceback
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Final

import structlog
import uvicorn
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from venue.rest.app import WHOLE_EXTENSION
from venue.rest.gate import CLOSE, Headers
from venue.stream.socket import ABORT_EXTENSION, Application, Message, Receive, Send
from venue.wire import codec, limits
from venue.wire.errors import CODES, Code
from venue.wire.model import ErrorBody

ACCEPT_BACKLOG: Final = 1_024
KEEP_ALIVE_TIMEOUT_S: Final = 15
"""How long a connection without a request stays open; longer than a pooling client keeps it."""

SEND_BUFFER_BYTES: Final = 128 * 1024
"""Asked of the kernel, which takes twice that. With its own megabytes a slow reader of the channel
would be noticed that much later."""

PING_S: Final = 20.0
CLOSE_TIMEOUT_S: Final = 2.0
"""How long the peer may take to answer our close frame."""

FILES_WANTED: Final = 1_280
FILES_MIN: Final = 64
"""With fewer descriptors there is no room for listeners, command log and a few connections."""

_MALFORMED: Final = "not an HTTP/1.1 request"
_NO_HANDSHAKE: Final = "not a handshake of the channel: GET, RFC 6455, version 13"
_AFTER_HANDSHAKE: Final = ("websocket.send", "websocket.close")


class TooFewFiles(Exception):
    """The process may open too few files to serve anybody; `str()` says how many."""


class AddressTaken(Exception):
    """Another process listens on a bound address already; `str()` names it."""


class WholeCycle:
    """The body and the response of one request and response of uvicorn's."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    def body(self) -> bytes | None:
        cycle = self._cycle
        if cycle.more_body or cycle.disconnected or cycle.waiting_for_100_continue:
            return None
        return bytes(cycle.body)

    def write_response(self, status: int, headers: Headers, body: bytes) -> bool:
        """Write one response in one piece, with what uvicorn does around it. False for what is
        less usual: a slow or lost reader, HEAD, a connection that is to end."""
        cycle = self._cycle
        if cycle.flow.write_paused or cycle.disconnected or cycle.scope["method"] == "HEAD":
            return False
        if CLOSE in headers or not cycle.keep_alive:
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        lines = [b"%b: %b\r\n" % field for field in (*cycle.default_headers, *headers)]
        cycle.transport.write(b"".join([STATUS_LINE[status], *lines, b"\r\n", body]))
        cycle.message_event.set()
        cycle.on_response()
        return True


class HttpProtocol(HttpToolsProtocol):
    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self.cycle is not None:
            # The application's task has not begun: it is made, and runs in a later turn.
            self.scope["extensions"] = {
                ABORT_EXTENSION: {"abort": self.transport.abort},
                WHOLE_EXTENSION: {"message": WholeCycle(self.cycle)},
            }

    def send_400_response(self, msg: str) -> None:
        """Refuse malformed HTTP in the Error shape. An answer in flight stays the last of the
        connection: its write may have been applied."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        self.transport.write(malformed_answer(_MALFORMED, self.server_state.default_headers))
        self.transport.close()


class StreamProtocol(WebSocketsSansIOProtocol):
    def data_received(self, data: bytes) -> None:
        """As uvicorn. HttpProtocol hands on whole heads, so one without a handshake is refused."""
        super().data_received(data)
        if not self.handshake_initiated:
            self._refuse_handshake()

    def handle_connect(self, event: Request) -> None:
        """As uvicorn, but refuse in the Error shape a handshake that cannot succeed."""
        if self.conn.accept(event).status_code == HTTPStatus.SWITCHING_PROTOCOLS:
            super().handle_connect(event)

    def _refuse_handshake(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(malformed_answer(_NO_HANDSHAKE, self.default_headers))
            self.transport.close()

    async def run_asgi(self) -> None:
        """Give the application a way to cut the connection: a close would wait for the peer."""
        self.close_timeout = CLOSE_TIMEOUT_S
        self.scope["extensions"][ABORT_EXTENSION] = {"abort": self.transport.abort}
        await super().run_asgi()

    async def send(self, message: ASGISendEvent) -> None:
        """As uvicorn. Raises ClientDisconnected, an OSError, once the closing handshake has begun,
        where uvicorn would blame us for a peer's protocol violation."""
        await self.writable.wait()
        if self.close_sent and message["type"] in _AFTER_HANDSHAKE:
            raise ClientDisconnected
        await super().send(message)


class Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing: uvicorn would raise the signal again after a clean end."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        for listener in sockets or []:
            # Accepted connections inherit it.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        await super().startup(sockets)
        self.listening.set()


def malformed_answer(text: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """400 invalid_request_body, head and body. headers: what the server puts on every answer."""
    code = Code.INVALID_REQUEST_BODY
    body = codec.encode(ErrorBody(code.value, text))
    head = [
        *headers,
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    lines = [
        b"HTTP/1.1 %d Bad Request" % CODES[code].status,
        *(b"%b: %b" % field for field in head),
    ]
    return b"\r\n".join([*lines, b"", body])


def listen(listener: socket.socket, address: str) -> None:
    """Let a bound socket take connections. Raises AddressTaken, which names it by `address`:
    several processes may bind an address until one listens, and the event loop would hide it."""
    try:
        listener.listen(ACCEPT_BACKLOG)
    except OSError as fault:
        raise AddressTaken(f"{address} cannot be bound: {fault.strerror}") from None


def make_server(app: Application, drain_timeout_s: int) -> Server:
    """A server of one ASGI application for http and websocket scopes. drain_timeout_s: how long
    requests in flight get once `should_exit` is set."""
    _raise_file_limit(FILES_WANTED)
    config = uvicorn.Config(
        _with_logged_faults(app),
        loop="none",
        http=HttpProtocol,
        ws=StreamProtocol,
        ws_max_size=limits.MESSAGE_BYTES_MAX,
        ws_ping_interval=PING_S,
        ws_ping_timeout=PING_S,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        # Its lines are about what peers do; a flood of those must not become one of lines.
        log_level=logging.CRITICAL,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=ACCEPT_BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_TIMEOUT_S,
        timeout_graceful_shutdown=drain_timeout_s,
    )
    return Server(config)


def _with_logged_faults(app: Application) -> Application:
    """The application, whose own faults we log. A lost peer (OSError) is none."""

    async def logged(scope: Message, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except OSError:
            raise
        except Exception as fault:  # noqa: BLE001 - uvicorn answers 500 or ends the connection
            trace = "".join(traceback.format_exception(fault))
            structlog.get_logger().error("application_fault", traceback=trace)

    return logged


def check_file_limit() -> None:
    """Raise TooFewFiles where the process may not open as many files as a venue needs at least."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES_MIN:
        raise TooFewFiles(
            f"{hard} files may be open at once: at least {FILES_MIN} are needed; ulimit -n"
        )
    _raise_file_limit(FILES_MIN)


def _raise_file_limit(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < wanted:
        allowed = wanted if hard == unlimited else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
