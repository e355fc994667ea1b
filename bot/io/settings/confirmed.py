"""Which content of a configuration file a person has confirmed, for changes that are asked about.

`bot config confirm` writes the digest of the file's effective content to the file
`config-confirmed` of the state directory; the bot that watches the file takes that content over.
"""

from pathlib import Path
from typing import Final

from bot.io.state.atomic_file import read_file, replace_file

_NAME: Final = "config-confirmed"


def confirm(state: Path, digest: str) -> None:
    """Store it. Raises OSError."""
    replace_file(state / _NAME, f"{digest}\n".encode())


def confirmed_digest(state: Path) -> str:
    """The digest that was confirmed last; empty for none, and where it cannot be read."""
    try:
        content = read_file(state / _NAME)
    except OSError:
        return ""
    return "" if content is None else content.decode("ascii", "replace").strip()
