"""A small file replaced whole: its content and its name are on disk before the caller goes on.

Written beside the old one under a name of this process, synced, renamed over it, and the folder
synced: whoever reads sees all of the old content or all of the new one, after a power cut too.
"""

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Final

BYTES_MAX: Final = 64 * 1024
FILE_BYTES_MAX: Final = 256 * 1024
"""The longest configuration file."""

_NAME_PART: Final = 50
"""Characters of a name that its successor bears: longer ones may be too long with an ending."""


_OURS: Final = secrets.token_hex(4)
"""Of this process, whatever its number: bot and reaper share a folder, and each is number 1 where
it has a container of its own."""


def replace_file(path: Path, content: bytes) -> None:
    """Make this the file's content, mode 0600. Raises OSError, and then the old content stands."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}-{_OURS}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(fresh, flags, 0o600)
    _put(handle, content, fresh, path)


def replace_named(path: Path, content: bytes) -> None:
    """Make this the content of a file that a person named: its mode stays, of a link the file at
    its end is replaced, and what is no plain file, such as a pipe, takes the bytes as they come.

    A folder that takes no other file has it overwritten in its place. Raises OSError, and elsewhere
    the old content stands then, or no file where there was none.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    whole = path.resolve()
    fresh = whole.with_name(f"{whole.name[:_NAME_PART]}.{os.getpid()}.new")
    try:
        fresh.unlink(missing_ok=True)  # of one that was killed: in a container all have one number
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except PermissionError:
        whole.write_bytes(content)
        return
    except OSError as fault:
        raise OSError(fault.errno, fault.strerror, str(path)) from None
    _put(handle, content, fresh, whole, keeps_mode=True)


def _put(handle: int, content: bytes, fresh: Path, path: Path, *, keeps_mode: bool = False) -> None:
    """Write a successor through its open handle, which is closed, and rename it over the file.

    keeps_mode: the file's own mode goes over to it, if there is one. Raises OSError, and then the
    successor is gone and the old content stands.
    """
    try:
        try:
            if keeps_mode and path.exists():
                os.fchmod(handle, stat.S_IMODE(path.stat().st_mode))
            left = memoryview(content)
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        fresh.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
    _sync_folder(path.parent)


def overwrite_file(path: Path, content: bytes) -> None:
    """Make this the content of a file that is there, in its own room: where a full disk has none
    for another one. Raises OSError; a crash on the way leaves what may not be readable."""
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        written = os.pwrite(handle, content, 0)
        os.ftruncate(handle, written)
        os.fsync(handle)
    finally:
        os.close(handle)


def read_file(path: Path) -> bytes | None:
    """The file's content, its first BYTES_MAX; None when there is no such file.

    Raises OSError when there is one that cannot be read, a link among them.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return os.read(handle, BYTES_MAX)
    finally:
        os.close(handle)


def remove_file(path: Path) -> bool:
    """Take the file away for good; whether there was one. Raises OSError."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    _sync_folder(path.parent)
    return True


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
