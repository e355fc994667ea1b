"""Claims about what of ours rested when: from answers and fills, between answers too."""

import pytest
from msgspec import structs

from bot.core import messages as m
from bot.lab.own_orders import OwnOrders
from tests.builders.what_if.made import MARKET, book, fill, ns, order
from venue.wire.money import BookSide, Price, Qty


def own(*bodies):
    follows = OwnOrders()
    for body in bodies:
        follows.on_message(m.Response(m.RequestId(1), m.Ok(body)))
    return follows


def rests(follows, at, price, side=BookSide.BID):
    """Shares of ours at a price at a second."""
    return follows.resting(MARKET, ns(at)).get((side, Price(price)), 0)


def partly(filled: int, at: float):
    """The order of ten at 40 since second 1, as it is shown later, so much of it filled."""
    left = 10 - filled
    return order("1", 40, left, at, filled=filled, status="partially_filled", created=1)


def fills(*rows: tuple[int, float]):
    return m.FillsBody(tuple(fill("1", 40, qty, at) for qty, at in rows), "")


CREATED = m.OrderBody(order("1", 40, 10, 1))
CANCELLED = order("1", 40, 0, 5, status="canceled", created=1)
RESTING = {
    "from its create until its cancel": (
        [CREATED, m.CancelBody(CANCELLED, 10)],
        {0.9: 0, 1: 10, 4.9: 10, 5: 0},
    ),
    "a fill between two responses": (
        [CREATED, m.OrdersBody((partly(7, 4),), ""), fills((4, 4), (3, 2))],
        {1: 10, 2: 7, 3.9: 7, 4: 3},
    ),
    "a fill already in a response": (
        [CREATED, m.OrdersBody((partly(4, 4),), ""), fills((4, 4.1), (1, 6))],
        {3.9: 10, 4: 6, 4.1: 6, 6: 5},
    ),
    "a fill after unlisted ones": (
        [m.OrderBody(partly(4, 4)), m.OrderBody(partly(7, 8)), fills((3, 6))],
        {4: 6, 5.9: 6, 6: 3, 8: 3},
    ),
    "a full fill after the last response": ([CREATED, fills((10, 2))], {1.9: 10, 2: 0}),
    "a create that timed out": (
        [m.OrdersBody((partly(4, 5),), ""), fills((4, 5))],
        {0.9: 0, 1: 10, 4.9: 10, 5: 6},
    ),
    "first seen with a fill of a later time": (
        [m.OrdersBody((partly(4, 5),), ""), fills((4, 5.1))],
        {1: 10, 4.9: 10, 5: 6, 9: 6},
    ),
    "first seen at its cancel": (
        [m.CancelBody(structs.replace(CANCELLED, qty=Qty(10)), Qty(10))],
        {1: 10, 4.9: 10, 5: 0},
    ),
}


@pytest.mark.parametrize(("bodies", "shares"), RESTING.values(), ids=RESTING)
def test_an_order_is_resting_from_its_create_less_its_fills_until_its_end(bodies, shares):
    follows = own(*bodies)
    assert {at: rests(follows, at, 40) for at in shares} == shares


def test_a_buy_order_for_no_is_an_ask_of_yes():
    follows = own(m.OrderBody(order("1", 30, 10, 1, outcome="no")))
    assert rests(follows, 2, 70, BookSide.ASK) == 10
    assert rests(follows, 2, 30) == 0


def test_an_amend_moves_the_order_at_its_own_time():
    follows = own(m.OrderBody(order("1", 40, 10, 1)), m.OrderBody(order("1", 42, 10, 3, created=1)))
    assert [rests(follows, 2.9, 40), rests(follows, 3, 40), rests(follows, 3, 42)] == [10, 0, 10]


def test_an_older_read_that_arrives_later_is_ignored():
    newer, older = order("1", 42, 10, 3, created=1), order("1", 40, 10, 1)
    assert (
        own(m.OrderBody(newer), m.OrderBody(older)).changes()
        == own(m.OrderBody(older), m.OrderBody(newer)).changes()
    )


def test_a_book_smaller_than_our_orders_reports_the_missing_shares():
    others = own(m.OrderBody(order("1", 40, 10, 1))).without(book(2, [(40, 4), (39, 7)], []))
    assert (others.bids, others.own_bids, others.missing_qty) == (((39, 7),), ((40, 4),), 6)


def test_orders_and_fills_with_unreadable_times_are_ignored():
    whole, late = order("1", 40, 10, 1), order("1", 40, 3, 4, created=1)
    follows = own(
        m.OrderBody(structs.replace(order("2", 40, 5, 1), created_at="yesterday")),
        m.OrderBody(whole),
        m.OrdersBody((structs.replace(late, updated_at=""),), ""),
        m.FillsBody((structs.replace(fill("1", 40, 4, 2), created_at="2026"),), ""),
    )
    assert rests(follows, 9, 40) == 10
    assert follows.fills() == []


def test_dropping_finished_orders_keeps_later_times_unchanged():
    follows = own(
        m.OrderBody(order("1", 40, 10, 1)),
        m.CancelBody(order("1", 40, 0, 5, status="canceled", created=1), 10),
        m.OrderBody(order("2", 41, 10, 2)),
        m.FillsBody((fill("2", 41, 4, 3),), ""),
    )
    follows.drop_before(ns(6))
    assert [rests(follows, at, 41) for at in (2, 3, 9)] == [10, 6, 6]
    assert rests(follows, 6, 40) == 0
    assert [each.order_id for each in follows.fills()] == ["2"]
    assert follows.get("1") is None
