"""The sections of the configuration file: every key with its default, bounds, meaning, and whether
a running bot takes its change over.

The defaults have their home in `bot.core.settings`; here they get their units, bounds and words.
The reference (docs/configuration.md), the JSON Schema for editors (configs/schema.json) and
`bot config show` are made from these.
"""

import enum
from collections.abc import Iterator
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
RESTART: Final = "restart"


class Part(BaseModel):
    """A section whose keys take a restart."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    applies: ClassVar[str] = RESTART


class LivePart(Part):
    """A section whose keys are live."""

    applies: ClassVar[str] = LIVE


ON_RESTART: Final[JsonDict] = {"applies": RESTART}
"""`json_schema_extra` of a key that takes a restart in a live section."""


def applies_of(model: type[BaseModel], field: FieldInfo) -> str:
    """When a change of a key takes effect: LIVE or RESTART."""
    extra = field.json_schema_extra
    own = extra.get("applies") if isinstance(extra, dict) else None
    return str(own or getattr(model, "applies", RESTART))


_DEFAULT: Final = BreakerSettings()
_RATE_MAX: Final = 100_000
_DAY_MS: Final = 86_400_000

BreakerRate = Annotated[int, Field(ge=0, le=_RATE_MAX)]
Money = Annotated[int, Field(ge=0, le=NOTIONAL_CENTS_MAX)]


class Breakers(LivePart):
    """What trips, and what one order may be at most; 0 is what follows from the other limits."""

    writes_per_second: BreakerRate = Field(
        _DEFAULT.writes_per_second,
        description="creates, amends and cancels in any second, but for cancels of what earlier "
        "runs or others left; 0: three times risk.resting_orders, at least 60",
    )
    creates_per_minute: BreakerRate = Field(
        _DEFAULT.creates_per_minute,
        description="first creates in any minute; 0: three times risk.resting_orders, at least 60",
    )
    notional_cents_per_minute: Money = Field(
        _DEFAULT.notional_cents_per_minute,
        description="price times size of the same; 0: what risk.resting_orders, at least 20, of "
        "risk.order_qty pay out",
    )
    fills_per_minute: BreakerRate = Field(
        _DEFAULT.fills_per_minute,
        description="fills booked in any minute; 0: three times risk.resting_orders, at least 60",
    )
    filled_qty_per_minute: int = Field(
        _DEFAULT.filled_qty_per_minute,
        ge=0,
        le=QTY_MAX,
        description="shares of the same; 0: risk.resting_orders, at least 20, times risk.order_qty",
    )
    loss_cents: Money = Field(
        _DEFAULT.loss_cents,
        description="profit below that at the opening of the books; 0: risk.series_loss_cents",
    )
    drawdown_cents: Money = Field(
        _DEFAULT.drawdown_cents,
        description="profit below its highest since; 0: twice risk.series_loss_cents",
    )
    rejects_per_minute: int = Field(
        _DEFAULT.rejects_per_minute,
        ge=1,
        le=_RATE_MAX,
        description="writes that the venue found wrong in any minute; want of funds, states and "
        "pace do not count",
    )
    unknown_age_ms: int = Field(
        _DEFAULT.unknown_age_ns // NS_PER_MS,
        ge=1_000,
        le=_DAY_MS,
        description="age of the oldest write without a definite answer; a finding says so from "
        "30 s on",
    )
    order_notional_cents: Money = Field(
        _DEFAULT.order_notional_cents,
        description="price times size of one create; 0: what risk.order_qty shares pay out; "
        f"compiled cap {ORDER_NOTIONAL_CENTS_CAP:,}",
    )
    ticks_through: int = Field(
        _DEFAULT.ticks_through,
        ge=0,
        le=98,
        description="how far through the others' best price on the far side a create or a new "
        f"price may reach; compiled cap {TICKS_THROUGH_CAP}",
    )

    def settings(self) -> BreakerSettings:
        """The trader's numbers, milliseconds turned into nanoseconds."""
        numbers = self.model_dump()
        return BreakerSettings(unknown_age_ns=numbers.pop("unknown_age_ms") * NS_PER_MS, **numbers)


def beyond_caps(breakers: Breakers, order_qty: int) -> Iterator[tuple[tuple[str, str], str]]:
    """(place, text) of every number that a compiled cap refuses."""
    for place, value, cap in (
        (("risk", "order_qty"), order_qty, ORDER_QTY_CAP),
        (
            ("breakers", "order_notional_cents"),
            breakers.order_notional_cents,
            ORDER_NOTIONAL_CENTS_CAP,
        ),
        (("breakers", "ticks_through"), breakers.ticks_through, TICKS_THROUGH_CAP),
    ):
        if value > cap:
            yield place, f"{value} is beyond the compiled cap of {cap} (bot/core/risk/breakers.py)"


_NEWS: Final = NewsSettings()
_CURFEW: Final = CurfewSettings()
_PULL_MS_MAX: Final = 3_600_000
_MONTH_MS: Final = 30 * 86_400_000

UntilEnd = Annotated[int, Field(ge=0, le=_MONTH_MS)]


class News(LivePart):
    """When news pulls all rungs of an event; a 0 switches its kind off."""

    jump_cents: int = Field(
        _NEWS.jump_cents,
        ge=0,
        le=98,
        description="both sides of the others' touch of a rung moved the same way, by so much on "
        "average within jump_ms: all rungs of the event are pulled; 0: never",
    )
    jump_ms: int = Field(
        _NEWS.jump_ns // NS_PER_MS, ge=1, le=_PULL_MS_MAX, description="see jump_cents"
    )
    print_qty: int = Field(
        _NEWS.print_qty,
        ge=0,
        le=QTY_MAX,
        description="shares of one trade that clear the touch of a rung: all rungs of the event "
        "are pulled; 0: never",
    )
    print_touch_pct: int = Field(
        _NEWS.print_touch_pct, ge=1, le=100, description="part of the touch that counts as cleared"
    )
    pull_ms: int = Field(
        _NEWS.pull_ns // NS_PER_MS,
        ge=1,
        le=_PULL_MS_MAX,
        description="nothing is quoted on the event for so long after the last news",
    )

    def settings(self) -> NewsSettings:
        """The trader's numbers, milliseconds turned into nanoseconds."""
        return NewsSettings(
            jump_cents=self.jump_cents,
            jump_ns=self.jump_ms * NS_PER_MS,
            print_qty=self.print_qty,
            print_touch_pct=self.print_touch_pct,
            pull_ns=self.pull_ms * NS_PER_MS,
        )


class Curfew(LivePart):
    """What is left to do near an event's end; a 0 switches it off."""

    halve_ms: UntilEnd = Field(
        _CURFEW.halve_ns // NS_PER_MS,
        description="sizes are halved from so long before an event resolves on; 0: never",
    )
    reduce_ms: UntilEnd = Field(
        _CURFEW.reduce_ns // NS_PER_MS,
        description="only what reduces a position is quoted from so long before it resolves on; 0: "
        "at the very end",
    )
    stop_ms: UntilEnd = Field(
        _CURFEW.stop_ns // NS_PER_MS,
        description="nothing is quoted from so long before an event resolves on; 0: never",
    )

    def settings(self) -> CurfewSettings:
        """The trader's numbers, milliseconds turned into nanoseconds."""
        return CurfewSettings(
            halve_ns=self.halve_ms * NS_PER_MS,
            reduce_ns=self.reduce_ms * NS_PER_MS,
            stop_ns=self.stop_ms * NS_PER_MS,
        )


_LOSS_CENTS_MAX: Final = NOTIONAL_CENTS_MAX

Loss = Annotated[int, Field(ge=1, le=_LOSS_CENTS_MAX)]
Shares = Annotated[int, Field(ge=1, le=QTY_MAX)]
LossOrNone = Annotated[int, Field(ge=0, le=_LOSS_CENTS_MAX)]
SharesOrNone = Annotated[int, Field(ge=0, le=QTY_MAX)]
Milliseconds = Annotated[int, Field(ge=1, le=600_000)]
Millicents = Annotated[int, Field(ge=0, le=10_000)]
Rate = Annotated[int, Field(ge=1, le=RATE_PER_SECOND)]
Requests = Annotated[int, Field(ge=1, le=RATE_BURST)]

_PACE: Final = PaceSettings()
_BUDGET: Final = BudgetSettings()
_TRUST: Final = StalenessSettings()
_START: Final = StartSettings()
_RISK: Final = RiskSettings(series_loss_cents=Cents(1), rung_position_qty=Qty(1), order_qty=Qty(1))


def _ms(value_ns: int, about: str) -> int:
    """A default of the settings as a key in milliseconds, with its meaning."""
    return Field(value_ns // NS_PER_MS, description=about)


class Venue(Part):
    """Which venue to trade on, and with which keys: exactly one of embedded and base_url."""

    embedded: str | None = Field(None, description="a path of a venue's YAML")
    base_url: str | None = Field(None, description="an address that ends in /v1")
    stream_url: str | None = Field(None, description="a ws or wss address")
    key_file: str | None = Field(None, description="a path of a file that holds the key")
    key_name: str | None = Field(None, description="the key's name, where key_file is JSON of keys")
    key_env: str | None = Field(None, description="the name of an environment variable")
    read_key_file: str | None = Field(None, description="a path of a file with a key for reads")
    read_key_name: str | None = Field(None, description="the key's name, where that is JSON")
    read_key_env: str | None = Field(None, description="the name of an environment variable")
    standby_key_file: str | None = Field(None, description="a path of a file with a spare key")
    standby_key_name: str | None = Field(None, description="the key's name, where that is JSON")

    @property
    def names_read_key(self) -> bool:
        """Whether reads go on a key of their own."""
        return not (self.read_key_file is self.read_key_name is self.read_key_env is None)


class Risk(LivePart):
    """Hard limits: everything that may be live counts, unknown orders at their full size."""

    event_loss_cents: Loss = Field(
        _RISK.event_loss_cents,
        description="worst loss over the outcomes of one event, whatever fills",
    )
    series_loss_cents: Loss = Field(
        description="sum of the events' worst losses; gains of one are not set against losses of "
        "another"
    )
    account_loss_cents: LossOrNone = Field(
        _RISK.account_loss_cents,
        description="the same over all series that one process trades on the account; 0: no limit "
        "beside the series' own",
    )
    rung_position_qty: Shares = Field(
        description="shares of YES less NO on one rung, either sign, after every live order filled"
    )
    order_qty: Shares = Field(description=f"largest single order; compiled cap {ORDER_QTY_CAP:,}")
    event_net_qty: SharesOrNone = Field(
        _RISK.event_net_qty,
        description="shares of YES less NO of all rungs of an event together, either sign, after "
        "every live bid or every live ask filled; 0: ten times rung_position_qty",
    )
    event_gross_qty: SharesOrNone = Field(
        _RISK.event_gross_qty,
        description="the rungs' shares of YES less NO, each without its sign, added up; 0: twenty "
        "times rung_position_qty",
    )
    event_gross_cents: LossOrNone = Field(
        _RISK.event_gross_cents,
        description="loss of an event if every rung went the worse way by itself, as if they were "
        "no ladder; 0: ten times event_loss_cents",
    )
    resting_cents: LossOrNone = Field(
        _RISK.resting_cents,
        description="what all orders of the series that may be live would lose if they filled, "
        "both sides added up; 0: ten times series_loss_cents",
    )
    resting_orders: Requests = Field(
        _RISK.resting_orders,
        description="orders possibly live at once; bounds the time to flat, and the breakers of "
        "writes, creates and fills follow from it: fewer than all rungs want go to a side without "
        "any first, and trip those sooner",
    )
    flat_ms: Milliseconds = _ms(
        _RISK.flat_ns,
        "no create is sent that would make cancelling everything take longer, with the tokens "
        "there are",
    )


class Pace(LivePart):
    """How eagerly quotes follow belief."""

    decide_ms: Milliseconds = _ms(
        _PACE.decide_ns,
        "shortest time between two decisions of an event; jumps of news, and that a book was "
        "emptied, are seen at decisions alone",
    )
    dwell_ms: Milliseconds = _ms(_PACE.dwell_ns, "a younger order is not moved in price")
    tolerance_ticks: int = Field(
        _PACE.tolerance_ticks,
        ge=0,
        le=20,
        description="so far on the safe side of its wanted price an order keeps its place",
    )
    resize_pct: int = Field(
        _PACE.resize_pct,
        ge=0,
        le=100,
        description="a level is topped up or shrunk when it is off by this share of its wanted "
        "size",
    )
    siblings: int = Field(
        _PACE.orders_per_level_max,
        ge=1,
        le=20,
        description="most orders of ours at one price by one route",
    )
    requests_in_flight: Requests = Field(
        _PACE.requests_in_flight,
        description="most writes awaiting an answer",
        json_schema_extra=ON_RESTART,
    )
    queue_power_pct: int = Field(
        _PACE.queue_power_pct,
        ge=0,
        le=1_000,
        description="a hundred times the exponent of the queue estimate: how strongly cancels fall "
        "on the longer part of a queue",
        json_schema_extra=ON_RESTART,
    )
    place_horizon_ms: Milliseconds = _ms(
        _PACE.place_horizon_ns,
        "how far ahead fills are expected when a place in a queue is valued",
    )
    move_millicents: Millicents = Field(
        _PACE.move_millicents,
        description="thousandths of a cent per share that a change of a kept quote must gain",
    )
    capital_millicents: Millicents = Field(
        _PACE.capital_millicents,
        description="thousandths of a cent that a dollar tied up costs a day",
    )
    market_writes_per_second: Rate = Field(
        _PACE.market_writes_per_second,
        description="creates and amends of one market, in the long run; cancels count and always "
        "pass",
    )
    market_writes_burst: Requests = Field(
        _PACE.market_writes_burst, description="the same, at once"
    )
    writes_per_second: Rate = Field(
        _PACE.writes_per_second,
        description="creates and amends of all markets, in the long run",
    )
    writes_burst: Requests = Field(_PACE.writes_burst, description="the same, at once")


class Budget(Part):
    """The bot's own bucket of requests, below the venue's."""

    rate_per_second: Rate = Field(
        _BUDGET.rate_per_second,
        description=f"tokens a second of the bot's own bucket; the venue's is {RATE_PER_SECOND}",
    )
    burst: Requests = Field(
        _BUDGET.burst, description=f"size of the bot's own bucket; the venue's is {RATE_BURST}"
    )
    reserve: Requests = Field(
        _BUDGET.reserve, description="tokens that only cancels and recovery may use"
    )


class Trust(Part):
    """When what is believed is too old to quote on, and how often it is checked."""

    heard_ms: Milliseconds = _ms(_TRUST.feed_silence_ns, "longest silence of the channel")
    book_ms: Milliseconds = _ms(
        _TRUST.book_ns, "oldest confirmation of a book that may still be quoted on"
    )
    recheck_ms: Milliseconds = _ms(_TRUST.recheck_ns, "age at which a confirmation is sought")
    read_lag_ms: Milliseconds = _ms(_TRUST.read_lag_ns, "reads may lag a write by so much")
    sweep_ms: Milliseconds = _ms(_TRUST.poll_orders_ns, "between reads of resting orders and fills")
    suspect_sweep_ms: Milliseconds = _ms(
        _TRUST.poll_orders_fast_ns,
        "the same while an order of ours may have filled, is in doubt, or the channel is silent",
    )
    audit_ms: Milliseconds = _ms(
        _TRUST.poll_account_ns, "between reads of positions, balance and the series"
    )
    resend_ms: Milliseconds = _ms(_TRUST.resend_ns, "between recovery sends of one order")
    refused_resend_ms: Milliseconds = _ms(
        _TRUST.refused_resend_ns,
        "the same after a re-send that was refused, at least; longer each time, at most unread_ms "
        "or four times this",
    )
    gap_ms: Annotated[int, Field(ge=150, le=600_000)] = _ms(
        _TRUST.gap_ns,
        "a pause of the process after which no book is believed until confirmed; one that is idle "
        "beats every 100 ms",
    )
    lag_ms: Milliseconds = _ms(
        _TRUST.lag_ns, "how much later than its usual delay the channel may be"
    )
    emptied_ms: Milliseconds = _ms(
        _TRUST.empty_book_grace_ns, "how long a book that was emptied at once is not believed"
    )
    unread_ms: Milliseconds = _ms(
        _TRUST.unread_ns,
        "how long orders, fills, positions or balance may go unread before nothing is quoted; "
        "twelve of their periods at least",
    )


class Start(Part):
    """How a run begins."""

    strangers: Strangers = Field(
        _START.strangers,
        description="orders that rest in our rungs at the start: `cancel` all; `adopt` those that "
        "the journal knows as ours, with their place, and cancel the others; `refuse` to quote if "
        "the journal does not know one of them",
    )


class Status(Part):
    """Where the status page answers."""

    host: str = Field("127.0.0.1", description="an address to listen on")
    port: int = Field(8090, ge=0, le=65_535, description="0 takes a free one")
    allowed_hosts: tuple[str, ...] = Field(
        (), description="Host headers that are answered beside those of loopback"
    )
    control: bool = Field(
        False,
        description="whether pause, resume, flatten, cancel-all and reset may be asked there, with "
        "the token in the file control-token of the state directory",
    )


class State(Part):
    """Where journal, lock and logs stand, and how much of the journal is kept."""

    dir: str | None = Field(None, description="a path of a directory")
    journal_segment_mb: int = Field(
        64, ge=1, le=1_024, description="size at which a new segment of the journal begins"
    )
    journal_segments_kept: int = Field(
        8,
        ge=2,
        le=1_000,
        description="of the journal as much is kept as so many full segments weigh; "
        "those that are closed are archived, and weigh a fortieth",
    )


class Reaper(Part):
    """What `bot reaper` is told: a second key of the account, scopes read and trade."""

    key_file: str | None = Field(None, description="a path of a file that holds the reaper's key")
    key_name: str | None = Field(None, description="the key's name, where key_file is JSON of keys")
    key_env: str | None = Field(None, description="the name of an environment variable")
    after_ms: int = Field(
        10_000, ge=1_000, le=600_000, description="silence of the bot after which it acts"
    )


class PaperQueue(enum.StrEnum):
    """Which shares of a queue were cancelled, where only sizes are seen: those behind us, some of
    either, those before us."""

    PESSIMISTIC = "pessimistic"
    EXPECTED = "expected"
    OPTIMISTIC = "optimistic"


class Paper(Part):
    """What `bot run --paper` trades with: no order of it reaches the venue."""

    cash_cents: int = Field(
        10_000_000,
        ge=1,
        le=_LOSS_CENTS_MAX,
        description="cash that a paper account begins with; one that has begun keeps its own",
    )
    queue_model: PaperQueue = Field(
        PaperQueue.PESSIMISTIC,
        description="how a place in a queue moves up when shares are cancelled",
    )
    latency_ms: int | None = Field(
        None,
        ge=0,
        le=10_000,
        description="round trip of a paper order; without it that of the newest read at the venue",
    )
    key_file: str | None = Field(
        None,
        description="a path of a file that holds a key with the scope read; without one the "
        "venue's read key is used, or its key",
    )
    key_name: str | None = Field(None, description="the key's name, where key_file is JSON of keys")
    key_env: str | None = Field(None, description="the name of an environment variable")

    @property
    def names_key(self) -> bool:
        """True if a paper run reads the venue by a key of its own."""
        return not (self.key_file is self.key_name is self.key_env is None)


class Records(Part):
    """The fills and the profit that are kept: in a SQLite file, or in a PostgreSQL."""

    keep: bool = Field(True, description="whether any are kept")
    file: str | None = Field(
        None,
        description="a path of a SQLite file, instead of records.sqlite3 in the state directory",
    )
    postgres_url: str | None = Field(
        None, description="a PostgreSQL's address, as in postgresql://user@host:5432/database"
    )
    postgres_password_file: str | None = Field(
        None, description="a path of a file that holds the password"
    )
    postgres_password_env: str | None = Field(
        None, description="the name of an environment variable that holds it"
    )
    postgres_ca_file: str | None = Field(
        None, description="a path of the certificate that the server's is checked against"
    )
    keep_days: int = Field(
        400, ge=2, le=36_500, description="days after which what is older is forgotten"
    )


class NoticePart(Part):
    """A webhook that is told what happens."""

    url_file: str | None = Field(None, description="a path of a file that holds the address")
    url_env: str | None = Field(
        None, description="the name of an environment variable that holds it"
    )
    form: Form = Field(
        Form.JSON, description="what it reads: `json`, or `slack` and what is like it"
    )
    events: tuple[What, ...] = Field(tuple(What), description="what it is told of")
    per_minute: int = Field(
        6, ge=1, le=60, description="most notices a minute, in the long run; as many at once"
    )
    repeat_s: int = Field(
        900,
        ge=0,
        le=86_400,
        description="the same thing is told again after so long at the earliest",
    )


class StrategyPart(LivePart):
    """What decides the quotes, and what it is told."""

    name: str = Field(description="a strategy's name, package.module:Class or ./file.py:Class")
    params: dict[str, Any] = Field(
        default_factory=dict, description="its parameters, listed by `bot strategies NAME`"
    )
    budget_ms: int = Field(
        50,
        ge=1,
        le=10_000,
        description="processor time that one call of it may take",
        json_schema_extra=ON_RESTART,
    )


class ShadowPart(Part):
    """A candidate that runs beside the live strategy and trades nothing."""

    name: str = Field(description="a short name of small letters, digits, - and _")
    strategy: str = Field(description="as strategy.name")
    params: dict[str, Any] = Field(default_factory=dict, description="as strategy.params")
    latency_ms: int = Field(
        SHADOW_LATENCY_NS // NS_PER_MS,
        ge=0,
        le=5_000,
        description="how long its requests take to the simulated exchange",
    )


class File(Part):
    """The whole file."""

    name: str | None = Field(None, description="a short name of small letters, digits, - and _")
    series: str = Field(description="a series ticker")
    venue: Venue
    strategy: StrategyPart
    shadow: tuple[ShadowPart, ...] = Field((), description="candidates that run in the shadow")
    risk: Risk
    pace: Pace = Pace()
    budget: Budget = Budget()
    trust: Trust = Trust()
    start: Start = Start()
    news: News = News()
    curfew: Curfew = Curfew()
    breakers: Breakers = Breakers()
    status: Status = Status()
    state: State = State()
    records: Records = Records()
    notices: tuple[NoticePart, ...] = Field((), description="webhooks that are told what happens")
    reaper: Reaper | None = None
    paper: Paper = Paper()
