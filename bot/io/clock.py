"""The bot's clock: wall time at the start plus the time elapsed since, so that it never steps.

Time in which the host slept counts too: a book is then stale.
"""

import os
import time
from pathlib import Path
from typing import Final

from venue.wire.instant import NS_PER_SECOND

_BOOT: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
"""The clock that goes on while the host sleeps; None where the system has none (not Linux)."""


def _elapsed_ns() -> int:
    return time.monotonic_ns() if _BOOT is None else time.clock_gettime_ns(_BOOT)


_IMPORTED_NS: Final = _elapsed_ns()


class Clock:
    """Nanoseconds since 1970 that only move forward, whatever is done to the machine's clock."""

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - _elapsed_ns()

    def now_ns(self) -> int:
        return _elapsed_ns() + self._offset_ns

    def process_start_ns(self) -> int:
        """When this process was started, on this clock; its first import where that is unknown."""
        return self.now_ns() - _process_age_ns()


def _process_age_ns() -> int:
    """From the kernel's account, in ticks of 10 ms."""
    try:
        # The program's name is in parentheses and may hold spaces: count from its end.
        fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        uptime_s = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
        started_s = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return _elapsed_ns() - _IMPORTED_NS
    return max(0, int((uptime_s - started_s) * NS_PER_SECOND))
