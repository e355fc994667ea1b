"""Small files replaced whole: a reader sees all of the old content or all of the new one, after a
power cut too."""

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import Final, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

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
    Raises OSError; the old content then stays. keeps_mode: copy the old file's mode."""
    try:
        try:
            if keeps_mode and path.exists():
                os.fchmod(handle, stat.S_IMODE(path.stat().st_mode))
            write_all(handle, content)
            os.fsync(handle)
        finally:
            os.close(handle)
        fresh.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
    sync_folder(path.parent)


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
    """The first BYTES_MAX of a file; None when there is none. Raises OSError, also for a link."""
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
    sync_folder(path.parent)
    return True


def read_word(path: Path) -> str:
    """The text of a file, trimmed; "" when there is none or it cannot be read."""
    try:
        return (read_file(path) or b"").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def read_struct(path: Path, kind: type[T]) -> T | None:
    """The struct in a file of JSON; None when there is none, or it cannot be read as one."""
    try:
        content = read_file(path)
        return None if content is None else msgspec.json.decode(content, type=kind)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def write_all(handle: int, data: bytes | bytearray) -> None:
    """Raises OSError, also when the disk takes nothing at all."""
    left = memoryview(data)
    while left:
        taken = os.write(handle, left)
        if taken == 0:
            raise OSError(errno.EIO, "the disk takes nothing")
        left = left[taken:]


def sync_folder(folder: Path) -> None:
    """Have the names of its files on disk. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
