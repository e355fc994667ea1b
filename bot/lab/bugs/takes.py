"""Planted bugs of takes: met by our own, forgotten without an answer, counted one leg too late."""

from collections.abc import Sequence
from typing import Final

from bot.core.orders.order import OwnOrder
from bot.core.orders.takefate import TakeFate
from bot.core.sending import sending
from bot.core.strategy import Take
from bot.lab.bugs.bug import Bug
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
)
