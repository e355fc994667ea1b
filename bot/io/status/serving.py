"""Serves the status page on a listening socket: loopback unless told else, few and bounded
readers.
"""

import asyncio
import contextlib
import functools
import socket
from collections.abc import Iterator
from typing import Any, Final, Protocol

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bot.io.faults import OperatorError
from bot.io.state.status_url import HERE
from bot.io.status.asgi import Message, Receive, Send

_CONNECTIONS_MAX: Final = 64
_STUCK_MS: Final = 10_000
"""A peer that takes nothing of what is sent for so long is cut off by the kernel."""

_SILENT_MS: Final = 10_000
"""A connection that owes the whole of a request for so long ends."""


class StatusFault(OperatorError):
    """The status page cannot listen; the text says what to do."""


class App(Protocol):
    """What is served."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        ...

    async def keep(self) -> None:
        """What is done beside, until cancelled."""
        ...

    def close(self) -> None:
        """End every answer that goes on, in good order."""
        ...


def listen(host: str, port: int, stuck_ms: int = _STUCK_MS) -> socket.socket:
    """A listening socket for the page. Raises StatusFault when the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # What is accepted here inherits it.
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
    """Where a browser on this machine finds the page."""
    host, port = listener.getsockname()[:2]
    host = HERE.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class _Server(uvicorn.Server):
    """Uvicorn that leaves the signals to the process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing: the runner owns the signals."""
        yield


class _Impatient(HttpToolsProtocol):
    """Uvicorn's connection, which would wait for ever for a request, and keep others' place."""

    def __init__(self, *args: Any, silent_ms: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._silent_s = silent_ms / 1_000
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection begins by owing a request."""
        super().connection_made(transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is owed any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes between two requests that begin none, such as an empty line, stop uvicorn's clock:
        from the first of them on a request is owed."""
        super().data_received(data)
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._deadline is None:
            self._await_request()

    def on_message_begin(self) -> None:
        """The first bytes of a request: the rest is owed."""
        super().on_message_begin()
        self._await_request()

    def on_message_complete(self) -> None:
        """A whole request is here. Between two of them uvicorn has a clock of its own."""
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
    """Serve until cancelled, or until what the app does beside has failed."""
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
