"""Claims about a flatten: positions only shrink, and at last nothing is left and nothing rests."""

from dataclasses import replace

import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.trading_state import TradingState
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.world import SimulatedWorld
from tests.builders.bot.worlds import calm, quoting, resting
from tests.builders.scale import cases
from venue.engine import messages as v
from venue.wire.money import Outcome
from venue.wire.names import MarketId


def world_with_inventory(seed: int, seconds: int = 20) -> SimulatedWorld:
    """A world in which the trader has come to hold something."""
    odds = replace(calm(), seed=seed, rungs=(2,), crowd_per_second=12.0, burst=2)
    world = quoting(odds)
    world.crowd_acts(world.now_ns + 3_600 * SECOND)
    world.driver.run_until(world.now_ns + seconds * SECOND)
    assert any(nets(world).values()), "nothing was traded"
    return world


def nets(world: SimulatedWorld) -> dict[MarketId, int]:
    """YES less NO shares of every rung, by the engine."""
    held = world.auditor.truth.held
    return {
        market: held.get((market, Outcome.YES), 0) - held.get((market, Outcome.NO), 0)
        for market in world.exchange.all_markets()
    }


def was_noted(world: SimulatedWorld, name: str) -> bool:
    effects = (effect for _, _, effects in world.process.log for effect in effects)
    return any(isinstance(effect, m.Noted) and effect.name == name for effect in effects)


@pytest.mark.parametrize("seed", range(1, 1 + cases(10, quick=1)))
def test_no_fill_after_a_flatten_increases_or_reverses_a_position(seed: int) -> None:
    world = world_with_inventory(seed)
    world.deliver(world.process, m.FlattenRequested("home"))
    world.driver.run_until(world.now_ns + 2 * SECOND)
    before = nets(world)
    for _ in range(30):
        world.driver.run_until(world.now_ns + SECOND)
        after = nets(world)
        for market, net in after.items():
            assert 0 <= net * (1 if before[market] >= 0 else -1) <= abs(before[market])
        before = after


def test_a_trader_pauses_without_orders_once_it_is_flat() -> None:
    world = world_with_inventory(1)
    world.deliver(world.process, m.FlattenRequested("home"))
    trader = world.process.trader
    assert world.driver.run_until(
        world.now_ns + 1_200 * SECOND, lambda: trader.phase is Phase.PAUSED
    )
    assert not any(nets(world).values())
    assert resting(world) == 0
    assert was_noted(world, "flat")
    assert trader.report(world.now_ns).state is not TradingState.REDUCE_ONLY


def test_a_resume_ends_a_flatten_and_quotes_both_sides() -> None:
    world = world_with_inventory(1)
    world.deliver(world.process, m.FlattenRequested("home"))
    world.driver.run_until(world.now_ns + 2 * SECOND)
    trader = world.process.trader
    (restriction,) = trader.report(world.now_ns).restrictions
    assert (restriction.state, restriction.why) == (TradingState.REDUCE_ONLY, "home")
    assert not trader.quoting.all_two_sided()
    world.deliver(world.process, m.ResumeRequested())
    assert world.driver.run_until(world.now_ns + 5 * SECOND, trader.quoting.all_two_sided)
    assert trader.report(world.now_ns).state is not TradingState.REDUCE_ONLY


def test_a_flatten_resumes_a_paused_trader_with_reducing_quotes_only() -> None:
    world = world_with_inventory(1)
    world.deliver(world.process, m.PauseRequested("lunch"))
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 2 * SECOND, lambda: not trader.desk.live_orders)
    world.deliver(world.process, m.FlattenRequested("home"))
    assert world.driver.run_until(world.now_ns + 5 * SECOND, lambda: resting(world) > 0)
    for own in trader.desk.live_orders:
        yes_qty, no_qty = trader.ledgers.holdings(own.market_id)
        assert own.max_fillable <= (no_qty - yes_qty) * (1 if own.book_side.value == "bid" else -1)


def test_a_flatten_without_inventory_is_a_pause() -> None:
    world = quoting()
    world.deliver(world.process, m.FlattenRequested("home"))
    trader = world.process.trader
    assert world.driver.run_until(world.now_ns + 3 * SECOND, lambda: trader.phase is Phase.PAUSED)
    assert resting(world) == 0


def test_a_flatten_waits_for_a_halted_rung() -> None:
    world = world_with_inventory(1)
    market = next(market for market, net in nets(world).items() if net)
    world.exchange.execute(v.HaltMarket(market), world.now_ns)
    world.deliver(world.process, m.FlattenRequested("home"))
    world.driver.run_until(world.now_ns + 10 * SECOND)
    trader = world.process.trader
    assert trader.phase is Phase.QUOTING
    assert [each.why for each in trader.restrictions] == ["home"]


def test_a_flatten_requested_before_the_opening_holds_after_it() -> None:
    world = SimulatedWorld(calm())
    world.crowd.place_floors(world.now_ns)
    world.driver.run_until(world.now_ns + SECOND)
    world.start_process(world.process)
    world.deliver(world.process, m.FlattenRequested("home"))
    trader = world.process.trader
    world.driver.run_until(world.now_ns + 10 * SECOND)
    assert trader.phase is Phase.PAUSED
    assert world.process.trader.out.counters.requests["create"] == 0
