"""The journal on disk: every event and effect in order, and no create leaves before it is there.

Segments `journal-<number>.log` stand in the state directory; each run begins a new one, and a full
one is followed by the next. Writing and syncing happen in a worker thread, everything that has
gathered in one go; whoever must not act before the disk has it waits for `durable`. After the first
failed write nothing is written any more and `durable` says False for good.

Source: design, law 7; reliability, rows 59-62, 67, B14.
"""

import asyncio
import contextlib
import errno
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from bot.core import messages as m
from bot.io.memory import Memory, Trail, recall
from bot.io.records import OPENING, Entry, Head, JournalFault, Segment, framed

SEGMENT_BYTES: Final = 64 * 1024 * 1024
SEGMENTS_KEPT: Final = 8
FLUSH_S: Final = 0.25
"""What nobody waits for is written this often."""

BACKLOG_BYTES_MAX: Final = 64 * 1024 * 1024
"""What may wait in memory for a disk that stands still; beyond it the disk counts as failed."""

_NAME: Final = re.compile(r"journal-([0-9]{8,18})\.log", re.ASCII)


def number_of(path: Path) -> int:
    """The number of a segment, -1 for any other file."""
    named = _NAME.fullmatch(path.name)
    return -1 if named is None else int(named[1])


def segments(folder: Path) -> list[Path]:
    """The segments of a state directory, oldest first."""
    return sorted((path for path in folder.iterdir() if number_of(path) >= 0), key=number_of)


def _read(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            return file.read()
    except OSError as fault:
        raise JournalFault(f"{path}: {fault.strerror}") from None


def _opened(path: Path) -> Segment:
    return Segment(_read(path), str(path))


def read_journal(path: Path) -> Iterator[Entry]:
    """The entries of one segment, in order, up to a torn tail.

    Raises JournalFault when it cannot be read or is of another version, and, after the entries
    before it, when it is damaged in its middle.
    """
    segment = _opened(path)
    yield from segment.entries()
    if segment.damaged_at is not None:
        raise JournalFault(f"{path}: journal damaged at byte {segment.damaged_at}")


def remember(paths: Sequence[Path]) -> Memory:
    """What these segments, oldest first, tell a new run. Raises JournalFault as `Segment` does."""
    return recall(_opened(path) for path in reversed(paths))


def left_in(folder: Path) -> Memory:
    """What a state directory tells a new run; nothing of it is changed. A folder that is not there
    tells what an empty one does. Raises JournalFault as `remember` does."""
    return remember(segments(folder) if folder.is_dir() else [])


def cut_torn_tail(path: Path) -> int:
    """Cut what a crash left half written off the end of a segment; the bytes cut.

    A damaged segment stays as it is, for a person to look at. Raises JournalFault when it cannot be
    read or is of another version.
    """
    data = _read(path)
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

    memory: what earlier runs left. failed: called once, on the event loop, with the reason, when
    the disk refuses a write or falls behind by more than `backlog_bytes_max`.
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
        """Recover what earlier runs left and begin a segment.

        Raises JournalFault when an earlier segment is of another version or the disk refuses.
        """
        self._folder = folder
        self._failed = failed
        self._segment_bytes = segment_bytes
        self._segments_kept = segments_kept
        self._backlog_bytes_max = backlog_bytes_max
        self._buffer = bytearray()
        self._last_ns = opened_ns
        self._appended = 0
        self._durable = 0
        self._broken = False
        self._waiting: deque[tuple[int, asyncio.Future[bool]]] = deque()
        self._wake = asyncio.Event()
        self._waits_since_ns: int | None = None
        self._writing_since_ns: int | None = None
        self._writing_bytes = 0
        self._bytes = 0
        self._file = -1
        try:
            earlier = segments(folder)
            if earlier:
                cut_torn_tail(earlier[-1])
            self.memory = remember(earlier)
            self._trail = Trail(Head(opened_ns, self.memory.open_intents, self.memory.working))
            self._number = number_of(earlier[-1]) if earlier else 0
            self._begin_segment(self._trail.head(opened_ns))
        except OSError as fault:
            self._let_go()
            raise JournalFault(f"journal in {folder}: {fault.strerror}") from None

    @property
    def broken(self) -> bool:
        """Whether a write has failed."""
        return self._broken

    @property
    def waiting_bytes(self) -> int:
        """What is not on disk yet."""
        return len(self._buffer) + self._writing_bytes

    def lag_ns(self, now_ns: int) -> int:
        """The age of the oldest entry that is not on disk yet, by its own time; 0 without one."""
        since_ns = self._writing_since_ns
        since_ns = self._waits_since_ns if since_ns is None else since_ns
        return 0 if since_ns is None else max(0, now_ns - since_ns)

    def append(self, at_ns: int, message: m.Event | m.Effect) -> None:
        """Add an entry; it reaches the disk with the next write."""
        self._appended += 1
        self._last_ns = at_ns
        if self._broken:
            return
        entry = Entry(at_ns, message)
        self._trail.follow(entry)
        if not self._buffer:
            self._waits_since_ns = at_ns
        self._buffer += framed(entry)
        if len(self._buffer) > self._backlog_bytes_max:
            self._fail(f"{self._folder}: the disk does not keep up")
        elif self._trail.too_many:
            self._fail("more creates without an answer than can be")

    async def durable(self) -> bool:
        """Wait until everything appended so far is on disk; False when it never will be."""
        if self._broken:
            return False
        if self._durable >= self._appended:
            return True
        on_disk: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._appended, on_disk))
        self._wake.set()
        return await on_disk

    async def run(self) -> None:
        """Write for ever; end it by cancelling, then call `close`."""
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
        self._writing_since_ns, self._waits_since_ns = self._waits_since_ns, None
        self._writing_bytes = len(batch)
        mark = self._appended
        full = self._bytes + len(batch) >= self._segment_bytes
        head = self._trail.head(self._last_ns) if full else None
        writing = asyncio.get_running_loop().run_in_executor(None, self._write, batch, head)
        try:
            # A cancelled wait must not leave the thread writing behind our back.
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            raise
        except OSError as fault:
            self._fail(f"{self._folder}: {fault.strerror}")
        else:
            self._durable = mark
            while self._waiting and self._waiting[0][0] <= mark:
                self._tell(self._waiting.popleft()[1], True)
        finally:
            self._writing_since_ns = None
            self._writing_bytes = 0

    async def give_up(self, reason: str) -> None:
        """Nothing more will be written: whoever waits is told so, and `failed` is called."""
        self._fail(reason)

    def _fail(self, reason: str) -> None:
        if not self._broken:
            self._broken = True
            self._buffer.clear()
            self._waits_since_ns = None
            while self._waiting:
                self._tell(self._waiting.popleft()[1], False)
            self._failed(reason)

    def _tell(self, waiter: asyncio.Future[bool], on_disk: bool) -> None:
        if not waiter.done():
            waiter.set_result(on_disk)

    def _write(self, batch: bytes | bytearray, head: Head | None) -> None:
        """In the worker thread: append and sync. head: of the next segment, this one being full."""
        _write_all(self._file, batch)
        os.fdatasync(self._file)
        self._bytes += len(batch)
        if head is not None:
            os.close(self._file)
            self._file = -1
            self._begin_segment(head)

    def _begin_segment(self, head: Head) -> None:
        self._number += 1
        path = self._folder / f"journal-{self._number:08d}.log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        opening = OPENING + framed(head)
        _write_all(self._file, opening)
        os.fdatasync(self._file)
        self._bytes = len(opening)
        self._sync_folder()
        for old in segments(self._folder)[: -self._segments_kept]:
            old.unlink()

    def _sync_folder(self) -> None:
        """The new file's name is on disk too, not only its content."""
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Write what is left, after `run` has ended. Says nothing of a disk that refuses: the
        failure was told, or only the last quarter of a second is lost."""
        try:
            if not self._broken:
                self._write(self._buffer, None)
        except OSError:
            self._broken = True
        finally:
            self._buffer = bytearray()
            self._let_go()

    def _let_go(self) -> None:
        """Close the file; what it refuses now was synced before, or is known to be lost."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1


def _write_all(handle: int, data: bytes | bytearray) -> None:
    """os.write may take less than it was given. Raises OSError when it takes nothing at all."""
    left = memoryview(data)
    while left:
        taken = os.write(handle, left)
        if taken == 0:
            raise OSError(errno.EIO, "the disk takes nothing")
        left = left[taken:]
