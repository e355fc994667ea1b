"""The venue as it runs: one task owns the exchange, everybody else asks it. Commands wait in one
bounded line. A batch is written to the log and synced, then carried out without any await, then
answered: nothing is carried out that is not on disk. Events become visible after the configured
lag."""

import asyncio
import contextlib
import importlib.metadata
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, get_args

import msgspec
import structlog

from venue.clock import Clock
from venue.engine import messages as m
from venue.engine.access import Access
from venue.engine.snapshot import digest
from venue.metrics import Readings, VenueMetrics
from venue.rest.faults import Faults
from venue.rest.venue_port import EngineOverloaded, EngineUnavailable, ReplyLost
from venue.storage.log import CommandLog, LogBroken, LogFull
from venue.storage.recovery import OpenedState, RecoveredVenue, open_in_memory, rehearsal_copy
from venue.stream.hub import Hub
from venue.views.projector import Projector, Views
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND, from_ns
from venue.wire.limits import REPLY_DEADLINE_NS

QUEUE_MAX: Final = 1_000
"""Commands that may wait; beyond it the answer is engine_overloaded."""

CANCEL_RESERVE: Final = 100
"""The last places of the line are for cancels, which only ever take risk off, and the operator."""

CANCELS_FIRST_ABOVE: Final = 100
"""In a line longer than this, cancels are carried out before what came earlier."""

BATCH_MAX: Final = 64
"""Commands carried out before the loop gets a turn: some milliseconds at most."""

_ADDS_RISK: Final = (m.PlaceOrder, m.AmendOrder)

TRY_S: Final = 1.0
"""How often we retry a log that took nothing: while the venue is not ready, no command comes."""

_LOOK_S: Final = 0.05
"""How often we look for callers whose reply timeout has passed."""


class _Waiting(msgspec.Struct, frozen=True, eq=False):
    """A command in the line, where its answer goes, and until when it is waited for."""

    command: m.Command | m.AccessCommand
    reply: asyncio.Future[m.Answer]
    due_ns: int


class OpeningRefused(Exception):
    """An opening command was refused, so the venue cannot start as configured."""


class VenueServer:
    """The venue behind REST, channel and admin; made inside a running event loop.
    projection_lag_ms: how far reads and the channel lag behind. state: None starts empty, in
    memory."""

    def __init__(
        self, projection_lag_ms: int, feed_flush_ms: int, state: OpenedState | None = None
    ) -> None:
        state = open_in_memory() if state is None else state
        self._exchange = state.exchange
        self.access: Access = state.exchange.access
        self._views: Views = state.exchange.views
        self.cursor_key = state.cursor_key
        self.faults = Faults()
        self.now_ns = Clock(state.exchange.at_ns).now_ns
        self.find_market = state.exchange.engine.find_market
        self._log = state.log
        self._writer = None if state.log is None else ThreadPoolExecutor(1, "log")
        self._log_fault: str | None = None
        self._log_broken = False
        self._log_asked_ns: int | None = None
        """Since when an append is in flight, by the monotonic clock; None while there is none."""
        self._projector = Projector(self._views, projection_lag_ms * NS_PER_MS)
        self.hub = Hub(self._views, feed_flush_ms)
        self._line: deque[_Waiting] = deque()
        self._batch: list[_Waiting] = []
        self._line_grew = asyncio.Event()
        self._published = asyncio.Event()
        self._lag_set = asyncio.Event()
        self._observers: list[Callable[[list[m.Event]], None]] = []
        self._draining = False
        self._closed = False
        self.has_crowd = False
        self.connections_open: Callable[[], int | None] = lambda: None
        self.metrics = VenueMetrics(
            importlib.metadata.version("laddermaker"),
            [kind.__name__ for kind in (*get_args(m.Command), *get_args(m.AccessCommand))],
            Readings(
                queue_commands=lambda: self.queue,
                sequence=lambda: self.sequence,
                projection_lag_seconds=self._projection_lag_s,
                subscribers=lambda: self.hub.subscribers,
                readers_cut=lambda: self.hub.readers_cut,
                connections_open=lambda: self.connections_open(),
                log_writable=lambda: self.writable if self.durable else None,
            ),
        )

    @property
    def views(self) -> Views:
        """What reads see: everything due by now, however late the projection's own task is."""
        self._make_visible(self.now_ns())
        return self._views

    def observe(self, observer: Callable[[list[m.Event]], None]) -> None:
        """Call `observer` with every list of events as they become visible. It must not raise."""
        self._observers.append(observer)

    def snapshot_events(self) -> list[m.Event]:
        return self._exchange.engine.snapshot_events(self.now_ns())

    def try_opening(self, commands: list[m.Command | m.AccessCommand]) -> None:
        """Raise OpeningRefused where `open_with` would; changes nothing."""
        _rehearse(self._exchange, commands, self.now_ns())

    def open_with(self, commands: list[m.Command | m.AccessCommand]) -> None:
        """Carry an opening out, visible at once. Raises OpeningRefused at the first refusal,
        LogFull or LogBroken; where there is a log, with nothing written and nothing carried out."""
        now_ns = self.now_ns()
        if self._log is not None:
            # The next start applies what the log has: half of a new venue would be taken
            # for the whole one, and half of what an old one was refused would be listed for ever.
            _rehearse(self._exchange, commands, now_ns)
            self._log.append(now_ns, commands)
        for command in commands:
            _check(command, self._carry_out(command, now_ns))
        self._make_visible(now_ns + self._projector.lag_ns)

    async def submit(self, command: m.Command | m.AccessCommand) -> m.Answer:
        """The engine's answer to a command. Raises EngineOverloaded (not sequenced) when the line
        is full, EngineUnavailable (not sequenced) once the venue has closed or while its log takes
        nothing, ReplyLost after two seconds: the command may be applied all the same."""
        if self._closed or self._log_broken:
            raise EngineUnavailable
        waits = isinstance(command, _ADDS_RISK)
        room = QUEUE_MAX - CANCEL_RESERVE if waits else QUEUE_MAX
        if len(self._line) >= room:
            raise EngineOverloaded
        reply: asyncio.Future[m.Answer] = asyncio.get_running_loop().create_future()
        self._line.append(_Waiting(command, reply, time.monotonic_ns() + REPLY_DEADLINE_NS))
        self._line_grew.set()
        return await reply

    async def run(self) -> None:
        """Sequence and project until cancelled. Commands that wait at that moment are dropped."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._sequence())
                tasks.create_task(self._project())
                tasks.create_task(self._time_out_late_replies())
                tasks.create_task(self._try_full_log())
                tasks.create_task(self.hub.run(self.now_ns))
        finally:
            self._closed = True
            if self._writer is not None and self._log is not None:
                self._writer.shutdown(wait=True)
                self._log.close()
            self._fail_all()

    def figures(self) -> dict[str, object]:
        return {
            "venue_state": self._exchange.engine.venue_state,
            "sequence": self.sequence,
            "at": from_ns(self.now_ns()),
            "durable": self.durable,
            "writable": self.writable,
            "queue": self.queue,
            "projection_lag_ms": self._projector.lag_ns // NS_PER_MS,
            "subscribers": self.hub.subscribers,
        }

    def set_projection_lag_ms(self, lag_ms: int) -> None:
        """Set the lag of reads and the channel, also for events that wait. lag_ms >= 0."""
        self._projector.lag_ns = lag_ms * NS_PER_MS
        self._lag_set.set()

    @property
    def sequence(self) -> int:
        """Commands sequenced so far, refused ones too, over all runs on one log."""
        return self._exchange.sequence

    async def state_hash(self) -> tuple[int, str]:
        """The sequence and the hash of the state after it, which a thread of its own computes."""
        sequence, snapshot = self._exchange.sequence, self._exchange.engine.to_snapshot()
        return sequence, await asyncio.to_thread(digest, snapshot)

    @property
    def durable(self) -> bool:
        """True if acknowledged commands outlive this process."""
        return self._log is not None

    @property
    def writable(self) -> bool:
        """True if commands are taken, as far as the last one, or the try at the start, shows."""
        return self._log_trouble() is None and not self._closed

    @property
    def queue(self) -> int:
        return len(self._line)

    def drain(self) -> None:
        """Say from now on that no new callers should come; the ones there are served on."""
        self._draining = True

    def readiness(self) -> str | None:
        """Why callers should go elsewhere; None while there is no reason."""
        return "draining" if self._closed or self._draining else self._log_trouble()

    def exposition(self) -> bytes:
        return self.metrics.exposition()

    def _projection_lag_s(self) -> float:
        """The age of the oldest event that reads do not show yet; 0 when they show all."""
        due_ns = self._projector.next_due_ns()
        if due_ns is None:
            return 0.0
        return max(0, self.now_ns() - due_ns + self._projector.lag_ns) / NS_PER_SECOND

    async def _sequence(self) -> None:
        while True:
            await self._line_grew.wait()
            self._line_grew.clear()
            while self._line:
                self._batch = self._next_batch()
                now_ns = self.now_ns()
                if await self._logged(now_ns):
                    self._carry_out_batch(now_ns)
                self._batch = []
                await asyncio.sleep(0)

    def _carry_out_batch(self, now_ns: int) -> None:
        begun = time.perf_counter()
        for waiting in self._batch:
            answer = self._carry_out(waiting.command, now_ns)
            # The caller may have timed out; the command is applied all the same.
            if not waiting.reply.done():
                waiting.reply.set_result(answer)
            ended = time.perf_counter()
            self.metrics.applied(type(waiting.command).__name__, ended - begun)
            begun = ended
        self.metrics.batch(len(self._batch))
        self._published.set()

    def _next_batch(self) -> list[_Waiting]:
        if len(self._line) > CANCELS_FIRST_ABOVE:
            self._line = deque(
                sorted(
                    self._line, key=lambda waiting: not isinstance(waiting.command, m.CancelOrder)
                )
            )
        return [self._line.popleft() for _ in range(min(BATCH_MAX, len(self._line)))]

    async def _logged(self, now_ns: int) -> bool:
        """True if the batch is on disk, or need not be; if not, its callers get the reason."""
        if self._log is None:
            return True
        commands = [waiting.command for waiting in self._batch]
        loop = asyncio.get_running_loop()
        begun = time.perf_counter()
        self._log_asked_ns = time.monotonic_ns()
        try:
            size = await loop.run_in_executor(self._writer, self._log.append, now_ns, commands)
        except LogFull as fault:
            self.metrics.append_refused("full")
            self._note_log_full(fault)
            _fail(self._batch, EngineUnavailable)
            return False
        except LogBroken as fault:
            self.metrics.append_refused("broken")
            self._break(fault)
            return False
        finally:
            self._log_asked_ns = None
        self.metrics.appended(len(commands), size, time.perf_counter() - begun)
        self._note_log_taking()
        return True

    def _break(self, fault: LogBroken) -> None:
        self._log_broken = True
        self._note_log_fault(f"the command log is broken, restart the venue: {fault}")
        self._fail_all()

    def _fail_all(self) -> None:
        # A batch that was being written may be on disk; what waits behind it is not.
        _fail(self._batch, ReplyLost)
        _fail(self._line, EngineUnavailable)
        self._line.clear()

    async def _try_full_log(self) -> None:
        """Find out whether a log takes commands: at the start, and after it took nothing."""
        if self._log is None:
            return
        wanted = True
        while True:
            if wanted:
                await self._try_log(self._log)
            await asyncio.sleep(TRY_S)
            wanted = self._log_fault is not None and not self._log_broken

    async def _try_log(self, log: CommandLog) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._writer, log.try_room)
        except LogFull as fault:
            self._note_log_full(fault)
        except LogBroken as fault:
            self._break(fault)
        else:
            self._note_log_taking()

    async def _time_out_late_replies(self) -> None:
        """Fail callers at the reply timeout of two seconds; a command may still be applied."""
        # One look at all of them every so often costs less than a timer for each.
        while True:
            await asyncio.sleep(_LOOK_S)
            now_ns = time.monotonic_ns()
            late = [each for each in (*self._batch, *self._line) if each.due_ns <= now_ns]
            _fail(late, ReplyLost)

    def _log_trouble(self) -> str | None:
        """Why the log takes nothing now: its fault, or a disk that does not answer at all."""
        asked_ns = self._log_asked_ns
        if self._log_fault is None and asked_ns is not None:
            waited_ns = time.monotonic_ns() - asked_ns
            if waited_ns > REPLY_DEADLINE_NS:
                return f"the command log has not answered for {waited_ns // NS_PER_SECOND} s"
        return self._log_fault

    def _note_log_taking(self) -> None:
        if self._log_fault is not None and not self._log_broken:
            self._log_fault = None
            structlog.get_logger().warning("log_takes_commands_again")

    def _note_log_full(self, fault: LogFull) -> None:
        self._note_log_fault(f"the command log takes nothing: {fault}")

    def _note_log_fault(self, why: str) -> None:
        if self._log_fault is None:
            structlog.get_logger().error("log_refused", why=why)
        self._log_fault = why

    def _carry_out(self, command: m.Command | m.AccessCommand, now_ns: int) -> m.Answer:
        answer, events = self._exchange.apply_command(command, now_ns)
        if events:
            self._projector.publish(events, now_ns)
        return answer

    async def _project(self) -> None:
        while True:
            due_ns = self._projector.next_due_ns()
            if due_ns is None:
                self._published.clear()
                await self._published.wait()
                continue
            delay_ns = due_ns - self.now_ns()
            if delay_ns > 0:
                self._lag_set.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(delay_ns / NS_PER_SECOND):
                        await self._lag_set.wait()
            self._make_visible(self.now_ns())

    def _make_visible(self, now_ns: int) -> None:
        visible = self._projector.advance(now_ns)
        if visible:
            self.hub.publish(visible, now_ns)
            for observer in self._observers:
                observer(visible)


def _rehearse(
    exchange: RecoveredVenue, opening: list[m.Command | m.AccessCommand], now_ns: int
) -> None:
    """Carry an opening out on a copy of the state. Raises OpeningRefused."""
    copy = rehearsal_copy(exchange)
    for command in opening:
        answer, _ = copy.apply_command(command, now_ns)
        _check(command, answer)


def _check(command: m.Command | m.AccessCommand, answer: m.Answer) -> None:
    if isinstance(answer, m.Refused):
        kind = type(command).__name__
        raise OpeningRefused(f"{kind}{_of(command)} was refused: {answer.code}: {answer.message}")


def _of(command: m.Command | m.AccessCommand) -> str:
    for field in ("ticker", "event_ticker", "symbol", "user_id"):
        name = getattr(command, field, None)
        if name is not None:
            return f" {name}"
    return ""


def _fail(waiting: Iterable[_Waiting], failure: type[Exception]) -> None:
    for each in waiting:
        if not each.reply.done():
            each.reply.set_exception(failure())
