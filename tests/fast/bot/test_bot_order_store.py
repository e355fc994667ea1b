"""Where orders are found, which need attention, and the bounds of every map."""

import pytest

from bot.core import messages as m
from bot.core.orders import manager
from bot.core.orders.order import OrderEvent, OwnOrder, State
from bot.core.orders.outbox import NEVER_NS
from bot.core.orders.transitions import OrderFinding
from tests.builders.bot import made
from tests.builders.bot.desks import (
    answer,
    create,
    desk,
    query,
    rejected,
    respond_to_create,
    sent,
    unlisted,
    with_order,
)
from tests.builders.bot.made import LAG_NS, T0
from venue.wire import model
from venue.wire.names import MarketId, OrderId
from venue.wire.requests import Amend

OTHER = MarketId("bbbbbbbb-0000-4000-8000-000000000002")


def close(of, own: OwnOrder, filled: int = 0, at_ns: int = T0) -> None:
    """A read by id shows the order cancelled."""
    query(of, own, made.over(own, model.OrderStatus.CANCELED, filled), at_ns)


def test_live_orders_of_a_market_come_in_the_order_of_their_creates():
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
    close(of, orders[0])
    assert of.live(made.MARKET) == orders[1:]
    close(of, stray)
    assert of.live(OTHER) == []


def test_a_closed_order_is_known_by_its_id_and_no_longer_live():
    of, _, own = with_order()
    assert of.live_order(own.order_id) is own
    assert of.live_ids() == [own.order_id]
    close(of, own)
    assert of.live_order(own.order_id) is None
    assert of.is_known(own.order_id)
    assert not of.is_known(OrderId("9"))
    assert of.live_ids() == []


def test_rows_of_a_list_without_a_live_order_keep_their_order():
    of, _ = desk()
    live, ended = made.own(number=1), made.own(number=2)
    for own in (live, ended):
        of.add_order(own)
    close(of, ended)
    listed = {OrderId("9"): "z", live.order_id: "a", ended.order_id: "b", OrderId("8"): "y"}
    assert of.rows_not_live(listed) == ["z", "b", "y"]
    assert of.rows_not_live({live.order_id: "a"}) == of.rows_not_live({}) == []


def test_a_filled_order_stays_until_its_fills_are_booked():
    of, out, own = with_order()
    assert not of.has_fills(made.MARKET)
    of.on_order_row(own, made.shown(own, filled=4, remaining=6), T0, T0)
    assert list(of.with_fills(made.MARKET)) == [own]
    close(of, own, 4)
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


def test_fills_have_ten_seconds_from_the_end_of_the_order_to_be_booked():
    of, out, own = with_order()
    ended_ns = T0 + 3_600 * LAG_NS
    query(of, own, made.over(own, model.OrderStatus.FILLED, 10), ended_ns)
    of.drop_booked(lambda each: 0, ended_ns + 10 * LAG_NS)
    assert out.findings == {}
    of.drop_booked(lambda each: 0, ended_ns + 10 * LAG_NS + 1)
    assert "fills_missing" in out.findings


def test_a_late_response_with_more_fills_brings_a_closed_order_back_for_booking():
    of, _, own = with_order()
    close(of, own)
    assert list(of.unsettled) == []
    close(of, own, 4)
    assert list(of.unsettled) == [own]
    assert len(of.live_orders) == 0


def test_nothing_is_due_for_open_orders():
    of, out = desk()
    for number in range(5):
        of.add_order(made.own(number=number))
    assert of.next_due_ns() == NEVER_NS
    of.send_due(T0 + 100 * LAG_NS)
    assert sent(out) == []


def test_a_list_that_shows_an_order_as_known_changes_nothing():
    of, _, own = with_order()
    own.mark_suspect(OrderFinding.IMPOSSIBLE, "seen elsewhere", T0)
    assert not own.is_shown_as_known(made.shown(own))  # it is in doubt: the list may settle it
    own.suspicion = None
    own.read_due_ns = T0
    of.on_order_row(own, made.shown(own), T0 + 100 * LAG_NS, T0 + 100 * LAG_NS)
    assert (own.state, own.read_due_ns, of.next_due_ns()) == (State.OPEN, T0, NEVER_NS)
    for news in (made.shown(own, filled=1), made.shown(own, remaining=1), made.shown(own, price=1)):
        assert not own.is_shown_as_known(news)


def test_an_order_to_be_cancelled_is_due_when_its_cancel_is():
    of, _ = desk()
    own = made.own()
    own.cancel_requested, own.due_ns = True, T0 + 7
    of.add_order(own)
    assert of.next_due_ns() == T0 + 7


def test_suspect_orders_count_as_unknown():
    of, _ = desk()
    lost = made.own(State.NEW_UNKNOWN, number=1)
    amended, suspect = (made.own(number=number) for number in (2, 3))
    amended.on_amend_sent(Amend(price=45))
    amended.on_answer(OrderEvent.TIMEOUT, T0)
    suspect.on_not_found(T0, T0, LAG_NS)
    for own in (lost, amended, suspect, made.own(number=4)):
        of.add_order(own)
    assert len(of.unknown) == 3
    assert of.oldest_unknown_ns(T0 + 5) == 5


@pytest.mark.parametrize(("state", "undecided"), [(State.PENDING_NEW, True), (State.OPEN, False)])
def test_only_a_create_without_an_id_leaves_open_ids(state, undecided):
    of, _ = desk()
    of.add_order(made.own(state))
    assert of.has_open_ids() is undecided


def test_fills_are_awaited_once_a_list_lacks_an_unknown_create():
    of, _, own = with_order(State.NEW_UNKNOWN)
    assert not of.is_awaiting_fills()
    own.note_evidence(unlisted_ns=T0)
    of.add_order(own)
    assert of.is_awaiting_fills()


def test_an_alert_names_five_orders_at_most():
    of, out = desk()
    for number in range(6):
        own = made.own(number=number)
        of.add_order(own)
        answer(of, own, m.ReadOrder(own.order_id), rejected("order_not_found"))
    assert out.findings[OrderFinding.MISSING].count("order 100") == 5


def test_at_the_limit_of_live_orders_none_is_created_or_adopted(monkeypatch):
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


def test_past_the_limit_of_live_orders_an_unconfirmed_create_is_still_kept(monkeypatch):
    monkeypatch.setattr(manager, "LIVE_MAX", 1)
    of, _ = desk()
    of.add_order(made.own(number=1))
    order = made.intent()
    of.add_order(OwnOrder.left_behind(m.UnconfirmedCreate(order), T0))
    assert len(of.live_orders) == 2


def test_too_many_closed_orders_with_unbooked_fills_stop_new_ones(monkeypatch):
    monkeypatch.setattr(manager, "UNSETTLED_MAX", 1)
    of, _, own = with_order()
    assert not of.is_full()
    close(of, own, 4)
    assert of.is_full()


def test_the_id_of_a_closed_order_is_known_for_half_an_hour():
    of, _ = desk()
    orders = [made.own(number=number) for number in range(3)]
    for own in orders:
        of.add_order(own)
    close(of, orders[0])
    close(of, orders[1], at_ns=T0 + manager.ENDED_KEPT_NS + 1)
    assert [of.is_known(own.order_id) for own in orders[:2]] == [False, True]
    close(of, orders[2], at_ns=T0 + 2 * manager.ENDED_KEPT_NS + 1)
    assert of.is_known(orders[1].order_id)


def test_the_oldest_closed_ids_and_places_are_forgotten_beyond_their_bounds(monkeypatch):
    monkeypatch.setattr(manager, "ENDED_IDS_MAX", 2)
    monkeypatch.setattr(manager, "STRAYS_MAX", 2)
    of, _ = desk()
    orders = [made.own(number=number) for number in range(3)]
    for own in orders:
        of.add_order(own)
        close(of, own)
    assert [of.is_known(own.order_id) for own in orders] == [False, True, True]
    lost = [made.own(State.NEW_UNKNOWN, number=number, price=50 + number) for number in range(3)]
    for own in lost:
        of.add_order(own)
        respond_to_create(of, own, rejected("insufficient_shares"))
    unlisted(of, T0 + 10 * LAG_NS)
    seen = [of.is_late_arrival(made.shown(own, order_id="7")) for own in lost]
    assert seen == [False, True, True]
