"""Directories whose entries outlive a power cut: made with their names on disk, and synced.

A file that is synced has its content on disk, and its name only once its directory is synced.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o700
_ABOVE_MODE: Final = 0o777
"""Of directories made on the way to one of our own, before the umask."""


def make_directory(path: Path) -> None:
    """Make a directory (0700) and those above it where they are missing, the name of each durable.

    Raises OSError.
    """
    missing = [each for each in (path, *path.parents) if not each.exists()]
    lowest = missing[-1].parent if missing else path
    # Whoever made it may have ended before its name was durable. Where one may not look, or what
    # cannot be synced, was made by somebody else.
    with contextlib.suppress(OSError):
        sync_directory(lowest.parent)
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE if each == path else _ABOVE_MODE, exist_ok=True)
        sync_directory(each.parent)


def sync_directory(path: Path) -> None:
    """Make what was created, renamed and removed in a directory durable. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
