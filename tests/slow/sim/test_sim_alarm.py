"""Claims about the alarm: it sounds when a rule is taken out, and its failures become small."""

from functools import cache

import pytest

from bot.core.orders.request_budget import RequestBudget
from bot.core.quoting.portfolio_risk import PortfolioRisk
from bot.lab.sim.run import last_events, replay_command, run, shrink
from bot.lab.sim.scenario import draw, narrowed
from bot.lab.sim.truth import Broken
from tests.mutants.bug import Patch, planted
from venue.wire.money import Qty


def unlimited(self, rung, wish, now_ns):
    """Every limit but the size of one order forgotten."""
    if rung.is_side_suspended(wish.book_side, now_ns):
        return Qty(0)
    return Qty(min(wish.qty, self._limits.order_qty))


NO_LIMIT = Patch(PortfolioRisk, "admits_create", unlimited)
NO_PATIENCE = Patch(RequestBudget, "told_to_wait", lambda self, retry_after_ns, now_ns: None)


SEEDS = {NO_LIMIT: 8, NO_PATIENCE: 5}
"""In which each is found soon."""


@cache
def break_of(patch: Patch) -> Broken:
    with planted((patch,)), pytest.raises(Broken) as fault:
        run(draw(SEEDS[patch]), replays=False)
    return fault.value


@pytest.mark.parametrize(("patch", "invariant"), [(NO_LIMIT, "B3"), (NO_PATIENCE, "B5")])
def test_the_simulator_detects_a_removed_rule(patch, invariant):
    assert break_of(patch).invariant == invariant


def test_a_failure_shows_its_last_two_hundred_events():
    fault = break_of(NO_LIMIT)
    lines = last_events(fault.world).splitlines()
    assert len(lines) == 200
    assert any("Send(" in line for line in lines)


def test_shrinking_a_failure_keeps_the_broken_invariant():
    fault = break_of(NO_LIMIT)
    odds = fault.world.scenario
    steps = []
    with planted((NO_LIMIT,)):
        smallest, still = shrink(odds, steps.append, runs_max=12)
    assert still.invariant == "B3"
    assert smallest.without
    assert steps


def test_the_replay_command_contains_every_narrowed_option():
    odds = narrowed(draw(5, "brutal"), without=("crash",), until_ns=3_200_000_000, rungs=(1,))
    words = "--seed 5 --profile brutal --without crash --until 3.2s --rungs 1"
    assert replay_command(odds) == f"bot simulate {words}"
    assert replay_command(draw(5)) == "bot simulate --seed 5"


def test_excluding_an_unknown_fault_is_rejected():
    with pytest.raises(ValueError, match="no fault"):
        narrowed(draw(0), without=("rain",))
