"""Planted bugs of two series on one account: what they share is counted for each of them apart."""

from typing import Any, Final

from bot.core.orders import outbox
from bot.core.orders.outbox import _Credential, _joined
from bot.core.orders.request_budget import RequestBudget
from bot.core.risk.buying_power import AccountRisk
from bot.core.settings import BudgetSettings
from tests.mutants.bug import Bug, Patch
from venue.wire.money import Cents

_TWO: Final[tuple[tuple[str, Any], ...]] = (("variants", {"second_series": "60"}),)
_ROOM_FOR_ONE: Final = (*_TWO, ("event_loss_cents", 1_000), ("lot_qty", 10), ("order_qty", 25))


def _its_own(purse: RequestBudget | None, budget: BudgetSettings) -> _Credential:
    return _joined(None, budget)


TOGETHER: Final = (
    Bug(
        "tokens-of-each-series",
        (13, 17),
        "Each series of an account has its own request bucket.",
        ("B5",),
        (Patch(outbox, "_joined", _its_own),),
        likely=("flicker",),
        shape=(*_TWO, ("budget", (20, 40, 30))),
    ),
    Bug(
        "account-limit-of-each-series",
        (78, 75),
        "Each series may lose the account's limit, whatever the others lose.",
        ("B3",),
        (Patch(AccountRisk, "others_loss_cents", lambda self, member: Cents(0)),),
        shape=_ROOM_FOR_ONE,
    ),
)
