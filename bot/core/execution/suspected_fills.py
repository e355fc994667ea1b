"""Which of our orders may have filled, and the cheapest reads that find out.

The venue pushes no fills (S11), but it prints every match. A print at the price of an order may be
a fill of it in part, a print beyond that price is one in whole, and a level that shows less than we
have there has lost some of ours. A read of such an order competes for a token by the shares that
it is about. For several orders one page of fills and one list of open orders cost less.
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
"""A book shown sooner after our last write may not include it."""

LISTS_COST: Final = 2
"""One page of the fills and one of open orders inform about every order."""


class SuspectedFill(msgspec.Struct):
    """An order that may have filled by `shares` since it was known to have filled `filled`."""

    own: OwnOrder
    shares: int
    filled: Qty
    seen_ns: int  # of the last sign
    due_ns: int  # when a read is worth a token

    @property
    def value(self) -> float:
        """What a read is worth, in cents."""
        return RISK_CENTS * self.shares

    @property
    def is_over(self) -> bool:
        """True once the fill is known, or the order is over."""
        return self.own.state is _DONE or self.own.filled >= self.filled + self.shares


class SuspectedFills:
    """The orders that may have filled; never more than there are live orders."""

    def __init__(self, staleness: StalenessSettings) -> None:
        self._lag_ns = staleness.read_lag_ns
        self._by_id: dict[OrderId, SuspectedFill] = {}
        self.due_ns = NEVER_NS
        """When the next read is worth a token; `NEVER_NS` while nothing is suspected."""

    def on_trade(self, seen: Trade, own: Sequence[OwnOrder], now_ns: int) -> None:
        """A print at or through a price of ours. own: our live orders of its market."""
        for side in BookSide:
            sign = 1 if side is _BID else -1
            reached = [
                order
                for order in own
                if order.book_side is side and sign * order.yes_price >= sign * seen.price
            ]
            # The best price is filled first, and of one price the oldest order.
            reached.sort(key=lambda order: (-sign * order.yes_price, order.placed_ns))
            left: int = seen.size
            for order in reached:
                if order.yes_price != seen.price:
                    # Prints of its own price came before, whether we received them or not.
                    self._suspect(order, order.remaining, now_ns)
                    continue
                self._suspect(order, min(order.remaining, left), now_ns)
                left = max(0, left - order.remaining)

    def on_book(self, seen: BookUpdate, own: Sequence[OwnOrder], now_ns: int) -> None:
        """A book in which a level of ours is smaller: of one level the newest order fills last."""
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
            self._suspect(order, order.remaining - still, now_ns)

    def _suspect(self, own: OwnOrder, shares: int, now_ns: int) -> None:
        if shares < 1 or own.order_id is None:
            return
        held = self._by_id.get(own.order_id)
        if held is None:
            due_ns = now_ns + FIRST_LOOK_NS
            self._by_id[own.order_id] = SuspectedFill(own, shares, own.filled, now_ns, due_ns)
        else:
            held.shares = min(held.shares + shares, own.filled - held.filled + own.remaining)
            held.seen_ns = now_ns
            held.due_ns = due_ns = min(held.due_ns, now_ns + LOOK_AGAIN_NS)
        self.due_ns = min(self.due_ns, due_ns)

    # --- reads ------------------------------------------------------------------------------------

    def due(self, now_ns: int) -> list[SuspectedFill]:
        """Orders that a read by id is worth a token for now, the longest suspected first."""
        return [each for each in self._by_id.values() if each.due_ns <= now_ns]

    def want_lists(self, now_ns: int) -> bool:
        """True if lists of fills and open orders cost less, or know sooner; then nothing is due for
        a while. Suspicions that are over are dropped.

        A read by id may not find an order that we wrote about less than a lag ago. A list leaves
        such an order out, or shows its fills.
        """
        self._by_id = {key: each for key, each in self._by_id.items() if not each.is_over}
        due = self.due(now_ns)
        is_young = any(now_ns < each.own.last_write_ns + self._lag_ns for each in due)
        if len(due) <= LISTS_COST and not is_young:
            self._schedule()
            return False
        self.on_asked(due, now_ns)
        return True

    def on_asked(self, asked: Iterable[SuspectedFill], now_ns: int) -> None:
        """Reads of these have left; if those lag, each is due once more."""
        for each in asked:
            each.due_ns = max(each.seen_ns + self._lag_ns, now_ns + LOOK_AGAIN_NS)
        self._schedule()

    def on_fills_read(self, booked_qty: Callable[[OwnOrder], int], now_ns: int) -> None:
        """A walk of the fills has ended. An order with more fills booked than it shows is worth
        reading at once."""
        for each in self._by_id.values():
            if booked_qty(each.own) > each.own.filled:
                each.due_ns = min(each.due_ns, now_ns)
        self._schedule()

    def on_read(self, begun_ns: int, own: OwnOrder | None = None) -> None:
        """A read that began then has shown this order, or all open ones. What was suspected more
        than a lag before has not filled by more than it showed."""
        for order_id, each in list(self._by_id.items()):
            is_about = own is None or each.own is own
            if each.is_over or (is_about and begun_ns >= each.seen_ns + self._lag_ns):
                del self._by_id[order_id]
        self._schedule()

    def _schedule(self) -> None:
        self.due_ns = min([each.due_ns for each in self._by_id.values()], default=NEVER_NS)
