"""The resources of the interface as frozen types, named and ordered as it names and orders them.

Decoding is tolerant: unknown fields are ignored, and an enum value this version does not know
becomes `unknown`. Encoding is strict: an absent optional field is left out, never null. Instants
stay text here (`venue.wire.instant` converts); order ids are strings for ever. All are `gc=False`:
plain values cannot make a cycle, and the collector need not count a page of a hundred.

Reading: docs/assumptions.md#S4.
"""

import enum
from typing import Final, Self

import msgspec

from venue.wire.instant import Instant
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import ClientOrderId, MarketId, OrderId, ProjectId, Ticker


class _Tolerant(enum.StrEnum):
    """An enum of a response: a value outside the set reads as UNKNOWN."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        return cls("unknown")


class OrderStatus(_Tolerant):
    """The state of an order. `accepted` appears on reads only."""

    ACCEPTED = "accepted"
    OPEN = "open"
    PARTIALLY_FILLED = "partially_filled"
    FILLED = "filled"
    CANCELED = "canceled"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


RESTING: Final = frozenset({OrderStatus.ACCEPTED, OrderStatus.OPEN, OrderStatus.PARTIALLY_FILLED})
TERMINAL: Final = frozenset({OrderStatus.FILLED, OrderStatus.CANCELED, OrderStatus.EXPIRED})
STATUS_GROUPS: Final[dict[str, frozenset[OrderStatus]]] = {
    "resting": RESTING,
    "filled": frozenset({OrderStatus.FILLED}),
    "canceled": frozenset({OrderStatus.CANCELED, OrderStatus.EXPIRED}),
    "all": RESTING | TERMINAL,
}
"""Group names of the order list's status filter."""


class ShownOutcome(_Tolerant):
    """The outcome of a stored order or position."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class ShownSide(_Tolerant):
    """The side of a stored order."""

    BUY = "buy"
    SELL = "sell"
    UNKNOWN = "unknown"


class ShownTimeInForce(_Tolerant):
    """The time in force of a stored order."""

    GTC = "gtc"
    IOC = "ioc"
    FOK = "fok"
    UNKNOWN = "unknown"


class MarketState(_Tolerant):
    """The state of a market: does it take orders."""

    ACTIVE = "active"
    HALTED = "halted"
    RESOLVED = "resolved"
    UNKNOWN = "unknown"


class EventStatus(_Tolerant):
    """The state of an event; settled means that every rung has resolved."""

    UNOPENED = "unopened"
    OPEN = "open"
    CLOSED = "closed"
    SETTLED = "settled"
    UNKNOWN = "unknown"


class VenueState(enum.StrEnum):
    """Venue-wide state: halted refuses everything, cancel_only takes cancels."""

    OPEN = "open"
    CANCEL_ONLY = "cancel_only"
    HALTED = "halted"


class Liquidity(_Tolerant):
    """The role of an order in a fill."""

    MAKER = "maker"
    TAKER = "taker"
    UNKNOWN = "unknown"


class CandleInterval(enum.StrEnum):
    """Candle lengths; 4h and 12h are re-aggregated from hourly ones."""

    S30 = "30s"
    M1 = "1m"
    H1 = "1h"
    H4 = "4h"
    H12 = "12h"
    D1 = "1d"


class Market(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One rung, or the binary market of an event."""

    ticker: Ticker
    market_id: MarketId
    event_ticker: Ticker
    project_market_id: str
    name: str
    description: str | None = None
    outcome_label: str
    state: MarketState
    min_price: Price
    max_price: Price
    tick_size: int
    strike_value: str | None = None
    strike_unit: str | None = None
    maker_fee_rate: str
    taker_fee_rate: str
    last_price: Price | None = None
    open_interest: Qty
    created_at: Instant
    updated_at: Instant


class Level(msgspec.Struct, frozen=True, gc=False):
    """Shares resting at one price."""

    price: Price
    size: Qty


class Orderbook(msgspec.Struct, frozen=True, gc=False):
    """Depth in canonical YES terms, best first; `as_of` is when it was captured."""

    ticker: Ticker
    market_id: MarketId
    as_of: Instant
    bids: tuple[Level, ...]
    asks: tuple[Level, ...]


class MarketTrade(msgspec.Struct, frozen=True, gc=False):
    """One print of the public tape; `price` in canonical YES cents."""

    trade_id: str
    ticker: Ticker
    market_id: MarketId
    price: Price
    qty: Qty
    created_at: Instant


class MarketStats(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Lifetime figures of a market; `volume_usd` is a decimal string of dollars (S41)."""

    volume_usd: str
    open_interest: Qty
    last_price: Price | None = None


class Position(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Inventory of one outcome, shares; the last three fields as S5 reads them, cents."""

    ticker: Ticker
    market_id: MarketId | None = None
    event_ticker: Ticker | None = None
    outcome: ShownOutcome
    qty: Qty
    cost_basis: Cents | None = None
    avg_entry_price: Cents | None = None
    realized_pnl: Cents | None = None


class Order(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An order as replies and reads show it; `price` is the limit for its own outcome."""

    order_id: OrderId
    ticker: Ticker
    market_id: MarketId
    event_ticker: Ticker
    outcome: ShownOutcome
    side: ShownSide
    price: Price
    qty: Qty
    remaining_qty: Qty
    filled_qty: Qty
    status: OrderStatus
    time_in_force: ShownTimeInForce
    created_at: Instant
    updated_at: Instant
    client_order_id: ClientOrderId | None = None
    reserved_cents: Cents | None = None
    spent_cents: Cents | None = None


class Cancelled(msgspec.Struct, frozen=True, gc=False):
    """The answer to a cancel: `reduced_by` is the truth, `order.filled_qty` a floor."""

    order: Order
    reduced_by: Qty


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A survival ladder or a single binary market; `markets` in strike order."""

    event_ticker: Ticker
    series_ticker: Ticker
    project_market_id: str
    project_id: ProjectId
    title: str
    category: str
    status: EventStatus
    mutually_exclusive: bool
    resolution_date: Instant
    markets: tuple[Market, ...]
    sub_title: str | None = None
    resolution_source: str | None = None


class Candle(msgspec.Struct, frozen=True, gc=False):
    """One bucket of prints, canonical YES cents; `volume` in shares (S7)."""

    timestamp: Instant
    open: Price
    high: Price
    low: Price
    close: Price
    volume: Qty
    trade_count: int


class CandleSeries(msgspec.Struct, frozen=True, gc=False):
    """Candles, oldest first; buckets in which nothing traded are left out (S7)."""

    ticker: Ticker
    market_id: MarketId
    interval: CandleInterval
    candles: tuple[Candle, ...]


class Balance(msgspec.Struct, frozen=True, gc=False):
    """Cash of an account, cents; total is the sum of the other two."""

    available_cents: Cents
    reserved_cents: Cents
    total_cents: Cents


class Fill(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One execution of one's own order (S4). Cash is reconciled against `outcome_price`."""

    fill_id: str
    trade_id: str
    order_id: OrderId
    ticker: Ticker
    market_id: MarketId
    event_ticker: Ticker
    outcome: ShownOutcome
    side: ShownSide
    outcome_price: Price
    trade_price: Price
    qty: Qty
    fee_cents: Cents | None = None
    liquidity: Liquidity = Liquidity.UNKNOWN
    created_at: Instant


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A market and the caller's own state in it."""

    market: Market
    orderbook: Orderbook
    last_trade: MarketTrade | None = None
    stats: MarketStats
    positions: tuple[Position, ...]
    resting_orders: tuple[Order, ...]


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Every failure's body. Clients branch on `code`, never on `error`."""

    code: str
    error: str
    details: str | None = None


class MarketsPage(msgspec.Struct, frozen=True, gc=False):
    """A page of markets; an empty cursor is the last page, here and in every page below."""

    markets: tuple[Market, ...]
    cursor: str


class EventsPage(msgspec.Struct, frozen=True, gc=False):
    """A page of events."""

    events: tuple[Event, ...]
    cursor: str


class OrdersPage(msgspec.Struct, frozen=True, gc=False):
    """A page of the caller's orders, newest first."""

    orders: tuple[Order, ...]
    cursor: str


class PositionsPage(msgspec.Struct, frozen=True, gc=False):
    """A page of the caller's positions (S5)."""

    positions: tuple[Position, ...]
    cursor: str


class FillsPage(msgspec.Struct, frozen=True, gc=False):
    """A page of the caller's fills, newest first (S4)."""

    fills: tuple[Fill, ...]
    cursor: str


class TradesPage(msgspec.Struct, frozen=True, gc=False):
    """A page of the public tape, newest first (S6)."""

    trades: tuple[MarketTrade, ...]
    cursor: str
