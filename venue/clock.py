"""The venue's clock: the wall at its start and the time elapsed since, sleep of the host included,
never backwards."""

import time
from typing import Final

_ELAPSED: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The clock that a sleeping host does not stop; the monotonic one where there is none (not Linux).
"""


class Clock:
    def __init__(self, after_ns: int) -> None:
        """after_ns: the last instant of an earlier run; the clock starts after it."""
        self._offset_ns = max(time.time_ns(), after_ns + 1) - time.clock_gettime_ns(_ELAPSED)

    def now_ns(self) -> int:
        return time.clock_gettime_ns(_ELAPSED) + self._offset_ns
