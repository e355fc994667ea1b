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

# --- amends ---------------------------------------------------------------------------------------


def test_a_size_amend_under_way_counts_the_old_size_but_one_and_the_new_one():
    assert amending(Amend(qty=Qty(4))).max_fillable == 9 + 4


@given(fills=st.integers(0, 9), asked=st.integers(1, 10))
def test_an_amend_that_races_fills_never_fills_more_than_was_counted(fills, asked):
    own = amending(Amend(qty=Qty(asked)))
    # The fills come first; the amend then sets the remainder (S13), which may fill as well.
    assert fills + asked <= own.max_fillable


def test_a_price_amend_under_way_rests_at_both_prices_and_costs_the_dearer():
    own = amending(Amend(price=Price(45)))
    assert own.yes_prices == (40, 45)
    assert own.exposure(own.amend).price == 45
    sale = made.own(State.OPEN, side=Side.SELL)
    sale.on_amend_sent(Amend(price=Price(45)))
    assert sale.exposure(sale.amend).price == 40


@pytest.mark.parametrize("fact", [OrderEvent.NOT_SENT, OrderEvent.REJECTED])
def test_a_refused_amend_is_forgotten(fact):
    own = amending(Amend(price=Price(45), qty=Qty(4)))
    own.on_answer(fact, T0 + 7)
    assert (own.state, own.amend, own.yes_prices, own.max_fillable) == (State.OPEN, None, (40,), 10)
    assert (own.last_write_ns, own.known.epoch) == (T0 + 7, 1)


def test_an_amend_answered_404_keeps_the_order_as_it_was_and_suspects_it():
    own = amending(Amend(price=Price(45)))
    own.on_answer(OrderEvent.NOT_FOUND, T0)
    assert (own.state, own.amend, own.is_unknown, own.cancel_requested) == (
        State.OPEN,
        None,
        True,
        False,
    )


def test_an_amend_of_an_ended_order_waits_for_how_it_ended():
    own = amending(Amend(qty=Qty(4)))
    own.on_answer(OrderEvent.TOO_LATE, T0)
    assert (own.state, own.amend, own.max_fillable, own.is_unknown) == (
        State.CLOSED_UNCONFIRMED,
        None,
        10,
        False,
    )


def test_an_unanswered_amend_is_believed_after_two_equal_reads_a_lag_apart():
    own = amending(Amend(price=Price(45)), State.REPLACE_UNKNOWN)
    read(own, T0 + LAG_NS, price=45)
    assert own.state is State.REPLACE_UNKNOWN
    read(own, T0 + 2 * LAG_NS - 1, price=45)
    assert (own.state, own.is_unknown) == (State.REPLACE_UNKNOWN, True)
    read(own, T0 + 2 * LAG_NS, price=45)
    assert (own.state, own.price, own.amend, own.is_unknown) == (State.OPEN, 45, None, False)


def test_a_read_begun_too_early_is_not_one_of_the_two():
    own = amending(Amend(price=Price(45)), State.REPLACE_UNKNOWN)
    read(own, T0 + LAG_NS - 1, price=45)
    read(own, T0 + 2 * LAG_NS - 1, price=45)
    assert own.state is State.REPLACE_UNKNOWN


@pytest.mark.parametrize("second", [{"price": 45}, {"remaining": 4}])
def test_two_differing_reads_leave_an_unanswered_amend_unknown(second):
    own = amending(Amend(price=Price(45), qty=Qty(4)), State.REPLACE_UNKNOWN)
    read(own, T0 + LAG_NS, price=40, remaining=10)
    read(own, T0 + 2 * LAG_NS, **{"price": 40, "remaining": 10, **second})
    assert own.state is State.REPLACE_UNKNOWN
    assert own.yes_prices == (40, 45)
    assert own.max_fillable == 9 + 4


def test_a_fill_between_the_two_reads_does_not_make_them_differ():
    own = amending(Amend(price=Price(45)), State.REPLACE_UNKNOWN)
    read(own, T0 + LAG_NS, price=45, filled=1, remaining=9)
    read(own, T0 + 2 * LAG_NS, price=45, filled=3, remaining=7)
    assert (own.state, own.filled, own.remaining) == (State.OPEN, 3, 7)


def test_an_amend_that_trades_the_rest_ends_the_order():
    own = amending(Amend(price=Price(60)))
    own.on_write_body(made.over(own, model.OrderStatus.FILLED, 10), T0)
    assert (own.state, own.filled, own.remaining) == (State.CLOSED, 10, 0)


def test_an_amend_whose_reply_cannot_be_read_stays_undecided():
    own = amending(Amend(price=Price(45)))
    own.on_write_body(made.shown(own, price=45, filled=2, remaining=8, status=STRANGE), T0)
    assert (own.state, own.yes_prices, own.filled) == (State.REPLACE_UNKNOWN, (40, 45), 2)
    assert (own.known.epoch, own.is_unknown) == (1, True)


# --- amends that change the id (S13) --------------------------------------------------------------


@pytest.mark.parametrize(("shows", "filled"), [(0, 3), (1, 4), (3, 3), (5, 5)])
def test_a_new_id_counts_its_own_fills_or_all_and_the_order_counts_all(shows, filled):
    own = amending(Amend(price=Price(45)), filled=3, remaining=7)
    before = own.order_id
    seen = made.shown(own, order_id="99", price=45, filled=shows, remaining=6)
    own.on_renamed(seen)
    own.on_write_body(seen, T0 + 5)
    assert (own.order_id, own.previous_ids) == ("99", (before,))
    assert (own.state, own.price, own.filled, own.remaining) == (State.OPEN, 45, filled, 6)
    read(own, T0 + 2 * LAG_NS, filled=shows + 1, remaining=5)
    assert (own.filled, own.remaining, own.suspicion) == (filled + 1, 5, None)


def test_a_cancelled_row_during_an_amend_waits_for_the_answer_which_may_show_another_id():
    own = amending(Amend(price=Price(45)))
    read_over(own, T0)
    assert (own.state, own.max_fillable, own.yes_prices) == (State.PENDING_REPLACE, 10, (40, 45))
    seen = made.shown(own, order_id="99", price=45, remaining=10)
    own.on_renamed(seen)
    own.on_write_body(seen, T0 + 1)
    assert (own.state, own.remaining, own.yes_prices) == (State.OPEN, 10, (45,))


@pytest.mark.parametrize("fact", [OrderEvent.REJECTED, OrderEvent.NOT_SENT, OrderEvent.TOO_LATE])
def test_an_amend_refused_after_its_order_read_cancelled_leaves_it_ended(fact):
    own = amending(Amend(price=Price(45)))
    read_over(own, T0, 2)
    own.on_answer(fact, T0 + 1)
    assert (own.state, own.filled) == (State.CLOSED, 2)


def test_a_cancelled_row_beside_an_undecided_amend_may_live_on_under_another_id():
    own = amending(Amend(price=Price(45), qty=Qty(4)), State.REPLACE_UNKNOWN)
    read_over(own, T0 + 5)
    assert (own.state, own.is_id_open, own.is_unknown) == (State.CLOSED_UNCONFIRMED, True, True)
    assert (own.max_fillable, own.yes_prices) == (9 + 4, (40, 45))


@pytest.mark.parametrize("status", [model.OrderStatus.FILLED, model.OrderStatus.EXPIRED])
def test_a_row_that_filled_or_expired_is_over_whatever_is_undecided(status):
    own = amending(Amend(price=Price(45)), State.REPLACE_UNKNOWN)
    read_over(own, T0, 10, status)
    assert own.state is State.CLOSED


def test_a_cancelled_row_is_explained_by_a_cancel_of_ours_that_removed_shares():
    own = amending(Amend(price=Price(45)), State.REPLACE_UNKNOWN)
    own.on_cancel_sent()
    read_over(own, T0 + 1)
    own.on_cancel_body(made.over(own, model.OrderStatus.CANCELED, 0), Qty(10), T0 + 2)
    assert own.state is State.CLOSED


def test_an_amend_without_an_answer_has_its_order_cancelled():
    own = amending(Amend(price=Price(45)))
    own.on_answer(OrderEvent.TIMEOUT, T0)
    assert (own.state, own.cancel_requested, own.yes_prices) == (
        State.REPLACE_UNKNOWN,
        True,
        (40, 45),
    )
