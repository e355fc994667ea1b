"""The one loop in virtual time, for simulations, backtests, evaluations and what-if runs.

One queue of acts, and no clock: equal acts give an equal run. The acts of one instant run in the
order of scheduling, and then the tick.
"""

import heapq
from collections.abc import Callable

from bot.core.orders.outbox import NEVER_NS

Act = Callable[[], None]


class Driver:
    """The queue."""

    def __init__(self, start_ns: int) -> None:
        self.now_ns = start_ns  # the instant that it has reached
        self.steps = 0  # acts carried out so far
        self.tick_ns = NEVER_NS  # when `on_tick` runs next, and no earlier than `now_ns`
        self.on_tick: Act = lambda: None
        self._queue: list[tuple[int, int, Act]] = []
        self._scheduled = 0

    def schedule_at(self, at_ns: int, act: Act) -> None:
        """Schedule an act, at once where the instant has passed."""
        self._scheduled += 1
        at_ns = max(at_ns, self.now_ns)
        heapq.heappush(self._queue, (at_ns, self._scheduled, act))

    def schedule_after(self, delay_ns: int, act: Act) -> None:
        self.schedule_at(self.now_ns + delay_ns, act)

    def run_until(self, until_ns: int, is_done: Callable[[], bool] | None = None) -> bool:
        """Run the acts up to and including an instant. is_done: asked after each act; True
        ends the run there. Returns whether it did."""
        queue, pop = self._queue, heapq.heappop
        while True:
            if queue and queue[0][0] <= self.tick_ns:
                if queue[0][0] > until_ns:
                    break
                self.now_ns, _, act = pop(queue)
            elif self.tick_ns <= until_ns:
                self.now_ns, self.tick_ns, act = self.tick_ns, NEVER_NS, self.on_tick
            else:
                break
            self.steps += 1
            act()
            if is_done is not None and is_done():
                return True
        self.now_ns = max(self.now_ns, until_ns)
        return False

    def reach(self, at_ns: int) -> None:
        """Run the acts before an instant and reach it, for the caller to act first."""
        self.run_until(at_ns - 1)
        self.now_ns = at_ns

    def skip(self) -> None:
        """The act that is being carried out does nothing: it is no step."""
        self.steps -= 1


class TickTimer:
    """When one of several traders ticks next: each tick is an act like any other."""

    def __init__(self, driver: Driver, tick: Act) -> None:
        """tick: what happens then; it schedules the next one."""
        self._driver = driver
        self._tick = tick
        self._at_ns: int | None = None  # None while none is scheduled

    def schedule_by(self, at_ns: int) -> None:
        """Tick no later than an instant."""
        if self._at_ns is None or at_ns < self._at_ns:
            self._at_ns = at_ns
            self._driver.schedule_at(at_ns, self._due)

    def cancel_tick(self) -> None:
        """Tick no more until scheduled again."""
        self._at_ns = None

    def _due(self) -> None:
        driver = self._driver
        if self._at_ns != driver.now_ns:
            driver.skip()  # another instant has replaced this one
            return
        self._at_ns = None
        self._tick()
