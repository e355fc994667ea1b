"""The subscription channel: sockets in, events out; connects again for ever until told to stop.

Everything the trader hears of the channel comes from here: opened, closed, heard (a pong), and
frames as events. One owner holds the whole subscription set and re-sends all of it on a change; a
set beyond one message's limit is spread over several sockets, which live and die together, so the
trader sees one channel. After a reconnect the trader subscribes anew.

Source: interface, Events; silences S8, S9, S48; reliability, rows 6, 7, 39, 41, 42.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from bot.core import messages as m
from bot.io.answers import plain
from bot.io.translate import event_of
from venue.wire import codec, frames
from venue.wire.limits import SUBSCRIPTION_TARGETS_MAX

FRAME_BYTES_MAX: Final = 4 * 1024 * 1024


class FeedTimes(msgspec.Struct, frozen=True):
    """Deadlines in seconds. open_s: to connect. ping_s: between pings. pong_s: until a pong is due.

    backoff_min_s, backoff_max_s: the wait before connecting again is drawn from 0 to a bound that
    doubles from the first to the second, so that many clients do not return in one instant.
    """

    open_s: float = 5.0
    ping_s: float = 2.5
    pong_s: float = 5.0
    backoff_min_s: float = 0.25
    backoff_max_s: float = 10.0


class _Straight(connect):
    """Follows no redirect: the books of another address are not the venue's (row 5)."""

    def process_redirect(self, exc: Exception) -> Exception:
        """Where a connection was refused, whatever the answer names as its new place."""
        return exc


class _Silent(Exception):
    """No pong came in time."""


class Feed:
    """One channel. `emit` is called on the event loop with every event, in order of arrival."""

    def __init__(
        self, url: str, emit: Callable[[m.Event], None], times: FeedTimes | None = None
    ) -> None:
        """url: ws or wss. Nothing happens before `run`."""
        self._url = url
        self._emit = emit
        self._times = FeedTimes() if times is None else times
        self._wanted: list[tuple[frames.Target, ...]] | None = None
        self._changed = asyncio.Event()
        self._sockets: list[ClientConnection] = []

    def subscribe(self, wish: m.SubscribeTo) -> None:
        """Make the set exactly this. Before the channel is open it is kept and sent on opening."""
        targets: list[frames.Target] = [
            frames.RungTarget(frames.ByEventMarketId(market_id)) for market_id in wish.rungs
        ]
        targets += [
            frames.CompanyTarget(frames.ByMarketId(project_id)) for project_id in wish.companies
        ]
        size = SUBSCRIPTION_TARGETS_MAX
        shards = [tuple(targets[at : at + size]) for at in range(0, len(targets), size)]
        self._wanted = shards or [()]
        self._changed.set()

    async def run(self) -> None:
        """Connect, listen, and connect again; ends only by being cancelled."""
        bound_s = self._times.backoff_min_s
        while True:
            opened, reason = await self._session()
            if opened:
                bound_s = self._times.backoff_min_s
                self._emit(m.FeedClosed(reason))
            await asyncio.sleep(random.uniform(0, bound_s))
            bound_s = min(2 * bound_s, self._times.backoff_max_s)

    async def _session(self) -> tuple[bool, str]:
        """One life of the channel: whether it opened, and why it ended."""
        opened, reason = False, ""
        self._sockets = []
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._open_socket(tasks)
                opened = True
                self._emit(m.FeedOpened())
                tasks.create_task(self._pings())
                while True:
                    await self._changed.wait()
                    self._changed.clear()
                    await self._send_wanted(tasks)
        except* (WebSocketException, OSError, TimeoutError, EOFError, _Silent) as group:
            reason = _first(group)
        finally:
            # A set asked for while the channel was down belongs to the next opening; one that was
            # sent does not: the trader asks anew.
            for socket in self._sockets:
                socket.transport.abort()
        return opened, reason

    async def _open_socket(self, tasks: asyncio.TaskGroup) -> ClientConnection:
        socket = await _Straight(
            self._url,
            proxy=None,
            compression=None,
            max_size=FRAME_BYTES_MAX,
            open_timeout=self._times.open_s,
            ping_interval=None,
            close_timeout=1.0,
            user_agent_header=None,
        )
        self._sockets.append(socket)
        tasks.create_task(self._listen(socket))
        return socket

    async def _send_wanted(self, tasks: asyncio.TaskGroup) -> None:
        """Send the whole set; sockets beyond it are left with an empty one."""
        if self._wanted is None:
            return
        shards, self._wanted = self._wanted, None
        while len(self._sockets) < len(shards):
            await self._open_socket(tasks)
        shards += [()] * (len(self._sockets) - len(shards))
        for socket, targets in zip(self._sockets, shards, strict=True):
            frame = codec.encode(frames.Subscribe(frames.Targets(targets)))
            await socket.send(frame.decode(), text=True)

    async def _listen(self, socket: ClientConnection) -> None:
        while True:
            event = event_of(await socket.recv())
            if event is not None:
                self._emit(event)

    async def _pings(self) -> None:
        """A pong from every socket in each round, or the channel is dead (row 7)."""
        while True:
            await asyncio.sleep(self._times.ping_s)
            pongs = [await socket.ping() for socket in self._sockets]
            try:
                async with asyncio.timeout(self._times.pong_s):
                    for pong in pongs:
                        await pong
            except TimeoutError:
                raise _Silent("no pong in time") from None
            self._emit(m.FeedHeard())


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    """The first plain fault of a group, as one line."""
    fault: BaseException = group
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return f"{type(fault).__name__}: {plain(str(fault))}".removesuffix(": ")
