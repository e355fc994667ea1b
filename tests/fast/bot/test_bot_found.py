"""Claims about what the simulation found in the books and the limits: each broke once."""

from bot.lab.sim.scenario import SECOND
from tests.fast.bot.test_bot_trader import quoting
from venue.wire.money import BookSide

PAID_CENTS = 500


def test_a_side_parked_for_another_reason_stays_so_after_it_was_short_of_funds():
    world = quoting()
    trader = world.process.trader
    own = next(own for own in trader.desk.live_orders if own.book_side is BookSide.BID)
    rung = next(
        r for each in trader.quoting.ladders for r in each.rungs if r.market_id == own.market_id
    )
    now_ns = world.now_ns
    trader.quoting.suspend_side(
        own.market_id, own.book_side, "invalid_request", 60 * SECOND, now_ns
    )
    trader.quoting.suspend_for_funds(own, "insufficient_balance", now_ns + SECOND)
    assert rung.is_side_suspended(BookSide.BID, now_ns + 59 * SECOND)
    assert not rung.is_side_suspended(BookSide.BID, now_ns + 61 * SECOND)
