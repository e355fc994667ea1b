"""Books that do not show what we have changed in them: that finds a channel that stands still.

A far end that has lost its own source goes on to answer pings, and sends the same old books at each
subscribe; those would confirm themselves for ever. But the venue dates our own writes, and a book
of its market that is older than one of them cannot hold it. Such a book is read by REST.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.settings import TrustSettings
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId

READS_PER_BEAT: Final = 2

_LOOK_NS: Final = NS_PER_SECOND // 4
"""Between two looks."""

_LEAD_NS: Final = NS_PER_SECOND
"""A write may be dated by another clock than a book: by so much they need not agree, as with
prints."""


class _Owed(msgspec.Struct):
    """A change of ours that a book lacks: the venue's time of it, and when to ask, by ours."""

    at_ns: int
    due_ns: int


class StuckFeedDetector:
    """The rungs whose books lack changes of ours. look_ns: when to look for them again."""

    def __init__(self, trust: TrustSettings) -> None:
        self._trust = trust
        self._owed: dict[MarketId, _Owed] = {}
        self.look_ns = 0

    def to_read(self, ladders: Iterable[EventQuoter], now_ns: int) -> list[MarketId]:
        """The rungs of these that take orders and whose book is to be read now, a few at a time."""
        self.look_ns = now_ns + _LOOK_NS
        owed: dict[MarketId, _Owed] = {}
        out: list[MarketId] = []
        for rung in [rung for each in ladders if each.is_open for rung in each.rungs]:
            owed_ns = rung.others.owed_ns
            # A book as new as our newest change holds the older one, too: most are.
            if not owed_ns or not _is_before(rung.book.ts_ns, owed_ns) or not rung.is_active:
                continue
            held = self._owed.get(rung.market_id)
            if held is None or not _is_before(rung.book.ts_ns, held.at_ns):
                # By then a read shows it, too, so that an equal one says that nothing is lacking.
                held = _Owed(owed_ns, now_ns + self._trust.read_lag_ns)
            owed[rung.market_id] = held
            if now_ns < held.due_ns or not rung.book.known:
                continue
            if len(out) == READS_PER_BEAT:
                self.look_ns = now_ns
                continue
            held.due_ns = now_ns + self._trust.recheck_ns
            rung.read_asked_ns = now_ns
            out.append(rung.market_id)
        self._owed = owed
        return out

    def is_paid_by(self, rung: MarketQuoter, ts_ns: int) -> bool:
        """Whether a read of this instant holds a change that the rung's book has long lacked."""
        held = self._owed.get(rung.market_id)
        if held is None or not rung.book.known:
            return False
        return _is_before(rung.book.ts_ns, held.at_ns) and not _is_before(ts_ns, held.at_ns)


def _is_before(book_ns: int | None, at_ns: int) -> bool:
    return book_ns is None or book_ns < at_ns - _LEAD_NS
