"""Claims about re-sends: the same body gives the same order for ever, another body none (S14)."""

import pytest

from tests.builders.core.world import FOK, NO, YES, M, World
from venue.engine.messages import HaltMarket, ResolveMarket, SetVenueState
from venue.wire.errors import Code
from venue.wire.model import OrderStatus, VenueState


def test_a_resent_create_is_one_order_without_events():
    world = World()
    first = world.buy("a", YES, 50, 10, cid="x")
    again = world.buy("a", YES, 50, 10, cid="x")
    assert (first.fresh, again.fresh) == (True, False)
    assert again.order == first.order
    assert world.events == []
    assert world.bids() == [(50, 10)]


def test_a_resend_is_compared_with_the_create_not_with_its_amends():
    world = World()
    order = world.buy("a", YES, 50, 10, cid="x")
    world.amend(order, price=45, qty=3)
    assert world.buy("a", YES, 50, 10, cid="x").order.price == 45
    assert world.buy("a", YES, 45, 3, cid="x").code is Code.DUPLICATE_ORDER_ID


@pytest.mark.parametrize("end", ["filled", "cancelled", "expired", "fok"])
def test_a_resend_finds_a_closed_order(end):
    world = World()
    tif = (FOK,) if end == "fok" else ()
    order = world.buy("a", YES, 50, 10, *tif, cid="x")
    if end == "filled":
        world.buy("b", NO, 50, 10)
    elif end == "cancelled":
        world.cancel(order)
    elif end == "expired":
        world.do(ResolveMarket(M, YES))
    again = world.buy("a", YES, 50, 10, *tif, cid="x")
    assert again.order == world.now(order)
    assert again.order.status in (OrderStatus.FILLED, OrderStatus.CANCELED, OrderStatus.EXPIRED)


@pytest.mark.parametrize(
    "stop",
    [
        SetVenueState(VenueState.HALTED),
        SetVenueState(VenueState.CANCEL_ONLY),
        HaltMarket(M),
        ResolveMarket(M, NO),
    ],
)
def test_a_resend_is_answered_while_market_or_venue_is_stopped(stop):
    world = World()
    first = world.buy("a", YES, 50, 10, cid="x")
    world.do(stop)
    again = world.buy("a", YES, 50, 10, cid="x")
    assert again.order.order_id == first.order.order_id


@pytest.mark.parametrize("changed", ["price", "qty", "outcome", "tif", "market"])
def test_another_body_with_the_same_client_order_id_is_rejected(changed):
    world = World()
    world.buy("a", YES, 50, 10, cid="x")
    price, qty = 51 if changed == "price" else 50, 11 if changed == "qty" else 10
    outcome = NO if changed == "outcome" else YES
    more = {"tif": FOK} if changed == "tif" else {}
    more |= {"market": M.replace("101", "102")} if changed == "market" else {}
    assert world.buy("a", outcome, price, qty, cid="x", **more).code is Code.DUPLICATE_ORDER_ID
    assert world.bids() == [(50, 10)]


def test_a_rejected_create_does_not_use_up_its_client_order_id():
    world = World(cash=100)
    assert world.buy("a", YES, 50, 10, cid="x").code is Code.INSUFFICIENT_BALANCE
    assert world.buy("a", YES, 50, 1, cid="x").fresh


def test_a_resent_budget_order_reports_the_same_spent_cents():
    world = World(rates=("0", "0.08"))
    world.buy("b", NO, 50, 10)
    first = world.spend("a", YES, 50, 200, cid="x")
    again = world.spend("a", YES, 50, 200, cid="x")
    assert (again.fresh, again.spent_cents, again.order) == (False, first.spent_cents, first.order)
    assert first.spent_cents > 0


def test_a_budget_and_a_size_with_one_client_order_id_are_different_bodies():
    world = World()
    world.buy("b", NO, 50, 10)
    world.spend("a", YES, 50, 200, cid="x")
    assert world.buy("a", YES, 50, 4, cid="x").code is Code.DUPLICATE_ORDER_ID
