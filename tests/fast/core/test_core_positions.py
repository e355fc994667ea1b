"""Claims about positions: cost, realized profit, and shares that come and go (S5)."""

from tests.builders.core.world import NO, YES, World
from venue.engine.messages import PositionChanged


def position(world, user, outcome=YES):
    """(qty, cost_basis, realized) as the last command told it."""
    return [
        (e.qty, e.cost_basis_cents, e.realized_pnl_cents)
        for e in world.told(PositionChanged)
        if (e.user_id, e.outcome) == (user, outcome)
    ]


def bought_at_two_prices():
    world = World()
    world.give("a", YES, 3, price=40)
    world.give("a", YES, 4, price=51)
    return world


def test_cost_is_what_was_paid_for_the_shares_held():
    assert position(bought_at_two_prices(), "a") == [(7, 3 * 40 + 4 * 51, 0)]


def test_a_sale_takes_the_average_cost_along_rounded_down():
    world = bought_at_two_prices()
    world.buy("b", YES, 60, 2)
    world.sell("a", YES, 60, 2)
    # 324 x 2 / 7 is 92.57.
    assert position(world, "a") == [(5, 324 - 92, 120 - 92)]


def test_the_last_share_takes_the_rest_of_the_cost():
    world = bought_at_two_prices()
    world.buy("b", YES, 60, 7)
    world.sell("a", YES, 60, 2)
    world.sell("a", YES, 60, 5)
    assert position(world, "a") == [(0, 0, 420 - 324)]


def test_every_fee_is_taken_off_realized_and_none_is_cost():
    world = World(rates=("0.08", "0.08"))
    world.give("a", YES, 100)
    assert position(world, "a") == [(100, 5_000, -200)]
    world.buy("b", YES, 50, 100)
    world.sell("a", YES, 50, 100)
    assert position(world, "a") == [(0, 0, -400)]


def test_realized_goes_on_when_shares_are_bought_anew():
    world = World()
    world.give("a", YES, 10, price=40)
    world.buy("b", YES, 60, 10)
    world.sell("a", YES, 60, 10)
    world.give("a", YES, 5, price=50)
    assert position(world, "a") == [(5, 250, 200)]


def test_yes_and_no_of_one_market_are_two_positions():
    world = World()
    world.give("a", YES, 10, price=40)
    world.give("a", NO, 4, price=30)
    assert world.held("a", YES)[:3] == [10, 0, 400]
    assert world.held("a", NO)[:3] == [4, 0, 120]
