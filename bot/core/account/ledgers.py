"""Our books against the venue's: fills booked once, holdings, and every difference named.

Shares and cash come from the fills; what an order says has filled beyond them is counted at the
order's limit until its fill is read. A balance says something about the books when no fill was
booked around it and a later walk of the fills found none either, and several read among fills do
together (`bot.core.account.trail`); a position read among fills says what cannot be
(`bot.core.account.sharetrail`).

Source: design, laws 4, 8 and 9; reliability, rows 52-58, B9; silences S4, S5, S22.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from bot.core.account.booking import Booking, TakenOver, stand_in
from bot.core.account.portfolio import Portfolio
from bot.core.account.settling import SETTLES_WITHIN_NS, Settling
from bot.core.account.trail import CashTrail
from bot.core.desk.desk import Desk
from bot.core.desk.outbox import Outbox
from bot.core.orders.order import OwnOrder
from bot.core.settings import TrustSettings
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Qty, Side, fee_cents, notional
from venue.wire.names import MarketId, OrderId, Ticker, fold_ticker

FORGET_AFTER_NS: Final = 600 * NS_PER_SECOND
"""So long after its last rung was seen resolved an event is kept: markouts look that far ahead."""


class Ledgers:
    """The portfolio, what is not booked yet, and the comparisons with the venue."""

    def __init__(self, trust: TrustSettings, desk: Desk, out: Outbox) -> None:
        self._trust = trust
        self._desk = desk
        self._out = out
        self.book = Portfolio()
        self._trail = CashTrail()
        self._by_ticker: dict[Ticker, MarketId] = {}
        self.settling = Settling(self.book, trust.read_lag_ns)
        self.booking = Booking(self.book, self._trail, desk, out, self._by_ticker, self.settling)
        self._rates: dict[MarketId, tuple[Ticker, FeeRate]] = {}
        self.series_wanted = False
        self._series_ns = -1
        self._opening_cents = Cents(0)
        self._opening_fills = 0
        self._balance: tuple[model.Balance, int, int] | None = None
        self._positions: tuple[dict[tuple[MarketId, Outcome], int], int, int] | None = None
        self.available_cents: Cents | None = None
        self.reserved_cents: Cents | None = None
        self.difference_cents: Cents | None = None
        # What it was when no payout was awaited last, since when it had been that, and what it had
        # been for long before that.
        self._stood_cents = self._stood_before_cents = Cents(0)
        self._stood_since_ns = 0
        self._compared_ns = self._shares_compared_ns = -1
        self._differing: dict[tuple[MarketId, Outcome], int] | None = None
        self._wrong: dict[tuple[MarketId, Outcome], int] = {}  # by so many shares, at least
        self.fills_from_ns: int | None = None

    # --- what is held -----------------------------------------------------------------------------

    def list_market(self, market: model.Market, maker: FeeRate, taker: FeeRate) -> None:
        """Make a rung and its fee rates known. Its event is the one that it names, under which its
        cash is asked for; what was read before of its ticker alone is of this rung."""
        event = fold_ticker(market.event_ticker)
        self.book.list_market(market.market_id, event, maker, taker)
        self._rates[market.market_id] = (event, max(maker, taker))
        self.settling.listed(msgspec.structs.replace(market, event_ticker=event), ours=True)
        self._by_ticker[fold_ticker(market.ticker)] = market.market_id
        by_ticker = stand_in(market.ticker)
        self.book.same_market(by_ticker, market.market_id)
        self.booking.moved.same_market(by_ticker, market.market_id)
        held = {} if self._positions is None else self._positions[0]
        for outcome in Outcome:
            qty = held.pop((by_ticker, outcome), None)
            if qty is not None:
                held[(market.market_id, outcome)] = qty

    @property
    def is_open(self) -> bool:
        """Whether the books are open: what comes from here on is of this run."""
        return self.booking.is_open

    @property
    def fills(self) -> int:
        """Fills booked since the books were opened."""
        return self.book.own_fills - self._opening_fills

    def booked_qty(self, own: OwnOrder) -> int:
        """Shares of an order whose fills are booked, under its id or a previous one (S13)."""
        booked = 0 if own.order_id is None else self.book.filled_qty(own.order_id)
        for order_id in own.previous_ids:
            booked += self.book.filled_qty(order_id)
        return booked

    def _unbooked(self, market_id: MarketId) -> list[tuple[OwnOrder, int]]:
        """Orders of a rung that have filled by more than their booked fills, and by how much."""
        unbooked = []
        for own in self._desk.with_fills(market_id):
            ahead = own.filled - self.booked_qty(own)
            if ahead > 0:
                unbooked.append((own, ahead))
        return unbooked

    def holdings(self, market_id: MarketId) -> tuple[Qty, Qty]:
        """YES and NO shares held, fills not booked yet included."""
        yes_qty, no_qty = self.book.holdings(market_id)
        if self._desk.has_fills(market_id):
            for own, ahead in self._unbooked(market_id):
                signed = ahead if own.own_side is Side.BUY else -ahead
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
        """Net cash of a rung's fills not booked yet, at the worst price that their order may have
        had, and the fee of single shares."""
        cash, (_, rate) = 0, self._rates[market_id]
        for own, ahead in self._unbooked(market_id) if self._desk.has_fills(market_id) else ():
            price = own.worst_price
            amount = notional(price, Qty(ahead))
            cash += -amount if own.own_side is Side.BUY else amount
            cash -= ahead * fee_cents(rate, Qty(1), price)
        return Cents(cash)

    def held(self, market_id: MarketId) -> tuple[Qty, Qty, Cents]:
        """`holdings` and `unbooked_cents`: all that a loss hangs on beside what is live."""
        return (*self.holdings(market_id), self.unbooked_cents(market_id))

    # --- reads ------------------------------------------------------------------------------------

    def fills_read(
        self,
        rows: Sequence[model.Fill],
        begun_ns: int,
        now_ns: int,
        live_orders: Iterable[OrderId],
    ) -> list[MarketId]:
        """A walk of the fills has ended. rows: what `booking` kept of its pages, newest first.
        Returns the rungs with new fills, in first-seen order, and those that have settled by the
        cash it explained."""
        self.fills_from_ns = begun_ns
        changed = self.booking.walked(rows, begun_ns, now_ns)
        self.book.trim(live_orders)
        # What a rung settles by is a fill of its own kind: shares went, and cash came.
        changed.update((key, None) for key in self._compare(begun_ns))
        return list(changed)

    def balance_read(self, balance: model.Balance, begun_ns: int, now_ns: int) -> None:
        """Keep a balance for comparing once the fills around it are known."""
        self.available_cents = balance.available_cents
        self.reserved_cents = balance.reserved_cents
        if self._balance is None or not self._worth_keeping(self._balance[1]):
            self._balance = (balance, begun_ns, now_ns)

    def positions_read(self, rows: Iterable[model.Position], begun_ns: int, now_ns: int) -> None:
        """Keep the positions for comparing once the fills around them are known. Where shares
        differed before, a list that shows what is booked ends that, whenever it was begun."""
        held: dict[tuple[MarketId, Outcome], int] = {}
        for row in rows:
            # Only the ticker is promised (interface, Position).
            ticker = fold_ticker(row.ticker)
            market_id = row.market_id or self._by_ticker.get(ticker, stand_in(ticker))
            if row.outcome is not model.ShownOutcome.UNKNOWN:
                held[(market_id, Outcome(row.outcome.value))] = row.qty
        if self._differing is not None and not any(
            self._wrong_shares(market_id, held) for market_id in self._unresolved()
        ):
            self._shares_agree()
        if self.is_open:
            self.settling.positions_shown(held, begun_ns)
            self.settling.resolved_read(held, begun_ns, now_ns)
        if self._positions is None or not self._worth_keeping(self._positions[1]):
            self._positions = (held, begun_ns, now_ns)

    def open_books(self, venue_ahead_ns: int | None = None) -> list[MarketId]:
        """From here on: what was held and owned before is the opening; called when all is quiet.

        Shares that the history of fills does not explain are taken over at no cost. venue_ahead_ns:
        how far the venue's clock is ahead of ours, which tells of a fill that the list shows late
        whether it is among those; None when unknown. Returns the markets of which the venue's lists
        show other shares than the fills left.
        """
        assert self._balance is not None
        assert self._positions is not None
        flow = self.book.cash_flow_cents
        self._opening_cents = Cents(self._balance[0].total_cents - flow)
        self._opening_fills = self.book.own_fills
        held, begun_ns, ended_ns = self._positions
        amid = [] if self._quiet_before(begun_ns) else self.booking.late.slots(begun_ns)
        shown = {(market_id, Outcome(name)): 1 for market_id, name in amid} | held
        changed = self.settling.opened(shown, ended_ns, self._balance[2])  # unpaid, if only late
        self.difference_cents = Cents(0)
        taken_over: TakenOver = {}
        # What was sold to the last share has no row; the fill that bought it may lack all the same.
        for (market_id, outcome), qty in sorted((self.book.unbought() | held).items()):
            more = qty - self.book.held_qty(market_id, outcome)
            if more and market_id in self._rates:
                self.book.take_over(market_id, outcome, more)
                taken_over[market_id, outcome.value] = more
                changed.append(market_id)
                self._out.note("warning", "shares_without_fills", market_id=market_id, qty=more)
        # Nothing of ours has traded in the lag before these reads: the clocks need not agree well.
        quiet_ns = min(begun_ns, self._balance[1]) - self._trust.read_lag_ns // 2
        before_ns = 0 if venue_ahead_ns is None else quiet_ns + venue_ahead_ns
        self.booking.opened(taken_over, quiet_ns, before_ns)
        self.booking.late.opened(max(begun_ns, self._balance[1]))
        return changed

    def differ(self) -> bool:
        """Whether the list of positions shows other shares than the fills leave, if any."""
        held = {} if self._positions is None else self._positions[0]
        return any(
            market_id in self._rates and qty != self.book.held_qty(market_id, outcome)
            for (market_id, outcome), qty in held.items()
        )

    def lacking(self) -> frozenset[MarketId]:
        """Markets of which the fills leave shares and the list of positions shows none."""
        return frozenset() if self._positions is None else self.settling.lacking(self._positions[0])

    @property
    def balance_ended_ns(self) -> int | None:
        """When the balance that waits to be compared was answered; None when none waits."""
        return None if self._balance is None else self._balance[2]

    # --- comparing --------------------------------------------------------------------------------

    @property
    def may_agree(self) -> bool:
        """Whether fills were booked that may explain shares which differed before."""
        return self._differing is not None and self.booking.booked_ns > self._shares_compared_ns

    def compared_since(self, quiet_ns: int) -> bool:
        """Whether the cash was compared with a balance read begun late enough after `quiet_ns`, and
        the shares likewise if they differed."""
        if not self.is_open:
            return True
        from_ns = quiet_ns + self._trust.read_lag_ns if quiet_ns else 0
        if self._differing is not None and self._shares_compared_ns < from_ns:
            return False
        return self._compared_ns >= from_ns

    def _quiet_before(self, begun_ns: int) -> bool:
        """Whether no fill has been booked that a read begun then may not have shown."""
        return self.booking.booked_ns < begun_ns - self._trust.read_lag_ns

    def _worth_keeping(self, begun_ns: int) -> bool:
        """Whether a read yet to be compared is kept when a newer one comes: else reads that come
        oftener than they lag would never be compared. The books are opened with the newest."""
        return self.is_open and self._quiet_before(begun_ns)

    def _is_late_enough(self, ended_ns: int, fills_begun_ns: int) -> bool:
        """Whether a walk of the fills shows all that a read which ended then may have shown."""
        return fills_begun_ns >= ended_ns + self._trust.read_lag_ns

    def _quiet_around(self, begun_ns: int, ended_ns: int, fills_begun_ns: int) -> bool:
        return self._is_late_enough(ended_ns, fills_begun_ns) and self._quiet_before(begun_ns)

    def _compare(self, fills_begun_ns: int) -> list[MarketId]:
        """A walk of the fills ended: compare what was read before it, if it says something. The
        rungs that have settled by it."""
        settled: list[MarketId] = []
        if not self.is_open:
            return settled
        if self._balance is not None and self._quiet_around(*self._balance[1:], fills_begun_ns):
            balance, begun_ns, _ = self._balance
            self._balance = None
            self._compared_ns = begun_ns
            settled = self._settle(self._beyond_cents(balance), begun_ns)
            difference_cents = self._beyond_cents(balance)
            self._trail.settle()
            if not difference_cents or not self.settling.may_yet_pay(fills_begun_ns):
                self._judge_cash(difference_cents, begun_ns)
        elif self._balance is not None and self._is_late_enough(self._balance[2], fills_begun_ns):
            balance, begun_ns, _ = self._balance
            self._balance = None
            settled = self._compare_amid(balance, begun_ns, fills_begun_ns)
        if self._positions is not None and self._is_late_enough(self._positions[2], fills_begun_ns):
            held, begun_ns, ended_ns = self._positions
            self._positions, before = None, self._differing
            amid_ns = None if self._quiet_before(begun_ns) else begun_ns - self._trust.read_lag_ns
            settled += self.booking.shares_shown(held, begun_ns, amid_ns)
            if amid_ns is None:
                self._shares_compared_ns = begun_ns
                self.settling.positions_read(held, ended_ns)
                if not self._find_differing(held, ended_ns, None):
                    self._shares_agree()
            elif not self._find_differing(held, ended_ns, amid_ns) and self._would_show(amid_ns):
                self._shares_agree()
            self.booking.history_wanted |= self._differing not in (None, before)
        return settled

    def _beyond_cents(self, balance: model.Balance) -> Cents:
        opening_cents = Cents(self._opening_cents - self.booking.late.opening_cents)
        return Cents(balance.total_cents - self.book.expected_cash(opening_cents))

    def _compare_amid(self, balance: model.Balance, begun_ns: int, now_ns: int) -> list[MarketId]:
        """Compare a balance that was read among fills, as far as that goes; while a payout is
        awaited several have to agree on what came. The rungs that have settled by it."""
        beyond_cents, lag_ns = self._beyond_cents(balance), self._trust.read_lag_ns
        if self.settling.waiting():
            paid_ns = self.settling.paid_by_ns()
            came_cents = self._trail.agreed(beyond_cents, begun_ns, lag_ns, paid_ns)
            if came_cents is None:
                return []
            settled = self._settle(came_cents, begun_ns)
            if not settled and not self.settling.may_yet_pay(now_ns):
                self._judge_cash(came_cents, begun_ns)
            return settled
        before_cents = self.difference_cents or Cents(0)
        found_cents = self._trail.amid(beyond_cents, before_cents, begun_ns, lag_ns)
        if found_cents is not None and found_cents != before_cents:
            self._judge_cash(found_cents, begun_ns)
        return []

    def _settle(self, beyond_cents: Cents, begun_ns: int) -> list[MarketId]:
        """Settle the resolved rungs whose winners so much more cash tells, or that nothing will."""
        # What differed long before anything resolved is no payout of it, unless it has passed; what
        # came since may be one: cash comes before a read shows why.
        is_new = self._stood_since_ns + SETTLES_WITHIN_NS > self.settling.waits_since_ns()
        stood_cents = self._stood_before_cents if is_new else self._stood_cents
        cash = beyond_cents - stood_cents, beyond_cents
        winners = self.settling.winners(cash, begun_ns, self.booking.late.cash_may_differ())
        for market_id, winner in winners.items():
            self.book.settle(market_id, winner)
            level = "debug" if self.is_beside(market_id) else "info"
            self._out.note(level, "rung_settled", market_id=market_id, winner=winner)
        self.settling.settled(winners, self.fills_from_ns or begun_ns)
        return [*winners, *self.booking.leave_out_untold()]

    def _judge_cash(self, difference_cents: Cents, begun_ns: int) -> None:
        difference_cents = self.booking.late.cash_left(difference_cents, begun_ns)
        before_cents, self.difference_cents = self.difference_cents, difference_cents
        if difference_cents != self._stood_cents and not self.settling.waiting():
            if begun_ns >= self._stood_since_ns + SETTLES_WITHIN_NS:
                self._stood_before_cents = self._stood_cents
            self._stood_cents, self._stood_since_ns = difference_cents, begun_ns
        is_new = difference_cents != before_cents
        self.booking.cash_compared(difference_cents, begun_ns, is_new=is_new)
        if difference_cents:
            cents = f"{abs(difference_cents)} cents {'more' if difference_cents > 0 else 'less'}"
            self._out.find("cash_differs", f"the venue has {cents} than our fills come to")
        else:
            self._out.clear("cash_differs")

    def _find_differing(
        self, held: dict[tuple[MarketId, Outcome], int], ended_ns: int, amid_ns: int | None
    ) -> bool:
        """Find the rungs whose shares are not what the fills come to. Whether there are any.

        A rung without any share of ours where the fills leave some has most likely resolved: it
        differs only once a read of the series that began after that shows that it has not. amid_ns:
        fills booked from then on may be missing in `held`; None where it was read among none.
        """
        wrong: dict[tuple[MarketId, Outcome], int] = {}
        for market_id in self._unresolved():
            differ = self._wrong_shares(market_id, held, amid_ns)
            is_gone = differ and not any(held.get((market_id, each), 0) for each in Outcome)
            if is_gone and self._series_ns <= ended_ns + self._trust.read_lag_ns:
                self.series_wanted = True
                continue
            wrong |= differ
        if wrong:
            tickers = {each: ticker for ticker, each in self._by_ticker.items()}
            named = [f"{tickers.get(each, each)} {outcome}" for each, outcome in wrong]
            self._out.find("position_differs", ", ".join(named[:5]))
            self._differing, self._wrong = held, wrong
        return bool(wrong)

    def _unresolved(self) -> list[MarketId]:
        """The rungs of ours that have not resolved, in order."""
        return [each for each in sorted(self._rates) if not self.settling.is_resolved(each)]

    def _wrong_shares(
        self,
        market_id: MarketId,
        held: dict[tuple[MarketId, Outcome], int],
        amid_ns: int | None = None,
    ) -> dict[tuple[MarketId, Outcome], int]:
        """The outcomes of a rung of which a list does not show what is booked, be it with or
        without the fills booked from `amid_ns` on (None: with all of them), each with the shares
        that are too many or missing at least."""
        wrong: dict[tuple[MarketId, Outcome], int] = {}
        for outcome, booked in zip(Outcome, self.book.holdings(market_id), strict=True):
            moved = self._moved(market_id, outcome, amid_ns)
            if moved is None:
                continue  # more fills than are remembered
            came, went = moved
            shown = held.get((market_id, outcome), 0)
            beyond = max(shown - booked - went, booked - came - shown)
            if beyond > 0:
                wrong[market_id, outcome] = beyond
        return wrong

    def _would_show(self, amid_ns: int) -> bool:
        """Whether what differed last would differ in a list read among fills, too: it is more than
        they leave open."""
        for (market_id, outcome), beyond in self._wrong.items():
            moved = self._moved(market_id, outcome, amid_ns)
            if moved is None or sum(moved) >= beyond:
                return False
        return True

    def _moved(
        self, market_id: MarketId, outcome: Outcome, amid_ns: int | None
    ) -> tuple[int, int] | None:
        """Shares that came and that went by fills which a list may lack: `ShareTrail.moved`."""
        return (0, 0) if amid_ns is None else self.booking.moved.moved(market_id, outcome, amid_ns)

    def _shares_agree(self) -> None:
        self._out.clear("position_differs")
        self._differing, self._wrong = None, {}

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

    def series_read(self, begun_ns: int) -> None:
        """The series was read: what the venue's lists lacked can be told from what has resolved."""
        self._series_ns = begun_ns
        self.series_wanted = False

    def list_beside(
        self, events: Iterable[model.Event], believed_from_ns: int, now_ns: int
    ) -> None:
        """Take in a read of another series of ours on the account, which speaks of
        `believed_from_ns` and before: what its rungs pay is told from the same cash."""
        for event in events:
            settled = event.status is model.EventStatus.SETTLED
            event_ticker = fold_ticker(event.event_ticker)
            for market in event.markets:
                if settled and not self.settling.is_listed(market.market_id):
                    continue
                listed = msgspec.structs.replace(market, event_ticker=event_ticker)
                self.settling.listed(listed, ours=False)
                if not settled:
                    self.settling.state_shown(listed, believed_from_ns, now_ns)
            if settled:
                for market_id in self.settling.rungs_of(event_ticker):
                    self.settling.resolved(market_id, now_ns)
                if self.may_forget(event, now_ns):
                    self.forget(event)

    def may_forget(self, event: model.Event, now_ns: int) -> bool:
        """Whether every rung of an event resolved long enough ago, and everything held was paid."""
        for market_id in self._rungs_of(event):
            resolved_ns = self.settling.resolved_ns(market_id)
            if resolved_ns is None or now_ns < resolved_ns + FORGET_AFTER_NS:
                return False
            if any(self.holdings(market_id)) or self._desk.has_fills(market_id):
                return False
        return True

    def _rungs_of(self, event: model.Event) -> set[MarketId]:
        """The rungs that an event shows, and those that it has shown before."""
        before = self.settling.rungs_of(fold_ticker(event.event_ticker))
        return {market.market_id for market in event.markets}.union(before)

    def forget(self, event: model.Event) -> None:
        """Drop an event of which nothing is held any more."""
        gone = self._rungs_of(event)
        self.settling.forget(fold_ticker(event.event_ticker))
        self.book.forget_event(event.event_ticker)
        self.booking.moved.forget(gone)
        for market_id in gone:
            self._rates.pop(market_id, None)
        for ticker in [key for key, each in self._by_ticker.items() if each in gone]:
            del self._by_ticker[ticker]

    def is_beside(self, market_id: MarketId) -> bool:
        """Whether a market is of another series of ours."""
        return self.settling.is_listed(market_id) and market_id not in self._rates
