"""Claims about a whole request, through real sockets: it ends, and has an answer of its own."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from bot.core import messages as m
from bot.io.client.rest import Rest
from bot.io.secret import Secret
from tests.builders.io.hostile import Hostile, Talk, hostile, late, says
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, create, sent
from venue.wire.names import OrderId

pytestmark = pytest.mark.anyio
WHOLE_S = 0.3
CONNECTIONS = 20
"""So many has a client of four requests in flight: sixteen are for reads."""
PATIENT = httpx.Timeout(60.0)
OK = b"HTTP/1.1 200 OK\r\n"
OTHER_ID = OrderId(ORDER_ID[::-1])


def drips(start: bytes, drop: bytes, pause_s: float = 0.02) -> Talk:
    """Bytes, and then a drop after each pause for as long as anybody listens."""

    async def talk(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while not writer.is_closing():
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return talk


HEAD = drips(OK, b"X-More: 1\r\n")
HINTS = drips(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n")
HINTS_AT_ONCE = drips(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1_000, pause_s=0)
BODY = drips(OK + b"Content-Length: 1000000\r\n\r\n", b" ")
ENDLESS = pytest.mark.parametrize(
    "talk", [HEAD, HINTS, HINTS_AT_ONCE, BODY], ids=["head", "hints", "hints at once", "body"]
)


@asynccontextmanager
async def asked(talk: Talk, whole_s: float = WHOLE_S) -> AsyncIterator[tuple[Hostile, Rest]]:
    """Such a server and its client, which waits for long for every single read."""
    async with hostile(talk) as site:
        rest = Rest(site.base_url, Secret("lm_x"), 4, timeouts=PATIENT, request_s=whole_s)
        yield site, rest
        await rest.drain()


@ENDLESS
async def test_a_request_whose_response_never_ends_is_unknown_and_ends_a_drain(talk):
    replies: list[m.Response] = []
    began_s = time.monotonic()
    async with asyncio.timeout(10), asked(talk) as (_, rest):
        rest.start(sent(create(), 7), replies.append)
        assert await rest.drain() == 0
        assert time.monotonic() - began_s >= WHOLE_S
    [reply] = replies
    assert reply.request_id == 7
    assert reply.answer == m.Unknown("an endless answer: not whole in 0.3 s")


async def test_a_request_given_up_returns_its_connection():
    async def talk(writer: asyncio.StreamWriter) -> None:
        await (says(200, ORDER_JSON) if calm else HEAD)(writer)

    calm = False
    # All of them are to be sent within it, and the last one answered, on a slow machine, too.
    async with asyncio.timeout(20), asked(talk, 1.5) as (_, rest):
        for _ in range(2):
            every = [rest.ask(m.ReadOrder(ORDER_ID)) for _ in range(CONNECTIONS)]
            assert {type(each.answer) for each in await asyncio.gather(*every)} == {m.Unknown}
        calm = True
        assert isinstance((await rest.ask(m.ReadOrder(ORDER_ID))).answer, m.Ok)


async def test_a_request_held_back_too_long_is_never_sent_after_the_drain():
    async def held() -> bool:
        return await let_go.wait()

    let_go = asyncio.Event()
    replies: asyncio.Queue[m.Response] = asyncio.Queue()
    async with asyncio.timeout(10), hostile(says(200, ORDER_JSON)) as site:
        rest = Rest(site.base_url, Secret("lm_x"), 4, request_s=0.05)
        rest.start(sent(create(), 1), replies.put_nowait, held)
        assert await rest.drain() == 1
        let_go.set()
        assert isinstance((await replies.get()).answer, m.Unknown)
        assert site.requests == []


# --- an answer that came twice --------------------------------------------------------------------


def answer(order_id: str) -> bytes:
    """A whole answer that shows an order and keeps the connection."""
    body = ORDER_JSON.replace(ORDER_ID.encode(), order_id.encode())
    return OK + b"Content-Length: %d\r\n\r\n" % len(body) + body


@asynccontextmanager
async def keeping(says: Callable[[bytes], bytes]) -> AsyncIterator[tuple[Rest, Hostile]]:
    """A client of a server that keeps its connections, and that server."""

    async def talk(writer: asyncio.StreamWriter) -> None:
        writer.write(says(site.requests[-1]))

    async with hostile(talk, keeps=True) as site:
        rest = Rest(site.base_url, Secret("lm_x"), 4)
        yield rest, site
        await rest.drain()


def shown(reply: m.Answer) -> str:
    is_order = isinstance(reply, m.Ok) and isinstance(reply.body, m.OrderBody)
    return reply.body.order.order_id if is_order else type(reply).__name__


async def ask_in_turn(rest: Rest, *order_ids: str) -> list[str]:
    """What the reads of orders show, one after the other."""
    return [shown((await rest.ask(m.ReadOrder(each))).answer) for each in order_ids]


def named(request: bytes) -> str:
    return request.split(b" ")[1].rpartition(b"/")[2].decode()


EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"


@pytest.mark.parametrize(
    "talk",
    [
        lambda request: answer(named(request)) * 2,
        lambda request: answer(named(request)) + EMPTY,
    ],
    ids=["twice", "without a body"],
)
async def test_a_connection_with_one_response_too_many_is_closed_and_it_answers_nothing(talk):
    async with keeping(talk) as (rest, site):
        seen = await ask_in_turn(rest, ORDER_ID, OTHER_ID, OTHER_ID)
        assert seen == [ORDER_ID, "Unknown", OTHER_ID]
        assert site.connections == 2


async def test_a_connection_with_one_response_a_request_is_kept():
    hint = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    async with keeping(lambda request: hint + answer(named(request))) as (rest, site):
        seen = await ask_in_turn(rest, ORDER_ID, OTHER_ID, ORDER_ID)
        assert seen == [ORDER_ID, OTHER_ID, ORDER_ID]
        assert site.connections == 1


async def test_a_drain_does_not_wait_for_a_read_that_hangs():
    replies: list[m.Response] = []
    async with asyncio.timeout(10), hostile(lambda _: asyncio.sleep(4)) as site:
        rest = Rest(site.base_url, Secret("lm_x"), 4)
        rest.start(sent(m.ReadBalance(), 1), replies.append)
        await asyncio.sleep(0.05)
        began_s = time.monotonic()
        assert await rest.drain(reads_s=0.1) == 0
        assert time.monotonic() - began_s < 1
    assert [type(each.answer) for each in replies] == [m.Unknown]


async def test_a_drain_waits_for_a_write():
    replies: list[m.Response] = []
    async with asyncio.timeout(10), hostile(late(0.5, says(200, ORDER_JSON))) as site:
        rest = Rest(site.base_url, Secret("lm_x"), 4)
        rest.start(sent(create(), 1), replies.append)
        assert await rest.drain(reads_s=0.05) == 0
    assert [type(each.answer) for each in replies] == [m.Ok]
