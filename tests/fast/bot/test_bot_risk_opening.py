"""Claims about the opening of the books: what is held counts, and not what the fills left."""

import pytest

from bot.core.report import Phase
from bot.core.risk.exposure import Exposure
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.world import SimulatedWorld
from tests.fast.bot.test_bot_latch import opened
from venue.engine import messages as v
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce


def opens(world: SimulatedWorld) -> tuple[Exposure, int]:
    """What the first event may lose as its trader reckons it once it quotes; cents its fills came
    to."""
    world.start_process(world.process)
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 8 * SECOND, lambda: trader.phase is Phase.QUOTING)
    ladder = trader.quoting.ladders[0]
    cash = trader.ledgers.book.event_cash_cents(ladder.event.event_ticker)
    return trader.quoting.weighing.exposure(ladder), cash


@pytest.mark.parametrize("winner", list(Outcome))
def test_shares_that_paid_before_the_start_pay_in_no_outcome_again(winner: Outcome) -> None:
    world = opened()
    exchange = world.exchange
    rung = next(exchange.all_markets())
    order = QtyOrder(
        rung,
        Outcome.YES,
        Side.BUY,
        Price(99),
        Qty(5),
        TimeInForce.IOC,
        ClientOrderId("of an earlier run"),
    )
    bought = exchange.execute(v.PlaceOrder(MAKER, order), world.now_ns)
    assert isinstance(bought, v.Placed)
    assert bought.order.filled_qty == 5
    exchange.execute(v.ResolveMarket(rung, winner), world.now_ns)
    world.driver.run_until(world.now_ns + 3 * SECOND)
    exposure, spent = opens(world)
    assert spent == 0  # what they cost, and were paid, is history: no journal tells it
    assert set(exposure.outcome_cents) == {spent}
