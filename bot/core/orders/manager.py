"""Every own order that may be live or whose fills are not all booked: what is sent about it, and
what every answer, read and list makes of it.

Turns an answer into a fact of `transitions` by the errors table, and the due times of an
order into its recovery requests: a create without an answer is sent again byte for byte, an order
whose amend has none is cancelled and read, a cancel without one is hedged and repeated. No timer
ends an unknown order.

An order is filed after each change, so that a Beat on which nothing is due walks over no orders.
Every map has a bound. An ended order leaves at once, or when the fills it has shown are booked.
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
)
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
from bot.core.risk.exposure import OpenExposure
from bot.core.settings import StalenessSettings
from venue.wire import model
from venue.wire.errors import CODES, Advice, Code, Row, Sequenced, row_for
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Qty
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import Amend, QtyOrder, RequestBody, keeps_priority

_NEW_UNKNOWN: Final = State.NEW_UNKNOWN
_UNCLEAR: Final = (State.REPLACE_UNKNOWN, State.CLOSED_UNCONFIRMED)
_SUSPECTED: Final = frozenset(OrderFinding)
_SETTLES: Final = (State.OPEN, *_UNCLEAR)
_PENDING_CANCEL: Final = State.PENDING_CANCEL

REPEAT_NS: Final = 200 * NS_PER_MS
"""A create or cancel whose answer failed to come is sent again so soon the first time."""

UNKNOWN_OLD_NS: Final = 30 * NS_PER_SECOND
"""An order unknown for so long is told; it stays unknown all the same."""

CANCEL_AGAIN_NS: Final = 10 * NS_PER_SECOND
"""A cancel that the halt of a market refused, or of what nothing finds, is sent again so late,
unless the market changes its state, or something shows the order, before that."""

MISSING_FOR_NS: Final = 10 * NS_PER_SECOND
"""An order that neither lists nor reads have shown for so long is cancelled, so that the engine's
own word is heard."""

LIVE_MAX: Final = 5_000
"""Orders possibly live at once. Beyond it none is created, and strangers wait for the next list."""

UNSETTLED_MAX: Final = 5_000
"""Ended orders whose fills are not all booked. Beyond it no order is created."""

ENDED_IDS_MAX: Final = 20_000
"""Ids of ended orders kept, so that a lagging list does not make a stranger of our own order. Full,
after orders that end a hundred a second, they take 3 MB."""

ENDED_KEPT_NS: Final = 1_800 * NS_PER_SECOND
"""So long they are kept, far longer than a list lags."""

STRAYS_MAX: Final = 1_000
"""Places kept at which an order of ours may yet appear that no list showed."""

_BOOKED_WITHIN_NS: Final = 10 * NS_PER_SECOND

_V = TypeVar("_V")

_AMENDS_OFF: Final = "amends are off: one gave its order another id"


class _Walk(NamedTuple):
    """When a whole list of what rests was begun and answered, and the newest of the fills begun."""

    begun_ns: int
    now_ns: int
    fills_begun_ns: int


class OrderManager:
    """The orders, the requests about them, and what their answers come to.

    amends: False once an amend was seen to give its order another id (S13). amends_of_size: False
    once the venue was seen to take an amend's qty for the order's total.
    last_write_ns: when any write of ours was last answered. closed_listed: orders of ours that are
    over and that reads show working; True where a cancel of it was answered that it is over.
    """

    def __init__(self, staleness: StalenessSettings, out: Outbox) -> None:
        self._staleness = staleness
        self._out = out
        self._live: dict[OwnOrder, None] = {}
        self._by_market: dict[MarketId, list[OwnOrder]] = {}
        self._by_id: dict[OrderId, OwnOrder] = {}
        self._attention: dict[OwnOrder, None] = {}
        self._unknown: dict[OwnOrder, int] = {}  # and since when
        self._unsettled: dict[OwnOrder, int] = {}  # and since when
        # When it ended, and the name it was made by; empty for one that was found resting.
        self._ended: OrderedDict[OrderId, tuple[int, ClientOrderId]] = OrderedDict()
        self._strays: OrderedDict[Slot, None] = OrderedDict()
        self.refusals = RejectHistory()
        self._foreign_cancels = ForeignCancels(out)
        self.amends = self.amends_of_size = True
        self.last_write_ns = 0
        self._foreign_responses = 0
        self._fell: dict[OwnOrder, int] = {}  # shown with fewer fills, and when to read it again
        self.closed_listed: dict[OrderId, bool] = {}
        # Two lists, and the fills between them, should be read before such a create is sent again.
        listed_ns = 2 * staleness.read_lag_ns + 3 * staleness.poll_orders_fast_ns
        self._again_ns = max(staleness.refused_resend_ns, listed_ns)
        self._again_max_ns = max(4 * self._again_ns, staleness.unread_ns)

    # --- looking ----------------------------------------------------------------------------------

    def live(self, market_id: MarketId) -> list[OwnOrder]:
        """Orders of one market that may still trade, in the order they were placed."""
        return self._by_market.get(market_id, [])

    def exposures(self, market_id: MarketId) -> tuple[OpenExposure, ...]:
        return tuple([own.exposure() for own in self.live(market_id)])

    def all_live(self) -> Iterable[OwnOrder]:
        """Every order that may still trade, in the order they were placed."""
        return self._live.keys()

    def live_count(self) -> int:
        return len(self._live)

    @property
    def unsettled(self) -> list[OwnOrder]:
        """Ended orders with fills that are not all booked."""
        return list(self._unsettled)

    def has_fills(self, market_id: MarketId) -> bool:
        """Whether `with_fills` may have anything to show."""
        if self._unsettled:
            return True
        for own in self._by_market.get(market_id, ()):  # noqa: SIM110 - a generator costs more
            if own.filled:
                return True
        return False

    def with_fills(self, market_id: MarketId) -> list[OwnOrder]:
        """Orders of one market that have filled, live or ended, until their fills are booked."""
        filled = [own for own in self.live(market_id) if own.filled]
        if self._unsettled:
            filled += [own for own in self._unsettled if own.market_id == market_id]
        return filled

    def live_ids(self) -> list[OrderId]:
        """Ids of every order whose fills may still be asked about."""
        ids = [*self._by_id, *(own.order_id for own in self._unsettled if own.order_id)]
        for own in (*self._by_id.values(), *self._unsettled):
            ids += own.previous_ids
        return ids

    def not_live(self, listed: Mapping[OrderId, _V]) -> list[_V]:
        """The rows of a list that are of no live order, in its order."""
        return [row for order_id, row in listed.items() if order_id not in self._by_id]

    def owner(self, order_id: OrderId) -> OwnOrder | None:
        """The order whose fills may still be asked about under an id, a previous one included."""
        own = self._by_id.get(order_id)
        if own is not None:
            return own
        for own in (*self._unsettled, *self._by_id.values()):
            if order_id == own.order_id or order_id in own.previous_ids:
                return own
        return None

    def market_of(self, order_id: OrderId) -> MarketId | None:
        own = self.owner(order_id)
        return None if own is None else own.market_id

    def knows(self, order_id: OrderId) -> bool:
        """Whether an order id is one of ours, live or ended."""
        return order_id in self._by_id or order_id in self._ended

    def ended_by(self, order_id: OrderId, at_ns: int) -> bool:
        """Whether an order of ours with this id was over at an instant, as far as we know."""
        ended = self._ended.get(order_id)
        return ended is not None and order_id not in self._by_id and ended[0] <= at_ns

    def is_anothers(self, order_id: OrderId, own: OwnOrder) -> bool:
        """Whether this id is, or was, that of another order of ours. One that was found resting may
        be the very same."""
        held = self._by_id.get(order_id)
        if held is not None:
            return held is not own and held.client_order_id not in ("", own.client_order_id)
        if order_id not in self._ended or order_id in own.previous_ids:
            return False
        ended_ns, name = self._ended[order_id]
        return name not in ("", own.client_order_id) or ended_ns < own.placed_ns

    def find(self, order_id: OrderId) -> OwnOrder | None:
        """The live order with this id."""
        return self._by_id.get(order_id)

    def creates_undecided(self) -> bool:
        """Whether an order of ours may rest under an id that we do not know yet."""
        return any(own.is_id_open for own in self._live)

    def awaits_fills(self) -> bool:
        """Whether an order that no list shows is over once every fill is read that it may have."""
        return any(
            own.evidence is not None and (own.evidence.unlisted_ns is not None or own.is_take)
            for own in self._attention
        )

    def may_be_undecided(self, shown: model.Order) -> bool:
        """Whether a stranger may be such an order: it rests in its rung, on its side."""
        return any(
            own.market_id == shown.market_id
            and own.outcome.value == shown.outcome.value
            and own.side.value == shown.side.value
            for own in self._live
            if own.is_id_open
        )

    def in_doubt(self) -> bool:
        """Whether something about our orders is unknown or suspected, or fills of one that has
        ended are not booked."""
        return bool(self._unknown or self._unsettled)

    def unknown_count(self) -> int:
        """How many orders have a write without a definite answer, or are suspected."""
        return len(self._unknown)

    def oldest_unknown_ns(self, now_ns: int) -> int:
        """The age of the oldest unknown order; 0 when there is none. No age ends one."""
        if not self._unknown:
            return 0
        return now_ns - min(self._unknown.values())

    def landed_late(self, shown: model.Order) -> bool:
        """Whether a stranger may be an order of ours that no list had shown."""
        return slot_shown(shown) in self._strays

    # --- filing -----------------------------------------------------------------------------------

    def add(self, own: OwnOrder) -> None:
        """Keep an order from now on; a stranger beyond the bound waits for the next list."""
        is_stranger = own.from_previous_run and own.cancel_requested and own.order_id is not None
        if is_stranger and len(self._live) >= LIVE_MAX:
            return
        self._live[own] = None
        self._by_market.setdefault(own.market_id, []).append(own)
        self._file(own, own.last_write_ns)
        assert len(self._live) <= 2 * LIVE_MAX
        assert len(self._by_id) <= len(self._live)

    def is_full(self) -> bool:
        return len(self._live) >= LIVE_MAX or len(self._unsettled) >= UNSETTLED_MAX

    def _file(self, own: OwnOrder, at_ns: int) -> None:
        """Keep the indexes true after an order changed at `at_ns`."""
        if own.is_live:
            self._file_live(own, at_ns)
        else:
            self._file_ended(own, at_ns)
        if own.suspicion is not None or not _SUSPECTED.isdisjoint(self._out.findings):
            self._tell_suspects()

    def _file_live(self, own: OwnOrder, at_ns: int) -> None:
        if own.order_id is not None:
            self._by_id[own.order_id] = own
            unclear = own.suspicion is not None or own.state in _UNCLEAR
            if unclear and own.read_due_ns is None:
                own.read_due_ns = at_ns + self._staleness.read_lag_ns
        needs = own.state is _NEW_UNKNOWN or own.read_due_ns is not None or own.cancel_requested
        if needs or own.evidence is not None:
            self._attention[own] = None
        else:
            self._attention.pop(own, None)
        if not own.is_unknown:
            self._unknown.pop(own, None)
        elif own not in self._unknown:
            self._unknown[own] = at_ns

    def _file_ended(self, own: OwnOrder, at_ns: int) -> None:
        if own in self._live:
            del self._live[own]
            orders = self._by_market[own.market_id]
            orders.remove(own)
            if not orders:
                del self._by_market[own.market_id]
            self._attention.pop(own, None)
            self._unknown.pop(own, None)
        if own.order_id is not None:
            self._id_over(own, own.order_id, at_ns)
        if own.filled > 0:
            self._unsettled.setdefault(own, at_ns)
        assert len(self._unsettled) <= UNSETTLED_MAX + 2 * LIVE_MAX

    def _id_over(self, own: OwnOrder, order_id: OrderId, at_ns: int) -> None:
        """Nothing of an order rests under an id any more."""
        if self._by_id.get(order_id) is own:
            del self._by_id[order_id]
        keep_newest(self._ended, order_id, (at_ns, own.client_order_id), ENDED_IDS_MAX)
        while next(iter(self._ended.values()))[0] < at_ns - ENDED_KEPT_NS:
            self._ended.popitem(last=False)

    def _tell_suspects(self) -> None:
        """Raise the findings about suspected orders, and clear those that no order has any more."""
        for finding in OrderFinding:
            about = [
                f"order {own.order_id or own.client_order_id}: {own.suspicion.why}"
                for own in self._unknown
                if own.suspicion is not None and own.suspicion.finding is finding
            ]
            self._out.hold(finding, "; ".join(about[:5]))

    def _may_stray(self, own: OwnOrder) -> None:
        for slot in own.slots:
            keep_newest(self._strays, slot, None, STRAYS_MAX)

    def opens(self, taken: Iterable[OwnOrder], booked_qty: Callable[[OwnOrder], int]) -> None:
        """The books open, with orders to be taken over and with those that are over.

        Shares that one of them has filled and that no listed fill shows are part of the opening: an
        id from before an amend had them (S13), or the fill is listed late.
        """
        for own in (*taken, *self._unsettled):
            own.leave_out(max(0, own.filled - booked_qty(own)))

    def forget_settled(
        self, booked_qty: Callable[[OwnOrder], int], now_ns: int
    ) -> Sequence[OrderId]:
        """Let go of ended orders whose fills are all booked; report those that take too long.

        Returns the ids that they had, previous ones included.
        """
        settled: list[OrderId] = []
        for own in list(self._unsettled):
            if booked_qty(own) >= own.filled:
                del self._unsettled[own]
                settled += own.previous_ids
                if own.order_id is not None:
                    settled.append(own.order_id)
        late = sum(now_ns > since + _BOOKED_WITHIN_NS for since in self._unsettled.values())
        missing = f"{late} ended orders have fills never shown" if late else ""
        self._out.hold("fills_missing", missing)
        return settled

    # --- sending ----------------------------------------------------------------------------------

    def send_create(self, own: OwnOrder, request: Create, now_ns: int) -> bool:
        """Send a first create; the order is kept if it left.

        False, and nothing changed, when there is no token, when a bound is reached, or when just
        this was refused before as something that cannot succeed.
        """
        if self.is_full() or self.refusals.is_blocked(request):
            return False
        if not self._out.send(request, Priority.CREATE, own.why, now_ns, own):
            return False
        own.due_ns = NEVER_NS
        self.add(own)
        return True

    def send_amend(self, own: OwnOrder, amend: Amend, why: str, now_ns: int) -> bool:
        """Send an amend of an open order. Where amends are off, or this change was refused before,
        the order is cancelled. False, and nothing changed, when nothing could be sent."""
        if own.order_id is None or not own.is_allowed(OrderEvent.AMEND):
            return False
        if not self.amends:
            return self.send_cancel(own, _AMENDS_OFF, now_ns)
        request = AmendResting(own.order_id, amend)
        if self.refusals.blocked and self.refusals.is_blocked(request):
            return self.send_cancel(own, "its change was refused", now_ns)
        if not self._out.send(request, Priority.AMEND, why, now_ns, own):
            return False
        own.sent_amend(amend)
        own.why = why
        self._file(own, now_ns)
        return True

    def send_cancel(self, own: OwnOrder, why: str, now_ns: int) -> bool:
        """Send a cancel of an open or blurred order. False, and nothing changed, if it may not."""
        if own.order_id is None or not own.is_allowed(OrderEvent.CANCEL):
            return False
        if not self._out.send(CancelResting(own.order_id), Priority.CANCEL, why, now_ns, own):
            return False
        own.sent_cancel()
        own.why = why
        own.due_ns = now_ns + HANGS_NS
        self._file(own, now_ns)
        return True

    def market_changed(self, market_id: MarketId, now_ns: int) -> None:
        """The venue shows another state of a market: cancels that wait are tried again there."""
        for own in self.live(market_id):
            if own.cancel_requested and own.can_cancel:
                own.due_ns = min(own.due_ns, now_ns)

    def recover(self, now_ns: int) -> None:
        """Send what is due for orders whose state is not known: re-sends and reads back.

        A re-send may be what places a lost create, at a price no longer wanted. It has been counted
        at its full size since it first left, so every limit has room for it, and its cancel leaves
        as soon as the reply shows its id.
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
        for own, due_ns in self._fell.items():
            if due_ns <= now_ns and not own.is_live and own.order_id is not None:
                request, why = ReadOrder(own.order_id), "it showed fewer fills than before"
                if self._out.send(request, Priority.RECOVER, why, now_ns, own):
                    self._fell[own] = now_ns + self._staleness.resend_ns
        self._foreign_cancels.age(now_ns)
        if self._unknown or self._out.findings:
            self._tell_age(now_ns)

    def _resend(self, own: OwnOrder, now_ns: int) -> None:
        request = Create(own.intent.order, own.intent.body, True)
        if self._out.send(request, Priority.RECOVER, "no answer yet", now_ns, own):
            own.move(OrderEvent.RESEND, own.last_write_ns)
            own.due_ns = NEVER_NS

    def _hedge_cancel(self, own: OwnOrder, now_ns: int) -> None:
        """A cancel has no answer for long: it is sent once more beside itself, and whichever answer
        decides counts."""
        assert own.order_id is not None
        if self._out.send(
            CancelResting(own.order_id), Priority.CANCEL, "no answer yet", now_ns, own
        ):
            own.due_ns = NEVER_NS
            self._out.note("warning", "cancel_hangs", order_id=own.order_id)

    def _tell_age(self, now_ns: int) -> None:
        if self.oldest_unknown_ns(now_ns) >= UNKNOWN_OLD_NS:
            names = ", ".join(own.order_id or own.client_order_id for own in self._unknown)
            self._out.find("unknown_old", f"no definite answer for half a minute: {names}")
        else:
            self._out.clear("unknown_old")

    def next_due_ns(self) -> int:
        """The earliest instant at which `recover` or a repeated cancel has something to do."""
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
        return min(due_ns, *self._fell.values()) if self._fell else due_ns

    # --- answers ----------------------------------------------------------------------------------

    def credible(self, pending: Pending, answer: Answer) -> Answer:
        """An answer about an order as it may be believed: Unknown where it cannot be about it.

        Connections and caches mix responses up. Whatever was asked may have been carried out all
        the same; a second response in a run that shows another order is a contradiction.
        """
        own, request = pending.own, pending.request
        if own is None or isinstance(answer, Unknown):
            return answer
        if isinstance(answer, Rejected):
            if not _refuses_another(request, answer):
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
        """True when a 2xx to a request about an order of ours shows another order than was asked.
        An amend may change the id of an order (S13): then side and price have to be its own."""
        if not isinstance(body, CancelBody if isinstance(request, CancelResting) else OrderBody):
            return True
        shown = body.order
        is_anothers = self.is_anothers(shown.order_id, own)
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

    def take_answer(self, pending: Pending, answer: Answer, now_ns: int) -> Row | None:
        """Merge a credible answer about an order. The row of the code if it was refused."""
        own, request = pending.own, pending.request
        assert own is not None
        row = _row_of(answer) if isinstance(answer, Rejected) else None
        if isinstance(request, ReadOrder):
            self._foreign_cancels.on_read(own, answer, now_ns)
            self._after_read(own, request.order_id, answer, row, pending.begun_ns, now_ns)
            self._file(own, now_ns)
            return row
        if isinstance(request, CancelResting) and not own.is_live:
            return row  # the cancel beside it was answered first
        self.last_write_ns = now_ns
        if isinstance(request, Create):
            self._after_create(own, request, answer, row, now_ns)
        elif isinstance(request, AmendResting):
            self._after_amend(own, request.amend, answer, row, now_ns)
        elif isinstance(request, CancelResting):
            if request.order_id != own.order_id:
                answer, row = Unknown("it has another id since"), None
            self._after_cancel(own, answer, row, now_ns)
        if row is not None and isinstance(request, Create | AmendResting):
            self.refusals.refused(own, request, row, now_ns)
        self._file(own, now_ns)
        return row

    def was_refused(self, order: QtyOrder) -> bool:
        """Whether just this order was refused before as something that cannot succeed."""
        return self.refusals.is_blocked(Create(order, RequestBody(b""), False))

    def _after_create(
        self, own: OwnOrder, request: Create, answer: Answer, row: Row | None, now_ns: int
    ) -> None:
        if isinstance(answer, Ok) and isinstance(answer.body, OrderBody):
            self._created(own, request, answer.body.order, now_ns)
            return
        was_lost = own.state is _NEW_UNKNOWN
        fact = _fact_of(row, of_create=True)
        if isinstance(answer, Rejected) and answer.code == Code.MARKET_RESOLVED:
            # Whatever became of it: nothing rests in a resolved market, and fills are listed.
            fact = OrderEvent.MARKET_RESOLVED
        own.answered(fact, now_ns)
        if fact is OrderEvent.DUPLICATE_ID:
            own.note_evidence(exists=True)
        if not own.is_live:
            if was_lost:
                self._out.effects.append(CreateResolved(own.client_order_id))
            if isinstance(answer, Rejected) and answer.status and answer.code not in CODES:
                # Nobody knows what it means: should an order appear there, it may be this one.
                self._may_stray(own)
            return
        if row is not None and row.sequenced is Sequenced.DECIDED:
            denied_ns = own.denied(now_ns)
            # Lists that are slow need longer to rule it out; where its equal rests they never do.
            wait_ns = max(self._again_ns, now_ns - denied_ns)
            own.due_ns = now_ns + min(wait_ns, self._again_max_ns)
        else:
            if fact is OrderEvent.TIMEOUT and own.evidence is not None:
                own.note_evidence(denied_ns=None)  # this sending may land, whatever came before
            own.due_ns = now_ns + (self._staleness.resend_ns if request.again else REPEAT_NS)
        if not was_lost:
            self._out.note("warning", "create_unknown", client_order_id=own.client_order_id)

    def _created(self, own: OwnOrder, request: Create, shown: model.Order, now_ns: int) -> None:
        twin = self.find(shown.order_id)
        if self.is_anothers(shown.order_id, own):
            # It names our create, and an id that another order of ours has, or had.
            self._out.inconsistencies.contradicts(
                Inconsistency.ORDER_ID_REUSED, f"order {shown.order_id}"
            )
        elif twin is not None and twin is not own:
            # It was found resting meanwhile and taken over: one order is counted once.
            twin.fills_shown(shown)
            self._file(twin, now_ns)
            own.counted_elsewhere(now_ns)
            return
        own.shown_by_write(shown, now_ns)
        own.due_ns = now_ns
        if own.is_take and own.is_live:
            own.suspect(OrderFinding.IMPOSSIBLE, "it rests, and was to trade at once", now_ns)
        elif own.is_take:
            self._out.took(TakeOutcome.TRADED if own.filled else TakeOutcome.EMPTY)
        elif own.state is State.CLOSED and shown.status is model.OrderStatus.CANCELED:
            # A gtc create that ends cancelled met our own order (interface, state table).
            self._out.counters.self_trades += not request.again

    def _after_amend(
        self, own: OwnOrder, amend: Amend, answer: Answer, row: Row | None, now_ns: int
    ) -> None:
        if not (isinstance(answer, Ok) and isinstance(answer.body, OrderBody)):
            fact = _fact_of(row, of_create=False)
            if fact is OrderEvent.TIMEOUT:
                self._out.note("warning", "amend_unknown", order_id=own.order_id or "")
            own.answered(fact, now_ns)
            if fact is not OrderEvent.NOT_SENT and own.is_live:
                own.read_due_ns = now_ns + self._staleness.read_lag_ns
            return
        shown = answer.body.order
        was, was_remaining = own.known, own.remaining
        if shown.order_id != own.order_id and not self._rename(own, shown, now_ns):
            return
        own.shown_by_write(shown, now_ns)
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
        """An amend gave an order another id (S13): it lives on under that one, and no order is
        amended any more. False where that id was found resting meanwhile, and is counted there."""
        if self.amends:
            self.amends = False
            self._out.note("warning", "amends_off", order_id=shown.order_id, why=_AMENDS_OFF)
        twin, before = self.find(shown.order_id), own.order_id
        if twin is not None and twin is not own:
            twin.previous_ids = (*own.previous_ids, *([before] if before else []))
            twin.fills_shown(shown)
            own.counted_elsewhere(at_ns)
            return False
        own.renamed(shown)
        if before is not None:
            self._id_over(own, before, at_ns)
        return True

    def _after_cancel(self, own: OwnOrder, answer: Answer, row: Row | None, now_ns: int) -> None:
        is_shown = isinstance(answer, Ok) and isinstance(answer.body, CancelBody)
        fact = _fact_of(row, of_create=False)
        if own.state is not _PENDING_CANCEL:
            # The cancel beside it told nothing: this one may.
            if not (is_shown or fact is OrderEvent.TOO_LATE) or not own.is_allowed(
                OrderEvent.CANCEL
            ):
                return
            own.sent_cancel()
        if isinstance(answer, Ok) and isinstance(answer.body, CancelBody):
            shown = answer.body.order
            if shown.order_id == own.order_id or self._rename(own, shown, now_ns):
                own.cancelled(shown, answer.body.reduced_by, now_ns)
            return
        if fact in UNDONE and self._is_hedged(own):
            return  # the answer to the other one is awaited
        own.answered(fact, now_ns)
        if fact is OrderEvent.TOO_LATE and own.order_id in self.closed_listed:
            self.closed_listed[own.order_id] = True
        advice = None if row is None else row.advice
        is_unread = own.evidence is not None and own.evidence.is_unread
        if is_unread or advice is Advice.PARK_MARKET:
            own.due_ns = now_ns + CANCEL_AGAIN_NS
        elif (
            fact in (OrderEvent.REJECTED, OrderEvent.NOT_FOUND)
            or "cancels_fail" in self._out.findings
        ):
            own.due_ns = now_ns + self._staleness.resend_ns
        else:
            own.due_ns = now_ns + REPEAT_NS
        if fact in (OrderEvent.TOO_LATE, OrderEvent.NOT_FOUND, OrderEvent.TIMEOUT) and own.is_live:
            # Cancels may be repeated oftener than reads lag: they put off no read that is due.
            own.read_due_ns = own.read_due_ns or now_ns + self._staleness.read_lag_ns

    def _is_hedged(self, own: OwnOrder) -> bool:
        return any(
            each.own is own and isinstance(each.request, CancelResting)
            for each in self._out.pending.values()
        )

    def _after_read(
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
            self._read_closed(own, answer, begun_ns, now_ns)
            return
        if isinstance(answer, Ok) and isinstance(answer.body, OrderBody):
            self.merge_read(own, answer.body.order, begun_ns, now_ns, by_id=True)
            return
        if row is not None and row.advice is Advice.LOOK_AGAIN:
            own.missing(begun_ns, now_ns, self._staleness.read_lag_ns)
        if own.is_live and own.read_due_ns is None:
            is_unread = own.evidence is not None and own.evidence.is_unread
            wait_ns = CANCEL_AGAIN_NS if is_unread else self._staleness.read_lag_ns
            own.read_due_ns = now_ns + wait_ns

    # --- reads and lists --------------------------------------------------------------------------

    def merge_read(
        self,
        own: OwnOrder,
        shown: model.Order,
        begun_ns: int,
        now_ns: int,
        *,
        by_id: bool = False,
    ) -> None:
        """Merge a read of one order, from a list or by its id."""
        if own.is_shown_as_known(shown):
            return
        if shown.order_id != own.order_id:
            self._found_renamed(own, shown, begun_ns)
            return
        if self._is_contradicted(own, shown, begun_ns, now_ns, by_id=by_id):
            self._file(own, now_ns)
            return
        lag_ns = self._staleness.read_lag_ns
        was, size, was_missed = own.state, own.known.size, own.evidence is not None
        if (
            was is State.CLOSED_UNCONFIRMED
            and shown.status in model.RESTING
            and begun_ns >= own.last_write_ns + lag_ns
        ):
            self.closed_working(shown, begun_ns, now_ns)
        own.shown_by_read(shown, begun_ns, lag_ns)
        if own.is_decided and own.contradicted_ns is None and own.read_due_ns != NEVER_NS:
            own.read_due_ns = None
        if was_missed and own.can_cancel and own.evidence is None:
            own.due_ns = min(own.due_ns, now_ns + self._staleness.resend_ns)
        if was is State.OPEN and own.state is State.OPEN and own.known.size < size:
            self._out.counters.self_trades += 1
            self._out.note("warning", "order_shrunk_without_fill", order_id=shown.order_id)
        self._file(own, begun_ns)

    def _is_contradicted(
        self, own: OwnOrder, shown: model.Order, begun_ns: int, now_ns: int, *, by_id: bool
    ) -> bool:
        """Whether a read takes from an order what no write of ours did, and is not to be merged: it
        counts as before until a read by its id, a lag later, says the same."""
        lag_ns, signs = self._staleness.read_lag_ns, self._out.inconsistencies
        how = own.contradicted_by(shown, begun_ns, lag_ns, by_id=by_id)
        if how is None:
            is_less = shown.filled_qty + own.fill_offset < own.filled
            if own.contradicted_ns is not None and begun_ns >= own.contradicted_ns and not is_less:
                own.contradicted_ns = None
                self._fell.pop(own, None)
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
            self._note_fell(own, shown, begun_ns, now_ns)
        elif how is Contradiction.ELSEWHERE:
            signs.contradicts(Inconsistency.ORDER_ID_REUSED, evidence)
        else:
            own.contradicted_ns = None
            return False
        own.read_due_ns = own.read_due_ns or now_ns + lag_ns
        return True

    def _note_fell(self, own: OwnOrder, shown: model.Order, begun_ns: int, now_ns: int) -> None:
        self._fell.setdefault(own, now_ns)
        evidence = f"order {shown.order_id}: {shown.filled_qty} filled after {own.filled}"
        kind, key = Inconsistency.FILLED_QTY_FELL, shown.order_id
        self._out.inconsistencies.on_sign(kind, key, evidence, begun_ns, now_ns, own.market_id)

    def _read_closed(self, own: OwnOrder, answer: Answer, begun_ns: int, now_ns: int) -> None:
        """A closed order that showed fewer fills than before is read until that is decided."""
        if own not in self._fell or not isinstance(answer, Ok):
            return
        if not isinstance(answer.body, OrderBody):
            return
        shown = answer.body.order
        if shown.filled_qty + own.fill_offset < own.filled:
            self._note_fell(own, shown, begun_ns, now_ns)
        else:
            del self._fell[own]
            signs = self._out.inconsistencies
            signs.on_sign_gone(Inconsistency.FILLED_QTY_FELL, shown.order_id)

    def closed_working(self, shown: model.Order, begun_ns: int, now_ns: int) -> None:
        """A read that began a lag after the end of an order of ours shows it working."""
        self.closed_listed.setdefault(shown.order_id, True)
        self._out.inconsistencies.on_sign(
            Inconsistency.CLOSED_ORDER_WORKING,
            shown.order_id,
            f"order {shown.order_id} on {shown.ticker}",
            begun_ns,
            now_ns,
            shown.market_id,
        )

    def not_listed(self, own: OwnOrder, begun_ns: int, now_ns: int) -> None:
        """A whole list does not show this order: it is read by its id. One that reads do not find
        for long is cancelled."""
        held = own.suspicion
        if own.state is State.OPEN and begun_ns >= own.last_write_ns + self._staleness.read_lag_ns:
            own.read_due_ns = own.read_due_ns or now_ns
            self._file(own, now_ns)
        if (
            held is not None
            and held.finding is OrderFinding.MISSING
            and begun_ns >= held.since_ns + MISSING_FOR_NS
            and not own.cancel_requested
        ):
            own.cancel_requested, own.why, own.due_ns = True, "neither listed nor found", now_ns
            self._file(own, now_ns)

    def explain_lost(
        self, shown: Iterable[model.Order], begun_ns: int, now_ns: int, fills_begun_ns: int
    ) -> list[MarketId]:
        """A complete list of what rests: what it says of orders that the venue has denied.

        begun_ns and now_ns: when it was asked for and answered. fills_begun_ns: when the newest
        whole walk of the fills began, below zero without one.

        Those are lost creates whose re-sends are refused, for longer than a request can be on its
        way, orders that an undecided amend may have given another id, and orders that no cancel
        finds. Returns their markets. When no order that could be theirs rests, they never landed or
        are over: nothing can fill any more, and once the fills were walked after that, all that did
        is booked. When the venue has said that a create exists, a stranger that equals it
        is it; which of several equal ones does not matter.
        """
        if not self._attention:
            return []
        strangers: dict[Slot, list[model.Order]] = {}
        listed = set()
        for row in shown:
            listed.add(row.order_id)
            if row.status not in model.TERMINAL and not self.knows(row.order_id):
                strangers.setdefault(slot_shown(row), []).append(row)
        walk = _Walk(begun_ns, now_ns, fills_begun_ns)
        changed: list[MarketId] = []
        for own in list(self._attention):
            if own.evidence is None or own.order_id in listed:
                continue
            if self._explain(own, strangers, walk):
                changed.append(own.market_id)
                self._file(own, begun_ns)
        return changed

    def _explain(
        self, own: OwnOrder, strangers: dict[Slot, list[model.Order]], walk: _Walk
    ) -> bool:
        """Whether a list tells what became of an order that the venue has denied."""
        lag_ns, held = self._staleness.read_lag_ns, own.evidence
        is_lost = own.state is _NEW_UNKNOWN
        if held is None or held.denied_ns is None or not (is_lost or own.state in _SETTLES):
            return False
        # From when on a whole list would show it if it rested.
        from_ns = held.denied_ns + lag_ns
        if is_lost:
            from_ns = max(from_ns + self._staleness.refused_resend_ns, own.last_write_ns + lag_ns)
        if walk.begun_ns < from_ns:
            return False
        if is_lost and own.due_ns == NEVER_NS:
            return False  # a re-send is on its way: its answer is better than any list
        if own.is_id_open and not own.is_take:
            # The place that it may have been moved to first.
            rows = next((strangers[each] for each in own.slots[::-1] if strangers.get(each)), [])
            if rows:
                return self._is_shown(own, rows, walk)
            if is_lost and self._taken_over(own):
                return False  # that one may be it, and is being cancelled
        if own.is_take:
            is_over = walk.fills_begun_ns >= from_ns
        elif held.unlisted_ns is None or held.unlisted_ns < from_ns:
            own.note_evidence(unlisted_ns=walk.now_ns)
            is_over = False
        else:
            is_over = min(walk.begun_ns, walk.fills_begun_ns) >= held.unlisted_ns + lag_ns
        if is_lost and not is_over:
            # Another sending would have it proven anew from the start.
            own.due_ns = max(own.due_ns, walk.now_ns + self._again_ns)
        if not is_over or not (is_lost or held.is_unread):
            return False
        if not own.is_take:
            self._may_stray(own)
        own.gone(walk.begun_ns)
        if is_lost:
            self._out.effects.append(CreateResolved(own.client_order_id))
            self._out.note("info", "create_never_landed", client_order_id=own.client_order_id)
        else:
            self._out.note("warning", "order_gone", order_id=own.order_id or "")
        return True

    def _is_shown(self, own: OwnOrder, rows: list[model.Order], walk: _Walk) -> bool:
        """Strangers rest where an order may: whether one of them is taken for it."""
        if own.state is not _NEW_UNKNOWN:
            slot = slot_shown(rows[0])
            if any(
                each.state is _NEW_UNKNOWN and slot in each.slots
                for each in self.live(own.market_id)
            ):
                return False  # it may be the order of that create, which a re-send will show
            self._found_renamed(own, rows.pop(0), walk.begun_ns)
            return True
        own.note_evidence(unlisted_ns=None)
        if own.evidence is None or not own.evidence.exists:
            return False
        own.identified(rows.pop(0), walk.begun_ns)
        self._out.effects.append(CreateResolved(own.client_order_id, own.order_id))
        self._out.note("info", "create_identified", client_order_id=own.client_order_id)
        return True

    def _found_renamed(self, own: OwnOrder, shown: model.Order, begun_ns: int) -> None:
        """A read shows an order under another id, which an undecided amend has given it."""
        if self._rename(own, shown, begun_ns):
            own.found_renamed(shown, begun_ns)
        self._file(own, begun_ns)

    def _taken_over(self, own: OwnOrder) -> bool:
        """Whether an order that was found resting, and may still rest, stands in its slot."""
        return any(
            other.is_adopted and other.slots[0] == own.slots[0]
            for other in self.live(own.market_id)
        )


# --- readings of answers --------------------------------------------------------------------------


def _row_of(answer: Rejected) -> Row:
    return _NOT_CONNECTED if answer.status == 0 else row_for(answer.status, answer.code)


_NOT_CONNECTED = row_for(429, "")
"""A request that never left this host is refused like one that never reached the engine."""


def _fact_of(row: Row | None, *, of_create: bool) -> OrderEvent:
    """What an answer that shows no order says of a write. row: None when it was no refusal."""
    if row is None or row.sequenced is Sequenced.UNKNOWN:
        return OrderEvent.TIMEOUT
    if row.sequenced is Sequenced.NEVER:
        return OrderEvent.NOT_SENT
    policy = POLICIES[row.advice]
    return policy.of_create if of_create else policy.of_change


def _refuses_another(request: Request, answer: Rejected) -> bool:
    """True when a refusal cannot be that of such a write. One that comes again when a create is
    sent again is believed: then it is the venue's own way of refusing it."""
    advice = row_for(answer.status, answer.code).advice
    if isinstance(request, Create) and not request.again:
        return advice in (Advice.ENDED, Advice.LOOK_AGAIN)
    return isinstance(request, AmendResting) and advice is Advice.EXISTS


def is_news(own: OwnOrder, request: Request, answer: Answer) -> bool:
    """True when an answer may say anything of an order that is not known; a read often does not."""
    if isinstance(request, ReadOrder) and isinstance(answer, Ok):
        return not isinstance(answer.body, OrderBody) or not own.is_shown_as_known(
            answer.body.order
        )
    return True


def _meant_as_total(asked: Qty, shown: model.Order, old_filled: Qty) -> bool:
    """Whether a venue took an amend's qty as the order's total, not its remainder (S13).

    Only an order that had filled before tells, and only if it did not fill meanwhile: the amend
    itself may trade.
    """
    return (
        shown.filled_qty == old_filled > 0
        and shown.remaining_qty == asked - shown.filled_qty
        and shown.qty == asked
    )
