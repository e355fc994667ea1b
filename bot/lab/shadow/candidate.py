"""A candidate under one queue model: a trader of its own in the market of the run, without us."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.report import ShadowReport
from bot.core.settings import Candidate, TraderSettings
from bot.core.trader import Trader
from bot.lab.driver import Driver
from bot.lab.evaluate.patience import Stalled, ended_when_stalled
from bot.lab.exchange.live import LiveMarket
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.terms import Latency, Terms
from bot.lab.exchange.trader_run import IDLE_NS, TraderRun
from bot.lab.own_orders import OwnOrders
from venue.engine import messages as v
from venue.wire.instant import NS_PER_MS
from venue.wire.money import BookSide, Cents, Price

_NONCE: Final = "5a" * 10
_COMPARE_NS: Final = 100 * NS_PER_MS

MarketEvent = m.Event | m.SeriesBody | v.ResolveMarket
"""What a candidate is given: frames without our orders, reads of the series, winners, and what
happened to the run that no request of ours brought about."""


Level = tuple[BookSide, Price]


class CandidateRun:
    """One candidate. stopped: why it trades no more, else empty. has_failed: by a fault of ours, so
    that nothing of it goes on."""

    def __init__(
        self,
        candidate: Candidate,
        queue_model: QueueModel,
        settings: TraderSettings,
        cash_cents: Cents,
        started: m.Started,
        start_ns: int,
    ) -> None:
        """settings: of the live trader, whose limits and pace the candidate is held to. started:
        of the run."""
        self.candidate = candidate
        self.queue_model = queue_model
        self.stopped = ""
        self.has_failed = False
        # The configured latency is that of the way to the venue, and the frames of the run have
        # the way back behind them.
        terms = Terms(latency=Latency(2 * candidate.latency_ns), feed_ns=0, cash_cents=cash_cents)
        self._driver = Driver(start_ns)
        self._market = LiveMarket((), terms, queue_model, start_ns)
        self._trader = Trader(_alone(settings), candidate.make_strategy)
        self._run = TraderRun(self._driver, self._market, self._trader, terms)
        self._decisions = self._same = self._compared_ns = 0
        self._run.receive([m.Started(_NONCE, (), new_account=True, latched=started.latched)])

    def take(self, at_ns: int, event: MarketEvent) -> None:
        """Something happened, no earlier than what was taken before."""
        with self._judged():
            self._driver.reach(at_ns)
            match event:
                case m.BookUpdate() | m.Trade():
                    self._market.on_frame(event, at_ns)
                case m.SeriesBody():
                    self._market.on_series(event.events, at_ns)
                case v.ResolveMarket():
                    self._market.resolve(event.market_id, event.winner, at_ns)
                case m.FeedClosed():
                    self._market.on_gap(self._market.markets)
                    self._run.receive([event])
                case m.Reconfigured():
                    self._run.receive([_with_own_strategy(event)])
                case _:
                    self._run.receive([event])
            self._run.publish()

    def advance(self, at_ns: int, own: OwnOrders, venue_ns: int) -> None:
        """Nothing more happened up to an instant, which is `venue_ns` by the venue's clock. own:
        our orders, which are compared with its own."""
        with self._judged():
            self._driver.run_until(at_ns)
        if at_ns >= self._compared_ns + _COMPARE_NS:
            self._compared_ns = at_ns
            self._compare(own, venue_ns)

    @contextmanager
    def _judged(self) -> Iterator[None]:
        """Stop it when its strategy was at fault or did not come back."""
        try:
            with ended_when_stalled():
                yield
        except Stalled as fault:
            self.stop(str(fault))
        if self._trader.out.counters.strategy_errors and not self.stopped:
            self.stop(self._trader.out.first_fault)

    def _compare(self, own: OwnOrders, venue_ns: int) -> None:
        """Count the decisions after which its best bids and asks are ours, to a tick."""
        counters = self._trader.out.counters
        if counters.decisions > self._decisions:
            if all(
                _is_near(own.resting(market, venue_ns), self._market.own_sizes(market))
                for market in self._market.markets
            ):
                self._same += counters.decisions - self._decisions
            self._decisions = counters.decisions

    def stop(self, why: str) -> None:
        """Its orders are cancelled, and no more are made; what it holds it goes on to hold."""
        self.stopped = why
        self._run.receive([m.StopRequested(why)])

    def report(self) -> ShadowReport | None:
        """Its score as of now; None before it has read its account."""
        report = self._trader.report(self._driver.now_ns)
        if report.profit is None:
            return None
        sizes = [self._market.own_sizes(market) for market in self._market.markets]
        requests = self._run.requests
        return ShadowReport(
            name=self.candidate.name,
            strategy=self.candidate.strategy,
            bound=self.queue_model,
            stopped=self.stopped,
            decisions=self._decisions,
            same=self._same,
            changes=requests["create"] + requests["amend"] + requests["cancel"],
            left_out=sum(sum(event.cuts.values()) for event in report.events),
            resting=sum(sum(each.values()) for each in sizes),
            worst_case_max_cents=report.worst_case_max_cents,
            profit=report.profit,
        )


def _is_near(ours: Iterable[Level], theirs: Iterable[Level]) -> bool:
    """True if the best prices on both sides are a tick apart at most, or on neither."""
    for side, best in ((BookSide.BID, max), (BookSide.ASK, min)):
        prices = [[price for of, price in levels if of is side] for levels in (ours, theirs)]
        if bool(prices[0]) is not bool(prices[1]):
            return False
        if prices[0] and abs(best(prices[0]) - best(prices[1])) > 1:
            return False
    return True


def _alone(settings: TraderSettings) -> TraderSettings:
    """Settings of a series alone on its account, whose trader has a turn each `IDLE_NS`."""
    trust = msgspec.structs.replace(settings.trust, gap_ns=max(settings.trust.gap_ns, 2 * IDLE_NS))
    return msgspec.structs.replace(settings, trust=trust, beside=())


def _with_own_strategy(event: m.Reconfigured) -> m.Reconfigured:
    """A change of the configuration, all of it but for the strategy."""
    configured = msgspec.structs.replace(
        event.configured,
        settings=_alone(event.configured.settings),
        strategy=m.StrategyChoice("", ""),
    )
    return msgspec.structs.replace(event, configured=configured)
