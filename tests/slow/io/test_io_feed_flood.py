"""Claims about a channel that sends without measure: it takes neither the loop nor the trader."""

import asyncio
from collections import Counter

import pytest
from websockets.asyncio.server import ServerConnection

from bot.core import messages as m
from bot.io.client import feed as feed_module
from bot.io.client.feed import FRAMES_PER_TURN, GARBLED_MAX
from tests.builders.io.samples import RUNG
from tests.slow.io.test_io_feed import BOOK, OTHER, TRADE, Heard, channel, listen

pytestmark = pytest.mark.anyio
VALUE = (
    '{"type":"market-update","data":{"type":"prediction-implied-value","symbol":"X","ts":1,'
    f'"marketId":"{OTHER}","impliedValue":"2.5","confidence":"0.5"}}}}'
)
FRAMES = 2_000
STRANGE = '{"type":"weather","data":{}}'


@pytest.fixture
def anyio_backend():
    return "asyncio"


def as_one(frame: str, count: int) -> bytes:
    """The bytes of so many frames of text; what is there at once can be read at once."""
    data = frame.encode()
    assert len(data) < 126
    return (b"\x81" + bytes([len(data)]) + data) * count


async def floods(socket: ServerConnection) -> None:
    """More frames that cannot be read than are borne."""
    socket.transport.write(as_one("[]", GARBLED_MAX + 1))
    await listen(socket)


async def test_a_channel_of_frames_that_cannot_be_read_is_closed():
    async with channel(floods) as (_, heard):
        closed = await heard.until(m.FeedClosed)
    assert f"more than {GARBLED_MAX} frames that cannot be read" in closed.reason


@pytest.mark.parametrize("frame", [STRANGE, "{}", BOOK], ids=["strange", "empty", "unasked"])
async def test_a_channel_of_frames_of_no_use_is_closed(monkeypatch, frame):
    monkeypatch.setattr(feed_module, "USELESS_MAX", 100)

    async def talk(socket: ServerConnection) -> None:
        for _ in range(101):
            await socket.send(frame)
        await listen(socket)

    async with channel(talk) as (_, heard):
        closed = await heard.until(m.FeedClosed)
    assert "more than 100 frames of no use" in closed.reason


@pytest.fixture
def bounds(monkeypatch) -> list[float]:
    """What the waits before connecting again were drawn up to; none is waited."""
    seen: list[float] = []

    def drawn(_: float, bound_s: float) -> float:
        seen.append(bound_s)
        return 0.0

    monkeypatch.setattr(feed_module.random, "uniform", drawn)
    return seen


async def test_a_channel_that_was_closed_for_its_frames_opens_again_ever_more_slowly(bounds):
    times = feed_module.FeedTimes(backoff_min_s=0.01, backoff_max_s=0.03)
    async with channel(floods, times) as (_, heard):
        await heard.until(m.FeedOpened, 5)
    assert bounds[:4] == [0.01, 0.02, 0.03, 0.03]


async def test_a_channel_that_is_closed_as_soon_as_it_opens_opens_again_ever_more_slowly(bounds):
    async def closes(socket: ServerConnection) -> None:
        socket.transport.abort()

    times = feed_module.FeedTimes(backoff_min_s=0.01, reopen_max_s=0.03)
    async with channel(closes, times) as (_, heard):
        await heard.until(m.FeedOpened, 5)
    assert bounds[:4] == [0.01, 0.02, 0.03, 0.03]


async def test_a_channel_that_lived_for_a_while_opens_again_at_once(bounds):
    async def lives(socket: ServerConnection) -> None:
        await asyncio.sleep(0.2)
        socket.transport.abort()

    times = feed_module.FeedTimes(ping_s=0.1, backoff_min_s=0.01, backoff_max_s=0.03)
    async with channel(lives, times) as (_, heard):
        await heard.until(m.FeedOpened, 4)
    assert bounds[:3] == [0.01, 0.01, 0.01]


async def test_garbled_frames_that_come_slowly_close_nothing(monkeypatch):
    monkeypatch.setattr(feed_module, "FLOOD_S", -1.0)

    async def talk(socket: ServerConnection) -> None:
        for _ in range(GARBLED_MAX + 10):
            await socket.send("[]")
        await listen(socket)

    async with channel(talk) as (_, heard):
        await heard.until(m.MalformedFrame, GARBLED_MAX + 10)
    assert "FeedClosed" not in heard.kinds()


async def test_frames_of_an_unknown_type_close_nothing():
    async def talk(socket: ServerConnection) -> None:
        for _ in range(2 * GARBLED_MAX):
            await socket.send(STRANGE)
        await listen(socket)

    async with channel(talk) as (_, heard):
        await heard.until(m.MalformedFrame, 2 * GARBLED_MAX)
    assert "FeedClosed" not in heard.kinds()


async def test_what_nobody_asked_for_goes_no_further():
    async def talk(socket: ServerConnection) -> None:
        for frame in (BOOK, TRADE, VALUE):
            await socket.send(frame)
        await socket.recv()
        for frame in (BOOK.replace(RUNG, "not-" + RUNG), BOOK, TRADE, VALUE, "{}"):
            await socket.send(frame)
        await listen(socket)

    async with channel(talk) as (feed, heard):
        await heard.until(m.FeedOpened)
        await heard.until(m.FeedAlive)
        feed.subscribe(m.SubscribeTo((RUNG,), (OTHER,)))
        await heard.until(m.MalformedFrame)
    assert heard.kinds() == [
        "FeedOpened",
        "BookUpdate",
        "Trade",
        "ImpliedValueSeen",
        "MalformedFrame",
    ]


async def test_the_rest_of_the_loop_has_its_turn_between_frames_that_are_there_already():
    async def talk(socket: ServerConnection) -> None:
        socket.transport.write(as_one(STRANGE, FRAMES))
        await listen(socket)

    class Counted(Heard):
        """Counts frames by the turn of the loop in which they came."""

        def __call__(self, event: m.Event) -> None:
            if isinstance(event, m.MalformedFrame):
                in_turn[turn] += 1
            super().__call__(event)

    async def turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    turn, in_turn = 0, Counter[int]()
    heard = Counted()
    counting = asyncio.ensure_future(turns())
    async with channel(talk, heard=heard):
        await heard.until(m.MalformedFrame, FRAMES)
    counting.cancel()
    assert max(in_turn.values()) <= FRAMES_PER_TURN
