"""The sections of the configuration file: every key with its default, bounds, meaning, and whether
a running bot takes its change over.

The defaults have their home in `bot.core.settings`; here they get their units, bounds and words.
The reference (docs/configuration.md), the JSON Schema for editors (configs/schema.json) and
`bot config show` are made from these.
"""

import enum
from typing import Annotated, Final

from pydantic import Field

from bot.config.base import ON_RESTART, LivePart, Part
from bot.config.breakers import Breakers
from bot.config.guards import Curfew, News
from bot.config.records import NoticePart, Records
from bot.config.strategies import ShadowPart, StrategyPart
from bot.core.risk.breakers import ORDER_QTY_CAP
from bot.core.settings import (
    BudgetSettings,
    PaceSettings,
    RiskSettings,
    StalenessSettings,
    StartSettings,
    Strangers,
)
from venue.wire.instant import NS_PER_MS
from venue.wire.limits import NOTIONAL_CENTS_MAX, QTY_MAX, RATE_BURST, RATE_PER_SECOND
from venue.wire.money import Cents, Qty

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
