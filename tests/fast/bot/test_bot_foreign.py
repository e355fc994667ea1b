"""Claims about orders of somebody else beside a write of ours that has no answer yet."""

import msgspec
import pytest

from bot.core import messages as m
from tests.builders.bot.meddled import Held, Meddled
from venue.wire import model
from venue.wire.names import OrderId


def beside_an_undecided_create(**other: object) -> Meddled:
    """Two rungs quoted, when the order made first, which buys NO, ends, and of the create that
    follows nothing is heard; the lists show a stranger that stands where it did but for `other`."""
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


def test_an_order_that_may_be_a_create_without_an_answer_is_not_somebody_elses():
    venue = beside_an_undecided_create()
    assert "foreign_orders" not in venue.trader.out.findings


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"outcome": model.ShownOutcome.YES}, id="outcome"),
        pytest.param({"side": model.ShownSide.SELL}, id="side"),
        pytest.param({"market_id": Meddled().markets[1].market_id}, id="rung"),
    ],
)
def test_an_order_that_cannot_be_that_create_is_somebody_elses_at_once(other):
    venue = beside_an_undecided_create(**other)
    assert "foreign_orders" in venue.trader.out.findings
