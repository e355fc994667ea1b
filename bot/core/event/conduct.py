"""How the strategy of one event behaves, and how long its quotes stay away when it does not.

A strategy that raises, returns nonsense, is interrupted, or takes too long three times in a row has
its event pulled: for five seconds, and for twice as long each time that it goes on so, a minute at
most. A minute of good conduct is a fresh start. What it did last is told until it has behaved.
"""

from typing import Final

from bot.core.fault_text import fault_text
from bot.core.messages import StrategyOverran
from venue.wire.instant import NS_PER_SECOND

FIRST_PAUSE_NS: Final = 5 * NS_PER_SECOND
LONGEST_PAUSE_NS: Final = 60 * NS_PER_SECOND
FORGIVEN_NS: Final = 60 * NS_PER_SECOND
OVERRUNS_IN_A_ROW: Final = 3


class Conduct:
    """The record of one event's strategy.

    calls: how often the event's strategies were asked, those before this one too. fault: what it
    did wrong last, for a person; empty once it has behaved since.
    pulled_until_ns: until when nothing of it is quoted.
    """

    __slots__ = (
        "_asked_from",
        "_overran_at",
        "_overruns",
        "_pauses",
        "calls",
        "fault",
        "name",
        "pulled_until_ns",
    )

    def __init__(self, name: str, calls: int = 0) -> None:
        """calls: how often another strategy of the event was asked before it."""
        self.name = name
        self.calls = self._asked_from = calls
        self.fault = ""
        self.pulled_until_ns = 0
        self._pauses = 0
        self._overruns = 0
        self._overran_at = 0

    def raised(self, fault: Exception, now_ns: int) -> None:
        """It raised, or its answer was nonsense."""
        self._pull(fault_text(fault), now_ns)

    def answers_for(self, event: StrategyOverran) -> bool:
        """Whether the call was its own, and not one of the strategy before it."""
        return event.call > self._asked_from

    def overran(self, event: StrategyOverran, now_ns: int) -> bool:
        """A call of it took too long. Whether its quotes are to be pulled for that now.

        One that was interrupted has raised already: it is pulled, and told better.
        """
        took = f"took {event.took_ns / 1e6:.1f} ms, {event.allowed_ns / 1e6:g} ms are allowed"
        if event.interrupted:
            self.fault = self._told(f"interrupted, {took}", now_ns)
            return False
        in_a_row = event.call == self._overran_at + 1
        self._overruns = self._overruns + 1 if in_a_row else 1
        self._overran_at = event.call
        if self._overruns < OVERRUNS_IN_A_ROW:
            return False
        self._overruns = 0
        self._pull(f"{OVERRUNS_IN_A_ROW} times in a row too slow, {took}", now_ns)
        return True

    def behaved(self) -> bool:
        """An answer of it was sane. Whether a fault is told no more by that."""
        told, self.fault = bool(self.fault), ""
        return told

    def _pull(self, fault: str, now_ns: int) -> None:
        if now_ns >= self.pulled_until_ns + FORGIVEN_NS:
            self._pauses = 0
        self._pauses += 1
        pause_ns = FIRST_PAUSE_NS << min(self._pauses - 1, 8)
        self.pulled_until_ns = now_ns + min(LONGEST_PAUSE_NS, pause_ns)
        self.fault = self._told(fault, now_ns)

    def _told(self, fault: str, now_ns: int) -> str:
        pause_s = max(0, self.pulled_until_ns - now_ns) / NS_PER_SECOND
        return f"{self.name}: {fault[:_FAULT_MAX]}; its quotes stay away for {pause_s:g} s"


_FAULT_MAX: Final = 300
