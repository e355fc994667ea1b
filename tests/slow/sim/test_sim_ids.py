"""Claims about a simulated venue on which an amended order goes on under another id (S13)."""

from dataclasses import replace

from bot.core import messages as m
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.scenario import draw
from bot.lab.sim.venue import CROWD, SimulatedVenue
from venue.engine import messages as v
from venue.wire.errors import Code
from venue.wire.model import OrderStatus
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId
from venue.wire.requests import Amend, QtyOrder, TimeInForce

START_NS = 1_800_000_000_000_000_000


def order(market, name, outcome=Outcome.YES, price=40, qty=10):
    body = (market, outcome, Side.BUY, Price(price), Qty(qty), TimeInForce.GTC)
    return QtyOrder(*body, ClientOrderId(name))


def opened(**variants):
    """A calm venue with these variants, and one of its markets."""
    odds = replace(draw(0, "calm"), variants=variants)
    exchange = SimulatedVenue(odds, START_NS)
    exchange.open_accounts(odds, START_NS)
    return exchange, next(exchange.all_markets())


def test_an_amend_gives_a_new_order_id_and_ends_the_old_one():
    exchange, market = opened(amend_ids="change")
    changes = []
    exchange.watchers.append(lambda _, __, events, ___: changes.extend(events))
    placed = exchange.execute(v.PlaceOrder(MAKER, order(market, "ours")), START_NS)
    theirs = order(market, "theirs", Outcome.NO, 60, 3)
    exchange.execute(v.PlaceOrder(CROWD[0], theirs), START_NS + 1)
    first_id = placed.order.order_id
    amended = exchange.execute(v.AmendOrder(MAKER, first_id, Amend(Price(38))), START_NS + 2)
    assert amended.order.order_id != first_id
    assert (amended.order.filled_qty, amended.order.remaining_qty) == (3, 7)
    ended = [
        event.order
        for event in changes
        if isinstance(event, v.OrderChanged) and event.order.order_id == first_id
    ][-1]
    assert (ended.status, ended.filled_qty) == (OrderStatus.CANCELED, 3)
    fills = [event for event in changes if isinstance(event, v.FillBooked)]
    assert {event.order_id for event in fills if event.user_id == MAKER} == {first_id}
    again = exchange.execute(v.CancelOrder(MAKER, first_id), START_NS + 3)
    assert isinstance(again, v.Refused)
    assert again.code is Code.ORDER_NOT_CANCELABLE
    gone = exchange.execute(v.CancelOrder(MAKER, amended.order.order_id), START_NS + 4)
    assert gone.reduced_by == 7
    resent = exchange.execute(v.PlaceOrder(MAKER, order(market, "ours")), START_NS + 5)
    assert resent.order.order_id == amended.order.order_id


def test_a_second_cancel_shows_the_order_under_the_requested_id():
    """Fills made after an amend belong to the new id: shown under both they would count twice."""
    exchange, market = opened(amend_ids="change", second_cancel="accepted")
    first_id = exchange.execute(v.PlaceOrder(MAKER, order(market, "ours")), START_NS).order.order_id
    amended = exchange.execute(v.AmendOrder(MAKER, first_id, Amend(Price(38))), START_NS + 1)
    theirs = order(market, "theirs", Outcome.NO, 62, 10)
    exchange.execute(v.PlaceOrder(CROWD[0], theirs), START_NS + 2)
    shown = [
        exchange.front.perform(m.CancelResting(order_id), START_NS + 3).body.order
        for order_id in (first_id, amended.order.order_id)
    ]
    assert [each.order_id for each in shown] == [first_id, amended.order.order_id]
    assert [(each.status, each.filled_qty) for each in shown] == [
        (OrderStatus.CANCELED, 0),
        (OrderStatus.FILLED, 10),
    ]


def test_without_that_variant_an_amend_keeps_the_order_id():
    exchange, market = opened()
    placed = exchange.execute(v.PlaceOrder(MAKER, order(market, "ours")), START_NS)
    order_id = placed.order.order_id
    amended = exchange.execute(v.AmendOrder(MAKER, order_id, Amend(Price(38))), START_NS + 1)
    assert amended.order.order_id == order_id
