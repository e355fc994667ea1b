"""Planted bugs of groups E to H: where only what shrinks a position may leave, and far prices.

Source: docs/operations.md; docs/configuration.md; reliability, rows 54, 65, 71, 75.
"""

from typing import Final

from bot.core.account.ledgers import Ledgers
from bot.core.event import room
from bot.core.event.curfew import Stage, stage_of
from bot.core.event.rung import Rung
from bot.core.orders.order import OwnOrder
from bot.core.sending.guard import Guard
from bot.core.sending.sending import Sending
from bot.core.series.quoting import Quoting
from bot.core.settings import CurfewSettings
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch
from venue.wire.money import Outcome, Price
from venue.wire.names import MarketId


def _both_ways(self: Quoting, reason: str) -> None:
    pass


def _never_ended(settings: CurfewSettings, left_ns: int) -> Stage:
    stage = stage_of(settings, left_ns)
    return Stage.REDUCING if stage is Stage.ENDED else stage


def _never_reducing(settings: CurfewSettings, left_ns: int) -> Stage:
    stage = stage_of(settings, left_ns)
    return Stage.HALVED if stage is Stage.REDUCING else stage


def _any_price(self: Guard, rung: Rung, own: OwnOrder, price: Price) -> str:
    return ""


def _as_wanted(self: Sending, rung: Rung) -> bool:
    return False


def _flattens_alone(self: Sending) -> bool:
    return bool(self._quoting.flattening)


def _never_differs(
    self: Ledgers, held: dict[tuple[MarketId, Outcome], int], ended_ns: int, amid_ns: int | None
) -> bool:
    return False


SHRINKING: Final = (
    Bug(
        "difference-passed-over",
        (54,),
        "Whether positions are what the fills come to is not asked.",
        ("B9",),
        (Patch(Ledgers, "_find_differing", _never_differs),),
        likely=("twin_trades",),
    ),
    Bug(
        "difference-told-alone",
        (54,),
        "That positions differ from the fills is told, and quotes go on both ways.",
        ("B4",),
        (Patch(Sending, "_shrinks_only", property(_flattens_alone)),),
        likely=("twin_trades",),
    ),
    Bug(
        "flatten-quotes-both-ways",
        (65,),
        "An operator who wants everything flat is given quotes both ways all the same.",
        ("B4",),
        (Patch(Quoting, "flatten", _both_ways),),
        likely=("flatten",),
    ),
    Bug(
        "stop-only-reduces",
        (76,),
        "From when on nothing is to be quoted before an end, what reduces a position still is.",
        ("B4",),
        (Patch(room, "stage_of", _never_ended),),
        likely=("taken",),
        shape=(("variants", {"curfew": "stop"}),),
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
        "shrinks-past-nothing",
        (75, 23),
        "What may only shrink a position is made beside an order that perhaps has shrunk it.",
        ("B4",),
        (Patch(Sending, "_may_only_shrink", _as_wanted),),
        likely=("flatten", "taken", "greed"),
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
