"""Whether the venue has forgotten a fill that is booked: then it was set back to an earlier state.

The newest fill that is booked stands at the top of every list. A read that lags may lack it for a
while; one that was set back lacks it for good, and what newer fills it may show happened to another
account than our books are of. Nothing but opening the books anew mends that.

Source: reliability, rows 36, 54, 62; silence S4.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from bot.core.account.fillids import FillIds, UnbookableFill, created_ns_of
from bot.core.desk.outbox import Outbox
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND

GONE_NS: Final = 30 * NS_PER_SECOND
"""So long a fill must be missing from every walk: longer than reads lag."""

_SIGNS: Final = ("cash_differs", "position_differs")
"""One of these stands as well: a list that forgets what is old, and no more, changes neither."""

_TEXT: Final = (
    "a fill that is booked is listed no more, and cash or shares differ: the venue was set back; "
    "stop this bot and start it again, which opens its books anew"
)


class GoneFill:
    """The newest booked fill, as long as the walks show it; then the one that they do not."""

    def __init__(self, ids: FillIds, out: Outbox) -> None:
        self._ids = ids
        self._out = out
        self._fill_id, self._created_ns = "", -1
        self._is_shown = False
        self._since_ns: int | None = None

    def page(self, rows: Sequence[model.Fill]) -> None:
        """A page of a walk."""
        self._is_shown = self._is_shown or any(self._is_it(row) for row in rows)

    def _is_it(self, row: model.Fill) -> bool:
        """Whether this is that fill: a venue that counts anew gives its id to another one, too."""
        if row.fill_id != self._fill_id:
            return False
        with suppress(UnbookableFill):
            return created_ns_of(row) == self._created_ns
        return True

    def walked(self, now_ns: int) -> None:
        """A walk has ended, and what it showed is booked."""
        if self._is_shown or not self._fill_id:
            self._fill_id, self._since_ns = self._ids.newest, None
            self._created_ns = self._ids.newest_ns
        elif self._since_ns is None:
            self._since_ns = now_ns
        self._is_shown = False
        is_gone = self._since_ns is not None and now_ns >= self._since_ns + GONE_NS
        is_gone &= any(name in self._out.findings for name in _SIGNS)
        self._out.hold("fills_forgotten", _TEXT if is_gone else "")
