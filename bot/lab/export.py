"""Turns journals into tables of rungs, books, prints, requests and fills: CSV or Parquet files.

Prices are canonical YES cents, times nanoseconds, sizes shares. The journal is read twice, because
only the whole of it shows which shares of a book were ours (`bot.lab.own_orders`).
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.core import messages as m
from bot.core.market_data.market_state import frame_of_read
from bot.io.journal.journal import read_segment
from bot.io.journal.records import Entry
from bot.lab.own_orders import OwnOrders, outcome_and_side
from bot.lab.progress import Counted, Progress, no_progress
from bot.records.output import cell_text
from venue.wire import instant, model
from venue.wire.money import Outcome, Side, book_side, canonical
from venue.wire.names import MarketId, Ticker


def columns_of(text: str, usual: str = "few") -> dict[str, str]:
    """The kinds by column of a text such as `run at_ns:int`. usual: the kind of one without."""
    named = (each.partition(":") for each in text.split())
    return {name: kind or usual for name, _, kind in named}


COLUMNS: Final = {
    "rungs": columns_of(
        "run market_id ticker event_ticker series_ticker strike:text strike_unit resolution_ns:int "
        "winner"
    ),
    "books": columns_of(
        "run at_ns:int ts_ns:int source market_id ticker bid:price bid_qty:int ask:price "
        "ask_qty:int bids:levels asks:levels own_bids:levels own_asks:levels own_fits:flag"
    ),
    "prints": columns_of(
        "run at_ns:int ts_ns:int market_id ticker trade_id:text price:price qty:int "
        "taker_bought_yes:flag own"
    ),
    "requests": columns_of(
        "run request_id:int at_ns:int answered_ns:int request market_id ticker order_id:text "
        "client_order_id:text side price:price qty:int again:flag key why:text answer status:small "
        "code reason:text order_status remaining_qty:int filled_qty:int tokens_left:small"
    ),
    "fills": columns_of(
        "run at_ns:int created_ns:int fill_id:text trade_id:text order_id:text market_id ticker "
        "side price:price qty:int fee_cents:int liquidity"
    ),
}
"""The columns in order. `few`: texts of few values; `levels`: prices and sizes, best first."""

_MOST: Final = {"price": 2**15 - 1, "small": 2**31 - 1, "int": 2**63 - 1}
"""The largest number that a column holds."""

ROWS_AT_ONCE: Final = 20_000  # of a Parquet file, kept in memory until they are written

Row = dict[str, Any]


class LibraryFault(Exception):
    """A library that is not installed is needed; the text says which command installs it."""


class CsvSheet:
    def __init__(self, path: Path, name: str) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.DictWriter(self._file, COLUMNS[name], lineterminator="\n")
        self._writer.writeheader()

    def add_row(self, row: Row) -> None:
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

    def add_row(self, row: Row) -> None:
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
    """None for an empty value, and for a number out of the column's range."""
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


class Sheets:
    def __init__(self) -> None:
        self.rows = dict.fromkeys(COLUMNS, 0)  # of each so far
        self.sheets: dict[str, list[CsvSheet | ParquetSheet]] = {name: [] for name in COLUMNS}

    def add_row(self, name: str, row: Row) -> None:
        self.rows[name] += 1
        for sheet in self.sheets[name]:
            sheet.add_row(row)


@contextmanager
def opened(folders: Mapping[str, Path]) -> Iterator[Sheets]:
    """The tables; when the block ends the files take their places. folders: by kind of file,
    created if needed. Raises LibraryFault and OSError."""
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


Add = Callable[[str, Row], None]


class Exported(msgspec.Struct, frozen=True):
    rungs: int  # rungs, books, prints, requests, fills: rows
    books: int
    prints: int
    requests: int
    fills: int
    damage: tuple[str, ...]  # the unreadable parts, a line for each segment


def export(
    paths: Sequence[Path], folders: Mapping[str, Path], progress: Progress = no_progress
) -> Exported:
    """Write the tables of these segments, oldest first. folders: as of `opened`. A damaged segment
    gives what precedes its damage. Raises JournalFault, LibraryFault and OSError."""
    with opened(folders) as sheets:
        damage = tell(paths, sheets.add_row, progress)
    return Exported(**sheets.rows, damage=damage)


def tell(paths: Sequence[Path], add: Add, progress: Progress = no_progress) -> tuple[str, ...]:
    """Give every row to `add`, with its table's name. Returns a line for each damaged segment."""
    damage: list[str] = []
    counted = Counted(progress)
    known = _Known()
    for entry in counted.count(_entries(paths, [])):
        known.on_message(entry.message)
    reader = _Reader(add, known)
    for entry in counted.count(_entries(paths, damage)):
        reader.on_entry(entry)
    reader.end_run()
    return tuple(damage)


def _entries(paths: Sequence[Path], damage: list[str]) -> Iterator[Entry]:
    for path in paths:
        segment = read_segment(path)
        yield from segment.entries()
        if segment.damaged_at is not None:
            damage.append(f"{path}: journal damaged at byte {segment.damaged_at}")


class _Known:
    """What the whole journal shows before rows are written; rungs as shown last."""

    def __init__(self) -> None:
        self.tickers: dict[MarketId, Ticker] = {}
        self.own: dict[str, OwnOrders] = {"": OwnOrders()}  # by run; runs on one account share it
        self.rungs: dict[str, dict[MarketId, tuple[model.Event, model.Market]]] = {"": {}}
        self.winners: dict[tuple[str, str], str] = {}  # what rungs paid
        self._run = ""

    def on_message(self, message: m.Event | m.Effect) -> None:
        match message:
            case m.Started(boot_nonce=nonce, new_account=is_new):
                self.own[nonce] = OwnOrders() if is_new else self.own[self._run]
                self.rungs[nonce] = {}
                self._run = nonce
            case m.Noted(name="rung_settled", fields=fields):
                self.winners[self._run, str(fields["market_id"])] = str(fields["winner"])
            case m.Response(answer=m.Ok(body=m.SeriesBody(events=events))):
                for event in events:
                    for rung in event.markets:
                        self.tickers[rung.market_id] = rung.ticker
                        self.rungs[self._run][rung.market_id] = event, rung
            case _:
                self.own[self._run].on_message(message)


class _Reader:
    def __init__(self, add: Add, known: _Known) -> None:
        self._add = add
        self._known = known
        self._asked: dict[int, Row] = {}
        self._fills: set[str] = set()
        self._begin_run("")

    def on_entry(self, entry: Entry) -> None:
        match entry.message:
            case m.BookUpdate() as seen:
                self._book(entry.at_ns, seen, "channel")
            case m.Trade() as seen:
                row = self._of(entry.at_ns, seen.market_id)
                row |= {"ts_ns": seen.ts_ns, "trade_id": seen.trade_id, "price": seen.price}
                row |= {"qty": seen.size, "taker_bought_yes": seen.taker_bought_yes}
                self._add("prints", row | {"own": self._own.role(seen.trade_id)})
            case m.Send() as send:
                self._sent(entry.at_ns, send)
            case m.Response() as replied:
                self._replied(entry.at_ns, replied)
            case m.Started() as started:
                self.end_run()
                self._begin_run(started.boot_nonce)

    def end_run(self) -> None:
        for row in self._asked.values():
            self._add("requests", row | {"answer": "none"})
        self._asked.clear()

    def _begin_run(self, nonce: str) -> None:
        self._run = nonce
        self._own = self._known.own[nonce]
        for market_id, (event, rung) in self._known.rungs[nonce].items():
            row: Row = {"run": nonce, "market_id": market_id, "ticker": rung.ticker}
            row |= {"event_ticker": event.event_ticker, "series_ticker": event.series_ticker}
            row |= {"strike": rung.strike_value, "strike_unit": rung.strike_unit}
            with suppress(ValueError):  # an event of no time that can be read is not quoted
                row["resolution_ns"] = instant.to_ns(event.resolution_date)
            row["winner"] = self._known.winners.get((nonce, market_id))
            self._add("rungs", row)

    def _of(self, at_ns: int, market_id: MarketId) -> Row:
        ticker = self._known.tickers.get(market_id, "")
        return {"run": self._run, "at_ns": at_ns, "market_id": market_id, "ticker": ticker}

    def _book(self, at_ns: int, seen: m.BookUpdate, source: str) -> None:
        row = self._of(at_ns, seen.market_id) | {"ts_ns": seen.ts_ns, "source": source}
        for name, levels in (("bid", seen.bids), ("ask", seen.asks)):
            row[f"{name}s"] = levels
            if levels:
                row[name], row[f"{name}_qty"] = levels[0]
        others = self._own.without(seen)
        row |= {"own_bids": others.own_bids, "own_asks": others.own_asks}
        self._add("books", row | {"own_fits": not others.missing_qty})

    def _sent(self, at_ns: int, send: m.Send) -> None:
        row: Row = {"run": self._run, "at_ns": at_ns, "key": send.key.value, "why": send.why}
        row |= {"request_id": send.request_id, "request": type(send.request).__name__}
        match send.request:
            case m.Create(order=order) as request:
                row |= self._of(at_ns, order.market_id) | _side(order.outcome, order.side)
                row |= {"price": canonical(order.outcome, order.price), "again": request.again}
                row |= {"qty": order.qty, "client_order_id": order.client_order_id}
            case m.AmendResting() | m.CancelResting() | m.ReadOrder() as request:
                row["order_id"] = request.order_id
                known = self._own.get(request.order_id)
                if known is not None:
                    row |= self._of(at_ns, known.market_id) | _side(known.outcome, known.side)
                if isinstance(request, m.AmendResting):
                    row["qty"], price = request.amend.qty, request.amend.price
                    if known is not None and price is not None:
                        row["price"] = canonical(known.outcome, price)
            case m.ReadBook() as request:
                row |= self._of(at_ns, request.market_id)
        self._asked[send.request_id] = row

    def _replied(self, at_ns: int, replied: m.Response) -> None:
        answer = replied.answer
        row = self._asked.pop(replied.request_id, None)
        if row is not None:
            row |= {"answered_ns": at_ns, "answer": type(answer).__name__.lower()}
            row["tokens_left"] = replied.tokens_left
            if isinstance(answer, m.Rejected):
                row |= {"status": answer.status, "code": answer.code, "reason": answer.message}
            elif isinstance(answer, m.Unknown):
                row["reason"] = answer.reason
            elif isinstance(answer.body, m.OrderBody | m.CancelBody):
                shown = answer.body.order
                row |= {"order_id": shown.order_id, "order_status": shown.status.value}
                row |= {"remaining_qty": shown.remaining_qty, "filled_qty": shown.filled_qty}
            self._add("requests", row)
        match answer:
            case m.Ok(body=m.BookBody(book=book)):
                seen = frame_of_read(book)
                if seen is not None:
                    self._book(at_ns, seen, "read")
            case m.Ok(body=m.FillsBody(fills=fills)):
                for fill in reversed(fills):
                    self._filled(at_ns, fill)

    def _filled(self, at_ns: int, fill: model.Fill) -> None:
        if fill.fill_id in self._fills:
            return
        self._fills.add(fill.fill_id)
        row: Row = {"run": self._run, "at_ns": at_ns, "ticker": fill.ticker}
        with suppress(ValueError):  # of no time that can be read, as the bot books none of those
            row["created_ns"] = instant.to_ns(fill.created_at)
        row |= {"fill_id": fill.fill_id, "trade_id": fill.trade_id, "order_id": fill.order_id}
        row |= {"market_id": fill.market_id, "qty": fill.qty, "fee_cents": fill.fee_cents}
        row["liquidity"] = fill.liquidity.value
        own = outcome_and_side(fill)
        if own is not None:
            row |= _side(*own) | {"price": canonical(own[0], fill.outcome_price)}
        self._add("fills", row)


def _side(outcome: Outcome, side: Side) -> Row:
    return {"side": book_side(outcome, side).value}
