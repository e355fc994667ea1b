"""Reads of the caller's own: orders, fills, positions and balance (docs/assumptions.md#S3)."""

from venue.rest.params import Query, order_in_path
from venue.rest.venue_port import Request
from venue.wire import codec, model
from venue.wire.codec import Refusal
from venue.wire.errors import Code


def list_orders(request: Request) -> bytes:
    query = Query(request.query, ("limit", "cursor", "status", "ticker", "event_ticker"))
    limit = query.limit()
    scope = query.scope(request.views.catalog)
    statuses = query.statuses()
    paging = request.paging(scope, sorted(statuses))
    before = paging.number(query.cursor())
    request.check_accounts()
    orders, place = request.views.account.orders(request.user_id, scope, statuses, before, limit)
    return codec.encode(model.OrdersPage(orders, paging.cursor(place)))


def get_order(request: Request) -> bytes:
    """GET /orders/{order_id}; an order of somebody else answers like one that never was."""
    order_id = order_in_path(request.parameter)
    request.check_accounts()
    order = request.views.account.order(request.user_id, order_id)
    if order is None:
        raise Refusal(Code.ORDER_NOT_FOUND, "no such order")
    return codec.encode(order)


def balance(request: Request) -> bytes:
    request.check_accounts()
    return codec.encode(request.views.account.balance(request.user_id))


def positions(request: Request) -> bytes:
    """GET /portfolio/positions (S5)."""
    query = Query(request.query, ("limit", "cursor", "ticker", "event_ticker"))
    limit = query.limit()
    scope = query.scope(request.views.catalog)
    paging = request.paging(scope)
    after = paging.place(query.cursor()) or ""
    request.check_accounts()
    rows, place = request.views.account.positions(request.user_id, scope, after, limit)
    return codec.encode(model.PositionsPage(rows, paging.cursor(place)))


def fills(request: Request) -> bytes:
    """GET /portfolio/fills (S4); an order that is not the caller's has no fills to list."""
    query = Query(request.query, ("limit", "cursor", "ticker", "event_ticker", "order_id"))
    limit = query.limit()
    order_id = query.order_id()
    scope = query.scope(request.views.catalog)
    paging = request.paging(scope, order_id)
    before = paging.number(query.cursor())
    request.check_accounts()
    rows, place = request.views.account.fills(request.user_id, scope, order_id, before, limit)
    return codec.encode(model.FillsPage(rows, paging.cursor(place)))
