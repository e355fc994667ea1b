"""A simulated world in virtual time: traders, network, channel, venue and faults under one seed.

Two phases: safety with faults, then liveness without. Everything is drawn from the seed; the same
seed gives the same world. Failures are raised as `Broken`.
"""

import heapq
import random
from collections.abc import Callable

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import PaceSettings, RiskSettings, TraderSettings, TrustSettings
from bot.core.strategy import Quote, Strategy
from strategies import fixed_spread, ladder
from tests.sim.audit import Auditor, Broken, check
from tests.sim.channel import Channel
from tests.sim.crowd import Crowd
from tests.sim.exchange import SERIES, Exchange
from tests.sim.network import Network
from tests.sim.odds import EPISODES, SECOND, Odds, draw
from tests.sim.process import Intents, Process
from venue.core import messages as v
from venue.wire.model import VenueState
from venue.wire.money import Cents, Qty
from venue.wire.names import MarketId

START_NS = 1_800_000_000 * SECOND
_CONVERGE_NS = 3 * SECOND
_STILL_NS = 6 * SECOND
_STOP_NS = 8 * SECOND


class World:
    """One seed's world."""

    def __init__(self, odds: Odds) -> None:
        self.odds = odds
        self.now_ns = START_NS
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._planned = 0
        self._rng = random.Random(f"world {odds.seed}")
        self.exchange = Exchange(odds, START_NS)
        self.auditor = Auditor(odds, self.exchange)
        self.exchange.watchers.append(self._engine_moved)
        self.crowd = Crowd(odds, self.exchange, random.Random(f"crowd {odds.seed}"))
        self.network = Network(self, random.Random(f"network {odds.seed}"))
        self.channel = Channel(self, random.Random(f"channel {odds.seed}"))
        self.intents = Intents()
        self.faulty = bool(odds.request_faults or odds.frame_faults or odds.episodes)
        self.lives: list[Process] = []
        self.process = self._born()
        self.steps = 0
        self._episodes_end_ns = START_NS
        self.episodes_seen: dict[str, int] = dict.fromkeys(EPISODES, 0)

    # --- time -------------------------------------------------------------------------------------

    def at(self, at_ns: int, act: Callable[[], None]) -> None:
        """Have something done at an instant, after what was planned earlier for it."""
        self._planned += 1
        heapq.heappush(self._queue, (max(at_ns, self.now_ns), self._planned, act))

    def after(self, delay_ns: int, act: Callable[[], None]) -> None:
        """Have something done a while from now."""
        self.at(self.now_ns + delay_ns, act)

    def run_until(self, until_ns: int, done: Callable[[], bool] | None = None) -> bool:
        """Let time pass. True as soon as `done` holds, False when the time is over first."""
        while self._queue and self._queue[0][0] <= until_ns:
            self.now_ns, _, act = heapq.heappop(self._queue)
            act()
            self.steps += 1
            if done is not None and done():
                return True
        self.now_ns = max(self.now_ns, until_ns)
        return False

    # --- the process ------------------------------------------------------------------------------

    def _born(self) -> Process:
        odds = self.odds
        settings = TraderSettings(
            series_ticker=SERIES,
            risk=RiskSettings(
                event_loss_cents=Cents(odds.event_loss_cents),
                series_loss_cents=Cents(odds.event_loss_cents * len(odds.rungs)),
                rung_position_qty=Qty(odds.rung_position_qty),
                order_qty=Qty(odds.order_qty),
            ),
            pace=PaceSettings(dwell_ns=odds.dwell_ns, tolerance_ticks=odds.tolerance_ticks),
            trust=TrustSettings(read_lag_ns=odds.trust_lag_ns),
        )
        process = Process(
            settings, lambda: make_strategy(odds), self.auditor, self.intents, self.now_ns
        )
        self.lives.append(process)
        return process

    def deliver(self, process: Process, event: m.Event) -> None:
        """Hand an event to a process; it waits while that stands still, and is lost if it died."""
        if not process.alive:
            return
        if self.now_ns < process.paused_until_ns:
            process.inbox.append(event)
            return
        for effect in process.receive(event, self.now_ns):
            match effect:
                case m.Send():
                    self.network.send(process, effect)
                case m.SubscribeTo():
                    self.channel.subscribe(process, effect)
                case m.WakeAt():
                    self._plan_beat(process, effect.at_ns)
                case _:
                    pass
        if not isinstance(event, m.Beat):
            self._plan_beat(process, self.now_ns)

    def _plan_beat(self, process: Process, at_ns: int) -> None:
        if process.beat_planned_ns is not None and process.beat_planned_ns <= at_ns:
            return
        process.beat_planned_ns = at_ns

        def beat() -> None:
            if process.beat_planned_ns == at_ns:
                process.beat_planned_ns = None
                self.deliver(process, m.Beat())

        self.at(at_ns, beat)

    def start(self, process: Process) -> None:
        """A process begins, with what the journal knows."""
        nonce = f"{self.odds.seed:012x}{len(self.lives):08x}"
        self.deliver(process, m.Started(nonce, tuple(self.intents.open.values())))
        self.channel.connect(process)

    def _crash(self, down_ns: int) -> None:
        self.process.alive = False
        self.intents.crash(self._rng)
        self.channel.lost()
        self.process = self._born()
        process = self.process

        def up() -> None:
            if process is self.process:
                self.start(process)

        self.after(down_ns, up)

    def _pause(self, for_ns: int) -> None:
        process = self.process
        process.paused_until_ns = self.now_ns + for_ns

        def go_on() -> None:
            waiting, process.inbox = process.inbox, []
            for event in waiting:
                self.deliver(process, event)

        self.after(for_ns, go_on)

    # --- the venue --------------------------------------------------------------------------------

    def _engine_moved(self, _: v.Command, __: v.Answer, events: list[v.Event], now_ns: int) -> None:
        if events:
            self.at(now_ns + self.odds.fast_lag_ns, self.channel.publish)

    def _crowd_acts(self, until_ns: int) -> None:
        if self.now_ns >= until_ns:
            return
        self.crowd.act(self.now_ns)
        gap_s = self._rng.expovariate(self.odds.crowd_per_second)
        self.after(int(gap_s * SECOND), lambda: self._crowd_acts(until_ns))

    # --- episodes ---------------------------------------------------------------------------------

    def _plan_episodes(self) -> None:
        for name, expected in self.odds.episodes.items():
            count = int(expected) + (self._rng.random() < expected % 1)
            for _ in range(count):
                at_ns = self.now_ns + int(self._rng.random() * self.odds.safety_ns)
                self.at(at_ns, lambda name=name: self._episode(name))  # type: ignore[misc]

    def _episode(self, name: str) -> None:
        self.episodes_seen[name] += 1
        rng = self._rng
        for_ns = int(rng.choice((0.1, 0.4, 2.0, 6.0)) * rng.uniform(0.5, 1.5) * SECOND)
        self._episodes_end_ns = max(self._episodes_end_ns, self.now_ns + for_ns + SECOND)
        match name:
            case "feed_stall":
                self.channel.stall(for_ns)
            case "feed_close":
                self.channel.close(for_ns)
            case "process_pause":
                self._pause(for_ns)
            case "crash":
                self._crash(for_ns)
            case "venue_halted":
                self._venue(VenueState.HALTED, for_ns)
            case "venue_cancel_only":
                self._venue(VenueState.CANCEL_ONLY, for_ns)
            case "market_halt":
                market = rng.choice(list(self.crowd.value))
                self.exchange.apply(v.HaltMarket(market), self.now_ns)
                self.after(for_ns, lambda: self._resume(market))
            case _:
                process = self.process
                self.deliver(process, m.PauseRequested("drawn"))
                self.after(for_ns, lambda: self.deliver(process, m.ResumeRequested()))

    def _venue(self, state: VenueState, for_ns: int) -> None:
        self.exchange.apply(v.SetVenueState(state), self.now_ns)
        self.after(for_ns, self._open_venue)

    def _open_venue(self) -> None:
        self.exchange.apply(v.SetVenueState(VenueState.OPEN), self.now_ns)

    def _resume(self, market: str) -> None:
        self.exchange.apply(v.ResumeMarket(market), self.now_ns)  # type: ignore[arg-type]

    # --- the two phases ---------------------------------------------------------------------------

    def live_through(self) -> None:
        """Safety, liveness, stillness, the end. Raises `Broken` with the invariant's name."""
        self.crowd.open(self.now_ns)
        # The account was paid in long ago: no read is so late that it does not show the cash.
        self.run_until(self.now_ns + 2 * self.odds.slow_lag_ns)
        self.start(self.process)
        self._plan_episodes()
        until_ns = self.now_ns + self.odds.safety_ns
        self.after(0, lambda: self._crowd_acts(until_ns))
        self.run_until(until_ns)
        self._heal()
        if self.odds.cash_cents >= 10 * self.odds.event_loss_cents * len(self.odds.rungs):
            # Quotes that the cash does not reach for are refused and cannot rest.
            self._converge()
            self._stay_still()
        self._stop()
        for process in self.lives:
            process.replay()

    def _heal(self) -> None:
        """Faults stop; what was begun by one runs out."""
        self.faulty = False
        self._open_venue()
        for market in self.crowd.value:
            self._resume(market)
        self.run_until(max(self.now_ns, self._episodes_end_ns))
        within_ns = 10 * SECOND + 3 * self.odds.trust_lag_ns
        self.run_until(self.now_ns + within_ns, self._is_quoting)
        check(self._is_quoting(), "B2", f"not quoting: {self._why_not()}")

    def _is_quoting(self) -> bool:
        trader = self.process.trader
        return trader.phase is Phase.QUOTING

    def _converge(self) -> None:
        opens_ns = self.process.trader.out.purse.opens_ns()
        start_ns = max(self.now_ns, opens_ns)
        # An amend without an answer is believed after two equal reads a lag apart.
        within_ns = _CONVERGE_NS + 2 * self.odds.trust_lag_ns
        done = self.run_until(start_ns + within_ns, self._is_as_wanted)
        check(done, "B2", f"resting is not what is wanted: {self._why_not()}")

    def _is_as_wanted(self) -> bool:
        return not self._differences()

    def _why_not(self) -> str:
        trader = self.process.trader
        states = [str(own.state) for own in trader.desk.all_live()]
        blocked = {
            rung.market.ticker: rung.blocked
            for ladder_ in trader.quoting.ladders
            for rung in ladder_.rungs
            if rung.blocked
        }
        return (
            f"{self._differences()}; phase {trader.phase}; states {states}; blocked {blocked}; "
            f"findings {trader.out.findings}; opens in "
            f"{(trader.out.purse.opens_ns() - self.now_ns) / SECOND} s"
        )

    def _differences(self) -> list[str]:
        """Where the engine's resting orders are not the quotes wanted, within what is tolerated."""
        out: list[str] = []
        trader = self.process.trader
        resting: dict[tuple[str, str, int], int] = {}
        for order in self.auditor.truth.resting():
            is_yes, is_buy = order.outcome == "yes", order.side == "buy"
            level = order.price if is_yes else 100 - order.price
            key = (order.market_id, "bid" if is_yes == is_buy else "ask", level)
            resting[key] = resting.get(key, 0) + order.remaining_qty
        rungs = [rung for ladder_ in trader.quoting.ladders for rung in ladder_.rungs]
        out += [f"{rung.market.ticker}: {rung.blocked}" for rung in rungs if rung.blocked]
        quotes = [(rung.market_id, quote) for rung in rungs for quote in rung.wanted]
        exact = not self.odds.tolerance_ticks and all(q.limit is None for _, q in quotes)
        pct = self.process.settings.pace.resize_pct
        missing: list[tuple[str, str, str]] = []
        short: dict[tuple[str, str], int] = {}
        for market, quote in quotes:
            if exact:
                side = str(quote.side)
                have = resting.pop((market, side, quote.price), 0)
                short[market, side] = short.get((market, side), 0) + quote.qty - have
                if 100 * abs(have - quote.qty) >= max(1, quote.qty * pct):
                    missing.append((market, side, f"{market} {quote}: {have} rest"))
        # Where one price holds a little too much, a limit may leave no room at another.
        out += [text for market, side, text in missing if short[market, side] > 0]
        return out + self._loose_differences(quotes, resting, exact)

    def _loose_differences(
        self,
        quotes: list[tuple[MarketId, Quote]],
        resting: dict[tuple[str, str, int], int],
        exact: bool,
    ) -> list[str]:
        """Differences where an order may stand a tick behind its quote: place, and total size."""
        out: list[str] = []
        tolerance = self.odds.tolerance_ticks
        wanted: dict[tuple[str, str], int] = {}
        near: dict[tuple[str, str, int], None] = {}
        for market, quote in quotes:
            side, back = str(quote.side), -1 if quote.side == "bid" else 1
            wanted[market, side] = wanted.get((market, side), 0) + quote.qty
            # From as bold as it is still worth having to as shy as is tolerated.
            bold = 0 if quote.limit is None else abs(quote.limit - quote.price)
            places = range(-bold, tolerance + 1)
            near.update({(market, side, quote.price + back * away): None for away in places})
        if not exact:
            for (market, side), qty in wanted.items():
                have = sum(size for key, size in resting.items() if key[:2] == (market, side))
                if 100 * abs(have - qty) >= max(1, qty * self.process.settings.pace.resize_pct):
                    out.append(f"{market} {side}: {have} rest, {qty} wanted")
            resting = {key: size for key, size in resting.items() if key not in near}
        return out + [f"not wanted: {key} {qty}" for key, qty in resting.items()]

    def _stay_still(self) -> None:
        """B2: on a still book hardly anything is written any more.

        Where quotes follow the fitted curve, which believes books and prints less as they age,
        they drift on a still book: there the bound is two writes a second and rung (row 38).
        """
        self.run_until(self.now_ns + SECOND)
        before = dict(self.process.trader.out.requests)
        self.run_until(self.now_ns + _STILL_NS)
        after = self.process.trader.out.requests
        writes = sum(after[kind] - before[kind] for kind in ("create", "amend", "cancel"))
        trader = self.process.trader
        rungs = [rung for ladder_ in trader.quoting.ladders for rung in ladder_.rungs]
        two_sided = all(all(rung.others(trader.desk.live(rung.market_id))) for rung in rungs)
        follows_curve = self.odds.strategy == "ladder" or not two_sided
        bound = (12 if follows_curve else 1) * len(rungs)
        check(writes <= bound, "B2", f"{writes} writes in {_STILL_NS} ns on a still book")

    def _stop(self) -> None:
        """B13, B9: nothing rests in time, nothing is unknown, and the books agree to the cent."""
        trader = self.process.trader
        truth = self.auditor.truth
        self.deliver(self.process, m.StopRequested("the end"))
        flat = self.run_until(self.now_ns + _STOP_NS, lambda: not truth.working)
        check(flat or not truth.working, "B13", f"still resting: {truth.resting()}")
        self.run_until(
            self.now_ns + _STOP_NS + 5 * self.odds.trust_lag_ns,
            lambda: self.process.finished is not None,
        )
        check(self.process.finished is not None, "B13", f"not finished: {self._why_not()}")
        check(not truth.working, "B13", f"finished while resting: {truth.resting()}")
        report = trader.report(self.now_ns)
        check(report.ledger_difference_cents == 0, "B9", report.ledger_difference_cents)
        for (market, outcome), qty in truth.held.items():
            held = trader.ledgers.holdings(market)[outcome == "no"]
            check(held == qty, "B9", f"{market} {outcome}: {held} booked, {qty} held")
        check(
            trader.ledgers.book.cash_flow_cents == truth.flow_cents,
            "B9",
            f"{trader.ledgers.book.cash_flow_cents} booked, {truth.flow_cents} moved",
        )
        check(not trader.out.findings, "findings", trader.out.findings)


def make_strategy(odds: Odds) -> Strategy:
    """A fresh strategy, as the odds have it."""
    if odds.strategy == "ladder":
        return ladder.Ladder(ladder.Ladder.Params(lot_qty=odds.lot_qty))
    return fixed_spread.FixedSpread(
        fixed_spread.FixedSpread.Params(
            lot_qty=odds.lot_qty, max_position_qty=max(1, odds.rung_position_qty - 2)
        )
    )


def run(seed: int) -> World:
    """Live through one seed. Raises `Broken`, with the world's time, when a claim fails."""
    world = World(draw(seed))
    try:
        world.live_through()
    except Broken as fault:
        at_s = (world.now_ns - START_NS) / SECOND
        raise Broken(f"seed {seed} at {at_s:.3f} s: {fault}") from fault
    return world
