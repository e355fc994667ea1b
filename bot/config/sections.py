"""Every key of the configuration file: one row with default, bounds, meaning, and when it applies.
docs/configuration.md, configs/schema.json and validation are made from these rows."""

import enum
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from bot.core.risk.breakers import ORDER_NOTIONAL_CENTS_CAP, ORDER_QTY_CAP, TICKS_THROUGH_CAP
from bot.core.settings import (
    SHADOW_LATENCY_NS,
    BreakerSettings,
    BudgetSettings,
    CurfewSettings,
    NewsSettings,
    PaceSettings,
    RiskSettings,
    StalenessSettings,
    StartSettings,
    Strangers,
)
from bot.io.notices import Form, What
from venue.wire.instant import NS_PER_MS
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

_PULL_MS_MAX: Final = 3_600_000
_DAY_MS: Final = 86_400_000

Loss = Annotated[int, Field(ge=1, le=NOTIONAL_CENTS_MAX)]
LossOrNone = Annotated[int, Field(ge=0, le=NOTIONAL_CENTS_MAX)]
Shares = Annotated[int, Field(ge=1, le=QTY_MAX)]
SharesOrNone = Annotated[int, Field(ge=0, le=QTY_MAX)]
Milliseconds = Annotated[int, Field(ge=1, le=600_000)]
UntilEnd = Annotated[int, Field(ge=0, le=30 * _DAY_MS)]
Millicents = Annotated[int, Field(ge=0, le=10_000)]
Rate = Annotated[int, Field(ge=1, le=RATE_PER_SECOND)]
Requests = Annotated[int, Field(ge=1, le=RATE_BURST)]
PerMinute = Annotated[int, Field(ge=0, le=100_000)]


class Venue(Part):
    """Which venue to trade on, and with which keys: exactly one of embedded and base_url."""

    embedded: str | None = key(None, "a path of a venue's YAML")
    base_url: str | None = key(None, "an address that ends in /v1")
    stream_url: str | None = key(None, "a ws or wss address")
    key_file: str | None = key(None, "a path of a file that holds the key")
    key_name: str | None = key(None, "the key's name, where key_file is JSON of keys")
    key_env: str | None = key(None, "the name of an environment variable")
    read_key_file: str | None = key(None, "a path of a file with a key for reads")
    read_key_name: str | None = key(None, "the key's name, where that is JSON")
    read_key_env: str | None = key(None, "the name of an environment variable")
    standby_key_file: str | None = key(None, "a path of a file with a spare key")
    standby_key_name: str | None = key(None, "the key's name, where that is JSON")


class StrategyPart(LivePart):
    """The strategy that decides the quotes, and its parameters."""

    name: str = key(..., "a strategy's name, package.module:Class or ./file.py:Class")
    params: dict[str, Any] = Field(
        default_factory=dict, description="its parameters, listed by `bot strategies NAME`"
    )
    budget_ms: int = key(
        50, "processor time that one call of it may take", applies=RESTART, ge=1, le=10_000
    )


class ShadowPart(Part):
    """A candidate that runs with the live strategy and trades nothing."""

    name: str = key(..., "a short name of small letters, digits, - and _")
    strategy: str = key(..., "as strategy.name")
    params: dict[str, Any] = Field(default_factory=dict, description="as strategy.params")
    latency_ms: int = _ms(
        SHADOW_LATENCY_NS, "latency of its requests to the simulated exchange", ge=0, le=5_000
    )


class Risk(LivePart):
    """Hard limits: everything that may be live counts, unknown orders at their full size."""

    event_loss_cents: Loss = key(
        _RISK.event_loss_cents, "worst loss over the outcomes of an event, whatever fills"
    )
    series_loss_cents: Loss = key(
        ..., "sum of the events' worst losses; gains of one are not set against losses of another"
    )
    account_loss_cents: LossOrNone = key(
        _RISK.account_loss_cents,
        "the same over all series of one process on the account; 0: only the series' own limits",
    )
    rung_position_qty: Shares = key(
        ..., "inventory: YES less NO shares of a rung, either sign, if every live order filled"
    )
    order_qty: Shares = key(..., f"largest single order; compiled cap {ORDER_QTY_CAP:,}")
    event_net_qty: SharesOrNone = key(
        _RISK.event_net_qty,
        "inventory of all rungs of an event together, either sign, if every live bid or every "
        "live ask filled; 0: ten times rung_position_qty",
    )
    event_gross_qty: SharesOrNone = key(
        _RISK.event_gross_qty,
        "sum of the rungs' inventories without sign; 0: twenty times rung_position_qty",
    )
    event_gross_cents: LossOrNone = key(
        _RISK.event_gross_cents,
        "exposure of an event if each rung went its worse way, as if they were no ladder; 0: ten "
        "times event_loss_cents",
    )
    resting_cents: LossOrNone = key(
        _RISK.resting_cents,
        "loss if all live orders of the series filled, both sides added up; 0: ten times "
        "series_loss_cents",
    )
    resting_orders: Requests = key(
        _RISK.resting_orders,
        "orders that may be live at once; bounds the time to flat and sets the breakers of "
        "writes, creates and fills. If too few for all rungs, a side without orders comes first, "
        "and the breakers trip sooner",
    )
    flat_ms: Milliseconds = _ms(
        _RISK.flat_ns,
        "no create leaves that would make cancelling everything, with the present tokens, take "
        "longer",
    )


class Throttle(LivePart):
    """How often and how far quotes are moved towards their targets."""

    decide_ms: Milliseconds = _ms(
        _THROTTLE.decide_ns,
        "shortest time between two decisions of an event; jumps and emptied books are seen only "
        "then",
    )
    dwell_ms: Milliseconds = _ms(
        _THROTTLE.dwell_ns,
        "so long after its last write an order is not moved toward the touch, and so long a bolder "
        "quote has to last; a step back never waits for it",
    )
    tolerance_ticks: int = key(
        _THROTTLE.tolerance_ticks,
        "an order this far on the safe side of its target price keeps its place",
        ge=0,
        le=20,
    )
    resize_pct: int = key(
        _THROTTLE.resize_pct,
        "a level is resized when it is off by this share of its target size",
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
        "exponent of the queue estimate, times 100: how strongly cancels fall on the longer part "
        "of a queue",
        applies=RESTART,
        ge=0,
        le=1_000,
    )
    place_horizon_ms: Milliseconds = _ms(
        _THROTTLE.place_horizon_ns,
        "horizon of expected fills when a queue position is valued",
    )
    move_millicents: Millicents = key(
        _THROTTLE.move_millicents,
        "thousandths of a cent per share that moving a quote must gain",
    )
    capital_millicents: Millicents = key(
        _THROTTLE.capital_millicents, "thousandths of a cent a day that a tied-up dollar costs"
    )
    market_writes_per_second: Rate = key(
        _THROTTLE.market_writes_per_second,
        "creates and amends of one market, in the long run; cancels count and always pass",
    )
    market_writes_burst: Requests = key(_THROTTLE.market_writes_burst, "the same, at once")
    writes_per_second: Rate = key(
        _THROTTLE.writes_per_second, "creates and amends of all markets, in the long run"
    )
    writes_burst: Requests = key(_THROTTLE.writes_burst, "the same, at once")


class Budget(Part):
    """The bot's own rate limit, a token bucket below the venue's."""

    rate_per_second: Rate = key(
        _BUDGET.rate_per_second,
        f"tokens a second of the bot's own bucket; the venue's is {RATE_PER_SECOND}",
    )
    burst: Requests = key(
        _BUDGET.burst, f"size of the bot's own bucket; the venue's is {RATE_BURST}"
    )
    reserve: Requests = key(_BUDGET.reserve, "tokens that only cancels and recovery may use")


class Staleness(Part):
    """When data is too stale to quote on, and how often it is polled."""

    feed_silence_ms: Milliseconds = _ms(
        _STALENESS.feed_silence_ns, "longest silence of the channel", was="heard_ms"
    )
    book_ms: Milliseconds = _ms(
        _STALENESS.book_ns, "age of a book's confirmation from which it is stale"
    )
    recheck_ms: Milliseconds = _ms(_STALENESS.recheck_ns, "age at which a book is read again")
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
    resend_ms: Milliseconds = _ms(_STALENESS.resend_ns, "between retries of one unknown order")
    refused_resend_ms: Milliseconds = _ms(
        _STALENESS.refused_resend_ns,
        "the same after a rejected retry; backoff up to unread_ms or four times this",
    )
    gap_ms: Annotated[int, Field(ge=150, le=600_000)] = _ms(
        _STALENESS.gap_ns,
        "a pause of the process after which every book is stale until confirmed; an idle process "
        "ticks every 100 ms",
    )
    lag_ms: Milliseconds = _ms(
        _STALENESS.lag_ns, "how far the channel's latency may rise above its usual one"
    )
    empty_book_grace_ms: Milliseconds = _ms(
        _STALENESS.empty_book_grace_ns,
        "how long an emptied book is not used",
        was="emptied_ms",
    )
    unread_ms: Milliseconds = _ms(
        _STALENESS.unread_ns,
        "longest time without a read of orders, fills, positions or balance before quoting stops;"
        " at least twelve of their periods",
    )


class Start(Part):
    """How a run begins."""

    unknown_orders: Strangers = key(
        StartSettings().strangers,
        "resting orders in our rungs at the start: `cancel` all; `adopt` ours by the journal, "
        "with their queue position, and cancel the others; `refuse` to quote if the journal lacks"
        " one",
        was="strangers",
    )


class JumpGuard(LivePart):
    """When a jump or a large trade pulls all rungs of an event; a 0 switches its kind off."""

    jump_cents: int = key(
        _JUMP_GUARD.jump_cents,
        "pulls all rungs of the event when both sides of the others' touch of a rung move the "
        "same way by this on average within jump_ms; 0: never",
        ge=0,
        le=98,
    )
    jump_ms: int = _ms(_JUMP_GUARD.jump_ns, "see jump_cents", ge=1, le=_PULL_MS_MAX)
    print_qty: int = key(
        _JUMP_GUARD.print_qty,
        "pulls all rungs of the event when one trade of so many shares clears a rung's touch; 0: "
        "never",
        ge=0,
        le=QTY_MAX,
    )
    print_touch_pct: int = key(
        _JUMP_GUARD.print_touch_pct, "part of the touch that counts as cleared", ge=1, le=100
    )
    pull_ms: int = _ms(
        _JUMP_GUARD.pull_ns,
        "no quotes on the event for so long after the last jump or large trade",
        ge=1,
        le=_PULL_MS_MAX,
    )


class WindDown(LivePart):
    """Limits on quotes near an event's end; a 0 switches its stage off."""

    halve_ms: UntilEnd = _ms(
        _WIND_DOWN.halve_ns,
        "sizes are halved this long before an event resolves; 0: never",
    )
    reduce_ms: UntilEnd = _ms(
        _WIND_DOWN.reduce_ns,
        "only quotes that reduce inventory this long before it resolves; 0: at the very end",
    )
    stop_ms: UntilEnd = _ms(
        _WIND_DOWN.stop_ns,
        "no quotes this long before an event resolves; 0: never",
    )


class Breakers(LivePart):
    """Circuit breakers, and the caps on one order; 0 derives a limit from the others."""

    writes_per_second: PerMinute = key(
        _BREAKERS.writes_per_second,
        "creates, amends and cancels in any second, without cancels of orders that earlier runs "
        "or others left; 0: three times risk.resting_orders, at least 60",
    )
    creates_per_minute: PerMinute = key(
        _BREAKERS.creates_per_minute,
        "first creates in any minute; 0: three times risk.resting_orders, at least 60",
    )
    notional_cents_per_minute: LossOrNone = key(
        _BREAKERS.notional_cents_per_minute,
        "price times size of the same; 0: what risk.resting_orders, at least 20, of "
        "risk.order_qty pay out",
    )
    fills_per_minute: PerMinute = key(
        _BREAKERS.fills_per_minute,
        "fills booked in any minute; 0: three times risk.resting_orders, at least 60",
    )
    filled_qty_per_minute: SharesOrNone = key(
        _BREAKERS.filled_qty_per_minute,
        "shares of the same; 0: risk.resting_orders, at least 20, times risk.order_qty",
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
        "age of the oldest write without a definite answer; a finding from 30 s on",
        ge=1_000,
        le=_DAY_MS,
    )
    order_notional_cents: LossOrNone = key(
        _BREAKERS.order_notional_cents,
        "price times size of one create; 0: what risk.order_qty shares pay out; "
        f"compiled cap {ORDER_NOTIONAL_CENTS_CAP:,}",
    )
    ticks_through: int = key(
        _BREAKERS.ticks_through,
        "how far through the others' best price on the far side a create or a new price may "
        f"reach; compiled cap {TICKS_THROUGH_CAP}",
        ge=0,
        le=98,
    )


class Status(Part):
    """Where the status page answers."""

    host: str = key("127.0.0.1", "an address to listen on")
    port: int = key(8090, "0 takes a free one", ge=0, le=65_535)
    allowed_hosts: tuple[str, ...] = key((), "Host headers that are answered besides loopback's")
    control: bool = key(
        False,
        "allows pause, resume, flatten, cancel-all and reset there, with the token in the state "
        "directory's file control-token",
    )


class State(Part):
    """Place of journal, lock and logs, and size of the journal kept."""

    dir: str | None = key(None, "a path of a directory")
    journal_segment_mb: int = key(
        64, "size at which a new segment of the journal begins", ge=1, le=1_024
    )
    journal_segments_kept: int = key(
        8,
        "size of the journal kept, in full segments; closed ones are archived to about a fortieth",
        ge=2,
        le=1_000,
    )


class Records(Part):
    """Records of fills and profit, in a SQLite file or in PostgreSQL."""

    keep: bool = key(True, "false keeps none")
    file: str | None = key(
        None, "a path of a SQLite file, instead of records.sqlite3 in the state directory"
    )
    postgres_url: str | None = key(
        None, "a PostgreSQL's address, as in postgresql://user@host:5432/database"
    )
    postgres_password_file: str | None = key(None, "a path of a file that holds the password")
    postgres_password_env: str | None = key(
        None, "the name of an environment variable that holds it"
    )
    postgres_ca_file: str | None = key(None, "a path of the certificate that signs the server's")
    keep_days: int = key(400, "days after which records are deleted", ge=2, le=36_500)


class NoticePart(Part):
    """A webhook for notices of events."""

    url_file: str | None = key(None, "a path of a file that holds the address")
    url_env: str | None = key(None, "the name of an environment variable that holds it")
    form: Form = key(Form.JSON, "format: `json`, or `slack` for Slack and similar")
    events: tuple[What, ...] = key(tuple(What), "what it gets notices of")
    per_minute: int = key(6, "most notices a minute, in the long run; as many at once", ge=1, le=60)
    repeat_s: int = key(900, "shortest time between two notices of one thing", ge=0, le=86_400)


class Reaper(Part):
    """The key of `bot reaper`: a second one of the account, scopes read and trade."""

    key_file: str | None = key(None, "a path of a file that holds the reaper's key")
    key_name: str | None = key(None, "the key's name, where key_file is JSON of keys")
    key_env: str | None = key(None, "the name of an environment variable")
    after_ms: int = key(
        10_000, "silence of the bot after which the reaper acts", ge=1_000, le=600_000
    )


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
        PaperQueue.PESSIMISTIC, "how a place in a queue moves up when shares are cancelled"
    )
    latency_ms: int | None = key(
        None,
        "round-trip latency of a paper order; default: that of the newest read at the venue",
        ge=0,
        le=10_000,
    )
    key_file: str | None = key(
        None,
        "a path of a file with a key of scope read; default: the venue's read key, or its key",
    )
    key_name: str | None = key(None, "the key's name, where key_file is JSON of keys")
    key_env: str | None = key(None, "the name of an environment variable")


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
    breakers: Breakers = Breakers()
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
