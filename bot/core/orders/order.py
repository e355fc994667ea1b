"""How answers and reads change one own order, and the acts that wait for them.

`OwnOrder` ties the table of `bot.core.orders.life` to the facts of `bot.core.orders.known`: a
method a kind of news, each a step of the table and a join of what is known. Nothing here decides
what to send; the desk reads `state` and the due times.

An order belongs to its order_id: a reply that shows another id ends it, and a successor lives on.

Source: design, law 3 and The bot, item 7; reliability, rows 20-36, B1, B7, B8; silences S13, S14,
S31, S43.
"""

from typing import Final

import msgspec

from bot.core.messages import OpenIntent
from bot.core.orders.absence import Absence
from bot.core.orders.known import EARLIER, Known
from bot.core.orders.life import IN_FLIGHT, LIFE, UNDONE, Barred, Fact, Finding, State, Suspect
from bot.core.orders.standing import Standing, Suspicion
from venue.wire import model
from venue.wire.money import Outcome, Price, Qty, Side, canonical
from venue.wire.names import ClientOrderId
from venue.wire.requests import Amend, QtyOrder, RequestBody, TimeInForce

__all__ = ["IN_FLIGHT", "LIFE", "UNDONE", "Fact", "Finding", "OwnOrder", "State", "Suspicion"]

_OPEN: Final = State.OPEN
_DONE: Final = State.DONE

EARLIER_IDS_MAX: Final = 8
"""Ids that an order had before amends changed them, of which late fills are still told apart."""


class OwnOrder(Standing):
    """One order of ours, as a machine: feed it every answer and every read about it.

    Times are the bot's clock; `begun_ns` is when a read was sent. Nothing raises but an act that
    the table bars.
    """

    __slots__ = ()

    # --- beginnings -------------------------------------------------------------------------------

    @classmethod
    def first_sent(cls, order: QtyOrder, body: RequestBody, now_ns: int, why: str) -> "OwnOrder":
        """An order whose create leaves now."""
        return cls(order, body, now_ns, why)

    @classmethod
    def left_behind(cls, intent: OpenIntent, now_ns: int) -> "OwnOrder":
        """A create of an earlier run without an answer: to be re-sent, then cancelled."""
        own = cls(intent.order, intent.body, now_ns, "left by an earlier run")
        own.state = State.LOST
        own.unknown_since_ns = now_ns
        own.inherited = True
        own.doomed = True
        return own

    @classmethod
    def found_resting(cls, shown: model.Order, now_ns: int) -> "OwnOrder":
        """A resting order that this run did not place, taken over to be cancelled.

        Raises ValueError when its outcome or side cannot be recognised.
        """
        order = QtyOrder(
            shown.market_id,
            Outcome(shown.outcome.value),
            Side(shown.side.value),
            shown.price,
            Qty(shown.filled_qty + shown.remaining_qty),
            TimeInForce.GTC,
            ClientOrderId(""),
        )
        own = cls(order, RequestBody(b""), now_ns, "found resting at the start")
        own.state = State.OPEN
        own.order_id = shown.order_id
        own._learn(Known.shown(shown, 0))
        own.inherited = True
        own.doomed = True
        return own

    @classmethod
    def found_risen(cls, shown: model.Order, over_ns: int, now_ns: int) -> "OwnOrder":
        """One of ours that is over, as its cancels were answered, and is listed all the same: in
        doubt until a read by its id tells, which is due at once. over_ns: when it was over, at the
        latest, with no write about it since.

        Raises ValueError when its outcome or side cannot be recognised.
        """
        own = cls.found_resting(shown, now_ns)
        own.state = State.CLOSING
        own.last_write_ns = over_ns
        own.absence = Absence(over_ns)
        own.read_due_ns = now_ns
        return own

    def successor(self, shown: model.Order, now_ns: int) -> "OwnOrder":
        """The order that an amend made of this one under another id (S13); this one is over.

        It counts the fills of its own id: what this id had filled is taken off, if it is carried
        over there.
        """
        own = OwnOrder(self.intent(), self.body, now_ns, self.why)
        own.inherited = self.inherited
        own.doomed = self.doomed
        own.beyond = self.beyond
        own.placed_ns = self.placed_ns
        own.tag = self.tag
        so_far = Qty(self.carried + self.filled)
        own.carried = so_far if shown.filled_qty >= so_far else Qty(0)
        if self.order_id is not None:
            own.earlier = (*self.earlier, (self.order_id, self.filled))[-EARLIER_IDS_MAX:]
        own.order_id = shown.order_id
        own.intended = Qty(max(0, self._meant() - self.filled))
        # What it may have filled the amend under way tells, which this one knows of.
        told = Known.shown(shown, 1)
        filled = Qty(max(0, told.filled - own.carried) if self.may_have_filled(told.size) else 0)
        own.known = Known(1, told.price, Qty(filled + told.unfilled), filled, told.ended)
        own.level = canonical(own.outcome, own.known.price)
        own.state = State.DONE if own.known.ended else State.OPEN
        own._spare()
        return own

    def before_its_cancel(self, shown: model.Order) -> model.Order:
        """What the answer to its cancel shows under another id, as it rested until then: all that
        worked but what is shown to have filled, for that is only a floor."""
        told = shown.filled_qty if self.may_have_filled(shown.filled_qty) else 0
        left = self.may_fill - max(0, told - self.carried - self.filled)
        rested = model.OrderStatus.OPEN
        return msgspec.structs.replace(shown, status=rested, remaining_qty=Qty(max(0, left)))

    def leave_out(self, qty: Qty) -> None:
        """So many of the fills that its id shows, 0 or more, count elsewhere: an earlier id had
        them, which nobody here knows, or the books were opened with them."""
        self.carried = Qty(self.carried + qty)
        self.intended = Qty(max(0, self.intended - qty))
        size, filled = Qty(self.known.size - qty), Qty(self.known.filled - qty)
        self.known = msgspec.structs.replace(self.known, size=size, filled=filled)

    # --- steps of the table -----------------------------------------------------------------------

    def move(self, fact: Fact, at_ns: int) -> None:
        """Take the step that the table gives. at_ns: when the fact was true, at the latest.

        Raises ValueError for an act of ours that is barred: `may` is to be asked first.
        """
        cell = LIFE[self.state][fact]
        if isinstance(cell, Barred):
            raise ValueError(f"{fact} while {self.state}: {cell.why}")
        self.state = cell.state
        if isinstance(cell, Suspect):
            self.suspect(cell.finding, f"{fact}: {cell.why}", at_ns)
        if self.state is _DONE:
            self._fold_amend()
            self.known = self.known.join(
                Known(EARLIER, self.price, self.known.size, self.filled, ended=True)
            )
            self.amend = self.before = self.suspicion = self.moved_ns = self.read_due_ns = None
        self.mark(at_ns)

    def mark(self, at_ns: int) -> None:
        """Keep since when it is unknown; `at_ns` is when that changed, if it did."""
        if not self.is_unknown:
            self.unknown_since_ns = None
        elif self.unknown_since_ns is None:
            self.unknown_since_ns = at_ns

    def suspect(self, finding: Finding, why: str, at_ns: int) -> None:
        """Trust it no more until a read settles it. What is suspected already stays so, but that
        one which could not be read may be missing now."""
        held = None if self.suspicion is None else self.suspicion.finding
        is_lost = held is Finding.UNREADABLE and finding is Finding.MISSING
        if held is None or is_lost or (finding.dooms and not held.dooms):
            self.suspicion = Suspicion(finding, why, at_ns)
        self.doomed = self.doomed or finding.dooms
        self.mark(at_ns)

    def _learn(self, known: Known) -> None:
        before = self.known.price
        self.known = self.known.join(known)
        if self.known.price != before:
            self._fills_may_be_at(before)
        self.level = canonical(self.outcome, self.known.price)

    def _fold_amend(self) -> None:
        """An undecided change of price is given up: what has filled may have filled at it."""
        if self.amend is not None and self.amend.price is not None:
            self._fills_may_be_at(self.amend.price)

    def _fills_may_be_at(self, price: Price) -> None:
        """Fills known by now may have been at this price, which is not its own."""
        fills, dear = self.dear
        self.dear = (self.filled, self._worse_of(price, dear if fills else None))

    def _shown(self, shown: model.Order, epoch: int) -> Known:
        """A row as a fact about this order's own id."""
        known = Known.shown(shown, epoch)
        filled = self._filled_in(known)
        return Known(epoch, known.price, Qty(filled + known.unfilled), filled, known.ended)

    def _filled_in(self, known: Known) -> Qty:
        """What a row tells of the fills of this id. Nothing where it comes to more, filled and
        working, than was ever asked for: one of the two is wrong, and fills never fall again."""
        if not self.may_have_filled(known.size):
            return self.filled
        return Qty(max(0, known.filled - self.carried))

    # --- acts -------------------------------------------------------------------------------------

    def sent_again(self) -> None:
        """Its create leaves once more, byte for byte."""
        self.move(Fact.RESEND, self.last_write_ns)

    def sent_amend(self, amend: Amend) -> None:
        """An amend leaves now."""
        self.move(Fact.AMEND, self.last_write_ns)
        self.amend = amend
        self.before = self.known

    def sent_cancel(self) -> None:
        """A cancel leaves now; an undecided amend stays counted until the venue speaks."""
        self.move(Fact.CANCEL, self.last_write_ns)
        self.doomed = True

    # --- answers ----------------------------------------------------------------------------------

    def answered(self, fact: Fact, now_ns: int) -> None:
        """An answer to our write that shows no order."""
        was, said = self.state, fact
        if was is State.CANCELLING and self.amend is not None and fact in UNDONE:
            if fact is Fact.MISSING:
                self.suspect(Finding.MISSING, "404 to its cancel", now_ns)
            fact = Fact.BLIND
        self.last_write_ns = now_ns
        self.known = self.known.answered()
        self._confirmed = None
        self.move(fact, now_ns)
        of_cancel = was is State.CANCELLING and said in (Fact.MISSING, Fact.OVER)
        if of_cancel or (was is State.AMENDING and said is Fact.OVER):
            self.absence = self.absence or Absence(now_ns)
        if was is State.AMENDING:
            self.moved_ns = None
            if self.state is not State.BLURRED:
                self.amend = self.before = None
        self._believe_end(now_ns)
        self.mark(now_ns)

    def shown_by_write(self, shown: model.Order, now_ns: int) -> None:
        """A 2xx to a create or amend: the engine's own word, matching complete."""
        self.last_write_ns = now_ns
        if self.order_id is None:
            self.order_id = shown.order_id
        self._confirmed = self.absence = None
        if shown.status is model.OrderStatus.UNKNOWN:
            # What it shows is one of the two that an undecided amend leaves open.
            self.fills_shown(shown)
            self.known = self.known.answered()
            self.move(Fact.STRANGE, now_ns)
            return
        self.intended = self._meant()
        self._learn(self._shown(shown, self.known.epoch + 1))
        self.move(Fact.ENDED if self.known.ended else Fact.RESTS, now_ns)
        self.amend = self.before = None
        self._spare()
        self.mark(now_ns)

    def replaced(self, fact: Fact, at_ns: int) -> None:
        """A 2xx to its amend, or a list, shows it under another id: under this one it is over."""
        self.last_write_ns = at_ns
        self.known = self.known.answered()
        self.move(fact, at_ns)

    def cancelled(self, shown: model.Order, reduced_by: Qty, now_ns: int) -> None:
        """A 2xx to a cancel: nothing works any more.

        `reduced_by` is the truth about what was removed and `shown.filled_qty` only a floor. When
        the two leave shares unaccounted for, those may have filled: CLOSING until a read tells. A
        floor above all that was ever asked for is none, nor is one beside more than it leaves.
        """
        told = shown.filled_qty - self.carried if self.may_have_filled(shown.filled_qty) else 0
        floor = Qty(max(self.filled, told))
        if floor - self.filled + reduced_by > self.may_fill:
            floor = self.filled
        unaccounted = self.may_fill - reduced_by - (floor - self.filled)
        self.last_write_ns = now_ns
        size = Qty(floor + max(0, unaccounted))
        self._learn(Known(self.known.epoch + 1, self.price, size, floor))
        if reduced_by > 0:
            self._fold_amend()
            self.amend = self.before = None  # under this id it rested
        self.move(Fact.ENDED if unaccounted <= 0 else Fact.SHORT, now_ns)
        if self.is_live:
            self.absence = self.absence or Absence(now_ns)

    def identified(self, shown: model.Order, begun_ns: int) -> None:
        """A list shows the one order that this lost create, which exists, can be."""
        self.order_id = shown.order_id
        self.last_write_ns = begun_ns
        self._learn(self._shown(shown, self.known.epoch + 1))
        self.move(Fact.LISTED, begun_ns)

    def is_booked(self, from_ns: int, now_ns: int, fills_begun_ns: int, lag_ns: int) -> bool:
        """A whole list, begun at `from_ns` or later and answered now, lacks it: whether all that it
        filled is booked.

        from_ns: from when on a list shows it if it rests. fills_begun_ns: when the newest whole
        walk of the fills began. What rested may have filled between that walk and the list: only
        one begun a lag after the first list without it was answered shows all. A list of before
        `from_ns` says nothing. A take never rested: it was over a lag before.
        """
        if self.is_take:
            return fills_begun_ns >= from_ns
        if self.unlisted_ns is None or self.unlisted_ns < from_ns:
            self.unlisted_ns = now_ns
        return fills_begun_ns >= self.unlisted_ns + lag_ns

    def unlisted(self, begun_ns: int) -> None:
        """A late enough list shows nothing that it could be: it never landed, it is over, or, where
        nothing knows its id either, gone."""
        self.last_write_ns = begun_ns
        self.move(Fact.GONE if self.is_unfound else Fact.UNLISTED, begun_ns)

    def counted_elsewhere(self, now_ns: int) -> None:
        """The answer to its create shows an order that was found resting meanwhile, and is counted
        as that one."""
        self.last_write_ns = now_ns
        self.move(Fact.ENDED if self.order_id is None else Fact.UNLISTED, now_ns)

    def fills_shown(self, shown: model.Order) -> None:
        """An answer to another write of ours shows this order: its fills count. What was said of
        its being gone is said anew; while it is over nothing says once more that it is."""
        if self.absence is not None:
            is_over = self.state is State.CLOSING
            self.absence = Absence(self.absence.since_ns) if is_over else None
        self._learn(Known(EARLIER, self.price, self.known.size, self._shown(shown, EARLIER).filled))

    def missing(self, now_ns: int) -> None:
        """A read by its id answers 404: it is kept, and read again."""
        self.move(Fact.READ_MISSING, now_ns)

    def gone(self, now_ns: int) -> bool:
        """End it if everything says that there is no such order; whether it is over by that. One
        with an undecided amend may rest under another id, and is not."""
        if not self.is_unfound or self.amend is not None or not self.is_live:
            return False
        self.move(Fact.GONE, now_ns)
        return not self.is_live

    # --- reads ------------------------------------------------------------------------------------

    def is_shown_as_known(self, shown: model.Order) -> bool:
        """Whether a read shows it open just as it is known, with nothing in doubt: then it tells
        nothing, whenever it was begun."""
        # Of strings, for this is asked of every row of a list: `value` takes ten times longer.
        outcome: str = shown.outcome
        side: str = shown.side
        known = self._known
        return (
            self.state is _OPEN
            and self.suspicion is None
            and not self.carried
            and not known.ended
            and shown.order_id == self.order_id
            and shown.market_id == self.market_id
            and outcome == self.outcome
            and side == self.own_side
            and shown.price == known.price
            and shown.filled_qty == known.filled
            and shown.filled_qty + shown.remaining_qty == known.size
            and shown.status in model.RESTING
        )

    def shown_by_read(self, shown: model.Order, begun_ns: int, lag_ns: int) -> None:
        """A read, which may lag. Fills always count; the rest only when it began late enough.

        begun_ns: when the read was sent. An undecided amend wants two equal reads `lag_ns` apart.
        An end shown by a read is believed whenever it was begun: an ended order never revives.
        A read that shows another id says nothing of this one.
        """
        if shown.order_id != self.order_id:
            return
        self.fills_shown(shown)
        if shown.status is model.OrderStatus.UNKNOWN:
            self.move(Fact.READ_STRANGE, begun_ns)
        elif shown.status in model.TERMINAL:
            self._read_ended(shown, begun_ns)
        elif begun_ns >= self.last_write_ns + lag_ns and not self.known.ended:
            self._read_resting(self._shown(shown, self.known.epoch), begun_ns, lag_ns)

    def _read_ended(self, shown: model.Order, begun_ns: int) -> None:
        """It reads as over. Under another id it may live on if an amend of ours is undecided: a
        cancel of ours without an answer may have met the old id (S13)."""
        moved = self.amend is not None and shown.status is model.OrderStatus.CANCELED
        self._learn(Known(EARLIER, self.price, self.known.size, self.filled, ended=True))
        self.move(Fact.READ_MOVED if moved else Fact.READ_ENDED, begun_ns)
        if moved and self.moved_ns is None:
            self.moved_ns = begun_ns

    def _read_resting(self, seen: Known, begun_ns: int, lag_ns: int) -> None:
        """A read of the present epoch shows it resting."""
        if self.state is State.BLURRED:
            if self._same_twice(seen, begun_ns, lag_ns):
                self._settle(seen, begun_ns, lag_ns)
        elif self.state is State.CLOSING:
            self.move(Fact.READ_DIFFERS if self.amend is not None else Fact.READ_RESTS, begun_ns)
            self.absence = None
        elif self.state is State.OPEN and self.known.contradicts(seen):
            self.move(Fact.READ_DIFFERS, begun_ns)
            self.amend = Amend(price=seen.price, qty=seen.remaining or None)
            self._confirmed = (seen, begun_ns)
        elif self.state is State.OPEN:
            self._learn(seen)
            self.move(Fact.READ_RESTS, begun_ns)
            self._trust_again(begun_ns, lag_ns)
        else:
            self.move(Fact.READ_RESTS, begun_ns)

    def _same_twice(self, seen: Known, begun_ns: int, lag_ns: int) -> bool:
        """Whether two reads `lag_ns` apart agree; fills between them do not make them differ."""
        if self._confirmed is not None:
            first, first_ns = self._confirmed
            if (first.price, first.size) == (seen.price, seen.size):
                return begun_ns >= first_ns + lag_ns
        self._confirmed = (seen, begun_ns)
        return False

    def _settle(self, seen: Known, begun_ns: int, lag_ns: int) -> None:
        """Two equal reads decide an amend: a new epoch begins with what they show."""
        if not self._left_undone(seen):
            self.intended = Qty(min(self.intended, self._meant()))
        self.last_write_ns = max(self.last_write_ns, self._confirmed[1] if self._confirmed else 0)
        self._learn(Known(self.known.epoch + 1, seen.price, seen.size, seen.filled))
        self.amend = self.before = self._confirmed = None
        self.move(Fact.READ_RESTS, begun_ns)
        self._spare()
        self._trust_again(begun_ns, lag_ns)

    def _left_undone(self, seen: Known) -> bool:
        """Whether what is seen shows that the undecided amend was not carried out."""
        if self.amend is None or self.before is None:
            return True
        if self.amend.price not in (None, self.before.price) and seen.price == self.before.price:
            return True
        return seen.filled == self.before.filled and seen.size == self.before.size

    def _trust_again(self, begun_ns: int, lag_ns: int) -> None:
        """A read begun late enough shows it as it should be. A wrong echo stays wrong."""
        held = self.suspicion
        if (
            held is not None
            and held.finding is not Finding.ECHO
            and begun_ns >= held.since_ns + lag_ns
        ):
            self.suspicion = None
            self.mark(begun_ns)

    def _believe_end(self, at_ns: int) -> None:
        """An end that a read showed while an answer was awaited: nothing can explain it now."""
        if self.known.ended and self.state in (State.OPEN, State.CLOSING) and self.amend is None:
            self.move(Fact.READ_ENDED, at_ns)

    # --- sizes ------------------------------------------------------------------------------------

    def _meant(self) -> Qty:
        """Shares that it comes to by our wish, if the amend under way is carried out."""
        if self.amend is None or self.amend.qty is None or self.before is None:
            return self.intended
        return Qty(self.before.filled + self.amend.qty)

    def _spare(self) -> None:
        """When a fill raced an amend more works than was meant: it is cancelled at once (row 26).

        A second amend could race the next fill; a cancel cannot leave too much.
        """
        if self.is_live and self.known.size > self.intended and not self.doomed:
            self.doomed = True
            self.why = "a fill raced its amend: more works than was meant"
