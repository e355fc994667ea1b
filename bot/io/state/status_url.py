"""Where the page of the bot that runs on a state directory is, for the commands that ask it.

Of several series in one process the page is that of the first; a port of 0, or one that the command
line names, is in no configuration. `<state>/page-address` says it in each case, while a bot holds
the folder.
"""

import contextlib
from pathlib import Path
from typing import Final

from bot.io.state.atomic_file import read_file, remove_file, replace_file
from bot.io.state.state_directory import StateFault, held_by_a_bot

_NAME: Final = "page-address"

HERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
"""Where a page that listens everywhere is found on its own machine. No name, which may lead to
somebody else's: the token goes there."""


def keep_page(folder: Path, address: str) -> None:
    """Write down where the page of the run that begins is. A disk that takes nothing is told by
    whoever needs it: the configuration may lead there all the same, and the address of a run
    before, which goes, would not."""
    try:
        replace_file(folder / _NAME, f"{address}\n".encode())
    except OSError:
        with contextlib.suppress(OSError):
            remove_file(folder / _NAME)


def page_kept(folder: Path) -> str:
    """The address of the page of the bot that runs on a folder, no slash at its end; "" where none
    runs there, or where that cannot be seen."""
    try:
        content = read_file(folder / _NAME) if held_by_a_bot(folder) else None
    except (OSError, StateFault):
        return ""
    return "" if content is None else content.decode("utf-8", "replace").strip().rstrip("/")
