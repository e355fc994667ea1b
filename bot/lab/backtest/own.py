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
from msgspec import Meta

from bot.io.faults import ShellFault
from bot.io.journal.journal import segments
from bot.lab.export.export import tell
from bot.lab.export.sheets import LibraryFault, Row, arrow_library
from venue.crowd.tape import TapeFault
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Outcome, Price, canonical
from venue.wire.strike import dollars_per_unit

_BOOKS: Final = "books.parquet"
_NEEDED: Final = ("rungs", "books", "prints")
_LEVELS: Final = ("bids", "asks", "own_bids", "own_asks")


def is_own(folder: Path) -> bool:
    """Whether a folder holds a journal, or tables that `bot export --parquet` wrote."""
    return folder.is_dir() and ((folder / _BOOKS).is_file() or bool(segments(folder)))


def write_tape(folder: Path, into: Path) -> None:
    """Write what a folder of ours recorded as a tape's folder. The same in gives the same out.

    Raises TapeFault when it cannot be read, and when no frame of a listed rung is in it.
    """
    try:
        taker = _Taker()
        if (folder / _BOOKS).is_file():
            _read_tables(folder, taker.take)
        else:
            damage = tell(segments(folder), taker.take)
            taker.warnings += damage
    except (ShellFault, LibraryFault) as fault:
        raise TapeFault(str(fault)) from None
    taker.write(folder, into)


class _Taker:
    """Keeps of the rows what a tape of the newest run needs."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._begin("")

    def _begin(self, run: str) -> None:
        self._run = run
        self._rungs: dict[str, Row] = {}
        self._lines: list[tuple[_Order, bytes]] = []
        self._books = self._ours = self._unfit = self._crossed = 0
        self._prints = self._made = self._met = 0
        self._seen: set[str] = set()

    def take(self, table: str, row: Row) -> None:
        """The next row of a table, in the order of the journal."""
        if table not in _NEEDED:
            return
        if row["run"] != self._run:
            self._begin(row["run"])
        if table == "rungs":
            self._rungs[row["ticker"]] = row
        elif not row["ticker"]:
            return
        elif table == "books" and row["source"] == "channel":
            self._book(row)
        elif table == "prints":
            self._print(row)

    def _book(self, row: Row) -> None:
        self._books += 1
        self._ours += bool(row["own_bids"] or row["own_asks"])
        self._unfit += not row["own_fits"]
        bids = _others(row["bids"], row["own_bids"])
        asks = _others(row["asks"], row["own_asks"])
        if bids and asks and max(bids)[0] > min(asks)[0]:
            self._crossed += 1  # the trader believed none of it, and no market can stand so
            return
        no = [[canonical(Outcome.NO, Price(price)), qty] for price, qty in asks]
        self._add(row, {"type": "book", "yes": bids, "no": no})

    def _print(self, row: Row) -> None:
        if row["trade_id"] in self._seen:
            return
        self._seen.add(row["trade_id"])
        self._prints += 1
        own = row["own"] or ""
        if own == "taker":
            self._made += 1
            return
        self._met += bool(own)
        bought = Outcome.YES if row["taker_bought_yes"] else Outcome.NO
        told = {"type": "trade", "price": row["price"], "qty": row["qty"], "taker_outcome": bought}
        self._add(row, told)

    def _add(self, row: Row, told: dict[str, Any]) -> None:
        line = {"ts": row["ts_ns"], "ticker": row["ticker"]} | told
        # Of one instant of the venue what came first goes first, and a print before its book.
        order = row["ts_ns"], row["at_ns"], told["type"] == "book"
        self._lines.append((order, msgspec.json.encode(line) + b"\n"))

    def write(self, folder: Path, into: Path) -> None:
        """The tape. Raises TapeFault when there is nothing to play."""
        if not self._lines:
            raise TapeFault(f"{folder}: no frame of a listed rung was recorded in its newest run")
        into.mkdir(parents=True)
        begun_ns = _begun_ns([order for order, _ in self._lines])
        lines = [_not_before(begun_ns, *line) for line in self._lines]
        lines.sort(key=lambda line: line[0])
        with (
            (into / "tape.jsonl.gz").open("wb") as file,
            gzip.GzipFile("", "wb", 1, file, mtime=0) as packed,
        ):
            packed.writelines(line for _, line in lines)
        warnings = [*self.warnings, *self._warned()]
        units = {row["strike_unit"] or "" for row in self._rungs.values() if row["strike"]}
        # A tape has one unit: the smallest, so that no strike gets more places than it had.
        unit = min(units, key=lambda text: (dollars_per_unit(text), text), default="")
        catalog = {
            "tape": f"run-{self._run[:10]}" if self._run else folder.resolve().name,
            "strike_unit": unit,
            "events": [*self._events(unit)],
            "warnings": warnings,
        }
        (into / "catalog.json").write_bytes(msgspec.json.encode(catalog))

    def _events(self, unit: str) -> Iterator[dict[str, Any]]:
        by_event: dict[str, list[Row]] = {}
        for row in self._rungs.values():
            by_event.setdefault(row["event_ticker"], []).append(row)
        for event, rows in by_event.items():
            rungs = [_rung(row, unit) for row in rows]
            yield {
                "event_ticker": event,
                "resolution_ns": rows[0].get("resolution_ns") or None,
                "rungs": rungs,
            }

    def _warned(self) -> Iterator[str]:
        run = f"run {self._run}" if self._run else "a run whose beginning is no longer kept"
        yield f"{run}: {self._books} books, {self._prints} prints"
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


_BEGINNING_NS: Final = 600 * NS_PER_SECOND

_Order = tuple[int, int, bool]
"""The venue's instant of a frame, when it arrived, and whether it is a book."""


def _begun_ns(orders: list[_Order]) -> int:
    """When the first frame to arrive set out, by the venue's clock: the least delay of any at the
    beginning, but for a hundredth of them, is the way itself and what the two clocks differ by."""
    first_ns = min(at_ns for _, at_ns, _ in orders)
    # Later the venue's clock may be set otherwise, and say nothing of the beginning any more.
    early = [(ts_ns, at_ns) for ts_ns, at_ns, _ in orders if at_ns <= first_ns + _BEGINNING_NS]
    delays = sorted(at_ns - ts_ns for ts_ns, at_ns in early)
    return first_ns - delays[len(delays) // 100]


def _not_before(begun_ns: int, order: _Order, line: bytes) -> tuple[_Order, bytes]:
    """A line of the tape, of this instant at the earliest."""
    ts_ns, at_ns, is_book = order
    if ts_ns >= begun_ns:
        return order, line
    told = msgspec.json.decode(line) | {"ts": begun_ns}
    return (begun_ns, at_ns, is_book), msgspec.json.encode(told) + b"\n"


def _others(levels: Any, own: Any) -> list[list[int]]:
    mine = dict(own or ())
    rows = ([price, qty - mine.get(price, 0)] for price, qty in levels or ())
    return [row for row in rows if row[1] > 0]


def _rung(row: Row, unit: str) -> dict[str, Any]:
    winner = row["winner"] or None
    strike = _strike_in(unit, row["strike"], row["strike_unit"]) if row["strike"] else "0"
    told = {"ticker": row["ticker"], "strike": strike, "outcome": winner}
    # A single binary market is to a tape a bracket that stands alone.
    return told if row["strike"] else told | {"floor": "0", "cap": "0"}


def _strike_in(unit: str, strike: str, its_unit: str | None) -> str:
    """A strike in a unit that is not larger than its own."""
    times = dollars_per_unit(its_unit) // dollars_per_unit(unit)
    return strike if times == 1 else f"{Decimal(strike) * times:f}"


_Price = Annotated[int, Meta(ge=1, le=99)]
_Size = Annotated[int, Meta(ge=1)]
_Text = str | None
"""An empty text is null in Parquet."""


class _Level(msgspec.Struct):
    """A level of a book, as Parquet has it."""

    price: _Price
    qty: _Size


_Side = tuple[_Level, ...]


class _RungRow(msgspec.Struct):
    """What is needed of a row of `rungs`."""

    run: _Text
    ticker: str
    event_ticker: str
    strike: _Text
    strike_unit: _Text
    resolution_ns: int | None
    winner: Literal["yes", "no", ""] | None


class _BookRow(msgspec.Struct):
    """The same of `books`. ts_ns: null in that of a read alone."""

    run: _Text
    at_ns: int
    ts_ns: int | None
    source: str
    ticker: _Text
    bids: _Side
    asks: _Side
    own_bids: _Side
    own_asks: _Side
    own_fits: bool


class _PrintRow(msgspec.Struct):
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


_ROWS: Final = {"rungs": _RungRow, "books": _BookRow, "prints": _PrintRow}


def _fault_of(table: str, row: Row) -> str:
    """What is wrong with a row of a table, whoever wrote it; empty where nothing is."""
    try:
        msgspec.convert(row, _ROWS[table])
    except msgspec.ValidationError as fault:
        return str(fault)
    if table == "books" and row["source"] == "channel" and row["ts_ns"] is None:
        return "a frame of the channel without ts_ns"
    for side in ("bids", "asks") if table == "books" else ():
        prices = [level["price"] for level in row[side]]
        if len(set(prices)) < len(prices):
            return f"{side} have a price twice"
    return ""


def _read_tables(folder: Path, take: Callable[[str, Row], None]) -> None:
    """The rows of the newest run of exported tables. Raises TapeFault and LibraryFault."""
    arrow = arrow_library()
    import pyarrow.parquet

    files = {}
    for name in _NEEDED:
        path = folder / f"{name}.parquet"
        with _told(path, arrow):
            files[name] = pyarrow.parquet.ParquetFile(path)
    listed, quoted, _ = (_runs(folder, name, files[name], arrow) for name in _NEEDED)
    newest = _newest(listed, quoted)
    for name, file in files.items():
        with _told(path := folder / f"{name}.parquet", arrow):
            rows = (row for batch in file.iter_batches() for row in batch.to_pylist())
            for number, row in enumerate(rows, start=1):
                if (row["run"] or "") != newest:
                    continue
                if fault := _fault_of(name, row):
                    raise TapeFault(f"{path}: row {number}: {fault}")
                plain = {key: "" if value is None else value for key, value in row.items()}
                take(name, _with_levels(plain))


@contextmanager
def _told(path: Path, arrow: Any) -> Iterator[None]:
    """What the library says of a file it cannot read is a TapeFault with the file's name."""
    try:
        yield
    except (OSError, arrow.ArrowException) as fault:
        raise TapeFault(f"{path}: {fault}") from None


def _runs(folder: Path, name: str, file: Any, arrow: Any) -> list[str]:
    """The runs of a table, the oldest first. Raises TapeFault."""
    path = folder / f"{name}.parquet"
    if "run" not in file.schema_arrow.names:
        raise TapeFault(f"{path}: no column `run`")
    with _told(path, arrow):
        column = file.read(columns=["run"]).column("run")
    return list(dict.fromkeys(each or "" for each in column.to_pylist()))


def _newest(listed: list[str], quoted: list[str]) -> str:
    """The newest run that either table knows: one may have seen no book, or no rungs."""
    if listed and (not quoted or quoted[-1] in listed):
        return listed[-1]
    return quoted[-1] if quoted else ""


def _with_levels(row: Row) -> Row:
    for key in _LEVELS:
        if key in row:
            row[key] = tuple((level["price"], level["qty"]) for level in row[key] or ())
    return row
