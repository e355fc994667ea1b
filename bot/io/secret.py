"""A secret that cannot be shown by accident, read from a file or an environment variable."""

import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NoReturn

from bot.io.faults import OperatorError

MASK: Final = "[masked]"
_KEY_BYTES_MAX: Final = 4_096
_KEYS_BYTES_MAX: Final = 1024 * 1024
"""Of a JSON object of keys: those of every account holder of a venue."""

_taken: Final[dict[str, "Secret"]] = {}
"""Secrets from the environment, by variable: two parts of a configuration may name the same one."""


_aside: Final[dict[str, str]] = {}
"""Values taken out of the environment that nobody has asked for yet."""


class SecretFault(OperatorError):
    """A secret cannot be had. The text names the place and what to do, never the secret."""


class Secret:
    """Text that no repr, str, format, pickle or traceback of ours shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """For the one line that puts it into a request."""
        return self._text

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, _spec: str) -> str:
        return MASK

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a secret is not pickled or copied")


def checked(text: str, place: str, what: str = "API key") -> Secret:
    """The secret in `text`, trimmed. place, what: for the fault.

    Raises SecretFault when it is empty or holds a character that cannot be in a header: those are
    mistakes of copying.
    """
    trimmed = text.strip()
    if not trimmed:
        raise SecretFault(f"{place}: empty; put the {what} there")
    if not trimmed.isascii() or not trimmed.isprintable() or " " in trimmed:
        text = f"{place}: not one word of printable ASCII; copy the {_short(what)} again"
        raise SecretFault(text)
    return Secret(trimmed)


def from_file(path: Path, name: str | None = None, what: str = "API key") -> Secret:
    """The secret in a file: its whole text or, with a name, that entry of a JSON object of keys.

    Raises SecretFault when it cannot be read or holds no such key.
    """
    place = f"{_short(what)} file {path}"
    bytes_max = _KEY_BYTES_MAX if name is None else _KEYS_BYTES_MAX
    try:
        with path.open("rb") as file:
            raw = file.read(bytes_max + 1)
    except FileNotFoundError:
        made = "" if name is None else "; `venue serve` writes one with the keys of its users"
        raise SecretFault(f"{place}: there is no such file{made}") from None
    except OSError as fault:
        raise SecretFault(f"{place}: cannot be read: {fault.strerror}") from None
    if len(raw) > bytes_max:
        meant = f"one {what}" if name is None else "a JSON object of keys"
        raise SecretFault(f"{place}: too long for {meant}")
    if name is None:
        return checked(raw.decode("utf-8", errors="replace"), place, what)
    try:
        return checked(str(json.loads(raw)[name]), f"{place}, key {name!r}")
    except (ValueError, KeyError, TypeError, RecursionError):
        raise SecretFault(f"{place}: no JSON object with a key named {name!r}") from None


def _short(what: str) -> str:
    return what.removeprefix("API ")


def is_open_to_others(path: Path) -> bool:
    """True if others may read a key file: worth a warning only, because secrets that containers
    mount often are."""
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def set_aside(names: Iterable[str]) -> None:
    """Take these variables out of the environment, for `from_environment`, so that no child
    inherits them."""
    for name in names:
        if (text := os.environ.pop(name, None)) is not None:
            _aside[name] = text


def from_environment(name: str, what: str = "API key") -> Secret:
    """The secret in an environment variable, which is removed from the environment; the same if
    asked again.

    Raises SecretFault when the variable is not set or holds no key.
    """
    set_aside((name,))
    text = _aside.pop(name, None)
    if text is not None:
        _taken[name] = checked(text, f"environment variable {name}", what)
    if name not in _taken:
        raise SecretFault(
            f"environment variable {name}: not set; export it, or name a file instead"
        )
    return _taken[name]
