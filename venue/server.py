"""The venue as it runs: one task owns the exchange, everybody else asks it.

Commands wait in one bounded line, are carried out in batches without any await in between, are
committed together, and only then answered. Events become visible to reads and to the channel
after the configured lag.

Source: design, The venue, in the order a datum flows; interface, Errors (429, 503).
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from venue.core.access import Access
from venue.core.engine import Engine
from venue.core.messages import (
    AccessCommand,
    AddKey,
    AddToken,
    Answer,
    CancelOrder,
    Command,
    Event,
    Refused,
    RevokeKey,
)
from venue.feed.hub import Hub
from venue.http.app import EngineOverloaded, EngineUnavailable, ReplyLost
from venue.read.projector import Projector, Views
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.limits import REPLY_DEADLINE_NS

QUEUE_MAX: Final = 1_000
"""Commands that may wait; beyond it the answer is engine_overloaded."""

CANCEL_RESERVE: Final = 100
"""The last places of the line are for cancels, which only ever take risk off."""

CANCELS_FIRST_ABOVE: Final = 100
"""In a line longer than this, cancels are carried out before what came earlier."""

BATCH_MAX: Final = 64
"""Commands carried out before the loop gets a turn: some milliseconds at most."""

_ACCESS_COMMANDS: Final = (AddKey, RevokeKey, AddToken)


class _Waiting(msgspec.Struct, frozen=True, eq=False):
    """A command in the line and where its answer goes."""

    command: Command | AccessCommand
    reply: asyncio.Future[Answer]


class OpeningRefused(Exception):
    """An opening command was refused, so the venue cannot start as it was told to."""


class Venue:
    """The desk behind the REST shell and the channel. Made inside a running event loop.

    projection_lag_ms: how far reads and the channel lag behind. feed_flush_ms: see `Hub`.
    """

    def __init__(self, projection_lag_ms: int, feed_flush_ms: int) -> None:
        self._started_wall_ns = time.time_ns()
        self._started_ns = time.monotonic_ns()
        # Nothing outlives this process yet, so neither need what its ids and cursors hang on.
        self.cursor_key = secrets.token_bytes(32)
        self._engine = Engine(secrets.token_bytes(32))
        self.access = Access()
        self.views = Views()
        self._projector = Projector(self.views, projection_lag_ms * NS_PER_MS)
        self.hub = Hub(self.views, feed_flush_ms)
        self._line: deque[_Waiting] = deque()
        self._line_grew = asyncio.Event()
        self._published = asyncio.Event()
        self._observers: list[Callable[[list[Event]], None]] = []
        self._closed = False

    def now_ns(self) -> int:
        """The venue's clock: the wall at the start and monotonic from there, never backwards."""
        return self._started_wall_ns + time.monotonic_ns() - self._started_ns

    def observe(self, observer: Callable[[list[Event]], None]) -> None:
        """Call `observer` with every list of events as they become visible. It must not raise."""
        self._observers.append(observer)

    def open_with(self, commands: list[Command | AccessCommand]) -> None:
        """Carry the opening out, visible at once. Raises OpeningRefused at the first refusal."""
        now_ns = self.now_ns()
        for command in commands:
            answer = self._carry_out(command, now_ns)
            if isinstance(answer, Refused):
                kind = type(command).__name__
                raise OpeningRefused(f"{kind} was refused: {answer.code}: {answer.message}")
        self._make_visible(now_ns + self._projector.lag_ns)

    async def submit(self, command: Command | AccessCommand) -> Answer:
        """The engine's answer to a command.

        Raises EngineOverloaded (not sequenced) when the line is full, EngineUnavailable (not
        sequenced) once the venue has closed, ReplyLost when no answer came within two seconds:
        the command may be carried out all the same.
        """
        if self._closed:
            raise EngineUnavailable
        room = QUEUE_MAX if isinstance(command, CancelOrder) else QUEUE_MAX - CANCEL_RESERVE
        if len(self._line) >= room:
            raise EngineOverloaded
        reply: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._line.append(_Waiting(command, reply))
        self._line_grew.set()
        try:
            async with asyncio.timeout(REPLY_DEADLINE_NS / NS_PER_SECOND):
                return await reply
        except TimeoutError:
            raise ReplyLost from None

    async def run(self) -> None:
        """Sequence and project until cancelled. What still waits then was never sequenced."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._sequence())
                tasks.create_task(self._project())
                tasks.create_task(self.hub.run(self.now_ns))
        finally:
            self._closed = True
            for waiting in self._line:
                if not waiting.reply.done():
                    waiting.reply.set_exception(EngineUnavailable())
            self._line.clear()

    async def _sequence(self) -> None:
        while True:
            await self._line_grew.wait()
            self._line_grew.clear()
            while self._line:
                batch = self._next_batch()
                now_ns = self.now_ns()
                answers = [self._carry_out(waiting.command, now_ns) for waiting in batch]
                self._commit(batch)
                for waiting, answer in zip(batch, answers, strict=True):
                    # The caller may have given up waiting; the command stands all the same.
                    if not waiting.reply.done():
                        waiting.reply.set_result(answer)
                await asyncio.sleep(0)

    def _next_batch(self) -> list[_Waiting]:
        if len(self._line) > CANCELS_FIRST_ABOVE:
            self._line = deque(
                sorted(self._line, key=lambda waiting: not isinstance(waiting.command, CancelOrder))
            )
        return [self._line.popleft() for _ in range(min(BATCH_MAX, len(self._line)))]

    def _carry_out(self, command: Command | AccessCommand, now_ns: int) -> Answer:
        if isinstance(command, _ACCESS_COMMANDS):
            return self.access.apply(command, now_ns)
        answer, events = self._engine.apply(command, now_ns)
        if events:
            self._projector.publish(events, now_ns)
        return answer

    def _commit(self, batch: list[_Waiting]) -> None:
        """The one place between carrying a batch out and answering it."""
        self._published.set()

    async def _project(self) -> None:
        while True:
            due_ns = self._projector.next_due_ns()
            if due_ns is None:
                self._published.clear()
                await self._published.wait()
                continue
            delay_ns = due_ns - self.now_ns()
            if delay_ns > 0:
                await asyncio.sleep(delay_ns / NS_PER_SECOND)
            self._make_visible(self.now_ns())

    def _make_visible(self, now_ns: int) -> None:
        visible = self._projector.advance(now_ns)
        if visible:
            self.hub.publish(visible, now_ns)
            for observer in self._observers:
                observer(visible)
