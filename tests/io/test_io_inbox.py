"""Claims about what waits for the trader: order, one book per market, a cap on prints."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.io.inbox import Inbox
from venue.wire.money import Price, Qty
from venue.wire.names import MarketId

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


def book(market: str, ts_ns: int) -> m.BookSeen:
    return m.BookSeen(MarketId(market), ts_ns, (), ())


def trade(number: int) -> m.TradeSeen:
    return m.TradeSeen(MarketId("a"), number, f"t{number}", Price(50), Qty(1), True)


def taken(inbox: Inbox, most: int = 10_000) -> list[m.Event]:
    return [arrived.event for arrived in inbox.take(most)]


async def test_only_the_newest_book_of_a_market_waits():
    inbox = Inbox()
    for ts_ns in range(5):
        inbox.put(book("a", ts_ns), ts_ns)
    inbox.put(book("b", 9), 9)
    assert taken(inbox) == [book("a", 4), book("b", 9)]
    assert inbox.books_dropped == 4


async def test_a_newer_book_does_not_move_before_the_opening_that_brought_it():
    inbox = Inbox()
    inbox.put(book("a", 1), 1)
    inbox.put(m.FeedClosed("x"), 2)
    inbox.put(m.FeedOpened(), 3)
    inbox.put(book("a", 4), 4)
    assert taken(inbox) == [m.FeedClosed("x"), m.FeedOpened(), book("a", 4)]


async def test_prints_are_kept_up_to_the_cap_and_the_oldest_go():
    inbox = Inbox(trades_max=3)
    for number in range(5):
        inbox.put(trade(number), number)
    assert taken(inbox) == [trade(2), trade(3), trade(4)]
    assert inbox.trades_dropped == 2


async def test_a_batch_takes_no_more_than_asked_for():
    inbox = Inbox()
    for number in range(5):
        inbox.put(trade(number), number)
    assert taken(inbox, 2) == [trade(0), trade(1)]
    assert len(inbox) == 3


async def test_waiting_ends_with_an_event_or_with_the_time():
    inbox = Inbox()
    await inbox.wait(1_000_000)
    assert taken(inbox) == []
    waiting = asyncio.ensure_future(inbox.wait(60 * 10**9))
    await asyncio.sleep(0)
    inbox.put(trade(1), 1)
    async with asyncio.timeout(1):
        await waiting
    assert taken(inbox) == [trade(1)]


EVENTS = st.lists(
    st.one_of(
        st.builds(book, st.sampled_from("abc"), st.integers(0, 9)),
        st.builds(trade, st.integers(0, 9)),
        st.just(m.FeedHeard()),
    ),
    max_size=40,
)


@given(EVENTS, st.integers(1, 5))
def test_what_is_taken_is_in_order_of_arrival_and_holds_the_newest_of_everything(events, batch):
    inbox = Inbox()
    for at_ns, event in enumerate(events):
        inbox.put(event, at_ns)
    out = []
    while more := inbox.take(batch):
        out += more
    assert [each.at_ns for each in out] == sorted(each.at_ns for each in out)
    newest = {
        event.market_id: (at_ns, event)
        for at_ns, event in enumerate(events)
        if isinstance(event, m.BookSeen)
    }
    others = [
        (at_ns, event) for at_ns, event in enumerate(events) if not isinstance(event, m.BookSeen)
    ]
    assert [(each.at_ns, each.event) for each in out] == sorted(
        [*newest.values(), *others], key=lambda pair: pair[0]
    )
