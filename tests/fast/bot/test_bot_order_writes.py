"""Responses to amends, cancels and reads, and what recovery sends after them."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.inconsistency import Inconsistency
from bot.core.orders.manager import CANCEL_AGAIN_NS, REPEAT_NS, UNKNOWN_OLD_NS
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import Outbox
from tests.builders.bot import made
from tests.builders.bot.desks import (
    TRUST,
    Desk,
    amending,
    answer,
    desk,
    listed,
    query,
    rejected,
    respond_to_amend,
    respond_to_cancel,
    respond_to_create,
    sent,
    unlisted,
    with_order,
)
from tests.builders.bot.made import LAG_NS, T0
from venue.wire import model
from venue.wire.money import Qty
from venue.wire.names import OrderId
from venue.wire.requests import Amend


def test_an_order_whose_amend_timed_out_is_read_back_and_the_amend_not_resent():
    of, out, own = amending()
    respond_to_amend(of, own, m.Unknown(""))
    assert own.state is State.REPLACE_UNKNOWN
    of.send_due(T0 + LAG_NS - 1)
    assert sent(out) == []
    of.send_due(T0 + LAG_NS)
    assert sent(out) == [m.ReadOrder(own.order_id)]


def renamed(reduced_by: int, filled: int, *, is_listed: bool = False) -> tuple[Desk, Outbox]:
    """An order of ten whose amend had no answer, and whose cancel is answered under another id.
    is_listed: a list has shown it there before."""
    of, out, own = amending()
    respond_to_amend(of, own, m.Unknown(""))
    if is_listed:
        of.add_order(OwnOrder.found_resting(made.shown(own, order_id="99"), T0))
    assert of.send_cancel(own, "a test", T0)
    ended = made.shown(
        own, order_id="99", status=model.OrderStatus.CANCELED, filled=filled, remaining=0
    )
    reply = m.Ok(m.CancelBody(ended, Qty(reduced_by)))
    respond_to_cancel(of, own, reply)
    return of, out


@pytest.mark.parametrize("is_listed", [False, True])
def test_shares_that_a_cancel_under_another_id_does_not_account_for_may_have_filled(is_listed):
    of, _ = renamed(7, 1, is_listed=is_listed)  # what it shows filled is a floor
    (own,) = of.live_orders
    assert (own.order_id, own.filled, own.suspicion) == ("99", 1, None)
    assert own.max_fillable >= 2


@pytest.mark.parametrize(("reduced_by", "filled"), [(10, 0), (7, 3)])
def test_a_cancel_under_another_id_that_accounts_for_every_share_closes_the_order(
    reduced_by, filled
):
    of, out = renamed(reduced_by, filled)
    assert len(of.live_orders) == 0
    assert "impossible_fact" not in out.findings


def test_an_amend_that_changes_the_id_keeps_the_order_and_switches_amends_off():
    of, out, own = amending()
    old = own.order_id
    answer(
        of, own, m.AmendResting(old, own.amend), made.done(made.shown(own, order_id="99", price=45))
    )
    assert (of.live_order("99"), of.live_order(old), of.owner_of(old)) == (own, None, own)
    assert (own.state, own.price, of.is_known(old)) == (State.OPEN, 45, True)
    assert [effect.name for effect in out.effects] == ["amends_off"]
    out.effects = []
    assert of.send_amend(own, Amend(price=44), "moved", T0)
    assert sent(out) == [m.CancelResting(OrderId("99"))]


@pytest.mark.parametrize("filled_before", [2, 0], ids=["qty is the total", "it traded at once"])
def test_a_venue_that_takes_qty_as_the_total_loses_amends_of_size(filled_before):
    of, out, own = amending(Amend(qty=Qty(6)))
    own.on_fills_shown(made.shown(own, filled=filled_before))
    respond_to_amend(of, own, made.done(made.shown(own, filled=2, remaining=4, qty=6)))
    assert of.amends_of_size is not bool(filled_before)
    assert ("amend_qty_is_total" in out.findings) is bool(filled_before)


@pytest.mark.parametrize(
    ("reply", "read_due_ns"),
    [
        (rejected("insufficient_balance"), T0 + LAG_NS),
        (m.Unknown(""), T0 + LAG_NS),
        (m.Rejected(0, "", ""), None),
    ],
    ids=["rejected", "timed out", "never sent"],
)
def test_an_order_whose_amend_failed_is_read_back_a_lag_later_if_the_amend_was_sent(
    reply, read_due_ns
):
    of, _, own = amending()
    respond_to_amend(of, own, reply)
    assert own.read_due_ns == read_due_ns


def test_no_second_amend_is_sent_while_one_is_unanswered():
    of, out, own = amending()
    assert not of.send_amend(own, Amend(price=46), "moved", T0)
    respond_to_amend(of, own, m.Unknown(""))
    out.effects = []
    assert not of.send_amend(own, Amend(price=46), "moved", T0)
    assert sent(out) == []
    assert own.amend == Amend(price=45)


def test_amends_that_keep_their_queue_position_are_counted_apart():
    for amend, kept in ((Amend(qty=Qty(6)), 1), (Amend(price=45), 0), (Amend(qty=Qty(11)), 0)):
        of, out, own = amending(amend)
        seen = made.shown(own, price=amend.price or 40, remaining=amend.qty or 10)
        answer(of, own, m.AmendResting(own.order_id, amend), made.done(seen))
        assert (out.counters.amends_kept_place, out.counters.amends_lost_place) == (kept, 1 - kept)


def moved(status: model.OrderStatus = model.OrderStatus.CANCELED) -> tuple[Desk, Outbox, OwnOrder]:
    """An order whose amend to 45 has no answer and that reads as over, by a read begun at T0."""
    of, out, own = amending()
    respond_to_amend(of, own, m.Unknown(""))
    query(of, own, made.over(own, status, 0), T0)
    out.effects = []
    return of, out, own


def test_a_closed_row_is_not_the_new_id_of_a_moved_order():
    of, _, own = moved()
    stranger = made.shown(own, order_id="99", price=45)
    over = msgspec.structs.replace(stranger, status=model.OrderStatus.CANCELED, remaining_qty=0)
    assert listed(of, [over], T0 + LAG_NS) == []
    assert own.order_id != "99"
    assert listed(of, [stranger], T0 + 2 * LAG_NS) == [own.market_id]
    assert of.live_order("99") is own


@pytest.mark.parametrize("price", [40, 45])
def test_a_late_enough_list_shows_the_new_id_of_a_moved_order(price):
    of, out, own = moved()
    stranger = made.shown(own, order_id="99", price=price)
    assert of.has_open_ids()
    assert listed(of, [stranger], T0 + LAG_NS - 1) == []
    assert listed(of, [stranger], T0 + LAG_NS) == [made.MARKET]
    assert of.live_order("99") is own
    assert (own.state, own.price, own.cancel_requested) == (State.OPEN, price, True)
    assert list(of.live_orders) == [own]
    assert [effect.name for effect in out.effects] == ["amends_off"]
    assert not of.has_open_ids()


def test_of_two_unknown_orders_the_one_at_the_amended_price_is_the_moved_order():
    of, _, own = moved()
    rows = [made.shown(own, order_id=str(price), price=price) for price in (40, 45)]
    listed(of, rows, T0 + LAG_NS)
    assert of.live_order("45") is not None
    assert not of.is_known("40")


def test_a_row_that_may_be_an_unknown_create_is_not_taken_for_a_moved_order():
    of, out, own = moved()
    of.add_order(made.own(State.NEW_UNKNOWN, number=2))
    stranger = made.shown(own, order_id="99", price=40)
    assert listed(of, [stranger], T0 + LAG_NS) == []
    assert not of.is_known("99")
    assert out.effects == []


def test_a_moved_order_missing_from_late_lists_is_closed_and_may_yet_appear():
    of, _, own = moved()
    query(of, own, made.over(own, model.OrderStatus.CANCELED, 0), T0 + LAG_NS)
    assert unlisted(of, T0 + LAG_NS) == [made.MARKET]
    assert (own.state, len(of.live_orders)) == (State.CLOSED, 0)
    assert of.is_late_arrival(made.shown(own, order_id="99", price=45))


def test_an_order_with_an_undecided_amend_and_a_404_to_its_cancel_is_looked_for_in_lists():
    of, _, own = amending()
    respond_to_amend(of, own, m.Unknown(""))
    assert of.send_cancel(own, "a test", T0)
    missing = rejected("order_not_found")
    respond_to_cancel(of, own, missing, T0 + 5)
    assert listed(of, [], T0 + 9 * LAG_NS) == []
    assert own.state is State.REPLACE_UNKNOWN
    stranger = made.shown(own, order_id="99", price=45)
    assert listed(of, [stranger], T0 + 5 + LAG_NS - 1) == []
    assert listed(of, [stranger], T0 + 5 + LAG_NS) == [made.MARKET]
    assert of.live_order("99") is own


def test_an_order_is_gone_after_a_404_and_two_lists_a_lag_apart_without_it():
    of, out, own = with_order(State.OPEN)
    missing = rejected("order_not_found")
    assert of.send_cancel(own, "a test", T0)
    respond_to_cancel(of, own, missing, T0)
    assert unlisted(of, T0 + LAG_NS) == [], "no read has said so"
    at_ns = T0 + 3 * LAG_NS
    answer(of, own, m.ReadOrder(own.order_id), missing, at_ns, at_ns)
    assert own.max_fillable == 10
    assert listed(of, [], at_ns) == [made.MARKET]
    assert not own.is_live
    assert "order_gone" in [effect.name for effect in out.effects if isinstance(effect, m.Noted)]


def test_a_new_id_that_was_adopted_meanwhile_counts_once():
    of, _, own = amending()
    seen = made.shown(own, order_id="99", price=45)
    taken = OwnOrder.found_resting(seen, T0)
    of.add_order(taken)
    respond_to_amend(of, own, made.done(seen))
    assert list(of.live_orders) == [taken]


def cancelling() -> tuple[Desk, Outbox, OwnOrder]:
    """An order manager with one order whose cancel is in flight."""
    of, out, own = with_order()
    assert of.send_cancel(own, "not wanted", T0)
    sent(out)
    return of, out, own


@pytest.mark.parametrize(
    ("reply", "again_ns", "read"),
    [
        (m.Unknown(""), REPEAT_NS, True),
        (rejected("result_unknown"), REPEAT_NS, True),
        (rejected("internal_error"), REPEAT_NS, True),
        (m.Rejected(302, "", ""), REPEAT_NS, True),
        (rejected("rate_limited"), REPEAT_NS, False),
        (rejected("engine_unavailable"), REPEAT_NS, False),
        (m.Rejected(0, "", ""), REPEAT_NS, False),
        (rejected("venue_halted"), TRUST.resend_ns, False),
        (rejected("unauthenticated"), TRUST.resend_ns, False),
        (rejected("invalid_order_id"), TRUST.resend_ns, False),
        (rejected("market_halted"), CANCEL_AGAIN_NS, False),
        (rejected("order_not_found"), TRUST.resend_ns, True),
    ],
)
def test_a_cancel_that_did_not_close_the_order_is_repeated_after_a_wait(reply, again_ns, read):
    of, _, own = cancelling()
    respond_to_cancel(of, own, reply)
    assert (own.state, own.cancel_requested, own.max_fillable) == (State.OPEN, True, 10)
    assert own.due_ns == T0 + again_ns
    assert own.read_due_ns == (T0 + LAG_NS if read else None)
    assert of.next_due_ns() == min(own.due_ns, T0 + LAG_NS if read else own.due_ns)


def test_a_cancel_that_came_too_late_is_not_repeated_and_the_order_is_read():
    of, out, own = cancelling()
    respond_to_cancel(of, own, rejected("order_not_cancelable"))
    assert (own.state, own.max_fillable) == (State.CLOSED_UNCONFIRMED, 10)
    assert not of.send_cancel(own, "again", T0)
    of.send_due(T0 + LAG_NS)
    assert sent(out) == [m.ReadOrder(own.order_id)]


def test_an_order_missing_from_a_late_list_is_kept_and_read_by_its_id():
    of, out, own = with_order(State.OPEN)
    of.on_not_listed(own, T0 + LAG_NS, T0 + LAG_NS)
    of.send_due(T0 + LAG_NS)
    assert sent(out) == [m.ReadOrder(own.order_id)]
    reply = rejected("order_not_found")
    answer(of, own, m.ReadOrder(own.order_id), reply, begun_ns=T0 + LAG_NS)
    assert own.state is State.OPEN
    assert len(of.live_orders) == 1


def test_an_order_missing_from_an_early_list_is_not_read():
    of, out, own = with_order(State.OPEN)
    of.on_not_listed(own, T0 + LAG_NS - 1, T0 + LAG_NS)
    of.send_due(T0 + 2 * LAG_NS)
    assert sent(out) == []


def test_an_order_that_shrank_without_a_fill_counts_as_a_self_trade():
    of, out, own = with_order(State.OPEN)
    shrunk = made.shown(own, remaining=4)
    of.on_order_row(own, shrunk, T0 + LAG_NS, T0 + LAG_NS)
    assert (own.max_fillable, own.read_due_ns) == (10, T0 + 2 * LAG_NS), "a row may be wrong"
    at_ns = T0 + 2 * LAG_NS
    query(of, own, shrunk, at_ns)
    assert (own.max_fillable, out.counters.self_trades) == (4, 1)


def test_a_filled_quantity_that_falls_is_not_believed_and_becomes_a_contradiction():
    of, out, own = with_order(State.OPEN)
    of.on_order_row(own, made.shown(own, filled=4), T0, T0)
    before = made.shown(own, filled=1, remaining=9)
    for lag in range(2, 30):
        at_ns = T0 + lag * LAG_NS
        query(of, own, before, at_ns)
        assert (own.filled, own.max_fillable) == (4, 6)
        blocked = out.inconsistencies.blocks(own.market_id)
        assert bool(blocked) is (lag > 2), "one read may lag"
    assert out.inconsistencies.contradiction is not None
    assert out.inconsistencies.contradiction.kind is Inconsistency.FILLED_QTY_FELL


def test_a_filled_quantity_that_recovers_leaves_no_sign():
    of, out, own = with_order(State.OPEN)
    of.on_order_row(own, made.shown(own, filled=4), T0, T0)
    for filled, lag in ((1, 2), (1, 3), (4, 4)):
        shown = made.shown(made.own(), filled=filled, remaining=10 - filled)
        query(of, own, shown, T0 + lag * LAG_NS)
    assert not out.inconsistencies.signs
    assert own.contradicted_ns is None


def test_an_order_that_reads_in_another_market_twice_is_a_contradiction():
    of, out, own = with_order(State.OPEN)
    other = msgspec.structs.replace(made.shown(own), market_id="other")
    of.on_order_row(own, other, T0 + LAG_NS, T0 + LAG_NS)
    assert (own.max_fillable, out.inconsistencies.contradiction) == (10, None)
    query(of, own, other, T0 + 2 * LAG_NS)
    assert out.inconsistencies.contradiction is not None
    assert out.inconsistencies.contradiction.kind is Inconsistency.ORDER_ID_REUSED


def test_a_closed_order_that_reads_show_working_is_a_sign_and_not_cancelled_again():
    of, out, own = cancelling()
    respond_to_cancel(of, own, rejected("order_not_cancelable"))
    for lag in range(1, 4):
        query(of, own, made.shown(own), T0 + lag * LAG_NS)
        assert not of.send_cancel(own, "again", T0)
    assert out.inconsistencies.observes(Inconsistency.CLOSED_ORDER_WORKING, own.order_id)
    assert own.max_fillable == 10


def test_a_cancel_rejected_by_a_halt_is_retried_when_the_market_state_changes():
    of, _, own = cancelling()
    respond_to_cancel(of, own, rejected("market_halted"))
    of.on_market_change(own.market_id, T0 + 7)
    assert own.due_ns == T0 + 7


def test_an_impossible_response_is_an_alert_until_a_read_settles_it():
    of, out, own = with_order(State.OPEN)
    respond_to_create(of, own, m.Unknown(""))
    assert out.findings == {
        "impossible_fact": "order 1001: no_answer: a response to a write that we did not send"
    }
    assert (own.cancel_requested, own.is_unknown, len(of.unknown)) == (True, True, 1)
    assert of.next_due_ns() <= T0 + LAG_NS
    of.send_due(T0 + LAG_NS - 1)
    assert sent(out) == []
    of.send_due(T0 + LAG_NS)
    assert sent(out) == [m.ReadOrder(own.order_id)]
    shown = made.done(made.shown(own))
    answer(of, own, m.ReadOrder(own.order_id), shown, T0 + LAG_NS + 5, T0 + LAG_NS)
    assert (out.findings, own.is_unknown, len(of.unknown)) == ({}, False, 0)


def test_an_alert_lasts_while_one_order_is_suspect():
    of, out = desk()
    both = [made.own(State.OPEN, number=number) for number in (1, 2)]
    for own in both:
        of.add_order(own)
        answer(of, own, m.ReadOrder(own.order_id), rejected("order_not_found"))
    why = "read_missing: 404 for an order that the venue has shown"
    assert out.findings == {"order_missing": f"order 1001: {why}; order 1002: {why}"}
    of.on_order_row(both[0], made.shown(both[0]), T0 + LAG_NS, T0 + LAG_NS)
    assert out.findings == {"order_missing": f"order 1002: {why}"}
    query(of, both[1], made.over(both[1], model.OrderStatus.FILLED, 10), T0)
    assert out.findings == {}


def test_an_order_whose_status_cannot_be_read_is_kept_and_read_again():
    of, out, own = with_order(State.OPEN)
    of.on_order_row(own, made.shown(own, status=model.OrderStatus.UNKNOWN), T0, T0)
    assert list(out.findings) == ["status_unreadable"]
    assert (own.state, own.max_fillable, own.read_due_ns) == (State.OPEN, 10, T0 + LAG_NS)


def test_one_read_of_an_order_is_in_flight_at_a_time():
    of, out, own = amending()
    respond_to_amend(of, own, m.Unknown(""))
    of.send_due(T0 + LAG_NS)
    assert len(sent(out)) == 1
    of.on_order_row(own, made.shown(own, price=45), T0 + LAG_NS, T0 + LAG_NS)
    of.on_not_listed(own, T0 + 5 * LAG_NS, T0 + 5 * LAG_NS)
    of.send_due(T0 + 9 * LAG_NS)
    assert sent(out) == []
    answer(of, own, m.ReadOrder(own.order_id), m.Unknown(""), T0 + 9 * LAG_NS)
    of.send_due(T0 + 10 * LAG_NS)
    assert len(sent(out)) == 1


def test_an_order_unknown_for_half_a_minute_raises_an_alert_and_stays_unknown():
    of, out, own = with_order(State.PENDING_NEW)
    assert of.oldest_unknown_ns(T0 + 99) == 0
    respond_to_create(of, own, m.Unknown(""), again=False)
    assert of.oldest_unknown_ns(T0 + 99) == 99
    of.send_due(T0 + UNKNOWN_OLD_NS - 1)
    assert "unknown_old" not in out.findings
    of.send_due(T0 + UNKNOWN_OLD_NS)
    expected = "no definite answer for half a minute: boot-1"
    assert out.findings == {"unknown_old": expected}
    of.send_due(T0 + 1_000 * UNKNOWN_OLD_NS)
    assert (own.state, len(of.unknown)) == (State.NEW_UNKNOWN, 1)
    respond_to_create(of, own, made.done(made.shown(own, order_id="7")))
    of.send_due(T0 + 1_001 * UNKNOWN_OLD_NS)
    assert (out.findings, of.oldest_unknown_ns(T0)) == ({}, 0)


def test_the_age_of_unknown_orders_is_that_of_the_oldest():
    of, _ = desk()
    for number, at_ns in ((1, T0 + 50), (2, T0 + 20), (3, T0 + 90)):
        own = made.own(State.PENDING_NEW, number=number)
        of.add_order(own)
        respond_to_create(of, own, m.Unknown(""), at_ns, again=False)
    assert of.oldest_unknown_ns(T0 + 100) == 80
