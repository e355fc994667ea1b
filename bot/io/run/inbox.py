"""The events that wait for the trader: in order of arrival, conflated and bounded.

If more waits than a batch takes, everything that is no frame goes first: a stop must not wait
behind frames that arrive faster than they are read. Frames and the opening and closing of the
channel never overtake one another; nor do the others.
"""

import asyncio
from collections import OrderedDict, deque
from typing import Final

import msgspec

from bot.core import messages as m
from venue.wire.instant import NS_PER_SECOND

TRADES_MAX: Final = 10_000
GARBLED_MAX: Final = 3
"""So many malformed frames of a kind wait: enough for the trader to request every book again."""

_Key = int | tuple[str, str]


class TimedEvent(msgspec.Struct, frozen=True):
    """at_ns: arrival at this process, on the bot's clock."""

    event: m.Event
    at_ns: int


class _Capped:
    """The places of events of a kind of which the oldest are dropped beyond a cap."""

    __slots__ = ("dropped", "most", "places")

    def __init__(self, most: int) -> None:
        self.most = most
        self.places: OrderedDict[int, None] = OrderedDict()
        self.dropped = 0


class ConflatingQueue:
    """Not thread safe: everything happens on the event loop."""

    def __init__(self, trades_max: int = TRADES_MAX) -> None:
        self._first: deque[tuple[int, TimedEvent]] = deque()
        self._frames: OrderedDict[_Key, tuple[int, TimedEvent]] = OrderedDict()
        self._trades = _Capped(trades_max)
        self._garbled = {known: _Capped(GARBLED_MAX) for known in (True, False)}
        self._count = 0
        self._filled = asyncio.Event()
        self._books_dropped = 0

    def __len__(self) -> int:
        return len(self._first) + len(self._frames)

    @property
    def dropped(self) -> dict[str, int]:
        """Events that were never read, since the start. `book`: replaced by newer ones; `print`:
        prints beyond the cap; `garbled`: malformed frames beyond theirs."""
        return {
            "book": self._books_dropped,
            "print": self._trades.dropped,
            "garbled": sum(each.dropped for each in self._garbled.values()),
        }

    def put(self, event: m.Event, at_ns: int) -> None:
        self._count += 1
        placed = self._count, TimedEvent(event, at_ns)
        match event:
            case m.BookUpdate():
                self._replace(("book", event.market_id), placed)
            case m.ImpliedValueSeen():
                self._replace(("value", event.project_id), placed)
            case m.Trade():
                self._add_capped(self._trades, placed)
            case m.MalformedFrame():
                self._add_capped(self._garbled[event.known], placed)
            case m.FeedAlive() | m.SubscriptionAccepted() | m.SubscriptionRefused():
                key = type(event).__name__, ""
                self._frames.pop(key, None)
                self._frames[key] = placed
            case m.FeedOpened() | m.FeedClosed():
                self._frames[self._count] = placed
            case _:
                self._first.append(placed)
        self._filled.set()

    def _replace(self, key: _Key, placed: tuple[int, TimedEvent]) -> None:
        if self._frames.pop(key, None) is not None:
            # It takes its place at the end: an older book must not come to stand before the
            # opening of the channel that brought the newer one.
            self._books_dropped += 1
        self._frames[key] = placed

    def _add_capped(self, kind: _Capped, placed: tuple[int, TimedEvent]) -> None:
        number = placed[0]
        self._frames[number] = placed
        kind.places[number] = None
        if len(kind.places) > kind.most:
            oldest, _ = kind.places.popitem(last=False)
            del self._frames[oldest]
            kind.dropped += 1

    def take_events(self, most: int) -> list[TimedEvent]:
        """Remove and return up to `most` events, oldest first. Frames wait if there are more."""
        taken: list[tuple[int, TimedEvent]] = []
        while self._first and len(taken) < most:
            taken.append(self._first.popleft())
        overtakes = bool(taken)
        while self._frames and len(taken) < most:
            key, placed = self._frames.popitem(last=False)
            if isinstance(key, int):
                self._forget(key, placed[1].event)
            taken.append(placed)
        if overtakes:
            taken.sort(key=_number)
        if not self:
            self._filled.clear()
        return [arrived for _, arrived in taken]

    def _forget(self, number: int, event: m.Event) -> None:
        if isinstance(event, m.Trade):
            del self._trades.places[number]
        elif isinstance(event, m.MalformedFrame):
            del self._garbled[event.known].places[number]

    async def wait(self, longest_ns: int) -> None:
        if self:
            # Give the readers a turn all the same: they must not starve behind a busy trader.
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(max(0, longest_ns) / NS_PER_SECOND):
                await self._filled.wait()
        except TimeoutError:
            return


def _number(placed: tuple[int, TimedEvent]) -> int:
    return placed[0]
