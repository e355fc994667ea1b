"""A trader on a quiet book: it acts on news about its own orders alone."""

from bot.core import messages as m
from bot.core.orders.order import State
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot.thin import FixedQuotes, Thin
from venue.wire import model
from venue.wire.instant import NS_PER_MS
from venue.wire.money import BookSide, Price, Qty


class Both(FixedQuotes):
    """Ten shares at 45 and 55; more bids once `bids` says so."""

    bids: tuple[int, ...] = (45,)

    def quote(self, view: EventView) -> Quotes:
        bids = tuple(Quote(BookSide.BID, Price(each), Qty(10)) for each in self.bids)
        return {rung.market_id: (*bids, self.quotes[1]) for rung in view.rungs}


class Quiet(Thin):
    """A venue of one rung. held: YES shares in its positions. lacks: True if reads by id find no
    order. Lists of resting orders are answered `list_ns` late."""

    def __init__(self, strategy: Strategy, list_ns: int = 0) -> None:
        super().__init__([50], lambda: strategy)
        self.held = 0
        self.lacks = False
        self.list_ns = list_ns
        self.late: list[tuple[int, m.Response]] = []
        self.start()
        self.pass_by(10)

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.run(seconds, self._answer_late, 10 * NS_PER_MS)

    def _answer_late(self) -> None:
        while self.late and self.now_ns >= self.late[0][0]:
            self.give(self.late.pop(0)[1])

    def ask(self, send: m.Send) -> None:
        if isinstance(send.request, m.ReadResting):
            reply = m.Response(send.request_id, self.answer(send.request), 500)
            self.late.append((self.now_ns + self.list_ns, reply))
        else:
            super().ask(send)

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.ReadOrder) and not self.lacks:
            return m.Ok(m.OrderBody(self.orders[request.order_id]))
        if isinstance(request, m.ReadPositions) and self.held:
            rung = self.markets[0]
            held = model.Position(
                ticker=rung.ticker,
                market_id=rung.market_id,
                outcome=model.ShownOutcome.YES,
                qty=Qty(self.held),
            )
            return m.Ok(m.PositionsBody((held,), ""))
        return super().answer(request)


def test_orders_that_could_enlarge_a_position_are_cancelled_while_positions_differ():
    of = Quiet(Both())
    assert len(of.orders) == 2
    of.held = 7
    of.pass_by(10)
    assert "position_differs" in of.trader.out.findings
    assert not of.orders
    of.held = 0
    of.pass_by(15)
    assert "position_differs" not in of.trader.out.findings
    assert len(of.orders) == 2


def test_a_side_is_planned_again_once_a_list_shows_its_missing_order():
    """Reads by its id found no such order; once a list shows it they tell nothing new."""
    strategy = Both()
    of = Quiet(strategy, list_ns=300 * NS_PER_MS)
    bid = next(own for own in of.trader.desk.live_orders if own.book_side is BookSide.BID)
    of.lacks = True
    of.give(m.Trade(bid.market_id, of.now_ns, "t", Price(45), Qty(1), False))
    of.pass_by(0.1)
    assert bid.suspicion is not None
    strategy.bids = (45, 43)
    of.mids[0] = 51
    of.show(0)
    of.pass_by(0.5)
    assert len(of.orders) == 2
    while bid.suspicion is not None:
        of.pass_by(0.01)
    of.lacks = False
    of.pass_by(1)
    assert len(of.orders) == 3


class Deaf(Quiet):
    """A venue that answers no cancel."""

    def ask(self, send: m.Send) -> None:
        if not isinstance(send.request, m.CancelResting):
            super().ask(send)


def test_a_cancel_in_flight_causes_no_more_ticks():
    venue = Deaf(Both())
    venue.trader.receive(m.PauseRequested("asked for"), venue.now_ns)
    wakes: list[int] = []
    receive = venue.trader.receive

    def counted(event: m.Event, now_ns: int) -> list[m.Effect]:
        wakes.append(isinstance(event, m.Tick))
        return receive(event, now_ns)

    venue.trader.receive = counted  # type: ignore[method-assign]
    venue.run(1)
    assert all(own.state is State.PENDING_CANCEL for own in venue.trader.desk.live_orders)
    assert len(venue.trader.desk.live_orders) == 2
    assert sum(wakes) <= 15
