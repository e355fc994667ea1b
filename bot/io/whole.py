"""A small file replaced whole: its content and its name are on disk before the caller goes on.

Written beside the old one under a name of this process, synced, renamed over it, and the folder
synced: whoever reads sees all of the old content or all of the new one, after a power cut too.

Source: reliability, rows 61, 66, 103, B13.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

BYTES_MAX: Final = 64 * 1024


def replace_file(path: Path, content: bytes) -> None:
    """Make this the file's content, mode 0600. Raises OSError, and then the old content stands."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(fresh, flags, 0o600)
        try:
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
