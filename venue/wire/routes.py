"""One row per endpoint: name, method, path, scopes. See docs/venue.md#endpoints, #authentication.
Readings: docs/assumptions.md#S6, #S8, #S27, #S40."""

import enum
from typing import Final, Literal

import msgspec

API_PREFIX: Final = "/v1"
INTERFACE_VERSION: Final = "1.0.0"
STREAM_PATH: Final = "/stream"

API_KEY_HEADER: Final = "X-API-KEY"
BEARER_HEADER: Final = "Authorization"
LIMIT_HEADER: Final = "X-RateLimit-Limit"
REMAINING_HEADER: Final = "X-RateLimit-Remaining"
RESET_HEADER: Final = "X-RateLimit-Reset"
RETRY_AFTER_HEADER: Final = "Retry-After"


class KeyScope(enum.StrEnum):
    """Scopes of an API key. They do not nest: trade does not include read."""

    READ = "read"
    TRADE = "trade"


class TokenScope(enum.StrEnum):
    MARKETS_READ = "svc:markets:read"
    ACCOUNT_READ = "svc:account:read"
    ORDERS_WRITE = "svc:orders:write"
    ORDERS_BULK_CANCEL = "svc:orders:bulk-cancel"


class Route(msgspec.Struct, frozen=True):
    """One endpoint. path: relative to the base URL; `{name}` is one segment. key_scope None and
    token_scopes empty: no credential is needed."""

    name: str
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    key_scope: KeyScope | None
    token_scopes: tuple[TokenScope, ...]

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/"))


def _read(name: str, path: str, scope: TokenScope) -> Route:
    return Route(name, "GET", path, KeyScope.READ, (scope,))


def _write(
    name: str, method: Literal["POST", "PUT", "DELETE"], path: str, *scopes: TokenScope
) -> Route:
    return Route(name, method, path, KeyScope.TRADE, scopes)


_MARKETS, _ACCOUNT = TokenScope.MARKETS_READ, TokenScope.ACCOUNT_READ

OPENAPI: Final = Route("openapi", "GET", "/openapi.yaml", None, ())
LIST_MARKETS: Final = _read("list_markets", "/markets", _MARKETS)
SNAPSHOT: Final = _read("snapshot", "/markets/{market_id}/snapshot", _ACCOUNT)
ORDERBOOK: Final = _read("orderbook", "/markets/{market_id}/orderbook", _MARKETS)
CANDLES: Final = _read("candles", "/markets/{market_id}/candles", _MARKETS)
TRADES: Final = _read("trades", "/markets/{market_id}/trades", _MARKETS)
LIST_EVENTS: Final = _read("list_events", "/events", _MARKETS)
GET_EVENT: Final = _read("get_event", "/events/{event_ticker}", _MARKETS)
CREATE_ORDER: Final = _write("create_order", "POST", "/orders", TokenScope.ORDERS_WRITE)
LIST_ORDERS: Final = _read("list_orders", "/orders", _ACCOUNT)
GET_ORDER: Final = _read("get_order", "/orders/{order_id}", _ACCOUNT)
AMEND_ORDER: Final = _write("amend_order", "PUT", "/orders/{order_id}", TokenScope.ORDERS_WRITE)
CANCEL_ORDER: Final = _write(
    "cancel_order",
    "DELETE",
    "/orders/{order_id}",
    TokenScope.ORDERS_WRITE,
    TokenScope.ORDERS_BULK_CANCEL,
)
BALANCE: Final = _read("balance", "/portfolio/balance", _ACCOUNT)
POSITIONS: Final = _read("positions", "/portfolio/positions", _ACCOUNT)
FILLS: Final = _read("fills", "/portfolio/fills", _ACCOUNT)

ROUTES: Final[tuple[Route, ...]] = (
    OPENAPI,
    LIST_MARKETS,
    SNAPSHOT,
    ORDERBOOK,
    CANDLES,
    TRADES,
    LIST_EVENTS,
    GET_EVENT,
    CREATE_ORDER,
    LIST_ORDERS,
    GET_ORDER,
    AMEND_ORDER,
    CANCEL_ORDER,
    BALANCE,
    POSITIONS,
    FILLS,
)
