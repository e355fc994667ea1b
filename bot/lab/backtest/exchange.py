"""The venue of a backtest: the real engine with our orders alone, and a recorded market around it.

Creates, amends, cancels, fees, reserves and ids are the engine's. What recorded flow does to our
orders becomes an order of the tape's own account at that moment: a print that reaches us takes us;
depth that we reach for stands there while we do, and is taken away again. A print fills no more
than its own size, from the touch outward; at our price it has first to use up the queue before us.
Others that come to rest at our price or through it would have met us: they fill us once a refresh.

The channel shows the recorded depth less what we took of it, with our own orders in it.
"""

from collections.abc import Sequence
from typing import Final

from bot.core import messages as m
from bot.core.strategy import Levels
from bot.lab.backtest.account import Account
from bot.lab.backtest.market import Depth, Kind, Recorded, RecordedPrint, as_levels
from bot.lab.backtest.queues import Queues
from bot.lab.backtest.terms import Reading, Terms
from bot.lab.sim.venue.exchange import refusal, shown
from venue.core import messages as v
from venue.core.engine import Engine
from venue.crowd.tape import Record, Tape, tape_catalogue
from venue.read.account import Scope
from venue.read.catalog import EventFilter
from venue.read.projector import Projector, Views
from venue.wire import codec, instant, model
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import (
    PAGE_LIMIT_DEFAULT,
    PAGE_LIMIT_MAX,
    RATE_BURST,
    RATE_PER_SECOND,
    TokenBucket,
)
from venue.wire.money import (
    BookSide,
    Cents,
    Outcome,
    Price,
    Qty,
    Side,
    book_side,
    canonical,
)
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker, UserId
from venue.wire.requests import QtyOrder, TimeInForce

MAKER: Final = UserId("maker")
_TAPE: Final = UserId("tape")
_TAPE_CENTS: Final = Cents(10**12)
_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_SIDES: Final = (_BID, _ASK)
_OF_ACCOUNTS: Final = (v.FillBooked, v.PositionChanged, v.BalanceChanged, v.UserAdded)
_OF_CATALOGUE: Final = (v.CompanyListed, v.EventListed, v.MarketListed, v.MarketStateChanged)

_OfViews = (
    m.ReadOrder | m.ReadResting | m.ReadFills | m.ReadPositions | m.ReadBalance | m.ReadSeries
)


class Exchange:
    """One event of a tape under one reading of the queue.

    account: our fills, kept apart from the engine's ledger. events: what goes out on the channel,
    taken by whoever sends it. printed_qty: shares of recorded prints. refused: by code.
    """

    def __init__(
        self,
        tape: Tape,
        terms: Terms,
        reading: Reading,
        resolution_ns: int,
        start_ns: int,
        catalogue: Sequence[v.Command] | None = None,
    ) -> None:
        """catalogue: what lists the markets of the tape's rungs; None for what the tape says."""
        self.engine = Engine(order_id_key=b"backtested")
        self.markets = [rung.market_id for rung in tape.rungs]
        self.recorded = Recorded(tape)
        self.account = Account()
        self.events: list[m.Event] = []
        self.printed_qty = 0
        self.refused: dict[str, int] = {}
        self.marks: dict[MarketId, int] = {}
        self._rung_of = {market: rung for rung, market in enumerate(self.markets)}
        self._tickers: dict[MarketId, Ticker] = {}
        self._queues = Queues(reading, terms.power)
        # Where no sizes are known, a careful reading has somebody before us at every price, and a
        # kind one nobody.
        unknown = self.recorded.kind is Kind.TRADES
        self._through_only = unknown and reading is Reading.AVERSE
        self._none_before = unknown and reading is Reading.KIND
        self._views = Projector(Views(), terms.read_lag_ns)
        self._answers: dict[m.Read, m.Done] = {}  # to reads, until another event can be read
        self._buckets: dict[m.Key, TokenBucket] = {}
        self._changed: dict[MarketId, None] = {}
        self._acting_as_print = False
        self._made = 0
        if catalogue is None:
            catalogue = tape_catalogue(tape, resolution_ns, terms.maker_rate, terms.taker_rate)
        for command in [*catalogue, *_opened({MAKER: terms.cash_cents, _TAPE: _TAPE_CENTS})]:
            if isinstance(command, v.ListMarket):
                self._tickers[command.market_id] = command.ticker
            self._apply(command, start_ns)
        self._views.advance(start_ns + terms.read_lag_ns)
        self._cash_cents = terms.cash_cents

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
        for standing in [*self._queues.on(market, side)]:
            if standing.price == price:
                reached = 0 if self._through_only else standing.place.printed(left, now_ns)
                reached = left if self._none_before else reached
            elif (standing.price > price) is (side is _BID):
                standing.place.passed()
                reached = left
            else:
                break
            filled = min(standing.remaining, reached, left)
            if filled > 0:
                left -= filled
                self._acting_as_print = True
                self._meet(market, side, standing.price, filled, now_ns)
                self._acting_as_print = False
        self.marks.setdefault(market, 2 * price)
        bought = printed.taker_bought_yes
        self._made += 1
        name = f"recorded-{self._made}"
        size = Qty(printed.qty)
        self.events.append(m.TradeSeen(market, now_ns, name, price, size, bought))

    def _show(self, market: MarketId, depth: Depth, now_ns: int) -> None:
        """Others show another book."""
        self._changed[market] = None
        if depth.doubled_mid is not None:
            self.marks[market] = depth.doubled_mid
        for side in _SIDES:
            row = [*self._queues.on(market, side)]
            for standing in row:
                standing.place.shown(depth.shown(side, standing.price), now_ns)
            if self.recorded.kind is Kind.TRADES:
                continue  # made up around prints: nobody came to us
            for standing in row:
                self._come(market, depth, side, standing.price, standing.remaining, now_ns)

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
        self._apply(v.PlaceOrder(_TAPE, order), now_ns)

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
        self._apply(v.ResolveMarket(market, winner), now_ns)
        self.account.settled(market, winner)

    # --- what the engine says ---------------------------------------------------------------------

    def _apply(self, command: v.Command, now_ns: int) -> v.Answer:
        answer, events = self.engine.apply(command, now_ns)
        self._heard(events, now_ns)
        return answer

    def _heard(self, events: list[v.Event], now_ns: int) -> None:
        """What a command came to."""
        shown: list[v.Event] = []
        for event in events:
            if isinstance(event, v.OrderChanged):
                if event.order.user_id == MAKER:
                    shown.append(event)
                    self._stands(event.order)
            elif isinstance(event, _OF_ACCOUNTS):
                if event.user_id == MAKER:
                    shown.append(event)
                    if isinstance(event, v.FillBooked):
                        self.account.filled(event)
            elif isinstance(event, v.TradePrinted):
                self._printed_by_us(event)
            elif isinstance(event, _OF_CATALOGUE):
                shown.append(event)
        if shown:
            self._views.publish(shown, now_ns)

    def _stands(self, order: v.OrderState) -> None:
        """An order of ours is another now."""
        depth = self.recorded.depths[self._rung_of[order.market_id]]
        side = book_side(order.outcome, order.side)
        price = canonical(order.outcome, order.price)
        self._queues.changed(order, depth.before(side, price), depth.at_ns)
        self._changed[order.market_id] = None

    def _printed_by_us(self, trade: v.TradePrinted) -> None:
        """A trade that the recorded market did not print: the channel tells it too."""
        if self._acting_as_print:
            return
        self.marks.setdefault(trade.market_id, 2 * trade.price)
        bought = (trade.taker_outcome is Outcome.YES) is (trade.taker_side is Side.BUY)
        self.events.append(
            m.TradeSeen(
                trade.market_id, trade.at_ns, trade.trade_id, trade.price, trade.qty, bought
            )
        )

    # --- the channel ------------------------------------------------------------------------------

    def frames(self, now_ns: int) -> list[m.Event]:
        """What has happened since this was asked last, as the channel tells it."""
        out, self.events = self.events, []
        if self._changed:
            changed = [market for market in self._changed if self.is_shown(market)]
            out += [self.book_frame(market, now_ns) for market in changed]
            self._changed.clear()
        return out

    def is_shown(self, market: MarketId) -> bool:
        """Whether anything was recorded of a rung's book yet: until then it is not known, which is
        not the same as empty."""
        return self.recorded.depths[self._rung_of[market]].at_ns > 0

    def book_frames(self, now_ns: int) -> list[m.BookSeen]:
        """The channel's whole books of all rungs that show one."""
        return [self.book_frame(each, now_ns) for each in self.markets if self.is_shown(each)]

    def book_frame(self, market: MarketId, now_ns: int) -> m.BookSeen:
        """The channel's whole book of a rung."""
        bids, asks = self._book(market)
        return m.BookSeen(market, now_ns, bids, asks)

    def _book(self, market: MarketId) -> tuple[Levels, Levels]:
        own = self._queues.sizes
        bids = as_levels(self._left(market, _BID), own(market, _BID), best=-1)
        asks = as_levels(self._left(market, _ASK), own(market, _ASK), best=1)
        return bids, asks

    def _left(self, market: MarketId, side: BookSide) -> Levels:
        """Depth of others that nobody has taken and that could rest beside our own orders."""
        rows = self.recorded.depths[self._rung_of[market]].left(side)
        ours = self._queues.best(market, side.other)
        if ours is None or not rows or not _reaches(side.other, ours, rows[0][0]):
            return rows
        return tuple(row for row in rows if not _reaches(side.other, ours, row[0]))

    # --- the front door ---------------------------------------------------------------------------

    def answer(self, effect: m.Send, now_ns: int) -> tuple[m.Answer, int, int | None]:
        """Carry out a request, or refuse it for pace: the answer, the whole tokens left of its
        credential, and how long to stay away, ns, where it was refused for pace."""
        bucket = self._buckets.get(effect.key)
        if bucket is None:
            bucket = TokenBucket.full(RATE_PER_SECOND, RATE_BURST, now_ns)
            self._buckets[effect.key] = bucket
        if not bucket.take(now_ns):
            whole_s = -(-bucket.wait_ns() // NS_PER_SECOND)
            return self._refuse(Code.RATE_LIMITED), bucket.whole_tokens, whole_s * NS_PER_SECOND
        if self._views.advance(now_ns):
            self._answers.clear()
        return self._carried_out(effect.request, now_ns), bucket.whole_tokens, None

    def _carried_out(self, request: m.Request, now_ns: int) -> m.Answer:
        match request:
            case m.Create():
                order = codec.parse_new_order(request.body, MarketId)
                command = v.PlaceOrder(MAKER, order)
                if not isinstance(order, QtyOrder):
                    return self._shown(self._apply(command, now_ns))
                side = book_side(order.outcome, order.side)
                price = canonical(order.outcome, order.price)
                return self._reach(command, order.market_id, side, price, order.qty, now_ns)
            case m.AmendResting():
                amended = v.AmendOrder(MAKER, request.order_id, request.amend)
                standing = self._queues.of(request.order_id)
                if standing is None or request.amend.price is None:
                    return self._shown(self._apply(amended, now_ns))
                price = canonical(standing.outcome, request.amend.price)
                qty = request.amend.qty or Qty(standing.remaining)
                market, side = standing.market_id, standing.side
                return self._reach(amended, market, side, price, qty, now_ns)
            case m.CancelResting():
                return self._shown(self._apply(v.CancelOrder(MAKER, request.order_id), now_ns))
            case _:
                return self._read(request, now_ns)

    def _reach(
        self,
        command: v.PlaceOrder | v.AmendOrder,
        market: MarketId,
        side: BookSide,
        price: Price,
        qty: int,
        now_ns: int,
    ) -> m.Answer:
        """A write that may meet others: what it can reach of them stands in the book meanwhile."""
        depth = self.recorded.depths[self._rung_of[market]]
        offered: list[tuple[OrderId, Price, int]] = []
        for theirs, size in self._left(market, side.other):
            if qty <= 0 or not _reaches(side, price, theirs):
                break
            part = min(qty, size)
            order = self._tapes_order(market, side.other, theirs, part, TimeInForce.GTC)
            placed = self._apply(v.PlaceOrder(_TAPE, order), now_ns)
            if not isinstance(placed, v.Placed):
                break  # the market takes no orders: ours is refused as well
            offered.append((placed.order.order_id, theirs, part))
            qty -= part
        answer = self._apply(command, now_ns)
        for order_id, theirs, part in offered:
            taken = self._apply(v.CancelOrder(_TAPE, order_id), now_ns)
            left = taken.reduced_by if isinstance(taken, v.Cancelled) else 0
            depth.take(side.other, theirs, part - left)
        return self._shown(answer)

    def _refuse(self, code: Code) -> m.Refused:
        self.refused[code] = self.refused.get(code, 0) + 1
        return refusal(code)

    def _shown(self, answer: v.Answer) -> m.Answer:
        if isinstance(answer, v.Refused):
            return self._refuse(answer.code)
        return shown(answer)

    def _read(self, request: m.Read, now_ns: int) -> m.Answer:
        """The answer to a read: on a quiet market the same are asked for again and again."""
        if isinstance(request, m.ReadBook):
            return m.Done(m.BookShown(self._shown_book(request.market_id, now_ns)))
        answer = self._answers.get(request)
        if answer is None:
            body = self._visible(request)
            if body is None:
                return self._refuse(Code.ORDER_NOT_FOUND)
            answer = self._answers[request] = m.Done(body)
        return answer

    def _visible(self, request: _OfViews) -> m.Body | None:
        """What the views show; None for an order that is not in them."""
        account = self._views.views.account
        match request:
            case m.ReadOrder():
                order = account.order(MAKER, request.order_id)
                return None if order is None else m.OrderShown(order)
            case m.ReadResting():
                at = _place(request.cursor)
                rows, last = account.orders(MAKER, Scope(), model.RESTING, at, PAGE_LIMIT_MAX)
                return m.OrdersShown(rows, _cursor(last))
            case m.ReadFills():
                at = _place(request.cursor)
                fills, last = account.fills(MAKER, Scope(), None, at, PAGE_LIMIT_DEFAULT)
                return m.FillsShown(fills, _cursor(last))
            case m.ReadPositions():
                held, after = account.positions(MAKER, Scope(), request.cursor, PAGE_LIMIT_MAX)
                return m.PositionsShown(held, after or "")
            case m.ReadBalance():
                return m.BalanceShown(account.balance(MAKER))
            case m.ReadSeries():
                begin = int(request.cursor) if request.cursor else -1
                wanted = EventFilter(series_ticker=request.series_ticker)
                rows_, last = self._views.views.catalog.events(wanted, begin, PAGE_LIMIT_DEFAULT)
                return m.SeriesShown(rows_, _cursor(last))

    def _shown_book(self, market: MarketId, now_ns: int) -> model.Orderbook:
        if not self.is_shown(market):  # as of one that never traded: it says nothing (S28)
            return model.Orderbook(self._tickers[market], market, instant.ZERO, (), ())
        bids, asks = self._book(market)
        at = instant.from_ns(now_ns)
        return model.Orderbook(self._tickers[market], market, at, _rows(bids), _rows(asks))

    @property
    def gain_cents(self) -> int:
        """What our cash at the venue has gained, available and reserved."""
        balance = self.engine.balance(MAKER)
        assert balance is not None
        return balance[0] + balance[1] - self._cash_cents


def _opened(users: dict[UserId, Cents]) -> list[v.Command]:
    commands: list[v.Command] = []
    for user, cents in users.items():
        commands += [v.AddUser(user), v.Deposit(user, cents)]
    return commands


def _reaches(side: BookSide, price: Price, theirs: Price) -> bool:
    """Whether an order of a side and price meets others at `theirs` on the other side."""
    return theirs <= price if side is _BID else theirs >= price


def _place(cursor: str) -> int | None:
    return int(cursor) if cursor else None


def _cursor(place: int | None) -> str:
    return "" if place is None else str(place)


def _rows(levels: Levels) -> tuple[model.Level, ...]:
    return tuple(model.Level(price, size) for price, size in levels)
