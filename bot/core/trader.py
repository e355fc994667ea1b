"""The trader: `receive(event, now_ns) -> effects`, a pure function of its event log.

Update state on every event, decide on a Beat. STARTING (settle what an earlier run left, read the
account, cancel what rests) -> QUOTING <-> PAUSED -> STOPPING (cancel all, verify by a read) ->
STOPPED. A breaker or a latch leads to LATCHED, which cancels and verifies likewise, and stays.

See docs/design.md#law-2, #law-6, #law-8; docs/fault-model.md.
"""

from collections.abc import Callable, Sequence

from bot.core import messages as m
from bot.core.account.poller import AccountPoller, PagedRead, Resource
from bot.core.account.reconciler import AccountChange, AccountReconciler
from bot.core.build_report import draw
from bot.core.execution.cancel_all import WHY as NOTHING_RESTS_IN
from bot.core.execution.cancel_all import cancel_all
from bot.core.execution.executor import OrderExecutor
from bot.core.execution.pre_trade_checks import KillSwitch, PreTradeChecks
from bot.core.execution.suspected_fills import SuspectedFills
from bot.core.lifecycle.open_orders import OpenOrderSync
from bot.core.orders.manager import OrderManager, is_news
from bot.core.orders.order import OrderFinding, OwnOrder
from bot.core.orders.outbox import NEVER_NS, Pending
from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.planning.actions import Action
from bot.core.preview import TraderPlan, plan_of
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import PARK_MIN_NS, MarketQuoter
from bot.core.reconfigure import Reconfiguration, Remake
from bot.core.report import Phase, Report
from bot.core.risk.buying_power import AccountRisk
from bot.core.settings import TraderSettings
from bot.strategy.api import Strategy
from venue.wire.errors import Advice, Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import MarketId, Ticker, fold_ticker

_BEAT_NS = 100 * NS_PER_MS
"""A Beat comes at least this often: staleness is noticed without an event."""

_OVERDUE_NS = 10 * NS_PER_MS
_KEYS_REFUSED = ("key_refused", "read_key_refused")
_BLOCKING = ("account_unread", "cancels_fail", "journal_failed", *_KEYS_REFUSED)
_OPEN = (Phase.QUOTING, Phase.PAUSED)
_ENDING = (Phase.STOPPING, Phase.STOPPED)


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
        self.out = PreTradeChecks(settings.budget, settings.keys, purse, read_purse, standby_purse)
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
        self._hints = SuspectedFills(settings.staleness)
        self._sending = OrderExecutor(
            settings, self.desk, self.ledgers, self.quoting, self._hints, self.out
        )
        self._custody = OpenOrderSync(
            settings, self.desk, self.ledgers, self.quoting, self._account, self.out
        )
        self.guard = KillSwitch(settings, self.desk, self.ledgers, self.quoting, self.out)
        self.out.guard = self.guard
        self.quoting.forgets = self.guard.forget
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
        self.phase = Phase.STARTING
        self.started_ns = 0
        self.is_paper = False
        self.first_two_sided_ns: int | None = None
        self._now_ns = 0
        self._pause_wanted = False
        self._opened = False
        self._contradicted = False  # latched because the books contradict each other
        self._stirred = True  # since the last whole beat more than frames came, or some of it waits
        self._due_ns = 0  # when there is a whole beat in any case
        # Quoting, breakers and suspected fills learn of these before the next event:
        self._booked: list[tuple[AccountChange, int]] = []  # with the time of the read
        self._cancelled: dict[MarketId, bool] = {}  # True if a cancel was sent there

    @property
    def series_ticker(self) -> Ticker:
        """The series it trades."""
        return self.reconfiguration.settings.series_ticker

    def receive(self, event: m.Event, now_ns: int) -> list[m.Effect]:
        """The effects of an event, to be carried out in order. now_ns: the shell's clock, which
        never steps back. Raises nothing for any event: what the venue or a strategy does wrong
        becomes a finding."""
        gap_ns = now_ns - self._now_ns
        if gap_ns > 0:
            self._now_ns = now_ns
        self.out.effects = []
        if self._booked or self._cancelled:
            self._learn()
        if self.started_ns and gap_ns > self._staleness.gap_ns:
            self.quoting.channel.paused_for(gap_ns, self._now_ns)
            self._account.on_resume(self._now_ns)
            self._stirred = True
        self._dispatch(event)
        self._stop_for_contradiction()
        return self.out.effects

    @property
    def effects(self) -> list[m.Effect]:
        """Those of the newest event, also where taking it in has failed half-way."""
        return self.out.effects

    def report(self, now_ns: int) -> Report:
        self._learn()
        return draw(self, self.reconfiguration.settings, now_ns)

    def plan(self, now_ns: int) -> TraderPlan:
        """What would be sent next, and why; sends nothing."""
        self._learn()
        return plan_of(self, self._sending, self.reconfiguration.settings.budget.reserve, now_ns)

    @property
    def withheld(self) -> str:
        """Why no new order may leave at all; empty when one may."""
        if self.phase is not Phase.QUOTING:
            return f"{self.phase}: {self.guard.latched}" if self.guard.latched else str(self.phase)
        return "; ".join(self.out.findings[name] for name in self._blocking())

    def _dispatch(self, event: m.Event) -> None:
        now_ns = self._now_ns
        if not isinstance(event, (m.Tick, m.BookUpdate, m.Trade, m.ImpliedValueSeen, m.FeedAlive)):
            self._stirred = True
        match event:
            case m.Tick():
                self._beat()
            case m.BookUpdate() | m.Trade() | m.ImpliedValueSeen():
                self.out.counters.frames += 1
                if self.quoting.saw(event, now_ns) and not isinstance(event, m.ImpliedValueSeen):
                    self._hints.on_frame(event, self.desk.live(event.market_id), now_ns)
                    self._due_ns = min(self._due_ns, self._hints.next_due_ns)
            case m.Response():
                self._replied(event)
            case m.FeedAlive() | m.SubscriptionAccepted():
                self.quoting.channel.heard(now_ns)
            case m.FeedOpened():
                self.out.note("info", "feed_opened")
                self.quoting.channel.opened(now_ns)
            case m.FeedClosed():
                self.out.note("warning", "feed_closed", reason=event.reason)
                self.quoting.channel.closed()
            case m.MalformedFrame():
                self.out.counters.frames_garbled += 1
                self.quoting.channel.garbled(event.known, now_ns)
            case m.SubscriptionRefused():
                self.out.note("error", "subscription_refused", code=event.code)
                self.quoting.channel.refused(now_ns)
            case m.Started():
                self._started(event)
            case m.StopRequested():
                self._stop(event.reason)
            case m.PauseRequested():
                self._wanted(Phase.PAUSED, "")
                self.out.note("info", "paused", reason=event.reason)
            case m.FlattenRequested():
                self._wanted(Phase.QUOTING, event.reason or "asked for")
                self.out.note("info", "flattening", reason=event.reason)
            case m.ResumeRequested():
                self._wanted(Phase.QUOTING, "")
                said = {"reason": event.reason} if event.reason else {}
                self.out.note("info", "resumed", **said)
            case m.LatchSet():
                self._latch(event.reason, ours=False)
            case m.LatchCleared():
                self._unlatch(looked=event.looked)
            case m.Reconfigured():
                self.reconfiguration.apply(event, now_ns)
            case m.ConfigRefused():
                self.reconfiguration.refuse(event)
            case m.StrategyOverran():
                self.quoting.supervision.overran(event, now_ns)
            case m.JournalFailed():
                self.out.find("journal_failed", event.reason)
                self._stop("the journal cannot be written")

    def _started(self, event: m.Started) -> None:
        self._sending.nonce = event.boot_nonce
        self.reconfiguration.began(event.configured)
        self.started_ns = self.quoting.began_ns = self._now_ns
        self.is_paper = event.paper
        self._account.on_resume(self._now_ns)
        self._custody.restore(event, self._now_ns)
        for intent in event.open_intents:
            self.desk.add_order(OwnOrder.left_behind(intent, self._now_ns))
        if event.open_intents:
            self.out.note("warning", "unknown_creates_found", count=len(event.open_intents))
        if event.latched:
            self._latch(event.latched, ours=False)

    def _wanted(self, phase: Phase, flattening: str) -> None:
        """The operator's newest word: quote, only to shrink positions if `flattening`, or pause."""
        self._pause_wanted = phase is Phase.PAUSED
        self.quoting.flatten(flattening)
        if self.phase in _OPEN:
            self._enter(phase)

    def _enter(self, phase: Phase) -> None:
        if self.phase not in _ENDING:
            self.phase = phase
            self._clear()

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
        self._enter(Phase.LATCHED)

    def _stop_for_contradiction(self) -> None:
        """Latch if the event just taken in contradicts the books."""
        contradiction = self.out.inconsistencies.contradiction
        if contradiction is not None and not self._contradicted:
            self._contradicted = True
            self.guard.latch_by(contradiction, self._now_ns)
            self._enter(Phase.LATCHED)

    def _unlatch(self, *, looked: bool) -> None:
        """The latch is gone; where a contradiction had set it, the books are opened anew."""
        if self._contradicted and not looked:
            return
        self.guard.unlatch(looked=looked)
        if looked:
            self.out.inconsistencies.reset()
        if self._contradicted:
            self._contradicted = self._opened = False
            self._custody.reopen(self._now_ns)
        if self.phase is Phase.LATCHED:
            self._enter(self._open_phase() if self._opened else Phase.STARTING)

    def _open_phase(self) -> Phase:
        return Phase.PAUSED if self._pause_wanted else Phase.QUOTING

    def _stop(self, reason: str) -> None:
        if self.phase in _ENDING:
            return
        self._enter(Phase.STOPPING)
        for ladder in self.quoting.ladders:
            ladder.want({}, pulled=True)
        self.out.note("info", "stopping", reason=reason)

    def _replied(self, event: m.Response) -> None:
        pending = self.out.answered(event, self._now_ns)
        if pending is None:
            self.out.note("warning", "answer_without_request", request_id=event.request_id)
            return
        request = pending.request
        if pending.own is not None:
            answer = self.desk.check_response(pending, event.answer)
            self._order_answered(pending, pending.own, answer)
        elif isinstance(request, m.ReadBook):
            self.quoting.channel.book_read(request.market_id, event.answer, self._now_ns)
        elif not isinstance(request, (m.Create, m.AmendResting, m.CancelResting)):
            walk = self._account.on_answer(request, event.answer, self._now_ns)
            if walk is not None:
                self._walked(walk)
            elif isinstance(request, m.ReadResting):
                self._custody.on_orders_page(event.answer, pending.begun_ns, self._now_ns)

    def _order_answered(self, pending: Pending, own: OwnOrder, answer: m.Answer) -> None:
        changes = is_news(own, pending.request, answer)
        row = self.desk.on_response(pending, answer, self._now_ns)
        if changes:
            self.quoting.orders_changed(own.market_id)
        if own.suspicion is not None and own.suspicion.finding is OrderFinding.UNREADABLE:
            self.quoting.parking.market(own.market_id, OrderFinding.UNREADABLE, self._now_ns)
        is_read = isinstance(pending.request, m.ReadOrder)
        if isinstance(answer, m.Ok) and is_read:
            self._hints.on_read(pending.begun_ns, own)
        elif isinstance(answer, m.Ok):
            self._sending.venue.takes(pending.request, pending.begun_ns)
            if isinstance(answer.body, (m.OrderBody, m.CancelBody)):
                again = isinstance(pending.request, m.Create) and pending.request.again
                self.quoting.own_shown(answer.body.order, self._now_ns, may_be_old=again)
        if own.filled > self.ledgers.booked_qty(own):
            self._account.schedule_by(Resource.FILLS, self._now_ns)
        if row is None or is_read:
            return
        assert isinstance(answer, m.Rejected)
        if row.advice is Advice.ENDED and isinstance(pending.request, m.CancelResting):
            # A halted venue says that it is halted, before that.
            self._sending.venue.takes(pending.request, pending.begun_ns)
        create = pending.request if isinstance(pending.request, m.Create) else None
        if row.advice is Advice.PARK_VENUE:
            self._sending.venue.refuses(answer.code, self._now_ns)
        elif row.advice is Advice.PARK_MARKET:
            self.quoting.parking.market(own.market_id, answer.code, self._now_ns)
            self._account.schedule_by(
                Resource.SERIES,
                self._now_ns + PARK_MIN_NS + self._staleness.read_lag_ns + NS_PER_MS,
            )
        elif row.advice is Advice.REREAD_FUNDS:
            often = self.desk.rejects.often(own, self._now_ns)
            self.quoting.parking.for_funds(own, answer.code, self._now_ns, often=often)
            self._account.schedule_by(Resource.BALANCE, self._now_ns)
            self._account.schedule_by(Resource.POSITIONS, self._now_ns)
        elif row.advice is Advice.FIX and not (create is not None and create.again):
            # The refusal of a create sent again speaks of that sending alone.
            self.out.note("error", "request_refused", code=answer.code, message=answer.message)
            asked = create.order.qty if create is not None else Qty(0)
            if answer.code == Code.INVALID_QTY and asked > 1:
                self.quoting.parking.too_large(own.market_id, asked)
                return
            self.quoting.parking.side(own, answer.code, 60 * NS_PER_SECOND, self._now_ns)
        elif row.advice is Advice.GIVE_UP and self.desk.rejects.often(own, self._now_ns):
            self.quoting.parking.side(own, answer.code, 60 * NS_PER_SECOND, self._now_ns)

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
                self._booked.append((change, self._now_ns))
                self.quoting.on_account_change(change, self._now_ns)
                if self.ledgers.is_open and self.ledgers.series_wanted:
                    self._account.schedule_by(Resource.SERIES, self._now_ns)
                self.desk.drop_booked(self.ledgers.booked_qty, self._now_ns)
            case Resource.RESTING:
                self._custody.on_orders_list(walk.rows, walk.begun_ns, self._now_ns, self.phase)
                self._hints.on_read(walk.begun_ns)

    def _learn(self) -> None:
        """Quoting, breakers and suspected fills learn what the last event booked and cancelled."""
        for market_id, is_sent in self._cancelled.items():
            if is_sent:
                self.quoting.orders_changed(market_id)
            else:
                self.quoting.may_go(market_id)
        self._cancelled.clear()
        for change, at_ns in self._booked:
            self.guard.filled(change.fills, at_ns)
            self.quoting.learn(change, at_ns)
            self._hints.on_fills_booked(self.ledgers.booked_qty, at_ns)
        self._booked.clear()

    def _series_read(self, walk: PagedRead) -> None:
        self._custody.on_series_list(walk.missed)
        others = self.reconfiguration.settings.other_series
        beside = [row for row in walk.rows if fold_ticker(row.series_ticker) in others]
        self.ledgers.on_other_series(
            beside, walk.begun_ns - self._staleness.read_lag_ns, self._now_ns
        )
        ours = [row for row in walk.rows if row not in beside] if beside else walk.rows
        self.quoting.take_series(ours, walk.begun_ns, self._now_ns)

    def _beat(self) -> None:
        if not self.started_ns or self.phase is Phase.STOPPED:
            return
        now_ns = self._now_ns
        if not self._stirred:
            # Most beats follow a frame that calls for nothing before its time: they end here.
            due_ns = min(self._due_ns, self.quoting.due_ns(now_ns))
            if now_ns < due_ns:
                self.out.effects.append(m.WakeAt(due_ns))
                return
        out, quoting, sending = self.out, self.quoting, self._sending
        quoting.channel.watch(now_ns)
        if self.phase is Phase.STARTING:
            self._start_up()
        self._trip()
        if quoting.flattening and self.phase is Phase.QUOTING:
            self._rest_when_flat()
        quoting.weighing.await_others(now_ns)
        if now_ns >= self._account.unread_due_ns:
            self._custody.check_unread(now_ns)
        out.hold("inconsistency_observed", out.inconsistencies.observed)
        may_quote = self.phase is Phase.QUOTING and not (out.findings and self._blocking())
        self.reconfiguration.judge(now_ns, quoting=may_quote and not quoting.flattening)
        self._clear()
        self._learn()
        wishes, again_ns = self._decided(may_quote=may_quote)
        out.probe_key(now_ns)
        sending.cancel(wishes, now_ns)
        self.desk.send_due(now_ns)
        self._doubt()
        self._read()
        before = out.writes_in_flight
        sending.spend(wishes if may_quote else (), now_ns, quoting.takes if may_quote else ())
        if may_quote and self.guard.breakers.tripped:
            self._trip()  # over what has just left
            self._learn()
        if may_quote and self.first_two_sided_ns is None and quoting.all_two_sided():
            self.first_two_sided_ns = now_ns
            out.note("info", "two_sided_everywhere")
        if out.writes_in_flight > before:
            quoting.weighing.weigh()
        if self.phase is Phase.LATCHED:
            self.guard.verify_flat(self._custody, now_ns)
        if self.phase is Phase.STOPPING and self._custody.is_drained(now_ns):
            self.phase = Phase.STOPPED
            out.effects.append(self._custody.left_over())
        else:
            self._due_ns = self._wake_ns(again_ns)
            out.effects.append(m.WakeAt(self._due_ns))
        # What is not carried out yet is tried anew at the first occasion.
        self._stirred = bool(wishes or out.findings) or self.phase not in _OPEN

    def _decided(self, *, may_quote: bool) -> tuple[Sequence[tuple[MarketQuoter, Action]], int]:
        """What is wished for now, and when to look again; no plan stands in the way of stopping."""
        if self.phase is Phase.STOPPING:
            self.quoting.pnl.on_tick(self._now_ns, is_open=self.ledgers.is_open)
            return (), self._now_ns + _BEAT_NS
        if self.out.findings or self.quoting.flattening:
            self._sending.pull_growth()
        return self.quoting.decide(may_quote, self._now_ns)

    def _trip(self) -> None:
        """Latch once a breaker has tripped; what is on its way out is cancelled from here on."""
        is_due = self.guard.breakers.tripped or self._now_ns >= self.guard.judge_due_ns
        if is_due and (self.phase in _OPEN or self.phase is Phase.STARTING):
            reason = self.guard.judge(self._now_ns, opened=self._opened)
            if reason:
                self._latch(reason, ours=True)

    def _rest_when_flat(self) -> None:
        if not len(self.desk.live_orders) and self.quoting.is_flat():
            self._wanted(Phase.PAUSED, "")
            self.out.note("info", "flat")

    def _blocking(self) -> list[str]:
        """The findings that forbid every new order."""
        return [name for name in _BLOCKING if name in self.out.findings]

    def _doubt(self) -> None:
        """Read fills and orders sooner where they are in doubt."""
        heard_ns = self.quoting.channel.heard_ns
        silent = heard_ns is None or self._now_ns - heard_ns > self._staleness.feed_silence_ns
        is_hinted = self._hints.next_due_ns != NEVER_NS
        if is_hinted or silent or self.out.findings or self.desk.unknown or self.desk.unsettled:
            self._account.sweep_soon(self._now_ns)
        if is_hinted and self._hints.prefers_lists(self._now_ns):
            self._account.schedule_by(Resource.FILLS, self._now_ns)
            self._account.schedule_by(Resource.RESTING, self._now_ns)

    def _wake_ns(self, again_ns: int) -> int:
        desk_ns, hints_ns = self.desk.next_due_ns(), self._hints.next_due_ns
        soonest = min(again_ns, desk_ns, hints_ns, self._account.next_due_ns)
        # What is overdue could not be sent just now; asking at once again would be a busy loop.
        pause_ns = NS_PER_MS if soonest > self._now_ns else _OVERDUE_NS
        return max(self._now_ns + pause_ns, min(self._now_ns + _BEAT_NS, soonest))

    def _start_up(self) -> None:
        """Leave STARTING once the account is known and nothing of an earlier run is left."""
        if self._custody.refuses:
            self._stop("orders that the journal does not know rest in our rungs")
        elif self._custody.has_opened(self._now_ns):
            self._opened = True
            self.phase = self._open_phase()
            self.out.note("info", "quoting", rungs=len(self.quoting.active_rungs()))

    def _read(self) -> None:
        is_due = self._now_ns >= self._account.next_due_ns
        for walk, request in self._account.due(self._now_ns) if is_due else ():
            if not self.out.send(request, Priority.READ, f"read {walk.kind}", self._now_ns):
                return
            self._account.on_sent(walk, self._now_ns)
        for market_id in self.quoting.channel.books_to_read(self._now_ns):
            if not self.out.send(
                m.ReadBook(market_id), Priority.READ, "confirm book", self._now_ns
            ):
                return

    def left_over(self) -> m.DrainComplete:
        """What a drain that ran out of time leaves behind, for the operator."""
        return self._custody.left_over()
