"""From a checked seed to the commands a venue opens with: companies, ladders, users, keys.

Ids are derived from tickers and names, so the same file gives the same UUIDs on every start.
Pure: the start instant and the credentials' hashes are handed in.

Source: interface, Ticker structure; Resources; Authentication.
"""

import datetime
import uuid
from collections.abc import Mapping
from typing import Final

import msgspec

from venue.core.messages import (
    AccessCommand,
    AddKey,
    AddToken,
    AddUser,
    ArchiveCompany,
    Command,
    Deposit,
    HaltMarket,
    ListCompany,
    ListEvent,
    ListMarket,
    ResolveMarket,
    RevokeKey,
    SetVenueState,
)
from venue.seed import CompanySeed, EventSeed, FeeSeed, Seed, SeriesSeed, UserSeed
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import VenueState
from venue.wire.money import Cents, FeeRate
from venue.wire.names import MarketId, ProjectId, Ticker, UserId

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "urn:laddermaker:venue")
_LAST_DAYS: Final = 7
"""With fewer days left than this, the next quarter counts as the one under way."""


class Fingerprint(msgspec.Struct, frozen=True):
    """What may be known of a credential: its SHA-256 in hex and its first characters."""

    sha256_hex: str
    prefix: str


class Quarter(msgspec.Struct, frozen=True):
    """A calendar quarter, UTC: year and number 1..4."""

    year: int
    number: int

    @classmethod
    def under_way(cls, now_ns: int) -> "Quarter":
        """The quarter of an instant, or the next one within its last seven days."""
        moment = datetime.datetime.fromtimestamp(now_ns // NS_PER_SECOND, tz=datetime.UTC)
        moment += datetime.timedelta(days=_LAST_DAYS)
        return cls(moment.year, (moment.month - 1) // 3 + 1)

    def after(self, quarters: int) -> "Quarter":
        """The quarter that many quarters later."""
        year, index = divmod(self.year * 4 + self.number - 1 + quarters, 4)
        return Quarter(year, index + 1)

    @property
    def end_ns(self) -> int:
        """The first instant after the quarter."""
        following = self.after(1)
        end = datetime.datetime(following.year, following.number * 3 - 2, 1, tzinfo=datetime.UTC)
        return int(end.timestamp()) * NS_PER_SECOND

    @property
    def ticker_part(self) -> str:
        """As an event ticker ends, such as 26Q4."""
        return f"{self.year % 100:02d}Q{self.number}"

    def __str__(self) -> str:
        return f"Q{self.number} {self.year}"


def listing_commands(seed: Seed, start_ns: int) -> list[Command]:
    """Companies, events and markets, in the order in which they must be carried out.

    start_ns: decides which quarter is under way.
    """
    current = Quarter.under_way(start_ns)
    return [
        command for company in seed.companies for command in _company(company, seed.fees, current)
    ]


def user_commands(
    seed: Seed, start_ns: int, fingerprints: Mapping[str, Fingerprint]
) -> list[Command | AccessCommand]:
    """Account holders, their cash, keys and tokens.

    start_ns: from when tokens count. fingerprints: one per key and token name.
    """
    return [command for user in seed.users for command in _user(user, start_ns, fingerprints)]


def state_commands(seed: Seed) -> list[Command]:
    """What puts the venue into the state it opens in, after all else."""
    return [] if seed.venue.state is VenueState.OPEN else [SetVenueState(seed.venue.state)]


def _company(company: CompanySeed, fees: FeeSeed, current: Quarter) -> list[Command]:
    project_id = ProjectId(_uuid("company", company.name))
    commands: list[Command] = [ListCompany(project_id, company.name, company.symbol)]
    for series in company.series:
        for event in series.events:
            quarter = current.after(event.quarter)
            commands += _event(company, project_id, series, event, quarter, fees)
    if company.archived:
        commands.append(ArchiveCompany(project_id))
    return commands


def _event(
    company: CompanySeed,
    project_id: ProjectId,
    series: SeriesSeed,
    event: EventSeed,
    quarter: Quarter,
    fees: FeeSeed,
) -> list[Command]:
    ticker = Ticker(f"{series.ticker}-{quarter.ticker_part}")
    title = event.title.replace("{quarter}", str(quarter))
    commands: list[Command] = [
        ListEvent(
            event_ticker=ticker,
            series_ticker=Ticker(series.ticker),
            project_market_id=_uuid("event", ticker),
            project_id=project_id,
            title=title,
            category=series.category,
            status=event.status,
            # The rungs of a survival ladder resolve yes together, up to the level reached.
            mutually_exclusive=False,
            resolution_date_ns=quarter.end_ns,
            sub_title=event.sub_title,
            resolution_source=event.resolution_source,
        )
    ]
    maker_rate, taker_rate = FeeRate.parse(fees.maker_rate), FeeRate.parse(fees.taker_rate)
    if event.binary:
        binary = Ticker(f"{ticker}-YES")
        market_id = MarketId(_uuid("market", binary))
        return [
            *commands,
            ListMarket(market_id, binary, ticker, title, "Yes", maker_rate, taker_rate),
        ]
    after: list[Command] = []
    for rung in event.rungs:
        rung_ticker = Ticker(f"{ticker}-{rung.label}")
        market_id = MarketId(_uuid("market", rung_ticker))
        commands.append(
            ListMarket(
                market_id=market_id,
                ticker=rung_ticker,
                event_ticker=ticker,
                name=f"{company.name} above {rung.label}, {quarter}",
                outcome_label=f"above {rung.label}",
                maker_fee_rate=maker_rate,
                taker_fee_rate=taker_rate,
                strike_value=rung.strike_value,
                strike_unit=event.strike_unit,
            )
        )
        if rung.winner is not None:
            after.append(ResolveMarket(market_id, rung.winner))
        elif rung.halted:
            after.append(HaltMarket(market_id))
    return commands + after


def _user(
    user: UserSeed, start_ns: int, fingerprints: Mapping[str, Fingerprint]
) -> list[Command | AccessCommand]:
    user_id = UserId(user.name)
    commands: list[Command | AccessCommand] = [AddUser(user_id)]
    if user.deposit_cents > 0:
        commands.append(Deposit(user_id, Cents(user.deposit_cents)))
    for key in user.keys:
        made = fingerprints[key.name]
        holder = user_id if user.usable else None
        commands.append(AddKey(made.sha256_hex, made.prefix, holder, key.scopes))
        if key.revoked:
            commands.append(RevokeKey(made.sha256_hex))
    for token in user.tokens:
        commands.append(
            AddToken(
                token_sha256=fingerprints[token.name].sha256_hex,
                application=token.application,
                user_id=user_id,
                scopes=token.scopes,
                expires_ns=start_ns + token.lifetime_s * NS_PER_SECOND,
            )
        )
    return commands


def _uuid(kind: str, name: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{kind}:{name}"))
