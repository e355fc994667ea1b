"""Where an answer leads: the links of the description, by the route that answers."""

from typing import Any, Final

from venue.wire import routes
from venue.wire.routes import Route

Link = dict[str, Any]

_ORDER_ID: Final = "$response.body#/order_id"
_OF_MARKET: Final = (routes.SNAPSHOT, routes.ORDERBOOK, routes.CANDLES, routes.TRADES)


def _link(target: Route, description: str, **parameters: str) -> Link:
    return {
        "operationId": target.name,
        "description": description,
        "parameters": parameters,
    }


def _of_order(order_id: str) -> dict[str, Link]:
    return {
        "get": _link(routes.GET_ORDER, "Read the order.", order_id=order_id),
        "amend": _link(routes.AMEND_ORDER, "Amend the order.", order_id=order_id),
        "cancel": _link(routes.CANCEL_ORDER, "Cancel the order.", order_id=order_id),
        "fills": _link(routes.FILLS, "The order's fills.", order_id=order_id),
    }


def _next_page(route: Route, *filters: str) -> dict[str, Link]:
    """A cursor is good under the filters that it was given out under, so they travel with it."""
    kept = {name: f"$request.query.{name}" for name in filters}
    return {
        "next": _link(
            route, "The next page; `cursor` is empty on the last one.",
            cursor="$response.body#/cursor", **kept,
        )
    }  # fmt: skip


def _markets(pointer: str) -> dict[str, Link]:
    return {
        target.name: _link(target, "Of the first market listed.", market_id=pointer)
        for target in _OF_MARKET
    }


_SCOPE: Final = ("ticker", "event_ticker")

LINKS: Final[dict[Route, dict[str, Link]]] = {
    routes.LIST_MARKETS: {
        **_next_page(routes.LIST_MARKETS),
        **_markets("$response.body#/markets/0/market_id"),
    },
    routes.TRADES: {
        "next": _link(
            routes.TRADES, "The next page; `cursor` is empty on the last one.",
            market_id="$request.path.market_id", cursor="$response.body#/cursor",
            **{"from": "$request.query.from", "to": "$request.query.to"},
        )
    },
    routes.LIST_EVENTS: {
        **_next_page(routes.LIST_EVENTS, "series_ticker", "project_id", "status"),
        "event": _link(
            routes.GET_EVENT, "The first event listed.",
            event_ticker="$response.body#/events/0/event_ticker",
        ),
    },
    routes.GET_EVENT: {
        "next": _link(
            routes.GET_EVENT, "The next page of a series; `cursor` is empty on the last one.",
            event_ticker="$request.path.event_ticker", cursor="$response.body#/cursor",
        ),
        **_markets("$response.body#/events/0/markets/0/market_id"),
    },
    routes.CREATE_ORDER: {
        **_of_order(_ORDER_ID),
        "snapshot": _link(
            routes.SNAPSHOT, "The order's market.", market_id="$response.body#/market_id"
        ),
    },
    routes.LIST_ORDERS: {
        **_next_page(routes.LIST_ORDERS, "status", *_SCOPE),
        **_of_order("$response.body#/orders/0/order_id"),
    },
    routes.GET_ORDER: _of_order(_ORDER_ID),
    routes.AMEND_ORDER: _of_order(_ORDER_ID),
    routes.CANCEL_ORDER: _of_order("$response.body#/order/order_id"),
    routes.POSITIONS: {
        **_next_page(routes.POSITIONS, *_SCOPE),
        "snapshot": _link(
            routes.SNAPSHOT, "The market of the first position.",
            market_id="$response.body#/positions/0/market_id",
        ),
    },
    routes.FILLS: {
        **_next_page(routes.FILLS, *_SCOPE, "order_id"),
        "order": _link(
            routes.GET_ORDER, "The order of the first fill.",
            order_id="$response.body#/fills/0/order_id",
        ),
    },
}  # fmt: skip
