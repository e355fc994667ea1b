"""Whether cancels work: who cannot take an order away any more places none (law 8).

One order that cannot be cancelled is that order's own matter: its size counts in every limit. Where
nothing but failures has come back for a while, about several orders, it is the venue's: then
everything is pulled and tried again, until one cancel has done its work. What stops creates anyway
does not count here: a refused key, a venue that is halted, or that asks to wait.

Source: design, law 8; reliability, row 30, the code-to-action table, B4.
"""

from typing import Final

from bot.core.messages import Answer, Done, Refused
from bot.core.orders.order import OwnOrder
from venue.wire.errors import Advice, row_for
from venue.wire.instant import NS_PER_SECOND

FAILING_NS: Final = 3 * NS_PER_SECOND
"""So long nothing but failures must have come."""

_APART_NS: Final = 30 * NS_PER_SECOND
"""A failure that comes so much later than the one before begins anew: a cancel that is wanted is
sent again long before, so that meanwhile nothing was to be cancelled."""

_ORDERS_MIN: Final = 3
"""About so many orders, or all that there are."""

_ELSEWHERE: Final = frozenset({Advice.STOP_KEY, Advice.PARK_VENUE, Advice.LOOK_AGAIN})
"""What such a refusal comes to has a home of its own."""

_ENDS_NOTHING: Final = (0, 429)
"""Statuses of a request that never left, or that is to wait: nothing else leaves then either."""


class Uncancelled:
    """The cancels that failed since one last worked. `now_ns` never steps back."""

    def __init__(self) -> None:
        self._since_ns: int | None = None
        self._newest_ns = 0
        self._orders: dict[OwnOrder, None] = {}

    def heard(self, own: OwnOrder, answer: Answer, live: int, now_ns: int) -> str | None:
        """An answer to the cancel of an order, while so many may be live. Why nothing may be placed
        from here on, "" once cancels work; None where it tells neither."""
        if isinstance(answer, Done):
            return self.works()
        if isinstance(answer, Refused):
            row = row_for(answer.status, answer.code)
            if row.advice is Advice.ENDED:
                return self.works()
            if row.advice in _ELSEWHERE or answer.status in _ENDS_NOTHING:
                return None
            said = f"{answer.status} {answer.code}".rstrip()
        else:
            said = answer.reason
        if now_ns > self._newest_ns + _APART_NS:
            self.works()
        self._newest_ns = now_ns
        if self._since_ns is None:
            self._since_ns = now_ns
        if len(self._orders) < _ORDERS_MIN:
            self._orders[own] = None
        lasts_ns = now_ns - self._since_ns
        if lasts_ns < FAILING_NS or len(self._orders) < min(_ORDERS_MIN, live):
            return None
        return f"no cancel has worked for {lasts_ns // NS_PER_SECOND} s, the last answer: {said}"

    def works(self) -> str:
        """A cancel did its work, or there is nothing left to cancel."""
        self._since_ns = None
        self._orders.clear()
        return ""
