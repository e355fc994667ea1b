"""Claims about the alarm: it sounds when a rule is taken out, and its failures become small."""

from functools import cache

import pytest

from bot.core.orders.request_budget import RequestBudget
from bot.core.quoting.portfolio_risk import PortfolioRisk
from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.odds import draw, narrowed
from bot.lab.sim.run import Patch, planted, run
from bot.lab.sim.shrink import invariant_of, last_events, replay_command, shrink
from venue.wire.money import Qty


def unlimited(self, rung, wish, now_ns):
    """Every limit but the size of one order forgotten."""
    if rung.side_parked(wish.side, now_ns):
        return Qty(0)
    return Qty(min(wish.qty, self._limits.order_qty))


NO_LIMIT = Patch(PortfolioRisk, "admits_create", unlimited)
NO_PATIENCE = Patch(RequestBudget, "told_to_wait", lambda self, retry_after_ns, now_ns: None)


@cache
def first_break(patch: Patch, seeds: range) -> Broken:
    """The first failure of these seeds under a planted bug."""
    for seed in seeds:
        try:
            run(draw(seed), (patch,))
        except Broken as fault:
            return fault
    raise AssertionError(f"{patch.name} was not found")


@pytest.mark.parametrize(("patch", "invariant"), [(NO_LIMIT, "B3"), (NO_PATIENCE, "B5")])
def test_the_alarm_sounds_when_a_rule_is_taken_out(patch, invariant):
    assert invariant_of(first_break(patch, range(60))) == invariant


def test_a_planted_bug_is_gone_after_its_world():
    before = RequestBudget.told_to_wait
    with planted((NO_PATIENCE,)):
        assert RequestBudget.told_to_wait is NO_PATIENCE.value
    assert RequestBudget.told_to_wait is before


def test_a_failure_shows_its_last_two_hundred_events():
    fault = first_break(NO_LIMIT, range(60))
    lines = last_events(fault.world).splitlines()
    assert len(lines) == 200
    assert any("Send(" in line for line in lines)


def test_a_failure_is_made_smaller_and_stays_the_same_failure():
    fault = first_break(NO_LIMIT, range(60))
    odds = fault.world.odds
    steps = []
    smallest, still = shrink(odds, fault, steps.append, (NO_LIMIT,), runs_max=12)
    assert invariant_of(still) == "B3"
    assert smallest.without
    assert steps
    with pytest.raises(Broken):
        run(smallest, (NO_LIMIT,))


def test_the_replay_command_names_everything_that_was_narrowed():
    odds = narrowed(draw(5, "brutal"), without=("crash",), until_ns=3_200_000_000, rungs=(1,))
    words = "--seed 5 --profile brutal --without crash --until 3.2s --rungs 1"
    assert replay_command(odds) == f"bot simulate {words}"
    assert replay_command(draw(5)) == "bot simulate --seed 5"


def test_an_unknown_fault_cannot_be_left_out():
    with pytest.raises(ValueError, match="no fault"):
        narrowed(draw(0), without=("rain",))
