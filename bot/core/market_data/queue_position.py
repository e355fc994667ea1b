"""The shares of others ahead of each of our own orders: an estimate between two bounds.

A book shows sizes and no order of arrival. What was at a price when we came is ahead of us, what
came after is behind, and prints eat from the front. A decrease without a print is a cancel
somewhere in the queue: ahead of us with the chance  a^n / (a^n + b^n)  of a queue with `a` shares
ahead and `b` behind (n = 1: any share is as likely as any other to be cancelled; a higher n lets
cancels fall on the longer part). The bounds take all cancels to be behind us, and all ahead of us.

A frame contains everything up to its own instant, so a print that is not newer is in it, whichever
arrives first: a decrease that a late print explains is taken back from the cancels. Frames count
only while none of our own writes at the price is in flight or newer than they are; then a level
less our own size is others'.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from bot.core.orders.order import OwnOrder, State
from bot.strategy.api import Levels
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import OrderId
from venue.wire.requests import keeps_priority

_BID: Final = BookSide.BID
_ASK: Final = BookSide.ASK
_OPEN: Final = State.OPEN

_FRAMES_KEPT: Final = 4
"""Decreases that a late print may still explain: a print is rarely later than a few frames."""

_FILL_KNOWN_NS: Final = 3 * NS_PER_SECOND
"""A fill that prints led us to expect, and that no read has shown by then, did not take place."""

_PRINTS_KEPT: Final = 32
"""Prints remembered for orders whose arrival is not known yet."""

_UNKNOWN_NS: Final = -1

_Place = tuple[BookSide, Price]
"""A level of the canonical book."""


def place_of(shown: model.Order) -> _Place | None:
    """Side and price of an order in the canonical book; None if its fields do not say."""
    if shown.outcome is model.ShownOutcome.UNKNOWN or shown.side is model.ShownSide.UNKNOWN:
        return None
    outcome = Outcome(shown.outcome.value)
    return book_side(outcome, Side(shown.side.value)), canonical(outcome, shown.price)


def size_at(levels: Levels, price: Price) -> int:
    """Shares at a price of one side of a book."""
    for level, size in levels:
        if level == price:
            return size
    return 0


class _Frame:
    """A decrease of a level between two frames that no print has explained yet."""

    def __init__(self, from_ns: int, to_ns: int, gone: float, took: float) -> None:
        self.from_ns = from_ns
        self.to_ns = to_ns
        self.gone = gone
        self.took = took
        self.took_most = 0.0


class QueueAhead:
    """The shares of others ahead of one order of ours at its price.

    0 <= at_least <= likely <= at_most. There are at most `at_most` while the venue keeps price-time
    priority. There are fewer than `at_least` only if new shares behind us hid cancels ahead of us
    between two books. Times are the venue's own.
    """

    def __init__(self, before: int | None, before_ns: int, arrived_ns: int, power: float) -> None:
        """before: others' shares at the price in the last book of `before_ns`, the newest one that
        does not know of the order; None without one. arrived_ns: when the order came."""
        self._before = before
        self._before_ns = before_ns
        self._arrived_ns = arrived_ns
        self._power = power
        self._others = 0 if before is None else before
        self._shown_ns = self._placed_ns = _UNKNOWN_NS
        # Of the first book that knew of it: shares there, those from before that remained, and how
        # much of the new shares is assumed to have come before it.
        self._placed = (0, 0, 0.0)
        self._early: list[tuple[int, int]] = []
        self._late: list[_Frame] = []
        self.is_placed = False  # a book that knows of the order was seen
        self.likely = float(self._others)
        self.at_least = 0.0
        self.at_most = float(self._others)

    def on_trade(self, size: int, ts_ns: int, own_qty: int) -> int:
        """A print of `size` shares at its price, on its side. Returns the part that reached us.

        own_qty: unfilled shares of the order. A print from before it came, or one that took shares
        behind it, reaches nothing.
        """
        if ts_ns <= self._arrived_ns:
            return 0
        reached = max(0, min(own_qty, size - round(self.likely)))
        if self.is_placed and ts_ns <= self._shown_ns:
            self._explain(size, ts_ns)
        else:
            self._early.append((ts_ns, size - reached))
            self.likely = max(0.0, self.likely - size)
            self.at_least = max(0.0, self.at_least - size)
            self.at_most = max(0.0, self.at_most - size)
        return reached

    def _explain(self, size: int, ts_ns: int) -> None:
        """A print that is in a known book already: shares that counted as cancelled were traded."""
        if ts_ns <= self._placed_ns:
            self._explain_placing(size)
            return
        left = most = float(size)
        for frame in self._late:
            if ts_ns <= frame.to_ns:
                # If all cancels were behind us, the print took first what had to go ahead of us.
                back_most = min(frame.took_most, most)
                frame.took_most -= back_most
                most -= back_most
        for frame in self._late:
            if frame.from_ns < ts_ns <= frame.to_ns and frame.gone > 0:
                moved = min(left, frame.gone)
                back = frame.took * moved / frame.gone
                frame.gone -= moved
                frame.took -= back
                self.likely += back - moved
                left -= moved
                break
        # New shares, which are behind us, made up for the rest.
        self.at_most = max(0.0, self.at_most - most)
        self.likely = min(self.at_most, max(0.0, self.likely - left))
        self.at_least = min(self.likely, max(0.0, self.at_least - left))

    def _explain_placing(self, size: int) -> None:
        """As `_explain`, of the first book that knew of the order: the traded shares are not in it,
        and all its shares may be ahead."""
        if self._before is None:
            return
        others, older, earlier = self._placed
        left = max(0, older - size)
        self._placed = others, left, earlier
        change = _placed_ahead(others, left, earlier) - _placed_ahead(others, older, earlier)
        self.at_least = max(0.0, self.at_least - size)
        if others == left and self._shown_ns == self._placed_ns:
            self.at_least = max(0.0, left - sum(size for _, size in self._early))
        self.likely = min(self.at_most, max(self.at_least, self.likely + change))

    def on_book(self, others: int, ts_ns: int) -> None:
        """A book of `ts_ns` that knows of the order has `others` shares there, less ours."""
        if ts_ns < self._arrived_ns or ts_ns < self._shown_ns:
            return
        top = others
        if others != self._others or self._early or not self.is_placed or self._shown_ns == ts_ns:
            explained = sum([size for at, size in self._early if at <= ts_ns])
            self._early = [each for each in self._early if each[0] > ts_ns]
            newer = sum([size for _, size in self._early])
            top = max(0, others - newer)
            if not self.is_placed:
                self._enter_queue(others, explained, newer, ts_ns)
            elif (gone := self._others - explained - others) > 0:  # new shares are behind us
                self._remove(float(gone), explained, ts_ns)
            if self._late and self._late[-1].to_ns == ts_ns:
                self._late[-1].took_most = max(0.0, self.at_most - top)
            self._others, self.is_placed = others, True
        self._shown_ns = ts_ns
        if self.at_most > top:  # no more than this is ahead of it
            self.at_most = float(top)
        if self.likely > self.at_most:
            self.likely = self.at_most
        if self.at_least > self.likely:
            self.at_least = self.likely

    def _enter_queue(self, others: int, explained: int, newer: int, ts_ns: int) -> None:
        """The first book that knows of the order: how much of it was there before. newer: shares of
        others that prints newer than it have taken."""
        self._placed_ns = ts_ns
        self.at_most = float(max(0, others - newer))
        if self._before is None:
            self.likely, self.at_least = self.at_most, 0.0
            return
        older = self._before - explained
        # New shares between the two books are assumed to have come evenly.
        earlier = (self._arrived_ns - self._before_ns) / max(1, ts_ns - self._before_ns)
        self._placed = others, older, min(1.0, max(0.0, earlier))
        self.likely = max(0.0, _placed_ahead(*self._placed) - newer)
        # In a level that changed, older shares may have left before we came.
        self.at_least = float(max(0, older - newer)) if others == older else 0.0

    def _remove(self, gone: float, explained: int, ts_ns: int) -> None:
        """Shares have left without a print, as far as is known."""
        behind = max(0.0, self._others - explained - self.likely)
        took = min(self.likely, max(gone * self._chance_ahead(behind), gone - behind))
        self.likely -= took
        self.at_least = max(0.0, self.at_least - gone)
        self._late = [*self._late[1 - _FRAMES_KEPT :], _Frame(self._shown_ns, ts_ns, gone, took)]

    def _chance_ahead(self, behind: float) -> float:
        """The chance that a cancelled share was ahead of us."""
        ahead_weight = self.likely**self._power if self.likely > 0 else 0.0
        behind_weight = behind**self._power if behind > 0 else 0.0
        total = ahead_weight + behind_weight
        return ahead_weight / total if total > 0 else 0.0

    def reach_front(self) -> None:
        """The order has filled: nobody is ahead of it."""
        self.likely = self.at_least = self.at_most = 0.0


def _placed_ahead(others: int, older: int, earlier: float) -> float:
    """Shares ahead of an order in the first book that knows of it, which shows `others`: the older
    ones, and the part of the new ones that came earlier."""
    return min(older, others) + max(0, others - older) * earlier


class _QueuedOrder:
    """One own order in its queue. expected: fills that prints led us to expect and that are not
    known yet; since `expected_ns` of our own time."""

    def __init__(
        self, side: BookSide, level: Price, qty: Qty, filled: int, queue: QueueAhead
    ) -> None:
        self.side = side
        self.level = level
        self.qty = qty
        self.filled = filled
        self.queue = queue
        self.expected = 0
        self.expected_ns = 0


class Queues:
    """The queues of one market's own orders. power: the n of the head of the file."""

    def __init__(self, power: float) -> None:
        self._power = power
        self._queued: dict[OrderId, _QueuedOrder] = {}
        self._earlier: tuple[Levels, Levels, int] | None = None
        self._newest: tuple[Levels, Levels, int] | None = None
        self._written_ns = 0
        self._prints: deque[tuple[BookSide, Price, int, int]] = deque(maxlen=_PRINTS_KEPT)

    def queue_of(self, own: OwnOrder) -> QueueAhead | None:
        """The queue of an order; None while nothing is known of it."""
        queued = None if own.order_id is None else self._queued.get(own.order_id)
        return None if queued is None or queued.level != own.yes_price else queued.queue

    def forget_book(self) -> None:
        """The feed is gone: the next book is a first one."""
        self._earlier = self._newest = None

    def on_own_write(
        self, shown: model.Order, venue_ns: int, orders: Sequence[OwnOrder], now_ns: int
    ) -> None:
        """An answer to a write of ours shows an order as of an instant of the venue's; orders: as
        they are by that answer."""
        self._written_ns = max(self._written_ns, venue_ns)
        self._match(orders)  # what it shows as filled is off the queued size, once
        place = place_of(shown)
        if shown.status in model.TERMINAL or place is None:
            self._queued.pop(shown.order_id, None)
        else:
            side, level = place
            before = self._queued.get(shown.order_id)
            if (
                before is None
                or before.side is not side
                or not keeps_priority(before.level, before.qty, level, shown.remaining_qty)
            ):
                is_here = before is not None and (before.side, before.level) == (side, level)
                own_qty = before.qty if before is not None and is_here else 0
                queue = self._joined(side, level, venue_ns, orders, shown.order_id, own_qty)
                self._queued[shown.order_id] = _QueuedOrder(
                    side, level, shown.remaining_qty, shown.filled_qty, queue
                )
            else:
                before.qty = shown.remaining_qty
        self._settle(orders, now_ns)

    def _joined(
        self,
        side: BookSide,
        level: Price,
        venue_ns: int,
        orders: Iterable[OwnOrder],
        order_id: OrderId,
        own_qty: int,
    ) -> QueueAhead:
        """The queue of an order that came to a price at `venue_ns`. own_qty: its shares there
        before, if it only went to the back."""
        book = self._newest
        if book is not None and book[2] >= venue_ns:
            book = self._earlier
        if book is None or book[2] >= venue_ns:
            return QueueAhead(None, 0, venue_ns, self._power)
        ours, _ = self._own_sizes(own for own in orders if own.order_id != order_id)
        shown = size_at(book[0] if side is _BID else book[1], level)
        older = shown - max(0, ours.get((side, level), 0)) - own_qty
        here = [(size, ts) for at, price, size, ts in self._prints if (at, price) == (side, level)]
        traded = sum(size for size, ts in here if book[2] < ts <= venue_ns)
        queue = QueueAhead(max(0, older - traded), book[2], venue_ns, self._power)
        for size, ts in here:
            queue.on_trade(size, ts, 0)
        return queue

    def on_trade(
        self,
        price: Price,
        size: int,
        ts_ns: int,
        taker: BookSide,
        orders: Iterable[OwnOrder],
        now_ns: int,
    ) -> None:
        """A print eats from the front of the queues at its price, ours among them."""
        side = _ASK if taker is _BID else _BID
        self._prints.append((side, price, size, ts_ns))
        ours = 0
        for own, queued in self._match(orders):
            if queued.side is side and queued.level == price and size > ours:
                reached = queued.queue.on_trade(
                    size - ours, ts_ns, max(0, own.remaining - queued.expected)
                )
                ours += reached
                queued.expected += reached
                if reached:
                    queued.expected_ns = now_ns

    def on_book(
        self, bids: Levels, asks: Levels, ts_ns: int, orders: Iterable[OwnOrder], now_ns: int
    ) -> bool:
        """A new book. True if the shares ahead of an order of ours may have changed."""
        if self._newest is None or self._newest[2] < ts_ns:
            self._earlier = self._newest
        self._newest = (bids, asks, ts_ns)
        return self._settle(orders, now_ns)

    def _match(self, orders: Iterable[OwnOrder]) -> list[tuple[OwnOrder, _QueuedOrder]]:
        """Our live orders that are in a queue, in the order they came, less what has filled."""
        known: list[tuple[OwnOrder, _QueuedOrder]] = []
        for own in orders:
            queued = None if own.order_id is None else self._queued.get(own.order_id)
            if queued is None:
                continue
            known.append((own, queued))
            gained = own.filled - queued.filled
            if gained > 0:
                queued.filled = own.filled
                queued.qty = Qty(max(0, queued.qty - gained))
                queued.expected = max(0, queued.expected - gained)
                queued.queue.reach_front()
        return known

    def _settle(self, orders: Iterable[OwnOrder], now_ns: int) -> bool:
        """Take the newest book in, where it and our orders are of the same instant; forget orders
        that are not live. True if a place may have changed."""
        live = list(orders)
        known = self._match(live)
        if len(known) < len(self._queued):
            kept = {own.order_id for own, _ in known}
            self._queued = {key: at for key, at in self._queued.items() if key in kept}
        book = self._newest
        if book is None or book[2] < self._written_ns:
            return True
        if len(known) < len(live):
            for own in live:
                if own.order_id is None or own.order_id in self._queued or own.state is not _OPEN:
                    continue
                # It rested before we looked: all shares there may be ahead of it.
                queue = QueueAhead(None, 0, _UNKNOWN_NS, self._power)
                self._queued[own.order_id] = _QueuedOrder(
                    own.book_side, own.yes_price, own.remaining, own.filled, queue
                )
            known = self._match(live)
        for _, queued in known:
            if queued.expected and now_ns > queued.expected_ns + _FILL_KNOWN_NS:
                queued.expected = 0
        ours, unclear = self._own_sizes(live)
        # An order in no queue, or one whose queue is unplaced, counts the size at its price.
        moved = len(known) < len(live)
        for own, queued in known:
            place, queue = (queued.side, queued.level), queued.queue
            before = queue.likely if queue.is_placed else None
            if own.state is _OPEN and place not in unclear:
                size = size_at(book[0] if queued.side is _BID else book[1], queued.level)
                queue.on_book(max(0, size - max(0, ours.get(place, 0))), book[2])
            moved |= queue.likely != before
        return moved

    def _own_sizes(self, orders: Iterable[OwnOrder]) -> tuple[dict[_Place, int], set[_Place]]:
        """Our shares at each level, less fills that are only expected; and the levels where that is
        not known: a write of ours is in flight there, or has ended in a timeout."""
        ours: dict[_Place, int] = {}
        unclear: set[_Place] = set()
        for own in orders:
            queued = None if own.order_id is None else self._queued.get(own.order_id)
            place = (own.book_side, own.yes_price)
            left = own.remaining - (0 if queued is None else queued.expected)
            ours[place] = ours.get(place, 0) + left
            if own.state is not _OPEN:
                unclear.update((own.book_side, level) for level in own.yes_prices)
        return ours, unclear
