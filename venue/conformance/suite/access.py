"""Checks of authentication: who passes, with what, where to, and what a refusal carries."""

import time
from typing import Final

from venue.conformance.api import PATIENCE_S, buy, refusal_of
from venue.conformance.bench import Bench
from venue.conformance.judge import holds, same
from venue.conformance.registry import Needs, check

MARKET_READS: Final = ("/markets", "/markets/{}/orderbook", "/markets/{}/candles", "/events")
ACCOUNT_READS: Final = (
    *("/markets/{}/snapshot", "/orders", "/orders/1"),
    *("/portfolio/balance", "/portfolio/positions", "/portfolio/fills"),
)
READS: Final = (*MARKET_READS, "/events/{event}", *ACCOUNT_READS)
WRITES: Final = (("POST", "/orders"), ("PUT", "/orders/1"), ("DELETE", "/orders/1"))
ROUTES: Final = (*(("GET", path) for path in READS), *WRITES)
TOKEN_SCOPES: Final = (
    *("svc:markets:read", "svc:account:read", "svc:orders:write", "svc:orders:bulk-cancel"),
)
UNAUTHENTICATED: Final = "unauthenticated"
FORBIDDEN: Final = "forbidden_scope"


def _paths(bench: Bench) -> list[tuple[str, str]]:
    market = bench.some_market
    event = market["event_ticker"]
    return [(method, path.format(market["ticker"], event=event)) for method, path in ROUTES]


@check(needs=Needs.KEY)
def check_without_a_known_credential_the_answer_is_401(bench: Bench) -> None:
    """Authentication | 401 unauthenticated: no credential, or an unknown one.
    Limits | A 401 carries none of the rate-limit headers.
    Authentication | WWW-Authenticate: on a bearer failure, not on an API-key failure.
    """
    bad: list[dict[str, str | bytes]] = [{}, {"X-API-KEY": ""}, {"X-API-KEY": "nobody"}]
    bad += [{"X-API-KEY": "ключ".encode()}, {"Authorization": ""}, {"Authorization": "Bearer"}]
    bad += [{"Authorization": "Bearer nobody"}, {"Authorization": "Basic bm9ib2R5"}]
    for headers in bad:
        reply = bench.anna.ask("GET", "/portfolio/balance", headers=headers)
        same(refusal_of(reply), UNAUTHENTICATED, f"{headers}")
        # Whether no credential, or one of another scheme, is a bearer failure is left open.
        if "X-API-KEY" in headers or str(headers.get("Authorization")).startswith("Bearer"):
            bearer = "Authorization" in headers
            same("www-authenticate" in reply.headers, bearer, f"WWW-Authenticate for {headers}")
    for method, path in _paths(bench):
        reply = bench.anna.ask(method, path, headers={})
        same(refusal_of(reply), UNAUTHENTICATED, f"{method} {path} without a credential")


@check(needs=Needs.KEY)
def check_a_bearer_401_names_the_metadata_location(bench: Bench) -> None:
    """Authentication | A bearer 401 names the protected-resource metadata location."""
    headers = {"Authorization": "Bearer nobody"}
    reply = bench.anna.ask("GET", "/markets", headers=headers)
    holds("resource_metadata=" in reply.headers["www-authenticate"], "WWW-Authenticate")


@check()
def check_a_key_in_the_query_string_is_no_credential(bench: Bench) -> None:
    """Authentication | Never send the key in a URL."""
    # Never a key that somebody uses: a URL stays in the logs of all that it passes through.
    key = bench.anna.headers["X-API-KEY"]
    for name in ("X-API-KEY", "api_key", "key"):
        reply = bench.anna.ask("GET", "/portfolio/balance", params={name: key}, headers={})
        same(refusal_of(reply), UNAUTHENTICATED, name)


@check(needs=Needs.KEY)
def check_a_bearer_is_no_key_and_a_key_no_bearer(bench: Bench) -> None:
    """Authentication | API key in X-API-KEY, bearer token in Authorization; no request signing."""
    key = bench.anna.headers["X-API-KEY"]
    headers = {"Authorization": f"Bearer {key}"}
    same(refusal_of(bench.anna.ask("GET", "/markets", headers=headers)), UNAUTHENTICATED)
    bench.anna.get("/markets", limit=1)


@check(needs=Needs.KEY)
def check_a_repeated_key_header_is_unauthenticated(bench: Bench) -> None:
    """Authentication | Every request carries exactly one credential."""
    twice = [("X-API-KEY", bench.anna.headers["X-API-KEY"])] * 2
    reply = bench.anna.ask("GET", "/portfolio/balance", headers=twice)
    same(refusal_of(reply), UNAUTHENTICATED)


@check()
def check_both_credentials_conflict_even_when_both_are_good(bench: Bench) -> None:
    """Authentication | Both headers together are 400 conflicting_credentials."""
    token = bench.token(bench.anna.user_id, ["svc:account:read"])
    good = {**bench.anna.headers, "Authorization": f"Bearer {token}"}
    bad = {"X-API-KEY": "nobody", "Authorization": "Bearer nobody"}
    for headers in (good, bad):
        reply = bench.anna.ask("GET", "/portfolio/balance", headers=headers)
        same(refusal_of(reply), "conflicting_credentials")


@check()
def check_a_key_reaches_exactly_the_routes_of_its_scopes(bench: Bench) -> None:
    """Authentication | Key scope read: market data, orders, fills, positions, balance.
    Authentication | Key scope trade: place, amend, cancel; scopes do not nest.
    Authentication | A key with an empty scope list is rejected everywhere.
    Authentication | 403 forbidden_scope: valid credential lacking the required scope.
    """
    user = bench.user()
    for scopes in (["read"], ["trade"], [], ["read", "trade"]):
        caller = bench.with_key(bench.key(user, scopes)["key"])
        for method, path in _paths(bench):
            reply = caller.ask(method, path)
            allowed = ("read" if method == "GET" else "trade") in scopes
            same(reply.status_code == 403, not allowed, f"{method} {path} with {scopes}")
            if not allowed:
                same(refusal_of(reply), FORBIDDEN)
            holds("www-authenticate" not in reply.headers, "a challenge to a key")


@check()
def check_a_trade_only_key_may_not_read_back_its_own_order(bench: Bench) -> None:
    """Authentication | A trade-only key may not read, not even its order."""
    trader = bench.with_key(bench.key(bench.user(), ["trade"])["key"])
    order = trader.placed(**buy(bench.market(), price=1, qty=1))
    reply = trader.ask("GET", f"/orders/{order['order_id']}")
    same(refusal_of(reply), FORBIDDEN)
    trader.cancelled(order["order_id"])


@check()
def check_a_token_of_account_read_reaches_the_snapshot(bench: Bench) -> None:
    """Authentication | The snapshot endpoint accepts svc:account:read.
    Authentication | Bearer tokens carry granular scopes; cancel requires svc:orders:write.
    Authentication | svc:orders:bulk-cancel may cancel exact orders.
    Authentication | A bearer 403 names the missing scope.
    """
    user = bench.user()
    tokens = {scope: bench.with_token(bench.token(user, [scope])) for scope in TOKEN_SCOPES}
    path = f"/markets/{bench.some_market['ticker']}/snapshot"
    tokens["svc:account:read"].get(path)
    reply = tokens["svc:orders:write"].ask("GET", path)
    same(refusal_of(reply), FORBIDDEN)
    holds("svc:account:read" in reply.headers["www-authenticate"], "the missing scope")
    trader = tokens["svc:orders:write"]
    market = bench.market()
    for canceller in ("svc:orders:write", "svc:orders:bulk-cancel"):
        order = trader.placed(**buy(market, price=1, qty=1))
        same(tokens[canceller].cancelled(order["order_id"])["reduced_by"], 1, canceller)
    order = trader.placed(**buy(market, price=1, qty=1))
    for scope in ("svc:markets:read", "svc:account:read"):
        reply = tokens[scope].cancel(order["order_id"])
        same(refusal_of(reply), FORBIDDEN, scope)
        holds("svc:orders:write" in reply.headers["www-authenticate"], "the missing scope")


@check(readings="S27")
def check_a_token_reaches_exactly_the_routes_of_its_scope(bench: Bench) -> None:
    """Authentication | Scopes of tokens: markets:read, account:read, orders:write by endpoint."""
    user = bench.user()
    for scope in TOKEN_SCOPES:
        caller = bench.with_token(bench.token(user, [scope]))
        for (method, path), (_, pattern) in zip(_paths(bench), ROUTES, strict=True):
            wanted = "svc:orders:write" if method != "GET" else "svc:account:read"
            if pattern in MARKET_READS or pattern == "/events/{event}":
                wanted = "svc:markets:read"
            allowed = scope == wanted or (method, scope) == ("DELETE", TOKEN_SCOPES[3])
            reply = caller.ask(method, path)
            same(reply.status_code == 403, not allowed, f"{method} {path} with {scope}")
            if not allowed:
                holds(wanted in reply.headers["www-authenticate"], f"names {wanted}")


@check()
def check_a_revoked_key_stops_working_within_60_seconds(bench: Bench) -> None:
    """Authentication | A revoked key: 401 unauthenticated within 60 seconds."""
    made = bench.key(bench.user())
    caller = bench.with_key(made["key"])
    caller.get("/portfolio/balance")
    bench.act("POST", f"/keys/{made['key_id']}/revoke", {})
    bench.until_unauthenticated(caller, patience_s=60)
    same(refusal_of(caller.ask("GET", "/portfolio/balance")), UNAUTHENTICATED)


@check()
def check_an_expired_token_is_unauthenticated(bench: Bench) -> None:
    """Authentication | 401 unauthenticated for an expired token, with a challenge."""
    # Long enough to be used once before it ends, however slow the machine.
    lifetime_s = 1
    while True:
        made_s = time.monotonic()
        token = bench.token(bench.user(), ["svc:account:read"], lifetime_s=lifetime_s)
        caller = bench.with_token(token)
        reply = caller.ask("GET", "/portfolio/balance")
        if reply.status_code == 200 or time.monotonic() < made_s + lifetime_s:
            break
        lifetime_s *= 2
    same(reply.status_code, 200, "a token that has not expired")
    bench.until_unauthenticated(caller, patience_s=lifetime_s + PATIENCE_S)
    reply = caller.ask("GET", "/portfolio/balance")
    same(refusal_of(reply), UNAUTHENTICATED)
    holds("resource_metadata=" in reply.headers["www-authenticate"], "WWW-Authenticate")


@check()
def check_a_key_without_a_usable_user_is_misconfigured(bench: Bench) -> None:
    """Authentication | 403 api_key_misconfigured: the stored user reference is unusable."""
    caller = bench.with_key(bench.key(None)["key"])
    for method, path in _paths(bench):
        reply = caller.ask(method, path)
        same(refusal_of(reply), "api_key_misconfigured", f"{method} {path}")
        holds("www-authenticate" not in reply.headers, "a challenge to a key")


@check()
def check_an_eleventh_active_key_is_refused(bench: Bench) -> None:
    """Authentication | A holder may have at most 10 active keys."""
    user = bench.user()
    made = [bench.key(user) for _ in range(10)]
    body = {"user_id": user, "scopes": ["read"]}
    holds(bench.attempt("POST", "/keys", body).status_code >= 400, "an eleventh key was made")
    bench.act("POST", f"/keys/{made[0]['key_id']}/revoke", {})
    bench.key(user)
    holds(bench.attempt("POST", "/keys", body).status_code >= 400, "an eleventh key was made")


@check()
def check_a_raw_key_is_shown_once(bench: Bench) -> None:
    """Authentication | The raw key is shown once."""
    user = bench.user()
    made = bench.key(user, ["read"])
    listed = bench.attempt("GET", f"/keys?user_id={user}").text
    holds(made["key"] not in listed, "the list of keys shows a raw key")
    holds(made["prefix"] in listed, "the list of keys lacks the prefix")
    holds(made["key"].startswith(made["prefix"]), "the prefix is not the key's")


@check()
def check_keys_of_one_user_see_one_account(bench: Bench) -> None:
    """Authentication | Orders belong to the user."""
    user = bench.user()
    first = bench.with_key(bench.key(user)["key"])
    second = bench.with_key(bench.key(user)["key"])
    order = first.placed(**buy(bench.market(), price=1, qty=1))
    same(second.cancelled(order["order_id"])["reduced_by"], 1)
