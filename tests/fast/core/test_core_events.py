"""Claims about the events of a command: one for each difference, in a fixed order."""

from tests.builders.core.world import CASH, FOK, NO, YES, M, World
from venue.engine import messages as m
from venue.wire.money import BookSide


def kinds(world):
    return [type(event).__name__ for event in world.events]


def test_a_resting_order_has_events_of_order_cash_and_level():
    world = World()
    placed = world.buy("a", YES, 40, 10)
    assert world.events == [
        m.OrderChanged(world.now_ns, placed.order),
        m.BalanceChanged(world.now_ns, "a", CASH - 400, 400),
        m.LevelChanged(world.now_ns, M, BookSide.BID, 40, 10),
    ]


def test_a_sweep_has_one_event_for_each_match_order_position_cash_and_level():
    world = World()
    for user, price in (("a", 52), ("b", 52), ("b", 51), ("a", 50)):
        world.buy(user, YES, price, 1)
    world.buy("c", NO, 50, 4)
    assert kinds(world) == (
        ["TradePrinted", "FillBooked", "FillBooked"] * 4
        + ["OrderChanged"] * 5
        + ["PositionChanged"] * 3
        + ["BalanceChanged"] * 3
        + ["OpenInterestChanged"]
        + ["LevelChanged"] * 3
    )


def test_the_maker_s_fill_precedes_the_taker_s():
    world = World()
    world.buy("a", YES, 52, 1)
    world.buy("c", NO, 50, 1)
    assert [fill.liquidity.value for fill in world.events_of(m.FillBooked)] == ["maker", "taker"]


def test_an_emptied_level_has_an_event_of_size_zero():
    world = World()
    world.cancel(world.buy("a", YES, 52, 1))
    assert world.events_of(m.LevelChanged) == [m.LevelChanged(world.now_ns, M, BookSide.BID, 52, 0)]


def test_a_level_that_comes_and_goes_within_a_command_has_no_event():
    world = World()
    world.buy("a", YES, 52, 1)
    world.buy("c", NO, 48, 1)
    assert [(e.price, e.size) for e in world.events_of(m.LevelChanged)] == [(52, 0)]


def test_a_resting_sale_has_no_event_of_cash():
    world = World()
    world.give("a", YES, 1)
    world.sell("a", YES, 60, 1)
    assert kinds(world) == ["OrderChanged", "LevelChanged"]


def test_an_unfilled_fok_has_an_event_of_its_order_alone():
    world = World()
    world.buy("a", YES, 50, 1, FOK)
    assert kinds(world) == ["OrderChanged"]


def test_every_event_carries_the_instant_of_its_command():
    world = World()
    world.buy("a", YES, 52, 1)
    world.buy("c", NO, 50, 3)
    assert {event.at_ns for event in world.events} == {world.now_ns}


def test_trade_and_fill_ids_are_never_given_twice():
    world = World()
    trades, fills = [], []
    for _ in range(50):
        world.buy("a", YES, 52, 1)
        world.buy("c", NO, 48, 1)
        trades += [trade.trade_id for trade in world.events_of(m.TradePrinted)]
        fills += [fill.fill_id for fill in world.events_of(m.FillBooked)]
    assert len(set(trades)) == 50
    assert len({*fills, *trades}) == 150
