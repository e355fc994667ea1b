"""Claims about orders that give way to others: only where those may leave behind them."""

import pytest

from bot.core import messages as m
from bot.core.orders.order import OwnOrder
from bot.core.orders.request_budget import Priority
from bot.core.planning.actions import CancelAction
from tests.builders.bot.made import T0
from tests.builders.bot.planned import bid, plan
from tests.fast.bot.test_bot_sending import SECOND, Account, create
from venue.wire.money import Price
from venue.wire.requests import Amend


def merged(own: OwnOrder) -> CancelAction:
    """An order that is to give way to a larger one."""
    return CancelAction(own, "to be merged", 1.0, create(40, 5))


def sold_instead(own: OwnOrder) -> CancelAction:
    """A purchase that is to give way to a sale of shares held."""
    return CancelAction(own, "shares held now: sold instead", 1.0, instead=True)


def test_no_purchase_gives_way_to_a_sale_that_may_not_leave():
    of = Account()
    own = of.rests(40)
    of.rung.side_suspended_until_ns[own.book_side] = T0 + SECOND
    assert of.sending.held_back(of.rung, sold_instead(own), T0)
    assert of.cancel(sold_instead(own)) == []
    left = of.cancel(sold_instead(own), now_ns=T0 + SECOND)
    assert left == [m.CancelResting(own.order_id)]


@pytest.mark.parametrize(("wanted", "leaves"), [(41, False), (39, True)])
def test_a_purchase_that_is_to_move_stays_where_its_sale_may_not_leave_unless_it_steps_back(
    wanted, leaves
):
    of = Account()
    own = of.rests(40)
    of.rung.side_suspended_until_ns[own.book_side] = T0 + SECOND
    (wish,) = plan([bid(wanted)], [own], no=10, now_ns=T0).actions
    assert isinstance(wish, CancelAction)
    assert of.cancel(wish) == ([m.CancelResting(own.order_id)] if leaves else [])


def test_beyond_the_pace_no_order_gives_way_to_one_that_may_not_leave():
    of = Account(pace={"market_writes_burst": 1, "market_writes_per_second": 2})
    own = of.rests(40)
    of.spend(create(10))
    assert of.cancel(merged(own)) == []
    assert of.cancel(merged(own), now_ns=T0 + SECOND // 2) == [m.CancelResting(own.order_id)]


@pytest.mark.parametrize("gives_way", [merged, sold_instead])
def test_no_order_gives_way_where_the_pace_bears_its_cancel_alone(gives_way):
    of = Account(pace={"market_writes_burst": 2, "market_writes_per_second": 1})
    own = of.rests(40)
    of.spend(create(10))
    assert of.cancel(gives_way(own)) == []
    assert of.cancel(gives_way(own), now_ns=T0 + SECOND) == [m.CancelResting(own.order_id)]
    assert len(of.spend(create(39), now_ns=T0 + SECOND)) == 1


@pytest.mark.parametrize(("tokens", "gives_way"), [(61, False), (62, True)])
def test_no_order_gives_way_to_one_that_would_find_no_token(tokens, gives_way):
    of = Account()
    own = of.rests(40)
    while of.out.purse.tokens(T0) > tokens:
        of.out.purse.spend(Priority.CANCEL, T0)
    left = of.cancel(merged(own))
    assert left == ([m.CancelResting(own.order_id)] if gives_way else [])
    assert of.denied == []  # it is wished for again as it is


@pytest.mark.parametrize("kept", ["suspect", "parked"])
def test_where_nothing_new_may_leave_no_order_gives_way(kept):
    of = Account()
    own = of.rests(40)
    if kept == "suspect":
        of.rung.state.suspect_since_ns = T0
    else:
        of.sending.venue.on_reject("venue_cancel_only", T0 - 9 * SECOND)
    told = of.sending.held_back(of.rung, merged(own), T0)
    assert told == "its replacement may not leave now"
    assert of.cancel(merged(own)) == []
    assert of.cancel(CancelAction(own, "not wanted")) == [m.CancelResting(own.order_id)]


def test_while_the_venue_is_parked_what_was_to_give_way_is_moved_and_that_opens_it_again():
    of = Account()
    own = of.rests(40)
    of.sending.venue.on_reject("venue_cancel_only", T0 - 9 * SECOND)
    (wish,) = plan([bid(41)], [own], no=10, now_ns=T0).actions
    assert of.cancel(wish) == []
    assert of.denied == [wish]  # so that its side is short
    wishes = plan([bid(41)], [own], no=10, now_ns=T0, short={own.book_side}).actions
    assert of.spend(*wishes) == [m.AmendResting(own.order_id, Amend(price=Price(41)))]
