"""The latch: a file that says why nothing may be quoted here until a person has looked.

`<state>/latch.json` is set by a breaker, by a crash loop and by the reaper; it outlives the process
that set it, and only `bot reset` takes it away. The first reason stands: what follows from it must
not hide it. A contradiction of the books alone is kept over another one, which it names. A latch
that cannot be read is a latch that is set; whether one is there at all is asked twice, and where
neither answer tells, that is no latch of anybody's: it ends by itself.
"""

from pathlib import Path
from typing import Final

import msgspec

from bot.io.faults import OperatorError
from bot.io.state.atomic_file import read_file, remove_file, replace_file
from venue.wire import instant

UNSEEN: Final = "unseen"
"""Who set a latch of which the disk does not even say whether it is there."""

CONTRADICTION: Final = "contradiction"
"""Who latched where the books contradict each other: as `LatchedBy` says it."""

_NAME: Final = "latch.json"
_REASON_MAX: Final = 2_000


class LatchFault(OperatorError):
    """The latch stands in the way, or its file cannot be written; the text says what to do."""


class LatchRecord(msgspec.Struct, frozen=True):
    """What the file holds. at: the wall clock's instant as text. by: who set it, one word."""

    reason: str
    at: str
    by: str

    @property
    def is_doubt(self) -> bool:
        """Whether it only stands for a file that may be there or not: that it is gone again is no
        word of a person's."""
        return self.by == UNSEEN


class KillSwitchFile:
    """The latch of one state directory. Several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._folder = _identity(folder)

    @property
    def path(self) -> Path:
        """Where the file stands when it is there."""
        return self._path

    @property
    def in_place(self) -> bool:
        """Whether the folder is still the one that held the latch last, or that it was at first:
        moved or unmounted, it took the latch along, and that there is no file is no word of a
        person's."""
        return self._folder == _identity(self._path.parent)

    def read(self) -> LatchRecord | None:
        """What is latched and why; None when nothing is. Raises nothing."""
        try:
            folder = _identity(self._path.parent)
            content = read_file(self._path)
            if content is None:
                return None
            # Another folder may have come into its place, as a backup that was put back.
            self._folder = folder
            return msgspec.json.decode(content, type=LatchRecord)
        except OSError as fault:
            return self._unread(f"{self._path} cannot be read: {fault.strerror}")
        except (msgspec.DecodeError, UnicodeDecodeError):
            return LatchRecord(f"{self._path} holds no latch that can be read", "", "nobody")

    def _unread(self, why: str) -> LatchRecord | None:
        """Ask once more, in a way that needs no file to be opened, whether there is one."""
        try:
            self._path.lstat()
        except FileNotFoundError:
            return None
        except OSError:
            return LatchRecord(why, "", UNSEEN)
        return LatchRecord(why, "", "nobody")

    def set(self, reason: str, by: str, wall_ns: int) -> LatchRecord:
        """Latch, durably, before this returns; the record that now stands, an earlier one if any.

        A contradiction is kept over an earlier latch of another cause, which its reason then names:
        only it tells the person that the books have to be opened anew.

        by: breaker, contradiction, crash-loop or reaper. wall_ns: the wall clock, for a person
        only. Raises LatchFault when the disk does not take it.
        """
        standing = self.read()
        if standing is not None and not standing.is_doubt:
            if by != CONTRADICTION or standing.by == CONTRADICTION:
                return standing
            reason = f"{reason} Before that, {standing.by}: {standing.reason}"
        record = LatchRecord(reason[:_REASON_MAX], instant.from_ns(wall_ns), by)
        try:
            replace_file(self._path, msgspec.json.encode(record) + b"\n")
        except OSError as fault:
            raise LatchFault(f"{self._path} cannot be written: {fault.strerror}") from None
        return record

    def clear(self) -> bool:
        """Take the latch away; whether there was one. Raises LatchFault when the disk refuses."""
        try:
            return remove_file(self._path)
        except OSError as fault:
            raise LatchFault(f"{self._path} cannot be removed: {fault.strerror}") from None


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another one of its name; None when there is none."""
    try:
        shown = folder.stat()
    except OSError:
        return None
    return shown.st_dev, shown.st_ino
