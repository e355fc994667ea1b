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

    def resolve_ticker(self, handle: str, now_ns: int) -> MarketId | Unresolvable:
        if handle[:1] == "R" and handle[1:].isdigit():
            return MarketId(IDS[int(handle[1:])])
        return {
            "HALTED": Unresolvable.HALTED,
            "OLD": Unresolvable.ARCHIVED,
            "EVENT": Unresolvable.NOT_A_MARKET,
        }.get(handle, Unresolvable.UNKNOWN)

    def resolve_symbol(self, handle: str, now_ns: int) -> ProjectId | Unresolvable:
        return ProjectId(IDS[299]) if handle == "C1" else Unresolvable.UNKNOWN


class FakeBooks:
    """A book frame counts how often it was asked for; the last hundred ids do not exist."""

    def __init__(self) -> None:
        self.asked = itertools.count(1)

    def book_frame(self, market_id: MarketId) -> bytes | None:
        if market_id in IDS[200:]:
            return None
        return json.dumps({"book": market_id, "number": next(self.asked)}).encode()


def make_channel() -> Channel:
    return Channel(FakeDirectory(), FakeBooks().book_frame, 0)


def subscribe(*targets: tuple[str, str, str]) -> bytes:
    rows = [{"target": kind, "data": {key: value}} for kind, key, value in targets]
    return json.dumps({"type": "subscribe", "data": {"targets": rows}}).encode()


def rung(ticker: str) -> tuple[str, str, str]:
    return ("event-market", "ticker", ticker)


def by_id(number: int) -> tuple[str, str, str]:
    return ("event-market", "eventMarketId", IDS[number])


def drain(channel: Channel, now_ns: int = 0) -> list[dict[str, Any]]:
    frames = []
    while (frame := channel.next_frame(now_ns)) is not None:
        frames.append(json.loads(frame))
    return frames


def test_an_accepted_subscribe_gives_the_count_and_then_every_book() -> None:
    channel = make_channel()
    channel.receive(subscribe(rung("r1"), by_id(2), ("market", "symbol", "c1")), 0)
    frames = drain(channel)
    assert frames[0] == {"type": "subscribed", "data": {"targets": 3}}
    assert [frame["book"] for frame in frames[1:]] == [IDS[1], IDS[2]]


def test_a_uuid_is_folded_to_lower_case() -> None:
    channel = make_channel()
    upper = "ABCDEF00-0000-4000-8000-000000000000"
    channel.receive(subscribe(("event-market", "eventMarketId", upper)), 0)
    assert list(channel.rungs) == [upper.lower()]


def test_a_rung_without_a_book_is_subscribed_in_silence() -> None:
    channel = make_channel()
    channel.receive(subscribe(by_id(250), by_id(3)), 0)
    assert [frame.get("book") for frame in drain(channel)] == [None, IDS[3]]
    assert list(channel.rungs) == [IDS[250], IDS[3]]


def test_replacing_the_set_drops_books_of_the_old_one_that_still_wait() -> None:
    channel = make_channel()
    channel.receive(subscribe(by_id(1)), 0)
    channel.receive(subscribe(by_id(2)), 0)
    frames = drain(channel)
    assert [frame.get("type") for frame in frames[:2]] == ["subscribed", "subscribed"]
    assert [frame["book"] for frame in frames[2:]] == [IDS[2]]


@pytest.mark.parametrize(
    ("handle", "word"),
    [
        ("EVENT", "GET /events/EVENT"),
        ("HALTED", "eventMarketId"),
        ("OLD", "archived"),
        ("NOBODY", "not in the directory"),
        ("R_1", "letters, digits, dots and hyphens"),
    ],
)
def test_a_refused_handle_says_why_and_leaves_the_set(handle: str, word: str) -> None:
    channel = make_channel()
    channel.receive(subscribe(by_id(1)), 0)
    drain(channel)
    channel.receive(subscribe(by_id(2), rung(handle)), 0)
    (error,) = drain(channel)
    assert (error["type"], error["code"]) == ("error", "unknown_target")
    assert word in error["message"]
    assert list(channel.rungs) == [IDS[1]]


def test_a_refused_symbol_says_why_and_leaves_the_set() -> None:
    channel = make_channel()
    channel.receive(subscribe(("market", "symbol", "c1")), 0)
    drain(channel)
    channel.receive(subscribe(by_id(2), ("market", "symbol", "nobody")), 0)
    (error,) = drain(channel)
    assert (error["type"], error["code"]) == ("error", "unknown_target")
    assert error["message"] == "NOBODY is not in the directory"
    assert (list(channel.rungs), list(channel.companies)) == ([], [IDS[299]])


@pytest.mark.parametrize(
    ("kind", "key"), [("event-market", "eventMarketId"), ("market", "marketId")]
)
@pytest.mark.parametrize("text", ["", "nobody", f" {IDS[1]}", IDS[1].replace("-", ""), "x" * 9999])
def test_what_is_no_uuid_is_a_target_that_cannot_be_resolved(
    kind: str, key: str, text: str
) -> None:
    channel = make_channel()
    channel.receive(subscribe(by_id(1)), 0)
    drain(channel)
    channel.receive(subscribe(by_id(2), (kind, key, text)), 0)
    (error,) = drain(channel)
    assert (error["code"], error["message"]) == ("unknown_target", f"{key}: not a UUID")
    assert list(channel.rungs) == [IDS[1]]


def test_three_unparseable_messages_in_a_row_close() -> None:
    channel = make_channel()
    for message in (b"x", b"\xff", subscribe(), b"x", b"{}"):
        channel.receive(message, 0)
        assert not channel.closing
    channel.receive(b"[]", 0)
    assert channel.closing


def test_a_refusal_for_an_unknown_target_is_not_an_unparseable_message() -> None:
    channel = make_channel()
    for message in (b"x", b"x", subscribe(rung("NOBODY")), b"x", b"x"):
        channel.receive(message, 0)
        assert not channel.closing


def test_too_many_targets_is_not_an_unparseable_message() -> None:
    channel = make_channel()
    for _ in range(3):
        channel.receive(subscribe(*(by_id(number) for number in range(201))), 0)
    for _ in range(2):
        channel.receive(b"x", 0)
        assert not channel.closing
    codes = [frame["code"] for frame in drain(channel)]
    assert codes == ["too_many_targets"] * 3 + ["invalid_frame"] * 2


def test_a_book_marked_many_times_goes_out_once() -> None:
    channel = make_channel()
    channel.receive(subscribe(by_id(1), by_id(2)), 0)
    drain(channel)
    for _ in range(1000):
        channel.mark(MarketId(IDS[1]), 0)
    assert channel.backlog == 1
    assert [frame["book"] for frame in drain(channel)] == [IDS[1]]


def offer_prints(channel: Channel) -> None:
    for number in range(3):
        channel.offer(json.dumps({"print": number}).encode(), 0)


def kinds(frames: list[dict[str, Any]]) -> list[str]:
    return [next(iter(frame)) for frame in frames]


def test_replies_and_prints_keep_their_order_and_go_before_books() -> None:
    channel = make_channel()
    channel.receive(subscribe(by_id(1)), 0)
    drain(channel)
    channel.mark(MarketId(IDS[1]), 0)
    channel.receive(b"?", 0)
    offer_prints(channel)
    assert kinds(drain(channel)) == ["type", "print", "print", "print", "book"]


def test_prints_do_not_go_before_the_first_books_of_a_set() -> None:
    channel = make_channel()
    offer_prints(channel)
    channel.receive(subscribe(by_id(1), by_id(2)), 0)
    offer_prints(channel)
    prints = ["print"] * 3
    assert kinds(drain(channel)) == [*prints, "type", "book", "book", *prints]


def test_a_change_before_a_first_book_is_taken_goes_out_behind_the_prints_that_made_it() -> None:
    channel = make_channel()
    channel.receive(subscribe(by_id(1)), 0)
    offer_prints(channel)
    channel.mark(MarketId(IDS[1]), 0)
    frames = drain(channel)
    assert kinds(frames) == ["type", "book", "print", "print", "print", "book"]
    assert frames[1]["number"] < frames[5]["number"]


def test_a_reader_that_takes_nothing_for_five_seconds_is_overdue() -> None:
    channel = make_channel()
    channel.offer(b"{}", 1_000)
    assert not channel.overdue(1_000 + STUCK_NS - 1)
    assert channel.overdue(1_000 + STUCK_NS)


def test_a_send_that_does_not_end_makes_a_reader_overdue() -> None:
    channel = make_channel()
    channel.offer(b"{}", 0)
    assert channel.next_frame(7) == b"{}"
    assert channel.backlog == 0
    assert channel.overdue(7 + STUCK_NS)
    assert channel.next_frame(8) is None
    assert not channel.overdue(10 * STUCK_NS)


def test_a_reader_that_takes_a_frame_within_every_five_seconds_is_kept() -> None:
    channel = make_channel()
    channel.offer(b"{}", 0)
    for turn in range(10):
        channel.offer(b"{}", turn * (STUCK_NS - 1))
        assert not channel.overdue(turn * (STUCK_NS - 1))
        assert channel.next_frame(turn * (STUCK_NS - 1)) is not None


def test_a_quiet_channel_is_never_overdue() -> None:
    assert not make_channel().overdue(10**18)


def test_time_without_anything_to_send_does_not_count() -> None:
    channel = make_channel()
    assert channel.next_frame(0) is None
    channel.offer(b"{}", 100 * STUCK_NS)
    assert not channel.overdue(101 * STUCK_NS - 1)


def test_a_reader_more_than_256_frames_behind_for_five_seconds_is_overdue() -> None:
    channel = make_channel()
    for _ in range(OUTBOX_FRAMES_MAX + 2):
        channel.offer(b"{}", 0)
    for second in range(5):
        # It does take frames, but new ones come as fast.
        assert channel.next_frame(second * STUCK_NS // 5) is not None
        channel.offer(b"{}", second * STUCK_NS // 5)
        assert not channel.overdue(second * STUCK_NS // 5)
    assert channel.overdue(STUCK_NS)


def test_a_reader_that_catches_up_is_kept() -> None:
    channel = make_channel()
    for _ in range(OUTBOX_FRAMES_MAX + 1):
        channel.offer(b"{}", 0)
    drain(channel, STUCK_NS - 1)
    channel.offer(b"{}", STUCK_NS - 1)
    assert not channel.overdue(STUCK_NS)


def test_a_reader_that_works_a_burst_off_is_kept_however_long_that_takes() -> None:
    channel = make_channel()
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


def test_sixteen_mebibytes_of_waiting_frames_make_a_reader_overdue_at_once() -> None:
    channel = make_channel()
    channel.offer(b"x" * OUTBOX_BYTES_MAX, 0)
    assert not channel.overdue(0)
    channel.offer(b"x", 0)
    assert channel.overdue(0)


def test_a_mebibyte_makes_a_reader_overdue_that_does_not_take_a_frame_for_a_second() -> None:
    channel = make_channel()
    channel.offer(b"{}", 0)
    channel.offer(b"x" * UNTAKEN_BYTES_MAX, 0)
    channel.offer(b"x", 0)
    assert channel.next_frame(0) == b"{}"
    assert not channel.overdue(NS_PER_SECOND - 1)
    assert channel.overdue(NS_PER_SECOND)
    assert channel.next_frame(NS_PER_SECOND) is not None
    assert not channel.overdue(2 * NS_PER_SECOND)


def test_a_mebibyte_that_nobody_was_there_to_send_makes_no_reader_overdue() -> None:
    channel = make_channel()
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
def test_no_book_follows_an_acknowledgement_that_does_not_hold_it(steps: list[Any]) -> None:
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
def test_no_message_raises_and_each_gets_one_answer(message: bytes) -> None:
    channel = make_channel()
    channel.receive(message, 0)
    assert len(drain(channel)) == 1
