"""Claims about checks: a venue whose answers are bent is found out, a straight one never blamed."""

import time
from collections.abc import Callable

import httpx
import pytest

from tests.builders.spec.site import assert_failed, assert_passed, check_named, judged
from venue.conformance.api import Listener, buy, eventually, fresh_id
from venue.conformance.bench import Bench
from venue.conformance.operator import Operator
from venue.conformance.runner import (
    Verdict,
    Wanted,
    judge_all,
    suite,
    why_skipped,
)

pytestmark = pytest.mark.xdist_group("spec")

LIMITER = {"x-ratelimit-limit": "500", "x-ratelimit-remaining": "7"}
Bend = Callable[[httpx.Request, httpx.Response], httpx.Response | None]
"""What a lying venue answers instead; None: what it would have answered."""


class _Bent(httpx.HTTPTransport):
    """The way to the venue, with somebody in between who bends its answers."""

    def __init__(self, bend):
        super().__init__()
        self._bend = bend

    def handle_request(self, request):
        reply = super().handle_request(request)
        reply.read()
        reply.request = request
        return self._bend(request, reply) or reply


@pytest.fixture
def bent(monkeypatch):
    """A function that puts a bend between all further callers and the venue."""

    def put(bend):
        def client(**options):
            return httpx.Client(**options, transport=_Bent(bend))

        monkeypatch.setattr("venue.conformance.api.open_client", client)

    return put


def operator_of(site):
    return Operator(site.control, site.token_file.read_text(encoding="utf-8").strip())


def again(reply, status, body, **headers):
    """A reply with another status and body, and the limiter's headers of the first."""
    kept = {name: value for name, value in reply.headers.items() if name.startswith("x-ratelimit-")}
    kept.pop("x-ratelimit-reset", None)
    return httpx.Response(status, json=body, headers={**kept, **headers}, request=reply.request)


# --- throttling ----------------------------------------------------------------------------------


def never_throttled(method, path, status, body):
    def bend(request, reply):
        exempt = request.method == method and request.url.path.endswith(path)
        return again(reply, status, body) if exempt and reply.status_code == 429 else None

    return bend


def test_the_judge_detects_a_route_without_a_rate_limit(bench, bent):
    bent(never_throttled("GET", "/events", 200, {"events": [], "cursor": ""}))
    assert_failed(bench, "every_route_is_throttled", "GET /events: passed")


def test_the_judge_detects_creates_without_a_rate_limit(bench, bent):
    bent(never_throttled("POST", "/orders", 400, {"code": "invalid_qty", "error": "x"}))
    assert_failed(bench, "what_is_throttled_changes_nothing", "a create: passed")


def test_the_judge_detects_a_bucket_shared_by_two_keys(bench, bent):
    def drunk(request, reply):
        # As it looks where another key has emptied the bucket and a few tokens have come back.
        reply.headers["x-ratelimit-remaining"] = "3"
        return reply

    bent(drunk)
    assert_failed(bench, "one_key_out_of_tokens_does_not_slow_another")


def test_the_judge_detects_failed_authentication_that_costs_tokens(bench, bent):
    failures = 0

    def charged(request, reply):
        nonlocal failures
        failures += reply.status_code == 401
        left = int(reply.headers.get("x-ratelimit-remaining", "0"))
        if left:
            reply.headers["x-ratelimit-remaining"] = str(max(0, left - failures))
        return reply

    bent(charged)
    assert_failed(bench, "a_forbidden_request_costs_a_token_and_a_401_none", "after 40 failures")


def test_the_judge_detects_rate_limit_headers_before_authentication(bench, bent):
    def with_limit(request, reply):
        reply.headers.setdefault("x-ratelimit-limit", "500")
        return reply if reply.status_code == 400 else None

    bent(with_limit)
    name = "a_conflict_of_credentials_is_no_authenticated_request"
    assert judged(bench, name).verdict is Verdict.FAILED


def test_the_judge_accepts_a_token_that_expired_before_its_first_use(bench, bent):
    slow = True

    def late(request, reply):
        nonlocal slow
        if "authorization" not in request.headers or not slow:
            return None
        slow = False
        time.sleep(1.05)
        return httpx.Response(401, json={"code": "unauthenticated", "error": "expired"})

    bent(late)
    assert_passed(bench, "an_expired_token_is_unauthenticated")


# --- reads and clocks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["one_market_can_yield_two_positions", "a_budget_buys_what_it_can_fees_included"]
)
def test_the_judge_accepts_a_longer_read_lag(site, name):
    operator = operator_of(site)
    before = operator.status()["projection_lag_ms"]
    operator.done("PUT", "/projection", {"lag_ms": 80})
    lagging = Bench(site.base_url, site.stream_url, operator, [])
    try:
        result = judged(lagging, name)
    finally:
        operator.done("PUT", "/projection", {"lag_ms": before})
        lagging.close()
        time.sleep(0.1)
    assert result.verdict is Verdict.PASSED, result


def test_the_judge_accepts_another_clock(bench, monkeypatch):
    hour_ns = 3600 * 10**9
    now_ns = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: now_ns() + hour_ns)
    assert_passed(bench, "a_subscribe_is_acknowledged_and_followed_by_the_book")


def test_the_judge_detects_frames_dated_in_the_past(bench, monkeypatch):
    straight = Listener.frame

    def late(self, timeout_s=3.0):
        body = straight(self, timeout_s)
        if body["type"] == "market-update":
            body["data"]["ts"] -= 300 * 10**9
        return body

    monkeypatch.setattr(Listener, "frame", late)
    assert_failed(bench, "a_subscribe_is_acknowledged_and_followed_by_the_book", "ts ")


# --- what the interface leaves open --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a_malformed_amend_is_refused", "invalid_qty"),
        ("a_required_field_left_out_is_refused", "invalid_enum_value"),
    ],
)
def test_the_judge_accepts_another_code_for_a_missing_field(bench, bent, name, code):
    def otherwise(request, reply):
        missing = reply.status_code == 400 and "want" in reply.json()["error"]
        missing = missing or (reply.status_code == 400 and "missing" in reply.json()["error"])
        integer = "an integer is wanted" in reply.text
        body = {"code": code, "error": "another"}
        return again(reply, 400, body) if missing and not integer else None

    bent(otherwise)
    assert_passed(bench, name)


def test_the_judge_accepts_a_venue_that_looks_up_the_order_before_the_body(bench, bent):
    def order_first(request, reply):
        nobodys = request.method == "PUT" and request.url.path.endswith("/orders/1")
        body = {"code": "order_not_found", "error": "no such order"}
        return again(reply, 404, body) if nobodys else None

    bent(order_first)
    assert_passed(bench, "a_body_that_is_missing_or_no_object_is_refused")


# --- what a failed check shows, and leaves behind ------------------------------------------------


def test_a_failed_check_shows_no_key(bench, bent):
    keys: list[str] = []

    def echoes(request, reply):
        key = request.url.params.get("X-API-KEY")
        keys.extend([key] if key else [])
        # A venue that takes a key in a URL, and repeats it.
        body = {"available_cents": 1, "reserved_cents": 0, "total_cents": 1, "key": key}
        return again(reply, 200, body, **LIMITER) if key else None

    bent(echoes)
    result = judged(bench, "a_key_in_the_query_string_is_no_credential")
    assert result.verdict is Verdict.FAILED, result
    assert keys
    shown = " ".join((result.reason, *result.exchanges))
    assert "X-API-KEY=***" in shown
    assert keys[0] not in shown


def test_the_judge_never_puts_a_lent_key_into_a_url(bench):
    each = check_named("a_key_in_the_query_string_is_no_credential")
    assert why_skipped(each, Wanted(has_control=False, keys=2))


def test_a_named_channel_address_needs_no_reading():
    each = check_named("a_handle_with_other_characters_is_rejected")
    assert each.readings == ("S8",)
    assert "rests on S8" in why_skipped(each, Wanted(True, 0, readings=False))
    assert why_skipped(each, Wanted(True, 0, readings=False, stream=True)) == ""
    book = check_named("the_last_book_frame_is_the_book")
    assert "rests on S10" in why_skipped(book, Wanted(True, 0, readings=False, stream=True))


def test_the_judge_has_results_for_a_venue_whose_markets_cannot_be_read(site, bent):
    def nothing(request, reply):
        return again(reply, 200, {}) if request.url.path.endswith("/snapshot") else None

    bent(nothing)
    names = ["a_balance_is_the_sum_of_its_parts", "dots_in_a_handle_are_significant"]
    checks = [each for each in suite() if each.name in names]
    broken = Bench(site.base_url, site.stream_url, operator_of(site), [])
    try:
        results = list(judge_all(checks, broken, Wanted(True, 0), lambda _: None))
    finally:
        broken.close()
    verdicts = {result.name: result.verdict for result in results}
    assert verdicts == dict(zip(names, (Verdict.PASSED, Verdict.FAILED), strict=True))


@pytest.mark.parametrize(
    "name", ["another_users_order_looks_like_no_order", "a_qty_below_one_share_is_refused"]
)
def test_a_failed_check_leaves_no_resting_order(site, bench, bent, name):
    market = bench.market()
    body = {**buy(market, price=1, qty=1), "client_order_id": fresh_id()}

    def astray(request, reply):
        if request.url.path.endswith("/markets"):
            return again(reply, 200, {"markets": [market], "cursor": ""})
        if request.method == "POST" and reply.status_code == 400:
            # What should have been refused is taken.
            headers = {"X-API-KEY": request.headers["x-api-key"]}
            taken = httpx.post(str(request.url), json=body, headers=headers)
            return again(reply, 201, taken.json())
        return again(reply, 200, {}) if request.url.path.endswith("/orders/1") else None

    keys = [bench.key(bench.user())["key"] for _ in range(2)]
    bent(astray)
    own = Bench(site.base_url, site.stream_url, None, keys)
    try:
        result = judged(own, name)
        assert result.verdict is Verdict.FAILED, result
        orders = own.with_key(keys[0]).walk("/orders", "orders", ticker=market["ticker"])
        resting = eventually(
            lambda: own.with_key(keys[0]).get("/orders", status="resting")["orders"],
            lambda rows: not rows,
        )
    finally:
        own.close()
    assert (len(orders), resting) == (1, [])


def with_more_fields(value):
    """A body with a field more in every object that has fields of the interface."""
    if isinstance(value, list):
        return [with_more_fields(each) for each in value]
    if not isinstance(value, dict):
        return value
    more = {"shade": "green"} if value.keys() & {"ticker", "cursor", "volume_usd", "order"} else {}
    return {name: with_more_fields(inner) for name, inner in value.items()} | more


@pytest.mark.parametrize(
    "name",
    [
        "writes_and_reads_of_an_order_carry_their_own_fields",
        "a_budget_buys_what_it_can_fees_included",
        "a_cancel_reports_what_it_removed",
        "volume_only_grows_and_has_no_24_hour_figure",
        "a_snapshot_holds_the_callers_own_state_and_nobody_elses",
    ],
)
def test_the_judge_accepts_additional_fields(bench, bent, name):
    def more(request, reply):
        grown = {**with_more_fields(reply.json()), "shade": "green"}
        return again(reply, reply.status_code, grown) if reply.status_code < 300 else None

    bent(more)
    assert_passed(bench, name)


@pytest.mark.parametrize(
    ("header", "blamed"), [("", False), ("X-API-KEY", True), ("Authorization", False)]
)
def test_the_judge_rejects_a_challenge_only_after_a_failed_key(bench, bent, header, blamed):
    def challenged(request, reply):
        sent = {name for name in ("X-API-KEY", "Authorization") if name.lower() in request.headers}
        if reply.status_code == 401 and (header in sent if header else not sent):
            reply.headers["www-authenticate"] = 'Bearer resource_metadata="https://x.example"'
        return reply

    bent(challenged)
    result = judged(bench, "without_a_known_credential_the_answer_is_401")
    assert (result.verdict is Verdict.FAILED) is blamed, result


# --- statements that no check looked at ----------------------------------------------------------


def resent_without(field):
    def bend(request, reply):
        if request.method != "POST" or reply.status_code != 200:
            return None
        body = {name: value for name, value in reply.json().items() if name != field}
        return again(reply, 200, body)

    return bend


def page_of(rows):
    def bend(request, reply):
        body = reply.json()
        if request.method != "GET" or len(body.get("orders", ())) <= rows:
            return None
        return again(reply, 200, {**body, "orders": body["orders"][:rows]})

    return bend


def one_position(request, reply):
    body = reply.json()
    listed = request.url.path.endswith("/portfolio/positions")
    return again(reply, 200, {**body, "positions": body["positions"][:1]}) if listed else None


def stale_in(part):
    def bend(request, reply):
        if part not in request.url.path or "snapshot" in request.url.path:
            return None
        body = reply.json()
        for event in body.get("events", [body]):
            for row in event.get("markets", ()):
                row["open_interest"] = 0
                row.pop("last_price", None)
        return again(reply, reply.status_code, body)

    return bend


def without_rungs(request, reply):
    body = reply.json()
    bare = [{**event, "markets": []} for event in body.get("events", ())]
    listed = request.url.path.endswith("/events")
    return again(reply, 200, {**body, "events": bare}) if listed else None


def no_window(request, reply):
    window = "from" in request.url.params and reply.status_code == 200
    return again(reply, 200, {**reply.json(), "candles": []}) if window else None


def first_page_for_a_bad_cursor(request, reply):
    series = "/events/" in request.url.path and reply.status_code == 400
    return again(reply, 200, {"events": [], "cursor": ""}) if series else None


@pytest.mark.parametrize(
    ("name", "bend"),
    [
        ("a_re_send_returns_the_order_and_makes_no_second", resent_without("client_order_id")),
        ("a_budget_buys_what_it_can_fees_included", resent_without("spent_cents")),
        ("a_page_of_orders_has_100_rows_by_default_and_1000_at_most", page_of(50)),
        ("a_page_of_orders_has_100_rows_by_default_and_1000_at_most", page_of(500)),
        ("a_market_reads_the_same_in_lists_events_and_its_snapshot", stale_in("/markets")),
        ("a_market_reads_the_same_in_lists_events_and_its_snapshot", stale_in("/events")),
        ("events_page_like_every_list", without_rungs),
        ("candles_cover_the_last_24_hours_unless_told", no_window),
        ("one_market_can_yield_two_positions", one_position),
        ("an_event_is_found_by_its_ticker_or_by_its_series", first_page_for_a_bad_cursor),
    ],
)
def test_the_judge_detects_a_venue_that_bends_a_statement(bench, bent, name, bend):
    bent(bend)
    assert_failed(bench, name)


def test_the_judge_detects_an_implied_value_under_an_old_symbol(bench, monkeypatch):
    straight = Listener.frame

    def old(self, timeout_s=3.0):
        body = straight(self, timeout_s)
        if body.get("data", {}).get("type") == "prediction-implied-value":
            body["data"]["symbol"] = body["data"]["symbol"].removesuffix("-NEW")
        return body

    monkeypatch.setattr(Listener, "frame", old)
    assert_failed(bench, "a_symbol_may_change_and_be_reused", "-NEW")
