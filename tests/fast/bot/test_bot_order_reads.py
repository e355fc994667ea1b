"""Claims about what reads, cancels and lists make of an own order, and how one begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.core.messages import UnconfirmedCreate
from bot.core.orders.order import OrderEvent, OrderFinding, OwnOrder, State
from bot.core.orders.snapshot import OrderSnapshot
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from tests.builders.bot.news import CANCELED, STRANGE, amending, read, read_over
from venue.wire import model
from venue.wire.money import Price, Qty
from venue.wire.names import OrderId
from venue.wire.requests import Amend


@pytest.mark.parametrize(
    ("after_ns", "shows", "believed"),
    [
        (LAG_NS - 1, {"price": 55, "remaining": 3, "filled": 2}, (40, 2, 8)),
        (LAG_NS, {"remaining": 3, "filled": 2}, (40, 2, 3)),
    ],
    ids=["too early: fills only", "a lag after the last write"],
)
def test_a_read_is_believed_if_it_began_a_lag_after_the_last_write(after_ns, shows, believed):
    own = made.own(State.OPEN)
    read(own, T0 + after_ns, **shows)
    assert (own.price, own.filled, own.remaining) == believed
    assert (own.state, own.suspicion) == (State.OPEN, None)


@pytest.mark.parametrize("shown", [{"price": 41}, {"price": 39}, {"remaining": 11}])
def test_a_read_at_another_price_or_size_makes_the_order_unknown(shown):
    own = made.own(State.OPEN)
    read(own, T0 + LAG_NS, **shown)
    assert own.state is State.REPLACE_UNKNOWN
    assert own.suspicion is not None
    assert (own.suspicion.finding, own.cancel_requested) == (OrderFinding.IMPOSSIBLE, True)
    assert own.yes_prices == (40, shown.get("price", 40))
    assert own.max_fillable == 9 + shown.get("remaining", 10)


def test_two_equal_reads_a_lag_apart_settle_an_unknown_price():
    own = made.own(State.OPEN)
    read(own, T0 + LAG_NS, price=41)
    read(own, T0 + 2 * LAG_NS - 1, price=41)
    assert own.state is State.REPLACE_UNKNOWN
    read(own, T0 + 2 * LAG_NS, price=41)
    assert (own.state, own.price, own.yes_price, own.amend) == (State.OPEN, 41, 41, None)
    assert (own.suspicion, own.is_unknown, own.cancel_requested) == (None, False, True)


def test_a_read_at_another_price_without_shares_counts_the_known_size():
    own = made.own(State.OPEN)
    read(own, T0 + LAG_NS, price=41, remaining=0)
    assert (own.amend, own.max_fillable) == (Amend(price=Price(41)), 10)


def test_a_read_of_another_id_is_ignored():
    own = made.own(State.OPEN)
    read_over(own, T0 + LAG_NS, 5)
    assert own.state is State.CLOSED
    own = made.own(State.OPEN)
    own.on_query(made.shown(own, order_id="9", filled=5), T0 + LAG_NS, LAG_NS)
    assert (own.state, own.filled) == (State.OPEN, 0)


@pytest.mark.parametrize(
    "state", [State.OPEN, State.PENDING_REPLACE, State.PENDING_CANCEL, State.CLOSED_UNCONFIRMED]
)
def test_a_read_that_shows_the_end_is_believed_however_early_it_began(state):
    own = made.own(state)
    read_over(own, T0 - LAG_NS, 10, model.OrderStatus.FILLED)
    assert (own.state, own.filled, own.max_fillable, own.remaining) == (State.CLOSED, 10, 0, 0)


def test_an_accepted_order_counts_as_resting():
    own = made.own(State.OPEN)
    read(own, T0 + LAG_NS, status=model.OrderStatus.ACCEPTED)
    assert (own.state, own.max_fillable, own.suspicion) == (State.OPEN, 10, None)


def test_a_status_that_cannot_be_read_keeps_the_order_and_its_size():
    own = made.own(State.OPEN)
    read(own, T0, status=STRANGE, filled=2, remaining=1)
    assert (own.state, own.max_fillable) == (State.OPEN, 8)
    assert (own.cancel_requested, own.is_unknown) == (False, True)
    assert own.suspicion.finding is OrderFinding.UNREADABLE


def test_a_404_to_a_read_keeps_the_order_and_its_size():
    own = made.own(State.OPEN)
    own.on_not_found(T0, T0, LAG_NS)
    assert (own.state, own.max_fillable) == (State.OPEN, 10)
    assert (own.cancel_requested, own.is_unknown) == (False, True)


def test_a_read_begun_a_lag_after_a_suspicion_clears_it():
    own = made.own(State.OPEN, now_ns=T0 - 5 * LAG_NS)
    own.on_not_found(T0, T0, LAG_NS)
    read(own, T0 + LAG_NS - 1)
    assert own.is_unknown
    read(own, T0 + LAG_NS)
    assert (own.suspicion, own.is_unknown) == (None, False)


def test_a_graver_suspicion_replaces_a_lighter_one_and_not_the_reverse():
    own = made.own(State.OPEN)
    own.mark_suspect(OrderFinding.MISSING, "gone", T0)
    own.mark_suspect(OrderFinding.IMPOSSIBLE, "no", T0 + 1)
    own.mark_suspect(OrderFinding.UNREADABLE, "odd", T0 + 2)
    assert own.suspicion is not None
    assert (own.suspicion.finding, own.suspicion.why) == (OrderFinding.IMPOSSIBLE, "no")


@given(
    reads=st.lists(
        st.tuples(st.integers(0, 10), st.integers(-3, 3), st.booleans()), min_size=1, max_size=8
    ),
    state=st.sampled_from(
        [state for state in State if state not in (State.PENDING_NEW, State.NEW_UNKNOWN)]
    ),
)
def test_no_reads_reduce_the_filled_size_or_revive_a_closed_order(reads, state):
    own = made.own(state)
    for filled, lags, ended in reads:
        before, was = own.filled, own.state
        if ended:
            read_over(own, T0 + lags * LAG_NS, filled)
        else:
            read(own, T0 + lags * LAG_NS, filled=filled, remaining=10 - filled)
        assert own.filled >= before
        assert was is not State.CLOSED or own.state is State.CLOSED
        assert 0 <= own.remaining <= 10 - own.filled


@given(st.permutations([(0, -1), (3, 2), (5, 0), (7, 1), (4, 3)]))
def test_reads_have_the_same_result_in_any_order(reads):
    own = made.own(State.OPEN)
    for filled, lags in reads:
        read(own, T0 + lags * LAG_NS, filled=filled, remaining=10 - filled)
    assert (own.known, own.state) == (OrderSnapshot(0, Price(40), Qty(10), Qty(7)), State.OPEN)


def cancelled(reduced_by: int, shown_filled: int) -> OwnOrder:
    """An order of ten shares after a cancel's reply."""
    own = made.own(State.OPEN)
    own.on_cancel_sent()
    own.on_cancel_body(made.over(own, CANCELED, shown_filled), Qty(reduced_by), T0 + 9)
    return own


@pytest.mark.parametrize(
    ("reduced_by", "shows_filled", "state", "filled", "max_fillable"),
    [
        (10, 0, State.CLOSED, 0, 0),
        (7, 3, State.CLOSED, 3, 0),
        (7, 0, State.CLOSED_UNCONFIRMED, 0, 3),
        (5, 3, State.CLOSED_UNCONFIRMED, 3, 2),
    ],
)
def test_a_cancel_closes_an_order_if_it_accounts_for_every_share(
    reduced_by, shows_filled, state, filled, max_fillable
):
    own = cancelled(reduced_by, shows_filled)
    assert (own.state, own.filled, own.max_fillable) == (state, filled, max_fillable)
    assert (own.cancel_requested, own.last_write_ns) == (True, T0 + 9)


def test_a_cancel_that_shows_fewer_fills_than_known_takes_none_back():
    own = made.own(State.OPEN)
    read(own, T0 + LAG_NS, filled=4, remaining=6)
    own.on_cancel_sent()
    own.on_cancel_body(made.over(own, CANCELED, 1), Qty(6), T0)
    assert (own.state, own.filled) == (State.CLOSED, 4)


def test_a_cancel_that_removed_nothing_waits_for_a_read():
    own = cancelled(0, 0)
    assert (own.state, own.max_fillable) == (State.CLOSED_UNCONFIRMED, 10)
    read_over(own, T0, 4)
    assert (own.state, own.filled) == (State.CLOSED, 4)


def test_a_cancel_that_came_too_late_waits_for_how_the_order_ended():
    own = made.own(State.OPEN)
    own.on_cancel_sent()
    own.on_answer(OrderEvent.TOO_LATE, T0)
    assert (own.state, own.max_fillable, own.can_cancel) == (State.CLOSED_UNCONFIRMED, 10, False)


@pytest.mark.parametrize(
    "fact", [OrderEvent.TIMEOUT, OrderEvent.NOT_SENT, OrderEvent.REJECTED, OrderEvent.NOT_FOUND]
)
def test_after_a_failed_cancel_an_undecided_amend_still_counts(fact):
    own = amending(Amend(qty=Qty(4)), State.REPLACE_UNKNOWN)
    own.on_cancel_sent()
    assert own.is_unknown
    own.on_answer(fact, T0)
    assert (own.state, own.max_fillable) == (State.REPLACE_UNKNOWN, 13)
    assert (own.suspicion is not None) is (fact is OrderEvent.NOT_FOUND)


def test_a_cancel_of_an_order_with_an_undecided_amend_waits_for_a_read_of_its_fills():
    own = amending(Amend(qty=Qty(4)), State.REPLACE_UNKNOWN)
    own.on_cancel_sent()
    own.on_cancel_body(made.over(own, CANCELED, 0), Qty(4), T0)
    assert (own.state, own.amend, own.max_fillable) == (State.CLOSED_UNCONFIRMED, None, 9)
    read_over(own, T0)
    assert own.state is State.CLOSED


def test_an_unconfirmed_create_of_an_earlier_run_is_sent_again_as_it_was_and_cancelled():
    order = made.intent()
    own = OwnOrder.left_behind(UnconfirmedCreate(order), T0)
    assert own.order == order
    assert (own.state, own.cancel_requested) == (State.NEW_UNKNOWN, True)
    assert (own.from_previous_run, own.due_ns) == (True, T0)


def test_an_order_found_resting_counts_as_it_is_shown_and_is_to_be_cancelled():
    own = OwnOrder.found_resting(made.shown(made.own(), filled=2, remaining=5), T0)
    assert (own.state, own.cancel_requested, own.from_previous_run) == (State.OPEN, True, True)
    assert (own.qty, own.filled, own.max_fillable) == (7, 2, 5)
    assert (own.order_id, own.client_order_id) == ("1001", "")


def test_an_order_whose_outcome_cannot_be_read_is_not_adopted():
    seen = replace(made.shown(made.own()), outcome=model.ShownOutcome.UNKNOWN)
    with pytest.raises(ValueError, match="unknown"):
        OwnOrder.found_resting(seen, T0)


def test_a_create_that_fills_at_once_is_closed_with_its_fills():
    own = made.own(State.PENDING_NEW)
    seen = replace(made.over(own, model.OrderStatus.FILLED, 10), order_id=OrderId("7"))
    own.on_write_body(seen, T0)
    assert (own.state, own.order_id, own.filled) == (State.CLOSED, "7", 10)


def test_a_create_whose_response_cannot_be_read_counts_in_full_until_a_read():
    own = made.own(State.PENDING_NEW)
    own.on_write_body(made.shown(own, order_id="7", status=STRANGE, remaining=0), T0)
    assert (own.state, own.order_id, own.max_fillable) == (State.OPEN, "7", 10)
    assert (own.is_unknown, own.known.epoch, own.cancel_requested) == (True, 1, False)


def test_a_create_with_unknown_outcome_takes_id_and_fills_from_the_list_that_shows_it():
    own = made.own(State.NEW_UNKNOWN)
    own.on_identified(made.shown(own, order_id="77", filled=2, remaining=8), T0 + LAG_NS)
    assert (own.state, own.order_id, own.filled, own.remaining) == (State.OPEN, "77", 2, 8)
    assert (own.last_write_ns, own.is_unknown) == (T0 + LAG_NS, False)
