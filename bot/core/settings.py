"""The trader's numbers, frozen, with their units: what the configuration file turns into.

Defaults are the figures of docs/operations.md; each is a bound or a pace, never a secret.
"""

import msgspec

from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Cents, Qty
from venue.wire.names import Ticker


class RiskSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Hard limits; every one counts everything that may be live.

    event_loss_cents: worst case over the outcomes of one event. series_loss_cents: sum of the
    events' worst cases. rung_position_qty: |YES - NO| of one rung, after every live order filled.
    order_qty: one order. resting_orders: orders possibly live at once, for time to flat.
    """

    event_loss_cents: Cents
    series_loss_cents: Cents
    rung_position_qty: Qty
    order_qty: Qty
    resting_orders: int = 200


class PaceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How eagerly quotes follow belief.

    decide_ns: shortest time between two decisions of one event. dwell_ns: an order younger than
    this is not moved in price. tolerance_ticks: an order this far on the safe side of its wanted
    price keeps its place. resize_pct: a level is topped up or shrunk when it is off by this much of
    its wanted size, for each request has its price; limits count what is live, so they do not hang
    on it. siblings: most orders of ours at one price. requests_in_flight: most
    writes awaiting an answer.
    """

    decide_ns: int = 50 * NS_PER_MS
    dwell_ns: int = 500 * NS_PER_MS
    tolerance_ticks: int = 1
    resize_pct: int = 50
    siblings: int = 3
    requests_in_flight: int = 32


class BudgetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The client's own bucket, below the venue's 250/s and 500; the reserve is for cancels and
    recovery only."""

    rate_per_second: int = 200
    burst: int = 400
    reserve: int = 60


class TrustSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When what we believe is too old to quote on, and how often it is checked.

    heard_ns: silence of the channel. book_ns: age of a book's last confirmation. recheck_ns: age
    at which a confirmation is sought. read_lag_ns: reads may lag a write by so much.
    sweep_ns: between reads of resting orders and fills. audit_ns: between reads of positions,
    balance and the series. resend_ns: between recovery sends of one order.
    """

    heard_ns: int = 5 * NS_PER_SECOND
    book_ns: int = 10 * NS_PER_SECOND
    recheck_ns: int = 4 * NS_PER_SECOND
    read_lag_ns: int = NS_PER_SECOND
    sweep_ns: int = NS_PER_SECOND
    audit_ns: int = 5 * NS_PER_SECOND
    resend_ns: int = NS_PER_SECOND
    refused_resend_ns: int = 5 * NS_PER_SECOND
    gap_ns: int = 250 * NS_PER_MS


class TraderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the trader is told once."""

    series_ticker: Ticker
    risk: RiskSettings
    pace: PaceSettings = PaceSettings()
    budget: BudgetSettings = BudgetSettings()
    trust: TrustSettings = TrustSettings()
