"""The events of the series: what is believed of them, what is wanted there, and what may be sent.

Events of the feed mark a rung's event dirty; a Beat decides dirty events together, newest belief
only: belief -> view -> strategy -> limits -> wanted quotes -> the changes that reach them. So it
does one whose quotes were cut, once the other events leave it more than they did then.
A strategy that raises or returns nonsense has its event pulled; the other events go on.
"""

from collections.abc import Callable, Collection, Iterable

from bot.core import messages as m
from bot.core.account.profit import PnlTracker
from bot.core.account.reconciler import AccountChange, AccountReconciler
from bot.core.market_data.venue_clock import VenueClock
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import UNTAGGED
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.planning.actions import Action
from bot.core.planning.diff import WorkingOrders
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.quoting.feed_monitor import MarketDataMonitor
from bot.core.quoting.listing_sync import listed_now, refuse_claimed
from bot.core.quoting.portfolio_risk import PortfolioRisk
from bot.core.quoting.supervisor import StrategySupervisor, made_by
from bot.core.quoting.suspensions import Suspensions
from bot.core.quoting.takes import leaving
from bot.core.risk.buying_power import AccountRisk
from bot.core.settings import TraderSettings
from bot.strategy.api import ImpliedView, Resting, Strategy, Take
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, to_ns
from venue.wire.money import Outcome, Side, book_side, canonical
from venue.wire.names import MarketId, ProjectId

_NEVER_RESTS = (model.ShownTimeInForce.IOC, model.ShownTimeInForce.FOK)


class QuotingEngine:
    """Every event of the series. Rungs are found by market id; order of events is by ticker."""

    def __init__(
        self,
        settings: TraderSettings,
        make_strategy: Callable[[], Strategy],
        desk: OrderManager,
        ledgers: AccountReconciler,
        out: Outbox,
        account: AccountRisk | None = None,
    ) -> None:
        """account: shared with the traders of other series on it; None: ours is the only one."""
        self.settings = settings
        self._make_strategy = make_strategy
        self._desk = desk
        self._ledgers = ledgers
        self._out = out
        self.ladders: list[EventQuoter] = []
        self._rungs: dict[MarketId, MarketQuoter] = {}
        self.venue_time = VenueClock()
        self._implied: dict[ProjectId, m.ImpliedValueSeen] = {}  # the newest of each company
        self.channel = MarketDataMonitor(
            settings.staleness, self.ladders, self._rungs, self.venue_time, out
        )
        self.pnl = PnlTracker(ledgers.book, self._rungs, out)
        self.weighing = PortfolioRisk(
            settings.risk, desk, ledgers, self.ladders, self._rungs, account
        )
        self.parking = Suspensions(self._rungs, out)
        self.began_ns = 0
        self.takes: list[tuple[MarketQuoter, Take]] = []
        self.flattening = ""
        self.forgets: Callable[[list[MarketId]], None] = lambda _ids: None
        self.supervision = StrategySupervisor(self.ladders, out)

    def reconfigure(self, settings: TraderSettings, make_strategy: Callable[[], Strategy]) -> None:
        """Hold to other settings from the next decision on; each of `ladders` is told by itself."""
        self.settings = settings
        self._make_strategy = make_strategy
        self.weighing.reconfigure(settings.risk)

    # --- the series -------------------------------------------------------------------------------

    def take_series(self, events: Iterable[model.Event], begun_ns: int, now_ns: int) -> None:
        """Merge a read of the series: events and rungs come in, or are missing, states change."""
        known = {ladder.event.event_ticker: ladder for ladder in self.ladders}
        states = {market_id: rung.market.state for market_id, rung in self._rungs.items()}
        believed_from_ns, unreadable = begun_ns - self.settings.staleness.read_lag_ns, ""
        for event in listed_now(events, [ladder.event for ladder in self.ladders]):
            ladder = known.get(event.event_ticker)
            if ladder is None and event.status is model.EventStatus.SETTLED:
                continue  # it has come and gone without us, or has been forgotten
            try:
                refuse_claimed(event, self._rungs)
                if ladder is None:
                    ladder = EventQuoter(event, self.settings, made_by(self._make_strategy))
                    ladder.began_ns, ladder.venue_time = self.began_ns, self.venue_time
                listed = ladder.refresh(event, believed_from_ns, self._make_strategy)
            except ValueError as fault:
                unreadable = f"{event.event_ticker}: {fault}"
                if ladder is not None:
                    ladder.unread()
                continue
            if event.event_ticker not in known:
                known[event.event_ticker] = ladder
                self.ladders.append(ladder)
                self._out.note("info", "event_found", event=event.event_ticker)
            for rung in listed:
                self._rungs[rung.market_id] = rung
                rung.read_asked_ns = now_ns
                self.weighing.anew(ladder)
                self._ledgers.list_market(rung.market, rung.maker_rate, rung.taker_rate)
            for rung in ladder.rungs:
                self._ledgers.settlement.state_shown(rung.market, believed_from_ns, now_ns)
            self._decide_by_winners(ladder)
        for market_id, state in states.items():
            rung = self._rungs[market_id]
            if rung.market.state is not state:
                self._desk.on_market_change(market_id, now_ns)
                rung.touch()
        self._out.hold("event_unreadable", unreadable)
        self.supervision.tell_at_fault()  # a ladder whose order is another asks another strategy
        self._ledgers.on_series(begun_ns)
        for ladder in [each for each in self.ladders if self._is_over(each, now_ns)]:
            self._let_go(ladder)
        self.ladders.sort(key=lambda ladder: ladder.event.event_ticker)
        self.pnl.take_in(is_open=self._ledgers.is_open)
        self.channel.series_changed(now_ns)

    def _is_over(self, ladder: EventQuoter, now_ns: int) -> bool:
        """True once an event settled long enough ago, and nothing of ours rests or is held there.
        Readings: docs/assumptions.md#S21, #S22, #S33."""
        return (
            ladder.event.status is model.EventStatus.SETTLED
            and not any(self._desk.live(rung.market_id) for rung in ladder.rungs)
            and self._ledgers.may_forget(ladder.event, now_ns)
        )

    def _let_go(self, ladder: EventQuoter) -> None:
        """Forget an event of which nothing is left."""
        ids = [rung.market_id for rung in ladder.rungs]
        self.pnl.forget_event(ladder.event.event_ticker, ids)
        self._ledgers.forget_event(ladder.event)
        self.forgets(ids)
        self.ladders.remove(ladder)
        for market_id in ids:
            del self._rungs[market_id]
        self.weighing.forget(ladder)
        self._out.note("info", "event_left", event=ladder.event.event_ticker)

    def rung(self, market_id: MarketId) -> MarketQuoter | None:
        """The rung of a market; None where it is none of the series."""
        return self._rungs.get(market_id)

    def is_ours(self, market_id: MarketId) -> bool:
        """Whether a market is a rung of the series."""
        return market_id in self._rungs

    def flatten(self, reason: str) -> None:
        """From here on only what shrinks a position is wanted; empty: everything again."""
        self.flattening = reason
        for ladder in self.ladders:
            ladder.dirty = True

    def active_rungs(self) -> list[MarketQuoter]:
        """Rungs that take orders, of events that are open."""
        return list(self.channel.active_rungs())

    def all_two_sided(self) -> bool:
        """True if orders of ours rest on both sides of every active rung that is not decided, and
        there is such a rung."""
        rungs = [rung for rung in self.channel.active_rungs() if rung.decided is None]
        return bool(rungs) and all(rung.is_two_sided(self._desk) for rung in rungs)

    def is_flat(self) -> bool:
        """True if as many YES as NO shares are held of every rung that is not certain: of one that
        is nothing is sold any more."""
        return all(
            yes_qty == no_qty
            for rung in self._rungs.values()
            if not rung.is_certain
            for yes_qty, no_qty in (self._ledgers.holdings(rung.market_id),)
        )

    # --- the channel ------------------------------------------------------------------------------

    def saw(self, event: m.BookUpdate | m.Trade | m.ImpliedValueSeen, now_ns: int) -> bool:
        """Believe a frame. Whether it makes fills of ours likely: a read is worth a token."""
        self.channel.heard(now_ns)
        if isinstance(event, m.ImpliedValueSeen):
            self._saw_implied(event, now_ns)
            return False
        rung = self._rungs.get(event.market_id)
        if rung is None:
            return False
        own = self._desk.live(event.market_id)
        if rung.is_news(event):
            self.venue_time.on_stamp(event.ts_ns, now_ns)
        if self.venue_time.is_beyond(event.ts_ns, now_ns):
            self.channel.misdated(rung, now_ns)
            return False
        if isinstance(event, m.Trade):
            self.channel.printed(event, now_ns)
            likely = rung.saw_trade(event, own, now_ns)
            return likely
        may_have_filled = rung.saw_book(event, own, self.settings.staleness, now_ns)
        if rung.runs_backwards(now_ns):
            self.channel.stepped_back(rung, now_ns)
        return may_have_filled

    def _saw_implied(self, seen: m.ImpliedValueSeen, now_ns: int) -> None:
        """Keep the newest value of a company that our events are of."""
        ladders = [each for each in self.ladders if each.event.project_id == seen.project_id]
        held = self._implied.get(seen.project_id)
        is_beyond = self.venue_time.is_beyond
        if held is not None and seen.ts_ns < held.ts_ns and not is_beyond(held.ts_ns, now_ns):
            return
        if ladders and not is_beyond(seen.ts_ns, now_ns):
            self._implied[seen.project_id] = seen
            for ladder in ladders:
                ladder.dirty = True

    def _implied_view(self, project_id: ProjectId, now_ns: int) -> ImpliedView | None:
        """The implied value of a company; None before the first. Its age is by the venue's clock,
        as far as that is known: ours may be hours away from it."""
        seen = self._implied.get(project_id)
        if seen is None:
            return None
        age_ns = max(0, now_ns + (self.venue_time.ahead_ns or 0) - seen.ts_ns)
        return ImpliedView(seen.value_dollars, seen.confidence, age_ns / NS_PER_SECOND)

    # --- orders and limits ------------------------------------------------------------------------

    def orders_changed(self, market_id: MarketId) -> None:
        """Something about our orders or holdings on a rung is not what it was."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.orders_changed()

    def may_go(self, market_id: MarketId) -> None:
        """An order of ours on a rung may be to go: the next plan there looks at them anew."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.ours = None

    def foreign_in(self, market_ids: Collection[MarketId]) -> None:
        """Somebody else has orders on these rungs of ours, and on no others: none of ours rests
        there meanwhile."""
        for market_id, rung in self._rungs.items():
            if rung.is_foreign != (market_id in market_ids):
                rung.is_foreign = not rung.is_foreign
                rung.doubt()

    def took_over(self, market_id: MarketId) -> None:
        """An order of an earlier run on a rung is ours from here on."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.took_over()

    def own_shown(self, shown: model.Order, now_ns: int, *, may_be_old: bool = False) -> None:
        """An answer to a write of ours showed this order: the book will show the change too.
        may_be_old: the write was a repeated one, so it may have been carried out long ago."""
        rung = self._rungs.get(shown.market_id)
        is_take = shown.time_in_force in _NEVER_RESTS
        if is_take and not shown.filled_qty:
            return  # a take that traded nothing has changed nothing there
        if rung is not None:
            if is_take:
                rung.own_takes.answered(shown, now_ns)
            try:
                at_ns = to_ns(shown.updated_at)
            except ValueError:
                self._out.note("warning", "instant_unreadable", order_id=shown.order_id)
                return
            if not may_be_old:
                self.venue_time.on_stamp(at_ns, now_ns)
            if self.venue_time.is_beyond(at_ns, now_ns):
                at_ns = now_ns + (self.venue_time.ahead_ns or 0)
            rung.shown_own(shown, at_ns, self._desk.live(shown.market_id), now_ns)

    def on_holdings_change(self, market_id: MarketId) -> None:
        """The books have other cash or shares of a market."""
        self.orders_changed(market_id)
        if market_id in self._rungs:
            self.pnl.on_ledger_change(market_id)

    def on_account_change(self, change: AccountChange, now_ns: int) -> None:
        """Give booked fills to the account of profit, and winners to their ladders."""
        for market_id in change.markets:
            if market_id in self._rungs:
                self.pnl.on_ledger_change(market_id)
        for market_id in change.decided:
            self.winner_told(market_id)
        for fill in change.fills:
            if fill.market_id in self._rungs:
                own = self._desk.owner_of(fill.order_id)
                tag = UNTAGGED if own is None else own.tag
                self.pnl.on_fill(fill, tag, self.channel.lag_ns, now_ns)

    def learn(self, change: AccountChange, at_ns: int) -> None:
        """Plans, views and flows learn what was booked then."""
        for market_id in change.markets:
            self.orders_changed(market_id)
        for fill in change.fills:
            rung = self._rungs.get(fill.market_id)
            if rung is not None:
                outcome = Outcome(fill.outcome.value)
                side = book_side(outcome, Side(fill.side.value))
                rung.news.add(rung.place)
                rung.recent.filled(side, canonical(outcome, fill.outcome_price), fill.qty, at_ns)
                fair = None if rung.fair is None else rung.fair.value_cents
                rung.ladder.learner.on_own_fill(fill.market_id, fair, side, at_ns)

    def winner_told(self, market_id: MarketId) -> None:
        """What a rung paid has told its winner."""
        rung, winner = self._rungs.get(market_id), self._ledgers.settlement.known_winner(market_id)
        if rung is not None and winner is not None:
            # For the next run, too: nobody can be told it again.
            self._out.note("debug", "winner_told", market_id=market_id, winner=winner)
            self._decide_by_winners(rung.ladder)

    def _decide_by_winners(self, ladder: EventQuoter) -> None:
        for rung in ladder.decide_by(self._ledgers.settlement.known_winner):
            self.pnl.on_ledger_change(rung.market_id)

    # --- deciding ---------------------------------------------------------------------------------

    def due_ns(self, now_ns: int) -> int:
        """When an event is due (`EventQuoter.due_ns`); now, or later."""
        return min([ladder.due_ns(now_ns) for ladder in self.ladders], default=NEVER_NS)

    def decide(self, may_quote: bool, now_ns: int) -> tuple[list[tuple[MarketQuoter, Action]], int]:
        """The changes wanted now, rung by rung, and when to look again.

        A plan stands until what it was made of changes, or its time has come: what of it could not
        be carried out is wished for again as it is. `takes` are those of the answers given now, and
        of no other: they are never wished for again.
        """
        self.takes = []
        self.pnl.on_tick(now_ns, is_open=self._ledgers.is_open)
        wishes: list[tuple[MarketQuoter, Action]] = []
        again_ns = NEVER_NS
        for ladder in self.ladders:
            turned = ladder.may_quote != may_quote or now_ns >= ladder.stage_until_ns
            turned = turned or ladder.news.turns(now_ns)
            if ladder.conduct.fault:
                self.supervision.look(ladder, may_quote, now_ns)
                again_ns = min(again_ns, max(now_ns, ladder.conduct.pulled_until_ns))
            if ladder.dirty or turned or (ladder.is_cut and self.weighing.leaves_more(ladder)):
                # Pulling everything does not wait for the pace, nor does what follows a resume.
                if turned or now_ns >= ladder.decided_ns + self.settings.pace.decide_ns:
                    self._decide_ladder(ladder, may_quote, now_ns)
                else:
                    again_ns = min(again_ns, ladder.decided_ns + self.settings.pace.decide_ns)
            if now_ns >= ladder.again_ns:
                self._plan_ladder(ladder, now_ns)
            again_ns = min(again_ns, ladder.again_ns)
            for rung in ladder.rungs:
                if rung.wishes:
                    wishes += [(rung, wish) for wish in rung.wishes]
        return wishes, again_ns

    def _plan_ladder(self, ladder: EventQuoter, now_ns: int) -> None:
        """Plan the rungs of an event whose plan no longer stands."""
        is_open = self._ledgers.is_open
        for rung in ladder.rungs:
            if now_ns >= rung.again_ns:
                if rung.ours is None or not is_open:
                    orders = self._desk.live(rung.market_id)
                    held = self._ledgers.holdings(rung.market_id)
                    rung.ours = WorkingOrders(orders, *held)
                rung.plan(rung.ours, now_ns)
        ladder.again_ns = min([rung.again_ns for rung in ladder.rungs], default=NEVER_NS)

    def _decide_ladder(self, ladder: EventQuoter, may_quote: bool, now_ns: int) -> None:
        """Decide what is wanted of an event."""
        ladder.dirty = ladder.is_cut = False
        ladder.may_quote, ladder.flattening = may_quote, self.flattening
        ladder.decided_ns = now_ns
        self._out.counters.decisions += 1
        loss_cents = ladder.loss_limit_cents = self.weighing.loss_limit_cents(ladder, wanted=True)
        implied = self._implied_view(ladder.event.project_id, now_ns)
        view = ladder.view(implied, self._desk, self._ledgers, now_ns)
        self.pnl.on_view(view, now_ns, ladder.telling.anew)
        ladder.learn(view, now_ns)
        is_news = ladder.is_news(self._out, now_ns)
        if not (may_quote and ladder.is_open and ladder.is_understood) or (
            is_news or now_ns < ladder.conduct.pulled_until_ns
        ):
            ladder.want({}, pulled=True)
            return
        try:
            quotes: Resting = ladder.quotes(view)
            if ladder.is_bound:
                quotes = ladder.within_curfew(quotes, view)
        except Exception as fault:  # noqa: BLE001 - the plugin boundary: its fault pulls one event
            self.supervision.raised(ladder, fault, now_ns)
            ladder.want({}, pulled=True)
            return
        if ladder.conduct.fault:
            self.supervision.behaved(ladder)
        if ladder.some_blocked:
            rungs = self._rungs
            quotes = {key: each for key, each in quotes.items() if not rungs[key].blocked}
        quotes = self.weighing.cut(ladder, ladder.as_taken(quotes), loss_cents)
        ladder.want(quotes, pulled=False)
        for market_id, wished in ladder.takes.items():
            rung = self._rungs[market_id]
            takes, dropped = leaving(rung, wished, ladder.ceilings.get(market_id))
            self.takes.extend((rung, take) for take in takes)
            for fate in dropped:
                self._out.took(fate)
