"""Reconciles our books with the venue's: fills booked once, inventory, audits of both and cash.

Positions and a balance count as of reads that lie between two walks of the fills with the same
newest fill, a read lag apart. The first such pair opens the books, each later one is an audit. In
between, filled and unbooked shares of an order count into inventory at the order's limit.

While an audit finds a difference, nothing leaves that adds exposure; if the difference lasts, the
bot stops. Three differences of cash have a name and do not stop it: settlements, transfers, and
fees that the fills did not show.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from bot.core.account.poller import AccountPoller, Resource
from bot.core.account.portfolio import Portfolio, UnbookableFill, created_ns_of
from bot.core.account.settlement import SETTLES_WITHIN_NS, Held, Settlement, Waiting
from bot.core.inconsistency import Inconsistency
from bot.core.messages import FillMark, Started
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder
from bot.core.orders.outbox import Outbox, keep_newest
from bot.core.settings import StalenessSettings
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, Instant
from venue.wire.money import (
    PAYOUT_CENTS,
    BookSide,
    Cents,
    FeeRate,
    Outcome,
    Qty,
    Side,
    canonical,
    fee_cents,
    notional,
)
from venue.wire.names import MarketId, OrderId, Ticker, fold_ticker

FORGET_AFTER_NS: Final = 600 * NS_PER_SECOND
"""An event is kept for so long after its last rung was seen resolved, for the markouts."""

FILL_IDS_KEPT: Final = 10_000
"""Newest fills whose ids are kept. Twice as many may gather between two trims."""

_CONTRADICTORY_MAX: Final = 1_000

_CASH: Final = "cash"
"""The key of the one sign that the cash of the account can give."""


class FillBooker:
    """Books each fill of the list of fills once, by its id.

    A walk reads the list newest first and ends where everything older is booked or is history.
    History is below the newest fill up to which earlier runs had booked every one; where the
    journal names none, it is all that traded before this run. The opening contains history, so it
    is never booked.

    A row that cannot be read, or that contradicts itself or its order, is not booked. The next
    walks go back to it, and a row that stays wrong stops the bot.
    """

    def __init__(
        self,
        book: Portfolio,
        desk: OrderManager,
        out: Outbox,
        by_ticker: Mapping[Ticker, MarketId],
        read_lag_ns: int,
    ) -> None:
        """by_ticker: the listed markets by folded ticker, which the owner keeps up to date."""
        self._lag_ns = read_lag_ns
        self._book = book
        self._desk = desk
        self._out = out
        self._by_ticker = by_ticker
        self._booked: dict[str, tuple[int, int]] = {}  # by id: the venue's time, and a number
        self._count = 0
        self._newest: FillMark | None = None  # the newest booked one
        self._newest_ns = 0
        self._history: set[str] = set()
        self._newest_history = FillMark("", Instant("0001-01-01T00:00:00Z"))
        self._floor_ns: int | None = None
        """Every fill that is older, in the venue's time, is booked or history."""
        self._all_is_history = True
        self.booked_ns = 0
        """When a fill was booked last, or was found to be history."""
        self.goes_deep = False
        """The next walk goes back to where every fill is known to be booked: one may have slipped
        between two shifting pages."""
        self.whole_ns = -1
        """When the newest walk began that did, below zero without one."""
        self._ended_deep = False
        self._ended_early = False  # the last page was not that of the list's end
        self._complete: FillMark | None = None
        """An audit proved every fill up to it booked; None before the books are open: till then
        every walk goes back to history."""
        self._contradictory: OrderedDict[str, model.Fill] = OrderedDict()
        self._trade_price_counts: bool | None = None  # None: no fill has shown yet what it means
        self._watched: tuple[FillMark, int] | None = None  # a booked fill, and since when it is
        self._shows_watched = self._reaches_watched = False

    def restore(self, complete: FillMark | None, since: Iterable[FillMark]) -> None:
        """complete: earlier runs booked every fill up to this one, and `since` above it; without
        one everything that is listed before the books open is history."""
        if complete is not None:
            self._add_history(complete, created_ns_of(complete))
            self._newest_history = complete
            self._all_is_history = False
            for mark in since:
                self._add_booked(mark, created_ns_of(mark))

    # --- ids --------------------------------------------------------------------------------------

    def _add_booked(self, fill: model.Fill | FillMark, created_ns: int) -> None:
        self._count += 1
        self._booked[fill.fill_id] = created_ns, self._count
        if self._newest is None or created_ns >= self._newest_ns:
            self._newest, self._newest_ns = FillMark(fill.fill_id, fill.created_at), created_ns

    def _add_history(self, mark: FillMark, created_ns: int) -> None:
        """This fill, and all that is listed below it, is history."""
        self._history.add(mark.fill_id)
        if self._floor_ns is None or created_ns > self._floor_ns:
            self._floor_ns = created_ns

    def is_booked(self, fill_id: str) -> bool:
        """True if this very fill was booked, and its id is still kept."""
        return fill_id in self._booked

    def _is_history(self, row: model.Fill) -> bool:
        """True if this row, and so all that is listed below it, needs no booking any more."""
        if row.fill_id in self._history:
            return True
        is_booked = row.fill_id in self._booked
        return not is_booked and self._floor_ns is not None and _is_older(row, self._floor_ns)

    def _trim_ids(self, live_orders: Iterable[OrderId]) -> None:
        """Forget ids far below the newest; the floor covers their fills. Rare, because it is
        slow."""
        self._floor_ns, _ = sorted(self._booked.values())[-FILL_IDS_KEPT]
        self._booked = {key: at for key, at in self._booked.items() if at[0] >= self._floor_ns}
        self._book.trim(self._floor_ns, live_orders)

    # --- a page -----------------------------------------------------------------------------------

    def on_page(self, rows: Sequence[model.Fill], now_ns: int) -> tuple[Sequence[model.Fill], bool]:
        """A page of a walk, newest first. Returns the rows that `on_list` may book, and True if
        the walk may end with it, because older pages hold nothing to book."""
        if self._watched is not None:
            mark, _ = self._watched
            self._shows_watched |= any(row.fill_id == mark.fill_id for row in rows)
            self._reaches_watched |= bool(rows) and self._is_below(rows[-1], mark)
        self._ended_early = False
        if not rows:
            return (), False
        if self._all_is_history:
            self._take_for_history(rows, now_ns)
            self._ended_early = True
            return (), True
        is_awaited = self._desk.is_awaiting_fills() or "fills_missing" in self._out.findings
        self._ended_deep = self.goes_deep or is_awaited or self._complete is None
        at = next((at for at, row in enumerate(rows) if self._is_history(row)), len(rows))
        if at < len(rows):
            self._ended_early = True
        elif not self._ended_deep:
            self._ended_early = self.is_booked(rows[-1].fill_id)
        elif self._complete is not None:
            self._ended_early = _is_older(rows[-1], created_ns_of(self._complete))
        return [row for row in rows[:at] if not self.is_booked(row.fill_id)], self._ended_early

    def _is_below(self, row: model.Fill, mark: FillMark) -> bool:
        """True if this row is older than the booked fill `mark` and history, or booked before it.
        A stamp alone does not say so, for the venue's clock may step back."""
        if not _is_older(row, created_ns_of(mark)):
            return False
        if row.fill_id in self._booked and mark.fill_id in self._booked:
            return self._booked[row.fill_id][1] < self._booked[mark.fill_id][1]
        return self._is_history(row)

    def _take_for_history(self, rows: Sequence[model.Fill], now_ns: int) -> None:
        for row in rows:
            try:
                created_ns = created_ns_of(row)
            except UnbookableFill:
                created_ns = 0
            if not self._is_history(row):
                mark = FillMark(row.fill_id, row.created_at)
                if self._floor_ns is None or created_ns > self._floor_ns:
                    self._newest_history = mark
                self._add_history(mark, created_ns)
                self.booked_ns = now_ns

    # --- a walk -----------------------------------------------------------------------------------

    def on_list(
        self,
        rows: Sequence[model.Fill],
        begun_ns: int,
        now_ns: int,
        live_orders: Iterable[OrderId],
    ) -> tuple[model.Fill, ...]:
        """A walk, begun then, has ended: book the rows that `on_page` returned.

        live_orders: those whose filled quantity may still be asked for. Returns the fills that are
        booked now, oldest first, each with the fee that was charged.
        """
        self._look_for_watched(begun_ns, now_ns)
        booked = []
        for row in reversed(rows):
            if self.is_booked(row.fill_id):
                continue  # shown on two pages, which shift while they are read
            fill = self._book_row(row, begun_ns, now_ns)
            if fill is not None:
                booked.append(fill)
                self.booked_ns = now_ns
        if self._ended_deep or self._all_is_history or not self._ended_early:
            self.whole_ns = begun_ns
        self.goes_deep = bool(self._contradictory) or self._is_watched_missing
        self._ended_deep = False
        named = next(iter(self._contradictory), "")
        self._out.hold("fill_unreadable", f"fill {named} contradicts itself" if named else "")
        if len(self._booked) > 2 * FILL_IDS_KEPT:
            self._trim_ids(live_orders)
        return tuple(booked)

    def _book_row(self, row: model.Fill, begun_ns: int, now_ns: int) -> model.Fill | None:
        kind, signs = Inconsistency.FILL_CONTRADICTS_ITSELF, self._out.inconsistencies
        try:
            fill = row if row.market_id else self._with_market(row)
            fault = self._fault(fill)
            if not fault:
                charged = self._book.book_fill(fill)
        except UnbookableFill as unbookable:
            fault = str(unbookable)
        if fault:
            keep_newest(self._contradictory, row.fill_id, row, _CONTRADICTORY_MAX)
            signs.on_sign(kind, row.fill_id, fault, begun_ns, now_ns, row.market_id or None)
            return None
        self._add_booked(fill, created_ns_of(fill))
        if self._contradictory.pop(row.fill_id, None) is not None:
            signs.on_sign_gone(kind, row.fill_id)
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
        own = self._desk.live_order(fill.order_id)
        if own is None:
            ended = (each for each in self._desk.unsettled if each.order_id == fill.order_id)
            own = next(ended, None)
        if own is None:
            return ""
        filled = Qty(self._book.filled_qty(fill.order_id) + fill.qty)
        shown = (fill.outcome.value, fill.side.value, fill.market_id)
        if shown != (own.outcome.value, own.side.value, own.market_id):
            return f"fill {fill.fill_id}: not of the kind of its order"
        most = max(own.known.size, own.traded_max)
        is_possible = (
            own.from_previous_run or filled <= most
        )  # the size that an earlier run asked for
        return "" if is_possible else f"fill {fill.fill_id}: too large for its order"

    def _with_market(self, fill: model.Fill) -> model.Fill:
        """A fill that does not name its market (S4), with that of its ticker or its order; where
        neither is known the ticker takes its place."""
        market_id = self._by_ticker.get(fold_ticker(fill.ticker))
        own = None if market_id else self._desk.owner_of(fill.order_id)
        if own is not None:
            market_id = own.market_id
        if market_id is None and not fill.ticker and self._desk.has_open_ids():
            raise UnbookableFill(f"fill {fill.fill_id}: of order {fill.order_id}, not known yet")
        return msgspec.structs.replace(
            fill, market_id=market_id or MarketId(fold_ticker(fill.ticker))
        )

    # --- the books --------------------------------------------------------------------------------

    def on_open(self) -> None:
        """The books are open: rows that are listed from here on and are not history are booked."""
        self._all_is_history = False

    def on_reopen(self) -> None:
        """The books will open again: contradictions are forgotten, ids stay booked."""
        self._contradictory.clear()
        self._watched = self._complete = self._newest = None
        self.goes_deep = False

    def on_agreement(self) -> None:
        """An audit has proved that every fill up to the newest one is booked or history.

        The journal keeps its mark: a later run books those that are listed above it and were not
        booked, for a page that lagged may have left one out.
        """
        mark = self._newest or self._newest_history
        if mark != self._complete and not self._is_watched_missing:
            self._complete = mark
            fields = {"fill_id": mark.fill_id, "created_at": mark.created_at}
            self._out.note("debug", "fills_complete", **fields)

    # --- history rewritten ------------------------------------------------------------------------

    @property
    def _is_watched_missing(self) -> bool:
        """True while the watched fill was missing from the last walk."""
        if self._watched is None:
            return False
        signs = self._out.inconsistencies
        return signs.observes(Inconsistency.FILL_MISSING, self._watched[0].fill_id)

    def _look_for_watched(self, begun_ns: int, now_ns: int) -> None:
        """Watch the newest booked fill, which is on top of every list that does not lag. If a walk
        beyond it does not show it, the venue took it back, or the read was stale."""
        signs, kind = self._out.inconsistencies, Inconsistency.FILL_MISSING
        shown, reached = self._shows_watched, self._reaches_watched or not self._ended_early
        self._shows_watched = self._reaches_watched = False
        if self._watched is not None:
            mark, since_ns = self._watched
            if shown:
                signs.on_sign_gone(kind, mark.fill_id)
            elif reached and begun_ns >= since_ns + self._lag_ns:
                signs.on_sign(kind, mark.fill_id, f"fill {mark.fill_id}", begun_ns, now_ns)
            if self._is_watched_missing or mark == self._newest:
                return
        if self._newest is not None:
            self._watched = self._newest, now_ns


def _is_older(row: model.Fill, than_ns: int) -> bool:
    """True if a fill happened before that; False where its time is unreadable."""
    try:
        return created_ns_of(row) < than_ns
    except UnbookableFill:
        return False


class _AuditRead(msgspec.Struct, frozen=True):
    """A balance or a list of positions, with the times of its request and answer. basis: the cost
    of each market's positions, as the venue shows it."""

    begun_ns: int
    ended_ns: int
    total_cents: int = 0
    held: Held = {}
    basis: Mapping[MarketId, int] = {}


class AccountChange(msgspec.Struct, frozen=True):
    """The changes by a walk of the fills."""

    fills: tuple[model.Fill, ...] = ()  # booked now, oldest first
    markets: tuple[MarketId, ...] = ()  # those whose cash or shares changed
    decided: tuple[MarketId, ...] = ()  # those whose winner became known


NO_CHANGE: Final = AccountChange()


class AccountReconciler:
    """The portfolio, the fills that are not booked yet, and the audits."""

    def __init__(self, staleness: StalenessSettings, desk: OrderManager, out: Outbox) -> None:
        self._lag_ns = staleness.read_lag_ns
        self._desk = desk
        self._out = out
        self._signs = out.inconsistencies
        self.book = Portfolio()
        self._by_ticker: dict[Ticker, MarketId] = {}
        self._rates: dict[
            MarketId, FeeRate
        ] = {}  # of each rung of ours maker's or taker's, the higher
        self.settlement = Settlement(self.book)
        self.booker = FillBooker(self.book, desk, out, self._by_ticker, staleness.read_lag_ns)
        self.is_open = False
        self.fills = 0  # booked since the books were opened
        self.series_wanted = False
        self._series_ns = -1
        self.fills_from_ns: int | None = None
        self.available_cents: Cents | None = None
        self.reserved_cents: Cents | None = None
        self.difference_cents: Cents | None = None
        """The venue's cash less our books' at the newest audit; None before the books are open."""
        self.transfers_cents = Cents(0)
        """Deposits less withdrawals since the opening."""
        self.unallocated_cents = Cents(0)
        """Settlements that fit no outcome."""
        self.fee_difference_cents = Cents(0)
        """Fees that the fills did not show."""
        self._balance: _AuditRead | None = None
        self._positions: _AuditRead | None = None
        self._active_ns = 0  # when something traded last; reads count from a lag after it
        self._opening_cents = 0
        # What markets that are not ours add to the opening cash; and of earlier runs.
        self._others_cents = self._earlier_transfers_cents = 0
        self._others_basis: Mapping[MarketId, int] = {}  # the part that is inventory
        self._audited_ns = -1  # when the reads of the newest audit began
        self._differing: Held | None = None  # the positions, where the shares differ
        # The difference of cash at the audit before, and the rungs whose positions were gone.
        self._changed: tuple[int, tuple[MarketId, ...]] | None = None
        # Since the last audit that agreed:
        self._filled_qty = 0
        self._fees_unshown = 0

    def restore(self, started: Started) -> None:
        """Take over the journal's state of the account."""
        self.settlement.add_winners(dict(started.winners))
        self.booker.restore(started.complete_fill, started.fills_since)
        for event_ticker, cents in started.event_cash:
            self.book.carry(event_ticker, cents)
        self._earlier_transfers_cents = started.transfers_cents

    # --- inventory --------------------------------------------------------------------------------

    def list_market(self, market: model.Market, maker: FeeRate, taker: FeeRate) -> None:
        """Make a rung and its fee rates known. Its event is the one that it names."""
        event = fold_ticker(market.event_ticker)
        is_new = market.market_id not in self._rates
        before_cents = self.book.own_flow_cents if is_new else 0
        self.book.list_market(market.market_id, event, maker, taker)
        if is_new:  # until then it was one of the others
            moved_cents = self.book.own_flow_cents - before_cents
            self._others_cents -= moved_cents + self._others_basis.get(market.market_id, 0)
        self._rates[market.market_id] = max(maker, taker)
        self.settlement.list_market(market, event)
        self._by_ticker[fold_ticker(market.ticker)] = market.market_id

    def booked_qty(self, own: OwnOrder) -> int:
        """Shares of an order whose fills are booked, under its id or a previous one (S13)."""
        booked = 0 if own.order_id is None else self.book.filled_qty(own.order_id)
        for order_id in own.previous_ids:
            booked += self.book.filled_qty(order_id)
        return booked

    def _unbooked(self, market_id: MarketId) -> list[tuple[OwnOrder, int]]:
        """Orders of a rung that have filled more than is booked, and by how much."""
        unbooked = []
        for own in self._desk.with_fills(market_id):
            ahead = own.filled - self.booked_qty(own)
            if ahead > 0:
                unbooked.append((own, ahead))
        return unbooked

    def holdings(self, market_id: MarketId) -> tuple[Qty, Qty]:
        """Inventory, YES and NO shares, unbooked fills included."""
        market = self.book.markets.get(market_id)
        yes_qty, no_qty = (0, 0) if market is None else (market.yes, market.no)
        if self._desk.has_fills(market_id):
            for own, ahead in self._unbooked(market_id):
                signed = ahead if own.side is Side.BUY else -ahead
                if own.outcome is Outcome.YES:
                    yes_qty += signed
                else:
                    no_qty += signed
        return Qty(yes_qty if yes_qty > 0 else 0), Qty(no_qty if no_qty > 0 else 0)

    def event_cash_cents(self, event_ticker: Ticker, rungs: Iterable[MarketId]) -> Cents:
        """Net cash of an event's fills, those not booked yet included."""
        booked = self.book.event_cash_cents(event_ticker)
        return Cents(booked + sum(map(self.unbooked_cents, rungs)))

    def unbooked_cents(self, market_id: MarketId) -> Cents:
        """Net cash of a rung's fills not booked yet, each at the worst price that its order may
        have had then, and the fee of single shares."""
        cash, rate = 0, self._rates[market_id]
        for own, ahead in self._unbooked(market_id):
            first, first_price = own.worst_fills
            early = min(ahead, max(0, first - (own.filled - ahead)))
            for qty, price in ((early, first_price), (ahead - early, own.worst_price)):
                amount = notional(price, Qty(qty))
                cash += -amount if own.side is Side.BUY else amount
                cash -= qty * fee_cents(rate, Qty(1), price)
        return Cents(cash)

    def held(self, market_id: MarketId) -> tuple[Qty, Qty, Cents]:
        """`holdings` and `unbooked_cents`: the exposure of a rung by its inventory alone."""
        cents = Cents(0)
        if self._desk.has_fills(market_id):
            cents = self.unbooked_cents(market_id)
        return (*self.holdings(market_id), cents)

    def shrink_room(self, market_id: MarketId, side: BookSide) -> Qty:
        """Shares by which orders on this side may reduce a rung's inventory, down to none.

        While our books and the venue's differ, the lesser of the two counts; 0 where they disagree
        about the sign of the position, or this side would add to it.
        """
        yes_qty, no_qty = self.holdings(market_id)
        sign = -1 if side is BookSide.BID else 1
        room = sign * (yes_qty - no_qty)
        if self._differing is not None:
            theirs = self._differing.get((market_id, Outcome.YES), 0)
            theirs -= self._differing.get((market_id, Outcome.NO), 0)
            room = min(room, sign * theirs)
        return Qty(max(0, room))

    # --- reads ------------------------------------------------------------------------------------

    def on_balance(self, balance: model.Balance, begun_ns: int, now_ns: int) -> None:
        self.available_cents = balance.available_cents
        self.reserved_cents = balance.reserved_cents
        if not self._counts(self._balance):
            self._balance = _AuditRead(begun_ns, now_ns, total_cents=balance.total_cents)

    def on_positions(self, rows: Iterable[model.Position], begun_ns: int, now_ns: int) -> None:
        """A whole list of positions. Of a row only the ticker is promised."""
        held: dict[tuple[MarketId, Outcome], int] = {}
        basis: dict[MarketId, int] = {}
        for row in rows:
            ticker = fold_ticker(row.ticker)
            market_id = row.market_id or self._by_ticker.get(ticker, MarketId(ticker))
            if row.outcome is not model.ShownOutcome.UNKNOWN:
                held[market_id, Outcome(row.outcome.value)] = row.qty
            basis[market_id] = basis.get(market_id, 0) + (row.cost_basis or 0)
        if self.is_open:
            self.settlement.positions_shown(held, begun_ns)
        if self._series_ns >= 0 and not self._counts(self._positions):
            self._positions = _AuditRead(begun_ns, now_ns, held=held, basis=basis)

    def on_fills_page(
        self, rows: Sequence[model.Fill], now_ns: int
    ) -> tuple[Sequence[model.Fill], bool]:
        """As `FillBooker.on_page`. Before the series is known no row is taken: nobody knows the
        markets of the rows."""
        return self.booker.on_page(rows, now_ns) if self._series_ns >= 0 else ((), True)

    def on_fills(
        self,
        rows: Sequence[model.Fill],
        begun_ns: int,
        now_ns: int,
        live_orders: Iterable[OrderId],
    ) -> AccountChange:
        """A walk of the fills has ended. rows: those that `on_fills_page` kept, newest first."""
        if self._series_ns < 0:
            return AccountChange()
        if self.fills_from_ns is None:
            self.on_activity(now_ns)
        self.fills_from_ns = begun_ns
        shown = {row.fill_id: row.fee_cents for row in rows}
        fills = self.booker.on_list(rows, begun_ns, now_ns, live_orders)
        for order_id in dict.fromkeys(fill.order_id for fill in fills):
            if own := self._desk.owner_of(order_id):
                own.on_fills_booked(self.booked_qty(own))
        self.on_activity(self.booker.booked_ns)
        for fill in fills:
            self._filled_qty += fill.qty
            self._fees_unshown += shown[fill.fill_id] is None
            amount = notional(fill.outcome_price, fill.qty)
            cash_cents = -amount if fill.side is model.ShownSide.BUY else amount
            # For the journal: a later run takes this fill for booked, and counts its cash.
            self._out.note(
                "debug",
                "fill_booked",
                fill_id=fill.fill_id,
                created_at=fill.created_at,
                event=self.book.event_of(fill.market_id),
                cents=cash_cents - (fill.fee_cents or 0),
            )
        markets = dict.fromkeys(fill.market_id for fill in fills)
        if not self.is_open:
            return AccountChange(markets=tuple(markets))
        self.fills += sum(fill.market_id in self._rates for fill in fills)
        gone, decided = self._audit(now_ns) if self.is_bracketed else ((), ())
        return AccountChange(fills, tuple(markets | dict.fromkeys(gone)), decided)

    def on_series(self, begun_ns: int) -> None:
        """Our series was read: a rung whose position is gone has resolved, or has not."""
        self._series_ns = begun_ns
        self.series_wanted = False

    # --- the bracket ------------------------------------------------------------------------------

    def on_activity(self, at_ns: int) -> None:
        """Something traded until then, or may have, or an audit of then was undecided: reads count
        from a lag after it."""
        self._active_ns = max(self._active_ns, at_ns)

    def _counts(self, read: _AuditRead | None) -> bool:
        """True if a read began late enough after the last fill; a stale one is read again."""
        return read is not None and read.begun_ns > self._active_ns + self._lag_ns

    @property
    def is_bracketed(self) -> bool:
        """True if a balance and positions lie between two walks of the fills with the same newest
        fill."""
        balance, positions = self._balance, self._positions
        if balance is None or positions is None or self.fills_from_ns is None:
            return False
        if not (self._counts(balance) and self._counts(positions)):
            return False
        return self.fills_from_ns >= max(balance.ended_ns, positions.ended_ns) + self._lag_ns

    def schedule_audit(self, account: AccountPoller, now_ns: int) -> None:
        """Schedule the reads that the next audit lacks, each as soon as it is not stale."""
        if self.fills_from_ns is None:
            account.schedule_by(Resource.FILLS, now_ns)  # the first was read before the series
            return
        from_ns = self._active_ns + self._lag_ns + 1
        reads = {Resource.BALANCE: self._balance, Resource.POSITIONS: self._positions}
        ended_ns = [read.ended_ns for read in reads.values() if read and self._counts(read)]
        if len(ended_ns) == len(reads):
            reads, from_ns = {Resource.FILLS: None}, max(ended_ns) + self._lag_ns
        for kind, read in reads.items():
            if not self._counts(read):
                account.schedule_by(kind, max(now_ns, from_ns))

    @property
    def is_audited(self) -> bool:
        """True if an audit has judged reads from after the last trade, and while the books are not
        open."""
        return not self.is_open or self._audited_ns > self._active_ns + self._lag_ns

    # --- the opening ------------------------------------------------------------------------------

    @property
    def can_open(self) -> bool:
        """True if the account was read at all since the series is known."""
        return None not in (self._balance, self._positions, self.fills_from_ns)

    def open_books(self, now_ns: int) -> list[MarketId]:
        """Make the newest positions and balance the opening. Shares that the booked fills do not
        explain are taken over at no cost. Returns their markets."""
        assert self._balance is not None
        assert self._positions is not None
        held = self._positions.held
        known_cents = self.book.cash_flow_cents + self.transfers_cents - self.fee_difference_cents
        self._opening_cents = self._balance.total_cents - known_cents
        moved = []
        for market_id in sorted({*self.book.held_markets(), *(key for key, _ in held)}):
            for outcome, booked in zip(Outcome, self.book.holdings(market_id), strict=True):
                more = held.get((market_id, outcome), 0) - booked
                if more:
                    event = self.settlement.event_of(market_id)
                    self.book.take_over(market_id, event, outcome, more)
                    moved.append((market_id, outcome, more))
        self.is_open = True
        self.settlement.on_open(self._balance.ended_ns + self._lag_ns)
        self.booker.on_open()
        self._agreed()
        self._value_others(self._positions)
        for market_id, outcome, qty in moved:
            if market_id in self._rates:
                name = "shares_taken_over"
                self._out.note("info", name, market_id=market_id, outcome=outcome, qty=qty)
        self._balance = self._positions = None
        self._audited_ns = now_ns
        return [market_id for market_id, _, _ in moved]

    def reopen(self, now_ns: int) -> None:
        """A person has reset a contradiction: the books open again from the venue's truth, as at a
        start. Booked fills stay booked; differences are forgotten."""
        self.is_open = False
        self.difference_cents = None
        self._balance = self._positions = self._differing = self._changed = None
        self.booker.on_reopen()
        self._out.clear("cash_differs")
        self._out.clear("position_differs")
        self.on_activity(now_ns)

    # --- the audit --------------------------------------------------------------------------------

    def _audit(self, now_ns: int) -> tuple[tuple[MarketId, ...], tuple[MarketId, ...]]:
        """Judge the bracketed reads. Returns the markets that settled, and those of them whose
        winner became known."""
        assert self._balance is not None
        assert self._positions is not None
        balance, positions = self._balance, self._positions
        held = positions.held
        self._balance = self._positions = None
        self._audited_ns = min(balance.begun_ns, positions.begun_ns)
        self.settlement.on_audit(held, now_ns)
        awaits_series = self._awaits_series(now_ns)
        gone, may_go = self.settlement.gone(), self.settlement.may_yet_go(now_ns)
        difference = balance.total_cents - self.expected_cents
        self.difference_cents = Cents(difference)  # until it is reconciled
        wrong = {} if awaits_series else self._wrong_shares(held)
        is_decided = self._judge_shares(wrong, held, positions.begun_ns, now_ns)
        settled: tuple[MarketId, ...] = ()
        decided: tuple[MarketId, ...] = ()
        if may_go or awaits_series:
            self._changed = None
            is_decided &= not awaits_series
        elif not gone:
            is_decided &= self._judge_cash(
                difference, positions.begun_ns, now_ns, differ=bool(wrong)
            )
        elif balance.begun_ns < self.settlement.gone_ns(gone) + self._lag_ns:
            is_decided = False
        elif self._is_confirmed(difference, tuple(rung.market_id for rung in gone)):
            settled, decided = self._settle(gone, difference, now_ns)
        else:
            is_decided = False
        if not is_decided:
            self.on_activity(balance.ended_ns)
        elif not self.difference_cents:
            self._value_others(positions)
        return settled, decided

    @property
    def expected_cents(self) -> int:
        """The total that the venue's balance must show, reserves included."""
        return (
            self._opening_cents
            + self.book.cash_flow_cents
            + self.transfers_cents
            - self.fee_difference_cents
        )

    def equity_cents(self, marks: Mapping[MarketId, float]) -> Cents:
        """The account's cash without deposits and withdrawals, and the inventory: ours at these
        marks, that of others at what it cost, as of the newest audit."""
        own = self.book.own_flow_cents - self.fee_difference_cents
        other = self._others_cents - self._earlier_transfers_cents
        return Cents(self._opening_cents + own + other + self.book.value_cents(marks))

    def _value_others(self, positions: _AuditRead) -> None:
        """Take the cash and the inventory of markets that are not ours as of an audit that agrees:
        between two audits one of them may be newer than the other."""
        basis = {key: cents for key, cents in positions.basis.items() if key not in self._rates}
        flow_cents = self.book.cash_flow_cents - self.book.own_flow_cents
        self._others_cents, self._others_basis = flow_cents + sum(basis.values()), basis

    def _agreed(self) -> None:
        """Cash and inventory reconcile with our books."""
        self.difference_cents = Cents(0)
        self._changed = None
        self._filled_qty = self._fees_unshown = 0
        self._out.clear("cash_differs")
        self._signs.on_sign_gone(Inconsistency.CASH_DIFFERS, _CASH)
        self.booker.on_agreement()

    # --- shares -----------------------------------------------------------------------------------

    def _awaits_series(self, now_ns: int) -> bool:
        """True if a position is gone and the series was not read since: most likely its rung has
        resolved. A market that no series of ours lists counts as resolved."""
        awaits = False
        for market_id, gone_ns in self.settlement.unexplained():
            if not self.settlement.is_listed(market_id):
                self.settlement.on_resolved(market_id, now_ns)
            elif self._series_ns <= gone_ns + self._lag_ns:
                awaits = self.series_wanted = True
        return awaits

    def _wrong_shares(self, held: Held) -> dict[MarketId, str]:
        """The unresolved rungs of ours whose listed and booked inventory differ."""
        wrong: dict[MarketId, str] = {}
        for market_id in sorted(self._rates):
            booked = self.book.holdings(market_id)
            shown = (held.get((market_id, Outcome.YES), 0), held.get((market_id, Outcome.NO), 0))
            if shown != booked and market_id not in self.settlement.resolved_ns:
                wrong[market_id] = f"{market_id}: {shown} shown, {booked} booked"
        return wrong

    def _judge_shares(
        self, wrong: Mapping[MarketId, str], held: Held, begun_ns: int, now_ns: int
    ) -> bool:
        """False if a difference is new: another audit decides about it."""
        kind = Inconsistency.SHARES_DIFFER
        for market_id in self._rates:
            if market_id in wrong:
                self._signs.on_sign(kind, market_id, wrong[market_id], begun_ns, now_ns, market_id)
            else:
                self._signs.on_sign_gone(kind, market_id)
        is_decided = not wrong or self._differing is not None
        self._out.hold("position_differs", "; ".join([*wrong.values()][:5]))
        # A fill may have slipped between two pages: the next walk goes back far enough to find it.
        self.booker.goes_deep |= bool(wrong)
        self._differing = held if wrong else None
        return is_decided

    # --- cash -------------------------------------------------------------------------------------

    def _is_confirmed(self, difference: int, gone: tuple[MarketId, ...]) -> bool:
        """True if the audit before found the same. Its balance was answered a lag before the reads
        of this one were asked for: what moved the cash has left its mark on the positions, too."""
        before, self._changed = self._changed, (difference, gone)
        return before == self._changed

    def _judge_cash(self, difference: int, begun_ns: int, now_ns: int, *, differ: bool) -> bool:
        """Judge a difference of cash among no settlement. differ: shares differ as well. False if
        another audit is to decide about it."""
        if not difference:
            if not differ:
                self._agreed()
            return True
        kind = Inconsistency.CASH_DIFFERS
        text = f"the venue has {_beyond(difference)} than our fills come to"
        if not differ and abs(difference) <= self._fees_unshown:
            if not self.fee_difference_cents:
                self._out.note("warning", "fees_differ", cents=-difference)
            self.fee_difference_cents = Cents(self.fee_difference_cents - difference)
            self._agreed()
            return True
        is_decided = False
        if differ or 0 < self._filled_qty * PAYOUT_CENTS >= abs(difference):
            is_decided = self._signs.observes(kind, _CASH)
            self._out.find("cash_differs", text)
            self.booker.goes_deep = True
        elif self._is_confirmed(difference, ()):
            self.transfers_cents = Cents(self.transfers_cents + difference)
            self._out.note("warning", "account_transfer", cents=difference)
            self._agreed()
            return True
        self._signs.on_sign(kind, _CASH, text, begun_ns, now_ns)
        return is_decided

    def _settle(
        self, gone: Sequence[Waiting], difference: int, now_ns: int
    ) -> tuple[tuple[MarketId, ...], tuple[MarketId, ...]]:
        """The positions of resolved rungs are gone: book their payouts. Returns as `_audit`."""
        found = self.settlement.winners(gone, difference)
        if found is None:
            if now_ns < self.settlement.gone_ns(gone) + SETTLES_WITHIN_NS:
                return (), ()
            self._pay_unallocated(gone, difference)
        winners, certain = found or ({}, {})
        for market_id, winner in winners.items():
            cents = self.book.settle(market_id, winner)
            level = "info" if market_id in self._rates else "debug"
            fields = {"winner": winner, "event": self.book.event_of(market_id)}
            self._out.note(level, "rung_settled", market_id=market_id, **fields, cents=cents)
        self.settlement.add_winners(certain)
        self._agreed()
        decided = tuple(key for key in certain if key in self._rates)
        return tuple(rung.market_id for rung in gone), decided

    def _pay_unallocated(self, gone: Sequence[Waiting], difference: int) -> None:
        """The cash fits no outcome: it is booked to the event without a winner."""
        for rung in gone:
            self.book.pay(rung.market_id, Cents(difference if rung is gone[0] else 0))
        self.unallocated_cents = Cents(self.unallocated_cents + difference)
        event = gone[0].event_ticker
        self._out.note("error", "unallocated_settlement", event=event, cents=difference)

    # --- other series, and ended events -----------------------------------------------------------

    def on_other_series(
        self, events: Iterable[model.Event], believed_from_ns: int, now_ns: int
    ) -> None:
        """A read of another series of ours on the account, which speaks of `believed_from_ns` and
        before: its rungs pay into the same cash."""
        for event in events:
            settled = event.status is model.EventStatus.SETTLED
            event_ticker = fold_ticker(event.event_ticker)
            for market in event.markets:
                if settled and not self.settlement.is_listed(market.market_id):
                    continue
                self.settlement.list_market(market, event_ticker)
                if not settled:
                    self.settlement.state_shown(market, believed_from_ns, now_ns)
            if settled:
                for market_id in self.settlement.rungs_of(event_ticker):
                    self.settlement.on_resolved(market_id, now_ns)
                if self.may_forget(event, now_ns):
                    self.forget_event(event)

    def may_forget(self, event: model.Event, now_ns: int) -> bool:
        """True if every rung of an event resolved long enough ago, and all inventory was paid."""
        for market_id in self._rungs_of(event):
            resolved_ns = self.settlement.resolved_ns.get(market_id)
            if resolved_ns is None or now_ns < resolved_ns + FORGET_AFTER_NS:
                return False
            if any(self.holdings(market_id)) or self._desk.has_fills(market_id):
                return False
        return True

    def _rungs_of(self, event: model.Event) -> set[MarketId]:
        """The rungs that an event shows, and those that it has shown before."""
        before = self.settlement.rungs_of(fold_ticker(event.event_ticker))
        return {market.market_id for market in event.markets}.union(before)

    def forget_event(self, event: model.Event) -> None:
        """Drop an event without inventory."""
        gone = self._rungs_of(event)
        self.settlement.forget_event(fold_ticker(event.event_ticker))
        self.book.forget_event(event.event_ticker)
        for market_id in gone:
            self._rates.pop(market_id, None)
        for ticker in [key for key, each in self._by_ticker.items() if each in gone]:
            del self._by_ticker[ticker]

    def is_other_series(self, market_id: MarketId) -> bool:
        return self.settlement.is_listed(market_id) and market_id not in self._rates


def _beyond(cents: int) -> str:
    return f"{abs(cents)} cents {'more' if cents > 0 else 'less'}"
