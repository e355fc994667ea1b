"""From a checked seed to the commands a venue opens with. Ids are derived from tickers and names,
so the same file gives the same UUIDs on every start."""

from collections.abc import Container, Iterable, Mapping

import msgspec

from venue import derived
from venue.crowd.people import is_of_a_crowd
from venue.derived import Quarter as Quarter
from venue.engine import messages as m
from venue.rawkeys import Fingerprint as Fingerprint
from venue.seed import CompanySeed, EventSeed, FeeSeed, Seed, SeriesSeed, UserSeed
from venue.views.catalog import Catalog
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import EventStatus, VenueState
from venue.wire.money import Cents, FeeRate
from venue.wire.names import ProjectId, Ticker, UserId


def listing_commands(seed: Seed, start_ns: int) -> list[m.Command]:
    """Companies, events and markets, in order. start_ns: decides which quarter is under way."""
    current = Quarter.under_way(start_ns)
    return [
        command for company in seed.companies for command in _company(company, seed.fees, current)
    ]


def user_commands(
    seed: Seed, start_ns: int, fingerprints: Mapping[str, Fingerprint]
) -> list[m.Command | m.AccessCommand]:
    """Account holders, their cash, keys and tokens. start_ns: from when tokens count. fingerprints:
    one per key and token name."""
    return [command for user in seed.users for command in _user(user, start_ns, fingerprints)]


def state_commands(seed: Seed) -> list[m.Command]:
    return [] if seed.venue.state is VenueState.OPEN else [m.SetVenueState(seed.venue.state)]


def additions(
    commands: Iterable[m.Command | m.AccessCommand], catalog: Catalog, users: Container[UserId]
) -> list[m.Command | m.AccessCommand]:
    """What of an opening is not there yet, for a venue that goes on: unknown companies, events,
    markets and account holders, each with what belongs to it. A listing stays as it is; a settled
    event gets no market."""
    added: list[m.Command | m.AccessCommand] = []
    new: set[str] = set()
    listed_as: dict[str, ProjectId] = {}
    for command in commands:
        match command:
            case m.ListCompany(project_id=name):
                # The operator may have listed it under a UUID of their own.
                known = name if catalog.company(name) else _namesake(command, catalog)
                is_new = known is None
                listed_as[name] = known or name
            case m.ListEvent(event_ticker=name):
                is_new = catalog.event(name) is None
                owner = listed_as.get(command.project_id, command.project_id)
                command = msgspec.structs.replace(command, project_id=owner)
            case m.ListMarket(market_id=name, ticker=ticker):
                # Likewise. An event that is over takes no more rungs; the next quarter's has them.
                is_new = catalog.find_market(name) is None and catalog.find_market(ticker) is None
                is_new = is_new and not _is_settled(command.event_ticker, catalog)
            case m.AddUser(user_id=name):
                is_new = name not in users
            case m.ArchiveCompany(project_id=name):
                is_new = name in new
            case m.HaltMarket(market_id=name) | m.ResolveMarket(market_id=name):
                is_new = name in new
            case m.Deposit(user_id=name):
                is_new = name in new
            case _:
                continue
        if is_new:
            new.add(name)
            added.append(command)
    return added


def crowd_cancels(snapshot: Iterable[m.Event]) -> list[m.CancelOrder]:
    """Cancels of what an earlier start's crowd left resting. snapshot: the state of the venue, as
    events."""
    return [
        m.CancelOrder(event.order.user_id, event.order.order_id)
        for event in snapshot
        if isinstance(event, m.OrderChanged) and is_of_a_crowd(event.order.user_id)
    ]


def _is_settled(event_ticker: Ticker, catalog: Catalog) -> bool:
    event = catalog.event(event_ticker)
    return event is not None and event.status is EventStatus.SETTLED


def _namesake(listed: m.ListCompany, catalog: Catalog) -> ProjectId | None:
    """The company with this name and symbol, which no other one could have now."""
    wanted = (listed.name, listed.symbol, False)
    for company in catalog.companies():
        if (company.name, company.symbol, company.archived) == wanted:
            return company.project_id
    return None


def _company(company: CompanySeed, fees: FeeSeed, current: Quarter) -> list[m.Command]:
    project_id = derived.company_id(company.name)
    commands: list[m.Command] = [m.ListCompany(project_id, company.name, company.symbol)]
    for series in company.series:
        for event in series.events:
            quarter = current.after(event.quarter)
            commands += _event(company, project_id, series, event, quarter, fees)
    if company.archived:
        commands.append(m.ArchiveCompany(project_id))
    return commands


def _event(
    company: CompanySeed,
    project_id: ProjectId,
    series: SeriesSeed,
    event: EventSeed,
    quarter: Quarter,
    fees: FeeSeed,
) -> list[m.Command]:
    ticker = derived.event_ticker(series.ticker, quarter)
    title = event.title.replace("{quarter}", str(quarter))
    commands: list[m.Command] = [
        m.ListEvent(
            event_ticker=ticker,
            series_ticker=Ticker(series.ticker),
            project_market_id=derived.event_id(ticker),
            project_id=project_id,
            title=title,
            category=series.category,
            status=event.status,
            # The rungs of a survival ladder resolve yes together, up to the level reached.
            mutually_exclusive=False,
            resolution_date_ns=quarter.resolves_ns,
            sub_title=event.sub_title,
            resolution_source=event.resolution_source,
        )
    ]
    maker_rate, taker_rate = FeeRate.parse(fees.maker_rate), FeeRate.parse(fees.taker_rate)
    if event.binary:
        binary = derived.market_ticker(ticker, derived.BINARY_LABEL)
        names = (derived.market_id(binary), binary, ticker, title, derived.BINARY_OUTCOME)
        return [*commands, m.ListMarket(*names, maker_rate, taker_rate)]
    after: list[m.Command] = []
    for rung in event.rungs:
        rung_ticker = derived.market_ticker(ticker, rung.label)
        market_id = derived.market_id(rung_ticker)
        commands.append(
            m.ListMarket(
                market_id=market_id,
                ticker=rung_ticker,
                event_ticker=ticker,
                name=derived.rung_name(company.name, rung.label, quarter),
                outcome_label=derived.rung_outcome(rung.label),
                maker_fee_rate=maker_rate,
                taker_fee_rate=taker_rate,
                strike_value=rung.strike_value,
                strike_unit=event.strike_unit,
            )
        )
        if rung.winner is not None:
            after.append(m.ResolveMarket(market_id, rung.winner))
        elif rung.halted:
            after.append(m.HaltMarket(market_id))
    return commands + after


def _user(
    user: UserSeed, start_ns: int, fingerprints: Mapping[str, Fingerprint]
) -> list[m.Command | m.AccessCommand]:
    user_id = UserId(user.name)
    commands: list[m.Command | m.AccessCommand] = [m.AddUser(user_id)]
    if user.deposit_cents > 0:
        commands.append(m.Deposit(user_id, Cents(user.deposit_cents)))
    for key in user.keys:
        made = fingerprints[key.name]
        holder = user_id if user.usable else None
        commands.append(m.AddKey(made.sha256_hex, made.prefix, holder, key.scopes))
        if key.revoked:
            commands.append(m.RevokeKey(made.sha256_hex))
    for token in user.tokens:
        commands.append(
            m.AddToken(
                token_sha256=fingerprints[token.name].sha256_hex,
                application=token.application,
                user_id=user_id,
                scopes=token.scopes,
                expires_ns=start_ns + token.lifetime_s * NS_PER_SECOND,
            )
        )
    return commands
