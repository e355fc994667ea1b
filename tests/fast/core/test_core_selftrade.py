"""Claims about self-trade prevention: who shrinks, who goes on, how orders end (S19, S20)."""

from tests.builders.core.world import CASH, FOK, IOC, NO, YES, World
from venue.wire.model import OrderStatus


def test_a_partly_filled_order_shrunk_by_an_own_order_stays_partially_filled():
    world = World()
    resting = world.buy("a", YES, 50, 10)
    world.buy("b", NO, 50, 3)
    world.buy("a", NO, 50, 4)
    assert world.now(resting).status is OrderStatus.PARTIALLY_FILLED


def test_a_resting_order_consumed_by_an_own_order_ends_canceled_and_reserves_nothing():
    world = World()
    resting = world.buy("a", YES, 50, 4)
    world.buy("a", NO, 50, 10, IOC)
    assert world.now(resting).status is OrderStatus.CANCELED
    assert world.balance("a") == (CASH, 0)


def test_an_order_shrunk_by_an_own_order_and_filled_for_the_rest_ends_canceled():
    world = World()
    resting = world.buy("a", YES, 50, 10)
    world.buy("a", NO, 50, 4)
    world.buy("b", NO, 50, 6)
    state = world.now(resting)
    assert (state.status, state.qty, state.filled_qty) == (OrderStatus.CANCELED, 10, 6)


def test_a_better_offer_of_another_user_is_taken_before_an_own_order():
    world = World()
    own = world.buy("a", YES, 50, 5)
    world.buy("b", YES, 51, 5)
    world.buy("a", NO, 50, 5)
    assert world.now(own).remaining_qty == 5


def test_a_fok_filled_before_it_meets_an_own_order_is_filled():
    world = World()
    world.buy("b", YES, 51, 5)
    world.buy("a", YES, 50, 5)
    assert world.buy("a", NO, 50, 5, FOK).order.status is OrderStatus.FILLED
