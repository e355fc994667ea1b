"""Takes: validated, routed, sent once, counted while undecided, never met by our own orders."""

import itertools
from typing import Any

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import free_shares
from bot.core.quoting.takes import barred, routes
from bot.core.report import TakeOutcome
from bot.core.risk.limits import takable
from bot.core.settings import PaceSettings
from bot.strategy.api import EventView, NonsenseQuotes, Quote, Quotes, Strategy, Take, split
from tests.builders.bot import made
from tests.builders.bot.account import Account, create
from tests.builders.bot.desks import listed
from tests.builders.bot.engines import event
from tests.builders.bot.made import T0
from tests.builders.bot.planned import ASK, BID, plan
from tests.builders.bot.thin import Thin
from tests.builders.strategies import views
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, OrderId
from venue.wire.requests import QtyOrder, TimeInForce


def take(side: BookSide = BID, price: int = 52, qty: int = 10, whole: bool = False) -> Take:
    """A wish to trade now."""
    return Take(side, Price(price), Qty(qty), whole)


def taking(
    state: State = State.PENDING_NEW, price: int = 52, number: int = 7, **other: Any
) -> OwnOrder:
    """A take of ours in a state."""
    tif = other.pop("tif", TimeInForce.IOC)
    order = msgspec.structs.replace(
        made.intent(price=price, number=number, **other), time_in_force=tif
    )
    own = OwnOrder(order, T0, "take")
    own.state = state
    return own


SEEN = views.view(views.rung(0, 50.0, bid=48, ask=52), views.rung(1, 40.0))
M0 = SEEN.rungs[0].market_id


def test_quotes_and_takes_of_a_strategy_are_split():
    quote = Quote(BID, Price(47), Qty(5))
    answer = split({M0: (quote, take())}, SEEN)
    assert answer.resting == {M0: (quote,)}
    assert answer.takes == {M0: (take(),)}


@pytest.mark.parametrize(
    "wanted",
    [
        (take(price=0),),
        (take(price=100),),
        (take(qty=0),),
        (take(price=52), take(price=51)),
        (take(BID, 52), take(ASK, 52)),
        (take(BID, 52), Quote(ASK, Price(52), Qty(1))),
        (take(ASK, 48), Quote(BID, Price(48), Qty(1))),
        ("take",),
    ],
)
def test_impossible_takes_and_takes_that_meet_own_quotes_are_rejected(wanted):
    with pytest.raises(NonsenseQuotes):
        split({M0: wanted}, SEEN)


@pytest.mark.parametrize("kind", [Quote, Take])
def test_a_side_that_is_a_string_is_rejected_with_a_reason(kind):
    with pytest.raises(NonsenseQuotes, match="side 'bid' on E-0; wanted a BookSide"):
        split({M0: (kind("bid", Price(48), Qty(1)),)}, SEEN)


@pytest.mark.parametrize("price", [float("nan"), 2.0, 100])
def test_an_impossible_price_is_rejected_with_its_rung_and_range(price):
    with pytest.raises(NonsenseQuotes, match=f"price {price} on E-0; wanted an int of 1 to 99"):
        split({M0: (Quote(BID, price, Qty(1)),)}, SEEN)


def test_a_quote_may_rest_at_the_price_of_a_take_of_its_side():
    assert split({M0: (take(BID, 52), Quote(BID, Price(52), Qty(1)))}, SEEN).takes


@pytest.mark.parametrize(
    ("wish", "ceiling", "taken"),
    [
        (take(), None, take()),
        (take(qty=10), 4, take(qty=4)),
        (take(qty=10, whole=True), 4, None),
        (take(BID, 53), None, take(BID, 51)),
        (take(ASK, 53), None, take(ASK, 56)),
        (take(BID, 3), None, None),
    ],
)
def test_a_take_is_rounded_to_the_grid_and_size_of_its_market(wish, ceiling, taken):
    market = event(1).markets[0]
    if wish.price in (53, 3):
        market = msgspec.structs.replace(market, tick_size=5, min_price=Price(6))
    assert takable(wish, market, ceiling) == taken


def legs(wish: Take, yes: int = 0, no: int = 0, orders: tuple[OwnOrder, ...] = ()) -> list[tuple]:
    """Outcome, side and shares of each order of a take."""
    return [(each.outcome, each.side, each.qty) for each in routes(wish, Qty(yes), Qty(no), orders)]


SELLING = made.own(outcome=Outcome.YES, side=Side.SELL, price=60, qty=7)


@pytest.mark.parametrize(
    ("wish", "held", "orders", "expected"),
    [
        (take(ASK), {"yes": 4}, (), [(Outcome.YES, Side.SELL, 4), (Outcome.NO, Side.BUY, 6)]),
        (take(BID), {"no": 10}, (), [(Outcome.NO, Side.SELL, 10)]),
        (take(BID), {"yes": 10}, (), [(Outcome.YES, Side.BUY, 10)]),
        (take(ASK, whole=True), {"yes": 4}, (), [(Outcome.NO, Side.BUY, 10)]),
        (take(ASK, whole=True), {"yes": 10}, (), [(Outcome.YES, Side.SELL, 10)]),
        (
            take(ASK),
            {"yes": 10},
            (SELLING,),
            [(Outcome.YES, Side.SELL, 3), (Outcome.NO, Side.BUY, 7)],
        ),
    ],
)
def test_a_take_sells_free_shares_before_it_buys_and_a_whole_one_uses_one_route(
    wish, held, orders, expected
):
    assert legs(wish, orders=orders, **held) == expected


def test_shares_that_a_take_in_flight_may_sell_are_not_free():
    under_way = taking(outcome=Outcome.YES, side=Side.SELL, qty=7)
    assert free_shares(Qty(10), Qty(0), [under_way])[0] == 3


@pytest.mark.parametrize("state", [state for state in State if state is not State.CLOSED])
def test_a_take_that_could_meet_an_own_order_is_barred(state):
    ask = made.own(state, outcome=Outcome.NO, price=48)
    assert barred(take(BID, 52), [ask]) is TakeOutcome.MEETS_OWN
    assert barred(take(BID, 51), [ask]) is None


def test_a_take_is_barred_by_another_take_or_an_unknown_order_of_its_side():
    assert barred(take(BID, 52), [taking()]) is TakeOutcome.UNDECIDED
    assert barred(take(ASK, 60), [taking()]) is TakeOutcome.UNDECIDED
    assert barred(take(BID, 52), [made.own(State.NEW_UNKNOWN)]) is TakeOutcome.UNDECIDED
    assert barred(take(ASK, 52), [made.own(State.NEW_UNKNOWN)]) is None


@pytest.mark.parametrize(
    ("wanted", "state", "sides"),
    [
        ([Quote(BID, Price(52), Qty(10))], State.PENDING_NEW, [BID]),
        (
            [Quote(BID, Price(40), Qty(10)), Quote(ASK, Price(60), Qty(10))],
            State.NEW_UNKNOWN,
            [ASK],
        ),
        ([Quote(ASK, Price(52), Qty(10))], State.PENDING_NEW, []),
    ],
    ids=["it serves no quote", "unknown, it bars its side", "no quote may meet it"],
)
def test_quotes_are_planned_around_a_take_in_flight(wanted, state, sides):
    step = plan(wanted, [taking(state)], pace=PaceSettings(), now_ns=T0)
    assert [(wish.book_side, wish.qty) for wish in step.actions] == [(side, 10) for side in sides]


def spent(of: Account, *takes: Take, wishes: tuple = ()) -> list[QtyOrder]:
    """The creates that left."""
    before = len(of.out.effects)
    of.sending.spend([(of.rung, wish) for wish in wishes], T0, [(of.rung, each) for each in takes])
    return [
        each.request.order
        for each in of.out.effects[before:]
        if isinstance(each, m.Send) and isinstance(each.request, m.Create)
    ]


def test_a_take_is_sent_as_ioc_and_a_whole_one_as_fok():
    assert spent(Account(), take())[0].time_in_force is TimeInForce.IOC
    assert spent(Account(), take(whole=True))[0].time_in_force is TimeInForce.FOK


def test_after_a_take_nothing_else_is_sent_until_the_next_plan():
    of = Account()
    assert [each.price for each in spent(of, take(), wishes=(create(40, value=9.0),))] == [52]
    assert of.rung.again_ns == 0


def test_a_limit_trims_a_take_and_holds_a_whole_one_back():
    risk = {"rung_position_qty": 4}
    assert [each.qty for each in spent(Account(risk), take())] == [4]
    of = Account(risk)
    assert spent(of, take(whole=True)) == []
    assert of.out.counters.takes == {TakeOutcome.HELD_BACK: 1}


def test_a_take_that_was_held_back_is_not_repeated():
    of = Account({"rung_position_qty": 0})
    assert spent(of, take()) == []
    assert of.denied == []
    assert spent(of) == []


def test_a_take_in_flight_counts_in_full_for_every_limit():
    of = Account({"event_loss_cents": 1_000})
    (sent,) = spent(of, take(price=50, qty=20))
    assert of.quoting.weighing.worst_cents(of.quoting.ladders[0]) == -1_000
    assert sent.qty == 20
    assert spent(of, wishes=(create(40),)) == []


class Once(Strategy):
    """Wants one take in the first answer that has a book to take from, and quotes far away."""

    wish = take(BID, 52)

    def __init__(self, params: object = None) -> None:
        super().__init__(params)
        self.asked = 0
        self.wished = 0

    def quote(self, view: EventView) -> Quotes:
        self.asked += 1
        rung = view.rungs[0]
        far: tuple[Quote | Take, ...] = (Quote(BID, Price(20), Qty(5)),)
        if self.wished or rung.best_ask is None or not rung.quotable:
            return {rung.market_id: far}
        self.wished += 1
        return {rung.market_id: (*far, self.wish)}


class Taken(Thin):
    """A thin venue that fills `fills` shares of an order that does not rest.

    answers: what the first creates of takes are answered with instead.
    """

    def __init__(self, strategy: Strategy, fills: int = 10) -> None:
        super().__init__([50], lambda: strategy)
        self.fills = fills
        self.answers: list[m.Answer] = []
        self.taken: list[m.Create] = []
        self.booked: list[model.Fill] = []

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.Create) and request.order.time_in_force is not TimeInForce.GTC:
            self.taken.append(request)
            if self.answers:
                return self.answers.pop(0)
            return m.Ok(m.OrderBody(self._carried_out(request.order)))
        if isinstance(request, m.ReadFills):
            return m.Ok(m.FillsBody(tuple(reversed(self.booked)), ""))
        if isinstance(request, m.ReadBalance):
            spent = sum(fill.qty * fill.outcome_price for fill in self.booked)
            cash = Cents(10**9 - spent)
            return m.Ok(m.BalanceBody(model.Balance(cash, Cents(0), cash)))
        if isinstance(request, m.ReadPositions) and self.booked:
            held = model.Position(
                ticker=self.markets[0].ticker,
                outcome=model.ShownOutcome.YES,
                qty=self.booked[0].qty,
            )
            return m.Ok(m.PositionsBody((held,), ""))
        return super().answer(request)

    def _carried_out(self, order: QtyOrder) -> model.Order:
        at = instant.from_ns(self.now_ns)
        filled = Qty(min(self.fills, order.qty))
        whole = filled == order.qty
        shown = model.Order(
            order_id=OrderId("777"),
            ticker=self.markets[0].ticker,
            market_id=order.market_id,
            event_ticker=self.markets[0].event_ticker,
            outcome=model.ShownOutcome(order.outcome.value),
            side=model.ShownSide(order.side.value),
            price=order.price,
            qty=order.qty,
            remaining_qty=Qty(0),
            filled_qty=filled,
            status=model.OrderStatus.FILLED if whole else model.OrderStatus.CANCELED,
            time_in_force=model.ShownTimeInForce(order.time_in_force.value),
            created_at=at,
            updated_at=at,
        )
        if filled and not self.booked:
            own = OwnOrder(order, T0, "take")
            own.order_id = shown.order_id
            self.booked.append(msgspec.structs.replace(made.fill(own, 1, filled), created_at=at))
        return shown


def run_with(strategy: Strategy, fills: int = 10, *answers: m.Answer, seconds: float = 12) -> Taken:
    """What came of a strategy that takes. answers: to the first creates of takes."""
    of = Taken(strategy, fills)
    of.answers = list(answers)
    of.start()
    depths = itertools.count(200)
    of.run(seconds, lambda: of.give(of.book(0, depth=next(depths))), NS_PER_SECOND // 2)
    return of


@pytest.mark.parametrize(("fills", "fate"), [(10, "traded"), (4, "traded"), (0, "empty")])
def test_a_take_is_sent_once_and_its_end_raises_no_alert(fills, fate):
    strategy = Once()
    of = run_with(strategy, fills)
    assert strategy.asked > 10
    assert len(of.taken) == 1
    assert of.trader.out.findings == {}
    assert len(of.trader.desk.unknown) == 0
    assert of.trader.out.counters.takes == {"sent": 1, fate: 1}
    assert of.trader.report(of.now_ns).counters.takes == {"sent": 1, fate: 1}
    assert of.trader.ledgers.holdings(of.markets[0].market_id) == (fills, 0)


def test_the_strategy_sees_the_fills_of_a_take_once():
    fills = []

    class Recording(Once):
        def quote(self, view: EventView) -> Quotes:
            fills.extend(view.rungs[0].fills)
            return super().quote(view)

    run_with(Recording())
    assert [(fill.side, fill.price, fill.qty) for fill in fills] == [(BID, 52, 10)]


def test_a_take_that_times_out_is_resent_byte_for_byte_and_counts_until_it_is_known():
    counted = []

    class Watched(Taken):
        def answer(self, request: m.Request) -> m.Answer:
            if isinstance(request, m.Create) and request.again:
                quoting = self.trader.quoting
                counted.append(quoting.weighing.worst_cents(quoting.ladders[0]))
            return super().answer(request)

    of = Watched(Once())
    of.answers = [m.Unknown("cut"), m.Unknown("cut")]
    of.start()
    of.run(5)
    assert len(of.taken) == 3
    assert {each.order for each in of.taken} == {of.taken[0].order}
    assert [each.again for each in of.taken] == [False, True, True]
    assert all(cents <= -10 * 52 for cents in counted)
    assert len(counted) == 2
    assert of.trader.out.findings == {}
    assert of.trader.ledgers.holdings(of.markets[0].market_id) == (10, 0)


def test_a_rejected_take_is_closed():
    of = run_with(Once(), 10, m.Rejected(422, "insufficient_balance", ""))
    assert len(of.taken) == 1
    assert len(of.trader.desk.unknown) == 0


def test_a_take_that_the_venue_lets_rest_is_cancelled():
    of = Taken(Once())
    order = OwnOrder(made.intent(), T0, "")

    def rests(request: m.Request) -> m.Answer:
        if isinstance(request, m.Create) and request.order.time_in_force is TimeInForce.IOC:
            of.taken.append(request)
            shown = msgspec.structs.replace(
                made.shown(order, order_id="9", price=52, remaining=10),
                market_id=request.order.market_id,
                time_in_force=model.ShownTimeInForce.IOC,
            )
            of.orders[shown.order_id] = shown
            return m.Ok(m.OrderBody(shown))
        return Taken.answer(of, request)

    of.answer = rests  # type: ignore[method-assign]
    found = []
    of.start()
    of.run(1, lambda: found.extend(of.trader.out.findings), 10_000_000)
    assert OrderId("9") not in of.orders
    assert m.CancelResting(OrderId("9")) in of.writes()
    assert of.trader.out.findings == {}


def test_a_take_is_not_sent_while_paused():
    of = Taken(Once())
    of.give(m.Started("0" * 20, (), new_account=True))
    of.give(m.PauseRequested("lunch"))
    of.give(m.FeedOpened())
    of.show(0)
    of.run(3)
    assert of.taken == []


def test_a_rejected_resend_of_a_take_closes_it_after_a_late_list():
    of = Account()
    own = taking(State.NEW_UNKNOWN)
    own.note_evidence(denied_ns=T0)
    own.due_ns = T0
    of.desk.add_order(own)
    equal = msgspec.structs.replace(made.shown(made.own(number=3, price=52)), order_id=OrderId("5"))
    assert listed(of.desk, [equal], T0 + 5 * NS_PER_SECOND) == []
    assert listed(of.desk, [equal], T0 + 7 * NS_PER_SECOND) == [own.market_id]
    assert own.state is State.CLOSED
    assert not of.desk.is_late_arrival(equal)


def test_a_take_without_a_response_in_an_earlier_run_is_resent():
    order = QtyOrder(
        Thin([50], Once).markets[0].market_id,
        Outcome.YES,
        Side.BUY,
        Price(52),
        Qty(10),
        TimeInForce.IOC,
        ClientOrderId("earlier-1"),
    )
    of = Taken(Strategy(None))
    of.give(m.Started("0" * 20, (m.UnconfirmedCreate(order),)))
    of.give(m.FeedOpened())
    of.show(0)
    of.run(6)
    assert of.taken == [m.Create(order, True)]
    assert len(of.trader.desk.live_orders) == 0
    assert of.trader.ledgers.holdings(order.market_id) == (10, 0)


def test_the_second_route_of_a_take_counts_the_first():
    of = Account({"event_loss_cents": 500})
    of.ledgers.book.book_fill(made.fill(made.own(outcome=Outcome.NO, price=1, qty=5), 1, 5))
    of.quoting.on_holdings_change(of.rung.market_id)
    sent = spent(of, take(BID, 50, qty=30))
    assert [(each.side, each.qty) for each in sent] == [(Side.SELL, 5), (Side.BUY, 14)]
    assert of.quoting.weighing.worst_cents(of.quoting.ladders[0]) >= -500
