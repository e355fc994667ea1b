"""Planted bugs of groups E, F and H: winners untold, limits on how many orders, busy breakers."""

from typing import Final

import msgspec

from bot.core.event.rung import Rung
from bot.core.plan.wishes import WantCreate
from bot.core.sending.sending import Sending
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch

_FAR: Final = 1_000_000

_allowed = Sending._allowed


def _any_number(self: Sending, rung: Rung, wish: WantCreate, now_ns: int) -> tuple[int, str]:
    held = self._settings
    risk = msgspec.structs.replace(held.risk, resting_orders=_FAR)
    self._settings = msgspec.structs.replace(held, risk=risk)
    try:
        return _allowed(self, rung, wish, now_ns)
    finally:
        self._settings = held


COUNTS: Final = (
    Bug(
        "any-number-of-orders",
        (75, 65),
        "However many orders rest, one more is made as long as what they may lose allows it.",
        ("B3",),
        (Patch(Sending, "_allowed", _any_number),),
        shape=(("variants", {"resting_orders": "5"}),),
    ),
)
