"""Claims about every endpoint of the operator's interface, over real sockets."""

from typing import Any

import pytest
from structlog.testing import capture_logs
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.builders.venue.control_bench import (
    KEY,
    TICKER,
    TOKEN,
    ask,
    done,
    event,
    market,
    refused,
    served,
    socket_path,
)
from venue.rest.venue_port import EngineUnavailable
from venue.wire.instant import to_ns

# --- who may ask ---------------------------------------------------------------------------------


def test_health_and_metrics_need_no_token(house):
    with house.client(token=None) as client:
        assert client.get("/healthz").json() == {"healthy": True}
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()) == (200, {"ready": True})
        metrics = client.get("/metrics")
        assert metrics.status_code == 200
        assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_a_draining_venue_is_not_ready():
    with served() as house, house.client(token=None) as client:
        house.venue.drain()
        reply = client.get("/readyz")
        assert (reply.status_code, reply.json()) == (503, {"ready": False, "why": "draining"})
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"Authorization": ""}, {"Authorization": TOKEN}, {"Authorization": "Bearer"},
        {"Authorization": f"Basic {TOKEN}"}, {"Authorization": f"Bearer {TOKEN}x"},
        {"X-API-KEY": KEY}, {"Authorization": f"Bearer {KEY}"},
    ],
)  # fmt: skip
@pytest.mark.parametrize(("method", "path"), [("GET", "status"), ("POST", "keys"), ("GET", "no")])
def test_requests_without_the_token_are_unauthenticated(house, headers, method, path):
    with house.client(token=None, **headers) as client:
        reply = ask(client, method, path)
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("LOCALHOST:8091", 200), ("127.0.0.1:1", 200), ("127.9.9.9", 200),
        ("[::1]:8091", 200), ("[::1]", 200), ("venue.example", 403), ("10.0.0.1", 403),
        ("0.0.0.0", 403), ("localhost.evil.example", 403), ("", 403), ("[::1", 403),
        ("[::1]x", 403), ("[::2]", 403), ("127.0.0.1.evil.example", 403), ("2130706433", 403),
    ],
)  # fmt: skip
def test_only_loopback_host_headers_are_accepted(house, host, status):
    with house.client(Host=host) as client:
        for path in ("/control/v1/status", "/healthz", "/metrics"):
            reply = client.get(path)
            assert reply.status_code == status
            if status == 403:
                assert reply.json()["code"] == "forbidden_host"


def test_a_unix_socket_accepts_any_host_header_but_needs_the_token(tmp_path):
    with served(socket_path(tmp_path)) as house:
        with house.client(Host="anything.example") as client:
            assert done(client, "GET", "status")["venue_state"] == "open"
        with house.client(token=None) as client:
            assert refused(client, "GET", "status")[0] == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""), ("GET", "nothing"), ("POST", "status"), ("HEAD", "users"), ("PATCH", "users"),
        ("GET", "companies/"), ("GET", "companies/LINDEN"), ("POST", "markets/a/b/halt"),
        ("POST", "markets/%ff/halt"), ("DELETE", "users"), ("GET", "/status"),
        ("GET", "../../health"), ("GET", "../v2/status"), ("GET", ".."),
    ],
)  # fmt: skip
def test_an_unknown_path_or_method_is_not_found(control, method, path):
    assert ask(control, method, path).status_code == 404


def test_control_replies_are_not_cached(control):
    assert ask(control, "GET", "status").headers["cache-control"] == "no-store"


def test_the_control_interface_rejects_websockets(house):
    url = f"ws://{house.address}/control/v1/status"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with pytest.raises(InvalidStatus, match="403"), connect(url, additional_headers=headers):
        pass


# --- bodies --------------------------------------------------------------------------------------

BAD: list[tuple[str, str, Any, str]] = [
    ("PUT", "venue-state", {"state": "shut"}, 'state: "shut"; accepted is open, cancel_only, halt'),
    ("PUT", "venue-state", {}, "state: missing; accepted is open"),
    ("PUT", "venue-state", {"state": "open", "x": 1}, "'x': unknown field; accepted are state"),
    ("PUT", "projection", {"lag_ms": 60_001}, "lag_ms: 60001; accepted is 0 to 60000"),
    ("PUT", "projection", {"lag_ms": -1}, "lag_ms: -1"),
    ("PUT", "projection", {"lag_ms": True}, "lag_ms: true"),
    ("PUT", "projection", {"lag_ms": 1.0}, "lag_ms: 1.0"),
    ("PUT", "projection", {"lag_ms": "1"}, 'lag_ms: "1"'),
    ("PUT", "projection", {"lag_ms": 10**30}, "lag_ms: 1000"),
    ("POST", "companies", {"name": "A", "symbol": "a"}, 'symbol: "a"; accepted is capitals'),
    ("POST", "companies", {"name": "A", "symbol": "A\n"}, "symbol: "),
    ("POST", "companies", {"name": "a\nb", "symbol": "A"}, "name: "),
    ("POST", "companies", {"name": "", "symbol": "A"}, "name: "),
    ("POST", "companies", {"name": "A", "symbol": "A", "project_id": "7"}, 'project_id: "7"'),
    ("POST", "companies/LINDEN/archive", {"now": True}, "'now': unknown field; accepted are no"),
    ("POST", "companies/LINDEN/implied-value", {"value_dollars": 1}, "value_dollars: 1"),
    ("PUT", "events/LINDEN-26Q4/status", {"status": "settled"}, "unopened, open, closed"),
    ("POST", "markets/LINDEN-26Q4-1B/resolve", {"winner": "both"}, "accepted is yes, no"),
    ("POST", "users", {"user_id": "a b"}, 'user_id: "a b"'),
    ("POST", "users/anna/deposits", {"amount_cents": 0}, "amount_cents: 0; accepted is whole"),
    ("POST", "users/anna/deposits", {"amount_cents": 2**63}, "amount_cents: 9223372036854775808"),
    ("POST", "keys", {"scopes": ["read"]}, "user_id: missing"),
    ("POST", "keys", {"user_id": "anna", "scopes": ["admin"]}, 'scopes: ["admin"]; accepted is a'),
    ("POST", "tokens", {"user_id": "anna"}, "application: missing"),
    ("POST", "faults", {}, "kind: missing"),
    ("POST", "faults", {"kind": "fire"}, 'kind: "fire"; accepted is engine_unavailable'),
    ("POST", "faults", {"kind": "drop_after"}, "count, share: missing"),
    ("POST", "faults", {"kind": "drop_after", "count": 1, "share": "1"}, "count or share"),
    ("POST", "faults", {"kind": "drop_after", "share": "1.5"}, 'share: "1.5"'),
    ("POST", "faults", {"kind": "drop_after", "count": 1, "verbs": []}, "verbs: []"),
    ("POST", "faults", {"kind": "drop_after", "count": 1, "verbs": ["read"]}, 'verbs: ["read"]'),
    ("POST", "faults", {"kind": "reply_delay", "on": "all"}, "delay_ms: missing"),
    ("POST", "faults", {"kind": "reply_delay", "on": "all", "delay_ms": 0}, "delay_ms: 0"),
    ("POST", "faults", {"kind": "accounts_down", "count": 1}, "'count': unknown field"),
    ("POST", "faults", {"kind": ["drop_after"]}, "kind: "),
]


@pytest.mark.parametrize(("method", "path", "body", "message"), BAD)
def test_a_bad_body_is_rejected_with_field_value_and_accepted_values(
    control, method, path, body, message
):
    status, code, error = refused(control, method, path, body)
    assert (status, code) == (400, "invalid_request")
    assert message in error


@pytest.mark.parametrize(
    "raw",
    [
        b"[]", b"null", b"{", b'{"state": "open", "state": "halted"}', b'{"state": NaN}', b"\xff",
        b'{"state": "\\ud800"}', b"[" * 10_000, b'{"a":' * 3_000, b"x" * 17_000,
        b'{"state": ' + b"9" * 5_000 + b"}",
    ],
)  # fmt: skip
def test_a_body_that_is_no_json_object_is_rejected(control, raw):
    reply = control.put("/control/v1/venue-state", content=raw)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_request")


def test_an_unknown_query_parameter_is_rejected(control):
    assert refused(control, "GET", "keys?user=anna")[:2] == (400, "invalid_request")
    assert refused(control, "GET", "users?user_id=anna")[:2] == (400, "invalid_request")
    assert refused(control, "GET", "keys?user_id=a&user_id=b")[:2] == (400, "invalid_request")


# --- how the venue runs --------------------------------------------------------------------------


def test_status_shows_the_state_of_the_venue(control, house):
    status = done(control, "GET", "status")
    assert set(status) == {
        "version", "venue_state", "sequence", "at", "durable", "writable", "queue",
        "projection_lag_ms", "subscribers", "users", "markets", "crowd", "faults",
    }  # fmt: skip
    assert (status["durable"], status["writable"], status["queue"]) == (False, True, 0)
    assert status["users"] >= 1
    assert to_ns(status["at"]) <= house.venue.now_ns()


def test_the_state_hash_changes_only_with_the_state(control):
    before = done(control, "GET", "state-hash")
    assert done(control, "GET", "state-hash") == before
    done(control, "POST", "users/anna/deposits", {"amount_cents": 5})
    after = done(control, "GET", "state-hash")
    assert after["sequence"] > before["sequence"]
    assert after["state_hash"] != before["state_hash"]
    assert len(after["state_hash"]) == 64


@pytest.mark.parametrize(
    ("state", "code"), [("cancel_only", "venue_cancel_only"), ("halted", "venue_halted")]
)
def test_a_stopped_venue_rejects_orders_until_it_is_open(control, rest, state, code):
    assert done(control, "PUT", "venue-state", {"state": state}) == {"state": state}
    assert done(control, "GET", "status")["venue_state"] == state
    order = {"ticker": TICKER, "outcome": "yes", "side": "buy", "price": 5, "qty": 1}
    reply = rest.post("/orders", json={**order, "client_order_id": state})
    assert (reply.status_code, reply.json()["code"]) == (409, code)
    done(control, "PUT", "venue-state", {"state": "open"})
    assert rest.post("/orders", json={**order, "client_order_id": state}).status_code == 201


def test_control_accepts_new_names_before_lagging_reads_show_them():
    with served() as house, house.client() as control, house.rest() as rest:
        assert done(control, "PUT", "projection", {"lag_ms": 60_000}) == {"lag_ms": 60_000}
        assert done(control, "GET", "status")["projection_lag_ms"] == 60_000
        done(control, "POST", "companies", {"name": "Late", "symbol": "LATE"})
        done(control, "POST", "events", event("LATE", "LATE-VAL"))
        listed = done(control, "POST", "markets", market("LATE-VAL-26Q4", "3B"))
        done(control, "POST", f"markets/{listed['ticker']}/halt")
        done(control, "POST", f"markets/{listed['market_id']}/resume")
        done(control, "POST", "users", {"user_id": "latecomer"})
        done(control, "POST", "users/latecomer/deposits", {"amount_cents": 7})
        assert "LATE" in [row["symbol"] for row in done(control, "GET", "companies")["companies"]]
        assert rest.get(f"/markets/{listed['ticker']}/orderbook").status_code == 404


# --- faults --------------------------------------------------------------------------------------


def test_faults_are_set_listed_and_cleared():
    with served() as house, house.client() as control:
        share = {"kind": "drop_after", "share": "0.25", "verbs": ["cancel"], "seed": 7}
        count = {"kind": "result_unknown_before", "count": 3}
        late = {"kind": "reply_delay", "delay_ms": 5, "on": "reads"}
        for body in (share, {"kind": "accounts_down"}, count, late):
            assert done(control, "POST", "faults", body)["kind"] == body["kind"]
        every = ["create", "amend", "cancel"]
        listed = [{**count, "verbs": every}, share, late, {"kind": "accounts_down"}]
        assert done(control, "GET", "faults") == {"faults": [{**r, "struck": 0} for r in listed]}
        kinds = ["result_unknown_before", "drop_after", "reply_delay", "accounts_down"]
        assert done(control, "GET", "status")["faults"] == kinds
        assert done(control, "POST", "faults", {**count, "count": 1})["count"] == 1
        left = done(control, "DELETE", "faults/drop_after")["faults"]
        assert [row["kind"] for row in left] == [k for k in kinds if k != "drop_after"]
        assert done(control, "DELETE", "faults/drop_after")["faults"] == left
        assert done(control, "DELETE", "faults") == {"faults": []}


# --- when the venue takes nothing ----------------------------------------------------------------


def test_control_is_unavailable_when_the_venue_takes_no_commands(monkeypatch):
    async def unavailable(_):
        raise EngineUnavailable

    with served() as house, house.client() as control:
        monkeypatch.setattr(house.venue, "submit", unavailable)
        reply = ask(control, "POST", "users", {"user_id": "eva"})
        assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")
        assert reply.json()["details"] == "engine_unavailable"


def test_an_internal_error_is_logged_and_not_shown(house, monkeypatch):
    def broken():
        raise RuntimeError("the secret detail")

    monkeypatch.setattr(house.venue, "state_hash", broken)
    with house.client() as control, capture_logs() as logs:
        assert refused(control, "GET", "state-hash") == (500, "internal_error", "internal error")
    (entry,) = logs
    assert (entry["event"], entry["log_level"]) == ("control_internal_error", "error")
    assert "the secret detail" in entry["traceback"]
