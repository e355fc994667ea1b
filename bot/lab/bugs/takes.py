"""Planted bugs of takes: met by our own, forgotten without an answer, counted one leg too late."""

from collections.abc import Sequence
from typing import Final

from bot.core.orders.order import Fact, OwnOrder
from bot.core.orders.takefate import TakeFate
from bot.core.sending import sending
from bot.core.strategy import Take
from bot.lab.bugs.bug import FORGOTTEN, Bug, forgets
from bot.lab.sim.run import Patch


def _never_barred(take: Take, orders: Sequence[OwnOrder]) -> TakeFate | None:
    return None


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
)
