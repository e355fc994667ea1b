"""A naive venue's token bucket behind a network with jitter, in virtual time, for claims on pace.

Kept apart from the bucket of the contract: it counts in nanoseconds of rate, with none of its code.
"""

import heapq
import random
from collections.abc import Callable

MS = 1_000_000
SECOND = 1_000_000_000
COST_NS = SECOND // 250
FULL_NS = 500 * COST_NS


class VenueBucket:
    """250 requests a second, 500 at once: time that is not used up may be used later."""

    def __init__(self, now_ns: int = 0) -> None:
        self.credit_ns = FULL_NS
        self.at_ns = now_ns
        self.throttled = 0
        self.let_in = 0

    def take(self, now_ns: int) -> int | None:
        """Tokens left after a request; None when it is refused with a 429."""
        self.credit_ns = min(FULL_NS, self.credit_ns + now_ns - self.at_ns)
        self.at_ns = now_ns
        if self.credit_ns < COST_NS:
            self.throttled += 1
            return None
        self.credit_ns -= COST_NS
        self.let_in += 1
        return self.credit_ns // COST_NS


class Wire:
    """Requests on their way to the venue and answers on their way back, each with its own delay."""

    def __init__(self, seed: int, jitter_ns: int, venue: VenueBucket | None = None) -> None:
        self.venue = VenueBucket() if venue is None else venue
        self.rng = random.Random(seed)
        self.now_ns = 0
        self._jitter_ns = jitter_ns
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._planned = 0

    def at(self, at_ns: int, act: Callable[[], None]) -> None:
        """Have something done at an instant."""
        self._planned += 1
        heapq.heappush(self._queue, (at_ns, self._planned, act))

    def send(self, answered: Callable[[int | None], None]) -> None:
        """Send a request; `answered` gets the tokens left, or None for a 429."""

        def arrive() -> None:
            left = self.venue.take(self.now_ns)
            self.at(self.now_ns + self._delay_ns(), lambda: answered(left))

        self.at(self.now_ns + self._delay_ns(), arrive)

    def _delay_ns(self) -> int:
        return int(self.rng.random() * self._jitter_ns)

    def run_until(self, until_ns: int, done: Callable[[], bool] | None = None) -> bool:
        """Let time pass. True as soon as `done` holds, False when the time is over first."""
        while self._queue and self._queue[0][0] <= until_ns:
            self.now_ns, _, act = heapq.heappop(self._queue)
            act()
            if done is not None and done():
                return True
        self.now_ns = until_ns
        return False
