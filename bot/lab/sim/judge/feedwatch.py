"""Whether a rung may be quoted, judged from what reached the bot (B4).

Socket open, something heard within 5 s, the book confirmed within 10 s by a frame or an equal read
and not crossed; after a garbled frame or a pause of the process confirmed since, and after a pause
by what was asked for since.
"""

from collections.abc import Collection
from typing import Final

from bot.core import messages as m
from bot.lab.sim.judge.truth import DOLLAR
from bot.lab.sim.odds import MS, SECOND
from bot.strategy.api import Levels
from venue.wire import instant
from venue.wire.names import MarketId

PULLED_NS: Final = 2 * SECOND
"""A book in doubt is confirmed, or its quotes are pulled, within this."""

_HEARD_NS: Final = 5 * SECOND
_BOOK_NS: Final = 10 * SECOND
_GAP_NS: Final = 250 * MS


class _Shown:
    """A rung's book as it reached the bot. suspect_ns: since when it has been in doubt. unasked:
    nothing has been asked for since a pause of the process."""

    def __init__(self) -> None:
        self.book: tuple[Levels, Levels] = ((), ())
        self.ts_ns: int | None = None
        self.confirmed_ns = 0
        self.suspect_ns: int | None = None
        self.unasked = False

    @property
    def crossed(self) -> bool:
        bids, asks = self.book
        return bool(bids and asks and bids[0][0] >= asks[0][0])

    def doubt(self, now_ns: int) -> None:
        if self.suspect_ns is None:
            self.suspect_ns = now_ns

    def confirm(self, now_ns: int) -> None:
        if not self.unasked:
            self.confirmed_ns, self.suspect_ns = now_ns, None


class FeedWatch:
    """Follows the events of one life. Times are the bot's own but for `ts`: the venue's."""

    def __init__(self) -> None:
        self._open = False
        self._closed_ns = 0
        self._heard_ns = -_BOOK_NS
        self._last_ns: int | None = None
        self._rungs: dict[MarketId, _Shown] = {}

    def saw(self, event: m.Event, now_ns: int) -> None:
        if self._last_ns is not None and now_ns - self._last_ns > _GAP_NS:
            self._doubt_all(now_ns)
            for rung in self._rungs.values():
                rung.unasked = True
        self._last_ns = now_ns
        if isinstance(event, m.BookUpdate):
            self._book(event, now_ns)
        elif isinstance(event, m.Trade | m.FeedAlive | m.SubscriptionAccepted):
            self._heard_ns = now_ns
        elif isinstance(event, m.FeedOpened):
            self._open, self._heard_ns = True, now_ns
        elif isinstance(event, m.FeedClosed):
            self._open, self._closed_ns = False, now_ns
            self._rungs.clear()
        elif isinstance(event, m.MalformedFrame) and event.known:
            self._doubt_all(now_ns)

    def asked(self) -> None:
        for rung in self._rungs.values():
            rung.unasked = False

    def _doubt_all(self, now_ns: int) -> None:
        for rung in self._rungs.values():
            rung.doubt(now_ns)

    def _book(self, seen: m.BookUpdate, now_ns: int) -> None:
        self._heard_ns = now_ns
        rung = self._rungs.setdefault(seen.market_id, _Shown())
        if rung.ts_ns is None or seen.ts_ns >= rung.ts_ns:
            rung.ts_ns, rung.book = seen.ts_ns, (seen.bids, seen.asks)
            rung.confirm(now_ns)

    def read(self, request: m.ReadBook, answer: m.Answer, now_ns: int) -> None:
        if not isinstance(answer, m.Ok) or not isinstance(answer.body, m.BookBody):
            return
        shown = answer.body.book
        if instant.is_zero(shown.as_of):
            return
        rung = self._rungs.setdefault(request.market_id, _Shown())
        bids = tuple((level.price, level.size) for level in shown.bids)
        asks = tuple((level.price, level.size) for level in shown.asks)
        as_of_ns = instant.to_ns(shown.as_of)
        if (bids, asks) == rung.book and rung.ts_ns is not None:
            rung.confirm(now_ns)
        elif rung.ts_ns is None or as_of_ns >= rung.ts_ns:
            # Nothing else has shown it: it waits for a second word.
            rung.ts_ns, rung.book = as_of_ns, (bids, asks)
            rung.doubt(now_ns)

    def reaches(self, market: MarketId, is_bid: bool, level: int, ours: Collection[int]) -> int:
        """How many ticks a price is through the best one of others, where never one of ours was;
        far below zero where there is none."""
        bids, asks = self._rungs[market].book if market in self._rungs else ((), ())
        far = [price for price, _ in (asks if is_bid else bids) if price not in ours]
        if not far:
            return -DOLLAR
        return level - far[0] if is_bid else far[0] - level

    def stale(self, market: MarketId, now_ns: int, patience_ns: int = 0) -> str:
        """Why a rung may not be quoted; empty while it may be. patience_ns: so long what rests may
        stay after the channel closed, or while its book is in doubt."""
        rung = self._rungs.get(market)
        if not self._open and now_ns - self._closed_ns >= patience_ns:
            return "the channel is closed"
        if now_ns - self._heard_ns > _HEARD_NS:
            return "the channel is silent"
        if rung is None or rung.ts_ns is None:
            return "no book is known"
        if rung.suspect_ns is None:
            if now_ns - rung.confirmed_ns > _BOOK_NS:
                return "its book is old"
        elif now_ns - rung.suspect_ns >= patience_ns:
            return "its book is in doubt"
        return "its book is crossed" if rung.crossed else ""
