"""Claims about checks: a venue that is right one at a time, or at first, is found out later on."""

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest

from venue.check.api import PATIENCE_S, Caller, Listener
from venue.check.bench import Bench
from venue.check.judge import Json
from venue.check.runner import Result, Verdict, judge_one, suite

pytestmark = pytest.mark.xdist_group("spec")


def judged(bench: Bench, name: str) -> Result:
    (each,) = [each for each in suite() if each.name == name]
    return judge_one(each, bench)


def test_sends_that_make_an_order_each_when_they_come_together_are_found_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = threading.Lock()
    straight = Caller.placed

    def raced(self: Caller, **fields: Any) -> Json:
        order = straight(self, **fields)
        if not busy.acquire(blocking=False):
            return {**order, "order_id": "1"}
        time.sleep(0.02)
        busy.release()
        return order

    monkeypatch.setattr(Caller, "placed", raced)
    result = judged(bench, "many_re_sends_at_once_make_one_order")
    assert result.verdict is Verdict.FAILED, result
    assert "orders of 30 sends: got 2" in result.reason


def test_a_book_that_is_told_only_when_a_price_comes_or_goes_is_found_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = Listener.frame
    told: list[list[int]] = []

    def sparing(self: Listener, timeout_s: float = PATIENCE_S) -> Json:
        while True:
            body = straight(self, timeout_s)
            data = body.get("data", {})
            if data.get("type") != "prediction-orderbook":
                return body
            prices = [level["price"] for level in data["yes"]]
            if prices not in told[-1:]:
                told.append(prices)
                return body

    monkeypatch.setattr(Listener, "frame", sparing)
    result = judged(bench, "a_level_that_grows_or_shrinks_is_told_anew")
    assert result.verdict is Verdict.FAILED, result
    assert "no frame within" in result.reason


def test_a_bucket_that_refills_too_slowly_is_found_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = Caller.ask
    throttled = False

    def meagre(self: Caller, method: str, path: str, *args: Any, **more: Any) -> httpx.Response:
        nonlocal throttled
        reply = straight(self, method, path, *args, **more)
        if throttled and reply.status_code == 200:
            reply.headers["x-ratelimit-remaining"] = "50"
        throttled |= reply.status_code == 429
        return reply

    monkeypatch.setattr(Caller, "ask", meagre)
    result = judged(bench, "the_bucket_holds_500_and_refills_at_250_a_second")
    assert result.verdict is Verdict.FAILED, result
    assert "50 left after" in result.reason


def test_a_sale_that_is_amended_beyond_what_is_held_is_found_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = Caller.amend

    def generous(self: Caller, order_id: str, **fields: Any) -> httpx.Response:
        reply = straight(self, order_id, **fields)
        return straight(self, order_id, qty=4) if reply.status_code == 422 else reply

    monkeypatch.setattr(Caller, "amend", generous)
    result = judged(bench, "an_amend_offers_no_more_than_is_held")
    assert result.verdict is Verdict.FAILED, result
    assert "where a refusal was due" in result.reason


def test_a_snapshot_that_holds_one_page_of_resting_orders_is_found_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = Caller.get

    def paged(self: Caller, path: str, /, **params: Any) -> Json:
        body = straight(self, path, **params)
        return {name: v[:100] if isinstance(v, list) else v for name, v in body.items()}

    monkeypatch.setattr(Caller, "get", paged)
    result = judged(bench, "a_snapshot_lists_every_resting_order")
    assert result.verdict is Verdict.FAILED, result


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("the_description_needs_no_credential", b"openapi: 3.1.0: what"),
        ("the_description_needs_no_credential", b"info: [" * 100_000),
        ("a_limit_outside_its_range_is_clamped", b'{"a":' * 100_000),
    ],
)
def test_a_reply_that_no_parser_gets_through_has_a_result(name: str, body: bytes) -> None:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        bench = Bench(url, f"{url}/stream", None, ["a-key"])
        result = judged(bench, name)
        bench.close()
        server.shutdown()
    assert result.verdict is Verdict.FAILED, result
    assert "not as it should be" in result.reason
