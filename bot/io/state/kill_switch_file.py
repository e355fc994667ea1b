"""The latch, which says why nothing may be quoted until a person has looked; and the crash record.

`latch.json` outlives the process, and only `bot reset` removes it; an unreadable one counts as set.
`crashes.json` marks a run as on and lists earlier unclean ends: three within ten minutes latch.
"""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from bot.io.faults import OperatorError
from bot.io.state.atomic_file import overwrite_file, read_file, remove_file, replace_file
from venue.wire import instant
from venue.wire.instant import NS_PER_SECOND

UNSEEN: Final = "unseen"
"""The author of a latch whose file cannot be read."""

CONTRADICTION: Final = "contradiction"
"""The author of a latch for a contradiction: as in `LatchedBy`."""

_LATCH: Final = "latch.json"
_REASON_MAX: Final = 2_000


class LatchFault(OperatorError):
    """The latch prevents a start, or its file cannot be written; the text says what to do."""


class LatchRecord(msgspec.Struct, frozen=True):
    """at: wall clock, as text. by: who set it, one word."""

    reason: str
    at: str
    by: str

    @property
    def is_doubt(self) -> bool:
        """True if the file may or may not exist: that it is gone later is no word of a person's."""
        return self.by == UNSEEN


class KillSwitchFile:
    """The latch of one state directory. Several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / _LATCH
        self._folder = _identity(folder)

    @property
    def in_place(self) -> bool:
        """True if this is still the folder that held the latch. A folder that was moved or
        unmounted took the latch along; a missing file then says nothing."""
        return self._folder == _identity(self.path.parent)

    def read_latch(self) -> LatchRecord | None:
        """None when nothing is latched. Raises nothing."""
        try:
            folder = _identity(self.path.parent)
            content = read_file(self.path)
            if content is None:
                return None
            # Another folder may have come into its place, as a backup that was put back.
            self._folder = folder
            return msgspec.json.decode(content, type=LatchRecord)
        except OSError as fault:
            return self._unread(f"{self.path} cannot be read: {fault.strerror}")
        except (msgspec.DecodeError, UnicodeDecodeError):
            return LatchRecord(f"{self.path} holds no latch that can be read", "", "nobody")

    def _unread(self, why: str) -> LatchRecord | None:
        """Ask once more, without opening a file, whether there is one."""
        try:
            self.path.lstat()
        except FileNotFoundError:
            return None
        except OSError:
            return LatchRecord(why, "", UNSEEN)
        return LatchRecord(why, "", "nobody")

    def set(self, reason: str, by: str, wall_ns: int) -> LatchRecord:
        """Latch durably; returns the record that is now in the file. Raises LatchFault when the
        disk refuses.

        by: breaker, contradiction, crash-loop or reaper. wall_ns: for a person only.
        """
        standing = self.read_latch()
        if standing is not None and not standing.is_doubt:
            if by != CONTRADICTION or standing.by == CONTRADICTION:
                return standing
            reason = f"{reason} Before that, {standing.by}: {standing.reason}"
        record = LatchRecord(reason[:_REASON_MAX], instant.from_ns(wall_ns), by)
        try:
            replace_file(self.path, msgspec.json.encode(record) + b"\n")
        except OSError as fault:
            raise LatchFault(f"{self.path} cannot be written: {fault.strerror}") from None
        return record

    def clear(self) -> bool:
        """Remove the latch; True if there was one. Raises LatchFault when the disk refuses."""
        try:
            return remove_file(self.path)
        except OSError as fault:
            raise LatchFault(f"{self.path} cannot be removed: {fault.strerror}") from None


def _identity(folder: Path) -> tuple[int, int] | None:
    """None when there is no such folder."""
    try:
        shown = folder.stat()
    except OSError:
        return None
    return shown.st_dev, shown.st_ino


BY: Final = "crash-loop"
UNCLEAN_ENDS: Final = 3
WITHIN_NS: Final = 600 * NS_PER_SECOND

_CRASHES: Final = "crashes.json"
_KEPT: Final = 20
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class TwoClocks(msgspec.Struct, frozen=True):
    """One instant on both clocks; the monotonic one counts within one boot of the machine."""

    boot: str
    monotonic_ns: int
    wall_ns: int

    def since_ns(self, earlier: "TwoClocks") -> int:
        if self.boot and self.boot == earlier.boot:
            return max(0, self.monotonic_ns - earlier.monotonic_ns)
        return max(0, self.wall_ns - earlier.wall_ns)


class _File(msgspec.Struct, frozen=True):
    """running: since when a run is on, None after a clean end. unclean: when starts found an
    unclean end, oldest first."""

    running: TwoClocks | None = None
    unclean: tuple[TwoClocks, ...] = ()


def now() -> TwoClocks:
    boot = ""
    with contextlib.suppress(OSError):
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
    return TwoClocks(boot, time.monotonic_ns(), time.time_ns())


class CrashLog:
    """The record of one state directory, whose lock the caller holds."""

    def __init__(self, folder: Path, now: Callable[[], TwoClocks] = now) -> None:
        self._path = folder / _CRASHES
        self._latch = KillSwitchFile(folder)
        self._now = now

    def mark_begun(self) -> LatchRecord | None:
        """Mark a run as on. Returns the latch, None when nothing is latched.

        Raises LatchFault when this bot is to stay down, or when the disk refuses the mark.
        """
        at = self._now()
        known = self._read_file(at)
        unclean = known.unclean
        if known.running is not None:
            unclean = (*unclean, at)[-_KEPT:]
        late = [each for each in unclean if at.since_ns(each) <= WITHIN_NS]
        loops = known.running is not None and len(late) >= UNCLEAN_ENDS
        standing = self._latch.read_latch()
        stays_down = loops or (standing is not None and standing.by == BY)
        # Down already: the next start must not find an unclean end of a run that never was.
        self._write_file(_File(None if stays_down else at, unclean))
        if loops and (standing is None or standing.is_doubt):
            text = f"{len(late)} unclean ends within {WITHIN_NS // (60 * NS_PER_SECOND)} minutes"
            standing = self._latch.set(text, BY, at.wall_ns)
        if stays_down:
            assert standing is not None
            raise LatchFault(
                f"stays down since {standing.at or 'unknown'}: {standing.reason}; see the log; "
                "`bot reset CONFIG` lets the next start quote"
            )
        return standing

    @property
    def has_crashed(self) -> bool:
        """True if the newest run did not end cleanly, or crashes keep this bot down."""
        latch = self._latch.read_latch()
        is_down = latch is not None and latch.by == BY
        return is_down or self._read_file(self._now()).running is not None

    def mark_ended(self) -> None:
        """The run ended cleanly. Raises LatchFault when the disk refuses."""
        # A full disk is no crash.
        self._write_in_any_room(_File(None, self._read_file(self._now()).unclean))

    def forget_crashes(self) -> bool:
        """A person has looked: forget the unclean ends. True if there were any.

        A run that is on keeps its mark. Raises LatchFault when the disk refuses.
        """
        known = self._read_file(self._now())
        if not known.unclean:
            return False
        if known.running is not None:
            self._write_in_any_room(_File(known.running))
            return True
        try:
            return remove_file(self._path)
        except OSError as fault:
            raise LatchFault(f"{self._path}: {fault.strerror}") from None

    def _read_file(self, at: TwoClocks) -> _File:
        """An unreadable file counts as an unclean end."""
        try:
            content = read_file(self._path)
            return _File() if content is None else msgspec.json.decode(content, type=_File)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return _File(at)

    def _write_in_any_room(self, file: _File) -> None:
        """Write a shorter file, also on a full disk: half-written it reads as unclean."""
        try:
            self._write_file(file)
        except LatchFault as fault:
            try:
                overwrite_file(self._path, _encoded(file))
            except OSError:
                raise fault from None

    def _write_file(self, file: _File) -> None:
        try:
            replace_file(self._path, _encoded(file))
        except OSError as fault:
            raise LatchFault(f"{self._path} cannot be written: {fault.strerror}") from None


def _encoded(file: _File) -> bytes:
    return msgspec.json.encode(file) + b"\n"
