"""Checks of the rate limit: the bucket, who shares it, and the headers of every answer."""

import contextlib
import http.client
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import httpx

from venue.conformance.api import Caller, buy, fresh_id, refusal_of
from venue.conformance.bench import Bench
from venue.conformance.judge import Broken, Unjudged, holds, same
from venue.conformance.registry import Needs, check

_DRAINERS: Final = 6
_DRAIN_S: Final = 15.0
_TRIES: Final = 400
_FAILURES: Final = 40
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
    """Send requests that cost a token and little else until `until`; how many passed."""
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
def _kept_empty(caller: Caller) -> Iterator[list[int]]:
    """A caller's bucket is as good as empty for the length of a block.

    What comes is the status of every request that keeps it so, and goes on growing.
    """
    _drained(caller)
    over = threading.Event()
    statuses: list[int] = []

    def until(status: int) -> bool:
        statuses.append(status)
        return over.is_set()

    with ThreadPoolExecutor(_DRAINERS) as pool:
        for _ in range(_DRAINERS):
            pool.submit(_drink, caller, until)
        try:
            yield statuses
        finally:
            over.set()


def _throttled(statuses: list[int], ask: Callable[[], httpx.Response], what: str) -> httpx.Response:
    """The throttled reply of a request while the bucket is kept empty; a token may slip in.

    Raises Broken where it passes every time though most of what keeps the bucket empty does not,
    and Unjudged where that passes as well.
    """
    before = len(statuses)
    for _ in range(_TRIES):
        reply = ask()
        if reply.status_code == THROTTLED:
            return reply
    others = statuses[before:]
    refused = others.count(THROTTLED)
    if 2 * refused <= len(others):
        raise Unjudged(f"{what}: the bucket refills faster than it can be emptied")
    raise Broken(f"{what}: passed {_TRIES} times while {refused} of {len(others)} others did not")


@check()
def check_the_bucket_holds_500_and_refills_at_250_a_second(bench: Bench) -> None:
    """Limits | Rate limit: 250 a second, burst 500, one bucket per API key.
    Errors | 429 rate_limited: token bucket empty.
    Limits | On a 429: Retry-After (seconds), X-RateLimit-Reset (refill).
    """
    burst = bench.trader()
    accepted, elapsed_s = _drained(burst)
    holds(500 <= accepted <= 500 + 250 * elapsed_s + 1, f"{accepted} in {elapsed_s:.3f} s")
    with _kept_empty(burst) as statuses:
        ask = partial(burst.ask, "GET", "/portfolio/balance", hurry=True)
        reply = _throttled(statuses, ask, "GET /portfolio/balance")
    same(refusal_of(reply), "rate_limited")
    holds(int(reply.headers["retry-after"]) >= 1, "Retry-After")
    same(reply.headers["x-ratelimit-remaining"], "0")
    reset = float(reply.headers["x-ratelimit-reset"])
    holds(reset > 0, "X-RateLimit-Reset")
    empty_s = time.monotonic()
    bench.wait(int(reply.headers["retry-after"]))
    waited_s = time.monotonic() - empty_s
    later = burst.ask("GET", "/portfolio/balance")
    same(later.status_code, 200, "after Retry-After")
    left = int(later.headers["x-ratelimit-remaining"])
    # A clock may differ by a little; the request took a token, and a part of one is not shown.
    holds(left >= 0.95 * min(500, 250 * waited_s) - 2, f"{left} left after {waited_s:.3f} s")


@check()
def check_every_route_is_throttled(bench: Bench) -> None:
    """Limits | One bucket covers all routes."""
    caller, ticker = bench.trader(), bench.some_market["ticker"]
    with _kept_empty(caller) as statuses:
        for method, path in ROUTES:
            ask = partial(caller.ask, method, path.format(ticker), hurry=True)
            reply = _throttled(statuses, ask, f"{method} {path}")
            same(refusal_of(reply), "rate_limited", f"{method} {path}")


@check()
def check_what_is_throttled_changes_nothing(bench: Bench) -> None:
    """Errors | rate_limited: nothing reached the engine; safe to retry.
    Limits | A throttled cancel leaves the order resting.
    """
    user, market = bench.user(), bench.market()
    burst, other = (bench.with_key(bench.key(user)["key"]) for _ in range(2))
    kept: list[str] = []
    made: list[str] = []

    def cancel() -> httpx.Response:
        # Of a new order each time: what slipped through has ended the one before.
        kept.append(other.placed(**buy(market, price=1, qty=1))["order_id"])
        return burst.ask("DELETE", f"/orders/{kept[-1]}", hurry=True)

    def create() -> httpx.Response:
        body = {**buy(market, price=2, qty=1), "client_order_id": fresh_id()}
        reply = burst.ask("POST", "/orders", body, hurry=True)
        made.extend([reply.json()["order_id"]] if reply.status_code < 300 else [])
        return reply

    with _kept_empty(burst) as statuses:
        _throttled(statuses, cancel, "a cancel")
        _throttled(statuses, create, "a create")
    read = other.order_read(kept[-1])
    same((read["status"], read["remaining_qty"]), ("open", 1), "after a throttled cancel")
    other.balance()
    rows = other.walk("/orders", "orders", ticker=market["ticker"], limit=1000)
    there = {row["order_id"] for row in rows if row["price"] == 2}
    same(there, set(made), "orders after a throttled create")


@check()
def check_every_answer_takes_one_token_whatever_the_route(bench: Bench) -> None:
    """Limits | X-RateLimit-Limit and -Remaining: on every authenticated response."""
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
    """Limits | Another key of the user has its own bucket."""
    user = bench.user()
    first = bench.with_key(bench.key(user)["key"])
    second = bench.with_key(bench.key(user)["key"])
    with _kept_empty(first):
        reply = second.ask("GET", "/portfolio/balance", hurry=True)
    same(reply.status_code, 200)
    # A full bucket of its own; of a shared one a few tokens at most would be left.
    left = int(reply.headers["x-ratelimit-remaining"])
    holds(left >= 498, f"the other key's bucket: {left} left")


@check()
def check_tokens_of_one_application_and_user_share_a_bucket(bench: Bench) -> None:
    """Limits | Tokens: one bucket per granting application and user."""
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
    """Limits | A 403 takes a token and has the headers; failed authentication takes none."""
    caller = bench.with_key(bench.key(bench.user(), [])["key"])
    reply = caller.ask("GET", "/markets")
    same(reply.status_code, 403)
    holds(int(reply.headers["x-ratelimit-remaining"]) <= 499, "a 403 was free")
    # Tokens of one application and user share a bucket, so what an expired one takes from it
    # would be missed by the other.
    user, scopes = bench.user(), ["svc:account:read"]
    living = bench.with_token(bench.token(user, scopes))
    expired = bench.with_token(bench.token(user, scopes, lifetime_s=1))
    bench.until_unauthenticated(expired)
    ask = partial(living.ask, "GET", "/portfolio/balance", hurry=True)
    _drained(living)
    while ask().status_code != THROTTLED:
        pass
    empty_s = time.monotonic()
    for _ in range(_FAILURES):
        same(expired.ask("GET", "/orders").status_code, 401)
    refilled = 250 * (time.monotonic() - empty_s)
    if refilled > 498:
        raise Unjudged(f"{_FAILURES} failures took long enough to fill the bucket")
    left = int(ask().headers["x-ratelimit-remaining"])
    # Less the token of the last request and the part of one that is not shown.
    holds(left >= refilled - 2, f"{left} left of {refilled:.0f} after {_FAILURES} failures")


@check(needs=Needs.KEY, readings="S42")
def check_a_conflict_of_credentials_is_no_authenticated_request(bench: Bench) -> None:
    """Limits | Two credentials: no known bucket, no rate limit headers."""
    headers = {"X-API-KEY": "a", "Authorization": "Bearer b"}
    reply = bench.anna.ask("GET", "/markets", headers=headers)
    limiter = [name for name in reply.headers if name.lower().startswith("x-ratelimit")]
    same(
        (reply.status_code, limiter), (400, []), "rate limit headers of a 400 before authentication"
    )
