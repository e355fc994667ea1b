"""Faults that last for a while: when they come and how they end.

Each kind is a method that begins it; one that takes longer yields its waits, in ns. Each has a
stream of its own, so that leaving one out shifts no other.
"""

import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from bot.core import messages as m
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.configured import STRATEGY_FAULTS, StrategyFaultSpan, dated
from bot.lab.sim.process import Process
from bot.lab.sim.scenario import MS, SECOND, TIMED_FAULTS
from bot.lab.sim.transport import World
from venue.engine import messages as v
from venue.wire.model import VenueState
from venue.wire.money import BookSide, Cents, Outcome, Side, canonical
from venue.wire.names import MarketId, Ticker
from venue.wire.requests import TimeInForce

Steps = Iterator[int]  # how long to wait, ns, until the next part of an episode
_DURATIONS_S: Final = (0.1, 0.4, 2.0, 6.0)
_MORE_OFTEN: Final = {
    "tantrum": 3,
    "rung_silent": 3,
    "greed": 3,
    "twin_trades": 2,
    "maintenance": 0.1,
}
"""Factors on the drawn number: short or rare faults come more often, a long one less."""

_MAINTENANCE_NS: Final = (600 * SECOND, 3_600 * SECOND)
_TRANSFERS_CENTS: Final = (200_000, 1_000_000)
_LAG_NS: Final = 5 * SECOND
_EXIT_CENTS: Final = (0, 30, 300, 3_000)
_PULLED_NS: Final = 5 * SECOND
_DRIFT_NS: Final = 2 * SECOND
"""By so much the host's clock may be another after a restart."""

_LISTED_MAX: Final = 6
_EVENTS_MAX: Final = 4
_OPEN: Final = v.SetVenueState(VenueState.OPEN)
_LEARNED_NS: Final = 12 * SECOND
"""Until a rung that was listed is quoted as the others are: the series has been read again."""


class FaultSchedule:
    def __init__(self, world: World) -> None:
        self._world = world
        self._rngs = {name: random.Random(f"{name} {world.scenario.seed}") for name in TIMED_FAULTS}
        self.going = 0  # how many of those begun are not over yet
        self._lag_ns = world.exchange.front.stale.lag_ns
        self._resolved: dict[MarketId, None] = {}  # those about to resolve among them
        self._ends: dict[MarketId, int] = {}  # how many rungs of an event pay YES, by its lowest

    def schedule_faults(self, span_ns: int) -> None:
        world = self._world
        for name, expected in world.scenario.rates_of(TIMED_FAULTS).items():
            rng = self._rngs[name]
            expected *= _MORE_OFTEN.get(name, 1)
            for _ in range(int(expected) + (rng.random() < expected % 1)):
                at_ns = world.now_ns + int(rng.random() * span_ns)
                for_ns = int(rng.choice(_DURATIONS_S) * rng.uniform(0.5, 1.5) * SECOND)
                if name in world.scenario.without:
                    continue
                if name in STRATEGY_FAULTS:
                    world.strategy_faults.append(StrategyFaultSpan(name, at_ns, at_ns + for_ns))
                    for_ns += _PULLED_NS
                world.schedule_at(at_ns, partial(self.begin_fault, name, for_ns, rng))

    def begin_fault(self, name: str, for_ns: int, rng: random.Random) -> None:
        world = self._world
        world.coverage.fault(name)
        world.trace.append((world.now_ns, "!", f"{name} for {for_ns / SECOND:.3f} s"))
        self.going += 1
        self._go_on(self._whole(name, for_ns, rng))

    def _whole(self, name: str, for_ns: int, rng: random.Random) -> Steps:
        kind = getattr(self, f"_{name}", None)
        steps = None if kind is None else kind(for_ns, rng)
        yield from (for_ns,) if steps is None else steps
        yield SECOND

    def _go_on(self, steps: Steps) -> None:
        wait_ns = next(steps, None)
        if wait_ns is None:
            self.going -= 1
        else:
            self._world.schedule_after(wait_ns, partial(self._go_on, steps))

    def _apply(self, command: v.Command) -> None:
        self._world.exchange.execute(command, self._world.now_ns)

    def _deliver(self, event: m.Event) -> None:
        self._world.deliver(self._world.process, event)

    def _any_market(self, rng: random.Random) -> MarketId:
        return rng.choice(list(self._world.crowd.value))

    # --- the channel ------------------------------------------------------------------------------

    def _feed_stall(self, for_ns: int, _: random.Random) -> None:
        self._world.channel.stall(for_ns)

    def _feed_close(self, for_ns: int, _: random.Random) -> None:
        self._world.channel.close(for_ns)

    def _half_open(self, _: int, __: random.Random) -> Steps:
        self._world.channel.half_open()
        yield 6 * SECOND

    def _rung_silent(self, for_ns: int, rng: random.Random) -> Steps:
        # Of a rung that never traded a read says nothing either: that is where silence hurts.
        market = self._world.crowd.dead or self._any_market(rng)
        silent = self._world.channel.silent
        silent[market] = rng.random() < 0.5
        yield 2 * for_ns  # longer than a book is believed, some of the time
        silent.pop(market, None)

    def _feed_late(self, for_ns: int, rng: random.Random) -> Steps:
        self._world.channel.late_ns = rng.randint(600, 2_500) * MS
        yield for_ns
        self._world.channel.late_ns = 0

    def _subscribe_refused(self, for_ns: int, _: random.Random) -> Steps:
        yield from _switched_on([self._world.channel], "refusing", for_ns)
        yield 5 * SECOND  # a refused set is retried after so long

    # --- the process ------------------------------------------------------------------------------

    def _process_pause(self, for_ns: int, _: random.Random) -> None:
        self._world.pause(for_ns)

    def _crash(self, for_ns: int, rng: random.Random) -> None:
        self._world.replace(self._world.process, for_ns, rng)

    def _crash_at_effect(self, _: int, rng: random.Random) -> None:
        self._world.process.effects_left = rng.randint(0, 12)

    def crash_now(self, process: Process) -> None:
        rng = self._rngs["crash_at_effect"]
        self._world.coverage.hit("crashed_at_effect")
        self._world.replace(process, rng.randint(1, 2_000) * MS, rng)

    def _lost_journal(self, for_ns: int, rng: random.Random) -> Steps:
        # Requests in flight arrive before the host is set up again.
        scenario = self._world.scenario
        down_ns = max(for_ns, scenario.timeout_ns + scenario.late_ns + SECOND)
        self._world.replace(self._world.process, down_ns, rng, lost=True)
        yield down_ns

    def _disk_fault(self, _: int, __: random.Random) -> Steps:
        return self._delivered(m.JournalFailed("drawn: no space left"), 9 * SECOND)

    def _operator_pause(self, for_ns: int, rng: random.Random) -> Steps:
        scope = self._series_or_event(rng)
        end = m.ResumeRequested(event=scope)
        return self._delivered(m.PauseRequested("drawn", scope), for_ns, end)

    def _operator_reduce(self, for_ns: int, rng: random.Random) -> Steps:
        divisor, is_of_account = rng.choice((2, 3, 10)), rng.random() < 0.3
        scope = None if is_of_account else self._series_or_event(rng)
        end = m.ResumeRequested(event=scope, account=is_of_account)
        begin = m.ReduceRequested("drawn", divisor, scope, is_of_account)
        return self._delivered(begin, for_ns, end)

    def _flatten(self, for_ns: int, rng: random.Random) -> Steps:
        scope = self._series_or_event(rng)
        end = m.ResumeRequested(event=scope)
        return self._delivered(m.FlattenRequested("drawn", scope), 2 * for_ns, end)

    def _exit(self, for_ns: int, rng: random.Random) -> Steps:
        event = self._world.auditor.exposure.event_of[self._any_market(rng)]
        within_ns, most_cents = 2 * for_ns, Cents(rng.choice(_EXIT_CENTS))
        wanted = m.ExitRequested(event, within_ns, most_cents, "drawn")
        self._deliver(wanted)
        yield within_ns + SECOND
        self._deliver(m.ResumeRequested(event=event))

    def _series_or_event(self, rng: random.Random) -> Ticker | None:
        """The whole series (None), or one event of it."""
        if rng.random() < 0.5:
            return None
        return self._world.auditor.exposure.event_of[self._any_market(rng)]

    def _operator_restart(self, _: int, __: random.Random) -> Steps:
        return self._delivered(m.StopRequested("drawn"), 9 * SECOND)

    def _delivered(self, begin: m.Event, for_ns: int, end: m.Event | None = None) -> Steps:
        self._deliver(begin)
        yield for_ns
        if end is not None:
            self._deliver(end)

    def _reload(self, for_ns: int, rng: random.Random) -> Steps:
        world = self._world
        while not world.process.log:
            yield 300 * MS  # nobody reads the file of a bot that is down
        world.reload_one(rng)
        yield for_ns
        if rng.random() < 0.5:
            world.reload(world.first_file, "back")

    def _calendar(self, for_ns: int, rng: random.Random) -> Steps:
        world, scope = self._world, self._series_or_event(rng)
        while not world.process.log:
            yield 300 * MS
        now_ns = world.process.clock.to_host_ns(world.now_ns)
        world.reload(dated(world.file, scope, now_ns, 2 * for_ns, rng), "calendar")
        yield 2 * for_ns + _DRIFT_NS

    # --- the venue --------------------------------------------------------------------------------

    def _venue_halted(self, for_ns: int, _: random.Random) -> Steps:
        return self._applied(v.SetVenueState(VenueState.HALTED), for_ns, _OPEN)

    def _venue_cancel_only(self, for_ns: int, _: random.Random) -> Steps:
        return self._applied(v.SetVenueState(VenueState.CANCEL_ONLY), for_ns, _OPEN)

    def _market_halt(self, for_ns: int, rng: random.Random) -> Steps:
        market = self._any_market(rng)
        return self._applied(v.HaltMarket(market), for_ns, v.ResumeMarket(market))

    def _applied(self, begin: v.Command, for_ns: int, end: v.Command) -> Steps:
        self._apply(begin)
        yield for_ns
        self._apply(end)

    def _market_resolve(self, _: int, rng: random.Random) -> None:
        """Each event keeps a rung."""
        going = [rungs for rungs in self._unresolved() if len(rungs) > 1]
        if going:
            market = rng.choice([market for rungs in going for market in rungs])
            self._resolved[market] = None
            self._resolve(market, rng)

    def _unresolved(self) -> list[list[MarketId]]:
        markets = self._world.exchange.markets.values()
        return [[market for market in rungs if market not in self._resolved] for rungs in markets]

    def _resolve(self, market: MarketId, rng: random.Random) -> None:
        """Where an event ends is drawn once, so that its rungs resolve as a ladder's can."""
        rungs = next(each for each in self._world.exchange.markets.values() if market in each)
        ends = self._ends.setdefault(rungs[0], rng.randint(0, len(rungs)))
        winner = Outcome.YES if rungs.index(market) < ends else Outcome.NO
        self._world.auditor.on_payout(market, winner)
        self._apply(v.ResolveMarket(market, winner))

    def _event_ends(self, for_ns: int, rng: random.Random) -> Steps:
        going = [rungs for rungs in self._unresolved() if rungs]
        if len(going) == 1:
            if len(self._world.exchange.markets) >= _EVENTS_MAX:
                return
            self._list_event(rng)
        ending = rng.choice(going)
        apart_ns = rng.choice((0, for_ns // len(ending)))
        self._resolved.update(dict.fromkeys(ending))
        for market in ending:
            self._resolve(market, rng)
            yield apart_ns
        yield _LEARNED_NS if len(going) == 1 else 0

    def _rung_listed(self, _: int, rng: random.Random) -> Steps:
        exchange = self._world.exchange
        event, rungs = next(iter(exchange.markets.items()))
        place = rng.randint(0, len(rungs))
        if len(rungs) > _LISTED_MAX or any(each in self._resolved for each in rungs):
            return
        self._list_rung(event, exchange.rung_id(0, len(rungs)), place)
        for each in rungs:
            self._ends.pop(each, None)
        yield _LEARNED_NS

    def _list_rung(self, event: Ticker, market: MarketId, place: int) -> None:
        world = self._world
        world.auditor.on_listed(event, market)
        world.exchange.list_rung(event, market, world.now_ns, place)
        world.crowd.comes_to(market, world.exchange.markets[event], world.now_ns)

    def _event_listed(self, _: int, rng: random.Random) -> Steps:
        if len(self._world.exchange.markets) < _EVENTS_MAX:
            self._list_event(rng)
            yield _LEARNED_NS

    def _list_event(self, rng: random.Random) -> None:
        exchange = self._world.exchange
        number = len(exchange.markets)
        event = exchange.list_event(self._world.now_ns)
        for rung in range(rng.choice((1, 2, 3))):
            self._list_rung(event, exchange.rung_id(number, rung), rung)

    def _maintenance(self, _: int, rng: random.Random) -> Steps:
        for_ns = rng.randint(*_MAINTENANCE_NS)
        if rng.random() < 0.5:
            yield from self._venue_halted(for_ns, rng)
        else:
            yield from self._outage(for_ns, rng)
        yield 5 * SECOND

    def _foreign_reply(self, _: int, __: random.Random) -> None:
        self._world.network.foreign_replies = 1

    def _on_every_network(self, flag: str, for_ns: int) -> Steps:
        return _switched_on([each.network for each in self._world.worlds], flag, for_ns)

    def _resend_barred(self, for_ns: int, _: random.Random) -> Steps:
        return self._on_every_network("stubborn", 3 * for_ns)

    def _outage(self, for_ns: int, _: random.Random) -> Steps:
        for each in self._world.worlds:
            each.channel.close(for_ns)
        return self._on_every_network("outage", for_ns)

    def _key_revoked(self, for_ns: int, _: random.Random) -> Steps:
        yield from self._on_every_network("revoked", for_ns)
        yield 10 * SECOND  # retry of a refused key

    def _read_lag(self, for_ns: int, _: random.Random) -> Steps:
        stale, trust_ns = self._world.exchange.front.stale, self._world.scenario.trust_lag_ns
        stale.lag_ns = max(self._lag_ns, min(_LAG_NS, trust_ns * 95 // 100))
        yield for_ns
        stale.lag_ns = self._lag_ns

    # --- others -----------------------------------------------------------------------------------

    def _twin_orders(self, for_ns: int, rng: random.Random) -> Steps:
        world = self._world
        market = rng.choice([each for each in world.crowd.value if each not in self._resolved])
        placed = world.crowd.buy(MAKER, market, Outcome.YES, 1, 1, world.now_ns)
        yield max(for_ns, 5 * SECOND // 2)
        if placed is not None:
            self._apply(v.CancelOrder(MAKER, placed))
        yield 2 * SECOND

    def _twin_stp(self, for_ns: int, _: random.Random) -> Steps:
        """Somebody else's order on the account meets an ask of the bot at the touch."""
        world, until_ns = self._world, self._world.now_ns + for_ns
        while world.now_ns < until_ns:
            for order in world.auditor.truth.ours():
                if (order.outcome is Outcome.YES) == (order.side is Side.BUY):
                    continue
                price, size = world.exchange.engine.depth(order.market_id, BookSide.ASK)[0]
                if (size, canonical(order.outcome, order.price)) == (order.remaining_qty, price):
                    qty = max(1, size // 2)
                    world.coverage.fault("stp_met")
                    asked = (order.market_id, Outcome.YES, price, qty, world.now_ns)
                    world.crowd.buy(MAKER, *asked, TimeInForce.IOC)
                    break
            yield 100 * MS

    def _twin_trades(self, _: int, rng: random.Random) -> None:
        self._trade_beside(rng, "twin_traded")

    def _transfer(self, _: int, rng: random.Random) -> None:
        world, cents = self._world, Cents(rng.randint(*_TRANSFERS_CENTS))
        if rng.random() < 0.5 or world.auditor.exposure.account.available_cents < 2 * cents:
            self._apply(v.Deposit(MAKER, cents))
        else:
            self._apply(v.Withdraw(MAKER, cents))

    def _begun_amid(self, _: int, rng: random.Random) -> Steps:
        """The bot is killed; while the next life reads the account somebody else trades on it."""
        world, lag_ns = self._world, self._world.scenario.trust_lag_ns
        down_ns = rng.choice((SECOND // 20, SECOND))
        span_ns = down_ns + rng.choice((SECOND, 2 * SECOND, 2 * lag_ns, 4 * lag_ns))
        world.replace(world.process, down_ns, rng)
        for _ in range(rng.choice((1, 1, 2, 3, 5))):
            trade = partial(self._trade_beside, rng, "begun_amid_trade")
            world.schedule_after(rng.randint(0, span_ns), trade)
        yield span_ns + 2 * lag_ns

    def _trade_beside(self, rng: random.Random, name: str) -> None:
        """Buy a share for the bot's account, if others offer one."""
        world, fills = self._world, self._world.auditor.truth.fills
        known = len(fills)
        touches = [
            (market, side, levels[0][0])
            for market in world.crowd.value
            if market not in world.auditor.truth.resolved
            for side in BookSide
            if (levels := world.exchange.engine.depth(market, side))
            and levels[0][0] not in world.auditor.own_levels(market)
        ]
        if not touches:
            return
        market, side, level = rng.choice(touches)
        outcome = Outcome.YES if side is BookSide.ASK else Outcome.NO
        price = canonical(outcome, level)
        world.crowd.buy(MAKER, market, outcome, price, 1, world.now_ns, TimeInForce.IOC)
        if len(fills) > known:
            world.coverage.fault(name)

    def _foreign_spend(self, for_ns: int, _: random.Random) -> Steps:
        world, until_ns = self._world, self._world.now_ns + for_ns
        while world.now_ns < until_ns:
            world.exchange.front.bucket(m.Key.TRADE, world.now_ns).spend_token(world.now_ns)
            world.coverage.fault("foreign_token")
            yield 10 * MS

    def _taken(self, for_ns: int, rng: random.Random) -> Steps:
        world, until_ns = self._world, self._world.now_ns + 3 * for_ns
        while world.now_ns < until_ns:
            ours = list(world.auditor.truth.ours())
            if ours:
                world.coverage.fault("order_taken")
                world.crowd.take_order(rng.choice(ours), rng, world.now_ns)
            yield rng.randint(10, 150) * MS

    def _crowd_leaves(self, for_ns: int, rng: random.Random) -> Steps:
        market = self._any_market(rng)
        self._world.crowd.leave(market, self._world.now_ns)
        yield for_ns
        self._world.crowd.come_back(market)

    def _jump(self, _: int, rng: random.Random) -> None:
        market, cents = self._any_market(rng), rng.randint(15, 30)
        self._world.crowd.jump(market, rng.choice((-1, 1)) * cents, self._world.now_ns)

    def _flicker(self, for_ns: int, rng: random.Random) -> Steps:
        world, until_ns = self._world, self._world.now_ns + for_ns
        market, is_up = self._any_market(rng), True
        while world.now_ns < until_ns:
            world.coverage.fault("flick")
            world.crowd.flick(market, is_up, world.now_ns)
            is_up = not is_up
            yield 50 * MS
        world.crowd.unflick(market, world.now_ns)

    def heal(self) -> None:
        world = self._world
        self._apply(_OPEN)
        for market in world.exchange.all_markets():
            self._apply(v.ResumeMarket(market))
        # A halted venue may have refused the cancel that was to take it away.
        for order_id in list(world.auditor.truth.foreign):
            self._apply(v.CancelOrder(MAKER, order_id))
        world.process.effects_left = None
        if world.process.settings.breakers.creates_per_minute:
            # A person who has looked restarts all counters.
            world.latch = ""
            world.deliver(world.process, m.LatchCleared())


def _switched_on(objects: Sequence[object], flag: str, for_ns: int) -> Steps:
    for each in objects:
        setattr(each, flag, True)
    yield for_ns
    for each in objects:
        setattr(each, flag, False)
