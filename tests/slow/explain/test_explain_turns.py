"""Claims about the order in which a plan says that its requests would leave."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.settings import RiskSettings
from bot.core.trader import Trader
from bot.strategy.api import Quote, Strategy
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, canonical

Wanted = dict[int, tuple[Quote, ...]]
RISK = RiskSettings(
    event_loss_cents=Cents(10_000_000),
    series_loss_cents=Cents(10_000_000),
    rung_position_qty=Qty(100_000),
    order_qty=Qty(1_000),
)


class Busy(Thin):
    """While it is `busy` it takes no request. wanted: by the strategy, rung by rung."""

    busy = False

    def __init__(self, risk: RiskSettings) -> None:
        self.wanted: Wanted = {}
        busy = self

        class Told(Strategy):
            def quote(self, view):
                return {each.market_id: busy.wanted.get(i, ()) for i, each in enumerate(view.rungs)}

        super().__init__([70, 30], lambda: Told(None))
        settings = msgspec.structs.replace(self.trader.reconfiguration.settings, risk=risk)
        self.trader = Trader(settings, lambda: Told(None))

    def answer(self, request: m.Request) -> m.Answer:
        if self.busy:
            return m.Rejected(429, "rate_limited", "")
        return super().answer(request)


def bid(price: int, qty: int) -> Quote:
    return Quote(BookSide.BID, Price(price), Qty(qty))


def ask(price: int, qty: int) -> Quote:
    return Quote(BookSide.ASK, Price(price), Qty(qty))


def about(request: m.Request, thin: Thin) -> tuple[str, int]:
    if isinstance(request, m.Create):
        return "create", canonical(request.order.outcome, request.order.price)
    assert isinstance(request, m.CancelResting)
    return "cancel", thin.prices[request.order_id]


@pytest.mark.parametrize(
    ("orders", "before", "then"),
    [
        (200, {0: (bid(60, 3),), 1: (bid(25, 20),)}, {}),  # the larger one is worth more
        (2, {}, {0: (bid(67, 10), bid(65, 10), ask(78, 1))}),  # so is each of both bids
    ],
)
def test_requests_leave_in_the_planned_order(orders: int, before: Wanted, then: Wanted):
    thin = Busy(msgspec.structs.replace(RISK, resting_orders=orders))
    thin.wanted = before
    thin.start()
    thin.prices = {
        each.order_id: canonical(Outcome(each.outcome.value), each.price)
        for each in thin.orders.values()
    }
    thin.busy, thin.wanted = True, then
    thin.mids[0] += 1
    thin.run(3, lambda: thin.show(0, thin.now_ns), NS_PER_SECOND)
    planned = [
        (each.act.value, int(each.price)) for _, each in thin.trader.plan(thin.now_ns).requests
    ]
    thin.busy, since = False, len(thin.sent)
    thin.run(6)
    left = [about(each, thin) for _, each in thin.sent[since:] if isinstance(each, m.Write)]
    assert len(left) == 2
    assert planned[: len(left)] == left
