"""A small world for crashes: the real trader, the real journal bytes, the real engine, no chance.

One rung, a crowd that acts by a fixed list, a network that loses every fifth answer to a write and
lets every seventh write arrive late. Every event, effect and departure passes one door, `_pass`, so
that an effect of a new kind cannot be missed; a listener may photograph the world there, before and
after. A photograph is what a crash leaves: the engine's commands, the writes on their way, and the
states in which the disk may be.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bot.core import messages as m
from bot.core.settings import (
    PaceSettings,
    RiskSettings,
    StalenessSettings,
    StartSettings,
    Strangers,
    TraderSettings,
)
from bot.core.trader import Trader
from bot.io.journal.records import OPENING, Entry, Head, Segment, framed
from bot.io.journal.recovery import RecoveredState, RunningState, recall
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.scenario import MS, SECOND, SimScenario, draw, narrowed
from bot.lab.sim.venue import CROWD, SERIES, SimulatedVenue, market_id
from strategies.fixed_spread import FixedSpread
from venue.engine import messages as v
from venue.wire.model import RESTING
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, OrderId
from venue.wire.requests import QtyOrder, TimeInForce

START_NS = 1_800_000_000 * SECOND
RUNG = market_id(0, 0)
DISKS = ("all", "waited", "torn")
"""What a crash leaves of the journal: everything appended; what was waited for; that, torn."""

_ONE_WAY_NS = MS
_LATE_NS = 40 * MS
_TIMEOUT_NS = 25 * MS
_SYNC_NS = MS // 3
_SEGMENT_BYTES = 6_000
_LAG_NS = 60 * MS

_YES, _NO, _GTC, _IOC = Outcome.YES, Outcome.NO, TimeInForce.GTC, TimeInForce.IOC
_SCRIPT: tuple[tuple[int, Outcome, int, int, TimeInForce], ...] = (
    (0, _YES, 40, 50, _GTC),  # a floor on both sides: 40 bid, 50 asked
    (0, _NO, 50, 50, _GTC),
    (260, _NO, 60, 4, _IOC),  # sold into our bid
    (300, _YES, 43, 6, _GTC),  # a better bid: quotes move up
    (360, _YES, 58, 5, _IOC),  # bought from our ask
    (420, _NO, 57, 6, _IOC),  # the better bid is taken: quotes move down
    (480, _NO, 53, 8, _GTC),  # a better ask
    (540, _NO, 62, 7, _IOC),
    (600, _YES, 55, 9, _IOC),
    (680, _YES, 44, 5, _GTC),
    (760, _NO, 60, 12, _IOC),
)
"""(milliseconds after the start, outcome bought, price, shares, time in force)."""


def _odds() -> SimScenario:
    return replace(
        narrowed(draw(0), without=("ticks_through",)),
        rungs=(1,),
        fast_lag_ns=MS,
        slow_lag_ns=30 * MS,
        page_limit=100,
        fee_rate="0.0700",
        cash_cents=1_000_000,
    )


def _settings(strangers: Strangers) -> TraderSettings:
    return TraderSettings(
        series_ticker=SERIES,
        risk=RiskSettings(
            event_loss_cents=Cents(20_000),
            series_loss_cents=Cents(20_000),
            rung_position_qty=Qty(200),
            order_qty=Qty(10),
        ),
        pace=PaceSettings(decide_ns=20 * MS, dwell_ns=20 * MS, tolerance_ticks=0),
        staleness=StalenessSettings(
            read_lag_ns=_LAG_NS,
            poll_orders_ns=100 * MS,
            poll_account_ns=500 * MS,
            resend_ns=40 * MS,
            refused_resend_ns=80 * MS,
        ),
        start=StartSettings(strangers=strangers),
    )


class Disk:
    """The journal's segments in memory; group commit as `bot.io.journal.journal` does it."""

    def __init__(self, earlier: tuple[bytes, ...], now_ns: int) -> None:
        self.memory: RecoveredState = recall(
            Segment(data, f"segment {number}")
            for number, data in reversed(list(enumerate(earlier)))
        )
        self._trail = RunningState(self.memory.head(now_ns))
        self._sealed = earlier
        self._open = OPENING + framed(self._trail.head(now_ns))
        self._pending: list[bytes] = []
        self._last_ns = now_ns

    def append(self, at_ns: int, message: m.Event | m.Effect) -> None:
        entry = Entry(at_ns, message)
        self._last_ns = at_ns
        self._trail.follow(entry)
        self._pending.append(framed(entry))

    def sync(self) -> tuple[int, Head]:
        """What a write that begins now will bring to disk, for `synced`."""
        return len(self._pending), self._trail.head(self._last_ns)

    def synced(self, count: int, head: Head) -> None:
        """That write has ended; a full segment is followed by the next."""
        self._open += b"".join(self._pending[:count])
        del self._pending[:count]
        if len(self._open) > _SEGMENT_BYTES:
            self._sealed = (*self._sealed[-2:], self._open)
            self._open = OPENING + framed(head)

    def entries(self) -> list[Entry]:
        """What the segments hold that are still kept, the end of the life before included."""
        data = self.states()["all"]
        return [entry for each in data for entry in Segment(each, "kept").entries()]

    def states(self) -> dict[str, tuple[bytes, ...]]:
        """What a crash at this instant may leave, by name."""
        waited = (*self._sealed, self._open)
        if self._pending:
            half = self._pending[0][: len(self._pending[0]) // 2]
            torn = (*self._sealed, self._open + half)
        else:
            torn = (*waited, (OPENING + framed(self._trail.head(self._last_ns)))[:20])
        return {
            "all": (*self._sealed, self._open + b"".join(self._pending)),
            "waited": waited,
            "torn": torn,
        }


@dataclass(frozen=True)
class Flying:
    """A write that has left and has not arrived."""

    request: m.Write
    arrives_ns: int


@dataclass(frozen=True)
class Photograph:
    """What a crash leaves behind, and what the judge knows of it."""

    door: str
    now_ns: int
    lives: int
    commands: tuple[tuple[v.Command, int], ...]
    flying: tuple[Flying, ...]
    disks: dict[str, tuple[bytes, ...]]
    departed: frozenset[ClientOrderId]
    answered: frozenset[ClientOrderId]


@dataclass
class Truth:
    """The maker's orders as the engine's events make them."""

    orders: dict[OrderId, v.OrderState] = field(default_factory=dict)
    id_of: dict[ClientOrderId, OrderId] = field(default_factory=dict)
    held: dict[Outcome, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def resting(self) -> list[OrderId]:
        return [each for each, order in self.orders.items() if order.status in RESTING]


class World:
    """One life of the trader, from a start or from what a crash left."""

    def __init__(
        self,
        before: Photograph | None = None,
        disk: str = "all",
        strangers: Strangers = Strangers.CANCEL,
        listener: Callable[[str, "World"], None] | None = None,
    ) -> None:
        self.now_ns = START_NS if before is None else before.now_ns
        self._listener = listener
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._planned = 0
        self.truth = Truth()
        self.exchange = SimulatedVenue(_odds(), START_NS)
        self.exchange.open_accounts(_odds(), START_NS)
        self._commands: list[tuple[v.Command, int]] = []
        self.exchange.watchers.append(self._applied)
        self.life = 1 if before is None else before.lives + 1
        self.departed = set() if before is None else set(before.departed)
        self.answered = set() if before is None else set(before.answered)
        for command, at_ns in () if before is None else before.commands:
            self.exchange.execute(command, at_ns)
        self.flying: dict[int, Flying] = {}
        self._departures = 0
        for flying in () if before is None else before.flying:
            self._fly(flying, None)
        for place, (offset_ms, *asked) in enumerate(_SCRIPT):
            at_ns = START_NS + offset_ms * MS
            if before is None or at_ns > before.now_ns:
                self.at(at_ns, lambda place=place, asked=asked: self._crowd(place, *asked))
        self.now_ns += 60 * MS if before is None else 20 * MS
        self.disk = Disk(() if before is None else before.disks[disk], self.now_ns)
        self.trader = Trader(
            _settings(strangers), lambda: FixedSpread(FixedSpread.Params(lot_qty=10))
        )
        self._asked: dict[m.RequestId, m.Request] = {}
        self._waiting: list[Callable[[], None]] = []
        self._syncing = False
        self._subscribed = False
        self._beat_ns: int | None = None
        self.finished: m.DrainComplete | None = None
        self.kept = 0
        self.at(self.now_ns, self._begin)

    def strangers(self) -> list[OrderId]:
        """What rests without this life knowing it, or having made it."""
        made = {
            order_id
            for name, order_id in self.truth.id_of.items()
            if name.startswith(f"{self.life:020x}-")
        }
        return [
            each
            for each in self.truth.resting()
            if each not in made and not self.trader.desk.is_known(each)
        ]

    # --- time -------------------------------------------------------------------------------------

    def at(self, at_ns: int, act: Callable[[], None]) -> None:
        self._planned += 1
        heapq.heappush(self._queue, (at_ns, self._planned, act))

    def run_until(self, until_ns: int, done: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass; True as soon as `done` holds."""
        while self._queue and self._queue[0][0] <= until_ns:
            at_ns, _, act = heapq.heappop(self._queue)
            self.now_ns = max(self.now_ns, at_ns)
            act()
            if done():
                return True
        self.now_ns = max(self.now_ns, until_ns)
        return False

    # --- the doors --------------------------------------------------------------------------------

    def _pass(self, door: str, act: Callable[[], None]) -> None:
        """The one door: a listener looks before and after."""
        if self._listener is not None:
            self._listener(f"before {door}", self)
        act()
        if self._listener is not None:
            self._listener(f"after {door}", self)

    def photograph(self, door: str) -> Photograph:
        return Photograph(
            door,
            self.now_ns,
            self.life,
            tuple(self._commands),
            tuple(self.flying.values()),
            self.disk.states(),
            frozenset(self.departed),
            frozenset(self.answered),
        )

    # --- the process ------------------------------------------------------------------------------

    def _begin(self) -> None:
        left = self.disk.memory
        self.deliver(
            m.Started(
                f"{self.life:020x}",
                left.open_intents,
                working=left.working,
                journal=left.fate,
            )
        )
        self.deliver(m.FeedOpened())

    def deliver(self, event: m.Event) -> None:
        """An event to the trader: journalled, decided, and its effects journalled and performed."""
        if self.finished is not None:
            return
        name = type(event).__name__
        self._pass(f"event {name}", lambda: self._take_down(event))
        effects = self.trader.receive(event, self.now_ns)
        for effect in effects:
            self.disk.append(self.now_ns, effect)
        for effect in effects:
            kind = getattr(effect, "request", effect)
            self._pass(f"effect {type(kind).__name__}", lambda effect=effect: self._perform(effect))
        if not isinstance(event, m.Tick):
            self._plan_beat(self.now_ns)

    def _take_down(self, event: m.Event) -> None:
        self.disk.append(self.now_ns, event)
        if isinstance(event, m.Response):
            request = self._asked.pop(event.request_id)
            if isinstance(request, m.Create) and isinstance(event.answer, m.Ok):
                self.answered.add(request.order.client_order_id)

    def _perform(self, effect: m.Effect) -> None:
        match effect:
            case m.Send(request=m.Create() | m.AmendResting()):
                self._asked[effect.request_id] = effect.request
                self._waiting.append(lambda: self._depart(effect))
                self._sync()
            case m.Send():
                self._asked[effect.request_id] = effect.request
                self._depart(effect)
            case m.SubscribeTo():
                self._subscribed = True
                self.at(self.now_ns + _ONE_WAY_NS, lambda: self.deliver(m.SubscriptionAccepted()))
                self.at(self.now_ns + _ONE_WAY_NS, self._show_book)
            case m.WakeAt():
                self._plan_beat(effect.at_ns)
            case m.OrdersAdopted():
                self.kept = len(effect.order_ids)
            case m.DrainComplete():
                self.finished = effect

    def _plan_beat(self, at_ns: int) -> None:
        if self._beat_ns is not None and self._beat_ns <= at_ns:
            return
        self._beat_ns = at_ns

        def beat() -> None:
            if self._beat_ns == at_ns:
                self._beat_ns = None
                self.deliver(m.Tick())

        self.at(at_ns, beat)

    def _sync(self) -> None:
        """One write of the journal at a time; who comes meanwhile waits for the next."""
        if self._syncing or not self._waiting:
            return
        self._syncing = True
        waiting, self._waiting = self._waiting, []
        batch = self.disk.sync()

        def synced() -> None:
            self._syncing = False
            self.disk.synced(*batch)
            for depart in waiting:
                depart()
            self._sync()

        self.at(self.now_ns + _SYNC_NS, synced)

    # --- the network ------------------------------------------------------------------------------

    def _depart(self, send: m.Send) -> None:
        self._pass(f"departure {type(send.request).__name__}", lambda: self._leave(send))

    def _leave(self, send: m.Send) -> None:
        request = send.request
        if not isinstance(request, m.Create | m.AmendResting | m.CancelResting):
            self.at(self.now_ns + _ONE_WAY_NS, lambda: self._read(send.request_id, request))
            return
        if isinstance(request, m.Create):
            self.departed.add(request.order.client_order_id)
        self._departures += 1
        late_ns = _LATE_NS if self._departures % 7 == 0 else 0
        lost = self._departures % 5 == 0 or bool(late_ns)
        if lost:
            gone = m.Unknown("no answer in time")
            self.at(self.now_ns + _TIMEOUT_NS, lambda: self._reply(send.request_id, gone))
        arrives_ns = self.now_ns + _ONE_WAY_NS + late_ns
        self._fly(Flying(request, arrives_ns), None if lost else send.request_id)

    def _fly(self, flying: Flying, reply_to: m.RequestId | None) -> None:
        self._planned += 1
        ticket = self._planned
        self.flying[ticket] = flying

        def arrive() -> None:
            del self.flying[ticket]
            answer = self.exchange.front.perform(flying.request, self.now_ns)
            if reply_to is not None:
                self.at(self.now_ns + _ONE_WAY_NS, lambda: self._reply(reply_to, answer))

        self.at(flying.arrives_ns, arrive)

    def _read(self, request_id: m.RequestId, request: m.Request) -> None:
        answer = self.exchange.front.perform(request, self.now_ns, stale=True)
        self.at(self.now_ns + _ONE_WAY_NS, lambda: self._reply(request_id, answer))

    def _reply(self, request_id: m.RequestId, answer: m.Answer) -> None:
        self.deliver(m.Response(request_id, answer))

    # --- the venue --------------------------------------------------------------------------------

    def _crowd(
        self, place: int, outcome: Outcome, price: int, qty: int, time_in_force: TimeInForce
    ) -> None:
        name = ClientOrderId(f"crowd-{place}")
        order = QtyOrder(RUNG, outcome, Side.BUY, Price(price), Qty(qty), time_in_force, name)
        # Each buys under a name of its own, so that none meets an order of its own.
        self.exchange.execute(v.PlaceOrder(CROWD[place % len(CROWD)], order), self.now_ns)

    def _applied(
        self, command: v.Command, answer: v.Answer, events: list[v.Event], now_ns: int
    ) -> None:
        self._commands.append((command, now_ns))
        truth = self.truth
        if isinstance(answer, v.Placed) and answer.order.user_id == MAKER:
            known = truth.id_of.setdefault(answer.client_order_id, answer.order.order_id)
            if known != answer.order.order_id:
                truth.broken.append(f"two orders for {answer.client_order_id}")
            ours = answer.client_order_id.startswith(f"{self.life:020x}-")
            if answer.fresh and ours and self.strangers():
                truth.broken.append(f"quoted beside {self.strangers()}")
        for event in events:
            if isinstance(event, v.OrderChanged) and event.order.user_id == MAKER:
                truth.orders[event.order.order_id] = event.order
            elif isinstance(event, v.PositionChanged) and event.user_id == MAKER:
                truth.held[event.outcome] = event.qty
        if events:
            self.at(now_ns + MS, self._publish)

    def _publish(self) -> None:
        shown = self.exchange.newly_shown(self.now_ns)
        if not self._subscribed:
            return
        for event in shown:
            if isinstance(event, v.TradePrinted):
                bought = (event.taker_outcome is Outcome.YES) == (event.taker_side is Side.BUY)
                self.deliver(
                    m.Trade(RUNG, event.at_ns, event.trade_id, event.price, event.qty, bought)
                )
        if any(isinstance(event, v.LevelChanged) for event in shown):
            self._show_book()

    def _show_book(self) -> None:
        self.deliver(self.exchange.front.book_update(RUNG, self.now_ns))
