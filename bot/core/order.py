"""The life of one own order: one transition table, and facts that merge into it monotonically.

What may live here: the states, the table, and `OwnOrder`, which holds what is known of one order.
Nothing here decides what to send; `bot.core.trader` reads `state` and the due times.

The table `LIFE` is the law: state x fact -> state. A cell that is None cannot happen while the
venue keeps its word; the trader then stops quoting that rung and reads the order back. Facts from
replies and from lagging reads merge like a join: filled never falls, an ended order never revives,
a read that began before our last write had its answer says nothing about what that write changed.

Source: design, law 3 and item 7; reliability, rows 1-30, B1, B7, B8; silences S13, S14, S31, S43.
"""

import enum
from typing import Final

from bot.core.messages import OpenIntent
from bot.core.risk import Live
from venue.wire import model
from venue.wire.money import Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import Amend, QtyOrder, RequestBody, TimeInForce


class State(enum.StrEnum):
    """Where an own order stands, as far as the venue has told us."""

    SENT = "sent"  # a first create is on its way
    LOST = "lost"  # a create without a definite answer: it may be live
    OPEN = "open"  # it rests, and nothing of ours is on its way
    AMENDING = "amending"
    BLURRED = "blurred"  # an amend without a definite answer: read it back
    CANCELLING = "cancelling"
    CLOSING = "closing"  # the venue says it is over, but not yet how much of it filled
    DONE = "done"


class Fact(enum.StrEnum):
    """What may happen to an own order: our acts, answers to them, and reads."""

    RESEND = "resend"
    AMEND = "amend"
    CANCEL = "cancel"
    RESTS = "rests"  # 2xx to a write: it rests
    ENDED = "ended"  # 2xx to a write: it is over, and how much filled is shown
    NEVER = "never"  # our write did not reach the engine
    REFUSED = "refused"  # our write was decided against; the order is what it was
    OVER = "over"  # order_not_cancelable: it is over, how is not shown
    NO_ANSWER = "no_answer"  # our write may have been carried out
    READ_RESTS = "read_rests"  # a read begun late enough shows it resting
    READ_ENDED = "read_ended"
    READ_NEVER = (
        "read_never"  # its re-sends are refused, and a late enough list shows no such order
    )


_S, _F = State, Fact

# fmt: off
LIFE: Final[dict[State, dict[Fact, State | None]]] = {
    _S.SENT: {
        _F.RESEND: None, _F.AMEND: None, _F.CANCEL: None,
        _F.RESTS: _S.OPEN, _F.ENDED: _S.DONE,
        _F.NEVER: _S.DONE, _F.REFUSED: _S.DONE,
        _F.OVER: None, _F.NO_ANSWER: _S.LOST,
        _F.READ_RESTS: None, _F.READ_ENDED: None, _F.READ_NEVER: None,
    },
    # Every answer but 2xx leaves a re-sent create unknown: the first one may have landed, until a
    # list explains the refusals (row 23), or shows the order that the venue says exists.
    _S.LOST: {
        _F.RESEND: _S.LOST, _F.AMEND: None, _F.CANCEL: None,
        _F.RESTS: _S.OPEN, _F.ENDED: _S.DONE,
        _F.NEVER: _S.LOST, _F.REFUSED: _S.LOST,
        _F.OVER: None, _F.NO_ANSWER: _S.LOST,
        _F.READ_RESTS: _S.OPEN, _F.READ_ENDED: None, _F.READ_NEVER: _S.DONE,
    },
    _S.OPEN: {
        _F.RESEND: None, _F.AMEND: _S.AMENDING, _F.CANCEL: _S.CANCELLING,
        _F.RESTS: None, _F.ENDED: None, _F.NEVER: None, _F.REFUSED: None,
        _F.OVER: None, _F.NO_ANSWER: None,
        _F.READ_RESTS: _S.OPEN, _F.READ_ENDED: _S.DONE, _F.READ_NEVER: None,
    },
    # A read during an amend may show the order before or after it: only an end is news.
    _S.AMENDING: {
        _F.RESEND: None, _F.AMEND: None, _F.CANCEL: None,
        _F.RESTS: _S.OPEN, _F.ENDED: _S.DONE,
        _F.NEVER: _S.OPEN, _F.REFUSED: _S.OPEN,
        _F.OVER: _S.CLOSING, _F.NO_ANSWER: _S.BLURRED,
        _F.READ_RESTS: _S.AMENDING, _F.READ_ENDED: _S.DONE, _F.READ_NEVER: None,
    },
    _S.BLURRED: {
        _F.RESEND: None, _F.AMEND: None, _F.CANCEL: _S.CANCELLING,
        _F.RESTS: None, _F.ENDED: None, _F.NEVER: None, _F.REFUSED: None,
        _F.OVER: None, _F.NO_ANSWER: None,
        _F.READ_RESTS: _S.OPEN, _F.READ_ENDED: _S.DONE, _F.READ_NEVER: None,
    },
    # A cancel that did not do its work leaves the order open; it is wanted again at once. A
    # cancel without an answer does the same, for a cancel may be repeated (row 30).
    _S.CANCELLING: {
        _F.RESEND: None, _F.AMEND: None, _F.CANCEL: None,
        _F.RESTS: _S.OPEN, _F.ENDED: _S.DONE,
        _F.NEVER: _S.OPEN, _F.REFUSED: _S.OPEN,
        _F.OVER: _S.CLOSING, _F.NO_ANSWER: _S.OPEN,
        _F.READ_RESTS: _S.CANCELLING, _F.READ_ENDED: _S.DONE, _F.READ_NEVER: None,
    },
    _S.CLOSING: {
        _F.RESEND: None, _F.AMEND: None, _F.CANCEL: None,
        _F.RESTS: None, _F.ENDED: None, _F.NEVER: None, _F.REFUSED: None,
        _F.OVER: None, _F.NO_ANSWER: None,
        _F.READ_RESTS: _S.CLOSING, _F.READ_ENDED: _S.DONE, _F.READ_NEVER: None,
    },
    # Ended is for ever; late answers and reads add fills at most.
    _S.DONE: {
        _F.RESEND: None, _F.AMEND: None, _F.CANCEL: None,
        _F.RESTS: _S.DONE, _F.ENDED: _S.DONE, _F.NEVER: _S.DONE, _F.REFUSED: _S.DONE,
        _F.OVER: _S.DONE, _F.NO_ANSWER: _S.DONE,
        _F.READ_RESTS: _S.DONE, _F.READ_ENDED: _S.DONE, _F.READ_NEVER: _S.DONE,
    },
}
# fmt: on

IN_FLIGHT: Final = frozenset({State.SENT, State.AMENDING, State.CANCELLING})


class Impossible(Exception):
    """A fact that cannot be true in the order's state: read the order, quote nothing beside it."""


class OwnOrder:
    """What is known of one order of ours.

    price_cents, remaining and filled are the venue's word as of the last write answered or the
    last read begun late enough; `price` is of the order's own outcome, `level` canonical YES.
    amend: the change on its way or without an answer. doomed: it is to be cancelled as soon as
    it can be. last_write_ns: when our last write about it was answered or given up.
    refused_since_ns: since when re-sends of it are decided against, None while none was.
    exists: the venue has said that it is there, without showing it (duplicate_order_id).
    """

    __slots__ = (
        "_price",
        "amend",
        "body",
        "client_order_id",
        "confirmed_read",
        "doomed",
        "due_ns",
        "exists",
        "filled",
        "last_write_ns",
        "level",
        "market_id",
        "order_id",
        "outcome",
        "own_side",
        "placed_ns",
        "qty",
        "read_due_ns",
        "refused_since_ns",
        "remaining",
        "side",
        "state",
        "why",
    )

    def __init__(
        self,
        *,
        client_order_id: ClientOrderId,
        market_id: MarketId,
        outcome: Outcome,
        own_side: Side,
        price: Price,
        qty: Qty,
        body: RequestBody,
        state: State,
        now_ns: int,
        why: str,
    ) -> None:
        self.client_order_id = client_order_id
        self.order_id: OrderId | None = None
        self.market_id = market_id
        self.outcome = outcome
        self.own_side = own_side
        self.side = book_side(outcome, own_side)
        self.price = price
        self.qty = qty
        self.remaining = qty
        self.filled = Qty(0)
        self.body = body
        self.state = state
        self.amend: Amend | None = None
        self.doomed = False
        self.placed_ns = now_ns
        self.last_write_ns = now_ns
        self.due_ns = now_ns
        self.read_due_ns: int | None = None
        self.refused_since_ns: int | None = None
        self.exists = False
        self.confirmed_read: model.Order | None = None
        self.why = why

    @classmethod
    def first_sent(cls, order: QtyOrder, body: RequestBody, now_ns: int, why: str) -> "OwnOrder":
        """An order whose create leaves now."""
        return cls(
            client_order_id=order.client_order_id,
            market_id=order.market_id,
            outcome=order.outcome,
            own_side=order.side,
            price=order.price,
            qty=order.qty,
            body=body,
            state=State.SENT,
            now_ns=now_ns,
            why=why,
        )

    @classmethod
    def left_behind(cls, intent: OpenIntent, now_ns: int) -> "OwnOrder":
        """A create of an earlier run without an answer: to be re-sent, then cancelled."""
        own = cls.first_sent(intent.order, intent.body, now_ns, "left by an earlier run")
        own.state = State.LOST
        own.doomed = True
        return own

    @classmethod
    def found_resting(cls, shown: model.Order, now_ns: int) -> "OwnOrder":
        """A resting order that this run did not place, taken over to be cancelled.

        Raises ValueError when its outcome or side cannot be recognised.
        """
        own = cls(
            client_order_id=ClientOrderId(""),
            market_id=shown.market_id,
            outcome=Outcome(shown.outcome.value),
            own_side=Side(shown.side.value),
            price=shown.price,
            qty=Qty(shown.filled_qty + shown.remaining_qty),
            body=RequestBody(b""),
            state=State.OPEN,
            now_ns=now_ns,
            why="found resting at the start",
        )
        own.order_id = shown.order_id
        own.filled = shown.filled_qty
        own.remaining = shown.remaining_qty
        own.doomed = True
        return own

    @property
    def price(self) -> Price:
        """The limit in cents of its own outcome; `level` is the canonical YES price of the same."""
        return self._price

    @price.setter
    def price(self, price: Price) -> None:
        self._price = price
        self.level = canonical(self.outcome, price)

    @property
    def is_live(self) -> bool:
        """Whether any of it may still trade or its fills are not all known."""
        return self.state is not State.DONE

    @property
    def is_unknown(self) -> bool:
        """Whether a write of ours about it has no definite answer yet."""
        return self.state in (State.LOST, State.BLURRED)

    @property
    def is_free(self) -> bool:
        """Whether a write about it may be sent now."""
        return self.state is State.OPEN or self.state is State.BLURRED

    @property
    def may_fill(self) -> Qty:
        """Shares that may yet fill, at most.

        With a size amend on its way the old size may fill but for one share and the new one
        after it, because the venue takes `qty` as the new REMAINING size (S13).
        """
        if self.state is State.DONE:
            return Qty(0)
        if self.amend is not None and self.amend.qty is not None:
            return Qty(max(self.remaining - 1, 0) + self.amend.qty)
        return self.remaining

    @property
    def levels(self) -> tuple[Price, ...]:
        """Every canonical price at which it may rest: two while a price amend is undecided."""
        if self.amend is not None and self.amend.price is not None:
            return (self.level, canonical(self.outcome, self.amend.price))
        return (self.level,)

    def exposure(self) -> Live:
        """It as the limits count it: all that may fill, at the worse of its possible prices.

        For one and the same order a dearer purchase, or a cheaper sale, is worse in every outcome.
        """
        price = self.price
        if self.amend is not None and self.amend.price is not None:
            worse = max if self.own_side is Side.BUY else min
            price = worse(price, self.amend.price)
        return Live(self.market_id, self.outcome, self.own_side, price, self.may_fill)

    def intent(self) -> QtyOrder:
        """What its create asked for; a re-send carries `body`, the same bytes."""
        return QtyOrder(
            self.market_id,
            self.outcome,
            self.own_side,
            self.price,
            self.qty,
            TimeInForce.GTC,
            self.client_order_id,
        )

    def move(self, fact: Fact) -> None:
        """Enter the state that the table gives. Raises Impossible on an empty cell."""
        after = LIFE[self.state][fact]
        if after is None:
            raise Impossible(f"{fact} while {self.state}")
        self.state = after

    def sent_amend(self, amend: Amend) -> None:
        """An amend leaves now."""
        self.move(Fact.AMEND)
        self.amend = amend

    def sent_cancel(self) -> None:
        """A cancel leaves now; an undecided amend stays counted until the venue speaks."""
        self.move(Fact.CANCEL)
        self.doomed = True

    def answered(self, fact: Fact, now_ns: int) -> None:
        """An answer to our write that shows no order."""
        was = self.state
        self.move(fact)
        self.last_write_ns = now_ns
        if was is State.AMENDING and fact in (Fact.NEVER, Fact.REFUSED):
            self.amend = None
        if was is State.CANCELLING and self.amend is not None and self.state is State.OPEN:
            self.state = State.BLURRED
        self.confirmed_read = None

    def shown_by_write(self, shown: model.Order, now_ns: int) -> None:
        """A 2xx to a create or amend: the engine's own word, matching complete."""
        self.move(Fact.ENDED if shown.status in model.TERMINAL else Fact.RESTS)
        self.last_write_ns = now_ns
        self.order_id = shown.order_id
        self.filled = Qty(max(self.filled, shown.filled_qty))
        self.amend = None
        self.confirmed_read = None
        if self.state is State.OPEN:
            self.price = shown.price
            self.remaining = shown.remaining_qty
        else:
            self.remaining = Qty(0)

    def cancelled(self, shown: model.Order, reduced_by: Qty, now_ns: int) -> None:
        """A 2xx to a cancel: nothing works any more.

        `reduced_by` is the truth about what was removed and `shown.filled_qty` only a floor. When
        the two leave shares unaccounted for, those may have filled: CLOSING until a read tells.
        """
        unaccounted = self.may_fill - reduced_by - max(0, shown.filled_qty - self.filled)
        self.move(Fact.ENDED)
        self.last_write_ns = now_ns
        self.filled = Qty(max(self.filled, shown.filled_qty))
        if unaccounted > 0:
            self.state = State.CLOSING
            self.remaining = Qty(unaccounted)
        else:
            self.remaining = Qty(0)
        self.amend = None

    def identified(self, shown: model.Order, begun_ns: int) -> None:
        """A list shows the one order that this lost create, which exists, can be."""
        self.move(Fact.READ_RESTS)
        self.order_id = shown.order_id
        self.price = shown.price
        self.filled = shown.filled_qty
        self.remaining = shown.remaining_qty
        self.last_write_ns = begun_ns

    def shown_by_read(self, shown: model.Order, begun_ns: int, lag_ns: int) -> None:
        """A read, which may lag. Fills always count; the rest only when it began late enough.

        begun_ns: when the read was sent. An undecided amend wants two equal reads `lag_ns` apart.
        An end shown by a read is believed whenever it was begun: an ended order never revives.
        """
        gained = shown.filled_qty - self.filled
        if gained > 0:
            self.filled = shown.filled_qty
            self.remaining = Qty(max(0, self.remaining - gained))
        if shown.status in model.TERMINAL:
            self.move(Fact.READ_ENDED)
            self.remaining = Qty(0)
            self.amend = None
            return
        if shown.status not in model.RESTING or begun_ns < self.last_write_ns + lag_ns:
            return
        if self.state is State.BLURRED and not self._same_twice(shown, begun_ns, lag_ns):
            return
        self.move(Fact.READ_RESTS)
        if self.state is State.OPEN:
            self.price = shown.price
            self.remaining = shown.remaining_qty
            self.amend = None

    def _same_twice(self, shown: model.Order, begun_ns: int, lag_ns: int) -> bool:
        before = self.confirmed_read
        same = before is not None and (
            (before.price, before.remaining_qty, before.filled_qty)
            == (shown.price, shown.remaining_qty, shown.filled_qty)
        )
        if not same:
            self.confirmed_read = shown
            self.last_write_ns = begun_ns
        return same
