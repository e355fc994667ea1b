"""A market in virtual time for the benches: the real engine, a crowd or a tape, one maker, latency.

No bench itself. Whatever happens is seen by the maker `LAG_NS` later; a request of its own takes
`ONE_WAY_NS` each way. `Queue` keeps the true order of every queue from the engine's events alone,
which neither the engine nor the trader is asked about.
"""

from collections import deque
from collections.abc import Callable
from pathlib import Path

from bench.crowded import BEAT_NS, RESOLUTION_NS, START_NS, STRIKES
from bot.core import messages as m
from venue.crowd.run import CrowdPlan, make_actor, opening_commands
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import read_tape, tape_catalogue
from venue.engine import messages as v
from venue.engine.engine import Engine
from venue.views.account import Scope, shown_order
from venue.views.catalog import EventFilter
from venue.views.projector import Projector, Views
from venue.wire import model
from venue.wire.errors import CODES
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import (
    BookSide,
    Cents,
    FeeRate,
    Price,
    book_side,
    canonical,
    complement,
)
from venue.wire.names import MarketId, OrderId, ProjectId, Ticker, UserId
from venue.wire.requests import keeps_priority

LAG_NS = 5 * NS_PER_MS
ONE_WAY_NS = 5 * NS_PER_MS
ME = UserId("maker")
_PROJECT = ProjectId("00000000-0000-4000-8000-000000000001")
_RATES = (FeeRate.parse("0.0100"), FeeRate.parse("0.0175"))
_PAGE = 100


def crowd_plan(seed: int) -> CrowdPlan:
    event = Ticker("BENCH-27Q1")
    commands: list[v.Command] = [
        v.ListCompany(_PROJECT, "Bench", "BENCH"),
        v.ListEvent(
            event_ticker=event,
            series_ticker=Ticker("BENCH"),
            project_market_id="00000000-0000-4000-8000-000000000002",
            project_id=_PROJECT,
            title="bench",
            category="valuation",
            status=model.EventStatus.OPEN,
            mutually_exclusive=False,
            resolution_date_ns=RESOLUTION_NS,
        ),
    ]
    commands += [
        v.ListMarket(
            market_id=MarketId(f"00000000-0000-4000-9000-{place:012d}"),
            ticker=Ticker(f"{event}-{strike}"),
            event_ticker=event,
            name=strike,
            outcome_label=strike,
            maker_fee_rate=_RATES[0],
            taker_fee_rate=_RATES[1],
            strike_value=strike,
            strike_unit="USD billions",
        )
        for place, strike in enumerate(STRIKES)
    ]
    return CrowdPlan(CrowdSettings(seed=seed), tuple(commands))


def tape_plan(folder: Path, speed: float) -> CrowdPlan:
    """A recorded tape, `speed` recorded seconds in one of the market's."""
    tape = read_tape(folder)
    catalogue = tuple(tape_catalogue(tape, RESOLUTION_NS, *_RATES))
    return CrowdPlan(CrowdSettings(tape_speed=speed), catalogue, tape)


class Queue:
    def __init__(self) -> None:
        self._at: dict[tuple[MarketId, BookSide, Price], dict[OrderId, v.OrderState]] = {}
        self._orders: dict[OrderId, v.OrderState] = {}

    def changed(self, order: v.OrderState) -> None:
        before = self._orders.pop(order.order_id, None)
        works = order.status in model.RESTING
        if before is not None:
            keeps = keeps_priority(
                before.price, before.remaining_qty, order.price, order.remaining_qty
            )
            if not (works and keeps):
                del self._at[slot(before)][order.order_id]
        if works:
            self._orders[order.order_id] = order
            self._at.setdefault(slot(order), {})[order.order_id] = order

    def ahead(self, order_id: OrderId) -> tuple[int, int] | None:
        """Shares of others before an order, and all of others there; None when it does not rest."""
        order = self._orders.get(order_id)
        if order is None:
            return None
        before, total, is_before = 0, 0, True
        for each in self._at[slot(order)].values():
            if each.order_id == order_id:
                is_before = False
            elif each.user_id != order.user_id:
                total += each.remaining_qty
                before += each.remaining_qty if is_before else 0
        return before, total

    def others_at(self, at: tuple[MarketId, BookSide, Price]) -> int:
        return sum(
            each.remaining_qty for each in self._at.get(at, {}).values() if each.user_id != ME
        )

    def mine(self) -> list[v.OrderState]:
        return [order for order in self._orders.values() if order.user_id == ME]


def slot(order: v.OrderState) -> tuple[MarketId, BookSide, Price]:
    side = book_side(order.outcome, order.side)
    return order.market_id, side, canonical(order.outcome, order.price)


class Stand:
    """The market. `hears` is given every event that the maker sees, at its time; `own` every
    change of an order of the maker's, as it happens."""

    def __init__(self, plan: CrowdPlan) -> None:
        self.now_ns = START_NS
        self.engine = Engine(b"bench" * 4)
        self.queue = Queue()
        self.views = Projector(Views(), LAG_NS)
        self.hears: Callable[[m.Event], None] = lambda _: None
        self.own: Callable[[v.OrderState], None] = lambda _: None
        self.requests = 0
        self.series_ticker = next(
            command.series_ticker for command in plan.catalogue if isinstance(command, v.ListEvent)
        )
        self._actor = make_actor(plan)
        self._later: deque[tuple[int, Callable[[], None]]] = deque()
        for command in (*plan.catalogue, *opening_commands(plan)):
            if not isinstance(command, v.AddKey | v.RevokeKey | v.AddToken):
                self.do(command)
        self.do(v.AddUser(ME))
        self.do(v.Deposit(ME, Cents(100_000_000)))

    def do(self, command: v.Command) -> v.Answer:
        answer, events = self.engine.apply(command, self.now_ns)
        for event in events:
            if isinstance(event, v.OrderChanged):
                self.queue.changed(event.order)
                if event.order.user_id == ME:
                    self.own(event.order)
        self.views.publish(events, self.now_ns)
        return answer

    def run(self, seconds: float, each_beat: Callable[[], None]) -> None:
        end_ns = self.now_ns + int(seconds * NS_PER_SECOND)
        while self.now_ns < end_ns:
            self.now_ns += BEAT_NS
            while self._later and self._later[0][0] <= self.now_ns:
                self._later.popleft()[1]()
            self._show()
            for command in self._actor.step(self.now_ns):
                self.do(command)
            each_beat()

    def _show(self) -> None:
        """What has become visible: prints one by one, of books the newest."""
        visible = self.views.advance(self.now_ns)
        self._actor.observe(visible, self.now_ns)
        moved: dict[MarketId, None] = {}
        for event in visible:
            match event:
                case v.TradePrinted():
                    taker = book_side(event.taker_outcome, event.taker_side)
                    self.hears(
                        m.Trade(
                            event.market_id,
                            event.at_ns,
                            event.trade_id,
                            event.price,
                            event.qty,
                            taker is BookSide.BID,
                        )
                    )
                case v.LevelChanged():
                    moved[event.market_id] = None
                case _:
                    pass
        for market_id in moved:
            self.hears(self.book(market_id))

    def book(self, market_id: MarketId) -> m.BookUpdate:
        ladders = self.views.views.market.ladders(market_id)
        bids = tuple((level.price, level.size) for level in ladders.yes)
        asks = tuple((complement(level.price), level.size) for level in ladders.no)
        return m.BookUpdate(market_id, ladders.ts, bids, asks)

    # --- the maker's requests ---------------------------------------------------------------------

    def send(self, request: m.Request, answered: Callable[[m.Answer], None]) -> None:
        self.requests += not isinstance(request, m.Read)

        def arrive() -> None:
            answer = self._carry_out(request)
            self._later.append((self.now_ns + ONE_WAY_NS, lambda: answered(answer)))

        self._later.append((self.now_ns + ONE_WAY_NS, arrive))

    def _carry_out(self, request: m.Request) -> m.Answer:
        match request:
            case m.Create():
                return self._to_answer(self.do(v.PlaceOrder(ME, request.order)))
            case m.AmendResting():
                return self._to_answer(self.do(v.AmendOrder(ME, request.order_id, request.amend)))
            case m.CancelResting():
                return self._to_answer(self.do(v.CancelOrder(ME, request.order_id)))
            case _:
                return self._answer_read(request)

    def _to_answer(self, answer: v.Answer) -> m.Answer:
        match answer:
            case v.Placed() | v.Amended():
                return m.Ok(m.OrderBody(shown_order(answer.order, created_ns=self.now_ns)))
            case v.Cancelled():
                shown = shown_order(answer.order, created_ns=self.now_ns)
                return m.Ok(m.CancelBody(shown, answer.reduced_by))
            case v.Refused():
                return m.Rejected(CODES[answer.code].status, answer.code, answer.message)
            case _:
                raise AssertionError(answer)

    def _answer_read(self, request: m.Request) -> m.Answer:
        views = self.views.views
        account = views.account
        match request:
            case m.ReadOrder():
                order = account.order(ME, request.order_id)
                missing = m.Rejected(404, "order_not_found", "")
                return missing if order is None else m.Ok(m.OrderBody(order))
            case m.ReadResting():
                rows, last = account.orders(
                    ME, Scope(), model.RESTING, _place(request.cursor), _PAGE
                )
                return m.Ok(m.OrdersBody(rows, _cursor(last)))
            case m.ReadFills():
                fills, last = account.fills(ME, Scope(), None, _place(request.cursor), _PAGE)
                return m.Ok(m.FillsBody(fills, _cursor(last)))
            case m.ReadPositions():
                held, after = account.positions(ME, Scope(), request.cursor, _PAGE)
                return m.Ok(m.PositionsBody(held, after or ""))
            case m.ReadBalance():
                return m.Ok(m.BalanceBody(account.balance(ME)))
            case m.ReadSeries():
                events, last = views.catalog.events(
                    EventFilter(series_ticker=request.series_ticker),
                    -1 if not request.cursor else int(request.cursor),
                    _PAGE,
                )
                return m.Ok(m.SeriesBody(events, _cursor(last)))
            case m.ReadBook():
                return m.Ok(m.BookBody(views.market.orderbook(request.market_id)))
            case _:
                raise AssertionError(request)


def _place(cursor: str) -> int | None:
    return int(cursor) if cursor else None


def _cursor(place: int | None) -> str:
    return "" if place is None else str(place)
