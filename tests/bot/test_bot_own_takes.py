"""Claims about the prints of takes of ours: which shares of a print are ours, and for how long."""

import msgspec
import pytest

from bot.core.orders.order import OwnOrder, State
from bot.core.quoting.own_trades import OwnTradeFilter
from tests.bot import made
from tests.bot.made import T0
from venue.wire import codec, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Outcome
from venue.wire.requests import TimeInForce

BID, ASK = BookSide.BID, BookSide.ASK


def take(outcome: Outcome = Outcome.YES) -> OwnOrder:
    """A purchase of 50 that has left, to trade at once or not at all, and has no answer."""
    order = made.intent(qty=50, outcome=outcome)
    order = msgspec.structs.replace(order, time_in_force=TimeInForce.IOC)
    return OwnOrder.first_sent(order, codec.encode_new_order(order), T0, "made")


def traded(of: OwnOrder, qty: int) -> model.Order:
    """The answer to it."""
    return made.over(of, model.OrderStatus.FILLED, qty)


def test_a_print_is_nobody_elses_where_a_take_of_ours_was_answered_with_as_much():
    mine = OwnTradeFilter()
    mine.answered(traded(take(), 50), T0)
    assert mine.part_of(ASK, 50, [], T0) == 0
    assert mine.part_of(BID, 50, [], T0) == 50
    assert mine.part_of(BID, 50, [], T0) == 0


def test_a_print_that_comes_before_the_answer_is_counted_once():
    mine, own = OwnTradeFilter(), take()
    assert mine.part_of(BID, 50, [own], T0) == 50
    assert mine.part_of(BID, 50, [own], T0) == 0
    mine.answered(traded(own, 50), T0)
    assert mine.part_of(BID, 50, [], T0) == 0


def test_the_prints_of_a_take_that_met_several_orders_are_ours_and_no_more():
    mine = OwnTradeFilter()
    mine.answered(traded(take(), 50), T0)
    assert [mine.part_of(BID, size, [], T0) for size in (20, 20, 45)] == [20, 20, 10]


@pytest.mark.parametrize(("seconds", "part"), [(5, 50), (5.001, 0)])
def test_a_print_long_after_the_answer_may_be_anybodys(seconds: float, part: int):
    mine = OwnTradeFilter()
    mine.answered(traded(take(), 50), T0)
    assert mine.part_of(BID, 50, [], T0 + int(seconds * NS_PER_SECOND)) == part


@pytest.mark.parametrize(("seconds", "part"), [(5, 50), (5.001, 0)])
def test_a_print_long_after_a_take_that_has_no_answer_may_be_anybodys(seconds: float, part: int):
    own = take()
    at_ns = own.placed_ns + int(seconds * NS_PER_SECOND)
    assert OwnTradeFilter().part_of(BID, 50, [own], at_ns) == part


def test_who_buys_no_takes_as_who_sells_yes():
    mine = OwnTradeFilter()
    mine.answered(traded(take(outcome=Outcome.NO), 50), T0)
    assert mine.part_of(BID, 50, [], T0) == 0
    assert mine.part_of(ASK, 50, [], T0) == 50


def test_what_rests_of_ours_takes_nothing():
    assert OwnTradeFilter().part_of(BID, 50, [made.own(State.OPEN, qty=50)], T0) == 0


def test_an_answer_that_does_not_tell_its_side_says_nothing():
    mine = OwnTradeFilter()
    strange = msgspec.structs.replace(traded(take(), 50), side=model.ShownSide.UNKNOWN)
    mine.answered(strange, T0)
    assert mine.part_of(BID, 50, [], T0) == 0


def test_a_take_for_which_nothing_was_shown_leaves_every_print_to_others():
    assert OwnTradeFilter().part_of(BID, 50, [], T0) == 0
