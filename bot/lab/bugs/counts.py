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
from bot.core.sending.guard import Guard
from bot.core.sending.sending import Sending
from bot.lab.bugs.bug import Bug
from bot.lab.sim.odds import LATER, SECOND
from bot.lab.sim.run import Patch
from venue.wire.money import Cents

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


def _never_rises(self: Breakers, pnl_cents: int | None, oldest_unknown_ns: int, now_ns: int) -> str:
    if self._opening_cents is not None:
        self._peak_cents = self._opening_cents
    return _judge(self, pnl_cents, oldest_unknown_ns, now_ns)


def _cash_alone(self: Guard) -> int:
    return self._ledgers.book.own_cash_cents


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
    Bug(
        "loss-from-the-lowest",
        (76,),
        "What is lost is reckoned from the lowest that there has been: there is never a loss.",
        ("B13",),
        (Patch(Breakers, "judge", _opening_sinks),),
        likely=("greed", "taken"),
        shape=(("variants", {"loss_breaker": "loss"}), ("fee_rate", "0.0700")),
    ),
    Bug(
        "drawdown-from-the-opening",
        (76,),
        "How far profit has fallen is reckoned from its opening, however high it has been since.",
        ("B13",),
        (Patch(Breakers, "judge", _never_rises),),
        likely=("greed", "taken"),
        shape=(("variants", {"loss_breaker": "drawdown"}),),
    ),
    Bug(
        "held-counts-for-nothing",
        (76, 58),
        "In the profit that a breaker looks at what is held counts for nothing.",
        ("B13",),
        (Patch(Guard, "_pnl_cents", _cash_alone),),
        likely=("taken",),
        shape=(("variants", {"loss_breaker": "loss"}),),
    ),
)
