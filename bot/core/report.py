"""A picture of the trader at one instant, for the status page, the metrics and the summary.

Read only: nothing here decides. Money in cents, times in nanoseconds, prices canonical YES.
"""

import enum

import msgspec

from bot.core.strategy import Levels
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker


class Phase(enum.StrEnum):
    """What the trader is doing."""

    STARTING = "starting"  # reading the account, settling what an earlier run left
    QUOTING = "quoting"
    PAUSED = "paused"
    LATCHED = "latched"  # everything is cancelled, and nothing new until a person clears the latch
    STOPPING = "stopping"
    STOPPED = "stopped"


class OrderReport(msgspec.Struct, frozen=True):
    """One order of ours that may be live. `state` is its place in the order life."""

    client_order_id: ClientOrderId
    order_id: OrderId | None
    side: BookSide
    price: Price
    outcome: Outcome
    own_side: Side
    remaining_qty: Qty
    filled_qty: Qty
    state: str
    age_ns: int
    why: str


class RungReport(msgspec.Struct, frozen=True):
    """One rung: the others' book, the belief, the holdings, our orders. `blocked` is empty when
    the rung can be quoted, else the reason why not."""

    market_id: MarketId
    ticker: Ticker
    strike_text: str
    state: str
    blocked: str
    bids: Levels
    asks: Levels
    fair_cents: float | None
    fair_sd_cents: float | None
    last_price: Price | None
    yes_qty: Qty
    no_qty: Qty
    book_age_ns: int | None
    orders: tuple[OrderReport, ...]


class EventReport(msgspec.Struct, frozen=True):
    """One event. outcome_cents: profit in each of the n+1 outcomes if nothing more fills, lowest
    outcome first; worst_case_cents: loss (>= 0) in the worst outcome over every subset of fills
    of what may be live."""

    event_ticker: Ticker
    title: str
    status: str
    resolution_ns: int
    rungs: tuple[RungReport, ...]
    outcome_cents: tuple[Cents, ...]
    worst_case_cents: Cents


class BreakerReport(msgspec.Struct, frozen=True):
    """One breaker: how much of its limit is used up now, in the unit of its setting's name."""

    name: str
    used: int
    limit: int


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Totals since the start. requests: sent, by create, amend, cancel, read. refused: by code.

    breaker_trips: by breaker. beyond_caps: creates and amends held back by the compiled caps.
    """

    frames: int
    frames_garbled: int
    decisions: int
    fills: int
    requests: dict[str, int]
    amends_kept_place: int
    amends_lost_place: int
    refused: dict[str, int]
    unknown_answers: int
    self_trades: int
    rate_limited: int
    strategy_errors: int
    breaker_trips: dict[str, int] = {}
    beyond_caps: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole picture.

    flat_ns: how long it would take to cancel everything with the tokens there are; the last answer
    comes a round trip later. foreign_per_second: requests of somebody else on our keys, where they
    are a finding.
    first_two_sided_ns: when both sides first rested on every active rung, None before.
    pnl_cents: cash flow of all fills, fees paid, plus shares marked to the fair curve, else to the
    last price; ledger_difference_cents: the venue's cash less ours, None until both were read with
    nothing in between. latched: why nothing is quoted until a person clears it, else empty.
    """

    now_ns: int
    phase: Phase
    series_ticker: Ticker
    started_ns: int
    first_two_sided_ns: int | None
    events: tuple[EventReport, ...]
    counters: Counters
    tokens: int
    in_flight: int
    resting: int
    unknown_open: int
    flat_ns: int
    cash_available_cents: Cents | None
    pnl_cents: Cents
    fees_cents: Cents
    worst_case_cents: Cents
    worst_case_max_cents: Cents
    worst_case_limit_cents: Cents
    ledger_difference_cents: Cents | None
    feed_heard_ns: int | None
    findings: tuple[str, ...]
    latched: str = ""
    breakers: tuple[BreakerReport, ...] = ()
    foreign_per_second: int = 0
