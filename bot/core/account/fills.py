"""The list of fills into the books: each fill is booked once, by its id.

A walk reads the list newest first and ends where everything older is booked, or is history: listed
below the newest fill up to which earlier runs had booked every one, or, where the journal names
none, traded before this run. What the account holds when the books open contains all history, so
history is never booked.

A row that cannot be read, or whose fields contradict each other or its order, is not booked from
that walk. The next walks go back to it, and a row that stays wrong stops the bot.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from bot.core.account.portfolio import Portfolio, UnbookableFill, created_ns_of
from bot.core.inconsistency import Inconsistency
from bot.core.messages import FillMark
from bot.core.orders.manager import OrderManager
from bot.core.orders.outbox import Outbox, keep_newest
from venue.wire import model
from venue.wire.instant import Instant
from venue.wire.money import Outcome, Qty, canonical
from venue.wire.names import MarketId, OrderId, Ticker, fold_ticker

FILL_IDS_KEPT: Final = 10_000
"""Newest fills whose ids are kept. Twice as many may gather between two trims."""

_CONTRADICTORY_MAX: Final = 1_000


class FillDeduplicator:
    """The ids of the fills that are booked or history. Every fill older than `floor_ns`, in the
    venue's time, is one of the two."""

    def __init__(self) -> None:
        self._booked: dict[str, tuple[int, int]] = {}  # the venue's time, and a number
        self._count = 0
        self._history: dict[str, None] = {}
        self.floor_ns: int | None = None
        self.newest: FillMark | None = None
        self._newest_ns = 0

    def add(self, fill: model.Fill | FillMark, created_ns: int) -> None:
        """This fill is booked."""
        self._count += 1
        self._booked[fill.fill_id] = created_ns, self._count
        if self.newest is None or created_ns >= self._newest_ns:
            self.newest, self._newest_ns = FillMark(fill.fill_id, fill.created_at), created_ns

    def add_history(self, mark: FillMark, created_ns: int) -> None:
        """This fill, and all that is listed below it, is history."""
        self._history[mark.fill_id] = None
        if self.floor_ns is None or created_ns > self.floor_ns:
            self.floor_ns = created_ns

    def is_booked(self, fill_id: str) -> bool:
        """True if this very fill was booked, and its id is still kept."""
        return fill_id in self._booked

    def is_history(self, row: model.Fill) -> bool:
        """True if this row, and so all that is listed below it, needs no booking any more."""
        if row.fill_id in self._history:
            return True
        is_booked = row.fill_id in self._booked
        return not is_booked and self.floor_ns is not None and _is_older(row, self.floor_ns)

    def is_known_before(self, row: model.Fill, mark: FillMark) -> bool:
        """True if this row is older than the booked fill `mark` and history, or booked before it: a
        list has it below. A stamp alone does not say so, for the venue's clock may step back."""
        if not _is_older(row, created_ns_of(mark)):
            return False
        if row.fill_id in self._booked and mark.fill_id in self._booked:
            return self._booked[row.fill_id][1] < self._booked[mark.fill_id][1]
        return self.is_history(row)

    def trim(self) -> bool:
        """Forget ids far below the newest; the floor covers their fills. Rare, so that it is cheap.
        True if it did."""
        if len(self._booked) <= 2 * FILL_IDS_KEPT:
            return False
        self.floor_ns, _ = sorted(self._booked.values())[-FILL_IDS_KEPT]
        self._booked = {key: at for key, at in self._booked.items() if at[0] >= self.floor_ns}
        return True


class FillBooker:
    """Books what walks of the list of fills show."""

    def __init__(
        self,
        book: Portfolio,
        desk: OrderManager,
        out: Outbox,
        by_ticker: Mapping[Ticker, MarketId],
        read_lag_ns: int,
    ) -> None:
        """by_ticker: the listed markets by folded ticker, kept up by the owner."""
        self._lag_ns = read_lag_ns
        self._book = book
        self._desk = desk
        self._out = out
        self._by_ticker = by_ticker
        self._ids = FillDeduplicator()
        self._takes_all_for_history = True
        self._newest_history = FillMark("", Instant("0001-01-01T00:00:00Z"))
        self.booked_ns = 0
        """When a fill was booked last, or was found to be history."""
        self.goes_deep = False
        """The next walk goes back to where every fill is known to be booked: one may have slipped
        between two shifting pages."""
        self.whole_ns = -1
        """When the newest walk began that did, below zero without one."""
        self._ended_deep = False
        self._complete: FillMark | None = None
        """An audit proved every fill up to it booked; None before the books are open: till then
        every walk goes back to what is history."""
        self._contradictory: OrderedDict[str, model.Fill] = OrderedDict()
        self._trade_price_counts: bool | None = None  # None: no fill has shown yet what it means
        self._watched: tuple[FillMark, int] | None = None  # a booked fill, and since when it is
        self._shows_watched = self._reaches_watched = False
        self._ended_early = False  # the last page was not that of the list's end

    def begin(self, complete: FillMark | None, since: Iterable[FillMark]) -> None:
        """The run begins. complete: earlier runs booked every fill up to this one, and `since`
        above it; without one everything that is listed before the books open is history."""
        if complete is not None:
            self._ids.add_history(complete, created_ns_of(complete))
            self._newest_history = complete
            self._takes_all_for_history = False
            for mark in since:
                self._ids.add(mark, created_ns_of(mark))

    # --- a page -----------------------------------------------------------------------------------

    def page(self, rows: Sequence[model.Fill], now_ns: int) -> tuple[Sequence[model.Fill], bool]:
        """A page of a walk, newest first: the rows that `walked` may book, and whether the walk may
        end with it, because older pages hold nothing to book."""
        if self._watched is not None:
            mark, _ = self._watched
            self._shows_watched |= any(row.fill_id == mark.fill_id for row in rows)
            if rows and self._ids.is_known_before(rows[-1], mark):
                self._reaches_watched = True
        kept, self._ended_early = self._unbooked(rows, now_ns) if rows else ((), False)
        return kept, self._ended_early

    def _unbooked(
        self, rows: Sequence[model.Fill], now_ns: int
    ) -> tuple[Sequence[model.Fill], bool]:
        if self._takes_all_for_history:
            self._add_history(rows, now_ns)
            return (), True
        is_awaited = self._desk.awaits_fills() or "fills_missing" in self._out.findings
        is_deep = self.goes_deep or is_awaited or self._complete is None
        self._ended_deep = is_deep
        at = next((at for at, row in enumerate(rows) if self._ids.is_history(row)), len(rows))
        unknown = [row for row in rows[:at] if not self._ids.is_booked(row.fill_id)]
        if at < len(rows):
            return unknown, True
        if is_deep:
            complete = self._complete
            return unknown, complete is not None and _is_older(rows[-1], created_ns_of(complete))
        return unknown, self._ids.is_booked(rows[-1].fill_id)

    def _add_history(self, rows: Sequence[model.Fill], now_ns: int) -> None:
        for row in rows:
            try:
                created_ns = created_ns_of(row)
            except UnbookableFill:
                created_ns = 0
            if not self._ids.is_history(row):
                mark = FillMark(row.fill_id, row.created_at)
                if self._ids.floor_ns is None or created_ns > self._ids.floor_ns:
                    self._newest_history = mark
                self._ids.add_history(mark, created_ns)
                self.booked_ns = now_ns

    # --- a walk -----------------------------------------------------------------------------------

    def walked(
        self,
        rows: Sequence[model.Fill],
        begun_ns: int,
        now_ns: int,
        live_orders: Iterable[OrderId],
    ) -> tuple[model.Fill, ...]:
        """A walk, begun then, has ended: book the rows that `page` kept. Returns the fills that are
        booked now, oldest first, each with the fee that was charged. live_orders: those whose
        filled quantity may still be asked for."""
        self._look_for_watched(begun_ns, now_ns)
        booked = []
        for row in reversed(rows):
            if self._ids.is_booked(row.fill_id):
                continue  # shown on two pages, which shift while they are read
            fill = self._book_one(row, begun_ns, now_ns)
            if fill is not None:
                booked.append(fill)
                self.booked_ns = now_ns
        if self._ended_deep or self._takes_all_for_history or not self._ended_early:
            self.whole_ns = begun_ns
        self.goes_deep = bool(self._contradictory) or self._is_watched_missing
        self._ended_deep = False
        named = next(iter(self._contradictory), "")
        self._out.hold("fill_unreadable", f"fill {named} contradicts itself" if named else "")
        if self._ids.trim() and self._ids.floor_ns is not None:
            self._book.trim(self._ids.floor_ns, live_orders)
        return tuple(booked)

    def _book_one(self, row: model.Fill, begun_ns: int, now_ns: int) -> model.Fill | None:
        kind = Inconsistency.FILL_CONTRADICTS_ITSELF
        try:
            fill = row if row.market_id else self._placed(row)
            fault = self._fault(fill)
            if not fault:
                charged = self._book.book_fill(fill)
        except UnbookableFill as unbookable:
            fault = str(unbookable)
        if fault:
            keep_newest(self._contradictory, row.fill_id, row, _CONTRADICTORY_MAX)
            market_id = row.market_id or None
            signs = self._out.inconsistencies
            signs.on_sign(kind, row.fill_id, fault, begun_ns, now_ns, market_id)
            return None
        self._ids.add(fill, created_ns_of(fill))
        if self._contradictory.pop(row.fill_id, None) is not None:
            self._out.inconsistencies.on_sign_gone(kind, row.fill_id)
        return charged

    def _fault(self, fill: model.Fill) -> str:
        """How the fields of a fill contradict each other or its order; empty where they do not."""
        if fill.outcome is model.ShownOutcome.UNKNOWN:
            return f"fill {fill.fill_id}: an unknown outcome"
        agree = canonical(Outcome(fill.outcome.value), fill.outcome_price) == fill.trade_price
        if self._trade_price_counts is None and not agree:
            before = self._contradictory.get(fill.fill_id)
            if before is not None and before.trade_price == fill.trade_price:
                # The first fills of all say so twice: here this field means something else.
                self._trade_price_counts = False
                self._out.note("warning", "trade_price_ignored", fill_id=fill.fill_id)
        if self._trade_price_counts is not False:
            if not agree:
                return f"fill {fill.fill_id}: two prices that are not one"
            self._trade_price_counts = True
        own = self._desk.find(fill.order_id)
        if own is None:
            ended = (each for each in self._desk.unsettled if each.order_id == fill.order_id)
            own = next(ended, None)
        if own is None:
            return ""
        filled = Qty(self._book.filled_qty(fill.order_id) + fill.qty)
        shown = (fill.outcome.value, fill.side.value, fill.market_id)
        if shown != (own.outcome.value, own.side.value, own.market_id):
            return f"fill {fill.fill_id}: not of the kind of its order"
        most = max(own.known.size, own.filled + own.max_fillable)
        is_possible = (
            own.from_previous_run or filled <= most
        )  # what an earlier run asked for is not known
        return "" if is_possible else f"fill {fill.fill_id}: too large for its order"

    def _placed(self, fill: model.Fill) -> model.Fill:
        """A fill that does not tell its market (S4), with that of its ticker or its order; where
        nobody knows it the ticker stands for it."""
        market_id = self._by_ticker.get(fold_ticker(fill.ticker))
        market_id = market_id or self._desk.market_of(fill.order_id)
        if market_id is None and not fill.ticker and self._desk.creates_undecided():
            raise UnbookableFill(f"fill {fill.fill_id}: of order {fill.order_id}, not known yet")
        placed = market_id or MarketId(fold_ticker(fill.ticker))
        return msgspec.structs.replace(fill, market_id=placed)

    # --- the books --------------------------------------------------------------------------------

    def opened(self) -> None:
        """The books are open: what is listed from here on and is not history is booked."""
        self._takes_all_for_history = False

    def reopened(self) -> None:
        """The books are opened anew: what they contradicted counts no more, ids stay booked."""
        self._contradictory.clear()
        self._watched = self._complete = None
        self._ids.newest = None
        self.goes_deep = False

    def agreed(self) -> None:
        """An audit has proved that every fill up to the newest one is booked or history. The
        journal keeps its mark: a later run books what is listed above it and was not booked, for a
        page that lagged may have left it out."""
        mark = self._ids.newest or self._newest_history
        if mark != self._complete and not self._is_watched_missing:
            self._complete = mark
            fields = {"fill_id": mark.fill_id, "created_at": mark.created_at}
            self._out.note("debug", "fills_complete", **fields)

    # --- history rewritten ------------------------------------------------------------------------

    @property
    def _is_watched_missing(self) -> bool:
        """True while the fill that is looked for in every walk was missing from the last one."""
        if self._watched is None:
            return False
        signs = self._out.inconsistencies
        return signs.observes(Inconsistency.FILL_MISSING, self._watched[0].fill_id)

    def _look_for_watched(self, begun_ns: int, now_ns: int) -> None:
        """The newest booked fill is on top of every list that does not lag. One that a walk beyond
        it does not show was taken back by the venue, or the read lagged."""
        signs, kind = self._out.inconsistencies, Inconsistency.FILL_MISSING
        shown, reached = self._shows_watched, self._reaches_watched or not self._ended_early
        self._shows_watched = self._reaches_watched = False
        if self._watched is not None:
            mark, since_ns = self._watched
            if shown:
                signs.on_sign_gone(kind, mark.fill_id)
            elif reached and begun_ns >= since_ns + self._lag_ns:
                signs.on_sign(kind, mark.fill_id, f"fill {mark.fill_id}", begun_ns, now_ns)
            if self._is_watched_missing or mark == self._ids.newest:
                return
        if self._ids.newest is not None:
            self._watched = self._ids.newest, now_ns


def _is_older(row: model.Fill, than_ns: int) -> bool:
    """True if a fill happened before that; False where its time is unreadable."""
    try:
        return created_ns_of(row) < than_ns
    except UnbookableFill:
        return False
