"""Claims about the channel: what is emitted when, over real sockets, with short deadlines."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest
from websockets.asyncio.server import ServerConnection, serve

from bot.core import messages as m
from bot.io.client.answers import event_of
from bot.io.client.feed import Feed, FeedTimes
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


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Heard:
    """Events in order, and a way to wait for one of a kind."""

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
    heard: Heard | None = None,
    **options,
) -> AsyncIterator[tuple[Feed, Heard]]:
    heard = Heard() if heard is None else heard
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


def test_no_bids_become_yes_asks_best_first():
    assert event_of(BOOK) == m.BookUpdate(RUNG, 5, ((40, 7), (38, 1)), ((45, 3), (50, 9)))


def test_a_uuid_in_capitals_is_the_same_market():
    assert event_of(BOOK.replace(RUNG, RUNG.upper())) == event_of(BOOK)
    assert event_of(TRADE.replace(RUNG, RUNG.upper())) == event_of(TRADE)


@pytest.mark.parametrize(
    ("outcome", "side", "bought"),
    [("yes", "buy", True), ("no", "sell", True), ("yes", "sell", False), ("no", "buy", False)],
)
def test_a_print_says_which_side_its_taker_took(outcome, side, bought):
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
def test_a_frame_that_cannot_be_used_is_garbled(frame, known):
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


async def test_a_set_wished_for_before_the_channel_is_open_is_sent_on_opening():
    got: asyncio.Queue = asyncio.Queue()

    async def talk(socket: ServerConnection) -> None:
        async for raw in socket:
            got.put_nowait(raw)

    heard = Heard()
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


async def test_a_change_sends_the_whole_set_again():
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


async def test_a_set_beyond_one_message_is_spread_over_sockets_that_are_one_channel():
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


async def test_a_lost_channel_is_told_and_opened_again_without_the_old_set():
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


async def test_a_pong_is_heard():
    async with channel(listen) as (_, heard):
        await heard.until(m.FeedAlive, 2)
    assert "FeedClosed" not in heard.kinds()


async def test_the_first_ping_leaves_as_the_channel_opens():
    async with channel(listen, FeedTimes(ping_s=60.0)) as (_, heard):
        await heard.until(m.FeedAlive)


async def test_a_channel_that_answers_no_ping_is_closed():
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Shakes hands, then reads nothing and says nothing."""
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
    heard = Heard()
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


async def test_a_channel_whose_far_end_takes_nothing_more_is_closed():
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


async def test_what_waited_while_this_process_stood_still_is_not_told_and_the_channel_opens_anew():
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


async def test_nothing_is_told_of_a_channel_that_never_opened():
    heard = Heard()
    running = asyncio.ensure_future(Feed("ws://127.0.0.1:1", heard, PATIENT).run())
    await asyncio.sleep(0.1)
    running.cancel()
    await asyncio.wait([running])
    assert heard.events == []


async def test_a_cancel_in_the_very_moment_in_which_the_channel_breaks_ends_the_run():
    async def talk(socket: ServerConnection) -> None:
        await socket.send(BOOK)
        await socket.wait_closed()

    class Breaking(Heard):
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


def test_of_a_refusal_so_much_is_kept_as_a_person_reads():
    # A frame may have a megabyte, and each was written into the journal and shown.
    told = {"type": "error", "code": "c" * 1_000_000, "message": "\x1b[2J" + "m" * 1_000_000}
    refused = event_of(msgspec.json.encode(told))
    assert refused == m.SubscriptionRefused("c" * 200, "?[2J" + "m" * 196)
