"""An event loop in virtual time: where nothing is left to do now, the next deadline is now.

What the loop has a thread do (a write of the journal, its sync) takes no virtual time: until it is
back the clock stands still. The records have a thread of their own, and are some moments later.
Signals are heard, for whoever waits on a terminal.
"""

import asyncio
import math
import selectors
from collections.abc import Callable
from typing import Any

from bot.io.clock import Clock
from venue.wire.instant import NS_PER_SECOND

_THREAD_S = 1.0


class _Leaping(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Never sleeps for a deadline, but moves the clock to it. jobs: threads that are awaited."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ns = 0
        self.jobs = 0

    def select(self, timeout: float | None = None) -> Any:
        """What is ready; the time that would have been waited has passed if there is nothing."""
        if self.jobs and (timeout is None or timeout > 0):
            return super().select(_THREAD_S)
        ready = super().select(0)
        if not ready and timeout is not None:
            self.now_ns += max(0, math.ceil(timeout * NS_PER_SECOND))
        return ready


class LeapingLoop(asyncio.SelectorEventLoop):
    """For `asyncio.Runner(loop_factory=LeapingLoop)`."""

    def __init__(self) -> None:
        self._leaping = _Leaping()
        super().__init__(self._leaping)

    @property
    def now_ns(self) -> int:
        """Nanoseconds since the loop was made."""
        return self._leaping.now_ns

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._leaping.now_ns / NS_PER_SECOND

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """As the loop's own; the clock stands still until it is done."""
        self._leaping.jobs += 1
        done = super().run_in_executor(executor, func, *args)
        done.add_done_callback(self._back)
        return done

    def _back(self, _: asyncio.Future[Any]) -> None:
        self._leaping.jobs -= 1


class LeapingClock(Clock):
    """The bot's clock on such a loop. start_ns: what it shows at the loop's beginning."""

    def __init__(self, loop: LeapingLoop, start_ns: int) -> None:
        super().__init__()
        self._loop = loop
        self._start_ns = start_ns

    def now_ns(self) -> int:
        return self._start_ns + self._loop.now_ns
