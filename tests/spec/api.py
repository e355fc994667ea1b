"""How the outside judge speaks to a venue: raw HTTP and raw frames, and what holds of every reply.

Works against any base address and any keys; it knows the interface's text and nothing else.
"""

import contextlib
import itertools
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

Json = dict[str, Any]

CODES = {
    400: {
        "invalid_request_body",
        "invalid_parameter",
        "invalid_market_identifier",
        "invalid_order_id",
        "invalid_price",
        "invalid_qty",
        "invalid_budget",
        "invalid_enum_value",
        "invalid_cursor",
        "conflicting_identifiers",
        "conflicting_credentials",
        "missing_idempotency_key",
    },
    401: {"unauthenticated"},
    403: {"forbidden_scope", "api_key_misconfigured"},
    404: {"market_not_found", "order_not_found"},
    409: {"venue_halted", "venue_cancel_only"},
    422: {
        "insufficient_balance",
        "insufficient_shares",
        "market_halted",
        "market_resolved",
        "duplicate_order_id",
        "order_not_cancelable",
        "budget_not_fillable",
        "no_executable_liquidity",
        "invalid_request",
    },
    429: {"rate_limited", "engine_overloaded"},
    500: {"internal_error"},
    503: {"engine_unavailable", "result_unknown"},
}
INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{9})?Z", re.ASCII
)
ZERO_INSTANT = re.compile(r"0001-01-01T00:00:00(\.0+)?Z", re.ASCII)
ORDER_ID = re.compile(r"[0-9]{1,20}", re.ASCII)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)

UUID_FIELDS = {"market_id", "project_market_id", "project_id"}
INSTANT_FIELDS = {"created_at", "updated_at", "as_of", "timestamp", "resolution_date"}
DECIMAL_FIELDS = {"maker_fee_rate", "taker_fee_rate", "strike_value", "volume_usd"}
INTEGER_FIELDS = {
    "price",
    "size",
    "qty",
    "remaining_qty",
    "filled_qty",
    "reduced_by",
    "open_interest",
    "last_price",
    "min_price",
    "max_price",
    "tick_size",
    "available_cents",
    "reserved_cents",
    "total_cents",
    "spent_cents",
    "outcome_price",
    "trade_price",
    "fee_cents",
    "cost_basis",
    "avg_entry_price",
    "realized_pnl",
    "volume",
    "trade_count",
}

_serial = itertools.count(1)


def fresh_id(stem: str = "order") -> str:
    """A client_order_id never used before in this process."""
    return f"{stem}-{next(_serial)}"


def buy(market: Json, outcome: str = "yes", price: int = 40, qty: int = 10, **more: Any) -> Json:
    """The fields of a buy on a market."""
    return {
        "ticker": market["ticker"],
        "outcome": outcome,
        "side": "buy",
        "price": price,
        "qty": qty,
        **more,
    }


def judge_value(value: Any, field: str = "") -> None:
    """What the conventions say of any value, by the name of its field; fails the test if not."""
    assert value is not None, f"{field} is null"
    if isinstance(value, dict):
        for name, inner in value.items():
            judge_value(inner, name)
    elif isinstance(value, list):
        for inner in value:
            judge_value(inner, field)
    elif field in INTEGER_FIELDS:
        assert type(value) is int, (field, value)
    elif field in DECIMAL_FIELDS:
        assert isinstance(value, str), (field, value)
        assert DECIMAL.fullmatch(value), (field, value)
    elif field in INSTANT_FIELDS:
        assert INSTANT.fullmatch(value), (field, value)
    elif field in UUID_FIELDS:
        assert UUID.fullmatch(value), (field, value)
    elif field == "order_id":
        assert isinstance(value, str), (field, value)
        assert ORDER_ID.fullmatch(value), (field, value)
    assert not isinstance(value, float), (field, value)


def judge_reply(reply: httpx.Response) -> None:
    """What holds of every reply of the service, whatever was asked."""
    assert reply.headers["content-type"].split(";")[0] == "application/json"
    body = reply.json()
    judge_value(body)
    if reply.status_code >= 400:
        assert body["code"] in CODES[reply.status_code], body
        assert isinstance(body["error"], str)
        assert set(body) <= {"code", "error", "details"}
    if reply.status_code == 401:
        assert not [name for name in reply.headers if name.startswith("x-ratelimit")]
        assert "retry-after" not in reply.headers
    elif body.get("code") != "conflicting_credentials":
        assert reply.headers["x-ratelimit-limit"] == "500"
        assert 0 <= int(reply.headers["x-ratelimit-remaining"]) <= 500
    assert ("retry-after" in reply.headers) == (reply.status_code == 429)
    assert ("x-ratelimit-reset" in reply.headers) == (
        reply.status_code == 429 and body["code"] == "rate_limited"
    ) or body.get("code") == "engine_overloaded"


class Caller:
    """One credential against one venue. Every reply is judged before it is handed out."""

    def __init__(self, base_url: str, headers: dict[str, str]) -> None:
        self.headers = headers
        self._http = httpx.Client(base_url=base_url, trust_env=False, timeout=10)
        self._remaining = 500

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        params: Any = None,
        headers: Any = None,
    ) -> httpx.Response:
        """The judged reply to one request; waits rather than run into the limiter."""
        if self._remaining < 20:
            time.sleep(0.2)
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        reply = self._http.request(
            method,
            path,
            content=content,
            params=params,
            headers=self.headers if headers is None else headers,
        )
        judge_reply(reply)
        self._remaining = int(reply.headers.get("x-ratelimit-remaining", "500"))
        return reply

    def get(self, path: str, /, **params: Any) -> Json:
        """The body of a read that must succeed."""
        # Python's own keyword cannot be a parameter's name.
        asked = {name.rstrip("_"): value for name, value in params.items()}
        reply = self.ask("GET", path, params=asked)
        assert reply.status_code == 200, reply.text[:400]
        body: Json = reply.json()
        return body

    def refusal(self, path: str, /, **params: Any) -> tuple[int, str]:
        """Status and code of a read that must fail."""
        asked = {name.rstrip("_"): value for name, value in params.items()}
        reply = self.ask("GET", path, params=asked)
        assert reply.status_code >= 400, reply.text[:400]
        return reply.status_code, reply.json()["code"]

    def place(self, **fields: Any) -> httpx.Response:
        """POST /orders with a fresh client_order_id unless one is given."""
        return self.ask("POST", "/orders", {"client_order_id": fresh_id(), **fields})

    def placed(self, **fields: Any) -> Json:
        """The order of a create that must succeed."""
        reply = self.place(**fields)
        assert reply.status_code in (200, 201), reply.text[:400]
        body: Json = reply.json()
        return body

    def refused(self, **fields: Any) -> tuple[int, str]:
        """Status and code of a create that must fail."""
        reply = self.place(**fields)
        assert reply.status_code >= 400, reply.text[:400]
        return reply.status_code, reply.json()["code"]

    def amend(self, order_id: str, **fields: Any) -> httpx.Response:
        """PUT /orders/{order_id}."""
        return self.ask("PUT", f"/orders/{order_id}", fields)

    def cancel(self, order_id: str) -> httpx.Response:
        """DELETE /orders/{order_id}."""
        return self.ask("DELETE", f"/orders/{order_id}")

    def walk(self, path: str, name: str, **params: Any) -> list[Json]:
        """All rows of a list endpoint, page by page."""
        rows: list[Json] = []
        cursor = ""
        for _ in range(1000):
            asked = {**params, "cursor": cursor} if cursor else params
            page = self.get(path, **asked)
            rows += page[name]
            cursor = page["cursor"]
            if cursor == "":
                return rows
        raise AssertionError("the walk does not end")

    def eventually(self, read: Any, wanted: Any) -> Any:
        """`read()` once it satisfies `wanted`, within two seconds: reads may lag behind writes."""
        deadline = time.monotonic() + 2
        while True:
            value = read()
            if wanted(value):
                return value
            assert time.monotonic() < deadline, value
            time.sleep(0.003)

    def order_read(self, order_id: str, **wanted: Any) -> Json:
        """The order as the read side shows it, once its fields are as wanted."""

        def read() -> Json:
            reply = self.ask("GET", f"/orders/{order_id}")
            body: Json = reply.json()
            return body

        order: Json = self.eventually(
            read, lambda body: all(body.get(name) == value for name, value in wanted.items())
        )
        return order

    def balance(self) -> Json:
        """The balance after everything written before has arrived on the read side."""
        time.sleep(0.02)
        return self.get("/portfolio/balance")

    def holdings(self, ticker: str) -> dict[str, int]:
        """Shares held per outcome of one market."""
        time.sleep(0.02)
        rows = self.get("/portfolio/positions", ticker=ticker)["positions"]
        return {row["outcome"]: row["qty"] for row in rows}


class Listener:
    """One raw connection to the channel."""

    def __init__(self, stream_url: str) -> None:
        self.last: Json = {}
        """The frame that came last; the word of a test that wanted none."""
        self._open = contextlib.ExitStack()
        self._socket: ClientConnection = self._open.enter_context(
            connect(stream_url, proxy=None, compression=None)
        )

    def close(self) -> None:
        """Leave."""
        self._open.close()

    def send_raw(self, text: str) -> None:
        """Send one text message as it is."""
        self._socket.send(text)

    def subscribe(self, *targets: tuple[str, str, str]) -> None:
        """Send a subscribe frame of (target, key, value) triples."""
        rows = [{"target": kind, "data": {key: value}} for kind, key, value in targets]
        self._socket.send(json.dumps({"type": "subscribe", "data": {"targets": rows}}))

    def frame(self, timeout_s: float = 2) -> Json:
        """The next frame. Raises TimeoutError when none comes."""
        body: Json = json.loads(self._socket.recv(timeout=timeout_s))
        self.last = body
        assert body["type"] in ("market-update", "subscribed", "error"), body
        return body

    def updates(self, kind: str) -> Iterator[Json]:
        """The data of every further market-update of one kind, as it comes."""
        while True:
            body = self.frame()
            assert body["type"] == "market-update", body
            if body["data"]["type"] == kind:
                yield body["data"]

    def accepted(self, *targets: tuple[str, str, str]) -> int:
        """Subscribe, and return the acknowledged count; what came before it is passed over."""
        self.subscribe(*targets)
        while (body := self.frame())["type"] == "market-update":
            pass
        assert body["type"] == "subscribed", body
        count: int = body["data"]["targets"]
        return count

    def refused(self, *targets: tuple[str, str, str]) -> Json:
        """Subscribe, and return the error frame."""
        self.subscribe(*targets)
        return self.error()

    def error(self) -> Json:
        """The next error frame; updates before it are passed over."""
        while (body := self.frame())["type"] == "market-update":
            pass
        assert body["type"] == "error", body
        assert set(body) == {"type", "message", "code"}
        return body

    def silent(self, seconds: float = 0.1) -> bool:
        """Whether nothing at all comes for a while."""
        try:
            self.frame(timeout_s=seconds)
        except TimeoutError:
            return True
        return False

    def close_code(self) -> int:
        """The code with which the venue closes; frames before that are passed over."""
        try:
            while True:
                self._socket.recv(timeout=3)
        except ConnectionClosed:
            assert self._socket.close_code is not None
            return self._socket.close_code
