"""Claims about an exit in the simulated venue, by the venue's own account of it."""

from dataclasses import replace
from random import Random

import pytest

from bot.core import messages as m
from bot.core.trading_state import TradingState
from bot.lab.sim.run import run
from bot.lab.sim.scenario import SECOND, draw, often
from bot.lab.sim.world import SimulatedWorld
from tests.builders.bot.worlds import assert_replayed, calm, quoting
from tests.builders.scale import cases
from venue.wire.money import Cents
from venue.wire.names import Ticker


def held(world: SimulatedWorld) -> int:
    """Shares of every rung without their signs, by the engine."""
    return sum(abs(world.auditor.truth.net(each)) for each in world.exchange.all_markets())


def exiting(
    seed: int, most_cents: int, within_ns: int = 10 * SECOND
) -> tuple[SimulatedWorld, Ticker]:
    """A world in which the crowd trades, and an event with inventory is exited."""
    odds = replace(calm(), seed=seed, rungs=(3,), crowd_per_second=12.0, burst=2)
    world = quoting(odds)
    world.crowd_acts(world.now_ns + 3_600 * SECOND)
    world.driver.run_until(world.now_ns + 20 * SECOND)
    assert held(world), "nothing was traded"
    event = world.process.trader.quoting.ladders[0].event.event_ticker
    world.deliver(world.process, m.ExitRequested(event, within_ns, Cents(most_cents), "home"))
    return world, event


def test_an_exit_brings_every_rung_to_zero_and_replays_to_the_byte() -> None:
    world, _ = exiting(3, 5_000)
    world.driver.run_until(world.now_ns + 12 * SECOND)
    (event,) = world.process.trader.report(world.now_ns).events
    assert (held(world), event.exit.left_qty, event.exit.over) == (0, 0, "flat")
    assert world.auditor.truth.resting() == []
    assert event.state is TradingState.HALTED
    assert_replayed(world)


def test_an_exit_whose_cap_is_reached_leaves_shares_and_ends_in_its_time() -> None:
    world, event_ticker = exiting(3, 60)
    world.driver.run_until(world.now_ns + 11 * SECOND)
    trader = world.process.trader
    (event,) = trader.report(world.now_ns).events
    assert event.exit.over == "its cost cap is reached"
    assert event.exit.left_qty == held(world) > 0
    assert 0 < event.exit.cost_cents <= 60
    assert world.auditor.truth.resting() == []
    world.deliver(world.process, m.ResumeRequested(event=event_ticker))
    assert world.driver.run_until(world.now_ns + 40 * SECOND, trader.quoting.all_two_sided)


def test_a_restart_ends_an_exit() -> None:
    world, _ = exiting(3, 5_000, within_ns=600 * SECOND)
    world.driver.run_until(world.now_ns + SECOND)
    world.replace(world.process, SECOND, Random(1))
    world.driver.run_until(world.now_ns + 20 * SECOND)
    (event,) = world.process.trader.report(world.now_ns).events
    assert (event.exit, event.state) == (None, TradingState.ACTIVE)


@pytest.mark.parametrize("seed", range(1, 1 + cases(20, quick=1)))
def test_exits_among_faults_hold_every_invariant(seed: int) -> None:
    world = run(often(draw(seed), ("exit", "taken")))
    assert world.coverage.counts["exit"]
    assert world.coverage.counts["quiet_exit"]
