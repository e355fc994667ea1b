"""The venue's process: one address for REST and channel, the crowd beside it, a calm end.

Starts in this order: listening, keys, opening, sequencer, answering, ready, crowd. Ends the other
way round: no more crowd, no new connections, answers under way finished, then the sequencer.
"""

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from venue.admin.app import make_control
from venue.admin.listener import control_address
from venue.compaction import compact_when_sealed
from venue.credentials import has_keys, keys_place
from venue.engine.messages import AccessCommand, Command
from venue.hold import Held
from venue.listen import listen, make_server
from venue.rest.app import make_app
from venue.server import VenueServer
from venue.stream.socket import make_stream
from venue.wire.names import Ticker
from venue.wire.routes import API_PREFIX, STREAM_PATH

DRAIN_S: Final = 5
"""Answers under way get this long at the end."""

_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Crowd = Callable[[VenueServer], Awaitable[None]]


class ControlPlan(msgspec.Struct, frozen=True):
    """Where the operator's interface listens, bound already, and the hash of its token."""

    listener: socket.socket
    token_sha256: bytes


class ServePlan(msgspec.Struct, frozen=True):
    """What to serve and where. `listener` is bound already; `crowd` runs once all is ready.

    opening: what is still to be carried out on the state that is held. write_keys: puts the keys
    that were made into their file, and says where the one that was there is, if it was to be kept;
    None where none were made. keys_file: where they go, and where those of an earlier start are
    looked for.
    """

    held: Held
    opening: list[Command | AccessCommand]
    write_keys: Callable[[], Path | None] | None
    keys_file: Path
    projection_lag_ms: int
    feed_flush_ms: int
    listener: socket.socket
    control: ControlPlan | None
    crowd: Crowd | None
    exit_with_stdin: bool


class Ready(msgspec.Struct, frozen=True):
    """Where the venue answers, once it does. control: None when it is not offered.

    keys_file: where the keys are that this start made, or the first one of this state; None where
    they are not found.
    """

    base_url: str
    stream_url: str
    control: str | None
    series: list[Ticker]
    keys_file: Path | None


async def serve(plan: ServePlan, announce: Callable[[Ready], None]) -> None:
    """Serve until SIGTERM, SIGINT or, if the plan says so, the end of stdin.

    announce: called once, when requests are answered. Raises AddressTaken, with nothing written,
    where another process has begun to listen on an address since it was bound; SeedFault where the
    keys cannot be written; OpeningRefused, with no keys written and nothing answered.
    """
    log = structlog.get_logger()
    for notice in plan.held.notices:
        log.warning("state", notice=notice)
    venue = VenueServer(plan.projection_lag_ms, plan.feed_flush_ms, plan.held)
    # Of several that opened at once one listens first: the others may not have replaced its keys.
    listen(plan.listener, _address(plan.listener))
    if plan.control is not None:
        listen(plan.control.listener, f"control {control_address(plan.control.listener)}")
    if plan.write_keys is not None:
        # Of an opening that is refused there are no keys, and those of another venue stay.
        venue.try_opening(plan.opening)
        # Before the opening is on disk: a state that is open already makes no keys any more.
        kept = plan.write_keys()
        if kept is not None:
            log.warning("keys_kept", why="the keys of a state were in the way", now=str(kept))
    if plan.opening:
        venue.open_with(plan.opening)
    server = make_server(_both(venue), DRAIN_S)
    venue.connections_open = lambda: len(server.server_state.connections)
    stop = asyncio.Event()
    async with (
        _running(venue.run()),
        _running(_compacting(plan.held)),
        _controlled(venue, plan.control) as control,
        asyncio.TaskGroup() as tasks,
    ):
        _stop_on_signals(stop)
        if plan.exit_with_stdin:
            _stop_at_end_of_stdin(stop)
        serving = tasks.create_task(server.serve([plan.listener]))
        await server.listening.wait()
        venue.has_crowd = plan.crowd is not None
        announce(_ready(venue, plan, control))
        crowd = None if plan.crowd is None else tasks.create_task(_traded(plan.crowd, venue))
        await stop.wait()
        _stop_on_no_more_signals()
        log.info("draining")
        venue.drain()
        if crowd is not None:
            crowd.cancel()
        server.should_exit = True
        await serving
    log.info("stopped")


def _ready(venue: VenueServer, plan: ServePlan, control: str | None) -> Ready:
    address = _address(plan.listener)
    stream = f"ws://{address}{API_PREFIX}{STREAM_PATH}"
    series = list(venue.views.catalog.series_tickers())
    keys_file = plan.keys_file if plan.write_keys is not None else _keys_found(venue, plan)
    return Ready(f"http://{address}{API_PREFIX}", stream, control, series, keys_file)


def _keys_found(venue: VenueServer, plan: ServePlan) -> Path | None:
    """Where the keys of the first start are; told where another venue's stand in their place."""
    found = keys_place(plan.keys_file, lambda sha256_hex: venue.access.key(sha256_hex) is not None)
    if found != plan.keys_file and has_keys(plan.keys_file):
        structlog.get_logger().warning(
            "keys_elsewhere",
            why=f"{plan.keys_file} has keys of another venue",
            now="unknown" if found is None else str(found),
        )
    return found


@contextlib.asynccontextmanager
async def _controlled(venue: VenueServer, plan: ControlPlan | None) -> AsyncIterator[str | None]:
    """Offer the operator's interface beside the block, to its very end; its address, or None."""
    if plan is None:
        yield None
        return
    server = make_server(make_control(venue, plan.token_sha256), DRAIN_S)
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(server.serve([plan.listener]))
        await server.listening.wait()
        yield control_address(plan.listener)
        server.should_exit = True
        await serving


async def _compacting(held: Held) -> None:
    if held.log is not None and held.path is not None:
        await compact_when_sealed(held.log, held.path)


@contextlib.asynccontextmanager
async def _running(work: Awaitable[None]) -> AsyncIterator[None]:
    """Run `work` beside the block and cancel it after; its failure ends the block."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(_awaited(work))
        yield
        task.cancel()


async def _awaited(work: Awaitable[None]) -> None:
    await work


async def _traded(crowd: Crowd, venue: VenueServer) -> None:
    # Called in here: told to stop before its first step, a task leaves nothing half made behind.
    await crowd(venue)
    # A tape that has ended: whoever judges the venue has it for themselves.
    venue.has_crowd = False


def _both(venue: VenueServer) -> Callable[[Message, Receive, Send], Awaitable[None]]:
    rest, stream = make_app(venue, venue.metrics.request), make_stream(venue.hub, venue.now_ns)

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await (stream if scope["type"] == "websocket" else rest)(scope, receive, send)

    return app


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if listener.family == socket.AF_INET6 else f"{host}:{port}"


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in _STOPPING:
        loop.add_signal_handler(number, stop.set)


def _stop_on_no_more_signals() -> None:
    """The end has begun: a signal that comes when the loop is gone would take the exit code."""
    for number in _STOPPING:
        signal.signal(number, signal.SIG_IGN)


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
