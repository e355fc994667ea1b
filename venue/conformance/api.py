"""How the outside judge speaks to a venue: raw HTTP, raw frames, and a memory of what was said."""

import contextlib
import itertools
import json
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import httpx
import msgspec
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from venue.conformance.judge import Broken, Json, Unjudged, holds, judge_reply, same
from venue.conformance.shapes import judge_body, judge_update

Read = TypeVar("Read")

PATIENCE_S: Final = 3.0
"""Timeout of a stale read: how long reads may lag behind a write."""

SETTLE_S: Final = 0.02
"""How long a check waits for reads to catch up, besides the lag that the venue is known to have."""

_TOKENS_KEPT: Final = 20
_CANCELS: Final = 5
_EXCHANGES_KEPT: Final = 4
_TEXT_SHOWN: Final = 600

_NO_FAULT: Final = frozenset(
    {"insufficient_balance", "market_halted", "market_resolved", "venue_halted"}
    | {"venue_cancel_only"}
)
"""What a good create may be refused with where the world is not the check's own."""

_serial = itertools.count(1)
_process = secrets.token_hex(4)


class HttpExchange(msgspec.Struct, frozen=True):
    """One request and its reply, as a person wants to see them. Holds no credential."""

    asked: str
    sent: str
    status: int
    got: str

    def __str__(self) -> str:
        sent = f" {self.sent}" if self.sent else ""
        return f"{self.asked}{sent} -> {self.status} {self.got}"


class Trail:
    def __init__(self) -> None:
        self.exchanges: deque[HttpExchange] = deque(maxlen=_EXCHANGES_KEPT)

    def note(
        self, reply: httpx.Response, content: bytes | None, secrets_: Iterable[str] = ()
    ) -> None:
        sent = "" if content is None else content.decode(errors="replace")
        asked = f"{reply.request.method} {reply.request.url.raw_path.decode()}"
        texts = [asked, sent, reply.text]
        for secret in filter(None, secrets_):
            texts = [text.replace(secret, "***") for text in texts]
        asked, sent, got = (text[:_TEXT_SHOWN] for text in texts)
        self.exchanges.append(HttpExchange(asked, sent, reply.status_code, got))


def fresh_id(stem: str = "order") -> str:
    """A client_order_id never used before: ids are remembered for ever, runs may share a key."""
    return f"{stem}-{_process}-{next(_serial)}"


def buy(market: Json, outcome: str = "yes", price: int = 40, qty: int = 10, **more: Any) -> Json:
    order = {"ticker": market["ticker"], "outcome": outcome, "side": "buy"}
    return {**order, "price": price, "qty": qty, **more}


def sell(market: Json, outcome: str = "yes", price: int = 40, qty: int = 10, **more: Any) -> Json:
    return {**buy(market, outcome, price, qty, **more), "side": "sell"}


def eventually(read: Callable[[], Read], wanted: Callable[[Read], object]) -> Read:
    """`read()` once it satisfies `wanted`: reads may lag behind writes. Raises Broken."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        value = read()
        if wanted(value):
            return value
        holds(time.monotonic() < deadline, f"after {PATIENCE_S:g} s still {value!r}")
        time.sleep(0.003)


open_client: Final = httpx.Client


class Caller:
    """One credential against one venue. Every reply is judged before it is handed out."""

    def __init__(self, base_url: str, headers: dict[str, str], trail: Trail) -> None:
        self.headers = headers
        self.user_id = ""
        self.base_url = base_url
        self._http = open_client(base_url=base_url, trust_env=False, timeout=10)
        self._trail = trail
        self._remaining = 500
        self.is_lent = False
        """Whether it is somebody's own key, whose cash and markets are as they are."""
        self.settle_s = SETTLE_S
        self._placed: list[str] = []

    def withdraw(self) -> None:
        for order_id in self._placed:
            for _ in range(_CANCELS):
                with contextlib.suppress(httpx.HTTPError):
                    path = f"/orders/{order_id}"
                    reply = self._http.delete(path, headers=self.headers)
                    if reply.status_code < 300 or reply.status_code in (404, 422):
                        break
                time.sleep(0.5)
        self._placed.clear()

    def close(self) -> None:
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
        hurry: bool = False,
    ) -> httpx.Response:
        """The judged reply to one request; waits rather than exceed the rate limit, unless `hurry`.
        headers: instead of the caller's own credential."""
        if self._remaining < _TOKENS_KEPT and not hurry:
            time.sleep(0.2)
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        sent = self.headers if headers is None else headers
        reply = self._http.request(method, path, content=content, params=params, headers=sent)
        held = [value.removeprefix("Bearer ") for value in self.headers.values()]
        self._trail.note(reply, content, held)
        if method == "POST" and reply.status_code < 300:
            # Before the reply is judged: a wrong order may rest all the same.
            with contextlib.suppress(ValueError, TypeError, KeyError):
                self._placed.append(reply.json()["order_id"])
        judge_reply(reply)
        if reply.status_code < 300:
            judge_body(method, path, reply.json())
        if headers is None:
            self._remaining = int(reply.headers.get("x-ratelimit-remaining", "500"))
        return reply

    def get(self, path: str, /, **params: Any) -> Json:
        asked = _query(params)
        reply = self.ask("GET", path, params=asked)
        same(reply.status_code, 200, f"GET {path} {asked}")
        return body_of(reply)

    def refusal(self, path: str, /, **params: Any) -> str:
        return refusal_of(self.ask("GET", path, params=_query(params)))

    def place(self, **fields: Any) -> httpx.Response:
        return self.ask("POST", "/orders", {"client_order_id": fresh_id(), **fields})

    def placed(self, **fields: Any) -> Json:
        """The order of a create that must succeed. Raises Unjudged where a lent key cannot place
        it."""
        reply = self.place(**fields)
        code = reply.json().get("code")
        if self.is_lent and code in _NO_FAULT:
            raise Unjudged(f"nothing can be placed with this key now: {code}")
        return _carried_out(reply, "a create")

    def refused(self, **fields: Any) -> str:
        return refusal_of(self.place(**fields))

    def amend(self, order_id: str, **fields: Any) -> httpx.Response:
        return self.ask("PUT", f"/orders/{order_id}", fields)

    def amended(self, order_id: str, **fields: Any) -> Json:
        return _carried_out(self.amend(order_id, **fields), "an amend")

    def cancel(self, order_id: str) -> httpx.Response:
        return self.ask("DELETE", f"/orders/{order_id}")

    def cancelled(self, order_id: str) -> Json:
        return _carried_out(self.cancel(order_id), "a cancel")

    def walk(self, path: str, name: str, **params: Any) -> list[Json]:
        """All rows of a list endpoint, page by page. Raises Broken for one of more than `limit`."""
        rows: list[Json] = []
        cursor = ""
        for _ in range(1000):
            asked = {**params, "cursor": cursor} if cursor else params
            page = self.get(path, **asked)
            count = len(page[name])
            holds(count <= params.get("limit", count), f"{count} rows in a page of {path} {asked}")
            rows += page[name]
            cursor = page["cursor"]
            if cursor == "":
                return rows
        raise Broken(f"the walk over {path} does not end")

    def rows(self, path: str, name: str, count: int, **params: Any) -> list[Json]:
        return eventually(
            lambda: [*self.get(path, **params)[name]], lambda rows: len(rows) == count
        )

    def snapshot(self, market: Json) -> Json:
        return self.get(f"/markets/{market['ticker']}/snapshot")

    def order_read(self, order_id: str, **wanted: Any) -> Json:
        return eventually(
            lambda: body_of(self.ask("GET", f"/orders/{order_id}")),
            lambda body: (
                "order_id" in body
                and all(body.get(name) == value for name, value in wanted.items())
            ),
        )

    def balance(self) -> Json:
        time.sleep(self.settle_s)
        return self.get("/portfolio/balance")

    def holdings(self, ticker: str) -> dict[str, int]:
        time.sleep(self.settle_s)
        rows = self.get(f"/markets/{ticker}/snapshot")["positions"]
        return {row["outcome"]: row["qty"] for row in rows}

    def interest(self, ticker: str) -> int:
        count: int = self.get(f"/markets/{ticker}/snapshot")["stats"]["open_interest"]
        return count


def _query(params: dict[str, Any]) -> dict[str, Any]:
    # Python's own keyword cannot be a parameter's name: `from_`.
    return {name.rstrip("_"): value for name, value in params.items()}


def body_of(reply: httpx.Response) -> Json:
    body: Json = reply.json()
    return body


def _carried_out(reply: httpx.Response, what: str) -> Json:
    holds(reply.status_code in (200, 201), f"{what} answered {reply.status_code}")
    return body_of(reply)


def refusal_of(reply: httpx.Response) -> str:
    """The code of a reply that must be a failure, under its own status as each reply is judged.
    Raises Broken."""
    holds(reply.status_code >= 400, f"answered {reply.status_code} where a refusal was due")
    return str(reply.json()["code"])


Target = tuple[str, str, str]


def by_ticker(market: Json) -> Target:
    return ("event-market", "ticker", market["ticker"])


def by_id(market: Json) -> Target:
    return ("event-market", "eventMarketId", market["market_id"])


class Listener:
    def __init__(self, stream_url: str) -> None:
        self._open = contextlib.ExitStack()
        self._socket: ClientConnection = self._open.enter_context(
            connect(stream_url, proxy=None, compression=None)
        )

    def close(self) -> None:
        self._open.close()

    def send_raw(self, text: str | bytes) -> None:
        self._socket.send(text)

    def subscribe(self, *targets: Target) -> None:
        """Send a subscribe frame of (target, key, value) triples."""
        rows = [{"target": kind, "data": {key: value}} for kind, key, value in targets]
        self._socket.send(json.dumps({"type": "subscribe", "data": {"targets": rows}}))

    def frame(self, timeout_s: float = PATIENCE_S) -> Json:
        """The next frame. Raises Broken when none comes."""
        try:
            body: Json = json.loads(self._socket.recv(timeout=timeout_s))
        except TimeoutError:
            raise Broken(f"no frame within {timeout_s:g} s") from None
        holds(isinstance(body, dict), f"frame {body!r}")
        if body.get("type") == "market-update":
            judge_update(body["data"])
        if body.get("type") == "error":
            same(body.keys(), {"type", "message", "code"}, "fields of an error frame")
            holds(isinstance(body["message"], str), "the message of an error frame is a text")
        return body

    def updates(self, kind: str) -> Iterator[Json]:
        while True:
            body = self.frame()
            if body["type"] == "market-update" and body["data"]["type"] == kind:
                yield body["data"]

    def next_book(self, wanted: Callable[[Json], object] = lambda _: True) -> Json:
        return next(book for book in self.updates("prediction-orderbook") if wanted(book))

    def accepted(self, *targets: Target) -> int:
        """Subscribe, and return the acknowledged count (S9); updates before it are passed over."""
        self.subscribe(*targets)
        count: int = self._answer("subscribed")["data"]["targets"]
        return count

    def refused(self, *targets: Target) -> Json:
        self.subscribe(*targets)
        return self.error()

    def error(self) -> Json:
        return self._answer("error")

    def _answer(self, kind: str) -> Json:
        """The next frame that is no update, which must be of this kind."""
        while (body := self.frame())["type"] == "market-update":
            pass
        same(body["type"], kind, f"answer to a subscribe, {body!r}")
        return body

    def quiet(self, seconds: float = 0.1) -> None:
        """Nothing at all comes for a while. Raises Broken with what came."""
        try:
            came = self._socket.recv(timeout=seconds)
        except TimeoutError:
            return
        raise Broken(f"a frame where none was due: {came[:_TEXT_SHOWN]!r}")

    def close_code(self) -> int:
        try:
            while True:
                self._socket.recv(timeout=PATIENCE_S)
        except ConnectionClosed:
            code = self._socket.close_code
            holds(code is not None, "closed without a code")
            return code or 0
        except TimeoutError:
            raise Broken("the connection stays open") from None
