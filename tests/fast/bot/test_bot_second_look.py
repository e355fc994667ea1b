"""Claims about one row of a list that takes an order of ours away: it is looked at again, by id."""

from collections.abc import Callable

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.order import OwnOrder, State
from tests.builders.bot.meddled import Meddled, over, quoted
from venue.wire import model
from venue.wire.money import Price, Qty
from venue.wire.names import OrderId
from venue.wire.requests import Amend


@pytest.fixture
def venue() -> Meddled:
    """A venue on which the bot quotes two rungs."""
    return quoted(Meddled())


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
    """Have the first row of so many lists be wrong. Those lists, as they are read."""
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
def test_an_order_that_one_list_shows_to_be_gone_is_read_by_its_id_and_counts_on(venue, wrong):
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
def test_an_order_that_one_read_by_its_id_shows_to_be_gone_is_read_again_and_counts_on(
    venue, wrong
):
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
    look_at(venue, own)
    venue.go(2)
    assert asked_ns == [asked_ns[0], asked_ns[0] + venue.trader.desk._staleness.read_lag_ns]
    assert own.max_fillable == 10
    venue.go(15)
    assert venue.writes()[before:] == []
    assert venue.trader.out.inconsistencies.contradiction is None
    assert not venue.trader.out.findings


def look_at(venue: Meddled, own: OwnOrder) -> None:
    """Have an order read by its id."""
    own.read_due_ns = venue.now_ns
    venue.trader.desk._index(own, venue.now_ns)


def test_an_order_that_a_read_by_its_id_shows_to_be_over_is_over(venue):
    first, *_ = venue.orders
    own = venue.trader.desk.live_order(first)
    gone = over(venue.orders.pop(first))
    is_its = m.ReadOrder(first)
    venue.meddle = lambda request: m.Ok(m.OrderBody(gone)) if request == is_its else None
    look_at(venue, own)
    venue.go_until(lambda: not own.is_live)


def test_an_order_that_one_list_shows_to_be_over_amid_its_amend_is_not(venue):
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
def test_an_order_that_an_amend_gave_another_id_is_no_foreign_one_until_that_is_known(venue, lost):
    """lost: its answer is, and lists say so; else the answer comes late."""
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
    assert {each.order_id for each in desk.live_orders} == set(venue.orders)
