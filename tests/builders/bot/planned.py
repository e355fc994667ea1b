"""Plans of one market, orders and quotes for them, and economics that can be checked by hand."""

import pytest
from hypothesis import strategies as st

from bot.core.orders.order import OwnOrder, State
from bot.core.planning.actions import Plan
from bot.core.planning.diff import WorkingOrders, by_side, plan_orders
from bot.core.planning.queue_value import NOTHING_KNOWN, QuoteEconomics
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from venue.wire.money import BookSide, Outcome, Price, Qty

PACE = PaceSettings(tolerance_ticks=0, dwell_ns=0, resize_pct=1)
BID, ASK = BookSide.BID, BookSide.ASK
LATER = T0 + 10 * LAG_NS


def bid(price: int, qty: int = 10) -> Quote:
    """A wanted bid."""
    return Quote(BID, Price(price), Qty(qty))


def ask(price: int, qty: int = 10) -> Quote:
    """A wanted ask."""
    return Quote(ASK, Price(price), Qty(qty))


def rests(level: int, qty: int = 10, side: BookSide = BID, number: int = 1, **other) -> OwnOrder:
    """An open order of ours at a canonical price, by the route that needs no shares."""
    if side is BID:
        return made.own(
            other.pop("state", State.OPEN), price=level, qty=qty, number=number, **other
        )
    return made.own(
        other.pop("state", State.OPEN),
        outcome=Outcome.NO,
        price=100 - level,
        qty=qty,
        number=number,
        **other,
    )


def plan(
    wanted, orders, yes=0, no=0, pace=PACE, now_ns=LATER, worth=NOTHING_KNOWN, short=()
) -> Plan:
    """The plan for a market with these holdings."""
    working = WorkingOrders(orders, yes, no)
    return plan_orders(*by_side(wanted), working, pace, now_ns, worth, short)


PACES = st.builds(
    PaceSettings,
    tolerance_ticks=st.integers(0, 2),
    dwell_ns=st.sampled_from([0, LAG_NS]),
    resize_pct=st.sampled_from([1, 20, 40]),
    orders_per_level_max=st.integers(1, 3),
)


class Ruler:
    """A worth by rule of thumb: half of a new order fills, and a quarter of one that stands.

    The fair value is 50. places: what the place of an order is worth, by its number.
    """

    def __init__(
        self, move: float = 0.0, capital: float = 0.0, places: dict[str, float] | None = None
    ) -> None:
        self.fair_cents = 50.0
        self.volumes = (1e9, 1e9)
        self.move_cents = move
        self.capital_cents = capital
        self._places = places or {}

    request_cents = QuoteEconomics.request_cents

    def others_at(self, side: BookSide, price: int) -> int:
        return 0

    def edge(self, side: BookSide, price: int) -> float:
        return float(50 - price if side is BID else price - 50)

    def joining(self, side: BookSide, price: int, qty: int, edge: float) -> float:
        assert edge == self.edge(side, price)
        return qty * edge / 2

    def staying(self, own: OwnOrder, edge: float) -> float:
        assert edge == self.edge(own.book_side, own.yes_price)
        return own.remaining * edge / 4

    def queue_value_cents(self, own: OwnOrder, edge: float) -> float:
        assert edge > 0
        return self._places.get(own.client_order_id, 0.0)


def pace(tolerance: int = 0, dwell: int = 0, resize: int = 1, siblings: int = 3) -> PaceSettings:
    """A pace, by default one that follows at once."""
    return PaceSettings(
        tolerance_ticks=tolerance, dwell_ns=dwell, resize_pct=resize, orders_per_level_max=siblings
    )


def quote(side: BookSide, away: int, qty: int = 10, limit: int | None = None) -> Quote:
    """A quote so many ticks from the fair value, its limit too."""
    sign = -1 if side is BID else 1
    bound = None if limit is None else Price(50 + sign * limit)
    return Quote(side, Price(50 + sign * away), Qty(qty), bound)


def order(side: BookSide, away: int, qty: int = 10, number: int = 1, **other) -> OwnOrder:
    """An order of ours so many ticks from the fair value."""
    return rests(50 + (-away if side is BID else away), qty, side, number, **other)


BOTH = pytest.mark.parametrize("side", [BID, ASK])


def siblings(side: BookSide, count: int, qty: int = 2) -> list[OwnOrder]:
    """So many orders at one price, each placed after the one before."""
    orders = [order(side, 10, qty, number) for number in range(1, count + 1)]
    for age, own in enumerate(orders):
        own.placed_ns = T0 + age
    return orders
