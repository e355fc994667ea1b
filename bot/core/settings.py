"""The trader's numbers, with their units: what the configuration file turns into."""

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Cents, Qty
from venue.wire.names import Ticker

if TYPE_CHECKING:
    from bot.strategy.api import Strategy

SHADOW_LATENCY_NS: Final = 50 * NS_PER_MS
"""From a decision of a candidate to the first print, as we hear of it, that its orders can meet."""


JOURNAL_NAMES: Final = {
    "feed_silence_ns": "heard_ns",
    "empty_book_grace_ns": "emptied_ns",
    "poll_orders_ns": "sweep_ns",
    "poll_orders_fast_ns": "suspect_sweep_ns",
    "poll_account_ns": "audit_ns",
    "orders_per_level_max": "siblings",
    "staleness": "trust",
    "other_series": "beside",
}
"""What journals call a setting, where that is not its name here."""


class Candidate(msgspec.Struct, frozen=True):
    """A strategy run in the shadow of the live one. make_strategy: makes one for each event."""

    name: str
    strategy: str
    make_strategy: "Callable[[], Strategy]"
    latency_ns: int = SHADOW_LATENCY_NS


class RiskSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Hard limits; every one counts everything that may be live.

    event_loss_cents: worst case over the outcomes of one event. series_loss_cents: sum of the
    events' worst cases. account_loss_cents: sum of those of all series that one process trades on
    the account; 0 for none. rung_position_qty: |YES - NO| of one rung, after every live order
    filled. order_qty: one order. event_net_qty: |YES - NO| of all rungs of an event together.
    event_gross_qty: the rungs' |YES - NO| added up. event_gross_cents: loss of an event if every
    rung went against us by itself. resting_cents: what all live orders of the series would lose,
    both sides added up. The last four follow from the others where they are 0, see
    `limits.limits_in_force`. resting_orders: orders possibly live at once, for the
    time to flat. flat_ns: no create leaves that would make cancelling everything take longer.
    """

    event_loss_cents: Cents = Cents(3_000)
    series_loss_cents: Cents
    account_loss_cents: Cents = Cents(0)
    rung_position_qty: Qty
    order_qty: Qty
    event_net_qty: Qty = Qty(0)
    event_gross_qty: Qty = Qty(0)
    event_gross_cents: Cents = Cents(0)
    resting_cents: Cents = Cents(0)
    resting_orders: int = 200
    flat_ns: int = 2 * NS_PER_SECOND


class PaceSettings(msgspec.Struct, frozen=True, kw_only=True, rename=JOURNAL_NAMES.get):
    """How eagerly quotes follow belief.

    decide_ns: shortest time between two decisions of one event. dwell_ns: an order younger than
    this is not moved in price. tolerance_ticks: an order this far on the safe side of its wanted
    price keeps its place. resize_pct: a level is topped up or shrunk when it is off by this much of
    its wanted size. orders_per_level_max: most orders of ours at one price by one route.
    requests_in_flight: most writes awaiting an answer. market_writes_per_second,
    market_writes_burst: creates and amends of one market; writes_per_second, writes_burst: of all.
    Cancels count, and always pass. queue_power_pct: a hundred times the exponent n of
    `queue_position`. place_horizon_ns: how far ahead the fills are expected that make a place worth
    keeping. move_millicents: thousandths of a cent that a change must gain per share.
    capital_millicents: the same that a dollar tied up costs a day.
    """

    decide_ns: int = 50 * NS_PER_MS
    dwell_ns: int = 500 * NS_PER_MS
    tolerance_ticks: int = 1
    resize_pct: int = 50
    orders_per_level_max: int = 3
    requests_in_flight: int = 32
    market_writes_per_second: int = 2
    market_writes_burst: int = 6
    writes_per_second: int = 50
    writes_burst: int = 300
    queue_power_pct: int = 100
    place_horizon_ns: int = 60 * NS_PER_SECOND
    move_millicents: int = 50
    capital_millicents: int = 2

    def resizes(self, off_qty: int, wanted_qty: int) -> bool:
        """Whether a level that is off by so many shares, >= 0, is worth a request."""
        return 100 * off_qty >= self.resize_pct * wanted_qty


class BudgetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The client's own bucket, below the venue's 250/s and 500; the reserve is for cancels and
    recovery only."""

    rate_per_second: int = 200
    burst: int = 400
    reserve: int = 60


class StalenessSettings(msgspec.Struct, frozen=True, kw_only=True, rename=JOURNAL_NAMES.get):
    """When what we believe is too old to quote on, and how often it is checked.

    feed_silence_ns: silence of the channel. book_ns: age of a book's last confirmation. recheck_ns:
    age at which a confirmation is sought. read_lag_ns: how late reads may be. poll_orders_ns:
    between reads of resting orders and fills. poll_orders_fast_ns: the same while one of our orders
    may have filled or is in doubt. poll_account_ns: between reads of positions, balance and the
    series. resend_ns: between recovery sends of one order. lag_ns: how much later than its usual
    delay the channel may be. empty_book_grace_ns: how long a book that was emptied at once says
    nothing. unread_ns: how long orders, fills, positions or balance may go unread, twelve periods
    at least.
    """

    feed_silence_ns: int = 5 * NS_PER_SECOND
    book_ns: int = 10 * NS_PER_SECOND
    recheck_ns: int = 4 * NS_PER_SECOND
    read_lag_ns: int = NS_PER_SECOND
    poll_orders_ns: int = 5 * NS_PER_SECOND
    poll_orders_fast_ns: int = NS_PER_SECOND
    poll_account_ns: int = 5 * NS_PER_SECOND
    resend_ns: int = NS_PER_SECOND
    refused_resend_ns: int = 5 * NS_PER_SECOND
    gap_ns: int = 250 * NS_PER_MS
    lag_ns: int = 500 * NS_PER_MS
    empty_book_grace_ns: int = 60 * NS_PER_SECOND
    unread_ns: int = 60 * NS_PER_SECOND


class Strangers(enum.StrEnum):
    """What to do at the start with orders that rest in our rungs and this run did not place."""

    CANCEL = "cancel"  # all of them
    ADOPT = "adopt"  # keep those that the journal knows as ours, cancel the others
    REFUSE = "refuse"  # quote nothing if the journal does not know one of them; cancel the others


class StartSettings(msgspec.Struct, frozen=True, kw_only=True):
    strangers: Strangers = Strangers.CANCEL


class BreakerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What stops everything until a person resets it, and what one create may be at most.

    None of it can be switched off; 0 stands for what follows from the other limits, see
    `bot.core.risk.breakers.limits_of`. writes_per_second: creates, amends and cancels, but for
    cancels of what earlier runs or others left. creates_per_minute and notional_cents_per_minute:
    of first creates, re-sends not counted. fills_per_minute and filled_qty_per_minute: fills
    booked, and their shares. loss_cents: below the profit at the opening. drawdown_cents: below the
    highest profit since. rejects_per_minute: writes that the venue found wrong. unknown_age_ns: age
    of the oldest write without an answer. order_notional_cents: price times size of one create.
    ticks_through: how far beyond the others' best price on the far side a create or a new price may
    reach.
    """

    writes_per_second: int = 0
    creates_per_minute: int = 0
    notional_cents_per_minute: int = 0
    fills_per_minute: int = 0
    filled_qty_per_minute: int = 0
    loss_cents: int = 0
    drawdown_cents: int = 0
    rejects_per_minute: int = 30
    unknown_age_ns: int = 900 * NS_PER_SECOND
    order_notional_cents: int = 0
    ticks_through: int = 10


class KeySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Credentials besides the trading one; each has a bucket of its own. read: reads go on it.
    standby: cancels go on it when the first is refused."""

    read: bool = False
    standby: bool = False


class NewsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When news pulls all rungs of an event. jump_cents: both sides of the others' touch of a rung
    move by so much within jump_ns; 0: never. print_qty: shares of one trade that clear at least
    print_touch_pct of the touch; 0: never. pull_ns: nothing is quoted for so long after the last.
    """

    jump_cents: int = 6
    jump_ns: int = NS_PER_SECOND
    print_qty: int = 40
    print_touch_pct: int = 80
    pull_ns: int = 30 * NS_PER_SECOND


class CurfewSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long before an event resolves less is quoted. halve_ns: sizes are halved; reduce_ns: only
    what reduces a position is quoted. 0: never, before the very end. stop_ns: nothing at all is
    quoted; 0: never."""

    halve_ns: int = 24 * 3_600 * NS_PER_SECOND
    reduce_ns: int = 3_600 * NS_PER_SECOND
    stop_ns: int = 0


class TraderSettings(msgspec.Struct, frozen=True, kw_only=True, rename=JOURNAL_NAMES.get):
    """All settings of the trader. other_series: other series of ours on the same account, whose
    rungs pay into the same cash."""

    series_ticker: Ticker
    risk: RiskSettings
    pace: PaceSettings = PaceSettings()
    budget: BudgetSettings = BudgetSettings()
    staleness: StalenessSettings = StalenessSettings()
    breakers: BreakerSettings = BreakerSettings()
    start: StartSettings = StartSettings()
    keys: KeySettings = KeySettings()
    news: NewsSettings = NewsSettings()
    curfew: CurfewSettings = CurfewSettings()
    other_series: tuple[Ticker, ...] = ()
