"""A venue that reads gaps of the interface in other ways than ours (docs/assumptions.md)."""

from collections.abc import Callable
from typing import Final

import msgspec

from bot.core import messages as m
from bot.lab.sim.odds import Odds
from venue.core import messages as v
from venue.core.engine import Engine
from venue.wire.errors import CODES, Code
from venue.wire.model import TERMINAL, Fill, Liquidity, OrderStatus
from venue.wire.money import FeeRate, Qty, fee_cents
from venue.wire.names import MarketId, OrderId, UserId
from venue.wire.requests import Amend

_ENDED_AMEND: Final = {
    "404": m.Refused(404, Code.ORDER_NOT_FOUND, ""),
    "409": m.Refused(409, "order_state_conflict", ""),
}


class Readings:
    """What the venue answers to writes of one user where its reading is another one.

    dearer: fills, by their ids, that cost a cent more than they show. due: those of them that are
    not paid for yet.
    """

    def __init__(
        self,
        odds: Odds,
        engine: Engine,
        user_id: UserId,
        order: Callable[[OrderId], v.OrderState | None],
    ) -> None:
        """order: one by the id under which it is shown."""
        self._odds = odds
        self._engine = engine
        self._order = order
        self._user_id = user_id
        self._halted: set[MarketId] = set()
        self.dearer: dict[str, None] = {}
        self.due: list[str] = []

    def refused_or_accepted(
        self,
        request: m.CancelResting | m.AmendResting,
        shown: Callable[[v.OrderState, Qty], m.CancelShown],
    ) -> m.Answer | None:
        order = self._order(request.order_id)
        if order is None:
            return None
        is_over = order.status in TERMINAL
        if isinstance(request, m.AmendResting):
            return _ENDED_AMEND.get(self._odds.variant("ended_amend")) if is_over else None
        if not is_over:
            refuses = self._odds.variant("halted_cancels") and order.market_id in self._halted
            return _refusal(Code.MARKET_HALTED) if refuses else None
        match self._odds.variant("second_cancel"):
            case "refused" if order.status is OrderStatus.CANCELED:
                return _refusal(Code.ORDER_NOT_CANCELABLE)
            case "accepted":
                return m.Done(shown(order, Qty(0)))
        return None

    def amend(self, order_id: OrderId, amend: Amend) -> Amend | None:
        """What an amend asks the engine for; None where its total is filled already (S13)."""
        order = self._order(order_id)
        if amend.qty is None or order is None or not self._odds.variant("amend_qty"):
            return amend
        left = amend.qty - order.filled_qty
        return msgspec.structs.replace(amend, qty=Qty(left)) if left >= 1 else None

    def fills(self, fills: tuple[Fill, ...]) -> tuple[Fill, ...]:
        """Rows of fills as this venue shows them (S16)."""
        if not self._odds.variant("fill_fees"):
            return fills
        return tuple(msgspec.structs.replace(fill, fee_cents=None) for fill in fills)

    def charge(self, events: list[v.Event]) -> None:
        """Note the fills among these that cost a cent more, for their fee is rounded up by itself
        (S16)."""
        if not self._odds.variant("fill_fees"):
            return
        for event in events:
            if isinstance(event, v.FillBooked) and event.user_id == self._user_id:
                is_maker = event.liquidity is Liquidity.MAKER
                rate = self._odds.maker_fee_rate if is_maker else self._odds.fee_rate
                fee = fee_cents(FeeRate.parse(rate), event.qty, event.outcome_price)
                balance = self._engine.balance(self._user_id)
                if fee > event.fee_cents and balance is not None and balance[0] > len(self.due):
                    self.dearer[event.fill_id] = None
                    self.due.append(event.fill_id)

    def applied(self, command: v.Command) -> None:
        if isinstance(command, v.HaltMarket):
            self._halted.add(command.market_id)
        elif isinstance(command, v.ResumeMarket):
            self._halted.discard(command.market_id)


def _refusal(code: Code) -> m.Refused:
    return m.Refused(CODES[code].status, code, "")
