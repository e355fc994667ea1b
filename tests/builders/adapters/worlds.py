"""The venues behind the adapters, each with somebody else who trades there, in virtual time.

Every world opens with the same books: bids of 40 shares at 60 and 42, asks at 70 and 52.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Protocol

from bot.core import messages as m
from bot.io.adapter import Connection, VenueAddress, ask, connect
from bot.io.client.native import NativeAdapter
from bot.io.client.preflight import PublicVenue
from bot.io.clock import Clock
from bot.io.secret import Secret
from bot.lab.driver import Driver
from bot.lab.evaluate.market import EVENT, MAKERS, NOISE, TrueValueMarket
from bot.lab.evaluate.scenarios import Scenario
from bot.lab.exchange.assumptions import Latency, Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.simulated_venue import SimulatedVenue, TermsLink
from bot.lab.paper import PaperExchange, PaperVenue
from tests.builders.shell.life import spared
from tests.builders.shell.loop import VirtualLoop, run
from tests.builders.shell.net import Network
from tests.builders.shell.site import (
    BASE_URL,
    KEY,
    OTHER,
    SERIES,
    STREAM_URL,
    TAKER,
    Bend,
    Site,
    rung_id,
)
from venue.engine import messages as v
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker
from venue.wire.requests import Amend, QtyOrder, TimeInForce

SETTLE_S: Final = 0.5
"""Longer than every latency and read lag here."""

ADDRESS: Final = VenueAddress(BASE_URL, STREAM_URL, Secret(KEY))
_BOOK: Final = ((60, 70), (42, 52))
_DEPTH_QTY: Final = 40
_PUMP_S: Final = 0.001


class AdapterWorld(Protocol):
    """series, markets: what there is to trade."""

    connection: Connection
    series: Ticker
    markets: list[MarketId]

    async def bid(self, market: MarketId, price: int, qty: int) -> None:
        """Somebody else bids for YES."""

    async def sell(self, market: MarketId, price: int, qty: int) -> None:
        """Somebody else sells so many YES to the best bids, down to a price."""

    async def halt(self, market: MarketId) -> None:
        """The venue halts a market."""

    async def drop_channel(self) -> None:
        """The channel is lost and comes back."""


Opened = Callable[[VirtualLoop], AbstractAsyncContextManager[AdapterWorld]]


class _SiteWorld:
    """The real server in memory. connection: to it."""

    series = SERIES

    def __init__(self, site: Site, network: Network, connection: Connection) -> None:
        self.connection = connection
        self.markets = [rung_id(0), rung_id(1)]
        self._site = site
        self._network = network

    async def bid(self, market: MarketId, price: int, qty: int) -> None:
        await self._site.crowd.place(OTHER, market, Outcome.YES, price, qty)

    async def sell(self, market: MarketId, price: int, qty: int) -> None:
        crowd = self._site.crowd
        await crowd.place(TAKER, market, Outcome.NO, 100 - price, qty, TimeInForce.IOC)

    async def halt(self, market: MarketId) -> None:
        self._site.operate(v.HaltMarket(market))

    async def drop_channel(self) -> None:
        for wire in self._network.wires:
            if wire.is_channel:
                wire.tear()


@asynccontextmanager
async def _site(
    loop: VirtualLoop, connected: Callable[[], Connection], bend: Bend | None = None
) -> AsyncIterator[_SiteWorld]:
    network = Network(loop, random.Random(2), (0.0005, 0.004))
    site = Site(loop, network, bend=bend)
    serving = loop.create_task(site.run())
    await asyncio.sleep(0)
    await site.crowd.open()
    try:
        yield _SiteWorld(site, network, connected())
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        for wire in network.wires:
            wire.tear()
        await asyncio.sleep(30)


def native(loop: VirtualLoop) -> AbstractAsyncContextManager[AdapterWorld]:
    return _site(loop, lambda: connect(NativeAdapter(), ADDRESS, 32))


def behind(
    connected: Callable[[], Connection], bend: Bend
) -> Callable[[VirtualLoop], AbstractAsyncContextManager[AdapterWorld]]:
    """The real server with a bend, behind another adapter."""
    return lambda loop: _site(loop, connected, bend)


def paper(loop: VirtualLoop) -> AbstractAsyncContextManager[AdapterWorld]:
    """Our orders on the local exchange, everybody else's on the real server."""

    def connected() -> Connection:
        terms = Terms(cash_cents=Cents(1_000_000), read_lag_ns=5 * NS_PER_MS)
        exchange = PaperExchange(terms, QueueModel.PESSIMISTIC, None, Clock().now_ns)
        return PaperVenue(PublicVenue(NativeAdapter(), ADDRESS), exchange).connection

    return _site(loop, connected)


class _SimulatedWorld:
    """The lab's exchange, with a driver that keeps up with the loop."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._begun_s = loop.time()
        start_ns = Clock().now_ns()
        self._start_ns = start_ns
        self._driver = Driver(start_ns)
        self._market = TrueValueMarket(Scenario(rungs=2), (100, 125), start_ns)
        link = TermsLink(Terms(latency=Latency(4 * NS_PER_MS), feed_ns=2 * NS_PER_MS))
        self._venue = SimulatedVenue(self._driver, self._market, link)
        self._emit = lambda _event: None
        self._channels: list[asyncio.Task[None]] = []
        self.connection = Connection(self._venue, self._channel_of)
        self.markets = list(self._market.markets)
        self.series = Ticker(EVENT.rpartition("-")[0])
        for market, (bid, ask_price) in zip(self.markets, _BOOK, strict=True):
            self._place(market, bid, _DEPTH_QTY, buys=True, rests=True)
            self._place(market, ask_price, _DEPTH_QTY, buys=False, rests=True)

    def _channel_of(self, emit):
        """The venue's own channel, whose task this world may end and begin again."""
        channel = self._venue.connection.channel_of(emit)

        class Reopened:
            subscribe = staticmethod(channel.subscribe)

            @staticmethod
            async def run() -> None:
                while True:
                    task = self._loop.create_task(channel.run())
                    self._channels.append(task)
                    try:
                        await asyncio.wait([task])
                    finally:
                        task.cancel()
                        await asyncio.wait([task])

        return Reopened

    def _place(self, market: MarketId, price: int, qty: int, *, buys: bool, rests: bool) -> None:
        self._market.trade(
            MAKERS[0] if rests else NOISE, market, self._driver.now_ns,
            buys=buys, price=price, qty=qty, rests=rests,
        )  # fmt: skip
        self._venue.publish()

    async def bid(self, market: MarketId, price: int, qty: int) -> None:
        self._place(market, price, qty, buys=True, rests=True)

    async def sell(self, market: MarketId, price: int, qty: int) -> None:
        self._place(market, price, qty, buys=False, rests=False)

    async def halt(self, market: MarketId) -> None:
        self._market.exchange.execute(v.HaltMarket(market), self._driver.now_ns)

    async def drop_channel(self) -> None:
        channel = self._channels[-1]
        channel.cancel()
        await asyncio.wait([channel])

    async def keep_up(self) -> None:
        while True:
            passed_ns = round((self._loop.time() - self._begun_s) * NS_PER_SECOND)
            self._driver.run_until(self._start_ns + passed_ns)
            await asyncio.sleep(_PUMP_S)


@asynccontextmanager
async def simulated(loop: VirtualLoop) -> AsyncIterator[AdapterWorld]:
    world = _SimulatedWorld(loop)
    running = loop.create_task(world.keep_up())
    try:
        yield world
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class VenueUser:
    """Our side of a connection. events: what its channel emitted, in order."""

    def __init__(self, world: AdapterWorld) -> None:
        self.world = world
        self.markets = world.markets
        self.requests = world.connection.requests
        self.events: list[m.Event] = []
        self.channel = world.connection.channel_of(self.events.append)
        self._made = 0

    async def ask(self, request: m.Request) -> m.Answer:
        return (await ask(self.requests, request)).answer

    async def body(self, request: m.Request):
        """The body of an answer that has to be Ok."""
        answer = await self.ask(request)
        assert isinstance(answer, m.Ok), answer
        return answer.body

    def order(self, price: int, qty: int, **changes) -> QtyOrder:
        """A bid for YES of the first market under an id of its own, or what is changed of it."""
        self._made += 1
        usual = {
            "market_id": self.markets[0],
            "outcome": Outcome.YES,
            "side": Side.BUY,
            "price": Price(price),
            "qty": Qty(qty),
            "time_in_force": TimeInForce.GTC,
            "client_order_id": ClientOrderId(f"ours-{self._made}"),
        }
        return QtyOrder(**{**usual, **changes})

    async def create(self, price: int, qty: int, **changes):
        """The order as the answer to its create shows it."""
        order = self.order(price, qty, **changes)
        return (await self.body(m.Create(order, again=False))).order

    async def amend(self, order_id: OrderId, *, price: int | None = None, qty: int | None = None):
        amend = Amend(None if price is None else Price(price), None if qty is None else Qty(qty))
        return (await self.body(m.AmendResting(order_id, amend))).order

    async def read(self, order_id: OrderId):
        """The order as a read shows it, once everything has settled."""
        await self.settle()
        return (await self.body(m.ReadOrder(order_id))).order

    async def settle(self) -> None:
        await asyncio.sleep(SETTLE_S)

    def events_of(self, kind: type, since: int = 0) -> list:
        """The events of a kind, from a number of events on."""
        return [each for each in self.events[since:] if isinstance(each, kind)]

    async def subscribe(self) -> None:
        self.channel.subscribe(m.SubscribeTo(tuple(self.markets), ()))
        await self.settle()


def lived(opened: Opened, scenario: Callable[[VenueUser], Awaitable[None]]) -> None:
    """Live through a scenario at a venue: its series was read, its books are known."""
    loop = VirtualLoop(1)

    async def main() -> None:
        async with opened(loop) as world:
            user = VenueUser(world)
            listening = loop.create_task(user.channel.run())
            await user.settle()
            await user.body(m.ReadSeries(world.series, ""))
            await user.subscribe()
            try:
                await scenario(user)
            finally:
                await user.requests.drain()
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    with spared():
        run(loop, main())
