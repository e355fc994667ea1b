"""Reconciles our open orders with the venue's: at the start, while quoting and at a stop.

A read that began too soon after our last write is stale; this file schedules the missing reads. At
the start a policy cancels, keeps or leaves alone the orders in our rungs that this run did not
place, and nothing is quoted before that.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

from bot.core import messages as m
from bot.core.account.poller import AccountPoller, Resource
from bot.core.account.reconciler import AccountReconciler
from bot.core.inconsistency import Inconsistency
from bot.core.orders.cancel_reasons import CancelReason
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import Outbox, keep_newest
from bot.core.quoting.engine import QuotingEngine
from bot.core.report import Phase
from bot.core.settings import Strangers, TraderSettings
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import OrderId, Ticker

_KEEP_WITHIN_NS = 5 * NS_PER_SECOND
"""Timeout, on top of four read lags, for the books and account of orders to be kept; then they are
cancelled, because nobody watches them."""

_LOGGED_MAX = 1_000
_UNREADABLE_SHOWN = 5
_REFUSED_MAX = 1_000
_SHOWN_MAX = 10

_SERIES_UNREAD = "not read for long: which events and rungs there are, their states, ends and fees"

_NO_JOURNAL = "no journal here: a first start, or one that is lost"
"""The disk cannot show which of the two it is, and the same orders are cancelled first."""


class OpenOrderSync:
    """Lists of open orders against our own, and when the account may be opened or closed."""

    def __init__(
        self,
        settings: TraderSettings,
        desk: OrderManager,
        ledgers: AccountReconciler,
        quoting: QuotingEngine,
        account: AccountPoller,
        out: Outbox,
    ) -> None:
        self._lag_ns = settings.staleness.read_lag_ns
        self._policy = settings.start.strangers
        self._desk = desk
        self._ledgers = ledgers
        self._quoting = quoting
        self._weighing = quoting.weighing
        self._account = account
        self._out = out
        self._previous_run_ns = 0  # until when an earlier run may have written; 0 without one
        self._live_ns = 0  # when an order that we found was last seen to be live
        self._new_account = False
        self._has_opened = False
        # Orders in our rungs that this run did not place:
        self._journaled: dict[OrderId, m.JournaledOrder] = {}  # until kept ones are adopted
        self._kept: dict[OrderId, model.Order] = {}  # to be adopted, as the newest list shows them
        self._keep_until_ns: int | None = None
        self._refused: dict[OrderId, None] = {}  # not in the journal, and left alone
        self._foreign: frozenset[OrderId] = frozenset()  # orders of somebody else, in the last list
        self._adopted_ns = -1  # when the last list began whose unknown orders were cancelled
        self._logged: OrderedDict[OrderId, None] = OrderedDict()
        self.unreadable: tuple[OrderId, ...] = ()
        """Orders of the last list that should be cancelled, but have an outcome or side that this
        version does not know."""
        self._missed: tuple[Ticker, ...] = ()  # other series that the last read left out

    def restore(self, started: m.Started, now_ns: int) -> None:
        """The run begins with the journal's state of earlier ones."""
        # An earlier run may have written until just before this one began.
        self._previous_run_ns = 0 if started.new_account else now_ns
        self._new_account = started.new_account
        self._ledgers.restore(started)
        self._journaled = {order.order_id: order for order in started.working}
        if started.latched:
            self._weighing.account.opened(self._weighing.member)
        if started.journal is m.JournalFate.DAMAGED:
            self._out.note("error", "journal_damaged")
        elif started.journal is m.JournalFate.LOST and not started.new_account:
            self._out.note("info", "no_journal", text=_NO_JOURNAL)

    # --- lists ------------------------------------------------------------------------------------

    def on_orders_page(self, answer: m.Answer, begun_ns: int, now_ns: int) -> None:
        """Merge a page of a list of open orders that goes on: each row is a read of its order, and
        the page says nothing of orders that it lacks."""
        if isinstance(answer, m.Ok) and isinstance(answer.body, m.OrdersBody):
            by_id = {order.order_id: order for order in answer.body.orders}
            for own in list(self._desk.live_orders):
                if own.order_id in by_id:
                    self._merge(own, by_id[own.order_id], begun_ns, now_ns)

    def _merge(self, own: OwnOrder, row: model.Order, begun_ns: int, now_ns: int) -> None:
        if own.is_shown_as_known(row):
            return  # as most are: there is nothing to reconcile
        before = _planned_by(own)
        self._desk.on_order_row(own, row, begun_ns, now_ns)
        if before != _planned_by(own):
            self._quoting.orders_changed(own.market_id)

    def on_orders_list(
        self, shown: Iterable[model.Order], begun_ns: int, now_ns: int, phase: Phase
    ) -> None:
        """Merge a whole list of open orders. While quoting, unknown orders are foreign. At the
        start the policy decides about them; in every other phase they are cancelled, unless the
        run ends before it quoted and the policy leaves them alone."""
        by_id = {order.order_id: order for order in shown}
        fills_ns = self._ledgers.booker.whole_ns
        for market_id in self._desk.on_full_list(by_id.values(), begun_ns, now_ns, fills_ns):
            self._quoting.orders_changed(market_id)
        for own in list(self._desk.live_orders):
            row = None if own.order_id is None else by_id.get(own.order_id)
            if row is not None:
                self._merge(own, row, begun_ns, now_ns)
            elif own.order_id is not None:
                self._desk.on_not_listed(own, begun_ns, now_ns)
                self._quoting.may_go(own.market_id)
        unknown = self._of_our_business(
            order
            for order in self._desk.rows_not_live(by_id)
            if not self._desk.is_known(order.order_id)
        )
        self.unreadable = ()
        self._check_closed(by_id, begun_ns, now_ns)
        if phase in (Phase.QUOTING, Phase.PAUSED):
            self._adopted_ns = -1
            self._on_foreign(unknown, begun_ns, now_ns)
        elif Resource.SERIES in self._account.done_ns:  # before, our rungs are unknown
            if not self._desk.closed_listed:
                self._adopted_ns = begun_ns
            if not unknown:
                self._set_foreign(())
            self._apply_policy(unknown, begun_ns, now_ns, phase)
        named = ", ".join(self.unreadable[:_UNREADABLE_SHOWN])
        self._out.hold("order_unreadable", f"orders that cannot be read: {named}" if named else "")

    def _check_closed(self, by_id: dict[OrderId, model.Order], begun_ns: int, now_ns: int) -> None:
        """A list that began a lag after the end of an order of ours shows it working: a sign of a
        contradiction, until a list lacks it. It is cancelled after each such list, until the venue
        answers that it is closed; then only the lists count."""
        listed = self._desk.closed_listed
        for order_id in [each for each in listed if each not in by_id]:
            del listed[order_id]
            self._out.inconsistencies.on_sign_gone(Inconsistency.CLOSED_ORDER_WORKING, order_id)
        for order in self._desk.rows_not_live(by_id):
            if not self._desk.had_ended_by(order.order_id, begun_ns - self._lag_ns):
                continue
            if order.order_id not in listed:
                listed[order.order_id] = False
                self._out.note("warning", "closed_order_listed", order_id=order.order_id)
            if not listed[order.order_id]:
                self._cancel(order, now_ns)
        for order_id in listed:
            self._desk.on_closed_working(by_id[order_id], begun_ns, now_ns)
        if listed:
            self._account.schedule_by(Resource.RESTING, now_ns + self._lag_ns)

    def _of_our_business(self, unknown: Iterable[model.Order]) -> list[model.Order]:
        """Those in our rungs, or in the journal: an earlier run placed them when the series had
        those rungs. Orders elsewhere on the account are logged once."""
        ours = []
        for order in unknown:
            if self._quoting.is_ours(order.market_id) or order.order_id in self._journaled:
                ours.append(order)
            elif (
                Resource.SERIES in self._account.done_ns
                and order.order_id not in self._logged
                and not self._missed  # whose order it may be
                and not self._ledgers.is_other_series(order.market_id)
            ):
                self._out.note("warning", "order_of_another_series", ticker=order.ticker)
                keep_newest(self._logged, order.order_id, None, _LOGGED_MAX)
        return ours

    # --- orders that this run did not place -------------------------------------------------------

    def _apply_policy(
        self, unknown: list[model.Order], begun_ns: int, now_ns: int, phase: Phase
    ) -> None:
        """Before the first quote and after the last, cancel unknown orders in our rungs, but for
        those that the policy keeps or leaves alone, and orders of an earlier run elsewhere.

        An undecided create of ours may be among them: then it counts twice until both are closed.
        Waiting could last for ever: the orders may lock the cash that its retry needs.
        """
        is_start = phase is Phase.STARTING
        refuses = self._policy is Strangers.REFUSE and (
            is_start or (phase is Phase.STOPPING and not self._ledgers.is_open)
        )
        # A stale list may show an order as it was before an amend, or one that is closed.
        is_fresh = begun_ns >= self._late_from_ns(self._previous_run_ns)
        if is_fresh or not is_start:
            self._kept = {}
        gone = [order for order in unknown if not self._quoting.is_ours(order.market_id)]
        for order in unknown:
            if not self._quoting.is_ours(order.market_id):
                continue
            known = self._journaled.get(order.order_id)
            if is_start and self._policy is Strangers.ADOPT and _is_same(known, order):
                if is_fresh:
                    self._kept[order.order_id] = order
            elif known is None and (self._refused or refuses):
                is_undecided = self._desk.may_be_undecided(order)
                if is_fresh and not is_undecided and len(self._refused) < _REFUSED_MAX:
                    self._refused[order.order_id] = None
            else:
                gone.append(order)
        for order in gone:
            self._cancel(order, now_ns)
        if self._kept and self._keep_until_ns is None:
            self._keep_until_ns = now_ns + _KEEP_WITHIN_NS + 4 * self._lag_ns
        if self._refused:
            shown = ", ".join([*self._refused][:_SHOWN_MAX])
            text = f"{len(self._refused)} orders in our rungs are not in the journal: {shown}"
            self._out.find("strangers_found", text)

    def _found(self, order: model.Order, now_ns: int) -> OwnOrder:
        """An open order as one of ours. Its row includes the fills that the list of fills keeps
        under its previous ids. Raises ValueError as `OwnOrder.found_resting`."""
        known = self._journaled.get(order.order_id)
        name = None if known is None else known.client_order_id
        own = OwnOrder.found_resting(order, now_ns, name)
        if known is not None:
            own.previous_ids = tuple(order_id for order_id, _ in known.previous_ids)
        return own

    def _cancel(self, order: model.Order, now_ns: int) -> None:
        try:
            self._desk.add_order(self._found(order, now_ns))
            self._quoting.orders_changed(order.market_id)
        except ValueError:
            self.unreadable = (*self.unreadable, order.order_id)

    def _on_foreign(self, unknown: list[model.Order], begun_ns: int, now_ns: int) -> None:
        """Foreign orders in two lists in a row: somebody else trades this account. None of ours
        rests in their rungs until theirs are gone.

        The second list is scheduled as soon as the first one cannot have lagged any more. A create
        of ours that landed after all is cancelled; one whose id is not known yet is neither.
        """
        foreign, is_undecided = [], False
        for order in unknown:
            if self._desk.may_be_undecided(order):
                is_undecided = True
            elif self._desk.is_late_arrival(order):
                self._cancel(order, now_ns)
            else:
                foreign.append(order)
        seen = [order for order in foreign if order.order_id in self._foreign]
        if seen or not is_undecided:
            self._set_foreign(seen)
        ids = frozenset(order.order_id for order in foreign)
        if ids - self._foreign:
            self._account.schedule_by(Resource.RESTING, now_ns + self._lag_ns)
        self._foreign = ids

    def _set_foreign(self, orders: Sequence[model.Order]) -> None:
        """These are all foreign orders in our rungs."""
        self._foreign = frozenset(order.order_id for order in orders)
        self._quoting.foreign_in({order.market_id for order in orders})
        shown = ", ".join(f"{order.order_id} on {order.ticker}" for order in orders[:_SHOWN_MAX])
        more = f" and {len(orders) - _SHOWN_MAX} more" if len(orders) > _SHOWN_MAX else ""
        text = f"orders that are not ours rest in our rungs: {shown}{more}"
        self._out.hold("foreign_orders", text if orders else "")

    def sought_ids(self) -> Iterator[OrderId]:
        """Ids of every order whose fills may yet be looked up, those to be kept included."""
        yield from self._desk.live_ids()
        for order_id, known in self._journaled.items():
            yield from (order_id, *(previous_id for previous_id, _ in known.previous_ids))

    def on_series_list(self, missed: tuple[Ticker, ...]) -> None:
        """The series was read. missed: other series whose rungs may not be known."""
        if missed and missed != self._missed:
            self._out.note("warning", "series_beside_unread", series=", ".join(missed))
        self._missed = missed

    def check_unread(self, now_ns: int) -> None:
        """A limit on account data that is stale for long cannot be checked: raise the finding."""
        unread = self._account.unread(now_ns)
        ours = ", ".join(kind for kind in unread if kind is not Resource.SERIES)
        self._out.hold("account_unread", f"not read for long: {ours}" if ours else "")
        self._out.hold("series_unread", _SERIES_UNREAD if Resource.SERIES in unread else "")

    # --- the start --------------------------------------------------------------------------------

    @property
    def refuses(self) -> bool:
        """True if the run must end because of orders that the journal does not know."""
        return bool(self._refused)

    def has_opened(self, now_ns: int) -> bool:
        """Open the books as soon as they may be. True if quoting may begin: the books are open,
        and those of every other series of the process, or it has waited for them long enough.

        With live orders it does not wait: they would be cancelled.
        """
        if not self._has_opened:
            if not self.may_open(now_ns):
                return False
            self._open(now_ns)
            self._has_opened = True
            self._weighing.opened(now_ns)
        return not self._weighing.await_others(now_ns) or len(self._desk.live_orders) > 0

    def may_open(self, now_ns: int) -> bool:
        """True if the account is known and only orders to be kept are left of an earlier run."""
        if self._keep_until_ns is not None and now_ns >= self._keep_until_ns:
            self._cancel_kept(now_ns)
        if len(self._desk.live_orders):
            # It may fill until it is closed: earlier reads are stale.
            self._live_ns = now_ns
            return False
        quiet_ns = max(self._previous_run_ns, self._desk.last_write_ns, self._live_ns)
        self._ledgers.on_activity(quiet_ns)
        is_listed = self._is_listed_since(quiet_ns, now_ns)
        # A new account has no fills: any read will do.
        is_read = self._ledgers.can_open if self._new_account else self._ledgers.is_bracketed
        if not (is_listed and is_read):
            self._ledgers.schedule_audit(self._account, now_ns)
            return False
        # A kept order whose rung has no book would be cancelled at once.
        ready = {rung.market_id for rung in self._quoting.active_rungs() if not rung.blocked}
        return all(order.market_id in ready for order in self._kept.values())

    def _open(self, now_ns: int) -> None:
        """The books open, and the orders kept are ours from here on, with the place they have."""
        for market_id in self._ledgers.open_books(now_ns):
            # Until now the event's loss counted the fills alone.
            self._quoting.on_holdings_change(market_id)
        adopted = []
        for order_id, shown in self._kept.items():
            own = self._found(shown, now_ns)
            own.placed_ns = min(self._journaled[order_id].placed_ns, now_ns)
            own.cancel_requested = False
            own.why = "kept from an earlier run"
            adopted.append(own)
        self._kept, self._journaled = {}, {}
        self._desk.on_books_open(adopted, self._ledgers.booked_qty)
        for own in adopted:
            self._desk.add_order(own)
            self._quoting.took_over(own.market_id)
        if adopted:
            self._out.note("info", "orders_kept", count=len(adopted))
            enforce_lowered_limits(self._quoting, self._desk)  # this run's may be tighter
        ids = tuple(own.order_id for own in adopted if own.order_id is not None)
        self._out.effects.append(m.OrdersAdopted(ids))

    def _cancel_kept(self, now_ns: int) -> None:
        """Keep nothing; a later list must not bring one of the orders back."""
        kept, self._kept = self._kept, {}
        for order_id in kept:
            self._journaled.pop(order_id, None)
        for order in kept.values():
            self._cancel(order, now_ns)
        if kept:
            self._out.note("warning", "orders_not_kept", count=len(kept))

    # --- the end ----------------------------------------------------------------------------------

    def is_drained(self, now_ns: int) -> bool:
        """True if nothing of ours is live, a late enough read shows so, and the cash was audited.

        Schedules the reads that are missing. A list of open orders is always among them, because
        unknown orders that came while quoting are cancelled only now.
        """
        self._cancel_kept(now_ns)
        quiet_ns = max(self._previous_run_ns, self._desk.last_write_ns)
        self._ledgers.on_activity(quiet_ns)
        if len(self._desk.live_orders) or not self._is_listed_since(quiet_ns, now_ns):
            return False
        if not self._ledgers.is_audited:
            self._ledgers.schedule_audit(self._account, now_ns)
            return False
        return True

    def reopen(self, now_ns: int) -> None:
        """A contradiction was reset: the books open again before anything is quoted."""
        self._has_opened = self._new_account = False
        self._live_ns = now_ns
        self._ledgers.reopen(now_ns)

    def _is_listed_since(self, quiet_ns: int, now_ns: int) -> bool:
        """True if open orders were listed late enough after `quiet_ns`; else schedules a list."""
        from_ns = self._late_from_ns(quiet_ns)
        if self._adopted_ns >= from_ns:
            return True
        self._account.schedule_by(Resource.RESTING, max(now_ns, from_ns))
        return False

    def _late_from_ns(self, quiet_ns: int) -> int:
        """A read shows all that was before `quiet_ns` if it begins from then on; 0: any read."""
        return quiet_ns + self._lag_ns if quiet_ns else 0

    def left_over(self) -> m.DrainComplete:
        """The orders that a drain leaves behind, for the operator: unknown ones that were left
        alone, and where time ran out those that the last list showed after they were closed."""
        rows = (own for own in self._desk.live_orders if own.can_rest)
        live = {own.order_id: None for own in rows if own.order_id is not None}
        resting = tuple(live | dict.fromkeys(self._desk.closed_listed))
        unnamed = (own for own in self._desk.live_orders if own.order_id is None)
        unknown = tuple(own.client_order_id for own in unnamed)
        from_ns = self._late_from_ns(max(self._previous_run_ns, self._desk.last_write_ns))
        left = (*resting, *self._refused, *self.unreadable)
        return m.DrainComplete(left, unknown, unshown=self._adopted_ns < from_ns)


def enforce_lowered_limits(quoting: QuotingEngine, desk: OrderManager) -> int:
    """Have orders cancelled, the newest first, that the limits in force do not admit together with
    all older ones. Returns how many.

    An amend to a smaller size may come after fills and then adds to them, so it cannot bring an
    order back below a limit. An order that only reduces inventory is within every limit of loss
    and position, but the number and the size of orders hold for all. Each event is looked at with
    the orders of the others live. The cancels count for no breaker: the operator wants them.
    """
    cancelled = kept = 0
    risk, pace = quoting.settings.risk, quoting.settings.pace
    beyond = _beyond_loss_and_position(quoting, desk)
    for own in desk.live_orders:
        if own.cancel_requested:
            continue
        # An order that is too large by so little that no resize would shrink it is cancelled.
        over_qty = own.remaining - risk.order_qty
        is_too_large = over_qty > 0 and not pace.resizes(over_qty, risk.order_qty)
        if kept >= risk.resting_orders or own in beyond or is_too_large:
            own.cancel_requested, own.why = True, CancelReason.BEYOND_LIMITS
            quoting.orders_changed(own.market_id)
            cancelled += 1
        else:
            kept += 1
    return cancelled


def _beyond_loss_and_position(quoting: QuotingEngine, desk: OrderManager) -> set[OwnOrder]:
    out: set[OwnOrder] = set()
    for ladder in quoting.ladders:
        bounds = quoting.weighing.bounds(ladder)
        left = quoting.weighing.exposure(ladder).bare()
        ours = {rung.market_id for rung in ladder.rungs}
        for own in desk.live_orders:
            if own.market_id not in ours:
                continue
            live = own.exposure(own.amend)
            if left.largest(live, bounds) >= live.qty_max:
                left.add_order(live)
            else:
                out.add(own)
    return out


def _is_same(known: m.JournaledOrder | None, order: model.Order) -> bool:
    """True if the journal knows a listed order, with no write of ours undecided."""
    return (
        known is not None
        and known.settled
        and known.market_id == order.market_id
        and known.outcome.value == order.outcome.value
        and known.side.value == order.side.value
    )


def _planned_by(own: OwnOrder) -> tuple[State, int, int, int, bool, bool]:
    """The fields of an order that a plan uses: while it is unknown its side gets no new one."""
    return own.state, own.filled, own.remaining, own.price, own.is_unknown, own.cancel_requested
