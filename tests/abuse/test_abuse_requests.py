"""Claims about one REST connection: deadlines, caps, early answers, malformed and half requests."""

import asyncio
import json
import time
from typing import Any

import pytest

from tests.abuse.door import Peer, served, shorten, until
from tests.abuse.frames import handshake
from venue.listen import limits
from venue.wire.limits import BODY_BYTES_MAX

pytestmark = pytest.mark.anyio
GET = b"GET /fast HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW_DELETE = b"DELETE /slow HTTP/1.1\r\nHost: x\r\n\r\n"
HUGE = 4_000_000


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers GET and DELETE at once, POST after its body, /slow after a while."""
    body = b"answer"
    if scope["method"] == "POST" and scope["path"] != "/early":
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            more = message["more_body"]
    if scope["path"] == "/slow":
        await asyncio.sleep(0.1)
    if scope["path"] == "/huge":
        body = b"x" * HUGE
    if scope["path"] == "/abort":
        scope["extensions"]["laddermaker.abort"]["abort"]()
    headers = [(b"content-length", str(len(body)).encode())]
    if scope["path"] == "/away":
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def post(path: str, *headers: str) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: x", *headers, "", "")
    return "\r\n".join(lines).encode()


def is_malformed(said: bytes) -> bool:
    """Whether the documented refusal was said, and nothing after it."""
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 "), said
    assert b"content-type: application/json" in head
    assert b"connection: close" in head
    return bool(json.loads(body)["code"] == "invalid_request_body")


@pytest.mark.parametrize("opening", [b"", b"GET / HT", b"\r\n", GET + b"GET /"])
async def test_a_header_that_is_not_whole_in_time_ends_the_connection(opening: bytes) -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        begun_s = time.monotonic()
        peer.send(opening)
        said = await peer.rest()
        assert said.count(b"HTTP/1.1") == opening.count(b"\r\n\r\n")
        assert 0.3 < time.monotonic() - begun_s < 2


async def test_an_empty_line_between_requests_is_the_first_byte_of_the_next() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(GET)
        assert (await peer.answer())[0] == 200
        peer.send(b"\r\n")
        assert await peer.rest(2) == b""


async def test_a_trickle_does_not_put_the_header_s_deadline_off() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        begun_s = time.monotonic()
        ended = asyncio.create_task(peer.rest())
        while not ended.done():
            peer.send(b"x")
            await asyncio.sleep(0.02)
            assert time.monotonic() - begun_s < 2


async def test_the_deadline_runs_anew_for_every_request() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        for _ in range(4):
            peer.send(GET[:9])
            await asyncio.sleep(0.2)
            peer.send(GET[9:])
            assert (await peer.answer())[0] == 200
        await peer.leave()


async def test_an_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, IDLE_S=0.3)
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        peer.send(GET)
        assert (await peer.answer())[0] == 200
        assert await peer.rest() == b""
        await until(lambda: not server.server_state.connections)


async def test_a_body_that_is_not_whole_in_time_ends_the_connection() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        begun_s = time.monotonic()
        peer.send(post("/", "Content-Length: 10") + b"12345")
        assert await peer.rest() == b""
        assert 0.5 < time.monotonic() - begun_s < 2


@pytest.mark.parametrize("framing", ["Content-Length: 200000000", "Transfer-Encoding: chunked"])
async def test_an_early_answer_is_the_last_and_the_rest_is_not_read(framing: str) -> None:
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        peer.send(post("/early", framing))
        for _ in range(40):
            peer.send(
                (b"10000\r\n" + b"x" * 65_536 + b"\r\n") if "chunked" in framing else b"x" * 65_536
            )
        status, headers, _ = await peer.answer()
        assert (status, headers["connection"]) == (200, "close")
        await until(lambda: not server.server_state.connections)
        await peer.leave()


async def test_an_early_answer_to_a_whole_body_keeps_the_connection() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        for _ in range(3):
            peer.send(post("/early", "Content-Length: 5") + b"12345")
            status, headers, _ = await peer.answer()
            assert status == 200
            assert "connection" not in headers
        await peer.leave()


MALFORMED = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "no version": b"GET /\r\n\r\n",
    "a space in a name": b"GET / HTTP/1.1\r\nHo st: x\r\n\r\n",
    "no host": b"GET /fast HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /fast HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "gzip before the chunks": post("/", "Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
    "gzip, and chunks": post("/", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked")
    + b"0\r\n\r\n",
    "two lengths": post("/", "Content-Length: 5", "Content-Length: 6"),
    "length and chunks": post("/", "Content-Length: 5", "Transfer-Encoding: chunked"),
    "a length that is none": post("/", "Content-Length: 5x"),
    "a long length": post("/", "Content-Length: " + "9" * 40),
    "a bad chunk": post("/", "Transfer-Encoding: chunked") + b"zz\r\n",
    "a target that is no path": b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes in the target": b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    "a long target": b"GET /" + b"x" * 9_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "a long field": b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 9_000 + b"\r\n\r\n",
    "an endless field": b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 300_000,
    "many fields": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: x\r\n" * 101 + b"\r\n",
    "large fields": b"GET / HTTP/1.1\r\nHost: x\r\n"
    + (b"A: " + b"x" * 4_000 + b"\r\n") * 5
    + b"\r\n",
    "a body in thousands of chunks": post("/", "Transfer-Encoding: chunked")
    + b"1\r\nx\r\n" * (limits.BODY_PIECES_MAX + 1),
    "large trailers": post("/", "Transfer-Encoding: chunked") + b"0\r\n" + b"A: x\r\n" * 101,
    "an endless trailer": post("/", "Transfer-Encoding: chunked") + b"0\r\nA: " + b"x" * 600_000,
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED.keys())
async def test_what_is_malformed_or_too_large_gets_the_documented_refusal(raw: bytes) -> None:
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        peer.send(raw)
        assert is_malformed(await peer.rest())
        await until(lambda: not server.server_state.connections)


async def test_an_early_answer_to_a_broken_body_is_no_fault_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        peer.send(post("/early", "Transfer-Encoding: chunked") + b"zz\r\n")
        assert is_malformed(await peer.rest())
        await until(lambda: not server.server_state.tasks)
    assert not [line for line in caplog.records if line.levelname == "ERROR"]


async def test_a_body_in_as_many_chunks_as_may_be_is_read() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        chunks = b"1\r\nx\r\n" * limits.BODY_PIECES_MAX
        peer.send(post("/", "Transfer-Encoding: chunked") + chunks + b"0\r\n\r\n" + GET)
        assert (await peer.answer())[2] == b"x" * limits.BODY_PIECES_MAX
        assert (await peer.answer())[2] == b"answer"
        await peer.leave()


async def test_what_comes_behind_the_longest_body_is_not_looked_at() -> None:
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        long = (b"400\r\n" + b"x" * 1_024 + b"\r\n") * 60
        peer.send(post("/early", "Transfer-Encoding: chunked") + long + b"zz\r\n")
        said = await peer.rest()
        assert said.startswith(b"HTTP/1.1 200 ")
        assert b" 400 " not in said
        await until(lambda: not server.server_state.connections)


LONG = post("/early", "Content-Length: 20000") + b"x" * 20_000


@pytest.mark.parametrize(("last", "answers"), [(b"\0", 2), (LONG, 3)])
async def test_what_came_up_to_the_last_request_that_is_read_is_answered_though_no_more_comes(
    last: bytes, answers: int
) -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(GET + SLOW_DELETE + last)
        peer.writer.write_eof()
        assert (await peer.rest()).count(b"HTTP/1.1 200 ") == answers


@pytest.mark.parametrize("size", [BODY_BYTES_MAX, BODY_BYTES_MAX + 1, 20_000, 100_000])
@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_connection_on_which_no_other_request_is_read_says_so(
    size: int, is_chunked: bool
) -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {size}"
        body = b"x" * size
        peer.send(post("/early", framing))
        peer.send(b"%x\r\n%b\r\n0\r\n\r\n" % (size, body) if is_chunked else body)
        status, headers, _ = await peer.answer()
        assert status == 200
        assert headers.get("connection") == ("close" if size > BODY_BYTES_MAX else None)
        peer.send(GET)
        if size > BODY_BYTES_MAX:
            assert await peer.rest() == b""
        else:
            assert (await peer.answer())[0] == 200
            await peer.leave()


async def test_a_refusal_is_never_said_instead_of_another_s_answer() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(SLOW_DELETE + SLOW_DELETE + b"\x00\x01")
        said = await peer.rest()
        assert said.count(b"HTTP/1.1 200 ") == 2
        assert b" 400 " not in said


async def test_a_cancel_with_a_broken_body_still_says_what_it_did() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        head = SLOW_DELETE.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        peer.send(head + b"zz\r\n")
        said = await peer.rest()
        assert said.startswith(b"HTTP/1.1 200 ")
        assert b" 400 " not in said


async def test_a_broken_body_behind_good_requests_does_not_take_their_answers() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(SLOW_DELETE + GET + post("/", "Transfer-Encoding: chunked") + b"zz\r\n")
        said = await peer.rest()
        assert said.count(b"HTTP/1.1 200 ") == 2
        assert b" 400 " not in said


async def test_pipelined_requests_are_answered_in_turn() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(SLOW_DELETE + post("/", "Content-Length: 3") + b"abc" + GET)
        assert [(await peer.answer())[2] for _ in range(3)] == [b"answer", b"abc", b"answer"]
        await peer.leave()


async def test_a_handshake_behind_a_request_does_not_come_before_its_answer() -> None:
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        peer.send(SLOW_DELETE + GET + handshake())
        said = await peer.rest()
        assert said.count(b"HTTP/1.1 200 ") == said.count(b"HTTP/1.1 ") == 2
        await until(lambda: not server.server_state.connections)


async def test_more_pipelined_requests_than_the_cap_are_not_kept() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(SLOW_DELETE + GET * 1_000)
        said = await peer.rest()
        assert said.count(b"HTTP/1.1 200 ") == limits.PIPELINED_MAX + 1


async def test_who_says_no_more_still_gets_the_answers() -> None:
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        peer.send(SLOW_DELETE + GET)
        peer.writer.write_eof()
        assert (await peer.rest()).count(b"HTTP/1.1 200 ") == 2
        await until(lambda: not server.server_state.connections)


@pytest.mark.parametrize("half", [b"", b"GET / HT", post("/", "Content-Length: 9") + b"abc"])
async def test_who_says_no_more_amid_a_request_is_let_go(half: bytes) -> None:
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        peer.send(half)
        peer.writer.write_eof()
        assert await peer.rest(0.35) == b""
        await until(lambda: not server.server_state.connections)


async def test_who_does_not_read_an_answer_is_cut() -> None:
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        peer.writer.transport.pause_reading()
        peer.send(b"GET /huge HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        await until(lambda: bool(server.server_state.connections))
        await until(lambda: not server.server_state.connections)
        await peer.leave()


async def test_who_does_not_read_the_last_answer_is_cut_too() -> None:
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        peer.writer.transport.pause_reading()
        peer.send(b"GET /huge HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        await until(lambda: bool(server.server_state.connections))
        await until(lambda: not server.server_state.connections)
        await peer.leave()


async def test_who_reads_gets_the_whole_of_a_long_answer() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(b"GET /huge HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await peer.rest()).endswith(b"x" * HUGE)


async def test_who_reads_slowly_gets_the_whole_of_a_long_answer_and_of_the_next() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port, receive_bytes=4_096)
        peer.send(b"GET /huge HTTP/1.1\r\nHost: x\r\n\r\n" + GET)
        said = b""
        begun = time.monotonic()
        while not said.endswith(b"answer"):
            data = await asyncio.wait_for(peer.reader.read(32_768), 5)
            assert data, f"cut after {len(said)} bytes"
            said += data
            await asyncio.sleep(0.01)
        assert b"x" * HUGE in said
        assert time.monotonic() - begun > limits.WRITE_DEADLINE_S
        await peer.leave()


async def test_one_connection_beyond_the_cap_is_closed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shorten(monkeypatch, CONNECTIONS_MAX=3)
    async with served(app) as (server, port):
        peers = [await Peer.of(port) for _ in range(3)]
        await until(lambda: len(server.server_state.connections) == 3)
        beyond = await Peer.of(port)
        begun_s = time.monotonic()
        assert await beyond.rest() == b""
        assert time.monotonic() - begun_s < 0.3
        await peers.pop().leave()
        await until(lambda: len(server.server_state.connections) == 2)
        peers.append(await Peer.of(port))
        peers[-1].send(GET)
        assert (await peers[-1].answer())[0] == 200
        for peer in peers:
            await peer.leave()


@pytest.mark.parametrize(("from_here", "taken"), [(True, 3), (False, 2)])
async def test_one_address_elsewhere_takes_no_more_than_its_share_of_the_connections(
    monkeypatch: pytest.MonkeyPatch, from_here: bool, taken: int
) -> None:
    shorten(monkeypatch, CONNECTIONS_MAX=3, CONNECTIONS_PER_ADDRESS_MAX=2)
    monkeypatch.setattr("venue.listen.http.is_loopback", lambda address: from_here)
    async with served(app) as (server, port):
        peers = [await Peer.of(port) for _ in range(2)]
        await until(lambda: len(server.server_state.connections) == 2)
        third = await Peer.of(port)
        third.send(GET)
        if taken == 3:
            assert (await third.answer())[0] == 200
        else:
            assert await third.rest() == b""
            monkeypatch.setattr("venue.listen.http.get_remote_addr", lambda _: ("192.0.2.7", 1))
            another = await Peer.of(port)
            another.send(GET)
            assert (await another.answer())[0] == 200
            peers.append(another)
        for peer in (*peers, third):
            await peer.leave()


async def test_the_application_can_cut_a_request_s_connection() -> None:
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(b"GET /abort HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await peer.rest(0.35) == b""


async def test_who_is_sent_away_is_let_go_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, HOLD_S=0.3)
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        begun_s = time.monotonic()
        peer.send(b"GET /away HTTP/1.1\r\nHost: x\r\n\r\n")
        status, headers, _ = await peer.answer()
        assert (status, headers["connection"]) == (200, "close")
        assert time.monotonic() - begun_s >= 0.3
        assert await peer.rest() == b""
