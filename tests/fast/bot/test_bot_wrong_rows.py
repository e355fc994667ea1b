"""One wrong row about an order of ours: the order is read again by its id and still counts."""

from collections.abc import Callable

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.order import OwnOrder, State
from tests.builders.bot.meddled import Meddled, over
from venue.wire import model
from venue.wire.money import Price, Qty
from venue.wire.names import OrderId
from venue.wire.requests import Amend

Wrong = Callable[[Meddled, model.Order], model.Order]


def on_another_market(venue: Meddled, row: model.Order) -> model.Order:
    there = next(each for each in venue.markets if each.market_id != row.market_id)
    return msgspec.structs.replace(row, market_id=there.market_id, ticker=there.ticker)


def of_another_outcome(_venue: Meddled, row: model.Order) -> model.Order:
    yes, no = model.ShownOutcome.YES, model.ShownOutcome.NO
    return msgspec.structs.replace(row, outcome=no if row.outcome is yes else yes)


def of_another_side(_venue: Meddled, row: model.Order) -> model.Order:
    buy, sell = model.ShownSide.BUY, model.ShownSide.SELL
    return msgspec.structs.replace(row, side=sell if row.side is buy else buy)


def cancelled(_venue: Meddled, row: model.Order) -> model.Order:
    return over(row)


def filled(_venue: Meddled, row: model.Order) -> model.Order:
    status = model.OrderStatus.FILLED
    return msgspec.structs.replace(row, status=status, filled_qty=row.qty, remaining_qty=Qty(0))


def shrunk(_venue: Meddled, row: model.Order) -> model.Order:
    return msgspec.structs.replace(row, remaining_qty=Qty(1))


def wrong_rows(venue: Meddled, wrong: Wrong, times: int) -> list[m.Request]:
    """The first row of so many lists is wrong; those lists as they are read."""
    read: list[m.Request] = []

    def meddle(request: m.Request) -> m.Answer | None:
        if not isinstance(request, m.ReadResting) or len(read) >= times:
            return None
        read.append(request)
        first, *others = venue.orders.values()
        return m.Ok(m.OrdersBody((wrong(venue, first), *others), ""))

    venue.meddle = meddle
    return read


@pytest.mark.parametrize(
    "wrong",
    [on_another_market, of_another_outcome, of_another_side, cancelled, filled, shrunk],
)
def test_an_order_that_one_list_shows_wrongly_is_read_by_its_id_and_still_counts(venue, wrong):
    first, *_ = venue.orders
    own = venue.trader.desk.live_order(first)
    before = len(venue.writes())
    read = wrong_rows(venue, wrong, 1)
    venue.go_until(lambda: read)
    assert venue.trader.desk.live_order(first) is own
    assert own.max_fillable == 10
    venue.go(15)
    assert venue.writes()[before:] == []
    assert venue.trader.desk.live_order(first) is own
    assert m.ReadOrder(first) in [request for _, request in venue.sent]
    assert venue.trader.out.inconsistencies.contradiction is None
    assert not venue.trader.out.findings


@pytest.mark.parametrize("wrong", [on_another_market, of_another_side, shrunk])
def test_an_order_that_one_read_shows_wrongly_is_read_again_and_still_counts(venue, wrong):
    first, *_ = venue.orders
    own = venue.trader.desk.live_order(first)
    before = len(venue.writes())
    asked_ns: list[int] = []

    def meddle(request: m.Request) -> m.Answer | None:
        if request != m.ReadOrder(first):
            return None
        asked_ns.append(venue.now_ns)
        row = venue.orders[first]
        return m.Ok(m.OrderBody(wrong(venue, row) if len(asked_ns) == 1 else row))

    venue.meddle = meddle
    read_by_id(venue, own)
    venue.go(2)
    assert asked_ns == [asked_ns[0], asked_ns[0] + venue.settings.staleness.read_lag_ns]
    assert own.max_fillable == 10
    venue.go(15)
    assert venue.writes()[before:] == []
    assert venue.trader.out.inconsistencies.contradiction is None
    assert not venue.trader.out.findings


def read_by_id(venue: Meddled, own: OwnOrder) -> None:
    """A list lacks an order, so that the trader reads it by its id."""
    venue.trader.desk.on_not_listed(own, venue.now_ns, venue.now_ns)


def test_an_order_that_a_read_by_its_id_shows_cancelled_is_closed(venue):
    first, *_ = venue.orders
    own = venue.trader.desk.live_order(first)
    gone = over(venue.orders.pop(first))
    is_its = m.ReadOrder(first)
    venue.meddle = lambda request: m.Ok(m.OrderBody(gone)) if request == is_its else None
    read_by_id(venue, own)
    venue.go_until(lambda: not own.is_live)


def test_a_list_that_shows_an_order_cancelled_during_its_amend_does_not_close_it(venue):
    first, *_ = venue.orders
    desk = venue.trader.desk
    own = desk.live_order(first)
    read = wrong_rows(venue, cancelled, 1)
    assert desk.send_amend(own, Amend(price=Price(own.price - 1)), "a test", venue.now_ns)
    [send] = [effect for effect in venue.trader.out.effects if isinstance(effect, m.Send)]
    shown = venue.answer(send.request)
    venue.go_until(lambda: read)
    venue.let(send, shown)
    assert (own.state, own.price) == (State.OPEN, venue.orders[first].price)
    assert desk.live_order(first) is own


@pytest.mark.parametrize("lost", [True, False])
def test_an_order_that_an_amend_gave_another_id_is_not_taken_for_a_foreign_one(venue, lost):
    first, *_ = venue.orders
    desk = venue.trader.desk
    own = desk.live_order(first)
    assert desk.send_amend(own, Amend(price=Price(own.price - 1)), "a test", venue.now_ns)
    [send] = [effect for effect in venue.trader.out.effects if isinstance(effect, m.Send)]
    venue.answer(send.request)
    row = venue.orders.pop(first)
    moved = msgspec.structs.replace(row, order_id=OrderId("77"))
    venue.orders[moved.order_id] = moved

    def meddle(request: m.Request) -> m.Answer | None:
        return m.Ok(m.OrderBody(over(row))) if request == m.ReadOrder(first) else None

    venue.meddle = meddle
    if lost:
        venue.let(send, m.Unknown("lost"))
    else:
        venue.go(5)
        venue.let(send, m.Ok(m.OrderBody(moved)))
    venue.go_until(lambda: desk.live_order(moved.order_id) is own)
    venue.go(10)
    assert "amends_off" in venue.notes
    assert "foreign_orders" not in venue.notes
    assert not venue.trader.out.findings
    assert venue.knows_its_orders()
