"""The subscription channel of a simulated world: whole books and prints, and what goes wrong."""

import random
from typing import TYPE_CHECKING

from bot.core import messages as m
from tests.sim.odds import FRAME_FAULTS, MS, SECOND
from tests.sim.process import Process
from venue.core import messages as v
from venue.wire.money import Outcome, Side
from venue.wire.names import MarketId

if TYPE_CHECKING:
    from tests.sim.world import World

_PING_NS = 5 * SECOND // 2
_RECONNECT_NS = 250 * MS


class Channel:
    """One connection at a time; what is not delivered on it is lost with it."""

    def __init__(self, world: "World", rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        self._process: Process | None = None
        self._connection = 0
        self._rungs: tuple[MarketId, ...] = ()
        self._stalled_until_ns = 0
        self._last_ns = 0
        self.faults_seen = dict.fromkeys(FRAME_FAULTS, 0)

    # --- the connection ---------------------------------------------------------------------------

    def connect(self, process: Process) -> None:
        """A process opens the channel."""
        self._process = process
        self._connection += 1
        self._rungs = ()
        self._world.deliver(process, m.FeedOpened())
        self._ping(self._connection)

    def lost(self) -> None:
        """The connection is gone and nobody is told."""
        self._process = None
        self._connection += 1
        self._rungs = ()

    def close(self, for_ns: int) -> None:
        """The connection drops and comes back after a while."""
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
        """Nothing comes through for a while; then everything does."""
        self._stalled_until_ns = self._world.now_ns + for_ns

    def _ping(self, connection: int) -> None:
        if connection == self._connection:
            self._push(m.FeedHeard())
            self._world.after(_PING_NS, lambda: self._ping(connection))

    # --- frames -----------------------------------------------------------------------------------

    def subscribe(self, process: Process, wanted: m.SubscribeTo) -> None:
        """A subscribe frame leaves a process; it replaces the whole set."""
        connection = self._connection

        def arrive() -> None:
            if connection == self._connection and process is self._process:
                self._rungs = wanted.rungs
                self._push(m.SubscriptionAccepted())
                for market in wanted.rungs:
                    self._frame(self._world.exchange.book_frame(market))

        if self._process is process:
            self._world.after(self._rng.randint(*self._world.odds.one_way_ns), arrive)

    def publish(self) -> None:
        """What has become visible goes out: one whole book per market that changed, and prints."""
        exchange = self._world.exchange
        changed: dict[MarketId, None] = {}
        for event in exchange.fast.advance(self._world.now_ns):
            if isinstance(event, v.LevelChanged):
                changed[event.market_id] = None
            elif isinstance(event, v.TradePrinted) and event.market_id in self._rungs:
                bought = (event.taker_outcome is Outcome.YES) == (event.taker_side is Side.BUY)
                self._frame(
                    m.TradeSeen(
                        event.market_id, event.at_ns, event.trade_id, event.price, event.qty, bought
                    )
                )
        for market in changed:
            if market in self._rungs:
                self._frame(exchange.book_frame(market))

    def _fault(self) -> str:
        if self._world.faulty:
            for name, chance in self._world.odds.frame_faults.items():
                if self._rng.random() < chance:
                    self.faults_seen[name] += 1
                    return name
        return ""

    def _frame(self, frame: m.BookSeen | m.TradeSeen) -> None:
        fault = self._fault()
        if fault == "garbled":
            self._push(m.FrameGarbled("drawn", self._rng.random() < 0.8))
        elif fault == "duplicated":
            self._push(frame)
            self._push(frame, self._rng.randint(0, SECOND))
        elif fault == "delayed":
            self._push(frame, self._rng.randint(MS, 2 * SECOND))
        elif fault != "dropped":
            self._push(frame)

    def _push(self, event: m.Event, extra_ns: int = 0) -> None:
        """Send towards the process, in order but for what is held back by `extra_ns`."""
        world, process, connection = self._world, self._process, self._connection
        if process is None:
            return
        at_ns = max(world.now_ns, self._stalled_until_ns)
        at_ns += self._rng.randint(*world.odds.one_way_ns)
        if not extra_ns:
            at_ns = self._last_ns = max(at_ns, self._last_ns)

        def arrive() -> None:
            if connection == self._connection:
                world.deliver(process, event)

        world.at(at_ns + extra_ns, arrive)
