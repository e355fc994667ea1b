"""Fills that were shown and could not be booked: told, and taken back once one is readable.

A fill that no walk could read before the books were opened is in what they were opened with, the
balance and the shares that fills did not explain: should a later walk show it readably, it is not
booked, or it would count twice.

Source: reliability, rows 54, 58; silence S16.
"""

from collections import OrderedDict
from collections.abc import Collection
from typing import Final

from bot.core.desk.outbox import Outbox
from bot.core.desk.shelf import keep_newest

_KEPT_MAX: Final = 1_000
"""Fills remembered at most; of more, the oldest are told anew by the next walk that shows them."""


class UnbookedFills:
    """The fills that the walks so far have shown only unreadably, by their ids."""

    def __init__(self, out: Outbox) -> None:
        self._out = out
        self._why: OrderedDict[str, str] = OrderedDict()
        self._of_opening: frozenset[str] = frozenset()

    def refused(self, fill_id: str, why: str) -> bool:
        """A walk showed a fill that cannot be booked. Whether it is the first to do so."""
        is_new = fill_id not in self._why
        keep_newest(self._why, fill_id, why, _KEPT_MAX)
        return is_new

    def readable(self, fill_id: str) -> None:
        """A walk showed a fill that is booked, or is in the opening."""
        self._why.pop(fill_id, None)

    def opened(self) -> bool:
        """The books are open with what the account came to. Whether a fill is missing in them."""
        self._of_opening = frozenset(self._why)
        return bool(self._why)

    @property
    def ids(self) -> Collection[str]:
        """Those that were shown and are not booked."""
        return self._why.keys()

    @property
    def has_any(self) -> bool:
        """Whether a fill has been shown that is not booked."""
        return bool(self._why)

    def is_in_opening(self, fill_id: str) -> bool:
        """Whether the opening holds a fill that could not be booked before it."""
        return fill_id in self._of_opening

    def tell(self) -> None:
        """A walk ended: the finding stands as long as there is a fill that it is about."""
        others = f", and {len(self._why) - 1} more" if len(self._why) > 1 else ""
        self._out.hold("fill_unreadable", next(iter(self._why.values()), "") + others)
