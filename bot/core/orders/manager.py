"""Own orders that may be live or have unbooked fills: requests about them, and the meaning of every
answer, read and list.

An answer becomes an event of `transitions` by the errors table. Due times become recovery requests:
retry a create after a timeout as it was, cancel and read an order whose amend timed out,
hedge and retry a cancel. No timer ends an unknown order.

An order is indexed after each change, so that a tick on which nothing is due walks over no orders.
Every map has a bound. An ended order leaves at once, or when its fills are booked.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from bot.core.inconsistency import Inconsistency
from bot.core.messages import (
    AmendResting,
    Answer,
    Body,
    CancelBody,
    CancelResting,
    Create,
    CreateResolved,
    Ok,
    OrderBody,
    ReadOrder,
    Rejected,
    Request,
    Unknown,
    VenueCapabilities,
)
from bot.core.orders.cancel_reasons import CancelReason
from bot.core.orders.order import (
    UNDONE,
    Contradiction,
    OrderEvent,
    OrderFinding,
    OwnOrder,
    Slot,
    State,
    slot_shown,
)
from bot.core.orders.outbox import HANGS_NS, NEVER_NS, Outbox, Pending, keep_newest
from bot.core.orders.reject_policy import POLICIES
from bot.core.orders.rejects import ForeignCancels, RejectHistory
from bot.core.orders.request_budget import Priority
from bot.core.report import TakeOutcome
from bot.core.settings import StalenessSettings
from venue.wire import model
from venue.wire.errors import CODES, Advice, Code, Row, Sequenced, row_for
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import Amend, QtyOrder, keeps_priority

_NEW_UNKNOWN: Final = State.NEW_UNKNOWN
_UNCLEAR: Final = (State.REPLACE_UNKNOWN, State.CLOSED_UNCONFIRMED)
_SUSPECTED: Final = frozenset(OrderFinding)
_SETTLES: Final = (State.OPEN, *_UNCLEAR)
_PENDING_CANCEL: Final = State.PENDING_CANCEL

REPEAT_NS: Final = 200 * NS_PER_MS
"""The first retry of a create or cancel after a timeout."""

UNKNOWN_OLD_NS: Final = 30 * NS_PER_SECOND
"""An order unknown for so long raises an alert; its exposure stays counted."""

CANCEL_AGAIN_NS: Final = 10 * NS_PER_SECOND
"""Retry of a cancel that a halted market rejected, or of an order that nothing finds. A new state
of the market, or a read that shows the order, brings the retry forward."""

MISSING_FOR_NS: Final = 10 * NS_PER_SECOND
"""An order that neither lists nor reads have shown for so long is cancelled: the answer is the
engine's own word."""

LIVE_MAX: Final = 5_000
"""Orders possibly live at once. At the bound none is created, and none is adopted."""

UNSETTLED_MAX: Final = 5_000
"""Ended orders whose fills are not all booked. At the bound no order is created."""

ENDED_IDS_MAX: Final = 20_000
"""Ids of ended orders, so that a stale list does not make our own order an unknown one. 3 MB."""

ENDED_KEPT_NS: Final = 1_800 * NS_PER_SECOND
"""Their age at most, far above the latency of a list."""

STRAYS_MAX: Final = 1_000
"""Slots at which an order of ours may yet appear that no list showed."""

_BOOKED_WITHIN_NS: Final = 10 * NS_PER_SECOND

_V = TypeVar("_V")


class _Walk(NamedTuple):
    """When a full list of resting orders began and ended."""

    begun_ns: int
    now_ns: int
    fills_begun_ns: int
    """When the newest full walk of the fills began; below zero without one."""


class OrderManager:
    """The orders, the requests about them, and the meaning of the answers."""

    def __init__(self, staleness: StalenessSettings, out: Outbox) -> None:
        self._staleness = staleness
        self._out = out
        self.live_orders: dict[OwnOrder, None] = {}
        """Every order that may still trade, in the order they were placed."""
        self._by_market: dict[MarketId, list[OwnOrder]] = {}
        self._by_id: dict[OrderId, OwnOrder] = {}
        self._attention: dict[OwnOrder, None] = {}
        self.unknown: dict[OwnOrder, int] = {}
        """Orders with a write in flight or after a timeout, and suspected ones; since when."""
        self.unsettled: dict[OwnOrder, int] = {}
        """Ended orders with fills that are not all booked, and since when."""
        # When it ended, and its client_order_id; empty for an order that was found resting.
        self._ended: OrderedDict[OrderId, tuple[int, ClientOrderId]] = OrderedDict()
        self._strays: OrderedDict[Slot, None] = OrderedDict()
        self.rejects = RejectHistory()
        self._foreign_cancels = ForeignCancels(out)
        self.amends_off: CancelReason | None = None
        """Why no order is amended: the venue's amends keep no place, or one gave its order another
        id (S13)."""
        self.amends_of_size = True
        """False once the venue took an amend's qty for the order's total."""
        self.last_write_ns = 0
        """The last answer to any write of ours."""
        self._foreign_responses = 0
        self._filled_fell: dict[OwnOrder, int] = {}
        """Closed orders that a read showed with fewer fills, and when to read each again."""
        self.closed_listed: dict[OrderId, bool] = {}
        """Closed orders that reads show working. True once a cancel was answered that it is
        over."""
        # Two lists, and the fills between them, should be read before such a create is sent again.
        listed_ns = 2 * staleness.read_lag_ns + 3 * staleness.poll_orders_fast_ns
        self._resend_refused_ns = max(staleness.refused_resend_ns, listed_ns)
        self._resend_refused_max_ns = max(4 * self._resend_refused_ns, staleness.unread_ns)

    def obey(self, capabilities: VenueCapabilities) -> None:
        """Cancel and create instead of every amend, at a venue whose amends keep no place."""
        if not capabilities.amend_keeps_place:
            self.amends_off = CancelReason.NO_AMENDS

    # --- questions --------------------------------------------------------------------------------

    def live(self, market_id: MarketId) -> list[OwnOrder]:
        """Orders of one market that may still trade, in the order they were placed."""
        return self._by_market.get(market_id, [])

    def has_fills(self, market_id: MarketId) -> bool:
        """True if `with_fills` may find an order."""
        if self.unsettled:
            return True
        for own in self._by_market.get(market_id, ()):  # noqa: SIM110 - a generator costs more
            if own.filled:
                return True
        return False

    def with_fills(self, market_id: MarketId) -> list[OwnOrder]:
        """Orders of one market that have filled, live or ended, until their fills are booked."""
        filled = [own for own in self.live(market_id) if own.filled]
        if self.unsettled:
            filled += [own for own in self.unsettled if own.market_id == market_id]
        return filled

    def live_ids(self) -> list[OrderId]:
        """Ids of every order whose fills may still be asked about."""
        ids = [*self._by_id, *(own.order_id for own in self.unsettled if own.order_id)]
        for own in (*self._by_id.values(), *self.unsettled):
            ids += own.previous_ids
        return ids

    def rows_not_live(self, listed: Mapping[OrderId, _V]) -> list[_V]:
        """The rows of a list that are of no live order, in its order."""
        return [row for order_id, row in listed.items() if order_id not in self._by_id]

    def owner_of(self, order_id: OrderId) -> OwnOrder | None:
        """The order whose fills may still be asked about under an id, a previous one included."""
        own = self._by_id.get(order_id)
        if own is not None:
            return own
        for own in (*self.unsettled, *self._by_id.values()):
            if order_id == own.order_id or order_id in own.previous_ids:
                return own
        return None

    def is_known(self, order_id: OrderId) -> bool:
        """True if an order id is one of ours, live or ended."""
        return order_id in self._by_id or order_id in self._ended

    def had_ended_by(self, order_id: OrderId, at_ns: int) -> bool:
        """True if an order of ours with this id was over at an instant, as far as we know."""
        ended = self._ended.get(order_id)
        return ended is not None and order_id not in self._by_id and ended[0] <= at_ns

    def is_other_order(self, order_id: OrderId, own: OwnOrder) -> bool:
        """True if this id is, or was, that of another order of ours. An order that was found
        resting may be the same one."""
        held = self._by_id.get(order_id)
        if held is not None:
            return held is not own and held.client_order_id not in ("", own.client_order_id)
        if order_id not in self._ended or order_id in own.previous_ids:
            return False
        ended_ns, name = self._ended[order_id]
        return name not in ("", own.client_order_id) or ended_ns < own.placed_ns

    def live_order(self, order_id: OrderId) -> OwnOrder | None:
        return self._by_id.get(order_id)

    def has_open_ids(self) -> bool:
        """True if an order of ours may rest under an id that we do not know yet."""
        return any(own.is_id_open for own in self.live_orders)

    def is_awaiting_fills(self) -> bool:
        """True if a walk of the fills may confirm that an order is over that no list shows."""
        return any(
            own.evidence is not None and (own.evidence.unlisted_ns is not None or own.is_take)
            for own in self._attention
        )

    def may_be_undecided(self, shown: model.Order) -> bool:
        """True if an unknown order may be one whose id is open: same market, outcome and side."""
        return any(
            own.market_id == shown.market_id
            and own.outcome.value == shown.outcome.value
            and own.side.value == shown.side.value
            for own in self.live_orders
            if own.is_id_open
        )

    def oldest_unknown_ns(self, now_ns: int) -> int:
        """The age of the oldest unknown order; 0 when there is none. No age ends one."""
        if not self.unknown:
            return 0
        return now_ns - min(self.unknown.values())

    def is_late_arrival(self, shown: model.Order) -> bool:
        """True if an unknown order may be one of ours that no list had shown."""
        return slot_shown(shown) in self._strays

    # --- indexes ----------------------------------------------------------------------------------

    def add_order(self, own: OwnOrder) -> None:
        """Index an order. At the bound an adopted one waits for the next list."""
        is_adopted = own.from_previous_run and own.cancel_requested and own.order_id is not None
        if is_adopted and len(self.live_orders) >= LIVE_MAX:
            return
        self.live_orders[own] = None
        self._by_market.setdefault(own.market_id, []).append(own)
        self._index(own, own.last_write_ns)
        assert len(self.live_orders) <= 2 * LIVE_MAX
        assert len(self._by_id) <= len(self.live_orders)

    def is_full(self) -> bool:
        return len(self.live_orders) >= LIVE_MAX or len(self.unsettled) >= UNSETTLED_MAX

    def _index(self, own: OwnOrder, at_ns: int) -> None:
        """Keep the indexes true after an order changed at `at_ns`."""
        if own.state is State.CLOSED:
            self._index_closed(own, at_ns)
        else:
            if own.order_id is not None:
                self._by_id[own.order_id] = own
                is_unclear = own.suspicion is not None or own.state in _UNCLEAR
                if is_unclear and own.read_due_ns is None:
                    own.read_due_ns = at_ns + self._staleness.read_lag_ns
            is_due = own.state is _NEW_UNKNOWN or own.read_due_ns is not None
            if is_due or own.cancel_requested or own.evidence is not None:
                self._attention[own] = None
            else:
                self._attention.pop(own, None)
            if not own.is_unknown:
                self.unknown.pop(own, None)
            elif own not in self.unknown:
                self.unknown[own] = at_ns
        if own.suspicion is not None or not _SUSPECTED.isdisjoint(self._out.findings):
            self._report_suspects()

    def _index_closed(self, own: OwnOrder, at_ns: int) -> None:
        if own in self.live_orders:
            del self.live_orders[own]
            orders = self._by_market[own.market_id]
            orders.remove(own)
            if not orders:
                del self._by_market[own.market_id]
            self._attention.pop(own, None)
            self.unknown.pop(own, None)
        if own.order_id is not None:
            self._end_id(own, own.order_id, at_ns)
        if own.filled > 0:
            self.unsettled.setdefault(own, at_ns)
        assert len(self.unsettled) <= UNSETTLED_MAX + 2 * LIVE_MAX

    def _end_id(self, own: OwnOrder, order_id: OrderId, at_ns: int) -> None:
        """An order rests no longer under an id."""
        if self._by_id.get(order_id) is own:
            del self._by_id[order_id]
        keep_newest(self._ended, order_id, (at_ns, own.client_order_id), ENDED_IDS_MAX)
        while next(iter(self._ended.values()))[0] < at_ns - ENDED_KEPT_NS:
            self._ended.popitem(last=False)

    def _report_suspects(self) -> None:
        """Set the alerts about suspected orders, and clear those without an order."""
        for finding in OrderFinding:
            about = [
                f"order {own.order_id or own.client_order_id}: {own.suspicion.why}"
                for own in self.unknown
                if own.suspicion is not None and own.suspicion.finding is finding
            ]
            self._out.hold(finding, "; ".join(about[:5]))

    def _keep_strays(self, own: OwnOrder) -> None:
        for slot in own.slots:
            keep_newest(self._strays, slot, None, STRAYS_MAX)

    def on_books_open(
        self, taken: Iterable[OwnOrder], booked_qty: Callable[[OwnOrder], int]
    ) -> None:
        """The books open with adopted orders and with those that are over.

        Filled shares that no listed fill shows are in the opening positions: an id from before an
        amend filled them (S13), or the fill is listed late.
        """
        for own in (*taken, *self.unsettled):
            own.exclude_fills(max(0, own.filled - booked_qty(own)))

    def drop_booked(self, booked_qty: Callable[[OwnOrder], int], now_ns: int) -> Sequence[OrderId]:
        """Drop ended orders whose fills are all booked; set an alert for those that take too long.

        Returns the ids of the dropped orders, previous ones included.
        """
        settled: list[OrderId] = []
        for own in list(self.unsettled):
            if booked_qty(own) >= own.filled:
                del self.unsettled[own]
                settled += own.previous_ids
                if own.order_id is not None:
                    settled.append(own.order_id)
        late = sum(now_ns > since + _BOOKED_WITHIN_NS for since in self.unsettled.values())
        missing = f"{late} ended orders have fills never shown" if late else ""
        self._out.hold("fills_missing", missing)
        return settled

    # --- sending ----------------------------------------------------------------------------------

    def send_create(self, own: OwnOrder, request: Create, now_ns: int) -> bool:
        """Send a first create; keep the order if the request left.

        False, and nothing changed, without a token, at a bound, or when the same create was
        rejected before as one that cannot succeed.
        """
        if self.is_full() or self.rejects.is_blocked(request):
            return False
        if not self._out.send(request, Priority.CREATE, own.why, now_ns, own):
            return False
        own.due_ns = NEVER_NS
        self.add_order(own)
        return True

    def send_amend(self, own: OwnOrder, amend: Amend, why: str, now_ns: int) -> bool:
        """Send an amend of an open order. Cancel the order where amends are off, or this change was
        rejected before. False, and nothing changed, when nothing could be sent."""
        if own.order_id is None or not own.is_allowed(OrderEvent.AMEND):
            return False
        if self.amends_off is not None:
            return self.send_cancel(own, self.amends_off, now_ns)
        request = AmendResting(own.order_id, amend)
        if self.rejects.blocked and self.rejects.is_blocked(request):
            return self.send_cancel(own, CancelReason.AMEND_REJECTED, now_ns)
        if not self._out.send(request, Priority.AMEND, why, now_ns, own):
            return False
        own.on_amend_sent(amend)
        own.why = why
        self._index(own, now_ns)
        return True

    def send_cancel(self, own: OwnOrder, why: str, now_ns: int) -> bool:
        """Send a cancel. False, and nothing changed, when it could not be sent."""
        if own.order_id is None or not own.is_allowed(OrderEvent.CANCEL):
            return False
        if not self._out.send(CancelResting(own.order_id), Priority.CANCEL, why, now_ns, own):
            return False
        own.on_cancel_sent()
        own.why = why
        own.due_ns = now_ns + HANGS_NS
        self._index(own, now_ns)
        return True

    def on_market_change(self, market_id: MarketId, now_ns: int) -> None:
        """A market changed state: retry the cancels that wait there."""
        for own in self.live(market_id):
            if own.cancel_requested and own.can_cancel:
                own.due_ns = min(own.due_ns, now_ns)

    def send_due(self, now_ns: int) -> None:
        """Send the retries and reads that are due for orders of unknown state.

        A retry may place a create at a price that is no longer wanted. It has been counted at its
        full exposure since it first left, so every limit has room for it. Its cancel leaves as
        soon as the response shows its id.
        """
        for own in list(self._attention):
            if own.state is _NEW_UNKNOWN:
                if own.due_ns <= now_ns:
                    self._resend(own, now_ns)
                continue
            if own.state is _PENDING_CANCEL and own.due_ns <= now_ns:
                self._hedge_cancel(own, now_ns)
            if own.read_due_ns is not None and own.read_due_ns <= now_ns:
                assert own.order_id is not None
                why = f"read back: {own.state}"
                if self._out.send(ReadOrder(own.order_id), Priority.RECOVER, why, now_ns, own):
                    own.read_due_ns = NEVER_NS
        for own, due_ns in self._filled_fell.items():
            if due_ns <= now_ns and not own.is_live and own.order_id is not None:
                request, why = ReadOrder(own.order_id), "it showed fewer fills than before"
                if self._out.send(request, Priority.RECOVER, why, now_ns, own):
                    self._filled_fell[own] = now_ns + self._staleness.resend_ns
        self._foreign_cancels.age(now_ns)
        if self.unknown or self._out.findings:
            self._report_age(now_ns)

    def _resend(self, own: OwnOrder, now_ns: int) -> None:
        request = Create(own.order, True)
        if self._out.send(request, Priority.RECOVER, "no answer yet", now_ns, own):
            own.apply_event(OrderEvent.RESEND, own.last_write_ns)
            own.due_ns = NEVER_NS

    def _hedge_cancel(self, own: OwnOrder, now_ns: int) -> None:
        """Hedge: retry a cancel while the first is in flight; the first decisive answer counts."""
        assert own.order_id is not None
        if self._out.send(
            CancelResting(own.order_id), Priority.CANCEL, "no answer yet", now_ns, own
        ):
            own.due_ns = NEVER_NS
            self._out.note("warning", "cancel_hangs", order_id=own.order_id)

    def _report_age(self, now_ns: int) -> None:
        if self.oldest_unknown_ns(now_ns) >= UNKNOWN_OLD_NS:
            names = ", ".join(own.order_id or own.client_order_id for own in self.unknown)
            self._out.find("unknown_old", f"no definite answer for half a minute: {names}")
        else:
            self._out.clear("unknown_old")

    def next_due_ns(self) -> int:
        """When `send_due`, or the retry of a cancel, has something to do."""
        due_ns = NEVER_NS
        for own in self._attention:
            if own.read_due_ns is not None and own.read_due_ns < due_ns:
                due_ns = own.read_due_ns
            if own.due_ns < due_ns and (
                own.state is _NEW_UNKNOWN
                or own.state is _PENDING_CANCEL
                or (own.cancel_requested and own.can_cancel)
            ):
                due_ns = own.due_ns
        return min(due_ns, *self._filled_fell.values()) if self._filled_fell else due_ns

    # --- answers ----------------------------------------------------------------------------------

    def check_response(self, pending: Pending, answer: Answer) -> Answer:
        """The answer, or Unknown where it cannot be about the order.

        Connections and caches mix responses up. The request may have been carried out all the same.
        The second response in a run that shows another order is a contradiction.
        """
        own, request = pending.own, pending.request
        if own is None or isinstance(answer, Unknown):
            return answer
        if isinstance(answer, Rejected):
            if not _rejects_another(request, answer):
                return answer
            why = "it refuses what was not asked for"
        else:
            if not self._is_foreign(own, request, answer.body):
                return answer
            why = "it shows another order than was asked about"
            self._foreign_responses += 1
        name = own.order_id or own.client_order_id
        self._out.note("warning", "answer_not_credible", order=name, why=why)
        if self._foreign_responses > 1:
            self._out.inconsistencies.contradicts(
                Inconsistency.FOREIGN_RESPONSE, f"asked about order {name}: {why}"
            )
        return Unknown(why)

    def _is_foreign(self, own: OwnOrder, request: Request, body: Body) -> bool:
        """True if a 2xx shows another order than the request is about. An amend may change the id
        of an order (S13): then market, outcome and side have to be its own."""
        if not isinstance(body, CancelBody if isinstance(request, CancelResting) else OrderBody):
            return True
        shown = body.order
        is_anothers = self.is_other_order(shown.order_id, own)
        if isinstance(request, Create):
            if shown.client_order_id:
                return shown.client_order_id != own.client_order_id
            parts = (
                3 if own.from_previous_run else 4
            )  # an earlier run may have moved it to another price
            return is_anothers or slot_shown(shown)[:parts] != own.slots[0][:parts]
        assert isinstance(request, (AmendResting, CancelResting, ReadOrder))
        if shown.order_id == request.order_id:
            return False
        names_another = shown.client_order_id not in (None, "", own.client_order_id)
        if names_another and not own.is_adopted:
            return True
        may_be_renamed = own.amend is not None or own.is_adopted
        return is_anothers or not may_be_renamed or slot_shown(shown)[:3] != own.slots[0][:3]

    def on_response(self, pending: Pending, answer: Answer, now_ns: int) -> Row | None:
        """Merge a checked answer about an order. The row of its code if it was rejected."""
        own, request = pending.own, pending.request
        assert own is not None
        row = _row_of(answer) if isinstance(answer, Rejected) else None
        if isinstance(request, ReadOrder):
            self._foreign_cancels.on_read(own, answer, now_ns)
            self._on_query_answer(own, request.order_id, answer, row, pending.begun_ns, now_ns)
            self._index(own, now_ns)
            return row
        if isinstance(request, CancelResting) and not own.is_live:
            return row  # its hedge was answered first
        self.last_write_ns = now_ns
        if isinstance(request, Create):
            self._on_create_answer(own, request, answer, row, now_ns)
        elif isinstance(request, AmendResting):
            self._on_amend_answer(own, request.amend, answer, row, now_ns)
        elif isinstance(request, CancelResting):
            if request.order_id != own.order_id:
                answer, row = Unknown("it has another id since"), None
            self._on_cancel_answer(own, answer, row, now_ns)
        if row is not None and isinstance(request, Create | AmendResting):
            self.rejects.refused(own, request, row, now_ns)
        self._index(own, now_ns)
        return row

    def was_refused(self, order: QtyOrder) -> bool:
        """True if the same create was rejected as one that cannot succeed: no retry."""
        return self.rejects.is_blocked(Create(order, False))

    def _on_create_answer(
        self, own: OwnOrder, request: Create, answer: Answer, row: Row | None, now_ns: int
    ) -> None:
        if isinstance(answer, Ok) and isinstance(answer.body, OrderBody):
            self._on_created(own, request, answer.body.order, now_ns)
            return
        was_unknown = own.state is _NEW_UNKNOWN
        event = _event_of(row, of_create=True)
        if isinstance(answer, Rejected) and answer.code == Code.MARKET_RESOLVED:
            # Nothing rests in a resolved market, and fills are listed.
            event = OrderEvent.MARKET_RESOLVED
        own.on_answer(event, now_ns)
        if event is OrderEvent.DUPLICATE_ID:
            own.note_evidence(exists=True)
        if not own.is_live:
            if was_unknown:
                self._out.effects.append(CreateResolved(own.client_order_id))
            if isinstance(answer, Rejected) and answer.status and answer.code not in CODES:
                # An unknown code: an order that appears there may be this one.
                self._keep_strays(own)
            return
        if row is not None and row.sequenced is Sequenced.DECIDED:
            denied_ns = own.mark_not_found(now_ns)
            # Stale lists need longer to rule it out; where an equal order rests they never do.
            wait_ns = max(self._resend_refused_ns, now_ns - denied_ns)
            own.due_ns = now_ns + min(wait_ns, self._resend_refused_max_ns)
        else:
            if event is OrderEvent.TIMEOUT and own.evidence is not None:
                own.note_evidence(denied_ns=None)  # this retry may land
            own.due_ns = now_ns + (self._staleness.resend_ns if request.again else REPEAT_NS)
        if not was_unknown:
            self._out.note("warning", "create_unknown", client_order_id=own.client_order_id)

    def _on_created(self, own: OwnOrder, request: Create, shown: model.Order, now_ns: int) -> None:
        twin = self.live_order(shown.order_id)
        if self.is_other_order(shown.order_id, own):
            # It has our client_order_id, and the id of another order of ours.
            self._out.inconsistencies.contradicts(
                Inconsistency.ORDER_ID_REUSED, f"order {shown.order_id}"
            )
        elif twin is not None and twin is not own:
            # It was found resting meanwhile and adopted: one order is counted once.
            twin.on_fills_shown(shown)
            self._index(twin, now_ns)
            own.on_duplicate(now_ns)
            return
        own.on_write_body(shown, now_ns)
        own.due_ns = now_ns
        if own.is_take and own.is_live:
            own.mark_suspect(OrderFinding.IMPOSSIBLE, "it rests, and was to trade at once", now_ns)
        elif own.is_take:
            self._out.took(TakeOutcome.TRADED if own.filled else TakeOutcome.EMPTY)
        elif own.state is State.CLOSED and shown.status is model.OrderStatus.CANCELED:
            # A gtc create that ends cancelled met our own order (interface, state table).
            self._out.counters.self_trades += not request.again

    def _on_amend_answer(
        self, own: OwnOrder, amend: Amend, answer: Answer, row: Row | None, now_ns: int
    ) -> None:
        if not (isinstance(answer, Ok) and isinstance(answer.body, OrderBody)):
            event = _event_of(row, of_create=False)
            if event is OrderEvent.TIMEOUT:
                self._out.note("warning", "amend_unknown", order_id=own.order_id or "")
            own.on_answer(event, now_ns)
            if event is not OrderEvent.NOT_SENT and own.is_live:
                own.read_due_ns = now_ns + self._staleness.read_lag_ns
            return
        shown = answer.body.order
        was, was_remaining = own.known, own.remaining
        if shown.order_id != own.order_id and not self._rename(own, shown, now_ns):
            return
        own.on_write_body(shown, now_ns)
        price = was.price if amend.price is None else amend.price
        qty = was_remaining if amend.qty is None else amend.qty
        if keeps_priority(was.price, was_remaining, price, qty):
            self._out.counters.amends_kept_place += 1
        else:
            self._out.counters.amends_lost_place += 1
        if amend.qty is not None and _meant_as_total(amend.qty, shown, was.filled):
            self.amends_of_size = False
            self._out.find("amend_qty_is_total", "amends of size are switched off")

    def _rename(self, own: OwnOrder, shown: model.Order, at_ns: int) -> bool:
        """An amend gave an order another id (S13): keep it under that one, and amend no order any
        more. False where that id was found resting meanwhile, and is counted there."""
        if self.amends_off is None:
            self.amends_off = CancelReason.AMENDS_OFF
            self._out.note(
                "warning", "amends_off", order_id=shown.order_id, why=CancelReason.AMENDS_OFF
            )
        twin, before = self.live_order(shown.order_id), own.order_id
        if twin is not None and twin is not own:
            twin.previous_ids = (*own.previous_ids, *([before] if before else []))
            twin.on_fills_shown(shown)
            own.on_duplicate(at_ns)
            return False
        own.on_renamed(shown)
        if before is not None:
            self._end_id(own, before, at_ns)
        return True

    def _on_cancel_answer(
        self, own: OwnOrder, answer: Answer, row: Row | None, now_ns: int
    ) -> None:
        is_shown = isinstance(answer, Ok) and isinstance(answer.body, CancelBody)
        event = _event_of(row, of_create=False)
        if own.state is not _PENDING_CANCEL:
            # Its hedge decided nothing: this answer may.
            if not (is_shown or event is OrderEvent.TOO_LATE) or not own.is_allowed(
                OrderEvent.CANCEL
            ):
                return
            own.on_cancel_sent()
        if isinstance(answer, Ok) and isinstance(answer.body, CancelBody):
            shown = answer.body.order
            if shown.order_id == own.order_id or self._rename(own, shown, now_ns):
                own.on_cancel_body(shown, answer.body.reduced_by, now_ns)
            return
        if event in UNDONE and self._is_hedged(own):
            return  # the other one is in flight
        own.on_answer(event, now_ns)
        if event is OrderEvent.TOO_LATE and own.order_id in self.closed_listed:
            self.closed_listed[own.order_id] = True
        advice = None if row is None else row.advice
        is_unread = own.evidence is not None and own.evidence.is_unread
        if is_unread or advice is Advice.PARK_MARKET:
            own.due_ns = now_ns + CANCEL_AGAIN_NS
        elif (
            event in (OrderEvent.REJECTED, OrderEvent.NOT_FOUND)
            or "cancels_fail" in self._out.findings
        ):
            own.due_ns = now_ns + self._staleness.resend_ns
        else:
            own.due_ns = now_ns + REPEAT_NS
        if event in (OrderEvent.TOO_LATE, OrderEvent.NOT_FOUND, OrderEvent.TIMEOUT) and own.is_live:
            # Retries of cancels are faster than the latency of reads: they postpone no due read.
            own.read_due_ns = own.read_due_ns or now_ns + self._staleness.read_lag_ns

    def _is_hedged(self, own: OwnOrder) -> bool:
        return any(
            each.own is own and isinstance(each.request, CancelResting)
            for each in self._out.pending.values()
        )

    def _on_query_answer(
        self,
        own: OwnOrder,
        order_id: OrderId,
        answer: Answer,
        row: Row | None,
        begun_ns: int,
        now_ns: int,
    ) -> None:
        if own.read_due_ns == NEVER_NS:
            own.read_due_ns = None
        if order_id != own.order_id:
            return  # it has another id since
        if not own.is_live:
            self._on_closed_query(own, answer, begun_ns, now_ns)
            return
        if isinstance(answer, Ok) and isinstance(answer.body, OrderBody):
            self.on_order_row(own, answer.body.order, begun_ns, now_ns, by_id=True)
            return
        if row is not None and row.advice is Advice.LOOK_AGAIN:
            own.on_not_found(begun_ns, now_ns, self._staleness.read_lag_ns)
        if own.is_live and own.read_due_ns is None:
            is_unread = own.evidence is not None and own.evidence.is_unread
            wait_ns = CANCEL_AGAIN_NS if is_unread else self._staleness.read_lag_ns
            own.read_due_ns = now_ns + wait_ns

    # --- reads and lists --------------------------------------------------------------------------

    def on_order_row(
        self,
        own: OwnOrder,
        shown: model.Order,
        begun_ns: int,
        now_ns: int,
        *,
        by_id: bool = False,
    ) -> None:
        """Merge a row of one order, from a list or from a read by its id."""
        if own.is_shown_as_known(shown):
            return
        if shown.order_id != own.order_id:
            self._on_found_renamed(own, shown, begun_ns)
            return
        if self._is_contradicted(own, shown, begun_ns, now_ns, by_id=by_id):
            self._index(own, now_ns)
            return
        lag_ns = self._staleness.read_lag_ns
        was, size, was_missed = own.state, own.known.size, own.evidence is not None
        if (
            was is State.CLOSED_UNCONFIRMED
            and shown.status in model.RESTING
            and begun_ns >= own.last_write_ns + lag_ns
        ):
            self.on_closed_working(shown, begun_ns, now_ns)
        own.on_query(shown, begun_ns, lag_ns)
        if own.is_decided and own.contradicted_ns is None and own.read_due_ns != NEVER_NS:
            own.read_due_ns = None
        if was_missed and own.can_cancel and own.evidence is None:
            own.due_ns = min(own.due_ns, now_ns + self._staleness.resend_ns)
        if was is State.OPEN and own.state is State.OPEN and own.known.size < size:
            self._out.counters.self_trades += 1
            self._out.note("warning", "order_shrunk_without_fill", order_id=shown.order_id)
        self._index(own, begun_ns)

    def _is_contradicted(
        self, own: OwnOrder, shown: model.Order, begun_ns: int, now_ns: int, *, by_id: bool
    ) -> bool:
        """True if a read takes from an order what no write of ours did. It is not merged: the order
        counts as before until a read by its id, a lag later, shows the same."""
        lag_ns, signs = self._staleness.read_lag_ns, self._out.inconsistencies
        how = own.contradicted_by(shown, begun_ns, lag_ns, by_id=by_id)
        if how is None:
            is_less = shown.filled_qty + own.fill_offset < own.filled
            if own.contradicted_ns is not None and begun_ns >= own.contradicted_ns and not is_less:
                own.contradicted_ns = None
                self._filled_fell.pop(own, None)
                signs.on_sign_gone(Inconsistency.FILLED_QTY_FELL, shown.order_id)
            return False
        if own.contradicted_ns is None:
            own.contradicted_ns = now_ns
        if not by_id or begun_ns < own.contradicted_ns + lag_ns:
            wait_ns = 0 if how is Contradiction.OVER else lag_ns
            own.read_due_ns = own.read_due_ns or own.contradicted_ns + wait_ns
            return True
        evidence = f"order {shown.order_id}: {how}"
        if how is Contradiction.FELL:
            self._report_filled_fell(own, shown, begun_ns, now_ns)
        elif how is Contradiction.ELSEWHERE:
            signs.contradicts(Inconsistency.ORDER_ID_REUSED, evidence)
        else:
            own.contradicted_ns = None
            return False
        own.read_due_ns = own.read_due_ns or now_ns + lag_ns
        return True

    def _report_filled_fell(
        self, own: OwnOrder, shown: model.Order, begun_ns: int, now_ns: int
    ) -> None:
        self._filled_fell.setdefault(own, now_ns)
        evidence = f"order {shown.order_id}: {shown.filled_qty} filled after {own.filled}"
        kind, key = Inconsistency.FILLED_QTY_FELL, shown.order_id
        self._out.inconsistencies.on_sign(kind, key, evidence, begun_ns, now_ns, own.market_id)

    def _on_closed_query(self, own: OwnOrder, answer: Answer, begun_ns: int, now_ns: int) -> None:
        """Read a closed order that showed fewer fills than before until that is decided."""
        if own not in self._filled_fell or not isinstance(answer, Ok):
            return
        if not isinstance(answer.body, OrderBody):
            return
        shown = answer.body.order
        if shown.filled_qty + own.fill_offset < own.filled:
            self._report_filled_fell(own, shown, begun_ns, now_ns)
        else:
            del self._filled_fell[own]
            signs = self._out.inconsistencies
            signs.on_sign_gone(Inconsistency.FILLED_QTY_FELL, shown.order_id)

    def on_closed_working(self, shown: model.Order, begun_ns: int, now_ns: int) -> None:
        """A read that began a lag after the end of our order shows it working."""
        self.closed_listed.setdefault(shown.order_id, True)
        self._out.inconsistencies.on_sign(
            Inconsistency.CLOSED_ORDER_WORKING,
            shown.order_id,
            f"order {shown.order_id} on {shown.ticker}",
            begun_ns,
            now_ns,
            shown.market_id,
        )

    def on_not_listed(self, own: OwnOrder, begun_ns: int, now_ns: int) -> None:
        """A full list lacks this order: read it by its id. Cancel an order that reads do not find
        for long."""
        held = own.suspicion
        if own.state is State.OPEN and begun_ns >= own.last_write_ns + self._staleness.read_lag_ns:
            own.read_due_ns = own.read_due_ns or now_ns
            self._index(own, now_ns)
        if (
            held is not None
            and held.finding is OrderFinding.MISSING
            and begun_ns >= held.since_ns + MISSING_FOR_NS
            and not own.cancel_requested
        ):
            own.cancel_requested, own.why, own.due_ns = True, CancelReason.NOT_FOUND, now_ns
            self._index(own, now_ns)

    def on_full_list(
        self, shown: Iterable[model.Order], begun_ns: int, now_ns: int, fills_begun_ns: int
    ) -> list[MarketId]:
        """Merge a full list of resting orders; the markets of the orders that it decided.

        begun_ns and now_ns: when the list was asked for and answered. fills_begun_ns: when the
        newest full walk of the fills began, below zero without one.

        A list decides orders that the venue has denied: creates whose retries are rejected for
        longer than a request can be in flight, orders that an amend without an answer may have
        given another id, and orders that no cancel finds. If no order that could be theirs rests,
        they never landed or are over. Nothing of them can fill any more, and a later walk of the
        fills books the rest. If the venue has said that a create exists, an unknown order that
        equals it is it; which of several equal ones does not matter.
        """
        if not self._attention:
            return []
        unknown_orders: dict[Slot, list[model.Order]] = {}
        listed = set()
        for row in shown:
            listed.add(row.order_id)
            if row.status not in model.TERMINAL and not self.is_known(row.order_id):
                unknown_orders.setdefault(slot_shown(row), []).append(row)
        walk = _Walk(begun_ns, now_ns, fills_begun_ns)
        changed: list[MarketId] = []
        for own in list(self._attention):
            if own.evidence is None or own.order_id in listed:
                continue
            if self._explain(own, unknown_orders, walk):
                changed.append(own.market_id)
                self._index(own, begun_ns)
        return changed

    def _explain(
        self, own: OwnOrder, unknown_orders: dict[Slot, list[model.Order]], walk: _Walk
    ) -> bool:
        """True if a list decides an order that the venue has denied."""
        lag_ns, held = self._staleness.read_lag_ns, own.evidence
        is_new = own.state is _NEW_UNKNOWN
        if held is None or held.denied_ns is None or not (is_new or own.state in _SETTLES):
            return False
        # A full list that begins from then on would show it if it rested.
        from_ns = held.denied_ns + lag_ns
        if is_new:
            from_ns = max(from_ns + self._staleness.refused_resend_ns, own.last_write_ns + lag_ns)
        if walk.begun_ns < from_ns:
            return False
        if is_new and own.due_ns == NEVER_NS:
            return False  # a retry is in flight: its answer is better than any list
        if own.is_id_open and not own.is_take:
            # The slot that it may have been moved to first.
            rows = next(
                (unknown_orders[each] for each in own.slots[::-1] if unknown_orders.get(each)), []
            )
            if rows:
                return self._is_explained_by(own, rows, walk)
            if is_new and self._has_adopted_twin(own):
                return False  # the adopted one may be it, and is being cancelled
        if own.is_take:
            is_over = walk.fills_begun_ns >= from_ns
        elif held.unlisted_ns is None or held.unlisted_ns < from_ns:
            own.note_evidence(unlisted_ns=walk.now_ns)
            is_over = False
        else:
            is_over = min(walk.begun_ns, walk.fills_begun_ns) >= held.unlisted_ns + lag_ns
        if is_new and not is_over:
            # A retry would start the proof over again.
            own.due_ns = max(own.due_ns, walk.now_ns + self._resend_refused_ns)
        if not is_over or not (is_new or held.is_unread):
            return False
        if not own.is_take:
            self._keep_strays(own)
        own.on_confirmed_gone(walk.begun_ns)
        if is_new:
            self._out.effects.append(CreateResolved(own.client_order_id))
            self._out.note("info", "create_never_landed", client_order_id=own.client_order_id)
        else:
            self._out.note("warning", "order_gone", order_id=own.order_id or "")
        return True

    def _is_explained_by(self, own: OwnOrder, rows: list[model.Order], walk: _Walk) -> bool:
        """Unknown orders rest where this one may. True if one of them is taken for it."""
        if own.state is not _NEW_UNKNOWN:
            slot = slot_shown(rows[0])
            if any(
                each.state is _NEW_UNKNOWN and slot in each.slots
                for each in self.live(own.market_id)
            ):
                return False  # it may be the order of that create, which a retry will show
            self._on_found_renamed(own, rows.pop(0), walk.begun_ns)
            return True
        own.note_evidence(unlisted_ns=None)
        if own.evidence is None or not own.evidence.exists:
            return False
        own.on_identified(rows.pop(0), walk.begun_ns)
        self._out.effects.append(CreateResolved(own.client_order_id, own.order_id))
        self._out.note("info", "create_identified", client_order_id=own.client_order_id)
        return True

    def _on_found_renamed(self, own: OwnOrder, shown: model.Order, begun_ns: int) -> None:
        """A read shows an order under another id, from an amend without an answer."""
        if self._rename(own, shown, begun_ns):
            own.on_found_renamed(shown, begun_ns)
        self._index(own, begun_ns)

    def _has_adopted_twin(self, own: OwnOrder) -> bool:
        """True if an adopted order that may still rest is in its slot."""
        return any(
            other.is_adopted and other.slots[0] == own.slots[0]
            for other in self.live(own.market_id)
        )


# --- readings of answers --------------------------------------------------------------------------


def _row_of(answer: Rejected) -> Row:
    return _NOT_CONNECTED if answer.status == 0 else row_for(answer.status, answer.code)


_NOT_CONNECTED = row_for(429, "")
"""A request that never left this host counts as rejected before the engine."""


def _event_of(row: Row | None, *, of_create: bool) -> OrderEvent:
    """The event of an answer to a write that shows no order. row: None when it is no rejection."""
    if row is None or row.sequenced is Sequenced.UNKNOWN:
        return OrderEvent.TIMEOUT
    if row.sequenced is Sequenced.NEVER:
        return OrderEvent.NOT_SENT
    policy = POLICIES[row.advice]
    return policy.of_create if of_create else policy.of_change


def _rejects_another(request: Request, answer: Rejected) -> bool:
    """True if a rejection cannot be that of such a write. If it comes again on a retry of a create
    it is believed: the venue rejects it in its own way."""
    advice = row_for(answer.status, answer.code).advice
    if isinstance(request, Create) and not request.again:
        return advice in (Advice.ENDED, Advice.LOOK_AGAIN)
    return isinstance(request, AmendResting) and advice is Advice.EXISTS


def is_news(own: OwnOrder, request: Request, answer: Answer) -> bool:
    """True if an answer may change an order's state; a read often does not."""
    if isinstance(request, ReadOrder) and isinstance(answer, Ok):
        return not isinstance(answer.body, OrderBody) or not own.is_shown_as_known(
            answer.body.order
        )
    return True


def _meant_as_total(asked: Qty, shown: model.Order, old_filled: Qty) -> bool:
    """True if the venue took an amend's qty as the order's total, not its remainder (S13).

    Only an order that had filled before can show it, and only if it did not fill meanwhile: the
    amend itself may trade.
    """
    return (
        shown.filled_qty == old_filled > 0
        and shown.remaining_qty == asked - shown.filled_qty
        and shown.qty == asked
    )
