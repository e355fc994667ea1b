"""Checks of the request limiter: the bucket, what shares it, and the headers of every answer."""

import contextlib
import http.client
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import urlsplit

import httpx

from venue.check.api import Caller, buy, fresh_id, refusal_of
from venue.check.bench import Bench
from venue.check.judge import Json, Unjudged, holds, same
from venue.check.registry import Needs, check

_DRAINERS: Final = 6
_DRAIN_S: Final = 15.0
_TRIES: Final = 400
THROTTLED: Final = 429
ROUTES: Final = (
    *(("GET", path) for path in ("/markets", "/markets/{}/snapshot", "/markets/{}/orderbook")),
    *(("GET", path) for path in ("/markets/{}/candles", "/events", "/events/{}", "/orders")),
    *(("GET", path) for path in ("/orders/1", "/portfolio/balance", "/portfolio/positions")),
    *(("GET", "/portfolio/fills"), ("POST", "/orders"), ("PUT", "/orders/1")),
    ("DELETE", "/orders/1"),
)


def _connection(caller: Caller) -> http.client.HTTPConnection:
    address = urlsplit(caller.base_url)
    secure = address.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    return kind(address.hostname or "", address.port or (443 if secure else 80), timeout=10)


def _drink(caller: Caller, until: Callable[[int], bool]) -> int:
    """Ask for what costs a token and little else, until told; how many passed."""
    path, passed = f"{urlsplit(caller.base_url).path}/orders/abc", 0
    with contextlib.closing(_connection(caller)) as connection:
        while True:
            connection.request("GET", path, headers=caller.headers)
            reply = connection.getresponse()
            reply.read()
            passed += reply.status != THROTTLED
            if until(reply.status):
                return passed


def _drained(caller: Caller) -> tuple[int, float]:
    """Empty a caller's bucket: how many requests passed, and in how many seconds.

    Several plain connections at once, or a slow machine would be outrun by the refilling.
    """
    begun = time.monotonic()
    over = threading.Event()

    def until(status: int) -> bool:
        if status == THROTTLED:
            over.set()
        return over.is_set() or time.monotonic() > begun + _DRAIN_S

    with ThreadPoolExecutor(_DRAINERS) as pool:
        passed = sum(pool.map(lambda _: _drink(caller, until), range(_DRAINERS)))
    if not over.is_set():
        raise Unjudged(f"{passed} answers in {_DRAIN_S:g} s: too few to outrun 250 a second")
    return passed, time.monotonic() - begun


@contextlib.contextmanager
def _kept_empty(caller: Caller) -> Iterator[None]:
    """A caller's bucket is as good as empty for the length of a block."""
    _drained(caller)
    over = threading.Event()
    with ThreadPoolExecutor(_DRAINERS) as pool:
        for _ in range(_DRAINERS):
            pool.submit(_drink, caller, lambda _: over.is_set())
        try:
            yield
        finally:
            over.set()


def _throttled(caller: Caller, method: str, path: str, body: Json | None = None) -> httpx.Response:
    """The 429 of a route while the bucket is kept empty; a token may slip in now and then."""
    for _ in range(_TRIES):
        reply = caller.ask(method, path, body, hurry=True)
        if reply.status_code == THROTTLED:
            return reply
    raise Unjudged(f"{method} {path}: the bucket refills faster than it can be emptied")


@check()
def check_the_bucket_holds_500_and_refills_at_250_a_second(bench: Bench) -> None:
    """Limits | Request rate: 250 a second sustained, burst 500, one bucket per API key.

    Errors | 429 rate_limited: token bucket empty.
    Limits | Retry-After and X-RateLimit-Reset: on a 429, seconds to wait and when it refills.
    """
    burst = bench.trader()
    accepted, elapsed_s = _drained(burst)
    holds(500 <= accepted <= 500 + 250 * elapsed_s + 1, f"{accepted} in {elapsed_s:.3f} s")
    with _kept_empty(burst):
        reply = _throttled(burst, "GET", "/portfolio/balance")
    same(refusal_of(reply), (429, "rate_limited"))
    holds(int(reply.headers["retry-after"]) >= 1, "Retry-After")
    same(reply.headers["x-ratelimit-remaining"], "0")
    reset = float(reply.headers["x-ratelimit-reset"])
    holds(reset > 0, "X-RateLimit-Reset")
    bench.wait(int(reply.headers["retry-after"]))
    same(burst.ask("GET", "/portfolio/balance").status_code, 200, "after Retry-After")


@check()
def check_every_route_is_throttled(bench: Bench) -> None:
    """Endpoints | Every authenticated endpoint can also return 401, 403 and 429.

    Limits | The bucket covers the whole surface.
    """
    caller, ticker = bench.trader(), bench.some_market()["ticker"]
    with _kept_empty(caller):
        for method, path in ROUTES:
            reply = _throttled(caller, method, path.format(ticker))
            same(refusal_of(reply), (429, "rate_limited"), f"{method} {path}")


@check()
def check_what_is_throttled_changes_nothing(bench: Bench) -> None:
    """Errors | rate_limited: nothing reached the engine; safe to retry after backoff.

    Limits | A throttled cancel leaves the order resting.
    """
    user, market = bench.user(), bench.market()
    burst, other = (bench.with_key(bench.key(user)["key"]) for _ in range(2))
    with _kept_empty(burst):
        # New orders, until a cancel right after its create is throttled.
        for _ in range(_TRIES):
            order = other.placed(**buy(market, price=1, qty=1))
            path = f"/orders/{order['order_id']}"
            if burst.ask("DELETE", path, hurry=True).status_code == THROTTLED:
                break
        body = {**buy(market, price=2, qty=1), "client_order_id": fresh_id()}
        reply = burst.ask("POST", "/orders", body, hurry=True)
    read = other.order_read(order["order_id"])
    same((read["status"], read["remaining_qty"]), ("open", 1), "after a throttled cancel")
    other.balance()
    rows = other.get("/orders", ticker=market["ticker"], limit=1)["orders"]
    if reply.status_code == THROTTLED:
        same(rows[0]["order_id"], order["order_id"], "the newest after a throttled create")


@check()
def check_every_answer_takes_one_token_whatever_the_route(bench: Bench) -> None:
    """Limits | X-RateLimit-Limit and -Remaining are on every response to an authenticated request.

    Limits | One bucket per credential for the whole surface, not per route.
    """
    caller = bench.with_key(bench.key(bench.user())["key"])
    market = bench.market()
    ticker = market["ticker"]
    asks = [("GET", "/markets"), ("GET", f"/markets/{ticker}/orderbook"), ("GET", "/orders/abc")]
    asks += [("GET", "/orders/1"), ("POST", "/orders"), ("GET", "/events"), ("DELETE", "/orders/1")]
    begun, left = time.monotonic(), []
    for method, path in asks:
        reply = caller.ask(method, path)
        left.append(int(reply.headers["x-ratelimit-remaining"]))
        same(reply.headers["x-ratelimit-limit"], "500")
    refilled = 250 * (time.monotonic() - begun) + 1
    holds(left[0] <= 499, f"left after the first answer: {left[0]}")
    # What flows back in the meantime is all that may be missing from one token an answer.
    holds(left[-1] >= 500 - len(asks), f"left after {len(asks)} answers: {left}")
    holds(left[-1] <= 500 - len(asks) + refilled, f"left after {len(asks)} answers: {left}")


@check()
def check_one_key_out_of_tokens_does_not_slow_another(bench: Bench) -> None:
    """Limits | The bucket is per credential: another key of the same user goes on."""
    user = bench.user()
    first = bench.with_key(bench.key(user)["key"])
    second = bench.with_key(bench.key(user)["key"])
    _drained(first)
    same(second.ask("GET", "/portfolio/balance").status_code, 200)


@check()
def check_tokens_of_one_application_and_user_share_a_bucket(bench: Bench) -> None:
    """Limits | One bucket per stable OAuth principal: granting application and user."""
    user, scopes = bench.user(), ["svc:account:read"]
    one, two = (bench.with_token(bench.token(user, scopes)) for _ in range(2))
    foreign = bench.with_token(bench.token(user, scopes, application="another"))

    def remaining(caller: Caller) -> int:
        reply = caller.ask("GET", "/portfolio/balance", hurry=True)
        return int(reply.headers["x-ratelimit-remaining"])

    with _kept_empty(one):
        # Full buckets of their own would never be seen below 498.
        shared, own = remaining(two), remaining(foreign)
    holds(own >= 498, f"another application's bucket: {own} left")
    holds(shared < 490, "what one token takes is not missed by the other")


@check(readings="S42")
def check_a_forbidden_request_costs_a_token_and_a_401_none(bench: Bench) -> None:
    """Limits | A 403 takes a token and carries the headers; failed authentication takes none."""
    caller = bench.with_key(bench.key(bench.user(), [])["key"])
    reply = caller.ask("GET", "/markets")
    same(reply.status_code, 403)
    holds(int(reply.headers["x-ratelimit-remaining"]) <= 499, "a 403 was free")


@check(needs=Needs.KEY)
def check_a_conflict_of_credentials_is_no_authenticated_request(bench: Bench) -> None:
    """Limits | Before authentication no bucket is known: retry headers are on a 429 only."""
    headers = {"X-API-KEY": "a", "Authorization": "Bearer b"}
    reply = bench.anna.ask("GET", "/markets", headers=headers)
    holds("retry-after" not in reply.headers, "Retry-After on a 400")
