"""From visible events to frames for everybody who subscribed. Prints, tickers and implied values go
out one frame each, in order; a market's book at most once in a flush interval."""

import asyncio
import ipaddress
from collections.abc import Callable
from typing import Final

from venue.engine import messages as m
from venue.stream.channel import Channel
from venue.views.projector import Views
from venue.wire import codec, frames
from venue.wire.names import MarketId, ProjectId

OVERDUE_CHECK_S: Final = 0.25

CONNECTIONS_MAX: Final = 500
"""Half of what the server takes, so that listeners never keep orders out."""

CONNECTIONS_PER_ADDRESS_MAX: Final = 100
"""From one address that is not loopback: there a cap would make it cheaper to lock a neighbour's
bot out."""


class Connection:
    def __init__(self, channel: Channel, abort: Callable[[], None], address: str) -> None:
        self.channel = channel
        self.abort = abort
        self.address = address
        self.ready = asyncio.Event()


class Hub:
    """Everybody who listens. flush_ms: a market's book goes out at most once in this time."""

    def __init__(self, views: Views, flush_ms: int) -> None:
        self._views = views
        self._flush_s = flush_ms / 1000
        self._connections: dict[Connection, None] = {}
        self._by_address: dict[str, int] = {}
        self._rungs: dict[MarketId, dict[Connection, None]] = {}
        self._companies: dict[ProjectId, dict[Connection, None]] = {}
        self._encoded: dict[MarketId, bytes] = {}
        self._dirty: dict[MarketId, None] = {}
        self._dirtied = asyncio.Event()
        self.readers_cut = 0

    @property
    def subscribers(self) -> int:
        return len(self._connections)

    def has_room(self, address: str) -> bool:
        """True if one more connection may come from `address`: an IP address, or anything else."""
        if len(self._connections) >= CONNECTIONS_MAX:
            return False
        from_there = self._by_address.get(address, 0)
        return from_there < CONNECTIONS_PER_ADDRESS_MAX or is_loopback(address)

    def connect(self, abort: Callable[[], None], now_ns: int, address: str = "") -> Connection:
        """A new connection, subscribed to nothing; ask `has_room` first. `abort` cuts it off at
        once."""
        channel = Channel(self._views.catalog.directory, self.book_frame, now_ns)
        connection = Connection(channel, abort, address)
        self._connections[connection] = None
        self._by_address[address] = self._by_address.get(address, 0) + 1
        return connection

    def disconnect(self, connection: Connection) -> None:
        """Forget a connection; one that is forgotten already, as after a cut, stays so."""
        if self._connections.pop(connection, connection) is None:
            self._unsubscribe(connection)
            left = self._by_address.pop(connection.address) - 1
            if left:
                self._by_address[connection.address] = left

    def receive(self, connection: Connection, data: bytes, now_ns: int) -> None:
        if connection not in self._connections:
            return  # cut off in the meantime
        self._unsubscribe(connection)
        channel = connection.channel
        channel.receive(data, now_ns)
        for market_id in channel.rungs:
            self._rungs.setdefault(market_id, {})[connection] = None
        for project_id in channel.companies:
            self._companies.setdefault(project_id, {})[connection] = None
        connection.ready.set()

    def _unsubscribe(self, connection: Connection) -> None:
        for market_id in connection.channel.rungs:
            self._rungs[market_id].pop(connection, None)
            if not self._rungs[market_id]:
                del self._rungs[market_id]
        for project_id in connection.channel.companies:
            self._companies[project_id].pop(connection, None)
            if not self._companies[project_id]:
                del self._companies[project_id]

    def publish(self, events: list[m.Event], now_ns: int) -> None:
        for event in events:
            match event:
                case m.LevelChanged():
                    self._changed(event.market_id)
                case m.TradePrinted():
                    if event.market_id in self._rungs:
                        for update in self._print_updates(event):
                            # The first update may have cut everybody off.
                            self._send(self._rungs.get(event.market_id, {}), update, now_ns)
                case m.ImpliedValuePublished():
                    if event.project_id in self._companies:
                        listening = self._companies[event.project_id]
                        self._send(listening, self._implied_value(event), now_ns)
                case m.MarketListed():
                    # Somebody may have subscribed to the UUID before the market existed.
                    self._changed(event.market.market_id)
                case _:
                    pass

    def _changed(self, market_id: MarketId) -> None:
        """A book changed: listeners get it at the next flush, a later subscriber at once, and then
        not again."""
        if market_id in self._rungs:
            self._dirty[market_id] = None
            self._dirtied.set()
        else:
            self._dirty.pop(market_id, None)
            self._encoded.pop(market_id, None)

    def flush(self, now_ns: int) -> None:
        for market_id in self._dirty:
            self._encoded.pop(market_id, None)
            listening = self._rungs.get(market_id)
            if listening is None:
                continue
            # Encoded now and not when it is taken: a frame that already showed what the next
            # flush brings would make that one say the same again.
            self.book_frame(market_id)
            for connection in listening:
                connection.channel.mark(market_id, now_ns)
                connection.ready.set()
        self._dirty.clear()

    def cut_overdue(self, now_ns: int) -> int:
        overdue = [held for held in self._connections if held.channel.overdue(now_ns)]
        self._cut(overdue)
        return len(overdue)

    def _cut(self, connections: list[Connection]) -> None:
        self.readers_cut += len(connections)
        for connection in connections:
            self.disconnect(connection)
            connection.abort()

    def book_frame(self, market_id: MarketId) -> bytes | None:
        """A market's whole book as last flushed, as a frame; None for a market never listed."""
        frame = self._encoded.get(market_id)
        if frame is None and self._views.catalog.find_market(market_id) == market_id:
            ticker, _ = self._views.catalog.market_tickers(market_id)
            book = self._views.market.ladders(market_id)
            update = frames.BookUpdate(ticker, market_id, book.ts, book.yes, book.no)
            frame = self._encoded[market_id] = codec.encode(frames.MarketUpdate(update))
        return frame

    async def run(self, now_ns: Callable[[], int]) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._flush_on_change(now_ns))
            tasks.create_task(self._cut_on_beat(now_ns))

    async def _flush_on_change(self, now_ns: Callable[[], int]) -> None:
        while True:
            await self._dirtied.wait()
            self._dirtied.clear()
            self.flush(now_ns())
            await asyncio.sleep(self._flush_s)

    async def _cut_on_beat(self, now_ns: Callable[[], int]) -> None:
        while True:
            await asyncio.sleep(OVERDUE_CHECK_S)
            self.cut_overdue(now_ns())

    def _send(
        self, connections: dict[Connection, None], update: frames.Update, now_ns: int
    ) -> None:
        frame = codec.encode(frames.MarketUpdate(update))
        for connection in connections:
            connection.channel.offer(frame, now_ns)
            connection.ready.set()
        # Not left to the beat: a burst could pile up any number of megabytes between two of them.
        overflowing = [each for each in connections if each.channel.overflows(now_ns)]
        if overflowing:
            self._cut(overflowing)

    def _print_updates(
        self, event: m.TradePrinted
    ) -> tuple[frames.TradeUpdate, frames.TickerUpdate]:
        ticker, _ = self._views.catalog.market_tickers(event.market_id)
        return (
            frames.TradeUpdate(
                ticker=ticker,
                event_market_id=event.market_id,
                ts=event.at_ns,
                trade_id=event.trade_id,
                price=event.price,
                size=event.qty,
                maker=frames.TradeParty(event.maker_outcome, event.maker_side),
                taker=frames.TradeParty(event.taker_outcome, event.taker_side),
            ),
            frames.TickerUpdate(ticker, event.market_id, event.at_ns, event.price, event.qty),
        )

    def _implied_value(self, event: m.ImpliedValuePublished) -> frames.ImpliedValueUpdate:
        company = self._views.catalog.company(event.project_id)
        assert company is not None, "an implied value is of a listed company"
        return frames.ImpliedValueUpdate(
            company.symbol, event.project_id, event.at_ns, event.value_dollars, event.confidence
        )


def is_loopback(address: str) -> bool:
    """True if an address is of this host; a text that is no address is."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return True  # no address: a socket of this host
