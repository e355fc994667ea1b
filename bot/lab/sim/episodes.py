"""Episodes: what befalls a world for a while, when, and how it ends.

Each kind has a stream of its own, so that leaving one out shifts no other.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.core import messages as m
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.life.moods import Mood
from bot.lab.sim.life.process import Process
from bot.lab.sim.odds import MS, SECOND
from venue.core import messages as v
from venue.wire.model import VenueState
from venue.wire.money import BookSide, Cents, Outcome, Side, canonical
from venue.wire.names import MarketId, Ticker
from venue.wire.requests import TimeInForce

if TYPE_CHECKING:
    from bot.lab.sim.world import World

_DURATIONS_S: Final = (0.1, 0.4, 2.0, 6.0)
_OFTENER: Final = {"tantrum": 3, "rung_silent": 3, "greed": 3, "twin_trades": 2, "maintenance": 0.1}
"""Episodes that are over soon, or whose row few of them meet, come oftener than they are drawn,
and one that takes long comes less often."""

_MAINTENANCE_NS: Final = (600 * SECOND, 3_600 * SECOND)
_TRANSFERS_CENTS: Final = (200_000, 1_000_000)

_LAG_NS: Final = 5 * SECOND
_SPEND_NS: Final = 10 * MS
_FLICK_NS: Final = 50 * MS
_TRADES: Final = (1, 1, 2, 3, 5)
_DOWN_NS: Final = (SECOND // 20, SECOND)
_STP_NS: Final = 100 * MS
_TAKEN_TIMES: Final = 3
_FLATTEN_TIMES: Final = 2
_TAKEN_NS: Final = (10 * MS, 150 * MS)
_TWIN_SECONDS: Final = 2.5
_SILENT_TIMES: Final = 2
"""A rung is silent for longer than a book is believed, some of the time."""

_BARRED_TIMES: Final = 3

_PULLED_NS: Final = 5 * SECOND
_UP_NS: Final = 300 * MS
_LISTED_MAX: Final = 6
_EVENTS_MAX: Final = 4
_NEW_EVENT_RUNGS: Final = (1, 2, 3)
_LEARNED_NS: Final = 12 * SECOND


class Episodes:
    """The episodes of one world. over_ns: when the last of those begun so far has run out."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._rngs = {
            name: random.Random(f"{name} {world.odds.seed}") for name in world.odds.episodes
        }
        self.over_ns = 0
        self._lag_ns = world.exchange.front.stale.lag_ns
        self._foreign_in: Process | None = None
        self._resolved: dict[MarketId, None] = {}  # those about to resolve among them
        self._ends: dict[MarketId, int] = {}  # how many rungs of an event pay YES, by its lowest

    def plan(self, span_ns: int) -> None:
        world = self._world
        for name, expected in world.odds.episodes.items():
            rng = self._rngs[name]
            expected *= _OFTENER.get(name, 1)
            count = int(expected) + (rng.random() < expected % 1)
            for _ in range(count):
                at_ns = world.now_ns + int(rng.random() * span_ns)
                for_ns = int(rng.choice(_DURATIONS_S) * rng.uniform(0.5, 1.5) * SECOND)
                if name not in world.odds.without:
                    self._plan_one(name, at_ns, for_ns)

    def _plan_one(self, name: str, at_ns: int, for_ns: int) -> None:
        if name in ("tantrum", "fat_finger", "mad_strategy", "greed"):
            self._world.moods.append(Mood(name, at_ns, at_ns + for_ns))
            for_ns += _PULLED_NS
        self._world.at(at_ns, lambda: self._begin(name, for_ns))

    def _begin(self, name: str, for_ns: int, rng: random.Random | None = None) -> None:
        world = self._world
        world.seen.fault(name)
        world.trace.append((world.now_ns, "!", f"{name} for {for_ns / SECOND:.3f} s"))
        self.over_ns = max(self.over_ns, world.now_ns + for_ns + SECOND)
        begin = getattr(self, f"_{name}", None)
        if begin is not None:
            begin(for_ns, rng or self._rngs[name])

    def _later(self, for_ns: int, act: Callable[[], object]) -> None:
        def end() -> None:
            act()

        self._world.after(for_ns, end)

    # --- the channel ------------------------------------------------------------------------------

    def _feed_stall(self, for_ns: int, _: random.Random) -> None:
        self._world.channel.stall(for_ns)

    def _feed_close(self, for_ns: int, _: random.Random) -> None:
        self._world.channel.close(for_ns)

    def _half_open(self, _: int, __: random.Random) -> None:
        self.over_ns = max(self.over_ns, self._world.now_ns + 7 * SECOND)
        self._world.channel.half_open()

    def _rung_silent(self, for_ns: int, rng: random.Random) -> None:
        markets = list(self._world.exchange.all_markets())
        # Of a rung that never traded a read says nothing either: that is where silence hurts.
        market = self._world.crowd.dead or rng.choice(markets)
        silent = self._world.channel.silent
        silent[market] = rng.random() < 0.5
        for_ns *= _SILENT_TIMES
        self.over_ns = max(self.over_ns, self._world.now_ns + for_ns + SECOND)
        self._later(for_ns, lambda: silent.pop(market, None))

    def _feed_late(self, for_ns: int, rng: random.Random) -> None:
        channel = self._world.channel
        channel.late_ns = rng.randint(600, 2_500) * MS
        self._later(for_ns, lambda: setattr(channel, "late_ns", 0))

    def _subscribe_refused(self, for_ns: int, _: random.Random) -> None:
        channel = self._world.channel
        channel.refusing = True
        # A refused set is sent again five seconds later.
        self.over_ns = max(self.over_ns, self._world.now_ns + for_ns + 6 * SECOND)
        self._later(for_ns, lambda: setattr(channel, "refusing", False))

    # --- the process ------------------------------------------------------------------------------

    def _process_pause(self, for_ns: int, _: random.Random) -> None:
        self._world.pause(for_ns)

    def _slow_loop(self, for_ns: int, rng: random.Random) -> None:
        world, until_ns = self._world, self._world.now_ns + for_ns

        def turn() -> None:
            if world.now_ns < until_ns:
                world.pause(rng.randint(20, 120) * MS)
                world.after(rng.randint(121, 160) * MS, turn)

        turn()

    def _crash(self, for_ns: int, rng: random.Random) -> None:
        self._world.replace(self._world.process, for_ns, rng)

    def _crash_at_effect(self, _: int, rng: random.Random) -> None:
        self._world.process.effects_left = rng.randint(0, 12)

    def crash_now(self, process: Process) -> None:
        rng = self._rngs["crash_at_effect"]
        self._world.seen.hit("crashed_at_effect")
        self._world.replace(process, rng.randint(1, 2_000) * MS, rng)

    def _lost_journal(self, for_ns: int, rng: random.Random) -> None:
        # What is on its way has arrived before the host is set up anew.
        down_ns = max(for_ns, self._world.odds.timeout_ns + self._world.odds.late_ns + SECOND)
        self.over_ns = max(self.over_ns, self._world.now_ns + down_ns + SECOND)
        self._world.replace(self._world.process, down_ns, rng, lost=True)

    def _disk_fault(self, _: int, __: random.Random) -> None:
        process = self._world.process
        self._world.deliver(process, m.JournalFailed("drawn: no space left"))
        self.over_ns = max(self.over_ns, self._world.now_ns + 10 * SECOND)

    def _operator_pause(self, for_ns: int, _: random.Random) -> None:
        process = self._world.process
        self._world.deliver(process, m.PauseRequested("drawn"))
        self._later(for_ns, lambda: self._world.deliver(process, m.ResumeRequested()))

    def _flatten(self, for_ns: int, _: random.Random) -> None:
        world = self._world
        for_ns *= _FLATTEN_TIMES
        self.over_ns = max(self.over_ns, world.now_ns + for_ns + SECOND)
        world.deliver(world.process, m.FlattenRequested("drawn"))
        self._later(for_ns, lambda: world.deliver(world.process, m.ResumeRequested()))

    def _operator_restart(self, _: int, __: random.Random) -> None:
        process = self._world.process
        self._world.deliver(process, m.StopRequested("drawn"))
        self.over_ns = max(self.over_ns, self._world.now_ns + 10 * SECOND)

    def _reload(self, for_ns: int, rng: random.Random) -> None:
        world = self._world
        if not world.process.log:
            # Nobody reads the file of a bot that is down; once it is up it is changed.
            self.over_ns = max(self.over_ns, world.now_ns + for_ns + 2 * SECOND)
            world.after(_UP_NS, lambda: self._reload(for_ns, rng))
            return
        world.reload_one(rng)
        if rng.random() < 0.5:
            self._later(for_ns, lambda: world.reload(world.first_file, "back"))

    # --- the venue --------------------------------------------------------------------------------

    def _venue_halted(self, for_ns: int, _: random.Random) -> None:
        self._venue(VenueState.HALTED, for_ns)

    def _venue_cancel_only(self, for_ns: int, _: random.Random) -> None:
        self._venue(VenueState.CANCEL_ONLY, for_ns)

    def _venue(self, state: VenueState, for_ns: int) -> None:
        self._apply(v.SetVenueState(state))
        self._later(for_ns, lambda: self._apply(v.SetVenueState(VenueState.OPEN)))

    def _apply(self, command: v.Command) -> None:
        self._world.exchange.apply(command, self._world.now_ns)

    def _market_halt(self, for_ns: int, rng: random.Random) -> None:
        market = rng.choice(list(self._world.exchange.all_markets()))
        self._apply(v.HaltMarket(market))
        self._later(for_ns, lambda: self._apply(v.ResumeMarket(market)))

    def _market_resolve(self, _: int, rng: random.Random) -> None:
        """One rung resolves for good; each event keeps a rung.

        Where an event ends is drawn once, so that its rungs resolve as a ladder's can.
        """
        markets = [
            market
            for rungs in self._world.exchange.markets.values()
            for market in rungs
            if market not in self._resolved
            and sum(each not in self._resolved for each in rungs) > 1
        ]
        if not markets:
            return
        market = rng.choice(markets)
        self._resolved[market] = None
        self._resolve(market, rng)

    def _resolve(self, market: MarketId, rng: random.Random) -> None:
        rungs = next(each for each in self._world.exchange.markets.values() if market in each)
        ends = self._ends.setdefault(rungs[0], rng.randint(0, len(rungs)))
        winner = Outcome.YES if rungs.index(market) < ends else Outcome.NO
        self._world.auditor.pays(market, winner)
        self._apply(v.ResolveMarket(market, winner))

    def end_event(self, rng: random.Random) -> None:
        self._begin("event_ends", 0, rng)

    def _event_ends(self, for_ns: int, rng: random.Random) -> None:
        going = [
            [market for market in rungs if market not in self._resolved]
            for rungs in self._world.exchange.markets.values()
        ]
        going = [rungs for rungs in going if rungs]
        if len(going) == 1:
            if len(self._world.exchange.markets) >= _EVENTS_MAX:
                return
            self._event_listed(for_ns, rng)
        ending = rng.choice(going)
        apart_ns = rng.choice((0, for_ns // len(ending)))
        self._resolved.update(dict.fromkeys(ending))
        for place, market in enumerate(ending):
            self._later(place * apart_ns, partial(self._resolve, market, rng))

    def _rung_listed(self, _: int, rng: random.Random) -> None:
        world = self._world
        event, rungs = next(iter(world.exchange.markets.items()))
        place = rng.randint(0, len(rungs))
        if len(rungs) > _LISTED_MAX or any(each in self._resolved for each in rungs):
            return
        self._list_rung(event, world.exchange.rung_id(0, len(rungs)), place)
        for each in world.exchange.markets[event]:
            self._ends.pop(each, None)

    def _list_rung(self, event: Ticker, market: MarketId, place: int) -> None:
        world = self._world
        # It is quoted as the others are once the series has been read anew.
        self.over_ns = max(self.over_ns, world.now_ns + _LEARNED_NS)
        world.auditor.listed(event, market)
        world.exchange.list_rung(event, market, world.now_ns, place)
        world.crowd.comes_to(market, world.exchange.markets[event], world.now_ns)

    def _event_listed(self, _: int, rng: random.Random) -> None:
        world = self._world
        number = len(world.exchange.markets)
        if number >= _EVENTS_MAX:
            return
        event = world.exchange.list_event(world.now_ns)
        for rung in range(rng.choice(_NEW_EVENT_RUNGS)):
            self._list_rung(event, world.exchange.rung_id(number, rung), rung)

    def _maintenance(self, _: int, rng: random.Random) -> None:
        for_ns = rng.randint(*_MAINTENANCE_NS)
        self.over_ns = max(self.over_ns, self._world.now_ns + for_ns + 6 * SECOND)
        if rng.random() < 0.5:
            self._venue(VenueState.HALTED, for_ns)
        else:
            self._outage(for_ns, rng)

    def _foreign_reply(self, _: int, __: random.Random) -> None:
        if self._foreign_in is not self._world.process:
            self._foreign_in = self._world.process
            self._world.network.foreign_replies = 1

    def _throttled(self, for_ns: int, _: random.Random) -> None:
        self._on_every_network("throttled", for_ns)

    def _on_every_network(self, what: str, for_ns: int) -> None:
        for each in self._world.together:
            setattr(each.network, what, True)
            self._later(for_ns, partial(setattr, each.network, what, False))

    def _resend_barred(self, for_ns: int, _: random.Random) -> None:
        for_ns *= _BARRED_TIMES
        self.over_ns = max(self.over_ns, self._world.now_ns + for_ns + SECOND)
        self._on_every_network("stubborn", for_ns)

    def _outage(self, for_ns: int, _: random.Random) -> None:
        for each in self._world.together:
            each.channel.close(for_ns)
        self._on_every_network("outage", for_ns)

    def _key_revoked(self, for_ns: int, _: random.Random) -> None:
        # A refused key is tried again every ten seconds.
        self.over_ns = max(self.over_ns, self._world.now_ns + for_ns + 11 * SECOND)
        self._on_every_network("revoked", for_ns)

    def _read_lag(self, for_ns: int, _: random.Random) -> None:
        slow = self._world.exchange.front.stale
        slow.lag_ns = max(self._lag_ns, min(_LAG_NS, self._world.odds.trust_lag_ns * 95 // 100))
        self._later(for_ns, self._lag_ends)

    def _lag_ends(self) -> None:
        self._world.exchange.front.stale.lag_ns = self._lag_ns

    # --- somebody else ----------------------------------------------------------------------------

    def _twin_orders(self, for_ns: int, rng: random.Random) -> None:
        world = self._world
        market = rng.choice([each for each in world.crowd.value if each not in self._resolved])
        placed = world.crowd.twin(market, 1, 1, TimeInForce.GTC, world.now_ns)
        for_ns = max(for_ns, int(_TWIN_SECONDS * SECOND))
        self.over_ns = max(self.over_ns, world.now_ns + for_ns + 3 * SECOND)
        if isinstance(placed, v.Placed):
            order_id = placed.order.order_id
            self._later(for_ns, lambda: self._apply(v.CancelOrder(MAKER, order_id)))

    def _twin_stp(self, for_ns: int, _: random.Random) -> None:
        world, until_ns = self._world, self._world.now_ns + for_ns

        def meet() -> None:
            if world.now_ns >= until_ns:
                return
            for order in world.auditor.truth.ours():
                if (order.outcome is Outcome.YES) == (order.side is Side.BUY):
                    continue
                asks = world.exchange.engine.depth(order.market_id, BookSide.ASK)
                price, size = asks[0]
                if size == order.remaining_qty and len(asks) and _ask_level(order) == price:
                    qty = max(1, size // 2)
                    world.seen.fault("stp_met")
                    world.crowd.twin(order.market_id, price, qty, TimeInForce.IOC, world.now_ns)
                    break
            world.after(_STP_NS, meet)

        meet()

    def _twin_trades(self, _: int, rng: random.Random) -> None:
        self._trade_beside(rng, "twin_traded")

    def _transfer(self, _: int, rng: random.Random) -> None:
        world, cents = self._world, Cents(rng.randint(*_TRANSFERS_CENTS))
        if rng.random() < 0.5 or world.auditor.exposure.account.available_cents < 2 * cents:
            self._apply(v.Deposit(MAKER, cents))
        else:
            self._apply(v.Withdraw(MAKER, cents))

    def _begun_amid(self, _: int, rng: random.Random) -> None:
        """The bot is killed; while the next life reads the account somebody else trades on it."""
        world, lag_ns = self._world, self._world.odds.trust_lag_ns
        down_ns = rng.choice(_DOWN_NS)
        span_ns = down_ns + rng.choice((SECOND, 2 * SECOND, 2 * lag_ns, 4 * lag_ns))
        world.replace(world.process, down_ns, rng)
        for _ in range(rng.choice(_TRADES)):
            trade = partial(self._trade_beside, rng, "begun_amid_trade")
            world.after(rng.randint(0, span_ns), trade)
        self.over_ns = max(self.over_ns, world.now_ns + span_ns + 2 * lag_ns + SECOND)

    def _trade_beside(self, rng: random.Random, name: str) -> None:
        """Buy a share for the bot's account, of others; nothing where nobody offers one."""
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
        world.crowd.twin(market, price, 1, TimeInForce.IOC, world.now_ns, outcome)
        if len(fills) > known:
            world.seen.fault(name)

    def _foreign_spend(self, for_ns: int, _: random.Random) -> None:
        world, until_ns = self._world, self._world.now_ns + for_ns

        def spend() -> None:
            if world.now_ns < until_ns:
                world.exchange.front.bucket(m.Key.TRADE, world.now_ns).take(world.now_ns)
                world.seen.fault("foreign_token")
                world.after(_SPEND_NS, spend)

        spend()

    def _taken(self, for_ns: int, rng: random.Random) -> None:
        for_ns *= _TAKEN_TIMES
        world, until_ns = self._world, self._world.now_ns + for_ns
        self.over_ns = max(self.over_ns, until_ns + SECOND)

        def take() -> None:
            if world.now_ns >= until_ns:
                return
            ours = list(world.auditor.truth.ours())
            if ours:
                world.seen.fault("order_taken")
                world.crowd.take(rng.choice(ours), rng, world.now_ns)
            world.after(rng.randint(*_TAKEN_NS), take)

        take()

    def _crowd_leaves(self, for_ns: int, rng: random.Random) -> None:
        world, market = self._world, rng.choice(list(self._world.crowd.value))
        world.crowd.leave(market, world.now_ns)
        self._later(for_ns, lambda: world.crowd.come_back(market))

    def _jump(self, _: int, rng: random.Random) -> None:
        market, cents = rng.choice(list(self._world.crowd.value)), rng.randint(15, 30)
        self._world.crowd.jump(market, rng.choice((-1, 1)) * cents, self._world.now_ns)

    def _flicker(self, for_ns: int, rng: random.Random) -> None:
        world, until_ns = self._world, self._world.now_ns + for_ns
        market = rng.choice(list(world.crowd.value))

        def flick(up: bool) -> None:
            if world.now_ns >= until_ns:
                world.crowd.unflick(market, world.now_ns)
                return
            world.seen.fault("flick")
            world.crowd.flick(market, up, world.now_ns)
            world.after(_FLICK_NS, lambda: flick(not up))

        flick(True)

    # --- the end of it all ------------------------------------------------------------------------

    def heal(self) -> None:
        world = self._world
        self._apply(v.SetVenueState(VenueState.OPEN))
        for market in world.exchange.all_markets():
            self._apply(v.ResumeMarket(market))
        for order in world.auditor.truth.resting():
            # A halted venue may have refused the cancel that was to take it away.
            if order.order_id in world.auditor.truth.foreign:
                self._apply(v.CancelOrder(MAKER, order.order_id))
        for order_id in list(world.auditor.truth.foreign):
            # A halted venue may have kept its owner from it.
            self._apply(v.CancelOrder(MAKER, order_id))
        self._lag_ends()
        world.process.effects_left = None
        if world.process.settings.breakers.creates_per_minute:
            # A person who has looked lets everything be counted anew.
            world.latch = ""
            world.deliver(world.process, m.LatchCleared())


def _ask_level(order: v.OrderState) -> int:
    return canonical(order.outcome, order.price)
