"""One process of the bot: the trader, its log, clock and state directory, and its invariants."""

import hashlib
import random
from collections.abc import Iterable, Sequence

import msgspec

from bot.core import messages as m
from bot.core.orders.order import OwnOrder
from bot.core.orders.outbox import kind_of
from bot.core.orders.transitions import State
from bot.core.reconfigure import Remake
from bot.core.trader import Trader
from bot.core.trading_state import TradingState
from bot.io.journal.records import OPENING, Entry, Head, Segment, framed
from bot.io.journal.recovery import RecoveredState, RunningState, recall
from bot.lab.sim.exit_rules import AuditedExits
from bot.lab.sim.exposure_rules import Auditor, is_looser
from bot.lab.sim.scenario import MS
from bot.lab.sim.traffic_rules import PULLED_NS, Decided, FeedWatch, Inheritance, Traffic
from bot.lab.sim.truth import Broken, check, level_of, side_of
from venue.engine import messages as v
from venue.wire.money import Price
from venue.wire.names import MarketId, Ticker
from venue.wire.requests import QtyOrder

_ENCODER = msgspec.msgpack.Encoder()
_ANY_FAULT = Exception
"""`receive` raises nothing for any event: any exception breaks an invariant."""

_PULL_NS = 400 * MS
"""Within this, of a process that runs, the quotes of a rung that may not be quoted are pulled."""

_IN_FORCE = ("config_applied", "config_rolled_back")
"""Notes after which another configuration holds."""

_UNKNOWN = (State.NEW_UNKNOWN, State.REPLACE_UNKNOWN)
_EVERY = 16
"""States of orders are compared after every so many events in which nothing should move them."""


Logged = tuple[m.Event, int, Sequence[m.Effect]]
"""One event with its time, and the effects that it had."""


class Disk:
    """The segments of the lives so far; the newest one is written by the life that runs."""

    def __init__(self) -> None:
        self._segments: list[bytes] = []
        self._head = Head(0, ())
        self.torn = False

    def plant(self, intent: m.UnconfirmedCreate) -> None:
        self._head = Head(0, (*self._head.open_intents, intent))
        self._segments = [OPENING + framed(self._head)]

    def recall_state(self, now_ns: int) -> RecoveredState:
        memory = recall(
            Segment(data, f"segment {number}")
            for number, data in reversed(list(enumerate(self._segments)))
        )
        self._head = memory.head(now_ns)
        return memory

    def open_intents(self, log: Iterable[Logged]) -> tuple[m.UnconfirmedCreate, ...]:
        trail = RunningState(self._head)
        for entry in _entries(log):
            trail.follow(entry)
        return trail.head(0).open_intents

    def end_segment(self, log: Sequence[Logged], durable: int, rng: random.Random | None) -> None:
        """The segment stays, whole or, after a crash, cut. durable: entries that are surely on
        disk. rng: None after an orderly end."""
        opening = OPENING + framed(self._head)
        frames = [framed(entry) for entry in _entries(log)]
        data = opening + b"".join(frames)
        self.torn = False
        if rng is not None:
            sure = len(opening) + sum(len(frame) for frame in frames[:durable])
            cut = rng.choice((len(data), sure, rng.randint(sure, len(data))))
            self.torn = cut not in (len(data), sure)
            data = data[:cut]
        # The newest head has all that came before; one older segment is kept.
        self._segments = [*self._segments[-1:], data]

    def lose(self) -> None:
        self._segments = []


def _entries(log: Iterable[Logged]) -> Iterable[Entry]:
    for event, at_ns, effects in log:
        yield Entry(at_ns, event)
        for effect in effects:
            yield Entry(at_ns, effect)


class HostClock:
    """The host's clock against the world's: off by `skew_ns`, and drifting."""

    def __init__(self, began_ns: int, skew_ns: int, drift_ppm: int) -> None:
        self._began_ns, self.skew_ns, self._drift_ppm = began_ns, skew_ns, drift_ppm

    def to_host_ns(self, world_ns: int) -> int:
        drift_ns = (world_ns - self._began_ns) * self._drift_ppm // 1_000_000
        return world_ns + self.skew_ns + drift_ns

    def to_world_ns(self, host_ns: int) -> int:
        since_ns = host_ns - self.skew_ns - self._began_ns
        return self._began_ns + since_ns * 1_000_000 // (1_000_000 + self._drift_ppm) + 1


OperatorScope = tuple[Ticker | None, bool]
"""What an operator's word is about: an event, or None for all of them; True: of the account."""


class Process:
    """A trader with its log; it is dead after a crash, and over once finished. first: the other
    series' of the same process, None where there is none or this is it."""

    def __init__(
        self,
        configured: m.Configuration,
        remake: Remake,
        auditor: Auditor,
        clock: HostClock,
        now_ns: int,
        first: "Process | None" = None,
    ) -> None:
        self.first = first
        self.other_series: list[Process] = []  # those that share this one's purse and account
        # Which of them took an event, in order.
        self.turns: list[Process] = [] if first is None else first.turns
        if first is not None:
            first.other_series.append(self)
        self.configured, self.settings = configured, configured.settings
        self.in_force = configured
        self._inheritance: Inheritance | None = None
        self._remake = remake
        self.trader: Trader = self._fresh(None if first is None else first.trader)
        self.clock = clock
        self.opened_ns: int | None = None  # by the world's time, when its books were first open
        self.alive = True
        self.is_successor = False
        self.finished: m.DrainComplete | None = None
        self.finished_ns = 0  # by the world's time
        self.latched = ""
        self.paused_until_ns = 0
        self.inbox: list[m.Event] = []
        self.effects_left: int | None = None  # performed until it crashes, when that is drawn
        self.log: list[Logged] = []
        self.entries = 0
        self.durable = 0  # entries of the log that are on the disk
        self.unsent: dict[m.RequestId, m.Request] = {}  # writes that wait for their record
        self.digest = hashlib.blake2b(digest_size=16)  # of every effect so far
        self._auditor = auditor
        self._coverage = auditor.coverage
        bucket = None if first is None else first.traffic.bucket
        began_ns = clock.to_host_ns(now_ns)
        self.traffic: Traffic = Traffic(
            self.settings, auditor.truth, auditor.coverage, began_ns, bucket
        )
        self.feed = FeedWatch()
        self.decided = Decided(auditor.truth, auditor.exposure)
        self._levels: dict[MarketId, dict[int, None]] = {}  # where orders of this life were to rest
        self._left_ns: dict[int, int] = {}  # since when an order that is to go had no cancel
        self._before: list[tuple[OwnOrder, State, int]] = []
        self._unknowns = False
        self._quiet = 0
        self._stopping = False
        # What a person has paused or flattened.
        self._paused: set[OperatorScope] = set()
        self._reducing: set[OperatorScope] = set()
        self._exits = AuditedExits(auditor.truth, auditor.flight, auditor.exposure.fees)
        self._costs_unknown = False

    def _fresh(self, first: Trader | None) -> Trader:
        choice = self.configured.strategy
        return Trader(
            self.configured.settings,
            self._remake(choice),
            None if first is None else first.out.purse,
            account_risk=None if first is None else first.quoting.weighing.account,
            remake=self._remake,
        )

    def process_event(self, event: m.Event, world_ns: int) -> list[m.Effect]:
        now_ns = self.clock.to_host_ns(world_ns)
        self.feed.on_event(event, now_ns)
        if isinstance(event, m.Response):
            self._on_response(event, now_ns)
        elif isinstance(event, m.Tick):
            self._auditor.truth.bot_knows(self.trader.ledgers.book)
        else:
            self._on_control_event(event)
        try:
            effects = self.trader.receive(event, now_ns)
        except _ANY_FAULT as fault:
            text = f"{type(fault).__name__}: {fault} at {event!r:.200}"
            raise Broken("raises", text) from fault
        self._exits.look(self.trader.quoting.ladders)
        if isinstance(event, m.Reconfigured):
            applied = any(isinstance(e, m.Noted) and e.name == "config_applied" for e in effects)
            check(applied, "B3", "a changed file is not in force")
        if self.opened_ns is None and self.trader.ledgers.is_open:
            self.opened_ns = world_ns
            if self._costs_unknown:
                self._auditor.exposure.cost_unknown()
        self.log.append((event, now_ns, effects))
        self.turns.append(self)
        before = self.entries + 1  # the event is an entry, too
        self.entries = before + len(effects)
        self.digest.update(_encoded(effects))
        sent = False
        for place, effect in enumerate(effects):
            if isinstance(effect, m.Send):
                sent = True
                self._on_sent(effect, now_ns)
            elif isinstance(effect, m.DrainComplete):
                self.finished, self.finished_ns = effect, world_ns
            elif isinstance(effect, m.CreateResolved):
                by_answer = isinstance(event, m.Response)
                check(by_answer, "B7", f"{effect.client_order_id} settled by {event!r:.80}")
                self.traffic.on_create_resolved(effect.client_order_id)
                self._auditor.flight.on_create_resolved(effect.client_order_id, effect.order_id)
            elif isinstance(effect, m.LossRecord):
                self._auditor.day_budget.on_record(effect, before + place)
            elif isinstance(effect, m.Latched):
                self.latched = effect.reason
            elif isinstance(effect, m.SubscribeTo):
                self.feed.on_subscribe()
            elif isinstance(effect, m.OrdersAdopted) and self._inheritance is not None:
                self._inheritance.on_adopted(effect)
            elif isinstance(effect, m.Noted):
                self.decided.on_note(effect)
                if effect.name in _IN_FORCE:
                    self._configured_anew(effect, event, now_ns)
        if isinstance(event, m.Tick):
            self._cancels_what_must_go(now_ns)
            self.judge_loss(world_ns)
        self._quiet += 1
        if sent or isinstance(event, m.Response) or self._unknowns or self._quiet >= _EVERY:
            self._quiet = 0
            self._orders_are_monotone(event)
        return effects

    def _on_control_event(self, event: m.Event) -> None:
        if isinstance(event, m.StopRequested | m.JournalFailed):
            self._stopping = True
        elif isinstance(event, m.OperatorWord):
            self._on_operator(event)
        elif isinstance(event, m.ExitRequested):
            # It takes the place of the operator's word about its event.
            self._paused.discard((event.event, False))
            self._reducing.discard((event.event, False))
        elif isinstance(event, m.LatchCleared):
            self.latched = ""
            self.traffic.rates.on_breaker_cleared()
        elif isinstance(event, m.Started):
            self.latched = event.latched
            self._auditor.exposure.risk = self.settings.risk
            self.decided.on_start(event.winners)
            self._costs_unknown = event.complete_fill is None
            if self._costs_unknown:
                self._auditor.exposure.cost_unknown()
            self._inheritance = Inheritance(event, self._auditor.truth, self.settings.start)

    def _on_operator(self, event: m.OperatorWord) -> None:
        scope = (event.event, event.account)
        for scopes in (self._paused, self._reducing):
            if isinstance(event, m.ResumeRequested) and event.event is None:
                scopes.intersection_update([] if event.account else [(None, True)])
            scopes.discard(scope)
        if isinstance(event, m.PauseRequested):
            self._paused.add(scope)
        elif isinstance(event, m.FlattenRequested):
            self._reducing.add(scope)

    def _configured_anew(self, note: m.Noted, event: m.Event, now_ns: int) -> None:
        """B3: what the file says is in force once noted, and a rollback loosens no limit."""
        self._coverage.hit(note.name)
        before, self.in_force = self.settings, self.trader.reconfiguration.configured
        self.settings = self.in_force.settings
        if note.name == "config_rolled_back":
            looser = is_looser(self.settings.risk, before.risk)
            check(not looser, "B3", "a rollback loosens a limit")
        else:
            assert isinstance(event, m.Reconfigured)
            check(self.in_force == event.configured, "B3", "a wrong file is in force")
        self.traffic.rates.on_settings(self.settings, now_ns)
        self._auditor.exposure.risk = self.settings.risk

    def _on_response(self, replied: m.Response, now_ns: int) -> None:
        request = self.traffic.on_response(replied, now_ns)
        if isinstance(request, m.ReadBook):
            self.feed.on_book_read(request, replied.answer, now_ns)
        elif isinstance(request, m.Create):
            if isinstance(replied.answer, m.Rejected):
                self._auditor.flight.on_rejected(request.order)
        elif isinstance(replied.answer, m.Unknown) and isinstance(request, m.Write):
            self._coverage.hit(f"{kind_of(request)}_unknown")

    def _on_sent(self, effect: m.Send, now_ns: int) -> None:
        request, truth = effect.request, self._auditor.truth
        self.traffic.audit_send(effect, now_ns)
        if self._inheritance is not None:
            self._inheritance.audit_send(request)
        first = request if isinstance(request, m.Create) and not request.again else None
        market: MarketId | None = None
        if first:
            market = first.order.market_id
        elif isinstance(request, m.AmendResting) and request.order_id in truth.side_of:
            market = truth.side_of[request.order_id][0]
        if first or isinstance(request, m.AmendResting):
            check(not self._stopping, "B13", "new exposure after a stop")
            check(not self._holds_for(self._paused, market), "B4", "new exposure while paused")
            ended = self._exits.ended(self._event_of(market), now_ns)
            check(not ended, "B4", "new exposure after an exit")
            check(not self.latched, "B13", "new exposure after a breaker tripped")
        dated = TradingState.ACTIVE if market is None else self._dated(market, now_ns)
        check(not dated.is_halted, "B4", "new exposure around a date that halts its event")
        if isinstance(request, m.CancelResting) and request.order_id in truth.side_of:
            asked = self._dated(truth.side_of[request.order_id][0], now_ns)
            self._coverage.hit(f"cancelled_while_{asked}")
        if market is not None:
            self._may_quote(market, now_ns)
        if first and self.is_successor:
            self._coverage.hit("create_after_restart")
        self._auditor.audit_send(request)
        if first:
            self._is_within_budget(first.order, now_ns)
        reduces = dated is TradingState.REDUCE_ONLY
        if first and (
            reduces
            or self._holds_for(self._reducing, market)
            or self._exits.reduces(self._event_of(market))
        ):
            self._only_reduces(first.order)
            if reduces:
                self._coverage.hit("reduced_around_a_date")
        if first:
            self._reaches_no_further(first.order, first.order.price)
            self._few_enough(now_ns)
        elif isinstance(request, m.AmendResting) and request.order_id in truth.working:
            self._reaches_no_further(truth.working[request.order_id], request.amend.price)

    def _reaches_no_further(self, order: QtyOrder | v.OrderState, price: Price | None) -> None:
        """B3: a create, or a new price, reaches only so far through the best price of others."""
        if price is None:
            return
        (market, is_bid), level = side_of(order), level_of(order.outcome, price)
        ours = self._levels.setdefault(market, {})
        ticks = self.feed.reaches(market, is_bid, level, ours)
        ours[level] = None
        most = self.settings.breakers.ticks_through
        check(ticks <= most, "B3", f"{order} at {price} is {ticks} ticks through, at most {most}")

    def _holds_for(self, scopes: set[OperatorScope], market: MarketId | None) -> bool:
        """True if all of them, or the event of a market, is among these."""
        return bool(scopes) and any(of in (None, self._event_of(market)) for of, _ in scopes)

    def _event_of(self, market: MarketId | None) -> Ticker | None:
        return None if market is None else self._auditor.exposure.event_of.get(market)

    def _is_within_budget(self, order: QtyOrder, now_ns: int) -> None:
        """B13, B4: nothing new once the day's loss budget is spent, and only reductions once most
        of it is, whatever ended and began since."""
        budgets = self.settings.loss_budgets
        if not budgets.day_cents:
            return
        lost_cents, raised_cents = self._auditor.day_budget.use(now_ns)
        limit_cents = budgets.day_cents + raised_cents
        text = f"new exposure with {lost_cents} of {limit_cents} cents of the day's budget lost"
        check(lost_cents < limit_cents, "B13", text)
        if 100 * lost_cents >= budgets.reduce_only_pct * limit_cents:
            self._coverage.hit("create_under_budget")
            self._only_reduces(order)

    def judge_loss(self, world_ns: int) -> None:
        """B3: the loss by the venue's ledger against the day's budget. Before the books are open
        nothing is quoted, and the fair values are of few books."""
        day_cents = self.settings.loss_budgets.day_cents
        if day_cents and self.trader.ledgers.is_open:
            _, raised_cents = self._auditor.day_budget.use(self.clock.to_host_ns(world_ns))
            ladders = self.trader.quoting.ladders
            self._auditor.ledger_loss.audit_loss(day_cents + raised_cents, ladders)

    def _dated(self, market: MarketId, now_ns: int) -> TradingState:
        """What the calendar in force leaves a market at this instant of the host's clock."""
        entries = self.settings.calendar
        event = self._auditor.exposure.event_of.get(market) if entries else None
        states = [
            each.state
            for each in entries
            if each.event_ticker in (None, event)
            if each.at_ns - each.before_ns <= now_ns < each.at_ns + each.after_ns
        ]
        return max(states, key=list(TradingState).index, default=TradingState.ACTIVE)

    def _only_reduces(self, order: QtyOrder) -> None:
        """B4: while only inventory may be reduced, all of a side that may trade is at most that."""
        (market, is_bid), auditor = side_of(order), self._auditor
        room = max(0, auditor.truth.net(market) * (-1 if is_bid else 1))
        possible = auditor.flight.possible(market)
        qty = sum(each.qty for each in possible if each.is_bid is is_bid)
        text = f"{qty} shares may trade where {room} reduce the inventory: {order}"
        check(qty <= room, "B4", text)

    def _few_enough(self, now_ns: int) -> None:
        """B3: so many orders may be live at once, and be cancelled in so long."""
        risk, orders = self.settings.risk, self._auditor.flight.count()
        text = f"{orders} orders may be live, at most {risk.resting_orders}"
        check(orders <= risk.resting_orders, "B3", text)
        of_account = self._auditor.exposure.account.orders()
        self.traffic.bucket.can_be_flat(of_account, risk.flat_ns, now_ns)

    def _may_quote(self, market: MarketId, now_ns: int) -> None:
        """B4: new exposure leaves for a rung that may be quoted."""
        why = self.feed.stale(market, now_ns) or self.decided.decided_by(market)
        check(not why, "B4", f"new exposure on {market}: {why}")

    def _cancels_what_must_go(self, now_ns: int) -> None:
        """B13, B4: after a stop, pause or breaker, and on a stale book, each order's cancel leaves
        as soon as possible."""
        trader, left_ns = self.trader, self._left_ns
        purse = trader.out.purse
        kept_away = self.traffic.is_kept_away or "key_refused" in trader.out.findings
        if kept_away or now_ns < purse.opens_ns() or purse.tokens(now_ns) < 1:
            left_ns.clear()
            return
        why = "stopped" if self._stopping else self.latched
        waiting: dict[int, int] = {}
        for own in trader.desk.live_orders:
            if own.state is not State.OPEN or own.due_ns > now_ns:
                continue
            stale = self.feed.stale(own.market_id, now_ns, PULLED_NS)
            paused = "paused" if self._holds_for(self._paused, own.market_id) else ""
            if self._dated(own.market_id, now_ns).is_halted:
                paused = paused or "a date halts its event"
            if self._exits.ended(self._event_of(own.market_id), now_ns):
                paused = paused or "its exit is over"
            if reason := why or paused or stale or self.decided.decided_by(own.market_id):
                since_ns = waiting[id(own)] = left_ns.get(id(own), now_ns)
                text = f"{own.order_id} rests and is not cancelled: {reason}"
                check(now_ns - since_ns < _PULL_NS, "B13" if why or paused else "B4", text)
        self._left_ns = waiting

    def _orders_are_monotone(self, event: m.Event) -> None:
        """B7, B8: filled never falls, the ended stay ended, only an answer ends an unknown."""
        for own, state, filled in self._before:
            check(own.filled >= filled, "B8", f"filled fell: {own.client_order_id}")
            check(
                state is not State.CLOSED or own.state is State.CLOSED, "B8", "an ended one revived"
            )
            if state in _UNKNOWN and own.state is not state:
                asked = own.state is State.PENDING_CANCEL
                check(asked or isinstance(event, m.Response), "B7", f"{state} -> {own.state}")
        orders = self.trader.desk.live_orders
        self._before = [(own, own.state, own.filled) for own in orders]
        self._unknowns = any(own.state in _UNKNOWN for own in orders)

    def replay(self) -> None:
        """B10: the same events into fresh traders, in the order in which all series of the process
        received them, give the same effects, to the byte. Of the first series of a process alone.
        """
        fresh = {self: self._fresh(None)}
        for each in self.other_series:
            fresh[each] = each._fresh(fresh[self])
        logs = {each: iter(each.log) for each in fresh}
        for each in self.turns:
            event, now_ns, effects = next(logs[each])
            again = _encoded(fresh[each].receive(event, now_ns))
            text = f"other effects for {type(event).__name__} at {now_ns}"
            check(again == _encoded(effects), "B10", text)


def _encoded(effects: Sequence[m.Effect]) -> bytes:
    return _ENCODER.encode(effects) if effects else b""
