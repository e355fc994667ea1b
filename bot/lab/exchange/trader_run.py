"""Runs one trader on one market in virtual time: its requests, its channel and its ticks.

Everything reaches trader and venue after the latency of their link. At one instant the market comes
first, then all in flight, then the trader's tick.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol

import msgspec

from bot.core import messages as m
from bot.core.orders.outbox import NEVER_NS
from bot.core.orders.outbox import kind_of as request_kind
from bot.core.settings import TraderSettings
from bot.core.trader import Trader
from bot.lab.driver import Driver
from bot.lab.exchange.assumptions import Faults, Terms
from bot.lab.exchange.exchange import Exchange, Response
from venue.wire.instant import NS_PER_MS

_STEP_NS: Final = NS_PER_MS


def alone(settings: TraderSettings) -> TraderSettings:
    """Settings for a trader alone on its account, whose process never pauses."""
    staleness = msgspec.structs.replace(settings.staleness, gap_ns=NEVER_NS)
    return msgspec.structs.replace(settings, staleness=staleness, other_series=())


Observer = Callable[[m.Event, Sequence[m.Effect], int], None]
"""Called with each event that the trader has taken in, its effects, and when."""


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


class TraderRun:
    def __init__(self, driver: Driver, market: MarketFeed, trader: Trader, link: Link) -> None:
        """driver: its ticks are this trader's."""
        self.trader = trader
        self.requests: Counter[str] = Counter()  # by kind
        self.latched = ""  # why it latched last, else empty
        self.events = 0  # those it took in
        self.observer: Observer | None = None  # changes nothing
        self._driver = driver
        self._market = market
        self._link = link
        self._period_ns = link.period_ns
        self._subscribed = False
        driver.on_tick = partial(self.deliver, (m.Tick(),), is_tick=True)

    def deliver(self, events: Sequence[m.Event], *, is_tick: bool = False) -> None:
        """Hand events to the trader, carry out its effects and schedule its next tick."""
        driver, trader, period_ns = self._driver, self.trader, self._period_ns
        now_ns = driver.now_ns
        if is_tick and period_ns is not None:
            driver.tick_ns = now_ns + period_ns
        for event in events:
            self.events += 1
            if isinstance(event, m.FeedClosed):
                self._subscribed = False
            effects = trader.receive(event, now_ns)
            if self.observer is not None:
                self.observer(event, effects, now_ns)
            for effect in effects:
                match effect:
                    case m.WakeAt():
                        if period_ns is None:
                            at_ns = max(effect.at_ns, now_ns + _STEP_NS)
                            driver.tick_ns = min(driver.tick_ns, at_ns)
                    case m.Send():
                        self._send(effect)
                    case m.SubscribeTo():
                        self._subscribed = True
                        books = self._market.book_frames(now_ns)
                        self.send_frames([m.SubscriptionAccepted(), *books])
                    case m.Latched(reason=reason):
                        self.latched = reason
                    case _:
                        pass
        if is_tick:
            return
        if period_ns is None:
            driver.tick_ns = min(driver.tick_ns, max(now_ns, trader.due_ns(now_ns)))
        elif driver.tick_ns == NEVER_NS:
            driver.tick_ns = now_ns

    def send_frames(self, events: Sequence[m.Event]) -> None:
        self._driver.schedule_at(
            self._link.frame_ns(self._driver.now_ns), partial(self.deliver, events)
        )

    def publish(self) -> None:
        events = self._market.frames(self._driver.now_ns)
        if events and self._subscribed:
            self.send_frames(events)

    def _send(self, send: m.Send) -> None:
        self.requests[request_kind(send.request)] += 1
        there_ns, back_ns = self._link.ways_ns(send)
        self._driver.schedule_after(there_ns, partial(self._arrives, send, back_ns))

    def _arrives(self, send: m.Send, back_ns: int) -> None:
        came = self._link.respond(self._market.exchange, send, self._driver.now_ns)
        replied = m.Response(send.request_id, came.answer, came.tokens, came.away_ns)
        self._driver.schedule_after(back_ns + came.waited_ns, partial(self.deliver, [replied]))
        self.publish()
