"""Claims about cancels: what is removed and released, and what a second one says (S31)."""

import pytest

from tests.builders.core.world import CASH, FOK, IOC, NO, YES, M, World
from venue.engine.messages import ResolveMarket, SetVenueState
from venue.wire.errors import Code
from venue.wire.model import OrderStatus, VenueState


def test_a_cancel_removes_what_remains_and_releases_its_reserve():
    world = World()
    order = world.buy("a", YES, 50, 10)
    world.buy("b", NO, 50, 4)
    cancelled = world.cancel(order)
    assert (cancelled.reduced_by, cancelled.order.filled_qty) == (6, 4)
    assert cancelled.order.status is OrderStatus.CANCELED
    assert world.balance("a") == (CASH - 200, 0)
    assert world.bids() == []


def test_a_second_cancel_removes_nothing_and_has_no_event():
    world = World()
    order = world.buy("a", YES, 50, 10)
    first = world.cancel(order)
    second = world.cancel(order)
    assert (second.reduced_by, second.order) == (0, first.order)
    assert world.events == []


def order_ended_by(how, world):
    order = world.buy("a", YES, 50, 10) if how in ("filled", "expired", "self-trade") else None
    if how == "filled":
        world.buy("b", NO, 50, 10)
    elif how == "expired":
        world.do(ResolveMarket(M, YES))
    elif how == "self-trade":
        world.buy("a", NO, 50, 10)
    elif how == "ioc":
        order = world.buy("a", YES, 50, 10, IOC)
    elif how == "fok":
        order = world.buy("a", YES, 50, 10, FOK)
    elif how == "budget":
        world.buy("b", NO, 50, 10)
        order = world.spend("a", YES, 50, 100)
    return order


@pytest.mark.parametrize("how", ["filled", "expired", "self-trade", "ioc", "fok", "budget"])
def test_an_order_that_ended_without_a_cancel_is_not_cancelable(how):
    world = World()
    order = order_ended_by(how, world)
    assert world.cancel(order).code is Code.ORDER_NOT_CANCELABLE


def test_another_user_s_order_is_not_found_resting_or_closed():
    world = World()
    order = world.buy("a", YES, 50, 10)
    resting = world.cancel(order, user="b")
    world.cancel(order)
    over = world.cancel(order, user="b")
    assert resting == over
    assert over.code is Code.ORDER_NOT_FOUND


def test_a_halted_venue_rejects_cancels_also_repeated_ones():
    world = World()
    order, gone = world.buy("a", YES, 50, 10), world.buy("a", YES, 49, 10)
    world.cancel(gone)
    world.do(SetVenueState(VenueState.HALTED))
    assert world.cancel(order).code is Code.VENUE_HALTED
    assert world.cancel(gone).code is Code.VENUE_HALTED
    assert world.now(order).status is OrderStatus.OPEN
