"""The one loop in virtual time, for simulations, backtests, evaluations and what-if runs.

One queue of acts, and no clock: equal acts give an equal run. At one instant acts run by rank, then
in the order of scheduling; ticks of traders come last.
"""

import heapq
from collections.abc import Callable
from typing import Final

_TICK_RANK: Final = 9

Act = Callable[[], None]


class Driver:
    """The queue."""

    def __init__(self, start_ns: int) -> None:
        self.now_ns = start_ns  # the instant that it has reached
        self.steps = 0  # acts carried out so far
        self._queue: list[tuple[int, int, int, Act]] = []
        self._scheduled = 0

    def schedule_at(self, at_ns: int, act: Act, rank: int = 0) -> None:
        """Schedule an act, at once where the instant has passed. rank: 0 to 8."""
        self._scheduled += 1
        at_ns = max(at_ns, self.now_ns)
        heapq.heappush(self._queue, (at_ns, rank, self._scheduled, act))

    def schedule_after(self, delay_ns: int, act: Act, rank: int = 0) -> None:
        self.schedule_at(self.now_ns + delay_ns, act, rank)

    def run_until(self, until_ns: int, is_done: Callable[[], bool] | None = None) -> bool:
        """Run the acts up to and including an instant. is_done: asked after each act; True
        ends the run there. Returns whether it did."""
        queue, pop = self._queue, heapq.heappop
        while queue and queue[0][0] <= until_ns:
            self.now_ns, _, _, act = pop(queue)
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
    """When one trader ticks next."""

    def __init__(self, driver: Driver, tick: Act, rank: int = _TICK_RANK) -> None:
        """tick: what happens then; it schedules the next one."""
        self._driver = driver
        self._tick = tick
        self._rank = rank
        self.at_ns: int | None = None  # None before it was scheduled

    def schedule(self, at_ns: int) -> None:
        if self.at_ns != at_ns:
            self.at_ns = at_ns
            self._driver.schedule_at(at_ns, self._due, self._rank)

    def schedule_by(self, at_ns: int) -> None:
        """Tick no later than an instant."""
        if self.at_ns is None or at_ns < self.at_ns:
            self.at_ns = at_ns
            self._driver.schedule_at(at_ns, self._due, self._rank)

    def cancel_tick(self) -> None:
        """Tick no more until scheduled again."""
        self.at_ns = None

    def _due(self) -> None:
        driver = self._driver
        if self.at_ns != driver.now_ns:
            driver.skip()  # another instant has replaced this one
            return
        self.at_ns = None
        self._tick()
