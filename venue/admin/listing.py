"""Handlers of what is traded: companies, events, markets."""

import msgspec

from venue import derived
from venue.admin import bodies, replies
from venue.admin.bodies import BadRequest, as_body, bad, instant_of, quarter_of, rate_of, uuid_of
from venue.admin.desk import EngineRefused, EventFacts, OperatorRequest
from venue.engine.messages import (
    ArchiveCompany,
    HaltMarket,
    ListCompany,
    ListEvent,
    ListMarket,
    PublishImpliedValue,
    ResolveMarket,
    ResumeMarket,
    SetEventStatus,
)
from venue.wire.errors import Code
from venue.wire.instant import from_ns
from venue.wire.model import EventStatus, MarketState
from venue.wire.names import MarketId, ProjectId, Ticker


async def list_companies(call: OperatorRequest) -> replies.CompaniesReply:
    """GET companies."""
    return replies.CompaniesReply(call.companies())


async def add_company(call: OperatorRequest) -> replies.CompanyReply:
    """POST companies. One that is there keeps its name and symbol, and stays archived if it is."""
    body = as_body(bodies.CompanyBody, call.fields)
    given = body.project_id
    project_id = derived.company_id(body.name) if given is None else uuid_of("project_id", given)
    listed = ListCompany(ProjectId(project_id), body.name, body.symbol)
    async with call.recent.listing:
        for known in call.companies():
            # Asked here and not of the engine, to which another symbol is the company listed anew.
            is_another = (known.name, known.symbol) != (listed.name, listed.symbol)
            if known.project_id == project_id and is_another:
                raise EngineRefused(
                    Code.INVALID_REQUEST,
                    f"the company is there already, as {known.name!r} with the symbol "
                    f"{known.symbol}; another symbol comes by renaming it",
                )
        await call.submit(listed)
    return call.company(listed.project_id)


async def archive_company(call: OperatorRequest) -> replies.CompanyReply:
    """POST companies/{project_id or symbol}/archive."""
    as_body(bodies.Empty, call.fields)
    company = call.company(call.segment)
    await call.submit(ArchiveCompany(company.project_id))
    return replies.CompanyReply(company.project_id, company.name, company.symbol, archived=True)


async def rename_company(call: OperatorRequest) -> replies.CompanyReply:
    """POST companies/{project_id or symbol}/symbol."""
    body = as_body(bodies.SymbolBody, call.fields)
    company = call.company(call.segment)
    await call.submit(ListCompany(company.project_id, company.name, body.symbol))
    return call.company(company.project_id)


async def publish_implied_value(call: OperatorRequest) -> replies.ImpliedValueReply:
    """POST companies/{project_id or symbol}/implied-value."""
    body = as_body(bodies.ImpliedValueBody, call.fields)
    company = call.company(call.segment)
    project_id, value, confidence = company.project_id, body.value_dollars, body.confidence
    await call.submit(PublishImpliedValue(project_id, value, confidence))
    return replies.ImpliedValueReply(project_id, value, confidence)


async def add_event(call: OperatorRequest) -> replies.EventReply:
    """POST events."""
    body = as_body(bodies.EventBody, call.fields)
    quarter = quarter_of(body.quarter)
    ticker = derived.event_ticker(body.series_ticker, quarter)
    given_id, given_date = body.project_market_id, body.resolution_date
    due_ns = (
        quarter.resolves_ns if given_date is None else instant_of("resolution_date", given_date)
    )
    if not quarter.begin_ns <= due_ns < quarter.end_ns:
        raise BadRequest(f"resolution_date: {given_date}; accepted is an instant of {quarter}, UTC")
    listed = ListEvent(
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
    return replies.EventReply(
        event_ticker=ticker,
        series_ticker=listed.series_ticker,
        project_market_id=listed.project_market_id,
        project_id=listed.project_id,
        title=listed.title,
        category=listed.category,
        status=listed.status,
        mutually_exclusive=listed.mutually_exclusive,
        resolution_date=from_ns(due_ns),
        sub_title=listed.sub_title,
        resolution_source=listed.resolution_source,
    )


async def set_event_status(call: OperatorRequest) -> replies.EventStatusReply:
    """PUT events/{event_ticker}/status."""
    body = as_body(bodies.EventStatusBody, call.fields)
    ticker = call.event(call.segment).event_ticker
    status = EventStatus(body.status.value)
    await call.submit(SetEventStatus(ticker, status))
    return replies.EventStatusReply(ticker, status)


async def add_market(call: OperatorRequest) -> replies.MarketReply:
    """POST markets: a rung, or with the label YES the binary market, of an event."""
    body = as_body(bodies.MarketBody, call.fields)
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
    listed = ListMarket(
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
    return replies.MarketReply(
        market_id=listed.market_id,
        ticker=ticker,
        event_ticker=listed.event_ticker,
        name=listed.name,
        outcome_label=listed.outcome_label,
        maker_fee_rate=str(listed.maker_fee_rate),
        taker_fee_rate=str(listed.taker_fee_rate),
        strike_value=listed.strike_value,
        strike_unit=listed.strike_unit,
        description=listed.description,
    )


def _check_strike(call: OperatorRequest, listed: ListMarket) -> None:
    """Nothing for a strike of its own. Raises BadRequest for one that another rung has."""
    if listed.strike_value is None:
        return
    # Asked here and not of the engine, which lists again what a log of before says.
    taken = call.rung_at(listed.event_ticker, listed.strike_value, listed.strike_unit)
    if taken not in (None, listed.ticker):
        accepted = f"one that no other rung of the event has; {taken} has it"
        raise bad("strike_value", listed.strike_value, accepted)


def _market_name(call: OperatorRequest, event: EventFacts, label: str) -> tuple[str, str]:
    """What a market is called, and its YES outcome, unless the request says otherwise."""
    if label == derived.BINARY_LABEL:
        return event.title, derived.BINARY_OUTCOME
    company = call.company(event.project_id).name
    suffix = event.event_ticker.removeprefix(f"{event.series_ticker}-")
    try:
        name = derived.rung_name(company, label, derived.Quarter.parse(suffix))
    except ValueError:
        # An event of a seed or a tape may be called otherwise.
        name = f"{event.title}: {derived.rung_outcome(label)}"
    return name, derived.rung_outcome(label)


async def halt_market(call: OperatorRequest) -> replies.MarketStateReply:
    """POST markets/{ticker or uuid}/halt."""
    as_body(bodies.Empty, call.fields)
    market_id = call.market(call.segment)
    await call.submit(HaltMarket(market_id))
    return replies.MarketStateReply(market_id, MarketState.HALTED)


async def resume_market(call: OperatorRequest) -> replies.MarketStateReply:
    """POST markets/{ticker or uuid}/resume."""
    as_body(bodies.Empty, call.fields)
    market_id = call.market(call.segment)
    await call.submit(ResumeMarket(market_id))
    return replies.MarketStateReply(market_id, MarketState.ACTIVE)


async def resolve_market(call: OperatorRequest) -> replies.MarketStateReply:
    """POST markets/{ticker or uuid}/resolve: for ever."""
    body = as_body(bodies.ResolveBody, call.fields)
    market_id = call.market(call.segment)
    await call.submit(ResolveMarket(market_id, body.winner))
    return replies.MarketStateReply(market_id, MarketState.RESOLVED, body.winner)
