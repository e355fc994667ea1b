"""Planted bugs of groups F and G, and of the breakers: what is forgotten, and who is not obeyed."""

from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.quoting.exit import ExitRung
from bot.core.risk.breakers import CircuitBreakers
from bot.core.risk.loss_budgets import LossBudget, LossBudgets
from bot.core.trader import HANDLERS, Trader
from bot.io.journal.recovery import Intents
from bot.lab.sim.scenario import SECOND
from tests.mutants.bug import FORGOTTEN, Bug, Patch, handles

_on_started = HANDLERS[m.Started]


def _no_intents(self: Trader, event: m.Started) -> None:
    _on_started(self, msgspec.structs.replace(event, open_intents=()))


_restore = LossBudgets.restore


def _renewed(self: LossBudgets, record: m.LossRecord | None, now_ns: int) -> None:
    _restore(self, None, now_ns)


_count = LossBudgets._count


def _from_the_lowest(
    self: LossBudgets, budget: LossBudget, before_cents: int, equity_cents: int, now_ns: int
) -> bool:
    is_new = _count(self, budget, before_cents, equity_cents, now_ns)
    use = self._uses[budget.period]
    self._uses[budget.period] = msgspec.structs.replace(use, lost_cents=0)
    return is_new


def _deaf_to(kind: type[m.Event]) -> Patch:
    return handles(kind, lambda self, event: None)


RESTART: Final = (
    Bug(
        "intent-not-journalled",
        (59,),
        "A create is journalled at its response, not before it leaves.",
        FORGOTTEN,
        (Patch(Intents, "_sent", lambda self, request_id, create: None),),
        likely=("crash", "crash_at_effect", "late_commit"),
    ),
    Bug(
        "open-intents-ignored",
        (59, 25),
        "A restart does not look for creates without a response.",
        FORGOTTEN,
        (handles(m.Started, _no_intents),),
        likely=("crash", "crash_at_effect", "late_commit"),
    ),
    Bug(
        "loss-budget-renewed",
        (59,),
        "A restart resets the use of the day's loss budget.",
        ("B13", "B4"),
        (Patch(LossBudgets, "restore", _renewed),),
        likely=("crash", "taken"),
        profile="process",
        shape=(
            ("variants", {"loss_budget": "10", "maker_fee": "0.0700"}),
            ("safety_ns", 40 * SECOND),
            ("cash_cents", 1_000_000),
        ),
    ),
    Bug(
        "disk-full-ignored",
        (61,),
        "Creates go on when the journal cannot be written.",
        ("B13",),
        (_deaf_to(m.JournalFailed),),
        likely=("disk_fault",),
    ),
)


OPERATOR: Final = (
    Bug(
        "pause-ignored",
        (73,),
        "Quoting goes on while paused.",
        ("B4",),
        (_deaf_to(m.PauseRequested),),
        likely=("operator_pause",),
    ),
    Bug(
        "exit-forgets-live-orders",
        (73,),
        "The cost cap of an exit does not count what its live orders may cost.",
        ("B3",),
        (Patch(ExitRung, "order_millicents", lambda self, side, price, qty: 0),),
        likely=("exit", "taken"),
    ),
    Bug(
        "stop-ignored",
        (65, 73),
        "Creates go on after a stop signal.",
        ("B13",),
        (_deaf_to(m.StopRequested),),
        likely=("operator_restart",),
    ),
    Bug(
        "breakers-off",
        (76,),
        "The breakers count but never trip.",
        ("B13",),
        (
            Patch(CircuitBreakers, "admits", lambda self, request, now_ns: True),
            Patch(CircuitBreakers, "judge", lambda self, pnl_cents, oldest_unknown_ns, now_ns: ""),
        ),
        likely=("mad_strategy", "fat_finger"),
        shape=(("creates_per_minute", 30),),
    ),
    Bug(
        "loss-from-the-lowest",
        (76,),
        "A loss budget counts from the lowest equity of the day, not from its start.",
        ("B3",),
        (Patch(LossBudgets, "_count", _from_the_lowest),),
        likely=("crash", "crash_at_effect", "taken", "greed", "jump"),
        profile="process",
        shape=(
            ("variants", {"loss_budget": "10", "maker_fee": "0.0700"}),
            ("without", ("lost_journal",)),
            ("fee_rate", "0.0700"),
            ("safety_ns", 40 * SECOND),
            ("cash_cents", 1_000_000),
        ),
    ),
)
