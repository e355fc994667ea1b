"""The heartbeat files of bot and reaper: each is watched by the other.

A watcher believes no time in the file: a beat is content that differs from the last, and silence is
measured on the watcher's own monotonic clock.
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

from bot.io.state.atomic_file import overwrite_file, read_struct
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

BEAT_NS: Final = 500 * NS_PER_MS
"""The file is rewritten at most this often."""

HANGS_NS: Final = 2 * NS_PER_SECOND
"""A beat that takes longer to write counts as failing."""

LOOK_GAP_NS_MAX: Final = NS_PER_SECOND
"""Of a longer pause between two looks the rest does not count as silence."""

BOT: Final = "heartbeat"
REAPER: Final = "reaper-heartbeat"


class HeartbeatRecord(msgspec.Struct, frozen=True, kw_only=True):
    """boot: of the run, 20 hex digits. beat: counts from 1. monotonic_ns, wall_ns: for a person
    only. ended: the run is over and left nothing. plea: why the writer cannot cancel, empty when it
    can. guards: of a reaper, the boot of the run that it would act for. key_known: False while its
    last try of the key had no answer of the venue about the key."""

    boot: str
    beat: int
    monotonic_ns: int
    wall_ns: int
    ended: bool = False
    plea: str = ""
    guards: str = ""
    key_known: bool = True


class Heartbeat:
    """Writes the file, and waits for the disk. `beat` is called after every decision and from
    nowhere else: a task of its own would go on beating for a dead loop."""

    def __init__(self, folder: Path, boot: str, name: str = BOT, guards: str = "") -> None:
        """guards: as in `HeartbeatRecord`, at first."""
        self._path = folder / name
        self._boot = boot
        self._count = 0
        self._next_ns = 0
        self._plea = ""
        self._fault = ""
        self._key_known = True
        self.guards = guards

    def beat(self, now_ns: int) -> bool:
        """Write if BEAT_NS have passed. False when the file could not be written, which a watcher
        takes for silence; the log says so once."""
        if not self.is_due(now_ns):
            return True
        self._next_ns = now_ns + BEAT_NS
        return self._write_record(ended=False)

    def is_due(self, now_ns: int) -> bool:
        return now_ns >= self._next_ns

    @property
    def is_failing(self) -> bool:
        return bool(self._fault)

    def plead(self, why: str) -> None:
        """From the next beat on say why somebody else must cancel; "" takes it back."""
        if why != self._plea:
            self._plea = why
            self._next_ns = 0

    def know_key(self, *, known: bool) -> None:
        """From the next beat on say if the venue has answered about the key; see the record."""
        if known != self._key_known:
            self._key_known = known
            self._next_ns = 0

    def guard(self, boot: str) -> None:
        """From the next beat on name the run that would be acted for; "" is none."""
        if boot != self.guards:
            self.guards = boot
            self._next_ns = 0

    def write_end(self) -> None:
        """The run is over and a read has shown that nothing of ours rests: silence is then no
        death."""
        if not self._write_record(ended=True):
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
            key_known=self._key_known,
        )
        return msgspec.json.encode(pulse) + b"\n"

    def _write_record(self, *, ended: bool) -> bool:
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
        """Log the first failure, and the first success after it."""
        log = structlog.stdlib.get_logger("bot")
        if fault and not self._fault:
            advice = "the reaper takes this for silence: check the disk"
            log.error("heartbeat_not_written", file=str(self._path), text=fault, advice=advice)
        elif self._fault and not fault:
            log.info("heartbeat_written_again", file=str(self._path))
        self._fault = fault


class HeartbeatWriter:
    """Beats from a thread, one at a time, so that a slow disk does not hold up the loop."""

    def __init__(self, heart: Heartbeat) -> None:
        self.heart = heart
        self._thread = ThreadPoolExecutor(1, "heartbeat")
        self._writing: Future[bool] | None = None
        self._since_ns = self._now_ns = 0

    def beat(self, now_ns: int) -> None:
        """Returns at once. now_ns: as of `Heartbeat.beat`."""
        self._now_ns = now_ns
        if self._writing is not None:
            if not self._writing.done():
                return
            self._writing.result()
            self._writing = None
        if self.heart.is_due(now_ns):
            self._since_ns = now_ns
            # Its log lines name this series, too.
            self._writing = self._thread.submit(copy_context().run, self.heart.beat, now_ns)

    @property
    def is_failing(self) -> bool:
        """True if the newest beat could not be written, or takes far too long."""
        hangs = self._writing is not None and not self._writing.done()
        return self.heart.is_failing or (hangs and self._now_ns > self._since_ns + HANGS_NS)

    def write_end(self) -> None:
        """As `Heartbeat.end`, once the beat in progress is written."""
        self._thread.shutdown()
        self.heart.write_end()


def read_pulse(folder: Path, name: str = BOT) -> HeartbeatRecord | None:
    """None when there is no file or it cannot be read as one."""
    return read_struct(folder / name, HeartbeatRecord)


class HeartbeatWatcher:
    """The staleness of the newest beat, while somebody looked.

    Counts nothing before the first new beat: the first content may be as old as the machine.
    """

    def __init__(self) -> None:
        self._mark: str | None = None
        self._looked_ns: int | None = None
        self._silent_ns = 0
        self.heard = False
        """True if a beat was seen to follow another."""

    def measure_silence(self, mark: str | None, now_ns: int) -> int:
        """Take in the present mark; returns the silence in ns, 0 before the first beat.

        mark: text that changes with every beat, None when nothing can be read. now_ns: the
        watcher's monotonic clock.
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

    def await_first_beat(self) -> None:
        self.heard = False
        self._silent_ns = 0
