"""The tables of an export and the files that they become: comma-separated values, or Parquet.

A file is written beside its place and takes it once all tables are whole: what was there before is
replaced, and what breaks off leaves it as it was.

Of comma-separated values a text that a spreadsheet would take for a formula (it begins with =, +,
-, @, a tab or a line's end) stands behind an apostrophe; numbers are never such a text. In Parquet
every text is as it was, times are 64-bit integers, prices 16-bit ones, the levels of a book a list
of price and size, and texts of few values dictionaries; a number that its column cannot hold, such
as the time of a book that never traded (S28), is left empty.
"""

import csv
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bot.records.cells import cell_text

if TYPE_CHECKING:
    import pyarrow

COLUMNS: Final = {
    "rungs": "run market_id ticker event_ticker series_ticker strike strike_unit resolution_ns "
    "winner",
    "books": "run at_ns ts_ns source market_id ticker bid bid_qty ask ask_qty bids asks "
    "own_bids own_asks own_fits",
    "prints": "run at_ns ts_ns market_id ticker trade_id price qty taker_bought_yes own",
    "requests": "run request_id at_ns answered_ns request market_id ticker order_id "
    "client_order_id side price qty again key why answer status code reason order_status "
    "remaining_qty filled_qty tokens_left",
    "fills": "run at_ns created_ns fill_id trade_id order_id market_id ticker side price qty "
    "fee_cents liquidity",
}
"""The tables and their columns, in order."""

LEVELS: Final = frozenset(("bids", "asks", "own_bids", "own_asks"))
"""Columns that hold a side of a book: prices and sizes, best first."""

PRICES: Final = frozenset(("price", "bid", "ask"))
FLAGS: Final = frozenset(("taker_bought_yes", "again", "own_fits"))
SMALL: Final = frozenset(("status", "tokens_left"))
_PRICE_MAX: Final = 2**15 - 1
_SMALL_MAX: Final = 2**31 - 1
_UNIQUE: Final = frozenset(
    ("trade_id", "order_id", "client_order_id", "fill_id", "reason", "strike", "why")
)
"""Texts that hardly ever come twice, or say anything."""

BIG_MAX: Final = 2**63 - 1
"""The largest number of a column of 64 bits."""

ROWS_AT_ONCE: Final = 20_000
"""Rows of a group of a Parquet file, which are kept in memory until it is written."""

Row = dict[str, Any]


class LibraryFault(Exception):
    """A library that is not installed is needed; the text says which command installs it."""


class CsvSheet:
    """A table as comma-separated values."""

    suffix = ".csv"

    def __init__(self, path: Path, name: str) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.DictWriter(self._file, COLUMNS[name].split(), lineterminator="\n")
        self._writer.writeheader()

    def add(self, row: Row) -> None:
        """One more row; a column that it does not name stays empty."""
        self._writer.writerow({key: _cell(key, value) for key, value in row.items()})

    def close(self) -> None:
        self._file.close()


def _cell(key: str, value: Any) -> Any:
    if key in LEVELS:
        return " ".join(f"{price}x{size}" for price, size in value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return cell_text(value)
    return value


class ParquetSheet:
    """A table as Parquet. Raises LibraryFault where pyarrow is not installed."""

    suffix = ".parquet"

    def __init__(self, path: Path, name: str) -> None:
        arrow = arrow_library()
        import pyarrow.parquet

        self._arrow = arrow
        self._schema = schema_of(name)
        self._writer = pyarrow.parquet.ParquetWriter(str(path), self._schema, compression="zstd")
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        """As of a `CsvSheet`."""
        self._rows.append(row)
        if len(self._rows) == ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        columns = []
        for field in self._schema:
            values = [_typed(field.name, row.get(field.name)) for row in self._rows]
            columns.append(self._arrow.array(values, field.type))
        self._writer.write_batch(self._arrow.RecordBatch.from_arrays(columns, schema=self._schema))
        self._rows.clear()

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._writer.close()


def _typed(key: str, value: Any) -> Any:
    """A value as its column has it; None for an empty one, and for a number out of its range."""
    if key in LEVELS:
        return [
            {"price": within(_PRICE_MAX, price), "qty": within(BIG_MAX, qty)}
            for price, qty in value or ()
        ]
    if value is None or value == "":
        return None
    if key in FLAGS:
        return bool(value)
    if isinstance(value, int):
        most = _PRICE_MAX if key in PRICES else _SMALL_MAX if key in SMALL else BIG_MAX
        return within(most, value)
    return value


def within(most: int, value: int) -> int | None:
    """A number, or None for one that is further from 0 than `most`."""
    return value if -most <= value <= most else None


def arrow_library() -> Any:
    """The library that reads and writes Parquet. Raises LibraryFault where it is not there."""
    try:
        import pyarrow
    except ImportError:
        raise LibraryFault("Parquet needs pyarrow: pip install laddermaker[lab]") from None
    return pyarrow


def schema_of(name: str) -> "pyarrow.Schema":
    """The types of a table's columns. Raises LibraryFault as `arrow_library` does."""
    arrow = arrow_library()
    few = arrow.dictionary(arrow.int32(), arrow.string())
    level = arrow.struct([("price", arrow.int16()), ("qty", arrow.int64())])

    types = dict.fromkeys(LEVELS, arrow.list_(level)) | dict.fromkeys(PRICES, arrow.int16())
    types |= dict.fromkeys(FLAGS, arrow.bool_()) | dict.fromkeys(SMALL, arrow.int32())
    types |= dict.fromkeys(_UNIQUE, arrow.string()) | {"request_id": arrow.int64()}

    def kind(column: str) -> Any:
        is_number = column.endswith(("_ns", "qty", "_cents"))
        return types.get(column, arrow.int64() if is_number else few)

    return arrow.schema([(column, kind(column)) for column in COLUMNS[name].split()])


KINDS: Final[Mapping[str, type[CsvSheet] | type[ParquetSheet]]] = {
    "csv": CsvSheet,
    "parquet": ParquetSheet,
}


class Sheets:
    """The tables of an export, in every kind of file that is wanted. rows: of each so far."""

    def __init__(self) -> None:
        self.rows = dict.fromkeys(COLUMNS, 0)
        self.sheets: dict[str, list[CsvSheet | ParquetSheet]] = {name: [] for name in COLUMNS}

    def add(self, name: str, row: Row) -> None:
        """One more row of a table."""
        self.rows[name] += 1
        for sheet in self.sheets[name]:
            sheet.add(row)


@contextmanager
def opened(folders: Mapping[str, Path]) -> Iterator[Sheets]:
    """The tables, to be filled until the block ends; then they take their places. folders: by kind
    of file, `csv` or `parquet`; made if need be.

    Raises LibraryFault, and OSError where a folder cannot be written.
    """
    with ExitStack() as parts:
        places: list[tuple[Path, Path]] = []
        tables = Sheets()
        with ExitStack() as open_ones:
            for kind, folder in folders.items():
                folder.mkdir(parents=True, exist_ok=True)
                for name in COLUMNS:
                    place = folder / f"{name}{KINDS[kind].suffix}"
                    part = place.with_name(f"{place.name}.part")
                    parts.callback(part.unlink, missing_ok=True)
                    sheet = KINDS[kind](part, name)
                    open_ones.callback(sheet.close)
                    tables.sheets[name].append(sheet)
                    places.append((part, place))
            yield tables
        for part, place in places:
            part.replace(place)
