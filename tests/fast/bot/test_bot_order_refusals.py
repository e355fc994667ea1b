"""Claims about refused writes: what is not asked for again, and what is refused too often."""

import pytest

from bot.core import messages as m
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.reject_policy import POLICIES
from bot.core.orders.rejects import BLOCKED_MAX, OFTEN_WITHIN_NS, SIDES_MAX, RejectHistory
from tests.builders.bot import made
from tests.builders.bot.desks import create
from tests.builders.bot.made import T0
from venue.wire.errors import CODES, Advice, Code, Row
from venue.wire.money import Qty, Side
from venue.wire.requests import Amend

BUG = CODES[Code.INVALID_PRICE]
FUNDS = CODES[Code.INSUFFICIENT_BALANCE]


def test_every_advice_says_what_the_bot_does_after_it():
    assert set(POLICIES) == set(Advice)


def refused(of: RejectHistory, own: OwnOrder, row: Row = BUG, now_ns: int = T0) -> None:
    """A create of this order is refused."""
    of.refused(own, create(own), row, now_ns)


@pytest.mark.parametrize("code", list(Code))
def test_a_create_is_blocked_exactly_when_it_can_never_succeed(code):
    of, own = RejectHistory(), made.own(State.PENDING_NEW)
    refused(of, own, CODES[code])
    hopeless = CODES[code].advice in (Advice.FIX, Advice.GIVE_UP)
    assert of.is_blocked(create(own)) is hopeless


def test_the_latch_knows_a_create_under_any_id_and_no_other_create():
    of = RejectHistory()
    refused(of, made.own(State.PENDING_NEW, number=1))
    assert of.is_blocked(create(made.own(State.PENDING_NEW, number=2)))
    for other in ({"price": 41}, {"qty": 11}, {"side": Side.SELL}):
        assert not of.is_blocked(create(made.own(State.PENDING_NEW, **other)))


def test_a_re_send_is_never_latched_for_the_first_one_may_have_landed():
    of, own = RejectHistory(), made.own(State.NEW_UNKNOWN)
    of.refused(own, create(own, again=True), BUG, T0)
    assert not of.is_blocked(create(own))
    refused(of, own)
    assert not of.is_blocked(create(own, again=True))


@pytest.mark.parametrize("row", [BUG, FUNDS])
def test_an_amend_is_blocked_for_its_order_alone(row):
    of, own = RejectHistory(), made.own()
    request = m.AmendResting(own.order_id, Amend(qty=Qty(4)))
    of.refused(own, request, row, T0)
    assert of.is_blocked(request)
    assert not of.is_blocked(m.AmendResting(own.order_id, Amend(qty=Qty(5))))
    assert not of.is_blocked(m.AmendResting("9", Amend(qty=Qty(4))))


def test_a_cancel_may_always_be_repeated():
    of, own = RejectHistory(), made.own()
    request = m.CancelResting(own.order_id)
    of.refused(own, request, BUG, T0)
    assert not of.is_blocked(request)
    assert not of.often(own, T0)


def test_the_third_refusal_within_a_minute_is_often_and_one_later_is_not():
    of, own = RejectHistory(), made.own(State.PENDING_NEW)
    for at_ns in (T0, T0 + 5):
        refused(of, own, FUNDS, at_ns)
        assert not of.often(own, at_ns)
    refused(of, own, BUG, T0 + 10)
    assert of.often(own, T0 + OFTEN_WITHIN_NS - 1)
    assert not of.often(own, T0 + OFTEN_WITHIN_NS)


def test_refusals_a_minute_apart_do_not_add_up():
    of, own = RejectHistory(), made.own(State.PENDING_NEW)
    for at_ns in (T0, T0 + 1, T0 + OFTEN_WITHIN_NS):
        refused(of, own, BUG, at_ns)
    assert not of.often(own, T0 + OFTEN_WITHIN_NS)
    refused(of, own, BUG, T0 + OFTEN_WITHIN_NS)
    assert of.often(own, T0 + OFTEN_WITHIN_NS)


def test_each_side_counts_by_itself():
    of = RejectHistory()
    bid, ask = made.own(State.PENDING_NEW), made.own(State.PENDING_NEW, side=Side.SELL)
    for own in (bid, bid, ask):
        refused(of, own)
    assert not of.often(bid, T0)
    assert not of.often(ask, T0)


@pytest.mark.parametrize(
    "code", [Code.RATE_LIMITED, Code.RESULT_UNKNOWN, Code.MARKET_HALTED, Code.VENUE_CANCEL_ONLY]
)
def test_pace_halts_and_silence_are_no_refusals(code):
    of, own = RejectHistory(), made.own(State.PENDING_NEW)
    for _ in range(3):
        refused(of, own, CODES[code])
    assert not of.often(own, T0)


def test_the_oldest_latch_and_side_are_forgotten_beyond_their_bounds():
    of = RejectHistory()
    orders = [made.own(State.PENDING_NEW, qty=number + 1) for number in range(BLOCKED_MAX + 1)]
    for own in orders:
        refused(of, own)
    assert not of.is_blocked(create(orders[0]))
    assert of.is_blocked(create(orders[1]))
    for number in range(SIDES_MAX + 1):
        for _ in range(3):
            orders[number].market_id = str(number)
            refused(of, orders[number])
    assert not of.often(orders[0], T0)
    assert of.often(orders[1], T0)
