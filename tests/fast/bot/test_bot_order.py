"""Claims about the table of an order's life: every cell of it, and every walk through it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.orders.order import IN_FLIGHT, OwnOrder
from bot.core.orders.transitions import (
    ACTS,
    TRANSITIONS,
    Anomaly,
    Go,
    NotAllowed,
    OrderEvent,
    OrderFinding,
    State,
)
from tests.builders.bot import made, order_picture
from tests.builders.bot.made import T0

# One row a fact, one column a state. A word alone: the order goes there or stays. With "!": it goes
# there and is suspected. "x": an act of ours that is not taken.
TABLE = """
fact          sent  lost  open        amending   blurred     cancelling  closing  done
resend        x     lost  x           x          x           x           x        x
amend         x     x     amending    x          x           x           x        x
cancel        x     x     cancelling  x          cancelling  x           x        x
rests         open  open  open!       open       blurred!    open!       closing! done
ended         done  done  closing!    done       closing!    done        closing! done
short         lost! lost! closing!    closing!   closing!    closing     closing! done
strange       open! open! open!       blurred!   blurred!    closing!    closing! done
never         done  lost  open!       open       blurred!    open        closing! done
refused       done  lost  open!       open       blurred!    open        closing! done
exists        lost  lost  open!       blurred!   blurred!    open!       closing! done
resolved      done  done  open!       blurred!   blurred!    open!       closing! done
over          lost! lost! closing!    closing    closing!    closing     closing! done
missing       lost! lost! open!       open!      blurred!    open!       closing! done
no_answer     lost  lost  open!       blurred    blurred!    open        closing! done
blind         lost! lost! open!       blurred!   blurred!    blurred     closing! done
read_rests    sent! lost! open        amending   open        cancelling  closing  done
read_differs  sent! lost! blurred!    amending   blurred     cancelling  closing  done
read_ended    sent! lost! done        done       done        done        done     done
read_moved    sent! lost! closing!    amending   closing     cancelling  closing  done
read_missing  sent! lost! open!       amending   blurred!    cancelling  closing! done
read_strange  sent! lost! open!       amending!  blurred!    cancelling! closing! done
listed        sent  open  open        amending   open        cancelling  open     done
gone          sent  done  done        amending   done        cancelling  done     done
"""
_HEAD, *_ROWS = [line.split() for line in TABLE.strip().splitlines()]
CELLS = [
    (State(state), OrderEvent(row[0]), word)
    for row in _ROWS
    for state, word in zip(_HEAD[1:], row[1:], strict=True)
]
MISSING = (OrderEvent.NOT_FOUND, OrderEvent.QUERY_NOT_FOUND)
STRANGE = (OrderEvent.UNKNOWN_STATUS, OrderEvent.QUERY_UNKNOWN_STATUS)


def test_the_table_decides_every_state_and_fact():
    decided = {(state, fact) for state, row in TRANSITIONS.items() for fact in row}
    assert decided == {(state, fact) for state in State for fact in OrderEvent}
    assert {(state, fact) for state, fact, _ in CELLS} == decided


@pytest.mark.parametrize(("state", "fact", "word"), CELLS)
def test_every_cell_does_what_the_table_says(state, fact, word):
    own = made.own(state)
    if word == "x":
        assert not own.is_allowed(fact)
        with pytest.raises(ValueError, match=f"{fact} while {state}"):
            own.apply_event(fact, T0 + 5)
        assert (own.state, own.suspicion) == (state, None)
        return
    own.apply_event(fact, T0 + 5)
    assert own.state is State(word.rstrip("!"))
    if not word.endswith("!"):
        assert own.suspicion is None
        return
    names = {
        **dict.fromkeys(MISSING, OrderFinding.MISSING),
        **dict.fromkeys(STRANGE, OrderFinding.UNREADABLE),
    }
    expected = OrderFinding.IMPOSSIBLE
    if state not in (State.PENDING_NEW, State.NEW_UNKNOWN) or fact is OrderEvent.UNKNOWN_STATUS:
        expected = names.get(fact, OrderFinding.IMPOSSIBLE)
    assert own.suspicion is not None
    assert (own.suspicion.finding, own.suspicion.since_ns) == (expected, T0 + 5)
    assert own.suspicion.why.startswith(f"{fact}: ")
    assert own.cancel_requested is (expected is OrderFinding.IMPOSSIBLE)
    assert own.is_unknown


def test_every_broken_promise_and_every_barred_act_says_why_in_a_phrase():
    cells = [cell for row in TRANSITIONS.values() for cell in row.values()]
    phrases = [cell.why for cell in cells if isinstance(cell, Anomaly | NotAllowed)]
    assert all(5 < len(why) < 60 and "\n" not in why for why in phrases)


def test_only_acts_of_ours_are_barred_and_no_other_fact_is():
    barred = {
        fact
        for row in TRANSITIONS.values()
        for fact, cell in row.items()
        if isinstance(cell, NotAllowed)
    }
    assert barred == set(ACTS) == {OrderEvent.RESEND, OrderEvent.AMEND, OrderEvent.CANCEL}


def test_nothing_leaves_done():
    news = {fact: cell for fact, cell in TRANSITIONS[State.CLOSED].items() if fact not in ACTS}
    assert set(news.values()) == {Go(State.CLOSED)}


def test_a_lost_create_is_settled_only_by_a_2xx_by_a_list_or_by_a_resolution():
    leaving = {
        fact
        for fact, cell in TRANSITIONS[State.NEW_UNKNOWN].items()
        if not isinstance(cell, NotAllowed) and cell.state is not State.NEW_UNKNOWN
    }
    shown = {OrderEvent.ACK_OPEN, OrderEvent.ACK_CLOSED, OrderEvent.UNKNOWN_STATUS}
    assert leaving == shown | {
        OrderEvent.LISTED,
        OrderEvent.CONFIRMED_GONE,
        OrderEvent.MARKET_RESOLVED,
    }


def test_a_write_is_in_flight_exactly_where_a_second_one_would_wait_for_its_answer():
    assert {State.PENDING_NEW, State.PENDING_REPLACE, State.PENDING_CANCEL} == IN_FLIGHT
    assert not any(made.own(state).can_cancel for state in IN_FLIGHT)


def test_the_picture_of_the_life_is_current():
    assert order_picture.PAGE.read_text(encoding="utf-8") == order_picture.page()


@settings(max_examples=200)
@given(st.lists(st.sampled_from(list(OrderEvent)), max_size=30), st.sampled_from(list(State)))
def test_no_walk_through_the_table_revives_an_ended_order(facts, state):
    own = made.own(state)
    ended = state is State.CLOSED
    for number, fact in enumerate(facts):
        if fact in ACTS and not own.is_allowed(fact):
            continue
        own.apply_event(fact, T0 + number)
        assert not ended or own.state is State.CLOSED
        ended = own.state is State.CLOSED
        assert not ended or (own.max_fillable, own.suspicion, own.is_unknown) == (0, None, False)


def test_an_order_has_at_most_twenty_two_facts():
    derived = {
        "book_side",
        "filled",
        "max_fillable",
        "price",
        "remaining",
        "yes_price",
        "yes_prices",
    }
    assert len(vars(made.own(State.OPEN)).keys() - derived) <= 22
    assert OwnOrder.__mro__ == (OwnOrder, object)
