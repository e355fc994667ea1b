"""Planted bugs of groups E to H: where only what shrinks a position may leave, and far prices."""

from typing import Final

from bot.core.event import room
from bot.core.event.curfew import Stage, stage_of
from bot.core.event.rung import Rung
from bot.core.orders.order import OwnOrder
from bot.core.sending.guard import Guard
from bot.core.series.quoting import Quoting
from bot.core.settings import CurfewSettings
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch
from venue.wire.money import Price


def _both_ways(self: Quoting, reason: str) -> None:
    pass


def _never_reducing(settings: CurfewSettings, left_ns: int) -> Stage:
    stage = stage_of(settings, left_ns)
    return Stage.HALVED if stage is Stage.REDUCING else stage


def _any_price(self: Guard, rung: Rung, own: OwnOrder, price: Price) -> str:
    return ""


SHRINKING: Final = (
    Bug(
        "flatten-quotes-both-ways",
        (65,),
        "An operator who wants everything flat is given quotes both ways all the same.",
        ("B4",),
        (Patch(Quoting, "flatten", _both_ways),),
        likely=("flatten",),
    ),
    Bug(
        "end-grows-positions",
        (75,),
        "Near an event's end positions are opened as at any time, in half the size.",
        ("B4",),
        (Patch(room, "stage_of", _never_reducing),),
        shape=(("variants", {"curfew": "reduce"}),),
    ),
    Bug(
        "any-price-leaves",
        (71,),
        "A price leaves however far it is through the best one of others.",
        ("B3",),
        (Patch(Guard, "_through", _any_price),),
        likely=("greed",),
        shape=(("variants", {"ticks_through": "0"}),),
    ),
)
