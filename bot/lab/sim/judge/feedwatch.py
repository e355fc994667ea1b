"""Whether a life of the bot may send new exposure on a rung: FEED_OK, judged from what reached it.

Socket open, something heard within 5 s, the book confirmed within 10 s by a frame or an equal read,
not crossed, no print newer than it by more than a second; after a garbled frame or a pause of the
process, confirmed since, and after a pause by what was asked for since; not emptied at once within
the last minute; prints coming no later than they do.
"""

from collections import deque
from collections.abc import Callable, Collection
from typing import Final

from bot.core import messages as m
from bot.core.strategy import Levels
from bot.lab.sim.judge.broken import check
from bot.lab.sim.odds import MS, SECOND
from venue.wire import instant
from venue.wire.names import MarketId

HEARD_NS: Final = 5 * SECOND
BOOK_NS: Final = 10 * SECOND
LEAD_NS: Final = SECOND
GAP_NS: Final = 250 * MS
EMPTIED_NS: Final = 60 * SECOND
LATE_NS: Final = 500 * MS
PULLED_NS: Final = 2 * SECOND
"""A book in doubt is confirmed, or its quotes are pulled, within this."""

_STOOD_NS: Final = SECOND
_OTHERS_MIN: Final = 2
"""Prices at which nothing of ours ever rested: then somebody else was there."""

_DOLLAR: Final = 100
_PRINTS_NS: Final = 60 * SECOND


Book = tuple[Levels, Levels]


class _Shown:
    """A rung's book as it reached the bot. suspect: in doubt until it is confirmed."""

    __slots__ = (
        "book",
        "confirmed_ns",
        "depth_ns",
        "emptied_ns",
        "looked_ns",
        "ours",
        "print_ns",
        "suspect",
        "suspect_ns",
        "ts_ns",
        "unasked",
    )

    def __init__(self) -> None:
        self.book: Book = ((), ())
        self.ts_ns: int | None = None
        self.confirmed_ns = 0
        self.suspect = False
        self.suspect_ns = 0
        self.depth_ns: int | None = None  # since when there was something of others' in it
        self.emptied_ns: int | None = None
        self.looked_ns = 0
        self.ours: dict[int, None] = {}  # where orders of ours have rested
        self.unasked = False
        self.print_ns: int | None = None

    @property
    def crossed(self) -> bool:
        bids, asks = self.book
        return bool(bids and asks and bids[0][0] >= asks[0][0])

    def doubt(self, now_ns: int) -> None:
        if not self.suspect:
            self.suspect, self.suspect_ns = True, now_ns


class FeedWatch:
    """Follows the events of one life. Times are the bot's own but for `ts`: the venue's."""

    def __init__(self, own_levels: Callable[[MarketId], Collection[int]]) -> None:
        self._own_levels = own_levels
        self._prints: deque[tuple[int, int]] = deque()  # when they came, and how long they took
        self._closed_ns = 0
        self._open = False
        self._heard_ns = -BOOK_NS
        self._last_ns: int | None = None
        self._rungs: dict[MarketId, _Shown] = {}

    def saw(self, event: m.Event, now_ns: int) -> None:
        if self._last_ns is not None and now_ns - self._last_ns > GAP_NS:
            self._doubt(now_ns)
            for rung in self._rungs.values():
                rung.unasked = True
        self._last_ns = now_ns
        if isinstance(event, m.BookSeen):
            self._book(event, now_ns)
        elif isinstance(event, m.TradeSeen):
            self._heard_ns = now_ns
            ts_ns = event.ts_ns
            self._prints.append((now_ns, now_ns - ts_ns))
            while now_ns - self._prints[0][0] > _PRINTS_NS:
                self._prints.popleft()
            rung = self._rung(event.market_id)
            if rung.print_ns is None or ts_ns > rung.print_ns:
                rung.print_ns = ts_ns
        elif isinstance(event, m.FeedHeard | m.SubscriptionAccepted):
            self._heard_ns = now_ns
        elif isinstance(event, m.FeedOpened):
            self._open, self._heard_ns = True, now_ns
            self._prints.clear()
        elif isinstance(event, m.FeedClosed):
            self._open, self._closed_ns = False, now_ns
            self._rungs.clear()
        elif isinstance(event, m.FrameGarbled) and event.known:
            self._doubt(now_ns)

    def asked(self) -> None:
        for rung in self._rungs.values():
            rung.unasked = False

    def is_newest(self, market: MarketId, book: Book) -> bool:
        """Whether this is the newest book of a rung, by the venue's time; an empty one where none
        was shown."""
        rung = self._rungs.get(market)
        return book == (((), ()) if rung is None else rung.book)

    def _rung(self, market: MarketId) -> _Shown:
        rung = self._rungs.get(market)
        if rung is None:
            rung = self._rungs[market] = _Shown()
        return rung

    def _doubt(self, now_ns: int) -> None:
        for rung in self._rungs.values():
            rung.doubt(now_ns)

    def _confirms(self, rung: _Shown, now_ns: int) -> None:
        if not rung.unasked:
            rung.confirmed_ns, rung.suspect = now_ns, False

    def _shows(self, market: MarketId, rung: _Shown, book: Book, now_ns: int) -> None:
        bids, asks = book
        since_ns = rung.depth_ns
        if bids or asks:
            rung.emptied_ns = None
            if now_ns - rung.looked_ns >= _STOOD_NS // 2:
                rung.looked_ns = now_ns
                for price in self._own_levels(market):
                    rung.ours[price] = None  # a frame may show it long after it is gone
                if sum(price not in rung.ours for price, _ in (*bids, *asks)) < _OTHERS_MIN:
                    rung.depth_ns = None
                elif since_ns is None:
                    rung.depth_ns = now_ns
        else:
            if since_ns is not None and now_ns - since_ns >= _STOOD_NS:
                rung.emptied_ns = now_ns
            rung.depth_ns = None
        rung.book = book

    def _book(self, seen: m.BookSeen, now_ns: int) -> None:
        self._heard_ns = now_ns
        rung = self._rung(seen.market_id)
        if rung.ts_ns is not None and seen.ts_ns < rung.ts_ns:
            return
        rung.ts_ns = seen.ts_ns
        self._confirms(rung, now_ns)
        self._shows(seen.market_id, rung, (seen.bids, seen.asks), now_ns)

    def read(self, request: m.ReadBook, answer: m.Answer, now_ns: int) -> None:
        if not isinstance(answer, m.Done) or not isinstance(answer.body, m.BookShown):
            return
        shown = answer.body.book
        if instant.is_zero(shown.as_of):
            return
        rung = self._rung(request.market_id)
        bids = tuple((level.price, level.size) for level in shown.bids)
        asks = tuple((level.price, level.size) for level in shown.asks)
        as_of_ns = instant.to_ns(shown.as_of)
        if (bids, asks) == rung.book and rung.ts_ns is not None:
            self._confirms(rung, now_ns)
            rung.print_ns = None
        elif rung.ts_ns is None or as_of_ns >= rung.ts_ns:
            # Nothing else has shown it: it waits for a second word.
            rung.ts_ns = as_of_ns
            self._shows(request.market_id, rung, (bids, asks), now_ns)
            rung.doubt(now_ns)

    def reaches(self, market: MarketId, is_bid: bool, level: int, ours: Collection[int]) -> int:
        rung = self._rungs.get(market)
        if rung is None:
            return -_DOLLAR
        bids, asks = rung.book
        far = [price for price, _ in (asks if is_bid else bids) if price not in ours]
        if not far:
            return -_DOLLAR
        return level - far[0] if is_bid else far[0] - level

    def may_quote(self, market: MarketId, now_ns: int) -> None:
        """B4: new exposure leaves now for this rung. Raises `Broken` when it may not."""
        check(self._open, "B4", "new exposure while the channel is closed")
        silent_ns = now_ns - self._heard_ns
        check(silent_ns <= HEARD_NS, "B4", f"new exposure {silent_ns} ns after the last sign")
        rung = self._rungs.get(market)
        check(rung is not None and rung.ts_ns is not None, "B4", f"no book of {market} is known")
        assert rung is not None
        assert rung.ts_ns is not None
        age_ns = now_ns - rung.confirmed_ns
        check(age_ns <= BOOK_NS, "B4", f"new exposure on a book {age_ns} ns old")
        check(not rung.crossed, "B4", f"new exposure on a crossed book of {market}")
        check(not rung.suspect, "B4", f"new exposure on a book of {market} in doubt")
        emptied = rung.emptied_ns is not None and now_ns - rung.emptied_ns < EMPTIED_NS - _STOOD_NS
        check(not emptied, "B4", f"new exposure on a book of {market} that was emptied")
        check(not self._is_late(now_ns), "B4", "new exposure while prints come late")
        lead_ns = 0 if rung.print_ns is None else rung.print_ns - rung.ts_ns
        check(lead_ns <= LEAD_NS, "B4", f"a print of {market} leads its book by {lead_ns} ns")

    def _is_late(self, now_ns: int) -> bool:
        if not self._prints or now_ns - self._prints[-1][0] >= SECOND:
            return False
        least_ns = min(took_ns for _, took_ns in self._prints)
        recent = [took_ns for at_ns, took_ns in self._prints if now_ns - at_ns <= 2 * SECOND]
        return all(took_ns - least_ns > LATE_NS for took_ns in recent)

    def long_stale(self, market: MarketId, now_ns: int) -> str:
        """Why a rung must not be quoted any more, not even by what rests; empty while it may be.

        A doubt is given time to be settled; what is closed, silent or old is not.
        """
        rung = self._rungs.get(market)
        if not self._open and now_ns - self._closed_ns > PULLED_NS:
            return "the channel is closed"
        if now_ns - self._heard_ns > HEARD_NS:
            return "the channel is silent"
        if rung is None or rung.ts_ns is None:
            return "no book is known"
        if not rung.suspect and now_ns - rung.confirmed_ns > BOOK_NS:
            return "its book is old"
        if rung.crossed:
            return "its book is crossed"
        if rung.suspect and now_ns - rung.suspect_ns > PULLED_NS:
            return "its book is in doubt"
        return ""
