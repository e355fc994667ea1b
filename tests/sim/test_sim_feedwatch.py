"""Claims about the judge of what a book may be quoted on, where a single word tells of it."""

import pytest

from bot.core import messages as m
from bot.core.strategy import Levels
from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.judge.feedwatch import FeedWatch
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty
from venue.wire.names import MarketId, Ticker

START_NS = 1_800_000_000 * NS_PER_SECOND
MARKET = MarketId("aaaaaaaa-0000-4000-8000-000000000001")


def levels(first: int, away: int) -> Levels:
    return ((Price(first), Qty(10)), (Price(first + away), Qty(10)))


FIRST, WRONG, OTHER = (
    (levels(bid, -1), levels(ask, 1)) for bid, ask in ((40, 60), (45, 55), (30, 35))
)


def read(watch: FeedWatch, book: tuple[Levels, Levels], now_ns: int) -> None:
    bids, asks = (tuple(model.Level(price, size) for price, size in side) for side in book)
    shown = model.Orderbook(Ticker("T"), MARKET, instant.from_ns(now_ns), bids, asks)
    watch.read(m.ReadBook(MARKET), m.Done(m.BookShown(shown)), now_ns)


@pytest.mark.parametrize("told_otherwise", [True, False])
def test_a_read_of_what_a_wrongly_stamped_frame_showed_confirms_it_unless_another_came_between(
    told_otherwise,
):
    now_ns = START_NS + 2 * NS_PER_SECOND
    right = {now_ns + 5: START_NS + NS_PER_SECOND}  # it is a second older than it says
    watch = FeedWatch(lambda _: (), lambda ts: right.get(ts, ts), lambda ts: right.get(ts, ts))
    watch.saw(m.FeedOpened(), START_NS)
    watch.saw(m.BookSeen(MARKET, now_ns, *FIRST), now_ns)
    watch.saw(m.BookSeen(MARKET, now_ns + 5, *WRONG), now_ns + 10)
    if told_otherwise:
        read(watch, OTHER, now_ns + 20)
    read(watch, WRONG, now_ns + 30)
    if told_otherwise:
        with pytest.raises(Broken, match="in doubt"):
            watch.may_quote(MARKET, now_ns + 30)
    else:
        watch.may_quote(MARKET, now_ns + 30)


def test_how_far_a_price_reaches_is_told_against_the_best_one_that_was_never_ours():
    watch = FeedWatch(lambda _: (), lambda ts: ts, lambda ts: ts)
    watch.saw(m.FeedOpened(), START_NS)
    assert watch.reaches(MARKET, True, 70, ()) < 0
    watch.saw(m.BookSeen(MARKET, START_NS, *FIRST), START_NS)
    assert watch.reaches(MARKET, True, 63, ()) == 3
    assert watch.reaches(MARKET, True, 63, (60,)) == 2
    assert watch.reaches(MARKET, True, 63, (60, 61)) < 0
    assert watch.reaches(MARKET, False, 38, ()) == 2
