"""Virtual days of several series on one account: the real engine, the real traders, a crowd.

Nothing is sent over a wire and nothing takes time: a request is answered at the instant it is sent,
and reads show what the engine did at once. Time goes in steps of many seconds, so that days pass in
seconds; the traders' times of trust are stretched to it.
"""

import random
from collections.abc import Callable, Sequence

from bot.core import messages as m
from bot.core.settings import (
    BreakerSettings,
    CurfewSettings,
    NewsSettings,
    PaceSettings,
    RiskSettings,
    StalenessSettings,
    TraderSettings,
)
from bot.core.trader import Trader
from bot.lab.exchange.exchange import LevelBook, refusal, shown
from bot.strategy.api import Strategy
from tests.builders.scale import cases
from venue.engine import messages as v
from venue.engine.engine import Engine
from venue.views.account import Scope
from venue.views.catalog import EventFilter
from venue.views.projector import Views
from venue.wire import instant, model
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty, Side, canonical
from venue.wire.names import ClientOrderId, MarketId, ProjectId, Ticker, UserId
from venue.wire.requests import QtyOrder, TimeInForce

SECOND = NS_PER_SECOND
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND
START_NS = 1_800_000_000 * SECOND
STEP_NS = HOUR // cases(12, quick=1)
"""An hour at a time, or five minutes."""

BEATS = 7
"""After each step there is so much time, a second each, to read what it has changed."""

DEPOSIT_CENTS = 10_000_000

MAKER, FLOOR, TAKER = UserId("maker"), UserId("floor"), UserId("taker")
_RATES = FeeRate.parse("0.0100"), FeeRate.parse("0.0175")
_ACCOUNT = (v.PositionChanged, v.BalanceChanged, v.FillBooked)


def settings_for(series: str, beside: Sequence[str] = ()) -> TraderSettings:
    """A trader's settings, its times stretched to the steps in which time goes here."""
    return TraderSettings(
        series_ticker=Ticker(series),
        other_series=tuple(Ticker(each) for each in beside),
        risk=RiskSettings(
            event_loss_cents=Cents(30_000),
            series_loss_cents=Cents(60_000),
            rung_position_qty=Qty(100),
            order_qty=Qty(40),
        ),
        pace=PaceSettings(decide_ns=SECOND, dwell_ns=SECOND),
        staleness=StalenessSettings(
            feed_silence_ns=3 * HOUR,
            book_ns=DAY,
            recheck_ns=HOUR,
            read_lag_ns=SECOND // 2,
            gap_ns=3 * HOUR,
            lag_ns=HOUR,
            empty_book_grace_ns=SECOND,
            unread_ns=3 * HOUR,
        ),
        breakers=BreakerSettings(
            creates_per_minute=10_000,
            notional_cents_per_minute=10**9,
            fills_per_minute=10_000,
            filled_qty_per_minute=10**6,
            loss_cents=10**7,
            drawdown_cents=10**7,
        ),
        news=NewsSettings(jump_cents=0, print_qty=0),
        curfew=CurfewSettings(halve_ns=12 * HOUR, reduce_ns=2 * HOUR, stop_ns=20 * MINUTE),
    )


class Desk:
    """One trader and its wire. sent: every write it sent, with its instant."""

    def __init__(self, trader: Trader) -> None:
        self.trader = trader
        self.subscribed: frozenset[MarketId] = frozenset()
        self.wake_ns = 0
        self.sent: list[tuple[int, m.Write]] = []
        self.notes: list[m.Noted] = []
        self.finished: m.DrainComplete | None = None

    def noted(self, name: str) -> list[m.Noted]:
        return [note for note in self.notes if note.name == name]


class Days:
    """The venue, the crowd and the desks. now_ns: the instant of everything."""

    def __init__(self, seed: int = 1) -> None:
        self.now_ns = START_NS
        self.engine = Engine(order_id_key=b"days")
        self.views = Views()
        self.desks: list[Desk] = []
        self.tapes: dict[MarketId, LevelBook] = {}
        self.value: dict[MarketId, float] = {}
        self.ends: dict[Ticker, list[MarketId]] = {}
        self.paid_cents = 0
        self._rng = random.Random(seed)
        self._floors: dict[MarketId, list[tuple[int, object]]] = {}
        self._made = 0
        self._changed: dict[MarketId, None] = {}
        self._prints: list[v.TradePrinted] = []
        for user, cents in ((MAKER, DEPOSIT_CENTS), (FLOOR, 10**9), (TAKER, 10**9)):
            self.apply(v.AddUser(user))
            self.apply(v.Deposit(user, Cents(cents)))

    # --- the venue --------------------------------------------------------------------------------

    def apply(self, command: v.Command) -> v.Answer:
        """Carry a command out; its events are seen at once."""
        answer, events = self.engine.apply(command, self.now_ns)
        own = not isinstance(command, v.PlaceOrder | v.AmendOrder | v.CancelOrder)
        assert not (own and isinstance(answer, v.Refused)), answer
        for event in events:
            if isinstance(event, v.LevelChanged):
                self.tapes[event.market_id].change(event)
                self._changed[event.market_id] = None
            elif isinstance(event, v.TradePrinted):
                self._prints.append(event)
            elif isinstance(event, v.OrderChanged):
                if event.order.user_id != MAKER:
                    continue
            elif isinstance(event, _ACCOUNT) and event.user_id != MAKER:
                continue
            self.views.apply(event)
        return answer

    def list_event(self, series: str, quarter: str, strikes: Sequence[int], at_ns: int) -> Ticker:
        """List an event that resolves at an instant, with its rungs; it is open at once."""
        ticker = Ticker(f"{series}-{quarter}")
        project = ProjectId(f"dddddddd-0000-4000-8000-{sum(series.encode()):012d}")
        self.apply(v.ListCompany(project, series, series))
        self.apply(
            v.ListEvent(
                event_ticker=ticker,
                series_ticker=Ticker(series),
                project_market_id=f"cccccccc-0000-4000-8000-{len(self.ends):012d}",
                project_id=project,
                title=ticker,
                category="valuation",
                status=model.EventStatus.OPEN,
                mutually_exclusive=False,
                resolution_date_ns=at_ns,
            )
        )
        self.ends[ticker] = []
        for strike in strikes:
            self.list_rung(ticker, strike)
        return ticker

    def list_rung(self, event: Ticker, strike: int) -> MarketId:
        """Add a rung; its value falls with the strike."""
        market = MarketId(f"aaaaaaaa-0000-4000-8000-{len(self.tapes):012d}")
        self.tapes[market] = LevelBook(self.now_ns)
        self.apply(
            v.ListMarket(
                market_id=market,
                ticker=Ticker(f"{event}-{strike}B"),
                event_ticker=event,
                name=f"above {strike}",
                outcome_label="above",
                maker_fee_rate=_RATES[0],
                taker_fee_rate=_RATES[1],
                strike_value=str(strike),
                strike_unit="USD billions",
            )
        )
        self.ends[event].append(market)
        self.value[market] = float(max(8, min(92, 150 - strike)))
        return market

    def resolve(self, market: MarketId, winner: Outcome) -> None:
        before = self.cash_cents
        self.apply(v.ResolveMarket(market, winner))
        self.paid_cents += self.cash_cents - before
        self.value.pop(market)

    @property
    def cash_cents(self) -> int:
        """The maker's cash by the engine's ledger, what is reserved included."""
        balance = self.engine.balance(MAKER)
        assert balance is not None
        return balance[0] + balance[1]

    def resting(self, market: MarketId) -> list[model.Order]:
        rows, _ = self.views.account.orders(MAKER, Scope(), model.RESTING, None, 1_000)
        return [order for order in rows if order.market_id == market]

    def net_qty(self, market: MarketId) -> int:
        """YES less NO shares that the maker holds, by the venue."""
        held, _ = self.views.account.positions(MAKER, Scope(), "", 1_000)
        sign = {model.ShownOutcome.YES: 1, model.ShownOutcome.NO: -1}
        return sum(sign[row.outcome] * row.qty for row in held if row.market_id == market)

    def holds(self, market: MarketId) -> bool:
        """Whether the maker holds any share there, by the venue."""
        held, _ = self.views.account.positions(MAKER, Scope(), "", 1_000)
        return any(row.market_id == market for row in held)

    # --- the crowd --------------------------------------------------------------------------------

    def _order(self, user: UserId, market: MarketId, bid: bool, price: int, qty: int, rests: bool):
        """An order of the crowd: YES up to a canonical price, or NO down to one."""
        self._made += 1
        outcome = Outcome.YES if bid else Outcome.NO
        order = QtyOrder(
            market,
            outcome,
            Side.BUY,
            canonical(outcome, Price(max(1, min(99, price)))),
            Qty(qty),
            TimeInForce.GTC if rests else TimeInForce.IOC,
            ClientOrderId(f"c{self._made}"),
        )
        return self.apply(v.PlaceOrder(user, order))

    def act(self) -> None:
        """Values wander; floors follow them; now and then somebody takes."""
        for market in list(self.value):
            state = self.views.catalog.market(market).state
            if state is not model.MarketState.ACTIVE:
                continue
            self.value[market] = max(8.0, min(92.0, self.value[market] + self._rng.gauss(0, 0.3)))
            mid = round(self.value[market])
            if not self._floors.get(market) or self._floors[market][0][0] != mid:
                for _, order_id in self._floors.pop(market, []):
                    self.apply(v.CancelOrder(FLOOR, order_id))
                placed = [
                    self._order(FLOOR, market, bid, mid + (-4 if bid else 4), 200, rests=True)
                    for bid in (True, False)
                ]
                self._floors[market] = [
                    (mid, each.order.order_id) for each in placed if isinstance(each, v.Placed)
                ]
            if self._rng.random() < 0.2:
                bid = self._rng.random() < 0.5
                qty = self._rng.randint(1, 12)
                self._order(TAKER, market, bid, mid + (6 if bid else -6), qty, rests=False)

    # --- the traders ------------------------------------------------------------------------------

    def join(self, settings: TraderSettings, make: Callable[[], Strategy]) -> Desk:
        """One more trader on the account; with the first it shares purse and limit of loss."""
        first = self.desks[0].trader if self.desks else None
        desk = Desk(
            Trader(
                settings,
                make,
                None if first is None else first.out.purse,
                account_risk=None if first is None else first.quoting.weighing.account,
            )
        )
        self.desks.append(desk)
        nonce = f"{len(self.desks):020x}"
        self.give(desk, m.Started(nonce, (), new_account=True))
        self.give(desk, m.FeedOpened())
        return desk

    def give(self, desk: Desk, event: m.Event) -> None:
        """An event for one trader; its requests are answered at once."""
        for effect in desk.trader.receive(event, self.now_ns):
            if isinstance(effect, m.Send):
                if isinstance(effect.request, m.Create | m.AmendResting | m.CancelResting):
                    desk.sent.append((self.now_ns, effect.request))
                answer = self.answer(effect.request)
                self.give(desk, m.Response(effect.request_id, answer, 500))
            elif isinstance(effect, m.WakeAt):
                desk.wake_ns = effect.at_ns
            elif isinstance(effect, m.SubscribeTo):
                desk.subscribed = frozenset(effect.rungs)
                self.give(desk, m.SubscriptionAccepted())
                for market in effect.rungs:
                    self.give(desk, self.book(market))
            elif isinstance(effect, m.Noted):
                desk.notes.append(effect)
            elif isinstance(effect, m.DrainComplete):
                desk.finished = effect

    def book(self, market: MarketId) -> m.BookUpdate:
        bids, asks = self.tapes[market].levels()
        return m.BookUpdate(market, self.tapes[market].at_ns, bids, asks)

    def publish(self) -> None:
        """What has changed goes out to whoever subscribed to it: prints, then whole books."""
        prints, changed = self._prints, self._changed
        self._prints, self._changed = [], {}
        for desk in self.desks:
            for each in prints:
                bought = (each.taker_outcome is Outcome.YES) == (each.taker_side is Side.BUY)
                if each.market_id in desk.subscribed:
                    seen = m.Trade(
                        each.market_id, each.at_ns, each.trade_id, each.price, each.qty, bought
                    )
                    self.give(desk, seen)
            for market in changed:
                if market in desk.subscribed:
                    self.give(desk, self.book(market))

    def run(
        self, for_ns: int, step: Callable[[], None] | None = None, step_ns: int = STEP_NS
    ) -> None:
        """Let time pass, so much in a step, at least 10 s. step: called after each."""
        until_ns = self.now_ns + for_ns
        while self.now_ns < until_ns:
            self.now_ns += step_ns - BEATS * SECOND
            self.act()
            for _ in range(BEATS):
                self.now_ns += SECOND
                self.publish()
                for desk in self.desks:
                    self.give(desk, m.FeedAlive())
                    self.give(desk, m.Tick())
            if step is not None:
                step()

    def beats(self, for_ns: int, every_ns: int = SECOND // 10) -> None:
        """Let a little time pass, in which the crowd does nothing."""
        until_ns = self.now_ns + for_ns
        while self.now_ns < until_ns:
            self.now_ns += every_ns
            for desk in self.desks:
                self.give(desk, m.Tick())

    # --- the front door ---------------------------------------------------------------------------

    def answer(self, request: m.Request) -> m.Answer:
        account = self.views.account
        match request:
            case m.Create():
                return shown(self.apply(v.PlaceOrder(MAKER, request.order)))
            case m.AmendResting():
                return shown(self.apply(v.AmendOrder(MAKER, request.order_id, request.amend)))
            case m.CancelResting():
                return shown(self.apply(v.CancelOrder(MAKER, request.order_id)))
            case m.ReadOrder():
                found = account.order(MAKER, request.order_id)
                if found is None:
                    return refusal(Code.ORDER_NOT_FOUND)
                return m.Ok(m.OrderBody(found))
            case m.ReadResting():
                rows, _ = account.orders(MAKER, Scope(), model.RESTING, None, 1_000)
                return m.Ok(m.OrdersBody(rows, ""))
            case m.ReadFills():
                place = int(request.cursor) if request.cursor else None
                fills, last = account.fills(MAKER, Scope(), None, place, 100)
                return m.Ok(m.FillsBody(fills, "" if last is None else str(last)))
            case m.ReadPositions():
                held, _ = account.positions(MAKER, Scope(), "", 1_000)
                return m.Ok(m.PositionsBody(held, ""))
            case m.ReadBalance():
                return m.Ok(m.BalanceBody(account.balance(MAKER)))
            case m.ReadSeries():
                wanted = EventFilter(series_ticker=request.series_ticker)
                events, _ = self.views.catalog.events(wanted, -1, 1_000)
                return m.Ok(m.SeriesBody(events, ""))
            case m.ReadBook():
                return m.Ok(m.BookBody(self._book_read(request.market_id)))

    def _book_read(self, market: MarketId) -> model.Orderbook:
        bids, asks = self.tapes[market].levels()
        rows = [tuple(model.Level(price, size) for price, size in side) for side in (bids, asks)]
        ticker = self.views.catalog.market(market).ticker
        return model.Orderbook(ticker, market, instant.from_ns(self.tapes[market].at_ns), *rows)
