"""The crash loop: a bot that keeps dying stays down instead of quoting anew at every start.

`<state>/crashes.json` says that a run is on, and when earlier ones ended without taking that back.
A start that finds such a mark has found an unclean end; three within ten minutes latch. How long
ago something was is told by the machine's own monotonic clock while it has not been rebooted, so
that a stepped wall clock changes nothing; across a reboot by the wall clock, and what then seems to
lie ahead counts as just now.
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
"""Who set a latch of which the disk does not even say whether it is there."""

CONTRADICTION: Final = "contradiction"
"""Who latched where the books contradict each other: as `LatchedBy` says it."""

_LATCH: Final = "latch.json"
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
        self._path = folder / _LATCH
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


BY: Final = "crash-loop"
UNCLEAN_ENDS: Final = 3
WITHIN_NS: Final = 600 * NS_PER_SECOND

_CRASHES: Final = "crashes.json"
_KEPT: Final = 20
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class TwoClocks(msgspec.Struct, frozen=True):
    """One instant on both clocks; the monotonic one counts within one `boot` of the machine."""

    boot: str
    monotonic_ns: int
    wall_ns: int

    def since_ns(self, earlier: "TwoClocks") -> int:
        """How long ago `earlier` was, never below zero."""
        if self.boot and self.boot == earlier.boot:
            return max(0, self.monotonic_ns - earlier.monotonic_ns)
        return max(0, self.wall_ns - earlier.wall_ns)


class _File(msgspec.Struct, frozen=True):
    """running: since when a run is on, None after a clean end. unclean: when starts found that the
    run before them had not ended cleanly, oldest first."""

    running: TwoClocks | None = None
    unclean: tuple[TwoClocks, ...] = ()


def now() -> TwoClocks:
    """This instant."""
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

    def begin(self) -> LatchRecord | None:
        """A run begins: mark it. Returns the latch that stands, None when nothing is latched.

        Raises LatchFault when this bot is to stay down, or when the disk does not take the mark.
        """
        at = self._now()
        known = self._read(at)
        unclean = known.unclean
        if known.running is not None:
            unclean = (*unclean, at)[-_KEPT:]
        late = [each for each in unclean if at.since_ns(each) <= WITHIN_NS]
        loops = known.running is not None and len(late) >= UNCLEAN_ENDS
        standing = self._latch.read()
        stays_down = loops or (standing is not None and standing.by == BY)
        # Down already: the next start must not find an unclean end of a run that never was.
        self._write(_File(None if stays_down else at, unclean))
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
        latch = self._latch.read()
        is_down = latch is not None and latch.by == BY
        return is_down or self._read(self._now()).running is not None

    def end(self) -> None:
        """The run ended cleanly. Raises LatchFault when the disk does not take it."""
        # A full disk is no crash.
        self._write_in_any_room(_File(None, self._read(self._now()).unclean))

    def forget(self) -> bool:
        """A person has looked: forget every unclean end. Whether there was anything to forget.

        A run that is on keeps its mark. Raises LatchFault when the disk refuses.
        """
        known = self._read(self._now())
        if not known.unclean:
            return False
        if known.running is not None:
            self._write_in_any_room(_File(known.running))
            return True
        try:
            return remove_file(self._path)
        except OSError as fault:
            raise LatchFault(f"{self._path}: {fault.strerror}") from None

    def _read(self, at: TwoClocks) -> _File:
        """What the file says. One that cannot be read says that the run before ended uncleanly."""
        try:
            content = read_file(self._path)
            return _File() if content is None else msgspec.json.decode(content, type=_File)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return _File(at)

    def _write_in_any_room(self, file: _File) -> None:
        """Write what is shorter than what stands there, where there is room for nothing else, too:
        half-way it reads as an unclean end."""
        try:
            self._write(file)
        except LatchFault as fault:
            try:
                overwrite_file(self._path, _encoded(file))
            except OSError:
                raise fault from None

    def _write(self, file: _File) -> None:
        try:
            replace_file(self._path, _encoded(file))
        except OSError as fault:
            raise LatchFault(f"{self._path} cannot be written: {fault.strerror}") from None


def _encoded(file: _File) -> bytes:
    return msgspec.json.encode(file) + b"\n"
