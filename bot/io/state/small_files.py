"""Where the page of the bot that runs on a state directory is, for the commands that ask it.

Of several series in one process the page is that of the first; a port of 0, or one that the command
line names, is in no configuration. `<state>/page-address` says it in each case, while a bot holds
the folder.
"""

import contextlib
from pathlib import Path
from typing import Final

import msgspec

from bot.io.state.atomic_file import read_file, remove_file, replace_file
from bot.io.state.locks import StateFault, held_by_a_bot

_CONFIRMED: Final = "config-confirmed"


def confirm(state: Path, digest: str) -> None:
    """Store it. Raises OSError."""
    replace_file(state / _CONFIRMED, f"{digest}\n".encode())


def confirmed_digest(state: Path) -> str:
    """The digest that was confirmed last; empty for none, and where it cannot be read."""
    try:
        content = read_file(state / _CONFIRMED)
    except OSError:
        return ""
    return "" if content is None else content.decode("ascii", "replace").strip()


_REMAINS: Final = "remains.json"


class Remains(msgspec.Struct, frozen=True):
    """at: the wall clock's instant as text. refused: why the start was refused. verified: two lists
    have shown that nothing of ours rests. text: the same in one sentence, with every order that may
    rest. cancelled: orders that this start has cancelled."""

    at: str
    refused: str
    verified: bool
    text: str
    cancelled: int = 0


def keep_remains(folder: Path, remains: Remains) -> None:
    """Store them. A disk that refuses is no reason to say less on the way out."""
    with contextlib.suppress(OSError):
        replace_file(folder / _REMAINS, msgspec.json.encode(remains) + b"\n")


def read_remains(folder: Path) -> Remains | None:
    """What the newest refused start left; None where a run has begun since, or none was refused."""
    try:
        content = read_file(folder / _REMAINS)
        return None if content is None else msgspec.json.decode(content, type=Remains)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def forget_remains(folder: Path) -> None:
    """A run begins: what rests is its own business from here on."""
    with contextlib.suppress(OSError):
        remove_file(folder / _REMAINS)


_PAGE_ADDRESS: Final = "page-address"

HERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
"""Where a page that listens everywhere is found on its own machine. No name, which may lead to
somebody else's: the token goes there."""


def keep_page(folder: Path, address: str) -> None:
    """Write down where the page of the run that begins is. A disk that takes nothing is told by
    whoever needs it: the configuration may lead there all the same, and the address of a run
    before, which goes, would not."""
    try:
        replace_file(folder / _PAGE_ADDRESS, f"{address}\n".encode())
    except OSError:
        with contextlib.suppress(OSError):
            remove_file(folder / _PAGE_ADDRESS)


def page_kept(folder: Path) -> str:
    """The address of the page of the bot that runs on a folder, no slash at its end; "" where none
    runs there, or where that cannot be seen."""
    try:
        content = read_file(folder / _PAGE_ADDRESS) if held_by_a_bot(folder) else None
    except (OSError, StateFault):
        return ""
    return "" if content is None else content.decode("utf-8", "replace").strip().rstrip("/")
