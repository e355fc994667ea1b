"""Locks: one process of a kind in a state directory, and one bot of this host on an account.

The account's lock is named by a hash of address and key, in a folder of the user under
XDG_RUNTIME_DIR and under the directory for temporary files: a service and a terminal see different
ones.
"""

import errno
import fcntl
import hashlib
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

from bot.io.faults import OperatorError
from bot.io.secret import Secret

BOT_LOCK: Final = "lock"
REAPER_LOCK: Final = "reaper-lock"
"""The reaper works in the folder of the bot that it watches."""

_OPEN_TO_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OF_THE_VOLUME: Final = frozenset({"lost+found"})
"""The entries of a new file system."""


class StateFault(OperatorError):
    """The state directory cannot be used; the text says what to do."""


class StateDirectory:
    """A folder held by this process from `open` to `close`."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def open(cls, path: Path, lock: str = BOT_LOCK, who: str = "bot") -> "StateDirectory":
        """Make the folder if need be and lock it for one process of a kind.

        lock, who: the lock's file and its holder, for the fault. Raises StateFault when the folder
        is a link or no folder, is not ours, cannot be written, or is locked.
        """
        _leave_what_is_not_ours(path)
        own_folder(path, "state directory")
        handle = open_lock(path / lock)
        if not try_lock(handle, path / lock):
            os.close(handle)
            raise StateFault(
                f"state directory {path}: another {who} is running on it; "
                "stop that one, or give this one its own with --state-dir"
            )
        return cls(path, handle)

    def close(self) -> None:
        os.close(self._lock)


def held_by_a_bot(path: Path) -> bool:
    """True if a bot runs on a state directory, which is not changed. Raises StateFault where that
    cannot be seen."""
    try:
        if not (path / BOT_LOCK).exists():
            return False
    except OSError as fault:  # such as the folder of another user
        raise StateFault(f"{path / BOT_LOCK}: {fault.strerror}") from None
    handle = open_lock(path / BOT_LOCK)
    try:
        return not try_lock(handle, path / BOT_LOCK)
    finally:
        os.close(handle)


def _leave_what_is_not_ours(path: Path) -> None:
    """Raise StateFault for a folder that is open to others, holds files and had no bot in it: we
    would close it to them. An empty one is taken, as a mounted volume is."""
    try:
        shown = path.lstat()
        if not stat.S_ISDIR(shown.st_mode) or not shown.st_mode & _OPEN_TO_OTHERS:
            return
        there = {each.name for each in path.iterdir()} - _OF_THE_VOLUME
    except OSError:  # not there yet, or reported when it is made
        return
    if there and not any(_is_lock(path / name) for name in (BOT_LOCK, REAPER_LOCK)):
        raise StateFault(
            f"state directory {path}: holds {len(there)} other files or folders and no bot's, and "
            "would be closed to everybody else; name a folder of its own"
        )


def _is_lock(path: Path) -> bool:
    """True for a lock of ours: a file that nothing is written to."""
    try:
        shown = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(shown.st_mode) and shown.st_size == 0


def own_folder(path: Path, what: str) -> None:
    """Make a folder of mode 0700 if need be. what: its name in a fault.

    Raises StateFault when it is a link or no folder, belongs to somebody else or to all, or cannot
    be made or written.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        shown = path.lstat()
    except OSError as fault:
        raise StateFault(f"{what} {path}: {fault.strerror}") from None
    if not stat.S_ISDIR(shown.st_mode):
        raise StateFault(f"{what} {path}: a link or a file; name the folder itself")
    if shown.st_uid != os.geteuid():
        raise StateFault(f"{what} {path}: belongs to another user; choose your own")
    if shown.st_mode & stat.S_ISVTX or path.resolve() == Path("/"):
        # Such as /tmp, or /: closed to the others it would be of no use to them any more.
        raise StateFault(f"{what} {path}: is there for all; name a folder of its own")
    try:
        path.chmod(0o700)
    except OSError as fault:  # such as on a file system that has become read-only
        raise StateFault(f"{what} {path}: {fault.strerror}") from None


def open_lock(path: Path) -> int:
    """The handle of a lock's file, made if need be. Raises StateFault."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise StateFault(f"{path}: {fault.strerror}") from None


def try_lock(handle: int, path: Path) -> bool:
    """Lock the open file `path` until its handle is closed. False when another process holds it.
    Raises StateFault where files cannot be locked."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as fault:
        if fault.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise StateFault(f"{path}: {fault.strerror}") from None
    return True


TRIES: Final = 5
TRY_AGAIN_S: Final = 0.1
"""A process that only checks the lock holds it for a moment."""

_NAME_DIGITS: Final = 16
_BYTES_MAX: Final = 8_192


class AccountFault(OperatorError):
    """Another bot of this host trades the account."""


class Holder(msgspec.Struct, frozen=True):
    """Who holds an account. Fields are empty when unknown."""

    pid: int = 0
    state: str = ""

    def description(self) -> str:
        if not self.pid:
            return "a bot"
        return f"the bot with process id {self.pid} and state directory {self.state}"


class AccountLock:
    """An account held by this process from `take` to `close`, on this host."""

    def __init__(self, handles: list[int]) -> None:
        self._handles = handles

    @classmethod
    def acquire(cls, base_url: str, key: Secret, state: Path) -> "AccountLock":
        """Hold the account, or raise AccountFault within a second when another bot does.

        state: shown to a process that is refused. Raises StateFault when the lock cannot be made.
        """
        handles: list[int] = []
        for path in _paths(base_url, key):
            handle = open_lock(path)
            for _ in range(TRIES):
                if try_lock(handle, path):
                    break
                time.sleep(TRY_AGAIN_S)
            else:
                other = _read(handle)
                for each in (handle, *handles):
                    os.close(each)
                raise AccountFault(
                    f"the account at {base_url}: {other.description()} trades it already; two bots "
                    "on one account fight. Stop that one, or give this one another account's key"
                )
            handles.append(handle)
            _write(handle, Holder(os.getpid(), str(state.absolute())))
        return cls(handles)

    def close(self) -> None:
        for handle in self._handles:
            os.close(handle)


def holder_of(base_url: str, key: Secret) -> Holder | None:
    """None while the account is free on this host."""
    for path in _paths(base_url, key):
        handle = open_lock(path)
        try:
            if not try_lock(handle, path):
                return _read(handle)
        finally:
            os.close(handle)
    return None


def _paths(base_url: str, key: Secret) -> list[Path]:
    text = f"{base_url.rstrip('/').lower()}\n{key.reveal()}"
    name = f"account-{hashlib.sha256(text.encode()).hexdigest()[:_NAME_DIGITS]}.lock"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    try:
        temporary = Path(tempfile.gettempdir())
    except OSError as fault:  # every one of them is full or read-only
        raise StateFault(f"folder of locks: {fault.strerror}") from None
    folders = [temporary / f"laddermaker-{os.geteuid()}"]
    if runtime and Path(runtime).is_dir():
        folders.insert(0, Path(runtime) / "laddermaker")
    for folder in folders:
        own_folder(folder, "folder of locks")
    return [folder / name for folder in folders]


def _read(handle: int) -> Holder:
    try:
        return msgspec.json.decode(os.pread(handle, _BYTES_MAX, 0), type=Holder)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return Holder()


def _write(handle: int, holder: Holder) -> None:
    """A lock that cannot name its holder is a lock all the same."""
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, msgspec.json.encode(holder), 0)
    except OSError:
        return
