"""How one own order ends or lives on, and at what its fills may have been, to the last field."""

import pytest
from msgspec.structs import replace

from bot.core.orders.absence import Absence
from bot.core.orders.known import Known
from bot.core.orders.life import Fact, State
from bot.core.orders.order import OwnOrder
from bot.core.orders.tag import Tag
from tests.bot import made
from tests.bot.made import LAG_NS, T0
from tests.bot.news import read
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.requests import Amend

PROVEN = Absence(T0, read=True, list_ns=T0, lists=True)


# --- gone -----------------------------------------------------------------------------------------


def test_an_order_whose_absence_is_proven_is_over_and_dated():
    own = made.own(State.CLOSING)
    own.absence = PROVEN
    own.unknown_since_ns = T0
    assert own.gone(T0 + LAG_NS)
    assert (own.state, own.unknown_since_ns) == (State.DONE, None)


@pytest.mark.parametrize(
    "absence", [None, replace(PROVEN, read=False), replace(PROVEN, lists=False)]
)
def test_an_order_whose_absence_is_not_proven_stays(absence):
    own = made.own(State.CLOSING)
    own.absence = absence
    assert not own.gone(T0)
    assert own.state is State.CLOSING


def test_an_order_with_an_undecided_amend_may_rest_elsewhere_and_stays():
    own = made.own(State.CLOSING)
    own.absence = PROVEN
    own.amend = Amend(price=Price(45))
    assert not own.gone(T0)
    assert own.state is State.CLOSING


def test_an_order_that_is_over_is_not_gone_once_more():
    own = made.own(State.DONE)
    own.absence = PROVEN
    assert not own.gone(T0)


@pytest.mark.parametrize("state", [State.AMENDING, State.CANCELLING])
def test_an_order_with_a_write_on_its_way_is_not_over_by_its_absence(state):
    own = made.own(state)
    own.absence = PROVEN
    assert not own.gone(T0)
    assert own.state is state


@pytest.mark.parametrize(
    ("act", "fact", "begins"),
    [
        ("cancel", Fact.MISSING, True),
        ("cancel", Fact.OVER, True),
        ("cancel", Fact.REFUSED, False),
        ("cancel", Fact.NO_ANSWER, False),
        ("amend", Fact.OVER, True),
        ("amend", Fact.REFUSED, False),
        ("amend", Fact.NO_ANSWER, False),
    ],
)
def test_its_absence_begins_with_the_word_that_it_is_not_there_or_over(act, fact, begins):
    own = made.own(State.OPEN)
    if act == "cancel":
        own.sent_cancel()
    else:
        own.sent_amend(Amend(price=Price(45)))
    own.answered(fact, T0 + 7)
    assert own.absence == (Absence(T0 + 7) if begins else None)


def test_its_absence_is_dated_by_the_first_such_word():
    own = made.own(State.OPEN)
    for at_ns in (T0 + 7, T0 + 9):
        own.sent_cancel()
        own.answered(Fact.MISSING, at_ns)
    assert own.absence == Absence(T0 + 7)


@pytest.mark.parametrize("begun_ns", [T0 + 3, T0 + LAG_NS])
def test_a_late_read_of_what_is_said_to_be_over_leaves_the_word_and_not_what_bears_it_out(begun_ns):
    """No cancel of it leaves any more, so that nothing would say so once more."""
    own = made.own(State.OPEN)
    resting = made.shown(own)
    own.sent_cancel()
    own.answered(Fact.OVER, T0 + 7)
    own.absence = replace(own.absence, read=True, list_ns=T0 + 2 * LAG_NS, lists=True)
    own.shown_by_read(resting, begun_ns, LAG_NS)
    assert (own.state, own.absence) == (State.CLOSING, Absence(T0 + 7))


def test_what_rests_after_its_end_is_not_gone_by_the_word_of_before():
    own = made.own(State.OPEN)
    resting = made.shown(own)
    own.sent_cancel()
    own.answered(Fact.OVER, T0 + 7)
    own.shown_by_read(resting, T0 + 7 + LAG_NS, LAG_NS)
    assert (own.state, own.absence) == (State.OPEN, None)


# --- counted as another, risen, or under another id -----------------------------------------------


@pytest.mark.parametrize("has_id", [False, True])
def test_a_create_that_is_counted_as_another_order_is_over_from_then_on(has_id):
    own = made.own(State.SENT if not has_id else State.CLOSING)
    own.unknown_since_ns = T0
    own.counted_elsewhere(T0 + 7)
    assert (own.state, own.last_write_ns) == (State.DONE, T0 + 7)
    assert own.unknown_since_ns is None


def test_what_has_risen_is_in_doubt_and_read_at_once():
    of = made.own(State.OPEN)
    risen = OwnOrder.found_risen(made.shown(of, filled=2, remaining=8), T0 + 3, T0 + 7)
    assert (risen.state, risen.order_id) == (State.CLOSING, of.order_id)
    assert (risen.last_write_ns, risen.read_due_ns, risen.placed_ns) == (T0 + 3, T0 + 7, T0 + 7)
    assert risen.inherited and risen.doomed


def test_a_successor_is_above_the_limits_and_tagged_as_the_one_before_it():
    own = made.own(State.OPEN)
    own.beyond = True
    own.tag = Tag(1, "mine", "a reason of its own")
    later = own.successor(made.shown(own, order_id="99"), T0 + 7)
    assert later.beyond
    assert later.tag is own.tag


# --- at what its fills may have been --------------------------------------------------------------


def worst(side: Side, one: int, other: int) -> int:
    """Of two prices the one at which a side trades worse."""
    return max(one, other) if side is Side.BUY else min(one, other)


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("price", [35, 45])
def test_fills_beside_an_undecided_change_of_price_may_have_been_at_the_worse_of_both(side, price):
    own = made.own(State.OPEN, side=side, price=40)
    assert own.worst_fill_price(0) == 40
    own.sent_amend(Amend(price=Price(price)))
    assert own.worst_fill_price(0) == worst(side, 40, price)


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("price", [35, 45])
def test_fills_known_when_the_price_has_changed_may_have_been_at_the_one_before(side, price):
    own = made.own(State.OPEN, side=side, price=40)
    own._learn(Known(0, Price(40), Qty(10), Qty(4)))
    assert own.dear == (0, 40)
    own._learn(Known(1, Price(price), Qty(10), Qty(4)))
    assert own.dear == (4, 40)
    assert own.worst_fill_price(3) == worst(side, 40, price)
    assert own.worst_fill_price(4) == price


def test_a_price_that_stays_says_nothing_new_of_its_fills():
    own = made.own(State.OPEN, price=40)
    own._learn(Known(1, Price(40), Qty(10), Qty(4)))
    assert own.dear == (0, 40)


@pytest.mark.parametrize(("second", "dearest"), [(45, 45), (38, 40)])
def test_of_several_prices_of_before_the_worst_stands_for_all_fills_known_since(second, dearest):
    own = made.own(State.OPEN, price=40)
    own._learn(Known(1, Price(second), Qty(10), Qty(2)))
    own._learn(Known(2, Price(30), Qty(10), Qty(5)))
    assert own.dear == (5, dearest)
    assert own.worst_fill_price(4) == dearest
    assert own.worst_fill_price(5) == 30


def test_a_price_of_before_is_forgotten_where_nothing_had_filled_at_it():
    own = made.own(State.OPEN, price=40)
    own._learn(Known(1, Price(35), Qty(10), Qty(0)))
    own._learn(Known(2, Price(30), Qty(10), Qty(5)))
    assert own.dear == (5, 35)


@pytest.mark.parametrize(
    ("amend", "dear"), [(Amend(price=Price(45)), (4, 45)), (Amend(qty=Qty(5)), (0, 40))]
)
def test_a_change_of_price_that_a_cancel_folds_may_have_filled_at_its_own(amend, dear):
    own = made.own(State.OPEN, price=40)
    read(own, T0 + LAG_NS, filled=4, remaining=6)
    own.sent_amend(amend)
    own._fold_amend()
    assert own.dear == dear


def test_its_id_may_show_no_more_fills_than_it_was_ever_asked_for():
    own = made.own(State.OPEN)
    own.intended = Qty(25)
    assert [own.may_have_filled(Qty(qty)) for qty in (25, 26)] == [True, False]
    grown = made.own(State.DONE)
    grown.known = Known(1, Price(40), Qty(30), Qty(0), True)
    assert [grown.may_have_filled(Qty(qty)) for qty in (30, 31)] == [True, False]
    grown.inherited = True
    assert grown.may_have_filled(Qty(31))


def test_the_side_of_the_order_and_not_of_the_book_tells_the_worse_price():
    own = made.own(State.OPEN, outcome=Outcome.NO, side=Side.BUY, price=40)
    own.sent_amend(Amend(price=Price(45)))
    assert own.worst_fill_price(0) == 45
