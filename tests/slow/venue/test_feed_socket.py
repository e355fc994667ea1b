"""The channel over real sockets: slow readers lose their connection, quick ones notice nothing."""

import asyncio
import itertools
import json
import os
import signal
import socket
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from websockets.asyncio.client import connect

from tests.builders.abuse.frames import TEXT, frame, handshake
from tests.builders.venue.small_venue import MARKET, OPENING, PROJECT, small_buy
from venue.engine.messages import ImpliedValuePublished, PublishImpliedValue
from venue.process import Ready, ServePlan, serve
from venue.server import VenueServer
from venue.storage.recovery import open_in_memory
from venue.stream.hub import Hub
from venue.stream.socket import (
    ABORT_EXTENSION,
    BYTES_LIKE_A_REPLY,
    LONG_MESSAGE_BYTES,
    REPLIES_BURST,
    REPLIES_PER_SECOND,
    make_stream,
)
from venue.views.projector import Views
from venue.wire.instant import NS_PER_SECOND
from venue.wire.limits import SUBSCRIPTION_TARGETS_MAX

pytestmark = pytest.mark.anyio

STUCK_S = 0.6


@asynccontextmanager
async def served():
    """A venue in this very process, handed out by the crowd's hook."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
    inside: asyncio.Future[VenueServer] = asyncio.get_running_loop().create_future()

    async def crowd(venue):
        inside.set_result(venue)

    plan = ServePlan(
        state=open_in_memory(),
        opening=OPENING,
        write_keys=None,
        keys_file=Path("no keys"),
        projection_lag_ms=0,
        feed_flush_ms=5,
        listener=listener,
        control=None,
        crowd=crowd,
        exit_with_stdin=False,
    )
    task = asyncio.create_task(serve(plan, ready.set_result))
    try:
        yield await inside, await ready
    finally:
        # The server has handlers for its signals by now; this is how it is asked to end.
        os.kill(os.getpid(), signal.SIGTERM)
        await task


SUBSCRIBE = json.dumps(
    {
        "type": "subscribe",
        "data": {
            "targets": [
                {"target": "event-market", "data": {"eventMarketId": MARKET}},
                {"target": "market", "data": {"marketId": PROJECT}},
            ]
        },
    }
)


def stuck_reader(address):
    """A raw websocket that has subscribed and then reads nothing."""
    raw = socket.create_connection(address)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.sendall(handshake())
    assert raw.recv(1024).startswith(b"HTTP/1.1 101")
    raw.sendall(frame(TEXT, SUBSCRIBE.encode()))
    return raw


async def test_a_stuck_reader_is_cut_without_delay_for_others(monkeypatch):
    monkeypatch.setattr("venue.stream.channel.STUCK_NS", int(STUCK_S * NS_PER_SECOND))

    async with served() as (venue, ready):
        host, port = ready.base_url.removeprefix("http://").removesuffix("/v1").split(":")
        stuck = await asyncio.to_thread(stuck_reader, (host, int(port)))
        async with connect(ready.stream_url, proxy=None, compression=None) as quick:
            await quick.send(SUBSCRIBE)
            assert json.loads(await quick.recv())["type"] == "subscribed"
            began_s, dropped, worst_s = time.monotonic(), False, 0.0
            while not dropped:
                asked_s, now_ns = time.monotonic(), venue.now_ns()
                for number in range(50):
                    value = f"{number}{'0' * 900}"
                    event = ImpliedValuePublished(now_ns, PROJECT, value, "1")
                    venue.hub.publish([event], now_ns)
                with anyio.fail_after(5):
                    await until_value(quick, f"49{'0' * 900}")
                worst_s = max(worst_s, time.monotonic() - asked_s)
                dropped = venue.hub.subscribers == 1
                assert time.monotonic() - began_s < 20
        assert worst_s < STUCK_S
        stuck.close()


async def until_value(quick, value):
    while True:
        frame = json.loads(await quick.recv())
        if frame.get("data", {}).get("impliedValue") == value:
            return


async def test_a_healthy_reader_receives_every_print_of_a_burst():
    async with (
        served() as (venue, ready),
        connect(ready.stream_url, proxy=None, compression=None) as quick,
    ):
        await quick.send(SUBSCRIBE)
        assert json.loads(await quick.recv())["type"] == "subscribed"
        for number in range(1_000):
            await venue.submit(PublishImpliedValue(PROJECT, str(number), "1"))
        seen = []
        while len(seen) < 1_000:
            data = json.loads(await quick.recv())["data"]
            if data["type"] == "prediction-implied-value":
                seen.append(int(data["impliedValue"]))
        assert seen == list(range(1_000))


async def test_a_flood_of_subscribes_does_not_delay_orders():
    async with served() as (venue, ready):
        async with connect(ready.stream_url, proxy=None, compression=None) as rude:

            async def flood():
                while True:
                    await rude.send(SUBSCRIBE)

            async def swallow():
                async for _ in rude:
                    pass

            flooding, swallowing = (asyncio.create_task(task()) for task in (flood, swallow))
            waits_s = []
            for number in range(200):
                begun_s = time.monotonic()
                await venue.submit(small_buy(number))
                waits_s.append(time.monotonic() - begun_s)
            flooding.cancel()
            # A goodbye would wait behind everything that the sockets' buffers hold.
            rude.transport.abort()
        await asyncio.gather(flooding, swallowing, return_exceptions=True)
        assert sorted(waits_s)[100] < 0.1


async def spoken_to(stream, text, at):
    """A connection whose client says one thing at a signal and leaves once that is answered."""
    said: list[dict[str, Any]] = [
        {"type": "websocket.connect"},
        {"type": "websocket.receive", "text": text},
        {"type": "websocket.disconnect"},
    ]

    async def receive():
        if said[0]["type"] == "websocket.receive":
            await at.wait()
        return said.pop(0)

    async def send(_):
        pass

    abort = {ABORT_EXTENSION: {"abort": lambda: None}}
    await stream({"path": "/v1/stream", "extensions": abort}, receive, send)


@pytest.mark.parametrize(
    ("length", "in_turns"), [(LONG_MESSAGE_BYTES, False), (LONG_MESSAGE_BYTES + 1, True)]
)
async def test_long_messages_are_read_one_per_turn_of_the_loop(length, in_turns):
    noted: list[str] = []

    class Heard(Hub):
        def receive(self, connection, data, now_ns):
            noted.append("read")
            super().receive(connection, data, now_ns)

    hub, at = Heard(Views(), 5), asyncio.Event()
    stream = make_stream(hub, time.monotonic_ns)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(5):
            tasks.create_task(spoken_to(stream, "x" * length, at))
        for _ in range(20):
            await asyncio.sleep(0)
        assert hub.subscribers == 5
        at.set()
        for _ in range(50):
            noted.append("turn")
            await asyncio.sleep(0)
    assert noted.count("read") == 5
    assert any(pair == ("read", "read") for pair in itertools.pairwise(noted)) is not in_turns


@pytest.mark.parametrize("path", ["/v1/stream", "/v1/elsewhere"])
async def test_handshakes_are_answered_one_per_turn_of_the_loop(path):
    noted: list[str] = []
    said = {"type": "websocket.connect"}, {"type": "websocket.disconnect"}

    async def shake(stream):
        coming = iter(said)

        async def receive():
            return next(coming)

        async def send(message):
            if message["type"] in ("websocket.accept", "websocket.http.response.start"):
                noted.append("answered")

        abort = {ABORT_EXTENSION: {"abort": lambda: None}}
        await stream({"path": path, "extensions": abort}, receive, send)

    stream = make_stream(Hub(Views(), 5), time.monotonic_ns)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(5):
            tasks.create_task(shake(stream))
        for _ in range(50):
            noted.append("turn")
            await asyncio.sleep(0)
    assert noted.count("answered") == 5
    assert ("answered", "answered") not in itertools.pairwise(noted)


@pytest.mark.parametrize("refused", [False, True])
async def test_large_subscriptions_without_books_are_throttled(refused):
    targets = [{"target": "market", "data": {"marketId": PROJECT}}] * SUBSCRIPTION_TARGETS_MAX
    if refused:
        targets[-1] = {"target": "market", "data": {"symbol": "NOBODY"}}
    text = json.dumps({"type": "subscribe", "data": {"targets": targets}})
    read = 0

    class Heard(Hub):
        def receive(self, connection, data, now_ns):
            nonlocal read
            read += 1
            super().receive(connection, data, now_ns)

    async def receive():
        return {"type": "websocket.receive", "text": text}

    async def send(_):
        pass

    stream = make_stream(Heard(Views(), 5), time.monotonic_ns)
    scope = {"path": "/v1/stream", "extensions": {ABORT_EXTENSION: {"abort": lambda: None}}}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await stream(scope, receive, send)
    assert 3 <= read <= (REPLIES_BURST + 3 * REPLIES_PER_SECOND) / (len(text) / BYTES_LIKE_A_REPLY)


async def test_the_hub_forgets_a_reader_that_leaves():
    async with served() as (venue, ready):
        for _ in range(20):
            async with connect(ready.stream_url, proxy=None, compression=None) as quick:
                await quick.send(SUBSCRIBE)
                await quick.recv()
        with anyio.fail_after(5):
            while venue.hub.subscribers:  # noqa: ASYNC110  # no event of a leaving
                await asyncio.sleep(0.005)
