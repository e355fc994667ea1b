"""The shares of others that stand before each of our own orders: an estimate between two bounds.

A book shows sizes and no order of arrival, so what stood at a price when we came is before us, what
came after is behind, prints eat from the front, and what left without a print was cancelled
somewhere in the queue: before us with the chance  a^n / (a^n + b^n)  of a queue with `a` shares
before and `b` behind (n = 1: any share is as likely as any other to be cancelled; a higher n lets
cancels fall on the longer part). The bounds take all cancels to be behind us, and all before us.

A frame speaks of everything up to its own instant, so a print that is not newer is in it, whichever
of the two comes first: a decrease that a late print explains is taken back from the cancels. Frames
count only while none of our own writes at the price is under way or newer than they are; then what
is left of a level without ours is others'.

Floats live here as in every estimator; nothing is decided here.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from bot.core.market_data.book import size_at
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


def _size_at(book: tuple[Levels, Levels, int], place: _Place) -> int:
    return size_at(book[0] if place[0] is _BID else book[1], place[1])


class _Frame:
    """A decrease of a level between two frames that no print has explained yet."""

    def __init__(self, from_ns: int, to_ns: int, gone: float, took: float) -> None:
        self.from_ns = from_ns
        self.to_ns = to_ns
        self.gone = gone
        self.took = took
        self.took_most = 0.0


class QueueAhead:
    """What stands before one order of ours at its price.

    likely, at_least, at_most: shares of others, 0 <= at_least <= likely <= at_most. No more than
    `at_most` are there while the venue keeps price-time priority; fewer than `at_least` only where
    cancels before us were made up for behind us between two books. Times are the venue's own.
    is_placed: whether a book that knows of the order has been seen.
    """

    def __init__(self, before: int | None, before_ns: int, arrived_ns: int, power: float) -> None:
        """before: others' shares at the price in the last book of `before_ns`, the newest one that
        does not know of the order; None when there is none. arrived_ns: since when it stands."""
        self._before = before
        self._before_ns = before_ns
        self._arrived_ns = arrived_ns
        self._power = power
        self._others = 0 if before is None else before
        self._shown_ns = self._placed_ns = _UNKNOWN_NS
        # Of the first book that knew of it: shares there, those of before that stood, and how much
        # of what came is taken to have come before it.
        self._placed = (0, 0, 0.0)
        self._early: list[tuple[int, int]] = []
        self._late: list[_Frame] = []
        self.is_placed = False
        self.likely = float(self._others)
        self.at_least = 0.0
        self.at_most = float(self._others)

    def printed(self, size: int, ts_ns: int, own_qty: int) -> int:
        """A print of `size` shares at its price, on its side. The part that reached the order.

        own_qty: what is left of the order, as far as is known. A print from before it came, or one
        that took what others have behind it, reaches nothing.
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
        """A print that the book has shown already: what was taken for cancels was traded."""
        if ts_ns <= self._placed_ns:
            self._explain_placing(size)
            return
        left = most = float(size)
        for frame in self._late:
            if ts_ns <= frame.to_ns:
                # What had to go before us, were all cancels behind us, the print took first.
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
        # The rest was made up for by shares that came meanwhile: they stand behind.
        self.at_most = max(0.0, self.at_most - most)
        self.likely = min(self.at_most, max(0.0, self.likely - left))
        self.at_least = min(self.likely, max(0.0, self.at_least - left))

    def _explain_placing(self, size: int) -> None:
        """As `_explain`, of the first book that knew of the order: what it showed may all stand
        before it, and the traded shares were none of that."""
        if self._before is None:
            return
        others, stood, earlier = self._placed
        left = max(0, stood - size)
        self._placed = others, left, earlier
        change = _placed_ahead(others, left, earlier) - _placed_ahead(others, stood, earlier)
        self.at_least = max(0.0, self.at_least - size)
        if others == left and self._shown_ns == self._placed_ns:
            self.at_least = max(0.0, left - self._newer())
        self.likely = min(self.at_most, max(self.at_least, self.likely + change))

    def _newer(self) -> int:
        """Shares of others that prints newer than the newest book have taken."""
        return sum(size for _, size in self._early)

    def shown(self, others: int, ts_ns: int) -> None:
        """A book of instant `ts_ns` that knows of the order shows `others` shares beside ours."""
        if ts_ns < self._arrived_ns or ts_ns < self._shown_ns:
            return
        if others == self._others and not self._early and self.is_placed and self._shown_ns < ts_ns:
            self._shown_ns = ts_ns
            self._cap(float(others))
            return
        explained = sum(size for at, size in self._early if at <= ts_ns)
        self._early = [each for each in self._early if each[0] > ts_ns]
        if self.is_placed:
            self._changed(others - (self._others - explained), explained, ts_ns)
        else:
            self._place(others, explained, ts_ns)
        self._others = others
        self._shown_ns = ts_ns
        self.is_placed = True
        top = float(max(0, others - self._newer()))
        if self._late and self._late[-1].to_ns == ts_ns:
            self._late[-1].took_most = max(0.0, self.at_most - top)
        self._cap(top)

    def _cap(self, top: float) -> None:
        """No more than this stands before it."""
        if self.at_most > top:
            self.at_most = top
        if self.likely > self.at_most:
            self.likely = self.at_most
        if self.at_least > self.likely:
            self.at_least = self.likely

    def _place(self, others: int, explained: int, ts_ns: int) -> None:
        """The first book that knows of the order: how much of it was there before."""
        newer = self._newer()
        self._placed_ns = ts_ns
        self.at_most = float(max(0, others - newer))
        if self._before is None:
            self.likely, self.at_least = self.at_most, 0.0
            return
        stood = self._before - explained
        # What came between the two books is taken to have come evenly.
        earlier = (self._arrived_ns - self._before_ns) / max(1, ts_ns - self._before_ns)
        self._placed = others, stood, min(1.0, max(0.0, earlier))
        self.likely = max(0.0, _placed_ahead(*self._placed) - newer)
        # Where the level has changed, what stood may have left before we came.
        self.at_least = float(max(0, stood - newer)) if others == stood else 0.0

    def _changed(self, change: int, explained: int, ts_ns: int) -> None:
        if change >= 0:
            return  # what came stands behind
        gone = float(-change)
        behind = max(0.0, self._others - explained - self.likely)
        took = min(self.likely, max(gone * self._chance_ahead(behind), gone - behind))
        self.likely -= took
        self.at_least = max(0.0, self.at_least - gone)
        self._late = [*self._late[1 - _FRAMES_KEPT :], _Frame(self._shown_ns, ts_ns, gone, took)]

    def _chance_ahead(self, behind: float) -> float:
        """The chance that a cancelled share stood before us."""
        ahead_weight = self.likely**self._power if self.likely > 0 else 0.0
        behind_weight = behind**self._power if behind > 0 else 0.0
        total = ahead_weight + behind_weight
        return ahead_weight / total if total > 0 else 0.0

    def reached(self) -> None:
        """The order has filled: nobody is before it."""
        self.likely = self.at_least = self.at_most = 0.0


def _placed_ahead(others: int, stood: int, earlier: float) -> float:
    """Shares before an order in the first book that knows of it, which shows `others`: those that
    stood before it, and of what came the part that came earlier."""
    return min(stood, others) + max(0, others - stood) * earlier


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
    """The queues of one rung's own orders. power: see the head of the file."""

    def __init__(self, power: float) -> None:
        self._power = power
        self._standing: dict[OrderId, _QueuedOrder] = {}
        self._earlier: tuple[Levels, Levels, int] | None = None
        self._newest: tuple[Levels, Levels, int] | None = None
        self._written_ns = self._seen_ns = 0
        self._prints: deque[tuple[BookSide, Price, int, int]] = deque(maxlen=_PRINTS_KEPT)

    def of(self, own: OwnOrder) -> QueueAhead | None:
        """The queue of an order; None while nothing is known of it."""
        standing = None if own.order_id is None else self._standing.get(own.order_id)
        return None if standing is None or standing.level != own.yes_price else standing.queue

    def forget_book(self) -> None:
        """The channel is gone: the next book is a first one."""
        self._earlier = self._newest = None

    def wrote(
        self, shown: model.Order, venue_ns: int, orders: Sequence[OwnOrder], now_ns: int
    ) -> None:
        """An answer to a write of ours shows an order as of an instant of the venue's; orders: as
        they are by that answer."""
        self._written_ns = max(self._written_ns, venue_ns)
        self._known(orders)  # what it shows as filled is off what stood, once
        place = place_of(shown)
        if shown.status in model.TERMINAL or place is None:
            self._standing.pop(shown.order_id, None)
        else:
            side, level = place
            before = self._standing.get(shown.order_id)
            if (
                before is None
                or before.side is not side
                or not keeps_priority(before.level, before.qty, level, shown.remaining_qty)
            ):
                stood = before is not None and (before.side, before.level) == (side, level)
                own_qty = before.qty if before is not None and stood else 0
                queue = self._joined(side, level, venue_ns, orders, shown.order_id, own_qty)
                self._standing[shown.order_id] = _QueuedOrder(
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
        ours, _ = self._ours(own for own in orders if own.order_id != order_id)
        stood = _size_at(book, (side, level)) - max(0, ours.get((side, level), 0)) - own_qty
        here = [(size, ts) for at, price, size, ts in self._prints if (at, price) == (side, level)]
        traded = sum(size for size, ts in here if book[2] < ts <= venue_ns)
        queue = QueueAhead(max(0, stood - traded), book[2], venue_ns, self._power)
        for size, ts in here:
            queue.printed(size, ts, 0)
        return queue

    def printed(
        self,
        price: Price,
        size: int,
        ts_ns: int,
        taker_bought_yes: bool,
        orders: Iterable[OwnOrder],
        now_ns: int,
    ) -> None:
        """A print: it eats from the front of the queues at its price, ours among them."""
        side = _ASK if taker_bought_yes else _BID
        self._prints.append((side, price, size, ts_ns))
        ours = 0
        for own, standing in self._known(orders):
            if standing.side is side and standing.level == price and size > ours:
                reached = standing.queue.printed(
                    size - ours, ts_ns, max(0, own.remaining - standing.expected)
                )
                ours += reached
                standing.expected += reached
                if reached:
                    standing.expected_ns = now_ns

    def saw_book(
        self, bids: Levels, asks: Levels, ts_ns: int, orders: Iterable[OwnOrder], now_ns: int
    ) -> bool:
        """A book was shown. Whether what stands before an order of ours may be another now."""
        if self._newest is None or self._newest[2] < ts_ns:
            self._earlier = self._newest
        self._newest = (bids, asks, ts_ns)
        return self._settle(orders, now_ns)

    def _known(self, orders: Iterable[OwnOrder]) -> list[tuple[OwnOrder, _QueuedOrder]]:
        """Our live orders that stand in a queue, in the order they came; the others are forgotten.

        What has filled is taken in on the way.
        """
        known: list[tuple[OwnOrder, _QueuedOrder]] = []
        for own in orders:
            standing = None if own.order_id is None else self._standing.get(own.order_id)
            if standing is None:
                continue
            known.append((own, standing))
            gained = own.filled - standing.filled
            if gained > 0:
                standing.filled = own.filled
                standing.qty = Qty(max(0, standing.qty - gained))
                standing.expected = max(0, standing.expected - gained)
                standing.queue.reached()
        return known

    def _settle(self, orders: Iterable[OwnOrder], now_ns: int) -> bool:
        """Take the newest book in, where it and our orders speak of the same instant. Whether a
        place may be another than before."""
        live = list(orders)
        known = self._known(live)
        if len(known) < len(self._standing):
            kept = {own.order_id for own, _ in known}
            self._standing = {key: at for key, at in self._standing.items() if key in kept}
        book = self._newest
        if book is None or book[2] < self._written_ns:
            return True
        if len(known) < len(live):
            for own in live:
                if own.order_id is not None and own.order_id not in self._standing:
                    self._adopt(own)
            known = self._known(live)
        for _, standing in known:
            if standing.expected and now_ns > standing.expected_ns + _FILL_KNOWN_NS:
                standing.expected = 0
        ours, unclear = self._ours(live)
        # What stands in no queue, or has not been seen in one, is told by the size at its price.
        moved = len(known) < len(live)
        for own, standing in known:
            place = (standing.side, standing.level)
            queue = standing.queue
            before = queue.likely if queue.is_placed else None
            if own.state is _OPEN and place not in unclear:
                others = _size_at(book, place) - max(0, ours.get(place, 0))
                queue.shown(max(0, others), book[2])
            moved |= queue.likely != before
        return moved

    def _adopt(self, own: OwnOrder) -> None:
        """An order that rested before we looked: all that is there may be before it."""
        if own.order_id is not None and own.state is _OPEN:
            queue = QueueAhead(None, 0, _UNKNOWN_NS, self._power)
            self._standing[own.order_id] = _QueuedOrder(
                own.book_side, own.yes_price, own.remaining, own.filled, queue
            )

    def _ours(self, orders: Iterable[OwnOrder]) -> tuple[dict[_Place, int], set[_Place]]:
        """What of each level should be ours, fills that are only expected taken out; and the levels
        of which that is not known: a write of ours is under way there, or without an answer."""
        ours: dict[_Place, int] = {}
        unclear: set[_Place] = set()
        for own in orders:
            standing = None if own.order_id is None else self._standing.get(own.order_id)
            place = (own.book_side, own.yes_price)
            left = own.remaining - (0 if standing is None else standing.expected)
            ours[place] = ours.get(place, 0) + left
            if own.state is not _OPEN:
                unclear.update((own.book_side, level) for level in own.yes_prices)
        return ours, unclear
