"""A plan of one rung, of what is wanted on both sides in any order."""

from collections.abc import Container, Iterable, Sequence

from bot.core.orders.order import OwnOrder
from bot.core.plan.place import NOTHING_KNOWN, Worth
from bot.core.plan.reconcile import plan_sides
from bot.core.plan.stand import Ours
from bot.core.plan.steady import by_side
from bot.core.plan.wishes import FreeShares, Plan
from bot.core.settings import PaceSettings
from bot.core.strategy import Quote
from venue.wire.money import BookSide


def plan_rung(
    wanted: Iterable[Quote],
    orders: Sequence[OwnOrder],
    free: FreeShares,
    pace: PaceSettings,
    now_ns: int,
    worth: Worth = NOTHING_KNOWN,
    short: Container[BookSide] = (),
) -> Plan:
    """The plan of `plan_sides` for these quotes and all live orders of the rung."""
    bids, asks = by_side(wanted)
    return plan_sides(bids, asks, Ours(orders, free), pace, now_ns, worth, short)
