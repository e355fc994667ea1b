"""The venue's clock: the wall at its start and the time elapsed since, sleep of the host included,
never backwards."""

import time
from typing import Final

_BOOT: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
"""The clock that a sleeping host does not stop; None where the system has none (not Linux)."""


def _elapsed_ns() -> int:
    return time.monotonic_ns() if _BOOT is None else time.clock_gettime_ns(_BOOT)


class Clock:
    def __init__(self, after_ns: int) -> None:
        """after_ns: the last instant of an earlier run; the clock starts after it."""
        self._offset_ns = max(time.time_ns(), after_ns + 1) - _elapsed_ns()

    def now_ns(self) -> int:
        return _elapsed_ns() + self._offset_ns
