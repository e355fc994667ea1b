"""Planted bugs of group H: a bot that breaks no limit, for it quotes less than it could.

Source: reliability, rows 75-77.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import structs

from bot.core.event import conduct
from bot.core.event.room import Ladder
from bot.core.limits.breaker import Window
from bot.core.series.weighing import Weighing
from bot.core.strategy import Resting
from bot.lab.bugs.bug import Bug
from bot.lab.sim.odds import HOUR
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


def _by_half(self: Window, amount: int, now_ns: int) -> bool:
    self._expire(now_ns)
    return self._total + amount <= self.limit // 2


ABSENT: Final = (
    Bug(
        "breaker-trips-early",
        (76,),
        "A breaker trips where half of what it bears has come.",
        ("B13",),
        (Patch(Window, "fits", _by_half),),
        likely=("mad_strategy",),
        shape=(("variants", {"breaker": "notional"}),),
    ),
    Bug(
        "limits-count-twice",
        (75,),
        "What may be lost is counted twice, and half of what could be quoted is.",
        ("B2",),
        (Patch(Weighing, "cut", _half),),
    ),
    Bug(
        "strategy-never-forgiven",
        (77,),
        "A strategy that has failed once is not asked again before an hour is over.",
        ("B2",),
        (Patch(conduct, "FIRST_PAUSE_NS", HOUR), Patch(conduct, "LONGEST_PAUSE_NS", HOUR)),
        likely=("tantrum",),
    ),
)
