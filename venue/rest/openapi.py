"""The machine-readable description of the interface: OpenAPI 3.1, made from the tables."""

import functools
from collections.abc import Iterable
from typing import Any, Final

import yaml

from venue.rest.openapi_links import LINKS
from venue.rest.openapi_operations import CREDENTIAL_CODES, OPERATIONS, PATH, Operation
from venue.rest.openapi_schemas import AMEND, NEW_ORDER, component_schemas, ref
from venue.rest.trade import OK
from venue.wire import limits, model, routes
from venue.wire.codec import encode_amend, encode_new_order
from venue.wire.errors import CODES, PRECEDENCE, Code
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import Amend, BudgetOrder, QtyOrder, TimeInForce
from venue.wire.routes import Route

CONTENT_TYPE: Final = "application/yaml"
_OPENAPI_VERSION: Final = "3.1.0"
_JSON: Final = "application/json"
_KEY_SCHEME: Final = "ApiKey"
_TOKEN_SCHEME: Final = "BearerToken"  # noqa: S105 - the name of a scheme, not a secret
_CHALLENGE_HEADER: Final = "WWW-Authenticate"
_TITLE: Final = "Prediction-Market Trading Service"

Node = dict[str, Any]

_OWN_SCHEMA: Final[Node] = {
    "type": "object",
    "required": ["openapi", "info", "servers", "paths", "components"],
    "properties": {
        "openapi": {"const": _OPENAPI_VERSION},
        **{name: {"type": "object"} for name in ("info", "paths", "components")},
        "servers": {"type": "array"},
    },
}
"""What the body of `GET /openapi.yaml` parses to."""

_LIMITER: Final = (routes.LIMIT_HEADER, routes.REMAINING_HEADER)
_THROTTLED: Final = (*_LIMITER, routes.RETRY_AFTER_HEADER, routes.RESET_HEADER)
_BEFORE_THE_LIMITER: Final = frozenset({Code.CONFLICTING_CREDENTIALS, Code.INTERNAL_ERROR})
"""Failures that may come before a credential is known to be good, and then without its headers."""


def _integer_header(description: str, minimum: int) -> Node:
    schema = {"type": "integer", "minimum": minimum}
    return {"description": description, "required": True, "schema": schema}


_HEADERS: Final[dict[str, Node]] = {
    routes.LIMIT_HEADER: _integer_header(
        f"Burst capacity: {limits.RATE_BURST} requests, refilled at {limits.RATE_PER_SECOND} a "
        "second. On every answer to a request whose credential is good.",
        1,
    ),
    routes.REMAINING_HEADER: _integer_header("Tokens left after this request.", 0),
    routes.RETRY_AFTER_HEADER: _integer_header("Whole seconds to wait.", 1),
    routes.RESET_HEADER: _integer_header(
        "Unix time in whole seconds at which the bucket is full again.", 0
    ),
    _CHALLENGE_HEADER: {
        "description": "On a bearer token's failure only: a 401 names the protected-resource "
        "metadata location, a 403 the missing scope.",
        "schema": {"type": "string"},
    },
}


class _Plain(yaml.SafeDumper):
    """Writes a value out wherever it occurs, without anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


@functools.cache
def document() -> bytes:
    """The description as YAML, the same bytes in every process. Made at the first call."""
    text: str = yaml.dump(
        description(), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=100
    )
    return text.encode()


def description() -> Node:
    paths: Node = {}
    for route, operation in OPERATIONS.items():
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, operation)
    return {
        "openapi": _OPENAPI_VERSION,
        "info": {
            "title": _TITLE,
            "version": routes.INTERFACE_VERSION,
            "description": "Limit orders on the outcomes of prediction markets. Money is integer "
            "cents, a price whole cents per share. An absent optional field is left out.",
        },
        "servers": [{"url": routes.API_PREFIX}],
        "paths": paths,
        "components": {
            "schemas": component_schemas(),
            "responses": {
                _response_name(status, codes): _refusal(status, codes)
                for status, codes in _shared_refusals()
            },
            "headers": _HEADERS,
            "securitySchemes": _security_schemes(),
        },
    }


def _operation(route: Route, operation: Operation) -> Node:
    node: Node = {"operationId": route.name, "summary": operation.summary}
    parameters = [*_path_parameters(route), *operation.query]
    if parameters:
        node["parameters"] = parameters
    if operation.body is not None:
        schema = {"schema": ref(operation.body), "examples": _body_examples()[operation.body]}
        node["requestBody"] = {"required": True, "content": {_JSON: schema}}
    responses = {
        str(status): _success(route, status, kind.__name__)
        for status, kind in operation.answers.items()
    }
    if route is routes.OPENAPI:
        content = {CONTENT_TYPE: {"schema": _OWN_SCHEMA}}
        responses[str(OK)] = {"description": "This description.", "content": content}
    for status, codes in refusals(route):
        shared = (status, codes) in _shared_refusals()
        name = _response_name(status, codes)
        responses[str(status)] = (
            {"$ref": f"#/components/responses/{name}"} if shared else _refusal(status, codes)
        )
    node["responses"] = responses
    node["security"] = _security(route)
    return node


def _path_parameters(route: Route) -> list[Node]:
    names = [segment[1:-1] for segment in route.segments if segment.startswith("{")]
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": PATH[name][1],
            "schema": PATH[name][0],
            "example": PATH[name][2],
        }
        for name in names
    ]


def _body_examples() -> dict[str, Node]:
    market = MarketId("00000000-0000-4000-8000-000000000001")
    price, tif = Price(40), TimeInForce.IOC
    by_size = QtyOrder(
        market, Outcome.YES, Side.BUY, price, Qty(10), TimeInForce.GTC, ClientOrderId("size-1")
    )
    by_budget = BudgetOrder(market, Outcome.NO, price, Cents(500), tif, ClientOrderId("budget-1"))
    return {
        NEW_ORDER: {
            "by_size": _example(encode_new_order(by_size)),
            "by_budget": _example(encode_new_order(by_budget)),
        },
        AMEND: {"shrink": _example(encode_amend(Amend(qty=Qty(5))))},
    }


def _example(body: bytes) -> Node:
    return {"value": yaml.safe_load(body)}


def _headers(names: Iterable[str]) -> Node:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _success(route: Route, status: int, name: str) -> Node:
    node: Node = {
        "description": "The answer." if status == OK else "A new order.",
        "headers": _headers(_LIMITER),
        "content": {_JSON: {"schema": ref(name)}},
    }
    if route in LINKS:
        node["links"] = LINKS[route]
    return node


def refusals(route: Route) -> list[tuple[int, tuple[Code, ...]]]:
    codes = {*OPERATIONS[route].codes}
    if route.key_scope is not None:
        codes.update(CREDENTIAL_CODES)
    by_status: dict[int, list[Code]] = {}
    for code in sorted(codes, key=PRECEDENCE.__getitem__):
        by_status.setdefault(CODES[code].status, []).append(code)
    return [(status, tuple(found)) for status, found in sorted(by_status.items())]


@functools.cache
def _shared_refusals() -> tuple[tuple[int, tuple[Code, ...]], ...]:
    """Failures that more than one route has, in order: these become components."""
    every = [refusal for route in OPERATIONS for refusal in refusals(route)]
    return tuple(sorted({refusal for refusal in every if every.count(refusal) > 1}))


def _response_name(status: int, codes: tuple[Code, ...]) -> str:
    return ".".join([str(status), *codes])


def _refusal(status: int, codes: tuple[Code, ...]) -> Node:
    """A failure: one example per code, for clients branch on it; the text is for humans. The schema
    is the plain reference, for generators drop what narrows it."""
    return {
        "description": f"{', '.join(codes)}.",
        "headers": _refusal_headers(status, codes),
        "content": {
            _JSON: {
                "schema": ref(model.ErrorBody.__name__),
                "examples": {
                    code.value: {"value": {"code": code.value, "error": "a text for a human"}}
                    for code in codes
                },
            }
        },
    }


def _refusal_headers(status: int, codes: tuple[Code, ...]) -> Node:
    if status == CODES[Code.UNAUTHENTICATED].status:
        return _headers((_CHALLENGE_HEADER,))
    if status == CODES[Code.FORBIDDEN_SCOPE].status:
        return _headers((*_LIMITER, _CHALLENGE_HEADER))
    if status == CODES[Code.RATE_LIMITED].status:
        return _headers(_THROTTLED)
    if _BEFORE_THE_LIMITER.isdisjoint(codes):
        return _headers(_LIMITER)
    return {name: {**_HEADERS[name], "required": False} for name in _LIMITER}


def _security(route: Route) -> list[Node]:
    if route.key_scope is None:
        return []
    tokens = [{_TOKEN_SCHEME: [scope.value]} for scope in route.token_scopes]
    return [{_KEY_SCHEME: [route.key_scope.value]}, *tokens]


def _security_schemes() -> Node:
    keys = {
        scope.value: [route.name for route in OPERATIONS if route.key_scope is scope]
        for scope in routes.KeyScope
    }
    tokens = {
        scope.value: [route.name for route in OPERATIONS if scope in route.token_scopes]
        for scope in routes.TokenScope
    }
    return {
        _KEY_SCHEME: {
            "type": "apiKey",
            "in": "header",
            "name": routes.API_KEY_HEADER,
            "description": f"Exactly one credential a request. Scopes do not nest. {_opens(keys)}",
        },
        _TOKEN_SCHEME: {
            "type": "http",
            "scheme": "bearer",
            "description": f"In {routes.BEARER_HEADER}. Of a route's scopes any one suffices. "
            f"{_opens(tokens)}",
        },
    }


def _opens(scopes: dict[str, list[str]]) -> str:
    return " ".join(f"`{scope}`: {', '.join(names)}." for scope, names in scopes.items())
