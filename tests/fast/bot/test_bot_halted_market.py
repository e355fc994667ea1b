"""Claims about cancels of orders whose market is halted and takes none."""

import msgspec

from bot.core import messages as m
from bot.strategy.api import EventView, Quote, Strategy
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty


class Stops(Strategy):
    """Bids on every rung until it is told to stop."""

    is_over = False

    def quote(self, view: EventView) -> dict:
        if Stops.is_over:
            return {}
        return {rung.market_id: (Quote(BookSide.BID, Price(40), Qty(5)),) for rung in view.rungs}


class Halting(Thin):
    """Its one market takes no cancels while it is halted."""

    def halts(self, state: model.MarketState) -> None:
        self.markets[0] = msgspec.structs.replace(self.markets[0], state=state)

    def answer(self, request: m.Request) -> m.Answer:
        is_halted = self.markets[0].state is model.MarketState.HALTED
        if is_halted and isinstance(request, m.CancelResting):
            return m.Rejected(422, "market_halted", "")
        return super().answer(request)

    def sent_ns(self, kind: type[m.Request], since_ns: int) -> list[int]:
        return [ns for ns, each in self.sent if ns >= since_ns and isinstance(each, kind)]


def test_a_cancel_rejected_by_a_halt_is_resent_once_a_read_shows_another_market_state(monkeypatch):
    monkeypatch.setattr(Stops, "is_over", False)
    thin = Halting([50], lambda: Stops(Stops.Params()))
    thin.start()
    assert len(thin.orders) == 1
    thin.halts(model.MarketState.HALTED)
    monkeypatch.setattr(Stops, "is_over", True)
    thin.show(0)
    thin.run(3)
    thin.halts(model.MarketState.ACTIVE)
    resumed_ns = thin.now_ns
    thin.run(9, lambda: thin.show(0), NS_PER_SECOND)
    assert thin.orders == {}
    (cancelled_ns,) = thin.sent_ns(m.CancelResting, resumed_ns)
    assert 0 <= cancelled_ns - thin.sent_ns(m.ReadSeries, resumed_ns)[0] <= NS_PER_SECOND
