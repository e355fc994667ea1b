"""Records a series into a journal: an observer's reads and the whole channel, none conflated. A
request that is no read would end the recording."""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable
from pathlib import Path
from typing import Final

import msgspec
import structlog

from bot.core import messages as m
from bot.core.recorder import RECORDING, TapeRecorder
from bot.core.report import Phase
from bot.io.adapter import Connection
from bot.io.clock import Clock
from bot.io.journal.journal import Archivist, Journal, left_in
from bot.io.journal.records import JournalFault
from bot.io.logs import log_note
from bot.io.run.embedded import EmbeddedVenue
from bot.io.run.runner import signals_to
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import Ticker

TOLD_S: Final = 5.0
"""Seconds between two progress lines."""


class Recorded(msgspec.Struct, frozen=True):
    """Result of a recording. seconds: by the clock. books, prints: frames. gaps: times that the
    channel closed. private: the account was read too. died: parts that ended by themselves."""

    series_ticker: Ticker
    state: str
    boot_nonce: str
    seconds: float
    books: int
    prints: int
    gaps: int
    private: bool
    died: tuple[str, ...]


class WriteFault(Exception):
    """A request that is no read: a bug, and the recording ends before it is sent."""


class Recording:
    """One series. Make it inside the event loop, then `run` it once."""

    def __init__(
        self,
        configured: m.Configuration,
        clock: Clock,
        connection: Connection,
        state: Path,
        *,
        segment_bytes: int,
        segments_kept: int,
    ) -> None:
        """configured: settings and digest; its strategy is not asked.

        Raises JournalFault when the folder is a bot's that has orders to settle, and as `Journal`.
        """
        memory = left_in(state)
        if memory.open_intents or memory.working:
            raise JournalFault(
                f"{state}: the journal of a bot with orders to settle is here; "
                "name another folder with --state-dir"
            )
        self._configured = msgspec.structs.replace(
            configured, strategy=m.StrategyChoice(RECORDING, "{}")
        )
        self.observer = TapeRecorder(configured.settings)
        self._clock = clock
        self._requests = connection.requests
        self._state = state
        self._feed = connection.channel_of(self.tell)
        self._journal = Journal(
            state,
            clock.now_ns(),
            lambda reason: self.tell(m.JournalFailed(reason)),
            segment_bytes=segment_bytes,
            segments_kept=segments_kept,
        )
        self._fate = self._journal.memory.fate
        self._archivist = Archivist(state)
        self._wake_ns = 0
        self._woken = asyncio.Event()
        self._ended = asyncio.Event()
        self._died: list[str] = []
        self._log = structlog.stdlib.get_logger("bot")

    async def run(
        self, run_ns: int | None, embedded: EmbeddedVenue | None = None, *, signals: bool = True
    ) -> Recorded:
        """Record until stopped, or for `run_ns`. embedded: the venue, if this process started it.
        signals: True if this handles the process's signals.

        Raises JournalFault when the disk refused.
        """
        begun_ns, nonce = self._clock.now_ns(), secrets.token_hex(10)
        self._archivist.on_run_start(lambda: None, self._clock.now_ns)
        self.tell(
            m.Started(
                nonce,
                (),
                embedded is not None,
                journal=self._fate,
                configured=self._configured,
            )
        )
        parts: list[tuple[str, Awaitable[None]]] = [
            ("journal", self._journal.run()),
            ("feed", self._feed.run()),
            ("beats", self._beats()),
            ("lines", self._lines()),
            ("archivist", self._archivist.run()),
        ]
        if embedded is not None:
            parts.append(("venue", embedded.gone()))
        tasks = [asyncio.ensure_future(self._beside(name, part)) for name, part in parts]
        with signals_to((self,)) if signals else contextlib.nullcontext():
            try:
                longest_s = None if run_ns is None else run_ns / NS_PER_SECOND
                async with asyncio.timeout(longest_s):
                    await self._ended.wait()
            except TimeoutError:
                self.tell(m.StopRequested("the time asked for is over"))
            await self._requests.drain()
            if not self._journal.broken:
                await self._journal.durable()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._archivist.on_run_end()
        broken = self._journal.broken
        self._journal.close()
        if broken:
            raise JournalFault(f"{self._state}: the journal could not be written any more")
        observer, settings = self.observer, self._configured.settings
        seconds = (self._clock.now_ns() - begun_ns) / NS_PER_SECOND
        return Recorded(
            settings.series_ticker,
            str(self._state),
            nonce,
            round(seconds, 3),
            observer.books,
            observer.prints,
            observer.gaps,
            observer.private,
            tuple(self._died),
        )

    def tell(self, event: m.Event) -> None:
        """Journal an event, give it to the observer, and carry out what follows. After the end an
        event is only journaled and counted."""
        now_ns = self._clock.now_ns()
        self._journal.append(now_ns, event)
        was_over = self._ended.is_set()
        effects = self.observer.receive(event, now_ns)
        if was_over:
            return
        for effect in effects:
            self._journal.append(now_ns, effect)
        for effect in effects:
            self._perform(effect)

    def asked_to_stop(self, name: str) -> None:
        self.tell(m.StopRequested(name))

    def _perform(self, effect: m.Effect) -> None:
        match effect:
            case m.Send():
                if isinstance(effect.request, m.Write):
                    raise WriteFault(type(effect.request).__name__)
                self._requests.start(effect, self.tell)
            case m.SubscribeTo():
                self._feed.subscribe(effect)
            case m.WakeAt():
                self._wake_ns = effect.at_ns
                self._woken.set()
            case m.Noted():
                log_note(effect.level, effect.name, effect.fields)
            case m.DrainComplete():
                self._ended.set()
            case _:
                pass

    async def _beats(self) -> None:
        """A tick whenever the observer wanted one."""
        while True:
            self._woken.clear()
            left_ns = self._wake_ns - self._clock.now_ns()
            if left_ns <= 0:
                self.tell(m.Tick())
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_ns / NS_PER_SECOND):
                    await self._woken.wait()

    async def _lines(self) -> None:
        while True:
            await asyncio.sleep(TOLD_S)
            seen = self.observer
            phase = "waiting" if seen.phase is Phase.STARTING else "recording"
            self._log.info(phase, books=seen.books, prints=seen.prints, gaps=seen.gaps)

    async def _beside(self, name: str, part: Awaitable[None]) -> None:
        """A part of it; its end, however it comes, ends the recording in good order."""
        try:
            await part
            self._log.error("child_ended", child=name)
        except asyncio.CancelledError:
            raise
        except Exception:  # noqa: BLE001 - the task's boundary: the journal is closed whole
            self._log.exception("child_failed", child=name)
        self._died.append(name)
        if name == "journal":
            self._journal.give_up("its task ended")
        self.tell(m.StopRequested(f"{name} ended"))
