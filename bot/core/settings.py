"""The trader's settings, in the units of their names."""

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from bot.core.trading_state import NORMAL_WIDTH_PCT, TradingState
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND, second_of
from venue.wire.money import Cents, Qty
from venue.wire.names import Ticker

if TYPE_CHECKING:
    from bot.strategy.api import Strategy

NS_PER_HOUR: Final = 3_600 * NS_PER_SECOND

SHADOW_LATENCY_NS: Final = 50 * NS_PER_MS
"""Latency from a decision of a candidate to the first trade that its orders can meet."""

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
"""The name that a setting has in journals, where it differs."""


class Candidate(msgspec.Struct, frozen=True):
    """A strategy run in the shadow of the live one."""

    name: str
    strategy: str
    make_strategy: "Callable[[], Strategy]"
    """Makes one for each event."""
    latency_ns: int = SHADOW_LATENCY_NS


class RiskSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Hard limits on exposure; each counts all that may be live. `event_net_qty` to `resting_cents`
    follow from the others where they are 0, see `limits.limits_in_force`."""

    event_loss_cents: Cents = Cents(3_000)
    """Worst case over the outcomes of one event."""
    series_loss_cents: Cents
    """Sum of the events' worst cases."""
    account_loss_cents: Cents = Cents(0)
    """Sum of those of all series that one process trades on the account; 0 for none."""
    rung_position_qty: Qty
    """|YES - NO| of one market, after every live order filled."""
    order_qty: Qty
    """Shares of one order."""
    event_net_qty: Qty = Qty(0)
    """|YES - NO| of all markets of an event together."""
    event_gross_qty: Qty = Qty(0)
    """The |YES - NO| of all markets of an event added up."""
    event_gross_cents: Cents = Cents(0)
    """Loss of an event if every market went against us by itself."""
    resting_cents: Cents = Cents(0)
    """Loss of all live orders of the series, both sides added up."""
    event_correlation: float = 0.0
    """0..1, of the events of one company, in the risk that is shown; no limit uses it."""
    resting_orders: int = 200
    """Orders possibly live at once, for the time to flat."""
    flat_ns: int = 2 * NS_PER_SECOND
    """No create leaves that would make cancelling everything take longer."""


class PaceSettings(msgspec.Struct, frozen=True, kw_only=True, rename=JOURNAL_NAMES.get):
    """How eagerly quotes follow the fair value."""

    decide_ns: int = 50 * NS_PER_MS
    """Shortest time between two decisions of one event."""
    dwell_ns: int = 500 * NS_PER_MS
    """So long after its last write an order is not moved toward the touch."""
    tolerance_ticks: int = 1
    """An order this far on the safe side of its target keeps its priority."""
    resize_pct: int = 50
    """A level is topped up or shrunk when it is off by this much of its target size."""
    orders_per_level_max: int = 3
    """Most orders of ours at one price by one route."""
    requests_in_flight: int = 32
    """Most writes in flight."""
    market_writes_per_second: int = 2
    """Creates and amends of one market; cancels count, and always pass."""
    market_writes_burst: int = 6
    writes_per_second: int = 50
    """The same of all markets."""
    writes_burst: int = 300
    queue_power_pct: int = 100
    """A hundred times the exponent n of `queue_position`."""
    place_horizon_ns: int = 60 * NS_PER_SECOND
    """The horizon of the expected fills that give a queue position its value."""
    move_millicents: int = 50
    """Thousandths of a cent that a change must gain per share."""
    capital_millicents: int = 2
    """The cost of a dollar tied up for a day, in thousandths of a cent."""

    def resizes(self, off_qty: int, wanted_qty: int) -> bool:
        """True if a level that is off by so many shares, >= 0, is worth a request."""
        return 100 * off_qty >= self.resize_pct * wanted_qty


class BudgetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The client's own bucket, below the venue's 250/s and 500; the reserve is for cancels and
    recovery only."""

    rate_per_second: int = 200
    burst: int = 400
    reserve: int = 60


class StalenessSettings(msgspec.Struct, frozen=True, kw_only=True, rename=JOURNAL_NAMES.get):
    """When data is too stale to quote on, and how often it is checked."""

    feed_silence_ns: int = 5 * NS_PER_SECOND
    """Longest silence of the channel."""
    book_ns: int = 10 * NS_PER_SECOND
    """A book confirmed longer ago is stale."""
    recheck_ns: int = 4 * NS_PER_SECOND
    """Age at which a confirmation is sought."""
    read_lag_ns: int = NS_PER_SECOND
    """Read latency: a read may miss writes so recent."""
    poll_orders_ns: int = 5 * NS_PER_SECOND
    """Between reads of resting orders and fills."""
    poll_orders_fast_ns: int = NS_PER_SECOND
    """The same while one of our orders may have filled or is in doubt."""
    poll_account_ns: int = 5 * NS_PER_SECOND
    """Between reads of positions, balance and the series."""
    poll_quiet_ns: int = 0
    """Between reads of all but the series while nothing of ours may have changed; the normal
    periods where those are longer."""
    resend_ns: int = NS_PER_SECOND
    """Between retries of one order."""
    refused_resend_ns: int = 5 * NS_PER_SECOND
    gap_ns: int = 250 * NS_PER_MS
    lag_ns: int = 500 * NS_PER_MS
    """Latency of the channel above its usual one, at most."""
    empty_book_grace_ns: int = 60 * NS_PER_SECOND
    """How long a book that was emptied at once counts as unknown."""
    unread_ns: int = 60 * NS_PER_SECOND
    """Orders, fills, positions or balance unread for so long are stale; twelve periods at least."""


class Strangers(enum.StrEnum):
    """The policy at the start for orders in our markets that this run did not place."""

    CANCEL = "cancel"  # all of them
    ADOPT = "adopt"  # keep those that the journal knows as ours, cancel the others
    REFUSE = "refuse"  # quote nothing if the journal does not know one; cancel the others


class StartSettings(msgspec.Struct, frozen=True, kw_only=True):
    strangers: Strangers = Strangers.CANCEL


class BreakerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The circuit breakers, which stop everything until a person resets them, and the caps of one
    create. None can be switched off; 0 follows from the other limits, see
    `bot.core.risk.breakers.limits_of`."""

    writes_per_second: int = 0
    """Creates, amends and cancels, but for cancels of orders of earlier runs or others."""
    creates_per_minute: int = 0
    """First creates; retries are not counted."""
    notional_cents_per_minute: int = 0
    """Of first creates."""
    fills_per_minute: int = 0
    """Fills booked."""
    filled_qty_per_minute: int = 0
    """Their shares."""
    loss_cents: int = 0
    """Below the profit at the opening."""
    drawdown_cents: int = 0
    """Below the highest profit since."""
    rejects_per_minute: int = 30
    """Invalid-request rejects."""
    unknown_age_ns: int = 900 * NS_PER_SECOND
    """Age of the oldest write in flight or after a timeout."""
    order_notional_cents: int = 0
    """Price times size of one create."""
    ticks_through: int = 10
    """How far beyond the others' best price on the far side a create or a new price may reach."""


class KeySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Credentials besides the trading one; each has a bucket of its own."""

    read: bool = False
    """Reads go on it."""
    standby: bool = False
    """Cancels go on it when the first is refused."""


class NewsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When a jump pulls all quotes of an event."""

    jump_cents: int = 6
    """Both sides of the others' touch of a market move by so much within jump_ns; 0: never."""
    jump_ns: int = NS_PER_SECOND
    print_qty: int = 40
    """Shares of one trade that clear at least print_touch_pct of the touch; 0: never."""
    print_touch_pct: int = 80
    pull_ns: int = 30 * NS_PER_SECOND
    """Pause of quoting after the last jump."""


class CurfewSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long before an event resolves less is quoted."""

    halve_ns: int = 24 * 3_600 * NS_PER_SECOND
    """Sizes are halved."""
    reduce_ns: int = 3_600 * NS_PER_SECOND
    """Only reductions of inventory are quoted. 0: never, before the very end."""
    stop_ns: int = 0
    """Nothing is quoted; 0: never."""
    exit_ns: int = 0
    """From here to `stop_ns` the inventory is exited; 0: never."""
    exit_max_cost_cents: Cents = Cents(0)
    """What that may cost an event."""


class CalendarEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A date known beforehand; the trading state and the width of quotes from `before_ns` before it
    to `after_ns` after it, the end excluded; and the variance of the value that it brings."""

    at_ns: int
    name: str
    event_ticker: Ticker | None = None
    """The event that it restricts; None for every event of the series."""
    before_ns: int
    after_ns: int
    state: TradingState
    size_divisor: int = 2
    """Of each size, where `state` is REDUCED."""
    width_pct: int = NORMAL_WIDTH_PCT
    """Percent of its distance from the fair value at which a quote rests, at least 100."""
    variance_ns: int = 0
    """The ordinary time that would bring as much variance of the value as the date itself does."""

    @property
    def restricts(self) -> bool:
        """True if less may be quoted around it."""
        return self.state is not TradingState.ACTIVE or self.width_pct > NORMAL_WIDTH_PCT

    def text(self) -> str:
        """For a person: what comes when, and what it does to the quotes and to the variance."""
        does = []
        if self.restricts:
            width = f", width {self.width_pct} %" if self.width_pct > NORMAL_WIDTH_PCT else ""
            span = f"from {second_of(self.from_ns)} until {second_of(self.until_ns)}"
            does.append(f"{self.state}{width} {span}".replace("_", " "))
        if self.variance_ns:
            does.append(f"worth {self.variance_ns // NS_PER_HOUR} hours of variance")
        return f"{self.name} at {second_of(self.at_ns)}: {', '.join(does)}"

    @property
    def from_ns(self) -> int:
        return self.at_ns - self.before_ns

    @property
    def until_ns(self) -> int:
        return self.at_ns + self.after_ns


class BudgetPeriod(enum.StrEnum):
    """How long a loss budget counts."""

    DAY = "day"  # from midnight UTC
    WEEK = "week"  # from midnight UTC of Monday
    SINCE = "since"  # from a date on, without an end


class LossBudgetSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much the account may lose in a period; 0: no such budget. One that is used up kills the
    bot."""

    day_cents: Cents = Cents(0)
    week_cents: Cents = Cents(0)
    since_cents: Cents = Cents(0)
    since: str | None = None
    """When the period of `since_cents` began, RFC 3339."""
    from_high_water: bool = False
    """True: losses count from the highest equity of the period, not from its start."""
    reduced_pct: int = 50
    """Once this part of a budget is used, 1 to 100 %, sizes are divided."""
    reduce_only_pct: int = 80
    """Once this part is used, 1 to 100 %, only inventory is reduced."""
    size_divisor: int = 2
    """Of each size, once `reduced_pct` is used."""


OPERATOR: Final = "operator"
"""The source of the values that `bot value set` states."""


class OutsideSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source of values from outside the venue, and how far it is believed."""

    name: str
    weight: float = 1.0
    """Factor of the precision of its values, 0..1; with 0 they are kept and scored only."""
    max_age_ns: int = 3_600 * NS_PER_SECOND
    """A value expires so long after the instant that it was observed, at the latest."""
    max_deviations: float = 4.0
    """A value so many joint standard deviations from the market is dropped."""

    @property
    def is_polled(self) -> bool:
        """True if a value that expires without a newer one is a fault of the source."""
        return self.name != OPERATOR


class TraderSettings(msgspec.Struct, frozen=True, kw_only=True, rename=JOURNAL_NAMES.get):
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
    calendar: tuple[CalendarEntry, ...] = ()
    loss_budgets: LossBudgetSettings = LossBudgetSettings()
    other_series: tuple[Ticker, ...] = ()
    """Other series of ours on the same account, whose markets pay into the same cash."""
    outside_sources: tuple[OutsideSource, ...] = ()
    """The operator has the default settings where none of these has its name."""
