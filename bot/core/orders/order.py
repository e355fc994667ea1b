"""One own order: what is known of it, and how acts, answers, reads and lists change it.

`OwnOrder` ties the table of `transitions` to the facts of `snapshot`: a
method a kind of news, each a step of the table and a join of what is known. Nothing here decides
what to send; the desk reads `state` and the due times.
"""

import enum
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from bot.core.messages import UnconfirmedCreate
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
from bot.core.risk.exposure import OpenExposure
from bot.strategy.api import Quote
from venue.wire import model
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import Amend, QtyOrder, RequestBody, TimeInForce

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

_OPEN: Final = State.OPEN
_NEW_UNKNOWN: Final = State.NEW_UNKNOWN
_REPLACE_UNKNOWN: Final = State.REPLACE_UNKNOWN
_PENDING_CANCEL: Final = State.PENDING_CANCEL
_CLOSED_UNCONFIRMED: Final = State.CLOSED_UNCONFIRMED
_CLOSED: Final = State.CLOSED

BEYOND_LIMITS: Final = "beyond a limit that was lowered"
"""Why an order is cancelled that lowered limits do not admit."""

Slot = tuple[MarketId, str, str, Price]
"""Market, outcome, side and price: what an order without an id can be known by."""


class Tag(NamedTuple):
    """Why an order was placed, for the account of profit. level: the place of its quote on its
    side, 0 at the touch, -1 when it is no quote of the plan. strategy: whose idea it was."""

    level: int
    strategy: str
    reason: str


UNTAGGED: Final = Tag(-1, "not known", "not known")
"""Of orders that this run did not place, or no longer remembers."""


def tag_of(planned: Iterable[Quote], side: BookSide, price: Price, strategy: str, why: str) -> Tag:
    """The tag of an order that leaves now for a canonical price. planned: the quotes of the plan
    that it serves. The reason is `why` without its numbers, so that there are few of them."""
    better = at = 0
    for quote in planned:
        if quote.side is side:
            at += quote.price == price
            better += quote.price > price if side is BookSide.BID else quote.price < price
    reason = re.sub(r" from [0-9].*|,? ?[0-9]+", "", why) or "not known"
    return Tag(better if at else -1, strategy, reason)


class Suspicion(msgspec.Struct, frozen=True):
    """Why an order is not to be trusted, and since when: only a read settles it."""

    finding: OrderFinding
    why: str
    since_ns: int


class Evidence(msgspec.Struct, frozen=True):
    """What the venue has said of an order whose fate is open.

    An order is over without an end that was shown only when three things agree: the engine's own
    word (`denied_ns`), for an order with an id a read by it (`is_unread`), and whole lists that
    begin a lag apart and lack it, with the fills walked a lag after the first of them.
    """

    denied_ns: int | None = None
    """When the venue first said that there is no such order, or none any more: it refused a create
    that was sent again, or answered a cancel or an amend by 404, or by an end without its fills."""
    exists: bool = False
    """A create sent again is a duplicate: the order is there, and not shown."""
    is_unread: bool = False
    """A read by its id, begun a lag after `denied_ns`, found no order, or one that was cancelled
    where an amend may have given it another id."""
    unlisted_ns: int | None = None
    """When the first of the whole lists running that lack it was answered."""
    rested: tuple[OrderSnapshot, int] | None = None
    """How a read showed it resting while an amend is undecided, and when that read was sent."""


class Contradiction(enum.StrEnum):
    """How a read may contradict what is known of an order: it is confirmed by another one first."""

    ELSEWHERE = "it trades in another market, on another side or for another outcome"
    OVER = "it is over, in a list of what rests"
    SMALLER = "it is smaller without a fill"
    FELL = "it shows fewer shares filled"


class OwnOrder:
    """One order of ours, as a machine: feed it every answer and every read about it.

    Times are the bot's clock; `begun_ns` is when a read was sent. Nothing raises but an act that
    the table bars.
    """

    def __init__(self, intent: UnconfirmedCreate, now_ns: int, why: str) -> None:
        order = intent.order
        self.intent = intent
        """What the create asks for, and its bytes, which every sending of it carries."""
        self.order_id: OrderId | None = None
        self.market_id: MarketId = order.market_id
        self.outcome: Outcome = order.outcome
        self.side = order.side
        self.book_side = book_side(order.outcome, order.side)
        self.state = State.PENDING_NEW
        self.amend: Amend | None = None
        """The change on its way, or without an answer."""
        self.cancel_requested = False
        """To be cancelled as soon as it can be."""
        self.from_previous_run = False
        """An earlier run placed it, and may have amended it."""
        self.placed_ns = now_ns
        self.last_write_ns = now_ns
        """When our last write about it was answered or given up."""
        self.due_ns = now_ns
        """When its create, or its cancel, may be sent once more."""
        self.read_due_ns: int | None = None
        """When it is to be read by its id; `NEVER_NS` while such a read is on its way."""
        self.contradicted_ns: int | None = None
        """Since when reads contradict what is known of it."""
        self.suspicion: Suspicion | None = None
        self.evidence: Evidence | None = None
        self.previous_ids: tuple[OrderId, ...] = ()
        """Ids that amends took from it (S13): fills booked under them are its own."""
        self.fill_offset = 0
        """What to add to the filled shares that its id shows: above zero, an earlier id had them;
        below zero, they were in the positions that the books opened with."""
        self.worst_price = order.price
        """The worst price at which any of it may have filled."""
        self.tag = UNTAGGED
        self.why = why
        self._know(OrderSnapshot(0, order.price, order.qty))

    def _know(self, known: OrderSnapshot) -> None:
        """Keep the venue's word so far. `remaining`, shares that work at most, and `yes_price`, its
        price as canonical YES, are asked far more often than it changes."""
        self.known = known
        self.remaining = known.remaining
        self.yes_price = canonical(self.outcome, known.price)
        self.worst_price = self._worse_of(self.worst_price, known.price)

    # --- beginnings -------------------------------------------------------------------------------

    @classmethod
    def first_sent(cls, order: QtyOrder, body: RequestBody, now_ns: int, why: str) -> "OwnOrder":
        return cls(UnconfirmedCreate(order, body), now_ns, why)

    @classmethod
    def left_behind(cls, intent: UnconfirmedCreate, now_ns: int) -> "OwnOrder":
        """A create of an earlier run without an answer: to be re-sent, then cancelled."""
        own = cls(intent, now_ns, "left by an earlier run")
        own.state = _NEW_UNKNOWN
        own.from_previous_run = own.cancel_requested = True
        return own

    @classmethod
    def found_resting(
        cls, shown: model.Order, now_ns: int, name: ClientOrderId | None = None
    ) -> "OwnOrder":
        """A resting order that this run did not place, taken over to be cancelled. name: what its
        create was named, where that is known.

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
        own = cls(UnconfirmedCreate(order, RequestBody(b"")), now_ns, "found resting at the start")
        own.state = _OPEN
        own.order_id = shown.order_id
        own._learn(OrderSnapshot.shown(shown, 0))
        own.from_previous_run = own.cancel_requested = True
        return own

    # --- questions --------------------------------------------------------------------------------

    @property
    def client_order_id(self) -> ClientOrderId:
        """The name of its create; empty for one that was found resting."""
        return self.intent.order.client_order_id

    @property
    def qty(self) -> Qty:
        """Shares that its create asks for."""
        return self.intent.order.qty

    @property
    def is_take(self) -> bool:
        """True when it trades as its create is carried out or not at all, and never rests."""
        return self.intent.order.time_in_force is not TimeInForce.GTC

    @property
    def price(self) -> Price:
        """The limit in cents of its own outcome."""
        return self.known.price

    @property
    def filled(self) -> Qty:
        """Shares that have traded, at least; it never falls."""
        return self.known.filled

    @property
    def is_adopted(self) -> bool:
        """True when it was found resting, and no create of ours is known to be its own."""
        return self.from_previous_run and not self.client_order_id

    @property
    def is_live(self) -> bool:
        """True while any of it may still trade or its fills are not all known."""
        return self.state is not _CLOSED

    @property
    def can_rest(self) -> bool:
        """True while any of it may still stand in a book. Of one that the venue has said to be
        over, and that nothing speaks against, only the fills are not all known."""
        return self.is_unknown if self.state is _CLOSED_UNCONFIRMED else self.is_live

    @property
    def is_unknown(self) -> bool:
        """True when a write of ours about it has no definite answer yet, or it is suspected: no new
        order is made on its side of the rung."""
        if (
            self.state is _NEW_UNKNOWN
            or self.state is _REPLACE_UNKNOWN
            or self.suspicion is not None
        ):
            return True
        return self.amend is not None and self.state in (_PENDING_CANCEL, _CLOSED_UNCONFIRMED)

    @property
    def is_decided(self) -> bool:
        """True when every write of ours about it has a definite answer, and none is suspected."""
        return self.suspicion is None and self.state in (_OPEN, _CLOSED)

    @property
    def is_id_open(self) -> bool:
        """True when it may rest under an id that we do not know: its create has no answer, or an
        amend has none, which may have given it another one (S13)."""
        return self.is_live and (self.order_id is None or self.amend is not None)

    @property
    def can_cancel(self) -> bool:
        """True when a cancel of it may be sent now."""
        return self.state is _OPEN or self.state is _REPLACE_UNKNOWN

    def is_allowed(self, act: OrderEvent) -> bool:
        """True when an act of ours about it may be taken now."""
        return not isinstance(TRANSITIONS[self.state][act], NotAllowed)

    @property
    def max_fillable(self) -> Qty:
        """Shares that may yet fill, at most.

        With a size amend on its way the old size may fill but for one share and the new one
        after it, because the venue takes `qty` as the new REMAINING size (S13).
        """
        return self.max_fillable_after(self.amend)

    def max_fillable_after(self, amend: Amend | None) -> Qty:
        """The same with this change on its way."""
        if self.state is _CLOSED:
            return Qty(0)
        unfilled = self.known.unfilled
        if amend is not None and amend.qty is not None:
            return Qty(max(unfilled - 1, 0) + amend.qty)
        return unfilled

    @property
    def yes_prices(self) -> tuple[Price, ...]:
        """Every canonical price at which it may rest: two while a price amend is undecided."""
        if self.amend is not None and self.amend.price is not None:
            return (self.yes_price, canonical(self.outcome, self.amend.price))
        return (self.yes_price,)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Everywhere it may rest."""
        prices = [self.price]
        if self.amend is not None and self.amend.price not in (None, self.price):
            prices.append(Price(self.amend.price))
        where = (self.market_id, self.outcome.value, self.side.value)
        return tuple((*where, price) for price in prices)

    def exposure(self) -> OpenExposure:
        """It as the limits count it: all that may fill, at the worse of its possible prices.

        For one and the same order a dearer purchase, or a cheaper sale, is worse in every outcome.
        """
        return self.exposure_after(self.amend)

    def exposure_after(self, amend: Amend | None) -> OpenExposure:
        """The same with this change on its way."""
        price, qty = self.known.price, self.max_fillable_after(amend)
        if amend is not None and amend.price is not None:
            price = self._worse_of(price, amend.price)
        return OpenExposure(self.market_id, self.outcome, self.side, price, qty)

    def _worse_of(self, price: Price, other: Price) -> Price:
        """The price at which it would cost us more, or bring us less."""
        return max(price, other) if self.side is Side.BUY else min(price, other)

    def contradicted_by(
        self, shown: model.Order, begun_ns: int, lag_ns: int, *, by_id: bool
    ) -> Contradiction | None:
        """How a read, sent at `begun_ns`, takes from it what no write of ours did. by_id: it is no
        row of a list of what rests: an end that it shows is believed."""
        if model.ShownOutcome.UNKNOWN is shown.outcome or model.ShownSide.UNKNOWN is shown.side:
            return None  # it shows too little to tell
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

    def move(self, fact: OrderEvent, at_ns: int) -> None:
        """Take the step that the table gives. at_ns: when the fact was true, at the latest.

        Raises ValueError for an act of ours that is barred: `is_allowed` is to be asked first.
        """
        cell = TRANSITIONS[self.state][fact]
        if isinstance(cell, NotAllowed):
            raise ValueError(f"{fact} while {self.state}: {cell.why}")
        self.state = cell.state
        if isinstance(cell, Anomaly):
            self.suspect(cell.finding, f"{fact}: {cell.why}", at_ns)
        if self.state is _CLOSED:
            self._know(
                self.known.join(OrderSnapshot(EARLIER, self.price, self.known.size, ended=True))
            )
            self.amend = self.suspicion = self.evidence = None
            self.read_due_ns = self.contradicted_ns = None

    def suspect(self, finding: OrderFinding, why: str, at_ns: int) -> None:
        """Trust it no more until a read settles it. What is suspected already stays so, but that
        one which could not be read may be missing now."""
        held = None if self.suspicion is None else self.suspicion.finding
        is_lost = held is OrderFinding.UNREADABLE and finding is OrderFinding.MISSING
        if held is None or is_lost or (finding.dooms and not held.dooms):
            self.suspicion = Suspicion(finding, why, at_ns)
        self.cancel_requested = self.cancel_requested or finding.dooms

    def _learn(self, known: OrderSnapshot) -> None:
        self._know(self.known.join(known))

    def _shown(self, shown: model.Order, epoch: int) -> OrderSnapshot:
        known = OrderSnapshot.shown(shown, epoch)
        if not self.fill_offset:
            return known
        filled = Qty(max(0, known.filled + self.fill_offset))
        return OrderSnapshot(epoch, known.price, Qty(filled + known.unfilled), filled, known.ended)

    def note_evidence(self, **changes: object) -> None:
        self.evidence = msgspec.structs.replace(self.evidence or Evidence(), **changes)

    def denied(self, at_ns: int) -> int:
        """The venue says that there is no such order, or none any more. When it first said so."""
        if self.evidence is None or self.evidence.denied_ns is None:
            self.note_evidence(denied_ns=at_ns)
            return at_ns
        return self.evidence.denied_ns

    # --- acts -------------------------------------------------------------------------------------

    def sent_amend(self, amend: Amend) -> None:
        self.move(OrderEvent.AMEND, self.last_write_ns)
        self.amend = amend
        if amend.price is not None:
            self.worst_price = self._worse_of(self.worst_price, amend.price)

    def sent_cancel(self) -> None:
        """A cancel leaves now; an undecided amend stays counted until the venue speaks."""
        self.move(OrderEvent.CANCEL, self.last_write_ns)
        self.cancel_requested = True

    # --- answers ----------------------------------------------------------------------------------

    def answered(self, fact: OrderEvent, now_ns: int) -> None:
        """An answer to our write that shows no order."""
        was = self.state
        denies = fact is OrderEvent.TOO_LATE or (
            was is _PENDING_CANCEL and fact is OrderEvent.NOT_FOUND
        )
        if was is _PENDING_CANCEL and self.amend is not None and fact in UNDONE:
            if fact is OrderEvent.NOT_FOUND:
                self.suspect(OrderFinding.MISSING, "404 to its cancel", now_ns)
            fact = OrderEvent.CANCEL_INEFFECTIVE
        self.last_write_ns = now_ns
        self._know(self.known.answered())
        if self.evidence is not None:
            self.note_evidence(rested=None)
        self.move(fact, now_ns)
        if denies and self.is_live:
            self.denied(now_ns)
        if was is State.PENDING_REPLACE:
            if self.state is _REPLACE_UNKNOWN:
                self.cancel_requested, self.why = True, "its amend has no answer"
            else:
                self.amend = None
        if self.known.ended and self.state in (_OPEN, _CLOSED_UNCONFIRMED) and self.amend is None:
            # A read showed its end while an answer was awaited: nothing can explain it now.
            self.move(OrderEvent.QUERY_CLOSED, now_ns)

    def shown_by_write(self, shown: model.Order, now_ns: int) -> None:
        """A 2xx to a create or amend: the engine's own word, matching complete."""
        self.last_write_ns = now_ns
        if self.order_id is None:
            self.order_id = shown.order_id
        self.evidence = None
        if shown.status is model.OrderStatus.UNKNOWN:
            # What it shows is one of the two that an undecided amend leaves open.
            self.fills_shown(shown)
            self._know(self.known.answered())
            self.move(OrderEvent.UNKNOWN_STATUS, now_ns)
            return
        self._learn(self._shown(shown, self.known.epoch + 1))
        self.move(OrderEvent.ACK_CLOSED if self.known.ended else OrderEvent.ACK_OPEN, now_ns)
        self.amend = None

    def cancelled(self, shown: model.Order, reduced_by: Qty, now_ns: int) -> None:
        """A 2xx to a cancel: nothing works any more.

        `reduced_by` is the truth about what was removed and `shown.filled_qty` only a floor. When
        the two leave shares unaccounted for, those may have filled: it is
        CLOSED_UNCONFIRMED until a read shows them.
        """
        floor = Qty(max(self.filled, shown.filled_qty + self.fill_offset))
        unaccounted = max(0, self.max_fillable - reduced_by - (floor - self.filled))
        self.last_write_ns = now_ns
        self._learn(
            OrderSnapshot(self.known.epoch + 1, self.price, Qty(floor + unaccounted), floor)
        )
        if reduced_by > 0:
            self.amend = None  # under this id it rested
        self.move(OrderEvent.CANCEL_QTY_MISMATCH if unaccounted else OrderEvent.ACK_CLOSED, now_ns)
        if self.is_live:
            self.denied(now_ns)

    def identified(self, shown: model.Order, begun_ns: int) -> None:
        """A list shows the one order that this lost create, which exists, can be."""
        self.order_id = shown.order_id
        self.evidence = None
        self._listed(shown, begun_ns)

    def renamed(self, shown: model.Order) -> None:
        """It lives on under another id (S13), though it may read as over under its own. Where that
        shows fewer fills than are known, it counts its own alone."""
        if self.order_id is not None:
            self.previous_ids = (*self.previous_ids, self.order_id)
        if shown.filled_qty + self.fill_offset < self.filled:
            self.fill_offset = int(self.filled)
        self.order_id = shown.order_id
        known = self.known
        self._know(OrderSnapshot(known.epoch, known.price, known.size, known.filled))

    def found_renamed(self, shown: model.Order, begun_ns: int) -> None:
        """A list, or a read, shows under which id an undecided amend has it rest: there it is to be
        cancelled."""
        self.amend = self.evidence = self.suspicion = self.contradicted_ns = None
        self.cancel_requested = True
        self._listed(shown, begun_ns)

    def _listed(self, shown: model.Order, begun_ns: int) -> None:
        self.last_write_ns = begun_ns
        self._learn(self._shown(shown, self.known.epoch + 1))
        self.move(OrderEvent.QUERY_CLOSED if self.known.ended else OrderEvent.LISTED, begun_ns)

    def counted_elsewhere(self, now_ns: int) -> None:
        """It was found resting meanwhile, and is counted as that one."""
        self.last_write_ns = now_ns
        is_decided = self.state in (_OPEN, _REPLACE_UNKNOWN, _CLOSED_UNCONFIRMED)
        self.move(OrderEvent.CONFIRMED_GONE if is_decided else OrderEvent.ACK_CLOSED, now_ns)

    def gone(self, at_ns: int) -> None:
        """Everything says that nothing of it rests, and all that it filled is booked."""
        self.last_write_ns = at_ns
        self.move(OrderEvent.CONFIRMED_GONE, at_ns)

    def leave_out(self, qty: int) -> None:
        """So many of the fills that its id shows, 0 or more, are in the positions that the books
        opened with."""
        self.fill_offset -= qty
        known = self.known
        filled, size = Qty(known.filled - qty), Qty(known.size - qty)
        self._know(msgspec.structs.replace(known, filled=filled, size=size))

    def fills_shown(self, shown: model.Order) -> None:
        """Whatever shows this order: its fills count. What was said of its being gone is said anew,
        but for the engine's own word that it is over."""
        if self.evidence is not None and self.state is not _NEW_UNKNOWN:
            over_ns = self.evidence.denied_ns if self.state is _CLOSED_UNCONFIRMED else None
            left = Evidence(denied_ns=over_ns, rested=self.evidence.rested)
            self.evidence = None if left == Evidence() else left
        self._learn(
            OrderSnapshot(EARLIER, self.price, self.known.size, self._shown(shown, EARLIER).filled)
        )

    def missing(self, begun_ns: int, now_ns: int, lag_ns: int) -> None:
        """A read by its id answers 404: it is kept, and read again."""
        self.move(OrderEvent.QUERY_NOT_FOUND, now_ns)
        self._not_read(begun_ns, lag_ns)

    def _not_read(self, begun_ns: int, lag_ns: int) -> None:
        held = self.evidence
        if held is not None and held.denied_ns is not None and begun_ns >= held.denied_ns + lag_ns:
            self.note_evidence(is_unread=True)

    # --- reads ------------------------------------------------------------------------------------

    def is_shown_as_known(self, shown: model.Order) -> bool:
        """True when a read shows it open just as it is known, with nothing in doubt: then it tells
        nothing, whenever it was begun."""
        # Of strings, for this is asked of every row of a list: `value` takes ten times longer.
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

    def shown_by_read(self, shown: model.Order, begun_ns: int, lag_ns: int) -> None:
        """A read, which may lag. Fills always count; the rest only when it began late enough.

        An end shown by a read is believed whenever it was begun: an ended order never revives.
        A read that shows another id says nothing of this one.
        """
        if shown.order_id != self.order_id:
            return
        if shown.status in model.TERMINAL:
            self._read_ended(shown, begun_ns, lag_ns)
            return
        self.fills_shown(shown)
        if shown.status is model.OrderStatus.UNKNOWN:
            self.move(OrderEvent.QUERY_UNKNOWN_STATUS, begun_ns)
        elif begun_ns >= self.last_write_ns + lag_ns and not self.known.ended:
            self._read_resting(self._shown(shown, self.known.epoch), begun_ns, lag_ns)

    def _read_ended(self, shown: model.Order, begun_ns: int, lag_ns: int) -> None:
        """It reads as over. Under another id it may live on if an amend of ours is undecided: a
        cancel of ours may have met the old id (S13)."""
        filled = self._shown(shown, EARLIER).filled
        self._learn(OrderSnapshot(EARLIER, self.price, self.known.size, filled, ended=True))
        if self.amend is None or shown.status is not model.OrderStatus.CANCELED:
            self.move(OrderEvent.QUERY_CLOSED, begun_ns)
            return
        self.move(OrderEvent.QUERY_MOVED, begun_ns)
        self.denied(begun_ns)
        self._not_read(begun_ns, lag_ns)

    def _read_resting(self, seen: OrderSnapshot, begun_ns: int, lag_ns: int) -> None:
        if self.state is _REPLACE_UNKNOWN:
            if self._rests_alike(seen, begun_ns, lag_ns):
                self._know(
                    OrderSnapshot(self.known.epoch + 1, seen.price, seen.size, self.filled).join(
                        seen
                    )
                )
                self.amend = self.evidence = None
                self.move(OrderEvent.QUERY_OPEN, begun_ns)
                self._trust_again(begun_ns, lag_ns)
        elif self.state is _OPEN and self.known.contradicts(seen):
            self.move(OrderEvent.QUERY_DIFFERS, begun_ns)
            self.amend = Amend(price=seen.price, qty=seen.remaining or None)
            self.note_evidence(rested=(seen, begun_ns))
        elif self.state is _OPEN:
            self._learn(seen)
            self.move(OrderEvent.QUERY_OPEN, begun_ns)
            self._trust_again(begun_ns, lag_ns)
        else:
            self.move(OrderEvent.QUERY_OPEN, begun_ns)

    def _rests_alike(self, seen: OrderSnapshot, begun_ns: int, lag_ns: int) -> bool:
        """True when two reads `lag_ns` apart agree how it rests; fills between them do not make
        them differ. Then an amend without an answer is decided, where no cancel is answered."""
        rested = None if self.evidence is None else self.evidence.rested
        if rested is not None:
            first, first_ns = rested
            if (first.price, first.size) == (seen.price, seen.size):
                return begun_ns >= first_ns + lag_ns
        self.note_evidence(rested=(seen, begun_ns))
        return False

    def _trust_again(self, begun_ns: int, lag_ns: int) -> None:
        """A read begun late enough shows it as it should be."""
        held = self.suspicion
        if held is not None and begun_ns >= held.since_ns + lag_ns:
            self.suspicion = None


def slot_shown(shown: model.Order) -> Slot:
    return shown.market_id, shown.outcome.value, shown.side.value, shown.price
