"""Claims about one request and its one answer: what failed how, and what that says of a write."""

import asyncio
import json
import pickle
import socket

import httpx
import pytest

from bot.core import messages as m
from bot.io.client.answers import answer_of, retry_after_ns, tokens_left
from bot.io.client.rest import NEVER_LEFT, Rest
from bot.io.secret import Secret
from tests.builders.io.hostile import blurts, hostile, late, says, silence
from tests.builders.io.samples import ORDER_ID, ORDER_JSON, RUNG, create, sent
from venue.wire import codec
from venue.wire.errors import CODES, Code, Sequenced
from venue.wire.money import Price
from venue.wire.names import MarketId, OrderId, Ticker
from venue.wire.requests import Amend

pytestmark = pytest.mark.anyio
KEY = "lm_canary_0123456789"
PATIENT = httpx.Timeout(10.0)
QUICK = httpx.Timeout(connect=5.0, read=0.2, write=5.0, pool=5.0)


def rest_at(base_url: str, timeouts: httpx.Timeout = PATIENT) -> Rest:
    return Rest(base_url, Secret(KEY), 4, timeouts=timeouts)


async def ask(base_url: str, request: m.Request, timeouts: httpx.Timeout = PATIENT):
    rest = rest_at(base_url, timeouts)
    try:
        return await rest.ask(request)
    finally:
        await rest.drain()


def all_subclasses(kind: type) -> list[type]:
    return [kind, *(deep for sub in kind.__subclasses__() for deep in all_subclasses(sub))]


KINDS = sorted(all_subclasses(httpx.HTTPError), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", [*KINDS, ZeroDivisionError])
async def test_a_failed_request_is_rejected_only_if_it_never_left(kind, monkeypatch):
    fault = kind.__new__(kind)
    Exception.__init__(fault, "broken")

    async def fail(*_args, **_kwargs):
        raise fault

    monkeypatch.setattr(httpx.AsyncClient, "send", fail)
    answer = (await ask("http://127.0.0.1:1/v1", create())).answer
    if issubclass(kind, NEVER_LEFT):
        assert isinstance(answer, m.Rejected)
        assert (answer.status, answer.code) == (0, "")
    else:
        assert isinstance(answer, m.Unknown)


def test_only_failures_before_the_first_byte_count_as_never_left():
    assert set(NEVER_LEFT) == {httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout}


async def test_a_refused_connection_is_rejected_as_never_sent():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        reply = await ask(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", create())
    assert isinstance(reply.answer, m.Rejected)
    assert reply.answer.status == 0


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(ORDER_JSON) + ORDER_JSON


@pytest.mark.parametrize("kept", [0, 1, 9, 17, 30, len(WHOLE) - len(ORDER_JSON), len(WHOLE) - 1])
async def test_a_response_cut_at_any_byte_is_unknown(kept):
    async with hostile(blurts(WHOLE[:kept])) as site:
        assert isinstance((await ask(site.base_url, create())).answer, m.Unknown)


async def test_a_whole_response_is_ok():
    async with hostile(blurts(WHOLE)) as site:
        answer = (await ask(site.base_url, create())).answer
    assert isinstance(answer, m.Ok)
    assert answer.body.order.order_id == ORDER_ID


async def test_a_request_without_a_response_is_unknown():
    async with hostile(silence) as site:
        answer = (await ask(site.base_url, create(), QUICK)).answer
    assert isinstance(answer, m.Unknown)
    assert "ReadTimeout" in answer.reason


HTML = b"<html><body>bad gateway</body></html>"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"", m.Unknown),
        (200, HTML, m.Unknown),
        (201, ORDER_JSON, m.Ok),
        (204, b"", m.Unknown),
        (502, HTML, m.Unknown),
        (504, HTML, m.Unknown),
        (500, b'{"code":"internal_error","error":"x"}', m.Unknown),
        (503, b'{"code":"result_unknown","error":"x"}', m.Unknown),
        (503, b'{"code":"engine_unavailable","error":"x"}', m.Rejected),
        (503, b'{"code":"engine_unav', m.Unknown),
        (404, HTML, m.Unknown),
        (408, b"", m.Unknown),
        (403, b'{"code":"","error":"x"}', m.Unknown),
        (404, b'{"code":"order_not_found"}', m.Rejected),
        (418, b'{"code":"brand_new_code","error":"x"}', m.Rejected),
        (429, b"", m.Rejected),
        (401, b"{}", m.Unknown),
        (422, b'{"code":7}', m.Unknown),
        (300, b"", m.Unknown),
    ],
)
async def test_a_response_is_judged_by_its_status_and_code(status, body, kind):
    async with hostile(says(status, body)) as site:
        answer = (await ask(site.base_url, create())).answer
    assert type(answer) is kind
    if isinstance(answer, m.Rejected):
        assert answer.status == status


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 422])
def test_a_read_rejected_without_a_code_is_rejected(status):
    assert answer_of(m.ReadOrder(ORDER_ID), status, HTML) == m.Rejected(status, "", "")


@pytest.mark.parametrize("code", list(Code))
def test_every_error_code_is_judged_by_its_row_of_the_table(code):
    row = CODES[code]
    body = b'{"code":"%s","error":"text"}' % code.value.encode()
    answer = answer_of(create(), row.status, body)
    if row.sequenced is Sequenced.UNKNOWN:
        assert isinstance(answer, m.Unknown)
        assert code.value in answer.reason
    else:
        assert answer == m.Rejected(row.status, code.value, "text")


READS: list[m.Request] = [
    m.ReadOrder(ORDER_ID),
    m.ReadResting(""),
    m.ReadFills("c"),
    m.ReadPositions(""),
    m.ReadBalance(),
    m.ReadSeries(Ticker("X-VAL"), ""),
    m.ReadBook(RUNG),
]
WRITES: list[m.Request] = [
    create(),
    m.AmendResting(ORDER_ID, Amend(price=Price(41))),
    m.CancelResting(ORDER_ID),
]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("request_", [WRITES[0], WRITES[1], WRITES[2], READS[4]])
async def test_a_redirect_is_never_followed(status, request_):
    async with hostile(says(200, ORDER_JSON)) as other:
        where = f"Location: http://127.0.0.1:{other.port}/v1/orders"
        async with hostile(says(status, b"", where)) as site:
            answer = (await ask(site.base_url, request_)).answer
            assert len(site.requests) == 1
    assert isinstance(answer, m.Unknown)
    assert other.requests == []


LINES = {
    "Create": b"POST /v1/orders HTTP/1.1",
    "AmendResting": b"PUT /v1/orders/12345678901234567890 HTTP/1.1",
    "CancelResting": b"DELETE /v1/orders/12345678901234567890 HTTP/1.1",
    "ReadOrder": b"GET /v1/orders/12345678901234567890 HTTP/1.1",
    "ReadResting": b"GET /v1/orders?status=resting&limit=1000 HTTP/1.1",
    "ReadFills": b"GET /v1/portfolio/fills?limit=1000&cursor=c HTTP/1.1",
    "ReadPositions": b"GET /v1/portfolio/positions?limit=1000 HTTP/1.1",
    "ReadBalance": b"GET /v1/portfolio/balance HTTP/1.1",
    "ReadSeries": b"GET /v1/events/X-VAL?limit=1000 HTTP/1.1",
    "ReadBook": b"GET /v1/markets/" + RUNG.encode() + b"/orderbook HTTP/1.1",
}


@pytest.mark.parametrize("request_", [*WRITES, *READS], ids=lambda r: type(r).__name__)
async def test_a_request_goes_to_its_route_with_the_key_in_its_header_alone(request_):
    async with hostile(says(404, b"")) as site:
        await ask(site.base_url, request_)
    [raw] = site.requests
    assert raw.split(b"\r\n")[0] == LINES[type(request_).__name__]
    assert raw.count(KEY.encode()) == 1
    assert f"\r\nx-api-key: {KEY}\r\n".encode() in raw.replace(b"X-API-KEY", b"x-api-key")


async def test_only_the_first_page_of_the_fills_is_short():
    async with hostile(says(404, b"")) as site:
        await ask(site.base_url, m.ReadFills(""))
    assert site.requests[0].startswith(b"GET /v1/portfolio/fills?limit=100 HTTP/1.1")


async def test_a_create_is_sent_byte_for_byte():
    async with hostile(says(201, ORDER_JSON)) as site:
        await ask(site.base_url, create())
    assert site.requests[0].endswith(b"\r\n\r\n" + codec.encode_new_order(create().order))


@pytest.mark.parametrize(
    "request_",
    [
        m.ReadOrder(OrderId("..")),
        m.CancelResting(OrderId("12/../../markets")),
        m.CancelResting(OrderId("")),
        m.ReadBook(MarketId("..")),
        m.ReadBook(MarketId("a/b")),
        m.ReadSeries(Ticker("X?limit=1"), ""),
        m.ReadSeries(Ticker("X\r\nEvil: 1"), ""),
    ],
)
async def test_an_id_that_could_name_another_route_never_leaves(request_):
    async with hostile(says(200, b"{}")) as site:
        answer = (await ask(site.base_url, request_)).answer
    assert isinstance(answer, m.Rejected)
    assert answer.status == 0
    assert site.requests == []


@pytest.mark.parametrize(
    ("header", "tokens", "wait_ns"),
    [
        ("X-RateLimit-Remaining: 41", 41, None),
        ("X-RateLimit-Remaining: -1", None, None),
        ("X-RateLimit-Remaining: 1e3", None, None),
        ("X-RateLimit-Remaining: ", None, None),
        ("Retry-After: 3", None, 3_000_000_000),
        ("Retry-After: 1000000000", None, 60_000_000_000),
        ("Retry-After: -5", None, None),
        ("Retry-After: soon", None, None),
        ("Retry-After: 0.5", None, 1_000_000_000),
        ("Retry-After: 12.5", None, 13_000_000_000),
        ("Retry-After: 12.00", None, 12_000_000_000),
        ("Retry-After: .5", None, None),
    ],
)
async def test_limit_headers_are_read_tolerantly(header, tokens, wait_ns):
    async with hostile(says(429, b"", header)) as site:
        reply = await ask(site.base_url, create())
    assert (reply.tokens_left, reply.retry_after_ns) == (tokens, wait_ns)


def test_a_retry_date_is_the_time_from_now_and_never_below_zero():
    date = {"Retry-After": "Sat, 21 Nov 2026 09:00:05 GMT"}
    at_s = 1795251600.0
    assert retry_after_ns(date, at_s) == 5_000_000_000
    assert retry_after_ns(date, at_s + 60) == 0
    assert tokens_left({}) is None


async def test_a_body_without_end_is_given_up():
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
            await writer.drain()

    async with hostile(endless) as site:
        answer = (await ask(site.base_url, m.ReadBalance())).answer
    assert answer == m.Unknown("200 with an endless body")


async def test_a_request_that_may_not_leave_is_rejected_and_never_sent():
    async def never() -> bool:
        return False

    replies: list[m.Response] = []
    async with hostile(says(201, ORDER_JSON)) as site:
        rest = rest_at(site.base_url)
        rest.start(sent(create()), replies.append, never)
        await rest.drain()
        assert site.requests == []
    assert [reply.answer.status for reply in replies] == [0]


async def test_cancelling_the_waiting_task_does_not_lose_the_response():
    replies: list[m.Response] = []

    async with hostile(late(0.1, says(201, ORDER_JSON))) as site:
        rest = rest_at(site.base_url)

        async def outer() -> None:
            rest.start(sent(create(), 7), replies.append)
            await asyncio.sleep(10)

        task = asyncio.ensure_future(outer())
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.wait([task])
        await rest.drain()
    assert [(reply.request_id, type(reply.answer)) for reply in replies] == [(7, m.Ok)]


async def test_each_of_more_requests_than_connections_is_answered_once():
    replies: list[int] = []
    async with hostile(says(404, b"")) as site:
        rest = rest_at(site.base_url)
        for number in range(60):
            rest.start(
                sent(m.CancelResting(ORDER_ID), number),
                lambda reply: replies.append(reply.request_id),
            )
        await rest.drain()
    assert sorted(replies) == list(range(60))


def test_a_key_is_in_no_representation_of_a_secret_or_a_client():
    secret = Secret(KEY)
    client = Rest("http://127.0.0.1:1/v1", secret, 1, others={m.Key.READ: Secret(f"{KEY}_2")})
    shown = (repr(secret), str(secret), f"{secret}", f"{secret!r:>20}", str([secret]))
    assert not any(KEY in text for text in (*shown, repr(vars(client))))
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"code": "unauthenticated", "error": f"the key {KEY} was revoked"}),
        (418, {"code": f"no_{KEY}", "error": ""}),
        (503, {"code": f"no_{KEY}", "error": ""}),
        (200, {"order_id": "1", "status": KEY}),
    ],
)
async def test_no_answer_repeats_a_key_that_the_response_echoes(status, body):
    async with hostile(says(status, json.dumps(body).encode(), f"X-Key: {KEY}")) as site:
        answer = (await ask(f"http://127.0.0.1:{site.port}/v1", m.ReadOrder(OrderId("1")))).answer
    assert KEY not in str(answer)
    assert not isinstance(answer, m.Ok)
    if status == 401:
        assert answer == m.Rejected(401, "unauthenticated", "the key [masked] was revoked")


async def test_no_transport_fault_repeats_the_key():
    async with hostile(blurts(f"{KEY} 200\r\n\r\n".encode())) as site:
        answer = (await ask(f"http://127.0.0.1:{site.port}/v1", m.ReadBalance())).answer
    assert isinstance(answer, m.Unknown)
    assert KEY not in answer.reason
