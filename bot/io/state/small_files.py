"""Small files of the state directory that one process leaves for another: a confirmed digest, what
a refused start left resting, and where the page of the running bot is."""

import contextlib
from pathlib import Path
from typing import Final

import msgspec

from bot.io.state.atomic_file import read_struct, read_word, remove_file, replace_file
from bot.io.state.locks import StateFault, held_by_a_bot

_CONFIRMED: Final = "config-confirmed"


def confirm(state: Path, digest: str) -> None:
    """Raises OSError."""
    replace_file(state / _CONFIRMED, f"{digest}\n".encode())


def confirmed_digest(state: Path) -> str:
    """The digest that was confirmed last; "" for none, and where it cannot be read."""
    return read_word(state / _CONFIRMED)


_REMAINS: Final = "remains.json"


class Remains(msgspec.Struct, frozen=True):
    """at: wall clock, as text. refused: why the start was refused. verified: two lists show that
    nothing of ours rests. text: the same with every order that may rest. cancelled: orders that
    this start cancelled."""

    at: str
    refused: str
    verified: bool
    text: str
    cancelled: int = 0


def keep_remains(folder: Path, remains: Remains) -> None:
    """A disk that refuses is ignored on the way out."""
    with contextlib.suppress(OSError):
        replace_file(folder / _REMAINS, msgspec.json.encode(remains) + b"\n")


def read_remains(folder: Path) -> Remains | None:
    """None where a run has begun since, or no start was refused."""
    return read_struct(folder / _REMAINS, Remains)


def forget_remains(folder: Path) -> None:
    with contextlib.suppress(OSError):
        remove_file(folder / _REMAINS)


_PAGE_ADDRESS: Final = "page-address"

HERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
"""Where a page that listens everywhere is found on its own machine. No name, which might lead
elsewhere: the token goes there."""


def keep_page(folder: Path, address: str) -> None:
    """Write the address. A disk that refuses is ignored; an old address is then removed."""
    try:
        replace_file(folder / _PAGE_ADDRESS, f"{address}\n".encode())
    except OSError:
        with contextlib.suppress(OSError):
            remove_file(folder / _PAGE_ADDRESS)


def page_kept(folder: Path) -> str:
    """The address of the running bot's page, without a final slash; "" where none is seen."""
    try:
        return read_word(folder / _PAGE_ADDRESS).rstrip("/") if held_by_a_bot(folder) else ""
    except StateFault:
        return ""
