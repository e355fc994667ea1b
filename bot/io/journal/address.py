"""Where the orders of a journal were sent: a run at another venue does not begin on top of them.

A create without an answer is re-sent byte for byte, which at another venue makes an order there, at
an old price; and what a killed run left resting would be asked about where it is not known, and
forgotten where it rests. `<state>/venue-address` says where the last run traded; a person who knows
that another address leads to the same account may change it.
"""

from pathlib import Path
from typing import Final

from bot.io.journal.memory import RecoveredState
from bot.io.journal.records import JournalFault
from bot.io.state.atomic_file import read_file, replace_file

EMBEDDED: Final = "an embedded venue"
"""The address of every venue that began with its run and ended with it."""

_NAME: Final = "venue-address"


def address_kept(folder: Path) -> str | None:
    """Where the last run traded; None where no file says it."""
    try:
        content = read_file(folder / _NAME)
    except OSError:
        return None
    return None if content is None else content.decode("utf-8", "replace").strip()


def keep_address(folder: Path, address: str, memory: RecoveredState) -> None:
    """Write down where the run that begins now trades. memory: what earlier runs left.

    Raises JournalFault, with nothing changed, when creates without an answer or orders that may
    rest are of another venue, or when the file cannot be read or written. A state directory that
    does not say is believed; what rested at an embedded venue is gone with it.
    """
    path = folder / _NAME
    address = address.rstrip("/")
    try:
        content = read_file(path)
        before = None if content is None else content.decode("utf-8", "replace").strip()
        if before == address:
            return
        unanswered = len(memory.open_intents)
        resting = 0 if before == EMBEDDED else len(memory.working)
        if before is not None and unanswered + resting:
            raise JournalFault(
                f"{folder}: of what was sent to {before}, {unanswered} creates have no answer yet "
                f"and {resting} orders may rest, and this run would trade at {address}; run it "
                "there once more, or give this one a folder of its own with --state-dir. If both "
                f"lead to one account, write the new address into {path}"
            )
        replace_file(path, f"{address}\n".encode())
    except OSError as fault:
        raise JournalFault(f"{path}: {fault.strerror}") from None
