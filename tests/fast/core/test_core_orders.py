"""Claims about what is kept of an order that has ended: little, and as much as ever is asked."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.core.histories import uuid
from tests.builders.core.world import FOK, GTC, IOC, NO, SELL, YES, World
from venue.engine import messages as m
from venue.engine.orders import _unpack
from venue.wire.errors import Code
from venue.wire.model import OrderStatus
from venue.wire.names import OrderId

ENDED_ORDER_BYTES_MAX = 250


def test_an_order_that_has_ended_takes_few_bytes():
    world, count = World(), 4_000
    for number in range(500):
        world.cancel(world.buy("a", YES, 40, 10, cid=uuid(number)))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(count):
            world.cancel(world.buy("a", YES, 40, 10, cid=uuid(10**6 + number)))
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown / count <= ENDED_ORDER_BYTES_MAX


def test_only_what_rests_is_kept_as_an_object():
    world = World()
    rests = world.buy("a", YES, 40, 10)
    world.cancel(world.buy("a", YES, 41, 10))
    world.buy("a", YES, 42, 10, IOC)
    orders = world.engine._orders
    assert list(orders.resting) == [rests.order.order_id]
    assert len(orders.ended) == 2


ENDINGS = {
    "canceled by its owner": lambda w: w.cancel(w.buy("a", YES, 40, 10, cid="x")),
    "an ioc with nothing to take": lambda w: w.buy("a", NO, 40, 10, IOC, cid="x"),
    "a fok with nothing to take": lambda w: w.buy("a", YES, 40, 10, FOK, cid="x"),
    "filled": lambda w: (w.buy("b", NO, 60, 10), w.buy("a", YES, 40, 10, cid="x"))[1],
    "filled while it rested": lambda w: (w.buy("a", YES, 40, 10, cid="x"), w.buy("b", NO, 60, 10))[
        0
    ],
    "filled in part and canceled": lambda w: (
        w.buy("b", NO, 60, 3),
        w.cancel(w.buy("a", YES, 40, 10, cid="x")),
    )[1],
    "amended and canceled": lambda w: w.cancel(w.amend(w.buy("a", YES, 40, 9, cid="x"), 45, 12)),
    "a budget": lambda w: (w.buy("b", NO, 60, 10), w.spend("a", YES, 45, 333, cid="x"))[1],
    "a sell": lambda w: (w.give("a", YES, 5), w.cancel(w.sell("a", YES, 60, 5, cid="x")))[1],
    "expired": lambda w: (w.buy("a", YES, 40, 10, cid="x"), w.do(m.ResolveMarket(uuid(101), NO)))[
        0
    ],
    "eaten by self-trade prevention": lambda w: (
        w.buy("a", YES, 40, 10, cid="x"),
        w.buy("a", NO, 60, 10, IOC),
    )[0],
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_ended_order_is_told_as_its_last_event_told_it(ending):
    world, told = World(("0.01", "0.02")), {}
    plain = world.do

    def do(command):
        answer = plain(command)
        told.update({c.order.order_id: c.order for c in world.told(m.OrderChanged)})
        return answer

    world.do = do
    placed = ENDINGS[ending](world)
    order_id = placed.order.order_id
    assert world.engine.order(order_id) == told[order_id]
    assert told[order_id].status in (OrderStatus.FILLED, OrderStatus.CANCELED, OrderStatus.EXPIRED)
    assert order_id not in world.engine._orders.resting


def test_a_budget_order_that_has_ended_is_sent_again_and_tells_what_it_spent():
    world = World(("0.01", "0.02"))
    world.buy("b", NO, 60, 10)
    first = world.spend("a", YES, 45, 333, cid="x")
    again = world.spend("a", YES, 45, 333, cid="x")
    assert first.spent_cents > 0
    assert (again.fresh, again.spent_cents, again.order) == (False, first.spent_cents, first.order)


def test_an_order_amended_before_it_ended_is_still_known_by_what_was_first_asked():
    world = World()
    placed = world.buy("a", YES, 40, 10, cid="x")
    world.amend(placed, price=44, qty=20)
    world.cancel(placed)
    again = world.buy("a", YES, 40, 10, cid="x")
    assert (again.fresh, again.order.price, again.order.qty) == (False, 44, 20)
    assert world.buy("a", YES, 44, 20, cid="x").code is Code.DUPLICATE_ORDER_ID


def test_an_ended_order_is_not_another_users_nor_to_be_amended():
    world = World()
    placed = world.buy("a", YES, 40, 10)
    world.cancel(placed)
    assert world.cancel(placed, user="b").code is Code.ORDER_NOT_FOUND
    assert world.amend(placed, qty=3).code is Code.ORDER_NOT_CANCELABLE
    assert world.cancel(placed).reduced_by == 0


@given(st.text(max_size=25) | st.from_regex(r"[0-9 _+.-]{0,25}", fullmatch=True))
def test_a_text_that_is_no_order_id_finds_nothing(text):
    world = World()
    ended = world.cancel(world.buy("a", YES, 40, 10)).order.order_id
    for wrong in (text, f"0{ended}", f" {ended}", f"{ended}_", f"+{ended}", ended + "0" * 5_000):
        if wrong != ended:
            assert world.engine.order(OrderId(wrong)) is None


def test_every_word_of_an_order_survives_the_packing():
    world = World()
    seen = set()
    for outcome in (YES, NO):
        for tif in (GTC, IOC, FOK):
            world.give("a", outcome, 3)
            for placed in (
                world.buy("b", outcome, 10, 1, tif),
                world.place("a", outcome, SELL, 90, 1, tif),
            ):
                if placed.order.remaining_qty:
                    world.cancel(placed)
                state = world.now(placed)
                assert state.outcome is outcome
                assert state.time_in_force is tif
                assert state.side is placed.order.side
                seen.add(_unpack(world.engine._orders.ended[int(state.order_id)]).words)
    assert len(seen) == 12
