"""One row per route: what it takes, what it answers, and every code it can refuse with."""

from typing import Any, Final

import msgspec

from venue.rest.openapi_schemas import (
    AMEND,
    INSTANT,
    MARKET_PATH,
    NEW_ORDER,
    ORDER_ID,
    UUID,
    Schema,
    one_of,
)
from venue.rest.trade import CREATED, OK
from venue.wire import limits, model, routes
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import STATUS_GROUPS, CandleInterval, EventStatus, OrderStatus
from venue.wire.routes import Route

Parameter = dict[str, Any]


class Operation(msgspec.Struct, frozen=True):
    """One route. query: parameter objects. body: component schema. answers: status to resource.
    codes: besides those of every route with a credential."""

    summary: str
    query: tuple[Parameter, ...]
    body: str | None
    answers: dict[int, type[msgspec.Struct]]
    codes: tuple[Code, ...]


CREDENTIAL_CODES: Final = (
    Code.INVALID_REQUEST_BODY,
    Code.CONFLICTING_CREDENTIALS,
    Code.UNAUTHENTICATED,
    Code.FORBIDDEN_SCOPE,
    Code.API_KEY_MISCONFIGURED,
    Code.RATE_LIMITED,
    Code.INTERNAL_ERROR,
)
"""The errors of every route with a credential; the first, where HTTP itself finds no request within
the size caps."""

MARKET_DATA_CODES: Final = (Code.ENGINE_UNAVAILABLE,)

_MARKET_EXAMPLE: Final = "ACME-VAL-26Q4-212.5B"
_EVENT_EXAMPLE: Final = "ACME-VAL-26Q4"
_SERIES_EXAMPLE: Final = "ACME-VAL"
_COMPANY_EXAMPLE: Final = "00000000-0000-4000-8000-000000000002"
_FROM_EXAMPLE: Final = "2026-10-01T00:00:00Z"
_TO_EXAMPLE: Final = "2026-10-02T00:00:00.123456789Z"
_ORDER_EXAMPLE: Final = "17978385004963309572"

PATH: Final[dict[str, tuple[Schema, str, str]]] = {
    "market_id": (MARKET_PATH, "A market's ticker, in any case, or its UUID.", _MARKET_EXAMPLE),
    "event_ticker": (
        MARKET_PATH, "An event or series ticker, in any case; dots are significant.", _EVENT_EXAMPLE
    ),
    "order_id": (ORDER_ID, "An order id; never a number.", _ORDER_EXAMPLE),
}  # fmt: skip


def _query(name: str, schema: Schema, description: str, example: object = None) -> Parameter:
    node = {"name": name, "in": "query", "description": description, "schema": schema}
    return node if example is None else {**node, "example": example}


_LIMIT: Final = _query(
    "limit",
    {
        "type": "integer",
        "minimum": limits.PAGE_LIMIT_MIN,
        "maximum": limits.PAGE_LIMIT_MAX,
        "default": limits.PAGE_LIMIT_DEFAULT,
    },
    "Page size; an integer outside the range is clamped, never refused.",
)
_CURSOR: Final = _query(
    "cursor",
    {"type": "string", "default": ""},
    "The cursor of the page before, of the same list under the same filters; empty at the start.",
)
_PAGE: Final = (_LIMIT, _CURSOR)
_FILTER: Final[Schema] = {"type": "string", "minLength": 1}
_SERIES: Final = _query("series_ticker", _FILTER, "Of one series, in any case.", _SERIES_EXAMPLE)
_PROJECT: Final = _query("project_id", UUID, "Of one company.", _COMPANY_EXAMPLE)
_SEARCH: Final = _query(
    "q",
    {"type": "string", "minLength": limits.SEARCH_LENGTH_MIN},
    "Literal search, in any case: part of a company's name, symbol or event title, or the "
    "beginning of an event or market ticker.",
    "acme",
)
_FROM: Final = _query("from", INSTANT, "Beginning of the window; not after `to`.", _FROM_EXAMPLE)
_TO: Final = _query("to", INSTANT, "End of the window.", _TO_EXAMPLE)
_CANDLE_HOURS: Final = limits.CANDLE_WINDOW_DEFAULT_NS // (3600 * NS_PER_SECOND)
_CANDLES_FROM: Final = _query(
    "from",
    INSTANT,
    f"Window start, not after `to`; {_CANDLE_HOURS} hours before now if absent.",
    _FROM_EXAMPLE,
)
_CANDLES_TO: Final = _query("to", INSTANT, "Window end; now if absent.", _TO_EXAMPLE)
_INTERVAL: Final = _query(
    "interval",
    {**one_of(CandleInterval), "default": CandleInterval.H1.value},
    "Candle length, in any case.",
)
_EVENT_STATUS: Final = _query(
    "status", one_of(EventStatus, EventStatus.UNKNOWN.value), "In one state, in any case."
)
_STATUSES: Final = [
    *dict.fromkeys([*STATUS_GROUPS, *one_of(OrderStatus, OrderStatus.UNKNOWN.value)["enum"]])
]
_ORDER_STATUS: Final = {
    **_query(
        "status",
        {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "enum": _STATUSES},
            "default": ["all"],
        },
        "Groups and single statuses, parted by commas, in any case.",
    ),
    "style": "form",
    "explode": False,
}
_OF_MARKET: Final = _query(
    "ticker",
    MARKET_PATH,
    "Of one market, by ticker or UUID; not together with `event_ticker`.",
    _MARKET_EXAMPLE,
)
_OF_EVENT: Final = _query(
    "event_ticker",
    MARKET_PATH,
    "Of every market of one event; not together with `ticker`.",
    _EVENT_EXAMPLE,
)
_OF_ORDER: Final = _query("order_id", ORDER_ID, "Of one order.", _ORDER_EXAMPLE)

_MARKET_CODES: Final = (Code.INVALID_MARKET_IDENTIFIER, Code.MARKET_NOT_FOUND)
_PAGE_CODES: Final = (Code.INVALID_PARAMETER, Code.INVALID_CURSOR)
_SCOPE_CODES: Final = (Code.INVALID_MARKET_IDENTIFIER, Code.CONFLICTING_IDENTIFIERS)
_ORDER_CODES: Final = (Code.INVALID_ORDER_ID, Code.ORDER_NOT_FOUND)
_ENGINE_CODES: Final = (Code.ENGINE_OVERLOADED, Code.ENGINE_UNAVAILABLE, Code.RESULT_UNKNOWN)
_NEW_EXPOSURE_CODES: Final = (
    Code.INVALID_PRICE,
    Code.INVALID_QTY,
    Code.VENUE_HALTED,
    Code.VENUE_CANCEL_ONLY,
    Code.INSUFFICIENT_BALANCE,
    Code.INSUFFICIENT_SHARES,
    Code.MARKET_HALTED,
    *_ENGINE_CODES,
)


def _read(
    summary: str, kind: type[msgspec.Struct], query: tuple[Parameter, ...] = (), *codes: Code
) -> Operation:
    return Operation(summary, query, None, {OK: kind}, codes)


OPERATIONS: Final[dict[Route, Operation]] = {
    routes.OPENAPI: Operation("This description; no credential is looked at.", (), None, {}, ()),
    routes.LIST_MARKETS: _read(
        "The catalog by pages, or with any filter the whole match in one page.",
        model.MarketsPage, (*_PAGE, _SEARCH, _SERIES, _PROJECT), *_PAGE_CODES,
    ),
    routes.SNAPSHOT: _read(
        "A market and the caller's own state in it.", model.Snapshot, (), *_MARKET_CODES
    ),
    routes.ORDERBOOK: _read(
        "Depth in canonical YES terms, a recent view.",
        model.Orderbook, (), *_MARKET_CODES, *MARKET_DATA_CODES,
    ),
    routes.CANDLES: _read(
        "Candles, oldest first.",
        model.CandleSeries, (_INTERVAL, _CANDLES_FROM, _CANDLES_TO),
        *_MARKET_CODES, Code.INVALID_PARAMETER, Code.INVALID_ENUM_VALUE, *MARKET_DATA_CODES,
    ),
    routes.TRADES: _read(
        "The public tape of a market, newest first.",
        model.TradesPage, (*_PAGE, _FROM, _TO), *_MARKET_CODES, *_PAGE_CODES, *MARKET_DATA_CODES,
    ),
    routes.LIST_EVENTS: _read(
        "Events with their markets in strike order.",
        model.EventsPage, (*_PAGE, _SERIES, _PROJECT, _EVENT_STATUS),
        *_PAGE_CODES, Code.INVALID_ENUM_VALUE,
    ),
    routes.GET_EVENT: _read(
        "A page of one event, limit and cursor ignored; or of every event of a series.",
        model.EventsPage, _PAGE, *_MARKET_CODES, *_PAGE_CODES,
    ),
    routes.CREATE_ORDER: Operation(
        "Place an order; 201 for a new one, 200 for a re-send of a known client_order_id.",
        (), NEW_ORDER, {OK: model.Order, CREATED: model.Order},
        (
            *_NEW_EXPOSURE_CODES,
            *_MARKET_CODES,
            Code.INVALID_BUDGET,
            Code.INVALID_ENUM_VALUE,
            Code.CONFLICTING_IDENTIFIERS,
            Code.MISSING_IDEMPOTENCY_KEY,
            Code.MARKET_RESOLVED,
            Code.DUPLICATE_ORDER_ID,
            Code.BUDGET_NOT_FILLABLE,
            Code.NO_EXECUTABLE_LIQUIDITY,
            Code.INVALID_REQUEST,
        ),
    ),
    routes.LIST_ORDERS: _read(
        "The caller's orders, newest first, with a lag of some milliseconds.",
        model.OrdersPage, (*_PAGE, _ORDER_STATUS, _OF_MARKET, _OF_EVENT),
        *_PAGE_CODES, *_SCOPE_CODES, Code.INVALID_ENUM_VALUE,
    ),
    routes.GET_ORDER: _read("One of the caller's orders.", model.Order, (), *_ORDER_CODES),
    routes.AMEND_ORDER: Operation(
        "Change price and/or remaining size. Its place in the queue is kept only if the price is "
        "unchanged and the size does not increase.",
        (), AMEND, {OK: model.Order},
        (*_NEW_EXPOSURE_CODES, *_ORDER_CODES, Code.ORDER_NOT_CANCELABLE),
    ),
    routes.CANCEL_ORDER: Operation(
        "Cancel what still works of an order.",
        (), None, {OK: model.Cancelled},
        (*_ORDER_CODES, Code.VENUE_HALTED, Code.ORDER_NOT_CANCELABLE, *_ENGINE_CODES),
    ),
    routes.BALANCE: _read("The caller's cash.", model.Balance),
    routes.POSITIONS: _read(
        "The caller's positions, one per outcome.",
        model.PositionsPage, (*_PAGE, _OF_MARKET, _OF_EVENT), *_PAGE_CODES, *_SCOPE_CODES,
    ),
    routes.FILLS: _read(
        "The caller's fills, newest first.",
        model.FillsPage, (*_PAGE, _OF_MARKET, _OF_EVENT, _OF_ORDER),
        *_PAGE_CODES, *_SCOPE_CODES, Code.INVALID_ORDER_ID,
    ),
}  # fmt: skip
