"""What a share was worth, and what others thought of it, now and in the last half minute.

Kept as fair value and mid of each decision, for whole books of half a minute are much to hold.
Values are thousandths of a cent of a YES share; a rung that has settled is worth its payout for
ever.

A fill is known seconds after it happened. What it is compared with is the value that was believed
before it could be heard of: never one that the fill itself has moved.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from itertools import islice
from operator import itemgetter
from typing import Final

import msgspec

from bot.core.profit.markouts import LATE_MAX_NS, MILLI
from bot.core.report import Against
from bot.strategy.api import EventView, RungView
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Outcome
from venue.wire.names import MarketId, Ticker

KEPT_NS: Final = 30 * NS_PER_SECOND
_STEP_NS: Final = 250 * NS_PER_MS
"""Views nearer to each other than this are kept as the first of them and the newest."""


class Mark(msgspec.Struct, frozen=True):
    """A rung at one instant, in thousandths of a cent; None where it is not known."""

    fair: int | None
    mid: int | None

    def against(self, against: Against) -> int | None:
        """The one of the two that is asked for."""
        return self.fair if against is Against.FAIR else self.mid


class _EventMarks(msgspec.Struct):
    """What is kept of one event: the newest mark of each rung, and the marks of the last half
    minute with the instant of each decision, oldest first."""

    newest: dict[MarketId, Mark] = {}
    seen: deque[tuple[int, dict[MarketId, Mark]]] = msgspec.field(default_factory=deque)


class Marks:
    """The marks of every rung of the series."""

    def __init__(self) -> None:
        self._events: dict[Ticker, _EventMarks] = {}
        self._event_of: dict[MarketId, _EventMarks] = {}
        self._rungs: dict[MarketId, RungView] = {}  # as seen last
        self._fairs: dict[MarketId, int] = {}  # the newest there was
        # What a rung pays, thousandths of a cent, and since when that is known.
        self._settled: dict[MarketId, tuple[int, int]] = {}
        self._certain: dict[MarketId, tuple[int, int]] = {}

    def seen(self, view: EventView, now_ns: int, anew: Iterable[int] | None = None) -> None:
        """A view as of now; never older than one before. anew: the places of the rungs that are not
        told as in the view before; None where any may be."""
        rungs = view.rungs
        event = self._events.setdefault(view.event_ticker, _EventMarks())
        newest = event.newest
        if anew is None or len(rungs) != len(newest):
            newest.clear()
            anew = range(len(rungs))
        for place in anew:
            rung = rungs[place]
            market_id = rung.market_id
            fair, bids, asks = rung.fair_cents, rung.bids, rung.asks
            mark = newest[market_id] = Mark(
                None if fair is None else round(fair * MILLI),
                (bids[0][0] + asks[0][0]) * (MILLI // 2) if bids and asks else None,
            )
            self._event_of[market_id], self._rungs[market_id] = event, rung
            if mark.fair is not None:
                self._fairs[market_id] = mark.fair
        seen = event.seen
        if len(seen) > 1 and now_ns < seen[-2][0] + _STEP_NS:
            seen.pop()
        seen.append((now_ns, newest.copy()))
        while len(seen) > 2 and seen[1][0] < now_ns - KEPT_NS:
            seen.popleft()

    def settled(self, market_id: MarketId, winner: Outcome, now_ns: int) -> None:
        """A rung has paid out."""
        self._settled.setdefault(market_id, (now_ns, _paid_by(winner)))

    def certain(self, market_id: MarketId, winner: Outcome | None, now_ns: int) -> None:
        """What a rung will pay is certain; None: it is not, or not any more."""
        if winner is None:
            self._certain.pop(market_id, None)
        else:
            self._certain.setdefault(market_id, (now_ns, _paid_by(winner)))

    def _sure(self, market_id: MarketId) -> tuple[int, int] | None:
        """Since when it is known what a rung pays, and that."""
        return self._settled.get(market_id) or self._certain.get(market_id)

    def forget(self, event_ticker: Ticker, rungs: Iterable[MarketId]) -> None:
        """Drop an event of which nothing is asked any more."""
        self._events.pop(event_ticker, None)
        for market_id in rungs:
            self._event_of.pop(market_id, None)
            self._rungs.pop(market_id, None)
            self._fairs.pop(market_id, None)
            self._settled.pop(market_id, None)
            self._certain.pop(market_id, None)

    def is_settled(self, market_id: MarketId) -> bool:
        """Whether a rung has paid out."""
        return market_id in self._settled

    def value(self, market_id: MarketId) -> int | None:
        """What a share counts for now: its payout, else the newest fair value there was, else the
        mid of others, else the last price; None before any of them is known."""
        sure = self._sure(market_id)
        if sure is not None:
            return sure[1]
        fair, rung = self._fairs.get(market_id), self._rungs.get(market_id)
        if fair is not None or rung is None:
            return fair
        mid = self._event_of[market_id].newest[market_id].mid
        if mid is None and rung.last_price is not None:
            return rung.last_price * MILLI
        return mid

    def fair_before(self, market_id: MarketId, at_ns: int) -> int | None:
        """The newest fair value that was known before this instant; the oldest remembered if that
        is later."""
        event = self._event_of.get(market_id)
        if event is None:
            return None
        mark = event.seen[_place_of(event, at_ns - 1)][1].get(market_id)
        return None if mark is None else mark.fair

    def at(self, market_id: MarketId, at_ns: int, against: Against) -> int | None:
        """What stood at this instant, else the first that was known after it, within a minute; None
        when nothing is known yet, or what was is no longer remembered."""
        sure = self._sure(market_id)
        if sure is not None and sure[0] <= at_ns:
            return sure[1]
        until_ns = at_ns + LATE_MAX_NS
        event = self._event_of.get(market_id)
        if event is not None:
            for seen_ns, marks in islice(event.seen, _place_of(event, at_ns), None):
                mark = marks.get(market_id)
                found = None if mark is None else mark.against(against)
                if found is not None and seen_ns <= until_ns:
                    return found
        return None if sure is None or sure[0] > until_ns else sure[1]


def _paid_by(winner: Outcome) -> int:
    return PAYOUT_CENTS * MILLI if winner is Outcome.YES else 0


def _place_of(event: _EventMarks, at_ns: int) -> int:
    """Where the newest of this instant or before stands; 0 where all are later."""
    return max(0, bisect_right(event.seen, at_ns, key=itemgetter(0)) - 1)
