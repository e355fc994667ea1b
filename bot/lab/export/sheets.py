"""The tables of an export and the files that they become: comma-separated values, or Parquet.

A file is written beside its place and takes it once all tables are whole: what was there before is
replaced, and what breaks off leaves it as it was. In a file of text, a text that a spreadsheet
would take for a formula stands behind an apostrophe.
"""

import csv
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from bot.records.cells import cell_text


def _columns(text: str) -> dict[str, str]:
    named = (each.partition(":") for each in text.split())
    return {name: kind or "few" for name, _, kind in named}


COLUMNS: Final = {
    "rungs": _columns(
        "run market_id ticker event_ticker series_ticker strike:text strike_unit resolution_ns:int "
        "winner"
    ),
    "books": _columns(
        "run at_ns:int ts_ns:int source market_id ticker bid:price bid_qty:int ask:price "
        "ask_qty:int bids:levels asks:levels own_bids:levels own_asks:levels own_fits:flag"
    ),
    "prints": _columns(
        "run at_ns:int ts_ns:int market_id ticker trade_id:text price:price qty:int "
        "taker_bought_yes:flag own"
    ),
    "requests": _columns(
        "run request_id:int at_ns:int answered_ns:int request market_id ticker order_id:text "
        "client_order_id:text side price:price qty:int again:flag key why:text answer status:small "
        "code reason:text order_status remaining_qty:int filled_qty:int tokens_left:small"
    ),
    "fills": _columns(
        "run at_ns:int created_ns:int fill_id:text trade_id:text order_id:text market_id ticker "
        "side price:price qty:int fee_cents:int liquidity"
    ),
}
"""The tables: columns in order, and the kind of each. `few`: texts of few values; `levels`: prices
and sizes of a side of a book, best first."""

_MOST: Final = {"price": 2**15 - 1, "small": 2**31 - 1, "int": 2**63 - 1}
"""The largest number that a column of a kind holds."""

ROWS_AT_ONCE: Final = 20_000
"""Rows of a group of a Parquet file, which are kept in memory until it is written."""

Row = dict[str, Any]


class LibraryFault(Exception):
    """A library that is not installed is needed; the text says which command installs it."""


class CsvSheet:
    """A table as comma-separated values."""

    def __init__(self, path: Path, name: str) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.DictWriter(self._file, COLUMNS[name], lineterminator="\n")
        self._writer.writeheader()

    def add(self, row: Row) -> None:
        """One more row; a column that it does not name stays empty."""
        self._writer.writerow({key: _cell(value) for key, value in row.items()})

    def close(self) -> None:
        self._file.close()


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        return " ".join(f"{price}x{size}" for price, size in value)
    if isinstance(value, bool):
        return int(value)
    return cell_text(value) if isinstance(value, str) else value


class ParquetSheet:
    """A table as Parquet. Raises LibraryFault where pyarrow is not installed."""

    def __init__(self, path: Path, name: str) -> None:
        try:
            import pyarrow as arrow
            import pyarrow.parquet
        except ImportError:
            raise LibraryFault("Parquet needs pyarrow: pip install laddermaker[lab]") from None
        types = {
            "few": arrow.dictionary(arrow.int32(), arrow.string()),
            "text": arrow.string(),
            "price": arrow.int16(),
            "small": arrow.int32(),
            "int": arrow.int64(),
            "flag": arrow.bool_(),
            "levels": arrow.list_(arrow.struct([("price", arrow.int16()), ("qty", arrow.int64())])),
        }
        self._arrow = arrow
        self._kinds = COLUMNS[name]
        self._schema = arrow.schema([(key, types[kind]) for key, kind in self._kinds.items()])
        self._writer = pyarrow.parquet.ParquetWriter(str(path), self._schema, compression="zstd")
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        """As of a `CsvSheet`."""
        self._rows.append({key: _typed(kind, row.get(key)) for key, kind in self._kinds.items()})
        if len(self._rows) == ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_batch(self._arrow.RecordBatch.from_pylist(self._rows, self._schema))
        self._rows.clear()

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._writer.close()


def _typed(kind: str, value: Any) -> Any:
    """A value as its column has it; None for an empty one, and for a number out of its range."""
    if kind == "levels":
        return [
            {"price": _typed("price", price), "qty": _typed("int", qty)}
            for price, qty in value or ()
        ]
    if value is None or value == "" or (kind in _MOST and abs(value) > _MOST[kind]):
        return None
    return value


KINDS: Final[Mapping[str, type[CsvSheet] | type[ParquetSheet]]] = {
    "csv": CsvSheet,
    "parquet": ParquetSheet,
}
"""The kinds of files, each by the end of its names."""


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
    of file, as in `KINDS`; made if need be.

    Raises LibraryFault, and OSError where a folder cannot be written.
    """
    with ExitStack() as parts:
        places: list[tuple[Path, Path]] = []
        tables = Sheets()
        with ExitStack() as open_ones:
            for kind, folder in folders.items():
                folder.mkdir(parents=True, exist_ok=True)
                for name in COLUMNS:
                    place = folder / f"{name}.{kind}"
                    part = place.with_name(f"{place.name}.part")
                    parts.callback(part.unlink, missing_ok=True)
                    sheet = KINDS[kind](part, name)
                    open_ones.callback(sheet.close)
                    tables.sheets[name].append(sheet)
                    places.append((part, place))
            yield tables
        for part, place in places:
            part.replace(place)
