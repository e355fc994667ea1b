"""Claims about where orders are found, what needs attention, and the bounds of every map."""

import pytest

from bot.core import messages as m
from bot.core.orders import manager
from bot.core.orders.order import OrderEvent, OwnOrder, State
from bot.core.orders.outbox import NEVER_NS
from bot.core.orders.transitions import OrderFinding
from tests.builders.bot import made
from tests.builders.bot.desks import answer, create, desk, sent, unlisted
from tests.builders.bot.made import LAG_NS, T0
from venue.wire import model
from venue.wire.money import Qty
from venue.wire.names import MarketId, OrderId
from venue.wire.requests import Amend

OTHER = MarketId("bbbbbbbb-0000-4000-8000-000000000002")


def over(of, own: OwnOrder, filled: int = 0) -> None:
    """A read shows the order over."""
    of.on_order_row(own, made.over(own, model.OrderStatus.CANCELED, filled), T0, T0, by_id=True)


def test_orders_are_found_by_market_in_the_order_they_came():
    of, _ = desk()
    orders = [made.own(number=number) for number in (3, 1, 2)]
    for own in orders:
        of.add_order(own)
    stray = made.own(number=9)
    stray.market_id = OTHER
    of.add_order(stray)
    assert of.live(made.MARKET) == orders
    assert of.live(OTHER) == [stray]
    assert list(of.live_orders) == [*orders, stray]
    assert len(of.live_orders) == 4
    over(of, orders[0])
    assert of.live(made.MARKET) == orders[1:]
    over(of, stray)
    assert of.live(OTHER) == []


def test_an_ended_order_is_known_by_its_id_and_no_longer_found():
    of, _ = desk()
    own = made.own()
    of.add_order(own)
    assert of.live_order(own.order_id) is own
    assert of.live_ids() == [own.order_id]
    over(of, own)
    assert of.live_order(own.order_id) is None
    assert of.is_known(own.order_id)
    assert not of.is_known(OrderId("9"))
    assert of.live_ids() == []


def test_of_a_list_what_is_of_no_live_order_comes_in_its_order():
    of, _ = desk()
    live, ended = made.own(number=1), made.own(number=2)
    for own in (live, ended):
        of.add_order(own)
    over(of, ended)
    listed = {OrderId("9"): "z", live.order_id: "a", ended.order_id: "b", OrderId("8"): "y"}
    assert of.rows_not_live(listed) == ["z", "b", "y"]
    assert of.rows_not_live({live.order_id: "a"}) == of.rows_not_live({}) == []


def test_an_order_that_filled_stays_until_its_fills_are_booked():
    of, out = desk()
    own = made.own()
    of.add_order(own)
    assert not of.has_fills(made.MARKET)
    of.on_order_row(own, made.shown(own, filled=4, remaining=6), T0, T0)
    assert list(of.with_fills(made.MARKET)) == [own]
    over(of, own, 4)
    assert of.has_fills(OTHER)
    assert list(of.with_fills(OTHER)) == []
    assert of.live_ids() == [own.order_id]
    assert of.drop_booked(lambda each: 3, T0 + 10 * LAG_NS) == []
    assert list(of.unsettled) == [own]
    assert out.findings == {}
    of.drop_booked(lambda each: 3, T0 + 10 * LAG_NS + 1)
    assert out.findings == {"fills_missing": "1 ended orders have fills never shown"}
    assert of.drop_booked(lambda each: 4, T0 + 11 * LAG_NS) == [own.order_id]
    assert (of.unsettled, out.findings) == ({}, {})


def test_the_fills_of_an_order_that_rested_for_long_have_as_long_to_be_booked_as_any():
    of, out = desk()
    own = made.own()
    of.add_order(own)
    ended_ns = T0 + 3_600 * LAG_NS
    of.on_order_row(
        own, made.over(own, model.OrderStatus.FILLED, 10), ended_ns, ended_ns, by_id=True
    )
    of.drop_booked(lambda each: 0, ended_ns + 10 * LAG_NS)
    assert out.findings == {}
    of.drop_booked(lambda each: 0, ended_ns + 10 * LAG_NS + 1)
    assert "fills_missing" in out.findings


def test_a_late_answer_that_shows_more_fills_brings_an_ended_order_back_for_its_booking():
    of, _ = desk()
    own = made.own()
    of.add_order(own)
    over(of, own)
    assert list(of.unsettled) == []
    over(of, own, 4)
    assert list(of.unsettled) == [own]
    assert len(of.live_orders) == 0


def test_an_open_order_needs_no_attention_and_nothing_is_due():
    of, out = desk()
    for number in range(5):
        of.add_order(made.own(number=number))
    assert of.next_due_ns() == NEVER_NS
    of.send_due(T0 + 100 * LAG_NS)
    assert sent(out) == []


def test_a_quiet_beat_does_not_walk_the_open_orders():
    of, _ = desk()
    of.add_order(made.own(number=1))
    quiet = made.own(number=2)
    of.add_order(quiet)
    quiet.read_due_ns = T0  # set behind the desk's back, and never filed
    assert of.next_due_ns() == NEVER_NS
    of.on_not_listed(quiet, T0 + LAG_NS, T0 + LAG_NS)
    assert of.next_due_ns() == T0


def test_a_list_that_shows_an_order_as_it_is_known_changes_nothing_of_it():
    of, _ = desk()
    own = made.own()
    of.add_order(own)
    own.mark_suspect(OrderFinding.IMPOSSIBLE, "seen elsewhere", T0)
    assert not own.is_shown_as_known(made.shown(own))  # it is in doubt: the list may settle it
    own.suspicion = None
    own.read_due_ns = T0
    of.on_order_row(own, made.shown(own), T0 + 100 * LAG_NS, T0 + 100 * LAG_NS)
    assert (own.state, own.read_due_ns, of.next_due_ns()) == (State.OPEN, T0, NEVER_NS)
    for news in (made.shown(own, filled=1), made.shown(own, remaining=1), made.shown(own, price=1)):
        assert not own.is_shown_as_known(news)


def test_a_doomed_order_is_due_when_its_cancel_is():
    of, _ = desk()
    own = made.own()
    own.cancel_requested, own.due_ns = True, T0 + 7
    of.add_order(own)
    assert of.next_due_ns() == T0 + 7


def test_the_unknown_are_counted_with_the_suspected():
    of, _ = desk()
    lost, blurred, suspected = (
        made.own(State.NEW_UNKNOWN, number=1),
        made.own(number=2),
        made.own(number=3),
    )
    blurred.on_amend_sent(Amend(price=45))
    blurred.on_answer(OrderEvent.TIMEOUT, T0)
    suspected.on_not_found(T0, T0, LAG_NS)
    for own in (lost, blurred, suspected, made.own(number=4)):
        of.add_order(own)
    assert len(of.unknown) == 3
    assert of.oldest_unknown_ns(T0 + 5) == 5


@pytest.mark.parametrize(("state", "undecided"), [(State.PENDING_NEW, True), (State.OPEN, False)])
def test_a_create_without_an_id_is_undecided(state, undecided):
    of, _ = desk()
    of.add_order(made.own(state))
    assert of.has_open_ids() is undecided


def test_fills_are_awaited_once_a_list_lacks_an_order_that_no_answer_has_told_of():
    of, _ = desk()
    own = made.own(State.NEW_UNKNOWN)
    of.add_order(own)
    assert not of.is_awaiting_fills()
    own.note_evidence(unlisted_ns=T0)
    of.add_order(own)
    assert of.is_awaiting_fills()


def test_a_finding_names_five_orders_at_most():
    of, out = desk()
    for number in range(6):
        own = made.own(number=number)
        of.add_order(own)
        answer(of, own, m.ReadOrder(own.order_id), m.Rejected(404, "order_not_found", ""))
    assert out.findings[OrderFinding.MISSING].count("order 100") == 5


# --- bounds (B14) ---------------------------------------------------------------------------------


def test_beyond_its_bound_the_desk_makes_no_order_and_takes_no_stranger(monkeypatch):
    monkeypatch.setattr(manager, "LIVE_MAX", 3)
    of, out = desk()
    for number in range(3):
        assert not of.is_full()
        of.add_order(made.own(number=number))
    assert of.is_full()
    own = made.own(State.PENDING_NEW, number=9)
    assert not of.send_create(own, create(own), T0)
    of.add_order(OwnOrder.found_resting(made.shown(made.own(), order_id="55"), T0))
    assert (len(of.live_orders), of.is_known(OrderId("55")), sent(out)) == (3, False, [])


def test_beyond_its_bound_the_desk_still_keeps_what_may_be_live(monkeypatch):
    monkeypatch.setattr(manager, "LIVE_MAX", 1)
    of, _ = desk()
    of.add_order(made.own(number=1))
    order = made.intent()
    of.add_order(OwnOrder.left_behind(m.UnconfirmedCreate(order, b"{}"), T0))
    assert len(of.live_orders) == 2


def test_too_many_ended_orders_without_booked_fills_stop_new_ones(monkeypatch):
    monkeypatch.setattr(manager, "UNSETTLED_MAX", 1)
    of, _ = desk()
    own = made.own()
    of.add_order(own)
    assert not of.is_full()
    over(of, own, 4)
    assert of.is_full()


def test_the_id_of_an_ended_order_is_known_for_half_an_hour():
    of, _ = desk()
    first, second = (made.own(number=number) for number in range(2))
    for own, at_ns in ((first, T0), (second, T0 + manager.ENDED_KEPT_NS + 1)):
        of.add_order(own)
        of.on_order_row(
            own, made.over(own, model.OrderStatus.CANCELED, 0), at_ns, at_ns, by_id=True
        )
    assert [of.is_known(own.order_id) for own in (first, second)] == [False, True]
    again = made.own(number=3)
    of.add_order(again)
    of.on_order_row(
        again,
        made.over(again, model.OrderStatus.CANCELED, 0),
        T0 + 2 * manager.ENDED_KEPT_NS + 1,
        T0 + 2 * manager.ENDED_KEPT_NS + 1,
        by_id=True,
    )
    assert of.is_known(second.order_id)


def test_the_oldest_ended_id_and_stray_place_are_forgotten_beyond_their_bounds(monkeypatch):
    monkeypatch.setattr(manager, "ENDED_IDS_MAX", 2)
    monkeypatch.setattr(manager, "STRAYS_MAX", 2)
    of, _ = desk()
    orders = [made.own(number=number) for number in range(3)]
    for own in orders:
        of.add_order(own)
        over(of, own)
    assert [of.is_known(own.order_id) for own in orders] == [False, True, True]
    lost = [made.own(State.NEW_UNKNOWN, number=number, price=50 + number) for number in range(3)]
    for own in lost:
        of.add_order(own)
        answer(of, own, create(own, True), m.Rejected(422, "insufficient_shares", ""))
    unlisted(of, T0 + 10 * LAG_NS)
    seen = [of.is_late_arrival(made.shown(own, order_id="7")) for own in lost]
    assert seen == [False, True, True]


def test_an_amended_order_may_appear_at_either_of_its_prices():
    own = made.own()
    assert len(own.slots) == 1
    own.on_amend_sent(Amend(price=45))
    assert [slot[3] for slot in own.slots] == [40, 45]
    own.amend = Amend(qty=Qty(4))
    assert [slot[3] for slot in own.slots] == [40]
