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
from tests.builders.io.fakes import FakeTrader, run, runner_of
from tests.builders.io.hostile import Hostile, Talk, hostile, says
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, create, sent
from venue.wire.names import OrderId

pytestmark = pytest.mark.anyio
WHOLE_S = 0.3
PATIENT = httpx.Timeout(60.0)
OK = b"HTTP/1.1 200 OK\r\n"
OTHER_ID = OrderId(ORDER_ID[::-1])


@pytest.fixture
def anyio_backend():
    return "asyncio"


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
async def test_a_request_whose_answer_never_ends_is_unknown_in_the_end(talk):
    replies: asyncio.Queue[m.Response] = asyncio.Queue()
    began_s = time.monotonic()
    async with asyncio.timeout(10), asked(talk) as (_, rest):
        rest.start(sent(create(), 7), replies.put_nowait)
        reply = await replies.get()
        assert time.monotonic() - began_s >= WHOLE_S
    assert reply.request_id == 7
    assert reply.answer == m.Unknown("an endless answer: not whole in 0.3 s")
    assert replies.empty()


@ENDLESS
async def test_a_drain_ends_though_an_answer_does_not(talk):
    replies: list[m.Response] = []
    async with asyncio.timeout(10), asked(talk) as (_, rest):
        rest.start(sent(m.CancelResting(ORDER_ID), 1), replies.append)
        assert await rest.drain() == 0
    assert [type(each.answer) for each in replies] == [m.Unknown]


async def test_a_request_that_was_given_up_gives_its_connection_back():
    async def talk(writer: asyncio.StreamWriter) -> None:
        await (says(200, ORDER_JSON) if calm else HEAD)(writer)

    calm = False
    # All of them are to be sent within it, and the last one answered, on a slow machine, too.
    async with asyncio.timeout(20), asked(talk, 1.5) as (_, rest):
        for _ in range(2):
            every = [rest.ask(m.ReadOrder(ORDER_ID)) for _ in range(rest._connections)]
            assert {type(each.answer) for each in await asyncio.gather(*every)} == {m.Unknown}
        calm = True
        assert isinstance((await rest.ask(m.ReadOrder(ORDER_ID))).answer, m.Ok)


async def test_a_request_held_back_for_too_long_ends_no_drain_and_never_leaves():
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


async def test_a_run_ends_though_an_answer_does_not(tmp_path):
    def behave(event: m.Event) -> list[m.Effect]:
        return [sent(create(), 3)] if isinstance(event, m.Started) else []

    async with hostile(HEAD) as site:
        runner = runner_of(FakeTrader(behave), tmp_path, site.base_url, 100_000_000)
        runner._rest = Rest(site.base_url, Secret("lm_x"), 4, timeouts=PATIENT, request_s=WHOLE_S)
        assert (await run(runner)).overdue


# --- an answer that came twice --------------------------------------------------------------------


def answer(order_id: str) -> bytes:
    """A whole answer that shows an order and keeps the connection."""
    body = ORDER_JSON.replace(ORDER_ID.encode(), order_id.encode())
    return OK + b"Content-Length: %d\r\n\r\n" % len(body) + body


@asynccontextmanager
async def keeping(
    says: Callable[[bytes], bytes],
) -> AsyncIterator[tuple[Rest, Callable[[], int]]]:
    """A server that keeps its connections, a client of it, and how many there were."""
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        try:
            while True:
                writer.write(says(await reader.readuntil(b"\r\n\r\n")))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    rest = Rest(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", Secret("lm_x"), 4)
    try:
        yield rest, lambda: connections
    finally:
        await rest.drain()
        server.close()
        await server.wait_closed()


def shown(reply: m.Answer) -> str:
    is_order = isinstance(reply, m.Ok) and isinstance(reply.body, m.OrderBody)
    return reply.body.order.order_id if is_order else type(reply).__name__


async def ask_in_turn(rest: Rest, *order_ids: str) -> list[str]:
    """What the reads of orders show, one after the other."""
    return [shown((await rest.ask(m.ReadOrder(each))).answer) for each in order_ids]


def named(request: bytes) -> str:
    return request.split(b" ")[1].rpartition(b"/")[2].decode()


async def test_an_answer_that_came_twice_is_no_answer_to_the_next_request():
    async with keeping(lambda request: answer(named(request)) * 2) as (rest, connections):
        seen = await ask_in_turn(rest, ORDER_ID, OTHER_ID, OTHER_ID)
        assert seen == [ORDER_ID, "Unknown", OTHER_ID]
        assert connections() == 2


async def test_a_connection_with_an_answer_too_many_is_closed_even_if_that_has_no_body():
    empty = b"HTTP/1.1 204 No Content\r\n\r\n"
    async with keeping(lambda request: answer(named(request)) + empty) as (rest, connections):
        seen = await ask_in_turn(rest, ORDER_ID, OTHER_ID, OTHER_ID)
        assert seen == [ORDER_ID, "Unknown", OTHER_ID]
        assert connections() == 2


async def test_answers_that_come_once_keep_their_connection():
    hint = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    async with keeping(lambda request: hint + answer(named(request))) as (rest, connections):
        seen = await ask_in_turn(rest, ORDER_ID, OTHER_ID, ORDER_ID)
        assert seen == [ORDER_ID, OTHER_ID, ORDER_ID]
        assert connections() == 1


async def test_at_the_end_of_a_run_a_read_that_hangs_is_not_waited_for_and_has_its_answer():
    replies: list[m.Response] = []
    async with asyncio.timeout(10), hostile(lambda _: asyncio.sleep(4)) as site:
        rest = Rest(site.base_url, Secret("lm_x"), 4)
        rest.start(sent(m.ReadBalance(), 1), replies.append)
        await asyncio.sleep(0.05)
        began_s = time.monotonic()
        assert await rest.drain(reads_s=0.1) == 0
        assert time.monotonic() - began_s < 1
    assert [type(each.answer) for each in replies] == [m.Unknown]


async def test_at_the_end_of_a_run_a_write_is_waited_for_all_the_same():
    async def late(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.5)
        await says(200, ORDER_JSON)(writer)

    replies: list[m.Response] = []
    async with asyncio.timeout(10), hostile(late) as site:
        rest = Rest(site.base_url, Secret("lm_x"), 4)
        rest.start(sent(create(), 1), replies.append)
        assert await rest.drain(reads_s=0.05) == 0
    assert [type(each.answer) for each in replies] == [m.Ok]
