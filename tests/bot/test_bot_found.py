"""Claims about what the simulation found in the books and the limits: each broke once."""

import pytest

from bot.lab.sim.odds import SECOND
from tests.bot.test_bot_trader import quoting
from venue.wire.money import BookSide

PAID_CENTS = 500


def test_what_parks_a_side_for_another_reason_outlives_a_change_of_funds():
    world = quoting()
    trader = world.process.trader
    own = next(own for own in trader.desk.all_live() if own.side is BookSide.BID)
    rung = next(
        r for each in trader.quoting.ladders for r in each.rungs if r.market_id == own.market_id
    )
    now_ns = world.now_ns
    trader.quoting.parking.side(own, "invalid_request", 60 * SECOND, now_ns)
    trader.quoting.parking.for_funds(own, "insufficient_balance", now_ns + SECOND)
    trader.quoting.parking.funds_changed()
    assert rung.side_parked(BookSide.BID, now_ns + 59 * SECOND)
    assert not rung.side_parked(BookSide.BID, now_ns + 61 * SECOND)


@pytest.mark.parametrize("unseen", [False, True])
def test_a_side_refused_often_waits_for_no_change_but_the_end_of_an_order_that_nobody_knew_of(
    unseen,
):
    world = quoting()
    trader = world.process.trader
    own = next(own for own in trader.desk.all_live() if own.side is BookSide.BID)
    rung = next(
        r for each in trader.quoting.ladders for r in each.rungs if r.market_id == own.market_id
    )
    now_ns = world.now_ns
    trader.quoting.parking.side(own, "invalid_request", 30 * SECOND, now_ns)
    for often in (False, True):
        trader.quoting.parking.for_funds(own, "insufficient_shares", now_ns, often=often)
    trader.quoting.parking.funds_changed(unseen=unseen)
    assert rung.side_parked(BookSide.BID, now_ns + 29 * SECOND)
    assert rung.side_parked(BookSide.BID, now_ns + 59 * SECOND) is not unseen
