"""The server: uvicorn's, told what to use, and leaving the process's signals alone."""

import asyncio
import contextlib
import logging
import resource
import socket
from collections.abc import Iterator
from typing import Final

import uvicorn

from venue.listen import limits
from venue.listen.http import Application, HttpProtocol
from venue.listen.stream import StreamProtocol

_FILES_BESIDE: Final = 256
"""Descriptors for everything that is not a connection."""


FILES_LEAST: Final = 64
"""Fewer descriptors than this are no venue: listeners, command log, a handful of connections."""


class TooFewFiles(Exception):
    """So few files may be open that nobody could be served; `str()` says how many."""


class AddressTaken(Exception):
    """Another process listens on a bound address already; `str()` names it."""


class Server(uvicorn.Server):
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
        for listener in sockets or []:
            _prepare(listener)
        # The event loop accepts one connection a turn from each listening descriptor. With one
        # descriptor, a newcomer behind a crowd of others would wait a turn for each of them.
        more = range(limits.ACCEPTS_IN_A_TURN - 1)
        await super().startup(sockets and sockets + [each.dup() for each in sockets for _ in more])
        self.listening.set()


def listen(listener: socket.socket, address: str) -> None:
    """Let a bound socket take connections. Raises AddressTaken, which names it by `address`.

    Until one of them listens, several processes may bind an address. Of the one that comes too
    late the event loop would close the socket and raise nothing.
    """
    try:
        listener.listen(limits.ACCEPT_BACKLOG)
    except OSError as fault:
        raise AddressTaken(f"{address} cannot be bound: {fault.strerror}") from None


def _prepare(listener: socket.socket) -> None:
    """Set what accepted connections inherit."""
    for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        listener.setsockopt(socket.SOL_SOCKET, buffer, limits.SOCKET_BUFFER_BYTES)
    if listener.family != socket.AF_UNIX:
        # An answer goes out in two writes; the second must not wait for the first's receipt.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def make_server(app: Application, drain_s: int) -> Server:
    """A server of one ASGI application for http and websocket scopes.

    drain_s: how long answers under way get once `should_exit` is set. Every scope of the
    application has `scope["extensions"]["laddermaker.abort"]["abort"]`, a function that cuts the
    connection without a word.
    """
    _allow_descriptors(limits.CONNECTIONS_MAX + _FILES_BESIDE)
    config = uvicorn.Config(
        app,
        loop="none",
        http=HttpProtocol,
        ws=StreamProtocol,
        ws_max_size=limits.MESSAGE_BYTES_MAX,
        ws_ping_interval=limits.PING_S,
        ws_ping_timeout=limits.PING_S,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        # Its warnings are about what peers do; a flood of those must not become one of lines.
        log_level=logging.ERROR,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=limits.ACCEPT_BACKLOG,
        timeout_keep_alive=limits.IDLE_S,
        timeout_graceful_shutdown=drain_s,
    )
    return Server(config)


def check_file_limit() -> None:
    """Raise TooFewFiles where the process may not open as many files as a venue needs at least."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES_LEAST:
        raise TooFewFiles(
            f"{hard} files may be open at once: at least {FILES_LEAST} are needed; ulimit -n"
        )
    _allow_descriptors(FILES_LEAST)


def _allow_descriptors(wanted: int) -> None:
    """Raise the soft limit on open files to what the connections need, as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < wanted:
        allowed = wanted if hard == unlimited else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
