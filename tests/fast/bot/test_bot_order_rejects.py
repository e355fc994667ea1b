"""Claims about refused writes: what is not asked for again, and what is refused too often."""

import pytest

from bot.core import messages as m
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.rejects import BLOCKED_MAX, OFTEN_WITHIN_NS, SIDES_MAX, RejectHistory
from tests.builders.bot import made
from tests.builders.bot.desks import create
from tests.builders.bot.made import T0
from venue.wire.errors import CODES, Advice, Code, Row
from venue.wire.money import Qty, Side
from venue.wire.requests import Amend

BUG = CODES[Code.INVALID_PRICE]
FUNDS = CODES[Code.INSUFFICIENT_BALANCE]


def reject(of: RejectHistory, own: OwnOrder, row: Row = BUG, now_ns: int = T0) -> None:
    """A create of this order is rejected."""
    of.refused(own, create(own), row, now_ns)


@pytest.mark.parametrize("code", list(Code))
def test_a_rejected_create_is_blocked_exactly_if_it_can_never_succeed(code):
    of, own = RejectHistory(), made.own(State.PENDING_NEW)
    reject(of, own, CODES[code])
    hopeless = CODES[code].advice in (Advice.FIX, Advice.GIVE_UP)
    assert of.is_blocked(create(own)) is hopeless


def test_a_blocked_create_is_blocked_under_every_id_and_blocks_no_other():
    of = RejectHistory()
    reject(of, made.own(State.PENDING_NEW, number=1))
    assert of.is_blocked(create(made.own(State.PENDING_NEW, number=2)))
    for other in ({"price": 41}, {"qty": 11}, {"side": Side.SELL}):
        assert not of.is_blocked(create(made.own(State.PENDING_NEW, **other)))


def test_a_resend_is_never_blocked_for_the_first_create_may_have_landed():
    of, own = RejectHistory(), made.own(State.NEW_UNKNOWN)
    of.refused(own, create(own, again=True), BUG, T0)
    assert not of.is_blocked(create(own))
    reject(of, own)
    assert not of.is_blocked(create(own, again=True))


@pytest.mark.parametrize("row", [BUG, FUNDS])
def test_a_rejected_amend_is_blocked_for_its_order_alone(row):
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


@pytest.mark.parametrize(
    ("rejects_ns", "now_ns", "often"),
    [
        ((0, 5), 5, False),
        ((0, 5, 10), OFTEN_WITHIN_NS - 1, True),
        ((0, 5, 10), OFTEN_WITHIN_NS, False),
        ((0, 1, OFTEN_WITHIN_NS), OFTEN_WITHIN_NS, False),
        ((0, 1, OFTEN_WITHIN_NS, OFTEN_WITHIN_NS), OFTEN_WITHIN_NS, True),
    ],
)
def test_three_rejects_of_one_side_within_a_minute_are_often(rejects_ns, now_ns, often):
    of, own = RejectHistory(), made.own(State.PENDING_NEW)
    for at_ns in rejects_ns:
        reject(of, own, FUNDS if at_ns else BUG, T0 + at_ns)
    assert of.often(own, T0 + now_ns) is often


def test_rejects_count_for_each_side_alone():
    of = RejectHistory()
    bid, ask = made.own(State.PENDING_NEW), made.own(State.PENDING_NEW, side=Side.SELL)
    for own in (bid, bid, ask):
        reject(of, own)
    assert not of.often(bid, T0)
    assert not of.often(ask, T0)


@pytest.mark.parametrize(
    "code", [Code.RATE_LIMITED, Code.RESULT_UNKNOWN, Code.MARKET_HALTED, Code.VENUE_CANCEL_ONLY]
)
def test_rate_limits_halts_and_timeouts_count_as_no_reject(code):
    of, own = RejectHistory(), made.own(State.PENDING_NEW)
    for _ in range(3):
        reject(of, own, CODES[code])
    assert not of.often(own, T0)


def test_the_oldest_block_and_side_are_forgotten_beyond_their_bounds():
    of = RejectHistory()
    orders = [made.own(State.PENDING_NEW, qty=number + 1) for number in range(BLOCKED_MAX + 1)]
    for own in orders:
        reject(of, own)
    assert not of.is_blocked(create(orders[0]))
    assert of.is_blocked(create(orders[1]))
    for number in range(SIDES_MAX + 1):
        for _ in range(3):
            orders[number].market_id = str(number)
            reject(of, orders[number])
    assert not of.often(orders[0], T0)
    assert of.often(orders[1], T0)
