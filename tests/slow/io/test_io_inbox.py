"""Claims about the queue before the trader: order, conflation, bounds, and floods."""

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


def book(market: str, ts_ns: int) -> m.BookUpdate:
    return m.BookUpdate(MarketId(market), ts_ns, (), ())


def trade(number: int) -> m.Trade:
    return m.Trade(MarketId("a"), number, f"t{number}", Price(50), Qty(1), True)


def take(inbox: ConflatingQueue, most: int = 10_000) -> list[m.Event]:
    return [arrived.event for arrived in inbox.take_events(most)]


async def test_prints_beyond_the_cap_drop_the_oldest():
    inbox = ConflatingQueue(trades_max=3)
    for number in range(5):
        inbox.put(trade(number), number)
    assert take(inbox) == [trade(2), trade(3), trade(4)]
    assert inbox.dropped["print"] == 2


FLOODS = {
    "garbled": lambda number: m.MalformedFrame(f"no {number}", known=True),
    "unknown": lambda number: m.MalformedFrame(f"no {number}", known=False),
    "pongs": lambda _: m.FeedAlive(),
    "accepted": lambda _: m.SubscriptionAccepted(),
    "refused": lambda number: m.SubscriptionRefused("unknown_target", f"no {number}"),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_of_one_kind_keeps_its_last_few(kind):
    inbox = ConflatingQueue()
    for number in range(10_000):
        inbox.put(FLOODS[kind](number), number)
        assert len(inbox) <= GARBLED_MAX
    assert take(inbox)[-1] == FLOODS[kind](9_999)
    assert len(inbox) == 0


def test_enough_malformed_frames_are_kept_to_make_the_trader_resubscribe():
    inbox = ConflatingQueue()
    for number in range(10):
        inbox.put(FLOODS["garbled"](number), number)
        inbox.put(FLOODS["unknown"](number), number)
    garbled = [event.reason for event in take(inbox) if event.known]
    assert garbled == ["no 7", "no 8", "no 9"]
    assert inbox.dropped["garbled"] == 14


def test_a_malformed_frame_stays_behind_an_earlier_book():
    inbox = ConflatingQueue()
    for number in range(5):
        inbox.put(FLOODS["garbled"](number), number)
    inbox.put(book("a", 5), 5)
    inbox.put(FLOODS["garbled"](6), 6)
    assert take(inbox)[-2:] == [book("a", 5), FLOODS["garbled"](6)]


def test_a_malformed_frame_that_was_taken_no_longer_counts():
    inbox = ConflatingQueue()
    for number in range(3 * GARBLED_MAX):
        inbox.put(FLOODS["garbled"](number), number)
        assert take(inbox) == [FLOODS["garbled"](number)]
    assert inbox.dropped["garbled"] == 0


FIRST = [
    m.StopRequested("SIGTERM"),
    m.PauseRequested("a person"),
    m.LatchSet("the reaper"),
    m.JournalFailed("disk full"),
    m.Response(m.RequestId(1), m.Unknown("cut")),
]


@pytest.mark.parametrize("event", FIRST, ids=lambda event: type(event).__name__)
def test_commands_and_responses_are_in_the_next_batch_however_many_prints_wait(event):
    inbox = ConflatingQueue()
    for number in range(1_000):
        inbox.put(trade(number), number)
    inbox.put(event, 1_000)
    assert take(inbox, 256) == [*map(trade, range(255)), event]
    assert take(inbox) == [*map(trade, range(255, 1_000))]


async def test_waiting_ends_with_an_event_or_a_timeout():
    inbox = ConflatingQueue()
    await inbox.wait(1_000_000)
    assert take(inbox) == []
    waiting = asyncio.ensure_future(inbox.wait(60 * 10**9))
    await asyncio.sleep(0)
    inbox.put(trade(1), 1)
    async with asyncio.timeout(1):
        await waiting
    assert take(inbox) == [trade(1)]


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
def test_the_queue_delivers_the_newest_books_and_everything_else_in_order(events, batch):
    inbox = ConflatingQueue()
    for at_ns, event in enumerate(events):
        inbox.put(event, at_ns)
    out = []
    while more := inbox.take_events(batch):
        assert len(more) <= batch
        assert are_in_order(more)
        out += more
    first = tuple(type(event) for event in FIRST)
    assert are_in_order(each for each in out if isinstance(each.event, first))
    assert are_in_order(each for each in out if not isinstance(each.event, first))
    newest = {
        event.market_id if isinstance(event, m.BookUpdate) else at_ns: (at_ns, event)
        for at_ns, event in enumerate(events)
    }
    assert sorted([(each.at_ns, each.event) for each in out], key=order_of) == sorted(
        newest.values(), key=order_of
    )
    assert inbox.dropped["book"] == len(events) - len(newest)


def order_of(pair: tuple[int, m.Event]) -> int:
    return pair[0]
