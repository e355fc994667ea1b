"""Planted bugs of groups E, F and H: winners untold, limits on how many orders, busy breakers."""

from typing import Final

import msgspec

from bot.core.desk.outbox import Outbox
from bot.core.event.rung import Rung
from bot.core.limits.breaker import Breakers
from bot.core.plan.wishes import WantCreate
from bot.core.sending.sending import Sending
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch

_FAR: Final = 1_000_000

_allowed = Sending._allowed
_judge = Breakers.judge


def _any_number(self: Sending, rung: Rung, wish: WantCreate, now_ns: int) -> tuple[int, str]:
    held = self._settings
    risk = msgspec.structs.replace(held.risk, resting_orders=_FAR)
    self._settings = msgspec.structs.replace(held, risk=risk)
    try:
        return _allowed(self, rung, wish, now_ns)
    finally:
        self._settings = held


def _in_no_time(self: Outbox, resting: int, now_ns: int) -> int:
    return 0


def _opening_sinks(
    self: Breakers, pnl_cents: int | None, oldest_unknown_ns: int, now_ns: int
) -> str:
    if pnl_cents is not None and self._opening_cents is not None:
        self._opening_cents = min(self._opening_cents, pnl_cents)
    return _judge(self, pnl_cents, oldest_unknown_ns, now_ns)


COUNTS: Final = (
    Bug(
        "time-to-flat-ignored",
        (65, 75),
        "More orders are made than the tokens left could cancel in the time that was set.",
        ("B3",),
        (Patch(Outbox, "flat_ns", _in_no_time),),
        shape=(("variants", {"flat_ms": "0"}), ("budget", (20, 40, 5)), ("rungs", (5,))),
    ),
    Bug(
        "any-number-of-orders",
        (75, 65),
        "However many orders rest, one more is made as long as what they may lose allows it.",
        ("B3",),
        (Patch(Sending, "_allowed", _any_number),),
        shape=(("variants", {"resting_orders": "5"}),),
    ),
    Bug(
        "loss-from-the-lowest",
        (76,),
        "What is lost is reckoned from the lowest that there has been: there is never a loss.",
        ("B13",),
        (Patch(Breakers, "judge", _opening_sinks),),
        likely=("greed", "taken"),
        shape=(("variants", {"loss_breaker": "loss"}), ("fee_rate", "0.0700")),
    ),
)
