"""Claims about answers on orders: what each code makes of an order, and what recovery sends."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.desk import NEVER_NS, Desk
from bot.core.order import OwnOrder, State
from bot.core.outbox import Outbox, Pending
from bot.core.settings import BudgetSettings, TrustSettings
from tests.bot import made
from tests.bot.made import LAG_NS, T0
from venue.wire import codec, model
from venue.wire.errors import CODES, Advice, Code, Sequenced
from venue.wire.money import Qty
from venue.wire.requests import Amend

TRUST = TrustSettings(read_lag_ns=LAG_NS)
REFUSALS = [(CODES[code].status, code) for code in Code]


def desk() -> tuple[Desk, Outbox]:
    """A desk without orders and its outbox."""
    out = Outbox(BudgetSettings())
    out.purse.begin(T0)
    return Desk(TRUST, out), out


def answer(
    of: Desk, own: OwnOrder, request: m.Request, reply: m.Answer, now_ns: int = T0, begun_ns=T0
) -> None:
    """An answer about an order arrives."""
    of.take_answer(Pending(request, own, begun_ns), reply, now_ns)


def create(own: OwnOrder, again: bool = False) -> m.Create:
    """The create of an order."""
    return m.Create(own.intent(), own.body, again)


def sent(out: Outbox) -> list[m.Request]:
    """Requests that left since the outbox was last emptied."""
    requests = [effect.request for effect in out.effects if isinstance(effect, m.Send)]
    out.effects = []
    return requests


# --- creates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "code"), REFUSALS)
def test_a_first_create_is_over_unless_the_code_leaves_it_open(status, code):
    of, _ = desk()
    own = made.own(State.SENT)
    of.add(own)
    answer(of, own, create(own), m.Refused(status, code, ""))
    row = CODES[code]
    open_yet = row.sequenced is Sequenced.UNKNOWN or row.advice is Advice.EXISTS
    assert own.state is (State.LOST if open_yet else State.DONE)
    assert of.live_count() == (1 if open_yet else 0)


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
    own = made.own(State.LOST)
    of.add(own)
    answer(of, own, create(own, again=True), m.Refused(status, code, ""))
    assert own.state is State.LOST
    assert own.due_ns > T0
    assert own.due_ns < NEVER_NS


def test_a_lost_create_is_over_when_its_market_has_resolved():
    of, _ = desk()
    own = made.own(State.LOST)
    of.add(own)
    answer(of, own, create(own, again=True), m.Refused(422, "market_resolved", ""))
    assert own.state is State.DONE
    assert of.live_count() == 0


WAIT_NS = TRUST.refused_resend_ns + LAG_NS


def refused_twice() -> tuple[Desk, OwnOrder]:
    """A lost create whose re-sends are decided against since T0."""
    of, _ = desk()
    own = made.own(State.LOST)
    of.add(own)
    for _ in range(2):
        answer(of, own, create(own, again=True), m.Refused(422, "insufficient_shares", ""))
    return of, own


def test_refusals_that_a_late_list_explains_end_a_lost_create():
    of, own = refused_twice()
    of.explain_lost([], T0 + WAIT_NS - 1)
    assert own.state is State.LOST
    of.explain_lost([], T0 + WAIT_NS)
    assert own.state is State.DONE
    assert of.live_count() == 0


def test_an_order_in_the_list_that_could_be_the_lost_one_keeps_it():
    of, own = refused_twice()
    of.explain_lost([made.shown(own, order_id="77")], T0 + WAIT_NS)
    assert own.state is State.LOST


def test_a_create_that_exists_is_the_stranger_that_equals_it():
    of, _ = desk()
    own = made.own(State.LOST)
    of.add(own)
    for _ in range(2):
        answer(of, own, create(own, again=True), m.Refused(422, "duplicate_order_id", ""))
    of.explain_lost([made.shown(own, order_id="77")], T0 + WAIT_NS)
    assert (own.state, own.order_id) == (State.OPEN, "77")
    assert of.knows("77")


def test_a_create_that_exists_and_does_not_rest_is_over():
    of, _ = desk()
    own = made.own(State.LOST)
    of.add(own)
    answer(of, own, create(own, again=True), m.Refused(422, "duplicate_order_id", ""))
    of.explain_lost([], T0 + WAIT_NS)
    assert own.state is State.DONE


def test_a_stranger_that_equals_a_create_thought_never_landed_may_be_it():
    of, own = refused_twice()
    of.explain_lost([], T0 + WAIT_NS)
    late = made.shown(own, order_id="78")
    assert of.landed_late(late)
    other = msgspec.structs.replace(late, price=late.price + 1)
    assert not of.landed_late(other)


def test_a_list_says_nothing_of_a_lost_create_that_was_only_unanswered():
    of, _ = desk()
    own = made.own(State.LOST)
    of.add(own)
    answer(of, own, create(own, again=True), m.Unknown(""))
    of.explain_lost([], T0 + 100 * WAIT_NS)
    assert own.state is State.LOST


def test_a_list_says_nothing_of_a_lost_create_that_is_being_sent_again():
    of, own = refused_twice()
    own.due_ns = T0
    of.recover(T0 + WAIT_NS)
    of.explain_lost([], T0 + WAIT_NS)
    assert own.state is State.LOST


def test_a_lost_create_is_sent_again_byte_for_byte():
    of, out = desk()
    own = made.own(State.LOST)
    of.add(own)
    of.recover(T0)
    assert sent(out) == [m.Create(own.intent(), own.body, True)]
    of.recover(T0 + 100 * LAG_NS)
    assert sent(out) == []


def test_a_refused_resend_waits_longer_than_an_unanswered_one():
    of, _ = desk()
    refused, silent = made.own(State.LOST, number=1), made.own(State.LOST, number=2)
    of.add(refused)
    of.add(silent)
    answer(of, refused, create(refused, True), m.Refused(422, "insufficient_balance", ""))
    answer(of, silent, create(silent, True), m.Unknown(""))
    assert refused.due_ns == T0 + TRUST.refused_resend_ns
    assert silent.due_ns == T0 + TRUST.resend_ns


def test_a_create_adopts_the_id_and_fills_that_its_reply_shows():
    of, _ = desk()
    own = made.own(State.SENT)
    of.add(own)
    answer(of, own, create(own), made.done(made.shown(own, order_id="7", filled=3, remaining=7)))
    assert (own.state, own.order_id, own.filled, own.may_fill) == (State.OPEN, "7", 3, 7)
    assert of.find(own.order_id) is own


@pytest.mark.parametrize(
    "other", [{"price": 41}, {"qty": 11}, {"order_id": "7", "price": 39, "qty": 10}]
)
def test_a_reply_that_shows_another_order_dooms_it_and_is_told(other):
    of, out = desk()
    own = made.own(State.SENT)
    of.add(own)
    answer(of, own, create(own), made.done(made.shown(own, **other)))
    assert own.doomed
    assert "echo_differs" in out.findings


# --- amends ---------------------------------------------------------------------------------------


def amending(amend: Amend = Amend(price=45)) -> tuple[Desk, Outbox, OwnOrder]:  # noqa: B008
    """A desk with one order whose amend has left."""
    of, out = desk()
    own = made.own(State.OPEN)
    of.add(own)
    assert of.send_amend(own, amend, "moved", T0)
    sent(out)
    return of, out, own


def test_an_unanswered_amend_is_read_back_and_never_sent_again():
    of, out, own = amending()
    answer(of, own, m.AmendResting(own.order_id, own.amend), m.Unknown(""))
    assert own.state is State.BLURRED
    of.recover(T0 + LAG_NS - 1)
    assert sent(out) == []
    of.recover(T0 + LAG_NS)
    assert sent(out) == [m.ReadOrder(own.order_id)]


def test_an_amend_of_an_ended_order_waits_for_how_it_ended():
    of, out, own = amending()
    reply = m.Refused(422, "order_not_cancelable", "")
    answer(of, own, m.AmendResting(own.order_id, own.amend), reply)
    assert own.state is State.CLOSING
    of.recover(T0 + LAG_NS)
    assert sent(out) == [m.ReadOrder(own.order_id)]


def test_an_amend_that_changes_the_id_moves_the_order_to_it():
    of, _, own = amending()
    old = own.order_id
    reply = made.done(made.shown(own, order_id="99", price=45))
    answer(of, own, m.AmendResting(old, own.amend), reply)
    assert of.find("99") is own
    assert of.find(old) is None
    assert of.knows(old)


def test_a_venue_that_takes_qty_as_the_total_loses_amends_of_size():
    of, out, own = amending(Amend(qty=Qty(6)))
    own.filled = Qty(2)
    reply = made.done(made.shown(own, filled=2, remaining=4, qty=6))
    answer(of, own, m.AmendResting(own.order_id, own.amend), reply)
    assert not of.amends_of_size
    assert "amend_qty_is_total" in out.findings


def test_an_amend_that_trades_at_once_is_not_taken_for_another_meaning_of_qty():
    of, out, own = amending(Amend(qty=Qty(6)))
    reply = made.done(made.shown(own, filled=2, remaining=4, qty=6))
    answer(of, own, m.AmendResting(own.order_id, own.amend), reply)
    assert of.amends_of_size
    assert out.findings == {}


# --- cancels --------------------------------------------------------------------------------------


def cancelling() -> tuple[Desk, Outbox, OwnOrder]:
    """A desk with one order whose cancel has left."""
    of, out = desk()
    own = made.own(State.OPEN)
    of.add(own)
    assert of.send_cancel(own, "not wanted", T0)
    sent(out)
    return of, out, own


@pytest.mark.parametrize(
    "reply",
    [
        m.Unknown(""),
        m.Refused(503, "result_unknown", ""),
        m.Refused(429, "rate_limited", ""),
        m.Refused(409, "venue_halted", ""),
        m.Refused(404, "order_not_found", ""),
        m.Refused(0, "", ""),
    ],
)
def test_a_cancel_that_did_not_end_the_order_is_repeated(reply):
    of, _, own = cancelling()
    answer(of, own, m.CancelResting(own.order_id), reply)
    assert (own.state, own.doomed) == (State.OPEN, True)
    assert T0 < own.due_ns < NEVER_NS
    assert of.next_due_ns() <= own.due_ns


def test_a_cancelled_order_leaves_the_desk_and_is_still_known():
    of, _, own = cancelling()
    shown = made.over(own, model.OrderStatus.CANCELED, 0)
    answer(of, own, m.CancelResting(own.order_id), m.Done(m.CancelShown(shown, Qty(10))))
    assert of.live_count() == 0
    assert of.knows(own.order_id)


def test_an_ended_order_with_fills_is_kept_until_they_are_booked():
    of, out, own = cancelling()
    shown = made.over(own, model.OrderStatus.CANCELED, 4)
    answer(of, own, m.CancelResting(own.order_id), m.Done(m.CancelShown(shown, Qty(6))))
    assert list(of.with_fills(own.market_id)) == [own]
    of.forget_settled(lambda each: 3, T0)
    assert of.unsettled == [own]
    of.forget_settled(lambda each: 4, T0)
    assert of.unsettled == []
    assert "fills_missing" not in out.findings


def test_fills_that_never_appear_are_told():
    of, out, own = cancelling()
    shown = made.over(own, model.OrderStatus.CANCELED, 4)
    answer(of, own, m.CancelResting(own.order_id), m.Done(m.CancelShown(shown, Qty(6))))
    of.forget_settled(lambda each: 0, T0 + 11 * LAG_NS)
    assert "fills_missing" in out.findings


# --- reads ----------------------------------------------------------------------------------------


def test_an_order_missing_from_a_late_list_is_read_by_its_id_and_kept():
    of, out = desk()
    own = made.own(State.OPEN)
    of.add(own)
    of.missing_from_list(own, T0 + LAG_NS, T0 + LAG_NS)
    of.recover(T0 + LAG_NS)
    assert sent(out) == [m.ReadOrder(own.order_id)]
    reply = m.Refused(404, "order_not_found", "")
    answer(of, own, m.ReadOrder(own.order_id), reply, begun_ns=T0 + LAG_NS)
    assert own.state is State.OPEN
    assert of.live_count() == 1


def test_an_order_missing_from_an_early_list_is_not_missed():
    of, out = desk()
    own = made.own(State.OPEN)
    of.add(own)
    of.missing_from_list(own, T0 + LAG_NS - 1, T0 + LAG_NS)
    of.recover(T0 + 2 * LAG_NS)
    assert sent(out) == []


def test_an_order_that_shrank_without_a_fill_is_counted_as_met_by_our_own():
    of, out = desk()
    own = made.own(State.OPEN)
    of.add(own)
    of.merge_read(own, made.shown(own, remaining=4), T0 + LAG_NS)
    assert out.self_trades == 1


def test_a_fact_that_cannot_be_becomes_a_finding_and_the_order_is_read():
    of, out = desk()
    own = made.own(State.OPEN)
    of.add(own)
    answer(of, own, create(own, True), made.done(made.shown(own)))
    assert "impossible_fact" in out.findings
    assert own.doomed
    assert own.read_due_ns is not None


def test_the_intent_of_an_order_encodes_to_its_body():
    own = made.own(State.LOST)
    assert codec.encode_new_order(own.intent()) == own.body
