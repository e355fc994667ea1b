"""Planted bugs of a bot whose venue is set back: it does not find out, or does not believe it.

Source: docs/runbooks/ReconcileDifference.md; reliability, rows 29, 36, 54.
"""

from typing import Any, Final

from bot.core.account.gonefill import GoneFill
from bot.core.orders.absence import Absence
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch

_BACK: Final[tuple[tuple[str, Any], ...]] = (
    ("variants", {"set_back": "8000"}),
    ("creates_per_minute", 0),
    ("cash_cents", 10_000_000),
)


def _never_told(self: GoneFill, now_ns: int) -> None:
    pass


SET_BACK: Final = (
    Bug(
        "forgotten-fills-untold",
        (54,),
        "That a fill which is booked is listed no more is not told: cash differs, and that is all.",
        ("findings",),
        (Patch(GoneFill, "walked", _never_told),),
        likely=("taken",),
        shape=_BACK,
    ),
    Bug(
        "absent-order-never-gone",
        (29, 36),
        "An order that the venue does not know any more is asked about for ever.",
        ("B2", "B13"),
        (Patch(Absence, "is_proven", property(lambda self: False)),),
        shape=_BACK,
    ),
)
