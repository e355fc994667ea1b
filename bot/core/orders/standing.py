"""Where one own order stands: its fields, and what follows from them. Nothing here changes one.

Source: design, law 3 and The bot, item 7; reliability, rows 22, 26, 33, 75, B1, B3; silence S13.
"""

from typing import Final

import msgspec

from bot.core.limits.risk import Live
from bot.core.orders.absence import Absence
from bot.core.orders.known import Known
from bot.core.orders.life import LIFE, Barred, Fact, Finding, State
from bot.core.orders.tag import UNTAGGED
from venue.wire import model
from venue.wire.money import Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId, OrderId
from venue.wire.requests import Amend, QtyOrder, RequestBody, TimeInForce

_OPEN: Final = State.OPEN
_LOST: Final = State.LOST
_BLURRED: Final = State.BLURRED
_CANCELLING: Final = State.CANCELLING
_CLOSING: Final = State.CLOSING
_DONE: Final = State.DONE
_SENT: Final = State.SENT
_BUY: Final = Side.BUY
_GTC: Final = TimeInForce.GTC

_LIVES_ON: Final = (State.OPEN, State.AMENDING, State.BLURRED)
"""The states in which nothing of ours was to end it, unless an amend gave it another id (S13)."""


class Suspicion(msgspec.Struct, frozen=True):
    """Why an order is not to be trusted, and since when: only a read settles it."""

    finding: Finding
    why: str
    since_ns: int


class Standing:
    """The fields of one order of ours, and what follows from them.

    known: the venue's word so far. price: the limit in cents of its own outcome. filled: shares
    that have traded, at least, which never falls. remaining: shares that work, as of the last word
    that could be believed. These go with `known`, and are asked far more often than that changes.
    qty: what its create asked for. intended: shares it is meant to come to, filled ones included; a
    size amend changes it. amend: the change on its way or without an answer, and before: what was
    known when that left. doomed: it is to be cancelled as soon as it can be. inherited: an earlier
    run placed it, and may have amended it. is_doubtful: the newest read of it took it away, see
    `is_taken_away`, or a list lacked it, and a read by its id is to confirm that. beyond: lowered
    limits do not admit it.
    last_write_ns: when our last write about it was answered or given up. refused_since_ns: since
    when re-sends of it are decided against, None while none was. exists: the venue has said that it
    is there, without showing it. reading: a read of it by its id is on its way. moved_ns: since
    when it may rest under another id. carried: fills that its id shows and that an earlier id of it
    had. earlier: the newest of its earlier ids, each with the fills that were known of it when it
    went. dear: so many of its first fills may have been at a worse price than its present one, and
    that price. suspicion: the promise about it that was broken. absence: what was said of its being
    gone. is_take: an order that is not gtc trades as its create is carried out or not at all, and
    never rests. unknown_since_ns: since when it is unknown, None while it is not. unlisted_ns:
    when the first of the lists running that lack it was answered. `level` is its price as canonical
    YES. tag: what the account of profit remembers of it.
    """

    __slots__ = (
        "_confirmed",
        "_known",
        "_unfilled",
        "absence",
        "amend",
        "before",
        "beyond",
        "body",
        "carried",
        "client_order_id",
        "dear",
        "doomed",
        "due_ns",
        "earlier",
        "exists",
        "filled",
        "inherited",
        "intended",
        "is_doubtful",
        "is_take",
        "last_write_ns",
        "level",
        "market_id",
        "moved_ns",
        "order_id",
        "outcome",
        "own_side",
        "placed_ns",
        "price",
        "qty",
        "read_due_ns",
        "reading",
        "refused_since_ns",
        "remaining",
        "side",
        "state",
        "suspicion",
        "tag",
        "time_in_force",
        "unknown_since_ns",
        "unlisted_ns",
        "why",
    )

    def __init__(self, order: QtyOrder, body: RequestBody, now_ns: int, why: str) -> None:
        self.client_order_id: ClientOrderId = order.client_order_id
        self.order_id: OrderId | None = None
        self.market_id: MarketId = order.market_id
        self.outcome: Outcome = order.outcome
        self.own_side = order.side
        self.side = book_side(order.outcome, order.side)
        self.qty = order.qty
        self.intended = order.qty
        self.time_in_force = order.time_in_force
        self.is_take = order.time_in_force is not _GTC
        self.body = body
        self.state = _SENT
        self.known = Known(0, order.price, order.qty)
        self.level = canonical(order.outcome, order.price)
        self.amend: Amend | None = None
        self.before: Known | None = None
        self.doomed = False
        self.beyond = False
        self.inherited = False
        self.is_doubtful = False
        self.placed_ns = now_ns
        self.last_write_ns = now_ns
        self.due_ns = now_ns
        self.read_due_ns: int | None = None
        self.reading = False
        self.refused_since_ns: int | None = None
        self.exists = False
        self.unlisted_ns: int | None = None
        self.moved_ns: int | None = None
        self.carried = Qty(0)
        self.earlier: tuple[tuple[OrderId, Qty], ...] = ()
        self.dear = (Qty(0), order.price)
        self.suspicion: Suspicion | None = None
        self.absence: Absence | None = None
        self.unknown_since_ns: int | None = None
        self._confirmed: tuple[Known, int] | None = None
        self.tag = UNTAGGED
        self.why = why

    @property
    def known(self) -> Known:
        """The venue's word so far."""
        return self._known

    @known.setter
    def known(self, known: Known) -> None:
        self._known = known
        self._unfilled = known.unfilled
        self.price = known.price
        self.filled = known.filled
        self.remaining = known.remaining

    @property
    def is_stranger(self) -> bool:
        """Whether it was found resting, and no create of ours is known to be its own."""
        return self.inherited and not self.client_order_id

    @property
    def is_live(self) -> bool:
        """Whether any of it may still trade or its fills are not all known."""
        return self.state is not _DONE

    @property
    def may_rest(self) -> bool:
        """Whether any of it may still stand in a book. Of one that the venue has said to be over,
        and that nothing speaks against, only the fills are not all known."""
        if self.state is _CLOSING:
            return self.is_unknown or self.moved_ns is not None
        return self.is_live

    @property
    def is_unknown(self) -> bool:
        """Whether a write of ours about it has no definite answer yet, or it is suspected.

        While it is, no new order is made on its side of the rung.
        """
        if self.state is _LOST or self.state is _BLURRED or self.suspicion is not None:
            return True
        return self.amend is not None and self.state in (_CANCELLING, _CLOSING)

    @property
    def is_decided(self) -> bool:
        """Whether every write of ours about it has a definite answer, and none is suspected."""
        return self.suspicion is None and self.state in (_OPEN, _DONE)

    @property
    def is_free(self) -> bool:
        """Whether a cancel of it may be sent now."""
        return self.state is _OPEN or self.state is _BLURRED

    @property
    def is_unfound(self) -> bool:
        """Whether everything that could show it under its id says that there is no such order."""
        return self.absence is not None and self.absence.is_proven

    def again_ns(self, least_ns: int, now_ns: int) -> int:
        """How long until it is cancelled or read once more; see `Absence.again_ns`."""
        return least_ns if self.absence is None else self.absence.again_ns(least_ns, now_ns)

    @property
    def elsewhere_since_ns(self) -> int | None:
        """Since when it may rest under an id that we do not know: an undecided amend may have given
        it another one (S13). None when it does not look like that."""
        if self.state not in (_BLURRED, _CLOSING):
            return None
        held = self.suspicion
        if self.moved_ns is not None or self.amend is None or held is None:
            return self.moved_ns
        if held.finding is Finding.MISSING:
            return held.since_ns
        # Suspected of whatever it may be: once nothing knows its id any more, it is missing, too.
        return self.absence.since_ns if self.absence and self.absence.is_proven else None

    def shown_from_ns(self, refused_ns: int, lag_ns: int) -> int | None:
        """From when on a list shows what a lost create came to, its re-sends decided against for
        `refused_ns`, longer than one can be on its way; None while none was."""
        since_ns = self.refused_since_ns
        if since_ns is None:
            return None
        return max(since_ns + refused_ns, self.last_write_ns) + lag_ns

    def may(self, act: Fact) -> bool:
        """Whether an act of ours about it may be taken now."""
        return not isinstance(LIFE[self.state][act], Barred)

    @property
    def may_fill(self) -> Qty:
        """Shares that may yet fill, at most.

        With a size amend on its way the old size may fill but for one share and the new one
        after it, because the venue takes `qty` as the new REMAINING size (S13).
        """
        return self.may_fill_after(self.amend)

    def may_fill_after(self, amend: Amend | None) -> Qty:
        """The same with this change on its way."""
        if self.state is _DONE:
            return Qty(0)
        if amend is not None and amend.qty is not None:
            return Qty(max(self._unfilled - 1, 0) + amend.qty)
        return self._unfilled

    def may_have_filled(self, shown_qty: Qty) -> bool:
        """Whether its id may show so many shares filled: no more than it was ever asked for, by a
        venue that was set back before an amend too. What an earlier run asked for is not known."""
        most = max(self.filled + self.may_fill, self.known.size, self.intended, self.qty)
        return self.inherited or shown_qty - self.carried <= most

    @property
    def levels(self) -> tuple[Price, ...]:
        """Every canonical price at which it may rest: two while a price amend is undecided."""
        if self.amend is not None and self.amend.price is not None:
            return (self.level, canonical(self.outcome, self.amend.price))
        return (self.level,)

    def is_elsewhere(self, shown: model.Order) -> bool:
        """Whether what is shown under its id trades another market, outcome or side: nothing can
        have moved it there, so that it is another order."""
        if model.ShownOutcome.UNKNOWN is shown.outcome or model.ShownSide.UNKNOWN is shown.side:
            return False
        there = (shown.market_id, shown.outcome.value, shown.side.value)
        return there != (self.market_id, self.outcome.value, self.own_side.value)

    def is_taken_away(self, shown: model.Order, begun_ns: int, lag_ns: int, *, by_id: bool) -> bool:
        """Whether a row of a list of what rests, or a read by its id, takes from it what no write
        of ours did: its place, all that works, or shares without a fill. Such a list does so with
        one that has filled, too, for there it would not stand.

        One such row may be wrong, and what it takes away would rest uncounted. Not where a read by
        its id answered 404: then two say that it does not rest there. begun_ns: when it was asked
        for; lag_ns: by how much that may lag.
        """
        held = self.suspicion
        if held is not None and held.finding is Finding.MISSING:
            return False
        if self.is_elsewhere(shown):
            return True
        if self.state not in _LIVES_ON:
            return False
        filled = shown.filled_qty - self.carried
        if shown.status in model.TERMINAL:
            return not by_id or filled < self.known.size
        is_late = self.state is _OPEN and begun_ns >= self.last_write_ns + lag_ns
        return is_late and filled + shown.remaining_qty < self.known.size

    def exposure(self) -> Live:
        """It as the limits count it: all that may fill, at the worse of its possible prices.

        For one and the same order a dearer purchase, or a cheaper sale, is worse in every outcome.
        """
        price = self.price if self.amend is None else self._worse_of(self.price, self.amend.price)
        return Live(self.market_id, self.outcome, self.own_side, price, self.may_fill)

    def _worse_of(self, price: Price, other: Price | None) -> Price:
        """The price at which it would cost us more, or bring us less."""
        if other is None:
            return price
        return max(price, other) if self.own_side is _BUY else min(price, other)

    def worst_fill_price(self, after: int) -> Price:
        """The worst price at which shares beyond its first `after` fills can have traded.

        An amend leaves open at which of its two prices fills were that came before its answer.
        """
        price = self._worse_of(self.price, None if self.amend is None else self.amend.price)
        fills, dear = self.dear
        return self._worse_of(price, dear) if after < fills else price

    def intent(self) -> QtyOrder:
        """What it asks for; the create and its re-sends carry `body`, the same bytes."""
        return QtyOrder(
            self.market_id,
            self.outcome,
            self.own_side,
            self.price,
            self.qty,
            self.time_in_force,
            self.client_order_id,
        )
