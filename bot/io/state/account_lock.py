"""One account, one bot on this host: a lock named after the venue and the key, whatever the folder.

The state directory keeps two bots off one folder; this keeps two folders off one account. The
name is a short hash of address and key, so the folder gives no key away. Locks stand in a folder
of the user's own under XDG_RUNTIME_DIR and under the directory for temporary files, both where
both are: a bot started by a service manager and one started at a terminal see different ones. A
bot on another host, in another container or on another key of the account is not seen here: its
orders are, as foreign ones.
"""

import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

from bot.io.faults import OperatorError
from bot.io.secret import Secret
from bot.io.state.state_directory import StateFault, open_lock, own_folder, try_lock

TRIES: Final = 5
TRY_AGAIN_S: Final = 0.1
"""Somebody who only looks whether the lock is held holds it himself for a moment."""

_NAME_DIGITS: Final = 16
_BYTES_MAX: Final = 8_192


class AccountFault(OperatorError):
    """Another bot of this host trades the account; the text names it as far as it is known."""


class Holder(msgspec.Struct, frozen=True):
    """Who holds an account. Fields are empty when the lock's file does not tell."""

    pid: int = 0
    state: str = ""

    def told(self) -> str:
        """The holder for a person."""
        if not self.pid:
            return "a bot"
        return f"the bot with process id {self.pid} and state directory {self.state}"


class AccountLock:
    """An account held by this process from `take` to `close`, on this host."""

    def __init__(self, handles: list[int]) -> None:
        self._handles = handles

    @classmethod
    def take(cls, base_url: str, key: Secret, state: Path) -> "AccountLock":
        """Hold the account, or raise AccountFault within a second when another bot does.

        state: this bot's state directory, told to whoever is refused. Raises StateFault when the
        lock cannot stand where it must: a link, a folder of another user, a full disk.
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
                    f"the account at {base_url}: {other.told()} trades it already; two bots on one "
                    "account fight. Stop that one, or give this one another account's key"
                )
            handles.append(handle)
            _write(handle, Holder(os.getpid(), str(state.absolute())))
        return cls(handles)

    def close(self) -> None:
        """Let go of the account; another bot may take it."""
        for handle in self._handles:
            os.close(handle)


def holder_of(base_url: str, key: Secret) -> Holder | None:
    """Who holds the account with this key on this host; None when nobody does."""
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
    """Tell the next one who holds it; a lock that cannot say so is a lock all the same."""
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, msgspec.json.encode(holder), 0)
    except OSError:
        return
