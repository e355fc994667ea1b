"""Claims about the whole shell in virtual time: many seeds of faults, and one seed twice."""

import pytest

from tests.builders.shell.life import assert_exact
from tests.builders.shell.weather import EPISODES, WIRE_FAULTS, Weather, weathered

SEEDS = 80
BLOCK = 10


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_the_shell_loses_nothing_under_every_seed_of_faults(first):
    for seed in range(first, first + BLOCK):
        assert_exact(weathered(seed, Weather(seed)))


@pytest.mark.parametrize("seed", [1, 11, 23])
def test_one_seed_gives_the_same_journal_twice(seed):
    first, second = weathered(seed, Weather(seed)), weathered(seed, Weather(seed))
    assert first.loop.steps == second.loop.steps
    assert first.entries == second.entries


def test_another_seed_of_the_schedule_gives_another_journal():
    assert weathered(1, Weather(1)).entries != weathered(2, Weather(1)).entries


def test_the_seeds_draw_every_kind_of_fault():
    names = [name for seed in range(SEEDS) for name in Weather(seed).drawn]
    for name in (*WIRE_FAULTS, *EPISODES):
        assert names.count(name) >= 8, name
    assert any(not Weather(seed).drawn for seed in range(SEEDS))
