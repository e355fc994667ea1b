"""The fields of one own order: those it begins with, and what follows from them."""

import pytest

from bot.core.limits.risk import Live
from bot.core.messages import OpenIntent
from bot.core.orders.known import Known
from bot.core.orders.life import LIFE, Barred, Fact, Finding, State
from bot.core.orders.order import OwnOrder, Suspicion
from bot.core.orders.tag import UNTAGGED
from tests.bot import made
from tests.bot.made import LAG_NS, MARKET, T0
from tests.bot.news import amending
from venue.wire import codec, model
from venue.wire.money import BookSide, Outcome, Price, Qty, Side
from venue.wire.requests import Amend, TimeInForce

CANCELED = model.OrderStatus.CANCELED


def fields(own: OwnOrder) -> dict[str, object]:
    """Every field of an order by its name."""
    return {name: getattr(own, name) for name in type(own).__mro__[1].__slots__}


# --- beginnings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "side", "book_side", "level"),
    [
        (Outcome.YES, Side.BUY, BookSide.BID, 30),
        (Outcome.YES, Side.SELL, BookSide.ASK, 30),
        (Outcome.NO, Side.BUY, BookSide.ASK, 70),
        (Outcome.NO, Side.SELL, BookSide.BID, 70),
    ],
)
def test_of_a_create_that_leaves_now_nothing_is_known_but_what_it_asks(
    outcome, side, book_side, level
):
    order = made.intent(outcome, side, price=30, qty=7)
    body = codec.encode_new_order(order)
    own = OwnOrder.first_sent(order, body, T0, "made")
    assert fields(own) == {
        "_confirmed": None,
        "_known": Known(0, Price(30), Qty(7)),
        "_unfilled": 7,
        "absence": None,
        "amend": None,
        "before": None,
        "beyond": False,
        "body": body,
        "carried": 0,
        "client_order_id": order.client_order_id,
        "dear": (0, 30),
        "doomed": False,
        "due_ns": T0,
        "earlier": (),
        "exists": False,
        "filled": 0,
        "inherited": False,
        "is_doubtful": False,
        "intended": 7,
        "is_take": False,
        "last_write_ns": T0,
        "level": level,
        "market_id": MARKET,
        "moved_ns": None,
        "order_id": None,
        "outcome": outcome,
        "own_side": side,
        "placed_ns": T0,
        "price": 30,
        "qty": 7,
        "read_due_ns": None,
        "reading": False,
        "refused_since_ns": None,
        "remaining": 7,
        "side": book_side,
        "state": State.SENT,
        "suspicion": None,
        "tag": UNTAGGED,
        "time_in_force": TimeInForce.GTC,
        "unknown_since_ns": None,
        "unlisted_ns": None,
        "why": "made",
    }
    assert own.intent() == order


def test_an_order_left_behind_differs_from_a_new_one_in_being_lost_and_doomed():
    order = made.intent()
    intent = OpenIntent(order, codec.encode_new_order(order))
    new = OwnOrder.first_sent(order, intent.body, T0, "left by an earlier run")
    changed = {"state": State.LOST, "unknown_since_ns": T0, "inherited": True, "doomed": True}
    assert fields(OwnOrder.left_behind(intent, T0)) == {**fields(new), **changed}


def test_an_order_found_resting_has_no_bytes_and_what_its_row_shows():
    row = made.shown(made.own(outcome=Outcome.NO, price=30), filled=2, remaining=5)
    own = OwnOrder.found_resting(row, T0)
    assert (own.market_id, own.outcome, own.own_side, own.side) == (
        MARKET,
        Outcome.NO,
        Side.BUY,
        BookSide.ASK,
    )
    assert (own.known, own.level) == (Known(0, Price(30), Qty(7), Qty(2)), 70)
    assert (own.body, own.qty, own.placed_ns, own.due_ns) == (b"", 7, T0, T0)
    assert own.why == "found resting at the start"
    assert own.intent().time_in_force is TimeInForce.GTC


def test_an_order_found_after_its_end_is_learned_as_over():
    row = made.over(made.own(), CANCELED, 4)
    assert OwnOrder.found_resting(row, T0).known == Known(0, Price(40), Qty(4), Qty(4), True)


# --- what follows from the fields -----------------------------------------------------------------


@pytest.mark.parametrize("state", State)
def test_an_order_is_live_until_it_is_done_and_free_where_no_answer_is_awaited(state):
    own = made.own(state)
    assert own.is_live is (state is not State.DONE)
    assert own.is_free is (state in (State.OPEN, State.BLURRED))
    assert own.is_unknown is (state in (State.LOST, State.BLURRED))


@pytest.mark.parametrize("state", State)
def test_an_undecided_amend_keeps_an_order_unknown_while_it_is_cancelled_or_closes(state):
    own = made.own(state)
    own.amend = Amend(price=Price(45))
    unknown = (State.LOST, State.BLURRED, State.CANCELLING, State.CLOSING)
    assert own.is_unknown is (state in unknown)


@pytest.mark.parametrize("state", State)
def test_a_suspected_order_is_unknown_in_every_state(state):
    own = made.own(state)
    own.suspicion = Suspicion(Finding.MISSING, "gone", T0)
    assert own.is_unknown


@pytest.mark.parametrize("state", State)
def test_an_act_may_be_taken_where_the_table_does_not_bar_it(state):
    own = made.own(state)
    for act in (Fact.RESEND, Fact.AMEND, Fact.CANCEL):
        assert own.may(act) is not isinstance(LIFE[state][act], Barred)


@pytest.mark.parametrize("state", State)
def test_an_order_may_be_elsewhere_only_while_how_it_stands_or_ended_is_open(state):
    own = made.own(state)
    own.moved_ns = T0 + 3
    expected = T0 + 3 if state in (State.BLURRED, State.CLOSING) else None
    assert own.elsewhere_since_ns == expected


@pytest.mark.parametrize(
    ("finding", "amend", "since_ns"),
    [
        (Finding.MISSING, Amend(price=Price(45)), T0 + 7),
        (Finding.MISSING, None, None),
        (Finding.IMPOSSIBLE, Amend(price=Price(45)), None),
        (Finding.UNREADABLE, Amend(price=Price(45)), None),
        (None, Amend(price=Price(45)), None),
    ],
)
def test_a_404_beside_an_undecided_amend_says_that_it_may_have_moved(finding, amend, since_ns):
    own = made.own(State.BLURRED)
    own.amend = amend
    if finding is not None:
        own.suspicion = Suspicion(finding, "", T0 + 7)
    assert own.elsewhere_since_ns == since_ns


@pytest.mark.parametrize(
    ("filled", "asked", "most"), [(0, 4, 13), (8, 4, 5), (9, 4, 4), (10, 4, 4), (12, 4, 4)]
)
def test_a_size_amend_under_way_counts_all_but_one_of_what_is_left_and_the_new_size(
    filled, asked, most
):
    own = made.own(State.AMENDING)
    own.known = Known(0, Price(40), Qty(10), Qty(filled))
    own.amend = Amend(qty=Qty(asked))
    assert own.may_fill == most


def test_a_price_amend_under_way_adds_no_shares_and_a_size_amend_no_price():
    own = amending(Amend(price=Price(45)))
    assert (own.may_fill, own.levels) == (10, (40, 45))
    own = amending(Amend(qty=Qty(4)))
    assert (own.levels, own.exposure().price) == ((40,), 40)


def test_an_order_that_is_over_may_fill_no_more_whatever_was_asked_of_it():
    own = made.own(State.DONE)
    own.amend = Amend(qty=Qty(4))
    assert own.may_fill == 0


@pytest.mark.parametrize(
    ("outcome", "side", "asked", "worse"),
    [
        (Outcome.YES, Side.BUY, 45, 45),
        (Outcome.YES, Side.BUY, 35, 40),
        (Outcome.NO, Side.BUY, 45, 45),
        (Outcome.YES, Side.SELL, 45, 40),
        (Outcome.YES, Side.SELL, 35, 35),
        (Outcome.NO, Side.SELL, 35, 35),
    ],
)
def test_the_limits_count_an_order_at_the_worse_of_its_two_prices(outcome, side, asked, worse):
    own = made.own(State.OPEN, outcome=outcome, side=side, price=40)
    assert own.exposure() == Live(MARKET, outcome, side, Price(40), Qty(10))
    own.sent_amend(Amend(price=Price(asked), qty=Qty(3)))
    assert own.exposure() == Live(MARKET, outcome, side, Price(worse), Qty(12))
    level = asked if outcome is Outcome.YES else 100 - asked
    assert own.levels == (own.level, level)


# --- since when -----------------------------------------------------------------------------------


def unasked(own: OwnOrder, at_ns: int, shows: str) -> None:
    """News at an instant that no order which rests undisturbed should have."""
    if shows == "answer":
        own.answered(Fact.REFUSED, at_ns)
    elif shows == "write":
        own.shown_by_write(made.shown(own), at_ns)
    elif shows == "cancel":
        own.cancelled(made.over(own, model.OrderStatus.CANCELED, 0), Qty(4), at_ns)
    elif shows == "replaced":
        own.replaced(Fact.ENDED, at_ns)
    elif shows == "strange read":
        own.shown_by_read(made.shown(own, status=model.OrderStatus.UNKNOWN), at_ns, LAG_NS)
    elif shows == "other read":
        own.shown_by_read(made.shown(own, price=41), at_ns, LAG_NS)
    else:
        own.missing(at_ns)


@pytest.mark.parametrize(
    "shows", ["answer", "write", "cancel", "replaced", "strange read", "other read", "404"]
)
def test_news_that_breaks_a_promise_dates_the_suspicion_and_the_unknown(shows):
    own = made.own(State.OPEN)
    unasked(own, T0 + LAG_NS, shows)
    assert own.suspicion is not None
    assert (own.suspicion.since_ns, own.unknown_since_ns) == (T0 + LAG_NS, T0 + LAG_NS)


@pytest.mark.parametrize("act", [Fact.AMEND, Fact.CANCEL])
def test_an_act_on_what_is_unknown_since_nobody_knows_when_dates_it_by_the_last_write(act):
    own = made.own(State.OPEN)
    own.suspicion = Suspicion(Finding.MISSING, "gone", T0)
    if act is Fact.AMEND:
        own.sent_amend(Amend(price=Price(45)))
    else:
        own.sent_cancel()
    assert own.unknown_since_ns == T0


def test_of_two_prices_that_cannot_both_be_the_lower_stands_whichever_comes_first():
    low, high = Known(1, Price(39), Qty(10)), Known(1, Price(41), Qty(10))
    assert low.join(high) == high.join(low) == low


# --- what lists lack ------------------------------------------------------------------------------


def test_a_list_shows_what_a_create_came_to_a_lag_after_its_refusals_or_its_last_write():
    own = made.own(State.LOST)
    assert own.shown_from_ns(50, LAG_NS) is None
    own.refused_since_ns = T0 + 7
    assert own.shown_from_ns(50, LAG_NS) == T0 + 57 + LAG_NS
    own.last_write_ns = T0 + 58
    assert own.shown_from_ns(50, LAG_NS) == T0 + 58 + LAG_NS


def test_what_no_list_shows_is_booked_by_fills_begun_a_lag_after_the_first_answer_without_it():
    own = made.own(State.LOST)
    assert not own.is_booked(T0, T0 + 5, T0 + 4 + LAG_NS, LAG_NS)
    assert own.unlisted_ns == T0 + 5
    assert not own.is_booked(T0 + 5, T0 + 99, T0 + 4 + LAG_NS, LAG_NS)
    assert own.unlisted_ns == T0 + 5
    assert own.is_booked(T0 + 5, T0 + 99, T0 + 5 + LAG_NS, LAG_NS)


def test_a_list_from_before_it_could_show_an_order_does_not_count_as_the_first():
    own = made.own(State.LOST)
    own.is_booked(T0, T0 + 5, T0, LAG_NS)
    assert not own.is_booked(T0 + 6, T0 + 9, T0 + 8 + LAG_NS, LAG_NS)
    assert own.unlisted_ns == T0 + 9


def test_a_take_is_booked_by_fills_begun_once_it_must_have_been_over():
    own = made.own(State.LOST)
    own.is_take = True
    assert not own.is_booked(T0 + 5, T0 + 9, T0 + 4, LAG_NS)
    assert own.is_booked(T0 + 5, T0 + 9, T0 + 5, LAG_NS)
    assert own.unlisted_ns is None
