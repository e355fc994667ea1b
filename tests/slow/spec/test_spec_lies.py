"""Claims about checks: a venue whose answers are bent is found out, a straight one never blamed."""

import time
from collections.abc import Callable

import httpx
import pytest

from venue.conformance.api import Listener, buy, eventually, fresh_id
from venue.conformance.bench import Bench
from venue.conformance.operator import Operator
from venue.conformance.runner import (
    Verdict,
    Wanted,
    judge_all,
    judge_one,
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


def _judged(bench, name):
    (each,) = [each for each in suite() if each.name == name]
    return judge_one(each, bench)


def _operator(site):
    return Operator(site.control, site.token_file.read_text(encoding="utf-8").strip())


def _again(reply, status, body, **headers):
    """A reply with another status and body, and the limiter's headers of the first."""
    kept = {name: value for name, value in reply.headers.items() if name.startswith("x-ratelimit-")}
    kept.pop("x-ratelimit-reset", None)
    return httpx.Response(status, json=body, headers={**kept, **headers}, request=reply.request)


# --- throttling ----------------------------------------------------------------------------------


def _never_throttled(method, path, status, body):
    def bend(request, reply):
        exempt = request.method == method and request.url.path.endswith(path)
        return _again(reply, status, body) if exempt and reply.status_code == 429 else None

    return bend


def test_a_route_without_a_limit_is_found_out_not_passed_over(bench, bent):
    bent(_never_throttled("GET", "/events", 200, {"events": [], "cursor": ""}))
    result = _judged(bench, "every_route_is_throttled")
    assert result.verdict is Verdict.FAILED, result
    assert "GET /events: passed" in result.reason


def test_creates_without_a_limit_are_found_out_not_passed_over(bench, bent):
    bent(_never_throttled("POST", "/orders", 400, {"code": "invalid_qty", "error": "x"}))
    result = _judged(bench, "what_is_throttled_changes_nothing")
    assert result.verdict is Verdict.FAILED, result
    assert "a create: passed" in result.reason


def test_a_bucket_shared_by_two_keys_of_a_user_is_found_out(bench, bent):
    def drunk(request, reply):
        # As it looks where another key has emptied the bucket and a few tokens have come back.
        reply.headers["x-ratelimit-remaining"] = "3"
        return reply

    bent(drunk)
    result = _judged(bench, "one_key_out_of_tokens_does_not_slow_another")
    assert result.verdict is Verdict.FAILED, result


def test_failures_that_cost_tokens_are_found_out(bench, bent):
    failures = 0

    def charged(request, reply):
        nonlocal failures
        failures += reply.status_code == 401
        left = int(reply.headers.get("x-ratelimit-remaining", "0"))
        if left:
            reply.headers["x-ratelimit-remaining"] = str(max(0, left - failures))
        return reply

    bent(charged)
    result = _judged(bench, "a_forbidden_request_costs_a_token_and_a_401_none")
    assert result.verdict is Verdict.FAILED, result
    assert "after 40 failures" in result.reason


def test_limiter_headers_before_authentication_are_found_out(bench, bent):
    def told(request, reply):
        reply.headers.setdefault("x-ratelimit-limit", "500")
        return reply if reply.status_code == 400 else None

    bent(told)
    name = "a_conflict_of_credentials_is_no_authenticated_request"
    assert _judged(bench, name).verdict is Verdict.FAILED


def test_a_token_that_ends_before_its_first_use_on_a_slow_machine_is_no_fault(bench, bent):
    slow = True

    def late(request, reply):
        nonlocal slow
        if "authorization" not in request.headers or not slow:
            return None
        slow = False
        time.sleep(1.05)
        return httpx.Response(401, json={"code": "unauthenticated", "error": "expired"})

    bent(late)
    result = _judged(bench, "an_expired_token_is_unauthenticated")
    assert result.verdict is Verdict.PASSED, result


# --- reads and clocks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["one_market_can_yield_two_positions", "a_budget_buys_what_it_can_fees_included"]
)
def test_a_venue_whose_reads_lag_more_than_ours_is_not_blamed(site, name):
    operator = _operator(site)
    before = operator.status()["projection_lag_ms"]
    operator.done("PUT", "/projection", {"lag_ms": 80})
    lagging = Bench(site.base_url, site.stream_url, operator, [])
    try:
        result = _judged(lagging, name)
    finally:
        operator.done("PUT", "/projection", {"lag_ms": before})
        lagging.close()
        time.sleep(0.1)
    assert result.verdict is Verdict.PASSED, result


def test_a_venue_whose_clock_is_not_the_judges_is_not_blamed(bench, monkeypatch):
    hour_ns = 3600 * 10**9
    now_ns = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: now_ns() + hour_ns)
    result = _judged(bench, "a_subscribe_is_acknowledged_and_followed_by_the_book")
    assert result.verdict is Verdict.PASSED, result


def test_frames_that_are_not_of_the_venues_own_time_are_found_out(bench, monkeypatch):
    straight = Listener.frame

    def late(self, timeout_s=3.0):
        body = straight(self, timeout_s)
        if body["type"] == "market-update":
            body["data"]["ts"] -= 300 * 10**9
        return body

    monkeypatch.setattr(Listener, "frame", late)
    result = _judged(bench, "a_subscribe_is_acknowledged_and_followed_by_the_book")
    assert result.verdict is Verdict.FAILED, result
    assert "ts " in result.reason


# --- what the interface leaves open --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a_malformed_amend_is_refused", "invalid_qty"),
        ("a_required_field_left_out_is_refused", "invalid_enum_value"),
    ],
)
def test_a_missing_field_may_be_refused_with_another_code(bench, bent, name, code):
    def otherwise(request, reply):
        missing = reply.status_code == 400 and "want" in reply.json()["error"]
        missing = missing or (reply.status_code == 400 and "missing" in reply.json()["error"])
        integer = "an integer is wanted" in reply.text
        told = {"code": code, "error": "another"}
        return _again(reply, 400, told) if missing and not integer else None

    bent(otherwise)
    result = _judged(bench, name)
    assert result.verdict is Verdict.PASSED, result


def test_a_venue_that_looks_for_the_order_before_the_body_is_not_blamed(bench, bent):
    def order_first(request, reply):
        nobodys = request.method == "PUT" and request.url.path.endswith("/orders/1")
        told = {"code": "order_not_found", "error": "no such order"}
        return _again(reply, 404, told) if nobodys else None

    bent(order_first)
    result = _judged(bench, "a_body_that_is_missing_or_no_object_is_refused")
    assert result.verdict is Verdict.PASSED, result


# --- what a failed check shows, and leaves behind ------------------------------------------------


def test_a_failed_check_shows_no_key_wherever_it_was_sent(bench, bent):
    keys: list[str] = []

    def echoes(request, reply):
        key = request.url.params.get("X-API-KEY")
        keys.extend([key] if key else [])
        # A venue that takes a key in a URL, and repeats it.
        told = {"available_cents": 1, "reserved_cents": 0, "total_cents": 1, "key": key}
        return _again(reply, 200, told, **LIMITER) if key else None

    bent(echoes)
    result = _judged(bench, "a_key_in_the_query_string_is_no_credential")
    assert result.verdict is Verdict.FAILED, result
    assert keys
    shown = " ".join((result.reason, *result.exchanges))
    assert "X-API-KEY=***" in shown
    assert keys[0] not in shown


def test_an_operators_own_key_is_never_put_into_a_url(bench):
    (each,) = [
        each for each in suite() if each.name == "a_key_in_the_query_string_is_no_credential"
    ]
    assert why_skipped(each, Wanted(has_control=False, keys=2))


def test_the_address_of_the_channel_is_no_reading_where_it_is_named():
    (each,) = [
        each for each in suite() if each.name == "a_handle_with_other_characters_is_rejected"
    ]
    assert each.readings == ("S8",)
    assert "rests on S8" in why_skipped(each, Wanted(True, 0, readings=False))
    assert why_skipped(each, Wanted(True, 0, readings=False, stream=True)) == ""
    (book,) = [each for each in suite() if each.name == "the_last_book_frame_is_the_book"]
    assert "rests on S10" in why_skipped(book, Wanted(True, 0, readings=False, stream=True))


def test_a_venue_whose_markets_cannot_be_read_has_its_results_all_the_same(site, bent):
    def nothing(request, reply):
        return _again(reply, 200, {}) if request.url.path.endswith("/snapshot") else None

    bent(nothing)
    names = ["a_balance_is_the_sum_of_its_parts", "dots_in_a_handle_are_significant"]
    checks = [each for each in suite() if each.name in names]
    broken = Bench(site.base_url, site.stream_url, _operator(site), [])
    try:
        results = list(judge_all(checks, broken, Wanted(True, 0), lambda _: None))
    finally:
        broken.close()
    verdicts = {result.name: result.verdict for result in results}
    assert verdicts == dict(zip(names, (Verdict.PASSED, Verdict.FAILED), strict=True))


@pytest.mark.parametrize(
    "name", ["another_users_order_looks_like_no_order", "a_qty_below_one_share_is_refused"]
)
def test_a_failed_check_leaves_no_order_of_somebodys_own_behind(site, bench, bent, name):
    market = bench.market()
    body = {**buy(market, price=1, qty=1), "client_order_id": fresh_id()}

    def astray(request, reply):
        if request.url.path.endswith("/markets"):
            return _again(reply, 200, {"markets": [market], "cursor": ""})
        if request.method == "POST" and reply.status_code == 400:
            # What should have been refused is taken.
            headers = {"X-API-KEY": request.headers["x-api-key"]}
            taken = httpx.post(str(request.url), json=body, headers=headers)
            return _again(reply, 201, taken.json())
        return _again(reply, 200, {}) if request.url.path.endswith("/orders/1") else None

    keys = [bench.key(bench.user())["key"] for _ in range(2)]
    bent(astray)
    own = Bench(site.base_url, site.stream_url, None, keys)
    try:
        result = _judged(own, name)
        assert result.verdict is Verdict.FAILED, result
        orders = own.with_key(keys[0]).walk("/orders", "orders", ticker=market["ticker"])
        resting = eventually(
            lambda: own.with_key(keys[0]).get("/orders", status="resting")["orders"],
            lambda rows: not rows,
        )
    finally:
        own.close()
    assert (len(orders), resting) == (1, [])


def _grown(value):
    """A body with a field more in every object that has fields of the interface."""
    if isinstance(value, list):
        return [_grown(each) for each in value]
    if not isinstance(value, dict):
        return value
    more = {"shade": "green"} if value.keys() & {"ticker", "cursor", "volume_usd", "order"} else {}
    return {name: _grown(inner) for name, inner in value.items()} | more


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
def test_a_field_that_a_venue_adds_is_passed_over(bench, bent, name):
    def more(request, reply):
        grown = {**_grown(reply.json()), "shade": "green"}
        return _again(reply, reply.status_code, grown) if reply.status_code < 300 else None

    bent(more)
    result = _judged(bench, name)
    assert result.verdict is Verdict.PASSED, result


@pytest.mark.parametrize(
    ("header", "blamed"), [("", False), ("X-API-KEY", True), ("Authorization", False)]
)
def test_a_challenge_is_a_fault_where_a_key_failed_and_nowhere_else(bench, bent, header, blamed):
    def challenged(request, reply):
        sent = {name for name in ("X-API-KEY", "Authorization") if name.lower() in request.headers}
        if reply.status_code == 401 and (header in sent if header else not sent):
            reply.headers["www-authenticate"] = 'Bearer resource_metadata="https://x.example"'
        return reply

    bent(challenged)
    result = _judged(bench, "without_a_known_credential_the_answer_is_401")
    assert (result.verdict is Verdict.FAILED) is blamed, result


# --- statements that no check looked at ----------------------------------------------------------


def _resent_without(field):
    def bend(request, reply):
        if request.method != "POST" or reply.status_code != 200:
            return None
        body = {name: value for name, value in reply.json().items() if name != field}
        return _again(reply, 200, body)

    return bend


def _page_of(rows):
    def bend(request, reply):
        body = reply.json()
        if request.method != "GET" or len(body.get("orders", ())) <= rows:
            return None
        return _again(reply, 200, {**body, "orders": body["orders"][:rows]})

    return bend


def _one_position(request, reply):
    body = reply.json()
    listed = request.url.path.endswith("/portfolio/positions")
    return _again(reply, 200, {**body, "positions": body["positions"][:1]}) if listed else None


def _stale_in(part):
    def bend(request, reply):
        if part not in request.url.path or "snapshot" in request.url.path:
            return None
        body = reply.json()
        for event in body.get("events", [body]):
            for row in event.get("markets", ()):
                row["open_interest"] = 0
                row.pop("last_price", None)
        return _again(reply, reply.status_code, body)

    return bend


def _without_rungs(request, reply):
    body = reply.json()
    bare = [{**event, "markets": []} for event in body.get("events", ())]
    listed = request.url.path.endswith("/events")
    return _again(reply, 200, {**body, "events": bare}) if listed else None


def _no_window(request, reply):
    window = "from" in request.url.params and reply.status_code == 200
    return _again(reply, 200, {**reply.json(), "candles": []}) if window else None


def _first_page_for_a_bad_cursor(request, reply):
    series = "/events/" in request.url.path and reply.status_code == 400
    return _again(reply, 200, {"events": [], "cursor": ""}) if series else None


@pytest.mark.parametrize(
    ("name", "bend"),
    [
        ("a_re_send_returns_the_order_and_makes_no_second", _resent_without("client_order_id")),
        ("a_budget_buys_what_it_can_fees_included", _resent_without("spent_cents")),
        ("a_page_of_orders_has_100_rows_by_default_and_1000_at_most", _page_of(50)),
        ("a_page_of_orders_has_100_rows_by_default_and_1000_at_most", _page_of(500)),
        ("a_market_reads_the_same_in_lists_events_and_its_snapshot", _stale_in("/markets")),
        ("a_market_reads_the_same_in_lists_events_and_its_snapshot", _stale_in("/events")),
        ("events_page_like_every_list", _without_rungs),
        ("candles_cover_the_last_24_hours_unless_told", _no_window),
        ("one_market_can_yield_two_positions", _one_position),
        ("an_event_is_found_by_its_ticker_or_by_its_series", _first_page_for_a_bad_cursor),
    ],
)
def test_a_venue_that_bends_a_statement_is_found_out(bench, bent, name, bend):
    bent(bend)
    result = _judged(bench, name)
    assert result.verdict is Verdict.FAILED, result


def test_an_implied_value_told_under_an_old_symbol_is_found_out(bench, monkeypatch):
    straight = Listener.frame

    def old(self, timeout_s=3.0):
        body = straight(self, timeout_s)
        if body.get("data", {}).get("type") == "prediction-implied-value":
            body["data"]["symbol"] = body["data"]["symbol"].removesuffix("-NEW")
        return body

    monkeypatch.setattr(Listener, "frame", old)
    result = _judged(bench, "a_symbol_may_change_and_be_reused")
    assert result.verdict is Verdict.FAILED, result
    assert "-NEW" in result.reason
