"""Claims about self-trade prevention: who shrinks, who goes on, how orders end (S19, S20)."""

import pytest

from tests.builders.core.world import CASH, FOK, GTC, IOC, NO, YES, World
from venue.engine.messages import FillBooked, TradePrinted
from venue.wire.model import OrderStatus


def test_both_orders_shrink_by_the_overlap_and_nothing_is_printed():
    world = World()
    resting = world.buy("a", YES, 50, 10)
    incoming = world.buy("a", NO, 50, 4)
    assert world.told(TradePrinted) == world.told(FillBooked) == []
    assert (world.now(resting).remaining_qty, incoming.order.remaining_qty) == (6, 0)
    assert (world.now(resting).filled_qty, incoming.order.filled_qty) == (0, 0)


def test_the_order_that_goes_on_with_nothing_filled_stays_open():
    world = World()
    resting = world.buy("a", YES, 50, 10)
    world.buy("a", NO, 50, 4)
    assert (world.now(resting).status, world.now(resting).qty) == (OrderStatus.OPEN, 10)


def test_the_order_that_goes_on_with_something_filled_stays_partially_filled():
    world = World()
    resting = world.buy("a", YES, 50, 10)
    world.buy("b", NO, 50, 3)
    world.buy("a", NO, 50, 4)
    assert world.now(resting).status is OrderStatus.PARTIALLY_FILLED


@pytest.mark.parametrize("tif", [GTC, IOC])
def test_an_incoming_order_consumed_by_it_ends_canceled(tif):
    world = World()
    world.buy("a", YES, 50, 10)
    assert world.buy("a", NO, 50, 4, tif).order.status is OrderStatus.CANCELED


def test_a_resting_order_consumed_by_it_ends_canceled_and_locks_nothing():
    world = World()
    resting = world.buy("a", YES, 50, 4)
    world.buy("a", NO, 50, 10, IOC)
    assert world.now(resting).status is OrderStatus.CANCELED
    assert world.balance("a") == (CASH, 0)


def test_an_order_that_lost_shares_to_it_and_traded_the_rest_ends_canceled():
    world = World()
    resting = world.buy("a", YES, 50, 10)
    world.buy("a", NO, 50, 4)
    world.buy("b", NO, 50, 6)
    state = world.now(resting)
    assert (state.status, state.qty, state.filled_qty) == (OrderStatus.CANCELED, 10, 6)


def test_it_happens_in_price_time_order_and_the_rest_goes_on():
    world = World()
    world.buy("b", YES, 52, 1)
    own = world.buy("a", YES, 51, 2)
    world.buy("c", YES, 50, 3)
    order = world.buy("a", NO, 50, 10).order
    assert [fill.user_id for fill in world.told(FillBooked)] == ["b", "a", "c", "a"]
    assert world.now(own).status is OrderStatus.CANCELED
    assert (order.filled_qty, order.remaining_qty, order.qty) == (4, 4, 10)


def test_a_better_offer_of_another_is_taken_before_an_own_order_is_met():
    world = World()
    own = world.buy("a", YES, 50, 5)
    world.buy("b", YES, 51, 5)
    world.buy("a", NO, 50, 5)
    assert world.now(own).remaining_qty == 5


def test_a_fok_that_meets_an_own_order_first_does_nothing_to_either():
    world = World()
    world.buy("b", YES, 51, 5)
    own = world.buy("a", YES, 50, 5)
    world.buy("c", YES, 50, 5)
    order = world.buy("a", NO, 50, 6, FOK).order
    assert (order.status, order.filled_qty) == (OrderStatus.CANCELED, 0)
    assert world.now(own).remaining_qty == 5


def test_a_fok_complete_before_its_own_order_is_filled():
    world = World()
    world.buy("b", YES, 51, 5)
    world.buy("a", YES, 50, 5)
    assert world.buy("a", NO, 50, 5, FOK).order.status is OrderStatus.FILLED
