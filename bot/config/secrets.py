"""Where a configuration finds keys and addresses, and their faults; never a
key itself."""

import difflib
import ipaddress
import os
import re
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from bot.config.strict_yaml import Place

Wrong = Callable[[Place, str], None]
"""Takes the place of a fault in the file, and its text."""

SHORT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}", re.ASCII)

VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
"""The name of an environment variable."""


class KeyPlace(msgspec.Struct, frozen=True):
    """Where a key comes from; exactly one of key_file and key_env is set.

    key_name: the entry of `key_file` if that is a JSON object of keys; None for a plain file.
    """

    key_file: Path | None
    key_name: str | None
    key_env: str | None

    @classmethod
    def of(cls, folder: Path, part: object, what: str = "key") -> "KeyPlace | None":
        """The place that a section names, a file taken from this folder; None if it names none.
        what: the beginning of the names of its keys there."""
        file, name, variable = (getattr(part, f"{what}_{end}", None) for end in _ENDS)
        if file is name is variable is None:
            return None
        return cls(None if file is None else file_in(folder, file), name, variable)


_ENDS: Final = ("file", "name", "env")


def file_in(folder: Path, text: str) -> Path:
    """A path from this folder; ~ and ~user are expanded. An unknown user stays as written, and
    reading the file reports it."""
    return folder / os.path.expanduser(text)  # noqa: PTH111 - pathlib's raises for such a user


def check_key(name: str, part: object, wrong: Wrong, what: str = "key") -> None:
    """One place of a key, and never the key itself. name: the section. what: as `KeyPlace.of`."""
    place = KeyPlace.of(Path(), part, what) or KeyPlace(None, None, None)
    file, variable = f"{what}_file", f"{what}_env"
    if (place.key_file is None) == (place.key_env is None):
        wrong((name,), f"exactly one of {file} and {variable} is wanted in {name}")
    if place.key_name is not None and place.key_file is None:
        wrong((name, f"{what}_name"), f"only with {file}")
    if place.key_env is not None and VARIABLE.fullmatch(place.key_env) is None:
        wrong((name, variable), "not the name of a variable; never write the key itself here")


def check_address(place: Place, text: str, schemes: tuple[str, str], wrong: Wrong) -> None:
    """An address without user, query or fragment; the plain scheme to loopback only."""
    plain, secure = schemes
    if not text.isprintable() or any(sign.isspace() or sign == "\\" for sign in text):
        # A reader may drop some of these, and so see another address than the next one does.
        wrong(place, "no white space, backslash or invisible sign in an address")
        return
    try:
        address = urllib.parse.urlsplit(text)
        host, _ = address.hostname, address.port
    except ValueError:
        wrong(place, "not an address")
        return
    if address.scheme not in schemes or not host:
        near = difflib.get_close_matches(address.scheme, schemes, n=1)
        meant = f"; did you mean {near[0]}://?" if near and address.scheme not in schemes else ""
        wrong(place, f"begins with {secure}:// and names a host{meant}")
    elif not text.startswith(f"{address.scheme}://"):
        wrong(place, f"begins with {address.scheme}:// in small letters")
    elif not names_a_host(address):
        names = "letters, digits, dots and hyphens, of other scripts in its xn-- form"
        wrong(place, f"no host can be called so; accepted: a name of {names}, or an IP address")
    elif address.username is not None or address.query or address.fragment:
        # It may be a secret, and is not shown.
        wrong(place, "no user, query or fragment in an address")
    elif address.scheme == plain and not is_loopback(host):
        wrong(place, f"{plain}:// is for loopback only; use {secure}://")


_LABEL: Final = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


def names_a_host(address: urllib.parse.SplitResult) -> bool:
    """True if every reader takes the host for the same one: names of other scripts, and names that
    end in a number, differ between readers."""
    host = address.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        last = host.removesuffix(".").rpartition(".")[2]
        is_name = _NAME.fullmatch(host) is not None and _NUMBER.fullmatch(last) is None
        return is_name and "[" not in address.netloc and _is_readable(host)
    return True


def _is_readable(host: str) -> bool:
    """True if every punycode part decodes."""
    if "xn--" not in host:
        return True
    import httpx

    try:
        return bool(httpx.URL(f"https://{host}").host)
    except (httpx.InvalidURL, UnicodeError):
        return False


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
