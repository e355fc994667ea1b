"""Claims about the profiles of the fault model: each has its own faults, and B stops the bot."""

import pytest

from bot.core.inconsistency import Inconsistency
from bot.lab.sim.run import STOPPED, SURVIVED, run
from bot.lab.sim.scenario import CONTRADICTIONS, ROWS, VARIANTS, draw
from bot.lab.sim.truth import Broken
from tests.builders.io.commands import json_of

SEEDS = range(60)


@pytest.mark.parametrize("row", ROWS)
def test_each_fault_model_row_draws_exactly_its_own_faults(row):
    drawn = [draw(seed, row) for seed in SEEDS]
    faults = {name for odds in drawn for name in (*odds.rates, *odds.variants)}
    every = {name for other in ROWS.values() for name in other}
    assert faults & every == set(ROWS[row])
    assert faults - every <= set(VARIANTS)


def test_every_inconsistency_has_a_profile_without_other_faults():
    assert sorted(CONTRADICTIONS.values()) == sorted(Inconsistency)
    for profile in CONTRADICTIONS:
        assert not draw(1, profile).has_faults()
        assert not draw(1, profile).variants


@pytest.mark.parametrize("profile", CONTRADICTIONS)
def test_each_contradiction_profile_injects_its_contradiction(profile):
    try:
        world = run(draw(1, profile))
    except Broken as fault:
        world = fault.world
    assert world.contradictor.first_ns is not None


def test_simulate_reports_every_fault_model_row():
    found = json_of("simulate", "--fault-model", "--seeds", "1-1", "--b-seeds", "1")
    rows = {row["profile"]: row for row in found}
    assert tuple(rows) == (*SURVIVED, *STOPPED)
    assert all(row["seeds"] == 1 for row in rows.values())
    assert all(not rows[name]["broken"] for name in (*SURVIVED, "lag"))
