"""Companies, series, events and rungs. Readings: docs/assumptions.md#S34, #S38, #S46."""

import decimal
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from venue.engine import messages
from venue.views.directory import Directory, DirectorySnapshot
from venue.wire import model, names
from venue.wire.instant import from_ns
from venue.wire.model import EventStatus, MarketState
from venue.wire.money import PRICE_MAX, PRICE_MIN, TICK_CENTS, Price, Qty
from venue.wire.names import MarketId, ProjectId, Ticker
from venue.wire.strike import dollars_per_unit


class EventTaker:
    """Takes events in, each by the function for its type: a column of patterns would cost more."""

    takers: Mapping[type[messages.Event], Callable[[Any], None]]

    def apply(self, event: messages.Event) -> None:
        take = self.takers.get(type(event))
        if take is not None:
            take(event)


_UNSTRUCK: Final = (1, decimal.Decimal(0))
"""Sorts a binary market behind every rung."""


class Company(msgspec.Struct, frozen=True):
    """A company as listed; `symbol` is its current handle, which an archived one has lost."""

    project_id: ProjectId
    name: str
    symbol: str
    archived: bool = False


class _MarketView(msgspec.Struct):
    listed: messages.ListMarket
    event: "_EventView"
    sequence: int
    created_ns: int
    updated_ns: int
    state: MarketState = MarketState.ACTIVE
    last_price: Price | None = None
    open_interest: Qty = Qty(0)
    shown: model.Market | None = None


class _EventView(msgspec.Struct):
    listed: messages.ListEvent
    sequence: int
    status: EventStatus
    markets: list[_MarketView]


class EventRecord(msgspec.Struct, frozen=True):
    listed: messages.ListEvent
    status: EventStatus


class MarketRecord(msgspec.Struct, frozen=True):
    """A market as listed, and what has become of it. open_interest: shares."""

    listed: messages.ListMarket
    created_ns: int
    updated_ns: int
    state: MarketState
    last_price: Price | None
    open_interest: Qty


class CatalogSnapshot(msgspec.Struct, frozen=True):
    companies: tuple[Company, ...]
    events: tuple[EventRecord, ...]
    markets: tuple[MarketRecord, ...]
    directory: DirectorySnapshot


class MarketFilter(msgspec.Struct, frozen=True):
    """Filters of GET /markets, ANDed; None is no filter. `q` has at least two characters."""

    q: str | None = None
    series_ticker: str | None = None
    project_id: ProjectId | None = None

    @property
    def is_empty(self) -> bool:
        return self.q is None and self.series_ticker is None and self.project_id is None


class EventFilter(msgspec.Struct, frozen=True):
    """Filters of GET /events (S2), ANDed; None is no filter."""

    series_ticker: str | None = None
    project_id: ProjectId | None = None
    status: EventStatus | None = None


class Catalog(EventTaker):
    def __init__(self) -> None:
        self._companies: dict[ProjectId, Company] = {}
        self._events: list[_EventView] = []
        self._by_event: dict[Ticker, _EventView] = {}
        self._by_series: dict[Ticker, list[_EventView]] = {}
        self._markets: list[_MarketView] = []
        self._by_market: dict[MarketId, _MarketView] = {}
        self._by_ticker: dict[Ticker, _MarketView] = {}
        self.directory = Directory()
        self.takers = {
            messages.CompanyListed: self._take_company,
            messages.CompanyArchived: self._take_archiving,
            messages.EventListed: self._take_event,
            messages.MarketListed: self._take_market,
            messages.EventStatusChanged: self._take_event_status,
            messages.MarketStateChanged: self._take_market_state,
            messages.TradePrinted: self._take_print,
            messages.OpenInterestChanged: self._take_open_interest,
        }

    @classmethod
    def restored(cls, snapshot: CatalogSnapshot) -> "Catalog":
        catalog = cls()
        catalog.directory = Directory.restored(snapshot.directory)
        catalog._companies = {company.project_id: company for company in snapshot.companies}
        for event in snapshot.events:
            catalog._list_event(event.listed)
            catalog._events[-1].status = event.status
        for kept in snapshot.markets:
            catalog._list_market(kept.listed, kept.created_ns)
            market = catalog._touch(kept.listed.market_id, kept.updated_ns)
            market.last_price, market.open_interest = kept.last_price, kept.open_interest
            catalog._set_state(market, kept.state)
        return catalog

    def snapshot(self) -> CatalogSnapshot:
        return CatalogSnapshot(
            tuple(self._companies.values()),
            tuple([EventRecord(event.listed, event.status) for event in self._events]),
            tuple(
                [
                    MarketRecord(
                        market.listed,
                        market.created_ns,
                        market.updated_ns,
                        market.state,
                        market.last_price,
                        market.open_interest,
                    )
                    for market in self._markets
                ]
            ),
            self.directory.snapshot(),
        )

    def _take_company(self, event: messages.CompanyListed) -> None:
        self._list_company(event.company, event.at_ns)

    def _take_archiving(self, event: messages.CompanyArchived) -> None:
        company = self._companies[event.project_id]
        self._companies[event.project_id] = msgspec.structs.replace(company, archived=True)
        self.directory.archive(event.project_id)

    def _take_event(self, event: messages.EventListed) -> None:
        self._list_event(event.event)

    def _take_market(self, event: messages.MarketListed) -> None:
        self._list_market(event.market, event.at_ns)

    def _take_event_status(self, event: messages.EventStatusChanged) -> None:
        self._by_event[names.fold_ticker(event.event_ticker)].status = event.status

    def _take_market_state(self, event: messages.MarketStateChanged) -> None:
        self._set_state(self._touch(event.market_id, event.at_ns), event.state)

    def _take_print(self, event: messages.TradePrinted) -> None:
        self._touch(event.market_id, event.at_ns).last_price = event.price

    def _take_open_interest(self, event: messages.OpenInterestChanged) -> None:
        self._touch(event.market_id, event.at_ns).open_interest = event.open_interest

    def _list_company(self, listed: messages.ListCompany, at_ns: int) -> None:
        self._companies[listed.project_id] = Company(listed.project_id, listed.name, listed.symbol)
        self.directory.list_symbol(listed.project_id, listed.symbol, at_ns)

    def _list_event(self, listed: messages.ListEvent) -> None:
        event = _EventView(listed, len(self._events), listed.status, [])
        self._events.append(event)
        self._by_event[names.fold_ticker(listed.event_ticker)] = event
        self._by_series.setdefault(names.fold_ticker(listed.series_ticker), []).append(event)
        self.directory.list_group(listed.series_ticker)
        self.directory.list_group(listed.event_ticker)

    def _list_market(self, listed: messages.ListMarket, at_ns: int) -> None:
        event = self._by_event[names.fold_ticker(listed.event_ticker)]
        market = _MarketView(listed, event, len(self._markets), at_ns, at_ns)
        self._markets.append(market)
        self._by_market[listed.market_id] = market
        self._by_ticker[names.fold_ticker(listed.ticker)] = market
        insort(event.markets, market, key=_strike_order)
        self.directory.list_market(listed.market_id, listed.ticker, event.listed.project_id, at_ns)

    def _touch(self, market_id: MarketId, at_ns: int) -> _MarketView:
        market = self._by_market[market_id]
        # A print of the same command may have a later instant, and an update never goes back.
        market.updated_ns = max(at_ns, market.updated_ns)
        market.shown = None
        return market

    def _set_state(self, market: _MarketView, state: MarketState) -> None:
        market.state = state
        self.directory.set_state(market.listed.market_id, state)

    def find_market(self, name: str) -> MarketId | None:
        """The market that a ticker or UUID names, any case, the UUID first; None if there is none.
        Dots count."""
        if names.is_uuid(name):
            market_id = MarketId(names.fold_uuid(name))
            if market_id in self._by_market:
                return market_id
        market = self._by_ticker.get(names.fold_ticker(name))
        return None if market is None else market.listed.market_id

    def market(self, market_id: MarketId) -> model.Market:
        return _shown(self._by_market[market_id])

    def market_tickers(self, market_id: MarketId) -> tuple[Ticker, Ticker]:
        """The ticker of a market and of its event. Raises KeyError when there is none."""
        listed = self._by_market[market_id].listed
        return listed.ticker, listed.event_ticker

    def market_number(self, market_id: MarketId) -> int:
        """A market's number in the order of listing, from 0, for ever. May raise KeyError."""
        return self._by_market[market_id].sequence

    def numbered_market(self, number: int) -> MarketId:
        return self._markets[number].listed.market_id

    def market_numbers(self, event_ticker: Ticker) -> tuple[int, ...]:
        """The numbers of an event's markets; none for an event never listed."""
        event = self._by_event.get(names.fold_ticker(event_ticker))
        return () if event is None else tuple([market.sequence for market in event.markets])

    def company(self, project_id: ProjectId) -> Company | None:
        return self._companies.get(project_id)

    def companies(self) -> tuple[Company, ...]:
        return tuple(self._companies.values())

    @property
    def market_count(self) -> int:
        return len(self._markets)

    def event(self, event_ticker: str) -> model.Event | None:
        event = self._by_event.get(names.fold_ticker(event_ticker))
        return None if event is None else _shown_event(event)

    def series_tickers(self) -> tuple[Ticker, ...]:
        return tuple([events[0].listed.series_ticker for events in self._by_series.values()])

    def has_series(self, series_ticker: str) -> bool:
        return names.fold_ticker(series_ticker) in self._by_series

    def active_markets(self, after: int, limit: int) -> tuple[tuple[model.Market, ...], int | None]:
        """Markets that are not resolved (S34), in the order of listing, and where to go on (None:
        no more). after: the place of the last row seen, -1 at the start. A walk meets every market
        once."""
        rows: list[_MarketView] = []
        for market in self._markets[after + 1 :]:
            if market.state is not MarketState.RESOLVED:
                if len(rows) == limit:
                    return tuple(map(_shown, rows)), rows[-1].sequence
                rows.append(market)
        return tuple(map(_shown, rows)), None

    def matching_markets(self, wanted: MarketFilter) -> tuple[MarketId, ...]:
        """Every market that passes all filters, resolved ones too, in the order of listing."""
        events = self._filtered(EventFilter(wanted.series_ticker, wanted.project_id))
        markets = [market for event in events for market in self._searched(event, wanted.q)]
        markets.sort(key=lambda market: market.sequence)
        return tuple([market.listed.market_id for market in markets])

    def events(
        self, wanted: EventFilter, after: int, limit: int
    ) -> tuple[tuple[model.Event, ...], int | None]:
        """Events that pass all filters, in the order of listing; paged like `active_markets`."""
        rows: list[_EventView] = []
        for event in self._filtered(wanted, after):
            if len(rows) == limit:
                return tuple(map(_shown_event, rows)), rows[-1].sequence
            rows.append(event)
        return tuple(map(_shown_event, rows)), None

    def _filtered(self, wanted: EventFilter, after: int = -1) -> Iterable[_EventView]:
        events = self._events
        if wanted.series_ticker is not None:
            events = self._by_series.get(names.fold_ticker(wanted.series_ticker), [])
        for event in events[bisect_right(events, after, key=lambda event: event.sequence) :]:
            project_fits = wanted.project_id in (None, event.listed.project_id)
            if project_fits and wanted.status in (None, event.status):
                yield event

    def _searched(self, event: _EventView, q: str | None) -> list[_MarketView]:
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


def _strike_order(market: _MarketView) -> tuple[tuple[int, decimal.Decimal], int]:
    strike_value = market.listed.strike_value
    if strike_value is None:
        return _UNSTRUCK, market.sequence
    dollars = decimal.Decimal(strike_value) * dollars_per_unit(market.listed.strike_unit)
    return (0, dollars), market.sequence


def _shown(market: _MarketView) -> model.Market:
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


def _shown_event(event: _EventView) -> model.Event:
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
