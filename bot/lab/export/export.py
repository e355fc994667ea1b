"""Turns journals into tables: rungs, books, prints, requests and fills.

Every row says which run it is of and when it reached the bot. Prices are canonical YES cents, times
nanoseconds, sizes shares. Books and prints say what of them was ours (`bot.lab.own_orders`),
which is known only once the whole journal was read: it is read twice.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from bot.core import messages as m
from bot.core.books.book import book_seen
from bot.io.journal.journal import read_segment
from bot.io.journal.records import Entry
from bot.lab.counted import Counted, Told, untold
from bot.lab.export.sheets import Row, opened
from bot.lab.own_orders import OwnOrders, outcome_and_side
from venue.wire import instant, model
from venue.wire.money import Outcome, Side, book_side, canonical
from venue.wire.names import MarketId, OrderId, Ticker

Add = Callable[[str, Row], None]


class Exported(msgspec.Struct, frozen=True):
    """How many rows each table got. damage: what could not be read, a line for each segment."""

    rungs: int
    books: int
    prints: int
    requests: int
    fills: int
    damage: tuple[str, ...]


def export(paths: Sequence[Path], folders: Mapping[str, Path], told: Told = untold) -> Exported:
    """Write the tables of these segments, oldest first. folders: as those of `sheets.opened`. told:
    of entries read; each is read twice.

    A damaged segment gives what stands before its damage. Raises JournalFault for a segment that is
    none or of a version that is not known, LibraryFault as `sheets.opened` does, and OSError when a
    folder cannot be written.
    """
    with opened(folders) as sheets:
        damage = tell(paths, sheets.add, told)
    return Exported(**sheets.rows, damage=damage)


def tell(paths: Sequence[Path], add: Add, told: Told = untold) -> tuple[str, ...]:
    """Give every row of every table to `add`, with the table's name. What could not be read, a line
    for each segment. told, and what is raised: as of `export`."""
    damage: list[str] = []
    counted = Counted(told)
    known = _Known()
    for entry in counted.of(_entries(paths, [])):
        known.take(entry.message)
    reader = _Reader(add, known)
    for entry in counted.of(_entries(paths, damage)):
        reader.take(entry)
    reader.end_run()
    return tuple(damage)


def _entries(paths: Sequence[Path], damage: list[str]) -> Iterator[Entry]:
    for path in paths:
        segment = read_segment(path)
        yield from segment.entries()
        if segment.damaged_at is not None:
            damage.append(f"{path}: journal damaged at byte {segment.damaged_at}")


class _Known:
    """What has to be known of a journal before its rows can be told.

    tickers: of every rung that a read of the series showed, for a frame names its market by id
    alone. mine: our orders, by the run; several runs on one account share them. rungs: as shown
    last, by run. winners: what rungs paid.
    """

    def __init__(self) -> None:
        self.tickers: dict[MarketId, Ticker] = {}
        self.mine: dict[str, OwnOrders] = {"": OwnOrders()}
        self.rungs: dict[str, dict[MarketId, tuple[model.Event, model.Market]]] = {"": {}}
        self.winners: dict[tuple[str, str], str] = {}
        self._run = ""

    def take(self, message: m.Event | m.Effect) -> None:
        """An entry."""
        if isinstance(message, m.Started):
            before, self._run = self._run, message.boot_nonce
            self.mine[self._run] = OwnOrders() if message.new_account else self.mine[before]
            self.rungs[self._run] = {}
        elif isinstance(message, m.Noted) and message.name == "rung_settled":
            fields = message.fields
            self.winners[self._run, str(fields["market_id"])] = str(fields["winner"])
        elif isinstance(message, m.Replied) and isinstance(message.answer, m.Done):
            body = message.answer.body
            if isinstance(body, m.SeriesShown):
                for event in body.events:
                    for rung in event.markets:
                        self.tickers[rung.market_id] = rung.ticker
                        self.rungs[self._run][rung.market_id] = event, rung
        self.mine[self._run].take(message)


class _Reader:
    """Follows the entries and adds the rows that they make."""

    def __init__(self, add: Add, known: _Known) -> None:
        self._add = add
        self._known = known
        self._tickers = known.tickers
        self._run = ""
        self._begin_run("")
        self._asked: dict[int, Row] = {}
        self._orders: dict[OrderId, tuple[MarketId, Outcome, Side]] = {}
        self._fills: set[str] = set()

    def take(self, entry: Entry) -> None:
        """The next entry."""
        message = entry.message
        if isinstance(message, m.BookSeen):
            self._book(entry.at_ns, message, "channel")
        elif isinstance(message, m.TradeSeen):
            row = self._of(entry.at_ns, message.market_id)
            row |= {"ts_ns": message.ts_ns, "trade_id": message.trade_id, "price": message.price}
            row |= {"qty": message.size, "taker_bought_yes": message.taker_bought_yes}
            self._add("prints", row | {"own": self._mine.role(message.trade_id)})
        elif isinstance(message, m.Send):
            self._sent(entry.at_ns, message)
        elif isinstance(message, m.Replied):
            self._replied(entry.at_ns, message)
        elif isinstance(message, m.Started):
            self.end_run()
            self._begin_run(message.boot_nonce)

    def end_run(self) -> None:
        """No answer comes any more."""
        for row in self._asked.values():
            self._add("requests", row | {"answer": "none"})
        self._asked.clear()

    def _begin_run(self, nonce: str) -> None:
        self._run = nonce
        self._mine = self._known.mine[nonce]
        for market_id, (event, rung) in self._known.rungs[nonce].items():
            row: Row = {"run": nonce, "market_id": market_id, "ticker": rung.ticker}
            row |= {"event_ticker": event.event_ticker, "series_ticker": event.series_ticker}
            row |= {"strike": rung.strike_value, "strike_unit": rung.strike_unit}
            with suppress(ValueError):  # an event of no time that can be read is not quoted
                row["resolution_ns"] = instant.to_ns(event.resolution_date)
            row["winner"] = self._known.winners.get((nonce, market_id))
            self._add("rungs", row)

    def _of(self, at_ns: int, market_id: MarketId) -> Row:
        ticker = self._tickers.get(market_id, "")
        return {"run": self._run, "at_ns": at_ns, "market_id": market_id, "ticker": ticker}

    def _book(self, at_ns: int, seen: m.BookSeen, source: str) -> None:
        row = self._of(at_ns, seen.market_id) | {"ts_ns": seen.ts_ns, "source": source}
        for name, levels in (("bid", seen.bids), ("ask", seen.asks)):
            row[f"{name}s"] = levels
            if levels:
                row[name], row[f"{name}_qty"] = levels[0]
        others = self._mine.without(seen)
        row |= {"own_bids": others.own_bids, "own_asks": others.own_asks}
        self._add("books", row | {"own_fits": not others.missing_qty})

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
            row["again"] = request.again
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
            self._add("requests", row)
        if isinstance(answer, m.Done):
            self._shown(at_ns, answer.body)

    def _shown(self, at_ns: int, body: m.Body) -> None:
        """What an answer showed beside what was asked."""
        if isinstance(body, m.OrderShown | m.CancelShown):
            self._know((body.order,))
        elif isinstance(body, m.OrdersShown):
            self._know(body.orders)
        elif isinstance(body, m.BookShown):
            seen = book_seen(body.book)
            if seen is not None:
                self._book(at_ns, seen, "read")
        elif isinstance(body, m.FillsShown):
            for fill in reversed(body.fills):
                self._filled(at_ns, fill)

    def _know(self, orders: Iterable[model.Order]) -> None:
        for order in orders:
            own = outcome_and_side(order)
            if own is not None:
                self._orders[order.order_id] = (order.market_id, *own)

    def _filled(self, at_ns: int, fill: model.Fill) -> None:
        """A fill, the first time that a page shows it."""
        if fill.fill_id in self._fills:
            return
        self._fills.add(fill.fill_id)
        row: Row = {"run": self._run, "at_ns": at_ns, "ticker": fill.ticker}
        with suppress(ValueError):  # of no time that can be read, as the bot books none of those
            row["created_ns"] = instant.to_ns(fill.created_at)
        row["fill_id"] = fill.fill_id
        row |= {"trade_id": fill.trade_id, "order_id": fill.order_id, "market_id": fill.market_id}
        row |= {"qty": fill.qty, "fee_cents": fill.fee_cents, "liquidity": fill.liquidity.value}
        own = outcome_and_side(fill)
        if own is not None:
            row |= {"side": book_side(*own).value, "price": canonical(own[0], fill.outcome_price)}
        self._add("fills", row)
