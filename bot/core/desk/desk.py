"""What is sent about own orders, and what every answer, read and list makes of them.

Turns an answer into a fact of `bot.core.orders.life` by the errors table, and the due times of an
order into its recovery requests: a create without an answer is sent again byte for byte, an amend
without one is read back, a cancel without one is repeated. No timer ends an unknown order.

Source: design, law 3; reliability, code-to-action table, rows 1, 19-36, B1, B6-B8, B12.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from bot.core.desk.credible import doubt_about, echoes, is_named_otherwise
from bot.core.desk.foreign_cancels import ForeignCancels
from bot.core.desk.hung import hear_no_other, is_beside
from bot.core.desk.outbox import Outbox, Pending
from bot.core.desk.refusals import Refusals
from bot.core.desk.shelf import NEVER_NS, Shelf, Slot, slot_shown, slots_of
from bot.core.desk.spend import Lane
from bot.core.messages import (
    AmendResting,
    Answer,
    CancelResting,
    CancelShown,
    Create,
    Done,
    IntentSettled,
    OrderShown,
    ReadOrder,
    Refused,
    Unknown,
)
from bot.core.orders.order import UNDONE, Fact, Finding, OwnOrder, State
from bot.core.orders.takefate import TakeFate
from bot.core.settings import TrustSettings
from venue.wire import model
from venue.wire.errors import CODES, Advice, Code, Row, Sequenced, row_for
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Price, Qty
from venue.wire.names import MarketId
from venue.wire.requests import Amend, QtyOrder, RequestBody, keeps_priority

_LOST: Final = State.LOST

REPEAT_NS: Final = 200 * NS_PER_MS
"""A create or cancel whose answer failed to come is sent again so soon the first time."""

UNKNOWN_OLD_NS: Final = 30 * NS_PER_SECOND
"""An order unknown for so long is told; it stays unknown all the same (row 25)."""


class _Walk(NamedTuple):
    """When a whole list of what rests was begun and answered, and the newest of the fills begun."""

    begun_ns: int
    now_ns: int
    fills_begun_ns: int


class Desk(Shelf):
    """The orders, the requests about them, and what their answers come to.

    amends_of_size: False once the venue was seen to take an amend's qty for the order's total.
    last_write_ns: when any write of ours was last answered.
    """

    def __init__(self, trust: TrustSettings, out: Outbox) -> None:
        super().__init__(trust, out)
        self._refusals = Refusals()
        self._foreign_cancels = ForeignCancels(out)
        self.amends_of_size = True
        self.last_write_ns = 0
        # Two lists, and the fills between them, should be read before such a create is sent again.
        listed_ns = 2 * trust.read_lag_ns + 3 * trust.suspect_sweep_ns
        self._again_ns = max(trust.refused_resend_ns, listed_ns)
        self._again_max_ns = max(4 * self._again_ns, trust.unread_ns)

    # --- sending ----------------------------------------------------------------------------------

    def send_create(self, own: OwnOrder, request: Create, now_ns: int) -> bool:
        """Send a first create; the order is kept if it left.

        False, and nothing changed, when there is no token, when a bound is reached, or when just
        this was refused before as something that cannot succeed.
        """
        if self.is_full() or self._refusals.is_latched(request):
            return False
        if not self._out.send(request, Lane.CREATE, own.why, now_ns, own):
            return False
        own.due_ns = NEVER_NS
        self.add(own)
        return True

    def send_amend(self, own: OwnOrder, amend: Amend, why: str, now_ns: int) -> bool:
        """Send an amend of an open order. A change that was refused is not asked for again: the
        order is cancelled. False, and nothing changed, when nothing could be sent."""
        if own.order_id is None or not own.may(Fact.AMEND):
            return False
        request = AmendResting(own.order_id, amend)
        if self._refusals.is_latched(request):
            return self.send_cancel(own, "its change was refused", now_ns)
        if not self._out.send(request, Lane.AMEND, why, now_ns, own):
            return False
        own.sent_amend(amend)
        own.why = why
        self._file(own, now_ns)
        return True

    def send_cancel(self, own: OwnOrder, why: str, now_ns: int) -> bool:
        """Send a cancel of an open or blurred order. False, and nothing changed, if it may not."""
        if own.order_id is None or not own.may(Fact.CANCEL):
            return False
        if not self._out.send(CancelResting(own.order_id), Lane.CANCEL, why, now_ns, own):
            return False
        own.sent_cancel()
        own.why = why
        self._file(own, now_ns)
        return True

    def recover(self, now_ns: int) -> None:
        """Send what is due for orders whose state is not known: re-sends and reads back.

        A re-send may be what places a lost create, at a price no longer wanted. It has been counted
        at its full size since it first left, so every limit has room for it, and its cancel leaves
        as soon as the reply shows its id (row 22).
        """
        for own in list(self._attention):
            if own.state is _LOST:
                if own.due_ns <= now_ns:
                    self._resend(own, now_ns)
            elif own.read_due_ns is not None and own.read_due_ns <= now_ns:
                self._read_back(own, now_ns)
        self._foreign_cancels.age(now_ns)
        if self._unknown or self._out.findings:
            self._tell_age(now_ns)

    def _resend(self, own: OwnOrder, now_ns: int) -> None:
        request = Create(own.intent(), own.body, True)
        if self._out.send(request, Lane.RECOVER, "no answer yet", now_ns, own):
            own.sent_again()
            own.due_ns = NEVER_NS

    def _read_back(self, own: OwnOrder, now_ns: int) -> None:
        assert own.order_id is not None
        why = f"read back: {own.state}"
        if self._out.send(ReadOrder(own.order_id), Lane.RECOVER, why, now_ns, own):
            own.read_due_ns = None
            own.reading = True

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
            if own.due_ns < due_ns and (own.state is _LOST or (own.doomed and own.is_free)):
                due_ns = own.due_ns
        return due_ns

    # --- answers ----------------------------------------------------------------------------------

    def credible(self, pending: Pending, answer: Answer) -> Answer:
        """An answer about an order as it may be believed: Unknown where it cannot be about it."""
        own = pending.own
        if own is None:
            return answer
        doubt = doubt_about(answer, pending.request, own, self.find, self.knows, self.is_anothers)
        if not doubt:
            return answer
        name = own.order_id or own.client_order_id
        self._out.note("error", "answer_not_credible", order=name, why=doubt)
        return Unknown(doubt)

    def take_answer(self, pending: Pending, answer: Answer, now_ns: int) -> Row | None:
        """Merge a credible answer about an order. The row of the code if it was refused."""
        own, request = pending.own, pending.request
        assert own is not None
        row = _row_of(answer) if isinstance(answer, Refused) else None
        if isinstance(request, ReadOrder):
            self._foreign_cancels.on_read(own, answer, now_ns)
            self._after_read(own, answer, row, pending.begun_ns, now_ns)
            self._file(own, now_ns)
            return row
        self.last_write_ns = now_ns
        if isinstance(request, Create):
            self._after_create(own, request, answer, row, now_ns)
        elif isinstance(request, AmendResting):
            self._after_amend(own, request.amend, answer, row, now_ns)
        else:
            self._after_cancel(own, answer, row, now_ns)
            if own.state is not State.CANCELLING:
                hear_no_other(self._out, own)
        if row is not None and isinstance(request, Create | AmendResting):
            self._refusals.refused(own, request, row, now_ns)
        self._file(own, now_ns)
        return row

    def was_refused(self, order: QtyOrder) -> bool:
        """Whether just this order was refused before as something that cannot succeed."""
        return self._refusals.is_latched(Create(order, RequestBody(b""), False))

    def often_refused(self, own: OwnOrder, now_ns: int) -> bool:
        """Whether writes on this side of its rung were refused three times within a minute."""
        return self._refusals.often(own, now_ns)

    def _after_create(
        self, own: OwnOrder, request: Create, answer: Answer, row: Row | None, now_ns: int
    ) -> None:
        if isinstance(answer, Done) and isinstance(answer.body, OrderShown):
            self._created(own, request, answer.body.order, now_ns)
            return
        was_lost = own.state is _LOST
        fact = _fact_of(row, of_create=True)
        if isinstance(answer, Refused) and answer.code == Code.MARKET_RESOLVED:
            # Whatever became of it: nothing rests in a resolved market, and fills are listed.
            fact = Fact.RESOLVED
        own.answered(fact, now_ns)
        own.exists |= fact is Fact.EXISTS
        if not own.is_live:
            if was_lost:
                self._out.effects.append(IntentSettled(own.client_order_id))
            if isinstance(answer, Refused) and answer.status and answer.code not in CODES:
                # Nobody knows what it means: should an order appear there, it may be this one.
                self._may_stray(own)
            return
        if row is not None and row.sequenced is Sequenced.DECIDED:
            own.refused_since_ns = own.refused_since_ns or now_ns
            # Lists that are slow need longer to rule it out; where its equal rests they never do.
            wait_ns = max(self._again_ns, now_ns - own.refused_since_ns)
            own.due_ns = now_ns + min(wait_ns, self._again_max_ns)
        else:
            if fact is Fact.NO_ANSWER:
                own.refused_since_ns = None  # this sending may yet land, whatever came before it
            own.due_ns = now_ns + (self._trust.resend_ns if request.again else REPEAT_NS)
        if not was_lost:
            self._out.note("warning", "create_unknown", client_order_id=own.client_order_id)

    def _created(self, own: OwnOrder, request: Create, shown: model.Order, now_ns: int) -> None:
        twin = self._by_id.get(shown.order_id)
        if twin is not None and is_named_otherwise(twin, own):
            self._id_reused(twin, now_ns)
        elif twin is not None and twin is not own:
            # It was found resting meanwhile and taken over: one order is counted once.
            twin.fills_shown(shown)
            self._file(twin, now_ns)
            own.counted_elsewhere(now_ns)
            return
        # An order left by an earlier run is cancelled anyway, and may have been amended by it.
        is_ours = own.inherited or echoes(own, shown)
        own.shown_by_write(shown, now_ns)
        own.due_ns = now_ns
        if not is_ours and own.is_live:
            own.suspect(Finding.ECHO, "not what was asked for", now_ns)
        elif not is_ours:
            self._out.note("error", Finding.ECHO, order_id=shown.order_id)
        elif own.is_take:
            self._taken(own, now_ns)
        elif own.state is State.DONE and shown.status is model.OrderStatus.CANCELED:
            # A gtc create that ends cancelled met our own order (interface, state table).
            self._out.self_trades += not request.again

    def _taken(self, own: OwnOrder, now_ns: int) -> None:
        """The answer to a take shows what it traded. None rests; one that does is cancelled."""
        if own.is_live:
            own.suspect(Finding.ECHO, "it rests, and was to trade at once or not at all", now_ns)
        else:
            self._out.took(TakeFate.TRADED if own.filled else TakeFate.EMPTY)

    def _after_amend(
        self, own: OwnOrder, amend: Amend, answer: Answer, row: Row | None, now_ns: int
    ) -> None:
        if not (isinstance(answer, Done) and isinstance(answer.body, OrderShown)):
            fact = _fact_of(row, of_create=False)
            if fact is Fact.NO_ANSWER:
                self._out.note("warning", "amend_unknown", order_id=own.order_id or "")
            own.answered(fact, now_ns)
            if fact is not Fact.NEVER and own.is_live:
                own.read_due_ns = now_ns + self._trust.read_lag_ns
            return
        shown = answer.body.order
        was = own.known
        if shown.order_id != own.order_id:
            self._succeed(own, shown, Fact.ENDED, now_ns)
        else:
            own.shown_by_write(shown, now_ns)
            self._tell_spare(own)
        self._count_place(amend, was.price, was.remaining)
        if amend.qty is not None and _meant_as_total(amend.qty, shown, was.filled):
            self.amends_of_size = False
            self._out.find("amend_qty_is_total", "amends of size are switched off")

    def _succeed(self, own: OwnOrder, shown: model.Order, fact: Fact, at_ns: int) -> OwnOrder:
        """An order lives on under another id, and is returned; under its own it is over (S13)."""
        self._out.note("warning", "amend_changed_order_id", order_id=shown.order_id)
        later = own.successor(shown, at_ns)
        own.replaced(fact, at_ns)
        self._file(own, at_ns)
        if not self.knows(shown.order_id):
            self.add(later)
            self._tell_spare(later)
        return self.find(shown.order_id) or later

    def _tell_spare(self, own: OwnOrder) -> None:
        if own.is_live and own.known.size > own.intended:
            self._out.note("info", "amend_raced_fill", order_id=own.order_id or "")

    def _after_cancel(self, own: OwnOrder, answer: Answer, row: Row | None, now_ns: int) -> None:
        if isinstance(answer, Done) and isinstance(answer.body, CancelShown):
            shown = answer.body.order
            if shown.order_id == own.order_id:
                own.cancelled(shown, answer.body.reduced_by, now_ns)
                return
            later = self._succeed(own, own.before_its_cancel(shown), Fact.ENDED, now_ns)
            if later.may(Fact.CANCEL):
                later.sent_cancel()  # under its earlier id
            later.cancelled(shown, answer.body.reduced_by, now_ns)
            self._file(later, now_ns)
            return
        fact = _fact_of(row, of_create=False)
        if fact not in UNDONE or not is_beside(self._out, own):
            own.answered(fact, now_ns)
        slow = fact in (Fact.REFUSED, Fact.MISSING) or "cancels_fail" in self._out.findings
        own.due_ns = now_ns + own.again_ns(self._trust.resend_ns if slow else REPEAT_NS, now_ns)
        if fact is not Fact.NEVER and own.is_live and own.read_due_ns is None:
            # Cancels may be repeated oftener than reads lag: they put off no read that is due.
            own.read_due_ns = now_ns + self._trust.read_lag_ns

    def _after_read(
        self, own: OwnOrder, answer: Answer, row: Row | None, begun_ns: int, now_ns: int
    ) -> None:
        own.reading = False
        if isinstance(answer, Done) and isinstance(answer.body, OrderShown):
            if not self.is_doubted(own, answer.body.order, begun_ns, by_id=True):
                self.merge_read(own, answer.body.order, begun_ns)
            return
        if row is not None and row.advice is Advice.LOOK_AGAIN:
            own.missing(now_ns)
            if own.absence is not None:
                own.absence = own.absence.by_read(begun_ns, self._trust.read_lag_ns)
        if own.is_live:
            own.read_due_ns = now_ns + own.again_ns(self._trust.read_lag_ns, now_ns)

    # --- reads and lists --------------------------------------------------------------------------

    def merge_read(self, own: OwnOrder, shown: model.Order, begun_ns: int) -> None:
        """Merge a read of one order, from a list or by id."""
        if own.is_shown_as_known(shown):
            return
        if shown.order_id != own.order_id:
            self._succeed(own, shown, Fact.LISTED, begun_ns)
            return
        if own.is_elsewhere(shown):
            self._id_reused(own, begun_ns)
            return
        if not own.may_have_filled(shown.filled_qty):
            own.suspect(Finding.IMPOSSIBLE, "more of it filled than was asked for", begun_ns)
            self._file(own, begun_ns)
            return
        was, size = own.state, own.known.size
        own.shown_by_read(shown, begun_ns, self._trust.read_lag_ns)
        if was is State.OPEN and own.state is State.OPEN and own.known.size < size:
            self._out.self_trades += 1
            self._out.note("warning", "order_shrunk_without_fill", order_id=shown.order_id)
        elif was is State.BLURRED and own.state is State.OPEN:
            self._tell_spare(own)
        self._file(own, begun_ns)

    def explain_lost(
        self, shown: Iterable[model.Order], begun_ns: int, now_ns: int, fills_begun_ns: int
    ) -> list[MarketId]:
        """A complete list of what rests: what it says of orders whose id is not known.

        begun_ns and now_ns: when it was asked for and answered. fills_begun_ns: when the newest
        whole walk of the fills began, below zero without one.

        Those are lost creates, and orders that an undecided amend may have given another id.
        Returns their markets. Re-sends of the former are decided against, for longer than a
        request can be on its way. When no order that could be theirs rests, they never landed or
        are over: nothing can fill any more, and once the fills were walked after that, all that did
        is booked (row 23). When the venue has said that one exists, a stranger that equals it is
        it; which of several equal ones does not matter. A row that is over is none of them.
        """
        if not self._attention:
            return []
        strangers: dict[Slot, list[model.Order]] = {}
        for row in shown:
            if row.status not in model.TERMINAL and not self.knows(row.order_id):
                strangers.setdefault(slot_shown(row), []).append(row)
        walk = _Walk(begun_ns, now_ns, fills_begun_ns)
        changed: list[MarketId] = []
        for own in list(self._attention):
            is_lost = own.state is _LOST
            explain = self._explain_create if is_lost else self._explain_moved
            if explain(own, strangers, walk):
                changed.append(own.market_id)
                self._file(own, begun_ns)
        return changed

    def _explain_create(
        self, own: OwnOrder, strangers: dict[Slot, list[model.Order]], walk: _Walk
    ) -> bool:
        shown_from_ns = own.shown_from_ns(self._trust.refused_resend_ns, self._trust.read_lag_ns)
        if shown_from_ns is None or walk.begun_ns < shown_from_ns:
            return False
        if own.due_ns == NEVER_NS:
            return False  # a re-send is on its way: its answer is better than any list
        # A take never rests: no order of a list is it.
        rows = [] if own.is_take else strangers.get(slots_of(own)[0], [])
        if rows:
            own.unlisted_ns = None
            if not own.exists:
                return False
            own.identified(rows.pop(0), walk.begun_ns)
            self._out.effects.append(IntentSettled(own.client_order_id, own.order_id))
            self._out.note("info", "create_identified", client_order_id=own.client_order_id)
            return True
        if not own.is_take and self._taken_over(own):
            return False  # that one may be it, and is being cancelled
        if not self._is_booked(own, shown_from_ns, walk):
            # Another sending would have it proven anew from the start.
            own.due_ns = max(own.due_ns, walk.now_ns + self._again_ns)
            return False
        if not own.is_take:
            self._may_stray(own)
        own.unlisted(walk.begun_ns)
        self._out.effects.append(IntentSettled(own.client_order_id))
        self._out.note("info", "create_never_landed", client_order_id=own.client_order_id)
        return True

    def _explain_moved(
        self, own: OwnOrder, strangers: dict[Slot, list[model.Order]], walk: _Walk
    ) -> bool:
        since_ns, lag_ns = own.elsewhere_since_ns, self._trust.read_lag_ns
        if since_ns is None or walk.begun_ns < since_ns + lag_ns:
            return False
        rows = [row for slot in reversed(slots_of(own)) for row in strangers.get(slot, [])]
        if rows:
            strangers[slot_shown(rows[0])].remove(rows[0])
            self._succeed(own, rows[0], Fact.LISTED, walk.begun_ns)
            return True
        if own.moved_ns is None and not own.is_unfound:
            return False  # it answers 404, and rests nowhere else: it is kept
        if not self._is_booked(own, since_ns + lag_ns, walk):
            return False
        self._may_stray(own)
        own.unlisted(walk.begun_ns)
        if own.is_unfound:
            self._out.note("warning", "order_gone", order_id=own.order_id or "")
        return True

    def _is_booked(self, own: OwnOrder, from_ns: int, walk: _Walk) -> bool:
        return own.is_booked(from_ns, walk.now_ns, walk.fills_begun_ns, self._trust.read_lag_ns)

    def _count_place(self, amend: Amend, old_price: Price, old_remaining: Qty) -> None:
        new_price = old_price if amend.price is None else amend.price
        new_qty = old_remaining if amend.qty is None else amend.qty
        if keeps_priority(old_price, old_remaining, new_price, new_qty):
            self._out.amends_kept_place += 1
        else:
            self._out.amends_lost_place += 1


# --- readings of answers --------------------------------------------------------------------------


def _row_of(answer: Refused) -> Row:
    return _NOT_CONNECTED if answer.status == 0 else row_for(answer.status, answer.code)


_NOT_CONNECTED = row_for(429, "")
"""A request that never left this host is refused like one that never reached the engine."""


def _fact_of(row: Row | None, *, of_create: bool) -> Fact:
    """What an answer that shows no order says of a write. row: None when it was no refusal."""
    if row is None or row.sequenced is Sequenced.UNKNOWN:
        return Fact.NO_ANSWER
    if row.sequenced is Sequenced.NEVER:
        return Fact.NEVER
    if of_create:
        return Fact.EXISTS if row.advice is Advice.EXISTS else Fact.REFUSED
    if row.advice is Advice.ENDED:
        return Fact.OVER
    return Fact.MISSING if row.advice is Advice.LOOK_AGAIN else Fact.REFUSED


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
