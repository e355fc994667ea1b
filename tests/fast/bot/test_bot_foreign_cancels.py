"""Claims about orders of ours that somebody else cancels: told, and over once it has stopped."""

import msgspec

from bot.core import messages as m
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Qty


class Meddled(Thin):
    """`ended`: orders that somebody else has cancelled, as a read shows them."""

    def __init__(self) -> None:
        super().__init__([50], lambda: FixedSpread(FixedSpread.Params()))
        self.ended: dict[str, model.Order] = {}

    def cancel_elsewhere(self) -> None:
        """Somebody else cancels everything that rests."""
        for order_id, order in self.orders.items():
            self.ended[order_id] = msgspec.structs.replace(
                order, remaining_qty=Qty(0), status=model.OrderStatus.CANCELED
            )
        self.orders.clear()

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.ReadOrder) and request.order_id in self.ended:
            return m.Ok(m.OrderBody(self.ended[request.order_id]))
        return super().answer(request)


def test_a_bot_whose_orders_another_one_cancels_says_so_until_it_has_stopped():
    thin = Meddled()
    thin.start()
    assert len(thin.orders) == 2
    thin.cancel_elsewhere()
    thin.run(20, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    told = thin.trader.out.findings["cancelled_by_others"]
    assert told.startswith("somebody else cancels our orders, ")
    assert any(order in told for order in thin.ended)
    assert len(thin.orders) == 2, "it quotes on"
    thin.run(80, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    assert thin.trader.out.findings == {}
