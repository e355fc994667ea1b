"""Planted bugs of group H: a bot that breaks no limit, for it quotes less than it could."""

from collections.abc import Sequence
from typing import Final

from msgspec import structs

from bot.core.event.room import Ladder
from bot.core.series.weighing import Weighing
from bot.core.strategy import Resting
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch
from venue.wire.money import Cents, Qty
from venue.wire.names import MarketId

_cut = Weighing.cut


def _half(
    self: Weighing, ladder: Ladder, quotes: Resting, loss_cents: Cents
) -> tuple[Resting, Sequence[MarketId] | None]:
    left, anew = _cut(self, ladder, quotes, loss_cents)
    return {
        market: tuple(structs.replace(each, qty=Qty(-(-each.qty // 2))) for each in admitted)
        for market, admitted in left.items()
    }, anew


ABSENT: Final = (
    Bug(
        "limits-count-twice",
        (75,),
        "What may be lost is counted twice, and half of what could be quoted is.",
        ("B2",),
        (Patch(Weighing, "cut", _half),),
    ),
)
