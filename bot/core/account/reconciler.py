"""Our books against the venue's: fills booked once, holdings, and audits of cash and shares.

Positions and a balance are true as of reads that lie between two walks of the fills with the same
newest fill, a read lag apart. The first such pair opens the books, each later one is an audit. In
between, what an order says has filled beyond its booked fills counts at the order's limit.

A difference that an audit finds lets nothing leave that adds exposure, and stops the bot where it
lasts. Three differences of cash have a name and do not stop it: settlements, transfers, and fees
that the fills did not show.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from bot.core.account.fills import FillBooker
from bot.core.account.poller import AccountPoller, Resource
from bot.core.account.portfolio import Portfolio
from bot.core.account.settlement import SETTLES_WITHIN_NS, Held, Settlement, Waiting
from bot.core.inconsistency import Inconsistency
from bot.core.messages import Started
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder
from bot.core.orders.outbox import Outbox
from bot.core.settings import StalenessSettings
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
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

FORGET_AFTER_NS: Final = 600 * NS_PER_SECOND
"""So long after its last rung was seen resolved an event is kept: markouts look that far ahead."""

_CASH: Final = "cash"
"""The key of the one sign that the cash of the account can give."""


class _Balance(msgspec.Struct, frozen=True):
    """A balance, with the times of its request and answer."""

    total_cents: Cents
    begun_ns: int
    ended_ns: int


class _Positions(msgspec.Struct, frozen=True):
    """The shares of a list of positions, with the times of its request and answer."""

    held: Held
    begun_ns: int
    ended_ns: int


class AccountChange(msgspec.Struct, frozen=True):
    """What a walk of the fills changed.

    fills: booked now, oldest first. markets: those whose cash or shares are others now. told: those
    whose winner became known.
    """

    fills: tuple[model.Fill, ...] = ()
    markets: tuple[MarketId, ...] = ()
    told: tuple[MarketId, ...] = ()


class AccountReconciler:
    """The portfolio, what is not booked yet, and the audits.

    difference_cents: what the venue had beyond our books at the newest audit, None before the books
    are open. transfers_cents: deposits less withdrawals since. unallocated_cents: settlements that
    fit no outcome. fee_difference_cents: fees that the fills did not show.
    """

    def __init__(self, staleness: StalenessSettings, desk: OrderManager, out: Outbox) -> None:
        self._lag_ns = staleness.read_lag_ns
        self._desk = desk
        self._out = out
        self._signs = out.inconsistencies
        self.book = Portfolio()
        self._by_ticker: dict[Ticker, MarketId] = {}
        self._rates: dict[MarketId, FeeRate] = {}  # the higher one of each rung of ours
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
        self.transfers_cents = Cents(0)
        self.unallocated_cents = Cents(0)
        self.fee_difference_cents = Cents(0)
        self._balance: _Balance | None = None
        self._positions: _Positions | None = None
        self._disturbed_ns = 0  # reads of before this, and a lag, say nothing of after it
        self._opening_cents = 0
        self._audited_ns = -1  # when the reads of the newest audit began
        self._differing: Held | None = None  # the positions, where the shares differ
        # The difference of cash at the audit before, and the rungs whose positions were gone.
        self._changed: tuple[int, tuple[MarketId, ...]] | None = None
        # Since the last audit that agreed:
        self._filled_qty = 0
        self._fees_unshown = 0

    def begin(self, started: Started) -> None:
        """The run begins with what the journal knows of the account."""
        self.settlement.told(dict(started.winners))
        self.booker.begin(started.complete_fill, started.fills_since)
        for event_ticker, cents in started.event_cash:
            self.book.carry(event_ticker, cents)

    # --- what is held -----------------------------------------------------------------------------

    def list_market(self, market: model.Market, maker: FeeRate, taker: FeeRate) -> None:
        """Make a rung and its fee rates known. Its event is the one that it names."""
        event = fold_ticker(market.event_ticker)
        self.book.list_market(market.market_id, event, maker, taker)
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
        """Net cash of a rung's fills not booked yet, at the worst price that their order may have
        had, and the fee of single shares."""
        cash, rate = 0, self._rates[market_id]
        for own, ahead in self._unbooked(market_id) if self._desk.has_fills(market_id) else ():
            price = own.worst_price
            amount = notional(price, Qty(ahead))
            cash += -amount if own.side is Side.BUY else amount
            cash -= ahead * fee_cents(rate, Qty(1), price)
        return Cents(cash)

    def held(self, market_id: MarketId) -> tuple[Qty, Qty, Cents]:
        """`holdings` and `unbooked_cents`: all that a loss hangs on beside what is live."""
        return (*self.holdings(market_id), self.unbooked_cents(market_id))

    def shrink_room(self, market_id: MarketId, side: BookSide) -> Qty:
        """Shares that a rung's position may be cut by on this side and not pass through nothing.

        While our books and the venue's differ, by whichever of them has less; 0 where they disagree
        which way round the position is, or this side would add to it.
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

    def balance_read(self, balance: model.Balance, begun_ns: int, now_ns: int) -> None:
        """Take in a balance."""
        self.available_cents = balance.available_cents
        self.reserved_cents = balance.reserved_cents
        if not self._counts(self._balance):
            self._balance = _Balance(balance.total_cents, begun_ns, now_ns)

    def positions_read(self, rows: Iterable[model.Position], begun_ns: int, now_ns: int) -> None:
        """Take in a whole list of positions. Of a row only the ticker is promised."""
        held: dict[tuple[MarketId, Outcome], int] = {}
        for row in rows:
            ticker = fold_ticker(row.ticker)
            market_id = row.market_id or self._by_ticker.get(ticker, MarketId(ticker))
            if row.outcome is not model.ShownOutcome.UNKNOWN:
                held[market_id, Outcome(row.outcome.value)] = row.qty
        if self.is_open:
            self.settlement.positions_shown(held, begun_ns)
        if self._series_ns >= 0 and not self._counts(self._positions):
            self._positions = _Positions(held, begun_ns, now_ns)

    def fills_page(
        self, rows: Sequence[model.Fill], now_ns: int
    ) -> tuple[Sequence[model.Fill], bool]:
        """A page of a walk: see `FillBooker.page`. Before the series is known nothing is taken from
        it: the markets of the rows are not known."""
        return self.booker.page(rows, now_ns) if self._series_ns >= 0 else ((), True)

    def fills_read(
        self,
        rows: Sequence[model.Fill],
        begun_ns: int,
        now_ns: int,
        live_orders: Iterable[OrderId],
    ) -> AccountChange:
        """A walk of the fills has ended. rows: what `fills_page` kept of it, newest first."""
        if self._series_ns < 0:
            return AccountChange()
        if self.fills_from_ns is None:
            self.disturbed(now_ns)
        self.fills_from_ns = begun_ns
        shown = {row.fill_id: row.fee_cents for row in rows}
        fills = self.booker.walked(rows, begun_ns, now_ns, live_orders)
        self.disturbed(self.booker.booked_ns)
        for fill in fills:
            self._filled_qty += fill.qty
            self._fees_unshown += shown[fill.fill_id] is None
            self._note_booked(fill)
        markets = dict.fromkeys(fill.market_id for fill in fills)
        if not self.is_open:
            return AccountChange(markets=tuple(markets))
        self.fills += sum(fill.market_id in self._rates for fill in fills)
        audited = self._audit(now_ns)
        markets.update(dict.fromkeys(audited.markets))
        return msgspec.structs.replace(audited, fills=fills, markets=tuple(markets))

    def _note_booked(self, fill: model.Fill) -> None:
        """For the journal: a later run takes this fill for booked, and counts its cash."""
        amount = notional(fill.outcome_price, fill.qty)
        cash_cents = -amount if fill.side is model.ShownSide.BUY else amount
        self._out.note(
            "debug",
            "fill_booked",
            fill_id=fill.fill_id,
            created_at=fill.created_at,
            event=self.book.event_of(fill.market_id),
            cents=cash_cents - (fill.fee_cents or 0),
        )

    def series_read(self, begun_ns: int) -> None:
        """Our series was read: a rung whose position is gone has resolved, or has not."""
        self._series_ns = begun_ns
        self.series_wanted = False

    # --- the bracket ------------------------------------------------------------------------------

    def disturbed(self, at_ns: int) -> None:
        """Something traded, or may have, until then, or an audit of then wants another one to
        decide what it saw: reads count from a lag after it."""
        self._disturbed_ns = max(self._disturbed_ns, at_ns)

    def _counts(self, read: _Balance | _Positions | None) -> bool:
        """True if a read is late enough after the last fill, and so waits for the next walk."""
        return read is not None and read.begun_ns > self._disturbed_ns + self._lag_ns

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

    def plan_bracket(self, account: AccountPoller, now_ns: int) -> None:
        """Ask for what the next audit lacks, each read as soon as it can count."""
        if self.fills_from_ns is None:
            account.hasten(Resource.FILLS, now_ns)  # the first was read before the series
            return
        from_ns = self._disturbed_ns + self._lag_ns + 1
        reads = {Resource.BALANCE: self._balance, Resource.POSITIONS: self._positions}
        ended_ns = [read.ended_ns for read in reads.values() if read and self._counts(read)]
        if len(ended_ns) == len(reads):
            reads, from_ns = {Resource.FILLS: None}, max(ended_ns) + self._lag_ns
        for kind, read in reads.items():
            if not self._counts(read):
                account.hasten(kind, max(now_ns, from_ns))

    @property
    def is_audited(self) -> bool:
        """True if an audit has judged what there was after all that traded; before the books are
        open there is none to wait for."""
        return not self.is_open or self._audited_ns > self._disturbed_ns + self._lag_ns

    # --- the opening ------------------------------------------------------------------------------

    @property
    def can_open(self) -> bool:
        """True if the account was read at all since the series is known."""
        return None not in (self._balance, self._positions, self.fills_from_ns)

    def open_books(self, now_ns: int) -> list[MarketId]:
        """From here on: what the newest positions and balance show is the opening. Shares that the
        booked fills do not explain are taken over at no cost. Returns the markets taken over."""
        assert self._balance is not None
        assert self._positions is not None
        held = self._positions.held
        self._opening_cents = self._balance.total_cents - self.book.cash_flow_cents
        moved = []
        for market_id in sorted({*self.book.held_markets(), *(key for key, _ in held)}):
            for outcome, booked in zip(Outcome, self.book.holdings(market_id), strict=True):
                more = held.get((market_id, outcome), 0) - booked
                if more:
                    event = self.settlement.event_of(market_id)
                    self.book.take_over(market_id, event, outcome, more)
                    moved.append((market_id, outcome, more))
        self.is_open = True
        self.settlement.opened(self._balance.ended_ns + self._lag_ns)
        self.booker.opened()
        self._agreed()
        for market_id, outcome, qty in moved:
            if market_id in self._rates:
                name = "shares_taken_over"
                self._out.note("info", name, market_id=market_id, outcome=outcome, qty=qty)
        self._balance = self._positions = None
        self._audited_ns = now_ns
        return [market_id for market_id, _, _ in moved]

    def reopen(self, now_ns: int) -> None:
        """A person has reset a contradiction: the books are opened anew from the venue's truth, as
        at a start. Fills that are booked stay booked; what was seen of differences is forgotten."""
        self.is_open = False
        self.difference_cents = None
        self._balance = self._positions = self._differing = self._changed = None
        self.booker.reopened()
        self._out.clear("cash_differs")
        self._out.clear("position_differs")
        self.disturbed(now_ns)

    # --- the audit --------------------------------------------------------------------------------

    def _audit(self, now_ns: int) -> AccountChange:
        """A walk of the fills has ended: judge the reads that it brackets, if it does."""
        if not self.is_bracketed:
            return AccountChange()
        assert self._balance is not None
        assert self._positions is not None
        balance, positions = self._balance, self._positions
        held = positions.held
        self._balance = self._positions = None
        self._audited_ns = min(balance.begun_ns, positions.begun_ns)
        self.settlement.audited(held, now_ns)
        awaits_series = self._awaits_series(now_ns)
        gone, may_go = self.settlement.gone(), self.settlement.may_yet_go(now_ns)
        difference = balance.total_cents - self.expected_cents
        self.difference_cents = Cents(difference)  # until what it comes from is known
        wrong = {} if awaits_series else self._wrong_shares(held)
        is_decided = self._judge_shares(wrong, held, positions.begun_ns, now_ns)
        change = AccountChange()
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
            change = self._settle(gone, difference, now_ns)
        else:
            is_decided = False
        if not is_decided:
            self.disturbed(balance.ended_ns)
        return change

    @property
    def expected_cents(self) -> int:
        """What the venue's balance must total, reserves included."""
        return (
            self._opening_cents
            + self.book.cash_flow_cents
            + self.transfers_cents
            - self.fee_difference_cents
        )

    def _agreed(self) -> None:
        """Cash and shares are what our books say."""
        self.difference_cents = Cents(0)
        self._changed = None
        self._filled_qty = self._fees_unshown = 0
        self._out.clear("cash_differs")
        self._signs.on_sign_gone(Inconsistency.CASH_DIFFERS, _CASH)
        self.booker.agreed()

    # --- shares -----------------------------------------------------------------------------------

    def _awaits_series(self, now_ns: int) -> bool:
        """True if a position is gone and no read of the series that began later tells why: most
        likely its rung has resolved. One of a market that no series of ours lists has."""
        awaits = False
        for market_id, gone_ns in self.settlement.unexplained():
            if not self.settlement.is_listed(market_id):
                self.settlement.on_resolved(market_id, now_ns)
            elif self._series_ns <= gone_ns + self._lag_ns:
                awaits = self.series_wanted = True
        return awaits

    def _wrong_shares(self, held: Held) -> dict[MarketId, str]:
        """The unresolved rungs of ours of which a list does not show what is booked."""
        wrong: dict[MarketId, str] = {}
        for market_id in sorted(self._rates):
            booked = self.book.holdings(market_id)
            shown = (held.get((market_id, Outcome.YES), 0), held.get((market_id, Outcome.NO), 0))
            if shown != booked and not self.settlement.is_resolved(market_id):
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

    def _settle(self, gone: Sequence[Waiting], difference: int, now_ns: int) -> AccountChange:
        """The positions of resolved rungs are gone: book what they were paid."""
        found = self.settlement.winners(gone, difference)
        if found is None:
            if now_ns < self.settlement.gone_ns(gone) + SETTLES_WITHIN_NS:
                return AccountChange()
            self._pay_unallocated(gone, difference)
        winners, certain = found or ({}, {})
        for market_id, winner in winners.items():
            cents = self.book.settle(market_id, winner)
            level = "info" if market_id in self._rates else "debug"
            said = {"winner": winner, "event": self.book.event_of(market_id)}
            self._out.note(level, "rung_settled", market_id=market_id, **said, cents=cents)
        self.settlement.told(certain)
        self._agreed()
        told = tuple(key for key in certain if key in self._rates)
        return AccountChange((), tuple(rung.market_id for rung in gone), told)

    def _pay_unallocated(self, gone: Sequence[Waiting], difference: int) -> None:
        """The cash fits no outcome: it is cash of the event, whoever won."""
        for rung in gone:
            self.book.pay(rung.market_id, Cents(difference if rung is gone[0] else 0))
        self.unallocated_cents = Cents(self.unallocated_cents + difference)
        event = gone[0].event_ticker
        self._out.note("error", "unallocated_settlement", event=event, cents=difference)

    # --- other series, and what is over -----------------------------------------------------------

    def list_beside(
        self, events: Iterable[model.Event], believed_from_ns: int, now_ns: int
    ) -> None:
        """Take in a read of another series of ours on the account, which speaks of
        `believed_from_ns` and before: what its rungs pay comes into the same cash."""
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
                    self.forget(event)

    def may_forget(self, event: model.Event, now_ns: int) -> bool:
        """True if every rung of an event resolved long enough ago, and everything held was paid."""
        for market_id in self._rungs_of(event):
            resolved_ns = self.settlement.resolved_ns(market_id)
            if resolved_ns is None or now_ns < resolved_ns + FORGET_AFTER_NS:
                return False
            if any(self.holdings(market_id)) or self._desk.has_fills(market_id):
                return False
        return True

    def _rungs_of(self, event: model.Event) -> set[MarketId]:
        """The rungs that an event shows, and those that it has shown before."""
        before = self.settlement.rungs_of(fold_ticker(event.event_ticker))
        return {market.market_id for market in event.markets}.union(before)

    def forget(self, event: model.Event) -> None:
        """Drop an event of which nothing is held any more."""
        gone = self._rungs_of(event)
        self.settlement.forget(fold_ticker(event.event_ticker))
        self.book.forget_event(event.event_ticker)
        for market_id in gone:
            self._rates.pop(market_id, None)
        for ticker in [key for key, each in self._by_ticker.items() if each in gone]:
            del self._by_ticker[ticker]

    def is_beside(self, market_id: MarketId) -> bool:
        """True if a market is of another series of ours."""
        return self.settlement.is_listed(market_id) and market_id not in self._rates


def _beyond(cents: int) -> str:
    return f"{abs(cents)} cents {'more' if cents > 0 else 'less'}"
