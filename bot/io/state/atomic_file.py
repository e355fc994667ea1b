"""Small files replaced whole: content and name are on disk before the caller goes on.

Written under a temporary name, synced, renamed over the old file, and the folder synced: a reader
sees all of the old content or all of the new one, after a power cut too.
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
"""Characters of a name that its successor keeps, so that it is not too long."""


_OURS: Final = secrets.token_hex(4)
"""Of this process: bot and reaper share a folder, and in containers both have process number 1."""


def replace_file(path: Path, content: bytes) -> None:
    """Make this the file's content, mode 0600. Raises OSError; the old content then stays."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}-{_OURS}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(fresh, flags, 0o600)
    _put(handle, content, fresh, path)


def replace_named(path: Path, content: bytes) -> None:
    """Replace a file that a person named: its mode stays, a link's target is replaced, and a pipe
    gets the bytes.

    A folder that takes no other file has it overwritten in place. Raises OSError; elsewhere the old
    content then stays.
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

    keeps_mode: copy the old file's mode. Raises OSError; the successor is then gone and the old
    content stays.
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
    """Write a file in its own room, where a full disk has none for another. Raises OSError; a crash
    on the way leaves garbage."""
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        written = os.pwrite(handle, content, 0)
        os.ftruncate(handle, written)
        os.fsync(handle)
    finally:
        os.close(handle)


def read_file(path: Path) -> bytes | None:
    """The first BYTES_MAX of a file; None when there is none. Raises OSError when it cannot be
    read, or is a link."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return os.read(handle, BYTES_MAX)
    finally:
        os.close(handle)


def remove_file(path: Path) -> bool:
    """Remove for good; True if there was a file. Raises OSError."""
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
