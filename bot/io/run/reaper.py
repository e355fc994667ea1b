"""The second process: watches the bot's heartbeat and cancels everything when it stops.

It latches first and sweeps after, so that a bot that was only paused finds the latch before it
decides. See docs/failure-modes.md#reaper.
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
from bot.core.execution.cancel_all import (
    CancelAll,
    Clean,
    KeyRefused,
    Overdue,
    SweepSettings,
    Verdict,
)
from bot.core.orders.outbox import TOO_MANY
from bot.io.adapter import OrderClient, ask
from bot.io.client.answers import is_write
from bot.io.client.preflight import NO_SUCH_ORDER
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
"""Progress is reported at most this often."""


async def sweep(
    client: OrderClient,
    clock: Clock,
    settings: SweepSettings,
    progress: Callable[[CancelAll], None] = lambda _: None,
    *,
    reads: m.Key = m.Key.TRADE,
) -> Verdict:
    """Cancel until there is a verdict. progress: called with the sweeper while it works. reads: the
    key on which reads go.

    Requests in flight at the end are left to `drain`; so they are if this is cancelled.
    """
    answers: asyncio.Queue[m.Response] = asyncio.Queue()
    sweeper = CancelAll(settings, clock.now_ns())
    effects = sweeper.on_event(m.Tick(), clock.now_ns())
    told_ns = 0
    while True:
        wake_ns = clock.now_ns() + NS_PER_SECOND
        for effect in effects:
            match effect:
                case m.Send():
                    # The sweeper knows of one key; where reads have their own, they go on it.
                    key = effect.key if is_write(effect.request) else reads
                    client.start(msgspec.structs.replace(effect, key=key), answers.put_nowait)
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
        effects = sweeper.on_event(event, clock.now_ns())


BY: Final = "reaper"
"""The author of our latches in their record."""

ACCOUNT: Final = "the account"
"""The target of a sweep that is no series alone."""

LOOK_S: Final = 0.25
PAGE_S: Final = 0.7
"""Timeout of the status page: short enough to count as time watched."""

LATCH_S: Final = 1.0
"""How long a sweep waits at most for its latch, which is to be there first."""

_ASKED: Final = "asked to by a person"

SWEEP_AGAIN_NS: Final = 60 * NS_PER_SECOND
KEY_AGAIN_NS: Final = 5 * NS_PER_SECOND
TOLD_NS: Final = 60 * NS_PER_SECOND


class ReaperFault(OperatorError):
    """The reaper could not do its work; the text says what to do."""


def heart_in(folder: Path) -> Heartbeat:
    """The reaper's own heartbeat in the shared state directory; it first guards what its
    predecessor did."""
    before = read_pulse(folder, REAPER)
    guards = "" if before is None else before.guards
    return Heartbeat(folder, secrets.token_hex(10), REAPER, guards)


class Phase(enum.StrEnum):
    WAITING = "waiting"  # no beat was seen yet: there is nothing to guard
    WATCHING = "watching"
    REAPING = "reaping"  # latched: sweeps, and sweeps again


class HeartbeatLook(msgspec.Struct, frozen=True):
    """mark: differs with every beat, None when nothing can be read. boot: of the bot's run, empty
    where unknown."""

    mark: str | None
    ended: bool = False
    plea: str = ""
    boot: str = ""


Source = Callable[[], Awaitable[HeartbeatLook]]


def file_source(folder: Path) -> Source:
    async def look() -> HeartbeatLook:
        pulse = read_pulse(folder)
        if pulse is None:
            return HeartbeatLook(None)
        return HeartbeatLook(f"{pulse.boot} {pulse.beat}", pulse.ended, pulse.plea, pulse.boot)

    return look


def page_source(client: httpx.AsyncClient, url: str) -> Source:
    """Reads the beat of the bot's status page, and shows the bot that a reaper is there."""

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

    latch: None where no folder is shared; a bot that beats again is then taken as well. heart:
    beats with every look. series: what the bot's own latch is about; None is the whole account.
    clean: the last sweep showed that nothing rests, and none since has found anything.
    """

    def __init__(
        self,
        source: Source,
        client: OrderClient,
        clock: Clock,
        latch: KillSwitchFile | None,
        after_ns: int,
        sweep_settings: SweepSettings,
        heart: Heartbeat | None = None,
        series: Ticker | None = None,
    ) -> None:
        self._source = source
        self._client = client
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
        self._stopped.set()

    async def latch_first(self) -> None:
        """Latch before the venue is asked anything, which might hang while the bot quotes on."""
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
            await self._client.drain()
            if self._setting is not None:
                await self._setting
            if self._beats is not None:
                self._beats.write_end()

    # --- watching ---------------------------------------------------------------------------------

    def _step(self, seen: HeartbeatLook, now_ns: int) -> None:
        """One look, and what follows from it."""
        if self._inherited and seen.boot:
            # A run that the reaper before this one saw beat: were its first beat waited for, one
            # that died meanwhile would be left with its orders.
            self._silence.heard = seen.boot == self._inherited
            self._inherited = ""
        silent_ns = self._silence.measure_silence(seen.mark, now_ns)
        record = None if self._latch is None else self._latch.read_latch()
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
            self._silence.await_first_beat()
            self._change(Phase.WAITING)
        elif silent_ns >= self._after_ns:
            self._fire(f"no heartbeat for {silent_ns // NS_PER_MS} ms")
        else:
            self._change(Phase.WATCHING if self._silence.heard else Phase.WAITING)
        self._mark = seen.mark
        self._guard(seen)
        if now_ns - self._told_ns >= TOLD_NS:
            self._log_state(now_ns, silent_ns)

    def _guard(self, seen: HeartbeatLook) -> None:
        """Name the run to guard, should this reaper end first. A latch needs no such word, and once
        a person has cleared it there must be none."""
        if self._heart is None or not seen.boot:
            return
        unlatched = self.phase is Phase.REAPING and not self._latched
        acts = self.phase is Phase.WATCHING or unlatched
        self._heart.guard(seen.boot if acts else "")

    def _released(self, record: LatchRecord | None, seen: HeartbeatLook) -> bool:
        """True if the bot may quote again: a person cleared the latch or, where none could be set,
        the bot beats."""
        if self._latched:
            return record is None and self._latch is not None and self._latch.in_place
        return seen.mark is not None and seen.mark != self._mark

    def _latched_itself(
        self, record: LatchRecord | None, seen: HeartbeatLook, silent_ns: int
    ) -> bool:
        """True if a bot that latched itself beats and can cancel: its latch is then about its own
        series alone."""
        lives = self._silence.heard and silent_ns < self._after_ns and not seen.ended
        return record is not None and record.by != BY and lives and not seen.plea

    def _break_off(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        self._sweeper = None

    def _release(self, seen: HeartbeatLook) -> None:
        """Back to watching. A sweep in progress would cancel the new quotes. An unchanged plea was
        answered."""
        self._reset_mark = seen.mark
        self._break_off()
        self._silence.await_first_beat()
        self._latched = False
        self.clean = True
        self._change(Phase.WAITING)

    def _fire(self, why: str) -> None:
        """Latch first, then sweep: a bot that resumes in between must find the latch."""
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
            self._log_state(time.monotonic_ns(), 0)

    def _log_state(self, now_ns: int, silent_ns: int) -> None:
        self._told_ns = now_ns
        self._log.info(
            "reaper",
            phase=self.phase.value,
            silent_ms=silent_ns // NS_PER_MS,
            key_works=self._key,
            nothing_rests=self.clean if self.phase is Phase.REAPING else None,
            of=self._only or ACCOUNT,
        )

    # --- acting -----------------------------------------------------------------------------------

    def _doubt(self) -> None:
        """Orders that the present sweep has found are not shown to be gone before its verdict."""
        if self._sweeper is not None and self._sweeper.found:
            self.clean = False

    def _begun(self, sweeper: CancelAll) -> None:
        self._sweeper = sweeper

    async def _sweep(self) -> None:
        if self._setting is not None:
            # A slow disk must not keep resting orders from being cancelled.
            await asyncio.wait([self._setting], timeout=LATCH_S)
        wanted = msgspec.structs.replace(self._sweep_settings, series_ticker=self._only)
        verdict = await sweep(self._client, self._clock, wanted, self._begun)
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
            trouble = await key_trouble(self._client)
            match trouble:
                case None:
                    works, level = "yes", self._log.info
                case m.Rejected():
                    works = f"no: {trouble.status} {trouble.code or trouble.message}"
                    level = self._log.error
                case m.Unknown():
                    works, level = f"not known: {trouble.reason}", self._log.warning
            if works != self._key:
                self._key = works
                level("key_tried", works=works)
            if self._heart is not None:
                if not isinstance(trouble, m.Unknown):
                    self._heart.plead("" if trouble is None else works)
                self._heart.know_key(known=not isinstance(trouble, m.Unknown))
            await asyncio.sleep(TOLD_NS / NS_PER_SECOND)


async def key_trouble(client: OrderClient) -> m.Rejected | m.Unknown | None:
    """None if the key can sweep, Rejected if the venue refuses it or its scope (401 or 403).

    Unknown if the venue said neither: no connection, no answer, or a trouble of its own.
    """
    unsaid: m.Unknown | None = None
    requests: tuple[m.Request, ...] = (m.ReadResting(""), m.CancelResting(NO_SUCH_ORDER))
    for request in requests:
        answer = (await ask(client, request)).answer
        if isinstance(answer, m.Rejected):
            if answer.status in (0, TOO_MANY):
                # Not sent: no connection, or a wait that the venue asked for.
                return m.Unknown(answer.code or answer.message)
            if answer.status in (401, 403):
                return answer
            if row_for(answer.status, answer.code).sequenced is Sequenced.NEVER:
                unsaid = m.Unknown(answer.code)
        elif isinstance(answer, m.Unknown):
            unsaid = answer
    return unsaid


def told(verdict: Verdict) -> dict[str, str | int]:
    """A bad verdict as fields of a log line: the orders left, and what to do."""
    match verdict:
        case Overdue():
            listed = "yes" if verdict.listed else "no: the orders left are not known"
            fields: dict[str, str | int] = {"listed": listed, "cancelled": verdict.cancelled}
            left = verdict.left
        case KeyRefused():
            fields = {"refused": f"{verdict.status} {verdict.code}"}
            left = verdict.left
        case _:
            return {}
    fields["left"] = ", ".join(f"{each.order_id} {each.ticker}" for each in left) or "none known"
    return fields
