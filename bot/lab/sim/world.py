"""A simulated world in virtual time: traders, network, channel, venue and faults under one seed.

A second series on the account has a world of its own, on the same venue and in the same process.
One thread, and everything is drawn from the seed: the same seed gives the same world, to the byte.
Failures raise `Broken`.
"""

import hashlib
import random
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from bot.core import messages as m
from bot.lab.driver import Driver, TickTimer
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.configured import (
    KINDS,
    FaultyStrategy,
    StrategyFaultSpan,
    changed,
    configured,
    strategy_of,
)
from bot.lab.sim.contradictor import Contradictor
from bot.lab.sim.coverage import EventCounts
from bot.lab.sim.exposure_rules import AuditedAccount, Auditor
from bot.lab.sim.faults import FaultSchedule
from bot.lab.sim.process import Disk, HostClock, Process
from bot.lab.sim.scenario import CONTRADICTIONS, MS, SECOND, SimScenario, second_of
from bot.lab.sim.transport import Channel, Network
from bot.lab.sim.truth import check
from bot.lab.sim.venue import BuyingCrowd, SimulatedVenue
from bot.strategy.api import Strategy
from venue.engine import messages as v
from venue.wire.money import Cents

START_NS: Final = 1_800_000_000 * SECOND
TRACE: Final = 200  # events kept to be shown when an invariant breaks
_RESTART_NS: Final = 300 * MS
_DRAIN_NS: Final = 8 * SECOND
_LATCH_NS: Final = 3 * SECOND
_SAFE_BUDGET_CENTS: Final = 5_000
"""Of the day's loss budget, more than a quiet account loses."""

_LONG_LATCH_NS: Final = 9 * SECOND
Traced = tuple[int, str, object]


class SimulatedWorld:
    """One seed's world. first: that of the first series of the account, which has the time and the
    venue; `worlds` has all of them."""

    def __init__(self, scenario: SimScenario, *, first: "SimulatedWorld | None" = None) -> None:
        self.scenario = scenario
        self.first: SimulatedWorld = self if first is None else first
        self.driver: Driver = Driver(START_NS) if first is None else first.driver
        self.trace: deque[Traced] = deque(maxlen=TRACE) if first is None else first.trace
        self.coverage: EventCounts = EventCounts() if first is None else first.coverage
        self.faulty = scenario.has_faults()
        self._rng = random.Random(f"world {scenario.seed}")
        first_venue = None if first is None else first.exchange
        self.exchange: SimulatedVenue = SimulatedVenue(scenario, START_NS, first_venue)
        self.file = self.first_file = configured(scenario)
        risk = self.file.settings.risk
        self.account: AuditedAccount = (
            AuditedAccount(risk.account_loss_cents) if first is None else first.account
        )
        self.auditor = Auditor(scenario, risk, self.exchange, self.coverage, self.account)
        if first is None:
            self.exchange.open_accounts(scenario, START_NS)
        self.exchange.watchers.append(self._on_command)
        self.crowd = BuyingCrowd(scenario, self.exchange, random.Random(f"crowd {scenario.seed}"))
        self.network = Network(self, random.Random(f"network {scenario.seed}"))
        self.channel = Channel(self, random.Random(f"channel {scenario.seed}"))
        self.fault_schedule = FaultSchedule(self)
        self.disk = Disk()
        self.strategy_faults: list[StrategyFaultSpan] = []
        self.stopping = False
        self.is_quiet = False  # a person raises what is used of the day's loss budget
        self.latch = ""
        self.contradictor = Contradictor(self) if scenario.contradiction else None
        self._reloads = 0
        self._publish_ns = 0
        self.processes: list[Process] = []
        self.process = self.new_process()
        self.worlds: list[SimulatedWorld] = [] if first is None else first.worlds
        self.worlds.append(self)
        second = second_of(scenario)
        if second is not None:
            SimulatedWorld(second, first=self)

    @property
    def now_ns(self) -> int:
        return self.driver.now_ns

    def schedule_at(self, at_ns: int, act: Callable[[], None]) -> None:
        self.driver.schedule_at(at_ns, act)

    def schedule_after(self, delay_ns: int, act: Callable[[], None]) -> None:
        self.driver.schedule_after(delay_ns, act)

    def wait(self, for_ns: int, is_done: Callable[[], bool] | None = None) -> bool:
        return self.driver.run_until(self.now_ns + for_ns, is_done)

    # --- the process ------------------------------------------------------------------------------

    def new_process(self) -> Process:
        process_of_first = None if self.first is self else self.first.process
        clock = self._host_clock() if process_of_first is None else process_of_first.clock
        skew_ns, coverage = clock.skew_ns, self.coverage

        def remake(choice: m.StrategyChoice) -> Callable[[], Strategy]:
            make = strategy_of(choice)
            return lambda: FaultyStrategy(make(), self.strategy_faults, START_NS, skew_ns, coverage)

        process = Process(self.file, remake, self.auditor, clock, self.now_ns, process_of_first)
        self._ticks = TickTimer(self.driver, partial(self._tick, process))
        process.is_successor = bool(self.processes)
        self.processes.append(process)
        return process

    def _host_clock(self) -> HostClock:
        scenario = self.scenario
        skew_ns = scenario.skew_ns + (self._rng.randint(-SECOND, SECOND) if scenario.skew_ns else 0)
        if skew_ns or scenario.drift_ppm:
            self.coverage.fault("clock_skew")
        return HostClock(self.now_ns, skew_ns, scenario.drift_ppm)

    def deliver(self, process: Process, event: m.Event) -> None:
        has_begun = process.log or process.inbox or isinstance(event, m.Started)
        if not (process.alive and has_begun):
            return
        if process.finished is not None and len(self.worlds) > 1 and not self.stopping:
            return  # it waits for the other series to end, and its loop is over
        if self.now_ns < process.paused_until_ns:
            self._queue_event(process, event)
            return
        self._hand(process, event)
        self._ticks.schedule_by(self.now_ns + self.scenario.turn_ns)

    def _queue_event(self, process: Process, event: m.Event) -> None:
        if isinstance(event, m.BookUpdate):
            for place, waiting in enumerate(process.inbox):
                if isinstance(waiting, m.BookUpdate) and waiting.market_id == event.market_id:
                    del process.inbox[place]
                    self.coverage.hit("conflated")
                    break
        process.inbox.append(event)

    def _hand(self, process: Process, event: m.Event) -> None:
        self.trace.append((self.now_ns, ">", event))
        effects = process.process_event(event, self.now_ns)
        if self.contradictor is not None:
            self.contradictor.on_turn(event, effects)
        if process.effects_left is not None:
            effects = self._cut_short(process, effects)
        for effect in effects:
            if isinstance(effect, m.Send):
                self._leaves(process, effect)
            elif isinstance(effect, m.WakeAt):
                self._ticks.schedule_by(process.clock.to_world_ns(effect.at_ns))
            elif isinstance(effect, m.SubscribeTo):
                self.channel.subscribe(process, effect)
            elif isinstance(effect, m.DrainComplete):
                self._finished(process)
            elif isinstance(effect, m.Latched):
                self._latched(effect.reason)
            elif isinstance(effect, m.LossRecord) and self.is_quiet:
                self.raise_budget()
            elif isinstance(effect, m.Noted) and effect.name == "stopping":
                self._drain_deadline(process)
            if not isinstance(effect, m.WakeAt):
                self.trace.append((self.now_ns, "<", effect))

    def _cut_short(self, process: Process, effects: list[m.Effect]) -> list[m.Effect]:
        assert process.effects_left is not None
        left = process.effects_left
        if len(effects) <= left:
            process.effects_left -= len(effects)
            return effects
        for effect in effects[left:]:
            if isinstance(effect, m.Send):
                self.auditor.flight.never_left(effect.request)
        # Effects before it reach the venue; then the process is gone.
        self.schedule_after(0, lambda: self.fault_schedule.crash_now(process))
        process.effects_left = None
        return effects[:left]

    def _latched(self, reason: str) -> None:
        """B15: a contradiction latches only where there is one. A person clears the latch after a
        while."""
        self.latch = reason
        if self.contradictor is not None:
            return
        kind = reason.partition(":")[0]
        check(kind not in CONTRADICTIONS.values(), "B15", f"latched without a reason: {reason}")

        def cleared() -> None:
            self.latch = ""
            self.deliver(self.process, m.LatchCleared())

        # A person may take longer where counters restart with the end of the faults.
        is_long = self.scenario.creates_per_minute
        self.schedule_after(_LONG_LATCH_NS if is_long else _LATCH_NS, cleared)

    def raise_budget(self) -> None:
        """A person gives a small loss budget of the day more."""

        def raised() -> None:
            for shown in self.process.trader.guard.budgets.rows():
                if shown.limit_cents < 2 * shown.lost_cents + _SAFE_BUDGET_CENTS:
                    self.coverage.hit("budget_raised")
                    more_cents = Cents(2 * shown.lost_cents + _SAFE_BUDGET_CENTS)
                    more = m.RaiseBudget(shown.period, more_cents, "all is quiet")
                    self.deliver(self.process, more)

        self.schedule_after(0, raised)

    def _leaves(self, process: Process, effect: m.Send) -> None:
        if not isinstance(effect.request, m.Create | m.AmendResting):
            self.network.send_request(process, effect)
            return

        def on_disk() -> None:
            if process.alive:
                process.unsent.pop(effect.request_id, None)
                process.durable = max(process.durable, entries)
                self.network.send_request(process, effect)

        entries = process.entries
        process.unsent[effect.request_id] = effect.request
        if self.scenario.sync_ns:
            self.schedule_after(self.scenario.sync_ns, on_disk)
        else:
            on_disk()

    def _tick(self, process: Process) -> None:
        if process.log and self.now_ns >= process.paused_until_ns:
            self._hand(process, m.Tick())

    def start_process(self, process: Process) -> None:
        nonce = f"{self.scenario.seed:012x}{len(self.processes):08x}"
        memory = self.disk.recall_state(process.clock.to_host_ns(self.now_ns))
        # A file that never changes need not be named; what names it is journalled.
        changes = self.scenario.has("reload") or self.scenario.has("calendar")
        named = process.configured if changes else None
        started = m.Started(
            nonce,
            memory.open_intents,
            working=memory.working,
            journal=memory.fate,
            latched=self.latch,
            configured=named,
            winners=memory.winners,
            complete_fill=memory.complete_fill,
            fills_since=memory.fills_since,
            event_cash=memory.event_cash,
            memories=memory.memories,
            losses=memory.losses,
            transfers_cents=memory.transfers_cents,
        )
        known = [intent.order.client_order_id for intent in memory.open_intents]
        self.auditor.flight.remembered(known, lost=memory.fate is m.JournalFate.LOST)
        self.deliver(process, started)
        self.channel.connect(process)

    def _finished(self, process: Process) -> None:
        if self.stopping or process is not self.process:
            return
        if process.finished is not None:
            self._look_after(process.finished)
        going = [each for each in self.worlds if each.process.finished is None]
        for each in going:
            each.deliver(each.process, m.StopRequested("another series has ended"))
        if not going:
            self.schedule_after(0, lambda: self.replace(process, _RESTART_NS, None))

    def _look_after(self, left: m.DrainComplete) -> None:
        if self.scenario.strangers == "refuse":
            for order_id in left.left:
                self.coverage.hit("stranger_refused")
                self.exchange.execute(v.CancelOrder(MAKER, order_id), self.now_ns)

    def replace(
        self, process: Process, down_ns: int, rng: random.Random | None, *, lost: bool = False
    ) -> None:
        """End the process of every series; the next begins after a while. rng: draws what a crash
        leaves on the disk; None after an orderly end. lost: the state directory is gone."""
        if not process.alive:
            return
        for each in self.worlds:
            each._end_process(rng, lost=lost)
        for each in self.worlds:
            successor = each.process = each.new_process()
            self.schedule_after(down_ns, partial(each._start_if_current, successor))

    def _start_if_current(self, process: Process) -> None:
        if process is self.process:
            self.start_process(process)

    def _end_process(self, rng: random.Random | None, *, lost: bool) -> None:
        process = self.process
        process.alive = False
        process.judge_loss(self.now_ns)
        self._ticks.cancel_tick()
        self.network.foreign_replies = 0
        for request in process.unsent.values():
            self.auditor.flight.never_left(request)
        self.channel.on_process_gone()
        if process.log:
            # One that dies before it has begun has written nothing: what was there stays.
            self.disk.end_segment(process.log, process.durable, rng)
            if self.disk.torn:
                self.coverage.fault("torn_tail")
        self.auditor.day_budget.on_end(process.durable, lost=lost)
        self.auditor.ledger_loss.on_end(lost=lost)
        if lost:
            self.disk.lose()

    def reload_one(self, rng: random.Random) -> None:
        kind = rng.choice(KINDS)
        in_use = self.auditor.exposure.most_in_use()
        self.reload(changed(kind, self.file, self.first_file, in_use, rng), kind)

    def reload(self, wanted: m.Configuration, kind: str) -> None:
        self.file = wanted
        self._reloads += 1
        self.coverage.fault(f"reload_{kind}")
        self.deliver(self.process, m.Reconfigured(self._reloads, wanted, (kind,)))

    def pause(self, for_ns: int) -> None:
        for each in self.worlds:
            each._pause(each.process, for_ns)

    def _pause(self, process: Process, for_ns: int) -> None:
        process.paused_until_ns = self.now_ns + for_ns

        def go_on() -> None:
            if self.now_ns < process.paused_until_ns:
                return
            waiting, process.inbox = process.inbox, []
            self._ticks.cancel_tick()
            for event in waiting:
                self.deliver(process, event)
            self._ticks.schedule_by(self.now_ns)

        self.schedule_after(for_ns, go_on)

    def _drain_deadline(self, process: Process) -> None:
        def overdue() -> None:
            if process.alive and process.finished is None and not self.stopping:
                self._look_after(process.trader.left_over())
                self.replace(process, _RESTART_NS, None)

        self.schedule_after(_DRAIN_NS, overdue)

    # --- the venue --------------------------------------------------------------------------------

    def _on_command(self, _: v.Command, __: v.Answer, events: list[v.Event], now_ns: int) -> None:
        due_ns = now_ns + self.scenario.fast_lag_ns
        if events and due_ns > self._publish_ns:
            self._publish_ns = due_ns
            self.schedule_at(due_ns, self.channel.publish)

    def crowd_acts(self, until_ns: int) -> None:
        if self.now_ns >= until_ns:
            return
        rng, scenario = self._rng, self.scenario
        for place in range(rng.randint(1, 2 * scenario.burst - 1)):
            self.schedule_after(place * 100_000, lambda: self.crowd.trade_once(self.now_ns))
        gap_s = rng.expovariate(scenario.crowd_per_second / scenario.burst)
        self.schedule_after(int(gap_s * SECOND), lambda: self.crowd_acts(until_ns))

    def effect_log(self) -> str:
        whole = hashlib.blake2b(digest_size=16)
        for each in self.worlds:
            for life in each.processes:
                whole.update(life.digest.digest())
        return whole.hexdigest()
