"""The markets of a simulated world, and the crowd that trades there around wandering values.

The read side has two copies with different lag, so two reads may go back in time. The crowd acts in
bursts: most acts move a level and few trade, so most frames are books.
"""

import random
from collections import deque
from collections.abc import Container, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from bot.core import messages as m
from bot.io.client.answers import answer_of
from bot.lab.exchange.exchange import (
    MAKER,
    Exchange,
    GapReading,
    LevelBook,
    PageLimits,
    ShownBook,
    accounts,
    buy_order,
    cancel_shown,
    refusal,
)
from bot.lab.sim.scenario import SECOND, SimScenario, series_of
from bot.lab.sim.scenario import SERIES as ALL_SERIES
from venue.engine import messages as v
from venue.engine.engine import Engine
from venue.wire import codec, model
from venue.wire.errors import Code
from venue.wire.model import TERMINAL, Liquidity, OrderStatus
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MIN,
    BookSide,
    Cents,
    FeeRate,
    Outcome,
    Price,
    Qty,
    book_side,
    canonical,
    complement,
    fee_cents,
)
from venue.wire.names import MarketId, OrderId, ProjectId, Ticker, UserId
from venue.wire.requests import Amend, TimeInForce

SERIES = ALL_SERIES[0]
PROJECT = ProjectId("aaaaaaaa-0000-4000-8000-000000000001")
CROWD = tuple(UserId(f"crowd-{index}") for index in range(5))
_LOWEST, _STEP = 100, 25
_SECOND_FROM = 50  # events of the second series count from this, in their ids
RESOLUTION_NS = 90 * 24 * 3600 * SECOND
_CROWD_CENTS = Cents(1_000_000_000)


def market_id(event: int, rung: int) -> MarketId:
    return MarketId(f"bbbbbbbb-{event:04d}-4000-8000-{rung:012d}")


def event_listing(
    ticker: Ticker, series: Ticker, number: int, quarter: int, resolves_ns: int
) -> v.ListEvent:
    return v.ListEvent(
        event_ticker=ticker,
        series_ticker=series,
        project_market_id=f"cccccccc-{number:04d}-4000-8000-{0:012d}",
        project_id=PROJECT,
        title=f"Acme at the end of quarter {quarter}",
        category="valuation",
        status=model.EventStatus.OPEN,
        mutually_exclusive=False,
        resolution_date_ns=resolves_ns,
    )


def market_listing(
    market: MarketId,
    ticker: Ticker,
    event: Ticker,
    strike: int,
    unit: str,
    maker_rate: FeeRate,
    taker_rate: FeeRate,
) -> v.ListMarket:
    return v.ListMarket(
        market_id=market,
        ticker=ticker,
        event_ticker=event,
        name=f"above {strike}",
        outcome_label="above",
        maker_fee_rate=maker_rate,
        taker_fee_rate=taker_rate,
        strike_value=str(strike),
        strike_unit=unit,
    )


class SimulatedVenue:
    """The markets of one series; both series of an account share the exchange, `front`."""

    def __init__(
        self, scenario: SimScenario, start_ns: int, first: "SimulatedVenue | None" = None
    ) -> None:
        if first is None:
            self.front = Exchange(
                self,
                (),
                start_ns,
                order_id_key=b"simulated",
                pages=PageLimits(*[scenario.page_limit] * 4),
                read_lag_ns=scenario.fast_lag_ns,
                stale_lag_ns=scenario.slow_lag_ns,
            )
            self.readings = OtherReadings(scenario, self.front)
            self._series: list[SimulatedVenue] = []
        else:
            self.front, self.readings, self._series = first.front, first.readings, first._series
        self._first_event = _SECOND_FROM * len(self._series)
        self._series.append(self)
        self.engine, self.watchers = self.front.engine, self.front.watchers
        self.series, _ = series_of(scenario)
        self.markets: dict[Ticker, list[MarketId]] = {}
        self.tapes: dict[MarketId, LevelBook] = {}
        # Public events by command, each with when the channel shows them.
        self.frames: deque[tuple[int, list[v.Event]]] = deque()
        self._strikes: dict[Ticker, list[int]] = {}
        self._lag_ns = scenario.fast_lag_ns
        self._rates = FeeRate.parse(scenario.maker_fee_rate), FeeRate.parse(scenario.fee_rate)
        # Of every event, also of one that is listed later: moods tell the time by it.
        self._resolves_ns = start_ns + RESOLUTION_NS
        if first is None:
            self.execute(v.ListCompany(PROJECT, "Acme", "ACME"), start_ns)
        for event, rungs in enumerate(scenario.rungs):
            ticker = self.list_event(start_ns)
            for rung in range(rungs):
                self.list_rung(ticker, self.rung_id(event, rung), start_ns)

    def rung_id(self, event: int, rung: int) -> MarketId:
        return market_id(event + self._first_event, rung)

    def list_event(self, now_ns: int) -> Ticker:
        event = len(self.markets)
        ticker = Ticker(f"{self.series}-27Q{event + 1}")
        number = event + self._first_event
        listing = event_listing(ticker, self.series, number, event + 1, self._resolves_ns)
        self.execute(listing, now_ns)
        self.markets[ticker] = []
        return ticker

    def list_rung(self, event: Ticker, market: MarketId, now_ns: int, place: int = -1) -> None:
        strikes = self._strikes.setdefault(event, [])
        place = len(strikes) if place < 0 else place
        if place == len(strikes):
            strike = strikes[-1] + _STEP if strikes else _LOWEST
        else:
            below = strikes[place - 1] if place else strikes[0] - _STEP
            strike = (below + strikes[place]) // 2
        strikes.insert(place, strike)
        self.markets[event].insert(place, market)
        self.tapes[market] = LevelBook(now_ns)
        ticker = Ticker(f"{event}-{strike}B")
        listing = market_listing(market, ticker, event, strike, "USD billions", *self._rates)
        self.execute(listing, now_ns)

    def open_accounts(self, scenario: SimScenario, now_ns: int) -> None:
        cash = {MAKER: Cents(scenario.cash_cents), **dict.fromkeys(CROWD, _CROWD_CENTS)}
        for command in accounts(cash):
            self.execute(command, now_ns)

    def all_markets(self) -> Iterator[MarketId]:
        yield from self.tapes

    def execute(self, command: v.Command, now_ns: int) -> v.Answer:
        answer = self.front.execute(command, now_ns)
        while self.readings.due:
            self.readings.due.pop()
            self.front.execute(v.Withdraw(MAKER, Cents(1)), now_ns)
        return answer

    def on_events(self, events: list[v.Event], now_ns: int) -> None:
        public: list[v.Event] = [
            each for each in events if isinstance(each, v.LevelChanged | v.TradePrinted)
        ]
        if public:
            for series in self._series:
                series.frames.append((now_ns + series._lag_ns, public))

    def execute_write(self, exchange: Exchange, command: v.Command, now_ns: int) -> v.Answer:
        return self.execute(command, now_ns)

    def shown_book(self, market_id: MarketId, now_ns: int) -> ShownBook:
        tapes = (series.tapes for series in self._series)
        tape = next(each[market_id] for each in tapes if market_id in each)
        return ShownBook(*tape.levels(), tape.at_ns)

    def newly_shown(self, now_ns: int) -> list[v.Event]:
        visible: list[v.Event] = []
        while self.frames and self.frames[0][0] <= now_ns:
            for event in self.frames.popleft()[1]:
                if isinstance(event, v.LevelChanged) and event.market_id in self.tapes:
                    self.tapes[event.market_id].change(event)
                visible.append(event)
        return visible


_ENDED_AMEND: Final = {
    "404": refusal(Code.ORDER_NOT_FOUND),
    "409": m.Rejected(409, "order_state_conflict", ""),
}


class OtherReadings(GapReading):
    def __init__(self, scenario: SimScenario, exchange: Exchange) -> None:
        self._variant = scenario.variant
        self._rates = FeeRate.parse(scenario.fee_rate), FeeRate.parse(scenario.maker_fee_rate)
        self._exchange = exchange
        self._changes_ids = scenario.variant("amend_ids") != ""
        self._status = int(scenario.variant("success_status", "0"))
        self._halted: set[MarketId] = set()
        self._shown: dict[OrderId, OrderId] = {}  # by the engine's
        self._engines: dict[OrderId, OrderId] = {}  # by the one that is shown now
        self._over: dict[OrderId, v.OrderState] = {}  # as they ended, by an id that an amend took
        self._last: dict[OrderId, v.OrderState] = {}
        self.dearer: dict[str, None] = {}  # fills that cost a cent more than they show
        self.due: list[str] = []  # those of them that are not paid for yet
        exchange.reading = self
        exchange.watchers.append(self._applied)

    def interpret_write(self, request: m.Write) -> m.Write | m.Answer:
        if isinstance(request, m.Create) or (order := self.order_of(request.order_id)) is None:
            return request
        is_over = order.status in TERMINAL
        if isinstance(request, m.AmendResting):
            if is_over and (ended := _ENDED_AMEND.get(self._variant("ended_amend"))):
                return ended
            return self._total(request, order) if self._variant("amend_qty") else request
        if not is_over:
            refuses = self._variant("halted_cancels") and order.market_id in self._halted
            return refusal(Code.MARKET_HALTED) if refuses else request
        second = self._variant("second_cancel")
        if second == "refused" and order.status is OrderStatus.CANCELED:
            return refusal(Code.ORDER_NOT_CANCELABLE)
        return m.Ok(cancel_shown(order, Qty(0))) if second == "accepted" else request

    def _total(self, request: m.AmendResting, order: v.OrderState) -> m.Write | m.Answer:
        """S13: the quantity of an amend counts what has filled."""
        amend = request.amend
        if amend.qty is None:
            return request
        left = amend.qty - order.filled_qty
        if left < 1:
            return refusal(Code.INVALID_QTY)
        return replace(request, amend=replace(amend, qty=Qty(left)))

    def reword_answer(self, request: m.Request, answer: m.Answer) -> m.Answer:
        body = answer.body if isinstance(answer, m.Ok) else None
        if isinstance(body, m.CancelBody):
            # The filled quantity comes from the read side and is a floor.
            seen = self._exchange.stale.views.account.order(MAKER, body.order.order_id)
            order = replace(body.order, filled_qty=seen.filled_qty if seen else Qty(0))
            body = m.CancelBody(order, body.reduced_by)
            answer = m.Ok(body)
        elif isinstance(body, m.FillsBody) and self._variant("fill_fees"):
            fills = tuple(replace(fill, fee_cents=None) for fill in body.fills)
            return m.Ok(m.FillsBody(fills, body.cursor))
        if self._status and not isinstance(request, m.Read):
            if isinstance(body, m.CancelBody):
                text = codec.encode(model.Cancelled(body.order, body.reduced_by))
                return answer_of(request, self._status, text)
            if isinstance(body, m.OrderBody):
                return answer_of(request, self._status, codec.encode(body.order))
        return answer

    def _applied(self, command: v.Command, _: v.Answer, events: list[v.Event], __: int) -> None:
        if isinstance(command, v.HaltMarket):
            self._halted.add(command.market_id)
        elif isinstance(command, v.ResumeMarket):
            self._halted.discard(command.market_id)
        if self._variant("fill_fees"):
            for event in events:
                if isinstance(event, v.FillBooked) and event.user_id == MAKER:
                    self._charge(event)

    def _charge(self, fill: v.FillBooked) -> None:
        """S16: the fee of a fill is rounded up by itself, and may be a cent more."""
        rate = self._rates[fill.liquidity is Liquidity.MAKER]
        fee = fee_cents(rate, fill.qty, fill.outcome_price)
        balance = self._exchange.engine.balance(MAKER)
        if fee > fill.fee_cents and balance is not None and balance[0] > len(self.due):
            self.dearer[fill.fill_id] = None
            self.due.append(fill.fill_id)

    # --- other ids --------------------------------------------------------------------------------

    def apply_to_engine(
        self, engine: Engine, command: v.Command, now_ns: int
    ) -> tuple[v.Answer, list[v.Event]]:
        if not self._changes_ids:
            return engine.apply(command, now_ns)
        if isinstance(command, v.CancelOrder | v.AmendOrder):
            if command.order_id in self._over:
                return v.Refused(Code.ORDER_NOT_CANCELABLE, "it has another id"), []
            order_id = self._engines.get(command.order_id, command.order_id)
            command = replace(command, order_id=order_id)
        answer, events = engine.apply(command, now_ns)
        ended: list[v.Event] = []
        if isinstance(answer, v.Amended) and answer.order.user_id == MAKER:
            ended = [self._renamed(answer.order.order_id, now_ns)]
        shown = [*ended, *(self._event(event) for event in events)]
        if isinstance(answer, v.Placed | v.Amended | v.Cancelled):
            answer = replace(answer, order=self._order(answer.order))
        return answer, shown

    def _renamed(self, order_id: OrderId, now_ns: int) -> v.Event:
        before = self._order(self._last[order_id])
        self._engines.pop(before.order_id, None)
        self._shown[order_id] = after = OrderId(str(int(before.order_id) + 1))
        self._engines[after] = order_id
        nothing = {"remaining_qty": Qty(0), "reserved_cents": Cents(0)}
        over = replace(before, status=OrderStatus.CANCELED, updated_ns=now_ns, **nothing)
        self._over[before.order_id] = over
        return v.OrderChanged(now_ns, over)

    def _event(self, event: v.Event) -> v.Event:
        if isinstance(event, v.OrderChanged) and event.order.user_id == MAKER:
            self._last[event.order.order_id] = event.order
            return replace(event, order=self._order(event.order))
        if isinstance(event, v.FillBooked) and event.user_id == MAKER:
            return replace(event, order_id=self._shown.get(event.order_id, event.order_id))
        return event

    def order_of(self, order_id: OrderId) -> v.OrderState | None:
        if order_id in self._over:
            return self._over[order_id]
        order = self._exchange.engine.order(self._engines.get(order_id, order_id))
        return None if order is None else self._order(order)

    def _order(self, order: v.OrderState) -> v.OrderState:
        return replace(order, order_id=self._shown.get(order.order_id, order.order_id))


FLOOR, FLICKERER, *TAKERS = CROWD
_FLOOR_QTY = 50
_PATIENT_MAX = 6  # small quotes that rest on one market at once


class BuyingCrowd:
    """Traders that only buy, YES or NO, so that no inventory needs to be kept."""

    def __init__(self, scenario: SimScenario, exchange: SimulatedVenue, rng: random.Random) -> None:
        self._exchange = exchange
        self._prefix = "" if scenario.first is None else "second-"
        self._rng = rng
        self._shock = scenario.shock
        self._made = 0
        self._floors: dict[MarketId, list[OrderId]] = {}
        self._patient: dict[MarketId, deque[OrderId]] = {}
        self._flickers: dict[MarketId, OrderId] = {}
        self.value: dict[MarketId, float] = {}  # cents of a YES share
        self._left: dict[MarketId, None] = {}
        self.takes = True  # False: values do not move, and nobody takes
        for markets in exchange.markets.values():
            top = rng.uniform(55.0, 90.0)
            for index, market in enumerate(markets):
                self.value[market] = max(6.0, top - index * rng.uniform(8.0, 18.0))
                self._patient[market] = deque()
        self._markets = list(self.value)
        self.dead = self._markets[-1] if scenario.dead_rung and len(self._markets) > 1 else None

    def place_floors(self, now_ns: int) -> None:
        for market in self._markets:
            if market == self.dead:
                self.buy(FLOOR, market, Outcome.YES, 1, _FLOOR_QTY, now_ns)
                self.buy(FLOOR, market, Outcome.NO, 1, _FLOOR_QTY, now_ns)
            else:
                self._floor(market, now_ns)

    def comes_to(self, market: MarketId, ladder: list[MarketId], now_ns: int) -> None:
        """Trade on a new market, at a value between its neighbours'. ladder: the rungs of its
        event, lowest strike first."""
        place = ladder.index(market)
        low = self.value[ladder[place + 1]] if place + 1 < len(ladder) else 6.0
        high = self.value[ladder[place - 1]] if place else 94.0
        self.value[market] = self._rng.uniform(min(low, high), max(low, high))
        self._patient[market] = deque()
        self._markets.append(market)
        self._floor(market, now_ns)

    def refloor(self, resolved: Container[MarketId], now_ns: int) -> None:
        for market in self._markets:
            if market != self.dead and market not in resolved:
                self._floor(market, now_ns)

    def _floor(self, market: MarketId, now_ns: int) -> None:
        self._cancel(FLOOR, self._floors.pop(market, []), now_ns)
        value, width = self.value[market], self._rng.choice((2, 4, 7))
        below, above = round(value - width), round(complement(Price(round(value))) - width)
        orders = (
            self.buy(FLOOR, market, outcome, price, _FLOOR_QTY, now_ns)
            for outcome, price in ((Outcome.YES, below), (Outcome.NO, above))
        )
        self._floors[market] = [placed for placed in orders if placed is not None]

    def trade_once(self, now_ns: int) -> None:
        rng = self._rng
        market = rng.choice(self._markets)
        if market == self.dead or market in self._left:
            return
        drawn = rng.random()
        patient = self._patient[market]
        if drawn < 0.80:
            # A small quote comes, or the oldest one goes, or changes its size.
            if len(patient) >= _PATIENT_MAX or (patient and drawn < 0.30):
                self._cancel(TAKERS[0], [patient.popleft()], now_ns)
            elif patient and drawn < 0.55:
                amend = Amend(qty=Qty(rng.randint(1, 12)))
                self._exchange.execute(v.AmendOrder(TAKERS[0], patient[-1], amend), now_ns)
            else:
                outcome, value = self._side(market, yes=rng.random() < 0.5)
                price = round(value - rng.uniform(1.0, 6.0))
                order_id = self.buy(TAKERS[0], market, outcome, price, rng.randint(1, 12), now_ns)
                if order_id is not None:
                    patient.append(order_id)
            return
        if not self.takes:
            return
        step = rng.gauss(0.0, 0.4) + (rng.choice((-15, 15)) if rng.random() < self._shock else 0)
        self.value[market] = min(94.0, max(6.0, self.value[market] + step))
        if drawn < 0.84:
            self._floor(market, now_ns)
            return
        outcome, value = self._side(market, yes=rng.random() < 0.5)
        price = round(value + rng.uniform(1.0, 8.0))
        user, qty = rng.choice(TAKERS[1:]), rng.randint(1, 12)
        self.buy(user, market, outcome, price, qty, now_ns, TimeInForce.IOC)

    def leave(self, market: MarketId, now_ns: int) -> None:
        if market == self.dead:
            return
        self._left[market] = None
        self.unflick(market, now_ns)
        self._cancel(FLOOR, self._floors.pop(market, []), now_ns)
        self._cancel(TAKERS[0], self._patient[market], now_ns)
        self._patient[market].clear()

    def _cancel(self, user: UserId, order_ids: Iterable[OrderId], now_ns: int) -> None:
        for order_id in order_ids:
            self._exchange.execute(v.CancelOrder(user, order_id), now_ns)

    def rest(self) -> None:
        self._left.update(dict.fromkeys(self._markets))

    def come_back(self, market: MarketId) -> None:
        self._left.pop(market, None)

    def jump(self, market: MarketId, cents: int, now_ns: int) -> None:
        if market == self.dead or market in self._left:
            return
        self.value[market] = min(94.0, max(6.0, self.value[market] + cents))
        self._floor(market, now_ns)
        outcome, value = self._side(market, yes=cents > 0)
        self.buy(TAKERS[1], market, outcome, round(value), 12, now_ns, TimeInForce.IOC)

    def take_order(
        self, order: v.OrderState, rng: random.Random, now_ns: int, most: int | None = None
    ) -> None:
        side, level = book_side(order.outcome, order.side), canonical(order.outcome, order.price)
        qty = 0
        for price, size in self._exchange.engine.depth(order.market_id, side):
            if price == level:
                qty += rng.randint(1, size) if most is None else min(most, size)
                break
            qty += size
        outcome = Outcome.NO if side is BookSide.BID else Outcome.YES
        user, at = rng.choice(TAKERS[1:]), canonical(outcome, level)
        self.buy(user, order.market_id, outcome, at, max(1, qty), now_ns, TimeInForce.IOC)

    def _side(self, market: MarketId, *, yes: bool) -> tuple[Outcome, float]:
        value = self.value[market]
        return (Outcome.YES, value) if yes else (Outcome.NO, PAYOUT_CENTS - value)

    def flick(self, market: MarketId, up: bool, now_ns: int) -> None:
        known = self._flickers.get(market)
        price = Price(max(PRICE_MIN, round(self.value[market]) - 2 + up))
        if known is not None:
            amended = self._exchange.execute(
                v.AmendOrder(FLICKERER, known, Amend(price=price, qty=Qty(9))), now_ns
            )
            if isinstance(amended, v.Amended) and amended.order.remaining_qty:
                return
            del self._flickers[market]
        order_id = self.buy(FLICKERER, market, Outcome.YES, price, 9, now_ns)
        if order_id is not None:
            self._flickers[market] = order_id

    def unflick(self, market: MarketId, now_ns: int) -> None:
        if market in self._flickers:
            self._cancel(FLICKERER, [self._flickers.pop(market)], now_ns)

    def buy(
        self,
        user: UserId,
        market: MarketId,
        outcome: Outcome,
        price: int,
        qty: int,
        now_ns: int,
        tif: TimeInForce = TimeInForce.GTC,
    ) -> OrderId | None:
        """Buy for somebody, the bot's account among them; the order if any of it rests."""
        self._made += 1
        name = f"{self._prefix}crowd-{self._made}"
        order = buy_order(market, outcome, price, qty, tif, name)
        answer = self._exchange.execute(v.PlaceOrder(user, order), now_ns)
        if isinstance(answer, v.Placed) and answer.order.remaining_qty:
            return answer.order.order_id
        return None
