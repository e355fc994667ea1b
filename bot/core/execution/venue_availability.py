"""The venue's suspensions: while it takes no writes, or cancels alone, only a probe is sent."""

from collections.abc import Callable
from typing import Final

from bot.core import messages as m
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND

_PROBE_NS: Final = 5 * NS_PER_SECOND
"""Between two probes."""


class VenueAvailability:
    """The venue's own suspension. While it takes no writes, one every five seconds probes."""

    def __init__(self, note: Callable[..., None]) -> None:
        """note: as `Outbox.note`."""
        self._note = note
        self._refused_ns = 0
        self.reopens_ns: int | None = None
        """When the next probe may leave; None while the venue takes writes."""
        self.is_halted = False
        """True while it takes no cancels either."""

    def holds_cancels(self, now_ns: int) -> bool:
        """True if no cancel may leave now."""
        return self.is_halted and self.reopens_ns is not None and now_ns < self.reopens_ns

    def on_probe(self, now_ns: int) -> None:
        """A probe is in flight: the next one waits."""
        self.reopens_ns = now_ns + _PROBE_NS

    def on_reject(self, code: str, now_ns: int) -> None:
        """The venue is halted, or takes cancels only."""
        is_halted = code == Code.VENUE_HALTED
        if self.reopens_ns is None or is_halted != self.is_halted:
            self._note("warning", "venue_parked", code=code)
        self._refused_ns = now_ns
        self.reopens_ns = now_ns + _PROBE_NS
        self.is_halted = is_halted

    def on_accept(self, write: m.Request, begun_ns: int) -> None:
        """The venue carried out a write that was sent then: it is open again.

        Nothing follows from what left before it refused, nor from a cancel if it took cancels all
        the time. A create sent again is shown in any state if it had landed (S14): after it cancels
        may be tried, and no more.
        """
        if begun_ns < self._refused_ns:
            return
        if isinstance(write, m.CancelResting) and not self.is_halted:
            return
        self.is_halted = False
        if not (isinstance(write, m.Create) and write.again):
            self.reopens_ns = None
