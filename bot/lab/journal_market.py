"""The market that a journalled run met, without us: others' books and prints by the venue's clock.

Our shares are taken off every book. A print that filled us stays. What we took goes back into the
book while the size there is what we left, `GIVEN_BACK_NS` at most; its print is removed.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from bot.core import messages as m
from bot.lab.exchange.live import is_readable
from bot.lab.own_orders import OwnFill, OwnOrders
from bot.lab.session import EVENTS, TO_THE_END, UNCAUSED, Placed, Until
from venue.engine import messages as v
from venue.wire import model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty
from venue.wire.names import MarketId, Ticker, fold_ticker

GIVEN_BACK_NS: Final = 10 * NS_PER_SECOND
_CLOCKS_AGREE_NS: Final = NS_PER_SECOND  # with a lower least latency both clocks are one
_HAPPENS_AGAIN: Final = (*UNCAUSED, m.JournalFailed, m.ConfigRefused)


class MarketEvent(Struct, frozen=True):
    """A book or a print of others."""

    seen: m.BookUpdate | m.Trade
    arrived_ns: int  # by the bot's clock
    filled_us: bool = False  # a print that filled an order of ours


class JournalMarket:
    """Instants are the bot's clock, but for stamps of the venue."""

    def __init__(self, other_series: tuple[Ticker, ...] = ()) -> None:
        """other_series: those of the same process, which are ignored."""
        self._other_series = other_series
        self.own = OwnOrders()
        self.nonce = ""
        self.begun_ns = self.ended_ns = 0
        self.cut = ""  # why it ends before the run did, else empty
        self.events: dict[Ticker, model.Event] = {}
        self.markets: dict[MarketId, model.Market] = {}  # as they were listed last
        self.winners: dict[MarketId, str] = {}  # `yes` or `no` where the run saw them settled
        self.history: list[MarketEvent] = []  # by the venue's clock, prints before books
        self.fills: list[OwnFill] = []  # ours in this run
        self.world: list[tuple[int, m.Event]] = []  # events that no request caused
        self.states: list[tuple[int, v.Command]] = []  # halts and resumptions, as reads showed them
        self.cash_cents: Cents | None = None  # at the start; None where no read showed it
        self.holdings: list[tuple[MarketId, Outcome, int]] = []  # shares at the start
        self.write_trips_ns: list[int] = []
        self.read_trips_ns: list[int] = []  # latencies of answered requests
        # All books; those with shares of ours; with fewer than we had; crossed without ours (left
        # out: no trader believed them).
        self.books = self.own_books = self.unfit_books = self.crossed_books = 0
        self.short_qty = 0  # shares of ours that books should have shown and did not
        self.taken_prints = 0  # prints that we made as taker
        self.clock_ahead_ns = 0  # of the bot's clock; 0 where both agree
        self.feed_ns = NS_PER_MS  # median latency of the channel
        self._frames: list[tuple[int, m.BookUpdate]] = []
        self._newest: dict[MarketId, m.BookUpdate] = {}
        self._prints: dict[str, tuple[int, m.Trade]] = {}
        self._sent: dict[int, tuple[int, list[int]]] = {}
        self._holdings_known = False
        self._given: dict[tuple[MarketId, BookSide, Price], list[int]] = {}

    def on_entry(self, at_ns: int, message: m.Event | m.Effect) -> None:
        self.begun_ns = self.begun_ns or at_ns
        self.ended_ns = max(self.ended_ns, at_ns)
        self.own.on_message(message)
        match message:
            case m.BookUpdate():
                # A book repeated after a new subscription is no other book.
                if self._newest.get(message.market_id) != message:
                    self._newest[message.market_id] = message
                    self._frames.append((at_ns, message))
            case m.Trade():
                self._prints.setdefault(message.trade_id, (at_ns, message))
            case m.Send(request_id=number, request=request):
                is_write = isinstance(request, m.Write)
                self._sent[number] = at_ns, self.write_trips_ns if is_write else self.read_trips_ns
            case m.Response(request_id=number, answer=answer):
                sent_ns, trips = self._sent.pop(number, (at_ns, []))
                if isinstance(answer, m.Ok):
                    trips.append(at_ns - sent_ns)
                    self._on_body(at_ns, answer.body)
            case m.Started():
                self.nonce = message.boot_nonce
            case m.Noted(name="rung_settled", fields=fields):
                self.winners[MarketId(str(fields["market_id"]))] = str(fields["winner"])
            case _ if isinstance(message, _HAPPENS_AGAIN):
                self.world.append((at_ns, message))

    def _on_body(self, at_ns: int, body: m.Body) -> None:
        match body:
            case m.SeriesBody():
                for event in body.events:
                    # What cannot be read is passed over, as the trader does.
                    if fold_ticker(event.series_ticker) not in self._other_series and is_readable(
                        event
                    ):
                        self._listed(at_ns, event)
            case m.BalanceBody() if self.cash_cents is None:
                self.cash_cents = body.balance.total_cents
            case m.PositionsBody() if not self._holdings_known:
                self._holdings_known = not body.cursor
                self.holdings += [
                    (position.market_id, Outcome(position.outcome.value), position.qty)
                    for position in body.positions
                    if position.market_id is not None
                    and position.outcome is not model.ShownOutcome.UNKNOWN
                ]

    def _listed(self, at_ns: int, event: model.Event) -> None:
        self.events.setdefault(event.event_ticker, event)
        for market in event.markets:
            before = self.markets.get(market.market_id)
            was = model.MarketState.ACTIVE if before is None else before.state
            self.markets[market.market_id] = market
            if market.state is was:
                continue
            if market.state is model.MarketState.HALTED:
                self.states.append((at_ns, v.HaltMarket(market.market_id)))
            elif market.state is model.MarketState.ACTIVE:
                self.states.append((at_ns, v.ResumeMarket(market.market_id)))
            elif market.state is model.MarketState.RESOLVED and before is None:
                # Over before it began; nobody holds any of it.
                self.states.append((at_ns, v.ResolveMarket(market.market_id, Outcome.NO)))
            elif market.state is model.MarketState.RESOLVED:
                self.cut = f"{market.ticker} resolved, and what it paid the journal does not say"

    def build_history(self) -> None:
        self._compare_clocks()
        shift_ns = self.clock_ahead_ns
        # A walk of the fills shows those of earlier runs, too, and those of other series.
        self.fills = [
            fill
            for fill in self.own.fills()
            if fill.at_ns + shift_ns > self.begun_ns and fill.market_id in self.markets
        ]
        mine = {fill.trade_id: fill for fill in self.own.fills()}
        seen: list[tuple[int, m.BookUpdate | m.Trade]] = [*self._prints.values(), *self._frames]
        for fill in self.fills:
            if fill.maker and fill.trade_id not in self._prints:  # the channel did not bring it
                bought = fill.side is BookSide.ASK
                made = m.Trade(
                    fill.market_id, fill.at_ns, fill.trade_id, fill.price, Qty(fill.qty), bought
                )
                seen.append((fill.at_ns + shift_ns + self.feed_ns, made))
        seen.sort(key=lambda row: (row[1].ts_ns, isinstance(row[1], m.BookUpdate), row[0]))
        for at_ns, each in seen:
            if each.market_id not in self.markets:
                continue
            if isinstance(each, m.BookUpdate):
                book = self._without_us(each)
                if book is not None:
                    self.history.append(MarketEvent(book, at_ns))
            elif each.trade_id in mine and not mine[each.trade_id].maker:
                self._on_own_take(each, mine[each.trade_id])
            else:
                self.history.append(MarketEvent(each, at_ns, each.trade_id in mine))
        self._frames.clear()
        self._newest.clear()

    def _compare_clocks(self) -> None:
        frames: list[tuple[int, m.BookUpdate | m.Trade]] = [*self._frames]
        frames += self._prints.values()
        delays = sorted(at_ns - seen.ts_ns for at_ns, seen in frames)
        if delays:
            lowest = delays[len(delays) // 100]
            agree = 0 <= lowest < _CLOCKS_AGREE_NS
            self.clock_ahead_ns = 0 if agree else lowest - NS_PER_MS
            self.feed_ns = max(NS_PER_MS, delays[len(delays) // 2] - self.clock_ahead_ns)

    def _on_own_take(self, printed: m.Trade, mine: OwnFill) -> None:
        self.taken_prints += 1
        key = printed.market_id, mine.side.other, printed.price
        given = self._given.setdefault(key, [0, 0, -1])
        given[:] = [given[0] + mine.qty, printed.ts_ns + GIVEN_BACK_NS, -1]

    def _without_us(self, seen: m.BookUpdate) -> m.BookUpdate | None:
        """A book without our shares and with what we took; None for a crossed one."""
        self.books += 1
        others = self.own.without(seen)
        self.own_books += bool(others.own_bids or others.own_asks)
        self.unfit_books += bool(others.missing_qty)
        self.short_qty += others.missing_qty
        bids, asks = dict(others.bids), dict(others.asks)
        if bids and asks and max(bids) > min(asks):
            self.crossed_books += 1
            return None
        self._give_back(seen, bids, asks)
        best = tuple(sorted(bids.items(), reverse=True)), tuple(sorted(asks.items()))
        return m.BookUpdate(seen.market_id, seen.ts_ns, *best)

    def _give_back(
        self, seen: m.BookUpdate, bids: dict[Price, Qty], asks: dict[Price, Qty]
    ) -> None:
        for key, given in [*self._given.items()]:
            market_id, side, price = key
            if market_id != seen.market_id:
                continue
            mine, theirs = (bids, asks) if side is BookSide.BID else (asks, bids)
            size = mine.get(price, Qty(0))
            given[2] = size if given[2] < 0 else given[2]
            crossed = any((price >= p) if side is BookSide.BID else (price <= p) for p in theirs)
            if given[2] != size or seen.ts_ns > given[1] or crossed:
                del self._given[key]
            else:
                mine[price] = Qty(size + given[0])


def read_market(
    entries: Iterable[Placed],
    other_series: tuple[Ticker, ...] = (),
    until: Until = TO_THE_END,
    *,
    ends_at_payout: bool = False,
) -> JournalMarket:
    """ends_at_payout: True to stop once a rung resolves. Raises JournalFault."""
    market = JournalMarket(other_series)
    for placed in entries:
        at_ns, message = placed.entry.at_ns, placed.entry.message
        if type(message) in EVENTS and until.has_passed(at_ns, placed.number, placed.place):
            market.cut = "as asked for"
            break
        market.on_entry(at_ns, message)
        if market.cut and ends_at_payout:
            break
    market.build_history()
    return market
