"""A market of others around our orders: its books and prints, and what they do to us.

What others do to our orders becomes an order of a second account at that moment: a print that
reaches us takes us; depth that we reach for rests there while we do, and is cancelled afterwards. A
print fills no more than its own size, from the touch outward; at our price it has first to use up
the queue before us. Others that come to rest at our price or through it would have met us: they
fill us once a refresh.

The channel shows the depth of others less what we took of it, with our own orders in it. Stamps of
others order their books and prints; everything that we are shown is of our own clock.
"""

import enum
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from bot.core import messages as m
from bot.core.orders.outbox import keep_newest
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.exchange import MAKER, Exchange, PageLimits, PaperAccount, ShownBook, accounts
from bot.lab.exchange.queue_model import OwnQueues, QueueModel
from bot.strategy.api import Levels
from venue.crowd.picture import picture_of
from venue.crowd.tape import BookRecord, Record, Tape, TradeRecord, tape_catalogue
from venue.engine import messages as v
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, QTY_MAX
from venue.wire.money import (
    PAYOUT_CENTS,
    BookSide,
    Cents,
    FeeRate,
    Outcome,
    Price,
    Qty,
    Side,
    book_side,
    canonical,
)
from venue.wire.names import ClientOrderId, MarketId, OrderId, UserId
from venue.wire.requests import QtyOrder, TimeInForce

_OTHERS: Final = UserId("tape")
_OTHERS_CENTS: Final = Cents(10**12)
_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_SIDES: Final = (_BID, _ASK)
_PAGES: Final = PageLimits(PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT)
_TRADE_IDS_MAX: Final = 10_000
_SET_BACK_NS: Final = 60 * NS_PER_SECOND
"""A book that is older by more than this says that the clock of others was set back."""


class Depth:
    """What others show on one market. at_ns: when it last changed, 0 before it was ever shown.

    What we took stays taken until the size shown at that price is another one: displayed depth is
    met once a refresh.
    """

    def __init__(self) -> None:
        self.at_ns = 0
        self._sizes: dict[BookSide, dict[Price, Qty]] = {side: {} for side in BookSide}
        self._rows: dict[BookSide, Levels] = dict.fromkeys(BookSide, ())
        self._taken: dict[tuple[BookSide, Price], int] = {}

    def forget(self) -> None:
        """Frames were lost: what is there is not known until it is shown again."""
        self.show((), (), 0)
        self._taken.clear()

    def show(self, bids: Levels, asks: Levels, at_ns: int) -> None:
        """Another book, best first."""
        fresh = {_BID: dict(bids), _ASK: dict(asks)}
        for side, price in [*self._taken]:
            if fresh[side].get(price) != self._sizes[side].get(price):
                del self._taken[side, price]
        self._sizes = fresh
        self._rows = {_BID: bids, _ASK: asks}
        self.at_ns = at_ns

    def shown(self, side: BookSide, price: Price) -> int:
        """Shares of others at a price."""
        return self._sizes[side].get(price, 0)

    def before(self, side: BookSide, price: Price) -> int:
        """Shares of others in front of an order that comes to a price now: not those taken."""
        return max(0, self.shown(side, price) - self._taken.get((side, price), 0))

    def take(self, side: BookSide, price: Price, qty: int) -> None:
        """We met so many shares of it."""
        if qty:
            self._taken[side, price] = self._taken.get((side, price), 0) + qty

    def left(self, side: BookSide) -> Levels:
        """Prices and shares that nobody has taken, best first."""
        rows, taken = self._rows[side], self._taken
        if not taken:
            return rows
        left = ((price, Qty(size - taken.get((side, price), 0))) for price, size in rows)
        return tuple(row for row in left if row[1] > 0)

    @property
    def doubled_mid(self) -> int | None:
        """Best bid plus best ask, cents; None where a side is empty."""
        bids, asks = self._rows[_BID], self._rows[_ASK]
        return bids[0][0] + asks[0][0] if bids and asks else None


class LiveMarket:
    """The markets of a series under one model of the queue.

    exchange: where our orders are. queues: those that rest. account: our fills, kept apart from the
    engine's ledger. marks: twice the newest middle of a market, cents. printed_qty: shares of the
    prints of others.
    """

    fills_through_only = False
    """True: a print fills what it trades through and nothing at its own price."""
    has_no_queue = False
    """True: nobody is before us at any price."""
    has_sizes = True
    """False: depth is made up around prints, so that nobody in it comes to us."""

    def __init__(
        self,
        catalogue: Iterable[v.Command],
        terms: Terms,
        queue_model: QueueModel,
        start_ns: int,
    ) -> None:
        """catalogue: what lists the markets, as `catalogue_of` makes it; more may be listed later
        by `on_series`. terms: cash, read lag and the exponent of the queue are used here."""
        self.depths: dict[MarketId, Depth] = {}
        self.account = PaperAccount()
        self.printed_qty = 0
        self.marks: dict[MarketId, int] = {}
        self._events: list[m.Event] = []
        self.queues = OwnQueues(queue_model, terms.power)
        self._changed: dict[MarketId, None] = {}
        self._acting_as_print = False
        self._trade_ids: OrderedDict[str, None] = OrderedDict()
        self._made = 0
        self._name = f"t{start_ns}-"
        self._cash_cents = terms.cash_cents
        self.exchange = Exchange(
            self,
            [*catalogue, *accounts({MAKER: terms.cash_cents, _OTHERS: _OTHERS_CENTS})],
            start_ns,
            order_id_key=b"backtested",
            pages=_PAGES,
            read_lag_ns=terms.read_lag_ns,
        )

    @property
    def markets(self) -> Sequence[MarketId]:
        """All of them, as they were listed."""
        return list(self.depths)

    # --- what others do ---------------------------------------------------------------------------

    def on_frame(self, event: m.BookUpdate | m.Trade, now_ns: int) -> None:
        """A frame of the channel, without our own orders in it. Frames of markets that are not
        listed, older books and prints that are shown again change nothing."""
        depth = self.depths.get(event.market_id)
        if depth is None:
            return
        if isinstance(event, m.BookUpdate):
            if event.ts_ns < depth.at_ns - _SET_BACK_NS:
                depth.forget()
            if event.ts_ns >= depth.at_ns:
                self._show(event.market_id, event.bids, event.asks, event.ts_ns, now_ns)
        elif event.trade_id not in self._trade_ids:
            keep_newest(self._trade_ids, event.trade_id, None, _TRADE_IDS_MAX)
            self._print(event, event.ts_ns, now_ns)

    def on_gap(self, markets: Iterable[MarketId]) -> None:
        """Frames of these markets were lost. Nothing fills there until a book is shown again; our
        orders are behind everything in it."""
        for market in markets:
            if market in self.depths:
                self.depths[market].forget()

    def on_series(self, events: Iterable[model.Event], now_ns: int) -> None:
        """Follow a read of the series: new markets, halts, ends. A market that resolved pays what
        it was last worth, a dollar or nothing: reads do not show winners."""
        shown = [*events]
        for command in catalogue_of(shown):
            self.exchange.apply(command, now_ns)
        for event in shown:
            if event.status not in (model.EventStatus.SETTLED, model.EventStatus.UNKNOWN):
                self.exchange.apply(v.SetEventStatus(event.event_ticker, event.status), now_ns)
            for market in event.markets:
                if market.state is model.MarketState.HALTED:
                    self.exchange.apply(v.HaltMarket(market.market_id), now_ns)
                elif market.state is model.MarketState.ACTIVE:
                    self.exchange.apply(v.ResumeMarket(market.market_id), now_ns)
                elif market.state is model.MarketState.RESOLVED:
                    last = 2 * (market.last_price or 0)
                    is_yes = self.marks.get(market.market_id, last) > PAYOUT_CENTS
                    self.resolve(market.market_id, Outcome.YES if is_yes else Outcome.NO, now_ns)

    def resolve(self, market: MarketId, winner: Outcome, now_ns: int) -> None:
        """A market pays; one that has paid does nothing more."""
        if isinstance(self.exchange.apply(v.ResolveMarket(market, winner), now_ns), v.Carried):
            self.account.settled(market, winner)

    def _print(self, printed: m.Trade, at_ns: int, now_ns: int) -> None:
        """It fills from the touch outward, as far as it reaches."""
        market, price = printed.market_id, printed.price
        side = _ASK if printed.taker_bought_yes else _BID
        self.printed_qty += printed.size
        left = int(printed.size)
        for queued in [*self.queues.on(market, side)] if self._is_shown(market) else ():
            if queued.price == price:
                reached = 0 if self.fills_through_only else queued.position.printed(left, at_ns)
                reached = left if self.has_no_queue else reached
            elif (queued.price > price) is (side is _BID):
                queued.position.passed()
                reached = left
            else:
                break
            filled = min(queued.remaining, reached, left)
            if filled > 0:
                left -= filled
                self._acting_as_print = True
                self._meet(market, side, queued.price, filled, now_ns)
                self._acting_as_print = False
        self.marks.setdefault(market, 2 * price)
        bought, name = printed.taker_bought_yes, printed.trade_id
        self._events.append(m.Trade(market, now_ns, name, price, printed.size, bought))

    def _show(self, market: MarketId, bids: Levels, asks: Levels, at_ns: int, now_ns: int) -> None:
        """Others show another book."""
        depth = self.depths[market]
        was_shown = self._is_shown(market)
        depth.show(bids, asks, at_ns)
        self._changed[market] = None
        if depth.doubled_mid is not None:
            self.marks[market] = depth.doubled_mid
        for side in _SIDES:
            row = [*self.queues.on(market, side)]
            for queued in row:
                others = depth.shown(side, queued.price)
                if was_shown:
                    queued.position.shown(others, at_ns)
                else:
                    self.queues.requeue(queued, others, at_ns)
            if self.has_sizes:
                for queued in row:
                    self._come(market, depth, side, queued.price, queued.remaining, now_ns)

    def _come(
        self, market: MarketId, depth: Depth, side: BookSide, price: Price, qty: int, now_ns: int
    ) -> None:
        """Others came to rest at our price or through it: they would have met us, at our price."""
        left = qty
        for theirs, size in depth.left(side.other):
            if not left or not _reaches(side, price, theirs):
                break
            met = min(left, size)
            depth.take(side.other, theirs, met)
            left -= met
        if left < qty:
            self._meet(market, side, price, qty - left, now_ns)

    def _meet(self, market: MarketId, side: BookSide, price: Price, qty: int, now_ns: int) -> None:
        """Our orders of a side fill, the first in the queue first."""
        order = self._order_of_others(market, side.other, price, qty, TimeInForce.IOC)
        self.exchange.apply(v.PlaceOrder(_OTHERS, order), now_ns)

    def _order_of_others(
        self, market: MarketId, side: BookSide, price: Price, qty: int, tif: TimeInForce
    ) -> QtyOrder:
        """An order of the other account: it buys YES up to a price, or NO down to one."""
        self._made += 1
        outcome = Outcome.YES if side is _BID else Outcome.NO
        name = ClientOrderId(f"{self._name}{self._made}")
        return QtyOrder(market, outcome, Side.BUY, canonical(outcome, price), Qty(qty), tif, name)

    # --- what the engine says ---------------------------------------------------------------------

    def on_events(self, events: list[v.Event], now_ns: int) -> None:
        """Follow our orders and fills, and the trades that no print of others was."""
        for event in events:
            if isinstance(event, v.OrderChanged):
                if event.order.user_id == MAKER:
                    self._follow(event.order)
            elif isinstance(event, v.FillBooked):
                if event.user_id == MAKER:
                    self.account.filled(event)
            elif isinstance(event, v.TradePrinted):
                self._printed_by_us(event)
            elif isinstance(event, v.MarketListed):
                self.depths[event.market.market_id] = Depth()

    def _follow(self, order: v.OrderState) -> None:
        """An order of ours is another now."""
        depth = self.depths[order.market_id]
        side = book_side(order.outcome, order.side)
        price = canonical(order.outcome, order.price)
        self.queues.changed(order, depth.before(side, price), depth.at_ns)
        self._changed[order.market_id] = None

    def _printed_by_us(self, trade: v.TradePrinted) -> None:
        """A trade that the channel of others did not print: ours shows it too."""
        if self._acting_as_print:
            return
        self.marks.setdefault(trade.market_id, 2 * trade.price)
        bought = (trade.taker_outcome is Outcome.YES) is (trade.taker_side is Side.BUY)
        self._events.append(
            m.Trade(trade.market_id, trade.at_ns, trade.trade_id, trade.price, trade.qty, bought)
        )

    # --- the channel ------------------------------------------------------------------------------

    def frames(self, now_ns: int) -> list[m.Event]:
        """What has happened since this was asked last, as our channel shows it."""
        out, self._events = self._events, []
        if self._changed:
            changed = [market for market in self._changed if self._is_shown(market)]
            out += [self.exchange.book_update(market, now_ns) for market in changed]
            self._changed.clear()
        return out

    def book_frames(self, now_ns: int) -> list[m.BookUpdate]:
        """The channel's whole books of all markets that show one."""
        shown = [market for market in self.depths if self._is_shown(market)]
        return [self.exchange.book_update(market, now_ns) for market in shown]

    def _is_shown(self, market: MarketId) -> bool:
        """True if a book of this market was shown yet: until then it is not known, which is not the
        same as empty."""
        return self.depths[market].at_ns > 0

    def shown_book(self, market_id: MarketId, now_ns: int) -> ShownBook:
        """What others have left, and our own orders."""
        if not self._is_shown(market_id):
            return ShownBook((), (), None)
        own = self.queues.sizes
        bids = _as_levels(self._left(market_id, _BID), own(market_id, _BID), best=-1)
        asks = _as_levels(self._left(market_id, _ASK), own(market_id, _ASK), best=1)
        return ShownBook(bids, asks, now_ns)

    def _left(self, market: MarketId, side: BookSide) -> Levels:
        """Depth of others that nobody has taken and that does not cross our own orders."""
        rows = self.depths[market].left(side)
        ours = self.queues.best(market, side.other)
        if ours is None or not rows or not _reaches(side.other, ours, rows[0][0]):
            return rows
        return tuple(row for row in rows if not _reaches(side.other, ours, row[0]))

    # --- our writes -------------------------------------------------------------------------------

    def carry_out(self, exchange: Exchange, command: v.Command, now_ns: int) -> v.Answer:
        """A write that may meet others: what it can reach of them rests in the book meanwhile."""
        reach = self._reach_of(command)
        offered: list[tuple[OrderId, Price, int]] = []
        if reach is not None:
            market, side, price, qty = reach
            offered = self._offer(market, side, price, qty, now_ns)
        answer = exchange.apply(command, now_ns)
        if reach is not None:
            depth = self.depths[market]
            for order_id, theirs, part in offered:
                taken = exchange.apply(v.CancelOrder(_OTHERS, order_id), now_ns)
                left = taken.reduced_by if isinstance(taken, v.Cancelled) else 0
                depth.take(side.other, theirs, part - left)
        return answer

    def _reach_of(self, command: v.Command) -> tuple[MarketId, BookSide, Price, int] | None:
        """Market, side, price and size with which a write comes to the book; None for one that
        comes to none."""
        if isinstance(command, v.PlaceOrder) and isinstance(command.order, QtyOrder):
            order = command.order
            if order.market_id not in self.depths:
                return None
            price = canonical(order.outcome, order.price)
            return order.market_id, book_side(order.outcome, order.side), price, order.qty
        if isinstance(command, v.AmendOrder) and command.amend.price is not None:
            queued = self.queues.of(command.order_id)
            if queued is not None:
                price = canonical(queued.outcome, command.amend.price)
                return queued.market_id, queued.side, price, command.amend.qty or queued.remaining
        return None

    def _offer(
        self, market: MarketId, side: BookSide, price: Price, qty: int, now_ns: int
    ) -> list[tuple[OrderId, Price, int]]:
        """Place orders of the other account where a write of ours can reach others."""
        offered: list[tuple[OrderId, Price, int]] = []
        for theirs, size in self._left(market, side.other):
            if qty <= 0 or not _reaches(side, price, theirs):
                break
            part = min(qty, size)
            order = self._order_of_others(market, side.other, theirs, part, TimeInForce.GTC)
            placed = self.exchange.apply(v.PlaceOrder(_OTHERS, order), now_ns)
            if not isinstance(placed, v.Placed):
                break  # the market takes no orders: ours is refused as well
            offered.append((placed.order.order_id, theirs, part))
            qty -= part
        return offered

    @property
    def gain_cents(self) -> int:
        """What our cash at the venue has gained, available and reserved."""
        return self.exchange.cash_cents - self._cash_cents


def _reaches(side: BookSide, price: Price, theirs: Price) -> bool:
    """True if an order of a side and price meets others at `theirs` on the other side."""
    return theirs <= price if side is _BID else theirs >= price


def _as_levels(rows: Levels, own: dict[Price, int], *, best: int) -> Levels:
    """One side as the channel shows it: what others have left and our own. best: 1 where the lowest
    price comes first, -1 where the highest does."""
    if not own:
        return rows
    sizes = dict(rows)
    for price, qty in own.items():
        sizes[price] = Qty(sizes.get(price, 0) + qty)
    if len(sizes) > len(rows):
        return tuple(sorted(sizes.items(), reverse=best < 0))
    return tuple(sizes.items())  # no price of ours alone: they are in the order of the rows


def catalogue_of(events: Iterable[model.Event]) -> list[v.Command]:
    """The commands that list what reads of a series show: companies, events, markets. An event with
    a date or a fee that cannot be read is left out, as the trader does."""
    readable = [event for event in events if is_readable(event)]
    commands: list[v.Command] = [
        v.ListCompany(company, symbol, symbol)
        for company, symbol in {each.project_id: each.series_ticker for each in readable}.items()
    ]
    for event in readable:
        fields = _fields_of(v.ListEvent, event)
        fields["status"] = model.EventStatus.OPEN
        fields["resolution_date_ns"] = instant.to_ns(event.resolution_date)
        commands.append(v.ListEvent(**fields))
        for market in event.markets:
            fields = _fields_of(v.ListMarket, market)
            fields["maker_fee_rate"] = FeeRate.parse(market.maker_fee_rate)
            fields["taker_fee_rate"] = FeeRate.parse(market.taker_fee_rate)
            commands.append(v.ListMarket(**fields))
    return commands


def _fields_of(command: type[msgspec.Struct], shown: msgspec.Struct) -> dict[str, Any]:
    """What a read shows of the fields of a command."""
    row = msgspec.structs.asdict(shown)
    return {name: row[name] for name in command.__struct_fields__ if name in row}


def is_readable(event: model.Event) -> bool:
    """True if the date of an event and the fees of its markets are what they have to be."""
    try:
        instant.to_ns(event.resolution_date)
        for market in event.markets:
            FeeRate.parse(market.maker_fee_rate)
            FeeRate.parse(market.taker_fee_rate)
    except ValueError:
        return False
    return True


_YES: Final = Outcome.YES
_NO: Final = Outcome.NO


class Kind(enum.StrEnum):
    """What of a market was recorded."""

    BOOKS = "books and trades"
    TOPS = "best prices"
    TRADES = "trades"


def kind_of(tape: Tape) -> Kind:
    """What was recorded of a tape's markets."""
    if tape.partition:
        return Kind.TOPS
    return Kind.BOOKS if tape.has_books else Kind.TRADES


class RecordedMarket(LiveMarket):
    """The markets of one event of a tape. kind: what was recorded of them."""

    def __init__(
        self,
        tape: Tape,
        terms: Terms,
        queue_model: QueueModel,
        resolution_ns: int,
        start_ns: int,
    ) -> None:
        self.kind = kind_of(tape)
        # Where no sizes are known, a pessimist has somebody before us at every price, and an
        # optimist nobody.
        self.has_sizes = self.kind is not Kind.TRADES
        self.fills_through_only = not self.has_sizes and queue_model is QueueModel.PESSIMISTIC
        self.has_no_queue = not self.has_sizes and queue_model is QueueModel.OPTIMISTIC
        catalogue = tape_catalogue(tape, resolution_ns, terms.maker_rate, terms.taker_rate)
        super().__init__(catalogue, terms, queue_model, start_ns)
        self._markets = [rung.market_id for rung in tape.rungs]
        self._rung_of = {source: rung for rung, source in enumerate(tape.sources)}
        self._picture = picture_of(tape)

    def play(self, record: Record) -> None:
        """A record of the tape happens now."""
        now_ns = record.ts
        if isinstance(record, BookRecord):
            market = self._markets[self._rung_of[record.ticker]]
            bids, asks = _best_first(_YES, record.yes), _best_first(_NO, record.no)
            self._show(market, bids, asks, now_ns, now_ns)
            return
        if isinstance(record, TradeRecord):
            market = self._markets[self._rung_of[record.ticker]]
            self._made += 1
            bought, name = record.taker_outcome is _YES, f"recorded-{self._made}"
            price, size = Price(record.price), Qty(record.qty)
            self._print(m.Trade(market, now_ns, name, price, size, bought), now_ns, now_ns)
        touched = self._picture.absorb(record)
        if self.kind is Kind.TOPS and self._picture.survival_cents() is None:
            return  # some bracket is not known yet: no rung is, and none is empty
        for rung in touched:
            wanted: dict[Outcome, list[tuple[int, int]]] = {outcome: [] for outcome in Outcome}
            for (outcome, price), size in self._picture.wanted(rung).items():
                wanted[outcome].append((price, size))
            bids, asks = (_best_first(outcome, wanted[outcome]) for outcome in Outcome)
            self._show(self._markets[rung], bids, asks, now_ns, now_ns)


_CANONICAL: Final = {
    outcome: tuple([canonical(outcome, Price(price)) for price in range(PAYOUT_CENTS + 1)])
    for outcome in Outcome
}
"""The place in the book of every price of an outcome: each level of each record asks for one."""


def _best_first(outcome: Outcome, levels: Iterable[tuple[int, int]]) -> Levels:
    """Resting bids of an outcome as one side of the book, canonical YES."""
    rows = sorted(dict(levels).items(), reverse=True)
    place = _CANONICAL[outcome]
    return tuple([(place[price], Qty(size if size < QTY_MAX else QTY_MAX)) for price, size in rows])
