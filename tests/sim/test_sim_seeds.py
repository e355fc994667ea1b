"""Claims about whole simulated lives: many seeds hold, every fault occurs, and the alarm works."""

import pytest

from bot.core import reconcile
from bot.core.quoting import Quoting
from bot.core.spend import Purse
from tests.sim import world
from tests.sim.audit import Broken
from tests.sim.odds import EPISODES, FRAME_FAULTS, REQUEST_FAULTS, draw
from venue.wire.money import Qty

SEEDS = 150
BLOCK = 15


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_every_invariant_holds_in_every_step_of_every_seed(first):
    for seed in range(first, first + BLOCK):
        lived = world.run(seed)
        assert lived.process.finished is not None


def test_a_seed_draws_the_same_world_twice():
    first, second = world.run(7), world.run(7)
    assert first.steps == second.steps
    assert first.auditor.truth == second.auditor.truth


def test_the_seeds_draw_every_fault_there_is():
    drawn = [draw(seed) for seed in range(SEEDS)]
    for name in REQUEST_FAULTS:
        assert any(name in odds.request_faults for odds in drawn)
    for name in FRAME_FAULTS:
        assert any(name in odds.frame_faults for odds in drawn)
    for name in EPISODES:
        assert any(name in odds.episodes for odds in drawn)
    assert any(not odds.request_faults and not odds.episodes for odds in drawn)


def first_break(seeds: range) -> str:
    """The first invariant that breaks in these seeds, empty when none does."""
    for seed in seeds:
        try:
            world.run(seed)
        except Broken as fault:
            return str(fault)
    return ""


PLANTED = [
    (Quoting, "admits_create", lambda self, rung, wish, now_ns: Qty(wish.qty), "B3"),
    (Purse, "told_to_wait", lambda self, retry_after_ns, now_ns: None, "B5"),
    (reconcile, "crosses", lambda side, price, orders: [], "B11"),
]


@pytest.mark.parametrize(("home", "name", "broken", "invariant"), PLANTED)
def test_the_alarm_sounds_when_a_rule_is_taken_out(monkeypatch, home, name, broken, invariant):
    monkeypatch.setattr(home, name, broken)
    assert f": {invariant}:" in first_break(range(60))
