"""The tapes of a folder: which there are, how their rungs ended, and copies without the future.

How a rung ended is read here and nowhere near a trader.
"""

import functools
import gzip
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.io.journal.journal import segments
from bot.lab.backtest.journal_tape import write_tape
from bot.lab.calibrate.calibrate import ends
from venue.crowd.tape import Tape as Tape
from venue.crowd.tape import TapeFault as TapeFault
from venue.crowd.tape import decode_record
from venue.crowd.tape import read_tapes as tapes_of
from venue.wire.money import Outcome
from venue.wire.names import MarketId

_CATALOG: Final = "catalog.json"
_TAPE: Final = "tape.jsonl.gz"
_INDEX: Final = "underlying.jsonl.gz"
FILES: Final = (_CATALOG, _TAPE, _INDEX)
"""All of a folder that is ever read as a tape; the last may be missing."""

_SCRATCH: Final[list[tempfile.TemporaryDirectory[str]]] = []
_MADE_OF: Final[dict[Path, Path]] = {}
_KEPT_OF_EVENT: Final = ("event_ticker", "resolution_ns")
_KEPT_OF_RUNG: Final = ("ticker", "strike", "floor", "cap")


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
        source = _MADE_OF.get(folder)
        if source is None:
            raise
        told = str(fault).removeprefix(f"{folder}/").removeprefix(f"{folder}: ")
        raise TapeFault(f"{source}: as a tape: {told}") from None


@functools.cache
def _made_of(folder: Path) -> Path:
    """A tape of a journal of ours."""
    into = Path(scratch("bot-tape-").name) / folder.name
    write_tape(folder, into)
    _MADE_OF[into] = folder
    return into


def scratch(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A new folder for what is made only to be read; it goes with this process, or by `tidy`."""
    folder = tempfile.TemporaryDirectory(prefix=prefix)
    _SCRATCH.append(folder)
    return folder


def tidy() -> None:
    """Take every `scratch` away, as where this process is about to end without a last word."""
    while _SCRATCH:
        _SCRATCH.pop().cleanup()


def warnings(folder: Path) -> tuple[str, ...]:
    """What a reader of a tape that was made of a recording of ours has to know; of any other
    nothing. Raises TapeFault."""
    if folder not in _MADE_OF:
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


def write_prefix(tape: Tape, folder: Path, until_ns: int, into: Path) -> None:
    """Write a tape's event as it was known at an instant: records and index up to it, of several
    symbols the one that is played, and of the catalogue nothing about how anything ended."""
    into.mkdir(parents=True)
    _write(into / _TAPE, [line for line in tape.lines if decode_record(line).ts <= until_ns])
    values = [
        msgspec.json.encode({"ts": at_ns, "symbol": "INDEX", "price": price}) + b"\n"
        for at_ns, price in tape.values
        if at_ns <= until_ns
    ]
    if values:
        _write(into / _INDEX, values)
    catalog: dict[str, Any] = msgspec.json.decode((folder / _CATALOG).read_bytes())
    (event,) = [each for each in catalog["events"] if each["event_ticker"] == tape.event]
    rungs = [_only(rung, _KEPT_OF_RUNG) for rung in event["rungs"]]
    told = _only(catalog, ("tape", "strike_unit"))
    told["events"] = [_only(event, _KEPT_OF_EVENT) | {"rungs": rungs}]
    (into / _CATALOG).write_bytes(msgspec.json.encode(told))


def _write(path: Path, lines: Sequence[bytes]) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.writelines(lines)


def _only(row: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: row[key] for key in keys if key in row}
