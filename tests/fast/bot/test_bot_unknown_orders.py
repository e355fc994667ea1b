"""Orders that this run did not place, and orders that somebody else cancelled."""

from itertools import count

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import Phase
from tests.builders.bot import made
from tests.builders.bot.meddled import Held, Meddled, over
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import OrderId


def unknown_order_with_a_create_in_flight(**other: object) -> Meddled:
    """Our first order ends, the create that replaces it is never answered, and lists show an
    unknown order in its place, with `other` fields."""
    venue = Meddled()
    venue.start()
    first = next(iter(venue.orders.values()))
    stranger = msgspec.structs.replace(first, order_id=OrderId("999"), **other)

    def meddle(request: m.Request) -> m.Answer | None:
        if isinstance(request, m.Create) and request.order.market_id == first.market_id:
            raise Held
        if isinstance(request, m.ReadResting):
            return m.Ok(m.OrdersBody((*venue.orders.values(), stranger), ""))
        return None

    venue.end_one()
    before = venue.meddle
    venue.meddle = lambda request: before(request) or meddle(request)
    venue.go(15)
    assert venue.held
    assert venue.trader.desk.has_open_ids()
    return venue


def test_an_unknown_order_that_may_be_a_create_in_flight_is_not_foreign():
    venue = unknown_order_with_a_create_in_flight()
    assert "foreign_orders" not in venue.trader.out.findings


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"outcome": model.ShownOutcome.YES}, id="outcome"),
        pytest.param({"side": model.ShownSide.SELL}, id="side"),
        pytest.param({"market_id": Meddled().markets[1].market_id}, id="rung"),
    ],
)
def test_an_unknown_order_that_cannot_be_the_create_in_flight_is_foreign_at_once(other):
    venue = unknown_order_with_a_create_in_flight(**other)
    assert "foreign_orders" in venue.trader.out.findings


class CancelledElsewhere(Thin):
    """`closed`: orders that somebody else has cancelled, as a read shows them."""

    def __init__(self) -> None:
        super().__init__([50])
        self.closed: dict[str, model.Order] = {}

    def cancel_elsewhere(self) -> None:
        """Somebody else cancels everything that rests."""
        self.closed |= {order_id: over(order) for order_id, order in self.orders.items()}
        self.orders.clear()

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.ReadOrder) and request.order_id in self.closed:
            return m.Ok(m.OrderBody(self.closed[request.order_id]))
        return super().answer(request)


def test_orders_cancelled_by_somebody_else_raise_an_alert_that_clears():
    thin = CancelledElsewhere()
    thin.start()
    assert len(thin.orders) == 2
    thin.cancel_elsewhere()
    thin.run(20, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    alert = thin.trader.out.findings["cancelled_by_others"]
    assert any(order in alert for order in thin.closed)
    assert len(thin.orders) == 2, "it keeps quoting"
    thin.run(80, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    assert thin.trader.out.findings == {}


def left_behind(*numbers: int) -> tuple[Meddled, list[model.Order]]:
    """A venue where bids of ours rest from before the start, and they."""
    venue = Meddled()
    for number in numbers:
        order = msgspec.structs.replace(
            made.intent(number=number, price=10 + number), market_id=venue.markets[0].market_id
        )
        venue.answer(m.Create(order, False))
    return venue, list(venue.orders.values())


def test_a_start_ends_though_an_order_of_its_first_list_is_cancelled_under_another_id():
    venue, [old] = left_behind(1)
    new = msgspec.structs.replace(old, order_id=OrderId("77"))
    venue.orders = {new.order_id: new}
    lists = count()

    def alias(request: m.Request) -> m.Answer | None:
        if isinstance(request, m.ReadResting) and not next(lists):
            return m.Ok(m.OrdersBody((old,), ""))  # it lags behind an amend
        if isinstance(request, m.CancelResting) and request.order_id == old.order_id:
            left = Qty(10) if venue.orders.pop(new.order_id, None) else Qty(0)
            return m.Ok(m.CancelBody(over(new), left))
        if isinstance(request, m.ReadOrder) and request.order_id == old.order_id:
            return m.Ok(m.OrderBody(over(new)))
        return None

    venue.meddle = alias
    venue.start()
    venue.go(5)
    assert venue.trader.phase is Phase.QUOTING
    assert len(venue.orders) == 4
    assert "answer_not_credible" not in venue.notes


def test_an_order_of_an_earlier_run_is_cancelled_though_its_cancel_was_answered_with_another():
    venue, [first, second] = left_behind(1, 2)
    answers = [m.Ok(m.CancelBody(over(second), Qty(10)))]

    def mix_up(request: m.Request) -> m.Answer | None:
        mixes = isinstance(request, m.CancelResting) and request.order_id == first.order_id
        return answers.pop() if mixes and answers else None

    venue.meddle = mix_up
    venue.start()
    venue.go(10)
    assert not answers
    assert venue.trader.phase is Phase.QUOTING
    assert not {first.order_id, second.order_id} & venue.orders.keys()
    assert venue.knows_its_orders()
