"""The trader at one instant, for the status page, the metrics and the summary.

Money in cents, times in nanoseconds, prices canonical YES.
"""

import enum
from typing import Final, NamedTuple

import msgspec

from bot.core.distribution import Alarm, Implied
from bot.core.messages import BudgetRaise
from bot.core.outcome_risk import CompanyRisk, OutcomeRisk
from bot.core.settings import BudgetPeriod
from bot.core.trading_state import Restriction, TradingState
from bot.strategy.api import Levels
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, BookSide, Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker

FEED_SILENT_NS: Final = 10 * NS_PER_SECOND
"""No alert is raised for a shorter silence of the channel, though the bot may trust it less."""


class Phase(enum.StrEnum):
    STARTING = "starting"  # reading the account, settling what an earlier run left
    QUOTING = "quoting"
    PAUSED = "paused"
    LATCHED = "latched"  # everything is cancelled, and nothing new until a person clears the latch
    STOPPING = "stopping"
    STOPPED = "stopped"


class Move(enum.StrEnum):
    """A move of the market that an order of ours reacts to."""

    ADVERSE = "adverse"  # the order is bolder than its quotes allow now: it is moved or cancelled
    FAVOURABLE = "favourable"  # the order may be bolder now


class Reaction(NamedTuple):
    """A write that reacts to a move. since_ns: when the frame came that first called for it."""

    move: Move
    since_ns: int


class OrderReport(msgspec.Struct, frozen=True):
    """One order of ours that may be live. may_fill_qty, worst_price: as the limits count it, at the
    worst price of its own outcome. why: of its last request; reason: why it is where it is now.
    ahead_qty: shares of others that are likely to be before it, ahead_at_least and ahead_at_most
    the bounds; None while nothing is known."""

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
    may_fill_qty: Qty = Qty(0)
    worst_price: Price | None = None
    reason: str = ""
    ahead_qty: float | None = None
    ahead_at_least: float | None = None
    ahead_at_most: float | None = None


class RungReport(msgspec.Struct, frozen=True):
    """One rung. bids, asks: of others. blocked: why it cannot be quoted, else empty. book_age_ns:
    since its book was confirmed, None without one and once the market has resolved; nor has it a
    fair value then, or once a winner has decided it. fee_rate: the dearer of maker's and taker's.
    wanted_bids, wanted_asks: what orders are steered to, best first; on_target: the sides where
    that rests, see `bot.core.planning.diff`."""

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
    fee_rate: str = "0"
    wanted_bids: Levels = ()
    wanted_asks: Levels = ()
    on_target: tuple[BookSide, ...] = ()
    sold_per_s: float = 0.0
    """Shares that takers sell into its bids, a second; older trades fade."""
    bought_per_s: float = 0.0
    """The same of purchases from its asks."""


class ExitRungPreview(msgspec.Struct, frozen=True):
    """What an exit can expect of one rung. Shares to be sold, or bought if `net_qty` is below zero;
    costs in cents against the present fair value, fees included, below zero for a gain."""

    ticker: str
    net_qty: int
    """YES less NO shares, to become zero."""
    fair_cents: float | None
    touch: Price | None
    """The best price that crossing would meet; None if there is none."""
    depth_qty: int
    """Shares shown within reach of one order."""
    resting_qty: int
    """Expected to fill at our own prices."""
    resting_cost_cents: float
    crossing_qty: int
    """Expected to be crossed after that, as the book is now."""
    crossing_cost_cents: float
    left_qty: int


class ExitPreview(msgspec.Struct, frozen=True):
    """What an exit can expect of an event, by the books as they are."""

    rungs: tuple[ExitRungPreview, ...]
    cost_cents: float
    left_qty: int
    now_qty: int
    """Shares that crossing everything at once would exit, whatever it costs."""
    now_cost_cents: float

    @property
    def start_qty(self) -> int:
        return sum(abs(rung.net_qty) for rung in self.rungs)


class ExitReport(msgspec.Struct, frozen=True, kw_only=True):
    """An exit of one event, until it is resumed. Shares of all rungs, long or short."""

    began_ns: int
    ends_ns: int
    max_cost_cents: Cents
    reason: str
    stage: str
    over: str
    """Why it has ended, in a word or two; empty while it runs."""
    start_qty: int
    left_qty: int
    cost_cents: int
    """Of the fills so far, rounded up; below zero for a gain."""
    may_cost_cents: int
    """That more at most, by what is live."""
    preview: ExitPreview | None
    """As it began; None before its first look at the books."""

    @property
    def exited_qty(self) -> int:
        return self.start_qty - self.left_qty


class OutsideValueReport(msgspec.Struct, frozen=True, kw_only=True):
    """A value stated from outside about an event, its series or a rung of it.

    unit: `dollars` or `chance`, of value, sd and market. market: what the prices say instead, None
    while that is not compared. unused: why it does not count now, else empty.
    """

    source: str
    about: Ticker
    unit: str
    value: float
    sd: float
    age_ns: int
    left_ns: int
    weight: float
    market: float | None = None
    unused: str = ""

    def text(self) -> str:
        """For a person, on one line."""
        value, sd = value_text(self.value, self.unit), value_text(self.sd, self.unit)
        said = f"{self.source} about {self.about}: {value}, sd {sd}, weight {self.weight:g}"
        age, left = self.age_ns // NS_PER_SECOND, self.left_ns // NS_PER_SECOND
        market = "" if self.market is None else f"; market {value_text(self.market, self.unit)}"
        return f"{said}, {age} s old, {left} s left{market}; {self.unused or 'used'}"


def value_text(value: float, unit: str) -> str:
    """A value from outside for a person: $213.5B, or 42.0%. unit: `dollars` or `chance`."""
    if unit == "chance":
        return f"{100 * value:.1f}%"
    for letter, size in (("T", 1e12), ("B", 1e9), ("M", 1e6)):
        if value >= size:
            return f"${value / size:.4g}{letter}"
    return f"${value:,.2f}"


class EventReport(msgspec.Struct, frozen=True):
    """One event. outcome_cents: profit in each of the n+1 outcomes if nothing more fills, lowest
    outcome first; worst_case_cents: loss (>= 0) in the worst outcome over every subset of fills
    of what may be live. limits: of the event, as the other events leave them. cuts: wanted quotes
    that each limit makes smaller now, or leaves out. strategy_fault: the last fault of its
    strategy, empty after a later valid answer. implied: the value by the fair
    curve and the decided rungs; None while unknown. alarms: impossible or unlikely facts in the
    prices of others and in the curve. restrictions: its own, the strictest first; state: what they
    and those of the series leave. diagnostics: the strategy's own numbers."""

    event_ticker: Ticker
    title: str
    status: str
    resolution_ns: int
    rungs: tuple[RungReport, ...]
    outcome_cents: tuple[Cents, ...]
    worst_case_cents: Cents
    strategy_fault: str = ""
    implied: Implied | None = None
    alarms: tuple[Alarm, ...] = ()
    limits: tuple["BreakerReport", ...] = ()
    cuts: dict[str, int] = {}
    state: TradingState = TradingState.ACTIVE
    restrictions: tuple[Restriction, ...] = ()
    diagnostics: dict[str, float] = {}
    risk: OutcomeRisk | None = None
    """By `chances` and the loss limit of `limits`; None while they are unknown."""
    outside_values: tuple[OutsideValueReport, ...] = ()
    exit: ExitReport | None = None
    """The newest exit, until the event is resumed."""

    @property
    def chances(self) -> tuple[float, ...] | None:
        """Of the outcomes, lowest first: by `implied`, of a binary market by its fair value; None
        while they are unknown."""
        if self.implied is not None:
            return self.implied.chances
        if len(self.rungs) != 1 or self.rungs[0].strike_text or self.rungs[0].fair_cents is None:
            return None
        yes = self.rungs[0].fair_cents / PAYOUT_CENTS
        return (1 - yes, yes)


class BreakerReport(msgspec.Struct, frozen=True):
    """How much of a breaker or limit is used up now, in the unit of its setting's name."""

    name: str
    used: int
    limit: int


class TakeOutcome(enum.StrEnum):
    """The outcome of a take, for the counters. The first three left; the others were dropped."""

    SENT = "sent"
    TRADED = "traded"  # its answer showed a fill
    EMPTY = "empty"  # its answer showed none
    UNQUOTABLE = "unquotable"  # the rung may not be quoted, or its book is in doubt
    UNSETTLED = "unsettled"  # the book is stale: it lacks our last write
    UNDECIDED = "undecided"  # another take there, or an order of its side, has no clear answer
    MEETS_OWN = "meets_own"
    HELD_BACK = "held_back"  # a limit, a cap, a breaker, or no token


class Counters(msgspec.Struct, kw_only=True):
    """Totals since the start. requests: sent, by create, amend, cancel, read. refused: by code.

    breaker_trips: by breaker. beyond_caps: creates and amends held back by the compiled caps.
    news_pulls: times that news pulled all rungs of an event. takes: by `TakeOutcome`.
    strategy_errors: answers that were an exception or nonsense. strategy_answers: the valid ones.
    strategy_overruns: calls that took too long, strategy_interrupted: those ended by force. denied:
    requests that had to wait for a token, by lane, once a decision each. held_back: orders and
    changes, by the limit that held them back as they were to leave.
    """

    frames: int = 0
    frames_garbled: int = 0
    decisions: int = 0
    fills: int = 0
    requests: dict[str, int] = msgspec.field(
        default_factory=lambda: dict.fromkeys(("create", "amend", "cancel", "read"), 0)
    )
    amends_kept_place: int = 0
    amends_lost_place: int = 0
    refused: dict[str, int] = {}
    unknown_answers: int = 0
    self_trades: int = 0
    rate_limited: int = 0
    strategy_errors: int = 0
    strategy_answers: int = 0
    breaker_trips: dict[str, int] = {}
    beyond_caps: int = 0
    news_pulls: int = 0
    takes: dict[str, int] = {}
    strategy_overruns: int = 0
    strategy_interrupted: int = 0
    denied: dict[str, int] = {}
    held_back: dict[str, int] = {}

    @property
    def strategy_failed(self) -> bool:
        """True if the strategy failed from the first to the last decision: nothing was quoted."""
        return self.strategy_errors > 0 and not self.strategy_answers


class Against(enum.StrEnum):
    FAIR = "fair"  # the fair value that we believe in
    MID = "mid"  # the middle of the others' best bid and ask


class MarkoutReport(msgspec.Struct, frozen=True):
    """How far values had moved in favour of fills `horizon_s` after them: the mean in cents a
    share, weighted by shares, and its standard error, None where one stretch of time has them all.
    """

    horizon_s: int
    against: Against
    fills: int
    qty: int
    mean_cents: float
    error_cents: float | None


class FillReport(msgspec.Struct, frozen=True, kw_only=True):
    """One fill of ours, canonical. at_ns: when it could first have been heard of; fair_cents: of a
    YES share then. reason: of the order, without its numbers. markouts_cents: how far the fair
    value had moved in its favour after 1, 10, 60 and 300 s, None where that is not known (yet)."""

    at_ns: int
    ticker: str
    side: BookSide
    price: Price
    qty: Qty
    fee_cents: int
    fair_cents: float
    reason: str
    markouts_cents: tuple[float | None, ...]


class BudgetReport(msgspec.Struct, frozen=True):
    """tokens: requests that may leave at once, at most `burst`; reserve: those that only cancels
    and recovery may use; waits_ns: how long nothing may leave at all."""

    tokens: int
    burst: int
    reserve: int
    rate_per_second: int
    waits_ns: int


class LossBudgetReport(msgspec.Struct, frozen=True, kw_only=True):
    """A loss budget. limit_cents: with what it was raised by. lost_cents: the greatest loss of the
    period so far; loss_now_cents: the loss now, below zero for a profit. high_water_cents: the
    highest equity of the period above that of its start. until_ns: the end of the period, None
    where it has none."""

    period: BudgetPeriod
    limit_cents: Cents
    lost_cents: Cents
    loss_now_cents: Cents
    high_water_cents: Cents
    from_ns: int
    until_ns: int | None
    raises: tuple[BudgetRaise, ...]


class ProfitRow(msgspec.Struct, frozen=True):
    """The profit of some fills: spread + adverse + drift - fees, exactly.

    spread: sign * (fair at the fill - price) * shares. adverse: the move of the fair value in the
    ten seconds after each fill; drift: its move since then, to the payout where the rung has
    resolved. Thousandths of a cent; fees in whole cents.
    """

    name: str
    fills: int
    qty: int
    profit_millicents: int
    spread_millicents: int
    adverse_millicents: int
    drift_millicents: int
    fees_cents: int
    markouts: tuple[MarkoutReport, ...]


class ProfitReport(msgspec.Struct, frozen=True):
    """Where the profit since the opening comes from.

    realised: of shares bought and sold again, at average cost, a pair of YES and NO counted as
    closed; settled: of inventory held to its payout; open: of inventory, at fair. The three less
    the fees are the profit too. difference: what the account of fills and the ledger differ by,
    always 0. unsampled: markouts that were left out for want of a value or of room. by: rung, side,
    level, strategy and reason, and the lean of the book and of the taker flow before the fill; the
    rows of each add up to the total.
    """

    total: ProfitRow
    realised_millicents: int
    settled_millicents: int
    open_millicents: int
    difference_millicents: int
    unsampled: int
    by: dict[str, tuple[ProfitRow, ...]]


class ShadowReport(msgspec.Struct, frozen=True, kw_only=True):
    """The simulated result of a candidate.

    bound: `pessimistic` takes every cancel to be behind us, `expected` where it probably is.
    stopped: why it trades no more, else empty. same: decisions after which its best bid and ask on
    every rung were ours, to a tick. changes: creates, amends and cancels. left_out: quotes that its
    limits cut now. worst_case_max_cents: the most that its events could have lost at once. resting:
    shares.
    """

    name: str
    strategy: str
    bound: str
    stopped: str
    decisions: int
    same: int
    changes: int
    left_out: int
    resting: int
    worst_case_max_cents: Cents
    profit: ProfitReport


class ConfigReport(msgspec.Struct, frozen=True, kw_only=True):
    """number: of the newest change that was applied in this run, 0 before any. digest: hex of the
    content in force, empty where nobody said it. applied, refused, rolled_back: changes since the
    start. fault: why the newest change of the file does not hold; empty when it does.
    """

    number: int = 0
    digest: str = ""
    applied: int = 0
    refused: int = 0
    rolled_back: int = 0
    fault: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All of it.

    flat_ns: how long it would take to cancel everything with the tokens there are; the last answer
    comes a round trip later. foreign_tokens: those that somebody else took from our keys, where
    that is a finding. first_two_sided_ns: when, while quoting, both sides first rested on every
    active rung, None before. pnl_cents: the total of `profit` in whole cents, 0 without one.
    ledger_difference_cents: the venue's cash less ours at the newest audit, None before the books
    are open. transfers_cents: deposits less withdrawals of the run. unallocated_cents: settlements
    of the run that fit no outcome of their event. latched: why nothing is quoted until a person
    clears it, else empty. inconsistency: the kind of contradiction that latched it, else empty.
    restrictions: of the whole series, the strictest first; state: what they leave. fills: the
    newest first. unknown_oldest_ns: age of the oldest order without a definite answer, 0 without
    one. cash_reserved_cents: what the venue last said that resting orders lock. withheld: why no
    new order may leave at all, else empty. fills_from_ns: when the last whole walk of the fills
    began, None before: later fills may be unknown. feed_silent_after_ns: a longer silence of the
    channel raises an alert. paper: True where orders go to a local exchange and not to the venue.
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
    transfers_cents: Cents = Cents(0)
    unallocated_cents: Cents = Cents(0)
    feed_heard_ns: int | None
    findings: tuple[str, ...]
    latched: str = ""
    inconsistency: str = ""
    breakers: tuple[BreakerReport, ...] = ()
    foreign_tokens: int = 0
    profit: ProfitReport | None = None
    shadows: tuple[ShadowReport, ...] = ()
    state: TradingState = TradingState.ACTIVE
    restrictions: tuple[Restriction, ...] = ()
    unknown_oldest_ns: int = 0
    cash_reserved_cents: Cents | None = None
    budget: BudgetReport | None = None
    fills: tuple[FillReport, ...] = ()
    config: ConfigReport = ConfigReport()
    withheld: str = ""
    fills_from_ns: int | None = None
    feed_silent_after_ns: int = FEED_SILENT_NS
    paper: bool = False
    loss_budgets: tuple[LossBudgetReport, ...] = ()
    companies: tuple[CompanyRisk, ...] = ()
    """Those of the series with several events."""
    ticks_through: int = 0
    """How far a create may reach through the best price of others."""
