"""Planted bugs of takes: met by our own, forgotten without an answer, counted one leg too late.

Source: reliability, rows 1, 33, 75; strategy, 1(f).
"""

from collections.abc import Sequence
from typing import Final

from bot.core.event.rung import Rung
from bot.core.orders.order import Fact, OwnOrder
from bot.core.orders.takefate import TakeFate
from bot.core.sending import sending
from bot.core.sending.sending import Sending
from bot.core.strategy import Take
from bot.lab.bugs.bug import FORGOTTEN, Bug, forgets
from bot.lab.sim.run import Patch

_take = Sending._take
_orders_changed = Rung.orders_changed


def _never_barred(take: Take, orders: Sequence[OwnOrder]) -> TakeFate | None:
    return None


def _untold(self: Rung) -> None:
    pass


def _counted_at_the_end(self: Sending, rung: Rung, take: Take, now_ns: int) -> bool:
    Rung.orders_changed = _untold  # type: ignore[method-assign]
    try:
        left = _take(self, rung, take, now_ns)
    finally:
        Rung.orders_changed = _orders_changed  # type: ignore[method-assign]
    if left:
        rung.orders_changed()
    return left


TAKES: Final = (
    Bug(
        "take-meets-own",
        (33,),
        "What trades at once is not compared with our own orders: the venue sees to that.",
        ("B1", "B11"),
        (Patch(sending, "barred", _never_barred),),
        likely=("greed", "mad_strategy"),
    ),
    Bug(
        "lost-take-never-traded",
        (1, 25),
        "An immediate order without an answer is forgotten: it rests nowhere in any case.",
        FORGOTTEN,
        (forgets(lambda own, fact: own.is_take and fact is Fact.NO_ANSWER, Fact.NEVER),),
        likely=("greed", "lost_after", "result_unknown_after", "internal_error_after"),
    ),
    Bug(
        "second-leg-uncounted",
        (75,),
        "Of a take by two routes the second is admitted as if the first had not left.",
        ("B3",),
        (Patch(Sending, "_take", _counted_at_the_end),),
        likely=("greed",),
    ),
)
