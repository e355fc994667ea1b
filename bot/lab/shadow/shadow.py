"""Candidates in the shadow of a run: each a trader of its own, fed by the journal of the run.

Our own orders are taken out of the books and our own takes out of the prints, by what the answers
of the next seconds show of them: so the candidates live a little behind the run. A market that
resolved pays a candidate once the run knows its winner, or what it was last worth when its event
leaves.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.fault_text import fault_text
from bot.core.report import ShadowReport
from bot.core.settings import Candidate, TraderSettings
from bot.lab.exchange.queue_model import CAUTIOUS_MODELS
from bot.lab.own_orders import OwnOrders
from bot.lab.session import UNCAUSED, Run, placed_entries
from bot.lab.shadow.candidate import CandidateRun, MarketEvent
from venue.engine import messages as v
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Outcome
from venue.wire.names import MarketId, Ticker, fold_ticker

BEHIND_NS: Final = 2 * NS_PER_SECOND
"""So long after a frame the answers have come that show what of it was ours."""

_KEPT_NS: Final = 60 * NS_PER_SECOND
"""Our orders of so long ago are forgotten: no frame speaks of them any more."""

_HELD_MAX: Final = 50_000
_FRAMES: Final = (m.BookUpdate, m.Trade)
_PASSED_ON: Final = (*_FRAMES, *UNCAUSED)


class Shadow:
    """All candidates of one run, each under the cautious queue models."""

    def __init__(self, candidates: Sequence[Candidate], settings: TraderSettings) -> None:
        """settings: of the trader, where its journal does not say them."""
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

    def take(self, at_ns: int, message: m.Event | m.Effect) -> None:
        """The next entry of the journal."""
        self._now_ns = at_ns
        self._own.take(message)
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
                self._hold(m.SeriesBody(tuple(_until_paid(each) for each in mine), ""))
            case m.Noted(name="rung_settled", fields=fields):
                market_id = MarketId(str(fields["market_id"]))
                self._hold(v.ResolveMarket(market_id, Outcome(str(fields["winner"]))))
            case m.Noted(name="event_left", fields=fields):
                left = self._events.pop(Ticker(str(fields["event"])), None)
                if left is not None:
                    self._hold(m.SeriesBody((_resolved(left),), ""))
            case m.Tick():
                self._happen(at_ns - BEHIND_NS)
            case _ if isinstance(message, _PASSED_ON):
                self._hold(message)

    def finish(self) -> None:
        """The journal has ended: what was held back happens."""
        self._happen(self._now_ns)

    def stop(self, why: str) -> None:
        """No candidate goes on."""
        self._each(lambda run: run.stop(why))

    def reports(self) -> tuple[ShadowReport, ...]:
        """The score of each that has read its account, by name, then by queue model."""
        found = (run.report() for run in self._runs)
        return tuple(report for report in found if report is not None)

    def _hold(self, event: MarketEvent) -> None:
        self._held.append((self._now_ns, event))

    def _begin(self) -> None:
        """The candidates begin once the cash of the run is known, at the instant of its start."""
        if self._begun is None or self._cash_cents is None:
            return
        started, at_ns = self._begun
        self._runs = [
            CandidateRun(each, queue_model, self._settings, self._cash_cents, started, at_ns)
            for each in self._candidates
            for queue_model in CAUTIOUS_MODELS
        ]

    def _happen(self, until_ns: int) -> None:
        """Everything up to an instant happens to the candidates."""
        if not self._runs:
            self._begin()
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
                    self._own.forget(self._forgotten_ns)
            elif isinstance(event, m.Trade) and self._own.role(event.trade_id) == "taker":
                continue
            self._each(partial(CandidateRun.take, at_ns=at_ns, event=event))
        venue_ns = until_ns - (self._lag_ns or 0)
        self._each(partial(CandidateRun.advance, at_ns=until_ns, own=self._own, venue_ns=venue_ns))

    def _each(self, act: Callable[[CandidateRun], None]) -> None:
        """Let every candidate act; the fault of one ends it alone."""
        for run in self._runs:
            try:
                if not run.has_failed:
                    act(run)
            except Exception as fault:  # noqa: BLE001 - a bug of ours: it ends one candidate
                run.has_failed, run.stopped = True, fault_text(fault)


def shadow_reports(
    run: Run, candidates: Sequence[Candidate], settings: TraderSettings
) -> tuple[ShadowReport, ...]:
    """The scores of candidates in a past run, whether they ran then or not. Raises JournalFault."""
    shadow = Shadow(candidates, settings)
    for placed in placed_entries(run.paths):
        shadow.take(placed.entry.at_ns, placed.entry.message)
    shadow.finish()
    return shadow.reports()


def _until_paid(event: model.Event) -> model.Event:
    """An event whose resolved markets are only halted."""
    markets = tuple(
        msgspec.structs.replace(each, state=model.MarketState.HALTED)
        if each.state is model.MarketState.RESOLVED
        else each
        for each in event.markets
    )
    return msgspec.structs.replace(event, markets=markets)


def _resolved(event: model.Event) -> model.Event:
    """An event, all of whose markets have resolved."""
    markets = (
        msgspec.structs.replace(each, state=model.MarketState.RESOLVED) for each in event.markets
    )
    return msgspec.structs.replace(event, markets=tuple(markets))
