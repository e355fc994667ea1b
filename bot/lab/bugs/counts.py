"""Planted bugs of groups E, F and H: winners untold, limits on how many orders, busy breakers.

Source: reliability, rows 58, 65, 75, 76.
"""

from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.account import settling
from bot.core.desk.outbox import Outbox
from bot.core.event.rung import Rung
from bot.core.limits import breaker
from bot.core.limits.breaker import Breakers
from bot.core.plan.wishes import WantCreate
from bot.core.sending.sending import Sending
from bot.lab.bugs.bug import Bug
from bot.lab.sim.odds import LATER, SECOND
from bot.lab.sim.run import Patch
from venue.wire.money import Cents

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


def _in_no_time(self: Outbox, resting: int, now_ns: int) -> int:
    return 0


def _uncounted(self: Breakers, count: int, qty: int, now_ns: int) -> None:
    pass


def _worth_a_cent(request: m.Create) -> Cents:
    return Cents(1)


_ENDS_LIVES: Final = (
    *("crash", "crash_at_effect", "lost_journal", "operator_restart", "disk_fault"),
    *(name for name in LATER if name != "taken"),
)
"""Without these a world has one life: another one begins with all that was paid before."""

COUNTS: Final = (
    Bug(
        "winner-never-told",
        (58,),
        "What a rung paid is never said to be the payout that it was, though nothing else fits.",
        ("B9",),
        (Patch(settling, "_SUMS_MAX", 0),),
        likely=("taken", "market_resolve"),
        shape=(("safety_ns", 20 * SECOND), ("without", _ENDS_LIVES)),
    ),
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
        "fills-uncounted",
        (76,),
        "The breaker that counts fills is told of none, and quoting goes on while all is taken.",
        ("B13",),
        (Patch(Breakers, "saw_fills", _uncounted),),
        shape=(("variants", {"breaker": "fills"}), ("crowd_per_second", 160.0)),
    ),
    Bug(
        "creates-counted-not-weighed",
        (76, 71),
        "The breaker of what is asked for in a minute counts orders, whatever they are worth.",
        ("B13",),
        (Patch(breaker, "notional_of", _worth_a_cent),),
        shape=(("variants", {"breaker": "notional"}), ("creates_per_minute", 0)),
    ),
)
