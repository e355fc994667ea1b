"""A market of others around our orders: live frames or a tape, and what they do to us.

A print that reaches us becomes an order of a second account that takes ours: up to its size, from
the touch outward, after the queue in front of us. Depth that we reach for rests while we do. Others
that come to our price or through it fill us once a refresh. The channel shows their depth less what
we took, and our own orders. Stamps of others order their frames; all that we see has our own clock.

Whole books say all. Best prices have no sizes and prints: sizes are made up. Of trades alone the
book is made up around them (`venue.crowd.picture`), and only prints fill us.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from bot.core import messages as m
from bot.core.orders.outbox import keep_newest
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.exchange import (
    MAKER,
    Exchange,
    PageLimits,
    PaperAccount,
    ShownBook,
    accounts,
    buy_order,
    print_of,
)
from bot.lab.exchange.queue_model import OwnQueues, OwnSide, QueueModel
from bot.strategy.api import Levels
from venue.engine import messages as v
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX
from venue.wire.money import (
    PAYOUT_CENTS,
    BookSide,
    Cents,
    FeeRate,
    Outcome,
    Price,
    Qty,
    book_side,
    canonical,
)
from venue.wire.names import MarketId, OrderId, UserId
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


class SideDepth:
    """What others show on one side of a market, around our orders there. What we took stays taken
    until the size at that price changes: displayed depth is met once per refresh."""

    __slots__ = ("own", "rows", "side", "sizes", "taken")

    def __init__(self, side: BookSide, own: OwnSide) -> None:
        self.side = side
        self.own = own
        self.rows: Levels = ()
        self.sizes: dict[Price, Qty] = {}  # those of `rows`
        self.taken: dict[Price, int] = {}

    def show_rows(self, rows: Levels) -> None:
        sizes = dict(rows)
        for price in [*self.taken]:
            if sizes.get(price) != self.sizes.get(price):
                del self.taken[price]
        self.rows, self.sizes = rows, sizes

    def size_ahead(self, price: Price) -> int:
        """Shares of others in front of an order that comes to a price now: not those taken."""
        return max(0, self.sizes.get(price, 0) - self.taken.get(price, 0))

    def mark_taken(self, price: Price, qty: int) -> None:
        if qty:
            self.taken[price] = self.taken.get(price, 0) + qty

    def remaining_levels(self) -> Levels:
        rows, taken = self.rows, self.taken
        if not taken:
            return rows
        left = ((price, Qty(size - taken.get(price, 0))) for price, size in rows)
        return tuple(row for row in left if row[1] > 0)

    def free_levels(self, facing: Price | None) -> Levels:
        """Those that nobody has taken and that do not cross our best order on the other side."""
        rows = self.remaining_levels() if self.taken else self.rows
        if facing is None or not rows:
            return rows
        # The first row is the boldest: most books cross nothing.
        if self.side is _BID:
            return rows if rows[0][0] < facing else tuple(row for row in rows if row[0] < facing)
        return rows if rows[0][0] > facing else tuple(row for row in rows if row[0] > facing)

    def shown_levels(self, facing: Price | None) -> Levels:
        """The free levels and our own orders, as the channel shows them."""
        rows, own = self.free_levels(facing), self.own.sizes_by_price
        if not own:
            return rows
        sizes = dict(rows)
        for price, qty in own.items():
            sizes[price] = Qty(sizes.get(price, 0) + qty)
        if len(sizes) > len(rows):
            return tuple(sorted(sizes.items(), reverse=self.side is _BID))
        return tuple(sizes.items())  # no price of ours alone: they are in the order of the rows


class Depth:
    """What others show on one market."""

    __slots__ = ("asks", "at_ns", "bids")

    def __init__(self, own_bids: OwnSide, own_asks: OwnSide) -> None:
        self.at_ns = 0  # when it last changed; 0: unknown, which is not empty
        self.bids = SideDepth(_BID, own_bids)
        self.asks = SideDepth(_ASK, own_asks)

    def on_side(self, side: BookSide) -> SideDepth:
        return self.bids if side is _BID else self.asks

    def clear_book(self) -> None:
        """Frames were lost: the book is unknown until the next one."""
        self.show_book((), (), 0)
        self.bids.taken.clear()
        self.asks.taken.clear()

    def show_book(self, bids: Levels, asks: Levels, at_ns: int) -> None:
        # A tape has one object for equal sides, and most records leave one side as it was.
        if bids is not self.bids.rows:
            self.bids.show_rows(bids)
        if asks is not self.asks.rows:
            self.asks.show_rows(asks)
        self.at_ns = at_ns


class LiveMarket:
    """The markets of a series under one model of the queue. exchange: where our orders are."""

    fills_through_only = False
    """True: a print fills what it trades through and nothing at its own price."""
    has_no_queue = False  # true: nobody is before us at any price
    has_sizes = True  # false: depth is made up around prints, so that nobody in it comes to us

    def __init__(
        self,
        catalogue: Iterable[v.Command],
        terms: Terms,
        queue_model: QueueModel,
        start_ns: int,
    ) -> None:
        """catalogue: commands that list the markets; `on_series` may list more. terms: cash, read
        lag and the queue exponent are used."""
        self.depths: dict[MarketId, Depth] = {}
        self.account = PaperAccount()  # our fills, kept apart from the engine's ledger
        self.printed_qty = 0  # shares of the prints of others
        self.marks: dict[MarketId, int] = {}  # twice the newest middle of a market, cents
        self._events: list[m.Event] = []
        self.queues = OwnQueues(queue_model, terms.power)  # those that rest
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
        return list(self.depths)

    # --- what others do ---------------------------------------------------------------------------

    def on_frame(self, event: m.BookUpdate | m.Trade, now_ns: int) -> None:
        """A frame without our own orders. Unlisted markets, older books and repeated prints change
        nothing."""
        depth = self.depths.get(event.market_id)
        if depth is None:
            return
        if isinstance(event, m.BookUpdate):
            if event.ts_ns < depth.at_ns - _SET_BACK_NS:
                depth.clear_book()
            if event.ts_ns >= depth.at_ns:
                self._show_book(event.market_id, event.bids, event.asks, event.ts_ns, now_ns)
        elif event.trade_id not in self._trade_ids:
            keep_newest(self._trade_ids, event.trade_id, None, _TRADE_IDS_MAX)
            self._print(event, event.ts_ns, now_ns)

    def on_gap(self, markets: Iterable[MarketId]) -> None:
        """Frames of these markets were lost. Nothing fills there until the next book; our orders
        are behind everything in it."""
        for market in markets:
            if market in self.depths:
                self.depths[market].clear_book()

    def on_series(self, events: Iterable[model.Event], now_ns: int) -> None:
        """Follow a read of the series: new markets, halts, ends. Reads show no winner, so a
        resolved market pays what it was last worth, a dollar or nothing."""
        shown = [*events]
        for command in catalogue_of(shown):
            self.exchange.execute(command, now_ns)
        for event in shown:
            if event.status not in (model.EventStatus.SETTLED, model.EventStatus.UNKNOWN):
                self.exchange.execute(v.SetEventStatus(event.event_ticker, event.status), now_ns)
            for market in event.markets:
                if market.state is model.MarketState.HALTED:
                    self.exchange.execute(v.HaltMarket(market.market_id), now_ns)
                elif market.state is model.MarketState.ACTIVE:
                    self.exchange.execute(v.ResumeMarket(market.market_id), now_ns)
                elif market.state is model.MarketState.RESOLVED:
                    last = 2 * (market.last_price or 0)
                    is_yes = self.marks.get(market.market_id, last) > PAYOUT_CENTS
                    self.resolve(market.market_id, Outcome.YES if is_yes else Outcome.NO, now_ns)

    def resolve(self, market: MarketId, winner: Outcome, now_ns: int) -> None:
        """A market pays; one that has paid does nothing more."""
        if isinstance(self.exchange.execute(v.ResolveMarket(market, winner), now_ns), v.Accepted):
            self.account.on_payout(market, winner)

    def _print(self, printed: m.Trade, at_ns: int, now_ns: int) -> None:
        """It fills from the touch outward, as far as it reaches."""
        market, price = printed.market_id, printed.price
        depth = self.depths[market]
        side = _ASK if printed.taker_bought_yes else _BID
        self.printed_qty += printed.size
        left = int(printed.size)
        for queued in [*depth.on_side(side).own.orders] if depth.at_ns else ():
            if queued.price == price:
                reached = 0 if self.fills_through_only else queued.position.on_print(left, at_ns)
                reached = left if self.has_no_queue else reached
            elif (queued.price > price) is (side is _BID):
                queued.position.on_traded_through()
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

    def _show_book(
        self, market: MarketId, bids: Levels, asks: Levels, at_ns: int, now_ns: int
    ) -> None:
        depth = self.depths[market]
        was_shown = depth.at_ns > 0
        depth.show_book(bids, asks, at_ns)
        self._changed[market] = None
        if bids and asks:
            self.marks[market] = bids[0][0] + asks[0][0]
        for mine, facing in ((depth.bids, asks), (depth.asks, bids)):
            row = [*mine.own.orders]
            for queued in row:
                others = mine.sizes.get(queued.price, 0)
                if was_shown:
                    queued.position.on_book(others, at_ns)
                else:
                    self.queues.requeue(queued, others, at_ns)
            if not (self.has_sizes and facing):
                continue
            best = facing[0][0]
            for queued in row:
                if best <= queued.price if mine.side is _BID else best >= queued.price:
                    self._come(market, depth, mine.side, queued.price, queued.remaining, now_ns)

    def _come(
        self, market: MarketId, depth: Depth, side: BookSide, price: Price, qty: int, now_ns: int
    ) -> None:
        """Others came to rest at our price or through it: they would have met us, at our price."""
        left, facing = qty, depth.on_side(side.other)
        for theirs, size in facing.remaining_levels():
            if not left or not _reaches(side, price, theirs):
                break
            met = min(left, size)
            facing.mark_taken(theirs, met)
            left -= met
        if left < qty:
            self._meet(market, side, price, qty - left, now_ns)

    def _meet(self, market: MarketId, side: BookSide, price: Price, qty: int, now_ns: int) -> None:
        """Our orders of a side fill, the first in the queue first."""
        order = self._order_of_others(market, side.other, price, qty, TimeInForce.IOC)
        self.exchange.execute(v.PlaceOrder(_OTHERS, order), now_ns)

    def _order_of_others(
        self, market: MarketId, side: BookSide, price: Price, qty: int, tif: TimeInForce
    ) -> QtyOrder:
        """An order of the other account: it buys YES up to a price, or NO down to one."""
        self._made += 1
        outcome = Outcome.YES if side is _BID else Outcome.NO
        name = f"{self._name}{self._made}"
        return buy_order(market, outcome, canonical(outcome, price), qty, tif, name)

    # --- what the engine says ---------------------------------------------------------------------

    def on_events(self, events: list[v.Event], now_ns: int) -> None:
        for event in events:
            if isinstance(event, v.OrderChanged):
                if event.order.user_id == MAKER:
                    self._follow(event.order)
            elif isinstance(event, v.FillBooked):
                if event.user_id == MAKER:
                    self.account.on_fill(event)
            elif isinstance(event, v.TradePrinted):
                self._printed_by_us(event)
            elif isinstance(event, v.MarketListed):
                market = event.market.market_id
                own_bids, own_asks = (self.queues.on_side(market, side) for side in _SIDES)
                self.depths[market] = Depth(own_bids, own_asks)

    def _follow(self, order: v.OrderState) -> None:
        depth = self.depths[order.market_id]
        side = book_side(order.outcome, order.side)
        price = canonical(order.outcome, order.price)
        self.queues.on_order(order, depth.on_side(side).size_ahead(price), depth.at_ns)
        self._changed[order.market_id] = None

    def _printed_by_us(self, trade: v.TradePrinted) -> None:
        if self._acting_as_print:
            return
        self.marks.setdefault(trade.market_id, 2 * trade.price)
        self._events.append(print_of(trade))

    # --- the channel ------------------------------------------------------------------------------

    def frames(self, now_ns: int) -> list[m.Event]:
        out, self._events = self._events, []
        if self._changed:
            out += self._book_updates(self._changed, now_ns)
            self._changed.clear()
        return out

    def book_frames(self, now_ns: int) -> list[m.BookUpdate]:
        return self._book_updates(self.depths, now_ns)

    def _book_updates(self, markets: Iterable[MarketId], now_ns: int) -> list[m.BookUpdate]:
        """The whole books of those that are known."""
        updates: list[m.BookUpdate] = []
        for market in markets:
            bids, asks, at_ns = self.shown_book(market, now_ns)
            if at_ns is not None:
                updates.append(m.BookUpdate(market, at_ns, bids, asks))
        return updates

    def shown_book(self, market_id: MarketId, now_ns: int) -> ShownBook:
        depth = self.depths[market_id]
        bids, asks = depth.bids, depth.asks
        if not depth.at_ns:
            return ShownBook((), (), None)
        return ShownBook(bids.shown_levels(asks.own.best), asks.shown_levels(bids.own.best), now_ns)

    # --- our writes -------------------------------------------------------------------------------

    def execute_write(self, exchange: Exchange, command: v.Command, now_ns: int) -> v.Answer:
        """A write that may meet others: what it can reach of them rests in the book meanwhile."""
        reach = self._reach_of(command)
        offered: list[tuple[OrderId, Price, int]] = []
        if reach is not None:
            market, side, price, qty = reach
            offered = self._offer(market, side, price, qty, now_ns)
        answer = exchange.execute(command, now_ns)
        if reach is not None:
            facing = self.depths[market].on_side(side.other)
            for order_id, theirs, part in offered:
                taken = exchange.execute(v.CancelOrder(_OTHERS, order_id), now_ns)
                left = taken.reduced_by if isinstance(taken, v.Cancelled) else 0
                facing.mark_taken(theirs, part - left)
        return answer

    def _reach_of(self, command: v.Command) -> tuple[MarketId, BookSide, Price, int] | None:
        """Market, side, price and size with which a write reaches the book; None if it reaches
        none."""
        if isinstance(command, v.PlaceOrder) and isinstance(command.order, QtyOrder):
            order = command.order
            if order.market_id not in self.depths:
                return None
            price = canonical(order.outcome, order.price)
            return order.market_id, book_side(order.outcome, order.side), price, order.qty
        if isinstance(command, v.AmendOrder) and command.amend.price is not None:
            queued = self.queues.queued_order(command.order_id)
            if queued is not None:
                price = canonical(queued.outcome, command.amend.price)
                return queued.market_id, queued.side, price, command.amend.qty or queued.remaining
        return None

    def _offer(
        self, market: MarketId, side: BookSide, price: Price, qty: int, now_ns: int
    ) -> list[tuple[OrderId, Price, int]]:
        """Place orders of the other account where a write of ours can reach others."""
        offered: list[tuple[OrderId, Price, int]] = []
        depth = self.depths[market]
        ours = depth.on_side(side).own.best
        for theirs, size in depth.on_side(side.other).free_levels(ours):
            if qty <= 0 or not _reaches(side, price, theirs):
                break
            part = min(qty, size)
            order = self._order_of_others(market, side.other, theirs, part, TimeInForce.GTC)
            placed = self.exchange.execute(v.PlaceOrder(_OTHERS, order), now_ns)
            if not isinstance(placed, v.Placed):
                break  # the market takes no orders: ours is refused as well
            offered.append((placed.order.order_id, theirs, part))
            qty -= part
        return offered

    @property
    def gain_cents(self) -> int:
        return self.exchange.cash_cents - self._cash_cents


def _reaches(side: BookSide, price: Price, theirs: Price) -> bool:
    """True if an order of a side and price meets others at `theirs` on the other side."""
    return theirs <= price if side is _BID else theirs >= price


def catalogue_of(events: Iterable[model.Event]) -> list[v.Command]:
    """The commands that list what reads of a series show. An event with an unreadable date or fee
    is left out, as the trader does."""
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
    row = msgspec.structs.asdict(shown)
    return {name: row[name] for name in command.__struct_fields__ if name in row}


def is_readable(event: model.Event) -> bool:
    """True if the date of an event and the fees of its markets can be parsed."""
    try:
        instant.to_ns(event.resolution_date)
        for market in event.markets:
            FeeRate.parse(market.maker_fee_rate)
            FeeRate.parse(market.taker_fee_rate)
    except ValueError:
        return False
    return True
