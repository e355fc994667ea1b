"""One own order, and how acts, answers, reads and lists change it.

Each method of `OwnOrder` is a step of the table of `transitions` and a join of `OrderSnapshot`s.
Nothing here decides what to send; the manager reads `state` and the due times.
"""

import enum
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from bot.core.messages import UnconfirmedCreate
from bot.core.orders.cancel_reasons import CancelReason
from bot.core.orders.snapshot import EARLIER, OrderSnapshot
from bot.core.orders.transitions import (
    IN_FLIGHT,
    TRANSITIONS,
    UNDONE,
    Anomaly,
    NotAllowed,
    OrderEvent,
    OrderFinding,
    State,
)
from bot.core.risk.exposure import OpenExposure, Reach
from bot.strategy.api import Quote
from venue.wire import model
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import Amend, QtyOrder, TimeInForce

__all__ = [
    "IN_FLIGHT",
    "TRANSITIONS",
    "UNDONE",
    "OrderEvent",
    "OrderFinding",
    "OwnOrder",
    "State",
    "Suspicion",
]

_BID: Final = BookSide.BID
_OPEN: Final = State.OPEN
_NEW_UNKNOWN: Final = State.NEW_UNKNOWN
_REPLACE_UNKNOWN: Final = State.REPLACE_UNKNOWN
_PENDING_CANCEL: Final = State.PENDING_CANCEL
_CLOSED_UNCONFIRMED: Final = State.CLOSED_UNCONFIRMED
_CLOSED: Final = State.CLOSED

Slot = tuple[MarketId, str, str, Price]
"""Market, outcome, side and price: they identify an order without an id."""


class Tag(NamedTuple):
    """The reason for an order, for the attribution of profit."""

    level: int
    """The place of its quote on its side, 0 at the touch; -1 when it is no quote of the plan."""
    strategy: str
    reason: str


UNTAGGED: Final = Tag(-1, "not known", "not known")
"""Of orders that this run did not place, or has forgotten."""


def tag_of(planned: Iterable[Quote], side: BookSide, price: Price, strategy: str, why: str) -> Tag:
    """The tag of an order that is sent now at a canonical price. planned: the quotes of the plan.
    The reason is `why` without its numbers, so that there are few of them."""
    better = at = 0
    for quote in planned:
        if quote.side is side:
            at += quote.price == price
            better += quote.price > price if side is BookSide.BID else quote.price < price
    reason = re.sub(r" from [0-9].*|,? ?[0-9]+", "", why) or "not known"
    return Tag(better if at else -1, strategy, reason)


class Suspicion(msgspec.Struct, frozen=True):
    """A suspicion about an order: why and since when. Only a read that is not stale clears it."""

    finding: OrderFinding
    why: str
    since_ns: int


class Evidence(msgspec.Struct, frozen=True):
    """The venue's answers about an order that nothing shows.

    Such an order counts as over only when three things agree: the engine's own word (`denied_ns`),
    for an order with an id a read by it (`is_unread`), and full lists that begin a lag apart and
    lack it, with the fills walked a lag after the first of them.
    """

    denied_ns: int | None = None
    """When the venue first denied the order: it rejected a retried create, or answered a cancel or
    an amend by 404, or by an end without its fills."""
    exists: bool = False
    """True if a retried create is a duplicate: the order is there, and no list shows it."""
    is_unread: bool = False
    """True if a read by its id, begun a lag after `denied_ns`, found no order, or a cancelled one
    where an amend may have given it another id."""
    unlisted_ns: int | None = None
    """When the first of the full lists in a row that lack it was answered."""
    rested: tuple[OrderSnapshot, int] | None = None
    """How a read showed it resting while an amend has no answer, and when that read was sent."""


class Contradiction(enum.StrEnum):
    """How a read may contradict what we know of an order. Another read has to confirm it."""

    ELSEWHERE = "it trades in another market, on another side or for another outcome"
    OVER = "it is over, in a list of what rests"
    SMALLER = "it is smaller without a fill"
    FELL = "it shows fewer shares filled"


class OwnOrder:
    """One order of ours, as a state machine: give it every answer and every read about it.

    Times are the bot's clock; `begun_ns` is when a read was sent. Nothing raises but an act that
    the table does not allow.
    """

    def __init__(self, order: QtyOrder, now_ns: int, why: str) -> None:
        self.order = order
        """What its create asks for, the same each time it is sent."""
        self.order_id: OrderId | None = None
        self.market_id: MarketId = order.market_id
        self.outcome: Outcome = order.outcome
        self.side = order.side
        self.book_side = book_side(order.outcome, order.side)
        self.state = State.PENDING_NEW
        self.amend: Amend | None = None
        """The change in flight, or after a timeout."""
        self.cancel_requested = False
        """True if it is to be cancelled as soon as it can be."""
        self.from_previous_run = False
        """True if an earlier run placed it. That run may have amended it."""
        self.placed_ns = now_ns
        self.last_write_ns = now_ns
        """When our last write about it was answered or timed out."""
        self.due_ns = now_ns
        """When to retry its create, or its cancel."""
        self.read_due_ns: int | None = None
        """When to reconcile it by a read of its id; `NEVER_NS` while such a read is in flight."""
        self.contradicted_ns: int | None = None
        """Since when reads contradict what we know of it."""
        self.suspicion: Suspicion | None = None
        self.evidence: Evidence | None = None
        self.previous_ids: tuple[OrderId, ...] = ()
        """Ids that amends took from it (S13): fills booked under them are its own."""
        self.fill_offset = 0
        """Added to the filled shares that its id shows. Above zero, an earlier id filled them;
        below zero, they were in the positions when the books opened."""
        self.booked = 0
        """Its shares whose fills are booked: a stale read may lack them, they cannot fill again."""
        self.worst_price = order.price
        """The worst price of its fills from the newest answered create or amend on."""
        self.worst_fills: tuple[int, Price] = (0, order.price)
        """So many of its first shares may have filled at this price, which may be worse."""
        self.tag = UNTAGGED
        self.why = why
        self._set_known(OrderSnapshot(0, order.price, order.qty))

    def _set_known(self, known: OrderSnapshot) -> None:
        """Keep the venue's word so far, and the answers that follow from it: they are asked far
        more often than it changes."""
        self.known = known
        self.price = known.price
        """The limit in cents of its own outcome."""
        self.filled = known.filled
        """Shares that have traded, at least; it never falls."""
        self.remaining = known.remaining
        """Shares that work, at most."""
        self.yes_price = canonical(self.outcome, known.price)
        self.worst_price = self._worse_price(self.worst_price, known.price)
        self._set_amend(self.amend)

    def _set_amend(self, amend: Amend | None) -> None:
        self.amend = amend
        self.max_fillable = self.max_fillable_after(amend)
        """Shares that may yet fill, at most."""
        self.yes_prices: tuple[Price, ...] = (self.yes_price,)
        """Every canonical price at which it may rest: two while a price amend is in flight."""
        if amend is not None and amend.price is not None:
            self.yes_prices = (self.yes_price, canonical(self.outcome, amend.price))
        worst = max if self.book_side is _BID else min  # the boldest costs most, by either route
        self.reach: Reach = (self.book_side, worst(self.yes_prices), self.max_fillable)
        """As the limits count it."""

    # --- beginnings -------------------------------------------------------------------------------

    @classmethod
    def left_behind(cls, intent: UnconfirmedCreate, now_ns: int) -> "OwnOrder":
        """A create of an earlier run without an answer (timeout): retry it, then cancel it."""
        own = cls(intent.order, now_ns, "left by an earlier run")
        own.state = _NEW_UNKNOWN
        own.from_previous_run = own.cancel_requested = True
        return own

    @classmethod
    def found_resting(
        cls, shown: model.Order, now_ns: int, name: ClientOrderId | None = None
    ) -> "OwnOrder":
        """A resting order that this run did not place, adopted to be cancelled. name: its
        client_order_id, where that is known.

        Raises ValueError when its outcome or side cannot be recognised.
        """
        order = QtyOrder(
            shown.market_id,
            Outcome(shown.outcome.value),
            Side(shown.side.value),
            shown.price,
            Qty(shown.filled_qty + shown.remaining_qty),
            TimeInForce.GTC,
            name or ClientOrderId(""),
        )
        own = cls(order, now_ns, "found resting at the start")
        own.state = _OPEN
        own.order_id = shown.order_id
        own._learn(OrderSnapshot.from_body(shown, 0))
        own.from_previous_run = own.cancel_requested = True
        return own

    # --- questions --------------------------------------------------------------------------------

    @property
    def client_order_id(self) -> ClientOrderId:
        """The name of its create; empty for an order that was found resting."""
        return self.order.client_order_id

    @property
    def qty(self) -> Qty:
        """Shares that its create asks for."""
        return self.order.qty

    @property
    def is_take(self) -> bool:
        """True if it trades at once or not at all, and never rests."""
        return self.order.time_in_force is not TimeInForce.GTC

    @property
    def is_adopted(self) -> bool:
        """True if it was found resting, and we know no create of it."""
        return self.from_previous_run and not self.client_order_id

    @property
    def is_live(self) -> bool:
        """True while any of it may still trade or its fills are not all known."""
        return self.state is not _CLOSED

    @property
    def can_rest(self) -> bool:
        """True while any of it may still rest. An order that the venue has called over, and that
        is not unknown, only has fills that are not all known."""
        return self.is_unknown if self.state is _CLOSED_UNCONFIRMED else self.is_live

    @property
    def is_unknown(self) -> bool:
        """True if a write about it has no definite answer yet, or it is suspected: no new order is
        made on its side of the market."""
        if (
            self.state is _NEW_UNKNOWN
            or self.state is _REPLACE_UNKNOWN
            or self.suspicion is not None
        ):
            return True
        return self.amend is not None and self.state in (_PENDING_CANCEL, _CLOSED_UNCONFIRMED)

    @property
    def is_decided(self) -> bool:
        """True if every write about it has a definite answer, and it is not suspected."""
        return self.suspicion is None and self.state in (_OPEN, _CLOSED)

    @property
    def is_id_open(self) -> bool:
        """True if it may rest under an id that we do not know: its create has no answer, or an
        amend has none and may have given it another id (S13)."""
        return self.is_live and (self.order_id is None or self.amend is not None)

    @property
    def can_cancel(self) -> bool:
        """True if a cancel of it may be sent now."""
        return self.state is _OPEN or self.state is _REPLACE_UNKNOWN

    def is_allowed(self, act: OrderEvent) -> bool:
        """True if the table allows an act of ours now."""
        return not isinstance(TRANSITIONS[self.state][act], NotAllowed)

    def max_fillable_after(self, amend: Amend | None) -> Qty:
        """Shares that may yet fill with this change in flight, at most.

        With a size amend in flight the old size may fill but for one share and the new one after
        it, because the venue takes `qty` as the new REMAINING size (S13).
        """
        if self.state is _CLOSED:
            return Qty(0)
        unfilled = Qty(max(0, self.known.size - max(self.known.filled, self.booked)))
        if amend is not None and amend.qty is not None:
            return Qty(max(unfilled - 1, 0) + amend.qty)
        return unfilled

    @property
    def traded_max(self) -> int:
        """Shares of it that may trade in all, those that have traded included."""
        return max(self.filled, self.booked) + self.max_fillable

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots at which it may rest: two while a price amend is in flight."""
        prices = [self.price]
        if self.amend is not None and self.amend.price not in (None, self.price):
            prices.append(Price(self.amend.price))
        where = (self.market_id, self.outcome.value, self.side.value)
        return tuple((*where, price) for price in prices)

    def exposure(self, amend: Amend | None) -> OpenExposure:
        """The exposure of the order with this change in flight: all that may fill, at the worse of
        its possible prices.

        For one order a dearer purchase, or a cheaper sale, is worse in every outcome.
        """
        price, qty = self.price, self.max_fillable_after(amend)
        if amend is not None and amend.price is not None:
            price = self._worse_price(price, amend.price)
        return OpenExposure(self.market_id, self.outcome, self.side, price, qty)

    def _worse_price(self, price: Price, other: Price) -> Price:
        """The price at which it would cost us more, or bring us less."""
        return max(price, other) if self.side is Side.BUY else min(price, other)

    def contradicted_by(
        self, shown: model.Order, begun_ns: int, lag_ns: int, *, by_id: bool
    ) -> Contradiction | None:
        """How a read, sent at `begun_ns`, takes from it what no write of ours did. by_id: False for
        a row of a list of resting orders, whose end is not believed."""
        if model.ShownOutcome.UNKNOWN is shown.outcome or model.ShownSide.UNKNOWN is shown.side:
            return None  # too little is readable
        if slot_shown(shown)[:3] != self.slots[0][:3]:
            return Contradiction.ELSEWHERE
        if shown.status in model.TERMINAL:
            works = self.state in (_OPEN, _REPLACE_UNKNOWN, State.PENDING_REPLACE)
            return Contradiction.OVER if works and not by_id else None
        if self.state is not _OPEN or begun_ns < self.last_write_ns + lag_ns:
            return None
        filled = shown.filled_qty + self.fill_offset
        if filled < self.filled:
            return Contradiction.FELL
        return Contradiction.SMALLER if filled + shown.remaining_qty < self.known.size else None

    # --- steps of the table -----------------------------------------------------------------------

    def apply_event(self, event: OrderEvent, at_ns: int) -> None:
        """Take the step of the table. at_ns: when the event was true, at the latest.

        Raises ValueError for an act of ours that is not allowed: ask `is_allowed` first.
        """
        cell = TRANSITIONS[self.state][event]
        if isinstance(cell, NotAllowed):
            raise ValueError(f"{event} while {self.state}: {cell.why}")
        self.state = cell.state
        if isinstance(cell, Anomaly):
            self.mark_suspect(cell.finding, f"{event}: {cell.why}", at_ns)
        if self.state is _CLOSED:
            self.amend = self.suspicion = self.evidence = None
            self.read_due_ns = self.contradicted_ns = None
            self._learn(OrderSnapshot(EARLIER, self.price, self.known.size, ended=True))

    def mark_suspect(self, finding: OrderFinding, why: str, at_ns: int) -> None:
        """Suspect it until a read clears it. The first suspicion stays, but an order with an
        unreadable status may go missing."""
        held = None if self.suspicion is None else self.suspicion.finding
        is_lost = held is OrderFinding.UNREADABLE and finding is OrderFinding.MISSING
        if held is None or is_lost or (finding.dooms and not held.dooms):
            self.suspicion = Suspicion(finding, why, at_ns)
        self.cancel_requested = self.cancel_requested or finding.dooms

    def _learn(self, known: OrderSnapshot) -> None:
        self._set_known(self.known.join(known))

    def _snapshot_of(self, shown: model.Order, epoch: int) -> OrderSnapshot:
        known = OrderSnapshot.from_body(shown, epoch)
        if not self.fill_offset:
            return known
        filled = Qty(max(0, known.filled + self.fill_offset))
        return OrderSnapshot(epoch, known.price, Qty(filled + known.unfilled), filled, known.ended)

    def note_evidence(self, **changes: object) -> None:
        self.evidence = msgspec.structs.replace(self.evidence or Evidence(), **changes)

    def mark_not_found(self, at_ns: int) -> int:
        """The venue denies the order. When it first did."""
        if self.evidence is None or self.evidence.denied_ns is None:
            self.note_evidence(denied_ns=at_ns)
            return at_ns
        return self.evidence.denied_ns

    # --- acts -------------------------------------------------------------------------------------

    def on_amend_sent(self, amend: Amend) -> None:
        self.apply_event(OrderEvent.AMEND, self.last_write_ns)
        self._set_amend(amend)
        if amend.price is not None:
            self.worst_price = self._worse_price(self.worst_price, amend.price)

    def on_cancel_sent(self) -> None:
        """A cancel is sent now; an amend without an answer stays counted until it has one."""
        self.apply_event(OrderEvent.CANCEL, self.last_write_ns)
        self.cancel_requested = True

    # --- answers ----------------------------------------------------------------------------------

    def on_answer(self, event: OrderEvent, now_ns: int) -> None:
        """An answer to our write that shows no order."""
        was = self.state
        denies = event is OrderEvent.TOO_LATE or (
            was is _PENDING_CANCEL and event is OrderEvent.NOT_FOUND
        )
        if was is _PENDING_CANCEL and self.amend is not None and event in UNDONE:
            if event is OrderEvent.NOT_FOUND:
                self.mark_suspect(OrderFinding.MISSING, "404 to its cancel", now_ns)
            event = OrderEvent.CANCEL_INEFFECTIVE
        self.last_write_ns = now_ns
        self._set_known(self.known.after_answer())
        if self.evidence is not None:
            self.note_evidence(rested=None)
        self.apply_event(event, now_ns)
        if denies and self.is_live:
            self.mark_not_found(now_ns)
        if was is State.PENDING_REPLACE:
            if self.state is _REPLACE_UNKNOWN:
                self.cancel_requested, self.why = True, CancelReason.AMEND_UNANSWERED
            else:
                self._set_amend(None)
        if self.known.ended and self.state in (_OPEN, _CLOSED_UNCONFIRMED) and self.amend is None:
            # A read showed its end while a write was in flight: nothing can explain it now.
            self.apply_event(OrderEvent.QUERY_CLOSED, now_ns)

    def on_write_body(self, shown: model.Order, now_ns: int) -> None:
        """A 2xx to a create or amend: the engine's own word, matching complete."""
        self.last_write_ns = now_ns
        if self.order_id is None:
            self.order_id = shown.order_id
        self.evidence = None
        if shown.status is model.OrderStatus.UNKNOWN:
            # It shows one of the two orders that an amend without an answer leaves open.
            self.on_fills_shown(shown)
            self._set_known(self.known.after_answer())
            self.apply_event(OrderEvent.UNKNOWN_STATUS, now_ns)
            return
        self._learn(self._snapshot_of(shown, self.known.epoch + 1))
        self.apply_event(OrderEvent.ACK_CLOSED if self.known.ended else OrderEvent.ACK_OPEN, now_ns)
        self._set_amend(None)
        # Matching was complete: what fills from here on fills at the new limit.
        first, worst_price = self.worst_fills
        if first > self.booked:
            self.worst_price = self._worse_price(worst_price, self.worst_price)
        self.worst_fills, self.worst_price = (self.filled, self.worst_price), self.price

    def on_cancel_body(self, shown: model.Order, reduced_by: Qty, now_ns: int) -> None:
        """A 2xx to a cancel: nothing works any more.

        `reduced_by` is exactly the shares removed; `shown.filled_qty` is only a floor. Shares that
        the two leave over may have filled: the order is CLOSED_UNCONFIRMED until a read shows them.
        """
        floor = Qty(max(self.filled, shown.filled_qty + self.fill_offset))
        unaccounted = max(0, self.traded_max - reduced_by - floor)
        self.last_write_ns = now_ns
        self._learn(
            OrderSnapshot(self.known.epoch + 1, self.price, Qty(floor + unaccounted), floor)
        )
        if reduced_by > 0:
            self._set_amend(None)  # under this id it rested
        self.apply_event(
            OrderEvent.CANCEL_QTY_MISMATCH if unaccounted else OrderEvent.ACK_CLOSED, now_ns
        )
        if self.is_live:
            self.mark_not_found(now_ns)

    def on_identified(self, shown: model.Order, begun_ns: int) -> None:
        """A list shows the one order that this lost create, which exists, can be."""
        self.order_id = shown.order_id
        self.evidence = None
        self._on_listed(shown, begun_ns)

    def on_renamed(self, shown: model.Order) -> None:
        """It rests under another id (S13), though it may read as over under its own. If the new id
        shows fewer fills than we know, it counts its own alone."""
        if self.order_id is not None:
            self.previous_ids = (*self.previous_ids, self.order_id)
        if shown.filled_qty + self.fill_offset < (filled := max(self.filled, self.booked)):
            self.fill_offset = int(filled)
        self.order_id = shown.order_id
        known = self.known
        self._set_known(OrderSnapshot(known.epoch, known.price, known.size, known.filled))

    def on_found_renamed(self, shown: model.Order, begun_ns: int) -> None:
        """A list, or a read, shows the id that an amend without an answer gave it: cancel it
        there."""
        self._set_amend(None)
        self.evidence = self.suspicion = self.contradicted_ns = None
        self.cancel_requested = True
        self._on_listed(shown, begun_ns)

    def _on_listed(self, shown: model.Order, begun_ns: int) -> None:
        self.last_write_ns = begun_ns
        self._learn(self._snapshot_of(shown, self.known.epoch + 1))
        self.apply_event(
            OrderEvent.QUERY_CLOSED if self.known.ended else OrderEvent.LISTED, begun_ns
        )

    def on_duplicate(self, now_ns: int) -> None:
        """It was found resting meanwhile, and is counted as that one."""
        self.last_write_ns = now_ns
        is_decided = self.state in (_OPEN, _REPLACE_UNKNOWN, _CLOSED_UNCONFIRMED)
        self.apply_event(OrderEvent.CONFIRMED_GONE if is_decided else OrderEvent.ACK_CLOSED, now_ns)

    def on_confirmed_gone(self, at_ns: int) -> None:
        """Nothing of it rests, and all its fills are booked."""
        self.last_write_ns = at_ns
        self.apply_event(OrderEvent.CONFIRMED_GONE, at_ns)

    def exclude_fills(self, qty: int) -> None:
        """So many of its filled shares, 0 or more, are in the positions when the books opened."""
        self.fill_offset -= qty
        known = self.known
        filled, size = Qty(known.filled - qty), Qty(known.size - qty)
        self._set_known(msgspec.structs.replace(known, filled=filled, size=size))

    def on_fills_booked(self, booked_qty: int) -> None:
        """So many of its shares are booked by now, under its id and previous ones."""
        self.booked = booked_qty
        self._set_amend(self.amend)

    def on_fills_shown(self, shown: model.Order) -> None:
        """Something shows this order: its fills count. The evidence that it is gone starts over,
        but for the engine's own word that it is over."""
        if self.evidence is not None and self.state is not _NEW_UNKNOWN:
            over_ns = self.evidence.denied_ns if self.state is _CLOSED_UNCONFIRMED else None
            left = Evidence(denied_ns=over_ns, rested=self.evidence.rested)
            self.evidence = None if left == Evidence() else left
        self._learn(
            OrderSnapshot(
                EARLIER, self.price, self.known.size, self._snapshot_of(shown, EARLIER).filled
            )
        )

    def on_not_found(self, begun_ns: int, now_ns: int, lag_ns: int) -> None:
        """A read by its id is answered by 404: keep it, and read it again."""
        self.apply_event(OrderEvent.QUERY_NOT_FOUND, now_ns)
        self._mark_unread(begun_ns, lag_ns)

    def _mark_unread(self, begun_ns: int, lag_ns: int) -> None:
        held = self.evidence
        if held is not None and held.denied_ns is not None and begun_ns >= held.denied_ns + lag_ns:
            self.note_evidence(is_unread=True)

    # --- reads ------------------------------------------------------------------------------------

    def is_shown_as_known(self, shown: model.Order) -> bool:
        """True if a read shows it open exactly as we know it, with nothing in doubt. Such a read
        changes nothing, however stale it is."""
        # Compares strings, for every row of a list is asked: `value` takes ten times longer.
        outcome: str = shown.outcome
        side: str = shown.side
        known = self.known
        return (
            self.state is _OPEN
            and self.suspicion is None
            and self.contradicted_ns is None
            and not self.fill_offset
            and not known.ended
            and shown.order_id == self.order_id
            and shown.market_id == self.market_id
            and outcome == self.outcome
            and side == self.side
            and shown.price == known.price
            and shown.filled_qty == known.filled
            and shown.filled_qty + shown.remaining_qty == known.size
            and shown.status in model.RESTING
        )

    def on_query(self, shown: model.Order, begun_ns: int, lag_ns: int) -> None:
        """A read, which may be stale. Fills always count; the rest only when it began late enough.

        An end is believed even if the read is stale: an ended order never revives. A read that
        shows another id is ignored.
        """
        if shown.order_id != self.order_id:
            return
        if shown.status in model.TERMINAL:
            self._on_query_closed(shown, begun_ns, lag_ns)
            return
        self.on_fills_shown(shown)
        if shown.status is model.OrderStatus.UNKNOWN:
            self.apply_event(OrderEvent.QUERY_UNKNOWN_STATUS, begun_ns)
        elif begun_ns >= self.last_write_ns + lag_ns and not self.known.ended:
            self._on_query_open(self._snapshot_of(shown, self.known.epoch), begun_ns, lag_ns)

    def _on_query_closed(self, shown: model.Order, begun_ns: int, lag_ns: int) -> None:
        """It reads as over. With an amend without an answer it may rest under another id: a cancel
        of ours may have met the old id (S13)."""
        filled = self._snapshot_of(shown, EARLIER).filled
        self._learn(OrderSnapshot(EARLIER, self.price, self.known.size, filled, ended=True))
        if self.amend is None or shown.status is not model.OrderStatus.CANCELED:
            self.apply_event(OrderEvent.QUERY_CLOSED, begun_ns)
            return
        self.apply_event(OrderEvent.QUERY_MOVED, begun_ns)
        self.mark_not_found(begun_ns)
        self._mark_unread(begun_ns, lag_ns)

    def _on_query_open(self, seen: OrderSnapshot, begun_ns: int, lag_ns: int) -> None:
        if self.state is _REPLACE_UNKNOWN:
            if self._is_confirmed_by(seen, begun_ns, lag_ns):
                self._set_known(
                    OrderSnapshot(self.known.epoch + 1, seen.price, seen.size, self.filled).join(
                        seen
                    )
                )
                self._set_amend(None)
                self.evidence = None
                self.apply_event(OrderEvent.QUERY_OPEN, begun_ns)
                self._clear_suspicion(begun_ns, lag_ns)
        elif self.state is _OPEN and self.known.contradicts(seen):
            self.apply_event(OrderEvent.QUERY_DIFFERS, begun_ns)
            self._set_amend(Amend(price=seen.price, qty=seen.remaining or None))
            self.note_evidence(rested=(seen, begun_ns))
        elif self.state is _OPEN:
            self._learn(seen)
            self.apply_event(OrderEvent.QUERY_OPEN, begun_ns)
            self._clear_suspicion(begun_ns, lag_ns)
        else:
            self.apply_event(OrderEvent.QUERY_OPEN, begun_ns)

    def _is_confirmed_by(self, seen: OrderSnapshot, begun_ns: int, lag_ns: int) -> bool:
        """True if two reads `lag_ns` apart agree how it rests, fills between them aside. They
        decide an amend without an answer where no cancel is answered."""
        rested = None if self.evidence is None else self.evidence.rested
        if rested is not None:
            first, first_ns = rested
            if (first.price, first.size) == (seen.price, seen.size):
                return begun_ns >= first_ns + lag_ns
        self.note_evidence(rested=(seen, begun_ns))
        return False

    def _clear_suspicion(self, begun_ns: int, lag_ns: int) -> None:
        """A read that began late enough shows it as expected."""
        held = self.suspicion
        if held is not None and begun_ns >= held.since_ns + lag_ns:
            self.suspicion = None


def slot_shown(shown: model.Order) -> Slot:
    return shown.market_id, shown.outcome.value, shown.side.value, shown.price
