"""Claims about credentials, scopes and the token bucket, through the whole application."""

import pytest

from tests.builders.venue.rest_bench import Client, ScriptedDesk
from venue.wire.routes import KeyScope, TokenScope

pytestmark = pytest.mark.anyio
LIMITER = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after")


@pytest.fixture
def desk():
    desk = ScriptedDesk()
    desk.add_key("empty-key", "anna", ())
    desk.add_key("broken-key", None, (KeyScope.READ, KeyScope.TRADE))
    desk.add_key("broken-empty-key", None, ())
    desk.add_token(f"{TokenScope.ACCOUNT_READ}-token", (TokenScope.ACCOUNT_READ,))
    return desk


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
async def test_a_bad_key_is_401_without_challenge_or_rate_limit_headers(desk, headers):
    reply = await Client(desk, headers).ask("GET", "/portfolio/balance")
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    assert not any(name in reply.headers for name in (*LIMITER, "www-authenticate"))


@pytest.mark.parametrize("key", ["anna-key ", "anna-key\t", "  anna-key \t "])
async def test_white_space_around_a_key_is_ignored(desk, key):
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
async def test_a_bad_bearer_token_is_401_and_names_the_metadata_location(desk, values):
    headers = [("Authorization", value) for value in values]
    reply = await Client(desk, headers).ask("GET", "/portfolio/balance")
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    location = "http://venue/.well-known/oauth-protected-resource"
    assert f'resource_metadata="{location}"' in reply.headers["www-authenticate"]
    assert not any(name in reply.headers for name in LIMITER)


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER  "])
async def test_the_bearer_scheme_is_accepted_in_any_case(desk, scheme):
    headers = {"Authorization": f"{scheme}{TokenScope.ACCOUNT_READ}-token"}
    assert (await Client(desk, headers).ask("GET", "/portfolio/balance")).status_code == 200


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
