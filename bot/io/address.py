"""Where the creates that a journal holds no answer for were sent: nowhere else are they sent again.

A create without an answer is re-sent byte for byte, which at another venue makes an order there, at
an old price, and settles nothing where it may rest. `<state>/venue-address` says where the last run
traded; a person who knows that another address leads to the same account may change it.

Source: reliability, rows 22, 25, 72, B4, B7.
"""

from pathlib import Path
from typing import Final

from bot.io.records import JournalFault
from bot.io.whole import read_file, replace_file

EMBEDDED: Final = "an embedded venue"
"""The address of every venue that began with its run and ended with it."""

_NAME: Final = "venue-address"


def keep_address(folder: Path, address: str, unanswered: int) -> None:
    """Write down where the run that begins now trades. unanswered: creates of earlier runs without
    an answer.

    Raises JournalFault, with nothing changed, when there are some and they were sent elsewhere, or
    when the file cannot be read or written. A state directory that does not say is believed.
    """
    path = folder / _NAME
    address = address.rstrip("/")
    try:
        content = read_file(path)
        before = None if content is None else content.decode("utf-8", "replace").strip()
        if before == address:
            return
        if before is not None and unanswered:
            raise JournalFault(
                f"{folder}: {unanswered} creates that were sent to {before} have no answer yet, "
                f"and this run would trade at {address}; run it there once more, or give this one "
                f"a folder of its own with --state-dir. If both lead to one account, write the "
                f"new address into {path}"
            )
        replace_file(path, f"{address}\n".encode())
    except OSError as fault:
        raise JournalFault(f"{path}: {fault.strerror}") from None
