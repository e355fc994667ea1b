"""A new configuration's first minute of quoting: whether quotes have broken since it came.

They have broken when
- the strategy of an event is at fault (it raised, its answer was nonsense, it was interrupted, or
  it was too slow three times in a row) that was not at fault when the change came; or
- a breaker has tripped that had not; or
- the share of rungs with orders of ours on both sides has stayed below half of what it was when the
  change came, for ten seconds without a break. Of the rungs only those count that could be quoted
  on both sides: active, nothing standing in their way, of an event that is not near its end, and
  not pulled by news unless it is what news is that was changed.

Time in which nothing may be quoted, or positions may only shrink, does not count.
"""

from collections.abc import Sequence
from typing import Final

from bot.core.desk.desk import Desk
from bot.core.event.curfew import Stage
from bot.core.event.room import Ladder
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.names import Ticker

TRIAL_NS: Final = 60 * NS_PER_SECOND
COLLAPSED_NS: Final = 10 * NS_PER_SECOND
LOOK_NS: Final = 250 * NS_PER_MS

_STEP_NS: Final = NS_PER_SECOND
"""A pause of the process longer than this says nothing of how quotes have fared."""


class Trial:
    """The watch over one change. left_ns: of the minute, what is still to come."""

    def __init__(
        self,
        ladders: Sequence[Ladder],
        desk: Desk,
        tripped: str,
        now_ns: int,
        *,
        news_changed: bool,
    ) -> None:
        """tripped: the breaker that has tripped already; empty when none has."""
        self.left_ns = TRIAL_NS
        self._ladders = ladders
        self._desk = desk
        self._tripped_before = tripped
        self._news_changed = news_changed
        self._at_fault_before = frozenset(_at_fault(ladders))
        self._before = self._two_sided(now_ns)
        self._looked_ns = now_ns
        self._sound_ns = now_ns

    def judge(self, tripped: str, now_ns: int, *, quoting: bool) -> str:
        """Why quotes have broken; empty while they have not.

        quoting: whether both sides may be quoted now. Looks no oftener than every quarter second.
        """
        # One that is reset within the minute, and trips again, has tripped anew.
        before, self._tripped_before = self._tripped_before, tripped
        if tripped and not before:
            return f"a breaker tripped: {tripped}"
        passed_ns = now_ns - self._looked_ns
        if passed_ns < LOOK_NS:
            return ""
        self._looked_ns = now_ns
        if not quoting or passed_ns > _STEP_NS:
            self._sound_ns = now_ns
            return ""
        self.left_ns -= passed_ns
        for ticker, fault in _at_fault(self._ladders).items():
            if ticker not in self._at_fault_before:
                return f"{ticker}: {fault}"
        return self._collapse(now_ns)

    def begin_anew(self, now_ns: int, *, news_changed: bool) -> None:
        """Another change came within the minute: it is judged against the same state of before, and
        by what comes after it alone."""
        self.left_ns = TRIAL_NS
        self._sound_ns = now_ns
        self._news_changed |= news_changed

    def _collapse(self, now_ns: int) -> str:
        """Why the share of two-sided rungs counts as collapsed; empty while it does not."""
        both_before, of_before = self._before
        both, of = self._two_sided(now_ns)
        if not both_before or not of or 2 * both * of_before >= both_before * of:
            self._sound_ns = now_ns
        elif now_ns - self._sound_ns >= COLLAPSED_NS:
            return (
                f"two-sided on {both} of {of} rungs, {both_before} of {of_before} before the "
                f"change, for {COLLAPSED_NS // NS_PER_SECOND} s"
            )
        return ""

    def _two_sided(self, now_ns: int) -> tuple[int, int]:
        """How many rungs that could be quoted on both sides are, and how many there are."""
        rungs = [
            rung
            for ladder in self._ladders
            if ladder.is_open
            and ladder.is_understood
            and ladder.stage in (Stage.OPEN, Stage.HALVED)
            and (self._news_changed or now_ns >= ladder.news.pulled_until_ns)
            for rung in ladder.active_rungs()
            if not rung.blocked
        ]
        return sum(rung.is_two_sided(self._desk) for rung in rungs), len(rungs)


def _at_fault(ladders: Sequence[Ladder]) -> dict[Ticker, str]:
    """What the strategies at fault did, by event."""
    return {
        ladder.event.event_ticker: ladder.conduct.fault
        for ladder in ladders
        if ladder.conduct.fault
    }
