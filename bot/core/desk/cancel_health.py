"""Whether cancels work: who cannot take an order away any more places none.

One order that cannot be cancelled is that order's own matter: its size counts in every limit. Where
no cancel has worked for a while, though several were tried, nothing is placed until one does. What
stops creates anyway does not count here: a refused key, a venue that is halted or asks to wait.
"""

from typing import Final

from bot.core.messages import Answer, Done, Refused
from bot.core.orders.order import OwnOrder
from venue.wire.errors import Advice, row_for
from venue.wire.instant import NS_PER_SECOND

FAILING_NS: Final = 3 * NS_PER_SECOND
"""So long no cancel must have worked."""

_APART_NS: Final = 30 * NS_PER_SECOND
"""A failure that comes so much later than the one before begins anew: meanwhile nothing was to be
cancelled."""

_ORDERS_MIN: Final = 3
"""About so many orders, or all that there are."""

_ELSEWHERE: Final = frozenset(
    {Advice.STOP_KEY, Advice.PARK_VENUE, Advice.PARK_MARKET, Advice.LOOK_AGAIN}
)
"""What such a refusal comes to has a home of its own."""

_ENDS_NOTHING: Final = (0, 429)
"""Statuses of a request that never left, or that is to wait: nothing else leaves then either."""


class CancelHealth:
    """The cancels that failed since one last worked. `now_ns` never steps back."""

    def __init__(self) -> None:
        self._since_ns: int | None = None
        self._newest_ns = 0
        self._orders: set[OwnOrder] = set()

    def on_answer(self, own: OwnOrder, answer: Answer, live: int, now_ns: int) -> str | None:
        """An answer to the cancel of an order, while so many may be live. Why nothing may be placed
        from here on, "" once cancels work; None where it tells neither."""
        if isinstance(answer, Done):
            return self.on_success()
        said = getattr(answer, "reason", "")
        if isinstance(answer, Refused):
            advice = row_for(answer.status, answer.code).advice
            if advice is Advice.ENDED:
                return self.on_success()
            if advice in _ELSEWHERE or answer.status in _ENDS_NOTHING:
                return None
            said = f"{answer.status} {answer.code}".rstrip()
        if self._since_ns is None or now_ns > self._newest_ns + _APART_NS:
            self._since_ns = now_ns
            self._orders.clear()
        self._newest_ns = now_ns
        if len(self._orders) < _ORDERS_MIN:
            self._orders.add(own)
        lasts_ns = now_ns - self._since_ns
        if lasts_ns < FAILING_NS or len(self._orders) < min(_ORDERS_MIN, live):
            return None
        return f"no cancel has worked for {lasts_ns // NS_PER_SECOND} s, the last answer: {said}"

    def on_success(self) -> str:
        """A cancel did its work, or there is nothing left to cancel."""
        self._since_ns = None
        self._orders.clear()
        return ""
