"""Claims about what is kept of an order that has ended: little, and as much as ever is asked."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.core.histories import uuid
from tests.builders.core.world import FOK, IOC, NO, YES, World
from venue.engine import messages as m
from venue.wire.model import OrderStatus
from venue.wire.names import OrderId

ENDED_ORDER_BYTES_MAX = 250


def test_a_closed_order_takes_few_bytes():
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
def test_a_closed_order_reads_as_its_last_event(ending):
    world, last_states = World(("0.01", "0.02")), {}
    plain = world.do

    def do(command):
        answer = plain(command)
        last_states.update({c.order.order_id: c.order for c in world.events_of(m.OrderChanged)})
        return answer

    world.do = do
    placed = ENDINGS[ending](world)
    order_id = placed.order.order_id
    assert world.engine.order(order_id) == last_states[order_id]
    assert last_states[order_id].status in (
        OrderStatus.FILLED,
        OrderStatus.CANCELED,
        OrderStatus.EXPIRED,
    )


@given(st.text(max_size=25) | st.from_regex(r"[0-9 _+.-]{0,25}", fullmatch=True))
def test_a_malformed_order_id_finds_no_order(text):
    world = World()
    ended = world.cancel(world.buy("a", YES, 40, 10)).order.order_id
    for wrong in (text, f"0{ended}", f" {ended}", f"{ended}_", f"+{ended}", ended + "0" * 5_000):
        if wrong != ended:
            assert world.engine.order(OrderId(wrong)) is None
