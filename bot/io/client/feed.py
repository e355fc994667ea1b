"""The subscription channel: sockets in, events out; reconnects until cancelled.

A set beyond one message's limit is spread over several sockets that open and close together. After
a reconnect the trader subscribes again. Readings: docs/assumptions.md#S8, #S9, #S48.
"""

import asyncio
import random
from typing import Final

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from bot.core import messages as m
from bot.io.adapter import Emit, MarketChannel
from bot.io.client.answers import event_of, plain
from bot.io.client.sockets import trusted
from bot.io.clock import Clock
from venue.wire import codec, frames
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import SUBSCRIPTION_TARGETS_MAX

FRAME_BYTES_MAX: Final = 1024 * 1024
"""A hundred times the largest book; reading it takes a fifth of a second at most."""

FRAMES_PER_TURN: Final = 64
"""After so many frames the loop's other tasks run: about a millisecond of work."""

FLOOD_S: Final = 10.0
GARBLED_MAX: Final = 1_000
"""More malformed frames than this within `FLOOD_S` close the channel. Far above what one faulty
market causes."""

USELESS_MAX: Final = 50_000
"""The same for frames of an unknown type or unrequested markets, which only cost time."""


class FeedTimes(msgspec.Struct, frozen=True):
    """Seconds. still_s: a pause of this process after which the channel reopens, longer than the
    others. backoff: drawn from 0 to a bound that doubles, starts again after a channel that lived
    for `ping_s`, and is `reopen_max_s` at most after a shorter one."""

    open_s: float = 5.0
    ping_s: float = 2.5
    pong_s: float = 5.0
    still_s: float = 5.5
    backoff_min_s: float = 0.25
    backoff_max_s: float = 10.0
    reopen_max_s: float = 1.0


class _Straight(connect):
    """Follows no redirect: the books of another address are not the venue's."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


class _Ended(Exception):
    """The channel is to be closed: no pong came in time, this process was paused, or too many
    useless frames came."""


class _Flood:
    __slots__ = ("_count", "_most", "_since_s", "_what")

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._count = 0
        self._since_s = 0.0

    def rise(self) -> None:
        """Raises _Ended for one frame too many."""
        now_s = asyncio.get_running_loop().time()
        if now_s - self._since_s > FLOOD_S:
            self._count, self._since_s = 0, now_s
        self._count += 1
        if self._count > self._most:
            raise _Ended(f"more than {self._most} frames {self._what} within {FLOOD_S:g} s")


class Feed(MarketChannel):
    """The channel of the interface."""

    def __init__(self, url: str, emit: Emit, times: FeedTimes | None = None) -> None:
        self._url = url
        self._ssl = trusted() if url.startswith("wss:") else None
        self._emit = emit
        self._times = FeedTimes() if times is None else times
        self._wanted: list[tuple[frames.Target, ...]] | None = None
        self._asked_for: frozenset[str] = frozenset()
        self._changed = asyncio.Event()
        self._sockets: list[ClientConnection] = []
        self._clock = Clock()
        self._awake_ns = 0  # when this process was last seen to run
        self._opened_ns = 0
        self._begin_counting()

    def _begin_counting(self) -> None:
        self._is_flooded = False
        self._garbled = _Flood(GARBLED_MAX, "that cannot be read")
        self._useless = _Flood(USELESS_MAX, "of no use")

    def subscribe(self, wish: m.SubscribeTo) -> None:
        """Make the set exactly this; sent at once, or on opening. Events of other markets are
        dropped from now on."""
        self._asked_for = frozenset((*wish.rungs, *wish.companies))
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
        bound_s = self._times.backoff_min_s
        while True:
            opened, reason = await self._session()
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # A task group of Python 3.11 loses a cancel that comes as one of its tasks fails.
                raise asyncio.CancelledError
            longest_s = self._times.backoff_max_s
            if opened:
                if not self._is_flooded:
                    longest_s = min(longest_s, self._times.reopen_max_s)
                    lived_ns = self._clock.now_ns() - self._opened_ns
                    if lived_ns >= self._times.ping_s * NS_PER_SECOND:
                        bound_s = self._times.backoff_min_s
                self._emit(m.FeedClosed(reason))
            bound_s = min(bound_s, longest_s)
            await asyncio.sleep(random.uniform(0, bound_s))
            bound_s = min(2 * bound_s, longest_s)

    async def _session(self) -> tuple[bool, str]:
        """One life of the channel: True if it opened, and why it ended."""
        opened, reason = False, ""
        self._sockets = []
        self._begin_counting()
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._open_socket(tasks)
                self._awake_ns = self._opened_ns = self._clock.now_ns()
                opened = True
                self._emit(m.FeedOpened())
                tasks.create_task(self._pings())
                while True:
                    await self._changed.wait()
                    self._changed.clear()
                    await self._send_wanted(tasks)
        except* (WebSocketException, OSError, TimeoutError, EOFError, _Ended) as group:
            reason = _first(group)
        finally:
            # A set asked for while the channel was down belongs to the next opening; one that was
            # sent does not: the trader subscribes again.
            for socket in self._sockets:
                socket.transport.abort()
        return opened, reason

    async def _open_socket(self, tasks: asyncio.TaskGroup) -> ClientConnection:
        socket = await _Straight(
            self._url,
            ssl=self._ssl,
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
        """Send the whole set; sockets beyond it get an empty one."""
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
            for _ in range(FRAMES_PER_TURN):
                raw = await socket.recv()
                self._check_pause()
                event = event_of(raw)
                if event is None:
                    continue
                wanted = self._is_wanted(event)
                if wanted:
                    self._emit(event)
                if not wanted or isinstance(event, m.MalformedFrame):
                    self._count(event)
            await asyncio.sleep(0)

    def _is_wanted(self, event: m.Event) -> bool:
        match event:
            case m.BookUpdate() | m.Trade():
                return event.market_id in self._asked_for
            case m.ImpliedValueSeen():
                return event.project_id in self._asked_for
        return True

    def _count(self, useless: m.Event) -> None:
        """Count a useless frame. Raises _Ended when it is one too many."""
        is_garbled = isinstance(useless, m.MalformedFrame) and useless.known
        try:
            (self._garbled if is_garbled else self._useless).rise()
        except _Ended:
            self._is_flooded = True
            raise

    async def _pings(self) -> None:
        """Ping every socket in each round; a missing pong ends the channel. The first round is at
        once: until it is answered nothing is quoted."""
        while True:
            self._runs()
            try:
                async with asyncio.timeout(self._times.pong_s):
                    # A ping waits, too, where the far end takes nothing of what was sent before.
                    pongs = [await socket.ping() for socket in self._sockets]
                    for pong in pongs:
                        await pong
            except TimeoutError:
                raise _Ended("no pong in time") from None
            self._runs()
            self._emit(m.FeedAlive())
            await asyncio.sleep(self._times.ping_s)

    def _runs(self) -> None:
        self._check_pause()
        self._awake_ns = self._clock.now_ns()

    def _check_pause(self) -> None:
        """Raises _Ended when this process has just resumed from a pause."""
        still_ns = self._clock.now_ns() - self._awake_ns
        if still_ns > self._times.still_s * NS_PER_SECOND:
            # When it stopped is not known, only when it was last seen to run: up to a ping before.
            raise _Ended(f"this process stood still, for at most {still_ns / NS_PER_SECOND:.1f} s")


def _first(group: BaseExceptionGroup[BaseException]) -> str:
    fault: BaseException = group
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    if isinstance(fault, _Ended):
        return str(fault)
    return f"{type(fault).__name__}: {plain(str(fault))}".removesuffix(": ")
