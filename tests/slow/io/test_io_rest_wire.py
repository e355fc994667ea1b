"""Claims about connections and keys, through real sockets: what is repeated, what is replaced,
and which key goes with what."""

import asyncio
import itertools

import httpx
import pytest

from bot.core import messages as m
from bot.io.adapter import Connection, VenueAddress
from bot.io.client.feed import Feed
from bot.io.client.preflight import Finding, probe
from bot.io.client.rest import Rest
from bot.io.client.sockets import trusted
from bot.io.secret import Secret
from tests.builders.io.hostile import Talk, hostile, late, says
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, create, sent
from venue.wire.names import Ticker

pytestmark = pytest.mark.anyio
PATIENT = httpx.Timeout(10.0)
KEY, READ_KEY, SPARE_KEY = "lm_trade_0123", "lm_read_0123", "lm_spare_0123"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(ORDER_JSON) + ORDER_JSON


def hangs_up(at: int, kept: int = 0) -> Talk:
    """Whole answers, but to request number `at` its first `kept` bytes, and then a hang-up."""
    numbers = itertools.count(1)

    async def talk(writer: asyncio.StreamWriter) -> None:
        is_last = next(numbers) == at
        writer.write(ANSWER[:kept] if is_last else ANSWER)
        if is_last:
            writer.close()

    return talk


def rest_at(port: int, in_flight: int = 4, **more) -> Rest:
    more.setdefault("timeouts", PATIENT)
    return Rest(f"http://127.0.0.1:{port}/v1", Secret(KEY), in_flight, **more)


async def probed(port: int, others: dict[m.Key, Secret] | None = None) -> dict[str, Finding]:
    """The findings of a check at a port, by name."""
    rest = rest_at(port, others=others)
    address = VenueAddress(f"http://127.0.0.1:{port}/v1", "ws://x", Secret(KEY), others or {})
    findings = await probe(Connection(rest, Feed), address, Ticker("X"))
    await rest.drain()
    return {each.name: each for each in findings}


# --- a kept connection that was closed ------------------------------------------------------------


async def test_a_read_on_a_closed_connection_is_unknown_and_not_repeated():
    async with hostile(hangs_up(2), keeps=True) as site:
        rest = rest_at(site.port)
        answers = [(await rest.ask(m.ReadOrder(ORDER_ID))).answer for _ in range(3)]
        await rest.drain()
    assert [type(each) for each in answers] == [m.Ok, m.Unknown, m.Ok]
    assert [raw.split(b" ")[0] for raw in site.requests] == [b"GET"] * 3


@pytest.mark.parametrize("request_", [create(), m.CancelResting(ORDER_ID)], ids=["post", "delete"])
@pytest.mark.parametrize("kept", [0, 1, len(ANSWER) - 1])
async def test_a_write_is_never_sent_twice(request_, kept):
    async with hostile(hangs_up(1, kept), keeps=True) as site:
        rest = rest_at(site.port)
        assert isinstance((await rest.ask(request_)).answer, m.Unknown)
        await rest.drain()
    assert len(site.requests) == 1


# --- connections that leaked ----------------------------------------------------------------------

HASTY = httpx.Timeout(5.0, pool=0.1)


@pytest.fixture
def clients(monkeypatch) -> list[httpx.AsyncClient]:
    """The HTTP clients that were used, in order."""
    used: list[httpx.AsyncClient] = []
    send = httpx.AsyncClient.send

    async def noted(client: httpx.AsyncClient, *args, **options):
        used.extend([] if client in used else [client])
        return await send(client, *args, **options)

    monkeypatch.setattr(httpx.AsyncClient, "send", noted)
    return used


async def leak(client: httpx.AsyncClient, port: int) -> list[httpx.Response]:
    """Take every free connection out of the pool and never give it back."""
    held = []
    while True:
        try:
            request = client.build_request("GET", f"http://127.0.0.1:{port}/v1/x")
            held.append(await client.send(request, stream=True))
        except httpx.PoolTimeout:
            return held


async def test_a_client_whose_connections_have_leaked_is_replaced(clients):
    async with hostile(hangs_up(0), keeps=True) as site:
        rest = rest_at(site.port, in_flight=1, timeouts=HASTY)
        await rest.ask(m.ReadOrder(ORDER_ID))
        [leaking] = clients
        held = await leak(leaking, site.port)
        answers = [(await rest.ask(m.ReadOrder(ORDER_ID))).answer for _ in range(3)]
        assert [type(each) for each in answers] == [m.Rejected, m.Rejected, m.Ok]
        assert all("PoolTimeout" in each.message for each in answers[:2])
        assert len(clients) == 2
        assert leaking.is_closed
        await rest.drain()
    for response in held:
        await response.aclose()


async def test_a_replaced_client_is_closed_once_its_last_request_is_over(clients):
    replies: list[m.Response] = []
    async with (
        hostile(late(1.5, says(200, ORDER_JSON))) as site,
        hostile(hangs_up(0), keeps=True) as holder,
    ):
        rest = Rest(site.base_url, Secret(KEY), 1, timeouts=HASTY)
        rest.start(sent(create(), 1), replies.append)
        await asyncio.sleep(0.05)
        [old] = clients
        held = await leak(old, holder.port)
        for _ in range(2):
            await rest.ask(m.ReadOrder(ORDER_ID))
        assert not old.is_closed
        await rest.drain()
        assert old.is_closed
    assert isinstance(replies[0].answer, m.Ok)
    for response in held:
        await response.aclose()


async def test_a_wait_for_a_busy_connection_is_no_leak(clients):
    replies: list[m.Response] = []
    async with hostile(late(0.3, says(200, ORDER_JSON))) as site:
        rest = Rest(site.base_url, Secret(KEY), 1, timeouts=HASTY)
        for number in range(60):
            rest.start(sent(m.ReadOrder(ORDER_ID), number), replies.append)
        await rest.drain()
    assert len(clients) == 1
    assert {type(each.answer) for each in replies} == {m.Rejected, m.Ok}


# --- keys -----------------------------------------------------------------------------------------


def key_of(raw: bytes) -> str:
    [line] = [line for line in raw.split(b"\r\n") if line.lower().startswith(b"x-api-key:")]
    return line.partition(b": ")[2].decode()


OTHERS = {m.Key.READ: Secret(READ_KEY), m.Key.STANDBY: Secret(SPARE_KEY)}


@pytest.mark.parametrize(
    ("request_", "key", "carried"),
    [
        (create(), None, KEY),
        (m.CancelResting(ORDER_ID), None, KEY),
        (m.ReadBalance(), None, READ_KEY),
        (m.ReadOrder(ORDER_ID), m.Key.READ, READ_KEY),
        (m.CancelResting(ORDER_ID), m.Key.STANDBY, SPARE_KEY),
        (m.ReadBalance(), m.Key.TRADE, KEY),
    ],
)
async def test_a_request_carries_the_one_key_it_was_given(request_, key, carried):
    async with hostile(says(404, b"")) as site:
        rest = rest_at(site.port, others=OTHERS)
        await rest.ask(request_, key)
        await rest.drain()
    [raw] = site.requests
    assert key_of(raw) == carried
    assert sum(raw.count(each.encode()) for each in (KEY, READ_KEY, SPARE_KEY)) == 1


async def test_a_request_of_the_trader_carries_the_key_it_names():
    async with hostile(says(404, b"")) as site:
        rest = rest_at(site.port, others=OTHERS)
        wish = m.Send(m.RequestId(1), m.CancelResting(ORDER_ID), "why", m.Key.STANDBY)
        rest.start(wish, lambda _: None)
        await rest.drain()
    assert key_of(site.requests[0]) == SPARE_KEY


async def test_a_request_on_a_missing_key_is_not_sent():
    async with hostile(says(404, b"")) as site:
        rest = rest_at(site.port)
        answer = (await rest.ask(m.CancelResting(ORDER_ID), m.Key.STANDBY)).answer
        await rest.drain()
    assert isinstance(answer, m.Rejected)
    assert answer.status == 0
    assert site.requests == []


async def test_a_check_tries_every_key_and_names_a_refused_one():
    async def talk(writer: asyncio.StreamWriter) -> None:
        head = site.requests[-1]
        key = key_of(head)
        if key == READ_KEY and head.startswith(b"GET"):
            body = b'{"available_cents":1,"reserved_cents":0,"total_cents":1}'
            await says(200, body)(writer)
        elif key == KEY:
            await says(404, b'{"code":"order_not_found","error":""}')(writer)
        else:
            await says(401, b'{"code":"unauthenticated","error":""}')(writer)

    async with hostile(talk) as site:
        findings = await probed(site.port, OTHERS)
    assert findings["read scope"].well
    assert findings["trade scope"].well
    assert not findings["standby key"].well
    assert "does not know this key" in findings["standby key"].advice


async def test_a_check_names_a_refused_read_key():
    async with hostile(says(401, b'{"code":"unauthenticated","error":""}')) as site:
        [finding] = (await probed(site.port, OTHERS)).values()
    assert "the read key" in finding.advice


@pytest.mark.parametrize(
    ("status", "code"),
    [(503, b"result_unknown"), (503, b"engine_unavailable"), (409, b"venue_halted")],
)
async def test_a_check_does_not_blame_the_address_for_a_passing_error(status, code):
    async def talk(writer):
        if site.requests[-1].startswith(b"DELETE"):
            await says(status, b'{"code":"%s","error":""}' % code)(writer)
        else:
            await says(200, b'{"available_cents":1,"reserved_cents":0,"total_cents":1}')(writer)

    async with hostile(talk) as site:
        findings = await probed(site.port)
    assert "check again in a moment" in findings["trade scope"].advice


@pytest.mark.parametrize("place", ["secrets", "no/such/folder"])
def test_the_secrets_of_a_connection_are_never_written_to_a_file(monkeypatch, tmp_path, place):
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / place))
    assert trusted().keylog_filename is None
    assert list(tmp_path.iterdir()) == []
