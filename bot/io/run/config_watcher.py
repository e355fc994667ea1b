"""Watches the configuration files of a running bot: on SIGHUP, and when one has changed.

Bytes count once they were read twice the same, half a second apart, while nobody has the file open
for writing. The next check waits until the trader has taken the event of the one before.
"""

import asyncio
import errno
import fcntl
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import anyio
import msgspec
import structlog

from bot.core import messages as m
from bot.io.signals import heard
from bot.io.state.atomic_file import FILE_BYTES_MAX

POLL_S: Final = 1.0
SETTLE_S: Final = 0.5

Stamp = tuple[int, int, int, int]
"""Modification time, size, device and inode."""


class LiveFile(Protocol):
    """One file and the trader that it is for."""

    path: Path
    started_with: bytes
    """The bytes that its trader was made from."""

    def check(self, raw: bytes | None) -> m.Event | None:
        """The event that a content of the file causes; None when it changes nothing. raw: None when
        there is no file. Called from a thread."""

    def confirmed(self) -> str:
        """The digest that a person has confirmed last; empty for none."""

    def send_event(self, event: m.Event) -> None: ...

    def is_taken(self) -> bool:
        """True if the trader has taken every event so far."""


class _Content(msgspec.Struct, frozen=True):
    """raw: the bytes, one more than the maximum; None when there is no file."""

    stamp: Stamp | None
    raw: bytes | None
    is_being_written: bool


class FileWatch:
    def __init__(
        self, files: Sequence[LiveFile], *, poll_s: float = POLL_S, settle_s: float = SETTLE_S
    ) -> None:
        """settle_s: how long bytes must stay the same."""
        self._files = [_Followed(file, settle_s) for file in files]
        self._poll_s = poll_s
        self._hung_up = asyncio.Event()
        self._log = structlog.stdlib.get_logger("bot")

    async def run(self) -> None:
        """Watch until cancelled. SIGHUP has every file checked, changed or not."""
        with heard(signal.SIGHUP, self._hung_up.set):
            while True:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._hung_up.wait(), self._poll_s)
                asked = self._hung_up.is_set()
                self._hung_up.clear()
                if asked:
                    self._log.info("config_asked_for", files=len(self._files))
                for followed in self._files:
                    await followed.check_for_change(asked=asked)


class _Followed:
    def __init__(self, file: LiveFile, settle_s: float) -> None:
        self._file = file
        self._settle_s = settle_s
        self._stamp: Stamp | None = None
        self._judged: bytes | None = file.started_with
        self._confirmed = file.confirmed()
        self._asked = False

    async def check_for_change(self, *, asked: bool) -> None:
        """Check a change once the file has settled, else at the next look. asked: check it changed
        or not."""
        confirmed = self._file.confirmed()
        self._asked |= asked or confirmed != self._confirmed
        self._confirmed = confirmed
        if not self._file.is_taken():
            return
        if not self._asked and _stamp_of(self._file.path) == self._stamp:
            return
        content = _read(self._file.path)
        if self._asked or content.raw != self._judged:
            await anyio.sleep(self._settle_s)
            if _read(self._file.path) != content or content.is_being_written:
                return
        self._stamp = content.stamp
        asked, self._asked = self._asked, False
        if asked or content.raw != self._judged:
            self._judged = content.raw
            await self._judge(content.raw)

    async def _judge(self, raw: bytes | None) -> None:
        event = await anyio.to_thread.run_sync(self._file.check, raw)
        if event is None:
            structlog.stdlib.get_logger("bot").info("config_unchanged", file=str(self._file.path))
            return
        self._file.send_event(event)


def _stamp_of(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_dev, found.st_ino


def _read(path: Path) -> _Content:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return _Content(None, None, False)
    try:
        found = os.fstat(handle)
        stamp = (found.st_mtime_ns, found.st_size, found.st_dev, found.st_ino)
        raw = bytearray()
        while len(raw) <= FILE_BYTES_MAX:
            more = os.read(handle, FILE_BYTES_MAX + 1 - len(raw))
            if not more:
                break
            raw += more
        return _Content(stamp, bytes(raw), _is_being_written(handle))
    except OSError:
        return _Content(None, None, False)
    finally:
        os.close(handle)


def _is_being_written(handle: int) -> bool:
    """True if somebody has the file open for writing: the system then refuses a read lease. False
    where it gives no leases."""
    try:
        # The signal that a lease is broken by would end the process; this one is ignored.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as fault:
        return fault.errno in (errno.EAGAIN, errno.EWOULDBLOCK)
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False
