"""Claims about what waits for the trader: order, what is bounded, and what no flood delays."""

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import messages as m
from bot.io.run.inbox import GARBLED_MAX, ConflatingQueue
from venue.wire.money import Price, Qty
from venue.wire.names import MarketId

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


def book(market: str, ts_ns: int) -> m.BookUpdate:
    return m.BookUpdate(MarketId(market), ts_ns, (), ())


def trade(number: int) -> m.Trade:
    return m.Trade(MarketId("a"), number, f"t{number}", Price(50), Qty(1), True)


def taken(inbox: ConflatingQueue, most: int = 10_000) -> list[m.Event]:
    return [arrived.event for arrived in inbox.take_events(most)]


async def test_only_the_newest_book_of_a_market_waits():
    inbox = ConflatingQueue()
    for ts_ns in range(5):
        inbox.put(book("a", ts_ns), ts_ns)
    inbox.put(book("b", 9), 9)
    assert taken(inbox) == [book("a", 4), book("b", 9)]
    assert inbox.dropped["book"] == 4


async def test_a_newer_book_does_not_move_before_the_opening_that_brought_it():
    inbox = ConflatingQueue()
    inbox.put(book("a", 1), 1)
    inbox.put(m.FeedClosed("x"), 2)
    inbox.put(m.FeedOpened(), 3)
    inbox.put(book("a", 4), 4)
    assert taken(inbox) == [m.FeedClosed("x"), m.FeedOpened(), book("a", 4)]


async def test_prints_are_kept_up_to_the_cap_and_the_oldest_go():
    inbox = ConflatingQueue(trades_max=3)
    for number in range(5):
        inbox.put(trade(number), number)
    assert taken(inbox) == [trade(2), trade(3), trade(4)]
    assert inbox.dropped["print"] == 2


FLOODS = {
    "garbled": lambda number: m.MalformedFrame(f"no {number}", known=True),
    "unknown": lambda number: m.MalformedFrame(f"no {number}", known=False),
    "pongs": lambda _: m.FeedAlive(),
    "accepted": lambda _: m.SubscriptionAccepted(),
    "refused": lambda number: m.SubscriptionRefused("unknown_target", f"no {number}"),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_whatever_the_far_end_repeats_without_end_waits_as_its_last_few(kind):
    inbox = ConflatingQueue()
    for number in range(10_000):
        inbox.put(FLOODS[kind](number), number)
        assert len(inbox) <= GARBLED_MAX
    assert taken(inbox)[-1] == FLOODS[kind](9_999)
    assert len(inbox) == 0


def test_as_many_garbled_frames_wait_as_make_the_trader_ask_for_all_books_anew():
    inbox = ConflatingQueue()
    for number in range(10):
        inbox.put(FLOODS["garbled"](number), number)
        inbox.put(FLOODS["unknown"](number), number)
    garbled = [event.reason for event in taken(inbox) if event.known]
    assert garbled == ["no 7", "no 8", "no 9"]
    assert inbox.dropped["garbled"] == 14


def test_the_last_garbled_frame_stays_behind_the_book_that_came_before_it():
    inbox = ConflatingQueue()
    for number in range(5):
        inbox.put(FLOODS["garbled"](number), number)
    inbox.put(book("a", 5), 5)
    inbox.put(FLOODS["garbled"](6), 6)
    assert taken(inbox)[-2:] == [book("a", 5), FLOODS["garbled"](6)]


def test_a_garbled_frame_counts_anew_once_it_was_taken():
    inbox = ConflatingQueue()
    for number in range(3 * GARBLED_MAX):
        inbox.put(FLOODS["garbled"](number), number)
        assert taken(inbox) == [FLOODS["garbled"](number)]
    assert inbox.dropped["garbled"] == 0


FIRST = [
    m.StopRequested("SIGTERM"),
    m.PauseRequested("a person"),
    m.LatchSet("the reaper"),
    m.JournalFailed("disk full"),
    m.Response(m.RequestId(1), m.Unknown("cut")),
]


@pytest.mark.parametrize("event", FIRST, ids=lambda event: type(event).__name__)
def test_what_is_no_word_of_the_channel_is_in_the_next_batch_whatever_waits(event):
    inbox = ConflatingQueue()
    for number in range(1_000):
        inbox.put(trade(number), number)
    inbox.put(event, 1_000)
    assert taken(inbox, 256) == [*map(trade, range(255)), event]
    assert taken(inbox) == [*map(trade, range(255, 1_000))]


def test_what_fits_into_one_batch_is_in_order_of_arrival():
    inbox, events = (
        ConflatingQueue(),
        [trade(0), FIRST[0], book("a", 2), FIRST[4], m.FeedClosed("x")],
    )
    for at_ns, event in enumerate(events):
        inbox.put(event, at_ns)
    assert taken(inbox, 5) == events


async def test_a_batch_takes_no_more_than_asked_for():
    inbox = ConflatingQueue()
    for number in range(5):
        inbox.put(trade(number), number)
    assert taken(inbox, 2) == [trade(0), trade(1)]
    assert len(inbox) == 3


async def test_waiting_ends_with_an_event_or_with_the_time():
    inbox = ConflatingQueue()
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
        st.just(m.FeedOpened()),
        st.sampled_from(FIRST),
    ),
    max_size=40,
)


def are_in_order(arrived) -> bool:
    return all(one.at_ns < other.at_ns for one, other in itertools.pairwise(arrived))


@given(EVENTS, st.integers(1, 5))
def test_what_is_taken_holds_the_newest_of_everything_and_nothing_overtakes_its_like(events, batch):
    inbox = ConflatingQueue()
    for at_ns, event in enumerate(events):
        inbox.put(event, at_ns)
    out = []
    while more := inbox.take_events(batch):
        assert are_in_order(more)
        out += more
    first = tuple(type(event) for event in FIRST)
    assert are_in_order(each for each in out if isinstance(each.event, first))
    assert are_in_order(each for each in out if not isinstance(each.event, first))
    newest = {
        event.market_id: (at_ns, event)
        for at_ns, event in enumerate(events)
        if isinstance(event, m.BookUpdate)
    }
    others = [
        (at_ns, event) for at_ns, event in enumerate(events) if not isinstance(event, m.BookUpdate)
    ]
    assert sorted([(each.at_ns, each.event) for each in out], key=_at) == sorted(
        [*newest.values(), *others], key=_at
    )


def _at(pair: tuple[int, m.Event]) -> int:
    return pair[0]
