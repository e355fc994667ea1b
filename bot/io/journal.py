"""The journal on disk: every event and effect in order, and no create leaves before it is there.

Segments `journal-<number>.log` stand in the state directory; each run begins a new one, and a full
one is followed by the next. Writing and syncing happen in a worker thread, everything that has
gathered in one go; whoever must not act before the disk has it waits for `durable`. After the first
failed write nothing is written any more and `durable` says False for good.

Source: design, law 7; reliability, rows 59-62, 67.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from bot.core import messages as m
from bot.io.intents import Intents
from bot.io.records import OPENING, Entry, Head, JournalFault, Segment, framed

SEGMENT_BYTES: Final = 64 * 1024 * 1024
SEGMENTS_KEPT: Final = 8
FLUSH_S: Final = 0.25
"""What nobody waits for is written this often."""

_PATTERN: Final = "journal-*.log"


def segments(folder: Path) -> list[Path]:
    """The segments of a state directory, oldest first."""
    return sorted(folder.glob(_PATTERN))


def _read(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            return file.read()
    except OSError as fault:
        raise JournalFault(f"{path}: {fault.strerror}") from None


def read_journal(path: Path) -> Iterator[Entry]:
    """The entries of one segment, in order, up to a torn tail.

    Raises JournalFault when it cannot be read or is of another version.
    """
    yield from Segment(_read(path), str(path)).entries()


def open_intents(paths: Sequence[Path]) -> tuple[m.OpenIntent, ...]:
    """The creates without a definite answer as of the last of these segments, oldest first.

    The newest segment with a head tells all by itself: a head carries what came before it.
    Raises JournalFault as `read_journal` does.
    """
    for path in reversed(paths):
        segment = Segment(_read(path), str(path))
        if segment.head is not None:
            intents = Intents(segment.head.open_intents)
            for entry in segment.entries():
                intents.follow(entry.message)
            return intents.open()
    return ()


def cut_torn_tail(path: Path) -> int:
    """Cut what a crash left half written off the end of a segment; the bytes cut.

    Raises JournalFault as `read_journal` does.
    """
    data = _read(path)
    segment = Segment(data, str(path))
    for _ in segment.entries():
        pass
    torn = len(data) - segment.whole_bytes
    if torn:
        try:
            os.truncate(path, segment.whole_bytes)
        except OSError as fault:
            raise JournalFault(f"{path}: torn tail cannot be cut: {fault.strerror}") from None
    return torn


class Journal:
    """Writes the segments of one run. `run` must be running for anything to reach the disk.

    failed: called once, on the event loop, with the reason, when the disk refuses a write.
    """

    def __init__(
        self,
        folder: Path,
        opened_ns: int,
        failed: Callable[[str], None],
        *,
        segment_bytes: int = SEGMENT_BYTES,
        segments_kept: int = SEGMENTS_KEPT,
    ) -> None:
        """Recover what earlier runs left and begin a segment.

        Raises JournalFault when an earlier segment is of another version or the disk refuses.
        """
        self._folder = folder
        self._failed = failed
        self._segment_bytes = segment_bytes
        self._segments_kept = segments_kept
        earlier = segments(folder)
        if earlier:
            cut_torn_tail(earlier[-1])
        self.left_open = open_intents(earlier)
        self._intents = Intents(self.left_open)
        self._buffer = bytearray()
        self._last_ns = opened_ns
        self._appended = 0
        self._durable = 0
        self._broken = False
        self._waiting = 0
        self._wake = asyncio.Event()
        self._advanced = asyncio.Condition()
        self._number = int(earlier[-1].stem.partition("-")[2]) if earlier else 0
        self._bytes = 0
        self._file = -1
        try:
            self._begin_segment(Head(opened_ns, self.left_open))
        except OSError as fault:
            raise JournalFault(f"journal in {folder}: {fault.strerror}") from None

    @property
    def broken(self) -> bool:
        """Whether a write has failed."""
        return self._broken

    def append(self, at_ns: int, message: m.Event | m.Effect) -> None:
        """Add an entry; it reaches the disk with the next write."""
        self._appended += 1
        self._last_ns = at_ns
        self._intents.follow(message)
        if not self._broken:
            self._buffer += framed(Entry(at_ns, message))

    async def durable(self) -> bool:
        """Wait until everything appended so far is on disk; False when it never will be."""
        mark = self._appended
        self._waiting += 1
        self._wake.set()
        try:
            async with self._advanced:
                await self._advanced.wait_for(lambda: self._broken or self._durable >= mark)
        finally:
            self._waiting -= 1
        return self._durable >= mark

    async def run(self) -> None:
        """Write for ever; end it by cancelling, then call `close`."""
        while True:
            try:
                async with asyncio.timeout(FLUSH_S):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            if self._buffer or self._waiting:
                await self._commit()

    async def _commit(self) -> None:
        if self._broken:
            await self._announce(self._durable)
            return
        batch, self._buffer = self._buffer, bytearray()
        mark = self._appended
        head = Head(self._last_ns, self._intents.open())
        writing = asyncio.get_running_loop().run_in_executor(None, self._write, batch, head)
        try:
            # A cancelled wait must not leave the thread writing behind our back.
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            raise
        except OSError as fault:
            await self.give_up(f"{self._folder}: {fault.strerror}")
        else:
            await self._announce(mark)

    async def give_up(self, reason: str) -> None:
        """Nothing more will be written: whoever waits is told so, and `failed` is called."""
        if not self._broken:
            self._broken = True
            self._buffer.clear()
            self._failed(reason)
        await self._announce(self._durable)

    async def _announce(self, mark: int) -> None:
        async with self._advanced:
            self._durable = mark
            self._advanced.notify_all()

    def _write(self, batch: bytes | bytearray, head: Head) -> None:
        """In the worker thread: append, sync, and begin the next segment when this one is full."""
        _write_all(self._file, batch)
        os.fdatasync(self._file)
        self._bytes += len(batch)
        if self._bytes >= self._segment_bytes:
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
                self._write(self._buffer, Head(self._last_ns, self._intents.open()))
        except OSError:
            self._broken = True
        finally:
            self._buffer = bytearray()
            if self._file >= 0:
                os.close(self._file)


def _write_all(handle: int, data: bytes | bytearray) -> None:
    """os.write may take less than it was given."""
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]
