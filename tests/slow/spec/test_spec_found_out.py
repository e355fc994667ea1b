"""Claims about checks: a venue that is right one at a time, or at first, is found out later on."""

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from tests.builders.spec.site import assert_failed, check_named, judged
from venue.conformance.api import PATIENCE_S, Caller, Listener, Target, fresh_id
from venue.conformance.bench import Bench
from venue.conformance.runner import Verdict, Wanted, judge_one, why_skipped

pytestmark = pytest.mark.xdist_group("spec")


def test_the_judge_detects_concurrent_resends_that_make_two_orders(bench, monkeypatch):
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
    assert_failed(bench, "many_re_sends_at_once_make_one_order", "orders of 30 sends: got 2")


def test_the_judge_detects_missing_book_frames_of_size_changes(bench, monkeypatch):
    straight = Listener.frame
    shown: list[list[int]] = []

    def sparing(self, timeout_s=PATIENCE_S):
        while True:
            body = straight(self, timeout_s)
            data = body.get("data", {})
            if data.get("type") != "prediction-orderbook":
                return body
            prices = [level["price"] for level in data["yes"]]
            if prices not in shown[-1:]:
                shown.append(prices)
                return body

    monkeypatch.setattr(Listener, "frame", sparing)
    assert_failed(bench, "a_level_that_grows_or_shrinks_is_told_anew", "no frame within")


def test_the_judge_detects_a_bucket_that_refills_too_slowly(bench, monkeypatch):
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
    assert_failed(bench, "the_bucket_holds_500_and_refills_at_250_a_second", "50 left after")


def test_the_judge_detects_a_sale_amended_beyond_the_shares_held(bench, monkeypatch):
    straight = Caller.amend

    def generous(self, order_id, **fields):
        reply = straight(self, order_id, **fields)
        return straight(self, order_id, qty=4) if reply.status_code == 422 else reply

    monkeypatch.setattr(Caller, "amend", generous)
    assert_failed(bench, "an_amend_offers_no_more_than_is_held", "where a refusal was due")


def test_the_judge_detects_a_snapshot_with_one_page_of_resting_orders(bench, monkeypatch):
    straight = Caller.get

    def paged(self, path, /, **params):
        body = straight(self, path, **params)
        return {name: v[:100] if isinstance(v, list) else v for name, v in body.items()}

    monkeypatch.setattr(Caller, "get", paged)
    assert_failed(bench, "a_snapshot_lists_every_resting_order")


# --- what a check had looked at too little ------------------------------------------------------


def deaf_to(path, *filters):
    """A venue that does not know these filters of a list."""

    def bend(_, asked, params):
        if asked.endswith(path):
            for name in filters:
                params.pop(name, None)

    return bend


@pytest.mark.parametrize(
    ("name", "bend"),
    [
        ("a_print_is_canonical_and_names_nobody", deaf_to("/trades", "from_", "to")),
        (
            "fills_say_who_traded_what_at_which_price_and_fee",
            deaf_to("/portfolio/fills", "event_ticker"),
        ),
        (
            "fills_say_who_traded_what_at_which_price_and_fee",
            deaf_to("/portfolio/fills", "ticker"),
        ),
        (
            "positions_say_what_the_shares_held_have_cost",
            deaf_to("/portfolio/positions", "event_ticker"),
        ),
        (
            "positions_say_what_the_shares_held_have_cost",
            deaf_to("/portfolio/positions", "ticker"),
        ),
        ("a_print_is_canonical_and_names_nobody", deaf_to("/trades", "limit")),
        ("fills_say_who_traded_what_at_which_price_and_fee", deaf_to("/portfolio/fills", "limit")),
        ("one_market_can_yield_two_positions", deaf_to("/portfolio/positions", "limit")),
        ("events_page_like_every_list", deaf_to("/events", "limit")),
    ],
)
def test_the_judge_detects_a_list_that_ignores_a_filter(bench, monkeypatch, name, bend):
    straight = Caller.get

    def deaf(self, path, /, **params):
        bend(self, path, params)
        return straight(self, path, **params)

    monkeypatch.setattr(Caller, "get", deaf)
    assert_failed(bench, name)


def test_the_judge_detects_a_rejected_subscribe_that_took_effect(bench, monkeypatch):
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
    assert_failed(
        bench,
        "one_unknown_target_refuses_the_frame_and_leaves_the_old_set",
        "a frame where none was due",
    )


def test_the_judge_detects_an_unavailable_engine_that_executed_despite_lagging_reads(
    bench, monkeypatch
):
    straight = Caller.ask

    def renamed(self, method, path, *args, **more):
        reply = straight(self, method, path, *args, **more)
        if reply.json().get("code") == "internal_error":
            body = {"code": "engine_unavailable", "error": "x"}
            return httpx.Response(503, json=body, request=reply.request)
        return reply

    def fault(self, kind, **more):
        return bent(self, "internal_error_after", **more)

    bent = Bench.fault
    monkeypatch.setattr(Caller, "ask", renamed)
    monkeypatch.setattr(Bench, "fault", fault)
    monkeypatch.setitem(vars(bench), "settle_s", 0.3)
    with bench.projection(100):
        assert_failed(bench, "an_unavailable_engine_sequenced_nothing", "canceled")


def test_the_judge_detects_values_checked_before_types(bench, monkeypatch):
    straight = Caller.place

    def hasty(self, **fields):
        if fields["price"] == 0:
            fields["qty"] = 1
        return straight(self, **fields)

    monkeypatch.setattr(Caller, "place", hasty)
    assert_failed(bench, "refusals_come_in_their_order")


def test_the_judge_detects_a_rejected_duplicate_that_made_an_order(bench, monkeypatch):
    straight = Caller.refused

    def doubled(self, **fields):
        self.place(**{**fields, "client_order_id": fresh_id()})
        return straight(self, **fields)

    monkeypatch.setattr(Caller, "refused", doubled)
    assert_failed(
        bench, "a_re_send_with_another_body_is_a_duplicate", "orders of one client_order_id"
    )


def test_the_judge_detects_amends_that_never_match_without_any_reading(bench, monkeypatch):
    straight = Caller.amended

    def asleep(self, order_id, **fields):
        order = straight(self, order_id, **fields)
        left = order["filled_qty"] + order["remaining_qty"]
        return {**order, "status": "open", "filled_qty": 0, "remaining_qty": left}

    monkeypatch.setattr(Caller, "amended", asleep)
    name = "an_amend_to_a_crossing_price_says_what_matching_did"
    each = check_named(name)
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
def test_the_judge_fails_on_an_empty_list(bench, monkeypatch, name, empty):
    straight = Caller.get

    def bare(self, path, /, **params):
        body = straight(self, path, **params)
        return {**body, **empty} if path in ("/markets", "/events") else body

    monkeypatch.setattr(Caller, "get", bare)
    assert_failed(bench, name)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("the_description_needs_no_credential", b"openapi: 3.1.0: what"),
        ("the_description_needs_no_credential", b"info: [" * 100_000),
        ("a_limit_outside_its_range_is_clamped", b'{"a":' * 100_000),
    ],
)
def test_the_judge_fails_on_a_reply_that_no_parser_reads(name, body):
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


def test_the_judge_detects_a_book_dated_by_the_request(bench, monkeypatch):
    straight = Caller.get

    def stamped(self, path, /, **params):
        body = straight(self, path, **params)
        return {**body, "as_of": str(time.time_ns())} if "as_of" in body else body

    monkeypatch.setattr(Caller, "get", stamped)
    assert_failed(bench, "as_of_advances_while_trades_print", "at every look")


def price_of_its_maker(data):
    if data["type"] == "prediction-trade" and data["maker"]["outcome"] == "no":
        data["price"] = 100 - data["price"]


def all_buyers(data):
    if data["type"] == "prediction-trade":
        data["maker"]["side"] = data["taker"]["side"] = "buy"


def one_kind_of_taker(data):
    if data["type"] == "prediction-trade":
        data["taker"] = {"outcome": "no", "side": "buy"}


def of_another_market(data):
    if data["type"] == "prediction-trade":
        data["eventMarketId"] = "00000000-0000-4000-8000-000000000000"


def under_another_ticker(data):
    if data["type"] == "prediction-ticker":
        data["ticker"] = "NOBODY-26Q4-1B"


@pytest.mark.parametrize(
    "bend",
    [
        price_of_its_maker,
        all_buyers,
        one_kind_of_taker,
        of_another_market,
        under_another_ticker,
    ],
)
def test_the_judge_detects_a_wrong_print_of_the_channel(bench, monkeypatch, bend):
    straight = Listener.frame

    def bent(self, timeout_s=PATIENCE_S):
        body = straight(self, timeout_s)
        if body["type"] == "market-update":
            bend(body["data"])
        return body

    monkeypatch.setattr(Listener, "frame", bent)
    assert_failed(bench, "a_print_of_the_channel_is_canonical_whoever_made_it")


def ids_of_no_print(body):
    for fill in body.get("fills", ()):
        fill["trade_id"] = f"0{fill['trade_id']}"


def one_id_for_all(body):
    for fill in body.get("fills", ()):
        fill["fill_id"] = "1"


def rounded_down(body):
    for position in body.get("positions", ()):
        position["avg_entry_price"] = position["cost_basis"] // position["qty"]


def of_no_market(body):
    for fill in body.get("fills", ()):
        fill["market_id"] = "00000000-0000-4000-8000-000000000000"


def committed_from_the_start(body):
    for order in body.get("resting_orders", ()):
        if order["side"] == "sell":
            order["remaining_qty"] = order["qty"]


def long_ago(body):
    for candle in body.get("candles", ()):
        candle["timestamp"] = "2020-01-01T00:00:00.000000000Z"


def of_no_company(body):
    for event in body.get("events", ()):
        event["project_id"] = event["project_market_id"]


@pytest.mark.parametrize(
    ("name", "bend"),
    [
        ("fills_say_who_traded_what_at_which_price_and_fee", ids_of_no_print),
        ("fills_say_who_traded_what_at_which_price_and_fee", one_id_for_all),
        ("fills_say_who_traded_what_at_which_price_and_fee", of_no_market),
        ("positions_say_what_the_shares_held_have_cost", rounded_down),
        ("a_sale_that_rests_commits_its_shares_in_the_snapshot", committed_from_the_start),
        ("candles_of_every_interval_tell_the_tape", long_ago),
        ("events_filter_by_series_company_and_status", of_no_company),
    ],
)
def test_the_judge_detects_a_wrong_field_of_a_read(bench, monkeypatch, name, bend):
    straight = Caller.get

    def bent(self, path, /, **params):
        body = straight(self, path, **params)
        bend(body)
        return body

    monkeypatch.setattr(Caller, "get", bent)
    assert_failed(bench, name)
