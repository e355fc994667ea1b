"""What a share was worth, and what others thought of it, now and in the last half minute.

Kept as what the views that the strategy was shown say of value and touch, one entry a decision: of
the views themselves only the newest, for whole books of half a minute are much to hold. Values are
thousandths of a cent of a YES share; a rung that has settled is worth its payout for ever.

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
from bot.core.strategy import EventView, RungView
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Outcome, Price
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


_UNKNOWN: Final = Mark(None, None)

_Touch = tuple[float | None, Price | None, Price | None]
"""Of a rung its fair value, cents, and others' best bid and ask."""

_NOTHING: Final[_Touch] = (None, None, None)
_Seen = deque[tuple[int, tuple[MarketId, ...], tuple[_Touch, ...]]]
"""When views of an event were seen, oldest first, their rungs, and the touch of each."""

_NONE: Final[_Seen] = deque()
_seen_ns: Final = itemgetter(0)


class _Event:
    """What is kept of one event. newest: the last of its views; ids, touches: of the rungs there.
    seen: of the views of the last half minute."""

    __slots__ = ("ids", "newest", "seen", "touches")

    def __init__(self, newest: EventView) -> None:
        self.newest = newest
        self.ids: tuple[MarketId, ...] = ()
        self.touches: list[_Touch] = []
        self.seen: _Seen = deque()

    def newest_of(self, market_id: MarketId) -> RungView | None:
        """A rung in the last view; None where it is not in it."""
        ids = self.ids
        return self.newest.rungs[ids.index(market_id)] if market_id in ids else None


class Marks:
    """The marks of every rung of the series."""

    def __init__(self) -> None:
        self._events: dict[Ticker, _Event] = {}
        self._event_of: dict[MarketId, _Event] = {}
        self._kept: dict[MarketId, float] = {}
        self._settled: dict[MarketId, tuple[int, Mark]] = {}
        self._certain: dict[MarketId, tuple[int, Mark]] = {}

    def seen(self, view: EventView, now_ns: int, anew: Iterable[int] | None = None) -> None:
        """A view as of now; never older than one before. anew: the places of the rungs that are not
        told as in the view before; None where any may be."""
        rungs = view.rungs
        event = self._events.get(view.event_ticker)
        if event is None:
            event = self._events[view.event_ticker] = _Event(view)
        ids, touches = event.ids, event.touches
        are_others = len(rungs) != len(ids)
        if are_others:
            anew = None
            touches = event.touches = [_NOTHING] * len(rungs)
        for place in range(len(rungs)) if anew is None else anew:
            rung = rungs[place]
            if rung.fair_cents is None:
                self._keep(event, rung.market_id)
            touches[place] = _touch(rung)
            are_others = are_others or rung.market_id != ids[place]
        if are_others:
            ids = event.ids = tuple([rung.market_id for rung in rungs])
            self._event_of.update(dict.fromkeys(ids, event))
        event.newest = view
        seen = event.seen
        if len(seen) > 1 and now_ns < seen[-2][0] + _STEP_NS:
            seen.pop()
        seen.append((now_ns, ids, tuple(touches)))
        while len(seen) > 2 and seen[1][0] < now_ns - KEPT_NS:
            seen.popleft()

    def _keep(self, event: _Event, market_id: MarketId) -> None:
        """A rung's fair value is no longer known: the last one is kept."""
        before = event.newest_of(market_id)
        if before is not None and before.fair_cents is not None:
            self._kept[market_id] = before.fair_cents

    def settled(self, market_id: MarketId, winner: Outcome, now_ns: int) -> None:
        """A rung has paid out."""
        self._settled.setdefault(market_id, (now_ns, _paid_by(winner)))

    def certain(self, market_id: MarketId, winner: Outcome | None, now_ns: int) -> None:
        """What a rung will pay is certain; None: it is not, or not any more."""
        if winner is None:
            self._certain.pop(market_id, None)
        else:
            self._certain.setdefault(market_id, (now_ns, _paid_by(winner)))

    def _sure(self, market_id: MarketId) -> tuple[int, Mark] | None:
        """What a rung pays, and since when that is known."""
        settled = self._settled.get(market_id)
        return self._certain.get(market_id) if settled is None else settled

    def forget(self, event_ticker: Ticker, rungs: Iterable[MarketId]) -> None:
        """Drop an event of which nothing is asked any more."""
        self._events.pop(event_ticker, None)
        for market_id in rungs:
            self._kept.pop(market_id, None)
            self._event_of.pop(market_id, None)
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
            return sure[1].fair
        event = self._event_of.get(market_id)
        rung = None if event is None else event.newest_of(market_id)
        fair = None if rung is None else rung.fair_cents
        if fair is None:
            fair = self._kept.get(market_id)
        if fair is not None:
            return round(fair * MILLI)
        if rung is None:
            return None
        mid = _mark(_touch(rung)).mid
        if mid is None and rung.last_price is not None:
            return rung.last_price * MILLI
        return mid

    def before(self, market_id: MarketId, at_ns: int) -> Mark:
        """The newest that was known before this instant; the oldest remembered if that is later."""
        seen = self._seen(market_id)
        if not seen:
            return _UNKNOWN
        _, ids, touches = seen[_place_of(seen, at_ns - 1)]
        return _mark(touches[ids.index(market_id)]) if market_id in ids else _UNKNOWN

    def at(self, market_id: MarketId, at_ns: int, against: Against) -> int | None:
        """What stood at this instant, else the first that was known after it, within a minute; None
        when nothing is known yet, or what was is no longer remembered."""
        sure = self._sure(market_id)
        if sure is not None and sure[0] <= at_ns:
            return sure[1].against(against)
        until_ns = at_ns + LATE_MAX_NS
        seen = self._seen(market_id)
        for seen_ns, ids, touches in islice(seen, _place_of(seen, at_ns), None):
            if seen_ns > until_ns:
                break
            if market_id not in ids:
                continue
            found = _mark(touches[ids.index(market_id)]).against(against)
            if found is not None:
                return found
        return None if sure is None or sure[0] > until_ns else sure[1].against(against)

    def _seen(self, market_id: MarketId) -> _Seen:
        """What is kept of a rung's event."""
        event = self._event_of.get(market_id)
        return _NONE if event is None else event.seen


def _paid_by(winner: Outcome) -> Mark:
    paid = PAYOUT_CENTS * MILLI if winner is Outcome.YES else 0
    return Mark(paid, paid)


def _place_of(seen: _Seen, at_ns: int) -> int:
    """Where the newest of this instant or before stands; 0 where all are later."""
    return max(0, bisect_right(seen, at_ns, key=_seen_ns) - 1)


def _touch(rung: RungView) -> _Touch:
    bids, asks = rung.bids, rung.asks
    return rung.fair_cents, bids[0][0] if bids else None, asks[0][0] if asks else None


def _mark(touch: _Touch) -> Mark:
    fair, bid, ask = touch
    return Mark(
        None if fair is None else round(fair * MILLI),
        None if bid is None or ask is None else (bid + ask) * (MILLI // 2),
    )
