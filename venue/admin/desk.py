"""A request of the operator as its handlers see it, and what they share: names and submitting.

Reads lag behind the engine, by up to a minute if the operator wants it so. What was listed through
this interface is therefore remembered here, so that the next request can already name it.
"""

import asyncio
from decimal import Decimal

import msgspec

from venue.admin.operator import Operator
from venue.admin.replies import CompanyReply
from venue.engine.messages import (
    AccessCommand,
    ArchiveCompany,
    Command,
    ListCompany,
    ListEvent,
    ListMarket,
    Refused,
)
from venue.wire.errors import Code
from venue.wire.names import (
    MarketId,
    ProjectId,
    Ticker,
    UserId,
    fold_ticker,
    fold_uuid,
    is_market_path,
    is_uuid,
)


class NotFound(Exception):
    """Nothing has the name that the request gives; `str()` says what was looked for."""


class EngineRefused(Exception):
    """The engine refused the command and nothing has changed."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class EventFacts(msgspec.Struct, frozen=True):
    """What the name of a new rung is made of."""

    event_ticker: Ticker
    series_ticker: Ticker
    project_id: ProjectId
    title: str


class Recent:
    """What was listed and archived through this interface; as small as the operator's diligence."""

    def __init__(self) -> None:
        self.companies: dict[ProjectId, CompanyReply] = {}
        self.archived: dict[ProjectId, None] = {}
        self.events: dict[Ticker, EventFacts] = {}
        self.markets: dict[Ticker, dict[Ticker, ListMarket]] = {}
        """By event: for one more rung those of its event alone are looked through."""
        self.users: dict[UserId, None] = {}
        self.listing = asyncio.Lock()
        """Held from looking whether a strike is free to the end of listing a rung with it."""


class OperatorRequest(msgspec.Struct, frozen=True):
    """One request. segment: the variable part of its path, decoded; empty when there is none."""

    operator: Operator
    recent: Recent
    segment: str
    fields: dict[str, object]
    query: dict[str, str]

    async def submit(self, command: Command | AccessCommand) -> None:
        """Have a command carried out. Raises EngineRefused and what `Operator.submit` raises."""
        answer = await self.operator.submit(command)
        if isinstance(answer, Refused):
            raise EngineRefused(answer.code, answer.message)
        match command:
            case ListCompany():
                self.recent.companies[command.project_id] = CompanyReply(
                    command.project_id, command.name, command.symbol
                )
            case ArchiveCompany():
                self.recent.archived[command.project_id] = None
            case ListEvent():
                self.recent.events[command.event_ticker] = EventFacts(
                    command.event_ticker, command.series_ticker, command.project_id, command.title
                )
            case ListMarket():
                rungs = self.recent.markets.setdefault(command.event_ticker, {})
                rungs[command.ticker] = command
            case _:
                pass

    def companies(self) -> tuple[CompanyReply, ...]:
        """Every company, the newest word on each."""
        known = {
            company.project_id: CompanyReply(
                company.project_id, company.name, company.symbol, company.archived
            )
            for company in self.operator.views.catalog.companies()
        }
        for project_id, company in self.recent.companies.items():
            archived = known[project_id].archived if project_id in known else False
            known[project_id] = msgspec.structs.replace(company, archived=archived)
        for project_id in self.recent.archived:
            known[project_id] = msgspec.structs.replace(known[project_id], archived=True)
        return tuple(known.values())

    def company(self, name: str) -> CompanyReply:
        """The company with this UUID or current symbol, any case. Raises NotFound.

        A symbol that an archived company had and another one has now names the other one.
        """
        companies = self.companies()
        if is_uuid(name):
            found = [c for c in companies if c.project_id == fold_uuid(name)]
        else:
            found = [c for c in companies if name.isascii() and c.symbol == name.upper()]
            found.sort(key=lambda company: company.archived)
        if not found:
            raise NotFound(f"no such company: {name!r}")
        return found[0]

    def event(self, name: str) -> EventFacts:
        """The event with this ticker, any case. Raises NotFound."""
        if is_market_path(name):
            event = self.operator.views.catalog.event(name)
            if event is not None:
                return EventFacts(
                    event.event_ticker, event.series_ticker, event.project_id, event.title
                )
            recent = self.recent.events.get(fold_ticker(name))
            if recent is not None:
                return recent
        raise NotFound(f"no such event: {name!r}")

    def market(self, name: str) -> MarketId:
        """The market with this ticker or UUID, any case. Raises NotFound."""
        if is_market_path(name):
            market_id = self.operator.views.catalog.find_market(name)
            if market_id is not None:
                return market_id
            folded = (fold_ticker(name), fold_uuid(name))
            for rungs in self.recent.markets.values():
                for listed in rungs.values():
                    if listed.ticker == folded[0] or listed.market_id == folded[1]:
                        return listed.market_id
        raise NotFound(f"no such market: {name!r}")

    def rung_at(self, event_ticker: Ticker, value: str, unit: str | None) -> Ticker | None:
        """The rung of an event that stands at a strike, however its number is written."""
        for ticker, (its_value, its_unit) in self._rungs(event_ticker).items():
            if its_unit == unit and Decimal(its_value) == Decimal(value):
                return ticker
        return None

    def unit_at(self, event_ticker: Ticker, ticker: Ticker) -> str | None:
        """What a rung's strike is written in when nobody says: as before if it is listed, and else
        as all the others of its event are, if they agree."""
        rungs = self._rungs(event_ticker)
        if ticker in rungs:
            return rungs[ticker][1]
        units = {unit for _, unit in rungs.values()}
        return units.pop() if len(units) == 1 else None

    def _rungs(self, event_ticker: Ticker) -> dict[Ticker, tuple[str, str | None]]:
        """Strike and unit of every rung of an event, also of those that reads do not show yet."""
        event = self.operator.views.catalog.event(event_ticker)
        shown = () if event is None else event.markets
        found = {rung.ticker: (rung.strike_value, rung.strike_unit) for rung in shown}
        found |= {
            rung.ticker: (rung.strike_value, rung.strike_unit)
            for rung in self.recent.markets.get(event_ticker, {}).values()
        }
        return {
            ticker: (value, unit) for ticker, (value, unit) in found.items() if value is not None
        }

    def check_user(self, user_id: UserId) -> None:
        """Nothing for an account holder. Raises NotFound for anybody else."""
        is_shown = self.operator.views.account.has_user(user_id)
        if user_id not in self.recent.users and not is_shown:
            raise NotFound(f"no such account holder: {user_id!r}")
