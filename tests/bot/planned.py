"""A plan of one rung, of what is wanted on both sides in any order."""

from collections.abc import Container, Iterable, Sequence

from bot.core.orders.order import OwnOrder
from bot.core.planning.actions import FreeShares, Plan
from bot.core.planning.debounce import by_side
from bot.core.planning.diff import plan_sides
from bot.core.planning.levels import WorkingOrders
from bot.core.planning.queue_economics import NOTHING_KNOWN, QuoteEconomics
from bot.core.settings import PaceSettings
from bot.strategy.api import Quote
from venue.wire.money import BookSide


def plan_rung(
    wanted: Iterable[Quote],
    orders: Sequence[OwnOrder],
    free: FreeShares,
    pace: PaceSettings,
    now_ns: int,
    worth: QuoteEconomics = NOTHING_KNOWN,
    short: Container[BookSide] = (),
) -> Plan:
    """The plan of `plan_sides` for these quotes and all live orders of the rung."""
    bids, asks = by_side(wanted)
    return plan_sides(bids, asks, WorkingOrders(orders, free), pace, now_ns, worth, short)
