"""Claims about the judge of what a book may be quoted on."""

from bot.core import messages as m
from bot.core.strategy import Levels
from bot.lab.sim.judge.feedwatch import FeedWatch
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty
from venue.wire.names import MarketId

START_NS = 1_800_000_000 * NS_PER_SECOND
MARKET = MarketId("aaaaaaaa-0000-4000-8000-000000000001")


def levels(first: int, away: int) -> Levels:
    return ((Price(first), Qty(10)), (Price(first + away), Qty(10)))


def test_how_far_a_price_reaches_is_measured_against_the_best_one_that_was_never_ours():
    watch = FeedWatch(lambda _: ())
    watch.saw(m.FeedOpened(), START_NS)
    assert watch.reaches(MARKET, True, 70, ()) < 0
    watch.saw(m.BookSeen(MARKET, START_NS, levels(40, -1), levels(60, 1)), START_NS)
    assert watch.reaches(MARKET, True, 63, ()) == 3
    assert watch.reaches(MARKET, True, 63, (60,)) == 2
    assert watch.reaches(MARKET, True, 63, (60, 61)) < 0
    assert watch.reaches(MARKET, False, 38, ()) == 2
