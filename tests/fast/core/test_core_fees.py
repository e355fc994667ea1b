"""Claims about fees, reserves, cost and realized profit: one running sum, rounded up once."""

from tests.builders.core.world import CASH, NO, YES, World
from venue.engine.messages import FillBooked, PositionChanged


def fees_of(world, user):
    return [fill.fee_cents for fill in world.events_of(FillBooked) if fill.user_id == user]


def test_many_small_fills_cost_no_more_than_one_large_one():
    world = World(rates=("0.0007", "0"))
    world.buy("a", YES, 50, 1_000)
    paid = 0
    for _ in range(1_000):
        world.buy("b", NO, 50, 1)
        paid += sum(fees_of(world, "a"))
    # 0.0007 x 1000 x 0.5 x 0.5 dollars are 17.5 cents; a ceiling per fill would take 1000.
    assert paid == 18
    assert world.balance("a") == (CASH - 50_000 - 18, 0)


def test_the_fee_sum_of_an_order_continues_when_an_amend_makes_it_a_taker():
    world = World(rates=("0.01", "0.01"))
    order = world.buy("a", YES, 50, 3)
    world.buy("b", NO, 50, 1)
    assert fees_of(world, "a") == [1]  # a quarter of a cent, rounded up
    world.buy("c", NO, 40, 2)
    world.amend(order, price=60)
    # Three quarters of a cent in all: already paid for.
    assert fees_of(world, "a") == [0]


def test_a_fill_releases_the_reserve_of_what_it_filled():
    world = World(rates=("0.07", "0.07"))
    world.buy("a", YES, 50, 10)
    world.buy("b", NO, 50, 4)
    # 4 shares at 50 and 7 cents of fee are gone; 6 shares at 50 and the rest of 17.5 are locked.
    assert world.balance("a") == (CASH - 518, 300 + 11)


def test_a_fee_never_exceeds_the_proceeds_of_a_sale():
    world = World(rates=("1", "1"))
    world.give("a", YES, 5)
    before = world.balance("a")[0]
    for _ in range(5):
        world.buy("b", YES, 1, 1)
        world.sell("a", YES, 1, 1)
        assert world.balance("a")[0] >= before


# --- positions: cost and realized profit (S5) -----------------------------------------------------


def position(world, user, outcome=YES):
    """(qty, cost_basis, realized) by the events of the last command."""
    return [
        (e.qty, e.cost_basis_cents, e.realized_pnl_cents)
        for e in world.events_of(PositionChanged)
        if (e.user_id, e.outcome) == (user, outcome)
    ]


def bought_at_two_prices():
    world = World()
    world.give("a", YES, 3, price=40)
    world.give("a", YES, 4, price=51)
    return world


def test_a_sale_removes_the_average_cost_rounded_down():
    world = bought_at_two_prices()
    world.buy("b", YES, 60, 2)
    world.sell("a", YES, 60, 2)
    # 324 x 2 / 7 is 92.57.
    assert position(world, "a") == [(5, 324 - 92, 120 - 92)]


def test_the_last_share_sold_removes_the_remaining_cost():
    world = bought_at_two_prices()
    world.buy("b", YES, 60, 7)
    world.sell("a", YES, 60, 2)
    world.sell("a", YES, 60, 5)
    assert position(world, "a") == [(0, 0, 420 - 324)]


def test_fees_reduce_realized_profit_and_are_not_cost():
    world = World(rates=("0.08", "0.08"))
    world.give("a", YES, 100)
    assert position(world, "a") == [(100, 5_000, -200)]
    world.buy("b", YES, 50, 100)
    world.sell("a", YES, 50, 100)
    assert position(world, "a") == [(0, 0, -400)]


def test_realized_profit_continues_after_a_position_is_reopened():
    world = World()
    world.give("a", YES, 10, price=40)
    world.buy("b", YES, 60, 10)
    world.sell("a", YES, 60, 10)
    world.give("a", YES, 5, price=50)
    assert position(world, "a") == [(5, 250, 200)]
