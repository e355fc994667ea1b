"""The bot's own folder: for its owner only, nothing in it a link, one bot at a time.

Source: reliability, rows 63, 103.
"""

import errno
import fcntl
import os
import stat
from pathlib import Path

from bot.io.faults import ShellFault

_LOCK = "lock"


class StateFault(ShellFault):
    """The state directory cannot be used; the text says what to do."""


class StateDirectory:
    """A folder held by this process from `open` to `close`."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def open(cls, path: Path) -> "StateDirectory":
        """Make the folder if need be and lock it.

        Raises StateFault when it is a link or no folder, belongs to somebody else, cannot be
        written, or another bot holds it.
        """
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            shown = path.lstat()
        except OSError as fault:
            raise StateFault(f"state directory {path}: {fault.strerror}") from None
        if not stat.S_ISDIR(shown.st_mode):
            raise StateFault(f"state directory {path}: a link or a file; name the folder itself")
        if shown.st_uid != os.geteuid():
            raise StateFault(f"state directory {path}: belongs to another user; choose your own")
        path.chmod(0o700)
        return cls(path, _locked(path))

    def close(self) -> None:
        """Let go of the folder; another bot may take it."""
        os.close(self._lock)


def _locked(path: Path) -> int:
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise StateFault(f"{path / _LOCK}: {fault.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as fault:
        os.close(lock)
        if fault.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise StateFault(f"{path / _LOCK}: {fault.strerror}") from None
        raise StateFault(
            f"state directory {path}: another bot is running on it; "
            "stop that one, or give this one its own with --state-dir"
        ) from None
    return lock
