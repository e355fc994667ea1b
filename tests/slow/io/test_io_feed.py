"""Claims about the channel over real sockets: events, reconnects, and floods of frames."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest
from websockets.asyncio.server import ServerConnection, serve

from bot.core import messages as m
from bot.io.client import feed as feed_module
from bot.io.client.answers import event_of
from bot.io.client.feed import FRAMES_PER_TURN, GARBLED_MAX, Feed, FeedTimes
from tests.builders.io.samples import RUNG
from venue.wire.names import MarketId, ProjectId

pytestmark = pytest.mark.anyio
PATIENT = FeedTimes(open_s=10.0, ping_s=0.03, pong_s=10.0, backoff_min_s=0.01, backoff_max_s=0.02)
IMPATIENT = FeedTimes(open_s=10.0, ping_s=0.03, pong_s=0.1, backoff_min_s=0.01, backoff_max_s=0.02)
OTHER = ProjectId("11111111-2222-3333-4444-555555555555")

BOOK = (
    '{"type":"market-update","data":{"type":"prediction-orderbook","ticker":"X","ts":5,'
    f'"eventMarketId":"{RUNG}",'
    '"yes":[{"price":40,"size":7},{"price":38,"size":1}],'
    '"no":[{"price":55,"size":3},{"price":50,"size":9}]}}'
)
TRADE = (
    '{"type":"market-update","data":{"type":"prediction-trade","ticker":"X","ts":6,'
    f'"eventMarketId":"{RUNG}","tradeId":"t1","price":45,"size":3,'
    '"maker":{"outcome":"no","side":"buy"},"taker":{"outcome":"yes","side":"buy"}}}'
)


class EventLog:
    """Events in order, and a wait for one of a kind."""

    def __init__(self) -> None:
        self.events: list[m.Event] = []
        self._more = asyncio.Event()

    def __call__(self, event: m.Event) -> None:
        self.events.append(event)
        self._more.set()

    async def until(self, kind: type, count: int = 1) -> m.Event:
        async with asyncio.timeout(5):
            while True:
                found = [event for event in self.events if isinstance(event, kind)]
                if len(found) >= count:
                    return found[count - 1]
                self._more.clear()
                await self._more.wait()

    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events if not isinstance(event, m.FeedAlive)]


@asynccontextmanager
async def channel(
    talk: Callable[[ServerConnection], Awaitable[None]],
    times: FeedTimes = PATIENT,
    heard: EventLog | None = None,
    **options,
) -> AsyncIterator[tuple[Feed, EventLog]]:
    heard = EventLog() if heard is None else heard
    async with serve(talk, "127.0.0.1", 0, **options) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        feed = Feed(f"ws://127.0.0.1:{port}/v1/stream", heard, times)
        running = asyncio.ensure_future(feed.run())
        try:
            yield feed, heard
        finally:
            running.cancel()
            await asyncio.wait([running])


async def listen(socket: ServerConnection) -> None:
    async for _ in socket:
        pass


def targets_of(raw) -> list[dict]:
    frame = msgspec.json.decode(raw)
    assert frame["type"] == "subscribe"
    return frame["data"]["targets"]


def test_bids_for_no_become_asks_for_yes_best_first():
    assert event_of(BOOK) == m.BookUpdate(RUNG, 5, ((40, 7), (38, 1)), ((45, 3), (50, 9)))


def test_a_frame_whose_uuid_is_in_capitals_is_about_the_same_market():
    assert event_of(BOOK.replace(RUNG, RUNG.upper())) == event_of(BOOK)
    assert event_of(TRADE.replace(RUNG, RUNG.upper())) == event_of(TRADE)


@pytest.mark.parametrize(
    ("outcome", "side", "bought"),
    [("yes", "buy", True), ("no", "sell", True), ("yes", "sell", False), ("no", "buy", False)],
)
def test_a_print_has_the_side_of_its_taker(outcome, side, bought):
    text = TRADE.replace(
        '"taker":{"outcome":"yes","side":"buy"}',
        f'"taker":{{"outcome":"{outcome}","side":"{side}"}}',
    )
    assert event_of(text) == m.Trade(RUNG, 6, "t1", 45, 3, bought)


@pytest.mark.parametrize(
    ("frame", "known"),
    [
        ("", True),
        ("{", True),
        ("[]", True),
        ('"x"', True),
        ("\x00\xff", True),
        ("[" * 100_000, True),
        (BOOK.replace("40", "100"), True),
        (BOOK.replace('"ts":5', '"ts":-5'), True),
        (BOOK.replace('"price":55', '"price":60'), True),
        ('{"type":"weather","data":{}}', False),
        ('{"type":"market-update","data":{"type":"prediction-mood"}}', False),
    ],
)
def test_an_unreadable_frame_is_malformed(frame, known):
    event = event_of(frame)
    assert isinstance(event, m.MalformedFrame)
    assert event.known is known


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0", "", "lots"])
def test_an_implied_value_must_be_a_number_of_dollars(value):
    frame = (
        '{"type":"market-update","data":{"type":"prediction-implied-value","symbol":"X","ts":1,'
        f'"marketId":"{OTHER}","impliedValue":"VALUE","confidence":"0.5"}}}}'
    )
    assert event_of(frame.replace("VALUE", "2.5e9")) == m.ImpliedValueSeen(OTHER, 1, 2.5e9, 0.5)
    assert isinstance(event_of(frame.replace("VALUE", value)), m.MalformedFrame)


def test_a_refusal_of_a_megabyte_is_cut_to_what_a_person_reads():
    refusal = {"type": "error", "code": "c" * 1_000_000, "message": "\x1b[2J" + "m" * 1_000_000}
    found = event_of(msgspec.json.encode(refusal))
    assert found == m.SubscriptionRefused("c" * 200, "?[2J" + "m" * 196)


async def test_frames_arrive_as_events_in_order():
    async def talk(socket: ServerConnection) -> None:
        await socket.recv()
        await socket.send('{"type":"subscribed","data":{"targets":1}}')
        await socket.send(BOOK)
        await socket.send(TRADE)
        await socket.send('{"type":"error","message":"m","code":"unknown_target"}')
        await socket.send("garbage")
        await listen(socket)

    async with channel(talk) as (feed, heard):
        feed.subscribe(m.SubscribeTo((RUNG,), ()))
        await heard.until(m.MalformedFrame)
    assert heard.kinds() == [
        "FeedOpened",
        "SubscriptionAccepted",
        "BookUpdate",
        "Trade",
        "SubscriptionRefused",
        "MalformedFrame",
    ]


async def test_a_subscription_made_before_the_channel_opens_is_sent_on_opening():
    got: asyncio.Queue = asyncio.Queue()

    async def talk(socket: ServerConnection) -> None:
        async for raw in socket:
            got.put_nowait(raw)

    heard = EventLog()
    async with serve(talk, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        feed = Feed(f"ws://127.0.0.1:{port}", heard, PATIENT)
        feed.subscribe(m.SubscribeTo((MarketId("old"),), ()))
        feed.subscribe(m.SubscribeTo((RUNG,), (OTHER,)))
        running = asyncio.ensure_future(feed.run())
        async with asyncio.timeout(5):
            targets = targets_of(await got.get())
        running.cancel()
        await asyncio.wait([running])
    assert targets == [
        {"target": "event-market", "data": {"eventMarketId": RUNG}},
        {"target": "market", "data": {"marketId": OTHER}},
    ]
    assert got.empty()


async def test_a_changed_subscription_is_sent_as_a_whole():
    got: asyncio.Queue = asyncio.Queue()

    async def talk(socket: ServerConnection) -> None:
        async for raw in socket:
            got.put_nowait(len(targets_of(raw)))

    async with channel(talk) as (feed, heard), asyncio.timeout(5):
        await heard.until(m.FeedOpened)
        feed.subscribe(m.SubscribeTo((RUNG,), ()))
        assert await got.get() == 1
        feed.subscribe(m.SubscribeTo((RUNG, MarketId("b")), ()))
        assert await got.get() == 2


async def test_a_large_subscription_is_spread_over_several_sockets_of_one_channel():
    got: asyncio.Queue = asyncio.Queue()

    async def talk(socket: ServerConnection) -> None:
        async for raw in socket:
            got.put_nowait((id(socket), len(targets_of(raw))))

    async with channel(talk) as (feed, heard), asyncio.timeout(5):
        await heard.until(m.FeedOpened)
        feed.subscribe(m.SubscribeTo(tuple(MarketId(f"r{n}") for n in range(401)), ()))
        first = [await got.get() for _ in range(3)]
        feed.subscribe(m.SubscribeTo((RUNG,), ()))
        second = [await got.get() for _ in range(3)]
        assert heard.kinds() == ["FeedOpened"]
    assert len({socket for socket, _ in first}) == 3
    assert sorted(size for _, size in first) == [1, 200, 200]
    assert sorted(size for _, size in second) == [0, 0, 1]


async def test_a_lost_channel_is_reopened_without_the_old_subscription():
    frames: list[bytes] = []
    opened = 0

    async def talk(socket: ServerConnection) -> None:
        nonlocal opened
        opened += 1
        if opened == 1:
            frames.append(await socket.recv())
            socket.transport.abort()
            return
        async for raw in socket:
            frames.append(raw)

    async with channel(talk) as (feed, heard):
        await heard.until(m.FeedOpened)
        feed.subscribe(m.SubscribeTo((RUNG,), ()))
        await heard.until(m.FeedOpened, 2)
        await heard.until(m.FeedAlive)
    assert heard.kinds() == ["FeedOpened", "FeedClosed", "FeedOpened"]
    assert len(frames) == 1


@pytest.mark.parametrize(
    ("ping_s", "pongs"), [(60.0, 1), (0.03, 2)], ids=["at the opening", "again"]
)
async def test_a_pong_proves_that_the_channel_is_alive(ping_s, pongs):
    async with channel(listen, FeedTimes(ping_s=ping_s)) as (_, heard):
        await heard.until(m.FeedAlive, pongs)
    assert "FeedClosed" not in heard.kinds()


async def test_a_channel_without_a_pong_is_closed():
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from websockets.server import ServerProtocol

        protocol = ServerProtocol()
        protocol.receive_data(await reader.readuntil(b"\r\n\r\n"))
        request = protocol.events_received()[0]
        protocol.send_response(protocol.accept(request))
        writer.write(b"".join(protocol.data_to_send()))
        await writer.drain()
        await done.wait()
        writer.close()

    done = asyncio.Event()
    heard = EventLog()
    server = await asyncio.start_server(deaf, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    running = asyncio.ensure_future(Feed(f"ws://127.0.0.1:{port}", heard, IMPATIENT).run())
    closed = await heard.until(m.FeedClosed)
    running.cancel()
    await asyncio.wait([running])
    done.set()
    server.close()
    await server.wait_closed()
    assert "no pong" in closed.reason
    assert not any(isinstance(event, m.FeedAlive) for event in heard.events)


async def test_a_channel_whose_far_end_stops_reading_is_closed():
    done = asyncio.Event()

    async def full(_socket: ServerConnection) -> None:
        await done.wait()

    # All is said before the first ping, which then waits behind it.
    times = msgspec.structs.replace(IMPATIENT, ping_s=1.0)
    async with channel(full, times, max_queue=1, close_timeout=0.1) as (feed, heard):
        await heard.until(m.FeedOpened)
        wish = m.SubscribeTo(tuple(MarketId(f"{RUNG[:-4]}{at:04d}") for at in range(200)), ())
        for _ in range(600):  # more bytes than the sockets of both ends hold
            feed.subscribe(wish)
            await asyncio.sleep(0)
        try:
            closed = await heard.until(m.FeedClosed)
        finally:
            done.set()
    assert "no pong" in closed.reason


async def test_frames_that_waited_during_a_standstill_are_dropped_and_the_channel_reopens():
    opened = 0

    async def talk(socket: ServerConnection) -> None:
        nonlocal opened
        opened += 1
        await socket.recv()
        if opened == 1:
            await socket.send(BOOK)
            time.sleep(0.5)  # noqa: ASYNC251 - the process stands still, the frame waits for it
        await listen(socket)

    async with channel(talk, msgspec.structs.replace(PATIENT, still_s=0.4)) as (feed, heard):
        await heard.until(m.FeedOpened)
        feed.subscribe(m.SubscribeTo((RUNG,), ()))
        closed = await heard.until(m.FeedClosed)
        await heard.until(m.FeedOpened, 2)
    assert heard.kinds() == ["FeedOpened", "FeedClosed", "FeedOpened"]
    assert closed.reason.startswith("this process stood still")
    assert "at most" in closed.reason, "it ran for a part of the time since it was last looked at"


async def test_a_frame_beyond_the_size_limit_closes_the_channel():
    async def talk(socket: ServerConnection) -> None:
        await socket.send("x" * (1024 * 1024 + 1))
        await listen(socket)

    async with channel(talk) as (_, heard):
        await heard.until(m.FeedClosed)
    assert "MalformedFrame" not in heard.kinds()


async def test_a_channel_that_never_opened_emits_no_event():
    heard = EventLog()
    running = asyncio.ensure_future(Feed("ws://127.0.0.1:1", heard, PATIENT).run())
    await asyncio.sleep(0.1)
    running.cancel()
    await asyncio.wait([running])
    assert heard.events == []


async def test_a_cancel_at_the_moment_the_channel_breaks_ends_the_run():
    async def talk(socket: ServerConnection) -> None:
        await socket.send(BOOK)
        await socket.wait_closed()

    class Breaking(EventLog):
        """Cancels the run, and breaks the channel, with the first frame of each life."""

        def __call__(self, event: m.Event) -> None:
            super().__call__(event)
            if isinstance(event, m.FeedAlive):
                running.cancel()
                raise ConnectionResetError

    heard = Breaking()
    async with serve(talk, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        running = asyncio.ensure_future(Feed(f"ws://127.0.0.1:{port}", heard, PATIENT).run())
        done, _ = await asyncio.wait([running], timeout=5)
        running.cancel()
        assert done == {running}
        assert running.cancelled()
    assert heard.kinds().count("FeedOpened") == 1


# --- floods ---------------------------------------------------------------------------------------

VALUE = (
    '{"type":"market-update","data":{"type":"prediction-implied-value","symbol":"X","ts":1,'
    f'"marketId":"{OTHER}","impliedValue":"2.5","confidence":"0.5"}}}}'
)
FRAMES = 2_000
STRANGE = '{"type":"weather","data":{}}'


def as_one(frame: str, count: int) -> bytes:
    """The bytes of so many text frames, to be sent at once."""
    data = frame.encode()
    assert len(data) < 126
    return (b"\x81" + bytes([len(data)]) + data) * count


def sends(frame: str, count: int) -> Callable[[ServerConnection], Awaitable[None]]:
    """A server that sends a frame so often, and then listens."""

    async def talk(socket: ServerConnection) -> None:
        socket.transport.write(as_one(frame, count))
        await listen(socket)

    return talk


async def test_a_channel_of_unreadable_frames_is_closed():
    async with channel(sends("[]", GARBLED_MAX + 1)) as (_, heard):
        closed = await heard.until(m.FeedClosed)
    assert f"more than {GARBLED_MAX} frames that cannot be read" in closed.reason


@pytest.mark.parametrize("frame", [STRANGE, "{}", BOOK], ids=["unknown", "empty", "unasked"])
async def test_a_channel_of_useless_frames_is_closed(monkeypatch, frame):
    monkeypatch.setattr(feed_module, "USELESS_MAX", 100)

    async def talk(socket: ServerConnection) -> None:
        for _ in range(101):
            await socket.send(frame)
        await listen(socket)

    async with channel(talk) as (_, heard):
        closed = await heard.until(m.FeedClosed)
    assert "more than 100 frames of no use" in closed.reason


async def closes_at_once(socket: ServerConnection) -> None:
    socket.transport.abort()


async def closes_later(socket: ServerConnection) -> None:
    await asyncio.sleep(0.2)
    socket.transport.abort()


@pytest.mark.parametrize(
    ("talk", "times", "waits_s"),
    [
        (sends("[]", GARBLED_MAX + 1), {"backoff_max_s": 0.03}, [0.01, 0.02, 0.03, 0.03]),
        (closes_at_once, {"reopen_max_s": 0.03}, [0.01, 0.02, 0.03, 0.03]),
        (closes_later, {"ping_s": 0.1, "backoff_max_s": 0.03}, [0.01, 0.01, 0.01]),
    ],
    ids=["flooded", "closed at once", "closed after a while"],
)
async def test_the_backoff_of_a_channel_doubles_until_it_has_been_open_for_a_while(
    monkeypatch, talk, times, waits_s
):
    bounds: list[float] = []

    def drawn(_: float, bound_s: float) -> float:
        bounds.append(bound_s)
        return 0.0

    monkeypatch.setattr(feed_module.random, "uniform", drawn)
    async with channel(talk, FeedTimes(backoff_min_s=0.01, **times)) as (_, heard):
        await heard.until(m.FeedOpened, len(waits_s) + 1)
    assert bounds[: len(waits_s)] == waits_s


@pytest.mark.parametrize(
    ("frame", "count", "flood_s"),
    [("[]", GARBLED_MAX + 10, -1.0), (STRANGE, 2 * GARBLED_MAX, None)],
    ids=["unreadable, slowly", "of unknown types"],
)
async def test_a_channel_stays_open_for_slow_or_unknown_frames(monkeypatch, frame, count, flood_s):
    if flood_s is not None:
        monkeypatch.setattr(feed_module, "FLOOD_S", flood_s)

    async def talk(socket: ServerConnection) -> None:
        for _ in range(count):
            await socket.send(frame)
        await listen(socket)

    async with channel(talk) as (_, heard):
        await heard.until(m.MalformedFrame, count)
    assert "FeedClosed" not in heard.kinds()


async def test_frames_that_were_not_subscribed_to_are_dropped():
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
    kinds = ["FeedOpened", "BookUpdate", "Trade", "ImpliedValueSeen", "MalformedFrame"]
    assert heard.kinds() == kinds


async def test_other_tasks_run_between_frames_that_arrived_together():
    class Counted(EventLog):
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
    async with channel(sends(STRANGE, FRAMES), heard=heard):
        await heard.until(m.MalformedFrame, FRAMES)
    counting.cancel()
    assert max(in_turn.values()) <= FRAMES_PER_TURN
