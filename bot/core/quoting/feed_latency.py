"""How late the channel is, by the prints that it brings."""

from typing import Final

from venue.wire.instant import NS_PER_SECOND

_LAG_WINDOW_NS: Final = 60 * NS_PER_SECOND
_LAG_MAX_NS: Final = 10 * NS_PER_SECOND
"""What always comes as late is in time, but not with more than this beside the venue's clock."""

_LATE_WINDOW_NS: Final = NS_PER_SECOND
_SILENCE_NS: Final = 2 * NS_PER_SECOND
_SILENCE_MAX_NS: Final = 8 * NS_PER_SECOND


class FeedLatency:
    """How late prints come, against the earliest they have come of late, or against the venue's
    clock where even those came far too late.

    Only prints tell: they are sent once, when they happen, while a book of a quiet market is as
    old as its last change. The clocks of the two ends need not agree, nor run alike. One print
    that comes late is an accident: late is a second in which none came in time.

    allowed_ns: how much later is in time. Where nothing trades there is no telling, and late is
    forgotten after two seconds; after twice as long, up to eight, each time that what comes then is
    late again.
    """

    __slots__ = (
        "_allowed_ns",
        "_earliest",
        "_earliest_before",
        "_excess",
        "_silence_ns",
        "_since_ns",
        "_window_ns",
    )

    def __init__(self, allowed_ns: int) -> None:
        self._allowed_ns = allowed_ns
        self._silence_ns = _SILENCE_NS
        self._earliest: int | None = None
        self._earliest_before: int | None = None
        self._since_ns = 0
        self._excess: int | None = None
        self._window_ns = 0

    def seen(self, ts_ns: int, now_ns: int, ahead_ns: int | None = None) -> None:
        """A print of the venue's `ts_ns` arrived now. ahead_ns: how far the venue's clock leads, by
        what else was stamped there: the first print may be late by that, and all of them may by far
        more than any other thing; None where nobody knows.
        """
        took = now_ns - ts_ns
        likely = took if ahead_ns is None else min(took, _LAG_MAX_NS - ahead_ns)
        if self._earliest is None or took < self._earliest - _LAG_MAX_NS:
            # The first, or the first by a clock set ahead, of which what came before tells nothing.
            self._since_ns = now_ns
            self._earliest = took if ahead_ns is None else min(took, -ahead_ns)
        elif now_ns >= self._since_ns + _LAG_WINDOW_NS:
            self._earliest_before, self._earliest = self._earliest, likely
            self._since_ns = now_ns
        self._earliest = min(self._earliest, likely)
        least = self.least_ns
        assert least is not None
        if self._excess is None or now_ns >= self._window_ns + _LATE_WINDOW_NS:
            # A quoter of a channel that is late now and then would come and go with each print.
            if self._excess is None or self._excess <= self._allowed_ns:
                self._silence_ns = _SILENCE_NS
            elif took - least > self._allowed_ns and not self.is_late(now_ns):
                self._silence_ns = min(2 * self._silence_ns, _SILENCE_MAX_NS)
            self._excess, self._window_ns = took - least, now_ns
        else:
            self._excess = min(self._excess, took - least)

    @property
    def least_ns(self) -> int | None:
        """The least that lay of late between a print, by the venue's clock, and its coming, by
        ours; None before the first one. Below zero where the venue's clock is ahead."""
        if self._earliest is None or self._earliest_before is None:
            return self._earliest
        return min(self._earliest, self._earliest_before)

    def is_late(self, now_ns: int) -> bool:
        """Whether prints come later than allowed. Without prints of late there is no telling, and
        the age of the books speaks alone."""
        is_fresh = now_ns < self._window_ns + self._silence_ns
        return is_fresh and self._excess is not None and self._excess > self._allowed_ns
