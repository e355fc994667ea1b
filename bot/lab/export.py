"""Turns journals into four tables of comma-separated values: books, prints, requests and fills.

Every row says which run it is of and when it reached the bot. Prices are canonical YES cents, times
nanoseconds, sizes shares. A file appears once it is whole: one that was there before is replaced.

Source: docs/lab.md; design, law 7.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.core import messages as m
from bot.io.journal import segments
from bot.io.records import Entry, JournalFault, Segment
from venue.wire import instant, model
from venue.wire.money import Outcome, Side, book_side, canonical
from venue.wire.names import MarketId, OrderId, Ticker

COLUMNS: Final = {
    "books": "run at_ns ts_ns source market_id ticker bid bid_qty ask ask_qty bids asks",
    "prints": "run at_ns ts_ns market_id ticker trade_id price qty taker_bought_yes",
    "requests": "run request_id at_ns answered_ns request market_id ticker order_id "
    "client_order_id side price qty again key why answer status code reason order_status "
    "remaining_qty filled_qty tokens_left",
    "fills": "run at_ns created_ns fill_id trade_id order_id market_id ticker side price qty "
    "fee_cents liquidity",
}
"""The tables and their columns, in order."""

Row = dict[str, Any]


class Exported(msgspec.Struct, frozen=True):
    """How many rows each table got. damage: what could not be read, a line for each segment."""

    books: int
    prints: int
    requests: int
    fills: int
    damage: tuple[str, ...]


def export_csv(paths: Sequence[Path], folder: Path) -> Exported:
    """Write the tables of these segments, oldest first, into a folder, which is made if need be.

    A damaged segment gives what stands before its damage. Raises JournalFault for a segment that is
    none or of a version that is not known, and OSError when the folder cannot be written.
    """
    damage: list[str] = []
    tickers = _tickers(paths)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as parts:
        with ExitStack() as files:
            tables = {name: _Table(folder / f"{name}.csv", files, parts) for name in COLUMNS}
            reader = _Reader(tables, tickers)
            for entry in _entries(paths, damage):
                reader.take(entry)
            reader.end_run()
        for table in tables.values():
            table.keep()
    rows = {name: table.rows for name, table in tables.items()}
    return Exported(**rows, damage=tuple(damage))


def segments_meant(path: Path) -> list[Path]:
    """The segments of a state directory, oldest first, or the one that is named.

    Raises JournalFault when there is none.
    """
    found = segments(path) if path.is_dir() else [path]
    if not found or not all(each.is_file() for each in found):
        raise JournalFault(f"{path}: no journal here; name the state directory of a run")
    return found


def _entries(paths: Sequence[Path], damage: list[str]) -> Iterator[Entry]:
    for path in paths:
        segment = Segment(path.read_bytes(), str(path))
        yield from segment.entries()
        if segment.damaged_at is not None:
            damage.append(f"{path}: journal damaged at byte {segment.damaged_at}")


def _tickers(paths: Sequence[Path]) -> dict[MarketId, Ticker]:
    """The rungs that any read of the series showed: a frame names its market by id alone."""
    found: dict[MarketId, Ticker] = {}
    for entry in _entries(paths, []):
        message = entry.message
        if isinstance(message, m.Replied) and isinstance(message.answer, m.Done):
            body = message.answer.body
            if isinstance(body, m.SeriesShown):
                found |= {rung.market_id: rung.ticker for e in body.events for rung in e.markets}
    return found


class _Table:
    """One file, written beside its place until it is whole."""

    def __init__(self, path: Path, files: ExitStack, parts: ExitStack) -> None:
        self._path = path
        self._part = path.with_suffix(".csv.part")
        parts.callback(self._part.unlink, missing_ok=True)
        file = files.enter_context(self._part.open("w", encoding="utf-8", newline=""))
        columns = COLUMNS[path.stem].split()
        self._writer = csv.DictWriter(file, columns, lineterminator="\n")
        self._writer.writeheader()
        self.rows = 0

    def add(self, row: Row) -> None:
        """One more row; a column that it does not name stays empty."""
        self._writer.writerow(row)
        self.rows += 1

    def keep(self) -> None:
        """It is whole: into its place."""
        self._part.replace(self._path)


class _Reader:
    """Follows the entries and adds the rows that they make."""

    def __init__(self, tables: dict[str, _Table], tickers: dict[MarketId, Ticker]) -> None:
        self._tables = tables
        self._tickers = tickers
        self._run = ""
        self._asked: dict[int, Row] = {}
        self._orders: dict[OrderId, tuple[MarketId, Outcome, Side]] = {}
        self._fills: set[str] = set()

    def take(self, entry: Entry) -> None:
        """The next entry."""
        message = entry.message
        if isinstance(message, m.BookSeen):
            self._book(entry.at_ns, message, "channel")
        elif isinstance(message, m.TradeSeen):
            self._tables["prints"].add(
                self._of(entry.at_ns, message.market_id)
                | {"ts_ns": message.ts_ns, "trade_id": message.trade_id, "price": message.price}
                | {"qty": message.size, "taker_bought_yes": int(message.taker_bought_yes)}
            )
        elif isinstance(message, m.Send):
            self._sent(entry.at_ns, message)
        elif isinstance(message, m.Replied):
            self._replied(entry.at_ns, message)
        elif isinstance(message, m.Started):
            self.end_run()
            self._run = message.boot_nonce

    def end_run(self) -> None:
        """No answer comes any more."""
        for row in self._asked.values():
            self._tables["requests"].add(row | {"answer": "none"})
        self._asked.clear()

    def _of(self, at_ns: int, market_id: MarketId) -> Row:
        ticker = self._tickers.get(market_id, "")
        return {"run": self._run, "at_ns": at_ns, "market_id": market_id, "ticker": ticker}

    def _book(self, at_ns: int, seen: m.BookSeen, source: str) -> None:
        row = self._of(at_ns, seen.market_id) | {"ts_ns": seen.ts_ns, "source": source}
        for name, levels in (("bid", seen.bids), ("ask", seen.asks)):
            row[f"{name}s"] = " ".join(f"{price}x{size}" for price, size in levels)
            if levels:
                row[name], row[f"{name}_qty"] = levels[0]
        self._tables["books"].add(row)

    # --- requests ---------------------------------------------------------------------------------

    def _sent(self, at_ns: int, send: m.Send) -> None:
        request = send.request
        row: Row = {"run": self._run, "at_ns": at_ns}
        row |= {"request_id": send.request_id, "request": type(request).__name__}
        row |= {"key": send.key.value, "why": send.why}
        if isinstance(request, m.Create):
            order = request.order
            row |= self._order(order.market_id, order.outcome, order.side, order.price)
            row |= {"qty": order.qty, "client_order_id": order.client_order_id}
            row["again"] = int(request.again)
        elif isinstance(request, m.AmendResting | m.CancelResting | m.ReadOrder):
            known = self._orders.get(request.order_id)
            row["order_id"] = request.order_id
            if known is not None:
                price = request.amend.price if isinstance(request, m.AmendResting) else None
                row |= self._order(*known, price)
            if isinstance(request, m.AmendResting):
                row["qty"] = request.amend.qty
        elif isinstance(request, m.ReadBook):
            row |= self._of(at_ns, request.market_id)
        self._asked[send.request_id] = row

    def _order(self, market_id: MarketId, outcome: Outcome, side: Side, price: Any) -> Row:
        return {
            "market_id": market_id,
            "ticker": self._tickers.get(market_id, ""),
            "side": book_side(outcome, side).value,
            "price": None if price is None else canonical(outcome, price),
        }

    def _replied(self, at_ns: int, replied: m.Replied) -> None:
        answer = replied.answer
        row = self._asked.pop(replied.request_id, None)
        if row is not None:
            row |= {"answered_ns": at_ns, "answer": type(answer).__name__.lower()}
            row["tokens_left"] = replied.tokens_left
            if isinstance(answer, m.Refused):
                row |= {"status": answer.status, "code": answer.code, "reason": answer.message}
            elif isinstance(answer, m.Unknown):
                row["reason"] = answer.reason
            elif isinstance(answer.body, m.OrderShown | m.CancelShown):
                shown = answer.body.order
                row |= {"order_id": shown.order_id, "order_status": shown.status.value}
                row |= {"remaining_qty": shown.remaining_qty, "filled_qty": shown.filled_qty}
            self._tables["requests"].add(row)
        if isinstance(answer, m.Done):
            self._shown(at_ns, answer.body)

    def _shown(self, at_ns: int, body: m.Body) -> None:
        """What an answer showed beside what was asked."""
        if isinstance(body, m.OrderShown | m.CancelShown):
            self._know((body.order,))
        elif isinstance(body, m.OrdersShown):
            self._know(body.orders)
        elif isinstance(body, m.BookShown):
            book = body.book
            bids = tuple((level.price, level.size) for level in book.bids)
            asks = tuple((level.price, level.size) for level in book.asks)
            seen = m.BookSeen(book.market_id, instant.to_ns(book.as_of), bids, asks)
            self._book(at_ns, seen, "read")
        elif isinstance(body, m.FillsShown):
            for fill in reversed(body.fills):
                self._filled(at_ns, fill)

    def _know(self, orders: Iterable[model.Order]) -> None:
        for order in orders:
            own = _own(order.outcome, order.side)
            if own is not None:
                self._orders[order.order_id] = (order.market_id, *own)

    def _filled(self, at_ns: int, fill: model.Fill) -> None:
        """A fill, the first time that a page shows it."""
        if fill.fill_id in self._fills:
            return
        self._fills.add(fill.fill_id)
        row: Row = {"run": self._run, "at_ns": at_ns, "ticker": fill.ticker}
        row |= {"created_ns": instant.to_ns(fill.created_at), "fill_id": fill.fill_id}
        row |= {"trade_id": fill.trade_id, "order_id": fill.order_id, "market_id": fill.market_id}
        row |= {"qty": fill.qty, "fee_cents": fill.fee_cents, "liquidity": fill.liquidity.value}
        own = _own(fill.outcome, fill.side)
        if own is not None:
            row |= {"side": book_side(*own).value, "price": canonical(own[0], fill.outcome_price)}
        self._tables["fills"].add(row)


def _own(outcome: model.ShownOutcome, side: model.ShownSide) -> tuple[Outcome, Side] | None:
    """What an order buys or sells; None for values of a later version."""
    if outcome is model.ShownOutcome.UNKNOWN or side is model.ShownSide.UNKNOWN:
        return None
    return Outcome(outcome.value), Side(side.value)
