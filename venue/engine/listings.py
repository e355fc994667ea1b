"""Companies, events and markets, their states, and the operator's commands on them; no orders, no
cash (docs/assumptions.md#S33)."""

import re
from typing import Final

import msgspec

from venue.engine import messages as m
from venue.engine.ledger import Ledger
from venue.engine.order import ListedMarket
from venue.wire.errors import Code
from venue.wire.model import EventStatus, MarketState
from venue.wire.money import FeeRate, Outcome
from venue.wire.names import (
    HANDLE_LENGTH_MAX,
    MarketId,
    ProjectId,
    Ticker,
    fold_handle,
    fold_ticker,
    fold_uuid,
    is_uuid,
)

_DECIMAL: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,8})?", re.ASCII)
_PROBABILITY: Final = re.compile(r"0(?:\.[0-9]{1,8})?|1(?:\.0{1,8})?", re.ASCII)
_NO_FEE: Final = FeeRate.parse("0")
_WHOLE_FEE: Final = FeeRate.parse("1")
_TICKER_LENGTH: Final = f"at most {HANDLE_LENGTH_MAX} characters"
_SETTABLE: Final = (EventStatus.UNOPENED, EventStatus.OPEN, EventStatus.CLOSED)
_MARKET_NOT_FOUND: Final = m.Refused(Code.MARKET_NOT_FOUND, "no such market")
_MARKET_RESOLVED: Final = m.Refused(Code.MARKET_RESOLVED, "the market has resolved")


class ListedEvent(msgspec.Struct):
    listing: m.ListEvent
    status: EventStatus
    markets: list[ListedMarket]


class Company(msgspec.Struct):
    listing: m.ListCompany
    archived: bool


ListingCommand = (
    m.ListCompany
    | m.ArchiveCompany
    | m.ListEvent
    | m.ListMarket
    | m.SetEventStatus
    | m.HaltMarket
    | m.ResumeMarket
    | m.PublishImpliedValue
)


class Listings:
    """Everything that is listed. Commands answer Accepted, or Refused with nothing changed."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.companies: dict[ProjectId, Company] = {}
        # Whose each symbol is now; an archived company has lost its own.
        self._symbols: dict[str, ProjectId] = {}
        self.events: dict[Ticker, ListedEvent] = {}
        self.markets: dict[MarketId, ListedMarket] = {}
        self.markets_by_number: list[ListedMarket] = []
        # Everything that ever was a ticker: one is permanent and never given to another thing.
        self._market_tickers: dict[Ticker, MarketId] = {}
        self._series_tickers: dict[Ticker, ProjectId] = {}
        self._project_market_ids: set[str] = set()

    def apply_command(self, command: ListingCommand, now_ns: int) -> m.Applied:
        match command:
            case m.ListCompany():
                return self._list_company(command, now_ns)
            case m.ArchiveCompany():
                return self._archive(command, now_ns)
            case m.ListEvent():
                return self._list_event(command, now_ns)
            case m.ListMarket():
                return self._list_market(command, now_ns)
            case m.SetEventStatus():
                return self._set_event_status(command, now_ns)
            case m.HaltMarket():
                return self._set_market_state(command.market_id, MarketState.HALTED, now_ns)
            case m.ResumeMarket():
                return self._set_market_state(command.market_id, MarketState.ACTIVE, now_ns)
            case m.PublishImpliedValue():
                return self._publish(command, now_ns)

    def find(self, name: str) -> MarketId | None:
        market_id = MarketId(fold_uuid(name))
        if market_id in self.markets:
            return market_id
        return self._market_tickers.get(fold_ticker(name))

    def resolved(self, market: ListedMarket, winner: Outcome, now_ns: int) -> list[m.Event]:
        """Mark an unresolved market resolved, for ever, and its event closed or settled (S33)."""
        assert market.state is not MarketState.RESOLVED
        market.state = MarketState.RESOLVED
        market.winner = winner
        events: list[m.Event] = [
            m.MarketStateChanged(now_ns, market.listing.market_id, MarketState.RESOLVED)
        ]
        event = self.events[market.listing.event_ticker]
        whole = all(rung.state is MarketState.RESOLVED for rung in event.markets)
        status = EventStatus.SETTLED if whole else EventStatus.CLOSED
        if event.status is not status:
            event.status = status
            events.append(m.EventStatusChanged(now_ns, event.listing.event_ticker, status))
        return events

    def add_company(self, listing: m.ListCompany, *, archived: bool = False) -> None:
        """List a company without checks; a known one keeps its place."""
        known = self.companies.get(listing.project_id)
        if known is not None:
            del self._symbols[known.listing.symbol]
        self.companies[listing.project_id] = Company(listing, archived)
        if not archived:
            self._symbols[listing.symbol] = listing.project_id

    def add_event(self, listing: m.ListEvent) -> ListedEvent:
        event = self.events[listing.event_ticker] = ListedEvent(listing, listing.status, [])
        self._series_tickers[listing.series_ticker] = listing.project_id
        self._project_market_ids.add(listing.project_market_id)
        return event

    def add_market(self, listing: m.ListMarket) -> ListedMarket:
        """List a market on its event, active, without asking."""
        market_id = listing.market_id
        number = len(self.markets_by_number)
        market = ListedMarket(listing, number, self._ledger.open_market(market_id))
        self.markets[market_id] = market
        self.markets_by_number.append(market)
        self._market_tickers[listing.ticker] = market_id
        self.events[listing.event_ticker].markets.append(market)
        return market

    def _list_company(self, command: m.ListCompany, now_ns: int) -> m.Applied:
        known = self.companies.get(command.project_id)
        if known is not None and known.listing == command:
            return m.Accepted(), []
        if known is not None and known.archived:
            return _refused("an archived company stays as it is")
        if not _is_folded_uuid(command.project_id):
            return _refused("project_id: a lower-case UUID")
        if not command.name or not _is_ticker(command.symbol):
            return _refused(
                f"a name, and a symbol of capitals, digits, dots and hyphens, {_TICKER_LENGTH}"
            )
        if self._symbols.get(command.symbol, command.project_id) != command.project_id:
            return _refused("the symbol is another company's")
        self.add_company(command)
        return m.Accepted(), [m.CompanyListed(now_ns, command)]

    def _archive(self, command: m.ArchiveCompany, now_ns: int) -> m.Applied:
        company = self.companies.get(command.project_id)
        if company is None:
            return _refused("no such company")
        if company.archived:
            return m.Accepted(), []
        company.archived = True
        del self._symbols[company.listing.symbol]
        return m.Accepted(), [m.CompanyArchived(now_ns, command.project_id)]

    def _list_event(self, command: m.ListEvent, now_ns: int) -> m.Applied:
        ticker, series = command.event_ticker, command.series_ticker
        known = self.events.get(ticker)
        if known is not None:
            if known.listing == command:
                return m.Accepted(), []
            return _refused("the event ticker is taken")
        if command.project_id not in self.companies:
            return _refused("no such company")
        if not _is_ticker(series) or not _is_within(ticker, series):
            return _refused(
                f"an event ticker is its series ticker, a hyphen and more, {_TICKER_LENGTH}"
            )
        if not _is_folded_uuid(command.project_market_id):
            return _refused("project_market_id: a lower-case UUID")
        if command.project_market_id in self._project_market_ids:
            return _refused("the project_market_id is taken")
        if command.status not in _SETTABLE:
            return _refused("a new event is unopened, open or closed")
        if self._series_tickers.get(series, command.project_id) != command.project_id:
            return _refused("the series is another company's")
        if series in self.events or series in self._market_tickers:
            return _refused("the series ticker is another thing's")
        if ticker in self._series_tickers or ticker in self._market_tickers:
            return _refused("the event ticker is another thing's")
        self.add_event(command)
        return m.Accepted(), [m.EventListed(now_ns, command)]

    def _list_market(self, command: m.ListMarket, now_ns: int) -> m.Applied:
        known = self.markets.get(command.market_id)
        if known is not None and known.listing == command:
            return m.Accepted(), []
        event = self.events.get(command.event_ticker)
        if event is None:
            return _refused("no such event")
        if event.status is EventStatus.SETTLED:
            return _refused("a settled event takes no more markets")
        fault = self._market_fault(command)
        if fault is not None:
            return _refused(fault)
        self.add_market(command)
        return m.Accepted(), [m.MarketListed(now_ns, command)]

    def _market_fault(self, command: m.ListMarket) -> str | None:
        ticker = command.ticker
        if (
            ticker in self._market_tickers
            or ticker in self.events
            or ticker in self._series_tickers
        ):
            return "the ticker is taken"
        # Second, for one that the operator does not give follows from the ticker.
        if command.market_id in self.markets:
            return "the market_id is taken"
        if not _is_folded_uuid(command.market_id):
            return "market_id: a lower-case UUID"
        if not _is_within(ticker, command.event_ticker):
            return f"a market ticker is its event ticker, a hyphen and more, {_TICKER_LENGTH}"
        is_binary = command.strike_value is None
        others = self.events[command.event_ticker].markets
        if any(is_binary or other.listing.strike_value is None for other in others):
            return "an event is a ladder of strikes or a single binary market"
        rates = (command.maker_fee_rate, command.taker_fee_rate)
        if not all(_NO_FEE <= rate <= _WHOLE_FEE for rate in rates):
            return "a fee rate is a fraction of 0 to 1"
        if command.strike_value is not None and _DECIMAL.fullmatch(command.strike_value) is None:
            return "strike_value: a decimal number"
        return None

    def _set_event_status(self, command: m.SetEventStatus, now_ns: int) -> m.Applied:
        event = self.events.get(command.event_ticker)
        if event is None:
            return m.Refused(Code.MARKET_NOT_FOUND, "no such event"), []
        if event.status is command.status:
            return m.Accepted(), []
        if command.status not in _SETTABLE:
            return _refused("settled comes from resolving every market of the event")
        if event.status is EventStatus.SETTLED:
            return _refused("the event is settled, for ever: every market of it has resolved")
        if any(market.state is MarketState.RESOLVED for market in event.markets):
            return _refused("the event has a resolved market: it stays closed until all have")
        event.status = command.status
        return m.Accepted(), [m.EventStatusChanged(now_ns, command.event_ticker, command.status)]

    def _set_market_state(self, market_id: MarketId, state: MarketState, now_ns: int) -> m.Applied:
        market = self.markets.get(market_id)
        if market is None:
            return _MARKET_NOT_FOUND, []
        if market.state is MarketState.RESOLVED:
            return _MARKET_RESOLVED, []
        if market.state is state:
            return m.Accepted(), []
        market.state = state
        return m.Accepted(), [m.MarketStateChanged(now_ns, market_id, state)]

    def _publish(self, command: m.PublishImpliedValue, now_ns: int) -> m.Applied:
        if command.project_id not in self.companies:
            return _refused("no such company")
        value, confidence = command.value_dollars, command.confidence
        if _DECIMAL.fullmatch(value) is None or value.startswith("-"):
            return _refused("value_dollars: a decimal number, not negative")
        if _PROBABILITY.fullmatch(confidence) is None:
            return _refused("confidence: a decimal number of 0 to 1")
        return m.Accepted(), [
            m.ImpliedValuePublished(now_ns, command.project_id, value, confidence)
        ]


def _refused(message: str) -> m.Applied:
    return m.Refused(Code.INVALID_REQUEST, message), []


def _is_folded_uuid(text: str) -> bool:
    return is_uuid(text) and fold_uuid(text) == text


def _is_ticker(text: str) -> bool:
    return len(text) <= HANDLE_LENGTH_MAX and fold_handle(text) == text


def _is_within(ticker: str, parent: str) -> bool:
    return _is_ticker(ticker) and ticker.startswith(f"{parent}-") and len(ticker) > len(parent) + 1
