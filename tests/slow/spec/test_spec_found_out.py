"""Claims about checks: a venue that is right one at a time, or at first, is found out later on."""

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from venue.conformance.api import PATIENCE_S, Caller, Listener, Target, fresh_id
from venue.conformance.bench import Bench
from venue.conformance.runner import Verdict, Wanted, judge_one, suite, why_skipped

pytestmark = pytest.mark.xdist_group("spec")


def judged(bench, name):
    (each,) = [each for each in suite() if each.name == name]
    return judge_one(each, bench)


def test_sends_that_make_an_order_each_when_they_come_together_are_found_out(bench, monkeypatch):
    busy = threading.Lock()
    straight = Caller.placed

    def raced(self, **fields):
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


def test_a_book_that_is_told_only_when_a_price_comes_or_goes_is_found_out(bench, monkeypatch):
    straight = Listener.frame
    told: list[list[int]] = []

    def sparing(self, timeout_s=PATIENCE_S):
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


def test_a_bucket_that_refills_too_slowly_is_found_out(bench, monkeypatch):
    straight = Caller.ask
    throttled = False

    def meagre(self, method, path, *args, **more):
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


def test_a_sale_that_is_amended_beyond_what_is_held_is_found_out(bench, monkeypatch):
    straight = Caller.amend

    def generous(self, order_id, **fields):
        reply = straight(self, order_id, **fields)
        return straight(self, order_id, qty=4) if reply.status_code == 422 else reply

    monkeypatch.setattr(Caller, "amend", generous)
    result = judged(bench, "an_amend_offers_no_more_than_is_held")
    assert result.verdict is Verdict.FAILED, result
    assert "where a refusal was due" in result.reason


def test_a_snapshot_that_holds_one_page_of_resting_orders_is_found_out(bench, monkeypatch):
    straight = Caller.get

    def paged(self, path, /, **params):
        body = straight(self, path, **params)
        return {name: v[:100] if isinstance(v, list) else v for name, v in body.items()}

    monkeypatch.setattr(Caller, "get", paged)
    result = judged(bench, "a_snapshot_lists_every_resting_order")
    assert result.verdict is Verdict.FAILED, result


# --- what a check had looked at too little ------------------------------------------------------


def _deaf_to(path, *filters):
    """A venue that does not know these filters of a list."""

    def bend(_, asked, params):
        if asked.endswith(path):
            for name in filters:
                params.pop(name, None)

    return bend


@pytest.mark.parametrize(
    ("name", "bend"),
    [
        ("a_print_is_canonical_and_names_nobody", _deaf_to("/trades", "from_", "to")),
        (
            "fills_say_who_traded_what_at_which_price_and_fee",
            _deaf_to("/portfolio/fills", "event_ticker"),
        ),
        (
            "fills_say_who_traded_what_at_which_price_and_fee",
            _deaf_to("/portfolio/fills", "ticker"),
        ),
        (
            "positions_say_what_the_shares_held_have_cost",
            _deaf_to("/portfolio/positions", "event_ticker"),
        ),
        (
            "positions_say_what_the_shares_held_have_cost",
            _deaf_to("/portfolio/positions", "ticker"),
        ),
        ("a_print_is_canonical_and_names_nobody", _deaf_to("/trades", "limit")),
        ("fills_say_who_traded_what_at_which_price_and_fee", _deaf_to("/portfolio/fills", "limit")),
        ("one_market_can_yield_two_positions", _deaf_to("/portfolio/positions", "limit")),
        ("events_page_like_every_list", _deaf_to("/events", "limit")),
    ],
)
def test_a_list_that_does_not_look_at_a_filter_is_found_out(bench, monkeypatch, name, bend):
    straight = Caller.get

    def deaf(self, path, /, **params):
        bend(self, path, params)
        return straight(self, path, **params)

    monkeypatch.setattr(Caller, "get", deaf)
    result = judged(bench, name)
    assert result.verdict is Verdict.FAILED, result


def test_a_refused_subscribe_of_which_a_part_is_taken_is_found_out(bench, monkeypatch):
    straight = Listener.refused
    kept: list[Target] = []
    first = Listener.accepted

    def accepted(self, *targets):
        kept[:] = targets
        return first(self, *targets)

    def partly(self, *targets):
        good = [target for target in targets if "NOBODY" not in target[2]]
        for _ in range(first(self, *kept, *good)):
            self.frame()
        return straight(self, *targets)

    monkeypatch.setattr(Listener, "accepted", accepted)
    monkeypatch.setattr(Listener, "refused", partly)
    result = judged(bench, "one_unknown_target_refuses_the_frame_and_leaves_the_old_set")
    assert result.verdict is Verdict.FAILED, result
    assert "a frame where none was due" in result.reason


def test_an_engine_that_is_called_unavailable_and_works_is_found_out_whatever_reads_lag(
    bench, monkeypatch
):
    straight = Caller.ask

    def told(self, method, path, *args, **more):
        reply = straight(self, method, path, *args, **more)
        if reply.json().get("code") == "internal_error":
            body = {"code": "engine_unavailable", "error": "x"}
            return httpx.Response(503, json=body, request=reply.request)
        return reply

    def fault(self, kind, **more):
        return bent(self, "internal_error_after", **more)

    bent = Bench.fault
    monkeypatch.setattr(Caller, "ask", told)
    monkeypatch.setattr(Bench, "fault", fault)
    monkeypatch.setattr(Bench, "settle_s", 0.3)
    with bench.projection(100):
        result = judged(bench, "an_unavailable_engine_sequenced_nothing")
    assert result.verdict is Verdict.FAILED, result
    assert "canceled" in result.reason


def test_values_that_are_looked_at_before_types_are_found_out(bench, monkeypatch):
    straight = Caller.place

    def hasty(self, **fields):
        if fields["price"] == 0:
            fields["qty"] = 1
        return straight(self, **fields)

    monkeypatch.setattr(Caller, "place", hasty)
    result = judged(bench, "refusals_come_in_their_order")
    assert result.verdict is Verdict.FAILED, result


def test_a_refused_duplicate_that_makes_an_order_is_found_out(bench, monkeypatch):
    straight = Caller.refused

    def doubled(self, **fields):
        self.place(**{**fields, "client_order_id": fresh_id()})
        return straight(self, **fields)

    monkeypatch.setattr(Caller, "refused", doubled)
    result = judged(bench, "a_re_send_with_another_body_is_a_duplicate")
    assert result.verdict is Verdict.FAILED, result
    assert "orders of one client_order_id" in result.reason


def test_amends_that_never_match_are_found_out_without_any_reading(bench, monkeypatch):
    straight = Caller.amended

    def asleep(self, order_id, **fields):
        order = straight(self, order_id, **fields)
        left = order["filled_qty"] + order["remaining_qty"]
        return {**order, "status": "open", "filled_qty": 0, "remaining_qty": left}

    monkeypatch.setattr(Caller, "amended", asleep)
    name = "an_amend_to_a_crossing_price_says_what_matching_did"
    (each,) = [each for each in suite() if each.name == name]
    assert why_skipped(each, Wanted(True, 0, readings=False)) == ""
    result = judge_one(each, bench)
    assert result.verdict is Verdict.FAILED, result


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        ("a_cursor_with_any_character_changed_is_refused", {"cursor": ""}),
        ("ids_of_markets_events_and_companies_are_uuids", {"events": []}),
        ("tickers_nest_by_prefix", {"events": []}),
    ],
)
def test_a_list_that_shows_nothing_proves_nothing(bench, monkeypatch, name, empty):
    straight = Caller.get

    def bare(self, path, /, **params):
        body = straight(self, path, **params)
        return {**body, **empty} if path in ("/markets", "/events") else body

    monkeypatch.setattr(Caller, "get", bare)
    result = judged(bench, name)
    assert result.verdict is Verdict.FAILED, result


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("the_description_needs_no_credential", b"openapi: 3.1.0: what"),
        ("the_description_needs_no_credential", b"info: [" * 100_000),
        ("a_limit_outside_its_range_is_clamped", b'{"a":' * 100_000),
    ],
)
def test_a_reply_that_no_parser_gets_through_has_a_result(name, body):
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
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


def test_a_book_that_tells_the_instant_of_the_request_is_found_out(bench, monkeypatch):
    straight = Caller.get

    def stamped(self, path, /, **params):
        body = straight(self, path, **params)
        return {**body, "as_of": str(time.time_ns())} if "as_of" in body else body

    monkeypatch.setattr(Caller, "get", stamped)
    result = judged(bench, "as_of_advances_while_trades_print")
    assert result.verdict is Verdict.FAILED, result
    assert "at every look" in result.reason


def _price_of_its_maker(data):
    if data["type"] == "prediction-trade" and data["maker"]["outcome"] == "no":
        data["price"] = 100 - data["price"]


def _all_buyers(data):
    if data["type"] == "prediction-trade":
        data["maker"]["side"] = data["taker"]["side"] = "buy"


def _one_kind_of_taker(data):
    if data["type"] == "prediction-trade":
        data["taker"] = {"outcome": "no", "side": "buy"}


def _of_another_market(data):
    if data["type"] == "prediction-trade":
        data["eventMarketId"] = "00000000-0000-4000-8000-000000000000"


def _under_another_ticker(data):
    if data["type"] == "prediction-ticker":
        data["ticker"] = "NOBODY-26Q4-1B"


@pytest.mark.parametrize(
    "bend",
    [
        _price_of_its_maker,
        _all_buyers,
        _one_kind_of_taker,
        _of_another_market,
        _under_another_ticker,
    ],
)
def test_a_print_that_the_channel_tells_otherwise_is_found_out(bench, monkeypatch, bend):
    straight = Listener.frame

    def bent(self, timeout_s=PATIENCE_S):
        body = straight(self, timeout_s)
        if body["type"] == "market-update":
            bend(body["data"])
        return body

    monkeypatch.setattr(Listener, "frame", bent)
    result = judged(bench, "a_print_of_the_channel_is_canonical_whoever_made_it")
    assert result.verdict is Verdict.FAILED, result


def _ids_of_no_print(body):
    for fill in body.get("fills", ()):
        fill["trade_id"] = f"0{fill['trade_id']}"


def _one_id_for_all(body):
    for fill in body.get("fills", ()):
        fill["fill_id"] = "1"


def _rounded_down(body):
    for position in body.get("positions", ()):
        position["avg_entry_price"] = position["cost_basis"] // position["qty"]


def _of_no_market(body):
    for fill in body.get("fills", ()):
        fill["market_id"] = "00000000-0000-4000-8000-000000000000"


def _committed_from_the_start(body):
    for order in body.get("resting_orders", ()):
        if order["side"] == "sell":
            order["remaining_qty"] = order["qty"]


def _long_ago(body):
    for candle in body.get("candles", ()):
        candle["timestamp"] = "2020-01-01T00:00:00.000000000Z"


def _of_no_company(body):
    for event in body.get("events", ()):
        event["project_id"] = event["project_market_id"]


@pytest.mark.parametrize(
    ("name", "bend"),
    [
        ("fills_say_who_traded_what_at_which_price_and_fee", _ids_of_no_print),
        ("fills_say_who_traded_what_at_which_price_and_fee", _one_id_for_all),
        ("fills_say_who_traded_what_at_which_price_and_fee", _of_no_market),
        ("positions_say_what_the_shares_held_have_cost", _rounded_down),
        ("a_sale_that_rests_commits_its_shares_in_the_snapshot", _committed_from_the_start),
        ("candles_of_every_interval_tell_the_tape", _long_ago),
        ("events_filter_by_series_company_and_status", _of_no_company),
    ],
)
def test_a_read_that_is_told_otherwise_is_found_out(bench, monkeypatch, name, bend):
    straight = Caller.get

    def bent(self, path, /, **params):
        body = straight(self, path, **params)
        bend(body)
        return body

    monkeypatch.setattr(Caller, "get", bent)
    result = judged(bench, name)
    assert result.verdict is Verdict.FAILED, result
