"""Planted bugs of two series on one account: what they share is counted for each of them apart."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from bot.core.account.ledgers import AccountChange, Ledgers
from bot.core.desk import outbox
from bot.core.desk.outbox import _Credential, _joined
from bot.core.desk.spend import Purse
from bot.core.limits.accountrisk import AccountRisk
from bot.core.limits.freecash import FreeCash
from bot.core.sending.affording import Affording
from bot.core.series.quoting import Quoting
from bot.core.settings import BudgetSettings
from bot.lab.bugs.bug import Bug
from bot.lab.sim.run import Patch
from venue.wire import model
from venue.wire.money import Cents
from venue.wire.names import MarketId, OrderId

_fills_read = Ledgers.fills_read

_TWO: Final[tuple[tuple[str, Any], ...]] = (("variants", {"second_series": "60"}),)
_ROOM_FOR_ONE: Final = (*_TWO, ("event_loss_cents", 600), ("lot_qty", 10), ("order_qty", 25))


def _nothing(self: AccountRisk, member: int) -> Cents:
    return Cents(0)


def _all_of_it(self: Affording, cash: FreeCash) -> None:
    self.cash = FreeCash()


def _its_own(purse: Purse | None, budget: BudgetSettings) -> _Credential:
    return _joined(None, budget)


def _here(
    self: Ledgers,
    rows: Sequence[model.Fill],
    begun_ns: int,
    now_ns: int,
    live: frozenset[OrderId] = frozenset(),
) -> AccountChange:
    if self._rates:
        market, (event, _) = next(iter(self._rates.items()))
        rows = [
            row
            if row.market_id in self._rates
            else msgspec.structs.replace(row, market_id=market, event_ticker=event)
            for row in rows
        ]
    return _fills_read(self, rows, begun_ns, now_ns, live)


def _every(self: Quoting, market_id: MarketId) -> bool:
    return True


TOGETHER: Final = (
    Bug(
        "tokens-of-each-series",
        (13, 17),
        "Each series of an account spends from a request bucket of its own.",
        ("B5",),
        (Patch(outbox, "_joined", _its_own),),
        likely=("flicker",),
        shape=(*_TWO, ("budget", (20, 40, 30))),
    ),
    Bug(
        "fills-of-the-other-series",
        (54,),
        "A fill of another series of the account is booked in a rung of this one.",
        ("B2", "B3", "B9", "findings"),
        (Patch(Ledgers, "fills_read", _here),),
        shape=_TWO,
    ),
    Bug(
        "orders-of-the-other-series",
        (63,),
        "What another series of the account has resting is taken for nobody's, and cancelled.",
        ("B6",),
        (Patch(Quoting, "is_ours", _every),),
        shape=_TWO,
    ),
    Bug(
        "account-limit-of-each-series",
        (78, 75),
        "Each series may lose what the account may, whatever the others may lose.",
        ("B3",),
        (Patch(AccountRisk, "others_loss_cents", _nothing),),
        shape=_ROOM_FOR_ONE,
    ),
    Bug(
        "cash-of-each-series",
        (75, 53),
        "Each series of an account counts on all of its cash.",
        ("B3",),
        (Patch(Affording, "__init__", _all_of_it),),
        shape=(*_TWO, ("cash_cents", 1_000)),
    ),
)
