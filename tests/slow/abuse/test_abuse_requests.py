"""Claims about one REST connection: malformed requests, half answers, and a cut without a word."""

import asyncio
import json

import pytest

from tests.builders.abuse.door import Peer, served, until

pytestmark = pytest.mark.anyio
GET = b"GET /fast HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW_DELETE = b"DELETE /slow HTTP/1.1\r\nHost: x\r\n\r\n"


async def app(scope, receive, send):
    """Answers GET and DELETE at once, POST after its body, /slow after a while."""
    body = b"answer"
    if scope["method"] == "POST":
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            more = message["more_body"]
    if scope["path"] == "/slow":
        await asyncio.sleep(0.1)
    if scope["path"] == "/abort":
        scope["extensions"]["laddermaker.abort"]["abort"]()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def post(path, *headers):
    lines = (f"POST {path} HTTP/1.1", "Host: x", *headers, "", "")
    return "\r\n".join(lines).encode()


MALFORMED = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a space in a name": b"GET / HTTP/1.1\r\nHo st: x\r\n\r\n",
    "two lengths": post("/", "Content-Length: 5", "Content-Length: 6"),
    "length and chunks": post("/", "Content-Length: 5", "Transfer-Encoding: chunked"),
    "a length that is none": post("/", "Content-Length: 5x"),
    "bytes in the target": b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    "an unknown method": b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_malformed_request_gets_the_documented_rejection(raw):
    async with served(app) as (server, port):
        peer = await Peer.of(port)
        peer.send(raw)
        head, _, body = (await peer.rest()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"content-type: application/json" in head
        assert b"connection: close" in head
        assert json.loads(body)["code"] == "invalid_request_body"
        await until(lambda: not server.server_state.connections)


CHUNKED = SLOW_DELETE.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")


@pytest.mark.parametrize("raw", [SLOW_DELETE + b"\x00\x01", CHUNKED + b"zz\r\n"])
async def test_garbage_after_a_cancel_does_not_replace_its_answer_in_flight(raw):
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(raw)
        said = await peer.rest()
        assert said.startswith(b"HTTP/1.1 200 ")
        assert b" 400 " not in said


async def test_pipelined_requests_with_bodies_are_answered_in_order():
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(SLOW_DELETE + post("/", "Content-Length: 3") + b"abc" + GET)
        assert [(await peer.answer())[2] for _ in range(3)] == [b"answer", b"abc", b"answer"]
        await peer.leave()


async def test_the_application_can_cut_the_connection_of_a_request():
    async with served(app) as (_, port):
        peer = await Peer.of(port)
        peer.send(b"GET /abort HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await peer.rest(0.35) == b""
