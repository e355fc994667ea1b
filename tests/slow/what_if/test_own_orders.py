"""Claims about what of ours rested when: from answers and fills, between answers too."""

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


def test_an_order_is_resting_from_its_create_until_its_cancel():
    follows = own(
        m.OrderBody(order("1", 40, 10, 1)),
        m.CancelBody(order("1", 40, 0, 5, status="canceled", created=1), 10),
    )
    assert [rests(follows, at, 40) for at in (0.9, 1, 4.9, 5)] == [0, 10, 10, 0]


def test_a_buy_order_for_no_is_an_ask_of_yes():
    follows = own(m.OrderBody(order("1", 30, 10, 1, outcome="no")))
    assert rests(follows, 2, 70, BookSide.ASK) == 10
    assert rests(follows, 2, 30) == 0


def test_a_fill_between_two_responses_counts_from_its_own_time():
    follows = own(
        m.OrderBody(order("1", 40, 10, 1)),
        m.OrdersBody((order("1", 40, 3, 4, filled=7, status="partially_filled", created=1),), ""),
        m.FillsBody((fill("1", 40, 4, 4), fill("1", 40, 3, 2)), ""),
    )
    assert [rests(follows, at, 40) for at in (1, 2, 3.9, 4)] == [10, 7, 7, 3]


def test_a_fill_already_in_a_response_is_not_counted_twice():
    shown = order("1", 40, 6, 4, filled=4, status="partially_filled", created=1)
    follows = own(
        m.OrderBody(order("1", 40, 10, 1)),
        m.OrdersBody((shown,), ""),
        m.FillsBody((fill("1", 40, 4, 4.1), fill("1", 40, 1, 6)), ""),
    )
    assert [rests(follows, at, 40) for at in (3.9, 4, 4.1, 6)] == [10, 6, 6, 5]


def test_a_fill_is_counted_along_with_earlier_unlisted_fills():
    before = order("1", 40, 6, 4, filled=4, status="partially_filled", created=1)
    after = order("1", 40, 3, 8, filled=7, status="partially_filled", created=1)
    follows = own(m.OrderBody(before), m.OrderBody(after), m.FillsBody((fill("1", 40, 3, 6),), ""))
    assert [rests(follows, at, 40) for at in (4, 5.9, 6, 8)] == [6, 6, 3, 3]


def test_a_full_fill_after_the_last_response_ends_the_order():
    follows = own(m.OrderBody(order("1", 40, 10, 1)), m.FillsBody((fill("1", 40, 10, 2),), ""))
    assert [rests(follows, at, 40) for at in (1.9, 2)] == [10, 0]


def test_an_amend_moves_the_order_at_its_own_time():
    follows = own(m.OrderBody(order("1", 40, 10, 1)), m.OrderBody(order("1", 42, 10, 3, created=1)))
    assert [rests(follows, 2.9, 40), rests(follows, 3, 40), rests(follows, 3, 42)] == [10, 0, 10]


def test_an_order_whose_create_timed_out_is_resting_from_its_create():
    shown = order("1", 40, 6, 5, filled=4, status="partially_filled", created=1)
    follows = own(m.OrdersBody((shown,), ""), m.FillsBody((fill("1", 40, 4, 5),), ""))
    assert [rests(follows, at, 40) for at in (0.9, 1, 4.9, 5)] == [0, 10, 10, 6]


def test_an_older_read_that_arrives_later_is_ignored():
    newer, older = order("1", 42, 10, 3, created=1), order("1", 40, 10, 1)
    assert (
        own(m.OrderBody(newer), m.OrderBody(older)).changes()
        == own(m.OrderBody(older), m.OrderBody(newer)).changes()
    )


def test_the_first_view_of_an_order_can_contain_a_fill_with_a_later_timestamp():
    shown = order("1", 40, 6, 5, filled=4, status="partially_filled", created=1)
    follows = own(m.OrdersBody((shown,), ""), m.FillsBody((fill("1", 40, 4, 5.1),), ""))
    assert [rests(follows, at, 40) for at in (1, 4.9, 5, 9)] == [10, 10, 6, 6]


def test_an_order_first_seen_at_its_cancel_was_resting_until_then():
    over = order("1", 40, 0, 5, status="canceled", created=1)
    whole = structs.replace(over, qty=Qty(10))
    follows = own(m.CancelBody(whole, Qty(10)))
    assert [rests(follows, at, 40) for at in (1, 4.9, 5)] == [10, 10, 0]


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
