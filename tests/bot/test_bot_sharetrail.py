"""Claims about what fills moved of late: by market and outcome, from an instant on."""

from bot.core.account.sharetrail import ShareTrail
from venue.wire.money import Outcome
from venue.wire.names import MarketId

ONE, TWO = MarketId("one"), MarketId("two")


def test_what_came_and_what_went_is_told_of_one_outcome_from_an_instant_on():
    trail = ShareTrail()
    for at_ns, market_id, outcome, moved in (
        (1, ONE, "yes", 100),
        (2, ONE, "yes", 5),
        (2, ONE, "no", 50),
        (2, TWO, "yes", 50),
        (3, ONE, "yes", -2),
        (4, ONE, "yes", 1),
    ):
        trail.booked(market_id, outcome, moved, at_ns)
    assert trail.moved(ONE, Outcome.YES, 2) == (6, 2)
    assert trail.moved(TWO, Outcome.NO, 2) == (0, 0)
    assert trail.moved(ONE, Outcome.YES, 4) == (1, 0)


def test_what_was_booked_by_ticker_alone_is_of_its_market_once_that_is_known():
    trail = ShareTrail()
    trail.booked(ONE, "yes", 3, 1)
    trail.same_market(ONE, TWO)
    trail.same_market(MarketId("none"), ONE)
    assert trail.moved(TWO, Outcome.YES, 0) == (3, 0)
    assert trail.moved(ONE, Outcome.YES, 0) == (0, 0)


def test_nothing_is_said_of_a_time_of_which_not_every_fill_is_remembered():
    trail = ShareTrail()
    for at_ns in range(1_500):
        trail.booked(ONE, "yes", 1, at_ns)
    assert trail.moved(ONE, Outcome.YES, 499) is None
    assert trail.moved(ONE, Outcome.YES, 500) == (1_000, 0)


def test_of_a_market_that_is_forgotten_nothing_moved():
    trail = ShareTrail()
    trail.booked(ONE, "yes", 3, 1)
    trail.booked(TWO, "yes", 4, 1)
    trail.forget({ONE})
    assert trail.moved(ONE, Outcome.YES, 0) == (0, 0)
    assert trail.moved(TWO, Outcome.YES, 0) == (4, 0)
