"""The venue of a run in virtual time: the real engine behind a front door.

Who else trades is a `MarketSource`: a recorded market, a crowd, a world of true values. How the
venue reads the gaps of its interface is a `GapReading`. Reads show our account as of `read_lag_ns`
ago; every request spends a token of its key's rate limit.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from bot.core import messages as m
from bot.strategy.api import Levels
from venue.engine import messages as v
from venue.engine.engine import Engine
from venue.engine.messages import FillBooked
from venue.views.account import Scope, shown_order
from venue.views.catalog import EventFilter
from venue.views.projector import Projector, Views
from venue.wire import instant, model
from venue.wire.errors import CODES, Code
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import RATE_BURST, RATE_PER_SECOND, TokenBucket
from venue.wire.model import Liquidity
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    Cents,
    Outcome,
    Price,
    Qty,
    Side,
)
from venue.wire.names import ClientOrderId, MarketId, Ticker, UserId
from venue.wire.requests import QtyOrder, TimeInForce

MAKER: Final = UserId("maker")  # our account
_OF_ACCOUNTS: Final = (v.FillBooked, v.PositionChanged, v.BalanceChanged, v.UserAdded)
_OF_CATALOGUE: Final = (v.CompanyListed, v.EventListed, v.MarketListed, v.MarketStateChanged)


class PageLimits(NamedTuple):
    orders: int
    fills: int
    positions: int
    events: int


class Response(NamedTuple):
    """The answer to a request."""

    answer: m.Answer
    tokens: int | None  # whole ones left of its credential, None where that is not said
    away_ns: int | None  # how long to stay away, where it was rate limited
    waited_ns: int = 0  # how long it takes beyond the way back


class ShownBook(NamedTuple):
    """A book as the channel and reads show it: ours included, canonical YES, best first."""

    bids: Levels
    asks: Levels
    at_ns: int | None  # of its newest change; None while nothing is known of it


class LevelBook:
    """The shares by price of a market, canonical YES, from changes of its levels."""

    __slots__ = ("_levels", "asks", "at_ns", "bids")

    def __init__(self, at_ns: int) -> None:
        self.bids: dict[Price, Qty] = {}
        self.asks: dict[Price, Qty] = {}
        self.at_ns = at_ns  # of the newest one
        self._levels: tuple[Levels, Levels] | None = None

    def change(self, event: v.LevelChanged) -> None:
        sizes = self.bids if event.side is BookSide.BID else self.asks
        if event.size:
            sizes[event.price] = event.size
        else:
            sizes.pop(event.price, None)
        self.at_ns = event.at_ns
        self._levels = None

    def levels(self) -> tuple[Levels, Levels]:
        if self._levels is None:
            bids = tuple(sorted(self.bids.items(), reverse=True))
            self._levels = (bids, tuple(sorted(self.asks.items())))
        return self._levels


Watcher = Callable[[v.Command, v.Answer, list[v.Event], int], None]
"""Called with every command, its answer, its events and the time."""


class MarketSource(Protocol):
    """Everybody but us."""

    def on_events(self, events: list[v.Event], now_ns: int) -> None:
        """A command of anybody came to these."""

    def execute_write(self, exchange: "Exchange", command: v.Command, now_ns: int) -> v.Answer:
        """Carry out a write of ours, with whatever it meets in place."""

    def shown_book(self, market_id: MarketId, now_ns: int) -> ShownBook:
        """The whole book of a market."""


class GapReading:
    """How a venue reads the gaps of the interface (docs/assumptions.md): here as ours does."""

    def apply_to_engine(
        self, engine: Engine, command: v.Command, now_ns: int
    ) -> tuple[v.Answer, list[v.Event]]:
        return engine.apply(command, now_ns)

    def interpret_write(self, request: m.Write) -> m.Write | m.Answer:
        """The write that the venue takes this one for, or the answer where it acts on none."""
        return request

    def reword_answer(self, request: m.Request, answer: m.Answer) -> m.Answer:
        return answer


class Replica(Projector):
    """One copy of the read side."""

    def __init__(self, lag_ns: int) -> None:
        super().__init__(Views(), lag_ns)
        self.answers: dict[m.Read, m.Answer] = {}  # to reads, until another event can be read

    def advance(self, now_ns: int) -> list[v.Event]:
        visible = super().advance(now_ns)
        if visible:
            self.answers.clear()
        return visible


class Exchange:
    """The engine behind a front door. clock_ns: how far the venue's clock is ahead. replica: what
    reads show;"""

    def __init__(
        self,
        source: MarketSource,
        setup: Iterable[v.Command],
        start_ns: int,
        *,
        order_id_key: bytes,
        pages: PageLimits,
        read_lag_ns: int = 0,
        stale_lag_ns: int | None = None,
        reading: GapReading | None = None,
    ) -> None:
        """setup: commands that list markets and open accounts; the engine must accept them.
        stale_lag_ns: the lag of a stale copy of the read side, and both show books; None: books
        are read from the source."""
        self.engine = Engine(order_id_key=order_id_key)
        self.refused: dict[str, int] = {}  # refusals by code
        self.watchers: list[Watcher] = []  # called after every command
        self.clock_ns = 0
        self.reading = reading or GapReading()
        self.replica = self.stale = Replica(read_lag_ns)
        self._reads_books = stale_lag_ns is not None
        if stale_lag_ns is not None:
            self.stale = Replica(stale_lag_ns)  # for reads that reach the stale copy
        self._source = source
        self._pages = pages
        self._buckets: dict[m.Key, TokenBucket] = {}
        self._tickers: dict[MarketId, Ticker] = {}
        for command in setup:
            answer = self.execute(command, start_ns)
            assert not isinstance(answer, v.Refused), answer
        self.read_all(start_ns)

    def execute(self, command: v.Command, now_ns: int) -> v.Answer:
        if isinstance(command, v.ListMarket):
            self._tickers[command.market_id] = command.ticker
        answer, events = self.reading.apply_to_engine(self.engine, command, now_ns + self.clock_ns)
        visible = [event for event in events if self._is_visible(event)]
        if visible:
            self.replica.publish(visible, now_ns)
            if self.stale is not self.replica:
                self.stale.publish(visible, now_ns)
        self._source.on_events(events, now_ns)
        for watcher in self.watchers:
            watcher(command, answer, events, now_ns)
        return answer

    def _is_visible(self, event: v.Event) -> bool:
        """True for what we may read: of accounts ours alone."""
        if isinstance(event, v.OrderChanged):
            return event.order.user_id == MAKER
        if isinstance(event, _OF_ACCOUNTS):
            return event.user_id == MAKER
        return self._reads_books or isinstance(event, _OF_CATALOGUE)

    def answer_request(self, send: m.Send, now_ns: int, *, stale: bool = False) -> Response:
        """Carry out a request, or throttle it. stale: a read reaches the slower copy."""
        refused = self.refused_for_pace(send.key, now_ns)
        if refused is not None:
            return refused
        answer = self.perform(send.request, now_ns, stale=stale)
        return Response(answer, self.tokens_left(send.key), None)

    def refused_for_pace(self, key: m.Key, now_ns: int) -> Response | None:
        """Take a token of a credential's rate limit; the refusal where it has none."""
        bucket = self.bucket(key, now_ns)
        if bucket.spend_token(now_ns):
            return None
        whole_s = -(-bucket.wait_ns() // NS_PER_SECOND)
        refused = self.refuse(Code.RATE_LIMITED)
        return Response(refused, bucket.whole_tokens, whole_s * NS_PER_SECOND)

    def bucket(self, key: m.Key, now_ns: int) -> TokenBucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = TokenBucket.full(RATE_PER_SECOND, RATE_BURST, now_ns)
            self._buckets[key] = bucket
        return bucket

    def tokens_left(self, key: m.Key) -> int:
        bucket = self._buckets.get(key)
        return RATE_BURST if bucket is None else bucket.whole_tokens

    def read_all(self, now_ns: int) -> None:
        """Reads see everything up to now, whatever their latency."""
        self.replica.advance(now_ns + self.replica.lag_ns)

    def refuse(self, code: Code) -> m.Rejected:
        self.refused[code] = self.refused.get(code, 0) + 1
        return refusal(code)

    def book_update(self, market_id: MarketId, now_ns: int) -> m.BookUpdate:
        bids, asks, at_ns = self._source.shown_book(market_id, now_ns)
        return m.BookUpdate(market_id, now_ns if at_ns is None else at_ns, bids, asks)

    @property
    def cash_cents(self) -> Cents:
        available, reserved = self._balance()
        return Cents(available + reserved)

    @property
    def available_cents(self) -> Cents:
        return self._balance()[0]

    def _balance(self) -> tuple[Cents, Cents]:
        balance = self.engine.balance(MAKER)
        assert balance is not None
        return balance

    def perform(self, request: m.Request, now_ns: int, *, stale: bool = False) -> m.Answer:
        if isinstance(request, m.Create | m.AmendResting | m.CancelResting):
            meant = self.reading.interpret_write(request)
            if not isinstance(meant, m.Create | m.AmendResting | m.CancelResting):
                return self._counted(meant)
            answer = self._counted(
                shown(self._source.execute_write(self, command_of(meant), now_ns))
            )
        elif isinstance(request, m.ReadBook) and not self._reads_books:
            answer = self._read_book(request.market_id, now_ns)
        else:
            answer = self._read_replica(request, self.stale if stale else self.replica, now_ns)
        return self.reading.reword_answer(request, answer)

    def _read_replica(self, request: m.Read, replica: Replica, now_ns: int) -> m.Answer:
        replica.advance(now_ns)
        # On a quiet market the same reads come again and again.
        found = replica.answers.get(request)
        if found is None:
            found = self._counted(read(replica.views, MAKER, request, self._pages))
            if isinstance(found, m.Ok):
                replica.answers[request] = found
        return found

    def _counted(self, answer: m.Answer) -> m.Answer:
        if isinstance(answer, m.Rejected):
            self.refused[answer.code] = self.refused.get(answer.code, 0) + 1
        return answer

    def _read_book(self, market_id: MarketId, now_ns: int) -> m.Answer:
        bids, asks, at_ns = self._source.shown_book(market_id, now_ns)
        # One of which nothing is known says nothing, as one that never traded.
        as_of = instant.ZERO if at_ns is None else instant.from_ns(at_ns)
        rows = (tuple(model.Level(*level) for level in side) for side in (bids, asks))
        return m.Ok(m.BookBody(model.Orderbook(self._tickers[market_id], market_id, as_of, *rows)))


def accounts(cash_cents: Mapping[UserId, Cents]) -> list[v.Command]:
    """What opens accounts with so much cash, 0 or more."""
    commands: list[v.Command] = []
    for user, cents in cash_cents.items():
        commands.append(v.AddUser(user))
        if cents:
            commands.append(v.Deposit(user, cents))
    return commands


def print_of(event: v.TradePrinted) -> m.Trade:
    """A trade as the channel shows it."""
    bought = (event.taker_outcome is Outcome.YES) is (event.taker_side is Side.BUY)
    return m.Trade(event.market_id, event.at_ns, event.trade_id, event.price, event.qty, bought)


def buy_order(
    market: MarketId, outcome: Outcome, own_price: int, qty: int, tif: TimeInForce, name: str
) -> QtyOrder:
    """An order of others, who only buy. own_price: of the outcome, moved into 1 to 99."""
    price = Price(min(PRICE_MAX, max(PRICE_MIN, own_price)))
    return QtyOrder(market, outcome, Side.BUY, price, Qty(qty), tif, ClientOrderId(name))


def command_of(request: m.Write) -> v.Command:
    match request:
        case m.Create():
            return v.PlaceOrder(MAKER, request.order)
        case m.AmendResting():
            return v.AmendOrder(MAKER, request.order_id, request.amend)
        case m.CancelResting():
            return v.CancelOrder(MAKER, request.order_id)


def refusal(code: Code) -> m.Rejected:
    return m.Rejected(CODES[code].status, code, "")


def shown(answer: v.Answer) -> m.Ok | m.Rejected:
    if isinstance(answer, v.Refused):
        return refusal(answer.code)
    assert isinstance(answer, v.Placed | v.Amended | v.Cancelled)
    if isinstance(answer, v.Cancelled):
        return m.Ok(cancel_shown(answer.order, answer.reduced_by))
    named = answer.client_order_id if isinstance(answer, v.Placed) else None
    created_ns = answer.order.created_ns
    order = shown_order(answer.order, created_ns=created_ns, client_order_id=named)
    return m.Ok(m.OrderBody(order))


def cancel_shown(order: v.OrderState, reduced_by: Qty) -> m.CancelBody:
    return m.CancelBody(shown_order(order, created_ns=order.created_ns), reduced_by)


def read(views: Views, user: UserId, request: m.Read, pages: PageLimits) -> m.Answer:
    account = views.account
    match request:
        case m.ReadOrder():
            order = account.order(user, request.order_id)
            return refusal(Code.ORDER_NOT_FOUND) if order is None else m.Ok(m.OrderBody(order))
        case m.ReadResting():
            place = _place(request.cursor)
            rows, last = account.orders(user, Scope(), model.RESTING, place, pages.orders)
            return m.Ok(m.OrdersBody(rows, _cursor(last)))
        case m.ReadFills():
            place = _place(request.cursor)
            fills, last = account.fills(user, Scope(), None, place, pages.fills)
            return m.Ok(m.FillsBody(fills, _cursor(last)))
        case m.ReadPositions():
            held, after = account.positions(user, Scope(), request.cursor, pages.positions)
            return m.Ok(m.PositionsBody(held, after or ""))
        case m.ReadBalance():
            return m.Ok(m.BalanceBody(account.balance(user)))
        case m.ReadSeries():
            begin = int(request.cursor) if request.cursor else -1
            wanted = EventFilter(series_ticker=request.series_ticker)
            events, last = views.catalog.events(wanted, begin, pages.events)
            return m.Ok(m.SeriesBody(events, _cursor(last)))
        case m.ReadBook():
            try:
                return m.Ok(m.BookBody(views.market.orderbook(request.market_id)))
            except KeyError:
                # Listed a moment ago, and not known to these views yet.
                return refusal(Code.MARKET_NOT_FOUND)


def _place(cursor: str) -> int | None:
    return int(cursor) if cursor else None


def _cursor(place: int | None) -> str:
    return "" if place is None else str(place)


class DoesNotClose(Exception):
    """The fills and the venue's ledger tell two profits: a fault of ours or of the venue's."""


class PaperAccount:
    """Cash gained, inventory and fees paid."""

    def __init__(self) -> None:
        self.cash_cents = 0
        self.fees_cents = 0
        self.fills: list[FillBooked] = []  # all there were, in order
        self.shares: dict[tuple[MarketId, Outcome], int] = {}

    def on_fill(self, fill: FillBooked) -> None:
        key, price = (fill.market_id, fill.outcome), int(fill.outcome_price)
        sign = 1 if fill.side is Side.BUY else -1
        self.cash_cents -= sign * price * fill.qty + fill.fee_cents
        self.fees_cents += fill.fee_cents
        self.shares[key] = self.shares.get(key, 0) + sign * fill.qty
        self.fills.append(fill)

    def on_payout(self, market_id: MarketId, winner: Outcome) -> None:
        """A market pays: a dollar for each share of the winner, nothing for the others."""
        self.cash_cents += PAYOUT_CENTS * self.shares.pop((market_id, winner), 0)
        for outcome in Outcome:
            self.shares.pop((market_id, outcome), None)

    def held_cents(self, market_id: MarketId, doubled_mid: int) -> int:
        """Twice what the shares of a market are worth at a middle of `doubled_mid` / 2 cents."""
        yes = self.shares.get((market_id, Outcome.YES), 0)
        no = self.shares.get((market_id, Outcome.NO), 0)
        return yes * doubled_mid + no * (2 * PAYOUT_CENTS - doubled_mid)

    @property
    def maker_qty(self) -> int:
        return sum(fill.qty for fill in self.fills if fill.liquidity is Liquidity.MAKER)

    @property
    def taker_qty(self) -> int:
        return sum(fill.qty for fill in self.fills) - self.maker_qty

    def prove(self, venue_gain_cents: int) -> None:
        """Raises DoesNotClose unless the venue's cash has gained what the fills say."""
        if self.cash_cents != venue_gain_cents:
            raise DoesNotClose(
                f"fills and payouts: {self.cash_cents} cents, the venue: {venue_gain_cents} cents"
            )
