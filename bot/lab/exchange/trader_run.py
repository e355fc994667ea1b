"""Runs one trader on one market in virtual time. At one instant the market comes first, then all in
flight, then the trader's tick.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.orders.outbox import NEVER_NS
from bot.core.orders.outbox import kind_of as request_kind
from bot.core.settings import TraderSettings
from bot.core.trader import Trader
from bot.lab.driver import Driver
from bot.lab.exchange.simulated_venue import Link, MarketFeed, SimulatedVenue
from venue.wire.instant import NS_PER_MS

_STEP_NS: Final = NS_PER_MS


def alone(settings: TraderSettings) -> TraderSettings:
    """Settings for a trader alone on its account, whose process never pauses."""
    staleness = msgspec.structs.replace(settings.staleness, gap_ns=NEVER_NS)
    return msgspec.structs.replace(settings, staleness=staleness, other_series=())


Observer = Callable[[m.Event, Sequence[m.Effect], int], None]
"""Called with each event that the trader has taken in, its effects, and when."""


class TraderRun:
    def __init__(self, driver: Driver, market: MarketFeed, trader: Trader, link: Link) -> None:
        """driver: its ticks are this trader's."""
        self.trader = trader
        self.venue = SimulatedVenue(driver, market, link, self.deliver)
        self.requests: Counter[str] = Counter()  # by kind
        self.latched = ""  # why it latched last, else empty
        self.events = 0  # those it took in
        self.observer: Observer | None = None  # changes nothing
        self._driver = driver
        self._period_ns = link.period_ns
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
                self.venue.unsubscribe()
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
                        self.requests[request_kind(effect.request)] += 1
                        self.venue.start(effect, self._take_answer)
                    case m.SubscribeTo():
                        self.venue.subscribe(effect)
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

    def _take_answer(self, response: m.Response) -> None:
        self.deliver((response,))
