"""Claims about the life of an own order: every cell of the table, and monotone merging of facts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.core.messages import OpenIntent
from bot.core.order import LIFE, Fact, Impossible, OwnOrder, State
from tests.bot import made, order_picture
from tests.bot.made import LAG_NS, T0
from venue.wire import codec, model
from venue.wire.money import Outcome, Qty, Side
from venue.wire.requests import Amend

FACTS = [
    "resend", "amend", "cancel", "rests", "ended", "never",
    "refused", "over", "no_answer", "read_rests", "read_ended", "read_never",
]  # fmt: skip
# One row a state, one column a fact in the order above; a dash is a cell that cannot happen.
TABLE = """
sent       -    -        -          open  done done done -       lost    -          -     -
lost       lost -        -          open  done lost lost -       lost    open       -     done
open       -    amending cancelling -     -    -    -    -       -       open       done  -
amending   -    -        -          open  done open open closing blurred amending   done  -
blurred    -    -        cancelling -     -    -    -    -       -       open       done  -
cancelling -    -        -          open  done open open closing open    cancelling done  -
closing    -    -        -          -     -    -    -    -       -       closing    done  -
done       -    -        -          done  done done done done    done    done       done  done
"""
CELLS = [
    (State(row.split()[0]), Fact(fact), None if cell == "-" else State(cell))
    for row in TABLE.strip().splitlines()
    for fact, cell in zip(FACTS, row.split()[1:], strict=True)
]


def test_the_table_decides_every_state_and_fact():
    assert {(state, fact) for state, row in LIFE.items() for fact in row} == {
        (state, fact) for state in State for fact in Fact
    }
    assert {(state, fact) for state, fact, _ in CELLS} == {
        (state, fact) for state in State for fact in Fact
    }


@pytest.mark.parametrize(("state", "fact", "after"), CELLS)
def test_a_fact_leads_where_the_table_says_or_is_impossible(state, fact, after):
    own = made.own(state)
    if after is None:
        with pytest.raises(Impossible):
            own.move(fact)
        assert own.state is state
    else:
        own.move(fact)
        assert own.state is after


def test_nothing_leaves_done():
    assert set(LIFE[State.DONE].values()) == {State.DONE, None}


def test_a_lost_create_is_settled_only_by_a_reply_that_shows_it_or_by_a_list():
    leaving = {fact for fact, after in LIFE[State.LOST].items() if after not in (State.LOST, None)}
    assert leaving == {Fact.RESTS, Fact.ENDED, Fact.READ_RESTS, Fact.READ_NEVER}


def test_the_picture_of_the_life_is_current():
    assert order_picture.PAGE.read_text(encoding="utf-8") == order_picture.page()


# --- reads ----------------------------------------------------------------------------------------


def test_a_read_begun_too_early_changes_nothing_but_fills():
    own = made.own(State.OPEN)
    own.shown_by_read(made.shown(own, price=55, remaining=3, filled=2), T0 + LAG_NS - 1, LAG_NS)
    assert (own.price, own.filled, own.remaining, own.state) == (40, 2, 8, State.OPEN)


def test_a_read_begun_late_enough_is_the_new_belief():
    own = made.own(State.OPEN)
    own.shown_by_read(made.shown(own, price=55, remaining=3, filled=2), T0 + LAG_NS, LAG_NS)
    assert (own.price, own.filled, own.remaining) == (55, 2, 3)


def test_a_stale_read_does_not_take_fills_back():
    own = made.own(State.OPEN)
    own.filled, own.remaining = Qty(6), Qty(4)
    own.shown_by_read(made.shown(own, filled=2, remaining=8), T0, LAG_NS)
    assert (own.filled, own.remaining) == (6, 4)


def test_an_end_shown_by_a_read_is_believed_however_early_it_was_begun():
    own = made.own(State.AMENDING)
    own.amend = Amend(price=50)
    own.shown_by_read(made.over(own, model.OrderStatus.FILLED, 10), T0 - LAG_NS, LAG_NS)
    assert (own.state, own.filled, own.may_fill, own.amend) == (State.DONE, 10, 0, None)


def test_an_accepted_order_counts_as_resting():
    own = made.own(State.OPEN)
    seen = made.shown(own, status=model.OrderStatus.ACCEPTED)
    own.shown_by_read(seen, T0 + LAG_NS, LAG_NS)
    assert own.state is State.OPEN
    assert own.may_fill == 10


@given(
    reads=st.lists(
        st.tuples(st.integers(0, 10), st.integers(-3, 3), st.booleans()), min_size=1, max_size=8
    ),
    state=st.sampled_from([State.OPEN, State.AMENDING, State.CANCELLING, State.CLOSING]),
)
def test_whatever_reads_come_filled_never_falls_and_done_never_revives(reads, state):
    own = made.own(state)
    for filled, lags, ended in reads:
        before, was = own.filled, own.state
        if ended:
            seen = made.over(own, model.OrderStatus.CANCELED, filled)
        else:
            seen = made.shown(own, filled=filled, remaining=10 - filled)
        own.shown_by_read(seen, T0 + lags * LAG_NS, LAG_NS)
        assert own.filled >= before
        assert was is not State.DONE or own.state is State.DONE
        assert own.may_fill >= 0


@given(st.permutations([0, 3, 5, 7]))
def test_early_reads_come_to_the_same_in_any_order(fills):
    own = made.own(State.OPEN)
    for filled in fills:
        seen = made.shown(made.own(State.OPEN), filled=filled, remaining=10 - filled)
        own.shown_by_read(seen, T0, LAG_NS)
    assert (own.filled, own.remaining, own.state) == (7, 3, State.OPEN)


# --- amends ---------------------------------------------------------------------------------------


def test_a_size_amend_under_way_counts_the_old_size_but_one_and_the_new_one():
    own = made.own(State.OPEN)
    own.sent_amend(Amend(qty=Qty(4)))
    assert own.may_fill == 9 + 4


@given(fills=st.integers(0, 9), asked=st.integers(1, 10))
def test_an_amend_that_races_fills_never_fills_more_than_was_counted(fills, asked):
    own = made.own(State.OPEN)
    own.sent_amend(Amend(qty=Qty(asked)))
    counted = own.may_fill
    # The fills come first; the amend then sets the remainder (S13), which may fill as well.
    assert fills + asked <= counted


def test_a_price_amend_under_way_rests_at_both_prices_and_costs_the_dearer():
    own = made.own(State.OPEN)
    own.sent_amend(Amend(price=45))
    assert own.levels == (40, 45)
    assert own.exposure().price == 45
    sale = made.own(State.OPEN, side=Side.SELL)
    sale.sent_amend(Amend(price=45))
    assert sale.exposure().price == 40


@pytest.mark.parametrize("fact", [Fact.NEVER, Fact.REFUSED])
def test_a_refused_amend_is_forgotten(fact):
    own = made.own(State.OPEN)
    own.sent_amend(Amend(price=45))
    own.answered(fact, T0)
    assert (own.state, own.amend, own.levels) == (State.OPEN, None, (40,))


def test_an_unanswered_amend_is_believed_after_two_equal_reads_a_lag_apart():
    own = made.own(State.OPEN)
    own.sent_amend(Amend(price=45))
    own.answered(Fact.NO_ANSWER, T0)
    seen = made.shown(own, price=45)
    own.shown_by_read(seen, T0 + LAG_NS, LAG_NS)
    assert own.state is State.BLURRED
    own.shown_by_read(seen, T0 + 2 * LAG_NS - 1, LAG_NS)
    assert own.state is State.BLURRED
    own.shown_by_read(seen, T0 + 2 * LAG_NS, LAG_NS)
    assert (own.state, own.price, own.amend) == (State.OPEN, 45, None)


def test_two_differing_reads_leave_an_unanswered_amend_unknown():
    own = made.own(State.OPEN)
    own.sent_amend(Amend(price=45))
    own.answered(Fact.NO_ANSWER, T0)
    own.shown_by_read(made.shown(own, price=40), T0 + LAG_NS, LAG_NS)
    own.shown_by_read(made.shown(own, price=45), T0 + 2 * LAG_NS, LAG_NS)
    assert own.state is State.BLURRED
    assert own.levels == (40, 45)


def test_an_amend_that_trades_the_rest_ends_the_order():
    own = made.own(State.OPEN)
    own.sent_amend(Amend(price=60))
    own.shown_by_write(made.over(own, model.OrderStatus.FILLED, 10), T0)
    assert (own.state, own.filled, own.remaining) == (State.DONE, 10, 0)


# --- cancels --------------------------------------------------------------------------------------


def cancelled(reduced_by: int, shown_filled: int) -> OwnOrder:
    """An order of ten shares after a cancel's reply."""
    own = made.own(State.OPEN)
    own.sent_cancel()
    own.cancelled(made.over(own, model.OrderStatus.CANCELED, shown_filled), Qty(reduced_by), T0)
    return own


def test_a_cancel_that_removed_everything_ends_the_order():
    assert cancelled(10, 0).state is State.DONE


def test_a_cancel_that_removed_less_waits_for_the_fills_it_does_not_show():
    own = cancelled(7, 0)
    assert (own.state, own.may_fill) == (State.CLOSING, 3)


def test_a_cancel_whose_floor_explains_the_difference_ends_the_order():
    own = cancelled(7, 3)
    assert (own.state, own.filled) == (State.DONE, 3)


def test_a_repeated_cancel_that_removed_nothing_waits_for_a_read():
    own = cancelled(0, 0)
    assert (own.state, own.may_fill) == (State.CLOSING, 10)
    own.shown_by_read(made.over(own, model.OrderStatus.CANCELED, 4), T0, LAG_NS)
    assert (own.state, own.filled) == (State.DONE, 4)


def test_a_cancel_that_found_the_order_over_waits_for_how_it_ended():
    own = made.own(State.OPEN)
    own.sent_cancel()
    own.answered(Fact.OVER, T0)
    assert (own.state, own.may_fill) == (State.CLOSING, 10)


def test_a_cancel_that_failed_beside_an_unanswered_amend_keeps_the_amend_counted():
    own = made.own(State.OPEN)
    own.sent_amend(Amend(qty=Qty(4)))
    own.answered(Fact.NO_ANSWER, T0)
    own.sent_cancel()
    own.answered(Fact.NO_ANSWER, T0)
    assert (own.state, own.may_fill) == (State.BLURRED, 13)


# --- beginnings -----------------------------------------------------------------------------------


def test_an_order_left_behind_is_lost_and_doomed_and_keeps_its_bytes():
    order = made.intent()
    body = codec.encode_new_order(order)
    own = OwnOrder.left_behind(OpenIntent(order, body), T0)
    assert (own.state, own.doomed, own.body, own.intent()) == (State.LOST, True, body, order)


def test_an_order_found_resting_is_counted_by_what_it_shows_and_doomed():
    seen = made.shown(made.own(), filled=2, remaining=5)
    own = OwnOrder.found_resting(seen, T0)
    assert (own.filled, own.may_fill, own.doomed, own.state) == (2, 5, True, State.OPEN)


def test_an_order_whose_outcome_cannot_be_read_is_not_taken_over():
    seen = replace(made.shown(made.own()), outcome=model.ShownOutcome.UNKNOWN)
    with pytest.raises(ValueError, match="unknown"):
        OwnOrder.found_resting(seen, T0)


def test_a_purchase_of_no_stands_on_the_ask_side_at_the_mirrored_price():
    own = made.own(outcome=Outcome.NO, price=30)
    assert (own.side, own.level) == ("ask", 70)


# --- any walk through the table -------------------------------------------------------------------


@settings(max_examples=200)
@given(st.lists(st.sampled_from(list(Fact)), max_size=30))
def test_no_walk_through_the_table_revives_an_ended_order(facts):
    own = made.own(State.SENT)
    ended = False
    for fact in facts:
        try:
            own.move(fact)
        except Impossible:
            continue
        assert not ended or own.state is State.DONE
        ended = own.state is State.DONE
