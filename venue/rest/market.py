"""Public reads: markets, snapshots, books, candles, prints and events (docs/assumptions.md#S2,
#S7)."""

from collections.abc import Iterator
from typing import Final

import msgspec

from venue.rest.faults import FaultKind
from venue.rest.params import Query, event_in_path, market_in_path
from venue.rest.venue_port import Paging, Request
from venue.views.catalog import Catalog, EventFilter, MarketFilter
from venue.wire import codec, model
from venue.wire.codec import Refusal
from venue.wire.errors import Code
from venue.wire.instant import ZERO
from venue.wire.limits import CANDLE_WINDOW_DEFAULT_NS
from venue.wire.model import CandleInterval, EventStatus
from venue.wire.names import MarketId, fold_ticker

_INTERVALS: Final = tuple(CandleInterval)
_EVENT_STATUSES: Final[tuple[EventStatus, ...]] = tuple(
    status for status in EventStatus if status is not EventStatus.UNKNOWN
)

_ROWS_IN_A_TURN: Final = 200
"""Rows without pages, or rungs of events, that are made at once: two or three milliseconds."""

_EVENTS_AT_ONCE: Final = 16


def list_markets(request: Request) -> bytes | Iterator[bytes]:
    """GET /markets: the catalog by pages, or with any filter the whole match in one page. A long
    match comes in pieces."""
    query = Query(request.query, ("limit", "cursor", "q", "series_ticker", "project_id"))
    limit = query.limit()
    wanted = MarketFilter(query.search(), query.text("series_ticker"), query.project_id())
    # A filtered list never gives a cursor out, so whatever cursor comes with filters is refused.
    paging = request.paging(wanted)
    after = paging.number(query.cursor())
    catalog = request.views.catalog
    if not wanted.is_empty:
        found = catalog.matching_markets(wanted)
        first = tuple(map(catalog.market, found[:_ROWS_IN_A_TURN]))
        shown = codec.encode(model.MarketsPage(first, paging.cursor(None)))
        more = (
            tuple(map(catalog.market, found[at : at + _ROWS_IN_A_TURN]))
            for at in range(_ROWS_IN_A_TURN, len(found), _ROWS_IN_A_TURN)
        )
        return _with_more(shown, b'],"cursor":""}', more) if len(found) > len(first) else shown
    markets, place = catalog.active_markets(-1 if after is None else after, limit)
    return codec.encode(model.MarketsPage(markets, paging.cursor(place)))


def _with_more(
    shown: bytes, end: bytes, more: Iterator[tuple[msgspec.Struct, ...]]
) -> Iterator[bytes]:
    yield shown.removesuffix(end)
    for rows in more:
        yield b"," + codec.encode(rows)[1:-1]
    yield end


def snapshot(request: Request) -> bytes | Iterator[bytes]:
    """GET /markets/{market_id}/snapshot. The market's colour degrades to empty when its store is
    down; the caller's own state never does. Many resting orders come in pieces, all as of now."""
    market_id = _market(request)
    request.check_accounts()
    catalog, market, account = request.views.catalog, request.views.market, request.views.account
    if request.venue.faults.is_down(FaultKind.MARKET_DATA_DOWN):
        ticker, _ = catalog.market_tickers(market_id)
        orderbook, last_trade = model.Orderbook(ticker, market_id, ZERO, (), ()), None
    else:
        orderbook, last_trade = market.orderbook(market_id), market.last_trade(market_id)
    resting = account.resting_orders(request.user_id, market_id)
    shown = codec.encode(
        model.Snapshot(
            market=catalog.market(market_id),
            orderbook=orderbook,
            last_trade=last_trade,
            stats=market.stats(market_id),
            positions=account.market_positions(request.user_id, market_id),
            resting_orders=resting.rows(0, _ROWS_IN_A_TURN),
        )
    )
    more = (
        resting.rows(at, _ROWS_IN_A_TURN)
        for at in range(_ROWS_IN_A_TURN, len(resting), _ROWS_IN_A_TURN)
    )
    return shown if len(resting) <= _ROWS_IN_A_TURN else _with_more(shown, b"]}", more)


def orderbook(request: Request) -> bytes:
    market_id = _market(request)
    _check_market_data(request)
    return codec.encode(request.views.market.orderbook(market_id))


def candles(request: Request) -> bytes:
    """GET /markets/{market_id}/candles: the last 24 hours by the hour unless asked otherwise."""
    market_id = _market(request)
    query = Query(request.query, ("interval", "from", "to"))
    to_ns = query.instant_ns("to")
    to_ns = request.now_ns if to_ns is None else to_ns
    from_ns = query.instant_ns("from")
    from_ns = request.now_ns - CANDLE_WINDOW_DEFAULT_NS if from_ns is None else from_ns
    _check_span(from_ns, to_ns)
    interval = query.enum("interval", CandleInterval, _INTERVALS) or CandleInterval.H1
    _check_market_data(request)
    return codec.encode(request.views.market.candles(market_id, interval, from_ns, to_ns))


def trades(request: Request) -> bytes:
    """GET /markets/{market_id}/trades (S6)."""
    market_id = _market(request)
    query = Query(request.query, ("limit", "cursor", "from", "to"))
    limit = query.limit()
    span_ns = query.instant_ns("from"), query.instant_ns("to")
    _check_span(*span_ns)
    paging = request.paging(market_id, span_ns)
    before = paging.number(query.cursor())
    _check_market_data(request)
    rows, place = request.views.market.trades(market_id, span_ns, before, limit)
    return codec.encode(model.TradesPage(rows, paging.cursor(place)))


def list_events(request: Request) -> bytes | Iterator[bytes]:
    """GET /events, filtered by series, company and status (S2)."""
    query = Query(request.query, ("limit", "cursor", "series_ticker", "project_id", "status"))
    limit = query.limit()
    series_ticker, project_id = query.text("series_ticker"), query.project_id()
    status = query.enum("status", EventStatus, _EVENT_STATUSES)
    wanted = EventFilter(
        None if series_ticker is None else fold_ticker(series_ticker), project_id, status
    )
    return _events_page(request, wanted, query, limit)


def get_event(request: Request) -> bytes | Iterator[bytes]:
    ticker = event_in_path(request.parameter)
    event = request.views.catalog.event(ticker)
    if event is not None:
        # Limit and cursor mean nothing here, whatever they hold.
        return codec.encode(model.EventsPage((event,), ""))
    if not request.views.catalog.has_series(ticker):
        raise Refusal(Code.MARKET_NOT_FOUND, "no such event or series")
    query = Query(request.query, ("limit", "cursor"))
    return _events_page(request, EventFilter(fold_ticker(ticker)), query, query.limit())


def _events_page(
    request: Request, wanted: EventFilter, query: Query, limit: int
) -> bytes | Iterator[bytes]:
    """A page of events. One with many rungs comes in pieces, each as it is when it is shown."""
    paging = request.paging(wanted)
    after = paging.number(query.cursor())
    catalog = request.views.catalog
    first, place = _some_events(catalog, wanted, -1 if after is None else after, limit)
    if place is None or len(first) == limit:
        return codec.encode(model.EventsPage(first, paging.cursor(place)))
    return _with_more_events(catalog, wanted, first, place, limit, paging)


def _some_events(
    catalog: Catalog, wanted: EventFilter, after: int, limit: int
) -> tuple[tuple[model.Event, ...], int | None]:
    """Events with the rungs of one turn, at most `limit` of them, and where to go on."""
    rows: tuple[model.Event, ...] = ()
    while True:
        more, place = catalog.events(wanted, after, min(limit - len(rows), _EVENTS_AT_ONCE))
        rows += more
        count = sum(1 + len(event.markets) for event in rows)
        if place is None or len(rows) == limit or count >= _ROWS_IN_A_TURN:
            return rows, place
        after = place


def _with_more_events(
    catalog: Catalog,
    wanted: EventFilter,
    first: tuple[model.Event, ...],
    place: int | None,
    limit: int,
    paging: Paging,
) -> Iterator[bytes]:
    yield codec.encode(model.EventsPage(first, "")).removesuffix(b'],"cursor":""}')
    left = limit - len(first)
    while place is not None and left:
        rows, place = _some_events(catalog, wanted, place, left)
        left -= len(rows)
        yield b"," + codec.encode(rows)[1:-1]
    yield b'],"cursor":' + codec.encode(paging.cursor(place)) + b"}"


def _market(request: Request) -> MarketId:
    return market_in_path(request.views.catalog, request.parameter)


def _check_market_data(request: Request) -> None:
    """Raises Refusal(engine_unavailable) while the market data store is down."""
    if request.venue.faults.is_down(FaultKind.MARKET_DATA_DOWN):
        raise Refusal(Code.ENGINE_UNAVAILABLE, "market data cannot be read now")


def _check_span(from_ns: int | None, to_ns: int | None) -> None:
    if from_ns is not None and to_ns is not None and from_ns > to_ns:
        raise Refusal(Code.INVALID_PARAMETER, "from: after to")
