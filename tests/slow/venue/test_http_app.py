"""Claims about the shell itself: paths, bodies, deadlines, faults inside."""

import asyncio
import json

import pytest

from tests.builders.venue.rest_bench import LOW, TICKERS, Client, order, sha256_hex
from venue.engine import messages as m
from venue.rest import app as app_module
from venue.rest.app import READS, WRITES, make_app
from venue.wire import routes
from venue.wire.limits import BODY_BYTES_MAX

pytestmark = pytest.mark.anyio


def test_every_route_except_the_description_has_a_handler():
    assert {*READS, *WRITES} == {*routes.ROUTES} - {routes.OPENAPI}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""), ("GET", "/"), ("POST", "/openapi.yaml"), ("GET", "/nothing"),
        ("GET", "/markets/"), ("GET", "//markets"), ("GET", "/Markets"), ("GET", "/markets/X"),
        ("GET", "/markets/./X/orderbook"), ("GET", "/%zz"), ("GET", "/markets%2Fx"),
        ("GET", "/portfolio"), ("GET", "/orders/7/fills"), ("DELETE", "/orders"),
        ("POST", "/orders/7"), ("PATCH", "/orders/7"), ("HEAD", "/markets"), ("OPTIONS", "/orders"),
        ("GET", "/stream"), ("GET", "/markets/{market_id}/orderbook/x"),
    ],
)  # fmt: skip
async def test_an_unknown_path_or_method_is_market_not_found(desk, method, path):
    assert await raw(desk, method, f"/v1{path}") == (404, "market_not_found")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (f"/v1/%6Darkets/{TICKERS[LOW]}/orderbook", (200, None)),
        (f"/v1/markets/{TICKERS[LOW].replace('A', '%41')}/orderbook", (200, None)),
        ("/v1/markets/../orderbook", (404, "market_not_found")),
        ("/v1/markets/%2e%2e/orderbook", (404, "market_not_found")),
        ("/v1/markets/a%2Fb/orderbook", (400, "invalid_market_identifier")),
        ("/v1/markets/%0A/orderbook", (400, "invalid_market_identifier")),
        ("/v1/markets/A%0A/orderbook", (400, "invalid_market_identifier")),
        ("/v1/markets/%zz/orderbook", (400, "invalid_market_identifier")),
        ("/v1/markets//orderbook", (400, "invalid_market_identifier")),
        ("/v1/events/%ff", (400, "invalid_market_identifier")),
        ("/v1/orders/%EF%BC%91", (400, "invalid_order_id")),
        ("/v1/orders/1%0A", (400, "invalid_order_id")),
    ],
)
async def test_each_path_segment_is_decoded_on_its_own(desk, path, answer):
    assert await raw(desk, "GET", path) == answer


async def test_the_root_leads_to_the_description(desk):
    sent = await exchange(desk, "GET", "/")
    assert sent[0]["status"] == 307
    assert dict(sent[0]["headers"])[b"location"] == b"/v1/openapi.yaml"


async def test_a_path_of_thousands_of_segments_is_rejected_without_decoding(desk, monkeypatch):
    decoded = []
    monkeypatch.setattr(app_module, "percent_decoded", decoded.append)
    assert await raw(desk, "GET", "/v1" + "/a" * 3_000) == (404, "market_not_found")
    assert decoded == []


async def raw(desk, method, path, chunks=(b"",), headers=()):
    """Status and code of a request whose path goes out to the letter."""
    sent = await exchange(desk, method, path, chunks, headers)
    body = json.loads(sent[1]["body"])
    return sent[0]["status"], body.get("code")


async def exchange(desk, method, path, chunks=(b"",), headers=()):
    left, sent = list(chunks), []

    async def receive():
        chunk = left.pop(0)
        if isinstance(chunk, dict):
            return chunk
        if chunk is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": chunk, "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"x-api-key", b"anna-key"), *headers],
    }
    await make_app(desk)(scope, receive, send)
    return sent


# --- bodies --------------------------------------------------------------------------------------

AMEND = b'{"qty": 1}'


async def test_a_body_in_many_pieces_is_read_as_one(desk):
    desk.answers.append(m.Amended(order(7), True))
    pieces = [AMEND[index : index + 1] for index in range(len(AMEND))]
    assert (await raw(desk, "PUT", "/v1/orders/7", pieces))[0] == 200
    assert desk.commands[0].amend.qty == 1


async def test_a_body_of_16_kib_is_read_and_one_byte_more_is_not(desk):
    desk.answers.append(m.Amended(order(7), True))
    whole = AMEND + b" " * (BODY_BYTES_MAX - len(AMEND))
    assert (await raw(desk, "PUT", "/v1/orders/7", [whole]))[0] == 200
    refused = await raw(desk, "PUT", "/v1/orders/7", [whole + b" "])
    assert refused == (400, "invalid_request_body")


async def test_an_oversize_body_is_rejected_without_reading_the_rest(desk):
    unread = [b"x" * 10_000, b"x" * 10_000, None]
    assert await raw(desk, "PUT", "/v1/orders/7", unread) == (400, "invalid_request_body")


@pytest.mark.parametrize("length", [b"16385", b"9" * 30, b"9" * 5000])
async def test_an_announced_oversize_body_is_rejected_without_reading_it(desk, length):
    refused = await raw(desk, "PUT", "/v1/orders/7", [None], [(b"content-length", length)])
    assert refused == (400, "invalid_request_body")


async def test_a_body_that_stalls_is_rejected_at_its_timeout(desk, monkeypatch):
    monkeypatch.setattr(app_module, "BODY_DEADLINE_S", 0.01)
    refused = await raw(desk, "PUT", "/v1/orders/7", [b"{", None])
    assert refused == (400, "invalid_request_body")
    assert desk.commands == []


async def test_a_request_cut_off_by_its_caller_reaches_no_engine(desk):
    gone = [b"{", {"type": "http.disconnect"}]
    assert await exchange(desk, "PUT", "/v1/orders/7", gone) == []
    assert desk.commands == []


# --- faults inside -------------------------------------------------------------------------------


async def test_an_internal_error_is_500_without_detail(desk, monkeypatch):
    desk.answers.append(RuntimeError("the secret detail"))
    reply = await Client(desk).ask("DELETE", "/orders/7")
    assert reply.status_code == 500
    assert reply.json() == {"code": "internal_error", "error": "internal error"}
    assert reply.headers["x-ratelimit-remaining"] == "499"


async def test_replies_and_log_lines_never_show_the_key(desk, capsys, caplog):
    desk.answers += [RuntimeError("inside"), m.Refused(app_module.Code.INVALID_REQUEST, "no")]
    texts = []
    for method, path in [("DELETE", "/orders/7"), ("DELETE", "/orders/7"), ("GET", "/no")]:
        reply = await Client(desk).ask(method, path)
        texts += [reply.text, str(reply.headers)]
    printed = capsys.readouterr()
    # The first user of this logger in the process decided where its lines go.
    log_text = printed.out + printed.err + caplog.text
    texts.append(log_text)
    assert "internal_error" in log_text
    assert not any("anna-key" in text or sha256_hex("anna-key") in text for text in texts)
