"""A thin venue for claims about the whole trader: every write is done as asked, nothing fills.

Its books are what a claim says that others show, and our orders with them. Time is virtual.
"""

from collections.abc import Callable

import msgspec

from bot.core import messages as m
from bot.core.settings import PaceSettings, RiskSettings, TraderSettings
from bot.core.trader import Trader
from bot.strategy.api import Strategy
from venue.wire import instant, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import MarketId, OrderId, ProjectId, Ticker

SERIES = Ticker("ACME-VAL")
EVENT = Ticker("ACME-VAL-27Q1")
PROJECT = ProjectId("bbbbbbbb-0000-4000-8000-000000000001")
START_NS = 1_800_000_000 * NS_PER_SECOND
WRITES = ("create", "amend", "cancel")


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


class Thin:
    """The venue and one trader. `mids`: where the books of others lie, by rung; each has `depth`
    shares at two cents from it, on either side, and more behind."""

    def __init__(
        self,
        mids: list[int],
        make_strategy: Callable[[], Strategy],
        pace: PaceSettings | None = None,
    ) -> None:
        self.now_ns = START_NS
        self.ends_ns = START_NS + 60 * 86_400 * NS_PER_SECOND
        self.mids = mids
        self.markets = [market(index) for index in range(len(mids))]
        self.orders: dict[OrderId, model.Order] = {}
        self.sent: list[tuple[int, m.Request]] = []
        self.subscribed_ns: list[int] = []
        self.wake_ns = START_NS
        risk = RiskSettings(
            event_loss_cents=Cents(10_000_000),
            series_loss_cents=Cents(10_000_000),
            rung_position_qty=Qty(100_000),
            order_qty=Qty(1_000),
        )
        settings = TraderSettings(series_ticker=SERIES, risk=risk, pace=pace or PaceSettings())
        self.trader = Trader(settings, make_strategy)
        self._made = 0

    def start(self) -> None:
        """Bring the trader to quote, and its orders to rest."""
        self.give(m.Started("0" * 20, (), new_account=True))
        self.give(m.FeedOpened())
        for index in range(len(self.mids)):
            self.show(index)
        self.run(5)

    # --- time -------------------------------------------------------------------------------------

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
                self.told(effect)
        return effects

    def ask(self, send: m.Send) -> None:
        """A request leaves: it is answered at once."""
        self.give(m.Response(send.request_id, self.answer(send.request), 500))

    def told(self, effect: m.Effect) -> None:
        """Anything else that the trader says, for whoever wants to know."""

    def run(
        self,
        seconds: float,
        step: Callable[[], None] | None = None,
        each_ns: int = 0,
        least_ns: int = NS_PER_MS,
    ) -> None:
        """Let time pass, beats as the trader wishes for them, but `least_ns` apart; `step` is
        called every `each_ns`."""
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

    # --- the market -------------------------------------------------------------------------------

    def ts_ns(self, index: int) -> int:
        """The instant of the book that the trader holds."""
        return self.rung(index).state.ts_ns or self.now_ns

    def rung(self, index: int):
        """What the trader believes of a rung."""
        return self.trader.quoting.ladders[0].rungs[index]

    def book(self, index: int, ts_ns: int | None = None, depth: int = 100) -> m.BookUpdate:
        """A book of a rung: others around its middle, and ours."""
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

    def writes(self, since_ns: int = 0) -> list[m.Request]:
        """Creates, amends and cancels sent from an instant on."""
        return [
            request
            for at_ns, request in self.sent
            if at_ns >= since_ns
            and isinstance(request, m.Create | m.AmendResting | m.CancelResting)
        ]

    # --- answers ----------------------------------------------------------------------------------

    def answer(self, request: m.Request) -> m.Answer:
        """What the venue says."""
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
