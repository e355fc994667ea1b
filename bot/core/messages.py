"""Input and output of the trader: events, requests, answers, effects.

Events are facts; each comes with `now_ns`, the wall time at the start plus the time elapsed since.
The shell carries effects out in order. The journal holds exactly these values, and the same events
in the same order give the same effects, to the byte. They are `gc=False`: plain values cannot make
a cycle, and the collector need not count a page of a hundred.

Books are canonical YES: bids and asks as (price, size), best first. See docs/design.md#law-2.
"""

import enum
from typing import NewType

import msgspec

from bot.core.settings import BudgetPeriod, TraderSettings
from bot.strategy.variants import Variant
from venue.wire import model
from venue.wire.instant import Instant
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, ProjectId, Ticker
from venue.wire.requests import Amend, QtyOrder

RequestId = NewType("RequestId", int)
"""Counts the requests of one run, from 1; ties a reply to its request."""

Levels = tuple[tuple[Price, Qty], ...]
"""One side of a book, best first."""

# --- events: the shell and the operator -----------------------------------------------------------


class VariantChoice(msgspec.Struct, frozen=True):
    """Another strategy, or other parameters, and where they hold; `strategy` and `params_json` as
    in `StrategyChoice`."""

    variant: Variant
    strategy: str
    params_json: str


class StrategyChoice(msgspec.Struct, frozen=True):
    """A strategy by text alone, so that it can be made again. params_json: its checked parameters,
    the defaults among them, as one JSON object."""

    name: str
    params_json: str
    variants: tuple[VariantChoice, ...] = ()


class Configuration(msgspec.Struct, frozen=True):
    """The content of a configuration file, without secrets. digest: hex of its content."""

    settings: TraderSettings
    strategy: StrategyChoice
    digest: str


class Reconfigured(msgspec.Struct, frozen=True, tag=True):
    """Another configuration, checked whole: in force from the next decision on, all of it.

    number: of this run's, from 1. changed: the keys that changed in the file, for a person.
    """

    number: int
    configured: Configuration
    changed: tuple[str, ...]


class ConfigRefused(msgspec.Struct, frozen=True, tag=True):
    """The configuration file was changed, and is refused whole; the former one stays in force.
    why: every fault with its file, line and key, or the keys that only a restart can change."""

    why: str


class UnconfirmedCreate(msgspec.Struct, frozen=True, gc=False):
    """A create of an earlier run without an answer in the journal: it may be live."""

    order: QtyOrder


class JournaledOrder(msgspec.Struct, frozen=True, gc=False):
    """An order of ours that rested when the journal ended, as the last answer about it showed it.

    price: cents of its own outcome. placed_ns: when its create was answered, on the bot's clock.
    settled: every write of ours about it has its answer; else it may be other than shown.
    previous_ids: the ids that amends took from it, each with as many of its fills as this one
    lacks (S13).
    """

    client_order_id: ClientOrderId
    order_id: OrderId
    market_id: MarketId
    outcome: Outcome
    side: Side
    price: Price
    remaining: Qty
    filled: Qty
    placed_ns: int
    settled: bool = True
    previous_ids: tuple[tuple[OrderId, Qty], ...] = msgspec.field(default=(), name="earlier")


class JournalFate(enum.StrEnum):
    """The state of the journal of earlier runs."""

    FOUND = "found"
    LOST = "lost"  # the state directory holds none: a first start, or it was lost
    DAMAGED = "damaged"  # bytes in its middle are not what was written: it may miss anything


class FillMark(msgspec.Struct, frozen=True, gc=False):
    """A fill and the venue's own time of it, by which a walk of the fills finds where to end."""

    fill_id: str
    created_at: Instant


class StrategyMemory(msgspec.Struct, frozen=True, gc=False):
    """What a strategy wants to have again of an event (`bot.strategy.api.Memory`), as JSON."""

    event_ticker: Ticker
    strategy: str
    values: str


class BudgetRaise(msgspec.Struct, frozen=True, gc=False):
    """A person gave a loss budget `cents` more for the rest of its period, for this reason."""

    at_ns: int
    cents: Cents
    reason: str


class BudgetUse(msgspec.Struct, frozen=True, gc=False):
    """How far a loss budget is used in its period.

    start_cents: equity at the start of the period; high_cents: the highest since. lost_cents: the
    greatest loss so far, >= 0.
    """

    period: BudgetPeriod
    start_ns: int
    start_cents: int
    high_cents: int
    lost_cents: int
    raises: tuple[BudgetRaise, ...] = ()


class LossRecord(msgspec.Struct, frozen=True, tag=True, gc=False):
    """What the next run must know of the loss budgets; also an effect: keep it.

    equity_cents: as it was judged at this instant. is_relative: it counts from an arbitrary zero,
    so that it is taken for the equity at the first judgement.
    """

    at_ns: int
    equity_cents: int
    uses: tuple[BudgetUse, ...]
    is_relative: bool = False


class VenueCapabilities(msgspec.Struct, frozen=True, gc=False):
    """What a venue can do, as its adapter says. The trader obeys the first two; without the others
    no run starts."""

    amend_keeps_place: bool = True
    """An amend that only makes an order smaller keeps its queue place, and one of the price is a
    single request. False: the venue has no such amend, so an order is cancelled and created."""

    pushed_fills: bool = True
    """The channel shows every trade as it happens, ours among them. False: the fills are read at
    the normal period also while nothing of ours seems to change."""

    idempotent_ids: bool = True
    """A create sent again under its client_order_id is the same order, and shows it."""

    whole_cents: bool = True
    """Prices are whole cents from 1 to 99, and sizes whole shares."""


class Started(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The run begins.

    boot_nonce: 20 hex digits, never used before; every client_order_id of the run begins with it.
    open_intents: creates of earlier runs that must be settled before anything is quoted.
    new_account: the account was opened for this run, so no earlier one can have written to it.
    working: orders of earlier runs that the journal knows; empty unless it was found whole.
    latched: why nothing may be quoted until a person has looked, else empty. winners: of rungs of
    ours that resolved in an earlier run. complete_fill: earlier runs booked every fill up to this
    one; None where the journal does not say. fills_since: what they booked above it, in the order
    of booking. event_cash: net cash of the fills and payouts that they
    booked, by event. paper: True where orders go to a local exchange and not to the venue.
    memories: of the strategies of earlier runs, by event. capabilities: of the venue that orders go
    to. losses: what earlier runs kept of the loss budgets; None where they kept nothing.
    transfers_cents: deposits less withdrawals that earlier runs saw.
    """

    boot_nonce: str
    open_intents: tuple[UnconfirmedCreate, ...]
    new_account: bool = False
    working: tuple[JournaledOrder, ...] = ()
    journal: JournalFate = JournalFate.FOUND
    latched: str = ""
    configured: Configuration | None = None
    winners: tuple[tuple[MarketId, Outcome], ...] = ()
    complete_fill: FillMark | None = None
    event_cash: tuple[tuple[Ticker, Cents], ...] = ()
    paper: bool = False
    fills_since: tuple[FillMark, ...] = ()
    memories: tuple[StrategyMemory, ...] = ()
    capabilities: VenueCapabilities = VenueCapabilities()
    losses: LossRecord | None = None
    transfers_cents: Cents = Cents(0)


class Tick(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Decide now: sent after each batch of events and when a wake-up falls due."""


class StopRequested(msgspec.Struct, frozen=True, tag=True, gc=False):
    """No new order from here on; cancel everything, verify, finish."""

    reason: str


class PauseRequested(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Pull all quotes until resumed. event: of this one alone; None: of the whole series. account:
    of every series of the account."""

    reason: str
    event: Ticker | None = None
    account: bool = False


class FlattenRequested(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Only reduce inventory until resumed; of the whole series: once there is none, a pause. event,
    account: as of `PauseRequested`."""

    reason: str
    event: Ticker | None = None
    account: bool = False


class ReduceRequested(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Divide each size by `size_divisor`, >= 2, until resumed. event, account: as of
    `PauseRequested`."""

    reason: str
    size_divisor: int
    event: Ticker | None = None
    account: bool = False


class ExitRequested(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Bring the inventory of an event to zero within this time and at no more than this cost; then
    nothing is quoted there until resumed. See `bot.core.quoting.exit`."""

    event: Ticker
    within_ns: int
    max_cost_cents: Cents
    reason: str


class ResumeRequested(msgspec.Struct, frozen=True, tag=True, gc=False):
    """End what the operator restricts. event: of this one, as far as the series may; None: of the
    series and each event. account: of the account, of every series and each event."""

    reason: str = ""
    event: Ticker | None = None
    account: bool = False


OperatorWord = PauseRequested | FlattenRequested | ReduceRequested | ResumeRequested
"""What a person wants to be traded from now on; the newest about a scope holds there."""


class RaiseBudget(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Give a loss budget more for the rest of its period. cents: > 0."""

    period: BudgetPeriod
    cents: Cents
    reason: str


class LatchSet(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The reaper or a person latched this bot: cancel everything and quote nothing."""

    reason: str


class LatchCleared(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The latch is gone: quote again. looked: a person took it away, for this reason; False where
    it only had not been known for a while whether there is one."""

    reason: str = ""
    looked: bool = True


class JournalFailed(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The journal cannot be written: no create and no amend from here on; cancels go on."""

    reason: str


class StrategyOverran(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A call of a strategy took too long. call: its number among those of this event's strategy,
    from 1. took_ns: processor time, or wall time where it was interrupted: then it has raised."""

    event_ticker: Ticker
    strategy: str
    call: int
    took_ns: int
    allowed_ns: int
    interrupted: bool


# --- events: values from outside ------------------------------------------------------------------


class ValueUnit(enum.StrEnum):
    DOLLARS = "dollars"  # of the company; about a series or an event
    CHANCE = "chance"  # that a market pays, 0..1; about a market


class OutsideValue(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A value stated from outside the venue; it replaces the source's former one about the subject.

    source: its name in the settings. about: the ticker of the subject, in upper case. sd: standard
    deviation, in the same unit. observed_ns: when it held; until_ns: when it expires.
    """

    source: str
    about: Ticker
    unit: ValueUnit
    value: float
    sd: float
    observed_ns: int
    until_ns: int


class OutsideValueCleared(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A source withdraws its value about a subject; about None: all of its values."""

    source: str
    about: Ticker | None = None


class OutsideSourceRead(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A source was read. fault: why without a result, so that its former values age; empty: it can
    be read again."""

    source: str
    fault: str = ""


# --- events: the channel --------------------------------------------------------------------------


class FeedOpened(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The channel is connected; nothing is subscribed yet."""


class FeedClosed(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The channel is gone: every book from it is stale."""

    reason: str


class FeedAlive(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The far end answered a ping: the channel is alive."""


class SubscriptionAccepted(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The venue acknowledged a subscribe (S9)."""


class SubscriptionRefused(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The venue refused a subscribe; the old set stays in force."""

    code: str
    message: str


class BookUpdate(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A whole book frame of a rung; `ts_ns` is the venue's own time."""

    market_id: MarketId
    ts_ns: int
    bids: Levels
    asks: Levels


class Trade(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A print, canonical YES cents; `taker_bought_yes`: its taker took the ask side."""

    market_id: MarketId
    ts_ns: int
    trade_id: str
    price: Price
    size: Qty
    taker_bought_yes: bool


class ImpliedValueSeen(msgspec.Struct, frozen=True, tag=True, gc=False):
    """An implied value of a company: dollars, and a confidence of 0..1."""

    project_id: ProjectId
    ts_ns: int
    value_dollars: float
    confidence: float


class MalformedFrame(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A frame could not be read, or was of an unknown type (`known` False)."""

    reason: str
    known: bool


# --- requests and their answers -------------------------------------------------------------------


class Create(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Place an order; `again` on a retry, which asks for the same under the same id."""

    order: QtyOrder
    again: bool


class AmendResting(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Change a resting order; never retried."""

    order_id: OrderId
    amend: Amend


class CancelResting(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Cancel a resting order; a retry is safe."""

    order_id: OrderId


# Of a list one page is read; an empty cursor is the first.


class ReadOrder(msgspec.Struct, frozen=True, tag=True, gc=False):
    order_id: OrderId


class ReadResting(msgspec.Struct, frozen=True, tag=True, gc=False):
    cursor: str


class ReadFills(msgspec.Struct, frozen=True, tag=True, gc=False):
    cursor: str


class ReadPositions(msgspec.Struct, frozen=True, tag=True, gc=False):
    cursor: str


class ReadBalance(msgspec.Struct, frozen=True, tag=True, gc=False):
    pass


class ReadSeries(msgspec.Struct, frozen=True, tag=True, gc=False):
    series_ticker: Ticker
    cursor: str


class ReadBook(msgspec.Struct, frozen=True, tag=True, gc=False):
    market_id: MarketId


Write = Create | AmendResting | CancelResting
Read = ReadOrder | ReadResting | ReadFills | ReadPositions | ReadBalance | ReadSeries | ReadBook
Request = Write | Read


class OrderBody(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The body of a create, amend or single order read."""

    order: model.Order


class CancelBody(msgspec.Struct, frozen=True, tag=True, gc=False):
    order: model.Order
    reduced_by: Qty


class OrdersBody(msgspec.Struct, frozen=True, tag=True, gc=False):
    orders: tuple[model.Order, ...]
    cursor: str


class FillsBody(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A page of fills, newest first."""

    fills: tuple[model.Fill, ...]
    cursor: str


class PositionsBody(msgspec.Struct, frozen=True, tag=True, gc=False):
    positions: tuple[model.Position, ...]
    cursor: str


class BalanceBody(msgspec.Struct, frozen=True, tag=True, gc=False):
    balance: model.Balance


class SeriesBody(msgspec.Struct, frozen=True, tag=True, gc=False):
    events: tuple[model.Event, ...]
    cursor: str


class BookBody(msgspec.Struct, frozen=True, tag=True, gc=False):
    book: model.Orderbook


Body = (
    OrderBody
    | CancelBody
    | OrdersBody
    | FillsBody
    | PositionsBody
    | BalanceBody
    | SeriesBody
    | BookBody
)


class Ok(msgspec.Struct, frozen=True, tag=True, gc=False):
    """2xx with a body that could be read as the request's own kind of body."""

    body: Body


class Rejected(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The venue decided against it, or it never reached the engine (`venue.wire.errors`).

    code is "" with status 0 when the request never left this host (connect failure).
    """

    status: int
    code: str
    message: str


class Unknown(msgspec.Struct, frozen=True, tag=True, gc=False):
    """It may be carried out: a timeout, a cut or unreadable answer, or a code that says so."""

    reason: str


Answer = Ok | Rejected | Unknown


class Response(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The answer to a request, or its substitute when none came (timeout).

    tokens_left: X-RateLimit-Remaining, None when absent or unreadable.
    retry_after_ns: Retry-After, clamped to 0..60 s, None when absent or unreadable.
    tokens_limit: X-RateLimit-Limit, None when absent or unreadable.
    """

    request_id: RequestId
    answer: Answer
    tokens_left: int | None = None
    retry_after_ns: int | None = None
    tokens_limit: int | None = None


Event = (
    Started
    | Tick
    | StopRequested
    | PauseRequested
    | FlattenRequested
    | ReduceRequested
    | ExitRequested
    | ResumeRequested
    | RaiseBudget
    | LatchSet
    | LatchCleared
    | Reconfigured
    | ConfigRefused
    | JournalFailed
    | StrategyOverran
    | OutsideValue
    | OutsideValueCleared
    | OutsideSourceRead
    | FeedOpened
    | FeedClosed
    | FeedAlive
    | SubscriptionAccepted
    | SubscriptionRefused
    | BookUpdate
    | Trade
    | ImpliedValueSeen
    | MalformedFrame
    | Response
)

# --- effects --------------------------------------------------------------------------------------


class Key(enum.StrEnum):
    """Which of our credentials a request goes on."""

    TRADE = "trade"  # writes; reads too, unless they have a key of their own
    READ = "read"
    STANDBY = "standby"  # cancels, while the trade key is refused


class Send(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Perform a request. `why` is one short phrase for a person."""

    request_id: RequestId
    request: Request
    why: str
    key: Key = Key.TRADE


class SubscribeTo(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Make the channel's subscription set exactly this, by UUID only."""

    rungs: tuple[MarketId, ...]
    companies: tuple[ProjectId, ...]


class WakeAt(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Send a Beat no later than this instant; the newest wish replaces an older one."""

    at_ns: int


class Noted(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Something a person or a metric should know; `level` is info, warning or error, or debug for
    the journal alone.

    name: lower_snake, from a small closed set per file; fields: short plain values, no secrets.
    """

    level: str
    name: str
    fields: dict[str, str | int]


class DrainComplete(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The drain is over. left: orders that still rest. unshown: there was no time for a read to
    show it."""

    left: tuple[OrderId, ...]
    unknown: tuple[ClientOrderId, ...]
    unshown: bool = False


class LatchedBy(enum.StrEnum):
    """The cause of a latch by this run: a tripped breaker, or books that contradict each other."""

    BREAKER = "breaker"
    CONTRADICTION = "contradiction"


class Latched(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Keep the reason where the next run finds it, until a person clears it."""

    reason: str
    by: LatchedBy = LatchedBy.BREAKER


class CreateResolved(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A read has explained a create without an answer. order_id: of the order that it made; None
    when it made none."""

    client_order_id: ClientOrderId
    order_id: OrderId | None = None


class OrdersAdopted(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Quoting begins: of everything that earlier runs left, exactly these orders still rest."""

    order_ids: tuple[OrderId, ...]


Effect = (
    Send
    | SubscribeTo
    | WakeAt
    | Noted
    | DrainComplete
    | Latched
    | CreateResolved
    | OrdersAdopted
    | LossRecord
)
