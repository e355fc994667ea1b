"""What waits for the trader: everything in order of arrival, but of each market's book the newest.

The trader believes whole books, so an older one that was not looked at yet is worth nothing: it
goes when the next arrives, and the wait never holds more than one book per market. Prints are kept
up to a cap. So a trader that falls behind catches up at once instead of reading history.

Source: design, law 6; reliability, row 44.
"""

import asyncio
from collections import OrderedDict
from typing import Final

import msgspec

from bot.core.messages import BookSeen, Event, ImpliedValueSeen, TradeSeen
from venue.wire.instant import NS_PER_SECOND

TRADES_MAX: Final = 10_000

_Key = int | tuple[str, str]


class Arrived(msgspec.Struct, frozen=True):
    """An event and when it reached this process, nanoseconds on the bot's clock."""

    event: Event
    at_ns: int


class Inbox:
    """Not thread safe: everything happens on the event loop.

    books_dropped, trades_dropped: how many were replaced or cut since the start.
    """

    def __init__(self, trades_max: int = TRADES_MAX) -> None:
        self._waiting: OrderedDict[_Key, Arrived] = OrderedDict()
        self._trades: OrderedDict[int, None] = OrderedDict()
        self._trades_max = trades_max
        self._count = 0
        self._filled = asyncio.Event()
        self.books_dropped = 0
        self.trades_dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, event: Event, at_ns: int) -> None:
        """Add an event at the end; what it makes worthless goes."""
        key = self._key(event)
        if key in self._waiting:
            # It takes its place at the end: an older book must not come to stand before the
            # opening of the channel that brought the newer one.
            del self._waiting[key]
            self.books_dropped += 1
        self._waiting[key] = Arrived(event, at_ns)
        if isinstance(event, TradeSeen) and isinstance(key, int):
            self._trades[key] = None
            if len(self._trades) > self._trades_max:
                oldest, _ = self._trades.popitem(last=False)
                del self._waiting[oldest]
                self.trades_dropped += 1
        self._filled.set()

    def _key(self, event: Event) -> _Key:
        if isinstance(event, BookSeen):
            return "book", event.market_id
        if isinstance(event, ImpliedValueSeen):
            return "value", event.project_id
        self._count += 1
        return self._count

    def take(self, most: int) -> list[Arrived]:
        """Remove and return the first `most` events, oldest first; an empty list when none."""
        taken: list[Arrived] = []
        while self._waiting and len(taken) < most:
            key, arrived = self._waiting.popitem(last=False)
            if isinstance(key, int):
                self._trades.pop(key, None)
            taken.append(arrived)
        if not self._waiting:
            self._filled.clear()
        return taken

    async def wait(self, longest_ns: int) -> None:
        """Return when something is there or after `longest_ns`, whichever comes first."""
        if self._waiting:
            # Give the readers a turn all the same: they must not starve behind a busy trader.
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(max(0, longest_ns) / NS_PER_SECOND):
                await self._filled.wait()
        except TimeoutError:
            return
