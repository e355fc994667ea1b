"""Which of our orders may have filled, and the cheapest reads that would tell.

No fill is pushed to us (S11). But every match is printed: a print at the price of an order of ours
may have been ours in part, one beyond it surely was in whole, and a level that shows less than we
have there has lost some of ours. Such a hint is worth a read by as many shares as it is about, and
that read is a candidate for a token like any other wish. Several at once are told for less by one
page of the fills and one of what rests. A read may lag: begun too soon after the print it ends no
hint.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from bot.core.desk.outbox import NEVER_NS
from bot.core.messages import BookSeen, TradeSeen
from bot.core.orders.order import OwnOrder, State
from bot.core.plan.place import RISK_CENTS
from bot.core.settings import TrustSettings
from venue.wire.instant import NS_PER_MS
from venue.wire.money import BookSide, Qty
from venue.wire.names import OrderId

_BID: Final = BookSide.BID
_OPEN: Final = State.OPEN
_DONE: Final = State.DONE

FIRST_LOOK_NS: Final = 50 * NS_PER_MS
"""The read model is some milliseconds behind, and prints of one sweep come together."""

LOOK_AGAIN_NS: Final = 250 * NS_PER_MS
SETTLED_NS: Final = 250 * NS_PER_MS
"""A book shown sooner after our last write may not show what that changed."""

LISTS_COST: Final = 2
"""One page of the fills and one of what rests tell about every order."""


class Hint(msgspec.Struct):
    """An order that may have filled by `shares` since it was known to have filled `filled`.

    seen_ns: the last sign of it. due_ns: when a read is worth a token.
    """

    own: OwnOrder
    shares: int
    filled: Qty
    seen_ns: int
    due_ns: int

    @property
    def value(self) -> float:
        """What a read that tells is worth, in cents."""
        return RISK_CENTS * self.shares

    @property
    def is_over(self) -> bool:
        """Whether what was hinted is known, or the order is."""
        own = self.own
        return own.state is _DONE or own.filled >= self.filled + self.shares


class Hints:
    """The orders that may have filled; never more than there are live orders."""

    def __init__(self, trust: TrustSettings) -> None:
        self._lag_ns = trust.read_lag_ns
        self._by_id: dict[OrderId, Hint] = {}
        # When the first of them is due; None: to be reckoned anew, as all say that change one.
        self._next_ns: int | None = NEVER_NS
        self._explained: list[OrderId] = []  # not dropped yet

    def saw(self, event: BookSeen | TradeSeen, own: Sequence[OwnOrder], now_ns: int) -> None:
        """A frame that makes fills likely. own: our live orders of its market."""
        if isinstance(event, TradeSeen):
            self._saw_trade(event, own, now_ns)
        else:
            self._saw_book(event, own, now_ns)

    def _saw_trade(self, seen: TradeSeen, own: Sequence[OwnOrder], now_ns: int) -> None:
        for side in BookSide:
            sign = 1 if side is _BID else -1
            reached = [
                order
                for order in own
                if order.side is side and sign * order.level >= sign * seen.price
            ]
            # The boldest are filled first, and of one price the oldest.
            reached.sort(key=lambda order: (-sign * order.level, order.placed_ns))
            left: int = seen.size
            for order in reached:
                if order.level != seen.price:
                    # Prints of its own price came before, seen or not.
                    self._hint(order, order.remaining, now_ns)
                    continue
                self._hint(order, min(order.remaining, left), now_ns)
                left = max(0, left - order.remaining)

    def _saw_book(self, seen: BookSeen, own: Sequence[OwnOrder], now_ns: int) -> None:
        """A level that shows less than we have there: the newest of ours may still be there."""
        bids, asks = dict(seen.bids), dict(seen.asks)
        settled = [
            order
            for order in own
            if order.state is _OPEN and now_ns - order.last_write_ns >= SETTLED_NS
        ]
        for order in sorted(settled, key=lambda order: -order.placed_ns):
            shown = bids if order.side is _BID else asks
            there = shown.get(order.level, Qty(0))
            still = min(order.remaining, there)
            shown[order.level] = Qty(there - still)
            self._hint(order, order.remaining - still, now_ns)

    def _hint(self, own: OwnOrder, shares: int, now_ns: int) -> None:
        if shares < 1 or own.order_id is None:
            return
        self._next_ns = None
        hint = self._by_id.get(own.order_id)
        if hint is None:
            self._by_id[own.order_id] = Hint(
                own, shares, own.filled, now_ns, now_ns + FIRST_LOOK_NS
            )
            return
        hint.shares = min(hint.shares + shares, own.filled - hint.filled + own.remaining)
        hint.seen_ns = now_ns
        hint.due_ns = min(hint.due_ns, now_ns + LOOK_AGAIN_NS)

    # --- reads ------------------------------------------------------------------------------------

    def is_empty(self) -> bool:
        """Whether nothing of ours may have filled unknown to us."""
        return not self._by_id

    def next_due_ns(self) -> int:
        """When the next read is worth a token; a time that does not come when none is."""
        if self._next_ns is None:
            self._next_ns = min([each.due_ns for each in self._by_id.values()], default=NEVER_NS)
        return self._next_ns

    def due(self, now_ns: int) -> list[Hint]:
        """Orders that a read by id is worth a token for now, those hinted at longest ago first."""
        if not self._by_id or now_ns < self.next_due_ns():
            return []
        return [each for each in self._by_id.values() if each.due_ns <= now_ns]

    def want_lists(self, now_ns: int) -> bool:
        """Whether the lists of fills and of what rests tell for less, or sooner; then nothing is
        due for a while. What is explained is dropped.

        A read by id may not know an order yet that we wrote about less than a lag ago, and would
        say that there is none; a list says nothing of it, or shows its fills.
        """
        if self._explained:
            self._drop_explained()
        due = self.due(now_ns)
        if not due:
            return False
        over = young = False
        for hint in due:
            if hint.is_over:
                over = True
            elif now_ns < hint.own.last_write_ns + self._lag_ns:
                young = True
        if over:
            self._explained = [key for key, hint in self._by_id.items() if hint.is_over]
            self._drop_explained()
            due = self.due(now_ns)
        if len(due) <= LISTS_COST and not young:
            return False
        self.asked(due, now_ns)
        return True

    def answered(self, own: OwnOrder) -> None:
        """An answer about an order was taken in: what was hinted of it may be known by now. That
        and `looked` are nearly all that ends a hint; what else does is seen once it is due."""
        order_id = own.order_id
        hint = None if order_id is None else self._by_id.get(order_id)
        if order_id is not None and hint is not None and hint.is_over:
            self._explained.append(order_id)

    def _drop_explained(self) -> None:
        for order_id in self._explained:
            hint = self._by_id.get(order_id)
            if hint is not None and hint.is_over:
                del self._by_id[order_id]
        self._explained = []
        self._next_ns = None

    def asked(self, hints: Iterable[Hint], now_ns: int) -> None:
        """Reads of these have been sent for; should they lag, they are due once more."""
        for hint in hints:
            hint.due_ns = max(hint.seen_ns + self._lag_ns, now_ns + LOOK_AGAIN_NS)
        self._next_ns = None

    def booked(self, booked_qty: Callable[[OwnOrder], int], now_ns: int) -> None:
        """A walk of the fills has ended: of an order that has filled by more than it shows, what
        is left is worth reading at once."""
        for hint in self._by_id.values():
            if booked_qty(hint.own) > hint.own.filled:
                hint.due_ns = min(hint.due_ns, now_ns)
        self._next_ns = None

    def looked(self, begun_ns: int, own: OwnOrder | None = None) -> None:
        """A read that began then has shown this order, or all that rest.

        What was hinted at more than a lag before has not filled by more than it showed.
        """
        for order_id, hint in list(self._by_id.items()):
            concerned = own is None or hint.own is own
            if hint.is_over or (concerned and begun_ns >= hint.seen_ns + self._lag_ns):
                del self._by_id[order_id]
        self._next_ns = None
