"""Claims about new orders by size: reserves, pairs, self-trade prevention, and rejections."""

import pytest

from tests.builders.core.world import BUY, CASH, FOK, GTC, IOC, NO, SELL, YES, World
from venue.engine.messages import OpenInterestChanged, Placed, Refused
from venue.wire.errors import Code
from venue.wire.model import OrderStatus


@pytest.mark.parametrize(
    ("outcome", "side", "price", "bids", "asks"),
    [
        (YES, BUY, 30, [(30, 2)], []),
        (NO, BUY, 30, [], [(70, 2)]),
        (YES, SELL, 30, [], [(30, 2)]),
        (NO, SELL, 30, [(70, 2)], []),
    ],
)
def test_an_order_rests_on_its_canonical_side_at_its_yes_price(outcome, side, price, bids, asks):
    world = World()
    if side is SELL:
        world.give("a", outcome, 2)
    world.place("a", outcome, side, price, 2)
    assert (world.bids(), world.asks()) == (bids, asks)


def test_a_resting_buy_reserves_the_higher_of_the_two_fees():
    world = World(rates=("0.07", "0.01"))
    order = world.buy("a", YES, 50, 10).order
    # 0.07 x 10 x 0.5 x 0.5 dollars are 17.5 cents.
    assert order.reserved_cents == 500 + 18
    assert world.balance("a") == (CASH - 518, 518)


def test_two_opposite_buys_issue_pairs_for_a_dollar_each():
    world = World()
    world.buy("a", YES, 60, 10)
    world.buy("b", NO, 45, 10)
    assert world.balance("a") == (CASH - 600, 0)
    assert world.balance("b") == (CASH - 400, 0)
    assert [event.open_interest for event in world.events_of(OpenInterestChanged)] == [10]


def test_two_opposite_sells_retire_pairs_for_a_dollar_each():
    world = World()
    world.give("a", YES, 10)
    cash_a, cash_d = world.balance("a")[0], world.balance("d")[0]
    world.sell("a", YES, 45, 10)
    world.sell("d", NO, 40, 10)
    assert world.balance("a")[0] - cash_a == 450
    assert world.balance("d")[0] - cash_d == 550
    assert world.held("a", YES)[0] == world.held("d", NO)[0] == 0
    assert [event.open_interest for event in world.events_of(OpenInterestChanged)] == [0]


def test_a_fok_larger_than_the_book_is_canceled_without_walking_the_orders(monkeypatch):
    world = World()
    for price in (60, 61):
        world.buy("a", YES, price, 5)

    def looked(level):
        raise AssertionError(f"the orders at {level.price} were looked at")

    monkeypatch.setattr("venue.engine.orderbook.PriceQueue.__iter__", looked)
    order = world.buy("b", NO, 40, 11, FOK).order
    assert (order.status, order.filled_qty) == (OrderStatus.CANCELED, 0)


@pytest.mark.parametrize("tif", [GTC, IOC, FOK])
def test_a_buy_needs_its_whole_reserve_at_the_limit_whatever_the_book_offers(tif):
    world = World(cash=1_000)
    world.buy("a", YES, 90, 10)
    assert world.buy("b", NO, 99, 11, tif).code is Code.INSUFFICIENT_BALANCE
    assert isinstance(world.buy("b", NO, 99, 10, tif), Placed)


def test_shares_of_one_outcome_do_not_cover_a_sale_of_the_other():
    world = World()
    world.give("a", YES, 10)
    assert world.sell("a", NO, 60, 1).code is Code.INSUFFICIENT_SHARES


def test_an_order_of_a_user_without_an_account_is_rejected():
    assert isinstance(World().buy("nobody", YES, 50, 1), Refused)


# --- self-trade prevention (S19, S20) -------------------------------------------------------------


def test_a_partly_filled_order_shrunk_by_an_own_order_stays_partially_filled():
    world = World()
    resting = world.buy("a", YES, 50, 10)
    world.buy("b", NO, 50, 3)
    world.buy("a", NO, 50, 4)
    assert world.now(resting).status is OrderStatus.PARTIALLY_FILLED


def test_a_resting_order_consumed_by_an_own_order_ends_canceled_and_reserves_nothing():
    world = World()
    resting = world.buy("a", YES, 50, 4)
    world.buy("a", NO, 50, 10, IOC)
    assert world.now(resting).status is OrderStatus.CANCELED
    assert world.balance("a") == (CASH, 0)


def test_an_order_shrunk_by_an_own_order_and_filled_for_the_rest_ends_canceled():
    world = World()
    resting = world.buy("a", YES, 50, 10)
    world.buy("a", NO, 50, 4)
    world.buy("b", NO, 50, 6)
    state = world.now(resting)
    assert (state.status, state.qty, state.filled_qty) == (OrderStatus.CANCELED, 10, 6)


def test_a_better_offer_of_another_user_is_taken_before_an_own_order():
    world = World()
    own = world.buy("a", YES, 50, 5)
    world.buy("b", YES, 51, 5)
    world.buy("a", NO, 50, 5)
    assert world.now(own).remaining_qty == 5


def test_a_fok_filled_before_it_meets_an_own_order_is_filled():
    world = World()
    world.buy("b", YES, 51, 5)
    world.buy("a", YES, 50, 5)
    assert world.buy("a", NO, 50, 5, FOK).order.status is OrderStatus.FILLED
