"""The bot's sign of life: a small file that the deciding loop rewrites, and how its age is told.

The reaper beats likewise, into a file of its own, so that the bot can tell whether one is there.

The writer replaces `<state>/heartbeat` by renaming, so a reader sees a whole line or the one
before; nothing is synced, for a machine that lost its power beats no more anyway. The reader
believes no time that stands in the file: a beat is a content that differs from the one before, and
silence is measured on the reader's own monotonic clock. So neither a stepped clock nor a file that
an earlier run left behind means anything.
"""

import contextlib
import errno
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Final

import msgspec
import structlog

from bot.io.state.atomic_file import overwrite_file
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

BEAT_NS: Final = 500 * NS_PER_MS
"""The file is rewritten at most this often: often enough for one beat a second to be sure."""

HANGS_NS: Final = 2 * NS_PER_SECOND
"""A beat that is written for longer than this is not being written."""

LOOK_GAP_NS_MAX: Final = NS_PER_SECOND
"""A reader that slept for longer between two looks has not watched: the rest does not count."""

BOT: Final = "heartbeat"
REAPER: Final = "reaper-heartbeat"
"""The files of the two: each watches the other's."""

_BYTES_MAX: Final = 4_096


class HeartbeatRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file.

    boot: of the run, 20 hex digits. beat: counts from 1. monotonic_ns, wall_ns: the writer's
    clocks, for a person only. ended: the run is over and has left nothing. plea: why the bot cannot
    cancel by itself and asks the reaper to, or why the reaper could not; empty when all is well.
    guards: of a reaper, the boot of the run that it would act for; empty when there is none.
    """

    boot: str
    beat: int
    monotonic_ns: int
    wall_ns: int
    ended: bool = False
    plea: str = ""
    guards: str = ""


class Heartbeat:
    """The writer's side. Its `beat` is called after every decision, and from nowhere else: a task
    that runs by itself would go on beating beside a dead loop. It waits for the disk; a loop that
    must not beats by `HeartbeatWriter`."""

    def __init__(self, folder: Path, boot: str, name: str = BOT, guards: str = "") -> None:
        """name: of the file, which tells whose heart it is. guards: as in
        `HeartbeatRecord`, at first."""
        self._path = folder / name
        self._boot = boot
        self._count = 0
        self._next_ns = 0
        self._plea = ""
        self._fault = ""
        self.guards = guards

    def beat(self, now_ns: int) -> bool:
        """The loop has come round. now_ns: a clock that never steps back.

        Writes at most every BEAT_NS. False when the file could not be written: to whoever watches
        that is silence, so the log tells of it, once until it is written again.
        """
        if not self.is_due(now_ns):
            return True
        self._next_ns = now_ns + BEAT_NS
        return self._write(ended=False)

    def is_due(self, now_ns: int) -> bool:
        """Whether a beat now would be written."""
        return now_ns >= self._next_ns

    @property
    def is_failing(self) -> bool:
        """Whether the newest beat could not be written."""
        return bool(self._fault)

    def plead(self, why: str) -> None:
        """From the next beat on say that somebody else must cancel; "" takes it back."""
        if why != self._plea:
            self._plea = why
            self._next_ns = 0

    def guard(self, boot: str) -> None:
        """From the next beat on say which run would be acted for; "" is none."""
        if boot != self.guards:
            self.guards = boot
            self._next_ns = 0

    def end(self) -> None:
        """The run is over and a read has shown that nothing of ours rests: no silence after this is
        a death. Not to be called when anything is left or unknown."""
        if not self._write(ended=True):
            # The end that a full disk led to is one too, and the file that is there has its room.
            with contextlib.suppress(OSError):
                overwrite_file(self._path, self._content(ended=True))

    def _content(self, *, ended: bool) -> bytes:
        pulse = HeartbeatRecord(
            boot=self._boot,
            beat=self._count,
            monotonic_ns=time.monotonic_ns(),
            wall_ns=time.time_ns(),
            ended=ended,
            plea=self._plea,
            guards=self.guards,
        )
        return msgspec.json.encode(pulse) + b"\n"

    def _write(self, *, ended: bool) -> bool:
        self._count += 1
        content = self._content(ended=ended)
        fresh = self._path.with_name(f"{self._path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(fresh, flags, 0o600)
            try:
                if os.write(handle, content) < len(content):  # the last room there was
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(handle)
            fresh.replace(self._path)
        except OSError as fault:
            self._went(fault.strerror or type(fault).__name__)
        else:
            self._went("")
        return not self._fault

    def _went(self, fault: str) -> None:
        """A beat could not be written, or was: tell where that is news."""
        log = structlog.stdlib.get_logger("bot")
        if fault and not self._fault:
            advice = "whoever watches it takes this for silence: see what the disk has"
            log.error("heartbeat_not_written", file=str(self._path), text=fault, advice=advice)
        elif self._fault and not fault:
            log.info("heartbeat_written_again", file=str(self._path))
        self._fault = fault


class HeartbeatWriter:
    """A heart whose beats a thread writes, one at a time: a disk that stands still holds up the
    file, which is silence to whoever watches, and not the loop, which has orders to cancel."""

    def __init__(self, heart: Heartbeat) -> None:
        self.heart = heart
        self._thread = ThreadPoolExecutor(1, "heartbeat")
        self._writing: Future[bool] | None = None
        self._since_ns = self._now_ns = 0

    def beat(self, now_ns: int) -> None:
        """The loop has come round; returns at once. now_ns: as of `Heartbeat.beat`."""
        self._now_ns = now_ns
        if self._writing is not None:
            if not self._writing.done():
                return
            self._writing.result()
            self._writing = None
        if self.heart.is_due(now_ns):
            self._since_ns = now_ns
            # What it logs is of this series, too.
            self._writing = self._thread.submit(copy_context().run, self.heart.beat, now_ns)

    @property
    def is_failing(self) -> bool:
        """Whether the newest beat could not be written, or is being written for far too long."""
        hangs = self._writing is not None and not self._writing.done()
        return self.heart.is_failing or (hangs and self._now_ns > self._since_ns + HANGS_NS)

    def end(self) -> None:
        """As of `Heartbeat.end`, once what is being written is."""
        self._thread.shutdown()
        self.heart.end()


def read_pulse(folder: Path, name: str = BOT) -> HeartbeatRecord | None:
    """What stands in the file; None when there is none or it cannot be read as one."""
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            return msgspec.json.decode(os.read(handle, _BYTES_MAX), type=HeartbeatRecord)
        finally:
            os.close(handle)
    return None


class HeartbeatWatcher:
    """The reader's side: how long no new beat has been seen while somebody was looking.

    Counts nothing before the first new beat: what stands there at the first look may be as old as
    the machine, and a bot that was never started is no dead bot.
    """

    def __init__(self) -> None:
        self._mark: str | None = None
        self._looked_ns: int | None = None
        self._silent_ns = 0
        self.heard = False
        """Whether a beat was seen to follow another."""

    def look(self, mark: str | None, now_ns: int) -> int:
        """Take in what is there now; the length of the silence in ns, 0 before the first beat.

        mark: any text that changes with every beat, None when nothing can be read. now_ns: the
        reader's monotonic clock.
        """
        gap_ns = 0 if self._looked_ns is None else now_ns - self._looked_ns
        first = self._looked_ns is None
        self._looked_ns = now_ns
        if mark is not None and mark != self._mark:
            self._mark = mark
            self.heard = self.heard or not first
            self._silent_ns = 0
        else:
            self._silent_ns += min(gap_ns, LOOK_GAP_NS_MAX)
        return self._silent_ns if self.heard else 0

    def forget(self) -> None:
        """Wait for a first beat again; what was seen last does not count as one."""
        self.heard = False
        self._silent_ns = 0
