"""Our own recordings as tapes: a journal, or its Parquet tables, written in the tapes' format.

The newest run in them is taken, as far as it is kept: frames of the channel in the order of the
venue's own time, the rungs as they were listed last, and how they ended where the run saw it. Of
every book our own orders are taken off (`bot.lab.own_orders`), and prints that we made as taker
are left out, for without us they would not have been. A print that came to us as maker stays:
somebody wanted those shares. What others would have done without us is not to be had from any
recording.

A book that stood when the recording began stands in the tape from then on, however long before
that it had changed last: so all rungs begin together, as they did for whoever subscribed.

What a reader has to know of that is in the catalogue's `warnings`.
"""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, structs

from bot.io.faults import OperatorError
from bot.io.journal.journal import segments
from bot.lab.export.export import tell
from bot.lab.export.sheets import LEVELS, LibraryFault, arrow_library
from venue.crowd.tape import BookRecord, TapeFault, TradeRecord
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Outcome, Price, canonical
from venue.wire.strike import dollars_per_unit

_BOOKS: Final = "books.parquet"
_BEGINNING_NS: Final = 600 * NS_PER_SECOND

_Price = Annotated[int, Meta(ge=1, le=99)]
_Size = Annotated[int, Meta(ge=1)]
_Levels = tuple[tuple[_Price, _Size], ...]
_Text = str | None
"""An empty text is null in Parquet."""


class _Rung(msgspec.Struct):
    """What a tape needs of a row of `rungs`."""

    run: _Text
    ticker: str
    event_ticker: str
    strike: _Text
    strike_unit: _Text
    resolution_ns: int | None
    winner: Literal["yes", "no", ""] | None


class _Book(msgspec.Struct):
    """The same of `books`. ts_ns: null in that of a read alone."""

    run: _Text
    at_ns: int
    ts_ns: int | None
    source: str
    ticker: _Text
    bids: _Levels
    asks: _Levels
    own_bids: _Levels
    own_asks: _Levels
    own_fits: bool


class _Print(msgspec.Struct):
    """The same of `prints`."""

    run: _Text
    at_ns: int
    ts_ns: int
    ticker: _Text
    trade_id: str
    price: _Price
    qty: _Size
    taker_bought_yes: bool
    own: _Text


_Row = _Rung | _Book | _Print
_ROWS: Final[dict[str, type[_Row]]] = {"rungs": _Rung, "books": _Book, "prints": _Print}


def is_own(folder: Path) -> bool:
    """Whether a folder holds a journal, or tables that `bot export --parquet` wrote."""
    return folder.is_dir() and ((folder / _BOOKS).is_file() or bool(segments(folder)))


def write_tape(folder: Path, into: Path) -> None:
    """Write what a folder of ours recorded as a tape's folder. The same in gives the same out.

    Raises TapeFault when it cannot be read, and when no frame of a listed rung is in it.
    """
    tape = _NewestRun()

    def add(table: str, row: dict[str, Any]) -> None:
        kind: Any = _ROWS.get(table)
        if kind is not None:
            tape.take(kind(*(row.get(name) for name in kind.__struct_fields__)))

    try:
        if (folder / _BOOKS).is_file():
            _read_tables(folder, tape.take)
        else:
            tape.warnings += tell(segments(folder), add)
    except (OperatorError, LibraryFault) as fault:
        raise TapeFault(str(fault)) from None
    tape.write(folder, into)


class _NewestRun:
    """Keeps what a tape of the newest run needs of the rows. lines: when each arrived, and it."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._begin("")

    def _begin(self, run: str) -> None:
        self._run = run
        self._rungs: dict[str, _Rung] = {}
        self._lines: list[tuple[int, BookRecord | TradeRecord]] = []
        self._books = self._ours = self._unfit = self._crossed = 0
        self._made = self._met = 0
        self._prints: set[str] = set()

    def take(self, row: _Row) -> None:
        """The next row of a table, in the order of the journal."""
        if (row.run or "") != self._run:
            self._begin(row.run or "")
        if isinstance(row, _Rung):
            self._rungs[row.ticker] = row
        elif isinstance(row, _Book):
            if row.ticker and row.source == "channel":
                self._book(row, row.ticker)
        elif row.ticker and row.trade_id not in self._prints:
            self._print(row, row.ticker)

    def _book(self, row: _Book, ticker: str) -> None:
        self._books += 1
        self._ours += bool(row.own_bids or row.own_asks)
        self._unfit += not row.own_fits
        bids = _less(row.bids, row.own_bids)
        asks = _less(row.asks, row.own_asks)
        if bids and asks and max(bids)[0] > min(asks)[0]:
            self._crossed += 1  # the trader believed none of it, and no market can stand so
            return
        no = tuple((canonical(Outcome.NO, Price(price)), qty) for price, qty in asks)
        assert row.ts_ns is not None
        self._lines.append((row.at_ns, BookRecord(row.ts_ns, ticker, bids, no)))

    def _print(self, row: _Print, ticker: str) -> None:
        self._prints.add(row.trade_id)
        if row.own == "taker":
            self._made += 1
            return
        self._met += bool(row.own)
        bought = Outcome.YES if row.taker_bought_yes else Outcome.NO
        record = TradeRecord(row.ts_ns, ticker, row.price, row.qty, bought)
        self._lines.append((row.at_ns, record))

    def write(self, folder: Path, into: Path) -> None:
        """The tape. Raises TapeFault when there is nothing to play."""
        if not self._lines:
            raise TapeFault(f"{folder}: no frame of a listed rung was recorded in its newest run")
        into.mkdir(parents=True)
        begun_ns = self._begun_ns()
        lines = [
            (at_ns, each if each.ts >= begun_ns else structs.replace(each, ts=begun_ns))
            for at_ns, each in self._lines
        ]
        # Of one instant of the venue what came first goes first, and a print before its book.
        lines.sort(key=lambda line: (line[1].ts, line[0], isinstance(line[1], BookRecord)))
        with (
            (into / "tape.jsonl.gz").open("wb") as file,
            gzip.GzipFile("", "wb", 1, file, mtime=0) as packed,
        ):
            packed.writelines(msgspec.json.encode(record) + b"\n" for _, record in lines)
        units = {row.strike_unit or "" for row in self._rungs.values() if row.strike}
        # A tape has one unit: the smallest, so that no strike gets more places than it had.
        unit = min(units, key=lambda text: (dollars_per_unit(text), text), default="")
        catalog = {
            "tape": f"run-{self._run[:10]}" if self._run else folder.resolve().name,
            "strike_unit": unit,
            "events": self._events(unit),
            "warnings": [*self.warnings, *self._warned()],
        }
        (into / "catalog.json").write_bytes(msgspec.json.encode(catalog))

    def _begun_ns(self) -> int:
        """When the first frame to arrive set out, by the venue's clock: the least delay of any at
        the beginning, but for a hundredth of them, is the way itself and what the two clocks differ
        by. Later the venue's clock may be set otherwise, and say nothing of the beginning."""
        first_ns = min(at_ns for at_ns, _ in self._lines)
        early = [line for line in self._lines if line[0] <= first_ns + _BEGINNING_NS]
        delays = sorted(at_ns - record.ts for at_ns, record in early)
        return first_ns - delays[len(delays) // 100]

    def _events(self, unit: str) -> list[dict[str, Any]]:
        by_event: dict[str, list[_Rung]] = {}
        for row in self._rungs.values():
            by_event.setdefault(row.event_ticker, []).append(row)
        return [
            {
                "event_ticker": event,
                "resolution_ns": rows[0].resolution_ns,
                "rungs": [_rung(row, unit) for row in rows],
            }
            for event, rows in by_event.items()
        ]

    def _warned(self) -> Iterator[str]:
        run = f"run {self._run}" if self._run else "a run whose beginning is no longer kept"
        yield f"{run}: {self._books} books, {len(self._prints)} prints"
        if self._ours:
            yield f"our own orders were taken off {self._ours} books"
        if self._unfit:
            yield f"{self._unfit} books showed less than our own orders: nothing was left there"
        if self._crossed:
            yield f"{self._crossed} crossed books were left out"
        if self._made:
            yield f"{self._made} prints that we made as taker were left out; what they took is gone"
        if self._met:
            yield f"{self._met} prints came to orders of ours; they stay in it"


def _less(levels: _Levels, own: _Levels) -> _Levels:
    mine = dict(own)
    rows = ((price, qty - mine.get(price, 0)) for price, qty in levels)
    return tuple(row for row in rows if row[1] > 0)


def _rung(row: _Rung, unit: str) -> dict[str, Any]:
    """A rung of the catalogue, its strike in a unit that is not larger than its own. A single
    binary market is to a tape a bracket that stands alone."""
    told = {"ticker": row.ticker, "strike": row.strike or "0", "outcome": row.winner or None}
    if not row.strike:
        return told | {"floor": "0", "cap": "0"}
    times = dollars_per_unit(row.strike_unit) // dollars_per_unit(unit)
    return told if times == 1 else told | {"strike": f"{Decimal(row.strike) * times:f}"}


# --- exported tables ------------------------------------------------------------------------------


def _read_tables(folder: Path, take: Callable[[_Row], None]) -> None:
    """The rows of the newest run of exported tables. Raises TapeFault, with the file and the row
    where one is not as `bot export` writes it, and LibraryFault."""
    arrow = arrow_library()
    import pyarrow.parquet

    files = {}
    runs = {}
    for name in _ROWS:
        path = folder / f"{name}.parquet"
        with _faults_of(path, arrow):
            files[name] = file = pyarrow.parquet.ParquetFile(path)
            if "run" not in file.schema_arrow.names:
                raise TapeFault(f"{path}: no column `run`")
            column = file.read(columns=["run"]).column("run")
            runs[name] = [each or "" for each in column.to_pylist()]
    # One run may have seen no book, another no rungs.
    listed, quoted = runs["rungs"], runs["books"]
    newest = quoted[-1] if quoted and quoted[-1] not in listed else (listed or [""])[-1]
    for name, file in files.items():
        with _faults_of(path := folder / f"{name}.parquet", arrow):
            rows = (row for batch in file.iter_batches() for row in batch.to_pylist())
            for number, row in enumerate(rows, start=1):
                if (row["run"] or "") != newest:
                    continue
                try:
                    take(_checked(name, row))
                except msgspec.ValidationError as fault:
                    raise TapeFault(f"{path}: row {number}: {fault}") from None


@contextmanager
def _faults_of(path: Path, arrow: Any) -> Iterator[None]:
    """What the library says of a file it cannot read is a TapeFault with the file's name."""
    try:
        yield
    except (OSError, arrow.ArrowException) as fault:
        raise TapeFault(f"{path}: {fault}") from None


def _checked(table: str, row: dict[str, Any]) -> _Row:
    """A row of a table, whoever wrote it. Raises ValidationError."""
    for key in LEVELS & row.keys():
        if row[key] is not None:
            row[key] = [(level["price"], level["qty"]) for level in row[key]]
    found = msgspec.convert(row, _ROWS[table])
    if isinstance(found, _Book):
        if found.source == "channel" and found.ts_ns is None:
            raise msgspec.ValidationError("a frame of the channel without ts_ns")
        for side in ("bids", "asks"):
            if len(dict(getattr(found, side))) < len(getattr(found, side)):
                raise msgspec.ValidationError(f"{side} have a price twice")
    return found
