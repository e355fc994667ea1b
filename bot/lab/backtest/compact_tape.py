"""The tapes of a folder, read and checked once, in a compact file of the same folder.

The file begins with a digest of the recorded files and of the program that read them, and a digest
of its own content. Where either differs, the recorded files are read again and the compact file is
replaced. A folder that cannot be written, or must not be, gets none. It holds no outcome.
"""

import hashlib
import stat
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec

from bot.io.state.atomic_file import replace_file
from venue.crowd import tape as reader
from venue.crowd.tape import BookRecord, Record, Tape, TapeLevels, TopRecord, TradeRecord
from venue.wire.money import Outcome

T = TypeVar("T", bound=Hashable)

NAME: Final = "tape.compact"
SOURCES: Final = ("catalog.json", "tape.jsonl.gz", "underlying.jsonl.gz")
"""All of a folder that is ever read as a tape; the last may be missing."""

_PROGRAM: Final = (Path(__file__), Path(reader.__file__))
_DIGEST_BYTES: Final = 32

_Row = tuple[int, int, int, int | None, int | None]
"""Number of the ticker, number of the kind, ns since the record before; then of a book the numbers
of its sides, of a trade price and size (below zero if the taker bought NO), of best prices both."""

_KINDS: Final[tuple[type[Record], ...]] = (BookRecord, TradeRecord, TopRecord)


class _CompactTape(msgspec.Struct, frozen=True):
    tape: Tape  # without its records and values
    values: int  # which of `_CompactFolder.values` are its own
    levels: tuple[tuple[int, int], ...]
    sides: tuple[tuple[int, ...], ...]  # numbers of levels
    rows: tuple[_Row, ...]


class _CompactFolder(msgspec.Struct, frozen=True):
    tapes: tuple[_CompactTape, ...]
    values: tuple[tuple[tuple[int, str], ...], ...]


_decoder: Final[msgspec.msgpack.Decoder[_CompactFolder]] = msgspec.msgpack.Decoder(_CompactFolder)


def tapes_kept(folder: Path, read: Callable[[Path], Iterable[Tape]]) -> list[Tape]:
    """Those of the compact file, or what `read` makes of the folder. Raises what `read` does."""
    try:
        sources = _digest_of_sources(folder)
        found = _loaded(folder / NAME, sources)
    except OSError:
        return [*read(folder)]  # it names the file that cannot be read
    if found is not None:
        return found
    tapes = [*read(folder)]
    with suppress(OSError):
        # An administrator could write here all the same.
        if folder.stat().st_mode & stat.S_IWUSR:
            content = msgspec.msgpack.encode(_compact(tapes))
            replace_file(folder / NAME, sources + hashlib.sha256(content).digest() + content)
    return tapes


def _digest_of_sources(folder: Path) -> bytes:
    digest = hashlib.sha256()
    for path in (*_PROGRAM, *(folder / name for name in SOURCES)):
        content = path.read_bytes() if path.exists() else b""
        digest.update(hashlib.sha256(content).digest())
    return digest.digest()


def _loaded(path: Path, sources: bytes) -> list[Tape] | None:
    """None if the file is missing, damaged, or of other sources."""
    if not path.is_file():
        return None
    whole = path.read_bytes()
    content = whole[2 * _DIGEST_BYTES :]
    if whole[: 2 * _DIGEST_BYTES] != sources + hashlib.sha256(content).digest():
        return None
    try:
        kept = _decoder.decode(content)
    except msgspec.MsgspecError:
        return None
    return [
        msgspec.structs.replace(
            each.tape, records=tuple(_records(each)), values=kept.values[each.values]
        )
        for each in kept.tapes
    ]


class _Numbers(Generic[T]):
    """Numbers different things as they come."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}

    def of(self, thing: T) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    @property
    def known(self) -> tuple[T, ...]:
        return tuple(self._numbers)


def _compact(tapes: Sequence[Tape]) -> _CompactFolder:
    values = _Numbers[tuple[tuple[int, str], ...]]()
    kept = tuple([_compact_tape(tape, values.of(tape.values)) for tape in tapes])
    return _CompactFolder(kept, values.known)


def _compact_tape(tape: Tape, values: int) -> _CompactTape:
    levels, sides = _Numbers[tuple[int, int]](), _Numbers[TapeLevels]()
    tickers = {ticker: number for number, ticker in enumerate(tape.sources)}
    rows: list[_Row] = []
    before_ns = 0
    for record in tape.records:
        first, second = _fields(record, sides)
        kind = _KINDS.index(type(record))
        rows.append((tickers[record.ticker], kind, record.ts - before_ns, first, second))
        before_ns = record.ts
    bare = msgspec.structs.replace(tape, records=(), values=())
    numbered = tuple([tuple(map(levels.of, side)) for side in sides.known])
    return _CompactTape(bare, values, levels.known, numbered, tuple(rows))


def _fields(record: Record, sides: _Numbers[TapeLevels]) -> tuple[int | None, int | None]:
    """The last two of a row."""
    if isinstance(record, BookRecord):
        return sides.of(record.yes), sides.of(record.no)
    if isinstance(record, TradeRecord):
        bought_yes = record.taker_outcome is Outcome.YES
        return record.price, record.qty if bought_yes else -record.qty
    return record.yes_bid, record.yes_ask


def _records(kept: _CompactTape) -> Iterator[Record]:
    level = kept.levels.__getitem__
    sides = [tuple(map(level, side)) for side in kept.sides]
    tickers = kept.tape.sources
    at_ns = 0
    for ticker, kind, passed_ns, first, second in kept.rows:
        at_ns += passed_ns
        if kind == _KINDS.index(TopRecord):
            yield TopRecord(at_ns, tickers[ticker], first, second)
            continue
        assert first is not None and second is not None
        if kind == _KINDS.index(BookRecord):
            yield BookRecord(at_ns, tickers[ticker], sides[first], sides[second])
        else:
            bought = Outcome.YES if second > 0 else Outcome.NO
            yield TradeRecord(at_ns, tickers[ticker], first, abs(second), bought)
