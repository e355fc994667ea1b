"""The events of the series: their state, the quotes wanted there, and the actions that follow.

Frames update markets; a tick decides together all events that need it, from the newest state only:
market state -> view -> strategy -> limits -> wanted quotes -> the actions that reach them. It also
decides an event whose quotes were cut, once the other events leave it more room than they did then.
A strategy that raises or returns nonsense has its event pulled; the other events go on.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.account.profit import PnlTracker
from bot.core.account.reconciler import AccountChange, AccountReconciler
from bot.core.fair_value.outside_values import OutsideSources
from bot.core.fault_text import fault_text
from bot.core.market_data.market_state import VenueClock
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import UNTAGGED, OwnOrder, State
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.planning.actions import Action
from bot.core.planning.diff import WorkingOrders
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.quoting.exit import EventExit, ExitRung
from bot.core.quoting.feed_monitor import MarketDataMonitor
from bot.core.quoting.portfolio_risk import PortfolioRisk
from bot.core.quoting.strategy_health import made_by
from bot.core.quoting.takes import leaving
from bot.core.risk.breakers import limits_of
from bot.core.risk.buying_power import AccountRisk
from bot.core.risk.limits import lowered
from bot.core.settings import TraderSettings
from bot.core.trading_state import EVERYTHING, InForce, Restriction, Source, in_force
from bot.strategy.api import EventView, ImpliedView, Resting, Strategy, Take
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, to_ns
from venue.wire.money import BookSide, Outcome, Qty, Side, book_side, canonical
from venue.wire.names import MarketId, ProjectId, Ticker, fold_ticker

_NEVER_RESTS = (model.ShownTimeInForce.IOC, model.ShownTimeInForce.FOK)

_REPORTED_MAX: Final = 3
"""Strategies at fault, or values from outside, that an alert names."""

_NO_SUBJECT: Final = "about no event or market of the series"

_FUNDS_NS: Final = 10 * NS_PER_SECOND
_FUNDS_AGAIN_NS: Final = 60 * NS_PER_SECOND
"""Throttle after a reject for insufficient funds: by then balance and positions are read, and most
of the writes in flight are over."""


class StrategySupervisor:
    """Counts and reports the faults of all strategies."""

    def __init__(self, ladders: list[EventQuoter], out: Outbox) -> None:
        self._ladders = ladders
        self._out = out

    def on_raise(self, ladder: EventQuoter, fault: Exception, now_ns: int) -> None:
        """Pull its event."""
        self._out.counters.strategy_errors += 1
        self._out.first_fault = self._out.first_fault or fault_text(fault)
        ladder.health.on_raise(fault, now_ns)
        self._report_fault(ladder, "strategy_failed")

    def on_sane_answer(self, ladder: EventQuoter) -> None:
        if ladder.health.on_sane_answer():
            self.report_faults()

    def on_overrun(self, event: m.StrategyOverran, now_ns: int) -> None:
        """Pull its event after three slow calls in a row, or an interrupted one."""
        self._out.counters.strategy_overruns += 1
        self._out.counters.strategy_interrupted += event.interrupted
        for ladder in self._ladders:
            mine = ladder.event.event_ticker == event.event_ticker
            if mine and ladder.health.answers_for(event):
                pulled = ladder.health.on_overrun(event, now_ns)
                ladder.needs_decision |= pulled
                if pulled or event.interrupted:
                    self._report_fault(ladder, "strategy_stalled")

    def end_pause(self, ladder: EventQuoter, series: InForce, now_ns: int) -> None:
        """Once the pause after a fault is over, ask the strategy again; one that is not asked any
        more loses its alert."""
        if now_ns >= ladder.health.pulled_until_ns:
            if ladder.is_open and ladder.is_understood and not series.state.is_halted:
                ladder.needs_decision = True
            else:
                self.on_sane_answer(ladder)

    def _report_fault(self, ladder: EventQuoter, name: str) -> None:
        fault = ladder.health.fault
        self._out.note("error", name, event=ladder.event.event_ticker, fault=fault)
        self.report_faults()

    def report_faults(self) -> None:
        """Raise, or clear, the alert about the strategies at fault."""
        at_fault = [
            f"{each.event.event_ticker}: {each.health.fault}"
            for each in self._ladders
            if each.health.fault
        ]
        if at_fault:
            self._out.find("strategy_at_fault", "; ".join(at_fault[:_REPORTED_MAX]))
        else:
            self._out.clear("strategy_at_fault")


class QuotingEngine:
    """Every event of the series. Rungs are found by market id; events are in order of ticker."""

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
        self.clock = VenueClock()
        self._outside = OutsideSources(settings.outside_sources)
        self._implied: dict[ProjectId, m.ImpliedValueSeen] = {}  # the newest of each company
        self.feed = MarketDataMonitor(
            settings.staleness, self.ladders, self._rungs, self.clock, out
        )
        self.pnl = PnlTracker(ledgers.book, self._rungs, out)
        self.weighing = PortfolioRisk(
            settings.risk, desk, ledgers, self.ladders, self._rungs, account
        )
        self._began_ns = 0
        self._unreadable = ""  # an event that the newest read of the series shows malformed
        self._memories: dict[Ticker, m.StrategyMemory] = {}  # of earlier runs
        self.takes: list[tuple[MarketQuoter, Take]] = []
        self.in_force = EVERYTHING
        """What the restrictions of the whole series leave its events."""
        self.has_exits = False
        """True while an exit runs, or its end is not logged."""
        self.supervisor = StrategySupervisor(self.ladders, out)

    def use_settings(self, settings: TraderSettings, make_strategy: Callable[[], Strategy]) -> None:
        """Change the settings from the next decision on; not for those in `ladders`."""
        self.settings = settings
        self._make_strategy = make_strategy
        self.weighing.reconfigure(settings.risk)
        self._outside.configure(settings.outside_sources)
        if self._outside.stated:
            self._use_outside_values()

    # --- the series -------------------------------------------------------------------------------

    def begin(self, memories: Iterable[m.StrategyMemory], now_ns: int) -> None:
        """The run starts. memories: of earlier runs, as in `Started`."""
        self._began_ns = now_ns
        self._memories = {each.event_ticker: each for each in memories}

    def take_series(
        self, events: Iterable[model.Event], begun_ns: int, now_ns: int
    ) -> list[MarketId]:
        """Merge a read of the series: events and rungs come in, or are missing, states change.
        Returns the rungs of events that were forgotten: nothing of ours is left there."""
        known = {ladder.event.event_ticker: ladder for ladder in self.ladders}
        states = {market_id: rung.market.state for market_id, rung in self._rungs.items()}
        believed_from_ns, self._unreadable = begun_ns - self.settings.staleness.read_lag_ns, ""
        for event in _listed_now(events, [ladder.event for ladder in self.ladders]):
            ladder = known.get(event.event_ticker)
            if ladder is None and event.status is model.EventStatus.SETTLED:
                continue  # it has come and gone without us, or has been forgotten
            try:
                _refuse_claimed(event, self._rungs)
                if ladder is None:
                    strategy = made_by(self._make_strategy)
                    ladder = EventQuoter(event, self.settings, strategy, self.clock, self._began_ns)
                listed = ladder.refresh(event, believed_from_ns, self._make_strategy)
            except ValueError as fault:
                self._unreadable = f"{event.event_ticker}: {fault}"
                if ladder is not None:
                    ladder.unread()
                continue
            if event.event_ticker not in known:
                memory = self._memories.pop(event.event_ticker, None)
                if memory is not None:
                    ladder.output.restore(memory.strategy, memory.values)
                known[event.event_ticker] = ladder
                self.ladders.append(ladder)
                self._out.note("info", "event_found", event=event.event_ticker)
            for rung in listed:
                self._rungs[rung.market_id] = rung
                rung.state.read_asked_ns = now_ns
                self.weighing.reset_exposure(ladder)
                self._ledgers.list_market(rung.market, rung.maker_rate, rung.taker_rate)
            if listed:
                ladder.use_outside_values(self._outside.stated)
            for rung in ladder.rungs:
                self._ledgers.settlement.state_shown(rung.market, believed_from_ns, now_ns)
            self._decide_by_winners(ladder)
        for market_id, state in states.items():
            rung = self._rungs[market_id]
            if rung.market.state is not state:
                self._desk.on_market_change(market_id, now_ns)
                rung.touch()
        self._out.hold("event_unreadable", self._unreadable)
        self.supervisor.report_faults()  # a ladder whose order is another asks another strategy
        self._ledgers.on_series(begun_ns)
        forgotten: list[MarketId] = []
        for ladder in [each for each in self.ladders if self._is_over(each, now_ns)]:
            forgotten += self._forget(ladder)
        self.ladders.sort(key=lambda ladder: ladder.event.event_ticker)
        self.pnl.take_in(is_open=self._ledgers.is_open)
        self.feed.series_changed(now_ns)
        return forgotten

    def confirm_series(self, begun_ns: int, now_ns: int) -> bool:
        """A read of the series repeats the one before, so only its time counts. False if it must be
        merged all the same: an event could not be read, or is over."""
        believed_from_ns = begun_ns - self.settings.staleness.read_lag_ns
        if self._unreadable or any(self._is_over(ladder, now_ns) for ladder in self.ladders):
            return False
        for rung in self._rungs.values():
            rung.end_suspension(believed_from_ns)
            self._ledgers.settlement.state_shown(rung.market, believed_from_ns, now_ns)
        self._ledgers.on_series(begun_ns)
        return True

    def _is_over(self, ladder: EventQuoter, now_ns: int) -> bool:
        """True once an event settled long enough ago, and no order or inventory of ours is there.
        Readings: docs/assumptions.md#S21, #S22, #S33."""
        return (
            ladder.event.status is model.EventStatus.SETTLED
            and not any(self._desk.live(rung.market_id) for rung in ladder.rungs)
            and self._ledgers.may_forget(ladder.event, now_ns)
        )

    def _forget(self, ladder: EventQuoter) -> list[MarketId]:
        """Forget an event; its rungs."""
        ids = [rung.market_id for rung in ladder.rungs]
        self.pnl.forget_event(ladder.event.event_ticker, ids)
        self._ledgers.forget_event(ladder.event)
        self.ladders.remove(ladder)
        for market_id in ids:
            del self._rungs[market_id]
        self.weighing.forget(ladder)
        self._out.note("info", "event_left", event=ladder.event.event_ticker)
        return ids

    def rung(self, market_id: MarketId) -> MarketQuoter | None:
        """The rung of a market; None where it is none of the series."""
        return self._rungs.get(market_id)

    def is_ours(self, market_id: MarketId) -> bool:
        return market_id in self._rungs

    def restrict(self, series: Iterable[Restriction]) -> None:
        """From here on these restrict every event, and nothing else does but its own."""
        self.in_force = in_force(series)

    def restrict_event(self, event: Ticker | None, by_operator: Restriction | None) -> bool:
        """Put the operator's restriction of an event, or of each one, in the place of the one
        before; None ends it. False if there is no such event."""
        found = [each for each in self.ladders if event in (None, each.event.event_ticker)]
        for ladder in found:
            self._end_operators_exit(ladder)
            ladder.restrict(by_operator)
        return bool(found)

    # --- exits ------------------------------------------------------------------------------------

    def begin_exit(self, event: Ticker, wanted: EventExit) -> bool:
        """False if there is no such event."""
        found = [each for each in self.ladders if each.event.event_ticker == event]
        for ladder in found:
            self._end_operators_exit(ladder)
            ladder.begin_exit(wanted)
            self.has_exits = True
        return bool(found)

    def watch_exits(self, now_ns: int) -> None:
        """Have the events decided that are exited, and log each end once nothing of ours is live
        there: takes of the last instant count."""
        self.has_exits = False
        for ladder in self.ladders:
            running = ladder.exit
            if running is None or running.is_noted:
                continue
            self.has_exits = True
            self._see_exit(ladder, running, now_ns)
            if not running.over:
                ladder.needs_decision = True
                continue
            ladder.needs_decision |= not ladder.in_force.state.is_halted
            rungs = [rung.market_id for rung in ladder.rungs]
            if not any(self._desk.live(each) or self._desk.has_fills(each) for each in rungs):
                self._note_exit(ladder, running, now_ns)

    def _end_operators_exit(self, ladder: EventQuoter) -> None:
        """Another command is in its place."""
        running = ladder.exit
        if running is not None and running.source is Source.OPERATOR and not running.is_noted:
            running.replace()
            self._note_exit(ladder, running, running.ends_ns)

    def _see_exit(self, ladder: EventQuoter, running: EventExit, now_ns: int) -> list[ExitRung]:
        rungs = ladder.exit_rungs(running, self._desk, self._ledgers, now_ns)
        is_first = running.preview is None
        running.see(rungs, self._ticks_through)
        if is_first and running.preview is not None:
            self._out.note(
                "info",
                "exit_began",
                event=ladder.event.event_ticker,
                source=running.source.value,
                shares=running.preview.start_qty,
                expected_cost_cents=round(running.preview.cost_cents),
                expected_left=running.preview.left_qty,
            )
        return rungs

    def _note_exit(self, ladder: EventQuoter, running: EventExit, now_ns: int) -> None:
        running.mark_noted()
        found, expected = running.report(now_ns), running.preview
        self._out.note(
            "info",
            "exit_over",
            event=ladder.event.event_ticker,
            why=found.over,
            exited=found.exited_qty,
            left=found.left_qty,
            cost_cents=found.cost_cents,
            expected_cost_cents=0 if expected is None else round(expected.cost_cents),
            expected_left=0 if expected is None else expected.left_qty,
        )

    @property
    def _ticks_through(self) -> int:
        return limits_of(self.settings.breakers, self.settings.risk).ticks_through

    def _ask_exit(self, ladder: EventQuoter, running: EventExit, view: EventView) -> Resting:
        """The wishes of an exit in the place of the strategy's."""
        rungs = self._see_exit(ladder, running, ladder.decided_ns)
        limit_cents = self.settings.risk.event_loss_cents
        return ladder.ask_exit(running, view, rungs, limit_cents, self._ticks_through)

    def active_rungs(self) -> list[MarketQuoter]:
        """Rungs that take orders, of events that are open."""
        return self.feed.active

    def all_two_sided(self) -> bool:
        """True if orders of ours rest on both sides of every active rung that is not decided, and
        there is such a rung."""
        rungs = [rung for rung in self.feed.active if rung.decided is None]
        return bool(rungs) and all(rung.is_two_sided(self._desk) for rung in rungs)

    def is_flat(self) -> bool:
        """True without a net inventory on any rung that is not certain; on a certain one nothing is
        sold any more."""
        return all(
            yes_qty == no_qty
            for rung in self._rungs.values()
            if not rung.is_certain
            for yes_qty, no_qty in (self._ledgers.holdings(rung.market_id),)
        )

    # --- market data ------------------------------------------------------------------------------

    def on_market_data(self, event: m.BookUpdate | m.Trade, now_ns: int) -> bool:
        """Take in a frame. True if orders of ours have probably filled: a read is worth a token."""
        rung = self._rungs.get(event.market_id)
        if not self.feed.admits(event, rung, now_ns) or rung is None:
            return False
        own, ladder, version = (
            self._desk.live(event.market_id),
            rung.ladder,
            rung.state.decision_version,
        )
        if isinstance(event, m.Trade):
            may_have_filled = rung.on_trade(event, own, now_ns)
        else:
            may_have_filled = rung.state.on_book(
                event, own, self.settings.staleness, now_ns, is_blocked=bool(rung.blocked)
            )
        if rung.state.decision_version != version:
            ladder.on_move(now_ns)
        if rung.state.older_since_ns is not None and rung.state.runs_backwards(now_ns):
            self.feed.on_clock_step(rung, now_ns)
        return may_have_filled

    def on_implied_value(self, seen: m.ImpliedValueSeen, now_ns: int) -> None:
        """Keep the newest value of a company that our events are about."""
        self.feed.on_feed_alive(now_ns)
        ladders = [each for each in self.ladders if each.event.project_id == seen.project_id]
        held = self._implied.get(seen.project_id)
        is_beyond = self.clock.is_beyond
        if held is not None and seen.ts_ns < held.ts_ns and not is_beyond(held.ts_ns, now_ns):
            return
        if ladders and not is_beyond(seen.ts_ns, now_ns):
            self._implied[seen.project_id] = seen
            for ladder in ladders:
                ladder.needs_decision = True
                ladder.on_move(now_ns)

    def implied_view(self, project_id: ProjectId, now_ns: int) -> ImpliedView | None:
        """The implied value of a company; None before the first. Its age is by the venue's clock,
        as far as that is known: ours may be hours off."""
        seen = self._implied.get(project_id)
        if seen is None:
            return None
        age_ns = max(0, now_ns + (self.clock.ahead_ns or 0) - seen.ts_ns)
        return ImpliedView(seen.value_dollars, seen.confidence, age_ns / NS_PER_SECOND)

    # --- values from outside ----------------------------------------------------------------------

    def on_outside_value(self, value: m.OutsideValue, now_ns: int) -> None:
        """Use a value from the next decision of its events on."""
        self._outside.take(value, now_ns)
        self._use_outside_values()
        self._report_outside_faults(now_ns)

    def clear_outside_value(self, cleared: m.OutsideValueCleared, now_ns: int) -> None:
        self._outside.clear(cleared.source, cleared.about)
        self._use_outside_values()
        self._report_outside_faults(now_ns)

    def on_outside_source_read(self, read: m.OutsideSourceRead, now_ns: int) -> None:
        self._outside.on_read(read.source, read.fault)
        self._report_outside_faults(now_ns)

    def _use_outside_values(self) -> None:
        stated = self._outside.stated
        for ladder in self.ladders:
            ladder.use_outside_values(stated)

    def _report_outside_faults(self, now_ns: int) -> None:
        """Raise, or clear, the alert about values that were dropped or are missing. Quoting goes
        on by the market alone."""
        faults = self._outside.faults
        for ladder in self.ladders:
            if ladder.outside is not None:
                event = ladder.event.event_ticker
                faults += [f"{event}: {each}" for each in ladder.outside.faults(now_ns)]
        used = {
            each.value
            for ladder in self.ladders
            if ladder.outside is not None
            for each in ladder.outside.stated
        }
        faults += [
            f"{value.source} about {value.about}: {_NO_SUBJECT}"
            for value, _ in self._outside.stated
            if self.ladders and value not in used
        ]
        more = "" if len(faults) <= _REPORTED_MAX else f"; and {len(faults) - _REPORTED_MAX} more"
        self._out.hold("outside_value_unused", "; ".join(faults[:_REPORTED_MAX]) + more)

    # --- orders and limits ------------------------------------------------------------------------

    def orders_changed(self, market_id: MarketId) -> None:
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.orders_changed()

    def may_go(self, market_id: MarketId) -> None:
        """An order of ours on a rung may have to go: the next plan looks at all of them again."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.forget_working()

    def foreign_in(self, market_ids: Collection[MarketId]) -> None:
        """Somebody else has orders on these rungs of ours, and on no others: ours are cancelled
        there meanwhile."""
        for market_id, rung in self._rungs.items():
            rung.set_foreign(market_id in market_ids)

    def took_over(self, market_id: MarketId) -> None:
        """We adopted an order of an earlier run."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.took_over()

    def on_own_write(self, shown: model.Order, now_ns: int, *, may_be_old: bool = False) -> None:
        """An answer to a write of ours showed this order: the book will show the change too.
        may_be_old: the write was a retry, so it may have been carried out long ago."""
        rung = self._rungs.get(shown.market_id)
        is_take = shown.time_in_force in _NEVER_RESTS
        if is_take and not shown.filled_qty:
            return  # a take that traded nothing has changed nothing there
        if rung is not None:
            if is_take:
                rung.state.on_own_take(shown, now_ns)
            try:
                at_ns = to_ns(shown.updated_at)
            except ValueError:
                self._out.note("warning", "instant_unreadable", order_id=shown.order_id)
                return
            if not may_be_old:
                self.clock.on_stamp(at_ns, now_ns)
            if self.clock.is_beyond(at_ns, now_ns):
                at_ns = now_ns + (self.clock.ahead_ns or 0)
            rung.state.on_own_write(shown, at_ns, self._desk.live(shown.market_id), now_ns)
            self.feed.on_own_write(now_ns)

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
            self.on_winner_known(market_id)
        for fill in change.fills:
            if fill.market_id in self._rungs:
                own = self._desk.owner_of(fill.order_id)
                tag = UNTAGGED if own is None else own.tag
                self.pnl.on_fill(fill, tag, self.feed.latency.least_ns, now_ns)
                if self.has_exits:
                    self._count_for_exit(fill, own)

    def _count_for_exit(self, fill: model.Fill, own: OwnOrder | None) -> None:
        running = self._rungs[fill.market_id].ladder.exit
        if running is not None:
            outcome = Outcome(fill.outcome.value)
            running.on_fill(
                fill.market_id,
                book_side(outcome, Side(fill.side.value)),
                canonical(outcome, fill.outcome_price),
                fill.qty,
                fill.fee_cents or 0,
                is_own=own is not None and own.placed_ns > running.began_ns,
            )

    def learn(self, change: AccountChange, at_ns: int) -> None:
        """Plans, views and flows learn what was booked then."""
        for market_id in change.markets:
            self.orders_changed(market_id)
        for fill in change.fills:
            rung = self._rungs.get(fill.market_id)
            if rung is not None:
                outcome = Outcome(fill.outcome.value)
                side = book_side(outcome, Side(fill.side.value))
                price = canonical(outcome, fill.outcome_price)
                rung.state.on_own_fill(side, price, fill.qty, at_ns)
                rung.ladder.on_own_fill(rung, side, at_ns)

    def on_winner_known(self, market_id: MarketId) -> None:
        """The payout of a rung has shown its winner."""
        rung, winner = self._rungs.get(market_id), self._ledgers.settlement.known_winner(market_id)
        if rung is not None and winner is not None:
            # For the next run, too: nobody can see it again.
            self._out.note("debug", "winner_told", market_id=market_id, winner=winner)
            self._decide_by_winners(rung.ladder)

    def _decide_by_winners(self, ladder: EventQuoter) -> None:
        for rung in ladder.decide_by(self._ledgers.settlement.known_winner):
            self.pnl.on_ledger_change(rung.market_id)

    # --- suspensions ------------------------------------------------------------------------------

    def suspend_market(self, market_id: MarketId, code: str, now_ns: int) -> None:
        """The venue takes no order on this market until a later read of the series says so."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.suspend(code, now_ns)

    def suspend_side(
        self, market_id: MarketId, side: BookSide, code: str, for_ns: int, now_ns: int
    ) -> None:
        """A request of ours was rejected: no new order on this side of the market for a while."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            rung.suspend_side(side, now_ns + for_ns)
            self._out.note("warning", "side_parked", ticker=rung.market.ticker, code=code)

    def limit_order_qty(self, market_id: MarketId, qty: Qty) -> None:
        """The venue takes no order of so many shares here: smaller ones from now on (S25)."""
        rung = self._rungs.get(market_id)
        if rung is not None:
            max_order_qty = rung.ladder.max_order_qty
            max_order_qty[market_id] = lowered(max_order_qty.get(market_id), qty)
            rung.ladder.needs_decision = True
            self._out.note(
                "warning",
                "ceiling_learned",
                ticker=rung.market.ticker,
                qty=max_order_qty[market_id],
            )

    def suspend_for_funds(
        self, own: OwnOrder, code: str, now_ns: int, *, often: bool = False
    ) -> None:
        """A reject for insufficient funds. often: not the first recent one. The reject of a retry
        concerns that retry alone: once the fate of the create is known, funds may suffice."""
        if own.state is not State.NEW_UNKNOWN:
            for_ns = _FUNDS_AGAIN_NS if often else _FUNDS_NS
            self.suspend_side(own.market_id, own.book_side, code, for_ns, now_ns)

    # --- deciding ---------------------------------------------------------------------------------

    def due_ns(self, now_ns: int) -> int:
        """When an event is due (`EventQuoter.due_ns`); now, or later."""
        due_ns = NEVER_NS
        for ladder in self.ladders:
            ladder_ns = ladder.due_ns(self._desk, now_ns)
            if ladder_ns < due_ns:
                due_ns = ladder_ns
        return due_ns

    def decide(self, now_ns: int) -> tuple[list[tuple[MarketQuoter, Action]], int]:
        """The actions wanted now, rung by rung, and when to look again.

        A plan holds until its inputs change, or its time has come: actions that could not be
        carried out are wanted again as they are. `takes` are those of the answers given now, and of
        no other: they are never wanted again.
        """
        self.takes = []
        self.pnl.on_tick(now_ns, is_open=self._ledgers.is_open)
        wishes: list[tuple[MarketQuoter, Action]] = []
        again_ns = NEVER_NS
        for ladder in self.ladders:
            if ladder.health.fault:
                self.supervisor.end_pause(ladder, self.in_force, now_ns)
                again_ns = min(again_ns, max(now_ns, ladder.health.pulled_until_ns))
            due_ns = ladder.decision_due_ns(self._desk, self.in_force, now_ns)
            throttled_ns = ladder.decided_ns + self.settings.pace.decide_ns
            has_no_cause = due_ns > max(now_ns, throttled_ns)
            if has_no_cause and ladder.was_trimmed and self.weighing.leaves_more(ladder):
                due_ns = throttled_ns
            if now_ns >= due_ns:
                self._decide_event(ladder, now_ns)
            elif due_ns < again_ns:
                again_ns = due_ns
            for rung in ladder.rungs:
                if now_ns >= rung.again_ns:
                    if rung.ours is None or not self._ledgers.is_open:
                        orders = self._desk.live(rung.market_id)
                        held = self._ledgers.holdings(rung.market_id)
                        rung.ours = WorkingOrders(orders, *held)
                    rung.plan_orders(rung.ours, now_ns)
                if rung.again_ns < again_ns:
                    again_ns = rung.again_ns
                if rung.wishes:
                    wishes += [(rung, wish) for wish in rung.wishes]
        return wishes, again_ns

    def _decide_event(self, ladder: EventQuoter, now_ns: int) -> None:
        """Ask the strategy of an event, and trim its quotes to the limits."""
        ladder.begin_decision(self.in_force, now_ns)
        if ladder.exit is not None and not ladder.exit.is_noted:
            self.has_exits = True
        self._out.counters.decisions += 1
        bounds = self.weighing.bounds(ladder, wanted=True)
        ladder.loss_limit_cents = bounds.loss_cents
        implied = self.implied_view(ladder.event.project_id, now_ns)
        view = ladder.view(implied, self._desk, self._ledgers, now_ns)
        if ladder.outside is not None:
            self._report_outside_faults(now_ns)
        self.pnl.on_view(view, now_ns, ladder.changed)
        ladder.learn(view, self._out, now_ns)
        ladder.judge_state(self.in_force, now_ns)
        if ladder.in_force.state.is_halted:
            ladder.want({}, pulled=True)
            return
        if ladder.exit is not None:
            quotes = self._ask_exit(ladder, ladder.exit, view)
        else:
            try:
                quotes = ladder.ask_strategy(view)
            except Exception as fault:  # noqa: BLE001 - the plugin boundary: it pulls one event
                self.supervisor.on_raise(ladder, fault, now_ns)
                ladder.want({}, pulled=True)
                return
            self._out.counters.strategy_answers += 1
            if ladder.health.fault:
                self.supervisor.on_sane_answer(ladder)
            for name, values in ladder.output.changes():
                event, strategy = ladder.event.event_ticker, ladder.health.name
                self._out.note("debug", name, event=event, strategy=strategy, values=values)
        if ladder.some_blocked:
            rungs = self._rungs
            quotes = {key: each for key, each in quotes.items() if not rungs[key].blocked}
        ladder.want(self.weighing.trim(ladder, quotes, bounds), pulled=False)
        for market_id, wished in ladder.takes.items():
            rung = self._rungs[market_id]
            takes, dropped = leaving(rung, wished, ladder.max_order_qty.get(market_id))
            self.takes.extend((rung, take) for take in takes)
            for fate in dropped:
                self._out.took(fate)


def _listed_now(
    events: Iterable[model.Event], known: Sequence[model.Event]
) -> Iterator[model.Event]:
    """The events of a newer read of the series, their tickers in upper case. A known event that the
    read lacks comes without any rung, for it is unknown if they trade; a settled event may
    leave the list."""
    shown = set()
    for event in map(_spelled_event, events):
        shown.add(event.event_ticker)
        yield event
    for event in known:
        if event.event_ticker not in shown and event.status is not model.EventStatus.SETTLED:
            yield msgspec.structs.replace(event, markets=())


def _spelled_event(event: model.Event) -> model.Event:
    """The event with its tickers, and those of its rungs, as the venue writes them: they are
    case-insensitive. A rung belongs to the event that lists it, whatever its own row says."""
    ticker, series = fold_ticker(event.event_ticker), fold_ticker(event.series_ticker)
    markets = tuple(
        msgspec.structs.replace(market, ticker=fold_ticker(market.ticker), event_ticker=ticker)
        for market in event.markets
    )
    return msgspec.structs.replace(
        event, event_ticker=ticker, series_ticker=series, markets=markets
    )


def _refuse_claimed(event: model.Event, rungs: Mapping[MarketId, MarketQuoter]) -> None:
    """Raises ValueError if a market of the event is a rung of another event already, or is known
    under another id: a ticker is permanent and never reassigned."""
    ids = {rung.market.ticker: market_id for market_id, rung in rungs.items()}
    for market in event.markets:
        rung = rungs.get(market.market_id)
        if rung is not None and rung.ladder.event.event_ticker != event.event_ticker:
            raise ValueError(f"{market.ticker} is a rung of {rung.ladder.event.event_ticker}")
        before = ids.get(market.ticker, market.market_id)
        if rung is None and before != market.market_id:
            raise ValueError(f"{market.ticker} is market {market.market_id}, and was {before}")
