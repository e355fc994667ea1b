"""Checks of the description of the interface, its version, and its place in the address."""

from typing import Any, Final

import httpx
import yaml

from venue.conformance.bench import Bench
from venue.conformance.judge import holds, same
from venue.conformance.registry import Needs, check

PATHS: Final = {
    "/openapi.yaml": {"get"},
    "/markets": {"get"},
    "/markets/{market_id}/snapshot": {"get"},
    "/markets/{market_id}/orderbook": {"get"},
    "/markets/{market_id}/candles": {"get"},
    "/events": {"get"},
    "/events/{event_ticker}": {"get"},
    "/orders": {"get", "post"},
    "/orders/{order_id}": {"get", "put", "delete"},
    "/portfolio/balance": {"get"},
    "/portfolio/positions": {"get"},
    "/portfolio/fills": {"get"},
}


def _description(bench: Bench, **headers: str) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=10) as http:
        return http.get(f"{bench.base_url}/openapi.yaml", headers=headers)


@check(needs=Needs.KEY)
def check_the_description_needs_no_credential(bench: Bench) -> None:
    """GET /openapi.yaml | No credential; an OpenAPI 3.1 description.
    Versioning | OpenAPI 3.1 with interface version 1.0.0.
    """
    reply = _description(bench)
    same(reply.status_code, 200)
    body: dict[str, Any] = yaml.safe_load(reply.text)
    holds(str(body["openapi"]).startswith("3.1"), f"openapi {body['openapi']}")
    same(body["info"]["version"], "1.0.0")


@check(needs=Needs.KEY, readings="S40")
def check_the_description_is_served_to_a_bad_credential(bench: Bench) -> None:
    """GET /openapi.yaml | Served whatever credential comes with it."""
    same(_description(bench, **{"X-API-KEY": "nobody"}).status_code, 200)


@check(needs=Needs.KEY)
def check_the_description_names_every_endpoint(bench: Bench) -> None:
    """GET /openapi.yaml | It describes every path and method of the interface.
    Endpoints | Paths are relative to a base address that ends in /v1.
    """
    body: dict[str, Any] = yaml.safe_load(_description(bench).text)
    for path, methods in PATHS.items():
        described = body["paths"].get(path, {}).keys()
        holds(methods <= described, f"{path}: {sorted(methods)} wanted, {sorted(described)} there")


@check(needs=Needs.KEY)
def check_the_version_is_in_the_path(bench: Bench) -> None:
    """Versioning | The version is the base path segment /v1."""
    holds(bench.base_url.endswith("/v1"), bench.base_url)
    root = bench.base_url.removesuffix("/v1")
    with httpx.Client(trust_env=False, timeout=10) as http:
        for version in ("", "/v2"):
            reply = http.get(f"{root}{version}/markets", headers=bench.anna.headers)
            holds(reply.status_code >= 400, f"{version or 'no version'} is served")
