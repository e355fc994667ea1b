"""An exchange in virtual time as the venue of one trader (`bot.io.adapter`): it carries requests
and is the channel.

Everything reaches trader and venue after the latency of their link, by the acts of a `Driver`.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol

from bot.core import messages as m
from bot.io.adapter import (
    NOT_JOURNALED,
    REQUEST_S_MAX,
    Answered,
    Connection,
    Emit,
    MarketChannel,
    MayLeave,
    OrderClient,
)
from bot.lab.driver import Driver
from bot.lab.exchange.assumptions import Faults, Terms
from bot.lab.exchange.exchange import Exchange, Response
from venue.wire.instant import NS_PER_SECOND

PING_NS: Final = 5 * NS_PER_SECOND // 2


class MarketFeed(Protocol):
    """A market behind an exchange, and what the channel shows of it."""

    exchange: Exchange

    def frames(self, now_ns: int) -> list[m.Event]:
        """The events since the last call."""

    def book_frames(self, now_ns: int) -> Sequence[m.Event]:
        """The whole book of every market."""


class Link(Protocol):
    """Between a trader and its venue. period_ns: the trader ticks exactly so often; None: when it
    asks for a tick."""

    period_ns: int | None

    def ways_ns(self, send: m.Send) -> tuple[int, int]:
        """How long a request is in flight, and its answer."""

    def respond(self, exchange: Exchange, send: m.Send, now_ns: int) -> Response:
        """A request arrives at the venue, or something befalls it."""

    def frame_ns(self, now_ns: int) -> int:
        """When a frame that is sent now arrives."""


class TermsLink:
    period_ns: int | None = None

    def __init__(self, terms: Terms) -> None:
        self.faults = Faults(terms.faults, terms.seed)
        self._terms = terms
        self._chance = random.Random(terms.seed)

    def ways_ns(self, send: m.Send) -> tuple[int, int]:
        latency = self._terms.latency
        if not isinstance(send.request, m.Write):
            latency = self._terms.read_latency or latency
        return latency.ways_ns(self._chance)

    def respond(self, exchange: Exchange, send: m.Send, now_ns: int) -> Response:
        return self.faults.answer_or_fault(exchange, send, now_ns)

    def frame_ns(self, now_ns: int) -> int:
        return now_ns + self._terms.feed_ns


class SimulatedVenue(OrderClient, MarketChannel):
    """Somebody else runs the driver; awaiting is for a run on an event loop alone."""

    def __init__(
        self,
        driver: Driver,
        market: MarketFeed,
        link: Link,
        deliver: Callable[[Sequence[m.Event]], None] = lambda _events: None,
    ) -> None:
        """deliver: called with the events of the channel that arrive at one instant."""
        self._driver = driver
        self._market = market
        self._link = link
        self._deliver = deliver
        self._subscribed = False
        self._in_flight = 0
        self._is_idle = asyncio.Event()  # set while nothing is in flight
        self._is_idle.set()
        self._leaving: set[asyncio.Task[None]] = set()

    @property
    def connection(self) -> Connection:
        return Connection(self, self._channel_to)

    def _channel_to(self, emit: Emit) -> "SimulatedVenue":
        def deliver(events: Sequence[m.Event]) -> None:
            for event in events:
                emit(event)

        self._deliver = deliver
        return self

    # --- requests ---------------------------------------------------------------------------------

    def start(self, send: m.Send, answered: Answered, may_leave: MayLeave | None = None) -> None:
        self._in_flight += 1
        self._is_idle.clear()
        if may_leave is None:
            self._leaves(send, answered)
            return
        task = asyncio.get_running_loop().create_task(self._once(may_leave, send, answered))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _once(self, may_leave: MayLeave, send: m.Send, answered: Answered) -> None:
        if await may_leave():
            self._leaves(send, answered)
        else:
            self._answer(answered, m.Response(send.request_id, NOT_JOURNALED))

    def _leaves(self, send: m.Send, answered: Answered) -> None:
        there_ns, back_ns = self._link.ways_ns(send)
        self._driver.schedule_after(there_ns, partial(self._arrives, send, back_ns, answered))

    def _arrives(self, send: m.Send, back_ns: int, answered: Answered) -> None:
        came = self._link.respond(self._market.exchange, send, self._driver.now_ns)
        response = m.Response(send.request_id, came.answer, came.tokens, came.away_ns)
        answer = partial(self._answer, answered, response)
        self._driver.schedule_after(back_ns + came.waited_ns, answer)
        self.publish()

    def _answer(self, answered: Answered, response: m.Response) -> None:
        self._in_flight -= 1
        if not self._in_flight:
            self._is_idle.set()
        answered(response)

    async def drain(self, reads_s: float | None = None) -> int:
        """The driver has to run meanwhile."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REQUEST_S_MAX):
                await self._is_idle.wait()
        return self._in_flight

    # --- the channel ------------------------------------------------------------------------------

    def subscribe(self, wish: m.SubscribeTo) -> None:
        """Every market of the exchange is shown, whatever the wish names."""
        self._subscribed = True
        books = self._market.book_frames(self._driver.now_ns)
        self.send_frames([m.SubscriptionAccepted(), *books])

    def unsubscribe(self) -> None:
        """The channel is closed: nothing is shown until the next subscription."""
        self._subscribed = False

    async def run(self) -> None:
        self._deliver([m.FeedOpened()])
        self.keep_alive()
        try:
            await asyncio.Event().wait()
        finally:
            self.unsubscribe()
            self._deliver([m.FeedClosed("the run of the channel ends")])

    def keep_alive(self) -> None:
        """Answer a ping every few seconds, from one period on."""
        self._driver.schedule_after(PING_NS, self._pong)

    def _pong(self) -> None:
        self.send_frames([m.FeedAlive()])
        self.keep_alive()

    def publish(self) -> None:
        """Show what has changed since the last time."""
        events = self._market.frames(self._driver.now_ns)
        if events and self._subscribed:
            self.send_frames(events)

    def send_frames(self, events: Sequence[m.Event]) -> None:
        arrives_ns = self._link.frame_ns(self._driver.now_ns)
        self._driver.schedule_at(arrives_ns, partial(self._deliver, events))
