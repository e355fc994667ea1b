"""The venue's process: one address for REST and channel, the crowd beside it, a calm end.

Starts in this order: opening, sequencer, listening, ready, crowd. Ends the other way round: no
more crowd, no new connections, answers under way finished, then the sequencer.

Source: design, The venue, in the order a datum flows; silences S8.
"""

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from typing import Any, Final

import msgspec
import structlog
import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from venue.core.messages import AccessCommand, Command
from venue.feed.socket import ABORT_EXTENSION, make_stream
from venue.http.app import make_app
from venue.server import Venue
from venue.wire.names import Ticker
from venue.wire.routes import API_PREFIX, STREAM_PATH

DRAIN_S: Final = 5
"""Answers under way get this long at the end."""

WS_MESSAGE_BYTES_MAX: Final = 1024 * 1024
WS_PING_S: Final = 20.0
CONNECTIONS_WAITING_MAX: Final = 1_024

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Crowd = Callable[[Venue], Awaitable[None]]


class ServePlan(msgspec.Struct, frozen=True):
    """What to serve and where. `listener` is bound already; `crowd` runs once all is ready."""

    opening: list[Command | AccessCommand]
    series: list[Ticker]
    projection_lag_ms: int
    feed_flush_ms: int
    listener: socket.socket
    crowd: Crowd | None
    exit_with_stdin: bool


class Ready(msgspec.Struct, frozen=True):
    """Where the venue answers, once it does."""

    base_url: str
    stream_url: str
    series: list[Ticker]


class _StreamProtocol(WebSocketsSansIOProtocol):
    """Lets the channel cut a connection whose peer reads nothing.

    A polite close would wait for that peer to read what is buffered, for ever.
    """

    async def run_asgi(self) -> None:
        self.scope["extensions"][ABORT_EXTENSION] = {"abort": self.transport.abort}
        await super().run_asgi()


class _Server(uvicorn.Server):
    """Uvicorn that says when it listens and leaves the signals to the process."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing: uvicorn would raise the signal again after a clean end."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self.listening.set()


async def serve(plan: ServePlan, announce: Callable[[Ready], None]) -> None:
    """Serve until SIGTERM, SIGINT or, if the plan says so, the end of stdin.

    announce: called once, when requests are answered. Raises OpeningRefused before listening.
    """
    log = structlog.get_logger()
    venue = Venue(plan.projection_lag_ms, plan.feed_flush_ms)
    venue.open_with(plan.opening)
    server = _Server(_config(_both(venue)))
    stop = asyncio.Event()
    address = _address(plan.listener)
    async with _running(venue.run()), asyncio.TaskGroup() as tasks:
        _stop_on_signals(stop)
        if plan.exit_with_stdin:
            _stop_at_end_of_stdin(stop)
        serving = tasks.create_task(server.serve([plan.listener]))
        await server.listening.wait()
        stream = f"ws://{address}{API_PREFIX}{STREAM_PATH}"
        announce(Ready(f"http://{address}{API_PREFIX}", stream, plan.series))
        crowd = None if plan.crowd is None else tasks.create_task(_awaited(plan.crowd(venue)))
        await stop.wait()
        log.info("draining")
        if crowd is not None:
            crowd.cancel()
        server.should_exit = True
        await serving
    log.info("stopped")


@contextlib.asynccontextmanager
async def _running(work: Awaitable[None]) -> AsyncIterator[None]:
    """Run `work` beside the block and cancel it after; its failure ends the block."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(_awaited(work))
        yield
        task.cancel()


async def _awaited(work: Awaitable[None]) -> None:
    await work


def _both(venue: Venue) -> Callable[[Message, Receive, Send], Awaitable[None]]:
    rest, stream = make_app(venue), make_stream(venue.hub, venue.now_ns)

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await (stream if scope["type"] == "websocket" else rest)(scope, receive, send)

    return app


def _config(app: Callable[[Message, Receive, Send], Awaitable[None]]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="none",
        http="httptools",
        ws=_StreamProtocol,
        ws_max_size=WS_MESSAGE_BYTES_MAX,
        ws_ping_interval=WS_PING_S,
        ws_ping_timeout=WS_PING_S,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=CONNECTIONS_WAITING_MAX,
        timeout_graceful_shutdown=DRAIN_S,
    )


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if listener.family == socket.AF_INET6 else f"{host}:{port}"


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)


def _stop_at_end_of_stdin(stop: asyncio.Event) -> None:
    """A parent that dies, even by SIGKILL, closes our stdin: that is the sign to end."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        # The raw descriptor: a thread inside sys.stdin would hold its lock at the process's end.
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        with contextlib.suppress(RuntimeError):
            # The loop may have closed in the meantime; then there is nothing left to stop.
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=watch, name="stdin", daemon=True).start()
