"""What a share was worth, and what others thought of it, now and in the last half minute.

Kept as the very views that the strategy was shown, so it costs one entry a decision. Values are
thousandths of a cent of a YES share; a rung that has settled is worth its payout for ever.

A fill is known seconds after it happened. What it is compared with is the value that was believed
before it could be heard of: never one that the fill itself has moved.

Source: strategy, 3, Metrics, and 4, Look-ahead traps.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from bot.core.markouts import MILLI
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


class Marks:
    """The marks of every rung of the series."""

    def __init__(self) -> None:
        self._views: dict[Ticker, deque[tuple[int, EventView]]] = {}
        self._kept: dict[MarketId, float] = {}
        self._event_of: dict[MarketId, Ticker] = {}
        self._settled: dict[MarketId, tuple[int, Mark]] = {}

    def seen(self, view: EventView, now_ns: int) -> None:
        """A view as of now; never older than one before."""
        ticker = view.event_ticker
        views = self._views.get(ticker)
        if views is None:
            views = self._views[ticker] = deque()
        if not views or len(view.rungs) != len(views[-1][1].rungs):
            for rung in view.rungs:
                self._event_of[rung.market_id] = ticker
        for rung in view.rungs:
            if rung.fair_cents is None:
                self._keep(rung.market_id)
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
        paid = PAYOUT_CENTS * MILLI if winner is Outcome.YES else 0
        self._settled.setdefault(market_id, (now_ns, Mark(paid, paid)))

    def forget(self, event_ticker: Ticker, rungs: Iterable[MarketId]) -> None:
        """Drop an event of which nothing is asked any more."""
        self._views.pop(event_ticker, None)
        for market_id in rungs:
            self._kept.pop(market_id, None)
            self._event_of.pop(market_id, None)
            self._settled.pop(market_id, None)

    def is_settled(self, market_id: MarketId) -> bool:
        """Whether a rung has paid out."""
        return market_id in self._settled

    def value(self, market_id: MarketId) -> int | None:
        """What a share counts for now: its payout, else the newest fair value there was, else the
        mid of others, else the last price; None before any of them is known."""
        settled = self._settled.get(market_id)
        if settled is not None:
            return settled[1].fair
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
        views = self._views.get(self._event_of.get(market_id, Ticker("")), ())
        found: EventView | None = None
        for seen_ns, view in reversed(views):
            found = view
            if seen_ns < at_ns:
                break
        rung = None if found is None else _rung(found, market_id)
        return _UNKNOWN if rung is None else _mark(rung)

    def at(self, market_id: MarketId, at_ns: int, against: Against) -> int | None:
        """What stood at this instant, else the first that was known after it; None when nothing is
        known yet."""
        settled = self._settled.get(market_id)
        if settled is not None and settled[0] <= at_ns:
            return settled[1].against(against)
        first = None if settled is None else settled[1].against(against)
        views = self._views.get(self._event_of.get(market_id, Ticker("")), ())
        for seen_ns, view in reversed(views):
            rung = _rung(view, market_id)
            found = None if rung is None else _mark(rung).against(against)
            first = first if found is None else found
            if seen_ns <= at_ns:
                break
        return first

    def _newest(self, market_id: MarketId) -> RungView | None:
        views = self._views.get(self._event_of.get(market_id, Ticker("")))
        return _rung(views[-1][1], market_id) if views else None


def _rung(view: EventView, market_id: MarketId) -> RungView | None:
    return next((rung for rung in view.rungs if rung.market_id == market_id), None)


def _mark(rung: RungView) -> Mark:
    bid, ask, fair = rung.best_bid, rung.best_ask, rung.fair_cents
    return Mark(
        None if fair is None else round(fair * MILLI),
        None if bid is None or ask is None else (bid + ask) * (MILLI // 2),
    )
