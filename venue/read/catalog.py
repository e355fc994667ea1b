"""What is traded: companies, series, events and their rungs, and how to find them.

Source: interface, Resources (Market, Event); GET /markets, /events; silences S2, S34, S38, S46.
"""

import decimal
from bisect import bisect_right, insort
from collections.abc import Iterable
from typing import Final

import msgspec

from venue.core import messages
from venue.read.directory import Directory, Unresolvable
from venue.wire import model, names
from venue.wire.instant import from_ns
from venue.wire.model import EventStatus, MarketState
from venue.wire.money import PRICE_MAX, PRICE_MIN, TICK_CENTS, Price, Qty
from venue.wire.names import MarketId, ProjectId, Ticker

_UNSTRUCK: Final = (1, decimal.Decimal(0))
"""Sorts a binary market behind every rung."""


class Company(msgspec.Struct):
    """A company as listed; `symbol` is its current handle."""

    project_id: ProjectId
    name: str
    symbol: str


class _Market(msgspec.Struct):
    listed: messages.ListMarket
    event: "_Event"
    sequence: int
    created_ns: int
    updated_ns: int
    state: MarketState = MarketState.ACTIVE
    last_price: Price | None = None
    open_interest: Qty = Qty(0)
    shown: model.Market | None = None


class _Event(msgspec.Struct):
    listed: messages.ListEvent
    sequence: int
    status: EventStatus
    markets: list[_Market]


class MarketFilter(msgspec.Struct, frozen=True):
    """Filters of GET /markets, ANDed; None is no filter. `q` has at least two characters."""

    q: str | None = None
    series_ticker: str | None = None
    project_id: ProjectId | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is filtered: the paged catalog instead of one whole page."""
        return self.q is None and self.series_ticker is None and self.project_id is None


class EventFilter(msgspec.Struct, frozen=True):
    """Filters of GET /events (S2), ANDed; None is no filter."""

    series_ticker: str | None = None
    project_id: ProjectId | None = None
    status: EventStatus | None = None


class Catalog:
    """Every company, event and market there is or was; nothing is ever taken out."""

    def __init__(self) -> None:
        self._companies: dict[ProjectId, Company] = {}
        self._events: list[_Event] = []
        self._by_event: dict[Ticker, _Event] = {}
        self._by_series: dict[Ticker, list[_Event]] = {}
        self._markets: list[_Market] = []
        self._by_market: dict[MarketId, _Market] = {}
        self._by_ticker: dict[Ticker, _Market] = {}
        self._directory = Directory()

    # --- what happened -------------------------------------------------------------------------

    def apply(self, event: messages.Event) -> None:
        """Take in one event of the engine; those that do not concern the catalog pass by."""
        match event:
            case messages.CompanyListed():
                self._list_company(event.company, event.at_ns)
            case messages.CompanyArchived():
                self._directory.archive(event.project_id)
            case messages.EventListed():
                self._list_event(event.event)
            case messages.MarketListed():
                self._list_market(event.market, event.at_ns)
            case messages.EventStatusChanged():
                self._by_event[names.fold_ticker(event.event_ticker)].status = event.status
            case messages.MarketStateChanged():
                market = self._touch(event.market_id, event.at_ns)
                market.state = event.state
                self._directory.set_state(event.market_id, event.state)
            case messages.TradePrinted():
                self._touch(event.market_id, event.at_ns).last_price = event.price
            case messages.OpenInterestChanged():
                self._touch(event.market_id, event.at_ns).open_interest = event.open_interest
            case _:
                pass

    def _list_company(self, listed: messages.ListCompany, at_ns: int) -> None:
        self._companies[listed.project_id] = Company(listed.project_id, listed.name, listed.symbol)
        self._directory.list_symbol(listed.project_id, listed.symbol, at_ns)

    def _list_event(self, listed: messages.ListEvent) -> None:
        event = _Event(listed, len(self._events), listed.status, [])
        self._events.append(event)
        self._by_event[names.fold_ticker(listed.event_ticker)] = event
        self._by_series.setdefault(names.fold_ticker(listed.series_ticker), []).append(event)
        self._directory.list_group(listed.series_ticker)
        self._directory.list_group(listed.event_ticker)

    def _list_market(self, listed: messages.ListMarket, at_ns: int) -> None:
        event = self._by_event[names.fold_ticker(listed.event_ticker)]
        market = _Market(listed, event, len(self._markets), at_ns, at_ns)
        self._markets.append(market)
        self._by_market[listed.market_id] = market
        self._by_ticker[names.fold_ticker(listed.ticker)] = market
        insort(event.markets, market, key=_strike_order)
        self._directory.list_market(listed.market_id, listed.ticker, event.listed.project_id, at_ns)

    def _touch(self, market_id: MarketId, at_ns: int) -> _Market:
        market = self._by_market[market_id]
        market.updated_ns = at_ns
        market.shown = None
        return market

    # --- one thing by name ---------------------------------------------------------------------

    def find_market(self, name: str) -> MarketId | None:
        """The market that a ticker or UUID of checked shape names, any case; None if there is none.

        A UUID is tried first; dots count, so 212.5B and 2125B are two markets.
        """
        if names.is_uuid(name):
            market_id = MarketId(names.fold_uuid(name))
            if market_id in self._by_market:
                return market_id
        market = self._by_ticker.get(names.fold_ticker(name))
        return None if market is None else market.listed.market_id

    def market(self, market_id: MarketId) -> model.Market:
        """The market with this UUID. Raises KeyError when there is none."""
        return _shown(self._by_market[market_id])

    def market_tickers(self, market_id: MarketId) -> tuple[Ticker, Ticker]:
        """The ticker of a market and of its event. Raises KeyError when there is none."""
        listed = self._by_market[market_id].listed
        return listed.ticker, listed.event_ticker

    def company(self, project_id: ProjectId) -> Company | None:
        """The company with this UUID, archived ones too."""
        return self._companies.get(project_id)

    def event(self, event_ticker: str) -> model.Event | None:
        """The event with this ticker, any case."""
        event = self._by_event.get(names.fold_ticker(event_ticker))
        return None if event is None else _shown_event(event)

    def has_series(self, series_ticker: str) -> bool:
        """Whether any event belongs to this series, any case."""
        return names.fold_ticker(series_ticker) in self._by_series

    # --- lists ---------------------------------------------------------------------------------

    def active_markets(self, after: int, limit: int) -> tuple[tuple[model.Market, ...], int | None]:
        """Markets that are not resolved (S34), in the order of listing, and where to go on.

        after: the place of the last row seen, -1 at the start. The place returned is None when
        these are the last ones. Rows listed meanwhile come at the end, so a walk meets every
        market once.
        """
        rows: list[_Market] = []
        for market in self._markets[after + 1 :]:
            if market.state is not MarketState.RESOLVED:
                if len(rows) == limit:
                    return tuple(map(_shown, rows)), rows[-1].sequence
                rows.append(market)
        return tuple(map(_shown, rows)), None

    def matching_markets(self, wanted: MarketFilter) -> tuple[model.Market, ...]:
        """Every market that passes all filters, resolved ones too, in the order of listing."""
        events = self._filtered(EventFilter(wanted.series_ticker, wanted.project_id))
        markets = [market for event in events for market in self._searched(event, wanted.q)]
        markets.sort(key=lambda market: market.sequence)
        return tuple(map(_shown, markets))

    def events(
        self, wanted: EventFilter, after: int, limit: int
    ) -> tuple[tuple[model.Event, ...], int | None]:
        """Events that pass all filters, in the order of listing, and where to go on.

        after and the place returned: as for `active_markets`.
        """
        rows: list[_Event] = []
        for event in self._filtered(wanted, after):
            if len(rows) == limit:
                return tuple(map(_shown_event, rows)), rows[-1].sequence
            rows.append(event)
        return tuple(map(_shown_event, rows)), None

    def _filtered(self, wanted: EventFilter, after: int = -1) -> Iterable[_Event]:
        events = self._events
        if wanted.series_ticker is not None:
            events = self._by_series.get(names.fold_ticker(wanted.series_ticker), [])
        for event in events[bisect_right(events, after, key=lambda event: event.sequence) :]:
            project_fits = wanted.project_id in (None, event.listed.project_id)
            if project_fits and wanted.status in (None, event.status):
                yield event

    def _searched(self, event: _Event, q: str | None) -> list[_Market]:
        """The rungs of an event that a search finds (S38): plain text, no wildcards."""
        if q is None:
            return event.markets
        folded = q.casefold()
        company = self._companies.get(event.listed.project_id)
        texts = [event.listed.title]
        if company is not None:
            texts += [company.name, company.symbol]
        if any(folded in text.casefold() for text in texts):
            return event.markets
        if not q.isascii():
            # Tickers are ASCII, and some other letters would fold into it.
            return []
        prefix = q.upper()
        if event.listed.event_ticker.upper().startswith(prefix):
            return event.markets
        return [m for m in event.markets if m.listed.ticker.upper().startswith(prefix)]

    # --- handles of the channel ----------------------------------------------------------------

    def resolve_ticker(self, handle: str, now_ns: int) -> MarketId | Unresolvable:
        """The market that a channel's folded handle names at `now_ns`, or why there is none."""
        return self._directory.resolve_ticker(handle, now_ns)

    def resolve_symbol(self, handle: str, now_ns: int) -> ProjectId | Unresolvable:
        """The company that a channel's folded handle names at `now_ns`, or why there is none."""
        return self._directory.resolve_symbol(handle, now_ns)


def _strike_order(market: _Market) -> tuple[tuple[int, decimal.Decimal], int]:
    strike_value = market.listed.strike_value
    if strike_value is None:
        return _UNSTRUCK, market.sequence
    return (0, decimal.Decimal(strike_value)), market.sequence


def _shown(market: _Market) -> model.Market:
    if market.shown is None:
        listed = market.listed
        resolved = market.state is MarketState.RESOLVED
        market.shown = model.Market(
            ticker=listed.ticker,
            market_id=listed.market_id,
            event_ticker=listed.event_ticker,
            project_market_id=market.event.listed.project_market_id,
            name=listed.name,
            description=listed.description,
            outcome_label=listed.outcome_label,
            state=market.state,
            min_price=PRICE_MIN,
            max_price=PRICE_MAX,
            tick_size=TICK_CENTS,
            strike_value=listed.strike_value,
            strike_unit=listed.strike_unit,
            maker_fee_rate=str(listed.maker_fee_rate),
            taker_fee_rate=str(listed.taker_fee_rate),
            last_price=market.last_price,
            open_interest=Qty(0) if resolved else market.open_interest,
            created_at=from_ns(market.created_ns),
            updated_at=from_ns(market.updated_ns),
        )
    return market.shown


def _shown_event(event: _Event) -> model.Event:
    listed = event.listed
    return model.Event(
        event_ticker=listed.event_ticker,
        series_ticker=listed.series_ticker,
        project_market_id=listed.project_market_id,
        project_id=listed.project_id,
        title=listed.title,
        category=listed.category,
        status=event.status,
        mutually_exclusive=listed.mutually_exclusive,
        resolution_date=from_ns(listed.resolution_date_ns),
        markets=tuple(map(_shown, event.markets)),
        sub_title=listed.sub_title,
        resolution_source=listed.resolution_source,
    )
