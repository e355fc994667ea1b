"""The tapes of a folder: which there are, and how their rungs ended.

How a rung ended is read here and nowhere near a trader.
"""

import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.io.journal.journal import segments
from bot.lab.backtest.journal_tape import write_tape
from bot.lab.calibrate.calibrate import ends
from venue.crowd.tape import Tape as Tape
from venue.crowd.tape import TapeFault as TapeFault
from venue.crowd.tape import read_tapes as tapes_of
from venue.wire.money import Outcome
from venue.wire.names import MarketId

_CATALOG: Final = "catalog.json"
FILES: Final = (_CATALOG, "tape.jsonl.gz", "underlying.jsonl.gz")
"""All of a folder that is ever read as a tape; the last may be missing."""

_MADE: Final[dict[Path, tuple[Path, tempfile.TemporaryDirectory[str]]]] = {}
"""By the folder of each tape that was made here: what it was made of, and what is cleared away."""


def tape_folders(folder: Path) -> tuple[Path, ...]:
    """The folder itself where it is a tape, else the tapes in it, by name. Of a journal a tape is
    made, which stands until this process ends. Raises TapeFault when there are none."""
    try:
        if (folder / _CATALOG).exists():
            return (folder,)
        own = folder.is_dir() and bool(segments(folder))
        found = () if own else tuple(sorted(path.parent for path in folder.glob(f"*/{_CATALOG}")))
    except OSError as fault:  # such as in the folder of another user
        raise TapeFault(f"{folder}: {fault.strerror}") from None
    if own:
        return (_made_of(folder.resolve()),)
    if not found:
        raise TapeFault(
            f"{folder}: no tape here: neither a {_CATALOG} nor folders with one, nor a journal"
        )
    return found


def read_tapes(folder: Path) -> Iterator[Tape]:
    """Every event of a folder that has records, as `venue.crowd.tape` reads them. Raises TapeFault;
    of a tape that was made here it names what that was made of, for nobody finds the other."""
    try:
        yield from tapes_of(folder)
    except TapeFault as fault:
        if folder not in _MADE:
            raise
        source, _ = _MADE[folder]
        told = str(fault).removeprefix(f"{folder}/").removeprefix(f"{folder}: ")
        raise TapeFault(f"{source}: as a tape: {told}") from None


@functools.cache
def _made_of(folder: Path) -> Path:
    """A tape of a journal of ours."""
    scratch = tempfile.TemporaryDirectory(prefix="bot-tape-")
    into = Path(scratch.name) / folder.name
    _MADE[into] = folder, scratch
    write_tape(folder, into)
    return into


def tidy() -> None:
    """Clear away every tape that was made, as this process is about to end without a last word."""
    while _MADE:
        _MADE.popitem()[1][1].cleanup()


def warnings(folder: Path) -> tuple[str, ...]:
    """What a reader of a tape that was made of a recording of ours has to know; of any other
    nothing. Raises TapeFault."""
    if folder not in _MADE:
        return ()
    catalog: dict[str, Any] = msgspec.json.decode((folder / _CATALOG).read_bytes())
    return tuple(f"{catalog['tape']}: {text}" for text in catalog["warnings"])


def winners(tape: Tape, folder: Path) -> dict[MarketId, Outcome] | None:
    """What the rungs paid in the end of which the tape knows it; None where it does of none.

    Of brackets, a rung between two pays YES if one above it did. Raises TapeFault.
    """
    try:
        won = ends(folder).get(tape.event, {})
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise TapeFault(f"{folder / _CATALOG}: {fault}") from None
    found: dict[MarketId, Outcome] = {}
    for place, rung in enumerate(tape.rungs):
        above = tape.sources[place + 1 :] if tape.partition else tape.sources[place : place + 1]
        paid = [won.get(source) for source in above]
        if True in paid:
            found[rung.market_id] = Outcome.YES
        elif None not in paid:
            found[rung.market_id] = Outcome.NO
    return found or None
