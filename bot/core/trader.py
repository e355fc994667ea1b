"""The trader: `receive(event, now_ns) -> effects`, a pure function of its event log.

Update state on every event, decide on a tick. STARTING (settle what an earlier run left, read the
account, cancel what rests) -> QUOTING -> STOPPING (cancel all, verify by a read) -> STOPPED. How
much is traded meanwhile is for the restrictions: `bot.core.trading_state`.

See docs/design.md#law-2, #law-6, #law-8; docs/fault-model.md.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bot.core import messages as m
from bot.core.account.poller import AccountPoller, PagedRead, Resource
from bot.core.account.reconciler import NO_CHANGE, AccountChange, AccountReconciler
from bot.core.build_report import draw
from bot.core.execution.cancel_all import WHY as NOTHING_RESTS_IN
from bot.core.execution.cancel_all import cancel_all
from bot.core.execution.executor import OrderExecutor
from bot.core.execution.kill_switch import KillSwitch
from bot.core.execution.suspected_fills import SuspectedFills
from bot.core.lifecycle.open_orders import OpenOrderSync
from bot.core.orders.manager import OrderManager, is_news
from bot.core.orders.order import OrderEvent, OrderFinding, OwnOrder
from bot.core.orders.outbox import NEVER_NS, Outbox, Pending
from bot.core.orders.reject_policy import POLICIES, RejectPolicy, Then
from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.planning.actions import Action
from bot.core.preview import TraderPlan, plan_of
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import SUSPENDED_MIN_NS, MarketQuoter
from bot.core.quoting.exit import EventExit
from bot.core.reconfigure import Reconfiguration, Remake
from bot.core.report import Phase, Reaction, Report
from bot.core.risk.breakers import CircuitBreakers, limits_of
from bot.core.risk.buying_power import AccountRisk
from bot.core.settings import TraderSettings
from bot.core.trading_state import EVERYTHING, Restriction, Source, TradingState, in_force
from bot.strategy.api import Strategy
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Cents, Qty
from venue.wire.names import MarketId, Ticker, fold_ticker

_RETRY_NS = 100 * NS_PER_MS
"""What could not be carried out is tried again at the next event, or after this."""

_OVERDUE_NS = 10 * NS_PER_MS
_SIDE_NS = 60 * NS_PER_SECOND
"""How long a side of a market is suspended after a reject that is our fault."""

_KEYS_REFUSED = ("key_refused", "read_key_refused")
_BLOCKING = ("account_unread", "cancels_fail", "journal_failed", *_KEYS_REFUSED)
_SHARES_DIFFER = "position_differs"
_OPEN = (Phase.QUOTING, Phase.PAUSED)
_ENDING = (Phase.STOPPING, Phase.STOPPED)


_OF_THE_RUN: Final = {
    Phase.STARTING: Restriction(
        source=Source.RUN,
        state=TradingState.HALTED,
        why="starting",
        ends="once the account is read and nothing of an earlier run is left",
    ),
    Phase.STOPPING: Restriction(
        source=Source.RUN, state=TradingState.HALTED, why="stopping", ends="the next run"
    ),
    Phase.STOPPED: Restriction(
        source=Source.RUN, state=TradingState.HALTED, why="stopped", ends="the next run"
    ),
}


def _alert(why: str, state: TradingState = TradingState.HALTED) -> Restriction:
    return Restriction(source=Source.ALERT, state=state, why=why, ends="the alert clears")


class Trader:
    """One series on one account."""

    def __init__(
        self,
        settings: TraderSettings,
        make_strategy: Callable[[], Strategy],
        purse: RequestBudget | None = None,
        read_purse: RequestBudget | None = None,
        account_risk: AccountRisk | None = None,
        remake: Remake | None = None,
        standby_purse: RequestBudget | None = None,
    ) -> None:
        """purse, read_purse, standby_purse: shared with other traders on the same credential, and
        account_risk with those on the same account; None: our own. remake: makes another
        strategy, should one be wanted; None: there will be none."""
        self._staleness = settings.staleness
        # Ticks come so often at least that a pause of the process shows.
        self._beat_ns = 2 * settings.staleness.gap_ns // 5
        breakers = CircuitBreakers(limits_of(settings.breakers, settings.risk))
        self.out = Outbox(
            settings.budget, settings.keys, purse, read_purse, standby_purse, breakers
        )
        self.desk = OrderManager(settings.staleness, self.out)
        self.ledgers = AccountReconciler(settings.staleness, self.desk, self.out)
        self.quoting = QuotingEngine(
            settings, make_strategy, self.desk, self.ledgers, self.out, account_risk
        )
        self._account = AccountPoller(
            settings.series_ticker,
            settings.staleness,
            self.ledgers.on_fills_page,
            settings.other_series,
        )
        self._suspected = SuspectedFills(settings.staleness)
        self.guard = KillSwitch(settings, breakers, self.desk, self.ledgers, self.quoting, self.out)
        self._sending = OrderExecutor(
            settings, self.desk, self.ledgers, self.quoting, self._suspected, self.guard, self.out
        )
        self._custody = OpenOrderSync(
            settings, self.desk, self.ledgers, self.quoting, self._account, self.out
        )
        self.reconfiguration = Reconfiguration(
            settings,
            make_strategy,
            remake,
            self.quoting,
            self._sending,
            self.guard,
            self.desk,
            self.out,
        )
        self._run_phase = Phase.STARTING
        self.phase = Phase.STARTING
        """That of the run; PAUSED or LATCHED while nothing is quoted by a person's word or the kill
        switch."""
        self._operator: dict[bool, Restriction] = {}
        """The operator's newest word about the account (True), and about the series (False)."""
        self.started_ns = 0
        self.is_paper = False
        self.first_two_sided_ns: int | None = None
        self._now_ns = 0
        self._opened = False
        self._contradicted = False  # latched because the books contradict each other
        self._stirred = True  # more than frames came since the last whole tick, or some of it waits
        self._due_ns = 0  # when there is a whole tick in any case
        self._upkeep_due_ns = 0  # when upkeep is due
        self._is_pending = True  # each upkeep may be the one that decides something
        # When time alone asks for a look at the feed, for reads of books, and for a plan:
        self._watch_due_ns = self._book_reads_due_ns = 0
        self._plan_due_ns = 0  # when time alone asks for a decision or a plan
        # Quoting, breakers and suspected fills learn of these before the next event:
        self._booked: list[tuple[AccountChange, int]] = []  # with the time of the read
        self._cancelled: dict[MarketId, bool] = {}  # True if a cancel was sent there

    @property
    def series_ticker(self) -> Ticker:
        return self.reconfiguration.settings.series_ticker

    def receive(self, event: m.Event, now_ns: int) -> list[m.Effect]:
        """The effects of an event, to be carried out in order. now_ns: the shell's clock, which
        never steps back. Raises nothing for any event: what the venue or a strategy does wrong
        becomes a finding."""
        gap_ns = now_ns - self._now_ns
        if gap_ns > 0:
            self._now_ns = now_ns
        self.out.on_event()
        if self._booked or self._cancelled:
            self._learn()
        if self.started_ns and gap_ns > self._staleness.gap_ns:
            self.quoting.feed.on_pause(gap_ns, self._now_ns)
            self._account.on_resume(self._now_ns)
            self._stirred = True
        if type(event) not in _QUIET:
            self._stirred = True
        HANDLERS[type(event)](self, event)
        contradiction = self.out.inconsistencies.contradiction
        if contradiction is not None and not self._contradicted:
            self._contradicted = True
            self.guard.latch_by(contradiction, self._now_ns)
            self._restrict()
        return self.out.effects

    @property
    def effects(self) -> list[m.Effect]:
        """Those of the newest event, also where taking it in has failed half-way."""
        return self.out.effects

    @property
    def reactions(self) -> Mapping[m.RequestId, Reaction]:
        """Of the requests among `effects`, those that react to a move of the market."""
        return self.out.reactions

    def report(self, now_ns: int) -> Report:
        self._learn()
        return draw(self, self.reconfiguration.settings, now_ns)

    def plan(self, now_ns: int) -> TraderPlan:
        """What would be sent next, and why; sends nothing."""
        self._learn()
        return plan_of(self, self._sending, self.reconfiguration.settings.budget.reserve, now_ns)

    @property
    def restrictions(self) -> Sequence[Restriction]:
        """What restricts every event of the series now."""
        findings = self.out.findings
        is_quoting = self._run_phase is Phase.QUOTING
        budgets = self.guard.budgets.restrictions
        if is_quoting and not (findings or self._operator or self.guard.latched or budgets):
            return ()
        found = [self.guard.restriction, *self._operator.values(), *budgets]
        if not is_quoting:
            found.append(_OF_THE_RUN[self._run_phase])
        found += [_alert(findings[name]) for name in _BLOCKING if name in findings]
        if _SHARES_DIFFER in findings:
            found.append(_alert(findings[_SHARES_DIFFER], TradingState.REDUCE_ONLY))
        return [each for each in found if each is not None]

    @property
    def withheld(self) -> str:
        """Why no new order may leave at all; empty when one may."""
        if self.phase is not Phase.QUOTING:
            return f"{self.phase}: {self.guard.latched}" if self.guard.latched else str(self.phase)
        return "; ".join([each.why for each in self.restrictions if each.state.is_halted])

    # --- events -----------------------------------------------------------------------------------

    def _on_frame(self, event: m.BookUpdate | m.Trade) -> None:
        self.out.counters.frames += 1
        if not self.quoting.on_market_data(event, self._now_ns):
            return
        self._suspected.on_frame(event, self.desk.live(event.market_id), self._now_ns)
        if self._suspected.next_due_ns < NEVER_NS:
            self._account.on_activity(self._now_ns)
            self._account.sweep_soon(self._now_ns)
            self._upkeep_due_ns = min(self._upkeep_due_ns, self._suspected.next_due_ns)
            self._due_ns = min(self._due_ns, self._suspected.next_due_ns)

    def _on_implied_value(self, event: m.ImpliedValueSeen) -> None:
        self.out.counters.frames += 1
        self.quoting.on_implied_value(event, self._now_ns)

    def _on_feed_alive(self, _: m.FeedAlive | m.SubscriptionAccepted) -> None:
        self.quoting.feed.on_feed_alive(self._now_ns)

    def _on_feed_opened(self, _: m.FeedOpened) -> None:
        self.out.note("info", "feed_opened")
        self.quoting.feed.on_feed_opened(self._now_ns)

    def _on_feed_closed(self, event: m.FeedClosed) -> None:
        self.out.note("warning", "feed_closed", reason=event.reason)
        self.quoting.feed.on_feed_closed()

    def _on_malformed_frame(self, event: m.MalformedFrame) -> None:
        self.out.counters.frames_garbled += 1
        self.quoting.feed.on_malformed_frame(event.known, self._now_ns)

    def _on_subscription_refused(self, event: m.SubscriptionRefused) -> None:
        self.out.note("error", "subscription_refused", code=event.code)
        self.quoting.feed.on_subscription_refused(self._now_ns)

    def _on_pause(self, event: m.PauseRequested) -> None:
        self._operator_wants(event, TradingState.HALTED)
        self._note_word("paused", event)

    def _on_flatten(self, event: m.FlattenRequested) -> None:
        then = "" if event.event else "flat: then halted; or "
        self._operator_wants(event, TradingState.REDUCE_ONLY, then)
        self._note_word("flattening", event)

    def _on_reduce(self, event: m.ReduceRequested) -> None:
        self._operator_wants(event, TradingState.REDUCED, divisor=max(2, event.size_divisor))
        self._note_word("reduced", event)

    def _on_exit(self, event: m.ExitRequested) -> None:
        within_ns, most_cents = max(1, event.within_ns), Cents(max(0, event.max_cost_cents))
        why = event.reason or "asked for"
        wanted = EventExit(Source.OPERATOR, why, within_ns, most_cents, self._now_ns)
        if not self.quoting.begin_exit(event.event, wanted):
            self.out.note("warning", "event_unknown", event=event.event)
            return
        self.out.note(
            "info",
            "exiting",
            reason=why,
            event=event.event,
            within_ms=within_ns // NS_PER_MS,
            max_cost_cents=most_cents,
        )

    def _on_resume(self, event: m.ResumeRequested) -> None:
        if event.account:
            self._operator.clear()
        elif event.event is None:
            self._operator.pop(False, None)
        self.quoting.restrict_event(event.event, None)
        self._restrict()
        self._note_word("resumed", event)

    def _on_raise_budget(self, event: m.RaiseBudget) -> None:
        self.guard.raise_budget(event, self._now_ns)
        self._restrict()

    def _note_word(self, name: str, event: m.OperatorWord) -> None:
        scope = "account" if event.account else None
        fields = {"reason": event.reason, "event": event.event, "scope": scope}
        self.out.note("info", name, **{key: text for key, text in fields.items() if text})

    def _operator_wants(
        self,
        event: m.PauseRequested | m.FlattenRequested | m.ReduceRequested,
        state: TradingState,
        then: str = "",
        divisor: int = 1,
    ) -> None:
        """then: what else ends it, before the command that does."""
        wanted = Restriction(
            source=Source.OPERATOR,
            state=state,
            why=event.reason or "asked for",
            ends=then + ("`bot resume --account`" if event.account else "`bot resume`"),
            since_ns=self._now_ns,
            divisor=divisor,
            of_account=event.account,
        )
        if event.account or event.event is None:
            self._operator[event.account] = wanted
            self._restrict()
        elif not self.quoting.restrict_event(event.event, wanted):
            self.out.note("warning", "event_unknown", event=event.event)

    def _on_journal_failed(self, event: m.JournalFailed) -> None:
        self.out.find("journal_failed", event.reason)
        self._stop("the journal cannot be written")

    def _on_started(self, event: m.Started) -> None:
        self._sending.nonce = event.boot_nonce
        self.reconfiguration.began(event.configured)
        self.started_ns = self._now_ns
        self.quoting.begin(event.memories, self._now_ns)
        self.is_paper = event.paper
        self.guard.budgets.restore(event.losses, self._now_ns)
        self.desk.obey(event.capabilities)
        self._account.obey(event.capabilities)
        self._account.on_resume(self._now_ns)
        self._custody.restore(event, self._now_ns)
        for intent in event.open_intents:
            self.desk.add_order(OwnOrder.left_behind(intent, self._now_ns))
        if event.open_intents:
            self.out.note("warning", "unknown_creates_found", count=len(event.open_intents))
        if event.latched:
            self._latch(event.latched, ours=False)
        self._restrict()

    def _restrict(self) -> None:
        """Put the restrictions of this instant in force."""
        self.phase = self._shown_phase()
        self.quoting.restrict(self.restrictions)
        self._clear()

    def _shown_phase(self) -> Phase:
        if self._run_phase in _ENDING:
            return self._run_phase
        if self.guard.latched:
            return Phase.LATCHED
        if any(each.state is TradingState.HALTED for each in self._operator.values()):
            return Phase.PAUSED if self._run_phase is Phase.QUOTING else self._run_phase
        return self._run_phase

    def _clear(self) -> None:
        """Where nothing may rest in the phase, the cancels leave now."""
        if self.phase in NOTHING_RESTS_IN:
            venue = self._sending.venue
            for market_id, is_sent in cancel_all(
                self.desk, venue, self.phase, self._now_ns
            ).items():
                self._cancelled[market_id] = is_sent or self._cancelled.get(market_id, False)

    def _latch(self, reason: str, *, ours: bool) -> None:
        self.guard.latch(reason, self._now_ns, ours=ours)
        self._restrict()

    def _unlatch(self, *, looked: bool) -> None:
        """The latch is gone; after a contradiction the books are opened again."""
        if self._contradicted and not looked:
            return
        self.guard.unlatch(looked=looked)
        if looked:
            self.out.inconsistencies.reset()
        if self._contradicted:
            self._contradicted = self._opened = False
            self._custody.reopen(self._now_ns)
            if self._run_phase not in _ENDING:
                self._run_phase = Phase.STARTING
        self._restrict()

    def _stop(self, reason: str) -> None:
        if self._run_phase in _ENDING:
            return
        self._run_phase = Phase.STOPPING
        self._restrict()
        for ladder in self.quoting.ladders:
            ladder.want({}, pulled=True)
        self.out.note("info", "stopping", reason=reason)

    def _on_response(self, event: m.Response) -> None:
        """A list read again that shows what it showed before needs no upkeep."""
        is_repeat = self._take_response(event)
        if not is_repeat or self.out.findings or not self.ledgers.is_audited:
            self._stirred = True
        self._due_ns = min(self._due_ns, self._account.next_due_ns)

    def _take_response(self, event: m.Response) -> bool:
        """True if it repeats a list as it was."""
        pending = self.out.answered(event, self._now_ns)
        if pending is None:
            self.out.note("warning", "answer_without_request", request_id=event.request_id)
            return False
        request = pending.request
        if pending.own is not None:
            self._account.on_activity(self._now_ns)
            if isinstance(request, m.CancelResting):
                self.guard.cancel_answered(pending.own, event.answer, self._now_ns)
            answer = self.desk.check_response(pending, event.answer)
            self._order_answered(pending, pending.own, answer)
        elif isinstance(request, m.ReadBook):
            self.quoting.feed.on_book_read(request.market_id, event.answer, self._now_ns)
        elif not isinstance(request, (m.Create, m.AmendResting, m.CancelResting)):
            walk = self._account.on_answer(request, event.answer, self._now_ns)
            if walk is not None:
                booked = len(self._booked)
                self._walked(walk)
                return walk.is_repeat and len(self._booked) == booked
            if isinstance(request, m.ReadResting):
                self._custody.on_orders_page(event.answer, pending.begun_ns, self._now_ns)
        return False

    def _order_answered(self, pending: Pending, own: OwnOrder, answer: m.Answer) -> None:
        changes = is_news(own, pending.request, answer)
        row = self.desk.on_response(pending, answer, self._now_ns)
        if changes:
            self.quoting.orders_changed(own.market_id)
        if own.suspicion is not None and own.suspicion.finding is OrderFinding.UNREADABLE:
            self.quoting.suspend_market(own.market_id, OrderFinding.UNREADABLE, self._now_ns)
        is_read = isinstance(pending.request, m.ReadOrder)
        if isinstance(answer, m.Ok) and is_read:
            self._suspected.on_read(pending.begun_ns, own)
        elif isinstance(answer, m.Ok):
            self._sending.venue.on_accept(pending.request, pending.begun_ns)
            if isinstance(answer.body, (m.OrderBody, m.CancelBody)):
                again = isinstance(pending.request, m.Create) and pending.request.again
                self.quoting.on_own_write(answer.body.order, self._now_ns, may_be_old=again)
        if own.filled > self.ledgers.booked_qty(own):
            self._account.schedule_by(Resource.FILLS, self._now_ns)
        if row is not None and not is_read:
            assert isinstance(answer, m.Rejected)
            self._after_reject(pending, own, answer, POLICIES[row.advice])

    def _after_reject(
        self, pending: Pending, own: OwnOrder, answer: m.Rejected, policy: RejectPolicy
    ) -> None:
        """Carry out `RejectPolicy.then`."""
        now_ns, quoting, code = self._now_ns, self.quoting, answer.code
        request = pending.request
        if policy.of_change is OrderEvent.TOO_LATE and isinstance(request, m.CancelResting):
            # A halted venue says that it is halted, before that.
            self._sending.venue.on_accept(request, pending.begun_ns)
        is_first = not (isinstance(request, m.Create) and request.again)
        is_often = self.desk.rejects.often(own, now_ns)
        match policy.then:
            case Then.NOTHING:
                pass
            case Then.SUSPEND_VENUE:
                self._sending.venue.on_reject(code, now_ns)
            case Then.SUSPEND_MARKET:
                quoting.suspend_market(own.market_id, code, now_ns)
                at_ns = now_ns + SUSPENDED_MIN_NS + self._staleness.read_lag_ns + NS_PER_MS
                self._account.schedule_by(Resource.SERIES, at_ns)
            case Then.SUSPEND_FOR_FUNDS:
                quoting.suspend_for_funds(own, code, now_ns, often=is_often)
                self._account.schedule_by(Resource.BALANCE, now_ns)
                self._account.schedule_by(Resource.POSITIONS, now_ns)
            case Then.SUSPEND_SIDE if is_first:
                # The reject of a create sent again is about that sending alone.
                self.out.note("error", "request_refused", code=code, message=answer.message)
                asked = request.order.qty if isinstance(request, m.Create) else Qty(0)
                if code == Code.INVALID_QTY and asked > 1:
                    quoting.limit_order_qty(own.market_id, asked)
                else:
                    quoting.suspend_side(own.market_id, own.book_side, code, _SIDE_NS, now_ns)
            case Then.SUSPEND_SIDE_IF_OFTEN if is_often:
                quoting.suspend_side(own.market_id, own.book_side, code, _SIDE_NS, now_ns)

    def _walked(self, walk: PagedRead) -> None:
        match walk.kind:
            case Resource.SERIES:
                self._series_read(walk)
            case Resource.BALANCE:
                self.ledgers.on_balance(walk.rows[0], walk.begun_ns, self._now_ns)
                self._sending.balance_read(walk.rows[0], walk.begun_ns, self._now_ns)
            case Resource.POSITIONS:
                self.ledgers.on_positions(walk.rows, walk.begun_ns, self._now_ns)
            case Resource.FILLS:
                live = self._custody.sought_ids()
                change = self.ledgers.on_fills(walk.rows, walk.begun_ns, self._now_ns, live)
                if change != NO_CHANGE or self._suspected.next_due_ns < NEVER_NS:
                    self._booked.append((change, self._now_ns))
                    self.quoting.on_account_change(change, self._now_ns)
                if self.ledgers.is_open and self.ledgers.series_wanted:
                    self._account.schedule_by(Resource.SERIES, self._now_ns)
                self.desk.drop_booked(self.ledgers.booked_qty, self._now_ns)
            case Resource.RESTING:
                self._custody.on_orders_list(walk.rows, walk.begun_ns, self._now_ns, self.phase)
                self._suspected.on_read(walk.begun_ns)

    def _learn(self) -> None:
        """Quoting, breakers and suspected fills learn what the last event booked and cancelled."""
        for market_id, is_sent in self._cancelled.items():
            if is_sent:
                self.quoting.orders_changed(market_id)
            else:
                self.quoting.may_go(market_id)
        self._cancelled.clear()
        for change, at_ns in self._booked:
            self.guard.on_fills(change.fills, at_ns)
            self.quoting.learn(change, at_ns)
            self._suspected.on_fills_booked(self.ledgers.booked_qty, at_ns)
        self._booked.clear()

    def _series_read(self, walk: PagedRead) -> None:
        self._custody.on_series_list(walk.missed)
        others = self.reconfiguration.settings.other_series
        is_repeat = walk.is_repeat and not others and self.ledgers.is_open
        if is_repeat and self.quoting.confirm_series(walk.begun_ns, self._now_ns):
            return
        others_rows = [row for row in walk.rows if fold_ticker(row.series_ticker) in others]
        self.ledgers.on_other_series(
            others_rows, walk.begun_ns - self._staleness.read_lag_ns, self._now_ns
        )
        ours = [row for row in walk.rows if row not in others_rows] if others_rows else walk.rows
        self.guard.forget_marks(self.quoting.take_series(ours, walk.begun_ns, self._now_ns))

    # --- the tick ---------------------------------------------------------------------------------

    def due_ns(self, now_ns: int) -> int:
        """When the next tick has something to do; now, or later."""
        return now_ns if self._stirred else min(self._due_ns, self.quoting.due_ns(now_ns))

    def _on_tick(self, _: m.Tick) -> None:
        """Do what is due, and nothing else. A frame asks for a plan at most; time, a response or a
        person asks for upkeep, too."""
        if not self.started_ns or self.phase is Phase.STOPPED:
            return
        now_ns, out, quoting, feed = self._now_ns, self.out, self.quoting, self.quoting.feed
        quoting_ns = quoting.due_ns(now_ns)
        due_ns = now_ns if self._stirred else min(self._due_ns, quoting_ns)
        if now_ns < due_ns:
            out.effects.append(m.WakeAt(due_ns))
            return
        needs_upkeep = (
            self._stirred or now_ns >= self._upkeep_due_ns or bool(out.inconsistencies.signs)
        )
        if needs_upkeep or now_ns >= min(quoting_ns, self._watch_due_ns):
            if feed.watch(now_ns):
                quoting_ns = quoting.due_ns(now_ns)
            needs_upkeep = needs_upkeep or feed.is_silent
        if needs_upkeep:
            self._before_deciding()
        wishes: Sequence[tuple[MarketQuoter, Action]] = ()
        plans = needs_upkeep or now_ns >= min(self._plan_due_ns, quoting_ns)
        if plans:
            wishes = self._decide()
        is_judged = needs_upkeep or not wishes  # else by the next tick: a price does not wait
        is_due = is_judged and now_ns >= self.guard.judge_due_ns
        if (is_due or (is_judged and self.guard.breakers.tripped)) and self._trip():
            wishes, self._plan_due_ns = (), now_ns  # they were decided under other restrictions
        if needs_upkeep:
            out.probe_key(now_ns)
        if wishes:
            self._sending.cancel(wishes, now_ns)
        needs_upkeep = needs_upkeep or bool(out.findings)
        if needs_upkeep:
            self._recover_and_read()
        elif now_ns >= min(self._account.next_due_ns, self._book_reads_due_ns):
            self._send_reads()
        if plans and (wishes or quoting.takes or now_ns >= self._suspected.next_due_ns):
            self._spend(wishes)
        # What could not be carried out is tried again at the first occasion.
        self._stirred = bool(wishes or out.findings) or self.phase not in _OPEN
        if not (needs_upkeep and self._is_over()):
            self._schedule_wake()

    def _spend(self, wishes: Sequence[tuple[MarketQuoter, Action]]) -> None:
        """Send what may leave now and adds or moves orders."""
        in_flight, may_quote = self.out.writes_in_flight, self.may_quote
        takes = self.quoting.takes if may_quote else ()
        self._sending.spend(wishes if may_quote else (), self._now_ns, takes)
        if may_quote and self.guard.breakers.tripped:
            self._trip()  # by a request that has just left, or was to
        if self.out.writes_in_flight > in_flight:
            self.quoting.weighing.on_sent()

    def _schedule_wake(self) -> None:
        now_ns, account, quoting = self._now_ns, self._account, self.quoting
        orders_ns, fills_ns = self.desk.next_due_ns(), self._suspected.next_due_ns
        self._watch_due_ns = quoting.feed.watch_due_ns
        self._book_reads_due_ns = quoting.feed.reads_due_ns
        self._upkeep_due_ns = min(orders_ns, fills_ns, account.unread_due_ns)
        if self._is_pending or quoting.feed.is_silent:
            self._upkeep_due_ns = min(self._upkeep_due_ns, now_ns + _RETRY_NS)
        soonest_ns = min(
            self._upkeep_due_ns,
            self._plan_due_ns,
            self.guard.judge_due_ns,
            account.next_due_ns,
            self._watch_due_ns,
            self._book_reads_due_ns,
        )
        if self._stirred:
            soonest_ns = min(soonest_ns, now_ns + _RETRY_NS)
        # An overdue request could not be sent just now; retrying at once would be a busy loop.
        pause_ns = NS_PER_MS if soonest_ns > now_ns else _OVERDUE_NS
        self._due_ns = max(now_ns + pause_ns, min(now_ns + self._beat_ns, soonest_ns))
        quoting_ns = quoting.due_ns(now_ns)
        if quoting_ns <= now_ns:  # what has just been sent is planned again after its response
            quoting_ns = now_ns + _RETRY_NS
        self.out.effects.append(m.WakeAt(min(self._due_ns, quoting_ns)))

    def _before_deciding(self) -> None:
        """What only time, an answer or an operator can change, and what a decision depends on."""
        self.guard.schedule_judgement()
        if self.phase is Phase.STARTING:
            self._start_up()
        if self._flattens and self.phase is Phase.QUOTING:
            self._rest_when_flat()
        if self.quoting.has_exits:
            self.quoting.watch_exits(self._now_ns)
        self.quoting.weighing.await_others(self._now_ns)
        if self._now_ns >= self._account.unread_due_ns:
            self._custody.check_unread(self._now_ns)
        self.out.hold("inconsistency_observed", self.out.inconsistencies.observed)
        both_sides = self.may_quote and not self._flattens
        self.reconfiguration.judge(self._now_ns, quoting=both_sides)
        self._clear()
        self._learn()
        self._sending.report_resting()

    def _recover_and_read(self) -> None:
        self.desk.send_due(self._now_ns)
        self._doubt()
        self._send_reads()

    def _is_over(self) -> bool:
        """Say what has been reached, and find out if upkeep is pending. True once the run has
        ended."""
        now_ns, out, quoting = self._now_ns, self.out, self.quoting
        if self.first_two_sided_ns is None and self.may_quote and quoting.all_two_sided():
            self.first_two_sided_ns = now_ns
            out.note("info", "two_sided_everywhere")
        if self.phase is Phase.LATCHED:
            self.guard.verify_flat(self._custody, now_ns)
        if self.phase is Phase.STOPPING and self._custody.is_drained(now_ns):
            self._run_phase = self.phase = Phase.STOPPED
            out.effects.append(self._custody.left_over())
            return True
        self._is_pending = bool(
            self._flattens
            or quoting.has_exits
            or not quoting.weighing.is_together
            or self.reconfiguration.trial is not None
            or self.desk.unknown
            or self.desk.unsettled
        )
        return False

    def _decide(self) -> Sequence[tuple[MarketQuoter, Action]]:
        """The actions wanted now; none while stopping."""
        now_ns, quoting = self._now_ns, self.quoting
        if self.phase is Phase.STOPPING:
            quoting.pnl.on_tick(now_ns, is_open=self.ledgers.is_open)
            self._plan_due_ns = now_ns + _RETRY_NS
            return ()
        budgets = self.guard.budgets.restrictions  # a change of the configuration may bring them
        if self.out.findings or budgets or quoting.in_force != EVERYTHING:
            quoting.restrict(self.restrictions)
        self._sending.pull_growth()
        decisions = self.out.counters.decisions
        wishes, again_ns = quoting.decide(now_ns)
        self._plan_due_ns = min(again_ns, quoting.pnl.due_ns)
        if self.out.counters.decisions != decisions:
            self.guard.schedule_judgement()  # the marks may have moved
        return wishes

    def _trip(self) -> bool:
        """Latch once a breaker has tripped or a loss budget is spent: everything is cancelled from
        here on. True if the loss budgets restrict more or less than before."""
        if self.phase in _ENDING:
            return False
        before = self.guard.budgets.restrictions
        reason = self.guard.judge(self._now_ns, opened=self._opened)
        if reason and self.phase is not Phase.LATCHED:
            self._latch(reason, ours=True)
            self._learn()
        if self.guard.budgets.restrictions == before:
            return False
        self._restrict()
        return True

    @property
    def _flattens(self) -> bool:
        """True from the operator's request to flatten until nothing is left, or another word."""
        return any(each.state is TradingState.REDUCE_ONLY for each in self._operator.values())

    def _rest_when_flat(self) -> None:
        if not self.desk.live_orders and self.quoting.is_flat():
            for of_account, word in list(self._operator.items()):
                if word.state is TradingState.REDUCE_ONLY:
                    halt = m.PauseRequested("flat", account=of_account)
                    self._operator_wants(halt, TradingState.HALTED)
            self.out.note("info", "flat")

    @property
    def may_quote(self) -> bool:
        """True while new orders may leave."""
        return not in_force(self.restrictions).state.is_halted

    def _doubt(self) -> None:
        """Read fills and orders sooner where they are in doubt."""
        heard_ns = self.quoting.feed.heard_ns
        silent = heard_ns is None or self._now_ns - heard_ns > self._staleness.feed_silence_ns
        is_suspected = self._suspected.next_due_ns < NEVER_NS
        if is_suspected or silent or self.out.findings or self.desk.unknown or self.desk.unsettled:
            self._account.on_activity(self._now_ns)
            self._account.sweep_soon(self._now_ns)
        elif self.out.writes_in_flight or self.phase not in _OPEN or not self.ledgers.is_audited:
            self._account.on_activity(self._now_ns)
        if is_suspected and self._suspected.prefers_lists(self._now_ns):
            self._account.schedule_by(Resource.FILLS, self._now_ns)
            self._account.schedule_by(Resource.RESTING, self._now_ns)

    def _start_up(self) -> None:
        """Leave STARTING once the account is known and nothing of an earlier run is left."""
        if self._custody.refuses:
            self._stop("orders that the journal does not know rest in our rungs")
        elif self._custody.has_opened(self._now_ns):
            self._opened = True
            self._run_phase = Phase.QUOTING
            self._restrict()
            self.out.note("info", "quoting", rungs=len(self.quoting.active_rungs()))

    def _send_reads(self) -> None:
        is_due = self._now_ns >= self._account.next_due_ns
        for walk, request in self._account.due(self._now_ns) if is_due else ():
            if not self.out.send(request, Priority.READ, f"read {walk.kind}", self._now_ns):
                return
            self._account.on_sent(walk, self._now_ns)
        for market_id in self.quoting.feed.books_to_read(self._now_ns):
            if not self.out.send(
                m.ReadBook(market_id), Priority.READ, "confirm book", self._now_ns
            ):
                return

    def left_over(self) -> m.DrainComplete:
        """What a drain that ran out of time leaves behind, for the operator."""
        return self._custody.left_over()


_QUIET: Final = frozenset(
    (m.Tick, m.BookUpdate, m.Trade, m.ImpliedValueSeen, m.FeedAlive, m.Response)
)
"""Events after which the next tick needs no upkeep; of a response its handler decides."""

HANDLERS: Final[Mapping[type[m.Event], Callable[[Trader, Any], None]]] = {
    m.Tick: Trader._on_tick,
    m.BookUpdate: Trader._on_frame,
    m.Trade: Trader._on_frame,
    m.ImpliedValueSeen: Trader._on_implied_value,
    m.Response: Trader._on_response,
    m.FeedAlive: Trader._on_feed_alive,
    m.SubscriptionAccepted: Trader._on_feed_alive,
    m.SubscriptionRefused: Trader._on_subscription_refused,
    m.FeedOpened: Trader._on_feed_opened,
    m.FeedClosed: Trader._on_feed_closed,
    m.MalformedFrame: Trader._on_malformed_frame,
    m.Started: Trader._on_started,
    m.StopRequested: lambda self, event: self._stop(event.reason),
    m.PauseRequested: Trader._on_pause,
    m.FlattenRequested: Trader._on_flatten,
    m.ReduceRequested: Trader._on_reduce,
    m.ExitRequested: Trader._on_exit,
    m.ResumeRequested: Trader._on_resume,
    m.RaiseBudget: Trader._on_raise_budget,
    m.LatchSet: lambda self, event: self._latch(event.reason, ours=False),
    m.LatchCleared: lambda self, event: self._unlatch(looked=event.looked),
    m.Reconfigured: lambda self, event: self.reconfiguration.on_reconfigured(event, self._now_ns),
    m.ConfigRefused: lambda self, event: self.reconfiguration.refuse(event),
    m.StrategyOverran: lambda self, event: self.quoting.supervisor.on_overrun(event, self._now_ns),
    m.JournalFailed: Trader._on_journal_failed,
    m.OutsideValue: lambda self, event: self.quoting.on_outside_value(event, self._now_ns),
    m.OutsideValueCleared: lambda self, event: self.quoting.clear_outside_value(
        event, self._now_ns
    ),
    m.OutsideSourceRead: lambda self, event: self.quoting.on_outside_source_read(
        event, self._now_ns
    ),
}
"""What each event does."""
