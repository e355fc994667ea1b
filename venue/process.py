"""The venue's process. Starts in this order: listening, keys, opening, sequencer, answering, ready,
crowd. Ends in reverse: crowd, new connections, requests in flight, then the sequencer."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from venue.admin.app import make_control
from venue.admin.listener import control_address
from venue.credentials import has_keys, keys_place
from venue.engine.messages import AccessCommand, Command
from venue.listen import listen, make_server
from venue.rest.app import Application, Message, Receive, Send, make_app
from venue.server import VenueServer
from venue.storage.log import CommandLog
from venue.storage.recovery import OpenedState
from venue.stream.socket import make_stream
from venue.wire.names import Ticker
from venue.wire.routes import API_PREFIX, STREAM_PATH

DRAIN_TIMEOUT_S: Final = 5
"""Requests in flight get this long at the end."""

COMPACTION_CHECK_S: Final = 1.0

COLLECT_AFTER: Final = 10_000
"""Objects made and not freed until the collector looks for cycles, 700 by default: a request leaves
none, and resting orders, walked over each time, are none. It took 4 % of the time of a write."""

_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)

Crowd = Callable[[VenueServer], Awaitable[None]]


class ControlPlan(msgspec.Struct, frozen=True):
    """Where the operator's interface listens, bound already, and the hash of its token."""

    listener: socket.socket
    token_sha256: bytes


class ServePlan(msgspec.Struct, frozen=True):
    state: OpenedState
    opening: list[Command | AccessCommand]
    write_keys: Callable[[], Path | None] | None
    """Writes the new keys and returns where it moved an existing file. None if no keys were made.
    """
    keys_file: Path
    projection_lag_ms: int
    feed_flush_ms: int
    listener: socket.socket
    control: ControlPlan | None
    crowd: Crowd | None
    exit_with_stdin: bool


class Ready(msgspec.Struct, frozen=True):
    base_url: str
    stream_url: str
    control: str | None
    """None if the operator's interface is off."""
    series: list[Ticker]
    keys_file: Path | None
    """The keys of this start, or of the first one on this state; None if not found."""


async def serve(plan: ServePlan, announce: Callable[[Ready], None]) -> None:
    """Serve until SIGTERM, SIGINT or, if planned, the end of stdin. announce: called once, when
    requests are answered. Raises AddressTaken, with nothing written, if another process listens on
    an address by now; SeedFault if keys cannot be written; OpeningRefused, with no keys written."""
    log = structlog.get_logger()
    for notice in plan.state.notices:
        log.warning("state", notice=notice)
    venue = VenueServer(plan.projection_lag_ms, plan.feed_flush_ms, plan.state)
    # If several processes open at once, one listens first; the others must not replace its keys.
    listen(plan.listener, _address(plan.listener))
    if plan.control is not None:
        listen(plan.control.listener, f"control {control_address(plan.control.listener)}")
    if plan.write_keys is not None:
        # A refused opening must leave no keys, and must not move those of another venue.
        venue.try_opening(plan.opening)
        # Before the opening is on disk: once it is, no start makes keys any more.
        kept = plan.write_keys()
        if kept is not None:
            log.warning("keys_kept", why="the keys of a state were in the way", now=str(kept))
    if plan.opening:
        venue.open_with(plan.opening)
    gc.set_threshold(COLLECT_AFTER)
    server = make_server(_both(venue), DRAIN_TIMEOUT_S)
    venue.connections_open = lambda: len(server.server_state.connections)
    stop = asyncio.Event()
    async with (
        _running(venue.run()),
        _running(compact_when_sealed(plan.state.log, plan.state.path)),
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
    """The keys file of the first start. Warns if another venue's keys are in its place."""
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
    """Serve the operator's interface until the block has ended; yields its address, or None."""
    if plan is None:
        yield None
        return
    server = make_server(make_control(venue, plan.token_sha256), DRAIN_TIMEOUT_S)
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(server.serve([plan.listener]))
        await server.listening.wait()
        yield control_address(plan.listener)
        server.should_exit = True
        await serving


async def compact_when_sealed(log: CommandLog | None, path: Path | None) -> None:
    """Compact after each sealed segment, in a child process, until cancelled. Compacts at the
    start, too: an earlier process may have ended before it did."""
    if log is None or path is None:  # in memory
        return
    compacted = -1 if log.has_sealed else log.segments_begun
    while True:
        if log.segments_begun != compacted:
            compacted = log.segments_begun
            await _compact(path)
        await asyncio.sleep(COMPACTION_CHECK_S)


async def _compact(path: Path) -> None:
    log = structlog.get_logger()
    try:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "venue", "compact", "--state", str(path)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            # A Ctrl-C goes to the whole process group. We end the child below; the log should not
            # show one that the same key ended as failed.
            start_new_session=True,
        )
    except OSError as fault:
        # No process, descriptor or memory is left, or the program was replaced. Traders go on.
        log.error("not_compacted", state=str(path), why=str(fault))
        return
    try:
        _, stderr = await child.communicate()
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    if child.returncode == 0:
        log.info("compacted", state=str(path))
    else:
        # The log alone is enough to go on; only the next start takes longer.
        why = stderr.decode(errors="replace")[-2000:]
        why = why or f"ended without a word, with {child.returncode}"
        log.error("not_compacted", state=str(path), why=why)


@contextlib.asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `work` while the block runs, then cancel it; its failure ends the block."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work)
        yield
        task.cancel()


async def _traded(crowd: Crowd, venue: VenueServer) -> None:
    # The coroutine is made here: a task cancelled before its first step would leave it unawaited.
    await crowd(venue)
    # The tape has ended: a judge now has the venue to itself.
    venue.has_crowd = False


def _both(venue: VenueServer) -> Application:
    rest, stream = make_app(venue, venue.metrics.request), make_stream(venue.hub, venue.now_ns)

    def app(scope: Message, receive: Receive, send: Send) -> Awaitable[None]:
        return (stream if scope["type"] == "websocket" else rest)(scope, receive, send)

    return app


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if listener.family == socket.AF_INET6 else f"{host}:{port}"


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in _STOPPING:
        loop.add_signal_handler(number, stop.set)


def _stop_on_no_more_signals() -> None:
    """Ignore signals from here on: one after the loop has closed would change the exit code."""
    for number in _STOPPING:
        signal.signal(number, signal.SIG_IGN)


def _stop_at_end_of_stdin(stop: asyncio.Event) -> None:
    """Stop when stdin ends: a parent that dies, even by SIGKILL, closes it."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        # Reads the raw descriptor: a thread inside sys.stdin would hold its lock at exit.
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        with contextlib.suppress(RuntimeError):
            # The loop may have closed by now.
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=watch, name="stdin", daemon=True).start()
