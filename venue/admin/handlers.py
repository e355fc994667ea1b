"""The operator's endpoints: one function each, registered with its method, path and body. A raw key
or token is made here, shown once in the reply, and stored nowhere."""

import asyncio
import importlib.metadata
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any, Final, Protocol

import msgspec

from venue import derived, rawkeys
from venue.admin import bodies
from venue.admin.bodies import (
    BadRequest,
    as_body,
    as_entry,
    bad,
    instant_of,
    millionths_of,
    quarter_of,
    rate_of,
    uuid_of,
)
from venue.engine import messages as m
from venue.rest.faults import (
    COMMAND_FAULTS,
    KINDS,
    SHARE_SCALE,
    FaultInForce,
    FaultKind,
    FaultRule,
    Share,
    Times,
)
from venue.rest.venue_port import EngineOverloaded, EngineUnavailable, ReplyLost, VenuePort
from venue.views.catalog import Company
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND, from_ns
from venue.wire.limits import BODY_BYTES_MAX
from venue.wire.model import Event, EventStatus, Market, MarketState
from venue.wire.money import Cents
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

_VERSION: Final = importlib.metadata.version("laddermaker")
_LISTINGS_BYTES_MAX: Final = 1024 * 1024
"""Some 8,000 markets."""

_SHARE_DIGITS: Final = len(str(SHARE_SCALE)) - 1

Reply = dict[str, object]
Handler = Callable[["OperatorRequest", Any], Awaitable[Reply]]


class Endpoint(msgspec.Struct, frozen=True):
    """One row: `path` is relative to the prefix, and `{name}` is always its second segment."""

    method: str
    path: str
    handler: Handler
    body: type[msgspec.Struct] | None
    """None: the handler reads the fields itself."""
    query: tuple[str, ...]
    body_bytes_max: int


ENDPOINTS: Final[list[Endpoint]] = []


def _endpoint(
    method: str,
    path: str,
    body: type[msgspec.Struct] | None = bodies.Empty,
    query: tuple[str, ...] = (),
    body_bytes_max: int = BODY_BYTES_MAX,
) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        ENDPOINTS.append(Endpoint(method, path, handler, body, query, body_bytes_max))
        return handler

    return register


class OperatorPort(VenuePort, Protocol):
    def set_projection_lag_ms(self, lag_ms: int, /) -> None:
        """Let reads and the channel lag this far from now on, 0 to 60,000."""

    async def state_hash(self) -> tuple[int, str]:
        """The sequence of the last command, and the SHA-256 (hex) of the state after it."""

    def figures(self) -> dict[str, object]:
        """The state of the venue and of its process, by the names of the status."""

    @property
    def has_crowd(self) -> bool: ...

    def readiness(self) -> str | None:
        """Why traders cannot be served now; None when they can."""

    def exposition(self) -> bytes:
        """The metrics as Prometheus text."""


class NotFound(Exception):
    """Nothing has the name in the request; `str()` says what we looked for."""


class EngineRefused(Exception):
    """The engine refused the command and nothing has changed."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Recent:
    """What was listed here: the next request may name it while reads still lag."""

    def __init__(self) -> None:
        self.companies: dict[ProjectId, Company] = {}
        self.archived: dict[ProjectId, None] = {}
        self.events: dict[Ticker, m.ListEvent] = {}
        self.markets: dict[Ticker, dict[Ticker, m.ListMarket]] = {}
        """By event: one more rung looks through those of its event alone."""
        self.users: dict[UserId, None] = {}
        self.listing = asyncio.Lock()
        """Held from the check that a strike is free until its rung is listed."""


class OperatorRequest(msgspec.Struct, frozen=True):
    """One request. segment: the variable part of its path, decoded; empty when there is none."""

    venue: OperatorPort
    recent: Recent
    segment: str
    fields: dict[str, object]
    query: dict[str, str]

    async def submit(self, command: m.Command | m.AccessCommand) -> None:
        """Apply a command. Raises EngineRefused and what `VenuePort.submit` raises."""
        answer = await self.venue.submit(command)
        if isinstance(answer, m.Refused):
            raise EngineRefused(answer.code, answer.message)
        match command:
            case m.ListCompany(project_id=project_id):
                company = Company(project_id, command.name, command.symbol)
                self.recent.companies[project_id] = company
            case m.ArchiveCompany():
                self.recent.archived[command.project_id] = None
            case m.ListEvent():
                self.recent.events[command.event_ticker] = command
            case m.ListMarket():
                rungs = self.recent.markets.setdefault(command.event_ticker, {})
                rungs[command.ticker] = command
            case _:
                pass

    def companies(self) -> tuple[Company, ...]:
        known = {each.project_id: each for each in self.venue.views.catalog.companies()}
        for project_id, company in self.recent.companies.items():
            archived = known[project_id].archived if project_id in known else False
            known[project_id] = msgspec.structs.replace(company, archived=archived)
        for project_id in self.recent.archived:
            known[project_id] = msgspec.structs.replace(known[project_id], archived=True)
        return tuple(known.values())

    def company(self, name: str) -> Company:
        """The company with this UUID or current symbol, any case; of two with one symbol the one
        that is not archived. Raises NotFound."""
        companies = self.companies()
        if is_uuid(name):
            found = [c for c in companies if c.project_id == fold_uuid(name)]
        else:
            found = [c for c in companies if name.isascii() and c.symbol == name.upper()]
            found.sort(key=lambda company: company.archived)
        if not found:
            raise NotFound(f"no such company: {name!r}")
        return found[0]

    def event(self, name: str) -> Event | m.ListEvent:
        """The event with this ticker, any case. Raises NotFound."""
        if is_market_path(name):
            event = self.venue.views.catalog.event(name) or self.recent.events.get(
                fold_ticker(name)
            )
            if event is not None:
                return event
        raise NotFound(f"no such event: {name!r}")

    def market_id(self, name: str) -> MarketId:
        """The market with this ticker or UUID, any case. Raises NotFound."""
        if is_market_path(name):
            market_id = self.venue.views.catalog.find_market(name)
            if market_id is not None:
                return market_id
            ticker, uuid = fold_ticker(name), fold_uuid(name)
            for rungs in self.recent.markets.values():
                for listed in rungs.values():
                    if listed.ticker == ticker or listed.market_id == uuid:
                        return listed.market_id
        raise NotFound(f"no such market: {name!r}")

    def rung_at(self, event_ticker: Ticker, value: str, unit: str | None) -> Ticker | None:
        """The rung of an event with this strike, however its number is written."""
        for ticker, rung in self._rungs(event_ticker).items():
            if rung.strike_unit == unit and Decimal(rung.strike_value or 0) == Decimal(value):
                return ticker
        return None

    def unit_at(self, event_ticker: Ticker, ticker: Ticker) -> str | None:
        """The default unit of a rung's strike: its own if it is listed, else the one that all other
        rungs of the event share."""
        rungs = self._rungs(event_ticker)
        if ticker in rungs:
            return rungs[ticker].strike_unit
        units = {rung.strike_unit for rung in rungs.values()}
        return units.pop() if len(units) == 1 else None

    def _rungs(self, event_ticker: Ticker) -> dict[Ticker, Market | m.ListMarket]:
        """Every rung of an event, also those that reads do not show yet; no binary market."""
        event = self.venue.views.catalog.event(event_ticker)
        found: dict[Ticker, Market | m.ListMarket] = {}
        if event is not None:
            found = {rung.ticker: rung for rung in event.markets}
        found |= self.recent.markets.get(event_ticker, {})
        return {ticker: rung for ticker, rung in found.items() if rung.strike_value is not None}

    def check_user(self, user_id: UserId) -> None:
        """Raises NotFound for anybody but an account holder."""
        is_shown = self.venue.views.account.has_user(user_id)
        if user_id not in self.recent.users and not is_shown:
            raise NotFound(f"no such account holder: {user_id!r}")


def _present(reply: Reply) -> Reply:
    return {name: value for name, value in reply.items() if value is not None}


# --- the venue -----------------------------------------------------------------------------------


@_endpoint("GET", "status")
async def status(call: OperatorRequest, _: bodies.Empty) -> Reply:
    venue = call.venue
    return {
        "version": _VERSION,
        **venue.figures(),
        "users": len(venue.views.account.users()),
        "markets": venue.views.catalog.market_count,
        "crowd": venue.has_crowd,
        "faults": [each.rule.kind for each in venue.faults.in_force()],
    }


@_endpoint("GET", "state-hash")
async def state_hash(call: OperatorRequest, _: bodies.Empty) -> Reply:
    sequence, hashed = await call.venue.state_hash()
    return {"sequence": sequence, "state_hash": hashed}


@_endpoint("PUT", "venue-state", bodies.VenueStateBody)
async def set_venue_state(call: OperatorRequest, body: bodies.VenueStateBody) -> Reply:
    await call.submit(m.SetVenueState(body.state))
    return {"state": body.state}


@_endpoint("PUT", "projection", bodies.ProjectionBody)
async def set_projection(call: OperatorRequest, body: bodies.ProjectionBody) -> Reply:
    call.venue.set_projection_lag_ms(body.lag_ms)
    return {"lag_ms": body.lag_ms}


# --- companies, events, markets ------------------------------------------------------------------


def _company(company: Company) -> Reply:
    reply: Reply = {"project_id": company.project_id, "name": company.name}
    reply["symbol"] = company.symbol
    return {**reply, "archived": True} if company.archived else reply


@_endpoint("GET", "companies")
async def list_companies(call: OperatorRequest, _: bodies.Empty) -> Reply:
    return {"companies": [_company(each) for each in call.companies()]}


@_endpoint("POST", "companies", bodies.CompanyBody)
async def add_company(call: OperatorRequest, body: bodies.CompanyBody) -> Reply:
    """A company that exists keeps its name and symbol, and stays archived if it is."""
    given = body.project_id
    project_id = derived.company_id(body.name) if given is None else uuid_of("project_id", given)
    listed = m.ListCompany(ProjectId(project_id), body.name, body.symbol)
    async with call.recent.listing:
        for known in call.companies():
            # Checked here, not by the engine, for which another symbol renames the company.
            is_another = (known.name, known.symbol) != (listed.name, listed.symbol)
            if known.project_id == project_id and is_another:
                raise EngineRefused(
                    Code.INVALID_REQUEST,
                    f"the company is there already, as {known.name!r} with the symbol "
                    f"{known.symbol}; another symbol comes by renaming it",
                )
        await call.submit(listed)
    return _company(call.company(listed.project_id))


@_endpoint("POST", "companies/{company}/archive")
async def archive_company(call: OperatorRequest, _: bodies.Empty) -> Reply:
    company = call.company(call.segment)
    await call.submit(m.ArchiveCompany(company.project_id))
    return _company(msgspec.structs.replace(company, archived=True))


@_endpoint("POST", "companies/{company}/symbol", bodies.SymbolBody)
async def rename_company(call: OperatorRequest, body: bodies.SymbolBody) -> Reply:
    company = call.company(call.segment)
    await call.submit(m.ListCompany(company.project_id, company.name, body.symbol))
    return _company(call.company(company.project_id))


@_endpoint("POST", "companies/{company}/implied-value", bodies.ImpliedValueBody)
async def publish_implied_value(call: OperatorRequest, body: bodies.ImpliedValueBody) -> Reply:
    project_id, value = call.company(call.segment).project_id, body.value_dollars
    await call.submit(m.PublishImpliedValue(project_id, value, body.confidence))
    return {"project_id": project_id, "value_dollars": value, "confidence": body.confidence}


@_endpoint("POST", "events", bodies.EventBody)
async def add_event(call: OperatorRequest, body: bodies.EventBody) -> Reply:
    quarter = quarter_of(body.quarter)
    ticker = derived.event_ticker(body.series_ticker, quarter)
    given_id, given_date = body.project_market_id, body.resolution_date
    due_ns = (
        quarter.resolves_ns if given_date is None else instant_of("resolution_date", given_date)
    )
    if not quarter.begin_ns <= due_ns < quarter.end_ns:
        raise BadRequest(f"resolution_date: {given_date}; accepted is an instant of {quarter}, UTC")
    listed = m.ListEvent(
        event_ticker=ticker,
        series_ticker=Ticker(body.series_ticker),
        project_market_id=(
            derived.event_id(ticker) if given_id is None else uuid_of("project_market_id", given_id)
        ),
        project_id=call.company(body.company).project_id,
        title=body.title,
        category=body.category,
        status=EventStatus(body.status.value),
        mutually_exclusive=body.mutually_exclusive,
        resolution_date_ns=due_ns,
        sub_title=body.sub_title,
        resolution_source=body.resolution_source,
    )
    await call.submit(listed)
    renamed = {"resolution_date_ns": ("resolution_date", from_ns(due_ns))}
    fields = {name: (name, getattr(listed, name)) for name in listed.__struct_fields__}
    return _present(dict((fields | renamed).values()))


@_endpoint("PUT", "events/{event_ticker}/status", bodies.EventStatusBody)
async def set_event_status(call: OperatorRequest, body: bodies.EventStatusBody) -> Reply:
    ticker = call.event(call.segment).event_ticker
    status = EventStatus(body.status.value)
    await call.submit(m.SetEventStatus(ticker, status))
    return {"event_ticker": ticker, "status": status}


@_endpoint("POST", "markets", bodies.MarketBody)
async def add_market(call: OperatorRequest, body: bodies.MarketBody) -> Reply:
    event = call.event(body.event_ticker)
    strike_value = body.strike_value or derived.strike_of(body.label)
    if (body.label == derived.BINARY_LABEL) is not (strike_value is None):
        raise BadRequest(
            "strike_value: every rung has one, given or the number that its label begins with; "
            "the binary market, labelled YES, none"
        )
    ticker = derived.market_ticker(event.event_ticker, body.label)
    given_id = body.market_id
    name, outcome = _market_name(call, event, body.label)
    listed = m.ListMarket(
        market_id=(
            derived.market_id(ticker)
            if given_id is None
            else MarketId(uuid_of("market_id", given_id))
        ),
        ticker=ticker,
        event_ticker=event.event_ticker,
        name=body.name or name,
        outcome_label=body.outcome_label or outcome,
        maker_fee_rate=rate_of("maker_fee_rate", body.maker_fee_rate),
        taker_fee_rate=rate_of("taker_fee_rate", body.taker_fee_rate),
        strike_value=strike_value,
        strike_unit=body.strike_unit,
        description=body.description,
    )
    async with call.recent.listing:
        if listed.strike_value is not None and listed.strike_unit is None:
            unit = call.unit_at(listed.event_ticker, ticker)
            listed = msgspec.structs.replace(listed, strike_unit=unit)
        _check_strike(call, listed)
        await call.submit(listed)
    fields = {name: getattr(listed, name) for name in listed.__struct_fields__}
    rates = {name: str(fields[name]) for name in ("maker_fee_rate", "taker_fee_rate")}
    return _present({**fields, **rates})


def _check_strike(call: OperatorRequest, listed: m.ListMarket) -> None:
    if listed.strike_value is None:
        return
    # Checked here, not by the engine, which replays logs from before this rule.
    taken = call.rung_at(listed.event_ticker, listed.strike_value, listed.strike_unit)
    if taken not in (None, listed.ticker):
        accepted = f"one that no other rung of the event has; {taken} has it"
        raise bad("strike_value", listed.strike_value, accepted)


def _market_name(call: OperatorRequest, event: Event | m.ListEvent, label: str) -> tuple[str, str]:
    if label == derived.BINARY_LABEL:
        return event.title, derived.BINARY_OUTCOME
    company = call.company(event.project_id).name
    suffix = event.event_ticker.removeprefix(f"{event.series_ticker}-")
    try:
        name = derived.rung_name(company, label, derived.Quarter.parse(suffix))
    except ValueError:
        # An event of a seed or a tape may be named otherwise.
        name = f"{event.title}: {derived.rung_outcome(label)}"
    return name, derived.rung_outcome(label)


@_endpoint("POST", "listings", bodies.ListingsBody, body_bytes_max=_LISTINGS_BYTES_MAX)
async def add_listings(call: OperatorRequest, body: bodies.ListingsBody) -> Reply:
    """Companies first, then events, then markets, each as by its own endpoint. The shape of all is
    checked before anything is listed. A later fault names the entry; what came before it stays
    listed, and is no fault when the whole list is sent again."""
    reply: dict[str, list[Reply]] = {name: [] for name in body.__struct_fields__}
    parsed = [
        (name, as_entry(kind, name, place, entry), handler)
        for name, kind, handler in _LISTED
        for place, entry in enumerate(getattr(body, name))
    ]
    for done, (name, entry, handler) in enumerate(parsed):
        where = f"{name}[{len(reply[name])}]"
        before = f" ({done} listed before it)"
        try:
            reply[name].append(await handler(call, entry))
        except BadRequest as fault:
            raise BadRequest(f"{where}: {fault}{before}") from None
        except NotFound as fault:
            raise NotFound(f"{where}: {fault}{before}") from None
        except EngineRefused as fault:
            raise EngineRefused(fault.code, f"{where}: {fault.message}{before}") from None
        except (EngineUnavailable, EngineOverloaded):
            if done:
                raise ReplyLost from None
            raise
    return {**reply}


_LISTED: Final[tuple[tuple[str, type[msgspec.Struct], Handler], ...]] = (
    ("companies", bodies.CompanyBody, add_company),
    ("events", bodies.EventBody, add_event),
    ("markets", bodies.MarketBody, add_market),
)


@_endpoint("POST", "markets/{market}/halt")
async def halt_market(call: OperatorRequest, _: bodies.Empty) -> Reply:
    market_id = call.market_id(call.segment)
    await call.submit(m.HaltMarket(market_id))
    return {"market_id": market_id, "state": MarketState.HALTED}


@_endpoint("POST", "markets/{market}/resume")
async def resume_market(call: OperatorRequest, _: bodies.Empty) -> Reply:
    market_id = call.market_id(call.segment)
    await call.submit(m.ResumeMarket(market_id))
    return {"market_id": market_id, "state": MarketState.ACTIVE}


@_endpoint("POST", "markets/{market}/resolve", bodies.ResolveBody)
async def resolve_market(call: OperatorRequest, body: bodies.ResolveBody) -> Reply:
    market_id = call.market_id(call.segment)
    await call.submit(m.ResolveMarket(market_id, body.winner))
    return {"market_id": market_id, "state": MarketState.RESOLVED, "winner": body.winner}


# --- account holders, keys, tokens ---------------------------------------------------------------


@_endpoint("GET", "users")
async def list_users(call: OperatorRequest, _: bodies.Empty) -> Reply:
    account = call.venue.views.account
    rows = [(user_id, account.balance(user_id)) for user_id in account.users()]
    return {
        "users": [
            {
                "user_id": user_id,
                "available_cents": cash.available_cents,
                "reserved_cents": cash.reserved_cents,
            }
            for user_id, cash in rows
        ]
    }


@_endpoint("POST", "users", bodies.UserBody)
async def add_user(call: OperatorRequest, body: bodies.UserBody) -> Reply:
    user_id = UserId(body.user_id)
    await call.submit(m.AddUser(user_id))
    call.recent.users[user_id] = None
    return {"user_id": user_id}


@_endpoint("POST", "users/{user_id}/deposits", bodies.AmountBody)
async def deposit(call: OperatorRequest, body: bodies.AmountBody) -> Reply:
    return await _move_cash(call, body, m.Deposit)


@_endpoint("POST", "users/{user_id}/withdrawals", bodies.AmountBody)
async def withdraw(call: OperatorRequest, body: bodies.AmountBody) -> Reply:
    return await _move_cash(call, body, m.Withdraw)


async def _move_cash(
    call: OperatorRequest, body: bodies.AmountBody, kind: type[m.Deposit | m.Withdraw]
) -> Reply:
    user_id = UserId(call.segment)
    call.check_user(user_id)
    await call.submit(kind(user_id, Cents(body.amount_cents)))
    return {"user_id": user_id, "amount_cents": body.amount_cents}


def _key(key: m.KnownKey) -> Reply:
    reply: Reply = {
        "key_id": m.key_id(key.sha256_hex),
        "prefix": key.prefix,
        "user_id": key.user_id,
    }
    return {**reply, "scopes": key.scopes, "revoked": key.revoked}


@_endpoint("GET", "keys", query=("user_id",))
async def list_keys(call: OperatorRequest, _: bodies.Empty) -> Reply:
    wanted = call.query.get("user_id")
    access = call.venue.access
    keys = access.keys() if wanted is None else access.keys_of(UserId(wanted))
    return {"keys": [_key(each) for each in keys]}


@_endpoint("POST", "keys", bodies.KeyBody)
async def create_key(call: OperatorRequest, body: bodies.KeyBody) -> Reply:
    """The only reply that ever holds the raw key."""
    user_id = None if body.user_id is None else UserId(body.user_id)
    if user_id is not None:
        call.check_user(user_id)
    raw = rawkeys.made()
    known = rawkeys.fingerprint(raw)
    scopes = tuple(dict.fromkeys(body.scopes))
    await call.submit(m.AddKey(known.sha256_hex, known.prefix, user_id, scopes))
    reply: Reply = {"key": raw, "key_id": m.key_id(known.sha256_hex), "prefix": known.prefix}
    return {**reply, "user_id": user_id, "scopes": scopes}


@_endpoint("POST", "keys/{key_id}/revoke")
async def revoke_key(call: OperatorRequest, _: bodies.Empty) -> Reply:
    key = call.venue.access.key_named(call.segment)
    if key is None:
        # The name is not repeated: somebody may have put a raw key there.
        raise NotFound("no key with this key_id")
    await call.submit(m.RevokeKey(key.sha256_hex))
    return _key(msgspec.structs.replace(key, revoked=True))


@_endpoint("POST", "tokens", bodies.TokenBody)
async def create_token(call: OperatorRequest, body: bodies.TokenBody) -> Reply:
    user_id = UserId(body.user_id)
    call.check_user(user_id)
    raw = rawkeys.made()
    scopes = tuple(dict.fromkeys(body.scopes))
    expires_ns = call.venue.now_ns() + body.lifetime_s * NS_PER_SECOND
    sha256_hex = rawkeys.fingerprint(raw).sha256_hex
    await call.submit(m.AddToken(sha256_hex, body.application, user_id, scopes, expires_ns))
    reply: Reply = {"token": raw, "user_id": user_id, "application": body.application}
    return {**reply, "scopes": scopes, "expires_at": from_ns(expires_ns)}


# --- faults --------------------------------------------------------------------------------------


@_endpoint("GET", "faults")
async def list_faults(call: OperatorRequest, _: bodies.Empty) -> Reply:
    return {"faults": [_fault(each) for each in call.venue.faults.in_force()]}


@_endpoint("POST", "faults", None)
async def add_fault(call: OperatorRequest, _: None) -> Reply:
    """A rule replaces the one of its kind."""
    rule = _rule(call.fields)
    faults = call.venue.faults
    faults.set(rule)
    return next(_fault(each) for each in faults.in_force() if each.rule is rule)


@_endpoint("DELETE", "faults")
async def clear_faults(call: OperatorRequest, body: bodies.Empty) -> Reply:
    call.venue.faults.clear()
    return await list_faults(call, body)


@_endpoint("DELETE", "faults/{kind}")
async def clear_fault(call: OperatorRequest, body: bodies.Empty) -> Reply:
    kind = KINDS.get(call.segment)
    if kind is None:
        raise bad("kind", call.segment, ", ".join(KINDS))
    call.venue.faults.clear(kind)
    return await list_faults(call, body)


FAULT_BODIES: Final[dict[FaultKind, type[msgspec.Struct]]] = {
    FaultKind.REPLY_DELAY: bodies.DelayFaultBody,
    FaultKind.MARKET_DATA_DOWN: bodies.OutageFaultBody,
    FaultKind.ACCOUNTS_DOWN: bodies.OutageFaultBody,
    FaultKind.RATE_LIMITED: bodies.ThrottleFaultBody,
    FaultKind.RATE_LIMIT_LOWERED: bodies.LimitFaultBody,
}


def _rule(fields: dict[str, object]) -> FaultRule:
    if "kind" not in fields:
        raise BadRequest(f"kind: missing; accepted is {', '.join(KINDS)}")
    name = fields["kind"]
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise bad("kind", name, ", ".join(KINDS))
    body = as_body(FAULT_BODIES.get(kind, bodies.CommandFaultBody), fields)
    given = msgspec.structs.asdict(body)
    when = _when(given.pop("count", None), given.pop("share", None), given.pop("seed", 0))
    if kind in COMMAND_FAULTS and when is None:
        raise BadRequest("count, share: missing; accepted is exactly one of them")
    if given.get("verbs") == ():
        raise bad("verbs", [], "a list of create, amend, cancel with one at least")
    if kind is FaultKind.RATE_LIMITED:
        when = when or Times(1)
    return FaultRule(**{**given, "kind": kind, "when": when})


def _when(count: int | None, share: str | None, seed: int) -> Times | Share | None:
    if count is not None and share is not None:
        raise bad("share", share, "count or share, not both")
    if count is not None:
        return Times(count)
    return None if share is None else Share(millionths_of(share), seed)


def _fault(fault: FaultInForce) -> Reply:
    """A rule in force. count: requests still to be struck. struck: those that were."""
    rule = fault.rule
    reply: Reply = {"kind": rule.kind, "struck": fault.struck, "count": fault.left}
    if isinstance(rule.when, Share):
        whole, fraction = divmod(rule.when.millionths, SHARE_SCALE)
        share = f"{whole}.{fraction:0{_SHARE_DIGITS}d}".rstrip("0").rstrip(".")
        reply |= {"share": share, "seed": rule.when.seed}
    reply["verbs"] = rule.verbs if rule.kind in COMMAND_FAULTS else None
    for name in ("delay_ms", "on", "retry_after_s", "limit"):
        reply[name] = getattr(rule, name)
    return _present(reply)
