"""The loop of one trader: events in, effects journaled and then carried out.

One task decides; channel, journal, status page and terminal are child tasks. A child that ends
unasked stops the bot: no new orders, everything cancelled, a non-zero exit.
"""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import anyio
import anyio.abc
import msgspec
import structlog

from bot.core import messages as m
from bot.core.preview import TraderPlan
from bot.core.report import Phase, Report, ShadowReport
from bot.core.trader import Trader
from bot.io.adapter import DRAIN_READS_S, Connection
from bot.io.clock import Clock
from bot.io.journal.journal import IN_TIME_S, Journal
from bot.io.journal.recovery import NOTHING_LEFT
from bot.io.logs import log_note
from bot.io.metrics.metrics import Metrics
from bot.io.metrics.table import Family
from bot.io.run.inbox import ConflatingQueue
from bot.io.run.result import Exit, RunResult, tell_left
from bot.io.run.watchdog import StrategyWatchdog
from bot.io.secret import Secret
from bot.io.signals import heard, stopping
from bot.io.state.kill_switch_file import LatchFault
from bot.io.state.persistent_guards import PersistentGuards
from bot.io.status.snapshot import Snapshot
from venue.wire.instant import NS_PER_SECOND

DRAIN_NS: Final = 8 * NS_PER_SECOND
"""Time to cancel everything and see it gone."""

GAP_NS_MAX: Final = NS_PER_SECOND
"""The loop looks twice as often. A longer gap between two looks counts as this much, so that a slow
loop ends too."""


class ShutdownDeadline:
    """The time that a stopped run has to cancel everything, on a clock that never steps back.

    A process that was paused cancelled nothing meanwhile, so paused time does not count.
    """

    __slots__ = ("_due_ns", "_length_ns", "_seen_ns")

    def __init__(self, length_ns: int, now_ns: int) -> None:
        self._length_ns = length_ns
        self._seen_ns = now_ns
        self._due_ns: int | None = None

    @property
    def has_begun(self) -> bool:
        return self._due_ns is not None

    def start_countdown(self, at_ns: int) -> None:
        """A stop was requested. The time runs from the last look if that came later, because the
        process may have been paused. A second stop changes nothing."""
        if self._due_ns is None:
            self._due_ns = max(at_ns, self._seen_ns) + self._length_ns

    def is_over(self, now_ns: int) -> bool:
        """Call before and after every turn of the loop. True if the time is up."""
        stood_ns = now_ns - self._seen_ns - GAP_NS_MAX
        self._seen_ns = now_ns
        if self._due_ns is None:
            return False
        self._due_ns += max(0, stood_ns)
        return now_ns >= self._due_ns

    def next_ns(self, due_ns: int) -> int:
        """When the loop has to look if it would otherwise sleep until `due_ns`."""
        if self._due_ns is None:
            return due_ns
        return min(due_ns, self._due_ns, self._seen_ns + GAP_NS_MAX // 2)


class Paper(msgspec.Struct, frozen=True):
    """A run whose orders stay on a local exchange.

    place: where they are, for the state directory. connect: opens the exchange on a venue that can
    be read; raises OperatorError.
    """

    place: str
    connect: Callable[[], Awaitable[Connection]]


async def finish_all(companions: Iterable["Sidecar"]) -> None:
    await asyncio.gather(*(_finish(each) for each in companions))


async def _finish(companion: "Sidecar") -> None:
    try:
        await companion.on_run_end()
    except Exception:  # noqa: BLE001 - the run is over, and its result is known
        structlog.stdlib.get_logger("bot").exception("companion_failed", companion=companion.name)


class Sidecar(Protocol):
    """Runs with the trader, watches its effects, and can neither stop nor slow it."""

    name: str

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """Texts that no log may show."""

    @property
    def families(self) -> tuple[tuple[Family[Any], Any], ...]:
        """Its metrics, each with the object that they are read from."""

    def on_run_start(self, look: Callable[[], Report | None], now_ns: Callable[[], int]) -> None:
        """The run begins. look: the newest report; now_ns: the bot's clock."""

    def did(self, effect: m.Effect, at_ns: int) -> None:
        """The trader did something. Must return at once."""

    async def run(self) -> None:
        """Its task until it is cancelled. Never ends and raises nothing else."""

    async def on_run_end(self) -> None:
        """The run is over; takes a few seconds at most."""


BATCH_MAX: Final = 256
REPORT_NS: Final = NS_PER_SECOND // 2
"""A report is built at most this often."""

NOTES_KEPT: Final = 5
GAP_NS: Final = 2 * NS_PER_SECOND
"""After a longer gap between decisions the latch is read whenever that was last done."""

_STUMBLE_S: Final = 0.05


_ON_SIGNAL: Final[dict[signal.Signals, m.Event]] = {
    signal.SIGUSR1: m.PauseRequested("SIGUSR1"),
    signal.SIGUSR2: m.ResumeRequested(),
}


class Told(Protocol):
    """The target of signals."""

    def tell(self, event: m.Event) -> None: ...

    def asked_to_stop(self, name: str) -> None: ...


@contextmanager
def signals_to(told: Sequence[Told]) -> Iterator[None]:
    """Until the block ends SIGINT and SIGTERM stop these runs, SIGUSR1 pauses and SIGUSR2 resumes
    them."""

    def stop(number: signal.Signals) -> None:
        for each in told:
            each.asked_to_stop(number.name)

    def tell(event: m.Event) -> None:
        for each in told:
            each.tell(event)

    with stopping(stop), ExitStack() as until:
        for number, event in _ON_SIGNAL.items():
            until.enter_context(heard(number, partial(tell, event)))
        yield


class Child(msgspec.Struct, frozen=True):
    """A task that runs with the loop until it is cancelled."""

    name: str
    run: Callable[[], Awaitable[None]]


class Runner:
    """One trader on one account. Make it inside the event loop, then `run` it once."""

    def __init__(
        self,
        trader: Trader,
        clock: Clock,
        connection: Connection,
        journal_of: Callable[[Callable[[str], None]], Journal],
        *,
        state: Path | None = None,
        drain_ns: int = DRAIN_NS,
        watch: StrategyWatchdog | None = None,
        reaper: bool = False,
        configured: m.Configuration | None = None,
        companions: tuple[Sidecar, ...] = (),
        losses_by_records: Callable[[], m.LossRecord | None] = lambda: None,
        shadows: Callable[[], tuple[ShadowReport, ...]] = tuple,
        paper: bool = False,
    ) -> None:
        """journal_of: makes it, given where failures go. watch: of the
        trader's strategies. reaper: True if one is expected. configured: for the journal.
        companions: they get every effect. losses_by_records: of the loss budgets, asked where the
        journal has none. shadows: the newest scores of the candidates. state:
        where latch, crash record and heartbeat are; None keeps none of them.
        """
        self._trader = trader
        self._clock = clock
        self._requests = connection.requests
        self._capabilities = connection.capabilities
        self._state = state
        self._watch = watch
        self._configured = configured
        self._companions = companions
        self._losses_by_records = losses_by_records
        self._shadows = shadows
        self._paper = paper
        self._vigil: PersistentGuards | None = None
        self._drain = ShutdownDeadline(drain_ns, clock.now_ns())
        self._inbox = ConflatingQueue()
        self._journal = journal_of(lambda reason: self.tell(m.JournalFailed(reason)))
        self._feed = connection.channel_of(self.tell)
        self._wake_ns = 0
        self._stop_at_ns: int | None = None
        self._finished: m.DrainComplete | None = None
        self._died: list[str] = []
        self._unkept = False
        self._closing = False
        self._decided_ns = clock.now_ns()
        self._drawn: Report | None = None
        self.metrics = Metrics(
            lambda: self._drawn,
            now_ns=clock.now_ns,
            journal=self._journal,
            strategy_calls=None if watch is None else lambda: watch.asked,
            state=state,
            expects_reaper=reaper,
            heartbeat_fails=lambda: self._vigil is not None and self._vigil.beats.is_failing,
            dropped=lambda: self._inbox.dropped,
        )
        if watch is not None:
            watch.timed = self.metrics.on_strategy_call
        for companion in companions:
            companion.on_run_start(self.newest, clock.now_ns)
        self.metrics.sidecar_families = lambda: [
            row for each in companions for row in each.families
        ]
        self._notes: list[str] = []
        self._log = structlog.stdlib.get_logger("bot")

    def tell(self, event: m.Event) -> None:
        self._inbox.put(event, self._clock.now_ns())

    def look(self) -> Snapshot | None:
        """The newest snapshot; None before the first decision."""
        now_ns = self._clock.now_ns()
        if self._drawn is None or now_ns - self._drawn.now_ns > REPORT_NS:
            self._draw(now_ns)
        if self._drawn is None:
            return None
        return Snapshot(now_ns, self._decided_ns, self._drawn, self._notice())

    def _notice(self) -> str:
        cut = self._journal.cut_bytes
        if not cut:
            return ""
        return f"the last run ended within a write: {cut} bytes were cut off its journal"

    def plan(self) -> TraderPlan:
        return self._trader.plan(self._clock.now_ns())

    def last_notes(self) -> list[str]:
        return self._notes

    def newest(self) -> Report | None:
        shown = self.look()
        return None if shown is None else shown.report

    def _draw(self, now_ns: int) -> None:
        self._drawn = self._report(now_ns)
        self.metrics.on_report(self._drawn)

    def _report(self, now_ns: int) -> Report:
        return msgspec.structs.replace(self._trader.report(now_ns), shadows=self._shadows())

    async def run(
        self,
        boot_nonce: str,
        children: tuple[Child, ...],
        run_ns: int | None = None,
        *,
        new_account: bool = False,
        signals: bool = True,
    ) -> RunResult:
        """Trade until stopped, then drain. run_ns: stop after so long. new_account: the venue began
        with this run. signals: True if this runner handles the process's signals.

        Raises LatchFault, before anything is done, when this bot is to stay down.
        """
        latched = await self._begin_vigil(boot_nonce)
        now_ns = self._clock.now_ns()
        self._stop_at_ns = None if run_ns is None else now_ns + run_ns
        left = NOTHING_LEFT if new_account else self._journal.memory
        if left.losses is None and not new_account:
            losses = await asyncio.to_thread(self._losses_by_records)
            left = msgspec.structs.replace(left, losses=losses)
        self.tell(
            left.started(
                boot_nonce,
                new_account,
                latched=latched,
                configured=self._configured,
                paper=self._paper,
                capabilities=self._capabilities,
            )
        )
        with signals_to((self,)) if signals else nullcontext():
            overdue = await self._live(children)
            self._journal.close()
            assert self._finished is not None
            ended = RunResult(self._last_report(), self._finished, overdue, tuple(self._died))
            self._end_vigil(ended)
            await finish_all(self._companions)
        return ended

    async def _live(self, children: tuple[Child, ...]) -> bool:
        """Decide, with the children, until finished. True if the drain took too long."""
        async with anyio.create_task_group() as tasks:
            for child in (
                Child("journal", self._journal.run),
                Child("feed", self._feed.run),
                *(Child(each.name, each.run) for each in self._companions),
                *children,
            ):
                tasks.start_soon(self._beside, child)
            overdue = await self._decide()
            # Replies in flight belong in the journal: a create among them may be live.
            if unanswered := await self._requests.drain(DRAIN_READS_S):
                self._log.error("requests_unanswered", count=unanswered)
            for arrived in self._inbox.take_events(len(self._inbox)):
                if overdue:  # too late to act on, but it changes the orders left
                    self._receive(arrived.event, arrived.at_ns)
                else:
                    self._journal_entry(arrived.at_ns, arrived.event)
            if overdue:
                self._give_up(keep=True)
            if not self._journal.broken:
                await self._journal.durable()
            if self._vigil is not None:
                await self._vigil.settle()
            self._closing = True
            tasks.cancel_scope.cancel()
        return overdue

    async def abandon(self) -> None:
        """Close what was opened, where `run` will never be called."""
        await self._requests.drain()
        self._journal.withdraw()

    def _last_report(self) -> Report:
        """The final report, or the newest one of a failing trader."""
        last = self._drawn
        try:
            last = self._report(self._clock.now_ns())
        except Exception:  # noqa: BLE001 - a bug in the trader: the result is reported all the same
            self._failed("trader", "report")
        assert last is not None, "a trader that never could draw a picture"
        return last

    async def _begin_vigil(self, boot_nonce: str) -> str:
        """Why nothing may be quoted, "" if it may. Raises LatchFault with everything closed."""
        if self._state is None:
            return ""
        vigil = PersistentGuards(self._state, boot_nonce)
        try:
            latched = vigil.begin_run()
        except LatchFault:
            await self.abandon()
            raise
        self._vigil = vigil
        return latched

    def _end_vigil(self, ended: RunResult) -> None:
        if self._vigil is None:
            return
        flat = ended.exit_code is not Exit.LEFT_OVER
        try:
            self._vigil.end_run(clean=not ended.crashed, flat=flat)
        except LatchFault as fault:
            self._log.error("clean_end_not_kept", text=str(fault))

    async def _beside(self, child: Child) -> None:
        """Run a child; its end, however it comes, stops the bot in good order."""
        try:
            await child.run()
            self._log.error("child_ended", child=child.name)
        except asyncio.CancelledError:
            if self._closing:
                raise
            # Cancelled from within: a silent death like any other.
            self._log.error("child_cancelled", child=child.name)
        except Exception:  # noqa: BLE001 - the task's boundary: the drain goes on
            self._log.exception("child_failed", child=child.name)
        self._died.append(child.name)
        if child.name == "journal":
            self._journal.give_up("its task ended")
        self.tell(m.StopRequested(f"{child.name} ended"))

    # --- deciding ---------------------------------------------------------------------------------

    async def _decide(self) -> bool:
        """The loop, until finished. True if the drain ran out of time."""
        while True:
            now_ns = self._clock.now_ns()
            if self._finished is not None:
                return False
            if self._drain.is_over(now_ns):
                self._give_up()
                return True
            if self._stop_at_ns is not None and now_ns >= self._stop_at_ns:
                self._stop_at_ns = None
                self.tell(m.StopRequested("the time asked for is over"))
            await self._inbox.wait(self._next_ns() - now_ns)
            self._drain.is_over(self._clock.now_ns())
            try:
                self._turn()
            except Exception:  # noqa: BLE001 - the loop's own boundary: it must live to cancel
                self._failed("loop", "turn")
                await asyncio.sleep(_STUMBLE_S)

    def _turn(self) -> None:
        """Events, the latch, one decision, one heartbeat."""
        for arrived in self._inbox.take_events(BATCH_MAX):
            self._receive(arrived.event, arrived.at_ns)
        now_ns = self._clock.now_ns()
        if self._vigil is not None:
            found = self._vigil.poll_latch(now_ns, after_a_gap=now_ns - self._decided_ns > GAP_NS)
            if found is not None:
                self._receive(found, now_ns)
        self._receive(m.Tick(), now_ns)
        self._decided_ns = now_ns
        if self._watch is not None:
            for overran in self._watch.take_overruns():
                self.tell(overran)
        if self._vigil is not None:
            self._vigil.beats.beat(now_ns)

    def _next_ns(self) -> int:
        due_ns = self._wake_ns
        if self._stop_at_ns is not None:
            due_ns = min(due_ns, self._stop_at_ns)
        return self._drain.next_ns(due_ns)

    def _receive(self, event: m.Event, at_ns: int) -> None:
        """One event through the trader; its effects are in the journal before they begin."""
        stops = self._trader.phase is Phase.STOPPING  # by itself, where nobody asked for it
        if stops or isinstance(event, m.StopRequested | m.JournalFailed):
            self._drain.start_countdown(at_ns)
        if isinstance(event, m.JournalFailed) and "disk" not in self._died:
            self._died.append("disk")
        self._journal_entry(at_ns, event)
        latest_ns = self._wake_ns = at_ns + NS_PER_SECOND // 10
        began_ns = time.perf_counter_ns()
        try:
            effects = self._trader.receive(event, at_ns)
        except Exception:  # noqa: BLE001 - a bug in the trader: stop it, let it cancel if it can
            self._failed("trader", type(event).__name__)
            # It believes that these have left.
            effects = self._trader.effects
        took_ns = time.perf_counter_ns() - began_ns
        for effect in effects:
            self._journal_entry(at_ns, effect)
        for effect in effects:
            try:
                self.metrics.on_effect(effect, at_ns, self._trader.reactions)
                self._perform(effect)
                for companion in self._companions:
                    companion.did(effect, at_ns)
            except Exception:  # noqa: BLE001 - a bug of the shell must not end the drain
                self._failed("shell", type(effect).__name__)
                if isinstance(effect, m.Send):
                    self.tell(m.Response(effect.request_id, m.Unknown("a fault of ours")))
        # The latch is read and the heartbeat beats so often at least, whatever the trader asks for.
        self._wake_ns = min(self._wake_ns, latest_ns)
        try:
            self.metrics.on_event(event, at_ns, took_ns)
        except Exception:  # noqa: BLE001 - the rest of the batch must not go with it
            self._failed("shell", type(event).__name__)

    def _journal_entry(self, at_ns: int, message: m.Event | m.Effect) -> None:
        """Journal it; a journal that raises ends new orders as a failing disk does."""
        if self._unkept:
            return
        try:
            self._journal.append(at_ns, message)
        except Exception:  # noqa: BLE001 - a bug in the journal: the cancels must still leave
            self._unkept = True
            self._failed("journal", type(message).__name__)
            self.tell(m.JournalFailed("it does not take an entry"))

    async def _on_disk(self) -> bool:
        """True if every decision so far is on disk. False also where that takes long: the price
        would be stale."""
        try:
            return not self._unkept and await self._journal.durable(IN_TIME_S)
        except Exception:  # noqa: BLE001 - a bug in the journal: not sent is always safe
            self._failed("journal", "durable")
            return False

    async def _may_leave(self, send: m.Send, *, wait: bool) -> bool:
        """True if a request may be sent now. wait: not before everything decided is on disk."""
        may = not wait or await self._on_disk()
        try:
            if may:
                self.metrics.on_request_sent(send.request_id, self._clock.now_ns())
        except Exception:  # noqa: BLE001 - metrics must hold no request back
            self._failed("shell", type(send.request).__name__)
        return may

    def _failed(self, who: str, at: str) -> None:
        """The loop raised: log it and stop in good order."""
        if who not in self._died:
            self._died.append(who)
        self._log.exception(f"{who}_failed", at=at)
        if not self._drain.has_begun:
            self.tell(m.StopRequested(f"the {who} failed"))

    def _perform(self, effect: m.Effect) -> None:
        match effect:
            case m.Send():
                # An intent is on disk before its bytes leave; cancels need not wait.
                adds = isinstance(effect.request, m.Create | m.AmendResting)
                self._requests.start(effect, self.tell, lambda: self._may_leave(effect, wait=adds))
            case m.SubscribeTo():
                self._feed.subscribe(effect)
            case m.WakeAt():
                self._wake_ns = effect.at_ns
            case m.Noted():
                if effect.level != "debug":
                    self._notes = [*self._notes[1 - NOTES_KEPT :], _said(effect)]
                log_note(effect.level, effect.name, effect.fields)
                self._plead(effect)
            case m.Latched():
                self._latch(effect)
            case m.DrainComplete():
                self._finished = effect

    def _latch(self, latched: m.Latched) -> None:
        """Keep why the bot latched; a latch that cannot be kept stops the bot for good."""
        if latched.by is m.LatchedBy.BREAKER:  # the trader logs a contradiction by itself
            advice = "look, then bot reset CONFIG"
            self._log.error("breaker_tripped", reason=latched.reason, advice=advice)
        if self._vigil is not None:
            self._vigil.latch(latched, self._latch_lost)

    def _latch_lost(self, text: str) -> None:
        self._log.error("latch_not_kept", text=text)
        self._died.append("latch")
        self.tell(m.StopRequested("the latch cannot be kept"))

    def _plead(self, note: m.Noted) -> None:
        """A refused key cannot cancel; the reaper has one of its own."""
        if self._vigil is not None and note.name in ("key_refused", "key_refused_cleared"):
            self._vigil.beats.heart.plead(note.name if note.name == "key_refused" else "")

    def _give_up(self, *, keep: bool = False) -> None:
        """Timeout of the drain: log the orders left, again if late answers change them. keep:
        journal them too."""
        left = m.DrainComplete((), (), unshown=True)
        try:
            left = self._trader.left_over()
            if keep:
                self._journal_entry(self._clock.now_ns(), left)
        except Exception:  # noqa: BLE001 - a bug in the trader: the end must come all the same
            # Not journaled: it would make the next run forget open orders.
            self._failed("trader", "left_over")
        if left != self._finished:
            self._finished = left
            tell_left(self._log, left)

    # --- the end ----------------------------------------------------------------------------------

    def request_stop(self, reason: str) -> None:
        """End in good order; no effect if that has begun."""
        if not self._drain.has_begun:
            self.tell(m.StopRequested(reason))

    def asked_to_stop(self, name: str) -> None:
        """A signal asks for the end; a second one has no effect."""
        if self._drain.has_begun:
            self._log.warning("stopping_already", signal=name, advice="cancelling orders; wait")
            return
        self.tell(m.StopRequested(name))


def _said(note: m.Noted) -> str:
    fields = " ".join(f"{key}={value}" for key, value in note.fields.items())
    return f"{note.level} {note.name} {fields}".rstrip()
