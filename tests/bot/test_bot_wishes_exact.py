"""What may be sold, and what must not be crossed, to the last share and tick."""

import pytest

from bot.core.order import State
from bot.core.wishes import FreeShares, crosses, free_shares
from tests.bot import made
from tests.bot.test_bot_reconcile import ASK, BID, rests
from venue.wire.money import Outcome, Price, Qty, Side


def test_shares_are_taken_once_and_never_below_none():
    free = FreeShares(5, 3)
    assert (free.of(Outcome.YES), free.of(Outcome.NO)) == (5, 3)
    assert (free.take(Outcome.YES, 4), free.take(Outcome.YES, 4)) == (4, 1)
    assert (free.take(Outcome.NO, 2), free.take(Outcome.NO, -1)) == (2, 0)
    assert free == FreeShares(0, 1)
    assert FreeShares(-2, 0).take(Outcome.YES, 3) == 0


def test_what_our_sales_may_still_sell_is_not_free_and_purchases_take_nothing():
    orders = [
        made.own(State.OPEN, side=Side.SELL, qty=4, number=1),
        made.own(State.LOST, side=Side.SELL, qty=2, number=2),
        made.own(State.OPEN, outcome=Outcome.NO, side=Side.SELL, qty=7, number=3),
        made.own(State.OPEN, outcome=Outcome.NO, side=Side.BUY, qty=90, number=4),
    ]
    assert free_shares(Qty(10), Qty(5), orders) == FreeShares(4, -2)


@pytest.mark.parametrize(("price", "meets"), [(59, False), (60, True), (61, True)])
def test_a_bid_crosses_our_asks_at_and_below_its_price(price, meets):
    own = rests(60, side=ASK)
    assert crosses(BID, Price(price), [own, rests(30)]) == ([own] if meets else [])


@pytest.mark.parametrize(("price", "meets"), [(41, False), (40, True), (39, True)])
def test_an_ask_crosses_our_bids_at_and_above_its_price(price, meets):
    own = rests(40)
    assert crosses(ASK, Price(price), [own, rests(70, side=ASK)]) == ([own] if meets else [])
