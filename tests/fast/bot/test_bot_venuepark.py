"""Claims about a venue that takes no writes, or cancels alone: how it is probed, what opens it."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.planning.actions import CancelAction
from tests.builders.bot.made import T0
from tests.fast.bot.test_bot_sending import SECOND, Account, create, prices
from venue.wire.money import Qty
from venue.wire.requests import Amend


def test_a_halted_venue_is_probed_with_one_write_in_five_seconds():
    of = Account()
    own = [of.rests(price, number) for number, price in enumerate((10, 20))]
    cancels = [CancelAction(each, "not wanted") for each in own]
    of.sending.venue.on_reject("venue_halted", T0)
    assert of.cancel(*cancels, now_ns=T0 + 5 * SECOND - 1) == []
    assert len(of.cancel(*cancels, now_ns=T0 + 5 * SECOND)) == 1
    assert of.cancel(*cancels, now_ns=T0 + 5 * SECOND) == []


def test_a_venue_that_takes_cancels_only_gets_them_all_and_one_create_as_a_probe():
    of = Account()
    own = [of.rests(price, number) for number, price in enumerate((10, 20))]
    of.sending.venue.on_reject("venue_cancel_only", T0)
    assert len(of.cancel(*(CancelAction(each, "") for each in own))) == 2
    assert of.spend(create(30)) == []
    assert of.spend(create(30), now_ns=T0 + 5 * SECOND) == []  # the cancels are under way
    for request_id in list(of.out.pending):
        of.out.answered(m.Response(request_id, m.Unknown("")), T0 + 5 * SECOND)
    assert prices(of.spend(create(30), create(31), now_ns=T0 + 5 * SECOND)) == [30]
    of.sending.venue.on_accept(m.AmendResting(own[0].order_id, Amend(qty=Qty(1))), T0 + 5 * SECOND)
    assert prices(of.spend(create(31), now_ns=T0 + 5 * SECOND)) == [31]


@pytest.mark.parametrize(
    ("again", "begun_ns", "is_open"),
    [(False, T0, True), (False, T0 - 1, False), (True, T0 + 1, False)],
)
def test_only_a_new_write_that_left_after_a_refusal_shows_that_the_venue_is_open_again(
    again, begun_ns, is_open
):
    of = Account()
    (sent,) = of.spend(create(10))
    of.sending.venue.on_reject("venue_cancel_only", T0)
    of.sending.venue.on_accept(msgspec.structs.replace(sent, again=again), begun_ns)
    for request_id in list(of.out.pending):
        of.out.answered(m.Response(request_id, m.Unknown("")), T0 + 1)
    assert prices(of.spend(create(30), now_ns=T0 + 1)) == ([30] if is_open else [])
