"""What rests in our rungs: taken over at the start, suspected while quoting, seen gone at the end.

Reads of the account say what is ours only when they began late enough after our last write; this
file asks for the ones that are missing. At the start `startup_orders` says what becomes
of orders that this run did not place, and nothing is quoted before that has been done.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

from bot.core import messages as m
from bot.core.account.poller import AccountPoller, Resource
from bot.core.account.reconciler import AccountReconciler
from bot.core.inconsistency import Inconsistency
from bot.core.lifecycle.startup_orders import StartupOrders, told_of_strangers
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import Outbox, keep_newest
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.lowered_limits import pull_beyond
from bot.core.report import Phase
from bot.core.settings import TraderSettings
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import OrderId, Ticker

_KEEP_WITHIN_NS = 5 * NS_PER_SECOND
"""So long, and four read lags, orders to be kept may wait for their books and the account; longer
they would rest unwatched, and are cancelled. So long others who trade let a start wait."""


_TOLD_MAX = 1_000
_UNREADABLE_NAMED = 5

_SERIES_UNREAD = "not read for long: which events and rungs there are, their states, ends and fees"

_NO_JOURNAL = "no journal here: a first start, or one that is lost"
"""What is on disk cannot tell the two apart, and what is cancelled first is the same."""


class OpenOrderSync:
    """Lists of resting orders against the desk, and whether the account may be opened or closed.

    unreadable: what the last list showed and was to be cancelled, if its outcome or side is none
    that this version knows: it is told, and left.
    """

    def __init__(
        self,
        settings: TraderSettings,
        desk: OrderManager,
        ledgers: AccountReconciler,
        quoting: QuotingEngine,
        account: AccountPoller,
        out: Outbox,
    ) -> None:
        self._staleness = settings.staleness
        self._heritage = StartupOrders(settings.start.strangers)
        self._desk = desk
        self._ledgers = ledgers
        self._quoting = quoting
        self._weighing = quoting.weighing
        self._account = account
        self._out = out
        self._earlier_ns = 0  # until when an earlier run may have written; 0 when there was none
        self._live_ns = 0  # when an order that we found was last seen to be live
        self._keep_until_ns: int | None = None
        self._new_account = False
        self._has_opened = False
        self._swept_strangers: frozenset[str] = frozenset()
        self._adopted_ns = -1  # when the last list of orders began whose strangers were taken over
        self._told: OrderedDict[OrderId, None] = OrderedDict()
        self.unreadable: tuple[OrderId, ...] = ()
        self._missed: tuple[Ticker, ...] = ()  # series beside ours that the last read had to miss

    def begin(self, started: m.Started, now_ns: int) -> None:
        """The run begins with what the journal tells of earlier ones."""
        # An earlier run may have written until just before this one began.
        self._earlier_ns = 0 if started.new_account else now_ns
        self._new_account = started.new_account
        self._ledgers.begin(started)
        self._heritage.known = {order.order_id: order for order in started.working}
        if started.latched:
            self._weighing.account.opened(self._weighing.member)
        if started.journal is m.JournalFate.DAMAGED:
            self._out.note("error", "journal_damaged")
        elif started.journal is m.JournalFate.LOST and not started.new_account:
            self._out.note("info", "no_journal", text=_NO_JOURNAL)

    # --- lists ------------------------------------------------------------------------------------

    def resting_page(self, answer: m.Answer, begun_ns: int, now_ns: int) -> None:
        """Merge a page of a list of resting orders that goes on, and may never be read to its end:
        each row is a read of its order, and the page says nothing of those that it lacks."""
        if isinstance(answer, m.Ok) and isinstance(answer.body, m.OrdersBody):
            by_id = {order.order_id: order for order in answer.body.orders}
            for own in list(self._desk.all_live()):
                if own.order_id in by_id:
                    self._merge(own, by_id[own.order_id], begun_ns, now_ns)

    def _merge(self, own: OwnOrder, row: model.Order, begun_ns: int, now_ns: int) -> None:
        if own.is_shown_as_known(row):
            return  # as most are: the desk would find nothing in it either
        before = _planned_by(own)
        self._desk.merge_read(own, row, begun_ns, now_ns)
        if before != _planned_by(own):
            self._quoting.orders_changed(own.market_id)

    def resting_walked(
        self, shown: Iterable[model.Order], begun_ns: int, now_ns: int, phase: Phase
    ) -> None:
        """Merge a whole list of resting orders. While quoting, strangers are foreign orders; at the
        start the policy decides about them; in every other phase they are cancelled, but that
        a run which ends before it quoted leaves alone what the policy does."""
        by_id = {order.order_id: order for order in shown}
        fills_ns = self._ledgers.booker.whole_ns
        for market_id in self._desk.explain_lost(by_id.values(), begun_ns, now_ns, fills_ns):
            self._quoting.orders_changed(market_id)
        for own in list(self._desk.all_live()):
            row = None if own.order_id is None else by_id.get(own.order_id)
            if row is not None:
                self._merge(own, row, begun_ns, now_ns)
            elif own.order_id is not None:
                self._desk.not_listed(own, begun_ns, now_ns)
                self._quoting.may_go(own.market_id)
        strangers = self._of_ours(
            order for order in self._desk.not_live(by_id) if not self._desk.knows(order.order_id)
        )
        self.unreadable = ()
        self._closed_listed(by_id, begun_ns, now_ns)
        if phase in (Phase.QUOTING, Phase.PAUSED):
            self._adopted_ns = -1
            self._suspect(strangers, begun_ns, now_ns)
        elif Resource.SERIES in self._account.done_ns:  # before, nobody knows our rungs
            if not self._desk.closed_listed:
                self._adopted_ns = begun_ns
            if not strangers:
                self._foreign_in(())
            self._take_in(strangers, begun_ns, now_ns, phase)
        named = ", ".join(self.unreadable[:_UNREADABLE_NAMED])
        self._out.hold("order_unreadable", f"orders that cannot be read: {named}" if named else "")

    def _closed_listed(self, by_id: dict[OrderId, model.Order], begun_ns: int, now_ns: int) -> None:
        """A list that began a lag after the end of an order of ours shows it working: a sign of a
        contradiction, until a list lacks it. It is cancelled each time, until the venue answers
        that it is over: then lists tell."""
        listed = self._desk.closed_listed
        for order_id in [each for each in listed if each not in by_id]:
            del listed[order_id]
            self._out.inconsistencies.on_sign_gone(Inconsistency.CLOSED_ORDER_WORKING, order_id)
        over_ns = begun_ns - self._staleness.read_lag_ns
        for order in self._desk.not_live(by_id):
            if not self._desk.ended_by(order.order_id, over_ns):
                continue
            if order.order_id not in listed:
                listed[order.order_id] = False
                self._out.note("warning", "closed_order_listed", order_id=order.order_id)
            if not listed[order.order_id]:
                self._cancel(order, now_ns)
        for order_id in listed:
            self._desk.closed_working(by_id[order_id], begun_ns, now_ns)
        if listed:
            self._account.hasten(Resource.RESTING, now_ns + self._staleness.read_lag_ns)

    def _of_ours(self, strangers: Iterable[model.Order]) -> list[model.Order]:
        """Those that are of our business; orders elsewhere on the account are told once, but for
        those that the journal knows: an earlier run placed them in what the series had then."""
        ours = []
        for order in strangers:
            if self._quoting.is_ours(order.market_id) or order.order_id in self._heritage.known:
                ours.append(order)
            elif (
                Resource.SERIES in self._account.done_ns
                and order.order_id not in self._told
                and not self._missed  # whose order it may be
                and not self._ledgers.is_beside(order.market_id)
            ):
                self._out.note("warning", "order_of_another_series", ticker=order.ticker)
                keep_newest(self._told, order.order_id, None, _TOLD_MAX)
        return ours

    def _take_in(
        self, strangers: list[model.Order], begun_ns: int, now_ns: int, phase: Phase
    ) -> None:
        """Before the first quote and after the last, what rests in our rungs is ours to cancel, but
        for what the policy keeps or leaves alone; and what an earlier run left in others is.

        The order of an undecided create of ours may be among them: then it is counted twice until
        both are over. Waiting instead could be for ever, for what rests may hold the very cash
        without which the re-send is refused.
        """
        gone = [order for order in strangers if not self._quoting.is_ours(order.market_id)]
        gone += self._heritage.to_cancel(
            [order for order in strangers if self._quoting.is_ours(order.market_id)],
            self._desk.may_be_undecided,
            starting=phase is Phase.STARTING,
            stopping=phase is Phase.STOPPING and not self._ledgers.is_open,
            fresh=begun_ns >= self._late_from_ns(self._earlier_ns),
        )
        for order in gone:
            self._cancel(order, now_ns)
        if self._heritage.kept and self._keep_until_ns is None:
            self._keep_until_ns = now_ns + _KEEP_WITHIN_NS + 4 * self._staleness.read_lag_ns
        if self._heritage.refused:
            self._out.find("strangers_found", self._heritage.refusal())

    def _cancel(self, order: model.Order, now_ns: int) -> None:
        try:
            self._desk.add(self._heritage.found(order, now_ns))
            self._quoting.orders_changed(order.market_id)
        except ValueError:
            self.unreadable = (*self.unreadable, order.order_id)

    def _suspect(self, strangers: list[model.Order], begun_ns: int, now_ns: int) -> None:
        """Foreign orders seen in two lists running: somebody else trades this account. In their
        rungs nothing of ours rests until theirs are gone.

        The second list is asked for as soon as the first one cannot have lagged any more.
        What may be a create of ours that landed after all is ours, to be cancelled, and
        what may be one whose id is not known yet is neither.
        """
        foreign, is_undecided = [], False
        for order in strangers:
            if self._desk.may_be_undecided(order):
                is_undecided = True
            elif self._desk.landed_late(order):
                self._cancel(order, now_ns)
            else:
                foreign.append(order)
        seen = [order for order in foreign if order.order_id in self._swept_strangers]
        if seen or not is_undecided:
            self._foreign_in(seen)
        ids = frozenset(order.order_id for order in foreign)
        if ids - self._swept_strangers:
            self._account.hasten(Resource.RESTING, now_ns + self._staleness.read_lag_ns)
        self._swept_strangers = ids

    def _foreign_in(self, orders: Sequence[model.Order]) -> None:
        """Somebody else has these orders in our rungs, and no others."""
        self._swept_strangers = frozenset(order.order_id for order in orders)
        self._quoting.foreign_in({order.market_id for order in orders})
        self._out.hold("foreign_orders", told_of_strangers(orders) if orders else "")

    def sought_ids(self) -> Iterator[OrderId]:
        """Ids of every order whose fills may yet be asked about, those to be kept included."""
        yield from self._desk.live_ids()
        for order_id, known in self._heritage.known.items():
            yield from (order_id, *(earlier_id for earlier_id, _ in known.previous_ids))

    def series_walked(self, missed: tuple[Ticker, ...]) -> None:
        """The series was read, but for these beside it, whose rungs need not be known."""
        if missed and missed != self._missed:
            self._out.note("warning", "series_beside_unread", series=", ".join(missed))
        self._missed = missed

    def watch(self, now_ns: int) -> None:
        """What is ours and was not read for long is a limit that cannot be checked."""
        self._weighing.await_others(now_ns)
        unread = self._account.unread(now_ns)
        ours = ", ".join(kind for kind in unread if kind is not Resource.SERIES)
        self._out.hold("account_unread", f"not read for long: {ours}" if ours else "")
        self._out.hold("series_unread", _SERIES_UNREAD if Resource.SERIES in unread else "")

    # --- the beginning ----------------------------------------------------------------------------

    @property
    def refuses(self) -> bool:
        """Whether the run must end because of orders that the journal does not know."""
        return bool(self._heritage.refused)

    def has_opened(self, now_ns: int) -> bool:
        """Open the books as soon as they may be. Whether quoting may begin: they are open, and
        those of every other series of the process, too, or it has waited for them long enough.

        What rests already is not left waiting: it would be pulled.
        """
        if not self._has_opened:
            if not self.may_open(now_ns):
                return False
            self._take_over(now_ns)
            self._has_opened = True
            self._weighing.opened(now_ns)
        return not self._weighing.await_others(now_ns) or self._desk.live_count() > 0

    def may_open(self, now_ns: int) -> bool:
        """Whether the account is known and nothing of an earlier run is left but what is kept."""
        if self._keep_until_ns is not None and now_ns >= self._keep_until_ns:
            self._cancel_kept(now_ns)
        if self._desk.live_count():
            # It may fill until it is over, whoever ends it: what was read before tells too little.
            self._live_ns = now_ns
            return False
        quiet_ns = max(self._earlier_ns, self._desk.last_write_ns, self._live_ns)
        self._ledgers.disturbed(quiet_ns)
        is_listed = self._is_listed_since(quiet_ns, now_ns)
        # A new account has no fills: any read will do.
        is_read = self._ledgers.can_open if self._new_account else self._ledgers.is_bracketed
        if not (is_listed and is_read):
            self._ledgers.plan_bracket(self._account, now_ns)
            return False
        return self._kept_can_be_quoted()

    def _take_over(self, now_ns: int) -> None:
        """The books open, and the orders kept are ours from here on, with the place they have."""
        for market_id in self._ledgers.open_books(now_ns):
            # What the event may lose was reckoned by the fills alone until now.
            self._quoting.fills_booked(market_id)
        taken = self._heritage.take_over(now_ns)
        self._desk.opens(taken, self._ledgers.booked_qty)
        for own in taken:
            self._desk.add(own)
            self._quoting.took_over(own.market_id)
        if taken:
            self._out.note("info", "orders_kept", count=len(taken))
            pull_beyond(self._quoting, self._desk)  # this run may hold to tighter limits
        ids = tuple(own.order_id for own in taken if own.order_id is not None)
        self._out.effects.append(m.OrdersAdopted(ids))

    def _kept_can_be_quoted(self) -> bool:
        """Whether every rung with an order to be kept has a book; without one it would be pulled
        at once."""
        ready = {rung.market_id for rung in self._quoting.active_rungs() if not rung.blocked}
        return all(order.market_id in ready for order in self._heritage.kept.values())

    def _cancel_kept(self, now_ns: int) -> None:
        given_up = self._heritage.give_up()
        for order in given_up:
            self._cancel(order, now_ns)
        if given_up:
            self._out.note("warning", "orders_not_kept", count=len(given_up))

    # --- the end ----------------------------------------------------------------------------------

    def drained(self, now_ns: int) -> bool:
        """Whether nothing of ours is live, a late enough read shows so, and the cash was compared.

        Asks for the reads that are missing; a list of what rests is among them in any case, for
        strangers that came since the start are told while quoting, and cancelled only now.
        """
        self._cancel_kept(now_ns)
        quiet_ns = max(self._earlier_ns, self._desk.last_write_ns)
        self._ledgers.disturbed(quiet_ns)
        if self._desk.live_count() or not self._is_listed_since(quiet_ns, now_ns):
            return False
        if not self._ledgers.is_audited:
            self._ledgers.plan_bracket(self._account, now_ns)
            return False
        return True

    def reopen(self, now_ns: int) -> None:
        """A contradiction was reset: the books are opened anew before anything is quoted."""
        self._has_opened = self._new_account = False
        self._live_ns = now_ns
        self._ledgers.reopen(now_ns)

    def _is_listed_since(self, quiet_ns: int, now_ns: int) -> bool:
        """True if what rests was listed late enough after `quiet_ns`; asks for it where not."""
        from_ns = self._late_from_ns(quiet_ns)
        if self._adopted_ns >= from_ns:
            return True
        self._account.hasten(Resource.RESTING, max(now_ns, from_ns))
        return False

    def _late_from_ns(self, quiet_ns: int) -> int:
        """From when on a read shows all that was before `quiet_ns`; 0 is never, and long ago."""
        return quiet_ns + self._staleness.read_lag_ns if quiet_ns else 0

    def left_over(self) -> m.DrainComplete:
        """What a drain leaves behind, for the operator: strangers that were left alone, and where
        it ran out of time what the last list showed although it was said to be over."""
        rows = (own for own in self._desk.all_live() if own.can_rest)
        live = {own.order_id: None for own in rows if own.order_id is not None}
        resting = tuple(live | dict.fromkeys(self._desk.closed_listed))
        unnamed = (own for own in self._desk.all_live() if own.order_id is None)
        unknown = tuple(own.client_order_id for own in unnamed)
        from_ns = self._late_from_ns(max(self._earlier_ns, self._desk.last_write_ns))
        left = (*resting, *self._heritage.refused, *self.unreadable)
        return m.DrainComplete(left, unknown, unshown=self._adopted_ns < from_ns)


def _planned_by(own: OwnOrder) -> tuple[State, int, int, int, bool, bool]:
    """What of an order a plan is made of: while it is unknown its side gets no new one."""
    return own.state, own.filled, own.remaining, own.price, own.is_unknown, own.cancel_requested
