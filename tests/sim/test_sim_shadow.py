"""Claims about candidates in the simulator: nothing live changes, and all of it replays."""

import functools
from dataclasses import replace
from pathlib import Path

import pytest

from bot.core import messages as m
from bot.core.settings import Candidate
from bot.core.trader import Trader
from bot.io.settings.plugins import find_strategy
from bot.lab.shadow.shadow import shadow_of
from bot.lab.sim.life import process
from bot.lab.sim.life.configured import make_strategy
from bot.lab.sim.odds import Odds, draw
from bot.lab.sim.run import Patch, run
from bot.lab.sim.world import World

FIXED_SPREAD = find_strategy("fixed_spread", Path())


class Fails(FIXED_SPREAD):
    """A candidate that fails at once."""

    def quote(self, view):
        raise ValueError("a candidate that fails")


def drawn(seed: int, profile: str) -> Odds:
    """The odds of a seed. A strategy that quotes around the value of each rung and little else: so
    what a candidate holds does not part it from the live one."""
    return replace(draw(seed, profile), strategy="fixed_spread")


def shadowed(odds: Odds) -> Patch:
    """Every trader of the world has the live strategy beside itself, and one that fails."""
    candidates = [
        Candidate("same", odds.strategy, lambda: make_strategy(odds)),
        Candidate("fails", "fails", lambda: Fails(Fails.Params())),
    ]
    return Patch(process, "Trader", functools.partial(Trader, make_shadow=shadow_of(candidates)))


def live_log(world: World) -> list[tuple]:
    """Everything that a world saw and did, but for what was noted of the candidates."""
    return [
        (event, at_ns, [each for each in effects if not of_shadow(each)])
        for life in world.lives
        for event, at_ns, effects in life.log
    ]


def of_shadow(effect: m.Effect) -> bool:
    return isinstance(effect, m.Noted) and effect.name.startswith("shadow_")


@functools.cache
def beside(seed: int, profile: str) -> World:
    """The world of a seed with candidates, its lives replayed."""
    odds = drawn(seed, profile)
    return run(odds, [shadowed(odds)], replays=True)


@pytest.mark.parametrize(("seed", "profile"), [(6, "calm"), (3, "swarm")])
def test_a_world_with_candidates_is_the_world_without_them_and_replays(seed, profile):
    world = beside(seed, profile)
    assert live_log(world) == live_log(run(drawn(seed, profile)))
    effects = [each for life in world.lives for _, _, effects in life.log for each in effects]
    told = {each.name for each in effects if isinstance(each, m.Noted)}
    assert {"shadow_quotes", "shadow_stopped"} <= told


def test_a_candidate_with_the_live_parameters_follows_the_live_one_through_the_crowd():
    (life,) = beside(6, "calm").lives
    report = life.trader.report(life.trader._now_ns)
    assert report.counters.fills > 0
    for shadow in report.shadows:
        if shadow.name == "same":
            assert shadow.decisions > 20
            assert shadow.same >= 0.9 * shadow.decisions
            assert shadow.profit.total.fills > 0
            assert shadow.profit.difference_millicents == 0
        else:
            assert shadow.stopped.startswith("test_sim_shadow.py:")
