"""What a share was worth, and what others thought of it, now and in the last half minute.

Kept as the very views that the strategy was shown, so it costs one entry a decision. Values are
thousandths of a cent of a YES share; a rung that has settled is worth its payout for ever.

A fill is known seconds after it happened. What it is compared with is the value that was believed
before it could be heard of: never one that the fill itself has moved.

Source: strategy, 3, Metrics, and 4, Look-ahead traps.
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


_UNKNOWN: Final = Mark(None, None)

_Views = deque[tuple[int, EventView]]
_NONE: Final[_Views] = deque()
_NOWHERE: Final = (Ticker(""), 0)
_seen_ns: Final = itemgetter(0)


class Marks:
    """The marks of every rung of the series."""

    def __init__(self) -> None:
        self._views: dict[Ticker, _Views] = {}
        self._kept: dict[MarketId, float] = {}
        # Of each rung its event, and where among the rungs of the newest views it stands.
        self._places: dict[MarketId, tuple[Ticker, int]] = {}
        self._settled: dict[MarketId, tuple[int, Mark]] = {}
        self._certain: dict[MarketId, tuple[int, Mark]] = {}

    def seen(self, view: EventView, now_ns: int, anew: Iterable[int] | None = None) -> None:
        """A view as of now; never older than one before. anew: the places of the rungs that are not
        told as in the view before; None where any may be."""
        ticker = view.event_ticker
        views = self._views.get(ticker)
        if views is None:
            views = self._views[ticker] = deque()
        rungs = view.rungs
        if not views or len(rungs) != len(views[-1][1].rungs):
            for place, rung in enumerate(rungs):
                self._places[rung.market_id] = (ticker, place)
        for place in range(len(rungs)) if anew is None else anew:
            if rungs[place].fair_cents is None:
                self._keep(rungs[place].market_id)
        if len(views) > 1 and now_ns < views[-2][0] + _STEP_NS:
            views.pop()
        views.append((now_ns, view))
        while len(views) > 2 and views[1][0] < now_ns - KEPT_NS:
            views.popleft()

    def _keep(self, market_id: MarketId) -> None:
        """A rung's fair value is no longer known: the last one is kept."""
        before = self._newest(market_id)
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
        self._views.pop(event_ticker, None)
        for market_id in rungs:
            self._kept.pop(market_id, None)
            self._places.pop(market_id, None)
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
        rung = self._newest(market_id)
        fair = None if rung is None else rung.fair_cents
        if fair is None:
            fair = self._kept.get(market_id)
        if fair is not None:
            return round(fair * MILLI)
        if rung is None:
            return None
        mid = _mark(rung).mid
        if mid is None and rung.last_price is not None:
            return rung.last_price * MILLI
        return mid

    def before(self, market_id: MarketId, at_ns: int) -> Mark:
        """The newest that was known before this instant; the oldest remembered if that is later."""
        views, place = self._views_of(market_id)
        if not views:
            return _UNKNOWN
        rung = _rung(views[_view_at(views, at_ns - 1)][1], market_id, place)
        return _UNKNOWN if rung is None else _mark(rung)

    def at(self, market_id: MarketId, at_ns: int, against: Against) -> int | None:
        """What stood at this instant, else the first that was known after it, within a minute; None
        when nothing is known yet, or what was is no longer remembered."""
        sure = self._sure(market_id)
        if sure is not None and sure[0] <= at_ns:
            return sure[1].against(against)
        until_ns = at_ns + LATE_MAX_NS
        views, place = self._views_of(market_id)
        for seen_ns, view in islice(views, _view_at(views, at_ns), None):
            if seen_ns > until_ns:
                break
            rung = _rung(view, market_id, place)
            found = None if rung is None else _mark(rung).against(against)
            if found is not None:
                return found
        return None if sure is None or sure[0] > until_ns else sure[1].against(against)

    def _views_of(self, market_id: MarketId) -> tuple[_Views, int]:
        """The views of a rung's event, and where in them the rung is to be looked for first."""
        ticker, place = self._places.get(market_id, _NOWHERE)
        return self._views.get(ticker, _NONE), place

    def _newest(self, market_id: MarketId) -> RungView | None:
        views, place = self._views_of(market_id)
        return _rung(views[-1][1], market_id, place) if views else None


def _paid_by(winner: Outcome) -> Mark:
    paid = PAYOUT_CENTS * MILLI if winner is Outcome.YES else 0
    return Mark(paid, paid)


def _view_at(views: _Views, at_ns: int) -> int:
    """Where the newest view of this instant or before stands; 0 where all are later."""
    return max(0, bisect_right(views, at_ns, key=_seen_ns) - 1)


def _rung(view: EventView, market_id: MarketId, place: int) -> RungView | None:
    """The rung of a market in a view. place: where it is looked for first."""
    rungs = view.rungs
    if place < len(rungs) and rungs[place].market_id == market_id:
        return rungs[place]
    return next((rung for rung in rungs if rung.market_id == market_id), None)


def _mark(rung: RungView) -> Mark:
    bid, ask, fair = rung.best_bid, rung.best_ask, rung.fair_cents
    return Mark(
        None if fair is None else round(fair * MILLI),
        None if bid is None or ask is None else (bid + ask) * (MILLI // 2),
    )
