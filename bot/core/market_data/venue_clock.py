"""The venue's clock by ours, from the stamps of what has just happened there.

The clocks of the two ends need not agree. How far the venue's leads is the farthest lead of a
stamp within two to four minutes: a slow line changes no clock. A stamp that leads farther by more
than `BEYOND_NS` cannot be meant, unless three different ones agree: then that clock was set ahead.
"""

from collections import deque
from typing import Final

from venue.wire.instant import NS_PER_SECOND

_WINDOW_NS: Final = 120 * NS_PER_SECOND
_AGREEING: Final = 3
_KEPT: Final = 16
_JITTER_NS: Final = NS_PER_SECOND
"""Two stamps agree whose leads differ by less: one arrived sooner."""

BEYOND_NS: Final = 10 * NS_PER_SECOND
"""A stamp that leads by less is soon overtaken, and may be right where all others were late."""

STEP_NS: Final = 5 * NS_PER_SECOND
"""Stamps of one market that fall by less may be of two servers of the venue."""


class VenueClock:
    """ahead_ns: how far the venue's clock leads ours, below zero where it is behind; None until
    three stamps agree, and until then every stamp is believed."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """The venue's clock ran backwards: estimate it anew."""
        self.ahead_ns: int | None = None
        self._farthest_ns = self._before_ns = self._since_ns = 0
        self._leads: deque[tuple[int, int]] = deque(maxlen=_KEPT)

    def on_stamp(self, stamp_ns: int, now_ns: int) -> None:
        """Something that has just happened there arrived with this stamp."""
        lead_ns = stamp_ns - now_ns
        if self.ahead_ns is None or self.is_beyond(stamp_ns, now_ns):
            if self._is_agreed(stamp_ns, lead_ns):
                self.ahead_ns = self._farthest_ns = self._before_ns = lead_ns
                self._since_ns = now_ns
            return
        if now_ns >= self._since_ns + _WINDOW_NS:
            self._before_ns, self._farthest_ns = self._farthest_ns, lead_ns
            self._since_ns = now_ns
        self._farthest_ns = max(self._farthest_ns, lead_ns)
        self.ahead_ns = max(self._farthest_ns, self._before_ns)

    def is_beyond(self, stamp_ns: int, now_ns: int) -> bool:
        """True if the venue's clock cannot show this instant yet: the stamp cannot be meant."""
        return self.ahead_ns is not None and stamp_ns > now_ns + self.ahead_ns + BEYOND_NS

    def _is_agreed(self, stamp_ns: int, lead_ns: int) -> bool:
        """True if two other stamps lead as far; one that is repeated is no other."""
        if not any(stamp_ns == other for other, _ in self._leads):
            self._leads.append((stamp_ns, lead_ns))
        return sum(abs(other - lead_ns) < _JITTER_NS for _, other in self._leads) >= _AGREEING
