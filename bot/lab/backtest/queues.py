"""Our resting orders in the queues of a recorded market: which stands where, and behind how many.

The place of each is that of `bot.lab.shadow.imagined`, under any of three readings. Orders of one
price stand in the order in which they came to it; the engine keeps them the same way.

See docs/pricing.md#section-4; docs/limits.md.
"""

from bot.lab.backtest.terms import Reading
from bot.lab.shadow.imagined import Bound, Place
from venue.core.messages import OrderState
from venue.wire import model
from venue.wire.money import BookSide, Price, book_side, canonical
from venue.wire.names import MarketId, OrderId
from venue.wire.requests import keeps_priority


class ReadPlace(Place):
    """A place in a queue, read in one of three ways. power: the exponent of the likely one."""

    __slots__ = ("_power", "_reading")

    def __init__(self, others: int, shown_ns: int, reading: Reading, power: float) -> None:
        """others: shares at its price in the book of `shown_ns`, the newest when it came."""
        super().__init__(others, shown_ns, Bound.AVERSE)
        self._reading = reading
        self._power = power

    def _is_averse(self) -> bool:
        return self._reading is Reading.AVERSE

    def _is_kind(self) -> bool:
        return self._reading is Reading.KIND

    def _chance(self, before: float, behind: float) -> float:
        if self._reading is Reading.AVERSE or before <= 0:
            return 0.0
        if self._reading is Reading.KIND:
            return 1.0
        front = float(before**self._power)
        return front / (front + float(behind**self._power))


class Standing:
    """One resting order of ours, canonical YES."""

    __slots__ = ("market_id", "order_id", "outcome", "place", "price", "remaining", "side")

    def __init__(self, state: OrderState, place: ReadPlace) -> None:
        self.order_id = state.order_id
        self.market_id = state.market_id
        self.outcome = state.outcome
        self.side = book_side(state.outcome, state.side)
        self.price = canonical(state.outcome, state.price)
        self.remaining = state.remaining_qty
        self.place = place


class Queues:
    """All of them, by market and side. reading, power: as of ReadPlace."""

    def __init__(self, reading: Reading, power: float) -> None:
        self._reading = reading
        self._power = power
        self._by_id: dict[OrderId, Standing] = {}
        self._sides: dict[tuple[MarketId, BookSide], list[Standing]] = {}

    def of(self, order_id: OrderId) -> Standing | None:
        """A resting order."""
        return self._by_id.get(order_id)

    def on(self, market_id: MarketId, side: BookSide) -> list[Standing]:
        """Those of one side, the boldest price first, the older first at one price."""
        return self._sides.get((market_id, side), [])

    def best(self, market_id: MarketId, side: BookSide) -> Price | None:
        """The boldest price of one side."""
        standing = self._sides.get((market_id, side))
        return standing[0].price if standing else None

    def sizes(self, market_id: MarketId, side: BookSide) -> dict[Price, int]:
        """Our shares by price."""
        sizes: dict[Price, int] = {}
        for each in self._sides.get((market_id, side), ()):
            sizes[each.price] = sizes.get(each.price, 0) + each.remaining
        return sizes

    def changed(self, state: OrderState, others: int, shown_ns: int) -> None:
        """The engine shows an order of ours. others, shown_ns: shares at its price in the newest
        recorded book, and when that was."""
        before = self._by_id.get(state.order_id)
        rests = state.status in model.RESTING and state.remaining_qty > 0
        if before is not None:
            price = canonical(state.outcome, state.price)
            remaining = state.remaining_qty
            if rests and keeps_priority(before.price, before.remaining, price, remaining):
                before.remaining = remaining
                return
            self._sides[before.market_id, before.side].remove(before)
            del self._by_id[state.order_id]
        if rests:
            place = ReadPlace(others, shown_ns, self._reading, self._power)
            self._join(Standing(state, place))

    def _join(self, standing: Standing) -> None:
        row = self._sides.setdefault((standing.market_id, standing.side), [])
        row.append(standing)
        # The sort is stable: at one price the newest stays last.
        row.sort(key=lambda each: each.price, reverse=standing.side is BookSide.BID)
        self._by_id[standing.order_id] = standing
