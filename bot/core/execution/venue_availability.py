"""A venue that takes no writes, or cancels alone: it is kept away from, but for a probe."""

from collections.abc import Callable
from typing import Final

from bot.core import messages as m
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND

_PROBE_NS: Final = 5 * NS_PER_SECOND
"""A venue that takes no writes is asked with one request this often."""


class VenueAvailability:
    """is_parked: the venue has told us to keep away. is_halted: from cancels, too."""

    def __init__(self, note: Callable[..., None]) -> None:
        """note: as `Outbox.note`."""
        self._note = note
        self._until_ns: int | None = None
        self._refused_ns = 0
        self.is_halted = False

    @property
    def is_parked(self) -> bool:
        """Whether it is not known to be open again."""
        return self._until_ns is not None

    def holds(self, now_ns: int) -> bool:
        """Whether no write may leave now; every five seconds one may probe."""
        return self._until_ns is not None and now_ns < self._until_ns

    def holds_cancels(self, now_ns: int) -> bool:
        """The same of cancels."""
        return self.is_halted and self.holds(now_ns)

    def probed(self, now_ns: int) -> None:
        """A write has left: where it is a probe, the next one waits."""
        if self._until_ns is not None:
            self._until_ns = now_ns + _PROBE_NS

    def refuses(self, code: str, now_ns: int) -> None:
        """The venue is halted, or takes cancels only."""
        is_halted = code == Code.VENUE_HALTED
        if not self.is_parked or is_halted != self.is_halted:
            self._note("warning", "venue_parked", code=code)
        self._refused_ns = now_ns
        self._until_ns = now_ns + _PROBE_NS
        self.is_halted = is_halted

    def takes(self, write: m.Request, begun_ns: int) -> None:
        """The venue carried a write out that was begun then: it is open again.

        Nothing follows from what left before the venue refused, nor from a cancel where cancels
        were taken all the time. A create sent again is shown in any state if it had landed (S14):
        from it follows that cancels may be tried, and no more.
        """
        if begun_ns < self._refused_ns:
            return
        if isinstance(write, m.CancelResting) and not self.is_halted:
            return
        self.is_halted = False
        if not (isinstance(write, m.Create) and write.again):
            self._until_ns = None
