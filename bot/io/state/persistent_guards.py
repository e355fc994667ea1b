"""State that outlives a run: the latch, the crash record, the heartbeat. Latch and beats are
written without waiting for the disk, so that cancels are not held up."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bot.core import messages as m
from bot.io.state.heartbeat import Heartbeat, HeartbeatWriter
from bot.io.state.kill_switch_file import CrashLog, KillSwitchFile, LatchFault, LatchRecord
from bot.io.state.small_files import forget_remains
from venue.wire.instant import NS_PER_SECOND

LOOK_NS: Final = NS_PER_SECOND
"""How often the latch is read."""


class PersistentGuards:
    """Of one run. `begin` before anything is sent, `settle` and `end` when all is over."""

    def __init__(self, folder: Path, boot_nonce: str) -> None:
        self._folder = folder
        self._latch = KillSwitchFile(folder)
        self._crashes = CrashLog(folder)
        self.beats = HeartbeatWriter(Heartbeat(folder, boot_nonce))
        self._latched = self._feared = False
        self._look_ns = 0
        self._writing: asyncio.Task[None] | None = None

    def begin_run(self) -> str:
        """Mark the run as on. Returns why nothing may be quoted; "" when nothing is latched.

        Raises LatchFault when this bot is to stay down, or the disk refuses the mark.
        """
        why = _why(self._took(self._crashes.mark_begun()))
        forget_remains(self._folder)
        return why

    def poll_latch(self, now_ns: int, *, after_a_gap: bool) -> m.LatchSet | m.LatchCleared | None:
        """A change of the latch since the last look, at most once a second unless after a gap."""
        if now_ns < self._look_ns and not after_a_gap:
            return None
        self._look_ns = now_ns + LOOK_NS
        if self._writing is not None:
            return None
        was = self._latched
        record = self._latch.read_latch()
        if was and (record.is_doubt if record is not None else not self._latch.in_place):
            return None
        feared = self._feared
        self._took(record)
        if record is not None and not was:
            return m.LatchSet(_why(record))
        return m.LatchCleared(looked=not feared) if was and record is None else None

    def _took(self, record: LatchRecord | None) -> LatchRecord | None:
        self._latched = record is not None
        self._feared = record is not None and record.is_doubt
        return record

    def latch(self, latched: m.Latched, failed: Callable[[str], None]) -> None:
        """Have the disk keep why this run latched. failed: called with a text when it does not."""
        self._latched, self._feared = True, False
        self._writing = asyncio.ensure_future(self._write_latch(latched, failed, self._writing))

    async def _write_latch(
        self,
        latched: m.Latched,
        failed: Callable[[str], None],
        before: asyncio.Task[None] | None,
    ) -> None:
        if before is not None:
            await before
        try:
            await asyncio.to_thread(self._latch.set, latched.reason, latched.by, time.time_ns())
        except LatchFault as fault:
            # It stays in `_writing`: an absent file is then no word of a person's.
            failed(str(fault))
            return
        if self._writing is asyncio.current_task():
            self._writing = None

    async def settle(self) -> None:
        """Wait until the latch is on disk, or is known not to be."""
        if self._writing is not None:
            await self._writing

    def end_run(self, *, clean: bool, flat: bool) -> None:
        """The run is over. clean: no crash. flat: a read has shown that nothing rests.

        Raises LatchFault when the disk refuses; the end then counts as unclean.
        """
        if flat:
            self.beats.write_end()
        if clean:
            self._crashes.mark_ended()


def _why(record: LatchRecord | None) -> str:
    return "" if record is None else f"{record.by}: {record.reason}"
