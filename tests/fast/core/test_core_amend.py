"""Claims about amends: size, place, price, funds, and what they leave alone (S13, S43)."""

import pytest

from tests.builders.core.world import NO, YES, World
from venue.engine.messages import FillBooked, OrderChanged, TradePrinted
from venue.wire.errors import Code
from venue.wire.model import OrderStatus


def first_served(world, price=50):
    """Who trades first against one share of NO at the level of a YES price."""
    world.buy("d", NO, 100 - price, 1)
    return world.events_of(FillBooked)[0].user_id


def two_in_line():
    world = World()
    first = world.buy("a", YES, 50, 10)
    world.buy("b", YES, 50, 10)
    return world, first


@pytest.mark.parametrize(
    ("amends", "kept_place"),
    [
        ([{"price": 50, "qty": 1}], True),
        ([{"price": 50, "qty": 9}], True),
        ([{"price": 50, "qty": 10}], True),
        ([{"qty": 11}], False),
        ([{"price": 49}, {"price": 50}], False),
    ],
)
def test_an_amend_keeps_queue_priority_only_at_its_price_without_more_size(amends, kept_place):
    world, first = two_in_line()
    assert [world.amend(first, **amend).kept_place for amend in amends] == [kept_place] * len(
        amends
    )
    assert first_served(world) == ("a" if kept_place else "b")


def test_an_amend_to_a_crossing_price_trades_as_taker():
    world = World(rates=("0", "0.08"))
    order = world.buy("a", YES, 50, 100)
    world.buy("b", NO, 40, 100)
    amended = world.amend(order, price=60).order
    fills = {fill.user_id: fill for fill in world.events_of(FillBooked)}
    assert amended.status is OrderStatus.FILLED
    assert (fills["a"].liquidity, fills["a"].fee_cents) == ("taker", 192)
    assert (fills["b"].liquidity, fills["b"].fee_cents) == ("maker", 0)


def test_a_crossing_amend_shrinks_an_own_order_without_a_print():
    world = World()
    order = world.buy("a", YES, 50, 10)
    own = world.buy("a", NO, 40, 4)
    amended = world.amend(order, price=60).order
    assert world.events_of(TradePrinted) == []
    assert world.now(own).status is OrderStatus.CANCELED
    assert (amended.qty, amended.remaining_qty) == (10, 6)


@pytest.mark.parametrize(
    ("cash", "qty", "too_much", "affordable", "reserve"),
    [
        (1_000, 10, {"qty": 21}, {"qty": 20}, 1_000),
        (999, 10, {"qty": 20}, {"qty": 19}, 950),
        (1_000, 19, {"price": 53}, {"price": 52}, 52 * 19),
    ],
)
def test_an_amend_may_reserve_the_last_cent_of_available_cash(
    cash, qty, too_much, affordable, reserve
):
    world = World(cash=cash)
    order = world.buy("a", YES, 50, qty)
    assert world.amend(order, **too_much).code is Code.INSUFFICIENT_BALANCE
    assert world.amend(order, **affordable).order.reserved_cents == reserve


def test_a_rejected_amend_keeps_queue_priority():
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
def test_an_amend_beyond_the_bounds_of_an_order_is_rejected(price, qty, code):
    world = World(cash=10**12)
    order = world.buy("a", YES, 50, 10)
    world.buy("b", NO, 50, 1)
    # With one share filled, a million more would make the order larger than an order may be.
    assert world.amend(order, price=price, qty=qty).code is code


def test_an_order_may_be_amended_up_to_its_bounds():
    world = World(cash=10**12)
    order = world.buy("a", YES, 50, 10)
    assert world.amend(order, price=99, qty=1_000_000).order.remaining_qty == 1_000_000


def test_an_amend_without_a_change_moves_only_the_instant():
    world, first = two_in_line()
    before = world.now(first)
    after = world.amend(first, price=50, qty=10).order
    assert (after.qty, after.remaining_qty) == (before.qty, before.remaining_qty)
    assert [type(event) for event in world.events] == [OrderChanged]
