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

from bot.core.messages import BookUpdate, Trade
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import NEVER_NS
from bot.core.planning.queue_economics import RISK_CENTS
from bot.core.settings import StalenessSettings
from venue.wire.instant import NS_PER_MS
from venue.wire.money import BookSide, Qty
from venue.wire.names import OrderId

_BID: Final = BookSide.BID
_OPEN: Final = State.OPEN
_DONE: Final = State.CLOSED

FIRST_LOOK_NS: Final = 50 * NS_PER_MS
"""The read model is some milliseconds behind, and prints of one sweep come together."""

LOOK_AGAIN_NS: Final = 250 * NS_PER_MS
SETTLED_NS: Final = 250 * NS_PER_MS
"""A book shown sooner after our last write may not show what that changed."""

LISTS_COST: Final = 2
"""One page of the fills and one of what rests tell about every order."""


class SuspectedFill(msgspec.Struct):
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


class SuspectedFills:
    """The orders that may have filled; never more than there are live orders."""

    def __init__(self, staleness: StalenessSettings) -> None:
        self._lag_ns = staleness.read_lag_ns
        self._by_id: dict[OrderId, SuspectedFill] = {}

    def saw(self, event: BookUpdate | Trade, own: Sequence[OwnOrder], now_ns: int) -> None:
        """A frame that makes fills likely. own: our live orders of its market."""
        if isinstance(event, Trade):
            self._saw_trade(event, own, now_ns)
        else:
            self._saw_book(event, own, now_ns)

    def _saw_trade(self, seen: Trade, own: Sequence[OwnOrder], now_ns: int) -> None:
        for side in BookSide:
            sign = 1 if side is _BID else -1
            reached = [
                order
                for order in own
                if order.book_side is side and sign * order.yes_price >= sign * seen.price
            ]
            # The boldest are filled first, and of one price the oldest.
            reached.sort(key=lambda order: (-sign * order.yes_price, order.placed_ns))
            left: int = seen.size
            for order in reached:
                if order.yes_price != seen.price:
                    # Prints of its own price came before, seen or not.
                    self._hint(order, order.remaining, now_ns)
                    continue
                self._hint(order, min(order.remaining, left), now_ns)
                left = max(0, left - order.remaining)

    def _saw_book(self, seen: BookUpdate, own: Sequence[OwnOrder], now_ns: int) -> None:
        """A level that shows less than we have there: the newest of ours may still be there."""
        bids, asks = dict(seen.bids), dict(seen.asks)
        settled = [
            order
            for order in own
            if order.state is _OPEN and now_ns - order.last_write_ns >= SETTLED_NS
        ]
        for order in sorted(settled, key=lambda order: -order.placed_ns):
            shown = bids if order.book_side is _BID else asks
            there = shown.get(order.yes_price, Qty(0))
            still = min(order.remaining, there)
            shown[order.yes_price] = Qty(there - still)
            self._hint(order, order.remaining - still, now_ns)

    def _hint(self, own: OwnOrder, shares: int, now_ns: int) -> None:
        if shares < 1 or own.order_id is None:
            return
        hint = self._by_id.get(own.order_id)
        if hint is None:
            self._by_id[own.order_id] = SuspectedFill(
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
        return min([hint.due_ns for hint in self._by_id.values()], default=NEVER_NS)

    def due(self, now_ns: int) -> list[SuspectedFill]:
        """Orders that a read by id is worth a token for now, those hinted at longest ago first."""
        return [each for each in self._by_id.values() if each.due_ns <= now_ns]

    def want_lists(self, now_ns: int) -> bool:
        """True if the lists of fills and of open orders tell for less, or sooner; then nothing is
        due for a while. Hints that are over are dropped.

        A read by id may not know an order yet that we wrote about less than a lag ago, and would
        say that there is none; a list says nothing of it, or shows its fills.
        """
        self._by_id = {key: hint for key, hint in self._by_id.items() if not hint.is_over}
        due = self.due(now_ns)
        is_young = any(now_ns < hint.own.last_write_ns + self._lag_ns for hint in due)
        if len(due) <= LISTS_COST and not is_young:
            return False
        self.asked(due, now_ns)
        return True

    def asked(self, hints: Iterable[SuspectedFill], now_ns: int) -> None:
        """Reads of these have been sent for; should they lag, they are due once more."""
        for hint in hints:
            hint.due_ns = max(hint.seen_ns + self._lag_ns, now_ns + LOOK_AGAIN_NS)

    def booked(self, booked_qty: Callable[[OwnOrder], int], now_ns: int) -> None:
        """A walk of the fills has ended: of an order that has filled by more than it shows, what
        is left is worth reading at once."""
        for hint in self._by_id.values():
            if booked_qty(hint.own) > hint.own.filled:
                hint.due_ns = min(hint.due_ns, now_ns)

    def looked(self, begun_ns: int, own: OwnOrder | None = None) -> None:
        """A read that began then has shown this order, or all that rest.

        What was hinted at more than a lag before has not filled by more than it showed.
        """
        for order_id, hint in list(self._by_id.items()):
            concerned = own is None or hint.own is own
            if hint.is_over or (concerned and begun_ns >= hint.seen_ns + self._lag_ns):
                del self._by_id[order_id]
