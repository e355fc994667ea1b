"""Orders of ours that may have filled, and the cheapest reads that would show it.

No fill is pushed to us (S11), but every match is printed. A print at the price of an order of ours
may have filled ours in part, one beyond it filled ours whole, and a level that shows less than we
have there has filled some. Such a sign is worth a read by its shares, and that read competes for a
token of the rate limit with the writes. For several orders one page of the fills and one of the
open orders cost less. A read may be stale: begun too soon after the sign it ends none.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from bot.core.messages import BookUpdate, Trade
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import NEVER_NS
from bot.core.planning.queue_value import RISK_CENTS
from bot.core.settings import StalenessSettings
from venue.wire.instant import NS_PER_MS
from venue.wire.money import BookSide, Qty
from venue.wire.names import OrderId

_BID: Final = BookSide.BID
_OPEN: Final = State.OPEN
_DONE: Final = State.CLOSED

FIRST_READ_NS: Final = 50 * NS_PER_MS
"""Latency of the read model; and the prints of one take come together."""

RETRY_NS: Final = 250 * NS_PER_MS
SETTLED_NS: Final = 250 * NS_PER_MS
"""A book shown sooner after our last write may not show its effect."""

LISTS_COST: Final = 2
"""One page of the fills and one of the open orders show every order."""


class SuspectedFill(msgspec.Struct):
    """An order that may have filled by `shares` since it was known to have filled `filled`."""

    own: OwnOrder
    shares: int
    filled: Qty
    seen_ns: int  # when the last sign came
    due_ns: int  # when a read is worth a token

    @property
    def value(self) -> float:
        """The value of a read, in cents: the exposure that it would reveal."""
        return RISK_CENTS * self.shares

    @property
    def is_over(self) -> bool:
        """True if the suspected shares are known to have filled, or the order is closed."""
        own = self.own
        return own.state is _DONE or own.filled >= self.filled + self.shares


class SuspectedFills:
    """The orders that may have filled; never more than there are live orders."""

    def __init__(self, staleness: StalenessSettings) -> None:
        self._lag_ns = staleness.read_lag_ns
        self._by_id: dict[OrderId, SuspectedFill] = {}
        self.next_due_ns = NEVER_NS
        """When the next read is worth a token; NEVER_NS while no order is suspected."""

    def on_frame(self, event: BookUpdate | Trade, own: Sequence[OwnOrder], now_ns: int) -> None:
        """A frame that makes fills likely. own: our live orders of its market."""
        if isinstance(event, Trade):
            self._on_trade(event, own, now_ns)
            return
        bids, asks = dict(event.bids), dict(event.asks)
        settled = [
            order
            for order in own
            if order.state is _OPEN and now_ns - order.last_write_ns >= SETTLED_NS
        ]
        # A level that shows less than we have there: the newest of ours may still be there.
        for order in sorted(settled, key=lambda order: -order.placed_ns):
            shown = bids if order.book_side is _BID else asks
            there = shown.get(order.yes_price, Qty(0))
            still = min(order.remaining, there)
            shown[order.yes_price] = Qty(there - still)
            if order.remaining > still:
                self._suspect(order, order.remaining - still, now_ns)

    def _on_trade(self, seen: Trade, own: Sequence[OwnOrder], now_ns: int) -> None:
        for side in BookSide:
            sign = 1 if side is _BID else -1
            reached = [
                order
                for order in own
                if order.book_side is side and sign * order.yes_price >= sign * seen.price
            ]
            # The best price fills first, and at one price the oldest order.
            reached.sort(key=lambda order: (-sign * order.yes_price, order.placed_ns))
            left: int = seen.size
            for order in reached:
                if order.yes_price != seen.price:
                    # Prints of its own price came before, seen or not.
                    self._suspect(order, order.remaining, now_ns)
                    continue
                self._suspect(order, min(order.remaining, left), now_ns)
                left = max(0, left - order.remaining)

    def _suspect(self, own: OwnOrder, shares: int, now_ns: int) -> None:
        if shares < 1 or own.order_id is None:
            return
        fill = self._by_id.get(own.order_id)
        if fill is None:
            due_ns = now_ns + FIRST_READ_NS
            fill = self._by_id[own.order_id] = SuspectedFill(
                own, shares, own.filled, now_ns, due_ns
            )
        else:
            fill.shares = min(fill.shares + shares, own.filled - fill.filled + own.remaining)
            fill.seen_ns = now_ns
            fill.due_ns = min(fill.due_ns, now_ns + RETRY_NS)
        self.next_due_ns = min(self.next_due_ns, fill.due_ns)

    # --- reads ------------------------------------------------------------------------------------

    def _refresh_due(self) -> None:
        self.next_due_ns = min([each.due_ns for each in self._by_id.values()], default=NEVER_NS)

    def due(self, now_ns: int) -> list[SuspectedFill]:
        """Orders that a read by id is worth a token for now, those suspected longest first."""
        return [each for each in self._by_id.values() if each.due_ns <= now_ns]

    def prefers_lists(self, now_ns: int) -> bool:
        """True if the lists of fills and of open orders cost less, or show more; then no read is
        due for a while. Drops the orders whose fills are known.

        A read by id may not know an order yet that we wrote less than a lag ago, and would answer
        that there is none; a list does not show it, or shows its fills.
        """
        self._by_id = {key: fill for key, fill in self._by_id.items() if not fill.is_over}
        due = self.due(now_ns)
        is_young = any(now_ns < fill.own.last_write_ns + self._lag_ns for fill in due)
        is_cheaper = len(due) > LISTS_COST or is_young
        self.on_read_sent(due if is_cheaper else (), now_ns)
        return is_cheaper

    def on_read_sent(self, fills: Iterable[SuspectedFill], now_ns: int) -> None:
        """Reads of these are in flight; retry those that turn out stale."""
        for fill in fills:
            fill.due_ns = max(fill.seen_ns + self._lag_ns, now_ns + RETRY_NS)
        self._refresh_due()

    def on_fills_booked(self, booked_qty: Callable[[OwnOrder], int], now_ns: int) -> None:
        """A walk of the fills has ended: an order with more booked than it shows is read at
        once for the rest."""
        for fill in self._by_id.values():
            if booked_qty(fill.own) > fill.own.filled:
                fill.due_ns = min(fill.due_ns, now_ns)
        self._refresh_due()

    def on_read(self, begun_ns: int, own: OwnOrder | None = None) -> None:
        """A read that began then has shown this order, or all open orders.

        An order whose last sign came more than a lag before has filled no more than it showed.
        """
        for order_id, fill in list(self._by_id.items()):
            is_shown = own is None or fill.own is own
            if fill.is_over or (is_shown and begun_ns >= fill.seen_ns + self._lag_ns):
                del self._by_id[order_id]
        self._refresh_due()
