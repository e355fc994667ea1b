"""Every key of the configuration file: one row with default, bounds, meaning, and when it applies.
docs/configuration.md, configs/schema.json and validation are made from these rows."""

import enum
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from bot.core.risk.breakers import ORDER_NOTIONAL_CENTS_CAP, ORDER_QTY_CAP, TICKS_THROUGH_CAP
from bot.core.settings import (
    OPERATOR,
    SHADOW_LATENCY_NS,
    BreakerSettings,
    BudgetSettings,
    CurfewSettings,
    LossBudgetSettings,
    NewsSettings,
    OutsideSource,
    PaceSettings,
    RiskSettings,
    StalenessSettings,
    StartSettings,
    Strangers,
)
from bot.core.trading_state import NORMAL_WIDTH_PCT
from bot.io.adapter import BUILT_IN
from bot.io.notices import Form, What
from bot.strategy.variants import BLOCK_NS, Split
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.limits import NOTIONAL_CENTS_MAX, QTY_MAX, RATE_BURST, RATE_PER_SECOND
from venue.wire.money import Cents, Qty

LIVE: Final = "live"
"""A running bot takes a change of the key over."""

RESTART: Final = "restart"
"""A change of the key holds from the next start."""


class Part(BaseModel):
    """A section of the file. Its keys take a restart unless it or the key says otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    applies: ClassVar[str] = RESTART


class LivePart(Part):
    """A section whose keys are live."""

    applies: ClassVar[str] = LIVE


def key(default: Any, about: str, *, was: str = "", applies: str = "", **bounds: Any) -> Any:
    """One row. default: `...` for a key that must be given. was: its name before this version,
    which is accepted with a warning. applies: LIVE or RESTART where it differs from its section."""
    extra: JsonDict = {name: value for name, value in (("was", was), ("applies", applies)) if value}
    return Field(default, description=about or None, json_schema_extra=extra or None, **bounds)


def _ms(default_ns: int, about: str, **options: Any) -> Any:
    return key(default_ns // NS_PER_MS, about, **options)


def _extra(field: FieldInfo, name: str) -> str:
    extra = field.json_schema_extra
    return str(extra.get(name, "")) if isinstance(extra, dict) else ""


def applies_of(model: type[BaseModel], field: FieldInfo) -> str:
    return _extra(field, "applies") or str(getattr(model, "applies", RESTART))


def former_name(field: FieldInfo) -> str:
    """The name of a key before this version; empty if that was the same."""
    return _extra(field, "was")


def section_of(field: FieldInfo) -> type[BaseModel] | None:
    for each in (field.annotation, *getattr(field.annotation, "__args__", ())):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


_RISK: Final = RiskSettings(series_loss_cents=Cents(1), rung_position_qty=Qty(1), order_qty=Qty(1))
_THROTTLE: Final = PaceSettings()
_BUDGET: Final = BudgetSettings()
_STALENESS: Final = StalenessSettings()
_JUMP_GUARD: Final = NewsSettings()
_WIND_DOWN: Final = CurfewSettings()
_BREAKERS: Final = BreakerSettings()
_BUDGETS: Final = LossBudgetSettings()
_SOURCE: Final = OutsideSource(name=OPERATOR)

_PULL_MS_MAX: Final = 3_600_000
_DAY_MS: Final = 86_400_000
_YEAR_MS: Final = 366 * _DAY_MS

Loss = Annotated[int, Field(ge=1, le=NOTIONAL_CENTS_MAX)]
LossOrNone = Annotated[int, Field(ge=0, le=NOTIONAL_CENTS_MAX)]
Shares = Annotated[int, Field(ge=1, le=QTY_MAX)]
SharesOrNone = Annotated[int, Field(ge=0, le=QTY_MAX)]
Milliseconds = Annotated[int, Field(ge=1, le=600_000)]
UntilEnd = Annotated[int, Field(ge=0, le=30 * _DAY_MS)]
Millicents = Annotated[int, Field(ge=0, le=10_000)]
Rate = Annotated[int, Field(ge=1, le=RATE_PER_SECOND)]
Requests = Annotated[int, Field(ge=1, le=RATE_BURST)]
Percent = Annotated[int, Field(ge=1, le=100)]
PerMinute = Annotated[int, Field(ge=0, le=100_000)]


class Venue(Part):
    """The venue and its keys: exactly one of embedded and base_url."""

    embedded: str | None = key(None, "a path of a venue's YAML")
    base_url: str | None = key(None, "an address that ends in /v1")
    stream_url: str | None = key(None, "a ws or wss address")
    adapter: str = key(
        BUILT_IN, "the adapter that speaks to the venue; others come with installed packages"
    )
    key_file: str | None = key(None, "a file that holds the key")
    key_name: str | None = key(None, "which key of a JSON file of several")
    key_env: str | None = key(None, "an environment variable that holds it")
    read_key_file: str | None = key(None, "a file with a key for reads")
    read_key_name: str | None = key(None, "which key of a JSON file of several")
    read_key_env: str | None = key(None, "an environment variable that holds it")
    standby_key_file: str | None = key(
        None, "a file with a key for cancels, if the venue refuses the first"
    )
    standby_key_name: str | None = key(None, "which key of a JSON file of several")


class VariantPart(LivePart):
    """Another strategy, or other parameters, for some rungs (docs/strategies.md#variants)."""

    name: str = key(
        ..., "a short name of small letters, digits, - and _, for the attribution of profit"
    )
    strategy: str | None = key(None, "as strategy.name; default: that of the series")
    params: dict[str, Any] = Field(
        default_factory=dict,
        description="as strategy.params; of the series' own strategy those that differ",
    )
    events: tuple[str, ...] = key((), "event tickers, * for any letters; default: every event")
    rungs: tuple[str, ...] = key(
        (), "rung tickers, or their ends after the event's, * for any letters; default: every rung"
    )
    split: Split = key(
        Split.NONE,
        "`time` or `rungs`: it holds on half of the blocks of time, or in each block on half of "
        "the rungs, for comparison with the series' own by `bot compare`",
    )
    block_ms: int = _ms(BLOCK_NS, "length of a block", ge=1_000, le=7 * _DAY_MS)
    seed: int = key(0, "of the draws which half comes first", ge=0, le=1_000_000_000)


class StrategyPart(LivePart):
    """The strategy that decides the quotes, and its parameters."""

    name: str = key(..., "a strategy's name, package.module:Class or ./file.py:Class")
    params: dict[str, Any] = Field(
        default_factory=dict, description="its parameters, listed by `bot strategies NAME`"
    )
    budget_ms: int = key(50, "processor time of one call", applies=RESTART, ge=1, le=10_000)
    variants: tuple[VariantPart, ...] = key(
        (), "other settings for some rungs; the first that holds on a rung quotes it"
    )


class ShadowPart(Part):
    """A candidate that runs with the live strategy and trades nothing."""

    name: str = key(..., "a short name of small letters, digits, - and _")
    strategy: str = key(..., "as strategy.name")
    params: dict[str, Any] = Field(default_factory=dict, description="as strategy.params")
    latency_ms: int = _ms(SHADOW_LATENCY_NS, "latency of its simulated requests", ge=0, le=5_000)


class Risk(LivePart):
    """Hard limits on everything that may be live, unknown orders at full size."""

    event_loss_cents: Loss = key(
        _RISK.event_loss_cents, "worst loss over the outcomes of an event, whatever fills"
    )
    series_loss_cents: Loss = key(..., "sum of the events' worst losses, without gains")
    account_loss_cents: LossOrNone = key(
        _RISK.account_loss_cents,
        "the same over all series of one process; 0: no such limit",
    )
    rung_position_qty: Shares = key(
        ..., "inventory of a rung, YES less NO shares, either sign, if every live order filled"
    )
    order_qty: Shares = key(..., f"largest single order; compiled cap {ORDER_QTY_CAP:,}")
    event_net_qty: SharesOrNone = key(
        _RISK.event_net_qty,
        "the same of all rungs of an event together, if every live bid or every live ask filled; "
        "0: ten times rung_position_qty",
    )
    event_gross_qty: SharesOrNone = key(
        _RISK.event_gross_qty,
        "sum of the rungs' inventories without sign; 0: twenty times rung_position_qty",
    )
    event_gross_cents: LossOrNone = key(
        _RISK.event_gross_cents,
        "exposure of an event if each rung went its worse way; 0: ten times event_loss_cents",
    )
    resting_cents: LossOrNone = key(
        _RISK.resting_cents,
        "loss if all live orders of the series filled; 0: ten times series_loss_cents",
    )
    event_correlation: float = key(
        _RISK.event_correlation,
        "correlation of the events of one company in the risk that is shown (expected shortfall); "
        "no limit uses it",
        ge=0,
        le=1,
    )
    resting_orders: Requests = key(
        _RISK.resting_orders,
        "orders that may be live at once; also sets the breakers of writes, creates and fills. If "
        "too few for all rungs, a side without orders comes first",
    )
    flat_ms: Milliseconds = _ms(
        _RISK.flat_ns,
        "longest time to cancel everything with the present tokens; else no create leaves",
    )


class Throttle(LivePart):
    """How often and how far quotes move towards their targets."""

    decide_ms: Milliseconds = _ms(
        _THROTTLE.decide_ns,
        "shortest time between two decisions of an event; a fill, and a move of others' mid "
        "against an order of ours, do not wait",
    )
    dwell_ms: Milliseconds = _ms(
        _THROTTLE.dwell_ns,
        "time after its last write before an order moves toward the touch, and that a bolder quote "
        "has to last",
    )
    tolerance_ticks: int = key(
        _THROTTLE.tolerance_ticks,
        "an order this far on the safe side of its target keeps its place",
        ge=0,
        le=20,
    )
    resize_pct: int = key(
        _THROTTLE.resize_pct,
        "share of its target size by which a level is off before it is resized",
        ge=0,
        le=100,
    )
    orders_per_level_max: int = key(
        _THROTTLE.orders_per_level_max,
        "most orders of ours at one price by one route",
        was="siblings",
        ge=1,
        le=20,
    )
    requests_in_flight: Requests = key(
        _THROTTLE.requests_in_flight, "most writes in flight", applies=RESTART
    )
    queue_power_pct: int = key(
        _THROTTLE.queue_power_pct,
        "exponent, times 100: how strongly cancels fall on the longer part of a queue",
        applies=RESTART,
        ge=0,
        le=1_000,
    )
    place_horizon_ms: Milliseconds = _ms(
        _THROTTLE.place_horizon_ns,
        "horizon of expected fills in the value of a queue position",
    )
    move_millicents: Millicents = key(
        _THROTTLE.move_millicents,
        "gain per share that moving a quote needs",
    )
    capital_millicents: Millicents = key(
        _THROTTLE.capital_millicents, "cost a day of a tied-up dollar"
    )
    market_writes_per_second: Rate = key(
        _THROTTLE.market_writes_per_second,
        "creates and amends of one market; cancels count and always pass",
    )
    market_writes_burst: Requests = key(_THROTTLE.market_writes_burst, "the same, at once")
    writes_per_second: Rate = key(_THROTTLE.writes_per_second, "the same of all markets")
    writes_burst: Requests = key(_THROTTLE.writes_burst, "the same, at once")


class Budget(Part):
    """The bot's own rate limit, a token bucket below the venue's."""

    rate_per_second: Rate = key(
        _BUDGET.rate_per_second,
        f"tokens a second; the venue's: {RATE_PER_SECOND}",
    )
    burst: Requests = key(_BUDGET.burst, f"size of the bucket; the venue's: {RATE_BURST}")
    reserve: Requests = key(_BUDGET.reserve, "tokens that only cancels and recovery may use")


class Staleness(Part):
    """When data is too stale to quote on, and how often it is polled."""

    feed_silence_ms: Milliseconds = _ms(
        _STALENESS.feed_silence_ns, "longest silence of the channel", was="heard_ms"
    )
    book_ms: Milliseconds = _ms(
        _STALENESS.book_ns, "age of its confirmation from which a book is stale"
    )
    recheck_ms: Milliseconds = _ms(_STALENESS.recheck_ns, "age at which a book is read")
    read_lag_ms: Milliseconds = _ms(_STALENESS.read_lag_ns, "longest lag of a read behind a write")
    poll_orders_ms: Milliseconds = _ms(
        _STALENESS.poll_orders_ns, "between reads of resting orders and fills", was="sweep_ms"
    )
    poll_orders_fast_ms: Milliseconds = _ms(
        _STALENESS.poll_orders_fast_ns,
        "the same while an order may have filled or is unknown, or the channel is silent",
        was="suspect_sweep_ms",
    )
    poll_account_ms: Milliseconds = _ms(
        _STALENESS.poll_account_ns,
        "between reads of positions, balance and the series",
        was="audit_ms",
    )
    poll_quiet_ms: Annotated[int, Field(ge=0, le=600_000)] = _ms(
        20 * NS_PER_SECOND,
        "between reads of all but the series while nothing of ours may have changed (no print at "
        "our price, no shrunk level, no write, no alert); 0: as otherwise",
    )
    resend_ms: Milliseconds = _ms(_STALENESS.resend_ns, "between retries of one unknown order")
    refused_resend_ms: Milliseconds = _ms(
        _STALENESS.refused_resend_ns,
        "the same after a rejected retry, with backoff",
    )
    gap_ms: Annotated[int, Field(ge=150, le=600_000)] = _ms(
        _STALENESS.gap_ns,
        "a pause of the process after which every book is stale until confirmed",
    )
    lag_ms: Milliseconds = _ms(
        _STALENESS.lag_ns, "rise of the channel's latency above its usual one"
    )
    empty_book_grace_ms: Milliseconds = _ms(
        _STALENESS.empty_book_grace_ns,
        "how long an emptied book is not used",
        was="emptied_ms",
    )
    unread_ms: Milliseconds = _ms(
        _STALENESS.unread_ns,
        "longest time without a read of orders, fills, positions or balance before quoting stops",
    )


class Start(Part):
    """How a run begins."""

    unknown_orders: Strangers = key(
        StartSettings().strangers,
        "resting orders that a start finds in our rungs (docs/operations.md)",
        was="strangers",
    )


class JumpGuard(LivePart):
    """A jump or a large trade pulls all rungs of an event. 0 cents or shares: never."""

    jump_cents: int = key(
        _JUMP_GUARD.jump_cents,
        "average move, the same way, of both sides of the others' touch of a rung",
        ge=0,
        le=98,
    )
    jump_ms: int = _ms(_JUMP_GUARD.jump_ns, "within this time", ge=1, le=_PULL_MS_MAX)
    print_qty: int = key(
        _JUMP_GUARD.print_qty,
        "shares of one trade that clears a rung's touch",
        ge=0,
        le=QTY_MAX,
    )
    print_touch_pct: int = key(
        _JUMP_GUARD.print_touch_pct, "part of the touch that counts as cleared", ge=1, le=100
    )
    pull_ms: int = _ms(
        _JUMP_GUARD.pull_ns,
        "time without quotes after the last jump or large trade",
        ge=1,
        le=_PULL_MS_MAX,
    )


class WindDown(LivePart):
    """Stages before an event resolves. 0: never; `reduce_ms` 0: at the very end."""

    halve_ms: UntilEnd = _ms(
        _WIND_DOWN.halve_ns,
        "from this long before an event resolves sizes are halved",
    )
    reduce_ms: UntilEnd = _ms(
        _WIND_DOWN.reduce_ns,
        "from here on only quotes that reduce inventory",
    )
    stop_ms: UntilEnd = _ms(
        _WIND_DOWN.stop_ns,
        "from here on no quotes",
    )
    exit_ms: UntilEnd = _ms(
        _WIND_DOWN.exit_ns,
        "from here until `stop_ms` inventory is exited (docs/operations.md#exit)",
    )
    exit_max_cost_cents: LossOrNone = key(
        _WIND_DOWN.exit_max_cost_cents, "what that may cost an event"
    )


class CalendarState(enum.StrEnum):
    """What may be quoted around a date: everything, smaller sizes, only what reduces inventory,
    nothing."""

    ACTIVE = "active"
    REDUCED = "reduced"
    REDUCE_ONLY = "reduce_only"
    HALTED = "halted"


class CalendarPart(LivePart):
    """A list of dates known beforehand, such as results, around which events are restricted
    (docs/operations.md#calendar)."""

    at: str | None = key(None, "an instant of RFC 3339, such as 2027-01-28T21:00:00Z")
    name: str | None = key(None, "what is expected then, in a few words; must be given with `at`")
    file: str | None = key(
        None, "instead of `at` and `name`: an .ics file, whose events are entries like this one"
    )
    event: str | None = key(None, "the ticker of one event; default: every event of the series")
    before_ms: UntilEnd = key(7_200_000, "from this long before it on")
    after_ms: UntilEnd = key(1_800_000, "until this long after it")
    state: CalendarState = key(
        CalendarState.HALTED, "what may be quoted: docs/operations.md#trading-states"
    )
    size_divisor: int = key(2, "of each size, in state `reduced`", ge=2, le=1_000)
    width_pct: int = key(
        NORMAL_WIDTH_PCT,
        "percent of its distance from the fair value at which each quote rests",
        ge=NORMAL_WIDTH_PCT,
        le=10_000,
    )
    variance_hours: int = key(
        0, "hours of ordinary time that bring as much variance as the date does", ge=0, le=87_600
    )


class LossBudgets(LivePart):
    """How much the account may lose in a period, over all its runs
    (docs/operations.md#loss-budgets)."""

    day_cents: LossOrNone = key(_BUDGETS.day_cents, "from midnight UTC on; 0: no such budget")
    week_cents: LossOrNone = key(_BUDGETS.week_cents, "from midnight UTC of Monday on; 0: none")
    since_cents: LossOrNone = key(_BUDGETS.since_cents, "since the date of `since`; 0: none")
    since: str | None = key(
        _BUDGETS.since, "an instant of RFC 3339, such as 2026-11-01T00:00:00Z; with since_cents"
    )
    from_high_water: bool = key(
        _BUDGETS.from_high_water,
        "losses count from the highest equity of the period, not from its start",
    )
    reduced_pct: Percent = key(
        _BUDGETS.reduced_pct, "once so much of a budget is used, sizes are divided"
    )
    reduce_only_pct: Percent = key(
        _BUDGETS.reduce_only_pct, "once so much is used, only inventory is reduced"
    )
    size_divisor: int = key(_BUDGETS.size_divisor, "of each size, then", ge=2, le=1_000)


class OutsideSourcePart(LivePart):
    """Values from outside that move the fair value (docs/operations.md#outside-values)."""

    name: str = key(
        ...,
        "a short name of small letters, digits, - and _; `operator` is the source of "
        "`bot value set` and has neither file nor url",
        applies=RESTART,
    )
    file: str | None = key(None, "a JSON file", applies=RESTART)
    url: str | None = key(None, "instead of `file`: an address that answers so", applies=RESTART)
    poll_ms: Annotated[int, Field(ge=100, le=3_600_000)] = key(
        1_000, "between two reads", applies=RESTART
    )
    weight: float = key(_SOURCE.weight, "factor of the precision of its values", ge=0, le=1)
    max_age_ms: int = _ms(_SOURCE.max_age_ns, "age at which its values expire", ge=1, le=_YEAR_MS)
    max_deviations: float = key(
        _SOURCE.max_deviations,
        "joint standard deviations from the market beyond which a value is dropped",
        ge=0.1,
        le=1_000,
    )


class FairValuePart(LivePart):
    """The fair value."""

    sources: tuple[OutsideSourcePart, ...] = key((), "values from outside that move it")


class Breakers(LivePart):
    """Circuit breakers, and the caps on one order."""

    writes_per_second: PerMinute = key(
        _BREAKERS.writes_per_second,
        "creates, amends and cancels of own orders in any second; 0: three times "
        "risk.resting_orders, at least 60",
    )
    creates_per_minute: PerMinute = key(
        _BREAKERS.creates_per_minute,
        "first creates in any minute; 0: the same",
    )
    notional_cents_per_minute: LossOrNone = key(
        _BREAKERS.notional_cents_per_minute,
        "their notional; 0: payout of risk.resting_orders, at least 20, of risk.order_qty",
    )
    fills_per_minute: PerMinute = key(
        _BREAKERS.fills_per_minute,
        "fills booked in any minute; 0: as writes_per_second",
    )
    filled_qty_per_minute: SharesOrNone = key(
        _BREAKERS.filled_qty_per_minute,
        "their shares; 0: risk.resting_orders, at least 20, times risk.order_qty",
    )
    loss_cents: LossOrNone = key(
        _BREAKERS.loss_cents,
        "profit below that at the opening of the books; 0: risk.series_loss_cents",
    )
    drawdown_cents: LossOrNone = key(
        _BREAKERS.drawdown_cents,
        "profit below its highest since; 0: twice risk.series_loss_cents",
    )
    rejects_per_minute: int = key(
        _BREAKERS.rejects_per_minute,
        "invalid-request rejects in any minute; insufficient funds, market state and rate limits "
        "are not counted",
        ge=1,
        le=100_000,
    )
    unknown_age_ms: int = _ms(
        _BREAKERS.unknown_age_ns,
        "age of the oldest write without a definite answer",
        ge=1_000,
        le=_DAY_MS,
    )
    order_notional_cents: LossOrNone = key(
        _BREAKERS.order_notional_cents,
        "notional of one create; 0: payout of risk.order_qty; "
        f"compiled cap {ORDER_NOTIONAL_CENTS_CAP:,}",
    )
    ticks_through: int = key(
        _BREAKERS.ticks_through,
        f"how far a price may reach through the others' best; compiled cap {TICKS_THROUGH_CAP}",
        ge=0,
        le=98,
    )


class Status(Part):
    """Where the status page answers."""

    host: str = key("127.0.0.1", "an address to listen on")
    port: int = key(8090, "0 takes a free one", ge=0, le=65_535)
    allowed_hosts: tuple[str, ...] = key((), "accepted Host headers besides loopback's")
    control: bool = key(
        False,
        "allows pause, resume, flatten, exit, cancel-all and reset there, with a token",
    )


class State(Part):
    """Place of journal, lock and logs, and size of the journal kept."""

    dir: str | None = key(None, "a path of a directory")
    journal_segment_mb: int = key(64, "size of a segment of the journal", ge=1, le=1_024)
    journal_segments_kept: int = key(
        8,
        "size of the journal kept, in full segments; archives take about a fortieth",
        ge=2,
        le=1_000,
    )


class Records(Part):
    """Records of fills and profit, in a SQLite file or in PostgreSQL."""

    keep: bool = key(True, "false keeps none")
    file: str | None = key(None, "a SQLite file; default: records.sqlite3 in the state directory")
    postgres_url: str | None = key(None, "an address: postgresql://user@host:5432/database")
    postgres_password_file: str | None = key(None, "a file that holds the password")
    postgres_password_env: str | None = key(None, "an environment variable that holds it")
    postgres_ca_file: str | None = key(None, "the certificate that signs the server's")
    keep_days: int = key(400, "days after which records are deleted", ge=2, le=36_500)


class NoticePart(Part):
    """Webhooks: docs/notices.md."""

    url_file: str | None = key(None, "a file that holds the address")
    url_env: str | None = key(None, "an environment variable that holds it")
    form: Form = key(Form.JSON, "format: `json`, or `slack` for Slack and similar")
    events: tuple[What, ...] = key(tuple(What), "events that it gets")
    per_minute: int = key(6, "rate limit, and burst", ge=1, le=60)
    repeat_s: int = key(900, "shortest time between equal notices", ge=0, le=86_400)


class Reaper(Part):
    """The key of `bot reaper`: a second one of the account, scopes read and trade."""

    key_file: str | None = key(None, "a file that holds the reaper's key")
    key_name: str | None = key(None, "which key of a JSON file of several")
    key_env: str | None = key(None, "an environment variable that holds it")
    after_ms: int = key(10_000, "silence of the bot after which it acts", ge=1_000, le=600_000)


class PaperQueue(enum.StrEnum):
    """Which shares of a queue were cancelled, where only sizes are seen: those behind us, some of
    either, those before us."""

    PESSIMISTIC = "pessimistic"
    EXPECTED = "expected"
    OPTIMISTIC = "optimistic"


class Paper(Part):
    """Settings of `bot run --paper`, whose orders never reach the venue."""

    cash_cents: Loss = key(10_000_000, "starting cash of a new paper account")
    queue_model: PaperQueue = key(
        PaperQueue.PESSIMISTIC, "how others' cancels move an order up in its queue"
    )
    latency_ms: int | None = key(
        None,
        "round-trip latency of a paper order; default: that of the newest read",
        ge=0,
        le=10_000,
    )
    key_file: str | None = key(
        None,
        "a file with a key of scope read; default: the venue's read key, or its key",
    )
    key_name: str | None = key(None, "which key of a JSON file of several")
    key_env: str | None = key(None, "an environment variable that holds it")


class File(Part):
    """The whole file."""

    name: str | None = key(None, "a short name of small letters, digits, - and _")
    series: str = key(..., "a series ticker")
    venue: Venue
    strategy: StrategyPart
    shadow: tuple[ShadowPart, ...] = key((), "candidates that run in the shadow")
    risk: Risk
    throttle: Throttle = key(Throttle(), "", was="pace")
    budget: Budget = Budget()
    staleness: Staleness = key(Staleness(), "", was="trust")
    start: Start = Start()
    jump_guard: JumpGuard = key(JumpGuard(), "", was="news")
    wind_down: WindDown = key(WindDown(), "", was="curfew")
    calendar: tuple[CalendarPart, ...] = key(
        (), "dates around which events are restricted", applies=LIVE
    )
    fair_value: FairValuePart = FairValuePart()
    breakers: Breakers = Breakers()
    loss_budgets: LossBudgets = LossBudgets()
    status: Status = Status()
    state: State = State()
    records: Records = Records()
    notices: tuple[NoticePart, ...] = key((), "webhooks that get notices of what happens")
    reaper: Reaper | None = None
    paper: Paper = Paper()


SETTINGS_OF: Final = {
    "risk": "risk",
    "throttle": "pace",
    "budget": "budget",
    "staleness": "staleness",
    "start": "start",
    "jump_guard": "news",
    "wind_down": "curfew",
    "breakers": "breakers",
    "loss_budgets": "loss_budgets",
}
"""The field of `TraderSettings` that a section turns into."""


def field_of(key: str) -> str:
    """The field of the trader's settings for a key: `dwell_ns` for `dwell_ms`."""
    if key == "unknown_orders":
        return "strangers"
    return f"{key[:-3]}_ns" if key.endswith("_ms") else key


def key_of_field(field: str) -> str:
    if field == "strangers":
        return "unknown_orders"
    return f"{field[:-3]}_ms" if field.endswith("_ns") else field
