"""The subscription channel of a simulated world: whole books and prints, and what goes wrong."""

import random
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bot.core import messages as m
from bot.lab.exchange.faults import Dice
from bot.lab.sim.life.process import Process
from bot.lab.sim.odds import FRAME_FAULTS, MS, SECOND
from venue.engine import messages as v
from venue.wire.money import Outcome, Qty, Side
from venue.wire.names import MarketId

if TYPE_CHECKING:
    from bot.lab.sim.world import World

_PING_NS: Final = 5 * SECOND // 2
_PONG_NS: Final = 5 * SECOND
_RECONNECT_NS: Final = 250 * MS


class Channel:
    """One connection at a time; what is not delivered on it is lost with it.

    silent: rungs whose frames do not come, and whether their prints do. late_ns: how much later
    than it is sent every frame comes. refusing: every subscribe is refused.
    """

    def __init__(self, world: "World", rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        odds = world.odds
        dice = random.Random(f"frame dice {odds.seed}")
        self._dice = Dice(dice, odds.rates_of(FRAME_FAULTS), odds.without)
        self._low_ns, high_ns = odds.one_way_ns
        self._span_ns = high_ns - self._low_ns
        self._process: Process | None = None
        self._connection = 0
        self.rungs: tuple[MarketId, ...] = ()
        self._wanted: m.SubscribeTo | None = None
        self._stalled_until_ns = 0
        self._last_ns = 0
        self._older: dict[MarketId, m.BookUpdate] = {}
        self._kept: dict[MarketId, int] = {}
        self.silent: dict[MarketId, bool] = {}
        self.late_ns = 0
        self.refusing = False

    # --- the connection ---------------------------------------------------------------------------

    def connect(self, process: Process) -> None:
        self._process = process
        self._connection += 1
        self.rungs = ()
        self._world.seen.hit("feed_opened")
        self._world.deliver(process, m.FeedOpened())
        self._ping(self._connection)
        if self._wanted is not None:
            # What was wanted while the channel was down is sent on opening.
            self.subscribe(process, self._wanted)

    def lost(self) -> None:
        self._process = None
        self._wanted = None
        self._connection += 1
        self.rungs = ()

    def close(self, for_ns: int) -> None:
        process = self._process
        if process is None:
            return
        self.lost()
        self._world.deliver(process, m.FeedClosed("drawn"))

        def back() -> None:
            if process.alive and self._process is None:
                self.connect(process)

        self._world.after(_RECONNECT_NS + for_ns, back)

    def stall(self, for_ns: int) -> None:
        self._stalled_until_ns = self._world.now_ns + for_ns

    def half_open(self) -> None:
        self.stall(_PONG_NS)
        connection = self._connection

        def deadline() -> None:
            if connection == self._connection:
                self.close(0)

        self._world.after(_PONG_NS, deadline)

    def _ping(self, connection: int) -> None:
        if connection == self._connection:
            self._push(m.FeedAlive())
            self._world.after(_PING_NS, lambda: self._ping(connection))

    # --- frames -----------------------------------------------------------------------------------

    def subscribe(self, process: Process, wanted: m.SubscribeTo) -> None:
        if self._process is not process:
            self._wanted = wanted
            return
        self._wanted = None
        connection, world = self._connection, self._world

        def arrive() -> None:
            if connection != self._connection or process is not self._process:
                return
            world.seen.hit("subscribed")
            if self.refusing:
                world.seen.fault("subscribe_refused_frame")
                self._push(m.SubscriptionRefused("unknown_target", "drawn"))
                return
            self.rungs = wanted.rungs
            if world.odds.acks:
                self._push(m.SubscriptionAccepted())
                for market in wanted.rungs:
                    self._frame(world.exchange.front.book_update(market, world.now_ns))

        world.after(self._one_way(), arrive)

    def publish(self) -> None:
        exchange, now_ns = self._world.exchange, self._world.now_ns
        changed: dict[MarketId, None] = {}
        for event in exchange.newly_shown(now_ns):
            if isinstance(event, v.LevelChanged):
                changed[event.market_id] = None
            elif isinstance(event, v.TradePrinted) and event.market_id in self.rungs:
                bought = (event.taker_outcome is Outcome.YES) == (event.taker_side is Side.BUY)
                self._frame(
                    m.Trade(
                        event.market_id, event.at_ns, event.trade_id, event.price, event.qty, bought
                    )
                )
        for market in changed:
            if market in self.rungs:
                self._frame(exchange.front.book_update(market, now_ns))

    def _frame(self, frame: m.BookUpdate | m.Trade) -> None:
        world = self._world
        prints_come = self.silent.get(frame.market_id)
        if prints_come is not None and not (prints_come and type(frame) is m.Trade):
            world.seen.fault("silent_frame")
            return
        fault = self._dice.roll() if world.faulty else ""
        if type(frame) is m.BookUpdate:
            self._remember(frame)
        if not fault:
            self._push(frame)
            return
        if self._befalls(fault, frame):
            world.seen.fault(fault if type(frame) is m.BookUpdate else f"{fault}:print")

    def _remember(self, frame: m.BookUpdate) -> None:
        kept = self._kept.get(frame.market_id, 0)
        self._kept[frame.market_id] = kept + 1
        if kept % 16 == 0:
            self._older[frame.market_id] = frame
        world = self._world
        if frame.market_id == world.crowd.dead:
            world.seen.hit("dead_book")
        elif kept % 4 == 0 and frame.bids and frame.asks:
            best = (frame.bids[0][0], frame.asks[0][0])
            if any(level in best for level in world.auditor.own_levels(frame.market_id)):
                world.seen.hit("own_at_touch")

    def _befalls(self, fault: str, frame: m.BookUpdate | m.Trade) -> bool:
        """True if the fault had an occasion; else the frame comes as it is."""
        older = self._older.get(frame.market_id)
        match fault, frame:
            case "frame_dropped", _:
                pass
            case "frame_garbled", _:
                self._push(m.MalformedFrame("drawn", known=self._rng.random() < 0.5))
            case "frame_delayed", _:
                self._push(frame, self._rng.randint(MS, 2 * SECOND))
            case "frame_duplicated", _:
                self._push(frame)
                self._push(frame, self._rng.randint(0, SECOND))
            case "frame_crossed", m.BookUpdate(bids=((best, _), *_)):
                self._push(replace(frame, asks=((best, Qty(1)),)))
            case "frame_stale", _ if older is not None and older.ts_ns < frame.ts_ns:
                self._push(frame)
                self._push(older)
            case _:
                self._push(frame)
                return False
        return True

    def _one_way(self) -> int:
        return self._low_ns + int(self._rng.random() * self._span_ns)

    def _push(self, event: m.Event, extra_ns: int = 0) -> None:
        world, process, connection = self._world, self._process, self._connection
        if process is None:
            return
        at_ns = max(world.now_ns, self._stalled_until_ns) + self._one_way() + self.late_ns
        if not extra_ns:
            at_ns = self._last_ns = max(at_ns, self._last_ns)

        def arrive() -> None:
            if connection == self._connection:
                world.deliver(process, event)

        world.at(at_ns + extra_ns, arrive)
