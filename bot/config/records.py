"""The `records` and `notices` parts of the configuration file: what is kept of a run, who is told.

Passwords and addresses of webhooks are named by the file or the variable that has them, and never
stand in the configuration themselves.
"""

import os
import urllib.parse
from pathlib import Path
from typing import Final

import msgspec

from bot.config.secrets import VARIABLE, KeyPlace, Wrong, file_in, is_loopback
from bot.config.sections import NoticePart, Records
from bot.io.notices import Form, What
from bot.records.database import Address

SQLITE_NAME: Final = "records.sqlite3"
TARGETS_MAX: Final = 4
_POSTGRES_PORT: Final = 5_432


class RecordsSettings(msgspec.Struct, frozen=True):
    """Where the records are kept: in a PostgreSQL at `address`, else in `file`; None for the usual
    one in the state directory."""

    keep: bool
    file: Path | None
    address: Address | None
    password: KeyPlace | None
    keep_days: int


class NoticeSettings(msgspec.Struct, frozen=True):
    """A receiver, and where its address is."""

    address: KeyPlace
    form: Form
    what: frozenset[What]
    per_minute: int
    repeat_s: int


def records_settings(part: Records, folder: Path) -> RecordsSettings:
    """A checked part; files are taken from `folder`."""
    file = None if part.file is None else file_in(folder, part.file)
    place = KeyPlace.of(folder, part.postgres_password_file, None, part.postgres_password_env)
    named = place.key_file is not None or place.key_env is not None
    address = None
    if part.postgres_url is not None:
        url = urllib.parse.urlsplit(part.postgres_url)
        ca_file = part.postgres_ca_file
        address = Address(
            url.hostname or "",
            url.port or _POSTGRES_PORT,
            urllib.parse.unquote(url.username or ""),
            urllib.parse.unquote(url.path[1:]),
            tls=ca_file is not None or not is_loopback(url.hostname or ""),
            ca_file=None if ca_file is None else file_in(folder, ca_file),
        )
    return RecordsSettings(part.keep, file, address, place if named else None, part.keep_days)


def notice_settings(parts: tuple[NoticePart, ...], folder: Path) -> tuple[NoticeSettings, ...]:
    """The checked parts; files are taken from `folder`."""
    return tuple(
        NoticeSettings(
            KeyPlace.of(folder, part.url_file, None, part.url_env),
            part.form,
            frozenset(part.events),
            part.per_minute,
            part.repeat_s,
        )
        for part in parts
    )


# --- checks ---------------------------------------------------------------------------------------


def check_records(part: Records, folder: Path, wrong: Wrong) -> None:
    """What is wrong with the part as a whole; files are taken from `folder`."""
    # Not pathlib's, which raises for a folder that is not to be looked into.
    if part.file is not None and os.path.isdir(file_in(folder, part.file)):  # noqa: PTH112
        wrong(("records", "file"), f"{part.file!r} is a folder; accepted: the path of a file")
    if part.file is not None and part.postgres_url is not None:
        wrong(("records", "file"), "a file or postgres_url, not both")
    beside = ("postgres_password_file", "postgres_password_env", "postgres_ca_file")
    for name in beside:
        if getattr(part, name) is not None and part.postgres_url is None:
            wrong(("records", name), "only beside postgres_url")
    if part.postgres_password_file is not None and part.postgres_password_env is not None:
        wrong(("records", "postgres_password_env"), "a file or a variable, not both")
    _check_variable(part.postgres_password_env, ("records", "postgres_password_env"), wrong)
    if part.postgres_url is not None:
        _check_postgres(part.postgres_url, wrong)


def _check_postgres(text: str, wrong: Wrong) -> None:
    place = ("records", "postgres_url")
    try:
        url = urllib.parse.urlsplit(text)
        named = url.hostname, url.port
    except ValueError:
        wrong(place, "not an address")
        return
    if url.password is not None:
        # Not shown: it has been written where everybody reads it.
        wrong(place, "a password has no place here; name postgres_password_file or _env")
    elif url.scheme != "postgresql" or not (named[0] and url.username and url.path[1:]):
        wrong(place, "accepted: postgresql://user@host:port/database")
    elif url.query or url.fragment or "/" in url.path[1:]:
        wrong(place, "no query or fragment in it")


def check_notices(parts: tuple[NoticePart, ...], wrong: Wrong) -> None:
    """What is wrong with the list as a whole."""
    if len(parts) > TARGETS_MAX:
        wrong(("notices", TARGETS_MAX), f"{TARGETS_MAX} receivers at most")
    for number, part in enumerate(parts):
        if (part.url_file is None) == (part.url_env is None):
            wrong(("notices", number), "exactly one of url_file and url_env is wanted")
        _check_variable(part.url_env, ("notices", number, "url_env"), wrong)
        if not part.events:
            wrong(("notices", number, "events"), "at least one")


def _check_variable(name: str | None, place: tuple[str | int, ...], wrong: Wrong) -> None:
    if name is not None and VARIABLE.fullmatch(name) is None:
        wrong(place, "not the name of a variable; never write the secret itself here")
