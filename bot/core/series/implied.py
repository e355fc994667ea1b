"""The implied values of companies, as the feed has shown them last."""

from collections import OrderedDict
from typing import Final

from bot.core import messages as m
from bot.core.books.venueclock import VenueClock
from bot.core.desk.outbox import keep_newest
from bot.core.strategy import ImpliedView
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import ProjectId

_PROJECTS_MAX: Final = 100
"""Companies whose implied values are kept; a series has one."""


class ImpliedValues:
    """The newest implied value of each company."""

    def __init__(self, venue_time: VenueClock) -> None:
        self._venue_time = venue_time
        self._newest: OrderedDict[ProjectId, m.ImpliedValueSeen] = OrderedDict()

    def saw(self, seen: m.ImpliedValueSeen, now_ns: int) -> bool:
        """Take one in. False, and nothing changed, when it is older than the one held."""
        held = self._newest.get(seen.project_id)
        is_older = held is not None and seen.ts_ns < held.ts_ns
        if held is not None and is_older and not self._venue_time.is_beyond(held.ts_ns, now_ns):
            return False
        keep_newest(self._newest, seen.project_id, seen, _PROJECTS_MAX)
        return True

    def view(self, project_id: ProjectId, now_ns: int) -> ImpliedView | None:
        """The one of a company as the strategy is told of it; None before the first. Its age is by
        the venue's clock, as far as that is known: ours may be hours away from it."""
        seen = self._newest.get(project_id)
        if seen is None:
            return None
        venue_now_ns = now_ns + (self._venue_time.ahead_ns or 0)
        age_s = max(0, venue_now_ns - seen.ts_ns) / NS_PER_SECOND
        return ImpliedView(seen.value_dollars, seen.confidence, age_s)
