"""Keeps the score: gives every booked fill and every decision to the account of profit.

Reads what `quoting` believes and decides; changes nothing of it. A fill counts as of when it could
first be heard of: the venue's own time of it, and the least delay that prints have come with.
"""

from collections.abc import Mapping, Sequence

from bot.core.account.reconciler import AccountReconciler
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import UNTAGGED, OwnOrder
from bot.core.orders.outbox import Outbox
from bot.core.profit.attribution import AttributedFill, Attribution
from bot.core.profit.marks import Marks
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.quoting.feed_monitor import MarketDataMonitor
from bot.core.report import Against, FillReport, ProfitReport
from venue.wire import instant, model
from venue.wire.money import PAYOUT_CENTS, Outcome, Side, book_side, canonical
from venue.wire.names import MarketId


class PnlTracker:
    """The score of one series. ladders, rungs: those of `QuotingEngine`, kept up there."""

    def __init__(
        self,
        desk: OrderManager,
        ledgers: AccountReconciler,
        channel: MarketDataMonitor,
        ladders: Sequence[EventQuoter],
        rungs: Mapping[MarketId, MarketQuoter],
        out: Outbox,
    ) -> None:
        self._desk = desk
        self._ledgers = ledgers
        self._channel = channel
        self._ladders = ladders
        self._rungs = rungs
        self._out = out
        self.marks = Marks()
        self._attribution = Attribution(self.marks, self._tell_marked)
        self._sure_cents = 0
        self._gone_cents = 0
        self._opened = False
        self._known: dict[MarketId, int] = {}  # what its cash had come to when it was taken in
        self._taken: dict[MarketId, tuple[int, int]] = {}  # of its shares, those of no fill
        self._moved: dict[MarketId, None] = {}
        self._lag_ns: int | None = None
        self.due_ns = 0
        """When `beat` has work; 0 at once."""

    # --- what happened ----------------------------------------------------------------------------

    def beat(self, now_ns: int) -> None:
        """Take what is due; compare with the ledger what fills have changed."""
        if len(self._known) != len(self._rungs):
            self.take_in()
        self._attribution.sample(now_ns)
        if self._moved and self._opened:
            for market_id in self._moved:
                self._open_anew(market_id)
                self._settle(market_id, now_ns)
            self._moved.clear()
            self._compare()
        is_open = len(self._known) == len(self._rungs) and not self._moved
        self.due_ns = self._attribution.due_ns if is_open else 0

    def filled(self, rung: MarketQuoter, fill: model.Fill, now_ns: int) -> None:
        """A fill of ours was booked, its fee in it."""
        assert fill.fee_cents is not None
        self.due_ns = 0
        outcome = Outcome(fill.outcome.value)
        side = book_side(outcome, Side(fill.side.value))
        own = self._owner(fill)
        entry = AttributedFill(
            rung.market_id,
            rung.market.ticker,
            side,
            canonical(outcome, fill.outcome_price),
            fill.qty,
            fill.fee_cents,
            UNTAGGED if own is None else own.tag,
            fill.fill_id,
        )
        heard_ns = self._heard_ns(fill, now_ns)
        # For whoever keeps records: the journal has what was believed, so nobody has to ask.
        self._out.note(
            "debug",
            "fill_valued",
            fill_id=fill.fill_id,
            heard_ns=heard_ns,
            value=self._attribution.booked(entry, heard_ns),
            level=entry.tag.level,
            strategy=entry.tag.strategy,
            reason=entry.tag.reason,
        )

    def _tell_marked(self, fill_id: str, against: Against, horizon_s: int, value: int) -> None:
        """What a share was worth so long after a fill is known."""
        self._out.note(
            "debug",
            "fill_marked",
            fill_id=fill_id,
            against=against.value,
            horizon_s=horizon_s,
            value=value,
        )

    def moved(self, market_id: MarketId) -> None:
        """The ledger has moved cash or shares of a rung: a fill, or its payout."""
        self._moved[market_id] = None
        self.due_ns = 0

    def _settle(self, market_id: MarketId, now_ns: int) -> None:
        winner = self._ledgers.book.winner(market_id)
        if winner is not None and not self.marks.is_settled(market_id):
            self._attribution.settled(market_id, winner, now_ns)
        rung = self._rungs.get(market_id)
        if rung is not None:
            self.marks.certain(market_id, None if rung.is_over else rung.decided, now_ns)

    def forget(self, ladder: EventQuoter) -> None:
        """An event leaves, before the ledger forgets it: nothing of it is held any more."""
        self.due_ns = 0
        event_ticker = ladder.event.event_ticker
        names = {rung.market_id: rung.market.ticker for rung in ladder.rungs}
        self._attribution.forget(names)
        self.marks.forget(event_ticker, names)
        for market_id in names:
            if market_id in self._known:
                cash_cents = self._ledgers.book.cash_of_market(market_id)
                self._gone_cents += cash_cents - self._known.pop(market_id)
            self._taken.pop(market_id, None)
            self._moved.pop(market_id, None)

    def _owner(self, fill: model.Fill) -> OwnOrder | None:
        """The order of ours that a fill is of, under its id or an earlier one."""
        return self._desk.owner(fill.order_id)

    def _heard_ns(self, fill: model.Fill, now_ns: int) -> int:
        """When a fill could first have been heard of, by our own clock; now where its time tells
        nothing, as the zero instant does (S28), which no record could hold."""
        self._lag_ns = self._lag_ns if self._channel.lag_ns is None else self._channel.lag_ns
        if self._lag_ns is None:
            return now_ns
        heard_ns = instant.to_ns(fill.created_at) + self._lag_ns
        return min(now_ns, heard_ns) if heard_ns >= 0 else now_ns

    # --- the ledger -------------------------------------------------------------------------------

    def take_in(self) -> None:
        """Once the books are open: what is held of rungs that are new here was held before, and
        was paid before, be it by fills read before their rung was. It counts from now on."""
        self.due_ns = 0
        if len(self._known) == len(self._rungs) or not self._ledgers.is_open:
            return
        self._opened = True
        book = self._ledgers.book
        for ladder in self._ladders:
            for rung in ladder.rungs:
                if rung.market_id not in self._known:
                    self._known[rung.market_id] = book.cash_of_market(rung.market_id)
                    self._taken[rung.market_id] = book.taken_over(rung.market_id)
                    yes_qty, no_qty = book.holdings(rung.market_id)
                    self._sure_cents += PAYOUT_CENTS * no_qty
                    net_qty = yes_qty - no_qty
                    self._attribution.opens(rung.market_id, rung.market.ticker, net_qty)

    def _open_anew(self, market_id: MarketId) -> None:
        """What was held before has turned out to be more or less than was taken over."""
        if market_id not in self._taken or market_id not in self._rungs:
            return
        yes_before, no_before = self._taken[market_id]
        yes_qty, no_qty = self._taken[market_id] = self._ledgers.book.taken_over(market_id)
        self._sure_cents += PAYOUT_CENTS * (no_qty - no_before)
        net_qty = yes_qty - yes_before - (no_qty - no_before)
        self._attribution.opens(market_id, self._rungs[market_id].market.ticker, net_qty)

    def _difference(self) -> int:
        """What the ledger's account and ours differ by, in thousandths of a cent."""
        book = self._ledgers.book
        cash = sum(book.cash_of_market(key) - was for key, was in self._known.items())
        holdings = {market_id: book.holdings(market_id) for market_id in self._known}
        cash += self._gone_cents - self._sure_cents
        return self._attribution.difference(cash, holdings)

    def _compare(self) -> None:
        difference = self._difference()
        if difference:
            text = f"the fills and the ledger differ by {difference} thousandths of a cent"
            self._out.find("profit_unexplained", text)
        else:
            self._out.clear("profit_unexplained")

    def report(self) -> ProfitReport | None:
        """The account as of now; None before the books are open."""
        return self._attribution.report(self._difference()) if self._opened else None

    def fills(self) -> tuple[FillReport, ...]:
        """The newest fills, the newest first."""
        return self._attribution.last_fills()
