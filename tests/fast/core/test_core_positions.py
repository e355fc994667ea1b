"""Claims about positions: cost, realized profit, and shares that come and go (S5)."""

from tests.builders.core.world import YES, World
from venue.engine.messages import PositionChanged


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
