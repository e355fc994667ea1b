"""Starts that are stopped at once."""

from bot.core import messages as m
from bot.core.settings import Strangers
from bot.lab.sim.scenario import MS, SECOND
from tests.builders.io.crash_boundaries import places
from tests.builders.io.crash_world import World

WITHIN_NS = 4 * SECOND


def stopped(world: World) -> World:
    """The world once its trader was stopped and has finished."""
    world.deliver(m.StopRequested("the end"))
    assert world.run_until(world.now_ns + WITHIN_NS, lambda: world.finished is not None)
    return world


def test_a_start_that_is_stopped_at_once_leaves_nothing_resting():
    for place, past in places(10**6):
        if place % 3 == 1:
            world = World(past, strangers=Strangers.CANCEL)
            world.run_until(world.now_ns + 5 * MS)
            stopped(world)
            assert world.finished == m.DrainComplete((), ()), place
            assert not world.truth.resting(), place
