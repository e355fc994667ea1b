"""Claims about credentials, scopes and the token bucket, through the whole application."""

import pytest

from tests.builders.venue.rest_bench import LOW, TICKERS, Client, ScriptedDesk, order, sha256_hex
from venue.engine import messages as m
from venue.rest.gate import Gate, GateRefusal, charge
from venue.wire import routes
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.limits import RATE_BURST, RATE_PER_SECOND
from venue.wire.routes import KeyScope, TokenScope

pytestmark = pytest.mark.anyio
LIMITER = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after")
SERVED = [route for route in routes.ROUTES if route is not routes.OPENAPI]


@pytest.fixture
def desk():
    made = ScriptedDesk()
    made.add_key("read-key", "anna", (KeyScope.READ,))
    made.add_key("trade-key", "anna", (KeyScope.TRADE,))
    made.add_key("empty-key", "anna", ())
    made.add_key("broken-key", None, (KeyScope.READ, KeyScope.TRADE))
    made.add_key("broken-empty-key", None, ())
    for scope in TokenScope:
        made.add_token(f"{scope}-token", (scope,))
    made.show([m.OrderChanged(1, order(7))])
    return made


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


CREDENTIALS = {
    "read-key": {"X-API-KEY": "read-key"},
    "trade-key": {"X-API-KEY": "trade-key"},
    "empty-key": {"X-API-KEY": "empty-key"},
    **{scope: bearer(f"{scope}-token") for scope in TokenScope},
}
MARKETS = {"list_markets", "orderbook", "candles", "trades", "list_events", "get_event"}
PRIVATE = {"list_orders", "get_order", "balance", "positions", "fills", "snapshot"}
WRITES = {"create_order", "amend_order", "cancel_order"}
ALLOWED = {
    "read-key": MARKETS | PRIVATE,
    "trade-key": WRITES,
    "empty-key": set(),
    TokenScope.MARKETS_READ: MARKETS,
    TokenScope.ACCOUNT_READ: PRIVATE,
    TokenScope.ORDERS_WRITE: WRITES,
    TokenScope.ORDERS_BULK_CANCEL: {"cancel_order"},
}


def path_of(route):
    names = {"{market_id}": TICKERS[LOW], "{event_ticker}": "ACME-VAL", "{order_id}": "7"}
    return "/" + "/".join(names.get(segment, segment) for segment in route.segments)


@pytest.mark.parametrize("route", SERVED, ids=lambda route: route.name)
@pytest.mark.parametrize("credential", CREDENTIALS)
async def test_a_credential_opens_exactly_the_routes_of_its_scopes(desk, credential, route):
    desk.answers.append(m.Refused(Code.INVALID_REQUEST, "scripted"))
    reply = await Client(desk, CREDENTIALS[credential]).ask(
        route.method, path_of(route), content=b'{"qty": 1}'
    )
    allowed = route.name in ALLOWED[credential]
    assert (reply.status_code != 403) == allowed, reply.text
    assert reply.status_code not in (401, 404, 500)
    if not allowed:
        assert reply.json()["code"] == "forbidden_scope"
        assert desk.commands == []
    assert reply.headers["x-ratelimit-limit"] == "500"
    challenge = reply.headers.get("www-authenticate", "")
    is_token = isinstance(credential, TokenScope)
    assert (challenge != "") == (is_token and not allowed)
    if challenge:
        assert f'scope="{route.token_scopes[0]}"' in challenge


@pytest.mark.parametrize("route", SERVED, ids=lambda route: route.name)
async def test_no_route_is_open_without_a_credential(desk, route):
    reply = await Client(desk, {}).ask(route.method, path_of(route))
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    assert not any(name in reply.headers for name in LIMITER)


@pytest.mark.parametrize(
    "headers",
    [
        [("X-API-KEY", "")],
        [("X-API-KEY", "nobody")],
        [("X-API-KEY", "anna-key "), ("X-API-KEY", "anna-key")],
        [("X-API-KEY", "anna-key"), ("x-api-key", "anna-key")],
        [("Cookie", "X-API-KEY=anna-key")],
    ],
)
async def test_a_key_failure_is_401_without_challenge_or_limiter_headers(desk, headers):
    reply = await Client(desk, headers).ask("GET", "/portfolio/balance")
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    assert not any(name in reply.headers for name in (*LIMITER, "www-authenticate"))


@pytest.mark.parametrize("key", ["anna-key ", "anna-key\t", "  anna-key \t "])
async def test_white_space_around_a_key_is_no_part_of_it(desk, key):
    reply = await Client(desk, [("X-API-KEY", key)]).ask("GET", "/portfolio/balance")
    assert reply.status_code == 200


@pytest.mark.parametrize(
    "values",
    [
        [""], ["Bearer"], ["Bearer "], ["Bearer nobody"], ["Basic svc:account:read-token"],
        ["svc:account:read-token"], ["Bearer\tsvc:account:read-token"], ["Bearer anna-key"],
        ["Bearer svc:account:read-token", "Bearer svc:account:read-token"],
    ],
)  # fmt: skip
async def test_a_bearer_failure_is_401_and_names_the_metadata_location(desk, values):
    headers = [("Authorization", value) for value in values]
    reply = await Client(desk, headers).ask("GET", "/portfolio/balance")
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    location = "http://venue/.well-known/oauth-protected-resource"
    assert f'resource_metadata="{location}"' in reply.headers["www-authenticate"]
    assert not any(name in reply.headers for name in LIMITER)


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER  "])
async def test_the_scheme_is_taken_in_any_case(desk, scheme):
    headers = {"Authorization": f"{scheme}{TokenScope.ACCOUNT_READ}-token"}
    assert (await Client(desk, headers).ask("GET", "/portfolio/balance")).status_code == 200


@pytest.mark.parametrize("key", ["anna-key", "", "nobody"])
@pytest.mark.parametrize("token", ["Bearer svc:account:read-token", "", "Bearer nobody"])
async def test_both_headers_conflict_whatever_they_hold(desk, key, token):
    client = Client(desk, {"X-API-KEY": key, "Authorization": token})
    reply = await client.ask("GET", "/portfolio/balance")
    assert (reply.status_code, reply.json()["code"]) == (400, "conflicting_credentials")
    assert not any(name in reply.headers for name in LIMITER)


async def test_a_revoked_key_and_an_expired_token_are_unauthenticated(desk):
    client = Client(desk)
    assert (await client.ask("GET", "/portfolio/balance")).status_code == 200
    desk.access.apply_command(m.RevokeKey(sha256_hex("anna-key")), 1)
    assert await client.refusal("GET", "/portfolio/balance") == (401, "unauthenticated")
    token = bearer(f"{TokenScope.ACCOUNT_READ}-token")
    desk.clock_ns += 3600 * NS_PER_SECOND
    refused = await client.refusal("GET", "/portfolio/balance", headers=token)
    assert refused == (401, "unauthenticated")


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("broken-key", "api_key_misconfigured"),
        ("empty-key", "forbidden_scope"),
        ("broken-empty-key", "forbidden_scope"),
    ],
)
@pytest.mark.parametrize("path", ["/portfolio/balance", "/no/such/path"])
async def test_an_unusable_key_is_403_everywhere_and_costs_a_token(desk, key, code, path):
    client = Client(desk, {"X-API-KEY": key})
    for left in ("499", "498"):
        reply = await client.ask("GET", path)
        assert (reply.status_code, reply.json()["code"]) == (403, code)
        assert reply.headers["x-ratelimit-remaining"] == left
        assert "www-authenticate" not in reply.headers


@pytest.mark.parametrize("credential", sorted(set(CREDENTIALS) - {"empty-key"}))
async def test_a_path_that_is_no_route_is_404_whatever_the_scopes(desk, credential):
    reply = await Client(desk, CREDENTIALS[credential]).ask("GET", "/no/such/path")
    assert (reply.status_code, reply.json()["code"]) == (404, "market_not_found")


# --- the bucket ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/portfolio/balance", 200),
        ("GET", "/markets/A_B/orderbook", 400),
        ("GET", "/orders/99", 404),
        ("GET", "/no/such/path", 404),
        ("PATCH", "/orders", 404),
    ],
)
async def test_remaining_drops_by_one_per_request_whatever_the_answer(desk, method, path, status):
    client = Client(desk)
    for left in (499, 498, 497):
        reply = await client.ask(method, path)
        assert reply.status_code == status
        assert reply.headers["x-ratelimit-limit"] == "500"
        assert reply.headers["x-ratelimit-remaining"] == str(left)
        assert "retry-after" not in reply.headers
        assert "x-ratelimit-reset" not in reply.headers


async def test_the_501st_request_of_an_instant_waits_and_reaches_nothing(desk):
    client = Client(desk)
    for _ in range(500):
        assert (await client.ask("GET", "/no/such/path")).status_code == 404
    body = b'{"market_id": "x"}'
    reply = await client.ask("POST", "/orders", content=body)
    assert (reply.status_code, reply.json()["code"]) == (429, "rate_limited")
    assert reply.headers["x-ratelimit-remaining"] == "0"
    assert reply.headers["retry-after"] == "1"
    full_s = desk.clock_ns // NS_PER_SECOND + 2
    assert reply.headers["x-ratelimit-reset"] == str(full_s)
    assert desk.commands == []
    desk.clock_ns += 4 * NS_PER_MS
    assert (await client.ask("GET", "/portfolio/balance")).status_code == 200
    assert (await client.ask("GET", "/portfolio/balance")).status_code == 429


def drawn(gate, headers, now_ns):
    caller = gate.authenticate(headers, lambda: "http://venue", now_ns)
    try:
        charge(caller, now_ns)
    except GateRefusal:
        return False
    return True


ANNA = [(b"x-api-key", b"anna-key")]


@pytest.mark.parametrize("gap_ns", [0, 100_000, 1_000_000, 3_999_999, 4_000_000, 4_000_001])
def test_no_window_takes_more_than_the_burst_and_the_rate(desk, gap_ns):
    gate, times = Gate(desk.access), []
    for number in range(2_000):
        now_ns = desk.clock_ns + number * gap_ns
        if drawn(gate, ANNA, now_ns):
            times.append(now_ns)
    allowed_e9 = RATE_BURST * NS_PER_SECOND
    for begin in range(0, len(times), 97):
        for end in range(begin, len(times), 89):
            span_ns = times[end] - times[begin]
            assert (end - begin + 1) * NS_PER_SECOND <= allowed_e9 + span_ns * RATE_PER_SECOND
    assert len(times) >= min(2_000, RATE_BURST)


def test_a_caller_at_the_rate_is_never_refused(desk):
    gate = Gate(desk.access)
    for _ in range(RATE_BURST):
        assert drawn(gate, ANNA, desk.clock_ns)
    step_ns = NS_PER_SECOND // RATE_PER_SECOND
    assert all(drawn(gate, ANNA, desk.clock_ns + n * step_ns) for n in range(1, 1_000))


async def test_every_key_has_its_own_bucket_and_tokens_of_one_application_share_one(desk):
    for raw, application in [("one", "app-1"), ("two", "app-1"), ("three", "app-2")]:
        desk.add_token(raw, (TokenScope.ACCOUNT_READ,), application)
    client = Client(desk)
    left = []
    for headers in [bearer("one"), bearer("two"), bearer("three"), {"X-API-KEY": "read-key"}]:
        reply = await client.ask("GET", "/portfolio/balance", headers=headers)
        left.append(reply.headers["x-ratelimit-remaining"])
    assert left == ["499", "498", "499", "499"]


async def test_failed_authentication_costs_nothing(desk):
    client = Client(desk)
    for _ in range(3):
        await client.ask("GET", "/orders", headers={"X-API-KEY": "nobody"})
    reply = await client.ask("GET", "/portfolio/balance")
    assert reply.headers["x-ratelimit-remaining"] == "499"
