"""Our books against the venue's: fills booked once, holdings, and every difference named.

Shares and cash come from the fills; what an order says has filled beyond them is counted at the
order's limit until its fill is read. A balance or position read says something about the books only
when no fill was booked around it and a later walk of the fills found none either.

Source: design, laws 4, 8 and 9; reliability, rows 52-58, B9; silences S4, S5, S22.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from bot.core.desk import Desk
from bot.core.order import OwnOrder
from bot.core.outbox import Outbox
from bot.core.portfolio import Portfolio, UnbookableFill
from bot.core.settings import TrustSettings
from venue.wire import model
from venue.wire.money import (
    PAYOUT_CENTS,
    BookSide,
    Cents,
    FeeRate,
    Outcome,
    Qty,
    Side,
    fee_cents,
    notional,
)
from venue.wire.names import MarketId, OrderId, Ticker, fold_ticker

_SETTLED_TOGETHER_MAX: Final = 12

_HISTORY_DOUBTED: Final = ("position_differs", "fills_missing")
"""Findings that a fill was passed over: pages of one walk may come from copies that lag unequally,
and a fill that falls between them lies below what is booked for ever (rows 37, 54)."""


class Ledgers:
    """The portfolio, what is not booked yet, and the comparisons with the venue."""

    def __init__(self, trust: TrustSettings, desk: Desk, out: Outbox) -> None:
        self._trust = trust
        self._desk = desk
        self._out = out
        self.book = Portfolio()
        self._by_ticker: dict[Ticker, MarketId] = {}
        self._rates: dict[MarketId, tuple[Ticker, FeeRate]] = {}
        self._resolved: dict[MarketId, None] = {}
        self._inherited: dict[tuple[MarketId, Outcome], int] = {}
        self._opening_cents: Cents | None = None
        self._opening_fills = 0
        self._opening_pnl_cents: Cents | None = None
        self.booked_ns = 0
        self._balance: tuple[model.Balance, int, int] | None = None
        self._positions: tuple[dict[tuple[MarketId, Outcome], int], int, int] | None = None
        self.available_cents: Cents | None = None
        self.difference_cents: Cents | None = None
        self.history_wanted = False
        self.fresh_fills: list[model.Fill] = []
        self._compared_ns = -1
        self._shares_compared_ns = -1
        self._differing: dict[tuple[MarketId, Outcome], int] | None = None

    # --- what is held -----------------------------------------------------------------------------

    def list_market(self, market: model.Market, maker: FeeRate, taker: FeeRate) -> None:
        """Make a rung and its fee rates known."""
        self.book.list_market(market.market_id, market.event_ticker, maker, taker)
        self._rates[market.market_id] = (market.event_ticker, max(maker, taker))
        self._by_ticker[fold_ticker(market.ticker)] = market.market_id

    @property
    def is_open(self) -> bool:
        """Whether the books are open: what comes from here on is of this run."""
        return self._opening_cents is not None

    @property
    def fills(self) -> int:
        """Fills booked since the books were opened."""
        return self.book.fill_count - self._opening_fills

    def booked_qty(self, own: OwnOrder) -> int:
        """Shares of an order whose fills are booked.

        Its id may show fills that the list keeps with an earlier id, and that were not known when
        that one went (S13): those count for it too.
        """
        booked = 0 if own.order_id is None else self.book.filled_qty(own.order_id)
        for order_id, known in own.earlier:
            booked += max(0, self.book.filled_qty(order_id) - known)
        return booked

    def _unbooked(self, market_id: MarketId) -> Iterable[tuple[OwnOrder, int]]:
        """Orders of a rung that have filled by more than their booked fills, and by how much."""
        for own in self._desk.with_fills(market_id):
            ahead = own.filled - self.booked_qty(own)
            if ahead > 0:
                yield own, ahead

    def holdings(self, market_id: MarketId) -> tuple[Qty, Qty]:
        """YES and NO shares held, fills not booked yet included."""
        yes_qty, no_qty = self.book.holdings(market_id)
        if self._inherited:
            yes_qty += self._inherited.get((market_id, Outcome.YES), 0)
            no_qty += self._inherited.get((market_id, Outcome.NO), 0)
        if self._desk.has_fills(market_id):
            for own, ahead in self._unbooked(market_id):
                signed = ahead if own.own_side is Side.BUY else -ahead
                if own.outcome is Outcome.YES:
                    yes_qty += signed
                else:
                    no_qty += signed
        return Qty(max(0, yes_qty)), Qty(max(0, no_qty))

    def event_cash_cents(self, event_ticker: Ticker, rungs: Iterable[MarketId]) -> Cents:
        """Net cash of an event's fills; those not booked yet at the worst price that their order
        may have had, and the fee of single shares."""
        cash = int(self.book.event_cash_cents(event_ticker))
        for market_id in rungs:
            _, rate = self._rates[market_id]
            for own, ahead in self._unbooked(market_id):
                price = own.worst_fill_price(self.booked_qty(own))
                amount = notional(price, Qty(ahead))
                cash += -amount if own.own_side is Side.BUY else amount
                cash -= ahead * fee_cents(rate, Qty(1), price)
        return Cents(cash)

    def pnl_cents(self, marks: Mapping[MarketId, float]) -> Cents:
        """Profit since the books were opened: cash that moved, and shares at `marks`.

        marks: YES value per share, cents. Shares held at the opening count from what they were
        worth by the first marks given.
        """
        now_cents = self.book.pnl_cents(marks)
        if self._opening_cents is None:
            return Cents(0)
        if self._opening_pnl_cents is None:
            self._opening_pnl_cents = now_cents if self._opening_fills else Cents(0)
        return Cents(now_cents - self._opening_pnl_cents)

    # --- reads ------------------------------------------------------------------------------------

    def all_booked_before(self, rows: tuple[Any, ...]) -> bool:
        """Whether the oldest fill of a page is booked already: older pages hold nothing new.

        Before the books are open the whole history is read, and again while a finding stands.
        """
        doubted = any(name in self._out.findings for name in _HISTORY_DOUBTED)
        if self._opening_cents is None or not rows or doubted or self.history_wanted:
            return False
        try:
            return self.book.is_booked(rows[-1])
        except UnbookableFill:
            return False

    def fills_read(
        self,
        rows: Sequence[model.Fill],
        begun_ns: int,
        now_ns: int,
        live_orders: Iterable[OrderId],
    ) -> list[MarketId]:
        """Book what a walk showed. Returns the rungs with new fills, in first-seen order, and those
        that have settled by the cash it explained. Once the books are open `fresh_fills` are those
        of this walk that were not booked before, oldest first, each with the fee charged."""
        changed: dict[MarketId, None] = {}
        self.fresh_fills = []
        self.history_wanted = False
        for fill in map(self._placed, reversed(rows)):
            try:
                fees_cents = self.book.fees_cents
                if self.book.book_fill(fill):
                    fee_cents = Cents(self.book.fees_cents - fees_cents)
                    changed[fill.market_id] = None
                    self.booked_ns = now_ns
                    if self._opening_cents is not None:
                        self.fresh_fills.append(msgspec.structs.replace(fill, fee_cents=fee_cents))
            except UnbookableFill as fault:
                self._out.find("fill_unreadable", str(fault))
        self.book.trim(frozenset(live_orders))
        waiting = [key for key in self._resolved if self.book.winner(key) is None]
        self._compare(begun_ns)
        # What a rung settles by is a fill of its own kind: shares went, and cash came.
        changed.update((key, None) for key in waiting if self.book.winner(key) is not None)
        return list(changed)

    def _placed(self, fill: model.Fill) -> model.Fill:
        """A fill that does not tell its market is of its ticker's, or else of its order's (S4)."""
        if fill.market_id:
            return fill
        owners = (own.market_id for own in self._desk.unsettled if own.order_id == fill.order_id)
        own = self._desk.find(fill.order_id)
        owner = next(owners, None) if own is None else own.market_id
        market_id = self._by_ticker.get(fold_ticker(fill.ticker), owner)
        return fill if market_id is None else msgspec.structs.replace(fill, market_id=market_id)

    def balance_read(self, balance: model.Balance, begun_ns: int, now_ns: int) -> None:
        """Keep a balance for comparing once the fills around it are known."""
        self.available_cents = balance.available_cents
        if self._balance is None or not self._worth_keeping(self._balance[1]):
            self._balance = (balance, begun_ns, now_ns)

    def positions_read(self, rows: Iterable[model.Position], begun_ns: int, now_ns: int) -> None:
        """Keep the positions for comparing once the fills around them are known."""
        if self._positions is not None and self._worth_keeping(self._positions[1]):
            return
        held: dict[tuple[MarketId, Outcome], int] = {}
        for row in rows:
            # Only the ticker is promised (interface, Position).
            market_id = row.market_id or self._by_ticker.get(fold_ticker(row.ticker))
            if market_id is not None and row.outcome is not model.ShownOutcome.UNKNOWN:
                held[(market_id, Outcome(row.outcome.value))] = row.qty
        self._positions = (held, begun_ns, now_ns)

    def open_books(self) -> None:
        """From here on: what was held and owned before is the opening; called when all is quiet.

        Shares that the history of fills does not explain are taken over at no cost.
        """
        assert self._balance is not None
        assert self._positions is not None
        flow = self.book.cash_flow_cents
        self._opening_cents = Cents(self._balance[0].total_cents - flow)
        self._opening_fills = self.book.fill_count
        self.difference_cents = Cents(0)
        for (market_id, outcome), qty in sorted(self._positions[0].items()):
            yes_qty, no_qty = self.book.holdings(market_id)
            booked = yes_qty if outcome is Outcome.YES else no_qty
            if qty != booked and market_id in self._rates:
                self._inherited[(market_id, outcome)] = qty - booked
                self._out.note(
                    "warning", "shares_without_fills", market_id=market_id, qty=qty - booked
                )

    @property
    def balance_ended_ns(self) -> int | None:
        """When the balance that waits to be compared was answered; None when none waits."""
        return None if self._balance is None else self._balance[2]

    # --- comparing --------------------------------------------------------------------------------

    def compared_since(self, quiet_ns: int) -> bool:
        """Whether the cash was compared with a balance read begun late enough after `quiet_ns`, and
        the shares likewise if they differed."""
        if self._opening_cents is None:
            return True
        from_ns = quiet_ns + self._trust.read_lag_ns if quiet_ns else 0
        if self._differing is not None and self._shares_compared_ns < from_ns:
            return False
        return self._compared_ns >= from_ns

    def _quiet_before(self, begun_ns: int) -> bool:
        """Whether no fill has been booked that a read begun then may not have shown."""
        return self.booked_ns < begun_ns - self._trust.read_lag_ns

    def _worth_keeping(self, begun_ns: int) -> bool:
        """Whether a read yet to be compared is kept when a newer one comes.

        Else reads that come oftener than they lag would never be compared. The books are opened
        with the newest.
        """
        return self._opening_cents is not None and self._quiet_before(begun_ns)

    def _quiet_around(self, begun_ns: int, ended_ns: int, fills_begun_ns: int) -> bool:
        late_enough = fills_begun_ns >= ended_ns + self._trust.read_lag_ns
        return late_enough and self._quiet_before(begun_ns)

    def _compare(self, fills_begun_ns: int) -> None:
        """A walk of the fills ended: compare what was read before it, if it says something."""
        if self._opening_cents is None:
            return
        if self._balance is not None and self._quiet_around(*self._balance[1:], fills_begun_ns):
            balance, begun_ns, _ = self._balance
            self._balance = None
            self._compared_ns = begun_ns
            expected = self.book.expected_cash(self._opening_cents)
            self._settle_by_cash(balance.total_cents - expected)
            expected = self.book.expected_cash(self._opening_cents)
            before_cents = self.difference_cents
            self.difference_cents = Cents(balance.total_cents - expected)
            # A difference that is new may be a fill passed over: every fill is read once more.
            self.history_wanted = self.difference_cents not in (0, before_cents)
            if self.difference_cents:
                self._out.find("cash_differs", f"{self.difference_cents} cents at the venue")
            else:
                self._out.clear("cash_differs")
        if self._positions is not None and self._quiet_around(*self._positions[1:], fills_begun_ns):
            held, self._shares_compared_ns, _ = self._positions
            self._positions = None
            before = self._differing
            self._compare_positions(held)
            self.history_wanted |= self._differing not in (None, before)

    def _settle_by_cash(self, received_cents: int) -> None:
        """Settle resolved rungs by the one choice of winners that explains the cash received.

        Shares of a resolved rung pay a dollar or nothing; when several choices that pay a rung
        differently explain the cash, or none does, nothing is settled and the difference stands as
        a finding.
        """
        open_rungs = [
            (market_id, self.book.holdings(market_id))
            for market_id in self._resolved
            if self.book.winner(market_id) is None and any(self.book.holdings(market_id))
        ][:_SETTLED_TOGETHER_MAX]
        if not received_cents or not open_rungs:
            return
        fitting = [
            winners
            for winners in itertools.product((Outcome.YES, Outcome.NO), repeat=len(open_rungs))
            if received_cents
            == PAYOUT_CENTS
            * sum(
                yes_qty if winner is Outcome.YES else no_qty
                for winner, (_, (yes_qty, no_qty)) in zip(winners, open_rungs, strict=True)
            )
        ]
        # Where as many YES as NO shares are held, either winner pays the same: both fit, as one.
        paid = {
            tuple(
                yes_qty if winner is Outcome.YES else no_qty
                for winner, (_, (yes_qty, no_qty)) in zip(winners, open_rungs, strict=True)
            )
            for winners in fitting
        }
        if len(paid) == 1:
            for winner, (market_id, _) in zip(fitting[0], open_rungs, strict=True):
                self.book.settle(market_id, winner)
                self._out.note("info", "rung_settled", market_id=market_id, winner=winner)

    def _compare_positions(self, held: dict[tuple[MarketId, Outcome], int]) -> None:
        wrong = []
        for market_id in sorted(self._rates):
            if market_id in self._resolved:
                continue
            ours = self.book.holdings(market_id)
            for outcome, booked in zip((Outcome.YES, Outcome.NO), ours, strict=True):
                mine = booked + self._inherited.get((market_id, outcome), 0)
                if held.get((market_id, outcome), 0) != mine:
                    wrong.append(f"{market_id} {outcome}")
        if wrong:
            self._out.find("position_differs", ", ".join(wrong[:5]))
            self._differing = held
        else:
            self._out.clear("position_differs")
            self._differing = None

    def shrink_room(self, market_id: MarketId, side: BookSide) -> Qty:
        """Shares that a rung's position may be cut by on this side and not pass through nothing.

        While our books and the venue's differ, by whichever of them has less (row 54); 0 where
        they disagree which way round the position is, or this side would add to it.
        """
        yes_qty, no_qty = self.holdings(market_id)
        sign = -1 if side is BookSide.BID else 1
        room = sign * (yes_qty - no_qty)
        if self._differing is not None:
            theirs = self._differing.get((market_id, Outcome.YES), 0)
            theirs -= self._differing.get((market_id, Outcome.NO), 0)
            room = min(room, sign * theirs)
        return Qty(max(0, room))

    def resolved(self, market_id: MarketId) -> None:
        """A rung has resolved: its positions leave the venue's list. The venue does not publish the
        winner; the cash it pays tells (see `_settle_by_cash`)."""
        self._resolved[market_id] = None
