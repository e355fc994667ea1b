"""Attribution of profit: every fill with the fair value at its time, closing to the cent.

With F the value of a YES share, in whole thousandths of a cent, and q the YES shares less the NO
shares of a rung, we own  cash + 100 * NO shares + q * F.  A fill of `n` shares at price p
(canonical; sign +1 when it makes us longer YES) changes that by  sign * (F - p) * n - fee,  by
either route; a move of F changes it by  q * dF;  a payout is the last move, to 100 or to 0. So

    profit = spread + inventory - fees
    spread = sum of sign * (F at the fill - p) * n        inventory = sum of q * dF

holds in integers, whatever values are taken for F. Inventory is split by fill: its move within ten
seconds of the fill is adverse, the rest is drift. Only the ledger moves money: this account is
compared with it after every fill and payout.

A fill is known seconds after it happened. F at the fill is the newest fair value that was believed
before the fill could be heard of, so never one that the fill itself has moved.
"""

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice
from operator import itemgetter
from typing import Final, Protocol

import msgspec

from bot.core.account.lean import FLOW_MIN_QTY, LEAN_MIN, leaning
from bot.core.account.markouts import ADVERSE, HORIZONS_S, LATE_MAX_NS, MILLI, Markouts
from bot.core.account.portfolio import Portfolio
from bot.core.orders.order import Tag
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.report import Against, FillReport, ProfitReport, ProfitRow
from bot.strategy.api import EventView, Levels, RungView, faded_flow, lean_of
from venue.wire import instant, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, BookSide, Outcome, Side, book_side, canonical
from venue.wire.names import MarketId, Ticker

DIMENSIONS: Final = ("rung", "side", "level", "strategy", "reason", "lean", "flow")
_VALUES_MAX: Final = 64
_RUNGS_MAX: Final = 1_000
"""So many values of one dimension have sums of their own; the rest is `other`."""

FILLS_SHOWN_MAX: Final = 40
"""The newest fills that a report shows."""

_WAITING_MAX: Final = 20_000
"""Horizons waited for at once; a fill beyond that is left out of the markouts, and counted."""

_RETRY_NS: Final = NS_PER_SECOND
"""Retry a value that is not known at its horizon so often, until LATE_MAX_NS is over."""

MARKS_KEPT_NS: Final = 30 * NS_PER_SECOND
_STEP_NS: Final = 250 * NS_PER_MS
"""Views nearer to each other than this are kept as the first of them and the newest."""

_OPENING: Final = "opening"
_OTHER: Final = "other"
_RESOLVED: Final = "resolved"
"""Rungs of events that have left, together."""

_AGAINST: Final = tuple(Against)
_FAIR: Final = _AGAINST.index(Against.FAIR)
_MID: Final = _AGAINST.index(Against.MID)


class _Mark(msgspec.Struct, frozen=True):
    """What a view showed of a rung."""

    values: tuple[int | None, int | None]
    """In the order of `Against`, thousandths of a cent; None where it is not known."""
    bids: Levels
    asks: Levels  # of others, the best level alone
    traded_flow_qty: float
    flow_age_s: float


class ListedRung(Protocol):
    """A rung of the series, as quoting keeps it."""

    market: model.Market
    decided: Outcome | None

    @property
    def is_over(self) -> bool:
        """True once it has resolved."""


class _Group:
    """The sums of the fills with one value of one dimension. Amounts in thousandths of a cent."""

    __slots__ = ("adverse", "fees_cents", "fills", "held", "markouts", "paid_out", "qty", "spread")

    def __init__(self) -> None:
        self.fills = self.qty = self.spread = self.fees_cents = self.adverse = 0
        self.paid_out = 0  # inventory profit of rungs that have settled
        # Net shares of each rung, and their sum of value at entry.
        self.held: dict[MarketId, tuple[int, int]] = {}
        self.markouts = Markouts()

    def hold(self, market_id: MarketId, signed_qty: int, value: int) -> None:
        """Add shares that were worth `value` each on entry."""
        net, entered = self.held.get(market_id, (0, 0))
        self.held[market_id] = (net + signed_qty, entered + signed_qty * value)

    def pay_out(self, market_id: MarketId, value: int) -> None:
        """Close the inventory of a rung at its last value."""
        net, entered = self.held.pop(market_id, (0, 0))
        self.paid_out += net * value - entered

    def merge(self, other: "_Group") -> None:
        """Add the sums of a group that holds nothing any more."""
        for name in ("fills", "qty", "spread", "fees_cents", "adverse", "paid_out"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.markouts.merge(other.markouts)

    def row(self, name: str, values: Mapping[MarketId, int], adverse: int) -> ProfitRow:
        """The sums, inventory at these values. adverse: of fills whose ten seconds are not over."""
        inventory = self.paid_out
        for market_id, (net, entered) in self.held.items():
            inventory += net * values[market_id] - entered
        adverse += self.adverse
        return ProfitRow(
            name=name,
            fills=self.fills,
            qty=self.qty,
            profit_millicents=self.spread + inventory - MILLI * self.fees_cents,
            spread_millicents=self.spread,
            adverse_millicents=adverse,
            drift_millicents=inventory - adverse,
            fees_cents=self.fees_cents,
            markouts=self.markouts.rows(),
        )


class AttributedFill(msgspec.Struct, frozen=True):
    """A booked fill, and the sums that it is part of."""

    fill_id: str
    market_id: MarketId
    shown: FillReport  # without its markouts
    value: int  # of a share at the fill, thousandths of a cent
    groups: tuple[_Group, ...]
    markouts: list[int | None]
    """Against fair, thousandths of a cent a share, by HORIZONS_S; None until it is known."""

    @property
    def sign(self) -> int:
        """+1 when it made us longer YES, else -1."""
        return 1 if self.shown.side is BookSide.BID else -1

    def adverse_at(self, value: int) -> int:
        """The gain on its shares by a move to `value`."""
        return self.sign * self.shown.qty * (value - self.value)


class _History(msgspec.Struct):
    """The newest mark of each rung of an event, and the marks of the last half minute with the
    instant of each decision, oldest first."""

    newest: dict[MarketId, _Mark] = {}
    past: deque[tuple[int, dict[MarketId, _Mark]]] = msgspec.field(default_factory=deque)

    def place_of(self, at_ns: int) -> int:
        """The place of the newest mark of this instant or before; 0 where all are later."""
        return max(0, bisect_right(self.past, at_ns, key=itemgetter(0)) - 1)


class _Rung(msgspec.Struct, eq=False):
    """One rung: its value, its inventory at average cost, and the ledger's state of it."""

    history: _History | None = None
    view: RungView | None = None  # the newest
    fair: int | None = None  # the newest that was known
    payout: tuple[int, int] | None = None  # since when it has paid, and what a share paid
    certain: tuple[int, int] | None = None  # the same where its payout is only certain
    first_price: int | None = None  # its value while no other was ever known
    has_position: bool = False
    net: int = 0
    cost: int = 0  # thousandths of a cent, as all sums here
    realised: int = 0
    settled: int = 0
    opened: int = 0  # value of the inventory at the opening
    cash_cents: int | None = None  # of the ledger, when it was taken in; None until then
    taken_over: tuple[int, int] = (0, 0)  # YES and NO shares of the ledger that no fill explains

    def value(self) -> int | None:
        """A share counts for its payout, else the newest fair value, else the mid of others, else
        the last price; None before any of them is known."""
        sure = self.payout or self.certain
        if sure is not None:
            return sure[1]
        if self.fair is not None or self.view is None:
            return self.fair
        mid = _mark_of(self.view).values[_MID]
        if mid is None and self.view.last_price is not None:
            return self.view.last_price * MILLI
        return mid

    def value_or(self, price: int) -> int:
        """`value`; where none was ever known, the first price that was asked with."""
        value = self.value()
        if value is None:
            self.first_price = price if self.first_price is None else self.first_price
            return self.first_price
        return value

    def trade(self, signed_qty: int, price: int) -> None:
        """Shares came at a price: first they close the opposite position."""
        self.has_position = True
        closing = 0
        if self.net and (self.net > 0) != (signed_qty > 0):
            closing = min(abs(signed_qty), abs(self.net))
            released = self.cost * closing // abs(self.net)
            direction = 1 if self.net > 0 else -1
            self.realised += direction * closing * price - released
            self.cost -= released
            self.net -= direction * closing
            signed_qty += direction * closing
        self.net += signed_qty
        self.cost += signed_qty * price


class PnlTracker:
    """The account of profit of one series."""

    def __init__(self, book: Portfolio, listed: Mapping[MarketId, ListedRung], out: Outbox) -> None:
        """listed: the rungs of the series, which the owner keeps up to date."""
        self._book = book
        self._listed = listed
        self._out = out
        self._rungs: dict[MarketId, _Rung] = {}
        self._histories: dict[Ticker, _History] = {}
        self._total = _Group()
        self._groups: dict[str, dict[str, _Group]] = {name: {} for name in DIMENSIONS}
        self._is_open = False
        self._count_open = 0  # rungs that were taken in
        self._unpriced: dict[MarketId, int] = {}  # net shares of the opening without a value yet
        self._sure_cents = 0  # of pairs in the opening inventory
        # Of payments that no whole value of a share explains: below a thousandth of a cent a share.
        self._remainders = 0
        self._changed: dict[MarketId, None] = {}  # rungs whose cash or shares the ledger moved
        # Of rungs that were forgotten:
        self._gone_cents = self._gone_opened = self._gone_realised = self._gone_settled = 0
        # Horizons that are not over, the next one first: when to look, a number to sort by, the
        # horizon's instant and its place in HORIZONS_S, the fill, and the place in `Against`.
        self._waiting: list[tuple[int, int, int, int, AttributedFill, int]] = []
        self._count = 0
        self._missed = 0
        self._newest: deque[AttributedFill] = deque(maxlen=FILLS_SHOWN_MAX)
        self._lag_ns: int | None = None

    def _rung(self, market_id: MarketId) -> _Rung:
        rung = self._rungs.get(market_id)
        if rung is None:
            rung = self._rungs[market_id] = _Rung()
        return rung

    # --- values -----------------------------------------------------------------------------------

    def on_view(self, view: EventView, now_ns: int, changed: Iterable[int] | None = None) -> None:
        """Take the values of a view as of now. changed: the places of the rungs that differ from
        the view before; None where any may."""
        rungs = view.rungs
        history = self._histories.get(view.event_ticker)
        if history is None:
            history = self._histories[view.event_ticker] = _History()
        newest = history.newest
        if changed is None or len(rungs) != len(newest):
            newest.clear()
            changed = range(len(rungs))
        for place in changed:
            shown = rungs[place]
            rung = self._rungs.get(shown.market_id) or self._rung(shown.market_id)
            rung.history, rung.view = history, shown
            mark = newest[shown.market_id] = _mark_of(shown)
            fair = mark.values[_FAIR]
            if fair is not None:
                rung.fair = fair
        past = history.past
        if len(past) > 1 and now_ns < past[-2][0] + _STEP_NS:
            past.pop()
        past.append((now_ns, newest.copy()))
        while len(past) > 2 and past[1][0] < now_ns - MARKS_KEPT_NS:
            past.popleft()

    def value(self, market_id: MarketId) -> int | None:
        """The value of a YES share now, thousandths of a cent; None before one is known."""
        rung = self._rungs.get(market_id)
        return None if rung is None else rung.value()

    def is_settled(self, market_id: MarketId) -> bool:
        """True if a rung has paid out."""
        rung = self._rungs.get(market_id)
        return rung is not None and rung.payout is not None

    def _value_at(self, market_id: MarketId, at_ns: int, against: int) -> int | None:
        """The value of this instant, else the first that was known after it, within LATE_MAX_NS;
        None when nothing is known yet, or the history no longer reaches back so far."""
        rung = self._rungs.get(market_id)
        if rung is None:
            return None
        sure = rung.payout or rung.certain
        if sure is not None and sure[0] <= at_ns:
            return sure[1]
        until_ns = at_ns + LATE_MAX_NS
        if rung.history is not None:
            for past_ns, marks in islice(rung.history.past, rung.history.place_of(at_ns), None):
                found = marks[market_id].values[against] if market_id in marks else None
                if found is not None and past_ns <= until_ns:
                    return found
        return None if sure is None or sure[0] > until_ns else sure[1]

    # --- changes of the ledger --------------------------------------------------------------------

    def on_ledger_change(self, market_id: MarketId) -> None:
        """A fill or a payout moved cash or shares of a rung, or a winner was decided."""
        self._changed[market_id] = None

    @property
    def due_ns(self) -> int:
        """When the next markout is due."""
        return self._waiting[0][0] if self._waiting else NEVER_NS

    def on_tick(self, now_ns: int, *, is_open: bool) -> None:
        """Take the markouts that are due, and compare with the ledger after its changes. is_open:
        the ledger's books are open."""
        if self._count_open != len(self._listed):
            self.take_in(is_open=is_open)
        for market_id in list(self._unpriced):
            self._price_opening(market_id, self.value(market_id))
        while self._waiting and self._waiting[0][0] <= now_ns:
            self._take_markout(now_ns)
        if self._changed and self._is_open:
            for market_id in self._changed:
                self._on_changed(market_id, now_ns)
            self._changed.clear()
            difference = self._difference()
            text = f"the fills and the ledger differ by {difference} thousandths of a cent"
            self._out.hold("profit_unexplained", text if difference else "")

    def take_in(self, *, is_open: bool) -> None:
        """Once the books are open: shares and cash of rungs that are new here came before, be it
        by fills read before their rung was listed. They count from now on."""
        if self._count_open == len(self._listed) or not is_open:
            return
        self._is_open = True
        for market_id in self._listed:
            rung = self._rung(market_id)
            if rung.cash_cents is not None:
                continue
            self._count_open += 1
            rung.cash_cents = self._book.cash_of_market(market_id)
            rung.taken_over = self._book.taken_over(market_id)
            yes_qty, no_qty = self._book.holdings(market_id)
            self._open_shares(market_id, rung, yes_qty, no_qty)

    def _open_shares(self, market_id: MarketId, rung: _Rung, yes_qty: int, no_qty: int) -> None:
        """The opening inventory was larger than known by so many shares; below zero smaller."""
        self._sure_cents += PAYOUT_CENTS * no_qty
        if yes_qty != no_qty:
            self._unpriced[market_id] = self._unpriced.get(market_id, 0) + yes_qty - no_qty
            if rung.has_position:
                self._price_opening(market_id, rung.value_or(0))

    def _price_opening(self, market_id: MarketId, value: int | None) -> None:
        """Opening inventory comes in at the first value that is known."""
        if value is None or market_id not in self._unpriced:
            return
        net_qty, rung = self._unpriced.pop(market_id), self._rungs[market_id]
        rung.opened += net_qty * value
        labels = dict.fromkeys(DIMENSIONS, _OPENING) | {
            "rung": self._listed[market_id].market.ticker
        }
        for group in self._groups_of(labels):
            group.hold(market_id, net_qty, value)
        rung.trade(net_qty, value)

    def _on_changed(self, market_id: MarketId, now_ns: int) -> None:
        rung, listed = self._rung(market_id), self._listed.get(market_id)
        if listed is not None and rung.cash_cents is not None:
            (yes_before, no_before), taken = rung.taken_over, self._book.taken_over(market_id)
            rung.taken_over = taken
            self._open_shares(market_id, rung, taken[0] - yes_before, taken[1] - no_before)
        winner = self._book.winner(market_id)
        paid: int | None = None
        remainder = 0
        if winner is not None:
            paid = _paid_by(winner)
        elif (unallocated := self._book.unallocated_millicents(market_id)) is not None:
            paid, remainder = unallocated
        if paid is not None and rung.payout is None:
            self._remainders += remainder
            self._price_opening(market_id, rung.value())
            rung.payout = now_ns, paid
            self._price_opening(market_id, rung.value())
            self._pay_out(market_id, rung, paid)
        if listed is not None:
            if listed.decided is None or listed.is_over:
                rung.certain = None
            elif rung.certain is None:
                rung.certain = now_ns, _paid_by(listed.decided)

    def _pay_out(self, market_id: MarketId, rung: _Rung, value: int) -> None:
        self._total.pay_out(market_id, value)
        for groups in self._groups.values():
            for group in groups.values():
                group.pay_out(market_id, value)
        rung.settled += rung.net * value - rung.cost
        rung.net = rung.cost = 0

    def forget_event(self, event_ticker: Ticker, market_ids: Iterable[MarketId]) -> None:
        """Drop the rungs of an event before the ledger does: they have no inventory, and their
        profit stays counted."""
        self._histories.pop(event_ticker, None)
        for market_id in market_ids:
            rung = self._rung(market_id)
            self._pay_out(market_id, rung, rung.value_or(0))
            self._gone_realised += rung.realised
            self._gone_settled += rung.settled
            self._gone_opened += rung.opened
            group = self._groups["rung"].pop(self._listed[market_id].market.ticker, None)
            if group is not None:
                self._groups["rung"].setdefault(_RESOLVED, _Group()).merge(group)
            if rung.cash_cents is not None:
                self._count_open -= 1
                self._gone_cents += self._book.cash_of_market(market_id) - rung.cash_cents
            del self._rungs[market_id]
            self._unpriced.pop(market_id, None)
            self._changed.pop(market_id, None)

    # --- fills ------------------------------------------------------------------------------------

    def on_fill(self, fill: model.Fill, tag: Tag, lag_ns: int | None, now_ns: int) -> None:
        """A fill of a listed rung was booked, its fee in it. tag: of its order. lag_ns: the least
        latency of prints; None where it is not known."""
        assert fill.fee_cents is not None
        market_id, outcome = fill.market_id, Outcome(fill.outcome.value)
        side = book_side(outcome, Side(fill.side.value))
        price = canonical(outcome, fill.outcome_price)
        signed_qty = fill.qty if side is BookSide.BID else -fill.qty
        filled_ns = self._heard_ns(fill, lag_ns, now_ns)
        ticker = self._listed[market_id].market.ticker
        rung = self._rungs.get(market_id) or self._rung(market_id)
        history, value, lean, flow_qty = rung.history, None, None, None
        if history is not None:
            seen_ns, marks = history.past[history.place_of(filled_ns - 1)]
            mark = marks.get(market_id)
            if mark is not None:
                value = mark.values[_FAIR]
                if seen_ns < filled_ns:
                    lean = lean_of(mark.bids, mark.asks)
                    age_s = mark.flow_age_s + (filled_ns - seen_ns) / NS_PER_SECOND
                    flow_qty = faded_flow(mark.traded_flow_qty, age_s)
        if value is None:
            value = rung.value_or(price * MILLI)
        if market_id in self._unpriced:
            self._price_opening(market_id, value)
        labels = {
            "rung": ticker,
            "side": side.value,
            "level": str(tag.level) if tag.level >= 0 else "none",
            "strategy": tag.strategy,
            "reason": tag.reason,
            "lean": leaning(side, lean, LEAN_MIN).value,
            "flow": leaning(side, flow_qty, FLOW_MIN_QTY).value,
        }
        groups = self._groups_of(labels)
        for group in groups:
            group.fills += 1
            group.qty += fill.qty
            group.fees_cents += fill.fee_cents
            group.spread += signed_qty * (value - price * MILLI)
            group.hold(market_id, signed_qty, value)
        rung.trade(signed_qty, price * MILLI)
        shown = FillReport(
            at_ns=filled_ns,
            ticker=ticker,
            side=side,
            price=price,
            qty=fill.qty,
            fee_cents=fill.fee_cents,
            fair_cents=value / MILLI,
            reason=tag.reason,
            markouts_cents=(),
        )
        markouts: list[int | None] = [None] * len(HORIZONS_S)
        entry = AttributedFill(fill.fill_id, market_id, shown, value, groups, markouts)
        self._newest.append(entry)
        if len(self._waiting) + len(HORIZONS_S) * len(_AGAINST) > _WAITING_MAX:
            self._missed += len(HORIZONS_S) * len(_AGAINST)
        else:
            for horizon, seconds in enumerate(HORIZONS_S):
                at_ns = filled_ns + seconds * NS_PER_SECOND
                for against in range(len(_AGAINST)):
                    self._wait(at_ns, at_ns, horizon, entry, against)
        if rung.payout is not None:
            self._pay_out(market_id, rung, rung.payout[1])
        # For the records: the journal has the fair value at the fill.
        self._out.note(
            "debug",
            "fill_valued",
            fill_id=fill.fill_id,
            heard_ns=filled_ns,
            value=value,
            level=tag.level,
            strategy=tag.strategy,
            reason=tag.reason,
        )

    def _heard_ns(self, fill: model.Fill, lag_ns: int | None, now_ns: int) -> int:
        """When a fill could first have been known, by our clock: its time and the least latency.
        Now where its time is of no use, as the zero instant (S28)."""
        self._lag_ns = self._lag_ns if lag_ns is None else lag_ns
        if self._lag_ns is None:
            return now_ns
        heard_ns = instant.to_ns(fill.created_at) + self._lag_ns
        return min(now_ns, heard_ns) if heard_ns >= 0 else now_ns

    def _groups_of(self, labels: Mapping[str, str]) -> tuple[_Group, ...]:
        """The total, and the group of each dimension."""
        found = [self._total]
        for name, label in labels.items():
            groups = self._groups[name]
            most = _RUNGS_MAX if name == "rung" else _VALUES_MAX
            if label not in groups and len(groups) >= most:
                label = _OTHER
            if label not in groups:
                groups[label] = _Group()
            found.append(groups[label])
        return tuple(found)

    def _wait(
        self, due_ns: int, at_ns: int, horizon: int, fill: AttributedFill, against: int
    ) -> None:
        self._count += 1
        insort(self._waiting, (due_ns, self._count, at_ns, horizon, fill, against))

    def _take_markout(self, now_ns: int) -> None:
        """Take the next markout, or retry later if its value is not known."""
        _, _, at_ns, horizon, fill, against = self._waiting.pop(0)
        value = self._value_at(fill.market_id, at_ns, against)
        if value is None:
            if now_ns < at_ns + LATE_MAX_NS:
                self._wait(now_ns + _RETRY_NS, at_ns, horizon, fill, against)
            else:
                self._missed += 1
            return
        shown = fill.shown
        markout = fill.sign * (value - shown.price * MILLI)
        if against == _FAIR:
            fill.markouts[horizon] = markout
        adverse = 0
        if horizon == ADVERSE and against == _FAIR:
            adverse = fill.adverse_at(value)
        for group in fill.groups:
            group.markouts.add_markout(_AGAINST[against], horizon, markout, shown.qty, shown.at_ns)
            group.adverse += adverse
        self._out.note(
            "debug",
            "fill_marked",
            fill_id=fill.fill_id,
            against=_AGAINST[against].value,
            horizon_s=HORIZONS_S[horizon],
            value=value,
        )

    # --- reading ----------------------------------------------------------------------------------

    def _values(self) -> dict[MarketId, int]:
        """The value of each rung with inventory."""
        return {key: rung.value_or(0) for key, rung in self._rungs.items() if rung.has_position}

    def _difference(self) -> int:
        """The difference of the ledger's account and this one, thousandths of a cent: 0."""
        values = self._values()
        owned = MILLI * (self._gone_cents - self._sure_cents) - self._gone_opened
        for market_id, rung in self._rungs.items():
            owned -= rung.opened
            if rung.cash_cents is None:
                continue
            owned += MILLI * (self._book.cash_of_market(market_id) - rung.cash_cents)
            yes_qty, no_qty = self._book.holdings(market_id)
            owned += MILLI * PAYOUT_CENTS * no_qty
            net_qty = rung.net + self._unpriced.get(market_id, 0)
            if yes_qty - no_qty != net_qty:
                return MILLI * PAYOUT_CENTS * (yes_qty - no_qty - net_qty)
            if market_id not in self._unpriced:
                owned += net_qty * values.get(market_id, 0)
        return owned - self._remainders - self._total.row("", values, 0).profit_millicents

    def report(self) -> ProfitReport | None:
        """The account as of now; None before the books are open."""
        if not self._is_open:
            return None
        values = self._values()
        adverse: dict[int, int] = {}
        for _, _, _, horizon, fill, against in self._waiting:
            value = values.get(fill.market_id)  # None once its rung is forgotten
            if horizon == ADVERSE and against == _FAIR and value is not None:
                for group in fill.groups:
                    moved = fill.adverse_at(value)
                    adverse[id(group)] = adverse.get(id(group), 0) + moved
        by = {
            name: tuple(
                group.row(label, values, adverse.get(id(group), 0))
                for label, group in sorted(groups.items())
            )
            for name, groups in self._groups.items()
        }
        total = self._total.row("total", values, adverse.get(id(self._total), 0))
        realised = self._gone_realised + sum(each.realised for each in self._rungs.values())
        settled = self._gone_settled + sum(each.settled for each in self._rungs.values())
        return ProfitReport(
            total=total,
            realised_millicents=realised,
            settled_millicents=settled,
            open_millicents=total.profit_millicents + MILLI * total.fees_cents - realised - settled,
            difference_millicents=self._difference(),
            unsampled=self._missed,
            by=by,
        )

    def last_fills(self) -> tuple[FillReport, ...]:
        """The newest FILLS_SHOWN_MAX fills, the newest first."""
        fills = []
        for fill in reversed(self._newest):
            cents = tuple(None if each is None else each / MILLI for each in fill.markouts)
            fills.append(msgspec.structs.replace(fill.shown, markouts_cents=cents))
        return tuple(fills)


def _paid_by(winner: Outcome) -> int:
    return PAYOUT_CENTS * MILLI if winner is Outcome.YES else 0


def _mark_of(view: RungView) -> _Mark:
    fair, bids, asks = view.fair_cents, view.bids, view.asks
    values = (
        None if fair is None else round(fair * MILLI),
        (bids[0][0] + asks[0][0]) * (MILLI // 2) if bids and asks else None,
    )
    return _Mark(values, bids[:1], asks[:1], view.traded_flow_qty, view.flow_age_s)
