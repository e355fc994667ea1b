"""One own order to the last field: what a step sets, what it clears, and what it leaves alone."""

import pytest
from msgspec.structs import replace

from bot.core.orders.known import EARLIER, Known
from bot.core.orders.life import ACTS, Barred, Fact, Finding, State, Suspect, To, _row
from bot.core.orders.order import EARLIER_IDS_MAX, OwnOrder, Suspicion
from tests.bot import made
from tests.bot.made import LAG_NS, T0
from tests.bot.news import STRANGE, amending, read, read_over
from venue.wire import codec, model
from venue.wire.money import Price, Qty
from venue.wire.names import OrderId
from venue.wire.requests import Amend

CANCELED = model.OrderStatus.CANCELED


def fields(own: OwnOrder) -> dict[str, object]:
    """Every field of an order by its name."""
    return {name: getattr(own, name) for name in type(own).__mro__[1].__slots__}


# --- acts -----------------------------------------------------------------------------------------


def test_an_amend_that_leaves_keeps_what_was_known_before_it():
    own = made.own(State.OPEN)
    read(own, T0 + LAG_NS, filled=2, remaining=8)
    amend = Amend(price=Price(45))
    own.sent_amend(amend)
    assert (own.state, own.amend, own.before) == (State.AMENDING, amend, own.known)
    assert own.before == Known(0, Price(40), Qty(10), Qty(2))


def test_a_cancel_that_leaves_dooms_the_order():
    own = made.own(State.OPEN)
    own.sent_cancel()
    assert (own.state, own.doomed) == (State.CANCELLING, True)


def test_a_re_send_dates_what_is_unknown_by_the_last_write():
    own = made.own(State.LOST)
    own.sent_again()
    assert (own.state, own.unknown_since_ns) == (State.LOST, T0)


def test_a_barred_act_names_itself_the_state_and_the_reason():
    own = made.own(State.DONE)
    with pytest.raises(ValueError, match=r"^cancel while done: it is over$"):
        own.sent_cancel()
    assert not own.doomed


# --- steps ----------------------------------------------------------------------------------------


def test_an_order_that_is_done_keeps_its_numbers_and_nothing_undecided():
    own = amending(Amend(price=Price(45)), State.BLURRED, filled=2, remaining=8)
    own.moved_ns = own.read_due_ns = T0
    own.suspicion = Suspicion(Finding.MISSING, "gone", T0)
    own.move(Fact.READ_ENDED, T0 + 9)
    assert own.known == Known(own.known.epoch, Price(40), Qty(10), own.filled, True)
    assert (own.amend, own.before, own.suspicion) == (None, None, None)
    assert (own.moved_ns, own.read_due_ns, own.unknown_since_ns) == (None, None, None)


def test_a_suspicion_says_which_fact_broke_which_promise_and_when():
    own = made.own(State.OPEN)
    own.move(Fact.READ_MOVED, T0 + 9)
    assert own.suspicion == Suspicion(
        Finding.IMPOSSIBLE,
        "read_moved: cancelled under our hands, and no amend was sent",
        T0 + 9,
    )
    assert (own.state, own.doomed, own.unknown_since_ns) == (State.CLOSING, True, T0 + 9)


def test_a_lighter_suspicion_neither_dooms_nor_spares():
    own = made.own(State.OPEN)
    own.suspect(Finding.MISSING, "gone", T0 + 1)
    assert (own.doomed, own.unknown_since_ns) == (False, T0 + 1)
    own.doomed = True
    own.suspect(Finding.UNREADABLE, "odd", T0 + 2)
    assert own.doomed
    assert own.suspicion == Suspicion(Finding.MISSING, "gone", T0 + 1)


@pytest.mark.parametrize("first", [Finding.IMPOSSIBLE, Finding.ECHO])
def test_of_two_grave_suspicions_the_first_stands(first):
    own = made.own(State.OPEN)
    own.suspect(first, "one", T0)
    own.suspect(Finding.IMPOSSIBLE, "two", T0 + 1)
    assert own.suspicion == Suspicion(first, "one", T0)


# --- answers --------------------------------------------------------------------------------------


def test_every_answer_begins_a_new_epoch_and_is_the_last_write():
    own = amending(Amend(price=Price(45)))
    own.moved_ns = T0
    own.answered(Fact.NO_ANSWER, T0 + 5)
    assert (own.known.epoch, own.last_write_ns, own.moved_ns) == (1, T0 + 5, None)
    assert (own.amend, own.state, own.unknown_since_ns) == (
        Amend(price=Price(45)),
        State.BLURRED,
        T0 + 5,
    )


def test_an_answer_to_a_cancel_does_not_forget_where_an_order_may_have_gone():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    own.sent_cancel()
    own.moved_ns = T0
    own.answered(Fact.NEVER, T0 + 5)
    assert (own.moved_ns, own.amend) == (T0, Amend(price=Price(45)))


def test_a_404_to_the_cancel_of_an_undecided_amend_is_told_as_that():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    own.sent_cancel()
    own.answered(Fact.MISSING, T0 + 5)
    assert own.suspicion == Suspicion(Finding.MISSING, "404 to its cancel", T0 + 5)
    assert own.state is State.BLURRED


def test_an_end_read_while_an_answer_was_awaited_is_believed_with_that_answer():
    own = amending(Amend(price=Price(45)))
    read_over(own, T0, 4)
    assert own.state is State.AMENDING
    own.answered(Fact.REFUSED, T0 + 5)
    assert (own.state, own.filled, own.may_fill) == (State.DONE, 4, 0)


def test_two_reads_before_and_after_an_answer_are_not_the_same_twice():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    read(own, T0 + LAG_NS, price=45)
    own.sent_cancel()
    own.answered(Fact.NO_ANSWER, T0 + LAG_NS)
    read(own, T0 + 2 * LAG_NS, price=45)
    assert own.state is State.BLURRED
    read(own, T0 + 3 * LAG_NS, price=45)
    assert own.state is State.OPEN


def test_a_reply_brings_the_id_only_to_an_order_without_one():
    own = made.own(State.SENT)
    own.shown_by_write(made.shown(own, order_id="7", remaining=10), T0 + 5)
    assert (own.order_id, own.last_write_ns, own.known.epoch) == ("7", T0 + 5, 1)
    own.sent_amend(Amend(price=Price(45)))
    own.shown_by_write(made.shown(own, order_id="8", price=45), T0 + 6)
    assert (own.order_id, own.price, own.level) == ("7", 45, 45)
    assert (own.amend, own.before, own.state) == (None, None, State.OPEN)


def test_a_reply_that_cannot_be_read_is_dated_and_keeps_the_amend():
    own = amending(Amend(price=Price(45)))
    own.shown_by_write(made.shown(own, filled=1, remaining=9, status=STRANGE), T0 + 5)
    assert (own.last_write_ns, own.amend, own.filled) == (T0 + 5, Amend(price=Price(45)), 1)
    assert own.suspicion is not None
    assert (own.suspicion.finding, own.suspicion.since_ns) == (Finding.UNREADABLE, T0 + 5)


def test_an_order_replaced_under_another_id_is_over_under_this_one():
    own = amending(Amend(price=Price(45)), filled=2, remaining=8)
    own.replaced(Fact.ENDED, T0 + 5)
    assert (own.state, own.last_write_ns, own.known.ended) == (State.DONE, T0 + 5, True)
    assert own.known.epoch == 1


@pytest.mark.parametrize(
    ("reduced_by", "shown_filled", "state", "filled", "left"),
    [
        (10, 0, State.DONE, 0, 0),
        (9, 0, State.CLOSING, 0, 1),
        (9, 1, State.DONE, 1, 0),
        (0, 10, State.DONE, 10, 0),
        (11, 0, State.DONE, 0, 0),
        (10, 5_000, State.DONE, 0, 0),
    ],
)
def test_a_cancel_accounts_for_every_share(reduced_by, shown_filled, state, filled, left):
    own = made.own(State.OPEN)
    own.sent_cancel()
    own.cancelled(made.over(own, CANCELED, shown_filled), Qty(reduced_by), T0 + 9)
    assert (own.state, own.filled, own.may_fill) == (state, filled, left)
    assert (own.known.size, own.known.epoch) == (filled + left, 1)
    assert own.last_write_ns == T0 + 9


def test_a_cancel_that_removed_nothing_keeps_an_undecided_amend_counted():
    own = amending(Amend(qty=Qty(4)), State.BLURRED)
    own.sent_cancel()
    own.cancelled(made.over(own, CANCELED, 0), Qty(0), T0)
    assert (own.state, own.amend) == (State.CLOSING, Amend(qty=Qty(4)))


def test_a_cancel_that_removed_one_share_settles_the_amend_beside_it():
    own = amending(Amend(qty=Qty(4)), State.BLURRED)
    own.sent_cancel()
    own.cancelled(made.over(own, CANCELED, 0), Qty(1), T0)
    assert (own.amend, own.before, own.may_fill) == (None, None, 12)


def test_a_cancel_after_fills_that_are_known_counts_only_the_others():
    own = made.own(State.OPEN)
    read(own, T0 + LAG_NS, filled=4, remaining=6)
    own.sent_cancel()
    own.cancelled(made.over(own, CANCELED, 4), Qty(5), T0)
    assert (own.state, own.filled, own.may_fill) == (State.CLOSING, 4, 1)


def test_an_amend_whose_reply_cannot_be_read_is_settled_by_two_reads():
    own = amending(Amend(price=Price(45)))
    own.shown_by_write(made.shown(own, price=45, status=STRANGE), T0)
    for lags in (1, 2):
        read(own, T0 + lags * LAG_NS, price=45)
    assert (own.state, own.price) == (State.OPEN, 45)


def test_an_order_said_to_be_over_beside_an_undecided_amend_that_rests_is_read_twice_again():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    own.sent_cancel()
    own.answered(Fact.OVER, T0)
    read(own, T0 + LAG_NS)
    assert (own.state, own.doomed, own.levels) == (State.BLURRED, True, (40, 45))


# --- ids that change ------------------------------------------------------------------------------


def successor(**row) -> OwnOrder:
    """The order that a price amend made of one with three of ten shares filled."""
    own = amending(Amend(price=Price(45)), filled=3, remaining=7)
    own.inherited = own.doomed = True
    return own.successor(made.shown(own, order_id="99", price=45, **row), T0 + 5)


@pytest.mark.parametrize(
    ("filled", "carried", "own_filled"), [(0, 0, 0), (2, 0, 2), (3, 3, 0), (4, 3, 1)]
)
def test_a_successor_counts_only_fills_of_its_own(filled, carried, own_filled):
    later = successor(filled=filled, remaining=6)
    assert (later.carried, later.filled) == (carried, own_filled)
    assert later.known == Known(
        1, Price(45), Qty(filled + 6 - carried), Qty(own_filled), ended=False
    )


def test_a_successor_of_which_nothing_more_is_meant_is_too_much_with_a_single_share():
    own = amending(Amend(qty=Qty(6)))
    own.fills_shown(made.shown(own, filled=8, remaining=2))
    later = own.successor(made.shown(own, order_id="99", filled=0, remaining=1), T0)
    assert (later.intended, later.doomed) == (0, True)


def test_a_successor_is_what_its_order_was_to_us():
    later = successor(filled=0, remaining=7)
    assert (later.inherited, later.doomed, later.why, later.qty) == (True, True, "made", 10)
    assert (later.body, later.placed_ns, later.due_ns) == (
        codec.encode_new_order(made.intent()),
        T0,
        T0 + 5,
    )


def test_a_floor_told_by_a_cancel_is_of_the_id_that_it_names():
    later = successor(filled=3, remaining=7)
    later.doomed = False
    later.sent_cancel()
    later.cancelled(replace(made.over(later, CANCELED, 5), order_id=OrderId("99")), Qty(5), T0 + 9)
    assert (later.state, later.filled) == (State.DONE, 2)


def test_a_row_that_shows_less_than_was_carried_over_shows_nothing_filled():
    later = successor(filled=3, remaining=7)
    later.fills_shown(made.shown(later, order_id="99", filled=2, remaining=8))
    assert (later.filled, later.remaining) == (0, 7)


def test_a_successor_remembers_the_id_before_and_what_that_had_filled():
    later = successor(filled=3, remaining=7)
    assert later.earlier == (("1001", 3),)


def test_a_successor_of_an_order_without_an_id_remembers_none():
    own = amending(Amend(price=Price(45)))
    own.order_id = None
    assert own.successor(made.shown(own, order_id="99"), T0).earlier == ()


def test_of_many_ids_the_last_are_remembered():
    own = made.own(State.OPEN)
    for number in range(EARLIER_IDS_MAX + 2):
        own.sent_amend(Amend(price=Price(41 + number % 2)))
        own = own.successor(made.shown(own, order_id=f"{100 + number}"), T0)
    kept = [order_id for order_id, _ in own.earlier]
    assert kept == [f"{100 + number}" for number in range(1, EARLIER_IDS_MAX + 1)]


def test_a_successor_with_carried_fills_that_is_over_is_over():
    own = amending(Amend(price=Price(45)), filled=3, remaining=7)
    over = replace(made.over(own, model.OrderStatus.FILLED, 10), order_id=OrderId("99"))
    later = own.successor(over, T0)
    assert (later.state, later.carried, later.known.ended) == (State.DONE, 3, True)


# --- reads ----------------------------------------------------------------------------------------


def test_fills_in_an_answer_to_another_write_count_and_change_nothing_else():
    own = made.own(State.OPEN)
    own.fills_shown(made.shown(own, price=50, filled=4, remaining=5))
    assert own.known == Known(0, Price(40), Qty(10), Qty(4))


@pytest.mark.parametrize("told_by", ["another write", "a read", "its own write"])
def test_a_row_that_comes_to_more_than_was_asked_for_tells_of_no_fill(told_by):
    """Ten were asked for: five filled and ten working are no row of it, and fills never fall."""
    own = made.own(State.AMENDING if told_by == "its own write" else State.OPEN)
    row = made.shown(own, filled=5, remaining=10, qty=10)
    if told_by == "another write":
        own.fills_shown(row)
    elif told_by == "a read":
        own.shown_by_read(row, T0 + 10 * LAG_NS, LAG_NS)
    else:
        own.shown_by_write(row, T0)
    assert (own.filled, own.remaining, own.state) == (0, 10, State.OPEN)


def test_a_lost_create_found_in_a_list_begins_an_epoch_with_what_is_listed():
    own = made.own(State.LOST)
    own.identified(made.shown(own, order_id="77", price=40, filled=2, remaining=7), T0 + 9)
    assert own.known == Known(1, Price(40), Qty(9), Qty(2))
    assert own.last_write_ns == T0 + 9


def test_a_lost_create_that_no_list_shows_is_over_from_then_on():
    own = made.own(State.LOST)
    own.unlisted(T0 + 9)
    assert (own.state, own.last_write_ns, own.known.ended) == (State.DONE, T0 + 9, True)


def test_a_2xx_that_nobody_asked_for_is_suspected_from_its_own_instant():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    own.suspicion = None
    own.replaced(Fact.ENDED, T0 + 5)
    assert own.suspicion is not None
    assert (own.state, own.suspicion.since_ns) == (State.CLOSING, T0 + 5)


def test_an_end_read_beside_an_undecided_amend_dates_the_move_by_the_first_such_read():
    own = amending(Amend(price=Price(45)), State.BLURRED)
    read_over(own, T0 + 5)
    assert (own.state, own.moved_ns, own.known.ended) == (State.CLOSING, T0 + 5, True)
    read_over(own, T0 + 9)
    assert own.moved_ns == T0 + 5


@pytest.mark.parametrize("status", [model.OrderStatus.FILLED, model.OrderStatus.EXPIRED])
def test_only_a_cancelled_order_may_have_moved(status):
    own = amending(Amend(price=Price(45)), State.BLURRED)
    read_over(own, T0 + 5, 10, status)
    assert (own.state, own.moved_ns) == (State.DONE, None)


def test_a_differing_read_counts_as_the_first_of_two():
    own = made.own(State.OPEN)
    read(own, T0 + LAG_NS, price=41, remaining=9)
    assert own.amend == Amend(price=Price(41), qty=Qty(9))
    read(own, T0 + 2 * LAG_NS, price=41, remaining=9)
    assert (own.state, own.known) == (State.OPEN, Known(1, Price(41), Qty(9)))
    assert own.last_write_ns == T0 + LAG_NS


def test_a_settled_amend_leaves_nothing_undecided_and_is_dated_by_the_first_read():
    own = amending(Amend(price=Price(45), qty=Qty(6)), State.BLURRED)
    for lags in (1, 2):
        read(own, T0 + lags * LAG_NS, price=45, remaining=6)
    assert (own.amend, own.before, own._confirmed) == (None, None, None)
    assert (own.intended, own.last_write_ns) == (6, T0 + LAG_NS)


@pytest.mark.parametrize(
    ("amend", "seen", "intended"),
    [
        # The same price asked for: only the size tells, and here it does.
        (Amend(price=Price(40), qty=Qty(6)), {"price": 40, "remaining": 6}, 6),
        (Amend(price=Price(40), qty=Qty(6)), {"price": 40, "remaining": 10}, 10),
        # Another price, and it has not moved: not carried out, whatever else it shows.
        (Amend(price=Price(45), qty=Qty(6)), {"price": 40, "remaining": 6}, 10),
        (Amend(price=Price(45), qty=Qty(6)), {"price": 45, "remaining": 6}, 6),
    ],
)
def test_whether_an_amend_was_carried_out_is_seen_from_its_price_and_size(amend, seen, intended):
    own = amending(amend, State.BLURRED)
    for lags in (1, 2):
        read(own, T0 + lags * LAG_NS, **seen)
    assert (own.state, own.intended) == (State.OPEN, intended)


def test_a_suspicion_older_than_a_lag_by_nothing_ends_with_that_read():
    own = made.own(State.OPEN, now_ns=T0 - 9 * LAG_NS)
    own.suspect(Finding.MISSING, "gone", T0)
    read(own, T0 + LAG_NS - 1)
    assert own.suspicion is not None
    read(own, T0 + LAG_NS)
    assert (own.suspicion, own.unknown_since_ns) == (None, None)


def test_more_than_was_meant_is_spared_only_once():
    own = made.own(State.SENT)
    own.doomed, own.why = True, "unwanted"
    own.shown_by_write(made.shown(own, remaining=12), T0)
    assert own.why == "unwanted"


def test_an_order_that_ended_larger_than_meant_is_not_doomed_for_it():
    own = made.own(State.SENT)
    own.shown_by_write(made.over(own, model.OrderStatus.FILLED, 12), T0)
    assert (own.state, own.doomed) == (State.DONE, False)


def test_facts_of_before_our_writes_stand_below_every_epoch():
    assert EARLIER == -1
    assert Known(EARLIER, Price(40), Qty(5)).answered().epoch == 0


# --- the table's own making -----------------------------------------------------------------------

SINGLE = (
    Fact.RESTS,
    Fact.SHORT,
    Fact.BLIND,
    Fact.MISSING,
    Fact.READ_MISSING,
    Fact.STRANGE,
    Fact.READ_STRANGE,
)
NOT_FOUND = "404 for an order that the venue has shown"
UNREADABLE = "a status that this version cannot read"
REST = tuple(fact for fact in Fact if fact not in (*ACTS, *SINGLE))


def row_of(**other):
    """A row made of one decision of each kind and the rest alike."""
    parts = {
        "to": {State.OPEN: (Fact.RESTS,), State.DONE: REST},
        "suspect": {(State.LOST, "one"): (Fact.SHORT,), (State.SENT, "two"): (Fact.BLIND,)},
        "barred": {"early": ACTS[:1], "late": ACTS[1:]},
        "missing": {State.OPEN: (Fact.MISSING,), State.CLOSING: (Fact.READ_MISSING,)},
        "strange": {State.BLURRED: (Fact.STRANGE,), State.AMENDING: (Fact.READ_STRANGE,)},
    }
    return _row(**{**parts, **other})


def test_a_row_is_every_fact_in_order_with_the_decision_it_was_given():
    expected = dict.fromkeys(REST, To(State.DONE)) | {
        Fact.RESTS: To(State.OPEN),
        Fact.SHORT: Suspect(State.LOST, "one", Finding.IMPOSSIBLE),
        Fact.BLIND: Suspect(State.SENT, "two", Finding.IMPOSSIBLE),
        Fact.RESEND: Barred("early"),
        Fact.AMEND: Barred("late"),
        Fact.CANCEL: Barred("late"),
        Fact.MISSING: Suspect(State.OPEN, NOT_FOUND, Finding.MISSING),
        Fact.READ_MISSING: Suspect(State.CLOSING, NOT_FOUND, Finding.MISSING),
        Fact.STRANGE: Suspect(State.BLURRED, UNREADABLE, Finding.UNREADABLE),
        Fact.READ_STRANGE: Suspect(State.AMENDING, UNREADABLE, Finding.UNREADABLE),
    }
    row = row_of()
    assert row == expected
    assert list(row) == list(Fact)


@pytest.mark.parametrize(
    "barred",
    [
        {"early": ACTS[:1], "late": ACTS[1:2]},  # one is left undecided
        {"early": ACTS[:1], "late": ACTS},  # one is decided twice
        {"early": ACTS[:1], "late": (ACTS[1], ACTS[1])},  # both at once: the count is right
    ],
)
def test_a_row_that_does_not_decide_each_fact_once_is_refused(barred):
    with pytest.raises(ValueError, match="exactly one decision"):
        row_of(barred=barred)


def test_a_row_may_do_without_what_is_missing_or_strange():
    row = row_of(to={State.DONE: (Fact.RESTS, *REST, *SINGLE[3:])}, missing=None, strange=None)
    assert row[Fact.STRANGE] == To(State.DONE)
