"""Claims about amends: undecided ones, those that race fills, and those that change the id."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.core.orders.order import Fact, State
from tests.bot import made
from tests.bot.made import LAG_NS, T0
from tests.bot.news import STRANGE, amending, read, read_over
from venue.wire import model
from venue.wire.money import Price, Qty, Side
from venue.wire.names import OrderId
from venue.wire.requests import Amend

# --- amends ---------------------------------------------------------------------------------------


def test_a_size_amend_under_way_counts_the_old_size_but_one_and_the_new_one():
    assert amending(Amend(qty=Qty(4))).may_fill == 9 + 4


@given(fills=st.integers(0, 9), asked=st.integers(1, 10))
def test_an_amend_that_races_fills_never_fills_more_than_was_counted(fills, asked):
    own = amending(Amend(qty=Qty(asked)))
    # The fills come first; the amend then sets the remainder (S13), which may fill as well.
    assert fills + asked <= own.may_fill


def test_a_price_amend_under_way_rests_at_both_prices_and_costs_the_dearer():
    own = amending(Amend(price=Price(45)))
    assert own.levels == (40, 45)
    assert own.exposure().price == 45
    sale = made.own(State.OPEN, side=Side.SELL)
    sale.sent_amend(Amend(price=Price(45)))
    assert sale.exposure().price == 40


@pytest.mark.parametrize("fact", [Fact.NEVER, Fact.REFUSED])
def test_a_refused_amend_is_forgotten(fact):
    own = amending(Amend(price=Price(45), qty=Qty(4)))
    own.answered(fact, T0 + 7)
    assert (own.state, own.amend, own.levels, own.may_fill) == (State.OPEN, None, (40,), 10)
    assert (own.intended, own.last_write_ns, own.known.epoch) == (10, T0 + 7, 1)


def test_an_amend_answered_404_keeps_the_order_as_it_was_and_suspects_it():
    own = amending(Amend(price=Price(45)))
    own.answered(Fact.MISSING, T0)
    assert (own.state, own.amend, own.is_unknown, own.doomed) == (State.OPEN, None, True, False)


def test_an_amend_of_an_ended_order_waits_for_how_it_ended():
    own = amending(Amend(qty=Qty(4)))
    own.answered(Fact.OVER, T0)
    assert (own.state, own.amend, own.may_fill, own.is_unknown) == (State.CLOSING, None, 10, False)


def test_an_unanswered_amend_is_believed_after_two_equal_reads_a_lag_apart():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    read(own, T0 + LAG_NS, price=45)
    assert own.state is State.BLURRED
    read(own, T0 + 2 * LAG_NS - 1, price=45)
    assert (own.state, own.is_unknown) == (State.BLURRED, True)
    read(own, T0 + 2 * LAG_NS, price=45)
    assert (own.state, own.price, own.amend, own.is_unknown) == (State.OPEN, 45, None, False)
    assert (own.last_write_ns, own.known.epoch) == (T0 + LAG_NS, 2)


def test_a_read_begun_too_early_is_not_one_of_the_two():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    read(own, T0 + LAG_NS - 1, price=45)
    read(own, T0 + 2 * LAG_NS - 1, price=45)
    assert own.state is State.BLURRED


@pytest.mark.parametrize("second", [{"price": 45}, {"remaining": 4}])
def test_two_differing_reads_leave_an_unanswered_amend_unknown(second):
    own = amending(Amend(price=Price(45), qty=Qty(4)), State.BLURRED)
    read(own, T0 + LAG_NS, price=40, remaining=10)
    read(own, T0 + 2 * LAG_NS, **{"price": 40, "remaining": 10, **second})
    assert own.state is State.BLURRED
    assert own.levels == (40, 45)
    assert own.may_fill == 9 + 4


def test_a_fill_between_the_two_reads_does_not_make_them_differ():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    read(own, T0 + LAG_NS, price=45, filled=1, remaining=9)
    read(own, T0 + 2 * LAG_NS, price=45, filled=3, remaining=7)
    assert (own.state, own.filled, own.remaining) == (State.OPEN, 3, 7)


def test_an_amend_that_trades_the_rest_ends_the_order():
    own = amending(Amend(price=Price(60)))
    own.shown_by_write(made.over(own, model.OrderStatus.FILLED, 10), T0)
    assert (own.state, own.filled, own.remaining) == (State.DONE, 10, 0)


def test_an_amend_whose_reply_cannot_be_read_stays_undecided():
    own = amending(Amend(price=Price(45)))
    own.shown_by_write(made.shown(own, price=45, filled=2, remaining=8, status=STRANGE), T0)
    assert (own.state, own.levels, own.filled) == (State.BLURRED, (40, 45), 2)
    assert (own.known.epoch, own.is_unknown) == (1, True)


# --- amends that race fills (row 26) --------------------------------------------------------------


def test_an_amend_that_no_fill_raced_leaves_what_was_meant():
    own = amending(Amend(qty=Qty(6)), filled=1, remaining=9)
    own.shown_by_write(made.shown(own, filled=1, remaining=6), T0)
    assert (own.intended, own.remaining, own.doomed) == (7, 6, False)


def test_an_amend_that_raced_a_fill_is_cancelled_at_once_for_too_much_works():
    own = amending(Amend(qty=Qty(6)), filled=1, remaining=9)
    own.shown_by_write(made.shown(own, filled=3, remaining=6), T0)
    assert (own.intended, own.known.size, own.doomed) == (7, 9, True)
    assert own.why == "a fill raced its amend: more works than was meant"


def test_an_amend_that_traded_at_once_leaves_what_was_meant():
    own = amending(Amend(price=Price(60), qty=Qty(6)))
    own.shown_by_write(made.shown(own, price=60, filled=2, remaining=4), T0)
    assert (own.intended, own.doomed) == (6, False)


def test_a_price_amend_alone_means_the_size_that_the_order_has():
    own = amending(Amend(price=Price(45)))
    own.shown_by_write(made.shown(own, price=45, filled=3, remaining=7), T0)
    assert (own.intended, own.doomed) == (10, False)


@pytest.mark.parametrize(
    ("amend", "seen", "intended", "doomed"),
    [
        # Not carried out, for nothing of it shows: it is as it was.
        (Amend(qty=Qty(6)), {"filled": 0, "remaining": 10}, 10, False),
        (Amend(price=Price(45), qty=Qty(6)), {"filled": 2, "remaining": 8}, 10, False),
        # Carried out, and no fill came first.
        (Amend(qty=Qty(6)), {"filled": 0, "remaining": 6}, 6, False),
        (Amend(price=Price(45), qty=Qty(6)), {"price": 45, "filled": 0, "remaining": 6}, 6, False),
        # Carried out after a fill, or perhaps not at all: more works than was meant.
        (Amend(qty=Qty(6)), {"filled": 2, "remaining": 6}, 6, True),
        (Amend(qty=Qty(6)), {"filled": 4, "remaining": 6}, 6, True),
        (Amend(price=Price(45), qty=Qty(6)), {"price": 45, "filled": 3, "remaining": 6}, 6, True),
        # An amend up that was not seen to be carried out does not mean more from now on.
        (Amend(qty=Qty(12)), {"filled": 1, "remaining": 9}, 10, False),
    ],
)
def test_an_unanswered_size_amend_never_leaves_more_than_was_meant(amend, seen, intended, doomed):
    own = amending(amend, State.BLURRED)
    read(own, T0 + LAG_NS, **seen)
    read(own, T0 + 2 * LAG_NS, **seen)
    assert (own.state, own.intended, own.doomed) == (State.OPEN, intended, doomed)


# --- amends that change the id (S13) --------------------------------------------------------------


def test_a_successor_stands_where_its_reply_shows_it_and_counts_its_own_fills():
    own = amending(Amend(price=Price(45)), filled=3, remaining=7)
    later = own.successor(made.shown(own, order_id="99", price=45, filled=0, remaining=7), T0 + 5)
    assert (later.order_id, later.state, later.price, later.level) == ("99", State.OPEN, 45, 45)
    assert (later.filled, later.remaining, later.intended, later.doomed) == (0, 7, 7, False)
    assert (later.client_order_id, later.placed_ns, later.last_write_ns) == (
        own.client_order_id,
        own.placed_ns,
        T0 + 5,
    )


def test_fills_carried_over_to_the_new_id_are_counted_once():
    own = amending(Amend(price=Price(45)), filled=3, remaining=7)
    later = own.successor(made.shown(own, order_id="99", price=45, filled=3, remaining=7), T0)
    assert (later.filled, later.remaining, later.doomed) == (0, 7, False)
    read(later, T0 + LAG_NS, filled=5, remaining=5)
    assert (later.filled, later.remaining, later.suspicion) == (2, 5, None)


def test_a_successor_with_more_than_was_meant_is_cancelled():
    own = amending(Amend(qty=Qty(6)), filled=1, remaining=9)
    own.shown_by_read(made.shown(own, filled=3, remaining=7), T0, LAG_NS)
    later = own.successor(made.shown(own, order_id="99", filled=3, remaining=6), T0)
    assert (later.intended, later.remaining, later.doomed) == (4, 6, True)


def test_fills_that_a_new_id_shows_count_though_it_comes_to_more_than_the_smaller_size_meant():
    """Two of four had filled, which nothing had told, as the rest was amended to three."""
    own = amending(Amend(qty=Qty(3)), filled=0, remaining=4)
    later = own.successor(made.shown(own, order_id="99", filled=2, remaining=3), T0)
    assert (later.filled, later.remaining, later.doomed) == (2, 3, True)


def test_a_successor_that_is_over_is_over():
    own = amending(Amend(price=Price(60)))
    seen = replace(made.over(own, model.OrderStatus.FILLED, 10), order_id=OrderId("99"))
    later = own.successor(seen, T0)
    assert (later.state, later.filled, later.may_fill) == (State.DONE, 10, 0)


def test_a_cancelled_row_during_an_amend_waits_for_the_answer():
    own = amending(Amend(price=Price(45)))
    read_over(own, T0)
    assert (own.state, own.may_fill, own.levels) == (State.AMENDING, 10, (40, 45))
    assert own.elsewhere_since_ns is None
    own.shown_by_write(made.shown(own, price=45), T0 + 1)
    assert own.state is State.DONE


@pytest.mark.parametrize("fact", [Fact.REFUSED, Fact.NEVER, Fact.OVER])
def test_an_amend_refused_after_its_order_read_cancelled_leaves_it_ended(fact):
    own = amending(Amend(price=Price(45)))
    read_over(own, T0, 2)
    own.answered(fact, T0 + 1)
    assert (own.state, own.filled) == (State.DONE, 2)


def test_a_cancelled_row_beside_an_undecided_amend_may_live_on_under_another_id():
    own = amending(Amend(price=Price(45), qty=Qty(4)), State.BLURRED)
    read_over(own, T0 + 5)
    assert (own.state, own.elsewhere_since_ns, own.is_unknown) == (State.CLOSING, T0 + 5, True)
    assert (own.may_fill, own.levels) == (9 + 4, (40, 45))
    read_over(own, T0 + 6)
    assert own.elsewhere_since_ns == T0 + 5


@pytest.mark.parametrize("status", [model.OrderStatus.FILLED, model.OrderStatus.EXPIRED])
def test_a_row_that_filled_or_expired_is_over_whatever_is_undecided(status):
    own = amending(Amend(price=Price(45)), State.BLURRED)
    read_over(own, T0, 10, status)
    assert own.state is State.DONE


@pytest.mark.parametrize("fact", [Fact.NO_ANSWER, Fact.OVER])
def test_no_cancel_of_ours_that_was_not_confirmed_explains_a_cancelled_row(fact):
    own = amending(Amend(price=Price(45)), State.BLURRED)
    own.sent_cancel()
    read_over(own, T0 + 1)
    assert (own.state, own.elsewhere_since_ns) == (State.CANCELLING, None)
    own.answered(fact, T0 + 2)
    read_over(own, T0 + 3)
    assert own.state is State.CLOSING
    assert own.elsewhere_since_ns is not None


def test_a_cancelled_row_is_explained_by_a_cancel_of_ours_that_removed_shares():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    own.sent_cancel()
    read_over(own, T0 + 1)
    own.cancelled(made.over(own, model.OrderStatus.CANCELED, 0), Qty(10), T0 + 2)
    assert own.state is State.DONE


def test_an_order_that_answers_404_while_its_amend_is_undecided_may_be_elsewhere():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    assert own.elsewhere_since_ns is None
    own.missing(T0 + 3)
    assert own.elsewhere_since_ns == T0 + 3
    still = made.own(State.OPEN)
    still.missing(T0 + 3)
    assert still.elsewhere_since_ns is None
