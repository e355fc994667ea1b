"""Whether tokens are left to what gives way: it needs two at once, and everything else takes
one.
"""

from typing import Final

from venue.wire.instant import NS_PER_SECOND

_AFTER_NS: Final = NS_PER_SECOND // 2
"""So long after an order could first have given way but for the tokens, they are saved for it."""


class Saving:
    """Follows the beats in which something was to give way and lacked tokens alone."""

    def __init__(self) -> None:
        self._since_ns = self._last_ns = 0

    def lacked(self, now_ns: int) -> None:
        """What is to give way finds too few tokens now."""
        if now_ns >= self._last_ns + _AFTER_NS:
            self._since_ns = now_ns
        self._last_ns = now_ns

    def is_due(self, now_ns: int) -> bool:
        """Whether it has waited for them so long that in this beat nothing else takes one."""
        return self._last_ns == now_ns >= self._since_ns + _AFTER_NS
