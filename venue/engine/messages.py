"""Commands, outcomes, events: plain values. Commands are imperatives and go into the log; events
are all that the read side sees. A command's instant travels with it and in every event as `at_ns`.
`gc=False`: no cycles, so the collector need not walk through the many that are kept."""

from typing import Final

import msgspec

from venue.wire.errors import Code
from venue.wire.model import EventStatus, Liquidity, MarketState, OrderStatus, VenueState
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, ProjectId, Ticker, UserId
from venue.wire.requests import Amend, NewOrder, TimeInForce
from venue.wire.routes import KeyScope, TokenScope

# --- commands: the operator's ---------------------------------------------------------------------


class ListCompany(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Add a company, or give it another symbol."""

    project_id: ProjectId
    name: str
    symbol: str


class ArchiveCompany(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Take a company's handles out of the directory; its UUIDs go on resolving."""

    project_id: ProjectId


class ListEvent(msgspec.Struct, frozen=True, tag=True, gc=False):
    event_ticker: Ticker
    series_ticker: Ticker
    project_market_id: str
    project_id: ProjectId
    title: str
    category: str
    status: EventStatus
    mutually_exclusive: bool
    resolution_date_ns: int
    sub_title: str | None = None
    resolution_source: str | None = None


class ListMarket(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Add one rung, or the binary market, of an event. `strike_value`: decimal text or None."""

    market_id: MarketId
    ticker: Ticker
    event_ticker: Ticker
    name: str
    outcome_label: str
    maker_fee_rate: FeeRate
    taker_fee_rate: FeeRate
    strike_value: str | None = None
    strike_unit: str | None = None
    description: str | None = None


class SetEventStatus(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Open or close an event; `settled` comes only from resolving every rung."""

    event_ticker: Ticker
    status: EventStatus


class HaltMarket(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Refuse creates and amends on a market; resting orders stay, cancels work (S23)."""

    market_id: MarketId


class ResumeMarket(msgspec.Struct, frozen=True, tag=True, gc=False):
    market_id: MarketId


class ResolveMarket(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Pay 100 to every share of `winner`, expire what rests, for ever (S21, S22)."""

    market_id: MarketId
    winner: Outcome


class SetVenueState(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Open, cancel_only or halted, for the whole venue (S24, S50)."""

    state: VenueState


class AddUser(msgspec.Struct, frozen=True, tag=True, gc=False):
    user_id: UserId


class Deposit(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Add paper cash to an account; amount >= 1 cent."""

    user_id: UserId
    amount_cents: Cents


class Withdraw(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Take available cash out of an account; amount >= 1 cent."""

    user_id: UserId
    amount_cents: Cents


class PublishImpliedValue(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Tell the channel what a company is thought to be worth; both texts are decimals (S10)."""

    project_id: ProjectId
    value_dollars: str
    confidence: str


# --- commands: the traders' -----------------------------------------------------------------------


class PlaceOrder(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Create an order for a user; idempotent by (user, client_order_id) for ever (S14)."""

    user_id: UserId
    order: NewOrder


class AmendOrder(msgspec.Struct, frozen=True, tag=True, gc=False):
    user_id: UserId
    order_id: OrderId
    amend: Amend


class CancelOrder(msgspec.Struct, frozen=True, tag=True, gc=False):
    user_id: UserId
    order_id: OrderId


# --- commands: credentials ------------------------------------------------------------------------

_KEY_ID_LENGTH: Final = 16


class AddKey(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Add an API key by its SHA-256 (hex) and a short prefix. `user_id` None: the stored user
    reference is unusable (api_key_misconfigured)."""

    key_sha256: str
    prefix: str
    user_id: UserId | None
    scopes: tuple[KeyScope, ...]


def key_id(key_sha256: str) -> str:
    return key_sha256[:_KEY_ID_LENGTH]


class RevokeKey(msgspec.Struct, frozen=True, tag=True, gc=False):
    key_sha256: str


class AddToken(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Add a bearer token of an application and user, by its SHA-256, until `expires_ns`."""

    token_sha256: str
    application: str
    user_id: UserId
    scopes: tuple[TokenScope, ...]
    expires_ns: int


AccessCommand = AddKey | RevokeKey | AddToken
"""Commands of the same log that `venue.engine.access` carries out instead of the engine."""

Command = (
    ListCompany
    | ArchiveCompany
    | ListEvent
    | ListMarket
    | SetEventStatus
    | HaltMarket
    | ResumeMarket
    | ResolveMarket
    | SetVenueState
    | AddUser
    | Deposit
    | Withdraw
    | PublishImpliedValue
    | PlaceOrder
    | AmendOrder
    | CancelOrder
)

# --- outcomes -------------------------------------------------------------------------------------


class OrderState(msgspec.Struct, frozen=True, gc=False):
    """An order after a command. qty: filled + remaining + removed since the last amend (S13).
    reserved_cents: cash locked (0 for sells and finished orders)."""

    order_id: OrderId
    user_id: UserId
    market_id: MarketId
    ticker: Ticker
    event_ticker: Ticker
    outcome: Outcome
    side: Side
    price: Price
    qty: Qty
    remaining_qty: Qty
    filled_qty: Qty
    status: OrderStatus
    time_in_force: TimeInForce
    reserved_cents: Cents
    created_ns: int
    updated_ns: int


class Placed(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The order exists; `fresh` is False for a re-send (S1, S14). spent_cents: exact cash out of a
    budget order, None for an order by size."""

    order: OrderState
    client_order_id: ClientOrderId
    fresh: bool
    spent_cents: Cents | None = None


class Amended(msgspec.Struct, frozen=True, tag=True, gc=False):
    order: OrderState
    kept_place: bool


class Cancelled(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The order after the cancel, and what the engine removed; 0 on a retry of a cancel (S31)."""

    order: OrderState
    reduced_by: Qty


class Refused(msgspec.Struct, frozen=True, tag=True, gc=False):
    code: Code
    message: str


class Accepted(msgspec.Struct, frozen=True, tag=True, gc=False):
    """An operator's command was carried out; one that changes nothing is carried out as well."""


Answer = Placed | Amended | Cancelled | Refused | Accepted
"""The outcome of a command. Bad operator input (unknown id, amount < 1) is Refused too."""


class KnownKey(msgspec.Struct, frozen=True, array_like=True):
    """An API key. prefix: the first characters of the raw key."""

    sha256_hex: str
    prefix: str
    user_id: UserId | None
    """None: the stored user reference is unusable (api_key_misconfigured)."""
    scopes: tuple[KeyScope, ...]
    """Empty: the key is rejected everywhere."""
    revoked: bool

    @property
    def bucket_id(self) -> str:
        return f"key:{self.sha256_hex}"


class KnownToken(msgspec.Struct, frozen=True, array_like=True):
    """A bearer token, in force before `expires_ns`; those of one application and user share a
    bucket."""

    sha256_hex: str
    user_id: UserId
    scopes: tuple[TokenScope, ...]
    bucket_id: str
    expires_ns: int


# --- events ---------------------------------------------------------------------------------------


class CompanyListed(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    company: ListCompany


class CompanyArchived(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    project_id: ProjectId


class EventListed(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    event: ListEvent


class MarketListed(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    market: ListMarket


class EventStatusChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    """An event's status is another now (S33: closed from its first resolved rung on)."""

    at_ns: int
    event_ticker: Ticker
    status: EventStatus


class MarketStateChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    market_id: MarketId
    state: MarketState


class VenueStateChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    state: VenueState


class UserAdded(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    user_id: UserId


class BalanceChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    user_id: UserId
    available_cents: Cents
    reserved_cents: Cents


class OrderChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    order: OrderState


class PositionChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Inventory of one outcome after a command; 0 when there is none (S5)."""

    at_ns: int
    user_id: UserId
    market_id: MarketId
    outcome: Outcome
    qty: Qty
    cost_basis_cents: Cents
    realized_pnl_cents: Cents


class TradePrinted(msgspec.Struct, frozen=True, tag=True, gc=False):
    """One match on the public tape; price in canonical YES cents."""

    at_ns: int
    trade_id: str
    market_id: MarketId
    price: Price
    qty: Qty
    maker_outcome: Outcome
    maker_side: Side
    taker_outcome: Outcome
    taker_side: Side


class FillBooked(msgspec.Struct, frozen=True, tag=True, gc=False):
    """One side of a match; `outcome_price` in cents of the caller's own outcome."""

    at_ns: int
    fill_id: str
    trade_id: str
    user_id: UserId
    order_id: OrderId
    market_id: MarketId
    outcome: Outcome
    side: Side
    outcome_price: Price
    trade_price: Price
    qty: Qty
    fee_cents: Cents
    liquidity: Liquidity


class LevelChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Shares resting at one canonical price after a command; 0 when the level is gone."""

    at_ns: int
    market_id: MarketId
    side: BookSide
    price: Price
    size: Qty


class OpenInterestChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    market_id: MarketId
    open_interest: Qty


class ImpliedValuePublished(msgspec.Struct, frozen=True, tag=True, gc=False):
    at_ns: int
    project_id: ProjectId
    value_dollars: str
    confidence: str


Event = (
    CompanyListed
    | CompanyArchived
    | EventListed
    | MarketListed
    | EventStatusChanged
    | MarketStateChanged
    | VenueStateChanged
    | UserAdded
    | BalanceChanged
    | OrderChanged
    | PositionChanged
    | TradePrinted
    | FillBooked
    | LevelChanged
    | OpenInterestChanged
    | ImpliedValuePublished
)

Applied = tuple[Answer, list[Event]]
"""The answer to a command, and its events in order."""
