"""Claims about the judge of what may be live: writes on their way, and what rests."""

from bot.lab.sim.judge.flight import Flight
from bot.lab.sim.judge.truth import Truth
from bot.lab.sim.venue.simulated import market_id
from venue.wire.money import Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce

ONE, OTHER = market_id(0, 0), market_id(0, 1)


def test_a_create_on_its_way_counts_until_its_rung_has_resolved():
    truth = Truth()
    flight = Flight(truth, [ONE, OTHER])
    for number, market in enumerate((ONE, OTHER)):
        name = ClientOrderId(str(number))
        flight.may_land(
            QtyOrder(market, Outcome.YES, Side.BUY, Price(50), Qty(1), TimeInForce.GTC, name)
        )
    assert flight.count() == 2
    truth.resolved[ONE] = Outcome.NO
    assert flight.count() == 1
