"""The channel of one connection, without sockets and without a clock."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venue.stream.channel import (
    OUTBOX_BYTES_MAX,
    OUTBOX_FRAMES_MAX,
    STUCK_NS,
    UNTAKEN_BYTES_MAX,
    Channel,
)
from venue.views.directory import Unresolvable
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId, ProjectId

IDS = [f"00000000-0000-4000-8000-{number:012d}" for number in range(300)]


class FakeDirectory:
    """R1, R2, ... are rungs; C1 is a company; the rest as named."""

    def resolve_ticker(self, handle, now_ns):
        if handle[:1] == "R" and handle[1:].isdigit():
            return MarketId(IDS[int(handle[1:])])
        return {
            "HALTED": Unresolvable.HALTED,
            "OLD": Unresolvable.ARCHIVED,
            "EVENT": Unresolvable.NOT_A_MARKET,
        }.get(handle, Unresolvable.UNKNOWN)

    def resolve_symbol(self, handle, now_ns):
        return ProjectId(IDS[299]) if handle == "C1" else Unresolvable.UNKNOWN


class FakeBooks:
    """A book frame counts how often it was asked for; the last hundred ids do not exist."""

    def __init__(self):
        self.asked = itertools.count(1)

    def book_frame(self, market_id):
        if market_id in IDS[200:]:
            return None
        return json.dumps({"book": market_id, "number": next(self.asked)}).encode()


def make_channel():
    return Channel(FakeDirectory(), FakeBooks().book_frame, 0)


@pytest.fixture
def channel():
    return make_channel()


@pytest.fixture
def subscribed(channel):
    """A channel that is subscribed to the first market and has nothing queued."""
    channel.receive(subscribe(by_id(1)), 0)
    drain(channel)
    return channel


def subscribe(*targets):
    rows = [{"target": kind, "data": {key: value}} for kind, key, value in targets]
    return json.dumps({"type": "subscribe", "data": {"targets": rows}}).encode()


def rung(ticker):
    return ("event-market", "ticker", ticker)


def by_id(number):
    return ("event-market", "eventMarketId", IDS[number])


def drain(channel, now_ns=0):
    frames = []
    while (frame := channel.next_frame(now_ns)) is not None:
        frames.append(json.loads(frame))
    return frames


def test_a_uuid_is_folded_to_lower_case(channel):
    upper = "ABCDEF00-0000-4000-8000-000000000000"
    channel.receive(subscribe(("event-market", "eventMarketId", upper)), 0)
    assert list(channel.rungs) == [upper.lower()]


def test_a_subscribed_market_without_a_book_sends_no_frame(channel):
    channel.receive(subscribe(by_id(250), by_id(3)), 0)
    assert [frame.get("book") for frame in drain(channel)] == [None, IDS[3]]
    assert list(channel.rungs) == [IDS[250], IDS[3]]


def test_a_new_subscription_drops_queued_books_of_the_old_one(channel):
    channel.receive(subscribe(by_id(1)), 0)
    channel.receive(subscribe(by_id(2)), 0)
    frames = drain(channel)
    assert [frame.get("type") for frame in frames[:2]] == ["subscribed", "subscribed"]
    assert [frame["book"] for frame in frames[2:]] == [IDS[2]]


@pytest.mark.parametrize(
    ("kind", "key"), [("event-market", "eventMarketId"), ("market", "marketId")]
)
@pytest.mark.parametrize("text", ["", "nobody", f" {IDS[1]}", IDS[1].replace("-", ""), "x" * 9999])
def test_a_target_that_is_no_uuid_is_unknown_and_leaves_the_subscription(
    subscribed, kind, key, text
):
    subscribed.receive(subscribe(by_id(2), (kind, key, text)), 0)
    (error,) = drain(subscribed)
    assert (error["code"], error["message"]) == ("unknown_target", f"{key}: not a UUID")
    assert list(subscribed.rungs) == [IDS[1]]


def test_three_unparseable_messages_in_a_row_close_the_channel(channel):
    for message in (b"x", b"\xff", subscribe(), b"x", b"{}"):
        channel.receive(message, 0)
        assert not channel.closing
    channel.receive(b"[]", 0)
    assert channel.closing


@pytest.mark.parametrize("targets", [[rung("NOBODY")], [by_id(number) for number in range(201)]])
def test_a_rejected_subscribe_does_not_count_as_an_unparseable_message(channel, targets):
    for message in (b"x", b"x", *[subscribe(*targets)] * 3, b"x", b"x"):
        channel.receive(message, 0)
        assert not channel.closing


def test_a_book_that_changes_many_times_is_sent_once(channel):
    channel.receive(subscribe(by_id(1), by_id(2)), 0)
    drain(channel)
    for _ in range(1000):
        channel.mark(MarketId(IDS[1]), 0)
    assert channel.backlog == 1
    assert [frame["book"] for frame in drain(channel)] == [IDS[1]]


def offer_prints(channel):
    for number in range(3):
        channel.offer(json.dumps({"print": number}).encode(), 0)


def kinds(frames):
    return [next(iter(frame)) for frame in frames]


def test_replies_and_prints_are_sent_in_order_and_before_books(subscribed):
    subscribed.mark(MarketId(IDS[1]), 0)
    subscribed.receive(b"?", 0)
    offer_prints(subscribed)
    assert kinds(drain(subscribed)) == ["type", "print", "print", "print", "book"]


def test_the_first_books_of_a_subscription_precede_later_prints(channel):
    offer_prints(channel)
    channel.receive(subscribe(by_id(1), by_id(2)), 0)
    offer_prints(channel)
    prints = ["print"] * 3
    assert kinds(drain(channel)) == [*prints, "type", "book", "book", *prints]


def test_a_change_of_a_queued_first_book_follows_the_prints_that_made_it(channel):
    channel.receive(subscribe(by_id(1)), 0)
    offer_prints(channel)
    channel.mark(MarketId(IDS[1]), 0)
    frames = drain(channel)
    assert kinds(frames) == ["type", "book", "print", "print", "print", "book"]
    assert frames[1]["number"] < frames[5]["number"]


def test_a_reader_that_takes_no_queued_frame_for_five_seconds_is_overdue(channel):
    assert channel.next_frame(0) is None
    assert not channel.overdue(10**18)
    channel.offer(b"{}", 10**18)
    assert not channel.overdue(10**18 + STUCK_NS - 1)
    assert channel.overdue(10**18 + STUCK_NS)


def test_a_reader_is_overdue_while_a_send_does_not_end(channel):
    channel.offer(b"{}", 0)
    assert channel.next_frame(7) == b"{}"
    assert channel.backlog == 0
    assert channel.overdue(7 + STUCK_NS)
    assert channel.next_frame(8) is None
    assert not channel.overdue(10 * STUCK_NS)


def test_a_reader_that_takes_a_frame_every_five_seconds_is_not_overdue(channel):
    channel.offer(b"{}", 0)
    for turn in range(10):
        channel.offer(b"{}", turn * (STUCK_NS - 1))
        assert not channel.overdue(turn * (STUCK_NS - 1))
        assert channel.next_frame(turn * (STUCK_NS - 1)) is not None


def test_a_reader_more_than_256_frames_behind_for_five_seconds_is_overdue(channel):
    for _ in range(OUTBOX_FRAMES_MAX + 2):
        channel.offer(b"{}", 0)
    for second in range(5):
        # It does take frames, but new ones come as fast.
        assert channel.next_frame(second * STUCK_NS // 5) is not None
        channel.offer(b"{}", second * STUCK_NS // 5)
        assert not channel.overdue(second * STUCK_NS // 5)
    assert channel.overdue(STUCK_NS)


def test_a_reader_that_catches_up_is_not_overdue(channel):
    for _ in range(OUTBOX_FRAMES_MAX + 1):
        channel.offer(b"{}", 0)
    drain(channel, STUCK_NS - 1)
    channel.offer(b"{}", STUCK_NS - 1)
    assert not channel.overdue(STUCK_NS)


def test_a_reader_that_works_off_a_burst_is_not_overdue(channel):
    for _ in range(10 * OUTBOX_FRAMES_MAX):
        channel.offer(b"{}", 0)
    for second in range(1, 30):
        for _ in range(OUTBOX_FRAMES_MAX // 4):
            channel.next_frame(second * NS_PER_SECOND)
        assert not channel.overdue(second * NS_PER_SECOND)
    # It had 768 in the 28th second.
    for second in range(30, 33):
        channel.next_frame(second * NS_PER_SECOND)
        assert not channel.overdue(second * NS_PER_SECOND)
    assert channel.overdue(33 * NS_PER_SECOND)


def test_a_reader_with_16_mebibytes_queued_is_overdue_at_once(channel):
    channel.offer(b"x" * OUTBOX_BYTES_MAX, 0)
    assert not channel.overdue(0)
    channel.offer(b"x", 0)
    assert channel.overdue(0)


def test_a_reader_with_a_mebibyte_queued_is_overdue_after_a_second_without_a_frame(channel):
    channel.offer(b"{}", 0)
    channel.offer(b"x" * UNTAKEN_BYTES_MAX, 0)
    channel.offer(b"x", 0)
    assert channel.next_frame(0) == b"{}"
    assert not channel.overdue(NS_PER_SECOND - 1)
    assert channel.overdue(NS_PER_SECOND)
    assert channel.next_frame(NS_PER_SECOND) is not None
    assert not channel.overdue(2 * NS_PER_SECOND)


def test_a_queued_mebibyte_alone_does_not_make_a_reader_overdue(channel):
    channel.offer(b"x" * UNTAKEN_BYTES_MAX, 0)
    channel.offer(b"x", 0)
    assert not channel.overdue(STUCK_NS - 1)


TARGETS = st.lists(st.integers(0, 40).map(lambda number: by_id(number * 7)), max_size=12)
STEPS = st.lists(
    st.one_of(
        TARGETS.map(lambda targets: ("subscribe", targets)),
        st.integers(0, 40).map(lambda number: ("mark", number * 7)),
        st.just(("take", 0)),
        st.just(("garbage", 0)),
    ),
    max_size=60,
)


@given(STEPS)
def test_every_book_belongs_to_the_last_acknowledged_subscription(steps):
    channel = make_channel()
    sets: list[set[str]] = []
    current: set[str] = set()
    taken: list[dict[str, Any]] = []
    for kind, value in steps:
        if kind == "subscribe":
            channel.receive(subscribe(*value), 0)
            sets.append({target[2] for target in value})
        elif kind == "mark" and MarketId(IDS[value]) in channel.rungs:
            channel.mark(MarketId(IDS[value]), 0)
        elif kind == "garbage":
            channel.receive(b"?", 0)
        elif (frame := channel.next_frame(0)) is not None:
            taken.append(json.loads(frame))
    taken += drain(channel)
    for frame in taken:
        if frame.get("type") == "subscribed":
            current = sets.pop(0)
            assert frame["data"]["targets"] == len(current)
        elif "book" in frame:
            assert frame["book"] in current
    assert sets == []


@given(st.binary(max_size=200))
def test_every_message_gets_exactly_one_answer(message):
    channel = make_channel()
    channel.receive(message, 0)
    assert len(drain(channel)) == 1
