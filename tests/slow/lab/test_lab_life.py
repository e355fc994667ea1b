"""A life: the account closes to the cent, a budget binds, and nothing is measured that was not."""

import numpy as np
import pytest

from bot.lab.evaluate.market import MAKERS, NOISE, TrueValueMarket
from bot.lab.evaluate.run import RunMetrics, profit_of, run_strategy
from bot.lab.evaluate.scenarios import Scenario, TakerMix, draw
from bot.lab.exchange.exchange import MAKER
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from strategies.fixed_spread import FixedSpread
from venue.engine import messages as v
from venue.wire.money import BookSide, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import QtyOrder, TimeInForce

WORLD = Scenario(steps=80, rungs=4, flow=TakerMix.TOXIC)


class Eager(Strategy):
    """Bids far too much for everything."""

    name = "eager"

    def quote(self, view: EventView) -> Quotes:
        return {
            rung.market_id: (Quote(BookSide.BID, Price(min(99, 20 + 10 * n)), Qty(50)),)
            for n, rung in enumerate(reversed(view.rungs))
        }


def fixed_spread_run(
    world: Scenario = WORLD, seed: int = 2, budget_cents: int | None = None
) -> RunMetrics:
    return run_strategy(
        world, draw(world, seed), lambda: FixedSpread(FixedSpread.Params()), budget_cents
    )


def test_spread_plus_inventory_minus_fees_is_the_profit_to_the_cent() -> None:
    came = fixed_spread_run()
    assert came.fills > 20
    assert round(1000 * (came.spread + came.inventory - came.fees)) == 1000 * came.net
    assert came.adverse + came.drift == pytest.approx(came.inventory)


def test_a_strategy_without_early_fills_has_no_early_profit() -> None:
    class Late(FixedSpread):
        asked = 0

        def quote(self, view: EventView) -> Quotes:
            self.asked += 1
            return super().quote(view) if self.asked > 30 else {}

    came = run_strategy(WORLD, draw(WORLD, 2), lambda: Late(FixedSpread.Params()))
    assert came.fills > 0
    assert came.early == 0


def test_the_profit_of_two_fills_matches_a_hand_calculation() -> None:
    fairs = np.array([[50_000], [47_500], [100_000]])
    fills = [(0, 0, 10, 48, 5), (1, 0, -4, 49, 0)]
    profit = profit_of(*np.array(fills).T, fairs)
    assert profit.edges_mc.tolist() == [20_000 - 5_000, 6_000]
    assert profit.held.tolist() == [[10], [6]]
    assert profit.gained_mc.tolist() == [0, 10 * -2_500]
    assert profit.inventory_mc == 10 * -2_500 + 6 * 52_500
    cash_cents = 6 * 100 - 480 + 196 - 5
    assert profit.edges_mc.sum() + profit.inventory_mc == 1_000 * cash_cents


def test_the_loss_never_exceeds_the_budget() -> None:
    def eager_run(budget_cents: int | None) -> RunMetrics:
        return run_strategy(WORLD, draw(WORLD, 6), lambda: Eager(Eager.Params()), budget_cents)

    free, bound = eager_run(None), eager_run(3_000)
    assert free.worst_max > 3_000
    assert bound.worst_max <= 3_000
    assert bound.net >= -3_000


def test_the_worst_case_of_orders_and_inventory_matches_a_hand_calculation() -> None:
    venue = TrueValueMarket(Scenario(rungs=2), [1, 2], 0)
    low, high = venue.markets

    def place(market: MarketId, outcome: Outcome, side: Side, price: int, at_ns: int) -> None:
        name = ClientOrderId(f"a{at_ns}")
        order = QtyOrder(market, outcome, side, Price(price), Qty(10), TimeInForce.GTC, name)
        venue.exchange.execute(v.PlaceOrder(MAKER, order), at_ns)

    place(low, Outcome.YES, Side.BUY, 60, 1)
    assert venue.worst_cents() == 600 + 5
    venue.trade(NOISE, low, 2, buys=False, price=60, qty=10)
    assert venue.worst_cents() == 600 + 5
    # Neither rung pays: 605 lost, and the NO gains. Both pay: 395 less 700 and 4 of fee.
    place(high, Outcome.NO, Side.BUY, 70, 3)
    assert venue.worst_cents() == 605
    venue.trade(MAKERS[0], low, 4, buys=True, price=60, qty=10, rests=True)
    place(low, Outcome.YES, Side.SELL, 60, 5)
    assert venue.worst_cents() == 5 + 17 + 700 + 4


def test_with_slow_requests_the_profit_still_adds_up_to_the_cent() -> None:
    slow = Scenario(steps=80, rungs=4, latency=10, fees=4)
    came = fixed_spread_run(slow)
    assert round(1000 * (came.spread + came.inventory - came.fees)) == 1000 * came.net
