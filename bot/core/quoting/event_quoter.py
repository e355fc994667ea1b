"""One ladder of the series: its rungs in strike order, its curve, its strategy and what that
wants.
"""

import math
from collections.abc import Callable
from typing import Final

from bot.core import messages as m
from bot.core.account.reconciler import AccountReconciler
from bot.core.distribution import (
    Alarm,
    Implied,
    alarms,
    certain,
    decided,
    implied_distribution,
)
from bot.core.fair_value.curve import FairCurve, is_ladder
from bot.core.fair_value.flow import FlowModel
from bot.core.market_data.venue_clock import VenueClock
from bot.core.orders.manager import OrderManager
from bot.core.orders.outbox import Outbox
from bot.core.quoting.jump_guard import JumpGuard
from bot.core.quoting.listing_sync import unlisted
from bot.core.quoting.market_quoter import PARK_MIN_NS, MarketQuoter, rates_of
from bot.core.quoting.quote_validator import QuoteValidator
from bot.core.quoting.supervisor import FailedStrategy, StrategyHealth, made_by
from bot.core.quoting.view_builder import ViewBuilder
from bot.core.quoting.wind_down import WindDownStage, kept, left_by, part_of, stage_of, turns_in_ns
from bot.core.risk.limits import taken, takes_any
from bot.core.settings import TraderSettings
from bot.strategy.api import EventView, ImpliedView, Quote, Resting, Strategy, Take
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Qty
from venue.wire.names import MarketId

__all__ = ["PARK_MIN_NS", "EventQuoter", "MarketQuoter"]

_TRADING: Final = (model.EventStatus.OPEN, model.EventStatus.CLOSED)
_ACTIVE: Final = model.MarketState.ACTIVE


class EventQuoter:
    """One event of the series with its rungs in strike order, its curve and its strategy."""

    def __init__(self, event: model.Event, settings: TraderSettings, strategy: Strategy) -> None:
        self.event = event
        self.resolution_ns = instant.to_ns(event.resolution_date)
        self.is_read = True  # its newest read was whole
        self.rungs: list[MarketQuoter] = []
        self.is_ladder = False  # it is a survival ladder and not one binary market
        self.curve: FairCurve | None = None
        self.learner = FlowModel()
        self.telling = ViewBuilder(self.rungs, self.curve, self.learner)
        self.news = JumpGuard(settings.news)
        self.venue_time = VenueClock()  # that of the series, as its stamps tell
        self.began_ns = 0  # when the run began
        self.loss_limit_cents: Cents | None = None  # what the event may lose at worst
        # The largest order that the venue was seen to take on a rung where it has refused a larger.
        self.ceilings: dict[MarketId, Qty] = {}
        self._takes_any = True  # every market takes every price
        self.pace = settings.pace

        self.strategy = strategy
        self.conduct = StrategyHealth(_name_of(strategy))
        self.answers = QuoteValidator()
        self.takes: dict[MarketId, tuple[Take, ...]] = {}  # of its last answer: they may trade now
        self.dirty = True  # the strategy is to be asked again
        self.may_quote = False
        self.decided_ns = 0
        self.is_cut = False  # its quotes were cut to what other events had left it

        self.unjudged = True  # some rung is to be judged
        self.some_blocked = True  # some rung cannot be quoted, as they were judged last
        self.again_ns = 0  # when some rung is to be planned; 0 at once
        self._some_denied = False
        self.unweighed = True  # the exposure is not what is live on some rung
        self.worst_cents: Cents | None = None  # of the exposure; None until it is reckoned

        self._curfew = settings.curfew
        self.stage = WindDownStage.OPEN  # how near to its end it was decided last
        self._part = 1
        self.stage_until_ns = 0
        self.flattening = ""  # why only what shrinks a position is wanted; empty where all is

    def reconfigure(self, settings: TraderSettings, strategy: Strategy | None) -> None:
        """Hold to other settings, and ask another strategy if there is one, from now on.

        What was learned of the event stays. What rests stays where it is until the next decision.
        """
        self.pace = settings.pace
        if settings.curfew != self._curfew:
            self._curfew = settings.curfew
            self.stage_until_ns = 0
        self.news.follow(settings.news)
        if strategy is not None:
            self._ask(strategy)
        self.dirty = True
        for rung in self.rungs:
            rung.reconfigured()

    def _ask(self, strategy: Strategy) -> None:
        """Ask this strategy from now on, of which nothing is known yet."""
        self.strategy = strategy
        self.conduct = StrategyHealth(_name_of(strategy), self.conduct.calls)
        self.answers = QuoteValidator()
        self.takes = {}

    @property
    def is_open(self) -> bool:
        """Whether the event trades: open, or closed with rungs left that take orders (S33)."""
        return self.event.status in _TRADING

    @property
    def is_understood(self) -> bool:
        """Whether it is one of the two kinds that the limits are exact for, as it was read last."""
        return self.curve is not None and self.is_read

    def due_ns(self, now_ns: int) -> int:
        """When it is to be judged, decided or planned though nothing but frames came since it last
        was: now, or later. What time alone brings on a rung is not in it."""
        if self.unjudged or not self.again_ns or self.news.turns(now_ns):
            return now_ns
        if not self.dirty:
            return self.stage_until_ns
        return min(self.stage_until_ns, self.decided_ns + self.pace.decide_ns)

    def active_rungs(self) -> list[MarketQuoter]:
        """Rungs that take orders."""
        return [rung for rung in self.rungs if rung.market.state is _ACTIVE]

    def refresh(
        self,
        event: model.Event,
        believed_from_ns: int,
        make_strategy: Callable[[], Strategy],
    ) -> list[MarketQuoter]:
        """Take in a newer read of the event. Returns rungs that are new or have other fee rates;
        all of them where a strike is another, for whatever hangs on their order begins anew.

        Raises ValueError for what cannot be read; nothing is taken in then.
        """
        known = {rung.market_id: rung for rung in self.rungs}
        markets = (*event.markets, *unlisted(known, event))
        resolution_ns = instant.to_ns(event.resolution_date)
        for market in markets:
            rates_of(market)
        new: list[MarketQuoter] = []
        repriced: list[MarketQuoter] = []
        reordered = event.mutually_exclusive is not self.event.mutually_exclusive
        for market in markets:
            rung = known.get(market.market_id)
            if rung is None:
                rung = known[market.market_id] = MarketQuoter(market, self)
                new.append(rung)
                continue
            strike = rung.strike
            if rung.refresh(market, believed_from_ns):
                repriced.append(rung)
            reordered |= rung.strike != strike
        self.dirty |= event.status is not self.event.status or not self.is_read
        self.event = event
        self.is_read = True
        if resolution_ns != self.resolution_ns:
            self.resolution_ns = resolution_ns
            self.stage_until_ns = 0
        if reordered:
            self._ask(made_by(make_strategy))
            new, repriced = list(known.values()), []
        if new:
            self.rungs = list(known.values())
            self.is_ladder = all(rung.strike is not None for rung in self.rungs)
            self.curve = self._fresh_curve()
            self.telling = ViewBuilder(self.rungs, self.curve, self.learner)
            self.dirty = self.unjudged = True
            self.again_ns = 0
        self._takes_any = all(takes_any(rung.market) for rung in self.rungs)
        return new + repriced

    def unread(self) -> None:
        """A newer read of the event cannot be read: how it stands now is not known."""
        self.dirty |= self.is_read
        self.is_read = False

    def decide_by(self, winner: Callable[[MarketId], Outcome | None]) -> list[MarketQuoter]:
        """Know what the rungs that have resolved make certain of the others. Returns those of which
        that is another now. winner: of a rung, None while it is not certain."""
        is_one = self.curve is not None and self.is_ladder
        won = [winner(rung.market_id) if is_one else None for rung in self.rungs]
        changed = []
        for rung, outcome in zip(self.rungs, certain(won), strict=True):
            if rung.decided is not outcome:
                rung.decided = outcome
                rung.news.add(rung.place)
                self.dirty = True
                rung.doubt()
                changed.append(rung)
        return changed

    def implied(self, winner: Callable[[MarketId], Outcome | None]) -> Implied | None:
        """What the fair curve, and the rungs that have resolved, say of the value; None on a binary
        market, and while it is not known. winner: of a rung, None while it is not certain."""
        if self.curve is None or not self.is_ladder:
            return None
        if any(rung.fair is None and not rung.is_certain for rung in self.rungs):
            return None
        won = [winner(rung.market_id) if rung.is_over else None for rung in self.rungs]
        values = decided(self.curve.all_cents, won)
        if any(map(math.isnan, values)):
            return None
        strikes = [rung.strike for rung in self.rungs if rung.strike is not None]
        return implied_distribution(strikes, values)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """What stands out in the prices of others as they were decided on last, and in the curve,
        on the rungs of which nothing is certain; nothing on a binary market."""
        if self.curve is None or not self.is_ladder:
            return ()
        drawn, line = self.curve.drawn_cents, self.curve.line_cents
        live = [index for index, rung in enumerate(self.rungs) if not rung.is_certain]
        markets, views = [self.rungs[index].market for index in live], self.telling.views
        return alarms(
            [market.strike_value or market.ticker for market in markets],
            [(views[index].best_bid, views[index].best_ask) for index in live],
            [drawn[index] for index in live] if drawn else (),
            [line[index] for index in live] if line else (),
        )

    def _fresh_curve(self) -> FairCurve | None:
        """A curve for the rungs as they are now; None when they are neither kind of event."""
        if self.is_ladder and not self.event.mutually_exclusive:
            self.rungs.sort(key=lambda rung: rung.strike or 0.0)
            strikes = [rung.strike or 0.0 for rung in self.rungs]
            return FairCurve(strikes) if is_ladder(strikes) else None
        return FairCurve(None) if len(self.rungs) == 1 else None

    def seconds_left(self, now_ns: int) -> float:
        """Seconds until it resolves, never below zero."""
        return max(0, self.resolution_ns - now_ns) / NS_PER_SECOND

    def printed(
        self, rung: MarketQuoter, seen: m.Trade, taker: BookSide, ours: int, now_ns: int
    ) -> None:
        """A trade was shown on a rung, so many shares of it takes of ours: those of others teach
        how far takers reach, and may be news."""
        others = Qty(seen.size - ours)
        if not others:
            return
        fair = rung.fair
        self.learner.on_print(None if fair is None else fair.value_cents, seen.price, taker)
        book = (rung.book.bids, rung.book.asks)
        self.news.printed(rung.market.ticker, seen.price, others, taker, book, now_ns)

    def is_news(self, out: Outbox, now_ns: int) -> bool:
        """Whether news keeps its quotes away now; counted and told once when it begins."""
        was_pulled, pulled = self.news.was_pulled, self.news.is_pulled(now_ns)
        if pulled and not was_pulled:
            out.counters.news_pulls += 1
            out.note("warning", "news", event=self.event.event_ticker, why=self.news.why)
        return pulled

    def learn(self, view: EventView, now_ns: int) -> None:
        """The event is decided now: learn from what has become of fills, and look for news."""
        told = self.telling
        self.news.looked([view.rungs[index] for index in told.anew], now_ns)
        fairs = {rung.market_id: rung.fair_cents for rung in view.rungs}
        if judged := self.learner.on_decision(fairs, now_ns):
            for rung in self.rungs:
                if rung.market_id in judged:
                    rung.news.add(rung.place)

    def denied(self, rung: MarketQuoter) -> None:
        """A limit denied a wish of a rung."""
        self._some_denied = True
        self.again_ns = min(self.again_ns, rung.again_ns)

    def eased(self) -> None:
        """What is live or held on a rung of the event changed: a limit may admit what it denied."""
        self.unweighed = True
        if self._some_denied:
            self._some_denied = False
            for rung in self.rungs:
                if rung.denied_some:
                    rung.touch()

    def view(
        self,
        implied: ImpliedView | None,
        desk: OrderManager,
        ledgers: AccountReconciler,
        now_ns: int,
    ) -> EventView:
        """The event as the strategy sees it; fits the fair curve on the way."""
        seconds = self.seconds_left(now_ns)
        if now_ns >= self.stage_until_ns:
            left_ns = max(0, self.resolution_ns - now_ns)
            self.stage = stage_of(self._curfew, left_ns)
            self._part = part_of(self._curfew, left_ns)
            self.stage_until_ns = now_ns + turns_in_ns(self._curfew, left_ns)
        told = self.telling.told(implied, seconds, desk, ledgers, now_ns)
        return EventView(
            self.event.event_ticker,
            self.is_ladder,
            seconds,
            implied,
            told,
            now_s=max(0, now_ns - self.began_ns) / NS_PER_SECOND,
            cash_cents=ledgers.available_cents,
            loss_limit_cents=self.loss_limit_cents,
            intensity=self.learner.intensity,
            size_part=self._part,
        )

    def quotes(self, view: EventView) -> dict[MarketId, tuple[Quote, ...]]:
        """What the strategy wants, proven sane. Raises whatever the strategy raises."""
        for index in self.telling.anew:  # whatever has news is told anew
            recent = self.rungs[index].recent
            if recent.has_news:
                recent.told()
        if isinstance(self.strategy, FailedStrategy):
            self.strategy = self.strategy.made()
            self.conduct.name = _name_of(self.strategy)
        self.conduct.calls += 1
        quotes = self.answers.ask(self.strategy, view)
        self.takes = self.answers.takes
        return quotes

    def within_curfew(self, quotes: Resting, view: EventView) -> Resting:
        """What of the wanted quotes stands so near to the end of the event; takes likewise."""
        net_qty = {rung.market_id: rung.net_qty for rung in view.rungs}
        quotes, self.takes = self.curfewed(quotes, self.takes, net_qty)
        return quotes

    @property
    def is_bound(self) -> bool:
        """Whether its end, or an operator who wants everything flat, leaves less to be wanted."""
        return self.stage is not WindDownStage.OPEN or bool(self.flattening)

    def curfewed(
        self, quotes: Resting, takes: dict[MarketId, tuple[Take, ...]], net_qty: dict[MarketId, int]
    ) -> tuple[Resting, dict[MarketId, tuple[Take, ...]]]:
        """What of these stands now, quotes and takes together. net_qty: YES less NO shares held of
        every rung, by whoever wants them."""
        if not self.is_bound:
            return quotes, takes
        part, shrinks = self._part, bool(self.flattening)
        takes = dict(kept(takes, net_qty, self.stage, part=part, flattening=shrinks))
        left = left_by(net_qty, takes)
        return kept(quotes, left, self.stage, part=part, flattening=shrinks), takes

    def as_taken(self, quotes: Resting) -> Resting:
        """The quotes as the venue takes them: none larger than it was seen to take, each on the
        grid of its market."""
        if not self.ceilings and self._takes_any:
            return quotes
        return {
            rung.market_id: taken(
                quotes[rung.market_id], rung.market, self.ceilings.get(rung.market_id)
            )
            for rung in self.rungs
            if rung.market_id in quotes
        }

    def want(self, quotes: Resting, *, pulled: bool) -> None:
        """Make these the wanted quotes; a blocked rung wants nothing. pulled: nothing is wanted,
        for a reason that is not the strategy's."""
        for rung in self.rungs:
            if pulled or rung.blocked:
                rung.want((), pulled=True)
                continue
            wanted = quotes.get(rung.market_id, ())
            if wanted is not rung.wanted:
                rung.want(wanted, pulled=False)


def _name_of(strategy: Strategy) -> str:
    """What a strategy is called for a person."""
    return strategy.name or type(strategy).__name__
