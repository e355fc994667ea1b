"""Claims about faults on demand: what a trader sees, and what has happened in the engine."""

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.builders.venue.control_bench import KEY, TICKER, Served, done, served
from venue.rest import app as http_app
from venue.rest.faults import (
    COMMAND_FAULTS,
    FaultKind,
    FaultRule,
    Faults,
    Replies,
    Share,
    Times,
    Verb,
)
from venue.stream import socket as feed_socket

MARKET_PATHS = [f"/markets/{TICKER}/{what}" for what in ("orderbook", "candles", "trades")]
ACCOUNT_PATHS = ["/orders", "/orders/1", "/portfolio/balance", "/portfolio/positions",
                 "/portfolio/fills", f"/markets/{TICKER}/snapshot"]  # fmt: skip
OTHER_PATHS = ["/markets", f"/markets?q={TICKER}", "/events", "/events/LINDEN-26Q4"]

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def house() -> Iterator[Served]:
    with served() as made:
        yield made


@pytest.fixture(scope="module")
def control(house: Served) -> Iterator[httpx.Client]:
    with house.client() as client:
        yield client


@pytest.fixture
def rest(house: Served, control: httpx.Client) -> Iterator[httpx.Client]:
    with house.rest() as client:
        yield client
    done(control, "DELETE", "faults")


def body(**more: Any) -> dict[str, Any]:
    """A new order of its own, far from any other."""
    order = {"ticker": TICKER, "outcome": "yes", "side": "buy", "price": 5, "qty": 2}
    return {**order, "client_order_id": f"order {next(_numbers)}", **more}


def resting(rest: httpx.Client) -> str:
    """The order_id of a new resting order."""
    reply = rest.post("/orders", json=body())
    assert reply.status_code == 201, reply.text
    order_id: str = reply.json()["order_id"]
    return order_id


def prepared(rest: httpx.Client, verb: Verb) -> tuple[str, str, Any]:
    """Method, path and body of a write that would succeed."""
    if verb is Verb.CREATE:
        return "POST", "/orders", body()
    order_id = resting(rest)
    if verb is Verb.AMEND:
        return "PUT", f"/orders/{order_id}", {"qty": 1}
    return "DELETE", f"/orders/{order_id}", None


def write(rest: httpx.Client, asked: tuple[str, str, Any]) -> httpx.Response | None:
    """The reply to a write; None when the connection was cut without one."""
    method, path, content = asked
    try:
        return rest.request(method, path, json=content)
    except (httpx.RemoteProtocolError, httpx.ReadError):
        return None


ANSWERS = {
    FaultKind.ENGINE_UNAVAILABLE: (503, "engine_unavailable"),
    FaultKind.ENGINE_OVERLOADED: (429, "engine_overloaded"),
    FaultKind.RESULT_UNKNOWN_BEFORE: (503, "result_unknown"),
    FaultKind.RESULT_UNKNOWN_AFTER: (503, "result_unknown"),
    FaultKind.INTERNAL_ERROR_BEFORE: (500, "internal_error"),
    FaultKind.INTERNAL_ERROR_AFTER: (500, "internal_error"),
    FaultKind.DROP_BEFORE: None,
    FaultKind.DROP_AFTER: None,
}


@pytest.mark.parametrize("verb", Verb)
@pytest.mark.parametrize("kind", COMMAND_FAULTS)
def test_a_write_fails_as_asked_and_the_engine_has_it_or_not(
    control: httpx.Client, rest: httpx.Client, kind: FaultKind, verb: Verb
) -> None:
    asked = prepared(rest, verb)
    before = done(control, "GET", "state-hash")
    done(control, "POST", "faults", {"kind": kind, "count": 1, "verbs": [verb]})
    reply = write(rest, asked)
    if ANSWERS[kind] is None:
        assert reply is None
    else:
        assert reply is not None
        assert (reply.status_code, reply.json()["code"]) == ANSWERS[kind]
        assert set(reply.json()) == {"code", "error"}
        assert {"x-ratelimit-limit", "x-ratelimit-remaining"} <= set(reply.headers)
        is_429 = kind is FaultKind.ENGINE_OVERLOADED
        assert ("retry-after" in reply.headers, "x-ratelimit-reset" in reply.headers) == (
            is_429,
            is_429,
        )
    after = done(control, "GET", "state-hash")
    carried_out = after["state_hash"] != before["state_hash"]
    assert carried_out is kind.is_after
    assert after["sequence"] - before["sequence"] == int(kind.is_after)
    # The rule has run out, and the same request again meets what there is.
    assert done(control, "GET", "faults") == {"faults": []}
    again = write(rest, asked)
    assert again is not None
    fresh = 201 if verb is Verb.CREATE and not kind.is_after else 200
    assert again.status_code == fresh
    if verb is Verb.CANCEL:
        assert again.json()["reduced_by"] == (0 if kind.is_after else 2)


@pytest.mark.parametrize("kind", [FaultKind.RESULT_UNKNOWN_AFTER, FaultKind.DROP_AFTER])
def test_a_refusal_of_the_engine_gets_lost_as_well(
    control: httpx.Client, rest: httpx.Client, kind: FaultKind
) -> None:
    done(control, "POST", "faults", {"kind": kind, "count": 1})
    reply = write(rest, ("DELETE", "/orders/1", None))
    assert (None if reply is None else reply.status_code) == (ANSWERS[kind] or (None,))[0]
    assert rest.delete("/orders/1").status_code == 404


def test_what_the_caller_got_wrong_uses_no_fault_up(
    control: httpx.Client, rest: httpx.Client
) -> None:
    done(control, "POST", "faults", {"kind": "engine_unavailable", "count": 1})
    assert rest.post("/orders", json=body(price=0)).status_code == 400
    assert rest.delete("/orders/x").status_code == 400
    assert rest.delete("/orders/1", headers={"X-API-KEY": "wrong"}).status_code == 401
    assert rest.post("/orders", json=body()).status_code == 503


def test_a_fault_takes_one_token_like_any_answer(
    control: httpx.Client, house: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = done(control, "POST", "keys", {"user_id": "anna", "scopes": ["trade"]})
    stands_ns = house.venue.now_ns()
    monkeypatch.setattr(house.venue, "now_ns", lambda: stands_ns)
    with house.rest(made["key"]) as rest:
        left = []
        for kind in (*COMMAND_FAULTS, None):
            if kind is not None and ANSWERS[kind] is not None:
                done(control, "POST", "faults", {"kind": kind, "count": 1})
            if kind is None or ANSWERS[kind] is not None:
                left.append(int(rest.delete("/orders/1").headers["x-ratelimit-remaining"]))
    assert left == list(range(499, 499 - len(left), -1))
    done(control, "DELETE", "faults")


def test_only_the_verbs_asked_for_fail(control: httpx.Client, rest: httpx.Client) -> None:
    rule = {"kind": "internal_error_before", "count": 9, "verbs": ["amend", "cancel"]}
    done(control, "POST", "faults", rule)
    order_id = resting(rest)
    assert rest.put(f"/orders/{order_id}", json={"qty": 1}).status_code == 500
    assert rest.delete(f"/orders/{order_id}").status_code == 500
    assert done(control, "GET", "faults")["faults"][0]["count"] == 7


def test_a_count_runs_out(control: httpx.Client, rest: httpx.Client) -> None:
    done(control, "POST", "faults", {"kind": "engine_overloaded", "count": 3})
    codes = [rest.delete("/orders/1").status_code for _ in range(5)]
    assert codes == [429, 429, 429, 404, 404]


def test_a_share_strikes_the_same_requests_for_the_same_seed(
    control: httpx.Client, rest: httpx.Client
) -> None:
    def struck(seed: int) -> list[int]:
        rule = {"kind": "engine_unavailable", "share": "0.5", "seed": seed}
        done(control, "POST", "faults", rule)
        return [rest.delete("/orders/1").status_code for _ in range(24)]

    first = struck(7)
    assert set(first) == {503, 404}
    assert struck(7) == first
    assert struck(8) != first


def test_the_operator_is_never_struck(control: httpx.Client, house: Served) -> None:
    for kind in (*COMMAND_FAULTS, "market_data_down", "accounts_down"):
        share = {} if kind.endswith("_down") else {"share": "1"}
        done(control, "POST", "faults", {"kind": kind, **share})
    done(control, "POST", "users/anna/deposits", {"amount_cents": 1})
    assert done(control, "GET", "users")["users"]
    done(control, "DELETE", "faults")


# --- drops, seen by a bare socket ----------------------------------------------------------------


@pytest.mark.parametrize("kind", [FaultKind.DROP_BEFORE, FaultKind.DROP_AFTER])
def test_a_drop_sends_not_one_byte_and_ends_the_connection(
    house: Served, control: httpx.Client, rest: httpx.Client, kind: FaultKind
) -> None:
    order_id = resting(rest)
    done(control, "POST", "faults", {"kind": kind, "count": 1})
    with socket.create_connection(("127.0.0.1", house.rest_port), timeout=5) as bare:
        head = f"DELETE /v1/orders/{order_id} HTTP/1.1\r\nHost: venue\r\nX-API-KEY: {KEY}\r\n\r\n"
        bare.sendall(head.encode())
        try:
            received = bare.recv(1)
        except ConnectionResetError:
            received = b""
    assert received == b""
    status = rest.get(f"/orders/{order_id}").json()["status"]
    assert status == ("canceled" if kind.is_after else "open")


def test_rest_and_channel_know_the_cut_by_the_same_name() -> None:
    assert http_app.ABORT_EXTENSION == feed_socket.ABORT_EXTENSION


# --- lateness ------------------------------------------------------------------------------------


def test_a_delay_holds_the_reply_back_and_not_the_command(
    house: Served, control: httpx.Client, rest: httpx.Client
) -> None:
    asked = body()
    done(control, "POST", "faults", {"kind": "reply_delay", "delay_ms": 1_000, "on": "writes"})
    replies: list[httpx.Response] = []
    before = house.venue.sequence
    begun_s = time.monotonic()
    caller = threading.Thread(target=lambda: replies.append(rest.post("/orders", json=asked)))
    caller.start()
    while house.venue.sequence == before:
        assert time.monotonic() - begun_s < 10
        time.sleep(0.005)
    assert replies == []
    caller.join()
    assert time.monotonic() - begun_s >= 1.0
    assert replies[0].status_code == 201


@pytest.mark.parametrize("path", ["faults", "faults/reply_delay"])
@pytest.mark.parametrize("count", [None, 1])
def test_a_reply_that_is_held_back_goes_out_once_the_delay_is_cleared(
    house: Served, control: httpx.Client, rest: httpx.Client, path: str, count: int | None
) -> None:
    late = {"kind": "reply_delay", "delay_ms": 60_000, "on": "writes"}
    done(control, "POST", "faults", late if count is None else {**late, "count": count})
    replies: list[httpx.Response] = []
    before = house.venue.sequence
    asked = body()
    caller = threading.Thread(target=lambda: replies.append(rest.post("/orders", json=asked)))
    caller.start()
    while house.venue.sequence == before:
        time.sleep(0.005)
    time.sleep(0.2)
    assert replies == []
    done(control, "DELETE", path)
    caller.join(3)
    assert [reply.status_code for reply in replies] == [201]


@pytest.mark.parametrize(
    ("on", "reads", "writes"), [("reads", 1, 0), ("writes", 0, 1), ("all", 1, 1)]
)
def test_a_delay_is_for_the_replies_asked_for_refusals_too(
    control: httpx.Client, rest: httpx.Client, on: str, reads: int, writes: int
) -> None:
    done(control, "POST", "faults", {"kind": "reply_delay", "delay_ms": 1, "on": on})
    assert rest.get("/orders/1").status_code == 404
    assert rest.delete("/orders/1").status_code == 404
    (rule,) = done(control, "GET", "faults")["faults"]
    assert rule["struck"] == reads + writes


def test_a_delayed_reply_may_be_a_failure_as_well(
    control: httpx.Client, rest: httpx.Client
) -> None:
    done(
        control, "POST", "faults", {"kind": "reply_delay", "delay_ms": 50, "on": "all", "count": 1}
    )
    done(control, "POST", "faults", {"kind": "result_unknown_before", "count": 1})
    begun_s = time.monotonic()
    assert rest.delete("/orders/1").json()["code"] == "result_unknown"
    assert time.monotonic() - begun_s >= 0.05
    assert done(control, "GET", "faults") == {"faults": []}


# --- outages -------------------------------------------------------------------------------------


def test_without_market_data_the_three_reads_fail_and_the_rest_stays(
    control: httpx.Client, rest: httpx.Client
) -> None:
    order_id = resting(rest)
    whole = rest.get(f"/markets/{TICKER}/snapshot").json()
    done(control, "POST", "faults", {"kind": "market_data_down"})
    for path in MARKET_PATHS:
        reply = rest.get(path)
        assert (reply.status_code, reply.json()["code"]) == (503, "engine_unavailable")
        assert "retry-after" not in reply.headers
    assert rest.get("/markets/NO-SUCH/orderbook").status_code == 404
    for path in [*OTHER_PATHS, "/orders", f"/orders/{order_id}"]:
        assert rest.get(path).status_code == 200
    shown = rest.get(f"/markets/{TICKER}/snapshot").json()
    names = {name: shown["market"][name] for name in ("ticker", "market_id")}
    nothing = {"as_of": "0001-01-01T00:00:00Z", "bids": [], "asks": []}
    assert shown["orderbook"] == names | nothing
    assert "last_trade" not in shown
    for part in ("market", "stats", "positions", "resting_orders"):
        assert shown[part] == whole[part]
    assert rest.delete(f"/orders/{order_id}").status_code == 200


def test_a_snapshot_of_a_market_that_has_traded_loses_its_colour_too() -> None:
    with served() as house, house.client() as control, house.rest() as rest:
        done(control, "POST", "users", {"user_id": "berta"})
        done(control, "POST", "users/berta/deposits", {"amount_cents": 10_000})
        asked = {"user_id": "berta", "scopes": ["trade"]}
        with house.rest(done(control, "POST", "keys", asked)["key"]) as other:
            assert rest.post("/orders", json=body()).status_code == 201
            crossing = body(outcome="no", price=95, qty=1)
            assert other.post("/orders", json=crossing).json()["status"] == "filled"
        path = f"/markets/{TICKER}/snapshot"
        assert rest.get(path).json()["last_trade"]["price"] == 5
        done(control, "POST", "faults", {"kind": "market_data_down"})
        shown = rest.get(path).json()
        assert "last_trade" not in shown
        assert shown["orderbook"]["bids"] == []
        assert shown["positions"][0]["qty"] == 1
        done(control, "DELETE", "faults")
        assert rest.get(path).json()["orderbook"]["bids"] == [{"price": 5, "size": 1}]


def test_without_accounts_every_read_of_one_s_own_fails_and_the_rest_stays(
    control: httpx.Client, rest: httpx.Client
) -> None:
    done(control, "POST", "faults", {"kind": "accounts_down"})
    for path in ACCOUNT_PATHS:
        reply = rest.get(path)
        assert (reply.status_code, reply.json()["code"]) == (500, "internal_error")
        assert reply.json()["error"] == "internal error"
    for path in [*MARKET_PATHS, *OTHER_PATHS]:
        assert rest.get(path).status_code == 200
    assert rest.get("/orders/x").status_code == 400
    assert rest.delete(f"/orders/{resting(rest)}").status_code == 200


# --- the rules themselves ------------------------------------------------------------------------


def test_of_two_rules_the_one_before_the_command_comes_first() -> None:
    faults = Faults()
    faults.set(FaultRule(FaultKind.DROP_AFTER, Times(1)))
    faults.set(FaultRule(FaultKind.ENGINE_UNAVAILABLE, Times(1)))
    struck = [faults.strike(Verb.CREATE) for _ in range(3)]
    assert struck == [FaultKind.ENGINE_UNAVAILABLE, FaultKind.DROP_AFTER, None]


@pytest.mark.parametrize(
    ("millionths", "least", "most"),
    [(0, 0, 0), (250_000, 2_300, 2_700), (1_000_000, 10_000, 10_000)],
)
def test_a_share_is_about_that_share(millionths: int, least: int, most: int) -> None:
    faults = Faults()
    faults.set(FaultRule(FaultKind.DROP_BEFORE, Share(millionths, 1)))
    struck = sum(faults.strike(Verb.CANCEL) is not None for _ in range(10_000))
    assert least <= struck <= most
    assert [standing.struck for standing in faults.in_force()] == [struck]


def test_a_rule_of_the_same_kind_replaces_the_former_one() -> None:
    faults = Faults()
    faults.set(FaultRule(FaultKind.REPLY_DELAY, delay_ms=5, on=Replies.READS))
    faults.set(FaultRule(FaultKind.REPLY_DELAY, delay_ms=7, on=Replies.WRITES))
    assert (faults.reply_delay_ms(False), faults.reply_delay_ms(True)) == (0, 7)


def test_a_429_on_demand_asks_for_the_wait_that_it_was_given_and_takes_no_token(
    control: httpx.Client, rest: httpx.Client
) -> None:
    done(control, "POST", "faults", {"kind": "rate_limited", "retry_after_s": 3, "count": 2})
    for path in ("/portfolio/balance", "/markets"):
        refused = rest.get(path)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert refused.headers["retry-after"] == "3"
        assert refused.headers["x-ratelimit-remaining"] == "0"
    assert int(rest.get("/portfolio/balance").headers["x-ratelimit-remaining"]) > 400


def test_a_lowered_limit_is_shown_and_holds_until_it_is_cleared(
    control: httpx.Client, rest: httpx.Client
) -> None:
    done(control, "POST", "faults", {"kind": "rate_limit_lowered", "limit": 10})
    replies = [rest.get("/portfolio/balance") for _ in range(40)]
    assert {reply.headers["x-ratelimit-limit"] for reply in replies} == {"10"}
    assert int(replies[0].headers["x-ratelimit-remaining"]) == 9
    assert replies[-1].status_code == 429
    done(control, "DELETE", "faults/rate_limit_lowered")
    assert rest.get("/portfolio/balance").headers["x-ratelimit-limit"] == "500"


def test_an_outage_lasts_until_it_is_cleared() -> None:
    faults = Faults()
    faults.set(FaultRule(FaultKind.ACCOUNTS_DOWN))
    assert faults.is_down(FaultKind.ACCOUNTS_DOWN)
    assert not faults.is_down(FaultKind.MARKET_DATA_DOWN)
    faults.clear(FaultKind.ACCOUNTS_DOWN)
    assert not faults.is_down(FaultKind.ACCOUNTS_DOWN)


def test_without_rules_nothing_is_struck() -> None:
    faults = Faults()
    assert faults.in_force() == ()
    assert faults.strike(Verb.CREATE) is None
    assert faults.reply_delay_ms(True) == 0
