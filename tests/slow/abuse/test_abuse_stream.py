"""Claims about one channel connection: handshake, pace, fragments, codes, deadlines, caps."""

import asyncio
import json
import time
from contextlib import asynccontextmanager

import pytest

from tests.builders.abuse.door import Peer, served, until
from tests.builders.abuse.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    close_code,
    frame,
    handshake,
    parsed,
)
from venue.engine.messages import CompanyListed, ImpliedValuePublished, ListCompany
from venue.stream.hub import Hub
from venue.stream.socket import make_stream
from venue.views.projector import Views
from venue.wire.names import ProjectId

pytestmark = pytest.mark.anyio
COMPANY = ProjectId("00000000-0000-4000-8000-000000000000")
EMPTY = json.dumps({"type": "subscribe", "data": {"targets": []}}).encode()
ACK = b'{"type":"subscribed","data":{"targets":0}}'


@asynccontextmanager
async def stream():
    """The channel of a venue that lists one company."""
    views = Views()
    views.apply(CompanyListed(0, ListCompany(COMPANY, "Acme", "ACME")))
    hub = Hub(views, 5)
    async with served(make_stream(hub, time.monotonic_ns)) as (server, port):
        cutting = asyncio.create_task(hub.run(time.monotonic_ns))
        yield server, hub, port
        cutting.cancel()
        await asyncio.gather(cutting, return_exceptions=True)


async def listener(port, *more):
    """A peer whose handshake is done."""
    peer = await Peer.of(port)
    peer.send(handshake("/v1/stream", *more))
    head = await peer.reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 ")
    assert b"sec-websocket-extensions" not in head.lower()
    return peer


async def said(peer, frames):
    """The next frames, at least so many."""
    data = b""
    async with asyncio.timeout(5):
        while len(parsed(data)) < frames:
            data += await peer.reader.read(65_536)
    return parsed(data)


async def alive(peer):
    """Whether the peer's subscribe is still answered."""
    peer.send(frame(TEXT, EMPTY))
    return (await said(peer, 1))[0] == (TEXT, ACK)


async def test_the_channel_declines_compression():
    async with stream() as (_, _, port):
        peer = await listener(port, "Sec-WebSocket-Extensions: permessage-deflate")
        assert await alive(peer)
        peer.send(frame(TEXT, EMPTY, reserved=0b100))
        assert close_code(await peer.rest()) == 1002


@pytest.mark.parametrize("opcode", [TEXT, BINARY])
async def test_text_and_binary_messages_are_read_alike(opcode):
    async with stream() as (_, _, port):
        peer = await listener(port)
        peer.send(frame(opcode, EMPTY))
        assert await said(peer, 1) == [(TEXT, ACK)]
        await peer.leave()


async def test_a_fragmented_message_with_pings_between_is_read_as_one():
    async with stream() as (_, _, port):
        peer = await listener(port)
        for number, letter in enumerate(EMPTY):
            last = number == len(EMPTY) - 1
            peer.send(frame(CONTINUATION if number else TEXT, bytes([letter]), fin=last))
            peer.send(frame(PING, b"beat") if number == 7 else b"")
        assert await said(peer, 2) == [(PONG, b"beat"), (TEXT, ACK)]
        await peer.leave()


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (frame(TEXT, b"\xff\xfe"), 1007),
        (frame(TEXT, b"\xed\xa0\x80"), 1007),
        (frame(TEXT, b"\xc3", fin=False) + frame(CONTINUATION, b"("), 1007),
        (frame(TEXT, b"x" * 300_000), 1009),
        (frame(BINARY, b"x" * 200_000, fin=False) + frame(CONTINUATION, b"x" * 100_000), 1009),
        (b"\x81\xff" + (2**62).to_bytes(8, "big"), 1009),
        (frame(CONTINUATION, b"x"), 1002),
        (frame(TEXT, b"x", fin=False) + frame(TEXT, b"x"), 1002),
        (frame(0x3, b"x"), 1002),
        (frame(PING, b"x" * 126), 1002),
        (frame(PING, b"x", fin=False), 1002),
        (frame(TEXT, b"x", reserved=1), 1002),
        (b"\x81\x01x", 1002),
        (frame(CLOSE, b"\x03"), 1002),
        (frame(CLOSE, (999).to_bytes(2, "big")), 1002),
        (frame(CLOSE, (1000).to_bytes(2, "big")), 1000),
        (frame(TEXT, b"{") * 3, 1008),
    ],
)
async def test_each_protocol_violation_has_its_close_code(raw, code):
    async with stream() as (server, hub, port):
        peer = await listener(port)
        peer.send(raw)
        assert close_code(await peer.rest()) == code
        await until(lambda: not server.server_state.connections and not hub.subscribers)


async def test_a_handshake_at_another_path_is_404_without_an_error_in_the_log(caplog):
    async with stream() as (server, _, port):
        peer = await Peer.of(port)
        peer.send(handshake("/v1/elsewhere"))
        status, _, body = await peer.answer()
        assert (status, json.loads(body)["code"]) == (404, "market_not_found")
        await peer.leave()
        await until(lambda: not server.server_state.connections)
        await until(lambda: not server.server_state.tasks)
    assert not [line for line in caplog.records if line.levelname == "ERROR"]


@pytest.mark.parametrize("answered", [frame(TEXT, EMPTY), frame(TEXT, b"{") * 3])
async def test_a_violation_after_unanswered_messages_logs_no_error(answered, caplog):
    async with stream() as (server, hub, port):
        peer = await listener(port)
        peer.send(answered + frame(TEXT, b"\xff\xfe"))
        assert close_code(await peer.rest()) == 1007
        await until(lambda: not server.server_state.connections and not hub.subscribers)
        await until(lambda: not server.server_state.tasks)
    assert not [line for line in caplog.records if line.levelname == "ERROR"]


@pytest.mark.parametrize(
    "raw",
    [
        handshake().replace(b"GET", b"POST"),
        handshake()
        .replace(b"GET", b"POST")
        .replace(b"\r\n\r\n", b"\r\nContent-Length: 2\r\n\r\n{}"),
        handshake().replace(b"Version: 13", b"Version: 8"),
        handshake().replace(b"Sec-WebSocket-Key", b"X"),
        handshake("/v1/portfolio/balance").replace(b"Sec-WebSocket-Key", b"X"),
    ],
)
async def test_an_invalid_handshake_gets_the_error_body(raw):
    async with stream() as (_, _, port):
        peer = await Peer.of(port)
        peer.send(raw)
        status, headers, body = await peer.answer()
        assert (status, headers["content-type"]) == (400, "application/json")
        assert headers["connection"] == "close"
        assert json.loads(body)["code"] == "invalid_request_body"
        assert await peer.rest() == b""


async def test_a_silent_reader_stays_connected():
    async with stream() as (_, _, port):
        peer = await listener(port)
        assert await alive(peer)
        await asyncio.sleep(1.2)
        assert await alive(peer)
        await peer.leave()


async def test_a_handshake_beyond_the_connection_cap_is_rejected(monkeypatch):
    monkeypatch.setattr("venue.stream.hub.CONNECTIONS_MAX", 2)
    async with stream() as (_, hub, port):
        peers = [await listener(port) for _ in range(2)]
        beyond = await Peer.of(port)
        beyond.send(handshake())
        status, _, body = await beyond.answer()
        assert (status, json.loads(body)["code"]) == (503, "engine_unavailable")
        await beyond.leave()
        await peers.pop().leave()
        await until(lambda: hub.subscribers == 1)
        peers.append(await listener(port))
        for peer in peers:
            await peer.leave()


def test_a_remote_address_has_a_cap_of_connections_and_loopback_has_none(monkeypatch):
    monkeypatch.setattr("venue.stream.hub.CONNECTIONS_PER_ADDRESS_MAX", 2)
    hub = Hub(Views(), 5)
    there, here, nowhere = "192.0.2.7", "127.0.0.1", ""
    remote = [hub.connect(lambda: None, 0, there) for _ in range(2)]
    for address in (here, here, nowhere, nowhere):
        local = hub.connect(lambda: None, 0, address)
    assert not hub.has_room(there)
    assert all(hub.has_room(address) for address in (here, nowhere, "::1", "192.0.2.8"))
    hub.disconnect(local)
    assert not hub.has_room(there)
    hub.disconnect(remote[0])
    hub.disconnect(remote[0])
    assert hub.has_room(there)


def test_the_rejection_of_a_long_handle_is_short():
    hub = Hub(Views(), 5)
    connection = hub.connect(lambda: None, 0)
    target = {"target": "event-market", "data": {"ticker": "A" * 100_000}}
    hub.receive(
        connection, json.dumps({"type": "subscribe", "data": {"targets": [target]}}).encode(), 0
    )
    answer = connection.channel.next_frame(0)
    assert answer is not None
    assert json.loads(answer)["code"] == "unknown_target"
    assert len(answer) < 200


async def test_a_stuck_reader_is_cut_with_little_memory_used(monkeypatch):
    monkeypatch.setattr("venue.stream.channel.STUCK_NS", 500_000_000)
    async with stream() as (server, hub, port):
        peer = await listener(port)
        (connection,) = server.server_state.connections
        target = {"target": "market", "data": {"marketId": COMPANY}}
        subscribe = json.dumps({"type": "subscribe", "data": {"targets": [target]}})
        peer.send(frame(TEXT, subscribe.encode()))
        await said(peer, 1)
        peer.writer.transport.pause_reading()
        worst = 0
        while hub.subscribers:
            # Less than the mebibyte in the tenth of a second in which nothing is held against it.
            now_ns = time.monotonic_ns()
            value = ImpliedValuePublished(now_ns, COMPANY, "0" * 1_000, "1")
            hub.publish([value] * 10, now_ns)
            worst = max(worst, connection.transport.get_write_buffer_size())
            await asyncio.sleep(0.002)
        assert worst < 1.2 * 2**20
        await peer.leave()
