"""What a start that was refused left resting at the venue, for `bot check` and `bot reset` to say.

`<state>/remains.json` is written by the start that stays down, once it has cancelled what it could;
the next run that begins removes it.
"""

import contextlib
from pathlib import Path
from typing import Final

import msgspec

from bot.io.state.atomic_file import read_file, remove_file, replace_file

_NAME: Final = "remains.json"


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
        replace_file(folder / _NAME, msgspec.json.encode(remains) + b"\n")


def read_remains(folder: Path) -> Remains | None:
    """What the newest refused start left; None where a run has begun since, or none was refused."""
    try:
        content = read_file(folder / _NAME)
        return None if content is None else msgspec.json.decode(content, type=Remains)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def forget_remains(folder: Path) -> None:
    """A run begins: what rests is its own business from here on."""
    with contextlib.suppress(OSError):
        remove_file(folder / _NAME)
