"""The second process: watches the bot's heartbeat and, when it stops, cancels everything.

It has a key of its own and shares nothing with the bot but the state directory, or, from another
host, the bot's status page. A bot that was seen to beat and then is silent for too long, or that
says it cannot cancel, is latched out first and then swept up after: so a bot that merely slept
finds the latch before it decides anything. As long as the latch stands nothing may rest, whoever
set it, and the account is swept again every minute; of a bot that latched itself and beats, its
series alone, for others of the same process quote on. Reset by a person, the reaper waits for a
first beat again. In its own heartbeat it leaves word of the run that it guards: a reaper that is
started again in the same folder goes on guarding that one.

See docs/failure-modes.md#reaper.
"""

import asyncio
import enum
import secrets
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import httpx
import msgspec
import structlog

from bot.core import messages as m
from bot.core.orders.outbox import TOO_MANY
from bot.core.sweeper import CancelAll, Clean, KeyRefused, Overdue, SweepSettings, Verdict
from bot.io.client.preflight import NO_SUCH_ORDER
from bot.io.client.rest import Rest
from bot.io.client.sockets import whole_within
from bot.io.clock import Clock
from bot.io.faults import OperatorError
from bot.io.logs import log_note
from bot.io.state.heartbeat import REAPER, Heartbeat, HeartbeatWatcher, HeartbeatWriter, read_pulse
from bot.io.state.kill_switch_file import KillSwitchFile, LatchFault, LatchRecord
from bot.io.status.status import BEAT_HEADER, REAPER_HEADER
from venue.wire.errors import Sequenced, row_for
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.names import Ticker

PROGRESS_NS: Final = 500 * NS_PER_MS
"""Progress is told at most this often."""


async def sweep(
    rest: Rest,
    clock: Clock,
    settings: SweepSettings,
    progress: Callable[[CancelAll], None] = lambda _: None,
) -> Verdict:
    """Sweep until there is a verdict. progress: called with the sweeper while it is at work.

    Requests still on their way at the end are left to `Rest.drain`. When this is cancelled, what
    has left stays on its way too.
    """
    answers: asyncio.Queue[m.Response] = asyncio.Queue()
    sweeper = CancelAll(settings, clock.now_ns())
    effects = sweeper.receive(m.Tick(), clock.now_ns())
    told_ns = 0
    while True:
        wake_ns = clock.now_ns() + NS_PER_SECOND
        for effect in effects:
            match effect:
                case m.Send():
                    # The sweeper knows of one key; where reads have their own, they go on it.
                    key = rest.key_for(effect.request)
                    rest.start(msgspec.structs.replace(effect, key=key), answers.put_nowait)
                case m.WakeAt():
                    wake_ns = effect.at_ns
                case m.Noted():
                    log_note(effect.level, effect.name, effect.fields)
                case _:
                    raise AssertionError(f"a sweeper does not wish for {type(effect).__name__}")
        if sweeper.verdict is not None:
            progress(sweeper)
            return sweeper.verdict
        now_ns = clock.now_ns()
        if now_ns - told_ns >= PROGRESS_NS:
            told_ns = now_ns
            progress(sweeper)
        event: m.Response | m.Tick = m.Tick()
        try:
            async with asyncio.timeout(max(0, wake_ns - now_ns) / NS_PER_SECOND):
                event = await answers.get()
        except TimeoutError:
            pass
        effects = sweeper.receive(event, clock.now_ns())


BY: Final = "reaper"
"""Who set a latch of ours, as its record says."""

ACCOUNT: Final = "the account"
"""What is swept where it is no series alone."""

LOOK_S: Final = 0.25
PAGE_S: Final = 0.7
"""How long the status page may take to answer: less than counts as time watched."""

LATCH_S: Final = 1.0
"""How long a sweep waits for its latch, which is to be there first, at most."""

_ASKED: Final = "asked to by a person"

SWEEP_AGAIN_NS: Final = 60 * NS_PER_SECOND
KEY_AGAIN_NS: Final = 5 * NS_PER_SECOND
TOLD_NS: Final = 60 * NS_PER_SECOND


class ReaperFault(OperatorError):
    """The reaper could not do its work if it had to; the text says what to do."""


def heart_in(folder: Path) -> Heartbeat:
    """A reaper's own heart in the state directory that it shares with its bot; it guards at first
    what the reaper before it did."""
    before = read_pulse(folder, REAPER)
    guards = "" if before is None else before.guards
    return Heartbeat(folder, secrets.token_hex(10), REAPER, guards)


class Phase(enum.StrEnum):
    """What the reaper is doing."""

    WAITING = "waiting"  # no beat was seen yet: there is nothing to guard
    WATCHING = "watching"
    REAPING = "reaping"  # latched: sweeps, and sweeps again


class HeartbeatLook(msgspec.Struct, frozen=True):
    """One look at the bot. mark: differs with every beat, None when nothing can be read. boot: of
    its run, empty where that is not told."""

    mark: str | None
    ended: bool = False
    plea: str = ""
    boot: str = ""


Source = Callable[[], Awaitable[HeartbeatLook]]


def file_source(folder: Path) -> Source:
    """Looks at the heartbeat in a state directory."""

    async def look() -> HeartbeatLook:
        pulse = read_pulse(folder)
        if pulse is None:
            return HeartbeatLook(None)
        return HeartbeatLook(f"{pulse.boot} {pulse.beat}", pulse.ended, pulse.plea, pulse.boot)

    return look


def page_source(client: httpx.AsyncClient, url: str) -> Source:
    """Looks at the bot's status page; what it answers does not matter, its beat does. The bot is
    told with each look that a reaper is there. client: from `bot.io.client.sockets`."""

    async def look() -> HeartbeatLook:
        try:
            # The client's timeout counts single reads: a page that drips in would stop the watch.
            with whole_within(PAGE_S):
                answer = await client.head(url, headers={REAPER_HEADER: "watching"}, timeout=PAGE_S)
        except httpx.HTTPError:
            return HeartbeatLook(None)
        return HeartbeatLook(answer.headers.get(BEAT_HEADER))

    return look


class Reaper:
    """Make it inside the event loop, then `run` it; `stop` ends it.

    latch: None where no folder is shared; then a bot that beats again is taken for well. heart:
    beats with every look, so that the bot can tell that a reaper is there. series: what the bot's
    own latch is about; None is the whole account.
    clean: whether the last sweep showed that nothing rests, and none since has found anything;
    True before the first.
    """

    def __init__(
        self,
        source: Source,
        rest: Rest,
        clock: Clock,
        latch: KillSwitchFile | None,
        after_ns: int,
        sweep_settings: SweepSettings,
        heart: Heartbeat | None = None,
        series: Ticker | None = None,
    ) -> None:
        self._source = source
        self._rest = rest
        self._clock = clock
        self._latch = latch
        self._after_ns = after_ns
        self._sweep_settings = sweep_settings
        self._heart = heart
        self._beats = None if heart is None else HeartbeatWriter(heart)
        self._series = series
        self._only: Ticker | None = None
        self._silence = HeartbeatWatcher()
        self._inherited = "" if heart is None else heart.guards
        self._mark: str | None = None
        self._reset_mark: str | None = None
        self._latched = False
        self._setting: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._sweeper: CancelAll | None = None
        self._sweep_ns = 0
        self._told_ns = 0
        self._key = "not tried"
        self._stopped = asyncio.Event()
        self._log = structlog.stdlib.get_logger("bot")
        self.phase = Phase.WAITING
        self.clean = True

    def stop(self) -> None:
        """End `run` soon; requests on their way are waited for."""
        self._stopped.set()

    async def latch_first(self) -> None:
        """Latch at once, where a person asked for it: before the venue is asked anything, for one
        that hangs would keep the bot quoting meanwhile."""
        if self._latch is not None:
            self._setting = asyncio.ensure_future(self._set(self._latch, _ASKED))
            await asyncio.wait([self._setting], timeout=LATCH_S)

    async def run(self, *, at_once: bool = False) -> None:
        """Watch until stopped. at_once: begin by latching and sweeping, without any silence."""
        checking = asyncio.ensure_future(self._check_key())
        try:
            if at_once:
                self._fire(_ASKED)
            while not self._stopped.is_set():
                self._step(await self._source(), time.monotonic_ns())
                if self._beats is not None:
                    self._beats.beat(time.monotonic_ns())
                if self._sweeping is not None and self._sweeping.done():
                    self._sweeping.result()
                    self._sweeping = None
                try:
                    async with asyncio.timeout(LOOK_S):
                        await self._stopped.wait()
                except TimeoutError:
                    continue
        finally:
            for task in (checking, self._sweeping):
                if task is not None:
                    task.cancel()
                    await asyncio.wait([task])
            self._doubt()
            await self._rest.drain()
            if self._setting is not None:
                await self._setting
            if self._beats is not None:
                self._beats.end()

    # --- what is seen -----------------------------------------------------------------------------

    def _step(self, seen: HeartbeatLook, now_ns: int) -> None:
        """One look, and what follows from it."""
        if self._inherited and seen.boot:
            # A run that the reaper before this one saw beat: were its first beat waited for, one
            # that died meanwhile would be left with its orders.
            self._silence.heard = seen.boot == self._inherited
            self._inherited = ""
        silent_ns = self._silence.look(seen.mark, now_ns)
        record = None if self._latch is None else self._latch.read()
        if record is not None and record.is_doubt and self.phase is not Phase.REAPING:
            # No latch to look after: taken for one, its end would be taken for a person's word,
            # and a bot that had fallen silent be forgotten.
            record = None
        self._doubt()
        swept = self._only
        if record is None or not record.is_doubt:
            itself = self._latched_itself(record, seen, silent_ns)
            self._only = self._series if itself else None
        if self.phase is Phase.REAPING:
            if self._released(record, seen):
                self._release(seen)
            elif self._only != swept:
                self._break_off()
                self._reap_from(now_ns)
            elif self._sweeping is None and now_ns >= self._sweep_ns:
                self._sweeping = asyncio.ensure_future(self._sweep())
        elif record is not None:
            # A bot that latched itself cancels by itself; look after it, but not at once.
            self._log.warning("latch_found", reason=record.reason, by=record.by)
            self._latched = True
            self._reap_from(now_ns + self._after_ns)
        elif seen.plea and seen.mark != self._reset_mark:
            self._fire(f"the bot cannot cancel: {seen.plea}")
        elif seen.ended:
            self._silence.forget()
            self._change(Phase.WAITING)
        elif silent_ns >= self._after_ns:
            self._fire(f"no heartbeat for {silent_ns // NS_PER_MS} ms")
        else:
            self._change(Phase.WATCHING if self._silence.heard else Phase.WAITING)
        self._mark = seen.mark
        self._guard(seen)
        if now_ns - self._told_ns >= TOLD_NS:
            self._tell(now_ns, silent_ns)

    def _guard(self, seen: HeartbeatLook) -> None:
        """Leave word of the run that is to be acted for, should this reaper end first. A latch is
        word enough, and once a person has taken it away there must be no other."""
        if self._heart is None or not seen.boot:
            return
        unlatched = self.phase is Phase.REAPING and not self._latched
        acts = self.phase is Phase.WATCHING or unlatched
        self._heart.guard(seen.boot if acts else "")

    def _released(self, record: LatchRecord | None, seen: HeartbeatLook) -> bool:
        """Whether the bot may quote again: a person took the latch away or, where none could be
        set, the bot beats."""
        if self._latched:
            return record is None and self._latch is not None and self._latch.in_place
        return seen.mark is not None and seen.mark != self._mark

    def _latched_itself(
        self, record: LatchRecord | None, seen: HeartbeatLook, silent_ns: int
    ) -> bool:
        """Whether a bot that latched itself beats and can cancel: then its latch says nothing of
        the other series that it trades."""
        lives = self._silence.heard and silent_ns < self._after_ns and not seen.ended
        return record is not None and record.by != BY and lives and not seen.plea

    def _break_off(self) -> None:
        """End the sweep under way, if any, without a verdict."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        self._sweeper = None

    def _release(self, seen: HeartbeatLook) -> None:
        """Back to watching; a sweep under way would cancel what is quoted from here on. A plea that
        stands there unchanged is one that was answered."""
        self._reset_mark = seen.mark
        self._break_off()
        self._silence.forget()
        self._latched = False
        self.clean = True
        self._change(Phase.WAITING)

    def _fire(self, why: str) -> None:
        """Latch first, then sweep: a bot that wakes in between must find the latch."""
        self._log.error("reaping", why=why, advice="see why the bot stopped; then bot reset CONFIG")
        if self._latch is not None and (self._setting is None or self._setting.done()):
            self._setting = asyncio.ensure_future(self._set(self._latch, why))
        self._reap_from(time.monotonic_ns())

    async def _set(self, latch: KillSwitchFile, why: str) -> None:
        try:
            await asyncio.to_thread(latch.set, why, BY, time.time_ns())
            self._latched = True
        except LatchFault as fault:
            self._log.error("latch_failed", text=str(fault))

    def _reap_from(self, at_ns: int) -> None:
        self.clean = False
        self._sweep_ns = at_ns
        self._change(Phase.REAPING)

    def _change(self, phase: Phase) -> None:
        if phase is not self.phase:
            self.phase = phase
            self._tell(time.monotonic_ns(), 0)

    def _tell(self, now_ns: int, silent_ns: int) -> None:
        self._told_ns = now_ns
        self._log.info(
            "reaper",
            phase=self.phase.value,
            silent_ms=silent_ns // NS_PER_MS,
            key_works=self._key,
            nothing_rests=self.clean if self.phase is Phase.REAPING else None,
            of=self._only or ACCOUNT,
        )

    # --- what is done -----------------------------------------------------------------------------

    def _doubt(self) -> None:
        """Orders that a sweep under way has found are not shown to be gone before its verdict."""
        if self._sweeper is not None and self._sweeper.found:
            self.clean = False

    def _begun(self, sweeper: CancelAll) -> None:
        self._sweeper = sweeper

    async def _sweep(self) -> None:
        if self._setting is not None:
            # A disk that stands still must not keep what rests from being cancelled.
            await asyncio.wait([self._setting], timeout=LATCH_S)
        wanted = msgspec.structs.replace(self._sweep_settings, series_ticker=self._only)
        verdict = await sweep(self._rest, self._clock, wanted, self._begun)
        self._doubt()
        self._sweeper = None
        again_ns = SWEEP_AGAIN_NS
        if isinstance(verdict, Clean):
            if verdict.cancelled or not self.clean:
                of = wanted.series_ticker or ACCOUNT
                self._log.error("reaped", cancelled=verdict.cancelled, resting=0, of=of)
            self.clean = True
        else:
            self.clean = False
            self._log.error("orders_left", **told(verdict))
            again_ns = KEY_AGAIN_NS if isinstance(verdict, KeyRefused) else 0
        self._sweep_ns = time.monotonic_ns() + again_ns

    async def _check_key(self) -> None:
        """Try the key now and then: a reaper whose key does not work guards nothing."""
        while True:
            trouble = await key_trouble(self._rest)
            if isinstance(trouble, m.Unknown):
                works = self._key  # as far as it is known
            elif trouble is None:
                works = "yes"
            else:
                works = f"no: {trouble.status} {trouble.code or trouble.message}"
            if works != self._key:
                self._key = works
                level = self._log.info if works == "yes" else self._log.error
                level("key_tried", works=works)
                if self._heart is not None:
                    self._heart.plead("" if trouble is None else works)
            await asyncio.sleep(TOLD_NS / NS_PER_SECOND)


async def key_trouble(rest: Rest) -> m.Rejected | m.Unknown | None:
    """Why the key cannot sweep: refused, of too small a scope, or nobody answers (status 0).

    None when it can; Unknown when the venue has a trouble of its own, which tells of no key.
    """
    unsaid: m.Unknown | None = None
    answers: asyncio.Queue[m.Response] = asyncio.Queue()
    requests: tuple[m.Request, ...] = (m.ReadResting(""), m.CancelResting(NO_SUCH_ORDER))
    for request in requests:
        # Not asked directly: whoever waits here may be cancelled, a request never is.
        rest.start(m.Send(m.RequestId(0), request, "key"), answers.put_nowait)
        replied = await answers.get()
        answer = replied.answer
        if isinstance(answer, m.Rejected):
            held = answer.status == 0 and replied.retry_after_ns is not None
            if held or answer.status == TOO_MANY:
                # Nothing more is asked before the wait is over.
                return m.Unknown(answer.code or answer.message)
            if answer.status in (0, 401, 403):
                return answer
            if row_for(answer.status, answer.code).sequenced is Sequenced.NEVER:
                unsaid = m.Unknown(answer.code)
        elif isinstance(answer, m.Unknown):
            unsaid = answer
    return unsaid


def told(verdict: Verdict) -> dict[str, str | int]:
    """A verdict that is not good, as fields of a log line: what is left, and what to do."""
    match verdict:
        case Overdue():
            listed = "yes" if verdict.listed else "no: what is left is not known"
            fields: dict[str, str | int] = {"listed": listed, "cancelled": verdict.cancelled}
            left = verdict.left
        case KeyRefused():
            fields = {"refused": f"{verdict.status} {verdict.code}"}
            left = verdict.left
        case _:
            return {}
    fields["left"] = ", ".join(f"{each.order_id} {each.ticker}" for each in left) or "none known"
    return fields
