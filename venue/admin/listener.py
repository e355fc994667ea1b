"""Where the operator's interface listens, on this machine alone, and the file of its token."""

import fcntl
import hashlib
import ipaddress
import os
import secrets
import socket
import stat
from pathlib import Path
from typing import Final

UNIX: Final = "unix:"
_TOKEN_BYTES: Final = 32
_TOKEN_LENGTH_MIN: Final = 16
_TOKEN_LENGTH_MAX: Final = 256
_PORT_DIGITS: Final = 5
_TAKEN: Final = "another process listens there"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class ControlFault(Exception):
    """The interface cannot be offered as asked; `str()` says what and what to do."""


class AddressFault(ControlFault):
    """The address cannot be bound."""


def control_listener(text: str) -> socket.socket:
    """A bound socket for `unix:PATH` or `HOST:PORT` (port 0 takes a free one). A unix socket is for
    its owner only (0600); one that a dead process left is replaced. Raises ControlFault,
    AddressFault where the address is taken."""
    where = parsed_address(text)
    if isinstance(where, Path):
        return _unix_listener(where)
    host, port = where
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it; a reply goes out in two pieces and the second must not wait.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
    except OSError as fault:
        listener.close()
        why = f"cannot be bound: {fault.strerror}; try another port"
        raise AddressFault(f"control {text}: {why}") from None
    return listener


def parsed_address(text: str) -> Path | tuple[str, int]:
    """The path of a unix socket, or a loopback host and a port. Raises ControlFault."""
    if not text.startswith(UNIX):
        return _loopback(text)
    path = Path(text.removeprefix(UNIX))
    if not path.name:
        raise ControlFault(f"control {text!r}: a path is wanted, like {UNIX}state/venue.sock")
    return path


def control_address(listener: socket.socket) -> str:
    name = listener.getsockname()
    if isinstance(name, str):
        return f"{UNIX}{name}"
    host, port = name[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def token_sha256(path: Path) -> bytes:
    """SHA-256 of the token in a file, which is made (0600) when it is not there. Raises
    ControlFault for a link, a file that others can read or own, or one without a token: 16 to 256
    printable characters, no space."""
    try:
        return hashlib.sha256(_token_in(path).encode()).digest()
    except FileNotFoundError:
        return hashlib.sha256(_new_token(path).encode()).digest()


def read_token(path: Path) -> str:
    """The raw token of a file, for a client. Raises ControlFault as `token_sha256` does."""
    try:
        return _token_in(path)
    except FileNotFoundError:
        raise ControlFault(f"{path}: no token file; `venue serve --control` makes one") from None


class _OwnSocket(socket.socket):
    """A unix socket that keeps a lock on its path for as long as it is open."""

    _lock: int | None = None

    def keep(self, lock: int) -> None:
        self._lock = lock

    def close(self) -> None:
        super().close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _unix_listener(path: Path) -> socket.socket:
    listener = _OwnSocket(socket.AF_UNIX)
    try:
        listener.keep(_locked(path))
        _remove_dead(path)
        # The mode counts from the first instant: nobody slips in between bind and chmod.
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
    except OSError as fault:
        listener.close()
        why = fault.strerror or str(fault)
        raise AddressFault(
            f"control {UNIX}{path}: cannot be bound: {why}; try another path"
        ) from None
    return listener


def _locked(path: Path) -> int:
    """A descriptor that holds the lock of a path. Raises OSError when another holds it. A venue
    that still reads its log does not listen yet: only the lock tells its socket from a dead one."""
    temporary = path.with_name(f".{path.name}.lock")
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    lock = os.open(temporary, flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise OSError(0, _TAKEN) from None
    return lock


def _remove_dead(path: Path) -> None:
    """Remove the socket that a dead process left. Raises OSError when it may not be removed."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise OSError(0, "there is a file that is no socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(0, _TAKEN)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _loopback(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    host = "127.0.0.1" if host == "localhost" else host
    if not colon or not is_loopback(host) or not (port.isascii() and port.isdigit()):
        accepted = f"{UNIX}PATH, or a loopback address like 127.0.0.1:8091"
        raise ControlFault(f"control {text!r}: accepted is {accepted}")
    # So many digits are no port whatever they come to, and too many are not even read.
    if len(port) > _PORT_DIGITS or int(port) > 65_535:
        raise ControlFault(f"control {text!r}: a port is 0 to 65535")
    return host, int(port)


def _token_in(path: Path) -> str:
    """The token in a file. Raises FileNotFoundError, ControlFault."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise ControlFault(f"{path}: not a file")
            if facts.st_mode & _OTHERS:
                raise ControlFault(f"{path}: others can read it; run chmod 600 {path}")
            if facts.st_uid != os.geteuid():
                raise ControlFault(f"{path}: belongs to another user")
            text = file.read(2 * _TOKEN_LENGTH_MAX)
    except FileNotFoundError:
        raise
    except OSError as fault:
        raise ControlFault(f"{path}: cannot be read: {fault.strerror}") from None
    token = text.strip()
    printable = all(0x21 <= byte <= 0x7E for byte in token)
    if not printable or not _TOKEN_LENGTH_MIN <= len(token) <= _TOKEN_LENGTH_MAX:
        raise ControlFault(
            f"{path}: holds no token: {_TOKEN_LENGTH_MIN} to {_TOKEN_LENGTH_MAX} printable "
            "characters without a space; remove it and a new one is made"
        )
    return token.decode("ascii")


def _new_token(path: Path) -> str:
    """A token, in a file that has its name only once all of it is on disk. Raises ControlFault."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="ascii") as file:
                file.write(f"{token}\n")
                file.flush()
                os.fsync(file.fileno())
            # Not renamed: of two that begin at once one must not take the other's token away.
            os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as fault:
        raise ControlFault(f"{path}: cannot be written: {fault.strerror}") from None
    return token
