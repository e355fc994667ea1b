"""The command log on disk: appends that are durable on return, in segments of bounded size.
LogFull: the append was cut off again, durably; a retry may succeed. LogBroken: the state on disk is
unknown, and the log takes nothing more. We never retry a sync: a kernel that failed to write a page
may forget it and call the next sync a success."""

import contextlib
import errno
import os
from collections.abc import Sequence
from typing import Final

from venue.engine.messages import AccessCommand, Command
from venue.storage.folder import NO_ROOM, Folder, write_at
from venue.storage.record import HEADER_BYTES, Segment, StateFault, frame, header, is_torn_creation

SEGMENT_RECORDS: Final = 50_000
SEGMENT_BYTES: Final = 32 * 1024 * 1024

_TRIED_BYTES: Final = 64 * 1024
"""What a try writes behind the end and cuts off again: more than most appends."""

BEGUN_FILE: Final = "begun"
"""Holds the first sequence of the newest segment: if that segment were lost, the one before would
look like the end of the log."""

_NOT_OPENED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""What an operating system says before it looks at a name: no descriptor or memory is left. Nothing
was made."""

_PREFIX: Final = "commands-"
_SUFFIX: Final = ".log"


class LogFull(Exception):
    """No room, or no file can be opened. Nothing of the append is on disk; a retry may succeed."""


class LogBroken(Exception):
    """Whether the append is on disk is not known; the log takes nothing any more."""


def segment_name(first_sequence: int) -> str:
    return f"{_PREFIX}{first_sequence:020d}{_SUFFIX}"


def segments(folder: Folder) -> list[tuple[str, int]]:
    """Name and first sequence of every segment, in order. Raises StateFault for a strange name."""
    found = []
    for name in folder.names(_PREFIX, _SUFFIX):
        number = name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
        if not (number.isascii() and number.isdecimal() and name == segment_name(int(number))):
            raise StateFault(f"{folder.path / name}: is no segment of a log; take it away")
        found.append((name, int(number)))
    return found


def check_newest(folder: Folder) -> None:
    """Raises StateFault when the newest segment that was begun is not there or has no header."""
    begun = _begun(folder)
    found = segments(folder)
    if not begun or (found and found[-1][1] > begun):
        return
    name = segment_name(begun)
    if not found or found[-1][0] != name:
        what = "is missing, and the log went on in it"
    elif is_torn_creation(folder.read(name)):
        what = "has been emptied"
    else:
        return
    raise StateFault(f"{folder.path / name}: {what}; restore the directory from a copy")


def _begun(folder: Folder) -> int:
    """The first sequence of the newest segment that is known to have been begun, 0 for none."""
    if not folder.exists(BEGUN_FILE):
        return 0
    text = folder.read(BEGUN_FILE)
    if not text.isdigit():
        raise StateFault(f"{folder.path / BEGUN_FILE}: is damaged; restore it from a copy")
    return int(text)


def open_segment(
    data: bytes, where: str, state_id: bytes, first_sequence: int, *, is_last: bool
) -> Segment:
    """A segment whose header says what its name says. Raises StateFault when it does not."""
    segment = Segment(data, where, state_id, is_last)
    if segment.first_sequence != first_sequence:
        raise StateFault(f"{where}: begins with sequence {segment.first_sequence}; misnamed")
    return segment


class CommandLog:
    """The end of the log, open for appending; one caller at a time. next_sequence: of the next
    command; the first is 1. segments_begun: by appends since it was opened. has_sealed: whether
    there were segments before the last one. cut: a sentence for people if an unfinished end was cut
    off, else None."""

    def __init__(
        self,
        folder: Folder,
        state_id: bytes,
        *,
        segment_records: int = SEGMENT_RECORDS,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Open the last segment, or begin the first. Raises StateFault when it cannot be used."""
        self._folder = folder
        self._state_id = state_id
        self._segment_records = segment_records
        self._segment_bytes = segment_bytes
        self._broken_by: str | None = None
        self._handle = -1
        self._name = segment_name(1)
        self._first_sequence = 1
        self._end = HEADER_BYTES
        self.next_sequence = 1
        self.segments_begun = 0
        self.cut: str | None = None
        found = segments(folder)
        self.has_sealed = len(found) > 1
        if found:
            self._resume(*found[-1])
            return
        try:
            self._begin_segment()
        except (LogFull, LogBroken) as fault:
            raise StateFault(str(fault)) from None

    def append(self, at_ns: int, commands: Sequence[Command | AccessCommand]) -> int:
        """Put these commands on disk as one, whole or not at all, durable on return; the bytes
        written. Blocks for as long as the disk takes. Raises LogFull, LogBroken, and ValueError or
        OverflowError, with nothing written, for what no segment can hold."""
        if not commands:
            return 0
        data = frame(self.next_sequence, at_ns, commands)
        self._write(data)
        try:
            os.fdatasync(self._handle)
            still_there = os.fstat(self._handle).st_nlink > 0
        except OSError as fault:
            raise self._broken("cannot be synced", fault) from None
        if not still_there:  # a file without a name is written and synced as any other
            raise self._broken("was deleted", OSError(errno.ENOENT, os.strerror(errno.ENOENT)))
        self._end += len(data)
        self.next_sequence += len(commands)
        return len(data)

    def try_room(self) -> None:
        """Find out whether there is room again; a crash during the try leaves zeros at the end,
        which are cut off. Raises LogFull or LogBroken."""
        self._write(bytes(_TRIED_BYTES))
        try:
            os.ftruncate(self._handle, self._end)
        except OSError as fault:
            raise self._broken("cannot be cut back", fault) from None

    def _write(self, data: bytes) -> None:
        """Write behind the durable end, in a new segment if this one is full."""
        if self._broken_by is not None:
            raise LogBroken(self._broken_by)
        if self._is_full(len(data)):
            self._begin_segment()
            self.segments_begun += 1
        try:
            write_at(self._handle, data, self._end)
        except OSError as fault:
            self._cut_back(fault)
            raise LogFull(self._told("is full", fault)) from None

    def close(self) -> None:
        """Let go of the segment. Everything appended is durable already."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1
        self._broken_by = self._broken_by or f"{self._folder.path / self._name}: is closed"

    def _is_full(self, more_bytes: int) -> bool:
        records = self.next_sequence - self._first_sequence
        if not records:
            return False
        return records >= self._segment_records or self._end + more_bytes > self._segment_bytes

    def _resume(self, name: str, first_sequence: int) -> None:
        """Go on in the segment that is there, its torn tail cut off. Raises StateFault."""
        where = self._folder.path / name
        data = self._folder.read(name)
        if is_torn_creation(data):
            end, again_at, again = HEADER_BYTES, 0, header(self._state_id, first_sequence)
            self.next_sequence = first_sequence
            self.cut = f"{where}: was incomplete when the venue ended; rewritten"
        else:
            segment = open_segment(data, str(where), self._state_id, first_sequence, is_last=True)
            for _ in segment.entries():
                pass
            end, again_at = segment.whole_bytes, segment.last_frame_at or 0
            again = data[again_at:end]
            self.next_sequence = segment.next_sequence
            if segment.torn_bytes:
                self.cut = f"{where}, byte {end}: {segment.torn_bytes} bytes of an append cut off"
        handle = self._folder.open_file(name, os.O_RDWR)
        try:
            os.ftruncate(handle, end)
            # Its sync may have failed, or never have been called, in the process that wrote the
            # last frame; the kernel then holds it as clean. Written once more it is not.
            write_at(handle, again, again_at)
            os.fsync(handle)
            self._folder.sync()
        except OSError as fault:
            os.close(handle)
            raise StateFault(f"{where}: cannot be opened for appending: {fault.strerror}") from None
        self._handle, self._name = handle, name
        self._first_sequence, self._end = first_sequence, end
        if _begun(self._folder) != first_sequence:
            self._note_begun()

    def _begin_segment(self) -> None:
        """Go on in a new segment. Nothing has changed when it raises LogFull."""
        name = segment_name(self.next_sequence)
        data = header(self._state_id, self.next_sequence)
        handle = -1
        try:
            handle = self._folder.create(name)
            write_at(handle, data, 0)
        except OSError as fault:
            self._undo_creation(name, handle, fault)
            raise LogFull(f"{self._folder.path / name}: {fault.strerror}") from None
        try:
            os.fsync(handle)
            self._folder.sync()
        except OSError as fault:
            os.close(handle)
            raise self._broken("has no next segment", fault) from None
        if self._handle >= 0:
            os.close(self._handle)
        self._handle, self._name = handle, name
        self._first_sequence, self._end = self.next_sequence, HEADER_BYTES
        self._note_begun()

    def _note_begun(self) -> None:
        # A guard only, and no append fails for it: the next segment or start retries.
        with contextlib.suppress(StateFault):
            self._folder.write_whole(BEGUN_FILE, str(self._first_sequence).encode())

    def _undo_creation(self, name: str, handle: int, fault: OSError) -> None:
        """Take a segment without a header away again. Raises LogBroken when that cannot be done."""
        if handle >= 0:
            os.close(handle)
        elif fault.errno in _NOT_OPENED:
            return
        if fault.errno not in NO_ROOM:
            raise self._broken("has no next segment", fault) from None
        if handle < 0:
            return
        try:
            self._folder.remove(name)
            self._folder.sync()
        except OSError as second:
            raise self._broken("has no next segment", second) from None

    def _cut_back(self, fault: OSError) -> None:
        """Cut the segment back to its last durable end. Raises LogBroken when it cannot be."""
        if fault.errno not in NO_ROOM:
            raise self._broken("cannot be written", fault) from None
        try:
            os.ftruncate(self._handle, self._end)
            os.fsync(self._handle)
        except OSError as second:
            raise self._broken("cannot be cut back", second) from None

    def _broken(self, what: str, fault: OSError) -> LogBroken:
        self._broken_by = self._told(what, fault)
        return LogBroken(self._broken_by)

    def _told(self, what: str, fault: OSError) -> str:
        return f"{self._folder.path / self._name}: {what}: {fault.strerror}"
