"""A thin venue for claims about the whole trader: every write is done as asked, nothing fills.

Its books show what a test says of other traders, and our orders. Time is virtual."""

from collections.abc import Callable

import msgspec

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import PaceSettings, RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from strategies.fixed_spread import FixedSpread
from venue.wire import instant, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import MarketId, OrderId, ProjectId, Ticker

SERIES = Ticker("ACME-VAL")
EVENT = Ticker("ACME-VAL-27Q1")
PROJECT = ProjectId("bbbbbbbb-0000-4000-8000-000000000001")
START_NS = 1_800_000_000 * NS_PER_SECOND
WRITES = ("create", "amend", "cancel")

FAR_LIMITS = RiskSettings(
    event_loss_cents=Cents(10_000_000),
    series_loss_cents=Cents(10_000_000),
    rung_position_qty=Qty(100_000),
    order_qty=Qty(1_000),
)


def market(index: int) -> model.Market:
    """A rung."""
    at = instant.from_ns(START_NS)
    return model.Market(
        ticker=Ticker(f"{EVENT}-{100 + 10 * index}B"),
        market_id=MarketId(f"aaaaaaaa-0000-4000-8000-{index:012d}"),
        event_ticker=EVENT,
        project_market_id=PROJECT,
        name="n",
        outcome_label="above",
        state=model.MarketState.ACTIVE,
        min_price=Price(1),
        max_price=Price(99),
        tick_size=1,
        strike_value=str(100 + 10 * index),
        strike_unit="USD billions",
        maker_fee_rate="0.0100",
        taker_fee_rate="0.0175",
        open_interest=Qty(0),
        created_at=at,
        updated_at=at,
    )


def fixed_spread() -> FixedSpread:
    """The strategy with its default parameters."""
    return FixedSpread(FixedSpread.Params())


class FixedQuotes(Strategy):
    """Ten shares bid and ten asked at fixed prices, on every rung."""

    bid, ask = 45, 55

    def __init__(self, params: object = None) -> None:
        super().__init__(params)
        self.quotes = (
            Quote(BookSide.BID, Price(self.bid), Qty(10)),
            Quote(BookSide.ASK, Price(self.ask), Qty(10)),
        )

    def quote(self, view: EventView) -> Quotes:
        return {rung.market_id: self.quotes for rung in view.rungs}


class Thin:
    """The venue and one trader. `mids`: the middles of other traders' books, by rung; each has 100
    shares two cents away, on either side, and more behind. settings: of the trader."""

    def __init__(
        self,
        mids: list[int],
        make_strategy: Callable[[], Strategy] | None = None,
        pace: PaceSettings | None = None,
        **settings: object,
    ) -> None:
        self.now_ns = START_NS
        self.ends_ns = START_NS + 60 * 86_400 * NS_PER_SECOND
        self.mids = mids
        self.markets = [market(index) for index in range(len(mids))]
        self.orders: dict[OrderId, model.Order] = {}
        self.sent: list[tuple[int, m.Request]] = []
        self.subscribed_ns: list[int] = []
        self.wake_ns = START_NS
        wanted = {"risk": FAR_LIMITS, "pace": pace or PaceSettings(), **settings}
        self.initial_settings = TraderSettings(series_ticker=SERIES, **wanted)
        self.trader = Trader(self.initial_settings, make_strategy or fixed_spread)
        self._made = 0

    def start(self) -> None:
        """Start on a new account and quote for five seconds."""
        self.begin(5, m.Started("0" * 20, (), new_account=True))

    def begin(self, seconds: float, started: m.Started) -> None:
        """Start, open the channel and run for a while."""
        self.give(started)
        self.give(m.FeedOpened())
        self.show_all()
        self.run(seconds)

    def give(self, event: m.Event) -> list[m.Effect]:
        """An event now; what it makes the trader send is answered at once."""
        effects = self.trader.receive(event, self.now_ns)
        for effect in effects:
            if isinstance(effect, m.Send):
                self.sent.append((self.now_ns, effect.request))
                self.ask(effect)
            elif isinstance(effect, m.WakeAt):
                self.wake_ns = effect.at_ns
            elif isinstance(effect, m.SubscribeTo):
                self.subscribed_ns.append(self.now_ns)
                for index in range(len(self.mids)):
                    self.show(index, self.ts_ns(index))
            else:
                self.on_effect(effect)
        return effects

    def ask(self, send: m.Send) -> None:
        """A request is answered at once."""
        self.give(m.Response(send.request_id, self.answer(send.request), 500))

    def on_effect(self, effect: m.Effect) -> None:
        """Any other effect; for a subclass to record."""

    def run(
        self,
        seconds: float,
        step: Callable[[], None] | None = None,
        each_ns: int = 0,
        least_ns: int = NS_PER_MS,
    ) -> None:
        """Let time pass, ticks as the trader asks, at least `least_ns` apart;
        `step` is called every `each_ns`."""
        end_ns = self.now_ns + int(seconds * NS_PER_SECOND)
        next_ns = self.now_ns + each_ns if step else end_ns
        self.give(m.Tick())
        while self.now_ns < end_ns:
            due_ns = min(max(self.wake_ns, self.now_ns + least_ns), next_ns, end_ns)
            self.now_ns = due_ns
            if step is not None and due_ns >= next_ns:
                step()
                next_ns += each_ns
            self.give(m.FeedAlive())
            self.give(m.Tick())

    def ts_ns(self, index: int) -> int:
        """The instant of the book that the trader has."""
        return self.rung(index).state.ts_ns or self.now_ns

    def rung(self, index: int):
        """The trader's state of a rung."""
        return self.trader.quoting.ladders[0].rungs[index]

    def book(self, index: int, ts_ns: int | None = None, depth: int = 100) -> m.BookUpdate:
        """A book of a rung: other traders around its middle, and our orders."""
        mid = self.mids[index]
        sides: dict[BookSide, dict[int, int]] = {
            BookSide.BID: {mid - away: depth + away for away in (2, 3, 5, 8) if mid > away},
            BookSide.ASK: {mid + away: depth + away for away in (2, 3, 5, 8) if mid + away < 100},
        }
        for order in self.orders.values():
            if order.market_id == self.markets[index].market_id:
                outcome = Outcome(order.outcome.value)
                levels = sides[book_side(outcome, Side(order.side.value))]
                price = canonical(outcome, order.price)
                levels[price] = levels.get(price, 0) + order.remaining_qty
        bids = sorted(sides[BookSide.BID].items(), reverse=True)
        asks = sorted(sides[BookSide.ASK].items())
        return m.BookUpdate(
            self.markets[index].market_id,
            self.now_ns if ts_ns is None else ts_ns,
            tuple((Price(price), Qty(size)) for price, size in bids),
            tuple((Price(price), Qty(size)) for price, size in asks),
        )

    def show(self, index: int, ts_ns: int | None = None) -> None:
        """The channel shows the book of a rung."""
        self.give(self.book(index, ts_ns))

    def show_all(self) -> None:
        """The channel shows every book."""
        for index in range(len(self.mids)):
            self.show(index)

    def stop(self, seconds: float) -> Phase:
        """Ask for the end and run for a while; the phase then."""
        self.give(m.StopRequested("the end"))
        self.run(seconds)
        return self.trader.phase

    def writes(self, since_ns: int = 0) -> list[m.Request]:
        """Creates, amends and cancels sent from an instant on."""
        return [
            request
            for at_ns, request in self.sent
            if at_ns >= since_ns
            and isinstance(request, m.Create | m.AmendResting | m.CancelResting)
        ]

    def answer(self, request: m.Request) -> m.Answer:
        """The venue's response."""
        match request:
            case m.Create(order=order):
                self._made += 1
                at = instant.from_ns(self.now_ns)
                made = model.Order(
                    order_id=OrderId(str(self._made)),
                    ticker=EVENT,
                    market_id=order.market_id,
                    event_ticker=EVENT,
                    outcome=model.ShownOutcome(order.outcome.value),
                    side=model.ShownSide(order.side.value),
                    price=order.price,
                    qty=order.qty,
                    remaining_qty=order.qty,
                    filled_qty=Qty(0),
                    status=model.OrderStatus.OPEN,
                    time_in_force=model.ShownTimeInForce.GTC,
                    created_at=at,
                    updated_at=at,
                )
                self.orders[made.order_id] = made
                return m.Ok(m.OrderBody(made))
            case m.AmendResting(order_id=order_id, amend=amend):
                old = self.orders[order_id]
                qty = old.remaining_qty if amend.qty is None else amend.qty
                self.orders[order_id] = msgspec.structs.replace(
                    old,
                    price=old.price if amend.price is None else amend.price,
                    qty=qty,
                    remaining_qty=qty,
                    updated_at=instant.from_ns(self.now_ns),
                )
                return m.Ok(m.OrderBody(self.orders[order_id]))
            case m.CancelResting(order_id=order_id):
                gone = self.orders.pop(order_id)
                ended = msgspec.structs.replace(
                    gone,
                    remaining_qty=Qty(0),
                    status=model.OrderStatus.CANCELED,
                    updated_at=instant.from_ns(self.now_ns),
                )
                return m.Ok(m.CancelBody(ended, gone.remaining_qty))
            case _:
                return self._read(request)

    def _read(self, request: m.Request) -> m.Answer:
        match request:
            case m.ReadSeries():
                event = model.Event(
                    event_ticker=EVENT,
                    series_ticker=SERIES,
                    project_market_id=PROJECT,
                    project_id=PROJECT,
                    title="t",
                    category="c",
                    status=model.EventStatus.OPEN,
                    mutually_exclusive=False,
                    resolution_date=instant.from_ns(self.ends_ns),
                    markets=tuple(self.markets),
                )
                return m.Ok(m.SeriesBody((event,), ""))
            case m.ReadBalance():
                cash = model.Balance(Cents(10**9), Cents(0), Cents(10**9))
                return m.Ok(m.BalanceBody(cash))
            case m.ReadResting():
                return m.Ok(m.OrdersBody(tuple(self.orders.values()), ""))
            case m.ReadFills():
                return m.Ok(m.FillsBody((), ""))
            case m.ReadPositions():
                return m.Ok(m.PositionsBody((), ""))
            case _:
                return m.Rejected(404, "order_not_found", "")
