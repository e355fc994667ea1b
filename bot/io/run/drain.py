"""How long a run that was stopped may go on cancelling: time in which it lived, no other.

A process that stands still, as in a container that is paused, cancels nothing meanwhile, and what
rests is still there when it goes on: it then has what was left of its time, and uses it.
"""

from typing import Final

from venue.wire.instant import NS_PER_SECOND

DRAIN_NS: Final = 8 * NS_PER_SECOND
"""How long cancelling everything and seeing it gone may take."""

GAP_NS_MAX: Final = NS_PER_SECOND
"""The loop looks twice as often. More than this between two looks counts as this much: a loop whose
every turn is slow has an end, too."""


class ShutdownDeadline:
    """The time to cancel everything. length_ns: above 0. now_ns: of a clock that only goes on."""

    __slots__ = ("_due_ns", "_length_ns", "_seen_ns")

    def __init__(self, length_ns: int, now_ns: int) -> None:
        self._length_ns = length_ns
        self._seen_ns = now_ns
        self._due_ns: int | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a stop was asked for."""
        return self._due_ns is not None

    def begin(self, at_ns: int) -> None:
        """A stop was asked for then. What arrived before the process stood still is heard after it:
        the time runs from the last look on where that came later. A second stop changes nothing."""
        if self._due_ns is None:
            self._due_ns = max(at_ns, self._seen_ns) + self._length_ns

    def look(self, now_ns: int) -> bool:
        """Look at the clock, before and after every turn of the loop. Whether the time is up."""
        stood_ns = now_ns - self._seen_ns - GAP_NS_MAX
        self._seen_ns = now_ns
        if self._due_ns is None:
            return False
        self._due_ns += max(0, stood_ns)
        return now_ns >= self._due_ns

    def next_ns(self, due_ns: int) -> int:
        """When the loop that would at `due_ns` has to look: its waiting is no standing still."""
        if self._due_ns is None:
            return due_ns
        return min(due_ns, self._due_ns, self._seen_ns + GAP_NS_MAX // 2)
