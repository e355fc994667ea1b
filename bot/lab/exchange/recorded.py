"""A recorded market around our orders: its depth, its prints, and what they do to us.

What recorded flow does to our orders becomes an order of the tape's own account at that moment: a
print that reaches us takes us; depth that we reach for rests there while we do, and is taken away
again. A print fills no more than its own size, from the touch outward; at our price it has first to
use up the queue before us. Others that come to rest at our price or through it would have met us:
they fill us once a refresh.

The channel shows the recorded depth less what we took of it, with our own orders in it.
"""

from collections.abc import Sequence
from typing import Final

from bot.core import messages as m
from bot.core.strategy import Levels
from bot.lab.exchange.account import Account
from bot.lab.exchange.depth import Depth, Kind, Recorded, RecordedPrint, as_levels
from bot.lab.exchange.exchange import MAKER, Exchange, PageLimits, ShownBook, accounts
from bot.lab.exchange.queue_model import OwnQueues, QueueModel
from bot.lab.exchange.terms import Terms
from venue.core import messages as v
from venue.crowd.tape import Record, Tape, tape_catalogue
from venue.wire.limits import PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId, OrderId, UserId
from venue.wire.requests import QtyOrder, TimeInForce

_TAPE: Final = UserId("tape")
_TAPE_CENTS: Final = Cents(10**12)
_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_SIDES: Final = (_BID, _ASK)
_PAGES: Final = PageLimits(PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT)


class RecordedMarket:
    """The events of a tape under one model of the queue.

    exchange: where our orders are. account: our fills, kept apart from the engine's ledger. marks:
    twice the newest middle of a market, cents. printed_qty: shares of recorded prints.
    """

    def __init__(
        self,
        tape: Tape,
        terms: Terms,
        queue_model: QueueModel,
        resolution_ns: int,
        start_ns: int,
        catalogue: Sequence[v.Command] | None = None,
    ) -> None:
        """catalogue: what lists the markets of the tape's rungs; None for what the tape says."""
        self.markets = [rung.market_id for rung in tape.rungs]
        self.recorded = Recorded(tape)
        self.account = Account()
        self.printed_qty = 0
        self.marks: dict[MarketId, int] = {}
        self._events: list[m.Event] = []
        self._rung_of = {market: rung for rung, market in enumerate(self.markets)}
        self._queues = OwnQueues(queue_model, terms.power)
        # Where no sizes are known, a pessimist has somebody before us at every price, and an
        # optimist nobody.
        unknown = self.recorded.kind is Kind.TRADES
        self._through_only = unknown and queue_model is QueueModel.PESSIMISTIC
        self._none_before = unknown and queue_model is QueueModel.OPTIMISTIC
        self._changed: dict[MarketId, None] = {}
        self._acting_as_print = False
        self._made = 0
        self._cash_cents = terms.cash_cents
        if catalogue is None:
            catalogue = tape_catalogue(tape, resolution_ns, terms.maker_rate, terms.taker_rate)
        self.exchange = Exchange(
            self,
            [*catalogue, *accounts({MAKER: terms.cash_cents, _TAPE: _TAPE_CENTS})],
            start_ns,
            order_id_key=b"backtested",
            pages=_PAGES,
            read_lag_ns=terms.read_lag_ns,
        )

    # --- the recorded market ----------------------------------------------------------------------

    def play(self, record: Record) -> None:
        """A record of the tape happens now."""
        printed = self.recorded.printed(record)
        if printed is not None:
            self._print(printed, record.ts)
        for rung in self.recorded.absorb(record):
            self._show(self.markets[rung], self.recorded.depths[rung], record.ts)

    def _print(self, printed: RecordedPrint, now_ns: int) -> None:
        """It fills from the touch outward, as far as it reaches."""
        market, price = self.markets[printed.rung], printed.price
        side = _ASK if printed.taker_bought_yes else _BID
        self.printed_qty += printed.qty
        left = printed.qty
        for queued in [*self._queues.on(market, side)]:
            if queued.price == price:
                reached = 0 if self._through_only else queued.position.printed(left, now_ns)
                reached = left if self._none_before else reached
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
        bought = printed.taker_bought_yes
        self._made += 1
        name = f"recorded-{self._made}"
        size = Qty(printed.qty)
        self._events.append(m.TradeSeen(market, now_ns, name, price, size, bought))

    def _show(self, market: MarketId, depth: Depth, now_ns: int) -> None:
        """Others show another book."""
        self._changed[market] = None
        if depth.doubled_mid is not None:
            self.marks[market] = depth.doubled_mid
        for side in _SIDES:
            row = [*self._queues.on(market, side)]
            for queued in row:
                queued.position.shown(depth.shown(side, queued.price), now_ns)
            if self.recorded.kind is Kind.TRADES:
                continue  # made up around prints: nobody came to us
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
        order = self._tapes_order(market, side.other, price, qty, TimeInForce.IOC)
        self.exchange.apply(v.PlaceOrder(_TAPE, order), now_ns)

    def _tapes_order(
        self, market: MarketId, side: BookSide, price: Price, qty: int, tif: TimeInForce
    ) -> QtyOrder:
        """An order of the tape's account: it buys YES up to a price, or NO down to one."""
        self._made += 1
        outcome = Outcome.YES if side is _BID else Outcome.NO
        name = ClientOrderId(f"t{self._made}")
        return QtyOrder(market, outcome, Side.BUY, canonical(outcome, price), Qty(qty), tif, name)

    def resolve(self, market: MarketId, winner: Outcome, now_ns: int) -> None:
        """A rung pays."""
        self.exchange.apply(v.ResolveMarket(market, winner), now_ns)
        self.account.settled(market, winner)

    # --- what the engine says ---------------------------------------------------------------------

    def on_events(self, events: list[v.Event], now_ns: int) -> None:
        """Follow our orders and fills, and the trades that nobody recorded."""
        for event in events:
            if isinstance(event, v.OrderChanged):
                if event.order.user_id == MAKER:
                    self._follow(event.order)
            elif isinstance(event, v.FillBooked):
                if event.user_id == MAKER:
                    self.account.filled(event)
            elif isinstance(event, v.TradePrinted):
                self._printed_by_us(event)

    def _follow(self, order: v.OrderState) -> None:
        """An order of ours is another now."""
        depth = self.recorded.depths[self._rung_of[order.market_id]]
        side = book_side(order.outcome, order.side)
        price = canonical(order.outcome, order.price)
        self._queues.changed(order, depth.before(side, price), depth.at_ns)
        self._changed[order.market_id] = None

    def _printed_by_us(self, trade: v.TradePrinted) -> None:
        """A trade that the recorded market did not print: the channel shows it too."""
        if self._acting_as_print:
            return
        self.marks.setdefault(trade.market_id, 2 * trade.price)
        bought = (trade.taker_outcome is Outcome.YES) is (trade.taker_side is Side.BUY)
        self._events.append(
            m.TradeSeen(
                trade.market_id, trade.at_ns, trade.trade_id, trade.price, trade.qty, bought
            )
        )

    # --- the channel ------------------------------------------------------------------------------

    def frames(self, now_ns: int) -> list[m.Event]:
        """What has happened since this was asked last, as the channel shows it."""
        out, self._events = self._events, []
        if self._changed:
            changed = [market for market in self._changed if self._is_shown(market)]
            out += [self.exchange.book_update(market, now_ns) for market in changed]
            self._changed.clear()
        return out

    def book_frames(self, now_ns: int) -> list[m.BookSeen]:
        """The channel's whole books of all rungs that show one."""
        shown = [market for market in self.markets if self._is_shown(market)]
        return [self.exchange.book_update(market, now_ns) for market in shown]

    def _is_shown(self, market: MarketId) -> bool:
        """True if anything was recorded of a rung's book yet: until then it is not known, which is
        not the same as empty."""
        return self.recorded.depths[self._rung_of[market]].at_ns > 0

    def shown_book(self, market_id: MarketId, now_ns: int) -> ShownBook:
        """What others have left, and our own orders."""
        if not self._is_shown(market_id):
            return ShownBook((), (), None)
        own = self._queues.sizes
        bids = as_levels(self._left(market_id, _BID), own(market_id, _BID), best=-1)
        asks = as_levels(self._left(market_id, _ASK), own(market_id, _ASK), best=1)
        return ShownBook(bids, asks, now_ns)

    def _left(self, market: MarketId, side: BookSide) -> Levels:
        """Depth of others that nobody has taken and that does not cross our own orders."""
        rows = self.recorded.depths[self._rung_of[market]].left(side)
        ours = self._queues.best(market, side.other)
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
            depth = self.recorded.depths[self._rung_of[market]]
            for order_id, theirs, part in offered:
                taken = exchange.apply(v.CancelOrder(_TAPE, order_id), now_ns)
                left = taken.reduced_by if isinstance(taken, v.Cancelled) else 0
                depth.take(side.other, theirs, part - left)
        return answer

    def _reach_of(self, command: v.Command) -> tuple[MarketId, BookSide, Price, int] | None:
        """Market, side, price and size with which a write comes to the book; None for one that
        comes to none."""
        if isinstance(command, v.PlaceOrder) and isinstance(command.order, QtyOrder):
            order = command.order
            price = canonical(order.outcome, order.price)
            return order.market_id, book_side(order.outcome, order.side), price, order.qty
        if isinstance(command, v.AmendOrder) and command.amend.price is not None:
            queued = self._queues.of(command.order_id)
            if queued is not None:
                price = canonical(queued.outcome, command.amend.price)
                return queued.market_id, queued.side, price, command.amend.qty or queued.remaining
        return None

    def _offer(
        self, market: MarketId, side: BookSide, price: Price, qty: int, now_ns: int
    ) -> list[tuple[OrderId, Price, int]]:
        """Place orders of the tape's account where a write of ours can reach others."""
        offered: list[tuple[OrderId, Price, int]] = []
        for theirs, size in self._left(market, side.other):
            if qty <= 0 or not _reaches(side, price, theirs):
                break
            part = min(qty, size)
            order = self._tapes_order(market, side.other, theirs, part, TimeInForce.GTC)
            placed = self.exchange.apply(v.PlaceOrder(_TAPE, order), now_ns)
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
