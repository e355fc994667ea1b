"""Claims about the whole shell in virtual time: many seeds of bad weather, and one seed twice."""

import httpx
import pytest

from tests.builders.shell.life import Life, Plan, assert_exact, live
from tests.builders.shell.weather import EPISODES, WIRE_FAULTS, Weather

SEEDS = 80
BLOCK = 10
TIMEOUTS = httpx.Timeout(connect=0.3, read=0.6, write=0.3, pool=0.3)


def lived(seed: int, weather: Weather) -> Life:
    return live(
        Plan(
            seed=seed,
            rungs=1 + seed % 3,
            faulty_s=2.0,
            calm_s=weather.calm_s,
            act=weather.act,
            timeouts=TIMEOUTS,
        )
    )


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_in_every_weather_the_shell_loses_nothing_and_ends_well(first):
    for seed in range(first, first + BLOCK):
        assert_exact(lived(seed, Weather(seed)))


@pytest.mark.parametrize("seed", [1, 11, 23])
def test_one_seed_gives_the_same_log_twice(seed):
    first, second = lived(seed, Weather(seed)), lived(seed, Weather(seed))
    assert first.loop.steps == second.loop.steps
    assert first.entries == second.entries


def test_another_schedule_of_the_same_world_gives_another_log():
    assert lived(1, Weather(1)).entries != lived(2, Weather(1)).entries


def test_the_seeds_have_every_kind_of_weather():
    names = [name for seed in range(SEEDS) for name in Weather(seed).drawn]
    for name in (*WIRE_FAULTS, *EPISODES):
        assert names.count(name) >= 8, name
    assert any(not Weather(seed).drawn for seed in range(SEEDS))
