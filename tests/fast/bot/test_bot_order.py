"""The table of an order's life: every cell of it, and every walk through it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.orders.order import IN_FLIGHT
from bot.core.orders.transitions import ACTS, TRANSITIONS, OrderEvent, OrderFinding, State
from tests.builders.bot import made, order_picture
from tests.builders.bot.made import T0

# One row an event, one column a state. A word alone: the order goes to that state or stays in it.
# With "!": it goes there and is suspect. "x": a write of ours that is not allowed.
TABLE = """
event         sent  lost  open        amending   blurred     cancelling  closing  done
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


def test_the_table_covers_every_state_and_event():
    decided = {(state, event) for state, row in TRANSITIONS.items() for event in row}
    assert decided == {(state, event) for state in State for event in OrderEvent}
    assert {(state, event) for state, event, _ in CELLS} == decided


@pytest.mark.parametrize(("state", "event", "word"), CELLS)
def test_an_event_moves_an_order_as_the_table_says(state, event, word):
    own = made.own(state)
    if word == "x":
        assert not own.is_allowed(event)
        with pytest.raises(ValueError, match=f"{event} while {state}"):
            own.apply_event(event, T0 + 5)
        assert (own.state, own.suspicion) == (state, None)
        return
    own.apply_event(event, T0 + 5)
    assert own.state is State(word.rstrip("!"))
    if not word.endswith("!"):
        assert own.suspicion is None
        return
    names = {
        **dict.fromkeys(MISSING, OrderFinding.MISSING),
        **dict.fromkeys(STRANGE, OrderFinding.UNREADABLE),
    }
    expected = OrderFinding.IMPOSSIBLE
    if state not in (State.PENDING_NEW, State.NEW_UNKNOWN) or event is OrderEvent.UNKNOWN_STATUS:
        expected = names.get(event, OrderFinding.IMPOSSIBLE)
    assert own.suspicion is not None
    assert (own.suspicion.finding, own.suspicion.since_ns) == (expected, T0 + 5)
    assert own.suspicion.why.startswith(f"{event}: ")
    assert own.cancel_requested is (expected is OrderFinding.IMPOSSIBLE)
    assert own.is_unknown


def test_an_order_with_a_write_in_flight_takes_no_cancel():
    assert {State.PENDING_NEW, State.PENDING_REPLACE, State.PENDING_CANCEL} == IN_FLIGHT
    assert not any(made.own(state).can_cancel for state in IN_FLIGHT)


def test_docs_order_life_shows_the_current_table():
    assert order_picture.PAGE.read_text(encoding="utf-8") == order_picture.page()


@settings(max_examples=200)
@given(st.lists(st.sampled_from(list(OrderEvent)), max_size=30), st.sampled_from(list(State)))
def test_no_sequence_of_events_revives_a_closed_order(events, state):
    own = made.own(state)
    ended = state is State.CLOSED
    for number, event in enumerate(events):
        if event in ACTS and not own.is_allowed(event):
            continue
        own.apply_event(event, T0 + number)
        assert not ended or own.state is State.CLOSED
        ended = own.state is State.CLOSED
        assert not ended or (own.max_fillable, own.suspicion, own.is_unknown) == (0, None, False)
