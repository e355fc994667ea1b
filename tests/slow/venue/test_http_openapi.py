"""Claims about the description: it is whole, it is true of the venue, and it is always the same."""

import json
import os
import re
import subprocess
import sys
from typing import Any

import msgspec
import pytest
import yaml
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.builders.venue.rest_bench import (
    LOW,
    TICKERS,
    Client,
    ScriptedDesk,
    fill,
    level,
    order,
    position,
    printed,
)
from venue.engine import messages as m
from venue.listen import malformed_answer
from venue.rest import account, market, openapi
from venue.rest.openapi_operations import CREDENTIAL_CODES, MARKET_DATA_CODES
from venue.rest.openapi_schemas import RESOURCES
from venue.rest.params import Query
from venue.wire import model, routes
from venue.wire.errors import CODES, Code
from venue.wire.limits import QTY_MAX, RATE_BURST
from venue.wire.money import BookSide
from venue.wire.routes import API_KEY_HEADER, BEARER_HEADER, TokenScope

pytestmark = pytest.mark.anyio
URL = "/openapi.yaml"
DOCUMENT: dict[str, Any] = yaml.safe_load(openapi.document())
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
STRUCTS = {name: getattr(model, name) for name in SCHEMAS if hasattr(model, name)}
READS = [route for route in routes.ROUTES if route.method == "GET" and route.key_scope is not None]
WRITES = [route for route in routes.ROUTES if route.method != "GET"]
BAD = ("", "x y", "x", "-", "99999999999999999999999", "2026-01-01T00:00:00Z", TICKERS[LOW], "%zz")


@pytest.fixture
def desk():
    made = ScriptedDesk()
    made.show([m.OrderChanged(1, order(7)), fill(3), printed(1_789_999_999 * 10**9, 40)])
    made.show([level(BookSide.BID, 40, 5), position(2, 80)])
    made.add_token("market-token", (TokenScope.MARKETS_READ,))
    return made


def operation(route):
    return DOCUMENT["paths"][route.path][route.method.lower()]


def path_of(route, segment=None):
    values = {"market_id": TICKERS[LOW], "event_ticker": "ACME-VAL", "order_id": "7"}
    return re.sub(r"\{(\w+)\}", lambda found: segment or values[found[1]], route.path)


def nodes(node):
    """Every object of the document."""
    if isinstance(node, dict):
        yield node
        for inner in node.values():
            yield from nodes(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from nodes(inner)


def resolved(node):
    """What a node refers to, or the node itself."""
    if "$ref" not in node:
        return node
    found: Any = DOCUMENT
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def documented(route):
    """Status and code of every failure that the document gives a route."""
    return {
        (int(status), code)
        for status, answer in operation(route)["responses"].items()
        if not status.startswith("2")
        for code in resolved(answer)["content"]["application/json"]["examples"]
    }


def test_the_description_is_valid_openapi_31():
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_the_description_has_exactly_the_routes():
    shown = {(name.upper(), path) for path, item in DOCUMENT["paths"].items() for name in item}
    assert shown == {(route.method, route.path) for route in routes.ROUTES}
    assert [operation(route)["operationId"] for route in routes.ROUTES] == [
        route.name for route in routes.ROUTES
    ]


def test_every_reference_resolves_and_every_component_is_used():
    targets = {node["$ref"] for node in nodes(DOCUMENT) if "$ref" in node}
    for target in targets:
        assert resolved({"$ref": target})
    for section in ("schemas", "responses", "headers"):
        for name in DOCUMENT["components"][section]:
            assert f"#/components/{section}/{name}" in targets


def test_every_code_is_documented_with_its_status():
    shown = {failure for route in routes.ROUTES for failure in documented(route)}
    assert shown == {(row.status, code.value) for code, row in CODES.items()}
    assert SCHEMAS["ErrorCode"]["anyOf"][0]["enum"] == [code.value for code in Code]


@pytest.mark.parametrize("name", STRUCTS)
def test_a_schema_has_the_fields_and_values_of_its_type(name):
    kind, schema = STRUCTS[name], SCHEMAS[name]
    if not issubclass(kind, msgspec.Struct):
        known = [member.value for member in kind]
        has_unknown = name in ("ShownOutcome", "ShownSide", "ShownTimeInForce")
        assert schema["enum"] == [v for v in known if has_unknown or v != "unknown"]
        return
    fields = msgspec.structs.fields(kind)
    assert list(schema["properties"]) == [field.encode_name for field in fields]
    assert schema["required"] == [field.encode_name for field in fields if field.required]


def test_no_schema_of_an_answer_is_nullable_or_has_a_default():
    for name in STRUCTS:
        for node in nodes(SCHEMAS[name]):
            assert node.get("type") != "null"
            assert "default" not in node


def test_the_schemas_are_those_of_the_answers():
    assert {kind.__name__ for kind in RESOURCES} <= set(STRUCTS)
    assert set(SCHEMAS) - set(STRUCTS) == {"ErrorCode", "NewOrder", "Amend"}


@pytest.mark.parametrize("route", READS, ids=lambda route: route.name)
async def test_a_read_documents_exactly_the_parameters_that_it_reads(desk, route, monkeypatch):
    looked_at: set[str] = set()

    def spy(raw, known):
        looked_at.update(known)
        return Query(raw, known)

    monkeypatch.setattr(market, "Query", spy)
    monkeypatch.setattr(account, "Query", spy)
    await Client(desk).get(path_of(route))
    parameters = operation(route).get("parameters", [])
    assert {p["name"] for p in parameters if p["in"] == "query"} == looked_at
    in_path = [p["name"] for p in parameters if p["in"] == "path" and p["required"]]
    assert in_path == re.findall(r"\{(\w+)\}", route.path)


@pytest.mark.parametrize("route", READS, ids=lambda route: route.name)
async def test_an_omitted_parameter_has_its_documented_default(desk, route):
    client = Client(desk)
    plain = await client.get(path_of(route))
    for parameter in operation(route).get("parameters", []):
        default = parameter["schema"].get("default")
        if default is not None:
            text = ",".join(default) if isinstance(default, list) else str(default)
            assert await client.get(path_of(route), **{parameter["name"]: text}) == plain


@pytest.mark.parametrize("route", READS, ids=lambda route: route.name)
async def test_every_documented_choice_of_a_parameter_is_accepted(desk, route):
    for parameter in operation(route).get("parameters", []):
        schema = parameter["schema"]
        for value in schema.get("items", schema).get("enum", []):
            await Client(desk).get(path_of(route), **{parameter["name"]: value})


@pytest.mark.parametrize("route", READS, ids=lambda route: route.name)
async def test_a_read_rejects_with_exactly_its_documented_codes(desk, route):
    client, met = Client(desk), set()
    parameters = operation(route).get("parameters", [])
    paths = [path_of(route)] + [
        path_of(route, bad) for bad in ("NOBODY", "-", "99") if "{" in route.path
    ]
    queries = [f"{p['name']}={bad}" for p in parameters if p["in"] == "query" for bad in BAD]
    queries += ["from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"]
    queries += [f"ticker={TICKERS[LOW]}&event_ticker={TICKERS[LOW].rsplit('-', 1)[0]}"]
    for url in [*paths, *(f"{paths[0]}?{query}" for query in queries)]:
        reply = await client.ask("GET", url)
        if reply.status_code != 200:
            met.add((reply.status_code, reply.json()["code"]))
    elsewhere = (*CREDENTIAL_CODES, *MARKET_DATA_CODES)
    assert met == documented(route) - {(CODES[code].status, code.value) for code in elsewhere}


@pytest.mark.parametrize("route", [*READS, *WRITES], ids=lambda route: route.name)
def test_every_route_documents_the_rejection_of_malformed_http(route):
    raw = malformed_answer("a head beyond the caps", [])
    head, body = raw.split(b"\r\n\r\n")
    said = int(head.split()[1]), json.loads(body)["code"]
    assert said in documented(route)


def test_only_market_data_reads_document_engine_unavailable():
    with_data = (routes.ORDERBOOK, routes.CANDLES, routes.TRADES)
    for route in READS:
        assert ((503, "engine_unavailable") in documented(route)) == (route in with_data)


def test_the_body_of_every_failure_is_the_plain_error_body():
    for route in routes.ROUTES:
        for status, answer in operation(route)["responses"].items():
            if not status.startswith("2"):
                media = resolved(answer)["content"]["application/json"]
                assert media["schema"] == {"$ref": "#/components/schemas/ErrorBody"}
                for code, example in media["examples"].items():
                    assert validator("ErrorBody").is_valid(example["value"])
                    assert example["value"]["code"] == code


def test_the_description_describes_its_own_body():
    content = operation(routes.OPENAPI)["responses"]["200"]["content"]
    assert OAS31Validator(content[openapi.CONTENT_TYPE]["schema"]).is_valid(DOCUMENT)


def test_a_link_names_a_route_and_its_parameters():
    for route in routes.ROUTES:
        for answer in operation(route)["responses"].values():
            for link in resolved(answer).get("links", {}).values():
                (target,) = [r for r in routes.ROUTES if r.name == link["operationId"]]
                taken = {p["name"] for p in operation(target)["parameters"]}
                assert link["parameters"].keys() <= taken


@pytest.mark.parametrize("route", [routes.LIST_MARKETS, routes.LIST_EVENTS, routes.LIST_ORDERS,
                                   routes.TRADES, routes.FILLS, routes.POSITIONS,
                                   routes.GET_EVENT])  # fmt: skip
def test_a_list_links_to_its_next_page(route):
    link = operation(route)["responses"]["200"]["links"]["next"]
    assert link["operationId"] == route.name
    assert link["parameters"]["cursor"] == "$response.body#/cursor"


def test_a_created_order_links_to_its_read_amend_and_cancel():
    for status in ("200", "201"):
        links = operation(routes.CREATE_ORDER)["responses"][status]["links"]
        for name, target in (
            ("get", routes.GET_ORDER), ("amend", routes.AMEND_ORDER),
            ("cancel", routes.CANCEL_ORDER),
        ):  # fmt: skip
            assert links[name]["operationId"] == target.name
            assert links[name]["parameters"] == {"order_id": "$response.body#/order_id"}


def test_rate_limit_headers_are_documented_for_every_authenticated_answer():
    for route in routes.ROUTES:
        for status, answer in operation(route)["responses"].items():
            headers = resolved(answer).get("headers", {})
            for name in ("X-RateLimit-Limit", "X-RateLimit-Remaining"):
                if status == "401" or route is routes.OPENAPI:
                    assert name not in headers
                else:
                    assert resolved(headers[name])["required"] is (status not in ("400", "500"))
            for name in ("Retry-After", "X-RateLimit-Reset"):
                assert (name in headers) == (status == "429")


async def test_a_failure_documents_its_headers(desk):
    client, bearer = Client(desk), {BEARER_HEADER: "Bearer market-token"}
    replies = [
        await client.ask("GET", "/portfolio/balance", headers={BEARER_HEADER: "Bearer nobody"}),
        await client.ask("GET", "/portfolio/balance", headers=bearer),
    ]
    for _ in range(RATE_BURST):
        replies[2:] = [await client.ask("GET", "/portfolio/balance")]
    replies[2:] = [await client.ask("GET", "/portfolio/balance")]
    assert [reply.status_code for reply in replies] == [401, 403, 429]
    for reply in replies:
        answer = resolved(operation(routes.BALANCE)["responses"][str(reply.status_code)])
        framing = {"content-type", "content-length"}
        assert {name.lower() for name in answer["headers"]} == set(reply.headers) - framing


def test_a_route_documents_its_scopes():
    schemes = DOCUMENT["components"]["securitySchemes"]
    assert schemes["ApiKey"]["name"] == API_KEY_HEADER
    for route in routes.ROUTES:
        wanted = [] if route.key_scope is None else [("ApiKey", route.key_scope.value)]
        wanted += [("BearerToken", scope.value) for scope in route.token_scopes]
        assert operation(route)["security"] == [{name: [scope]} for name, scope in wanted]
        for name, scope in wanted:
            assert f"`{scope}`" in schemes[name]["description"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-API-KEY": "nobody"},
        {"Authorization": "Bearer nobody"},
        {"X-API-KEY": "anna-key", "Authorization": "Bearer nobody"},
    ],
)
async def test_the_description_is_served_with_any_credential_without_rate_limit_headers(
    desk, headers
):
    reply = await Client(desk, headers).ask("GET", URL)
    assert (reply.status_code, reply.content) == (200, openapi.document())
    assert set(reply.headers) == {"content-type", "content-length"}
    assert reply.headers["content-type"] == "application/yaml"


def test_the_description_is_the_same_bytes_in_every_process():
    code = "import sys; from venue.rest import openapi; sys.stdout.buffer.write(openapi.document())"
    for seed in ("1", "2"):
        made = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=30,
        )
        assert made.stdout == openapi.document()


# --- bodies ---------------------------------------------------------------------------------------

ORDER = {"ticker": "A-26Q4-1B", "outcome": "yes", "side": "buy", "price": 40, "qty": 10}
ORDER["client_order_id"] = "a"
BY_BUDGET = {"qty": None, "budget_cents": 500, "time_in_force": "ioc"}
FITTING_ORDERS = [
    {},
    {"ticker": None, "market_id": LOW},
    {"side": "sell", "time_in_force": "gtc"},
    {"time_in_force": None, "budget_cents": None, "market_id": None, "more": [1]},
    BY_BUDGET,
    BY_BUDGET | {"time_in_force": "fok"},
]
UNFIT_ORDERS = [
    {"market_id": LOW},
    {"ticker": None},
    {"budget_cents": 500},
    {"qty": None},
    BY_BUDGET | {"qty": 1},
    BY_BUDGET | {"side": "sell"},
    BY_BUDGET | {"time_in_force": "gtc"},
    BY_BUDGET | {"time_in_force": None},
    BY_BUDGET | {"budget_cents": 0},
    {"price": 0},
    {"price": 100},
    {"price": None},
    {"qty": 0},
    {"qty": QTY_MAX + 1},
    {"outcome": "maybe"},
    {"client_order_id": ""},
    {"client_order_id": "a" * 65},
    {"client_order_id": "\u00e9"},
    {"ticker": "-"},
]


def validator(name):
    return OAS31Validator({"$ref": f"#/components/schemas/{name}", **DOCUMENT})


@pytest.mark.parametrize("change", FITTING_ORDERS)
async def test_an_order_that_fits_the_schema_is_accepted(desk, change):
    body = ORDER | {"ticker": TICKERS[LOW]} | change
    assert validator("NewOrder").is_valid(body)
    desk.answers.append(m.Placed(order(8), "a", True, None))
    assert (await Client(desk).ask("POST", "/orders", json=body)).status_code == 201


@pytest.mark.parametrize("change", [*UNFIT_ORDERS, *({name: ...} for name in ORDER)], ids=str)
async def test_an_order_that_does_not_fit_the_schema_is_rejected(desk, change):
    body = ORDER | {"ticker": TICKERS[LOW]} | change
    body = {name: value for name, value in body.items() if value is not ...}
    assert not validator("NewOrder").is_valid(body)
    assert (await Client(desk).ask("POST", "/orders", json=body)).status_code == 400


@pytest.mark.parametrize("body", [{"price": 40}, {"qty": 5, "price": None}, {"qty": 5, "x": 1}])
async def test_an_amend_that_fits_the_schema_is_accepted(desk, body):
    assert validator("Amend").is_valid(body)
    desk.answers.append(m.Amended(order(7), kept_place=True))
    assert (await Client(desk).ask("PUT", "/orders/7", json=body)).status_code == 200


@pytest.mark.parametrize("body", [{}, {"price": None}, {"qty": 0}, {"price": 100}, {"x": 1}, []])
async def test_an_amend_that_does_not_fit_the_schema_is_rejected(desk, body):
    assert not validator("Amend").is_valid(body)
    assert (await Client(desk).ask("PUT", "/orders/7", json=body)).status_code == 400


@pytest.mark.parametrize("route", routes.ROUTES, ids=lambda route: route.name)
def test_a_parameter_has_a_valid_example_a_default_or_choices(route):
    shown = DOCUMENT["paths"][route.path][route.method.lower()]
    for parameter in shown.get("parameters", []):
        schema = parameter["schema"]
        if "example" in parameter:
            assert OAS31Validator(schema).is_valid(parameter["example"])
        else:
            assert "default" in schema or "enum" in schema


@pytest.mark.parametrize("route", [routes.CREATE_ORDER, routes.AMEND_ORDER])
def test_the_examples_of_a_body_fit_its_schema(route):
    shown = DOCUMENT["paths"][route.path][route.method.lower()]["requestBody"]
    media = shown["content"]["application/json"]
    for example in media["examples"].values():
        assert OAS31Validator({**media["schema"], **DOCUMENT}).is_valid(example["value"])
