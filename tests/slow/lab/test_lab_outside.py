"""Evaluated sources of values from outside: one knows the value, one claims more than it knows."""

import math

import numpy as np
import pytest

from bot.core import messages as m
from bot.lab.evaluate.compare import compare
from bot.lab.evaluate.entries import Contender, entries_named
from bot.lab.evaluate.outside import Advice
from bot.lab.evaluate.page import markdown
from bot.lab.evaluate.results import RunStore, Task, run_tasks, tasks_of
from bot.lab.evaluate.run import START_NS, RunMetrics
from bot.lab.evaluate.scenarios import START_DOLLARS, Scenario, TruePath
from tests.builders.house.tree import ROOT

pytestmark = pytest.mark.xdist_group("evaluate_outside")
WORLD = Scenario()
SMALL = Scenario(steps=24, rungs=3)


def errors(advice: Advice, seed: int = 3) -> tuple[float, list[m.OutsideValue]]:
    """The root mean square of log stated less log true value, and the statements."""
    path = TruePath(WORLD, seed)
    stated = list(advice.values(WORLD, seed, path, START_NS))
    off = [
        math.log(value.value / START_DOLLARS) - float(path.log_values[path.point(at_ns)])
        for at_ns, value in stated
    ]
    return float(np.sqrt(np.mean(np.square(off)))), [value for _, value in stated]


def test_a_source_that_knows_the_value_is_off_by_what_it_states():
    off, values = errors(Advice(knows=True, weight=1.0))
    assert off == pytest.approx(0.003, rel=0.1)
    assert {round(each.sd / each.value, 6) for each in values} == {0.003}


def test_a_source_that_is_noise_claims_as_much_and_is_off_by_seven_times_that():
    off, values = errors(Advice(knows=False, weight=1.0))
    assert off > 7 * 0.003
    assert {round(each.sd / each.value, 6) for each in values} == {0.003}


def test_the_statements_of_a_seed_are_the_same_whatever_the_weight():
    one, other = (errors(Advice(knows=True, weight=weight))[1] for weight in (1.0, 0.25))
    assert one == other


def test_the_key_of_a_run_names_its_source_from_outside():
    plain = Contender("a", "fixed_spread")
    keys = {
        Task(Contender("a", "fixed_spread", advice=advice), {}, SMALL, 1, ROOT).result_key
        for advice in (None, Advice(True, 1.0), Advice(True, 0.5), Advice(False, 1.0))
    }
    assert len(keys) == 4
    assert Task(plain, {}, SMALL, 1, ROOT).result_key in keys


def test_the_change_that_a_source_makes_is_paired_with_the_same_entry_without_it():
    pair = entries_named("ladder_joint:1.2,truth_100:1.2", baselines=False)
    store = RunStore(None, RunMetrics)
    seeds = range(1, 3)
    for _ in run_tasks(store, tasks_of(pair, (SMALL,), seeds, ROOT).values(), 1):
        pass
    found = compare(store, pair, (SMALL,), seeds, None, ROOT)
    (line,) = found.advice
    nets = {
        (task.entry.name, task.seed): store.results[key].net
        for key, task in tasks_of(pair, (SMALL,), seeds, ROOT).items()
    }
    changes = [
        (nets["truth_100_1.2", seed] - nets["ladder_joint_1.2", seed]) / 100 for seed in seeds
    ]
    assert line.profit.value == pytest.approx(np.mean(changes))
    assert line.weight == 1.0
    assert "### What a value from outside does" in markdown(found)
