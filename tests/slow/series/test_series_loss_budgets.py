"""Claims about loss budgets of a whole trader: what they cancel, and that nothing renews them."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.report import LossBudgetReport, Phase
from bot.core.settings import BudgetPeriod, LossBudgetSettings
from bot.core.trading_state import Source, TradingState
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.world import SimulatedWorld
from tests.builders.bot.worlds import assert_replayed, calm, quoting
from venue.wire.money import Cents

QUOTES_AGAIN_NS = 12 * SECOND


def shown(world: SimulatedWorld) -> LossBudgetReport:
    (budget,) = world.process.trader.report(world.now_ns).loss_budgets
    return budget


def state(world: SimulatedWorld) -> TradingState:
    return world.process.trader.report(world.now_ns).state


@pytest.fixture
def killed() -> SimulatedWorld:
    """A world in which the crowd trades until the day's budget of five cents is spent."""
    world = quoting(calm(variants={"loss_budget": "5"}))
    world.crowd_acts(world.now_ns + 20 * SECOND)
    spent = world.driver.run_until(
        world.now_ns + 20 * SECOND, lambda: state(world) is TradingState.KILLED
    )
    assert spent
    return world


def resting(world: SimulatedWorld) -> int:
    return len(world.auditor.truth.resting())


def restart(world: SimulatedWorld) -> None:
    """Kill the process, and start the next one."""
    before = world.process
    world.replace(before, SECOND, None)
    began = world.driver.run_until(
        world.now_ns + 30 * SECOND,
        lambda: world.process is not before and world.process.trader.ledgers.is_open,
    )
    assert began


def test_a_spent_budget_cancels_everything_and_latches(killed: SimulatedWorld) -> None:
    assert killed.driver.run_until(killed.now_ns + 2 * SECOND, lambda: not resting(killed))
    trader = killed.process.trader
    assert trader.phase is Phase.LATCHED
    assert "$0.05 for the day" in trader.guard.latched


def test_the_loss_is_that_of_the_venues_ledger(killed: SimulatedWorld) -> None:
    killed.driver.run_until(killed.now_ns + 10 * SECOND)
    trader = killed.process.trader
    held = killed.auditor.truth.held
    marks = {
        rung.market_id: rung.fair_cents
        for event in trader.report(killed.now_ns).events
        for rung in event.rungs
    }
    worth = sum(
        qty * (marks[market] if outcome == "yes" else 100 - marks[market])
        for (market, outcome), qty in held.items()
    )
    equity = killed.account.total_cents + worth
    assert shown(killed).loss_now_cents == pytest.approx(1_000_000 - equity, abs=len(marks))


def test_neither_a_restart_nor_a_reset_renews_a_spent_budget(killed: SimulatedWorld) -> None:
    lost_cents = shown(killed).lost_cents
    killed.latch = ""
    restart(killed)
    killed.deliver(killed.process, m.LatchCleared("looked"))
    killed.driver.run_until(killed.now_ns + 5 * SECOND)
    assert killed.process.trader.phase is not Phase.LATCHED
    assert state(killed) is TradingState.KILLED
    assert shown(killed).lost_cents >= lost_cents
    assert resting(killed) == 0


def test_a_raised_budget_quotes_again_after_the_reset_and_over_a_restart(
    killed: SimulatedWorld,
) -> None:
    more = m.RaiseBudget(BudgetPeriod.DAY, Cents(1_000), "looked at")
    killed.deliver(killed.process, m.LatchCleared("looked"))
    killed.deliver(killed.process, more)
    both_sides = killed.process.trader.quoting.all_two_sided
    assert killed.driver.run_until(killed.now_ns + QUOTES_AGAIN_NS, both_sides)
    killed.latch = ""
    restart(killed)
    assert shown(killed).limit_cents == 1_005
    assert [each.reason for each in shown(killed).raises] == ["looked at"]
    both_sides = killed.process.trader.quoting.all_two_sided
    assert killed.driver.run_until(killed.now_ns + QUOTES_AGAIN_NS, both_sides)


@pytest.mark.parametrize(
    ("used_pct", "wanted", "divisor"),
    [(60, TradingState.REDUCED, 2), (90, TradingState.REDUCE_ONLY, 1)],
)
def test_less_is_quoted_as_more_of_a_budget_is_used(
    killed: SimulatedWorld, used_pct: int, wanted: TradingState, divisor: int
) -> None:
    more_cents = -(-100 * shown(killed).lost_cents // used_pct) - 5
    killed.deliver(killed.process, m.RaiseBudget(BudgetPeriod.DAY, Cents(more_cents), ""))
    killed.deliver(killed.process, m.LatchCleared("looked"))
    (restriction,) = killed.process.trader.restrictions
    assert (restriction.source, restriction.state) == (Source.LOSS_BUDGET, wanted)
    assert restriction.divisor == divisor


def lower(world: SimulatedWorld, **budgets: int) -> None:
    """The operator changes the budgets of the running bot."""
    configured = world.process.configured
    settings = msgspec.structs.replace(
        configured.settings, loss_budgets=LossBudgetSettings(**budgets)
    )
    changed = m.Configuration(settings, configured.strategy, "lower")
    world.deliver(world.process, m.Reconfigured(1, changed, ()))


def test_a_budget_lowered_in_the_running_bot_restricts_the_very_next_decision() -> None:
    world = quoting(calm(variants={"loss_budget": "100"}))
    world.crowd_acts(world.now_ns + 20 * SECOND)
    assert world.driver.run_until(
        world.now_ns + 20 * SECOND, lambda: 5 <= shown(world).lost_cents < 50
    )
    lower(world, day_cents=Cents(shown(world).lost_cents + 1), reduced_pct=1, reduce_only_pct=2)
    world.driver.run_until(world.now_ns + SECOND // 10)
    assert world.process.trader.quoting.in_force.state.level >= TradingState.REDUCE_ONLY.level


def test_a_budget_lowered_below_its_use_latches_the_running_bot() -> None:
    world = quoting(calm(variants={"loss_budget": "100"}))
    world.crowd_acts(world.now_ns + 20 * SECOND)
    assert world.driver.run_until(
        world.now_ns + 20 * SECOND, lambda: 5 <= shown(world).lost_cents < 50
    )
    lower(world, day_cents=Cents(1))
    world.driver.run_until(world.now_ns + 2 * SECOND)
    assert world.process.trader.guard.latched.startswith("lost $0.")


def test_the_journal_of_a_run_with_a_budget_replays_without_a_difference(
    killed: SimulatedWorld,
) -> None:
    assert_replayed(killed)
