"""Responses to creates: what each code makes of an order, and what recovery sends."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.manager import REPEAT_NS
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import NEVER_NS
from bot.core.settings import StalenessSettings
from tests.builders.bot import made
from tests.builders.bot.desks import (
    TRUST,
    Desk,
    amending,
    create,
    desk,
    listed,
    rejected,
    respond_to_amend,
    respond_to_create,
    sent,
    unlisted,
    with_order,
)
from tests.builders.bot.made import LAG_NS, T0
from venue.wire import model
from venue.wire.errors import CODES, Advice, Code, Sequenced
from venue.wire.instant import NS_PER_SECOND


@pytest.mark.parametrize("code", Code)
def test_a_rejected_create_is_closed_unless_its_code_leaves_the_outcome_unknown(code):
    of, _, own = with_order(State.PENDING_NEW)
    respond_to_create(of, own, rejected(code), again=False)
    row = CODES[code]
    open_yet = row.sequenced is Sequenced.UNKNOWN or row.advice is Advice.EXISTS
    assert own.state is (State.NEW_UNKNOWN if open_yet else State.CLOSED)
    assert len(of.live_orders) == (1 if open_yet else 0)


@pytest.mark.parametrize(
    "reply",
    [
        *(rejected(code) for code in Code if code is not Code.MARKET_RESOLVED),
        m.Rejected(502, "", ""),
        m.Rejected(418, "new_code", ""),
        m.Rejected(0, "", ""),
    ],
    ids=str,
)
def test_a_create_with_unknown_outcome_stays_open_when_its_resend_is_rejected(reply):
    of, _, own = with_order(State.NEW_UNKNOWN)
    respond_to_create(of, own, reply)
    assert own.state is State.NEW_UNKNOWN
    assert T0 < own.due_ns < NEVER_NS


WAIT_NS = TRUST.refused_resend_ns + LAG_NS


def resend_rejected() -> tuple[Desk, OwnOrder]:
    """A create with unknown outcome whose resends are rejected from T0 on."""
    of, _, own = with_order(State.NEW_UNKNOWN)
    for _ in range(2):
        respond_to_create(of, own, rejected("insufficient_shares"))
    return of, own


def test_rejected_resends_and_two_late_lists_close_a_create_with_unknown_outcome():
    of, own = resend_rejected()
    early_ns = T0 + WAIT_NS - 1
    listed(of, [], early_ns)
    listed(of, [], early_ns + LAG_NS)
    assert own.state is State.NEW_UNKNOWN
    assert resolved(of) == []
    listed(of, [], early_ns + 2 * LAG_NS)
    assert own.state is State.CLOSED
    assert len(of.live_orders) == 0
    assert resolved(of) == [m.CreateResolved(own.client_order_id, None)]


def test_a_create_with_unknown_outcome_counts_until_fills_are_read_after_a_list_without_it():
    # It may have rested, and filled between a walk of the fills and the list.
    of, own = resend_rejected()
    listed(of, [], T0 + WAIT_NS)
    listed(of, [], T0 + 3 * WAIT_NS, T0 + WAIT_NS + LAG_NS - 1)
    assert own.state is State.NEW_UNKNOWN
    assert own.max_fillable == own.remaining > 0
    listed(of, [], T0 + 3 * WAIT_NS, T0 + WAIT_NS + LAG_NS)
    assert own.state is State.CLOSED


def test_a_create_that_is_rejected_repeatedly_waits_twice_as_long_each_time():
    """Slow lists get the time to show it; a minute at most."""
    of, _, own = with_order(State.NEW_UNKNOWN)
    now_ns, waits = T0, []
    for _ in range(8):
        respond_to_create(of, own, rejected("insufficient_balance"), now_ns)
        waits.append((own.due_ns - now_ns) // TRUST.refused_resend_ns)
        now_ns = own.due_ns
    assert waits == [1, 1, 2, 4, 8, 12, 12, 12]


@pytest.mark.parametrize("poll_s", [1, 3])
def test_a_list_without_a_create_with_unknown_outcome_postpones_its_resend(poll_s):
    of, _ = desk(msgspec.structs.replace(TRUST, poll_orders_fast_ns=poll_s * NS_PER_SECOND))
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    respond_to_create(of, own, rejected("insufficient_balance"))
    wait_ns = own.due_ns - T0
    assert wait_ns == max(5, 2 + 3 * poll_s) * NS_PER_SECOND
    assert listed(of, [], T0 + WAIT_NS) == []
    assert own.due_ns == T0 + WAIT_NS + wait_ns


def test_fills_read_before_an_equal_order_was_listed_do_not_close_the_create():
    of, own = resend_rejected()
    listed(of, [], T0 + WAIT_NS)
    listed(of, [made.shown(own, order_id="77")], T0 + 2 * WAIT_NS)
    listed(of, [], T0 + 3 * WAIT_NS)
    assert own.state is State.NEW_UNKNOWN
    listed(of, [], T0 + 4 * WAIT_NS)
    assert own.state is State.CLOSED


def test_a_list_begun_before_the_last_resend_does_not_count():
    of, own = resend_rejected()
    listed(of, [], T0 + WAIT_NS)
    again_ns = T0 + 2 * WAIT_NS
    respond_to_create(of, own, rejected("duplicate_order_id"), again_ns)
    listed(of, [], again_ns + LAG_NS)
    assert own.state is State.NEW_UNKNOWN
    listed(of, [], again_ns + 2 * LAG_NS)
    assert own.state is State.CLOSED


def test_an_equal_order_in_the_list_keeps_a_create_with_unknown_outcome():
    of, own = resend_rejected()
    listed(of, [made.shown(own, order_id="77")], T0 + WAIT_NS)
    assert own.state is State.NEW_UNKNOWN


def test_a_create_whose_id_exists_is_the_equal_order_that_a_list_shows():
    of, _, own = with_order(State.NEW_UNKNOWN)
    for _ in range(2):
        respond_to_create(of, own, rejected("duplicate_order_id"))
    listed(of, [made.shown(own, order_id="77")], T0 + WAIT_NS)
    assert (own.state, own.order_id) == (State.OPEN, "77")
    assert of.is_known("77")
    assert resolved(of) == [m.CreateResolved(own.client_order_id, own.order_id)]


def test_an_order_equal_to_a_create_thought_lost_may_be_it():
    of, own = resend_rejected()
    unlisted(of, T0 + WAIT_NS)
    late = made.shown(own, order_id="78")
    assert of.is_late_arrival(late)
    other = msgspec.structs.replace(late, price=late.price + 1)
    assert not of.is_late_arrival(other)


@pytest.mark.parametrize(
    ("status", "code", "may_be_it"),
    [(422, "mood_swing", True), (422, "invalid_request", False), (0, "", False)],
    ids=["an unknown code", "a known one", "it never left"],
)
def test_an_order_equal_to_a_create_rejected_with_an_unknown_code_may_be_it(
    status, code, may_be_it
):
    of, _, own = with_order(State.PENDING_NEW)
    respond_to_create(of, own, m.Rejected(status, code, ""), again=False)
    assert own.state is State.CLOSED
    assert of.is_late_arrival(made.shown(own, order_id="78")) is may_be_it


def test_a_list_does_not_close_a_create_that_only_timed_out():
    of, _, own = with_order(State.NEW_UNKNOWN)
    respond_to_create(of, own, m.Unknown(""))
    listed(of, [], T0 + 100 * WAIT_NS)
    assert own.state is State.NEW_UNKNOWN


def test_a_list_does_not_close_a_create_whose_resend_is_in_flight():
    of, own = resend_rejected()
    own.due_ns = T0
    of.send_due(T0 + WAIT_NS)
    listed(of, [], T0 + WAIT_NS)
    assert own.state is State.NEW_UNKNOWN


@pytest.mark.parametrize(
    ("again", "reply", "wait_ns"),
    [
        (False, m.Unknown(""), REPEAT_NS),
        (False, rejected("result_unknown"), REPEAT_NS),
        (False, rejected("duplicate_order_id"), TRUST.refused_resend_ns),
        (True, m.Unknown(""), TRUST.resend_ns),
        (True, rejected("internal_error"), TRUST.resend_ns),
        (True, rejected("rate_limited"), TRUST.resend_ns),
        (True, rejected("engine_unavailable"), TRUST.resend_ns),
        (True, m.Rejected(0, "", ""), TRUST.resend_ns),
        (True, rejected("insufficient_balance"), TRUST.refused_resend_ns),
        (True, rejected("duplicate_order_id"), TRUST.refused_resend_ns),
        (True, rejected("venue_halted"), TRUST.refused_resend_ns),
    ],
)
def test_a_create_with_unknown_outcome_is_resent_byte_for_byte_after_a_wait(again, reply, wait_ns):
    of, out, own = with_order(State.NEW_UNKNOWN if again else State.PENDING_NEW)
    respond_to_create(of, own, reply, again=again)
    assert (own.state, own.due_ns) == (State.NEW_UNKNOWN, T0 + wait_ns)
    assert of.next_due_ns() == T0 + wait_ns
    of.send_due(T0 + wait_ns - 1)
    assert sent(out) == []
    of.send_due(T0 + wait_ns)
    assert sent(out) == [m.Create(own.order, True)]


def test_a_rejected_create_is_resent_only_after_a_list_could_rule_it_out():
    lag_ns = TRUST.refused_resend_ns + NS_PER_SECOND
    of, _ = desk(StalenessSettings(read_lag_ns=lag_ns))
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    respond_to_create(of, own, rejected("insufficient_balance"))
    assert own.due_ns > T0 + lag_ns + NS_PER_SECOND


def test_a_create_with_unknown_outcome_counts_in_full():
    of, _, own = with_order(State.PENDING_NEW)
    counted = own.exposure(own.amend)
    assert (counted.price, counted.qty_max) == (40, 10)
    for again in (False, True, True):
        respond_to_create(of, own, rejected("result_unknown"), again=again)
        assert own.exposure(own.amend) == counted


def test_a_create_whose_order_was_adopted_meanwhile_counts_once():
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    twin = OwnOrder.found_resting(made.shown(own, order_id="1002"), T0)
    of.add_order(own)
    of.add_order(twin)
    seen = made.shown(own, order_id=twin.order_id, filled=3, remaining=7)
    respond_to_create(of, own, made.done(seen))
    assert list(of.live_orders) == [twin]
    assert (own.state, own.filled, twin.filled) == (State.CLOSED, 0, 3)
    assert of.live_order(twin.order_id) is twin
    assert list(of.with_fills(own.market_id)) == [twin]


def test_a_resend_that_times_out_undoes_the_rejects_before_it():
    of, own = resend_rejected()
    respond_to_create(of, own, m.Unknown(""), T0 + WAIT_NS)
    assert own.evidence is None or own.evidence.denied_ns is None
    listed(of, [], T0 + 10 * WAIT_NS)
    assert own.state is State.NEW_UNKNOWN


def resolved(of: Desk) -> list[m.CreateResolved]:
    return [effect for effect in of.outbox.effects if isinstance(effect, m.CreateResolved)]


def test_a_resolution_closes_a_create_and_only_one_with_unknown_outcome_is_journaled():
    of, _ = desk()
    lost, fresh = made.own(State.NEW_UNKNOWN, number=1), made.own(State.PENDING_NEW, number=2)
    for own in (lost, fresh):
        of.add_order(own)
        respond_to_create(of, own, rejected("market_resolved"), again=own is lost)
        assert own.state is State.CLOSED
    assert len(of.live_orders) == 0
    assert resolved(of) == [m.CreateResolved(lost.client_order_id, None)]


def test_one_listed_order_explains_one_create_only():
    of, _ = desk()
    both = [made.own(State.NEW_UNKNOWN, number=number) for number in (1, 2)]
    for own in both:
        of.add_order(own)
        respond_to_create(of, own, rejected("duplicate_order_id"))
    rows = [made.shown(both[0], order_id="77")]
    assert listed(of, rows, T0 + WAIT_NS) == [made.MARKET]
    assert listed(of, rows, T0 + WAIT_NS + LAG_NS) == [made.MARKET]
    assert [own.state for own in both] == [State.OPEN, State.CLOSED]


def test_a_create_takes_the_id_and_fills_that_its_response_shows():
    of, _, own = with_order(State.PENDING_NEW)
    respond_to_create(
        of, own, made.done(made.shown(own, order_id="7", filled=3, remaining=7)), again=False
    )
    assert (own.state, own.order_id, own.filled, own.max_fillable) == (State.OPEN, "7", 3, 7)
    assert of.live_order(own.order_id) is own


def test_an_order_of_an_earlier_run_may_differ_from_its_create():
    of, out = desk()
    order = made.intent()
    own = OwnOrder.left_behind(m.UnconfirmedCreate(order), T0)
    of.add_order(own)
    respond_to_create(of, own, made.done(made.shown(own, order_id="7", price=44)))
    assert (own.state, own.price, own.due_ns) == (State.OPEN, 44, T0)
    assert out.findings == {}


def test_a_create_that_comes_back_cancelled_counts_as_one_self_trade():
    of, out = desk()
    for number, again in ((1, False), (2, True)):
        own = made.own(State.NEW_UNKNOWN if again else State.PENDING_NEW, number=number)
        of.add_order(own)
        seen = made.shown(own, status=model.OrderStatus.CANCELED, remaining=0, qty=10)
        respond_to_create(of, own, made.done(seen), again=again)
    assert out.counters.self_trades == 1


def first(of: Desk, number: int = 1, now_ns: int = T0, **wanted) -> OwnOrder | None:
    """A first create is sent, or None."""
    own = made.own(State.PENDING_NEW, number=number, **wanted)
    return own if of.send_create(own, create(own), now_ns) else None


@pytest.mark.parametrize("code", Code)
def test_a_create_that_can_never_succeed_is_never_resent_under_another_id(code):
    of, _ = desk()
    own = first(of, 1)
    respond_to_create(of, own, rejected(code), again=False)
    hopeless = CODES[code].advice in (Advice.FIX, Advice.GIVE_UP)
    assert (first(of, 2) is None) is hopeless
    assert first(of, 3, qty=9) is not None


@pytest.mark.parametrize(
    ("code", "is_cancelled"),
    [
        ("invalid_price", True),
        ("insufficient_balance", True),
        ("insufficient_shares", True),
        ("rate_limited", False),
        ("venue_cancel_only", False),
        ("market_halted", False),
    ],
)
def test_an_order_whose_amend_was_rejected_is_cancelled_unless_a_limit_or_halt_was_the_cause(
    code, is_cancelled
):
    of, out, own = amending()
    amend = own.amend
    respond_to_amend(of, own, rejected(code))
    assert of.send_amend(own, amend, "once more", T0)
    if is_cancelled:
        assert sent(out) == [m.CancelResting(own.order_id)]
        assert (own.state, own.why) == (State.PENDING_CANCEL, "its change was refused")
    else:
        assert sent(out) == [m.AmendResting(own.order_id, amend)]
