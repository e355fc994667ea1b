"""Claims about amends: undecided ones, those that race fills, and those that change the id."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.orders.order import OrderEvent, State
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from tests.builders.bot.news import STRANGE, amending, read, read_over
from venue.wire import model
from venue.wire.money import Price, Qty, Side
from venue.wire.requests import Amend


@given(fills=st.integers(0, 9), asked=st.integers(1, 10))
def test_a_size_amend_in_flight_counts_the_fills_that_may_precede_it_and_its_new_size(fills, asked):
    own = amending(Amend(qty=Qty(asked)))
    # The fills come first; the amend then sets the remainder (S13), which may fill as well.
    assert fills + asked <= own.max_fillable == 9 + asked


def test_a_price_amend_in_flight_counts_at_both_prices_and_costs_the_dearer():
    own = amending(Amend(price=Price(45)))
    assert own.yes_prices == (40, 45)
    assert own.exposure(own.amend).price == 45
    sale = made.own(State.OPEN, side=Side.SELL)
    sale.on_amend_sent(Amend(price=Price(45)))
    assert sale.exposure(sale.amend).price == 40


@pytest.mark.parametrize("fact", [OrderEvent.NOT_SENT, OrderEvent.REJECTED])
def test_a_rejected_amend_leaves_the_order_as_it_was(fact):
    own = amending(Amend(price=Price(45), qty=Qty(4)))
    own.on_answer(fact, T0 + 7)
    assert (own.state, own.amend, own.yes_prices, own.max_fillable) == (State.OPEN, None, (40,), 10)
    assert (own.last_write_ns, own.known.epoch) == (T0 + 7, 1)


def test_an_amend_answered_404_keeps_the_order_as_it_was_and_makes_it_suspect():
    own = amending(Amend(price=Price(45)))
    own.on_answer(OrderEvent.NOT_FOUND, T0)
    assert (own.state, own.amend) == (State.OPEN, None)
    assert (own.is_unknown, own.cancel_requested) == (True, False)


def test_an_amend_of_an_ended_order_waits_for_how_it_ended():
    own = amending(Amend(qty=Qty(4)))
    own.on_answer(OrderEvent.TOO_LATE, T0)
    assert (own.state, own.amend) == (State.CLOSED_UNCONFIRMED, None)
    assert (own.max_fillable, own.is_unknown) == (10, False)


@pytest.mark.parametrize(
    ("reads_ns", "settled"),
    [
        ((LAG_NS, 2 * LAG_NS - 1), False),
        ((LAG_NS - 1, 2 * LAG_NS - 1), False),
        ((LAG_NS, 2 * LAG_NS), True),
    ],
    ids=["less than a lag apart", "the first too early", "a lag apart"],
)
def test_two_equal_reads_a_lag_apart_settle_an_unanswered_amend(reads_ns, settled):
    own = amending(Amend(price=Price(45)), State.REPLACE_UNKNOWN)
    for after_ns in reads_ns:
        read(own, T0 + after_ns, price=45)
    if settled:
        assert (own.state, own.price, own.amend, own.is_unknown) == (State.OPEN, 45, None, False)
    else:
        assert (own.state, own.is_unknown) == (State.REPLACE_UNKNOWN, True)


@pytest.mark.parametrize("second", [{"price": 45}, {"remaining": 4}])
def test_two_different_reads_leave_an_unanswered_amend_unknown(second):
    own = amending(Amend(price=Price(45), qty=Qty(4)), State.REPLACE_UNKNOWN)
    read(own, T0 + LAG_NS, price=40, remaining=10)
    read(own, T0 + 2 * LAG_NS, **{"price": 40, "remaining": 10, **second})
    assert own.state is State.REPLACE_UNKNOWN
    assert own.yes_prices == (40, 45)
    assert own.max_fillable == 9 + 4


def test_a_fill_between_two_reads_does_not_make_them_differ():
    own = amending(Amend(price=Price(45)), State.REPLACE_UNKNOWN)
    read(own, T0 + LAG_NS, price=45, filled=1, remaining=9)
    read(own, T0 + 2 * LAG_NS, price=45, filled=3, remaining=7)
    assert (own.state, own.filled, own.remaining) == (State.OPEN, 3, 7)


def test_an_amend_that_fills_the_rest_closes_the_order():
    own = amending(Amend(price=Price(60)))
    own.on_write_body(made.over(own, model.OrderStatus.FILLED, 10), T0)
    assert (own.state, own.filled, own.remaining) == (State.CLOSED, 10, 0)


def test_an_amend_whose_response_cannot_be_read_stays_undecided():
    own = amending(Amend(price=Price(45)))
    own.on_write_body(made.shown(own, price=45, filled=2, remaining=8, status=STRANGE), T0)
    assert (own.state, own.yes_prices, own.filled) == (State.REPLACE_UNKNOWN, (40, 45), 2)
    assert (own.known.epoch, own.is_unknown) == (1, True)


@pytest.mark.parametrize(("shows", "filled"), [(0, 3), (1, 4), (3, 3), (5, 5)])
def test_after_a_change_of_id_an_order_counts_the_fills_under_both_ids(shows, filled):
    own = amending(Amend(price=Price(45)), filled=3, remaining=7)
    before = own.order_id
    seen = made.shown(own, order_id="99", price=45, filled=shows, remaining=6)
    own.on_renamed(seen)
    own.on_write_body(seen, T0 + 5)
    assert (own.order_id, own.previous_ids) == ("99", (before,))
    assert (own.state, own.price, own.filled, own.remaining) == (State.OPEN, 45, filled, 6)
    read(own, T0 + 2 * LAG_NS, filled=shows + 1, remaining=5)
    assert (own.filled, own.remaining, own.suspicion) == (filled + 1, 5, None)


def test_a_row_cancelled_during_an_amend_waits_for_the_response_which_may_show_another_id():
    own = amending(Amend(price=Price(45)))
    read_over(own, T0)
    assert (own.state, own.max_fillable, own.yes_prices) == (State.PENDING_REPLACE, 10, (40, 45))
    seen = made.shown(own, order_id="99", price=45, remaining=10)
    own.on_renamed(seen)
    own.on_write_body(seen, T0 + 1)
    assert (own.state, own.remaining, own.yes_prices) == (State.OPEN, 10, (45,))


@pytest.mark.parametrize("fact", [OrderEvent.REJECTED, OrderEvent.NOT_SENT, OrderEvent.TOO_LATE])
def test_an_amend_rejected_after_its_order_reads_cancelled_leaves_it_closed(fact):
    own = amending(Amend(price=Price(45)))
    read_over(own, T0, 2)
    own.on_answer(fact, T0 + 1)
    assert (own.state, own.filled) == (State.CLOSED, 2)


def test_an_order_with_an_undecided_amend_that_reads_cancelled_may_live_under_another_id():
    own = amending(Amend(price=Price(45), qty=Qty(4)), State.REPLACE_UNKNOWN)
    read_over(own, T0 + 5)
    assert (own.state, own.is_id_open, own.is_unknown) == (State.CLOSED_UNCONFIRMED, True, True)
    assert (own.max_fillable, own.yes_prices) == (9 + 4, (40, 45))


@pytest.mark.parametrize("status", [model.OrderStatus.FILLED, model.OrderStatus.EXPIRED])
def test_a_filled_or_expired_row_closes_an_order_with_an_undecided_amend(status):
    own = amending(Amend(price=Price(45)), State.REPLACE_UNKNOWN)
    read_over(own, T0, 10, status)
    assert own.state is State.CLOSED


def test_a_cancelled_row_is_explained_by_our_own_cancel():
    own = amending(Amend(price=Price(45)), State.REPLACE_UNKNOWN)
    own.on_cancel_sent()
    read_over(own, T0 + 1)
    own.on_cancel_body(made.over(own, model.OrderStatus.CANCELED, 0), Qty(10), T0 + 2)
    assert own.state is State.CLOSED


def test_an_order_whose_amend_timed_out_is_to_be_cancelled():
    own = amending(Amend(price=Price(45)))
    own.on_answer(OrderEvent.TIMEOUT, T0)
    assert (own.state, own.cancel_requested) == (State.REPLACE_UNKNOWN, True)
    assert own.yes_prices == (40, 45)
