"""The journal on disk: every event and effect in order, and no create is sent before it is there.

Each run begins a new segment `journal-<number>.log`; a closed one may have become an archive, and
every reader takes either form, also if that happens meanwhile. See docs/design.md#law-7."""

import asyncio
import contextlib
import errno
import io
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import anyio
import structlog

from bot.core import messages as m
from bot.core.report import Report
from bot.io.journal.archive import (
    ARCHIVE_MAGIC,
    HEAD_BYTES,
    SUFFIX,
    Restored,
    is_archive,
    plain_bytes,
    restored,
)
from bot.io.journal.records import MAGIC, OPENING, Entry, Head, JournalFault, Segment, framed
from bot.io.journal.recovery import RecoveredState, RunningState, recall
from bot.io.metrics.table import Family
from bot.io.secret import Secret
from bot.io.state.atomic_file import sync_folder, write_all

SEGMENT_BYTES: Final = 64 * 1024 * 1024
SEGMENTS_KEPT: Final = 8
FLUSH_S: Final = 0.25
"""Seconds between two writes without a waiter."""

IN_TIME_S: Final = 1.0
"""Timeout for the disk: a decision that is journaled later is stale."""

BACKLOG_BYTES_MAX: Final = 64 * 1024 * 1024
"""With more waiting in memory the disk counts as failed."""

_FILES_A_SEGMENT: Final = 50
"""So many small segments at most are kept for each full one."""

_NAME: Final = re.compile(r"journal-([0-9]{8,18})\.(log|arc)", re.ASCII)
_PLAIN: Final = ".log"


def number_of(path: Path) -> int:
    """The number of a segment in either form, -1 for any other file."""
    named = _NAME.fullmatch(path.name)
    return -1 if named is None else int(named[1])


def segments(folder: Path) -> list[Path]:
    """The segments of a state directory, oldest first, each once: plain where it still is, else its
    archive."""
    found: dict[int, Path] = {}
    for path in sorted(folder.iterdir()):
        # Sorted by name: the archive of a segment comes before it.
        if number_of(path) >= 0:
            found[number_of(path)] = path
    return [found[number] for number in sorted(found)]


def stands_at(path: Path) -> Path | None:
    """The path of a segment in either form; None where it is gone."""
    for each in (path, _other_form(path)) if number_of(path) >= 0 else (path,):
        if each.is_file():
            return each
    return None


def _weight(path: Path) -> int:
    """Bytes on the disk, of either form; 0 when it is gone."""
    stands = stands_at(path)
    try:
        return 0 if stands is None else stands.stat().st_size
    except FileNotFoundError:  # archived between the two
        return 0


def _other_form(path: Path) -> Path:
    return path.with_suffix(_PLAIN if path.suffix == SUFFIX else SUFFIX)


def _read(path: Path, blocks: int | None = None) -> Restored:
    """A segment's bytes as they were written. blocks: of an archive only the first so many. Raises
    JournalFault."""
    data = _bytes(path)
    # One that is named as an archive and is none was cut; a plain one may have taken its place.
    if is_archive(data) or (path.suffix == SUFFIX and not data.startswith(MAGIC)):
        return restored(data, str(path), blocks)
    return Restored(data, True)


def _bytes(path: Path) -> bytes:
    missing: OSError | None = None
    # It may be archived between being listed and being read.
    for each in (path, _other_form(path), path) if number_of(path) >= 0 else (path,):
        try:
            handle = os.open(each, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                return file.read()
        except FileNotFoundError as fault:
            missing = missing or fault
        except OSError as fault:
            raise JournalFault(f"{each}: {fault.strerror}") from None
    assert missing is not None
    raise JournalFault(f"{path}: {missing.strerror}") from None


def read_segment(path: Path) -> Segment:
    """A segment in either form. Raises JournalFault when it cannot be read or is of another
    version."""
    data, whole = _read(path)
    return Segment(data, str(path), cut=whole)


def opened(path: Path) -> BinaryIO:
    """A segment to be read piece by piece; an archive is unpacked whole.

    Raises FileNotFoundError when it is gone, OSError, and JournalFault for a damaged archive.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        other = _other_form(path)
        if number_of(path) < 0 or not other.is_file():
            raise
        return opened(other)
    head = file.read(len(ARCHIVE_MAGIC))
    if not is_archive(head):
        file.seek(0)
        return file
    with file:
        data = head + file.read()
    return io.BytesIO(restored(data, str(path)).data)


def size_of(path: Path) -> int:
    """The bytes of a segment as it was written, 0 when it is gone. Raises JournalFault for a
    damaged archive."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        other = _other_form(path)
        return size_of(other) if path.suffix == _PLAIN and other.is_file() else 0
    return plain_bytes(head, str(path)) if head.startswith(ARCHIVE_MAGIC) else size


def version_in(path: Path) -> int:
    """The version of a segment; 0 if it ends before that. Raises JournalFault."""
    return (_read(path, 0).data + bytes(len(OPENING)))[len(OPENING) - 1]


def first_entries(path: Path, most: int) -> Iterator[Entry]:
    """The first few entries of a segment; only the first block of an archive is unpacked. Raises
    JournalFault."""
    data, whole = _read(path, 1)
    yield from islice(Segment(data, str(path), cut=whole).entries(), most)


def read_journal(path: Path) -> Iterator[Entry]:
    """The entries of one segment, in order, up to a torn tail.

    Raises JournalFault when it cannot be read, and, after the entries before it, at damage in its
    middle.
    """
    segment = read_segment(path)
    yield from segment.entries()
    if segment.damaged_at is not None:
        raise JournalFault(f"{path}: journal damaged at byte {segment.damaged_at}")


def remember(paths: Sequence[Path]) -> RecoveredState:
    """The state of these segments, oldest first, for a new run. Raises JournalFault."""
    return recall(read_segment(path) for path in reversed(paths))


def left_in(folder: Path) -> RecoveredState:
    """The state of a state directory for a new run; changes nothing. Raises JournalFault."""
    return remember(segments(folder) if folder.is_dir() else [])


def cut_torn_tail(path: Path) -> int:
    """Cut what a crash left half-written off a segment; returns the bytes cut.

    A damaged segment stays for a person to look at. Raises JournalFault.
    """
    data = _bytes(path)
    if is_archive(data):
        return 0
    segment = Segment(data, str(path))
    for _ in segment.payloads():
        pass
    torn = len(data) - segment.whole_bytes
    if segment.damaged_at is not None:
        return 0
    if torn:
        try:
            os.truncate(path, segment.whole_bytes)
        except OSError as fault:
            raise JournalFault(f"{path}: torn tail cannot be cut: {fault.strerror}") from None
    return torn


class Journal:
    """Writes the segments of one run. `run` must be running for anything to reach the disk.

    memory: what earlier runs left. cut_bytes: cut off their torn tail. failed: called once, on the
    event loop, when the disk refuses a write or falls behind.
    """

    def __init__(
        self,
        folder: Path,
        opened_ns: int,
        failed: Callable[[str], None],
        *,
        segment_bytes: int = SEGMENT_BYTES,
        segments_kept: int = SEGMENTS_KEPT,
        backlog_bytes_max: int = BACKLOG_BYTES_MAX,
    ) -> None:
        """Recover what earlier runs left and begin a segment. Raises JournalFault when an earlier
        segment is of another version or the disk refuses."""
        self._folder = folder
        self._failed = failed
        self._segment_bytes = segment_bytes
        self._segments_kept = segments_kept
        self._backlog_bytes_max = backlog_bytes_max
        self._buffer = bytearray()
        self._last_ns = opened_ns
        self._appended = 0
        self._durable = 0
        self.broken = False
        self._waiting: deque[tuple[int, asyncio.Future[bool]]] = deque()
        self._wake = asyncio.Event()
        self._given_s: float | None = None
        self._writing_bytes = 0
        self._bytes = 0
        self._file = -1
        self._path = folder
        try:
            earlier = segments(folder)
            self.cut_bytes = cut_torn_tail(earlier[-1]) if earlier else 0
            self.memory = remember(earlier)
            self._trail = RunningState(self.memory.head(opened_ns))
            self._number = number_of(earlier[-1]) if earlier else 0
            self._begin_segment(self._trail.head(opened_ns))
        except OSError as fault:
            self._let_go()
            raise JournalFault(f"journal in {folder}: {fault.strerror}") from None

    @property
    def waiting_bytes(self) -> int:
        return len(self._buffer) + self._writing_bytes

    def lag_s(self) -> float:
        """Duration of the present write; 0 without one."""
        since_s = self._given_s
        return 0.0 if since_s is None else time.monotonic() - since_s

    def append(self, at_ns: int, message: m.Event | m.Effect) -> None:
        self._appended += 1
        self._last_ns = at_ns
        if self.broken:
            return
        entry = Entry(at_ns, message)
        self._trail.follow(entry)
        self._buffer += framed(entry)
        if len(self._buffer) > self._backlog_bytes_max:
            self.give_up(f"{self._folder}: the disk does not keep up")
        elif self._trail.too_many:
            self.give_up("more creates without an answer than can be")

    async def durable(self, within_s: float | None = None) -> bool:
        """Wait until everything appended so far is on disk; False when it never will be, or after
        the timeout."""
        if self.broken:
            return False
        if self._durable >= self._appended:
            return True
        on_disk: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._appended, on_disk))
        self._wake.set()
        try:
            async with asyncio.timeout(within_s):
                return await on_disk
        except TimeoutError:
            return False

    async def run(self) -> None:
        """Write until cancelled; then call `close`."""
        while True:
            try:
                async with asyncio.timeout(FLUSH_S):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            if self._buffer:
                await self._commit()

    async def _commit(self) -> None:
        batch, self._buffer = self._buffer, bytearray()
        self._writing_bytes = len(batch)
        mark = self._appended
        full = self._bytes + len(batch) >= self._segment_bytes
        head = self._trail.head(self._last_ns) if full else None
        self._given_s = time.monotonic()
        writing = asyncio.get_running_loop().run_in_executor(None, self._write, batch, head)
        try:
            # A cancelled wait must not leave the thread writing behind our back.
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            raise
        except OSError as fault:
            self.give_up(f"{self._folder}: {fault.strerror}")
        else:
            self._durable = mark
            while self._waiting and self._waiting[0][0] <= mark:
                self._resolve(self._waiting.popleft()[1], True)
        finally:
            self._given_s = None
            self._writing_bytes = 0

    def give_up(self, reason: str) -> None:
        """Nothing more will be written: every waiter gets False, and `failed` is called."""
        if not self.broken:
            self.broken = True
            self._buffer.clear()
            while self._waiting:
                self._resolve(self._waiting.popleft()[1], False)
            self._failed(reason)

    def _resolve(self, waiter: asyncio.Future[bool], on_disk: bool) -> None:
        if not waiter.done():
            waiter.set_result(on_disk)

    def _write(self, batch: bytes | bytearray, head: Head | None) -> None:
        """In the worker thread: append and sync. head: of the next segment if this one is full."""
        write_all(self._file, batch)
        os.fdatasync(self._file)
        if not self._stands():  # it is written and synced as any other
            raise OSError(errno.ENOENT, "the journal was deleted or moved while it was written")
        self._bytes += len(batch)
        if head is not None:
            os.close(self._file)
            self._file = -1
            self._begin_segment(head)
        self._given_s = None  # here, for the loop may be held and hear of it late

    def _stands(self) -> bool:
        """True if the next run will find the file that is written."""
        try:
            return os.path.samestat(os.lstat(self._path), os.fstat(self._file))
        except FileNotFoundError:
            return False

    def _begin_segment(self, head: Head) -> None:
        self._number += 1
        self._path = path = self._folder / f"journal-{self._number:08d}.log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        opening = OPENING + framed(head)
        try:
            write_all(self._file, opening)
            os.fdatasync(self._file)
            self._bytes = len(opening)
            sync_folder(self._folder)
        except OSError:
            # It says nothing yet, and starts that a full disk refuses would leave ever more.
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        self._forget_old()

    def _forget_old(self) -> None:
        """Keep the newest segments up to the weight of so many full ones."""
        room = self._segment_bytes * (self._segments_kept - 1)
        files = _FILES_A_SEGMENT * self._segments_kept
        for old in reversed(segments(self._folder)[:-1]):
            # A full one is a little larger than it should be.
            room -= min(_weight(old), self._segment_bytes)
            files -= 1
            if room < 0 or files < 1:
                for form in (old, _other_form(old)):
                    form.unlink(missing_ok=True)

    def close(self) -> None:
        """Write the remaining entries, after `run` has ended. A disk that refuses is ignored: that
        was reported, or a quarter of a second is lost."""
        try:
            if not self.broken:
                self._write(self._buffer, None)
        except OSError:
            self.broken = True
        finally:
            self._buffer = bytearray()
            self._let_go()

    def withdraw(self) -> None:
        """Close it for a run that does not begin, and remove its unused segment: refused starts
        must not push older segments out."""
        unused = not self._appended and not self.broken
        self.close()
        if unused:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _let_go(self) -> None:
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1


LOOK_S: Final = 5.0
"""Seconds between two looks at the state directory."""

_PART: Final = f"journal-*{SUFFIX}.*.new"


def closed(folder: Path) -> list[Path]:
    """The closed segments that are no archives yet, oldest first."""
    return [path for path in segments(folder)[:-1] if path.suffix != SUFFIX]


class Archivist:
    """A sidecar that has closed segments archived, one at a time, by a child process of the lowest
    priority. A segment that cannot be archived stays and is reported once."""

    name = "archivist"
    secrets: tuple[Secret, ...] = ()
    families: tuple[tuple[Family[Any], Any], ...] = ()

    def __init__(self, folder: Path, look_s: float = LOOK_S) -> None:
        self._folder = folder
        self._look_s = look_s
        self._failed: set[Path] = set()
        self._child: asyncio.subprocess.Process | None = None
        self._log = structlog.stdlib.get_logger("bot")

    def on_run_start(self, look: Callable[[], Report | None], now_ns: Callable[[], int]) -> None:
        self._remove_parts()

    def _remove_parts(self) -> None:
        for part in self._folder.glob(_PART):
            with contextlib.suppress(OSError):
                part.unlink()

    def did(self, effect: m.Effect, at_ns: int) -> None:
        pass

    async def run(self) -> None:
        while True:
            try:
                for segment in closed(self._folder):
                    if segment not in self._failed:
                        await self._archive(segment)
            except OSError as fault:
                self._log.warning("archivist_stumbled", text=str(fault))
            await asyncio.sleep(self._look_s)

    async def _archive(self, segment: Path) -> None:
        # An end in the middle of this would orphan a child.
        with anyio.CancelScope(shield=True):
            child = self._child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "bot.io.journal.archive", str(segment)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        _, said = await child.communicate()
        code, self._child = child.returncode, None
        if not code:
            self._log.debug("segment_archived", segment=segment.name)
        else:
            self._log_failure(segment, said.decode("utf-8", "replace").strip()[-500:])

    def _log_failure(self, segment: Path, text: str) -> None:
        if segment.exists():  # it may have become too old and be gone
            self._failed.add(segment)
            self._log.warning("segment_not_archived", segment=segment.name, text=text)

    async def on_run_end(self) -> None:
        """Kill the child: the next run archives the segment."""
        child = self._child
        if child is not None and child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
            self._remove_parts()
