"""Directories of our own: made durably, checked once, their files opened by name, never by a link.
A file's name is on disk only once its directory is synced."""

import contextlib
import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import Final, Self

from venue.storage.record import StateFault

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_PARENT_MODE: Final = 0o777

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What an operating system says when there is no room, by disk, by quota, by limit."""

_OURS: Final = os.O_NOFOLLOW | os.O_CLOEXEC
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_OPEN_TO_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_PID_TEXT_MAX: Final = 32
_UNFINISHED: Final = (".", ".new")


def make_directory(path: Path) -> None:
    """Make a directory (0700) and its missing parents, the name of each durable. Raises OSError."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    lowest = missing[-1].parent if missing else path
    # An earlier maker may have ended before its name was durable. A directory that we may not read
    # or cannot sync was made by somebody else.
    with contextlib.suppress(OSError):
        sync_directory(lowest.parent)
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE if each == path else _PARENT_MODE, exist_ok=True)
        sync_directory(each.parent)


def sync_directory(path: Path) -> None:
    """Make what was created, renamed and removed in a directory durable. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unfinished_names(prefix: str, suffix: str) -> tuple[str, str]:
    return _UNFINISHED[0] + prefix, suffix + _UNFINISHED[1]


def write_at(handle: int, data: bytes, offset: int) -> None:
    """Write all of it. Raises OSError when not all of it could be written."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(handle, rest, offset)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rest = rest[written:]
        offset += written


class Folder:
    """A directory held open. Names are plain file names in it."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def open(cls, path: Path, *, create: bool) -> Self:
        """The directory, made (0700) when it is not there and `create` says so. Raises StateFault
        for a link, no directory, another user's, or one that others may write to."""
        try:
            if path.is_symlink():
                raise StateFault(f"{path}: is a symbolic link; name the directory itself")
            if create:
                make_directory(path)
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _OURS)
        except OSError as fault:
            raise StateFault(f"{path}: cannot be opened: {fault.strerror}") from None
        status = os.fstat(handle)
        if status.st_uid != os.geteuid():
            os.close(handle)
            raise StateFault(f"{path}: belongs to another user; run as the one it belongs to")
        if status.st_mode & _WRITABLE_BY_OTHERS:
            os.close(handle)
            raise StateFault(f"{path}: others may write to it; chmod 700 {path}")
        return cls(path, handle)

    def close(self) -> None:
        os.close(self._handle)

    def names(self, prefix: str, suffix: str) -> list[str]:
        """The names in it with this beginning and end, sorted. Raises StateFault."""
        try:
            with os.scandir(self._handle) as entries:
                names = [entry.name for entry in entries]
        except OSError as fault:
            raise StateFault(f"{self.path}: cannot be listed: {fault.strerror}") from None
        return sorted(name for name in names if name.startswith(prefix) and name.endswith(suffix))

    def exists(self, name: str) -> bool:
        """True if something of this name, a link included, is in it."""
        try:
            os.stat(name, dir_fd=self._handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str, *, secret: bool = False) -> bytes:
        """All of a file. secret: refuse one that others may read or write. Raises StateFault."""
        handle = self.open_file(name, os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            if secret and os.fstat(handle).st_mode & _OPEN_TO_OTHERS:
                where = self.path / name
                raise StateFault(f"{where}: is not for its owner alone; chmod 600 {where}")
            try:
                return file.read()
            except OSError as fault:
                raise self._fault(name, "cannot be read", fault) from None

    def open_file(self, name: str, flags: int) -> int:
        """A descriptor of a regular file that is there. Raises StateFault when it cannot be had."""
        try:
            # Without waiting: a pipe in the place of a file would block for ever.
            handle = os.open(name, flags | _OURS | os.O_NONBLOCK, dir_fd=self._handle)
        except OSError as fault:
            raise self._fault(name, "cannot be opened", fault) from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise StateFault(f"{self.path / name}: is not a regular file")
        return handle

    def create(self, name: str) -> int:
        """A descriptor of a new file (0600). Raises OSError; the name must not be taken."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _OURS
        return os.open(name, flags, FILE_MODE, dir_fd=self._handle)

    def remove(self, name: str) -> None:
        os.unlink(name, dir_fd=self._handle)

    def sync(self) -> None:
        """Make what was created, renamed and removed in it durable. Raises OSError."""
        os.fsync(self._handle)

    def write_whole(self, name: str, data: bytes) -> None:
        """Write a file (0600) whole or not at all, durably. Raises StateFault."""
        temporary = f"{_UNFINISHED[0]}{name}{_UNFINISHED[1]}"
        try:
            with contextlib.suppress(FileNotFoundError):
                # What a crash left of an earlier try.
                self.remove(temporary)
            handle = self.create(temporary)
            try:
                write_at(handle, data, 0)
                os.fsync(handle)
            finally:
                os.close(handle)
            os.rename(temporary, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
            self.sync()
        except OSError as fault:
            with contextlib.suppress(OSError):
                self.remove(temporary)
            raise self._fault(name, "cannot be written", fault) from None

    def hold(self, what: str) -> None:
        """Hold the directory itself while it is open: a lock's file can be taken away. Raises
        StateFault."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateFault(
                f"{self.path}: {what} by another process; end that one first"
            ) from None
        except OSError:
            return  # a file system that locks files only

    def lock(self, name: str, what: str) -> int:
        """A descriptor that holds the lock of this name until it is closed or the process ends.
        what: what we do, for the second one to come. Raises StateFault at once when another holds
        it."""
        flags = os.O_RDWR | os.O_CREAT | _OURS
        try:
            handle = os.open(name, flags, FILE_MODE, dir_fd=self._handle)
        except OSError as fault:
            raise self._fault(name, "cannot be opened", fault) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(handle, 0)
            write_at(handle, str(os.getpid()).encode(), 0)
        except BlockingIOError:
            holder = os.pread(handle, _PID_TEXT_MAX, 0).decode("ascii", "replace")
            os.close(handle)
            who = f"process {holder}" if holder.isdecimal() else "another process"
            raise StateFault(f"{self.path}: {what} by {who}; end that one first") from None
        except OSError as fault:
            os.close(handle)
            raise self._fault(name, "cannot be locked", fault) from None
        return handle

    def _fault(self, name: str, what: str, fault: OSError) -> StateFault:
        return StateFault(f"{self.path / name}: {what}: {fault.strerror}")
