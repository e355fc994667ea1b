"""Serves the status page: the few types of ASGI, server-sent events, and uvicorn with timeouts."""

import asyncio
import contextlib
import functools
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from typing import Any, Final, Protocol

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bot.io.client.answers import plain
from bot.io.faults import OperatorError
from bot.io.state.small_files import HERE

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"


class HttpResponse(msgspec.Struct, frozen=True):
    status: int
    kind: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def said(status: int, text: str, *headers: tuple[bytes, bytes]) -> HttpResponse:
    """A line of text, made printable."""
    return HttpResponse(status, TEXT, plain(text, None).encode() + b"\n", headers)


async def reply(send: Send, answer: HttpResponse, headers: Headers) -> None:
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
    """A header's value; None when absent, "" when repeated."""
    found = [value for key, value in scope["headers"] if key == name]
    if not found:
        return None
    return found[0].decode("latin-1") if len(found) == 1 else ""


READERS_MAX: Final = 16
TICK_S: Final = 1.0


def framed(kind: str, data: object) -> bytes:
    """One event on the wire; JSON has no line break in it."""
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(data))


class Streams:
    def __init__(self, tick_s: float = TICK_S, readers_max: int = READERS_MAX) -> None:
        self._tick_s = tick_s
        self._readers_max = readers_max
        self._readers = 0
        self._closed = asyncio.Event()

    @property
    def is_full(self) -> bool:
        return self._readers >= self._readers_max or self._closed.is_set()

    @property
    def readers(self) -> int:
        return self._readers

    def close(self) -> None:
        self._closed.set()

    async def feed(self, receive: Receive, send: Send, news: Callable[[], bytes]) -> None:
        """Send a reader the news, at once and then once a tick, until either side ends.

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


_CONNECTIONS_MAX: Final = 64
_STUCK_MS: Final = 10_000
"""The kernel drops a peer that takes nothing for so long."""

_SILENT_MS: Final = 10_000
"""Timeout of a connection that owes the rest of a request."""


class StatusFault(OperatorError):
    """The status page cannot listen; the text says what to do."""


class App(Protocol):
    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None: ...

    async def keep(self) -> None:
        """A task that runs with the server."""

    def close(self) -> None:
        """End every open response in good order."""


def listen(host: str, port: int, stuck_ms: int = _STUCK_MS) -> socket.socket:
    """A listening socket. Raises StatusFault when the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Accepted sockets inherit it.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, stuck_ms)
        listener.bind((host, port))
        # From here on a browser waits instead of being turned away while the bot starts.
        listener.listen()
    except OSError as fault:
        listener.close()
        raise StatusFault(
            f"status page: {host}:{port} cannot be bound: {fault.strerror}; "
            "try --status-port 0 or another port"
        ) from None
    return listener


def address(listener: socket.socket) -> str:
    """The address of the page for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    host = HERE.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class _Server(uvicorn.Server):
    """Uvicorn that leaves the signals to the runner."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Impatient(HttpToolsProtocol):
    """Uvicorn's connection with a timeout for requests."""

    def __init__(self, *args: Any, silent_ms: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._silent_s = silent_ms / 1_000
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes that begin no request, such as an empty line, stop uvicorn's own timeout: restart
        ours."""
        super().data_received(data)
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._deadline is None:
            self._await_request()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_request()

    def on_message_complete(self) -> None:
        """Between two requests uvicorn's timeout holds."""
        self._stop_waiting()
        super().on_message_complete()

    def _await_request(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(self._silent_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


async def serve(app: App, listener: socket.socket, silent_ms: int = _SILENT_MS) -> None:
    """Serve until cancelled, or until the app's own task has failed."""
    config = uvicorn.Config(
        app,
        loop="none",
        http=functools.partial(_Impatient, silent_ms=silent_ms),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS_MAX,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    serving = asyncio.ensure_future(server.serve([listener]))
    keeping = asyncio.ensure_future(app.keep())
    try:
        await asyncio.wait((serving, keeping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        # A cancelled server would leave its sockets open.
        server.should_exit = True
        app.close()
        keeping.cancel()
        await asyncio.wait((serving, keeping))
    if not keeping.cancelled():
        keeping.result()
    serving.result()
