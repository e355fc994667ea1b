"""The venue's time by our clock, as far as its stamps tell, and which stamps cannot be meant.

The clocks of the two ends need not agree, so what the venue's shows is learned from the stamps of
what has just happened there. One that lies beyond is wrong: were it believed, everything after it
would be older, and a rung would stand still for as long as it leads.

Source: reliability, rows 10 and 44; design, law 2.
"""

from collections import deque
from typing import Final

from venue.wire.instant import NS_PER_SECOND

_WINDOW_NS: Final = 120 * NS_PER_SECOND
"""The farthest lead of two of them counts: a line that is slow for a while changes no clock."""

_AGREEING: Final = 3
"""So many stamps that lead farther than any must agree before they are the venue's clock."""

_DOUBTED_KEPT: Final = 16

_JITTER_NS: Final = NS_PER_SECOND
"""Two stamps agree whose leads differ by less: one came sooner."""

_BEYOND_NS: Final = 10 * NS_PER_SECOND
"""A stamp that leads by less is soon overtaken, and may be right where all others were late."""


SET_BACK_NS: Final = 60 * NS_PER_SECOND
_BEHIND_NS: Final = 5 * NS_PER_SECOND
"""A clock was set back once nothing has been stamped within a minute of the old one for so long,
not even a read: a line that is slow by less is a slow line."""


class VenueTime:
    """Our clock by the venue's.

    ahead_ns: how far that is ahead, below zero where it is behind; None until stamps agree, and so
    long each is believed. set_backs: how often it was found to have been set back.
    """

    __slots__ = (
        "_before_ns",
        "_behind",
        "_behind_ns",
        "_doubted",
        "_farthest_ns",
        "_is_read",
        "_since_ns",
        "ahead_ns",
        "set_backs",
    )

    def __init__(self) -> None:
        self.ahead_ns: int | None = None
        self._farthest_ns = 0
        self._before_ns = 0
        self._since_ns = 0
        self._doubted: deque[int] = deque(maxlen=_DOUBTED_KEPT)
        self._behind: deque[int] = deque(maxlen=_DOUBTED_KEPT)
        self._behind_ns = 0
        self._is_read = False
        self.set_backs = 0

    def told(self, stamp_ns: int, now_ns: int) -> None:
        """Something was told that has just happened there, stamped so."""
        lead_ns = stamp_ns - now_ns
        if self.ahead_ns is None:
            if self._is_agreed(lead_ns):
                self._since_ns = now_ns
                self.ahead_ns = self._farthest_ns = self._before_ns = lead_ns
            return
        if self.is_doubtful(stamp_ns, now_ns) and not self._is_agreed(lead_ns):
            return
        if lead_ns >= self.ahead_ns - SET_BACK_NS:
            self._behind.clear()
        elif self._is_set_back(lead_ns, now_ns):
            self.ahead_ns = self._farthest_ns = self._before_ns = max(self._behind)
            self._since_ns = now_ns
            self._behind.clear()
            self.set_backs += 1
            return
        if now_ns >= self._since_ns + _WINDOW_NS:
            self._before_ns, self._farthest_ns = self._farthest_ns, lead_ns
            self._since_ns = now_ns
        elif lead_ns > self._farthest_ns:
            self._farthest_ns = lead_ns
        else:
            return
        self.ahead_ns = max(self._farthest_ns, self._before_ns)

    @property
    def is_doubted(self) -> bool:
        """Whether what comes looks as if the clock had been set back: a read tells that from a slow
        line."""
        return bool(self._behind)

    def was_read(self, stamp_ns: int, now_ns: int) -> None:
        """A read has just shown this stamp, which may be an old one: it tells only how far ahead
        the clock is at least, and where that is no less than was known, that none was set back."""
        self._is_read = True
        lead_ns = stamp_ns - now_ns
        if self.ahead_ns is None:
            return
        if self.is_doubtful(stamp_ns, now_ns) and not self._is_agreed(lead_ns):
            return
        if lead_ns >= self.ahead_ns - SET_BACK_NS:
            self._behind.clear()
        if lead_ns > self._farthest_ns:
            self._farthest_ns = lead_ns
            self.ahead_ns = max(lead_ns, self._before_ns)

    def _is_set_back(self, lead_ns: int, now_ns: int) -> bool:
        """Whether for a while all that has just happened there was stamped as much earlier."""
        if not self._behind:
            self._behind_ns, self._is_read = now_ns, False
        self._behind.append(lead_ns)
        soonest_ns = max(self._behind)
        agreeing = sum(soonest_ns - other < _JITTER_NS for other in self._behind)
        is_long = now_ns >= self._behind_ns + _BEHIND_NS
        return agreeing >= _AGREEING and is_long and self._is_read

    def _is_agreed(self, lead_ns: int) -> bool:
        """Whether others that were doubted lead as far."""
        others = sum(abs(other - lead_ns) < _JITTER_NS for other in self._doubted)
        self._doubted.append(lead_ns)
        return others >= _AGREEING - 1

    def is_doubtful(self, stamp_ns: int, now_ns: int) -> bool:
        """Whether a stamp leads farther than any that was believed: it tells no time."""
        return self.ahead_ns is not None and stamp_ns > now_ns + self.ahead_ns + _JITTER_NS

    def is_beyond(self, stamp_ns: int, now_ns: int) -> bool:
        """Whether the venue's clock cannot show this instant yet."""
        return self.ahead_ns is not None and stamp_ns > now_ns + self.ahead_ns + _BEYOND_NS

    def by_now(self, stamp_ns: int, now_ns: int, else_ahead_ns: int | None = None) -> int:
        """The stamp of what happened; where it is beyond, the venue's time now. else_ahead_ns: what
        is taken for `ahead_ns` while that is None."""
        ahead_ns = else_ahead_ns if self.ahead_ns is None else self.ahead_ns
        if ahead_ns is None or stamp_ns <= now_ns + ahead_ns + _BEYOND_NS:
            return stamp_ns
        return now_ns + ahead_ns

    def in_turn(self, stamp_ns: int, held_ns: int | None, now_ns: int, *, is_new: bool) -> int:
        """The stamp of what takes the place of something else; where it is beyond, just after that
        of what is held, or 0 where nothing with a stamp that can be is: whatever is new is no
        older, and what was held, shown twice, is. is_new: whether it is not just what is held; else
        it bears that one's stamp, so that this may be shown again."""
        if not self.is_beyond(stamp_ns, now_ns):
            return stamp_ns
        return 0 if held_ns is None or self.is_beyond(held_ns, now_ns) else held_ns + is_new
