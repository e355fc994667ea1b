"""Replies of the operator's interface; an absent optional field is left out."""

import msgspec

from venue.wire.instant import Instant
from venue.wire.model import EventStatus, VenueState
from venue.wire.money import Cents, Outcome
from venue.wire.names import MarketId, ProjectId, Ticker, UserId
from venue.wire.routes import KeyScope, TokenScope


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Every failure's body. details: of what the engine refused or lost, the interface's code."""

    code: str
    error: str
    details: str | None = None


class Healthy(msgspec.Struct, frozen=True):
    """The process answers."""

    healthy: bool


class Readiness(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether traders can be served, and why not."""

    ready: bool
    why: str | None = None


class VenueStatus(msgspec.Struct, frozen=True):
    """The venue at a glance; `faults` are the kinds in force. crowd: whether one trades here."""

    version: str
    venue_state: VenueState
    sequence: int
    at: Instant
    durable: bool
    writable: bool
    queue: int
    projection_lag_ms: int
    subscribers: int
    users: int
    markets: int
    crowd: bool
    faults: tuple[str, ...]


class StateHash(msgspec.Struct, frozen=True):
    """The state after the command with this sequence."""

    sequence: int
    state_hash: str


class VenueStateReply(msgspec.Struct, frozen=True):
    """The venue-wide state now."""

    state: VenueState


class ProjectionReply(msgspec.Struct, frozen=True):
    """How far reads and the channel lag behind now."""

    lag_ms: int


class CompanyReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A company."""

    project_id: ProjectId
    name: str
    symbol: str
    archived: bool = False


class CompaniesReply(msgspec.Struct, frozen=True):
    """Every company in the order of listing."""

    companies: tuple[CompanyReply, ...]


class ImpliedValueReply(msgspec.Struct, frozen=True):
    """What a company is thought to be worth now."""

    project_id: ProjectId
    value_dollars: str
    confidence: str


class EventReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event as listed."""

    event_ticker: Ticker
    series_ticker: Ticker
    project_market_id: str
    project_id: ProjectId
    title: str
    category: str
    status: EventStatus
    mutually_exclusive: bool
    resolution_date: Instant
    sub_title: str | None = None
    resolution_source: str | None = None


class EventStatusReply(msgspec.Struct, frozen=True):
    """An event's status now."""

    event_ticker: Ticker
    status: EventStatus


class MarketReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A market as listed."""

    market_id: MarketId
    ticker: Ticker
    event_ticker: Ticker
    name: str
    outcome_label: str
    maker_fee_rate: str
    taker_fee_rate: str
    strike_value: str | None = None
    strike_unit: str | None = None
    description: str | None = None


class MarketStateReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A market's state now."""

    market_id: MarketId
    state: str
    winner: Outcome | None = None


class UserReply(msgspec.Struct, frozen=True):
    """An account holder and their cash."""

    user_id: UserId
    available_cents: Cents
    reserved_cents: Cents


class UsersReply(msgspec.Struct, frozen=True):
    """Every account holder in the order in which they were added, as reads see them."""

    users: tuple[UserReply, ...]


class UserAddedReply(msgspec.Struct, frozen=True):
    """The account holder is there."""

    user_id: UserId


class AmountReply(msgspec.Struct, frozen=True):
    """The cash that was moved."""

    user_id: UserId
    amount_cents: Cents


class NewKeyReply(msgspec.Struct, frozen=True):
    """A new key; `key` is the raw one, shown this once."""

    key: str
    key_id: str
    prefix: str
    user_id: UserId | None
    scopes: tuple[KeyScope, ...]

    def __repr__(self) -> str:
        return f"NewKeyReply({self.key_id})"


class KeyReply(msgspec.Struct, frozen=True):
    """What is known of a key."""

    key_id: str
    prefix: str
    user_id: UserId | None
    scopes: tuple[KeyScope, ...]
    revoked: bool


class KeysReply(msgspec.Struct, frozen=True):
    """Keys in the order in which they were added."""

    keys: tuple[KeyReply, ...]


class NewTokenReply(msgspec.Struct, frozen=True):
    """A new bearer token; `token` is the raw one, shown this once."""

    token: str
    user_id: UserId
    application: str
    scopes: tuple[TokenScope, ...]
    expires_at: Instant

    def __repr__(self) -> str:
        return f"NewTokenReply({self.user_id}, {self.application})"


class FaultReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rule in force. count: requests still to be struck. struck: those that were."""

    kind: str
    struck: int
    count: int | None = None
    share: str | None = None
    seed: int | None = None
    verbs: tuple[str, ...] | None = None
    delay_ms: int | None = None
    on: str | None = None
    retry_after_s: int | None = None
    limit: int | None = None


class FaultsReply(msgspec.Struct, frozen=True):
    """The rules in force."""

    faults: tuple[FaultReply, ...]
