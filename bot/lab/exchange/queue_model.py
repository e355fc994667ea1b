"""Our resting orders in the queues of a recorded market: how many shares are in front of each.

Books show sizes without order of arrival. All shares there when we come are in front; prints at our
price take from the front; everything else that leaves was cancelled, and `QueueModel` says where.
Later shares are behind us. A print that is not newer than a book is in it already, so it counts
once.

See docs/pricing.md#section-4; docs/limits.md.
"""

import enum
import math
from operator import attrgetter
from typing import Final

from venue.engine.messages import OrderState
from venue.wire import model
from venue.wire.money import BookSide, Price, book_side, canonical
from venue.wire.names import MarketId, OrderId
from venue.wire.requests import keeps_priority

POWER: Final = 3.0  # the usual exponent of the expected model


class QueueModel(enum.StrEnum):
    """Who cancelled, where only sizes are seen. Pessimistic and optimistic are bounds of what would
    have filled, the one between is a guess."""

    PESSIMISTIC = "pessimistic"  # those behind us, if there are any
    EXPECTED = "expected"
    """One before us with the chance a^n / (a^n + b^n) of `a` shares before and `b` behind."""
    OPTIMISTIC = "optimistic"  # those before us, if there are any

    @classmethod
    def _missing_(cls, value: object) -> "QueueModel | None":
        return OLD_QUEUE_MODELS.get(value)


OLD_QUEUE_MODELS: Final[dict[object, QueueModel]] = {
    "averse": QueueModel.PESSIMISTIC,
    "likely": QueueModel.EXPECTED,
    "kind": QueueModel.OPTIMISTIC,
}
"""The names of version 0.1, which are read for one version."""

CAUTIOUS_MODELS: Final = (QueueModel.PESSIMISTIC, QueueModel.EXPECTED)
"""Those under which a candidate is run in the shadow: nothing is credited to it that may not be."""


class QueuePosition:
    """The place of one order. ahead: shares of others before it. Times are the venue's own, ns."""

    __slots__ = (
        "_before",
        "_came_ns",
        "_from_ns",
        "_least",
        "_model",
        "_newer",
        "_others",
        "_power",
        "_shown_ns",
        "_stood",
        "ahead",
    )

    def __init__(
        self, others: int, shown_ns: int, queue_model: QueueModel, power: float = POWER
    ) -> None:
        """others: shares at its price in the book of `shown_ns`. power: the exponent of the
        expected model, above 0."""
        self._model = queue_model
        self._power = power
        self._came_ns = self._from_ns = self._shown_ns = shown_ns
        self.ahead = self._before = float(others)  # `_before`: as of `_from_ns`, prints since off
        # Shares of the book before the newest (pessimistic: before its instant, with what came in
        # it); of the newest; and the fewest that a book of its instant showed.
        self._stood = self._others = self._least = others
        self._newer: list[tuple[int, int]] = []  # prints newer than the newest book

    def on_print(self, size: int, ts_ns: int) -> int:
        """A print at its price, on its side. How much of it went beyond the shares before us."""
        if ts_ns <= self._came_ns or ts_ns <= self._from_ns:
            return 0  # a book that is over has it already
        # The optimistic model leaves no share out that might have filled: shares that a book lacks
        # and that were cancelled in the instant of a later print are not counted as that print.
        is_optimistic = self._model is QueueModel.OPTIMISTIC
        if ts_ns > self._shown_ns or (ts_ns == self._shown_ns and is_optimistic):
            beyond = max(0, size - math.ceil(self.ahead))
            self.ahead = max(0.0, self.ahead - size)
            self._newer.append((ts_ns, size))
            return beyond
        # The newest book showed it before it came: it is no cancel.
        beyond = max(0, size - math.ceil(self._before))
        self._before = max(0.0, self._before - size)
        self._stood = max(0, self._stood - size)
        self._take_in()
        return beyond

    def on_book(self, others: int, ts_ns: int) -> None:
        """A book shows `others` shares at its price, ours left out."""
        if ts_ns < self._shown_ns:
            return
        if others == self._others == self._stood and not self._newer:
            # Nothing came and nothing left: the shares before us are the same.
            self._before = self.ahead
            if ts_ns > self._shown_ns:
                self._from_ns, self._shown_ns = self._shown_ns, ts_ns
            return
        if ts_ns == self._shown_ns and self._model is QueueModel.PESSIMISTIC:
            # One instant has several books, and a print of it that is still to come may be in the
            # first of them: it is held against what stood before all of them.
            self._stood += max(0, others - self._others)
            self._least = min(self._least, others)
        else:
            explained = sum(size for at_ns, size in self._newer if at_ns <= ts_ns)
            self._newer = [row for row in self._newer if row[0] > ts_ns]
            self._before = self.ahead + self._still_to_come()
            self._stood = max(0, self._others - explained)
            self._least = others
        self._others = others
        if ts_ns > self._shown_ns:
            self._from_ns, self._shown_ns = self._shown_ns, ts_ns
        self._take_in()

    def _still_to_come(self) -> int:
        """Shares of prints that are newer than the book: they are off `ahead`, not off the book."""
        return sum(size for _, size in self._newer)

    def _take_in(self) -> None:
        """Take off what of the newest book's decrease stood before us."""
        before = self._before
        gone = max(0, self._stood - self._others)
        behind = max(0.0, self._stood - before)
        took = max(gone * self._chance(before, behind), gone - behind)
        ahead = min(max(0.0, before - took), float(self._least))
        self.ahead = max(0.0, ahead - self._still_to_come())

    def _chance(self, before: float, behind: float) -> float:
        if self._model is QueueModel.PESSIMISTIC or before <= 0:
            return 0.0
        if self._model is QueueModel.OPTIMISTIC:
            return 1.0
        front = float(before**self._power)
        return front / (front + float(behind**self._power))

    def on_traded_through(self) -> None:
        """Somebody traded through its price: nobody is before it any more."""
        self.ahead = self._before = 0.0


class QueuedOrder:
    __slots__ = ("market_id", "order_id", "outcome", "position", "price", "remaining", "side")

    def __init__(self, state: OrderState, position: QueuePosition) -> None:
        self.order_id = state.order_id
        self.market_id = state.market_id
        self.outcome = state.outcome
        self.side = book_side(state.outcome, state.side)
        self.price = canonical(state.outcome, state.price)
        self.remaining = state.remaining_qty
        self.position = position


class OwnSide:
    """Our resting orders on one side of a market."""

    __slots__ = ("best", "orders", "sizes_by_price")

    def __init__(self) -> None:
        self.orders: list[QueuedOrder] = []  # the boldest price first, the older first at one price
        self.best: Price | None = None
        self.sizes_by_price: dict[Price, int] = {}

    def on_change(self) -> None:
        """Its orders are others now."""
        sizes: dict[Price, int] = {}
        for each in self.orders:
            sizes[each.price] = sizes.get(each.price, 0) + each.remaining
        self.sizes_by_price = sizes
        self.best = self.orders[0].price if self.orders else None


class OwnQueues:
    """Our resting orders by market and side. At one price they are in order of arrival, as in the
    engine."""

    def __init__(self, queue_model: QueueModel, power: float) -> None:
        self._model = queue_model
        self._power = power
        self._by_id: dict[OrderId, QueuedOrder] = {}
        self._sides: dict[tuple[MarketId, BookSide], OwnSide] = {}

    def queued_order(self, order_id: OrderId) -> QueuedOrder | None:
        return self._by_id.get(order_id)

    def on_side(self, market_id: MarketId, side: BookSide) -> OwnSide:
        """That of the moment and of every later one."""
        found = self._sides.get((market_id, side))
        if found is None:
            found = self._sides[market_id, side] = OwnSide()
        return found

    def on_order(self, state: OrderState, others: int, shown_ns: int) -> None:
        """The engine shows an order of ours. others: shares at its price in the newest book, that
        of `shown_ns`."""
        before = self._by_id.get(state.order_id)
        rests = state.status in model.RESTING and state.remaining_qty > 0
        if before is not None:
            row = self.on_side(before.market_id, before.side)
            price = canonical(state.outcome, state.price)
            remaining = state.remaining_qty
            if rests and keeps_priority(before.price, before.remaining, price, remaining):
                before.remaining = remaining
                row.on_change()
                return
            row.orders.remove(before)
            row.on_change()
            del self._by_id[state.order_id]
        if rests:
            position = QueuePosition(others, shown_ns, self._model, self._power)
            self._join(QueuedOrder(state, position))

    def requeue(self, queued: QueuedOrder, others: int, shown_ns: int) -> None:
        """Nobody saw the queue of an order for a while: it is behind everything that is there."""
        queued.position = QueuePosition(others, shown_ns, self._model, self._power)

    def _join(self, queued: QueuedOrder) -> None:
        row = self.on_side(queued.market_id, queued.side)
        row.orders.append(queued)
        # The sort is stable: at one price the newest stays last.
        row.orders.sort(key=attrgetter("price"), reverse=queued.side is BookSide.BID)
        row.on_change()
        self._by_id[queued.order_id] = queued
