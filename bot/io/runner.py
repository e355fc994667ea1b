"""The loop: what arrives goes to the trader, what it wishes is journalled and then carried out.

One task decides; the channel, the journal, the status page and the terminal are children beside it,
and a child that ends for any reason but being told to stops the bot: no new orders, everything
cancelled, a non-zero exit. Requests are tasks of their own that nothing cancels. A batch of events
is followed by one Beat, and a Beat comes when the trader's WakeAt falls due; before it the latch is
looked at once a second and after every gap, and after it the heartbeat beats.

Source: design, laws 2, 6, 7 and 8; reliability, rows 3, 9, 11, 59, 61, 64-66, 76, B13.
"""

import asyncio
import enum
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol

import anyio
import anyio.abc
import msgspec
import structlog

from bot.core import messages as m
from bot.core.report import Report
from bot.io.clock import Clock
from bot.io.feed import Feed
from bot.io.inbox import Inbox
from bot.io.journal import Journal
from bot.io.latch import LatchFault
from bot.io.logs import log_note
from bot.io.memory import NOTHING_LEFT
from bot.io.metrics import Metrics
from bot.io.rest import Rest
from bot.io.snapshot import Snapshot
from bot.io.vigil import Vigil
from bot.io.watched import Watch
from venue.wire.instant import NS_PER_SECOND

BATCH_MAX: Final = 256
DRAIN_NS: Final = 8 * NS_PER_SECOND
"""How long cancelling everything and seeing it gone may take (row 65)."""

REPORT_NS: Final = NS_PER_SECOND // 2
"""A picture is drawn at most this often."""

NOTES_KEPT: Final = 5
GAP_NS: Final = 2 * NS_PER_SECOND
"""After a decision this long ago the latch is looked at whenever that was last done."""

_STUMBLE_S: Final = 0.05
_NOT_OURS: Final = frozenset({"venue", "disk", "latch"})
"""Ends that are no bug of the bot: the embedded venue, a disk that takes nothing."""


class Exit(enum.IntEnum):
    """What the process ends with."""

    OK = 0
    BUG = 1
    CONFIGURATION = 2
    VENUE = 3
    LEFT_OVER = 4


class TraderLike(Protocol):
    """What the loop needs of a trader."""

    def receive(self, event: m.Event, now_ns: int) -> list[m.Effect]:
        """Take one event in; the effects to carry out, in order."""
        ...

    def report(self, now_ns: int) -> Report:
        """The whole picture."""
        ...

    def left_over(self) -> m.Finished:
        """What may still be live, when there is no more time."""
        ...


class Ended(msgspec.Struct, frozen=True):
    """How a run ended. `overdue`: the drain ran out of time; `died`: what ended or failed."""

    report: Report
    finished: m.Finished
    overdue: bool
    died: tuple[str, ...]

    @property
    def exit_code(self) -> Exit:
        """Orders left or unknown are worth more than any other fault."""
        if self.overdue or self.finished.left or self.finished.unknown:
            return Exit.LEFT_OVER
        if self.crashed:
            return Exit.BUG
        # A latched run did not end as asked: a person has to look before the next one quotes.
        return Exit.VENUE if self.died or self.report.latched else Exit.OK

    @property
    def crashed(self) -> bool:
        """Whether a bug ended it: three of those in a row stay down, see `bot.io.crashes`."""
        return not _NOT_OURS.issuperset(self.died)


class Child(msgspec.Struct, frozen=True):
    """Something that runs beside the loop until it is cancelled."""

    name: str
    run: Callable[[], Awaitable[None]]


class Runner:
    """One trader on one account. Make it inside the event loop, then `run` it once."""

    def __init__(
        self,
        trader: TraderLike,
        clock: Clock,
        rest: Rest,
        journal_of: Callable[[Callable[[str], None]], Journal],
        feed_of: Callable[[Callable[[m.Event], None]], Feed],
        *,
        state: Path | None = None,
        drain_ns: int = DRAIN_NS,
        watch: Watch | None = None,
    ) -> None:
        """journal_of, feed_of: make them, told where failures and events go. watch: of the trader's
        strategies; what it tells becomes an event.

        state: where latch, crash record and heartbeat stand; None keeps none of them.
        """
        self._trader = trader
        self._clock = clock
        self._rest = rest
        self._state = state
        self._watch = watch
        self._vigil: Vigil | None = None
        self._drain_ns = drain_ns
        self._inbox = Inbox()
        self._journal = journal_of(lambda reason: self.tell(m.JournalFailed(reason)))
        self._feed = feed_of(self.tell)
        self._wake_ns = 0
        self._stop_at_ns: int | None = None
        self._stopped_ns: int | None = None
        self._finished: m.Finished | None = None
        self._died: list[str] = []
        self._unkept = False
        self._closing = False
        self._decided_ns = clock.now_ns()
        self._drawn: Report | None = None
        self.metrics = Metrics(lambda: self._drawn)
        self._notes: list[str] = []
        self._log = structlog.stdlib.get_logger("bot")

    def tell(self, event: m.Event) -> None:
        """Give the trader an event, as of now."""
        self._inbox.put(event, self._clock.now_ns())

    def look(self) -> Snapshot | None:
        """The newest picture; None before the first decision."""
        now_ns = self._clock.now_ns()
        if self._drawn is None or now_ns - self._drawn.now_ns > REPORT_NS:
            self._draw(now_ns)
        return None if self._drawn is None else Snapshot(now_ns, self._decided_ns, self._drawn)

    def last_notes(self) -> list[str]:
        """The last few things noted, oldest first."""
        return self._notes

    def _draw(self, now_ns: int) -> None:
        self._drawn = self._trader.report(now_ns)

    async def run(
        self,
        boot_nonce: str,
        children: tuple[Child, ...],
        run_ns: int | None = None,
        *,
        new_account: bool = False,
    ) -> Ended:
        """Trade until stopped, then drain. run_ns: stop by itself after so long. new_account: the
        venue began with this run, so what earlier runs left open there is gone with it.

        SIGINT and SIGTERM stop; SIGUSR1 pauses and SIGUSR2 resumes. Raises LatchFault, before
        anything is done, when this bot is to stay down.
        """
        latched = await self._begin_vigil(boot_nonce)
        now_ns = self._clock.now_ns()
        self._stop_at_ns = None if run_ns is None else now_ns + run_ns
        left = NOTHING_LEFT if new_account else self._journal.memory
        self.tell(
            m.Started(
                boot_nonce,
                left.open_intents,
                new_account,
                working=left.working,
                journal=left.fate,
                latched=latched,
            )
        )
        async with anyio.create_task_group() as tasks:
            self._on_signals()
            for child in (
                Child("journal", self._journal.run),
                Child("feed", self._feed.run),
                *children,
            ):
                tasks.start_soon(self._beside, child)
            overdue = await self._decide()
            # Replies still under way belong into the journal: a create among them may be live.
            await self._rest.drain()
            for arrived in self._inbox.take(len(self._inbox)):
                self._keep(arrived.at_ns, arrived.event)
            if not self._journal.broken:
                await self._journal.durable()
            if self._vigil is not None:
                await self._vigil.settle()
            self._closing = True
            tasks.cancel_scope.cancel()
        self._off_signals()
        self._journal.close()
        assert self._finished is not None
        ended = Ended(self._last_report(), self._finished, overdue, tuple(self._died))
        self._end_vigil(ended)
        return ended

    def _last_report(self) -> Report:
        """The final picture, or the newest one that a failing trader could still draw."""
        last = self._drawn
        try:
            last = self._trader.report(self._clock.now_ns())
        except Exception:  # noqa: BLE001 - a bug in the trader: how it ended is told all the same
            self._failed("trader", "report")
        assert last is not None, "a trader that never could draw a picture"
        return last

    async def _begin_vigil(self, boot_nonce: str) -> str:
        """Why nothing may be quoted, "" if it may. Raises LatchFault with everything closed."""
        if self._state is None:
            return ""
        vigil = Vigil(self._state, boot_nonce)
        try:
            latched = vigil.begin()
        except LatchFault:
            await self._rest.drain()
            self._journal.close()
            raise
        self._vigil = vigil
        return latched

    def _end_vigil(self, ended: Ended) -> None:
        if self._vigil is None:
            return
        flat = ended.exit_code is not Exit.LEFT_OVER
        try:
            self._vigil.end(clean=not ended.crashed, flat=flat)
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
            await self._journal.give_up("its task ended")
        self.tell(m.StopRequested(f"{child.name} ended"))

    # --- deciding ---------------------------------------------------------------------------------

    async def _decide(self) -> bool:
        """The loop, until finished. Whether the drain ran out of time."""
        while True:
            now_ns = self._clock.now_ns()
            if self._finished is not None:
                return False
            if self._stopped_ns is not None and now_ns - self._stopped_ns >= self._drain_ns:
                self._give_up(now_ns)
                return True
            if self._stop_at_ns is not None and now_ns >= self._stop_at_ns:
                self._stop_at_ns = None
                self.tell(m.StopRequested("the time asked for is over"))
            await self._inbox.wait(self._next_ns() - now_ns)
            try:
                self._turn()
            except Exception:  # noqa: BLE001 - the loop's own boundary: it must live to cancel
                self._failed("loop", "turn")
                await asyncio.sleep(_STUMBLE_S)

    def _turn(self) -> None:
        """What has arrived, the latch, one decision, one beat of the heart."""
        for arrived in self._inbox.take(BATCH_MAX):
            self._receive(arrived.event, arrived.at_ns)
        now_ns = self._clock.now_ns()
        if self._vigil is not None:
            found = self._vigil.look(now_ns, after_a_gap=now_ns - self._decided_ns > GAP_NS)
            if found is not None:
                self._receive(found, now_ns)
        self._receive(m.Beat(), now_ns)
        self._decided_ns = now_ns
        if self._watch is not None:
            for overran in self._watch.take():
                self.tell(overran)
        if self._vigil is not None:
            self._vigil.beat(now_ns)

    def _next_ns(self) -> int:
        """When something is due even if nothing arrives."""
        due_ns = self._wake_ns
        if self._stop_at_ns is not None:
            due_ns = min(due_ns, self._stop_at_ns)
        if self._stopped_ns is not None:
            due_ns = min(due_ns, self._stopped_ns + self._drain_ns)
        return due_ns

    def _receive(self, event: m.Event, at_ns: int) -> None:
        """One event through the trader; its effects are in the journal before they are begun."""
        stops = isinstance(event, m.StopRequested | m.JournalFailed)
        if stops and self._stopped_ns is None:
            self._stopped_ns = at_ns
        if isinstance(event, m.JournalFailed) and "disk" not in self._died:
            self._died.append("disk")
        self._keep(at_ns, event)
        # Asked again at the latest then, should the trader say nothing of when.
        self._wake_ns = at_ns + NS_PER_SECOND // 10
        try:
            effects = self._trader.receive(event, at_ns)
        except Exception:  # noqa: BLE001 - a bug in the trader: stop it, let it cancel if it can
            self._failed("trader", type(event).__name__)
            return
        for effect in effects:
            self._keep(at_ns, effect)
        for effect in effects:
            try:
                self.metrics.did(effect, at_ns)
                self._perform(effect)
            except Exception:  # noqa: BLE001 - a bug of the shell must not end the drain
                self._failed("shell", type(effect).__name__)
                if isinstance(effect, m.Send):
                    self.tell(m.Replied(effect.request_id, m.Unknown("a fault of ours")))
        try:
            self.metrics.saw(event, at_ns)
        except Exception:  # noqa: BLE001 - the rest of the batch must not go with it
            self._failed("shell", type(event).__name__)

    def _keep(self, at_ns: int, message: m.Event | m.Effect) -> None:
        """Into the journal; one that cannot take it ends new orders like a disk that cannot."""
        if self._unkept:
            return
        try:
            self._journal.append(at_ns, message)
        except Exception:  # noqa: BLE001 - a bug in the journal: the cancels must still leave
            self._unkept = True
            self._failed("journal", type(message).__name__)
            self.tell(m.JournalFailed("it does not take an entry"))

    async def _on_disk(self) -> bool:
        """Whether everything decided so far is on disk, so that what adds exposure may leave."""
        try:
            return not self._unkept and await self._journal.durable()
        except Exception:  # noqa: BLE001 - a bug in the journal: not sent is always safe
            self._failed("journal", "durable")
            return False

    def _failed(self, who: str, at: str) -> None:
        """Something of the loop raised: say so once more, and stop in good order."""
        if who not in self._died:
            self._died.append(who)
        self._log.exception(f"{who}_failed", at=at)
        if self._stopped_ns is None:
            self.tell(m.StopRequested(f"the {who} failed"))

    def _perform(self, effect: m.Effect) -> None:
        match effect:
            case m.Send():
                # An intent is on disk before its bytes leave; what only takes away need not wait.
                adds = isinstance(effect.request, m.Create | m.AmendResting)
                self._rest.start(effect, self.tell, self._on_disk if adds else None)
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
                self._latch(effect.reason)
            case m.Finished():
                self._finished = effect

    def _latch(self, reason: str) -> None:
        """A breaker tripped: keep that; a latch that cannot be kept stops the bot for good."""
        self._log.error("breaker_tripped", reason=reason, advice="look, then bot reset CONFIG")
        if self._vigil is not None:
            self._vigil.latch(reason, self._latch_lost)

    def _latch_lost(self, text: str) -> None:
        self._log.error("latch_not_kept", text=text)
        self._died.append("latch")
        self.tell(m.StopRequested("the latch cannot be kept"))

    def _plead(self, note: m.Noted) -> None:
        """A key that is refused cannot cancel; the reaper has one of its own (row 108)."""
        if self._vigil is not None and note.name in ("key_refused", "key_refused_cleared"):
            self._vigil.plead(note.name if note.name == "key_refused" else "")

    def _give_up(self, now_ns: int) -> None:
        """The drain took too long: say what is left, for a person to look after."""
        left = m.Finished((), ())
        try:
            left = self._trader.left_over()
        except Exception:  # noqa: BLE001 - a bug in the trader: the end must come all the same
            self._failed("trader", "left_over")
        self._finished = left
        self._keep(now_ns, left)
        self._log.error(
            "drain_overdue",
            left=", ".join(left.left) or "none known",
            unknown=", ".join(left.unknown) or "none known",
            advice="look at the account: orders may rest there",
        )

    # --- signals ----------------------------------------------------------------------------------

    def _on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._asked_to_stop, "SIGINT")
        loop.add_signal_handler(signal.SIGTERM, self._asked_to_stop, "SIGTERM")
        loop.add_signal_handler(signal.SIGUSR1, self.tell, m.PauseRequested("SIGUSR1"))
        loop.add_signal_handler(signal.SIGUSR2, self.tell, m.ResumeRequested())

    def _off_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            loop.remove_signal_handler(number)

    def _asked_to_stop(self, name: str) -> None:
        if self._stopped_ns is not None:
            self._log.warning("stopping_already", signal=name, advice="cancelling orders; wait")
            return
        self.tell(m.StopRequested(name))


def _said(note: m.Noted) -> str:
    fields = " ".join(f"{key}={value}" for key, value in note.fields.items())
    return f"{note.level} {note.name} {fields}".rstrip()
