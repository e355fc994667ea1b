"""The trader: `receive(event, now_ns) -> effects`, a pure function of its event log.

Believe on every event, decide on a Beat. One life: STARTING (settle what an earlier run left, read
the account, cancel what rests) -> QUOTING <-> PAUSED -> STOPPING (cancel all, verify by a read) ->
STOPPED. What it believes of markets is in `quoting`, of its orders in `desk`, of its account in
`account`; what it may spend in `outbox`; this file ties the knots and holds no rule of its own.

Source: design, laws 2, 3, 6 and 8; reliability, B1-B13.
"""

from collections.abc import Callable, Iterable
from typing import Any

from bot.core import messages as m
from bot.core.account import Account, Kind, Walk
from bot.core.desk import Desk
from bot.core.ledgers import Ledgers
from bot.core.order import OwnOrder
from bot.core.outbox import Outbox, Pending
from bot.core.picture import draw
from bot.core.quoting import Quoting
from bot.core.reconcile import WantAmend, WantCancel, WantCreate, Wish
from bot.core.report import Phase, Report
from bot.core.room import PARK_MIN_NS, Rung
from bot.core.settings import TraderSettings
from bot.core.spend import Lane
from bot.core.strategy import Strategy
from venue.wire import codec, model
from venue.wire.errors import Advice, Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Qty, canonical
from venue.wire.names import ClientOrderId, Ticker
from venue.wire.requests import Amend, QtyOrder, TimeInForce

_BEAT_NS = 100 * NS_PER_MS
"""A Beat comes at least this often: staleness is noticed without an event."""

_OVERDUE_NS = 10 * NS_PER_MS
_VENUE_PARK_NS = 5 * NS_PER_SECOND


class Trader:
    """One series on one account. Feed it every event in order; carry out what it returns."""

    def __init__(self, settings: TraderSettings, make_strategy: Callable[[], Strategy]) -> None:
        self._settings = settings
        self._trust = settings.trust
        self.out = Outbox(settings.budget)
        self.desk = Desk(settings.trust, self.out)
        self.ledgers = Ledgers(settings.trust, self.desk, self.out)
        self.quoting = Quoting(settings, make_strategy, self.desk, self.ledgers, self.out)
        self._account = Account(settings.series_ticker, settings.trust, self._fills_known)
        self.phase = Phase.STARTING
        self.started_ns = 0
        self.first_two_sided_ns: int | None = None
        self._now_ns = 0
        self._nonce = ""
        self._new_account = False
        self._orders_made = 0
        self._journal_failed = False
        self._pause_wanted = False
        self._swept_strangers: frozenset[str] = frozenset()
        self._adopted_ns = -1  # when the last list of orders began whose strangers were taken over
        self._venue_parked_until_ns: int | None = None
        self._cancels_parked = False

    @property
    def series_ticker(self) -> Ticker:
        """The series it trades."""
        return self._settings.series_ticker

    def receive(self, event: m.Event, now_ns: int) -> list[m.Effect]:
        """Take one event in. now_ns: the shell's clock, which never steps back.

        Returns the effects to carry out, in order; an empty list most of the time. Raises nothing
        for any event: what the venue or a strategy does wrong becomes a finding.
        """
        gap_ns = now_ns - self._now_ns
        self._now_ns = max(self._now_ns, now_ns)
        self.out.effects = []
        if self.started_ns and gap_ns > self._trust.gap_ns:
            self.quoting.paused_for(gap_ns, self._now_ns)
        self._dispatch(event)
        return self.out.effects

    def report(self, now_ns: int) -> Report:
        """The whole picture at this instant; changes nothing."""
        return draw(self, self._settings, now_ns)

    # --- events -----------------------------------------------------------------------------------

    def _dispatch(self, event: m.Event) -> None:
        now_ns = self._now_ns
        match event:
            case m.BookSeen() | m.TradeSeen() | m.ImpliedValueSeen():
                self.out.frames += 1
                if self.quoting.saw(event, now_ns):
                    self._hasten_sweep()
            case m.Replied():
                self._replied(event)
            case m.Beat():
                self._beat()
            case m.FeedHeard() | m.SubscriptionAccepted():
                self.quoting.heard(now_ns)
            case m.FeedOpened():
                self.quoting.feed_opened(now_ns)
            case m.FeedClosed():
                self.out.note("warning", "feed_closed", reason=event.reason)
                self.quoting.feed_closed()
            case m.FrameGarbled():
                self.out.frames_garbled += 1
                self.quoting.garbled(event.known, now_ns)
            case m.SubscriptionRefused():
                self.out.note("error", "subscription_refused", code=event.code)
                self.quoting.subscription_refused(now_ns)
            case m.Started():
                self._started(event)
            case m.StopRequested():
                self._stop(event.reason)
            case m.PauseRequested():
                self._pause_wanted = True
                self.out.note("info", "paused", reason=event.reason)
                if self.phase is Phase.QUOTING:
                    self.phase = Phase.PAUSED
            case m.ResumeRequested():
                self._pause_wanted = False
                self.out.note("info", "resumed")
                if self.phase is Phase.PAUSED:
                    self.phase = Phase.QUOTING
            case m.JournalFailed():
                self._journal_failed = True
                self.out.find("journal_failed", event.reason)
                self._stop("the journal cannot be written")

    def _started(self, event: m.Started) -> None:
        self._nonce = event.boot_nonce
        self._new_account = event.new_account
        self.started_ns = self._now_ns
        self.out.purse.begin(self._now_ns)
        for intent in event.open_intents:
            self.desk.add(OwnOrder.left_behind(intent, self._now_ns))
        if event.open_intents:
            self.out.note("warning", "unknown_creates_found", count=len(event.open_intents))

    def _stop(self, reason: str) -> None:
        if self.phase in (Phase.STOPPING, Phase.STOPPED):
            return
        self.phase = Phase.STOPPING
        self.out.note("info", "stopping", reason=reason)

    # --- answers ----------------------------------------------------------------------------------

    def _replied(self, event: m.Replied) -> None:
        pending = self.out.answered(event, self._now_ns)
        if pending is None:
            self.out.note("warning", "answer_without_request", request_id=event.request_id)
            return
        request = pending.request
        if pending.own is not None:
            self._order_answered(pending, pending.own, event.answer)
        elif isinstance(request, m.ReadBook):
            self.quoting.book_read(request.market_id, event.answer, self._now_ns)
        elif not isinstance(request, m.Create | m.AmendResting | m.CancelResting):
            walk = self._account.take_answer(request, event.answer, self._now_ns)
            if walk is not None:
                self._walked(walk)

    def _order_answered(self, pending: Pending, own: OwnOrder, answer: m.Answer) -> None:
        row = self.desk.take_answer(pending, answer, self._now_ns)
        self.quoting.orders_changed(own.market_id)
        if isinstance(answer, m.Done) and not isinstance(pending.request, m.ReadOrder):
            self._venue_parked_until_ns = None
            self._cancels_parked = False
            if isinstance(answer.body, m.OrderShown | m.CancelShown):
                self.quoting.own_shown(answer.body.order)
        if own.filled > self.ledgers.booked_qty(own):
            self._hasten_sweep()
        if not own.is_live and row is None:
            self.quoting.funds_changed()
        if row is None or isinstance(pending.request, m.ReadOrder):
            return
        assert isinstance(answer, m.Refused)
        if row.advice is Advice.PARK_VENUE:
            self._venue_parked_until_ns = self._now_ns + _VENUE_PARK_NS
            self._cancels_parked = answer.code == Code.VENUE_HALTED
            self.out.note("warning", "venue_parked", code=answer.code)
        elif row.advice is Advice.PARK_MARKET:
            self.quoting.park_market(own.market_id, answer.code, self._now_ns)
            self._account.hasten(
                Kind.SERIES, self._now_ns + PARK_MIN_NS + self._trust.read_lag_ns + NS_PER_MS
            )
        elif row.advice is Advice.REREAD_FUNDS:
            self.quoting.park_for_funds(own, answer.code, self._now_ns)
            self._account.hasten(Kind.BALANCE, self._now_ns)
            self._account.hasten(Kind.POSITIONS, self._now_ns)
        elif row.advice is Advice.FIX and not own.is_unknown:
            self.out.note("error", "request_refused", code=answer.code, message=answer.message)
            self.quoting.park_side(own, answer.code, 60 * NS_PER_SECOND, self._now_ns)

    def _hasten_sweep(self) -> None:
        """Fills are likely: read them as soon as a tenth of a second after the last look."""
        for kind in (Kind.FILLS, Kind.RESTING):
            last_ns = self._account.done_ns.get(kind, 0)
            self._account.hasten(kind, max(self._now_ns, last_ns + _BEAT_NS))

    def _fills_known(self, kind: Kind, rows: tuple[Any, ...]) -> bool:
        return kind is Kind.FILLS and self.ledgers.all_booked_before(rows)

    def _walked(self, walk: Walk) -> None:
        """A list has been read to its end."""
        match walk.kind:
            case Kind.SERIES:
                self.quoting.take_series(walk.rows, walk.begun_ns, self._now_ns)
            case Kind.BALANCE:
                self.ledgers.balance_read(walk.rows[0], walk.begun_ns, self._now_ns)
            case Kind.POSITIONS:
                self.ledgers.positions_read(walk.rows, walk.begun_ns, self._now_ns)
            case Kind.FILLS:
                for market_id in self.ledgers.fills_read(
                    walk.rows, walk.begun_ns, self._now_ns, self.desk.live_ids()
                ):
                    self.quoting.fills_booked(market_id)
                self.desk.forget_settled(self.ledgers.booked_qty, self._now_ns)
            case Kind.RESTING:
                self._resting_walked(walk.rows, walk.begun_ns)

    def _resting_walked(self, shown: Iterable[model.Order], begun_ns: int) -> None:
        by_id = {order.order_id: order for order in shown}
        for market_id in self.desk.explain_lost(by_id.values(), begun_ns):
            self.quoting.orders_changed(market_id)
        for own in list(self.desk.all_live()):
            if own.order_id is None:
                continue
            before = (own.state, own.filled, own.remaining, own.price)
            if own.order_id in by_id:
                self.desk.merge_list_row(own, by_id[own.order_id], begun_ns)
            else:
                self.desk.missing_from_list(own, begun_ns, self._now_ns)
            if before != (own.state, own.filled, own.remaining, own.price):
                self.quoting.orders_changed(own.market_id)
        strangers = [order for order in by_id.values() if not self.desk.knows(order.order_id)]
        if self.phase in (Phase.STARTING, Phase.STOPPING):
            self._adopt(strangers, begun_ns)
        else:
            self._suspect(strangers, begun_ns)

    def _adopt(self, strangers: list[model.Order], begun_ns: int) -> None:
        """Before the first quote and after the last, what rests in our rungs is ours to cancel.

        Before the series is read nobody knows our rungs: such a list says nothing, and another one
        is asked for. The order of an undecided create of ours may be among them: then it is
        counted twice until both are over. Waiting instead could be for ever, for what rests may
        hold the very cash without which the re-send is refused.
        """
        if Kind.SERIES not in self._account.done_ns:
            return
        self._adopted_ns = begun_ns
        for order in strangers:
            if not self.quoting.is_ours(order.market_id):
                self.out.note("warning", "order_of_another_series", ticker=order.ticker)
                continue
            try:
                self.desk.add(OwnOrder.found_resting(order, self._now_ns))
                self.quoting.orders_changed(order.market_id)
            except ValueError:
                self.out.find("order_unreadable", f"order {order.order_id} cannot be read")

    def _suspect(self, strangers: list[model.Order], begun_ns: int) -> None:
        """Foreign orders seen in two lists running: somebody else trades this account (row 63).

        What may be a create of ours that landed after all is ours, to be cancelled (row 25).
        """
        if self.desk.creates_undecided():
            return
        late = [order for order in strangers if self.desk.landed_late(order)]
        if late:
            self._adopt(late, begun_ns)
            strangers = [order for order in strangers if order not in late]
        foreign = frozenset(
            order.order_id for order in strangers if self.quoting.is_ours(order.market_id)
        )
        if foreign & self._swept_strangers:
            self.out.find("foreign_orders", "orders that are not ours rest in our rungs")
        elif not foreign:
            self.out.clear("foreign_orders")
        self._swept_strangers = foreign

    # --- the beat ---------------------------------------------------------------------------------

    def _beat(self) -> None:
        if not self.started_ns or self.phase is Phase.STOPPED:
            return
        self.quoting.watch(self._now_ns)
        if self.phase is Phase.STARTING:
            self._start_up()
        may_quote = self.phase is Phase.QUOTING and not self._blocked()
        if self.phase is Phase.STOPPING:
            for own in self.desk.all_live():
                own.doomed = True
        wishes, again_ns = self.quoting.decide(may_quote, self._now_ns)
        self._cancel(wishes)
        self.desk.recover(self._now_ns)
        self._read()
        if may_quote:
            self._quote(wishes)
        if self.first_two_sided_ns is None and self.quoting.all_two_sided():
            self.first_two_sided_ns = self._now_ns
            self.out.note("info", "two_sided_everywhere")
        self.quoting.weigh()
        if self.phase is Phase.STOPPING and self._drained():
            self.phase = Phase.STOPPED
            self.out.effects.append(m.Finished((), ()))
        else:
            self.out.effects.append(m.WakeAt(self._wake_ns(again_ns)))

    def _blocked(self) -> bool:
        """Whether a finding forbids every new order."""
        blocking = ("foreign_orders", "position_differs", "journal_failed", "key_refused")
        return any(name in self.out.findings for name in blocking)

    def _wake_ns(self, again_ns: int) -> int:
        soonest = min(again_ns, self.desk.next_due_ns(), self._account.next_due_ns())
        # What is overdue could not be sent just now; asking at once again would be a busy loop.
        pause_ns = NS_PER_MS if soonest > self._now_ns else _OVERDUE_NS
        return max(self._now_ns + pause_ns, min(self._now_ns + _BEAT_NS, soonest))

    def _start_up(self) -> None:
        """Leave STARTING once the account is known and nothing of an earlier run is left."""
        done = self._account.done_ns
        if any(kind not in done for kind in Kind) or self.desk.live_count():
            return
        # An earlier run may have written until just before this one began.
        before_ns = 0 if self._new_account else self.started_ns
        if not self._read_since(max(before_ns, self.desk.last_write_ns)):
            return
        self.ledgers.open_books()
        self.phase = Phase.PAUSED if self._pause_wanted else Phase.QUOTING
        self.out.note("info", "quoting", rungs=len(self.quoting.active_rungs()))

    def _read_since(self, quiet_ns: int) -> bool:
        """Whether the account was read late enough after `quiet_ns`; 0 is never, and long ago.

        Asks for the lists that are missing.
        """
        from_ns = quiet_ns + self._trust.read_lag_ns if quiet_ns else 0
        fresh = True
        for kind in (Kind.BALANCE, Kind.FILLS, Kind.RESTING, Kind.POSITIONS):
            begun_ns = self._account.begun_ns.get(kind, -1)
            if kind is Kind.RESTING:
                begun_ns = self._adopted_ns
            if begun_ns < from_ns:
                again_ns = self._account.done_ns.get(kind, 0) + _BEAT_NS
                self._account.hasten(kind, max(self._now_ns, from_ns, again_ns))
                fresh = False
        return fresh

    def _cancel(self, wishes: list[tuple[Rung, Wish]]) -> None:
        parked = self._cancels_parked and self._parked()
        for rung, wish in wishes:
            if not isinstance(wish, WantCancel) or not wish.order.is_free:
                continue
            if parked or not self.desk.send_cancel(wish.order, wish.why, self._now_ns):
                return
            rung.orders_changed()
            if self._cancels_parked:
                self._venue_parked_until_ns = self._now_ns + _VENUE_PARK_NS
                return

    def _parked(self) -> bool:
        """Whether the venue has told us to keep away; every five seconds one write may probe."""
        until_ns = self._venue_parked_until_ns
        return until_ns is not None and self._now_ns < until_ns

    def _read(self) -> None:
        for walk, request in self._account.wanted(self._now_ns):
            if not self.out.send(request, Lane.READ, f"read {walk.kind}", self._now_ns):
                return
            self._account.asked(walk)
        for market_id in self.quoting.books_to_read(self._now_ns):
            if not self.out.send(m.ReadBook(market_id), Lane.READ, "confirm book", self._now_ns):
                return

    def _quote(self, wishes: list[tuple[Rung, Wish]]) -> None:
        """Amends and creates, the most valuable first, for as long as they may be sent."""
        if self._journal_failed or self._parked():
            return
        ranked = [
            (self.quoting.value(rung, wish), place, rung, wish)
            for place, (rung, wish) in enumerate(wishes)
            if not isinstance(wish, WantCancel) and rung.may_send
        ]
        ranked.sort(key=lambda row: (-row[0], row[1]))
        for _, _, rung, wish in ranked:
            if self.out.writes_in_flight >= self._settings.pace.requests_in_flight:
                return
            if self._venue_parked_until_ns is not None and self.out.writes_in_flight:
                return
            sent = self._amend(wish) if isinstance(wish, WantAmend) else self._create(rung, wish)
            if not sent:
                continue
            rung.orders_changed()
            if self._venue_parked_until_ns is not None:
                self._venue_parked_until_ns = self._now_ns + _VENUE_PARK_NS
                return

    def _amend(self, wish: Wish) -> bool:
        assert isinstance(wish, WantAmend)
        own, amend = wish.order, wish.amend
        if amend.qty is not None and not self.desk.amends_of_size:
            if amend.price is None:
                return self.desk.send_cancel(own, "too much here", self._now_ns)
            amend = Amend(price=amend.price)
        # A smaller size too: fills may come first, and then the amend sets the remainder (S13).
        if not self.quoting.admits_amend(own, amend):
            return self.desk.send_cancel(own, "the change could pass a limit", self._now_ns)
        return self.desk.send_amend(own, amend, wish.why, self._now_ns)

    def _create(self, rung: Rung, wish: Wish) -> bool:
        assert isinstance(wish, WantCreate)
        if self.desk.live_count() >= self._settings.risk.resting_orders:
            return False
        qty = self.quoting.admits_create(rung, wish, self._now_ns)
        if qty < 1:
            return False
        self._orders_made += 1
        order = QtyOrder(
            rung.market_id,
            wish.outcome,
            wish.own_side,
            canonical(wish.outcome, wish.price),
            Qty(qty),
            TimeInForce.GTC,
            ClientOrderId(f"{self._nonce}-{self._orders_made}"),
        )
        request = m.Create(order, codec.encode_new_order(order), False)
        own = OwnOrder.first_sent(order, request.body, self._now_ns, wish.why)
        return self.desk.send_create(own, request, self._now_ns)

    # --- the end ----------------------------------------------------------------------------------

    def _drained(self) -> bool:
        """Whether nothing of ours is live, a late enough read shows so, and the cash was compared.

        Asks for the reads that are missing.
        """
        quiet_ns = max(self.desk.last_write_ns, self.ledgers.booked_ns)
        if self.desk.live_count() or not self._read_since(quiet_ns):
            return False
        if self.ledgers.compared_since(quiet_ns):
            return not self.out.pending
        if self.ledgers.balance_ended_ns is None:
            self._account.hasten(Kind.BALANCE, self._now_ns)
        else:
            compare_ns = self.ledgers.balance_ended_ns + self._trust.read_lag_ns
            again_ns = self._account.begun_ns[Kind.FILLS] + _BEAT_NS
            self._account.hasten(Kind.FILLS, max(self._now_ns, compare_ns, again_ns))
        return False

    def left_over(self) -> m.Finished:
        """What a drain that ran out of time leaves behind, for the operator."""
        resting = tuple(own.order_id for own in self.desk.all_live() if own.order_id is not None)
        unknown = tuple(own.client_order_id for own in self.desk.all_live() if own.order_id is None)
        return m.Finished(resting, unknown)
