"""Claims about amends: size, place, price, funds, and what they leave alone (S13, S43)."""

import pytest

from tests.builders.core.world import CASH, NO, SELL, YES, World
from venue.engine.messages import FillBooked, OrderChanged, TradePrinted
from venue.wire.errors import Code
from venue.wire.model import OrderStatus


def first_served(world, price=50):
    """Who trades first against one share of NO at the level of a YES price."""
    world.buy("d", NO, 100 - price, 1)
    return world.told(FillBooked)[0].user_id


def two_in_line():
    world = World()
    first = world.buy("a", YES, 50, 10)
    world.buy("b", YES, 50, 10)
    return world, first


def test_qty_is_the_new_remaining_size_and_filled_comes_on_top():
    world = World()
    order = world.buy("a", YES, 50, 10)
    world.buy("b", NO, 50, 4)
    amended = world.amend(order, qty=3).order
    assert (amended.qty, amended.filled_qty, amended.remaining_qty) == (7, 4, 3)


def test_a_price_alone_keeps_the_remaining_size():
    world = World()
    order = world.buy("a", YES, 50, 10)
    amended = world.amend(order, price=45).order
    assert (amended.price, amended.remaining_qty) == (45, 10)
    assert world.bids() == [(45, 10)]


def test_the_order_id_and_the_creation_instant_stay():
    world = World()
    order = world.buy("a", YES, 50, 10)
    amended = world.amend(order, price=45, qty=20).order
    assert amended.order_id == order.order.order_id
    assert amended.created_ns == order.order.created_ns < amended.updated_ns


@pytest.mark.parametrize("qty", [1, 9, 10])
def test_less_or_as_much_at_the_same_price_keeps_the_place(qty):
    world, first = two_in_line()
    assert world.amend(first, price=50, qty=qty).kept_place
    assert first_served(world) == "a"


def test_more_at_the_same_price_goes_to_the_back():
    world, first = two_in_line()
    assert not world.amend(first, qty=11).kept_place
    assert first_served(world) == "b"


def test_another_price_goes_to_the_back_and_so_does_the_way_home():
    world, first = two_in_line()
    assert not world.amend(first, price=49).kept_place
    assert not world.amend(first, price=50).kept_place
    assert first_served(world) == "b"


def test_a_price_that_crosses_trades_at_once_as_taker():
    world = World(rates=("0", "0.08"))
    order = world.buy("a", YES, 50, 100)
    world.buy("b", NO, 40, 100)
    amended = world.amend(order, price=60).order
    fills = {fill.user_id: fill for fill in world.told(FillBooked)}
    assert amended.status is OrderStatus.FILLED
    assert (fills["a"].liquidity, fills["a"].fee_cents) == ("taker", 192)
    assert (fills["b"].liquidity, fills["b"].fee_cents) == ("maker", 0)


def test_what_a_crossing_amend_leaves_rests_at_the_new_price():
    world = World()
    order = world.buy("a", YES, 50, 10)
    world.buy("b", NO, 40, 4)
    amended = world.amend(order, price=60).order
    assert (amended.status, amended.remaining_qty) == (OrderStatus.PARTIALLY_FILLED, 6)
    assert world.bids() == [(60, 6)]


def test_a_crossing_amend_shrinks_an_own_order_and_prints_nothing():
    world = World()
    order = world.buy("a", YES, 50, 10)
    own = world.buy("a", NO, 40, 4)
    amended = world.amend(order, price=60).order
    assert world.told(TradePrinted) == []
    assert world.now(own).status is OrderStatus.CANCELED
    assert (amended.qty, amended.remaining_qty) == (10, 6)


def test_a_smaller_buy_releases_what_it_no_longer_needs():
    world = World()
    order = world.buy("a", YES, 50, 10)
    world.amend(order, qty=4)
    assert world.balance("a") == (CASH - 200, 200)


def test_growth_is_paid_from_available_cash_to_the_last_cent():
    world = World(cash=1_000)
    order = world.buy("a", YES, 50, 10)
    assert world.amend(order, qty=21).code is Code.INSUFFICIENT_BALANCE
    assert world.amend(order, qty=20).order.reserved_cents == 1_000


def test_growth_by_one_cent_more_than_there_is_is_refused():
    world = World(cash=999)
    order = world.buy("a", YES, 50, 10)
    assert world.amend(order, qty=20).code is Code.INSUFFICIENT_BALANCE


def test_a_dearer_price_is_paid_from_available_cash():
    world = World(cash=1_000)
    order = world.buy("a", YES, 50, 19)
    assert world.amend(order, price=53).code is Code.INSUFFICIENT_BALANCE
    assert world.amend(order, price=52).order.reserved_cents == 52 * 19


def test_a_sell_grows_up_to_the_free_shares():
    world = World()
    world.give("a", YES, 10)
    order = world.place("a", YES, SELL, 60, 4)
    world.place("a", YES, SELL, 61, 3)
    assert world.amend(order, qty=8).code is Code.INSUFFICIENT_SHARES
    assert world.amend(order, qty=7).order.remaining_qty == 7


def test_a_refused_amend_leaves_the_order_in_its_place():
    world, first = two_in_line()
    assert world.amend(first, qty=1_000_000).code is Code.INSUFFICIENT_BALANCE
    assert first_served(world) == "a"


@pytest.mark.parametrize(
    ("price", "qty", "code"),
    [
        (0, None, Code.INVALID_PRICE),
        (100, None, Code.INVALID_PRICE),
        (None, 0, Code.INVALID_QTY),
        (None, -1, Code.INVALID_QTY),
        (None, 1_000_001, Code.INVALID_QTY),
        (None, 1_000_000, Code.INVALID_QTY),
        (99, 1_010_102, Code.INVALID_QTY),
        (0, 0, Code.INVALID_PRICE),
    ],
)
def test_an_amend_beyond_what_an_order_may_be_is_refused(price, qty, code):
    world = World(cash=10**12)
    order = world.buy("a", YES, 50, 10)
    world.buy("b", NO, 50, 1)
    # With one share filled, a million more would make the order larger than an order may be.
    assert world.amend(order, price=price, qty=qty).code is code


def test_an_order_may_be_amended_up_to_the_ceilings():
    world = World(cash=10**12)
    order = world.buy("a", YES, 50, 10)
    assert world.amend(order, price=99, qty=1_000_000).order.remaining_qty == 1_000_000


@pytest.mark.parametrize("how", ["cancel", "fill"])
def test_a_finished_order_is_not_amended(how):
    world = World()
    order = world.buy("a", YES, 50, 10)
    if how == "cancel":
        world.cancel(order)
    else:
        world.buy("b", NO, 50, 10)
    assert world.amend(order, price=49).code is Code.ORDER_NOT_CANCELABLE


def test_anothers_order_is_not_found():
    world = World()
    order = world.buy("a", YES, 50, 10)
    assert world.amend(order, price=49, user="b").code is Code.ORDER_NOT_FOUND


def test_an_amend_to_the_same_order_moves_nothing_but_the_instant():
    world, first = two_in_line()
    before = world.now(first)
    after = world.amend(first, price=50, qty=10).order
    assert (after.qty, after.remaining_qty) == (before.qty, before.remaining_qty)
    assert [type(event) for event in world.events] == [OrderChanged]
