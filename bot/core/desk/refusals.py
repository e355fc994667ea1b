"""What the venue refused and is not asked for again: latched writes, and sides refused often.

A write that was refused as our own bug, or that can never succeed as it is, is latched by what it
asks for, its client_order_id left out: the same is never sent again. Three refusals of one side of
a rung within a minute are a sign that more of them would follow.
"""

from collections import OrderedDict
from typing import Final

import msgspec

from bot.core.desk.outbox import keep_newest
from bot.core.messages import AmendResting, Create, Write
from bot.core.orders.order import OwnOrder
from venue.wire.errors import Advice, Row, Sequenced
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import Amend, QtyOrder

LATCHED_MAX: Final = 1_000
"""Refused writes remembered; one that is forgotten is refused once more and latched anew."""

SIDES_MAX: Final = 1_000
OFTEN: Final = 3
OFTEN_WITHIN_NS: Final = 60 * NS_PER_SECOND

_HOPELESS: Final = (Advice.FIX, Advice.GIVE_UP)
_TELLING: Final = (*_HOPELESS, Advice.REREAD_FUNDS)
"""Refusals that speak of the request; those of pace, markets, keys and races do not count."""

_Asked = QtyOrder | tuple[OrderId, Amend]
_SideKey = tuple[MarketId, BookSide]


class Refusals:
    """Remembers what was refused. Forgets the oldest beyond its bounds."""

    def __init__(self) -> None:
        self._latched: OrderedDict[_Asked, None] = OrderedDict()
        self._times: OrderedDict[_SideKey, tuple[int, ...]] = OrderedDict()

    def refused(self, own: OwnOrder, request: Write, row: Row, now_ns: int) -> None:
        """A first send of a write was refused."""
        asked = _asked(request)
        if asked is None or row.sequenced is not Sequenced.DECIDED or row.advice not in _TELLING:
            return
        # A change that funds do not suffice for is not repeated either: the order is given up.
        if row.advice in _HOPELESS or isinstance(request, AmendResting):
            keep_newest(self._latched, asked, None, LATCHED_MAX)
        key = (own.market_id, own.side)
        since_ns = now_ns - OFTEN_WITHIN_NS
        times = (*(at for at in self._times.get(key, ()) if at > since_ns), now_ns)
        keep_newest(self._times, key, times[-OFTEN:], SIDES_MAX)

    def is_latched(self, request: Write) -> bool:
        """Whether just this was refused before as something that cannot succeed."""
        asked = _asked(request)
        return asked is not None and asked in self._latched

    def often(self, own: OwnOrder, now_ns: int) -> bool:
        """Whether this side of its rung was refused three times within the last minute."""
        times = self._times.get((own.market_id, own.side), ())
        return len(times) == OFTEN and times[0] > now_ns - OFTEN_WITHIN_NS


def _asked(request: Write) -> _Asked | None:
    """What a write asks for, whatever its client_order_id; None for what may be repeated."""
    if isinstance(request, Create):
        if request.again:
            return None
        return msgspec.structs.replace(request.order, client_order_id=ClientOrderId(""))
    if isinstance(request, AmendResting):
        return (request.order_id, request.amend)
    return None
