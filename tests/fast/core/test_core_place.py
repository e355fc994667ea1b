"""Claims about new orders by size: what rests, what trades, at which price, and what is locked."""

import pytest

from tests.builders.core.world import BUY, CASH, FOK, GTC, IOC, NO, SELL, YES, World
from venue.engine.messages import FillBooked, OpenInterestChanged, Placed, Refused, TradePrinted
from venue.wire.errors import Code
from venue.wire.model import OrderStatus


def test_an_order_that_meets_nothing_rests_open_at_its_limit():
    world = World()
    order = world.buy("a", YES, 40, 10).order
    assert (order.status, order.remaining_qty, order.filled_qty) == (OrderStatus.OPEN, 10, 0)
    assert world.bids() == [(40, 10)]


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


def test_a_resting_buy_locks_price_times_size():
    world = World()
    world.buy("a", YES, 40, 10)
    assert world.balance("a") == (CASH - 400, 400)


def test_a_resting_buy_locks_the_dearer_of_the_two_fees_as_well():
    world = World(rates=("0.07", "0.01"))
    order = world.buy("a", YES, 50, 10).order
    # 0.07 x 10 x 0.5 x 0.5 dollars are 17.5 cents.
    assert order.reserved_cents == 500 + 18
    assert world.balance("a") == (CASH - 518, 518)


def test_a_resting_sell_locks_shares_and_no_cash():
    world = World()
    world.give("a", YES, 10)
    before = world.balance("a")
    order = world.sell("a", YES, 60, 7).order
    assert order.reserved_cents == 0
    assert world.balance("a") == before
    assert world.held("a", YES)[:2] == [10, 7]


def test_two_opposite_buys_issue_pairs_and_together_pay_a_dollar_each():
    world = World()
    world.buy("a", YES, 60, 10)
    world.buy("b", NO, 45, 10)
    assert world.balance("a") == (CASH - 600, 0)
    assert world.balance("b") == (CASH - 400, 0)
    assert [event.open_interest for event in world.told(OpenInterestChanged)] == [10]


def test_a_buy_and_a_sell_of_one_outcome_move_shares_and_leave_open_interest_alone():
    world = World()
    world.give("a", YES, 10)
    world.sell("a", YES, 55, 4)
    world.buy("b", YES, 55, 4)
    assert (world.held("a", YES)[0], world.held("b", YES)[0]) == (6, 4)
    assert [type(event).__name__ for event in world.events].count("OpenInterestChanged") == 0


def test_two_opposite_sells_retire_pairs_and_together_receive_a_dollar_each():
    world = World()
    world.give("a", YES, 10)
    cash_a, cash_d = world.balance("a")[0], world.balance("d")[0]
    world.sell("a", YES, 45, 10)
    world.sell("d", NO, 40, 10)
    assert world.balance("a")[0] - cash_a == 450
    assert world.balance("d")[0] - cash_d == 550
    assert world.held("a", YES)[0] == world.held("d", NO)[0] == 0
    assert [event.open_interest for event in world.told(OpenInterestChanged)] == [0]


@pytest.mark.parametrize(("taker_outcome", "taker_side"), [(YES, BUY), (NO, SELL)])
def test_a_trade_prints_at_the_makers_canonical_price(taker_outcome, taker_side):
    world = World()
    world.give("c", NO, 5)
    world.buy("a", NO, 45, 5)
    price = 60 if taker_outcome is YES else 40
    world.place("c", taker_outcome, taker_side, price, 5)
    assert [(trade.price, trade.qty) for trade in world.told(TradePrinted)] == [(55, 5)]


def test_each_side_of_a_fill_carries_its_own_price_and_the_tape_price():
    world = World()
    world.buy("a", YES, 60, 5)
    world.buy("b", NO, 50, 5)
    maker, taker = world.told(FillBooked)
    assert (maker.user_id, maker.outcome_price, maker.trade_price) == ("a", 60, 60)
    assert (taker.user_id, taker.outcome_price, taker.trade_price) == ("b", 40, 60)


def test_better_prices_trade_first_and_at_one_price_older_orders_do():
    world = World()
    for user, price in (("a", 50), ("b", 52), ("c", 52)):
        world.buy(user, YES, price, 1)
    world.buy("d", NO, 99, 3)
    makers = [fill.user_id for fill in world.told(FillBooked) if fill.user_id != "d"]
    assert makers == ["b", "c", "a"]


def test_what_a_gtc_does_not_trade_rests_partially_filled():
    world = World()
    world.buy("a", YES, 60, 4)
    order = world.buy("b", NO, 40, 10).order
    assert (order.status, order.filled_qty, order.remaining_qty) == (
        OrderStatus.PARTIALLY_FILLED,
        4,
        6,
    )
    assert world.asks() == [(60, 6)]


def test_an_order_that_trades_whole_is_filled_and_locks_nothing():
    world = World()
    world.buy("a", YES, 60, 10)
    order = world.buy("b", NO, 40, 10).order
    assert (order.status, order.reserved_cents) == (OrderStatus.FILLED, 0)
    assert world.bids() == world.asks() == []


def test_a_price_improvement_comes_back_to_the_taker():
    world = World()
    world.buy("a", YES, 60, 10)
    world.buy("b", NO, 90, 10)
    assert world.balance("b") == (CASH - 400, 0)


@pytest.mark.parametrize("tif", [IOC, FOK])
def test_an_ioc_or_fok_that_meets_nothing_is_canceled_and_never_rests(tif):
    world = World()
    order = world.buy("a", YES, 60, 10, tif).order
    assert (order.status, order.filled_qty, order.remaining_qty) == (OrderStatus.CANCELED, 0, 0)
    assert world.bids() == []
    assert world.balance("a") == (CASH, 0)


def test_a_partly_filled_ioc_is_canceled_with_what_it_filled():
    world = World()
    world.buy("a", YES, 60, 4)
    order = world.buy("b", NO, 40, 10, IOC).order
    assert (order.status, order.qty, order.filled_qty, order.remaining_qty) == (
        OrderStatus.CANCELED,
        10,
        4,
        0,
    )


def test_a_fok_that_does_not_fit_changes_nothing_on_the_book():
    world = World()
    world.buy("a", YES, 60, 4)
    order = world.buy("b", NO, 40, 5, FOK).order
    assert (order.status, order.filled_qty) == (OrderStatus.CANCELED, 0)
    assert world.bids() == [(60, 4)]


def test_a_fok_larger_than_what_rests_is_canceled_without_a_look_at_every_order(monkeypatch):
    world = World()
    for price in (60, 61):
        world.buy("a", YES, price, 5)

    def looked(level):
        raise AssertionError(f"the orders at {level.price} were looked at")

    monkeypatch.setattr("venue.engine.orderbook.PriceQueue.__iter__", looked)
    order = world.buy("b", NO, 40, 11, FOK).order
    assert (order.status, order.filled_qty) == (OrderStatus.CANCELED, 0)


def test_a_fok_that_fits_is_filled_across_levels():
    world = World()
    world.buy("a", YES, 60, 4)
    world.buy("b", YES, 59, 4)
    order = world.buy("c", NO, 41, 8, FOK).order
    assert (order.status, order.filled_qty) == (OrderStatus.FILLED, 8)


def test_a_fok_does_not_reach_beyond_its_limit():
    world = World()
    world.buy("a", YES, 60, 4)
    world.buy("b", YES, 59, 4)
    assert world.buy("c", NO, 40, 8, FOK).order.filled_qty == 0


@pytest.mark.parametrize("tif", [GTC, IOC, FOK])
def test_a_buy_needs_its_whole_reserve_at_the_limit_whatever_the_book_offers(tif):
    world = World(cash=1_000)
    world.buy("a", YES, 90, 10)
    assert world.buy("b", NO, 99, 11, tif).code is Code.INSUFFICIENT_BALANCE
    assert isinstance(world.buy("b", NO, 99, 10, tif), Placed)


def test_the_last_cent_of_available_cash_suffices():
    world = World(cash=1_000)
    assert isinstance(world.buy("a", YES, 50, 20), Placed)
    assert world.balance("a") == (0, 1_000)
    assert world.buy("a", YES, 1, 1).code is Code.INSUFFICIENT_BALANCE


def test_shares_committed_to_one_sell_cannot_be_offered_by_another():
    world = World()
    world.give("a", YES, 10)
    world.sell("a", YES, 60, 7)
    assert world.sell("a", YES, 61, 4).code is Code.INSUFFICIENT_SHARES
    assert isinstance(world.sell("a", YES, 61, 3), Placed)


def test_shares_of_the_other_outcome_are_not_shares_to_sell():
    world = World()
    world.give("a", YES, 10)
    assert world.sell("a", NO, 60, 1).code is Code.INSUFFICIENT_SHARES


def test_a_user_without_an_account_is_refused():
    assert isinstance(World().buy("nobody", YES, 50, 1), Refused)
