"""Claims about an order kept from an earlier run, on an account with a long past."""

import pytest

from tests.builders.bot.past import KEPT, Past
from venue.wire.names import OrderId


@pytest.mark.parametrize("filled_as", [KEPT, OrderId("770")], ids=["its id", "an earlier id"])
def test_fills_of_a_kept_order_count_once_after_the_fills_of_many_other_orders(filled_as):
    of = Past(earlier=12, filled_as=filled_as)
    of.begin_kept()
    assert KEPT in of.orders
    assert of.trader.ledgers.holdings(of.rung_shown.market_id) == (4, 0)
    assert not of.trader.out.findings


def test_fills_of_an_order_that_a_lost_amend_gave_another_id_count_once():
    of = Past(earlier=0, filled_as=OrderId("770"))
    of.begin_kept(undecided=True)
    assert KEPT not in of.orders
    assert of.trader.ledgers.holdings(of.rung_shown.market_id) == (4, 0)
    assert not of.trader.desk.unsettled
