"""Claims about answers to creates: what each code makes of an order, and what recovery sends."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.orders.manager import REPEAT_NS, OrderManager
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.settings import BudgetSettings, StalenessSettings
from tests.builders.bot import made
from tests.builders.bot.desks import TRUST, amending, answer, create, desk, listed, sent, unlisted
from tests.builders.bot.made import LAG_NS, T0
from venue.wire import codec, model
from venue.wire.errors import CODES, Advice, Code, Sequenced
from venue.wire.instant import NS_PER_SECOND

REFUSALS = [(CODES[code].status, code) for code in Code]

# --- creates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "code"), REFUSALS)
def test_a_first_create_is_over_unless_the_code_leaves_it_open(status, code):
    of, _ = desk()
    own = made.own(State.PENDING_NEW)
    of.add_order(own)
    answer(of, own, create(own), m.Rejected(status, code, ""))
    row = CODES[code]
    open_yet = row.sequenced is Sequenced.UNKNOWN or row.advice is Advice.EXISTS
    assert own.state is (State.NEW_UNKNOWN if open_yet else State.CLOSED)
    assert len(of.live_orders) == (1 if open_yet else 0)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        *(refusal for refusal in REFUSALS if refusal[1] is not Code.MARKET_RESOLVED),
        (502, ""),
        (418, "new_code"),
        (0, ""),
    ],
)
def test_no_refusal_of_a_resend_ends_a_lost_create(status, code):
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    answer(of, own, create(own, again=True), m.Rejected(status, code, ""))
    assert own.state is State.NEW_UNKNOWN
    assert own.due_ns > T0
    assert own.due_ns < NEVER_NS


def test_a_lost_create_is_over_when_its_market_has_resolved():
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    answer(of, own, create(own, again=True), m.Rejected(422, "market_resolved", ""))
    assert own.state is State.CLOSED
    assert len(of.live_orders) == 0


WAIT_NS = TRUST.refused_resend_ns + LAG_NS


def refused_twice() -> tuple[OrderManager, OwnOrder]:
    """A lost create whose re-sends are decided against since T0."""
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    for _ in range(2):
        answer(of, own, create(own, again=True), m.Rejected(422, "insufficient_shares", ""))
    return of, own


def test_refusals_that_late_lists_explain_end_a_lost_create():
    of, own = refused_twice()
    early_ns = T0 + WAIT_NS - 1
    listed(of, [], early_ns)
    listed(of, [], early_ns + LAG_NS)
    assert own.state is State.NEW_UNKNOWN
    listed(of, [], early_ns + 2 * LAG_NS)
    assert own.state is State.CLOSED
    assert len(of.live_orders) == 0


def test_a_lost_create_counts_until_fills_of_after_the_first_list_without_it_are_known():
    # It may have rested, and filled between a walk of the fills and the list.
    of, own = refused_twice()
    listed(of, [], T0 + WAIT_NS)
    listed(of, [], T0 + 3 * WAIT_NS, T0 + WAIT_NS + LAG_NS - 1)
    assert own.state is State.NEW_UNKNOWN
    assert own.max_fillable == own.remaining > 0
    listed(of, [], T0 + 3 * WAIT_NS, T0 + WAIT_NS + LAG_NS)
    assert own.state is State.CLOSED


def test_a_create_that_is_refused_again_and_again_waits_twice_as_long_each_time():
    """So that lists which come slowly have the time to tell of it; for a minute at the longest."""
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    now_ns, waits = T0, []
    for _ in range(8):
        answer(
            of, own, create(own, again=True), m.Rejected(422, "insufficient_balance", ""), now_ns
        )
        waits.append((own.due_ns - now_ns) // TRUST.refused_resend_ns)
        now_ns = own.due_ns
    assert waits == [1, 1, 2, 4, 8, 12, 12, 12]


@pytest.mark.parametrize("sweep_s", [1, 3])
def test_a_list_without_a_lost_create_puts_off_its_next_sending(sweep_s):
    out = desk()[1]
    of = OrderManager(
        msgspec.structs.replace(TRUST, poll_orders_fast_ns=sweep_s * NS_PER_SECOND), out
    )
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    answer(of, own, create(own, again=True), m.Rejected(422, "insufficient_balance", ""))
    wait_ns = own.due_ns - T0
    assert wait_ns == max(5, 2 + 3 * sweep_s) * NS_PER_SECOND
    assert listed(of, [], T0 + WAIT_NS) == []
    assert own.due_ns == T0 + WAIT_NS + wait_ns


def test_fills_of_before_its_equal_was_listed_again_do_not_end_a_lost_create():
    of, own = refused_twice()
    listed(of, [], T0 + WAIT_NS)
    listed(of, [made.shown(own, order_id="77")], T0 + 2 * WAIT_NS)
    listed(of, [], T0 + 3 * WAIT_NS)
    assert own.state is State.NEW_UNKNOWN
    listed(of, [], T0 + 4 * WAIT_NS)
    assert own.state is State.CLOSED


def test_a_list_of_before_the_last_resend_does_not_count_as_one_without_it():
    of, own = refused_twice()
    listed(of, [], T0 + WAIT_NS)
    again_ns = T0 + 2 * WAIT_NS
    answer(of, own, create(own, again=True), m.Rejected(422, "duplicate_order_id", ""), again_ns)
    listed(of, [], again_ns + LAG_NS)
    assert own.state is State.NEW_UNKNOWN
    listed(of, [], again_ns + 2 * LAG_NS)
    assert own.state is State.CLOSED


def test_an_order_in_the_list_that_could_be_the_lost_one_keeps_it():
    of, own = refused_twice()
    listed(of, [made.shown(own, order_id="77")], T0 + WAIT_NS)
    assert own.state is State.NEW_UNKNOWN


def test_a_create_that_exists_is_the_stranger_that_equals_it():
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    for _ in range(2):
        answer(of, own, create(own, again=True), m.Rejected(422, "duplicate_order_id", ""))
    listed(of, [made.shown(own, order_id="77")], T0 + WAIT_NS)
    assert (own.state, own.order_id) == (State.OPEN, "77")
    assert of.is_known("77")


def test_a_create_that_exists_and_does_not_rest_is_over():
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    answer(of, own, create(own, again=True), m.Rejected(422, "duplicate_order_id", ""))
    unlisted(of, T0 + WAIT_NS)
    assert own.state is State.CLOSED


def test_a_stranger_that_equals_a_create_thought_never_landed_may_be_it():
    of, own = refused_twice()
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
def test_a_stranger_that_equals_a_create_refused_for_no_known_reason_may_be_it(
    status, code, may_be_it
):
    of, _ = desk()
    own = made.own(State.PENDING_NEW)
    of.add_order(own)
    answer(of, own, create(own), m.Rejected(status, code, ""))
    assert own.state is State.CLOSED
    assert of.is_late_arrival(made.shown(own, order_id="78")) is may_be_it


def test_a_list_says_nothing_of_a_lost_create_that_was_only_unanswered():
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    answer(of, own, create(own, again=True), m.Unknown(""))
    listed(of, [], T0 + 100 * WAIT_NS)
    assert own.state is State.NEW_UNKNOWN


def test_a_list_says_nothing_of_a_lost_create_that_is_being_sent_again():
    of, own = refused_twice()
    own.due_ns = T0
    of.send_due(T0 + WAIT_NS)
    listed(of, [], T0 + WAIT_NS)
    assert own.state is State.NEW_UNKNOWN


def test_a_lost_create_is_sent_again_byte_for_byte():
    of, out = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    of.send_due(T0)
    assert sent(out) == [m.Create(own.intent.order, own.intent.body, True)]
    of.send_due(T0 + 100 * LAG_NS)
    assert sent(out) == []


@pytest.mark.parametrize(
    ("again", "reply", "wait_ns"),
    [
        (False, m.Unknown(""), REPEAT_NS),
        (False, m.Rejected(503, "result_unknown", ""), REPEAT_NS),
        (False, m.Rejected(422, "duplicate_order_id", ""), TRUST.refused_resend_ns),
        (True, m.Unknown(""), TRUST.resend_ns),
        (True, m.Rejected(500, "internal_error", ""), TRUST.resend_ns),
        (True, m.Rejected(429, "rate_limited", ""), TRUST.resend_ns),
        (True, m.Rejected(503, "engine_unavailable", ""), TRUST.resend_ns),
        (True, m.Rejected(0, "", ""), TRUST.resend_ns),
        (True, m.Rejected(422, "insufficient_balance", ""), TRUST.refused_resend_ns),
        (True, m.Rejected(422, "duplicate_order_id", ""), TRUST.refused_resend_ns),
        (True, m.Rejected(409, "venue_halted", ""), TRUST.refused_resend_ns),
    ],
)
def test_when_a_lost_create_is_sent_again(again, reply, wait_ns):
    of, out = desk()
    own = made.own(State.NEW_UNKNOWN if again else State.PENDING_NEW)
    of.add_order(own)
    answer(of, own, create(own, again), reply)
    assert (own.state, own.due_ns) == (State.NEW_UNKNOWN, T0 + wait_ns)
    assert of.next_due_ns() == T0 + wait_ns
    of.send_due(T0 + wait_ns - 1)
    assert sent(out) == []
    of.send_due(T0 + wait_ns)
    assert sent(out) == [m.Create(own.intent.order, own.intent.body, True)]


def test_a_refused_create_is_sent_again_only_after_a_list_could_rule_it_out():
    lag_ns = TRUST.refused_resend_ns + NS_PER_SECOND
    out = Outbox(BudgetSettings())
    of = OrderManager(StalenessSettings(read_lag_ns=lag_ns), out)
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    answer(of, own, create(own, again=True), m.Rejected(422, "insufficient_balance", ""))
    assert own.due_ns > T0 + lag_ns + NS_PER_SECOND


def test_a_lost_create_is_counted_at_full_size_and_price_until_it_is_settled():
    of, _ = desk()
    own = made.own(State.PENDING_NEW)
    of.add_order(own)
    counted = own.exposure(own.amend)
    assert (counted.price, counted.qty_max) == (40, 10)
    for again in (False, True, True):
        answer(of, own, create(own, again), m.Rejected(503, "result_unknown", ""))
        assert own.exposure(own.amend) == counted


def test_a_create_whose_order_was_taken_over_meanwhile_is_counted_once():
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    twin = OwnOrder.found_resting(made.shown(own, order_id="1002"), T0)
    of.add_order(own)
    of.add_order(twin)
    seen = made.shown(own, order_id=twin.order_id, filled=3, remaining=7)
    answer(of, own, create(own, again=True), made.done(seen))
    assert list(of.live_orders) == [twin]
    assert (own.state, own.filled, twin.filled) == (State.CLOSED, 0, 3)
    assert of.live_order(twin.order_id) is twin
    assert list(of.with_fills(own.market_id)) == [twin]


def test_a_first_refusal_of_a_resend_is_remembered_as_the_first():
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    for after_ns in (5, 6):
        refused = m.Rejected(422, "insufficient_shares", "")
        answer(of, own, create(own, again=True), refused, T0 + after_ns)
    assert own.evidence.denied_ns == T0 + 5


def test_a_list_begun_within_a_lag_of_the_last_resend_explains_no_lost_create():
    of, own = refused_twice()
    again_ns = T0 + WAIT_NS
    exists = m.Rejected(422, "duplicate_order_id", "")
    answer(of, own, create(own, again=True), exists, again_ns)
    listed(of, [], again_ns + LAG_NS - 1)
    listed(of, [], again_ns + 2 * LAG_NS - 1)
    assert own.state is State.NEW_UNKNOWN
    listed(of, [], again_ns + 3 * LAG_NS - 1)
    assert own.state is State.CLOSED


def test_a_resend_without_an_answer_undoes_the_refusals_before_it():
    of, own = refused_twice()
    answer(of, own, create(own, again=True), m.Unknown(""), T0 + WAIT_NS)
    assert own.evidence is None or own.evidence.denied_ns is None
    listed(of, [], T0 + 10 * WAIT_NS)
    assert own.state is State.NEW_UNKNOWN


@pytest.mark.parametrize(
    "reply", [m.Unknown(""), m.Rejected(429, "rate_limited", ""), m.Rejected(500, "", "")]
)
def test_what_only_stayed_away_is_no_refusal_of_a_resend(reply):
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    answer(of, own, create(own, again=True), reply)
    assert own.evidence is None or own.evidence.denied_ns is None


def settled(out: Outbox) -> list[m.CreateResolved]:
    """Intents that were explained by a read."""
    return [effect for effect in out.effects if isinstance(effect, m.CreateResolved)]


def test_the_journal_is_told_when_a_list_explains_a_lost_create():
    of, out = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    answer(of, own, create(own, again=True), m.Rejected(422, "insufficient_shares", ""))
    assert settled(out) == []
    unlisted(of, T0 + WAIT_NS)
    assert settled(out) == [m.CreateResolved(own.client_order_id, None)]


def test_the_journal_is_told_when_a_list_identifies_a_lost_create():
    of, out = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    answer(of, own, create(own, again=True), m.Rejected(422, "duplicate_order_id", ""))
    listed(of, [made.shown(own, order_id="77")], T0 + WAIT_NS)
    assert settled(out) == [m.CreateResolved(own.client_order_id, own.order_id)]


def test_the_journal_is_told_when_a_resolution_ends_a_lost_create_and_not_a_first_one():
    of, out = desk()
    lost, fresh = made.own(State.NEW_UNKNOWN, number=1), made.own(State.PENDING_NEW, number=2)
    of.add_order(lost)
    of.add_order(fresh)
    for own in (lost, fresh):
        again = own is lost
        answer(of, own, create(own, again), m.Rejected(422, "market_resolved", ""))
        assert own.state is State.CLOSED
    assert settled(out) == [m.CreateResolved(lost.client_order_id, None)]


def test_one_stranger_is_the_order_of_one_lost_create_only():
    of, _ = desk()
    both = [made.own(State.NEW_UNKNOWN, number=number) for number in (1, 2)]
    for own in both:
        of.add_order(own)
        answer(of, own, create(own, again=True), m.Rejected(422, "duplicate_order_id", ""))
    rows = [made.shown(both[0], order_id="77")]
    assert listed(of, rows, T0 + WAIT_NS) == [made.MARKET]
    assert listed(of, rows, T0 + WAIT_NS + LAG_NS) == [made.MARKET]
    assert [own.state for own in both] == [State.OPEN, State.CLOSED]


def test_a_create_adopts_the_id_and_fills_that_its_reply_shows():
    of, _ = desk()
    own = made.own(State.PENDING_NEW)
    of.add_order(own)
    answer(of, own, create(own), made.done(made.shown(own, order_id="7", filled=3, remaining=7)))
    assert (own.state, own.order_id, own.filled, own.max_fillable) == (State.OPEN, "7", 3, 7)
    assert of.live_order(own.order_id) is own


def test_an_order_of_an_earlier_run_may_be_other_than_its_create_asked_for():
    of, out = desk()
    order = made.intent()
    own = OwnOrder.left_behind(m.UnconfirmedCreate(order, codec.encode_new_order(order)), T0)
    of.add_order(own)
    answer(of, own, create(own, True), made.done(made.shown(own, order_id="7", price=44)))
    assert (own.state, own.price, own.due_ns) == (State.OPEN, 44, T0)
    assert out.findings == {}


def test_a_create_that_ended_cancelled_met_our_own_order_and_is_counted_once():
    of, out = desk()
    for number, again in ((1, False), (2, True)):
        own = made.own(State.NEW_UNKNOWN if again else State.PENDING_NEW, number=number)
        of.add_order(own)
        seen = made.shown(own, status=model.OrderStatus.CANCELED, remaining=0, qty=10)
        answer(of, own, create(own, again), made.done(seen))
    assert out.counters.self_trades == 1


# --- what was refused is not sent again -----------------------------------------------------------


def first(of: OrderManager, number: int = 1, now_ns: int = T0, **wanted) -> OwnOrder | None:
    """A first create is sent, if it may be."""
    own = made.own(State.PENDING_NEW, number=number, **wanted)
    return own if of.send_create(own, create(own), now_ns) else None


@pytest.mark.parametrize(("status", "code"), REFUSALS)
def test_a_create_refused_as_our_bug_is_never_sent_again_under_any_id(status, code):
    of, _ = desk()
    own = first(of, 1)
    assert own is not None
    answer(of, own, create(own), m.Rejected(status, code, ""))
    hopeless = CODES[code].advice in (Advice.FIX, Advice.GIVE_UP)
    assert (first(of, 2) is None) is hopeless
    assert first(of, 3, qty=9) is not None


@pytest.mark.parametrize("code", ["invalid_price", "insufficient_balance", "insufficient_shares"])
def test_a_change_that_was_refused_is_not_asked_for_again_the_order_is_cancelled(code):
    of, out, own = amending()
    amend = own.amend
    answer(
        of, own, m.AmendResting(own.order_id, amend), m.Rejected(CODES[Code(code)].status, code, "")
    )
    assert of.send_amend(own, amend, "once more", T0)
    assert sent(out) == [m.CancelResting(own.order_id)]
    assert (own.state, own.why) == (State.PENDING_CANCEL, "its change was refused")


@pytest.mark.parametrize("code", ["rate_limited", "venue_cancel_only", "market_halted"])
def test_a_change_that_pace_or_a_halt_refused_may_be_asked_for_again(code):
    of, out, own = amending()
    amend = own.amend
    answer(
        of, own, m.AmendResting(own.order_id, amend), m.Rejected(CODES[Code(code)].status, code, "")
    )
    assert of.send_amend(own, amend, "once more", T0)
    assert sent(out) == [m.AmendResting(own.order_id, amend)]


def test_three_refusals_of_one_side_within_a_minute_are_often():
    of, _ = desk()
    for number in range(3):
        own = first(of, number + 1, qty=number + 1)
        assert own is not None
        assert not of.rejects.often(own, T0 + number)
        refused = m.Rejected(400, "invalid_price", "")
        answer(of, own, create(own), refused, T0 + number)
    assert of.rejects.often(own, T0 + 2)
    other = made.own(State.PENDING_NEW, number=9, side="sell")
    assert not of.rejects.often(other, T0 + 2)


def test_the_intent_of_an_order_encodes_to_its_body():
    own = made.own(State.NEW_UNKNOWN)
    assert codec.encode_new_order(own.intent.order) == own.intent.body
