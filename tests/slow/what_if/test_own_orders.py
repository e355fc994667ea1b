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


def test_an_order_rests_from_its_creation_until_its_cancel():
    follows = own(
        m.OrderBody(order("1", 40, 10, 1)),
        m.CancelBody(order("1", 40, 0, 5, status="canceled", created=1), 10),
    )
    assert [rests(follows, at, 40) for at in (0.9, 1, 4.9, 5)] == [0, 10, 10, 0]


def test_a_purchase_of_no_rests_as_an_ask_of_yes():
    follows = own(m.OrderBody(order("1", 30, 10, 1, outcome="no")))
    assert rests(follows, 2, 70, BookSide.ASK) == 10
    assert rests(follows, 2, 30) == 0


def test_a_fill_between_two_answers_counts_from_its_own_instant():
    follows = own(
        m.OrderBody(order("1", 40, 10, 1)),
        m.OrdersBody((order("1", 40, 3, 4, filled=7, status="partially_filled", created=1),), ""),
        m.FillsBody((fill("1", 40, 4, 4), fill("1", 40, 3, 2)), ""),
    )
    assert [rests(follows, at, 40) for at in (1, 2, 3.9, 4)] == [10, 7, 7, 3]


def test_a_fill_that_is_in_an_answer_is_not_counted_again_for_being_stamped_later():
    shown = order("1", 40, 6, 4, filled=4, status="partially_filled", created=1)
    follows = own(
        m.OrderBody(order("1", 40, 10, 1)),
        m.OrdersBody((shown,), ""),
        m.FillsBody((fill("1", 40, 4, 4.1), fill("1", 40, 1, 6)), ""),
    )
    assert [rests(follows, at, 40) for at in (3.9, 4, 4.1, 6)] == [10, 6, 6, 5]


def test_a_fill_counts_beside_those_before_it_that_no_list_shows():
    before = order("1", 40, 6, 4, filled=4, status="partially_filled", created=1)
    after = order("1", 40, 3, 8, filled=7, status="partially_filled", created=1)
    follows = own(m.OrderBody(before), m.OrderBody(after), m.FillsBody((fill("1", 40, 3, 6),), ""))
    assert [rests(follows, at, 40) for at in (4, 5.9, 6, 8)] == [6, 6, 3, 3]


def test_a_fill_after_the_last_answer_ends_the_order():
    follows = own(m.OrderBody(order("1", 40, 10, 1)), m.FillsBody((fill("1", 40, 10, 2),), ""))
    assert [rests(follows, at, 40) for at in (1.9, 2)] == [10, 0]


def test_an_amend_moves_it_at_its_own_instant():
    follows = own(m.OrderBody(order("1", 40, 10, 1)), m.OrderBody(order("1", 42, 10, 3, created=1)))
    assert [rests(follows, 2.9, 40), rests(follows, 3, 40), rests(follows, 3, 42)] == [10, 0, 10]


def test_an_order_whose_create_was_not_answered_rests_since_then_once_a_read_shows_it():
    shown = order("1", 40, 6, 5, filled=4, status="partially_filled", created=1)
    follows = own(m.OrdersBody((shown,), ""), m.FillsBody((fill("1", 40, 4, 5),), ""))
    assert [rests(follows, at, 40) for at in (0.9, 1, 4.9, 5)] == [0, 10, 10, 6]


def test_an_older_read_that_comes_later_changes_nothing():
    newer, older = order("1", 42, 10, 3, created=1), order("1", 40, 10, 1)
    assert (
        own(m.OrderBody(newer), m.OrderBody(older)).changes()
        == own(m.OrderBody(older), m.OrderBody(newer)).changes()
    )


def test_the_first_that_is_seen_of_an_order_may_have_a_fill_in_it_that_is_stamped_later():
    shown = order("1", 40, 6, 5, filled=4, status="partially_filled", created=1)
    follows = own(m.OrdersBody((shown,), ""), m.FillsBody((fill("1", 40, 4, 5.1),), ""))
    assert [rests(follows, at, 40) for at in (1, 4.9, 5, 9)] == [10, 10, 6, 6]


def test_one_that_is_first_seen_as_it_is_cancelled_rested_until_then():
    over = order("1", 40, 0, 5, status="canceled", created=1)
    whole = structs.replace(over, qty=Qty(10))
    follows = own(m.CancelBody(whole, Qty(10)))
    assert [rests(follows, at, 40) for at in (1, 4.9, 5)] == [10, 10, 0]


def test_a_book_that_shows_less_than_ours_is_told_and_nothing_is_left_there():
    others = own(m.OrderBody(order("1", 40, 10, 1))).without(book(2, [(40, 4), (39, 7)], []))
    assert (others.bids, others.own_bids, others.missing_qty) == (((39, 7),), ((40, 4),), 6)


def test_what_is_shown_with_a_time_that_cannot_be_read_is_passed_over():
    whole, late = order("1", 40, 10, 1), order("1", 40, 3, 4, created=1)
    follows = own(
        m.OrderBody(structs.replace(order("2", 40, 5, 1), created_at="yesterday")),
        m.OrderBody(whole),
        m.OrdersBody((structs.replace(late, updated_at=""),), ""),
        m.FillsBody((structs.replace(fill("1", 40, 4, 2), created_at="2026"),), ""),
    )
    assert rests(follows, 9, 40) == 10
    assert follows.fills() == []


def test_forgetting_what_is_over_changes_nothing_of_later_instants():
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
