"""Shadow candidates of a run: each a trader of its own, fed by the run's journal.

Our own orders are taken out of books, and our takes out of prints. A resolved market pays a
candidate once the run knows its winner, or its last worth when its event leaves.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.fault_text import fault_text
from bot.core.report import ShadowReport
from bot.core.settings import Candidate, TraderSettings
from bot.core.trader import Trader
from bot.lab.driver import Driver
from bot.lab.evaluate.timeout import Stalled, ended_when_stalled
from bot.lab.exchange.assumptions import Latency, Terms
from bot.lab.exchange.live import LiveMarket
from bot.lab.exchange.queue_model import CAUTIOUS_MODELS, QueueModel
from bot.lab.exchange.simulated_venue import TermsLink
from bot.lab.exchange.trader_run import TraderRun, alone
from bot.lab.own_orders import OwnOrders
from bot.lab.session import UNCAUSED, Run, placed_entries
from venue.engine import messages as v
from venue.wire import model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price
from venue.wire.names import MarketId, Ticker, fold_ticker

BEHIND_NS: Final = 2 * NS_PER_SECOND  # after a frame: the answers that show what of it was ours
_KEPT_NS: Final = 60 * NS_PER_SECOND  # our orders of so long ago are in no frame any more
_HELD_MAX: Final = 50_000
_FRAMES: Final = (m.BookUpdate, m.Trade)
_PASSED_ON: Final = (*_FRAMES, *UNCAUSED)
_NONCE: Final = "5a" * 10
_COMPARE_NS: Final = 100 * NS_PER_MS

MarketEvent = m.Event | m.SeriesBody | v.ResolveMarket
"""What a candidate gets: frames without our orders, reads of the series, winners, and `UNCAUSED`.
"""


class CandidateRun:
    def __init__(
        self,
        candidate: Candidate,
        queue_model: QueueModel,
        settings: TraderSettings,
        cash_cents: Cents,
        started: m.Started,
        start_ns: int,
    ) -> None:
        """settings: of the live trader, whose limits and throttle bind the candidate."""
        self.candidate = candidate
        self.queue_model = queue_model
        self.stopped = ""  # why it trades no more, else empty
        self.has_failed = False  # by a fault of ours: it does not run any more
        # The configured latency is one way; the frames of the run arrived after it.
        terms = Terms(latency=Latency(2 * candidate.latency_ns), feed_ns=0, cash_cents=cash_cents)
        self._driver = Driver(start_ns)
        self._market = LiveMarket((), terms, queue_model, start_ns)
        self._trader = Trader(alone(settings), candidate.make_strategy)
        self._run = TraderRun(self._driver, self._market, self._trader, TermsLink(terms))
        self._decisions = self._same = self._compared_ns = 0
        self._run.deliver([m.Started(_NONCE, (), new_account=True, latched=started.latched)])

    def on_market_event(self, at_ns: int, event: MarketEvent) -> None:
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
                    self._run.deliver([event])
                case m.Reconfigured():
                    self._run.deliver([_with_own_strategy(event)])
                case _:
                    self._run.deliver([event])
            self._run.venue.publish()

    def advance_to(self, at_ns: int, own: OwnOrders, venue_ns: int) -> None:
        """Nothing more happened up to an instant. venue_ns: that by the venue's clock."""
        with self._judged():
            self._driver.run_until(at_ns)
        if at_ns >= self._compared_ns + _COMPARE_NS:
            self._compared_ns = at_ns
            self._compare(own, venue_ns)

    @contextmanager
    def _judged(self) -> Iterator[None]:
        try:
            with ended_when_stalled():
                yield
        except Stalled as fault:
            self.stop_trading(str(fault))
        if self._trader.out.counters.strategy_errors and not self.stopped:
            self.stop_trading(self._trader.out.first_fault)

    def _compare(self, own: OwnOrders, venue_ns: int) -> None:
        """Count the decisions after which its best bids and asks are ours, to a tick."""
        counters = self._trader.out.counters
        if counters.decisions > self._decisions:
            if all(
                self._is_near(market, [*own.resting(market, venue_ns)])
                for market in self._market.markets
            ):
                self._same += counters.decisions - self._decisions
            self._decisions = counters.decisions

    def _is_near(self, market: MarketId, live: Sequence[tuple[BookSide, Price]]) -> bool:
        """True if its best prices on both sides are a tick at most from ours, or on neither."""
        for side, best in ((BookSide.BID, max), (BookSide.ASK, min)):
            ours = best((price for of, price in live if of is side), default=None)
            theirs = self._market.queues.on_side(market, side).best
            if ours is None or theirs is None:
                if ours is not theirs:
                    return False
            elif abs(ours - theirs) > 1:
                return False
        return True

    def stop_trading(self, why: str) -> None:
        self.stopped = why
        self._run.deliver([m.StopRequested(why)])

    def score(self) -> ShadowReport | None:
        """None before it has read its account."""
        report = self._trader.report(self._driver.now_ns)
        if report.profit is None:
            return None
        queues = [
            self._market.queues.on_side(market, side).orders
            for market in self._market.markets
            for side in BookSide
        ]
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
            resting=sum(order.remaining for queue in queues for order in queue),
            worst_case_max_cents=report.worst_case_max_cents,
            profit=report.profit,
        )


def _with_own_strategy(event: m.Reconfigured) -> m.Reconfigured:
    configured = msgspec.structs.replace(
        event.configured,
        settings=alone(event.configured.settings),
        strategy=m.StrategyChoice("", ""),
    )
    return msgspec.structs.replace(event, configured=configured)


class Shadow:
    """All candidates of one run, each under the cautious queue models."""

    def __init__(self, candidates: Sequence[Candidate], settings: TraderSettings) -> None:
        self._candidates = candidates
        self._settings = settings
        self._own = OwnOrders()
        self._runs: list[CandidateRun] = []
        self._held: deque[tuple[int, MarketEvent]] = deque()
        self._begun: tuple[m.Started, int] | None = None
        self._cash_cents: Cents | None = None
        self._events: dict[Ticker, model.Event] = {}
        self._now_ns = 0
        self._forgotten_ns = 0
        self._lag_ns: int | None = None  # from the venue's clock to ours, on the fastest way

    def on_entry(self, at_ns: int, message: m.Event | m.Effect) -> None:
        self._now_ns = at_ns
        self._own.on_message(message)
        match message:
            case m.Started():
                self._begun = message, at_ns
                if message.configured is not None:
                    self._settings = message.configured.settings
            case m.Response(answer=m.Ok(body=m.BalanceBody(balance=balance))):
                if self._cash_cents is None:
                    self._cash_cents = balance.total_cents
            case m.Response(answer=m.Ok(body=m.SeriesBody(events=events))):
                series = fold_ticker(self._settings.series_ticker)
                mine = [each for each in events if fold_ticker(each.series_ticker) == series]
                self._events |= {each.event_ticker: each for each in mine}
                # A market that has resolved only halts until it is known what it pays.
                halted, resolved = model.MarketState.HALTED, (model.MarketState.RESOLVED,)
                settling = tuple(_in_state(each, halted, of=resolved) for each in mine)
                self._hold(m.SeriesBody(settling, ""))
            case m.Noted(name="rung_settled", fields=fields):
                market_id = MarketId(str(fields["market_id"]))
                self._hold(v.ResolveMarket(market_id, Outcome(str(fields["winner"]))))
            case m.Noted(name="event_left", fields=fields):
                left = self._events.pop(Ticker(str(fields["event"])), None)
                if left is not None:
                    paid = _in_state(left, model.MarketState.RESOLVED, of=tuple(model.MarketState))
                    self._hold(m.SeriesBody((paid,), ""))
            case m.Tick():
                self._happen(at_ns - BEHIND_NS)
            case _ if isinstance(message, _PASSED_ON):
                self._hold(message)

    def release_held(self) -> None:
        self._happen(self._now_ns)

    def reports(self) -> tuple[ShadowReport, ...]:
        """The score of each that has read its account, by name, then by queue model."""
        found = (run.score() for run in self._runs)
        return tuple(report for report in found if report is not None)

    def _hold(self, event: MarketEvent) -> None:
        self._held.append((self._now_ns, event))

    def _start_candidates(self) -> None:
        if self._begun is None or self._cash_cents is None:
            return
        started, at_ns = self._begun
        self._runs = [
            CandidateRun(each, queue_model, self._settings, self._cash_cents, started, at_ns)
            for each in self._candidates
            for queue_model in CAUTIOUS_MODELS
        ]

    def _happen(self, until_ns: int) -> None:
        if not self._runs:
            self._start_candidates()
            if len(self._held) > _HELD_MAX:  # an account that was not read for long
                held = (each for each in self._held if not isinstance(each[1], _FRAMES))
                self._held = deque(held)
        while self._runs and self._held and self._held[0][0] <= until_ns:
            at_ns, event = self._held.popleft()
            if isinstance(event, m.BookUpdate):
                lag_ns = at_ns - event.ts_ns
                self._lag_ns = lag_ns if self._lag_ns is None else min(self._lag_ns, lag_ns)
                others = self._own.without(event)
                event = m.BookUpdate(event.market_id, event.ts_ns, others.bids, others.asks)
                if event.ts_ns > self._forgotten_ns + 2 * _KEPT_NS:
                    self._forgotten_ns = event.ts_ns - _KEPT_NS
                    self._own.drop_before(self._forgotten_ns)
            elif isinstance(event, m.Trade) and self._own.role(event.trade_id) == "taker":
                continue
            self._each(partial(CandidateRun.on_market_event, at_ns=at_ns, event=event))
        venue_ns = until_ns - (self._lag_ns or 0)
        self._each(
            partial(CandidateRun.advance_to, at_ns=until_ns, own=self._own, venue_ns=venue_ns)
        )

    def _each(self, act: Callable[[CandidateRun], None]) -> None:
        for run in self._runs:
            try:
                if not run.has_failed:
                    act(run)
            except Exception as fault:  # noqa: BLE001 - a bug of ours: it ends one candidate
                run.has_failed, run.stopped = True, fault_text(fault)


def shadow_reports(
    run: Run, candidates: Sequence[Candidate], settings: TraderSettings
) -> tuple[ShadowReport, ...]:
    """Raises JournalFault."""
    shadow = Shadow(candidates, settings)
    for placed in placed_entries(run.paths):
        shadow.on_entry(placed.entry.at_ns, placed.entry.message)
    shadow.release_held()
    return shadow.reports()


def _in_state(
    event: model.Event, state: model.MarketState, *, of: tuple[model.MarketState, ...]
) -> model.Event:
    markets = tuple(
        msgspec.structs.replace(each, state=state) if each.state in of else each
        for each in event.markets
    )
    return msgspec.structs.replace(event, markets=markets)
