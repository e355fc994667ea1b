"""The worlds: named, seeded, the same for every strategy, worth what they pay on average."""

import hashlib
import math
import os
import subprocess
import sys
from functools import cache
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt
import pytest

from bot.lab.evaluate.run import run_strategy
from bot.lab.evaluate.scenarios import (
    GRID,
    NATURE,
    PAYOUT_MC,
    Act,
    Informed,
    Noise,
    Scenario,
    TakerMix,
    TruePath,
    draw,
    grid,
    sized,
    stream,
    worlds_named,
)
from bot.strategy.api import EventView, Quotes, Strategy
from strategies.fixed_spread import FixedSpread

SMALL = Scenario(steps=60, rungs=4)
SHORT: Final = sized(SMALL, 40)

_PRINT_DIGEST = """
import hashlib
from bot.lab.evaluate.scenarios import draw
from bot.lab.evaluate.run import run_strategy
from bot.lab.evaluate.scenarios import Scenario
from strategies.fixed_spread import FixedSpread
draws = draw(Scenario(steps=40, rungs=3), 5)
came = run_strategy(Scenario(steps=40, rungs=3), draws, lambda: FixedSpread(FixedSpread.Params()))
print(hashlib.blake2b(repr((draws.acts, draws.stalls, came)).encode()).hexdigest())
"""


class Idle(Strategy):
    name = "idle"

    def quote(self, view: EventView) -> Quotes:
        return {}


def _counted(world: Scenario, kind: type[Act]) -> int:
    return sum(type(act) is kind for _, act in draw(world, 1).acts)


def test_the_grid_has_every_world_once_and_the_base_worlds_first() -> None:
    names = [world.name for world in grid()]
    assert len(set(names)) == len(names) == 2 * 3 * 2 * 2
    assert names[:2] == ["independent-base", "theme-base"]
    assert "theme-toxic-fees4x-latency10x" in names


def test_worlds_are_found_by_name_and_unknown_names_rejected() -> None:
    found = worlds_named("base,theme-thin")
    assert [world.name for world in found] == ["independent-base", "theme-base", "theme-thin"]
    with pytest.raises(ValueError, match="no world 'mars'"):
        worlds_named("mars")


def test_a_world_is_the_same_under_every_hash_seed() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_DIGEST],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "12345")
    }
    assert len(digests) == 1


def test_random_streams_depend_only_on_seed_and_name() -> None:
    assert stream(7, "noise").random() == stream(7, "noise").random()
    assert stream(7, "noise").random() != stream(7, "mood").random()
    assert stream(7, "noise").random() != stream(8, "noise").random()


def test_every_strategy_meets_the_same_values_and_takers() -> None:
    before = hashlib.blake2b(repr(draw(SMALL, 3)[1:]).encode()).hexdigest()
    draws = draw(SMALL, 3)
    quoting = run_strategy(SMALL, draws, lambda: FixedSpread(FixedSpread.Params()))
    idle = run_strategy(SMALL, draws, lambda: Idle(Idle.Params()))
    assert hashlib.blake2b(repr(draws[1:]).encode()).hexdigest() == before
    assert quoting.fills > 0
    assert idle.fills == idle.net == 0


def test_a_theme_changes_only_the_side_of_takers() -> None:
    plain, themed = draw(SMALL, 4), draw(Scenario(steps=60, rungs=4, theme=True), 4)
    assert plain.true_path.fair_mc == themed.true_path.fair_mc
    assert [at for at, _ in plain.acts] == [at for at, _ in themed.acts]
    sides = [
        (one.buys, other.buys)
        for (_, one), (_, other) in zip(plain.acts, themed.acts, strict=True)
        if isinstance(one, Noise) and isinstance(other, Noise)
    ]
    assert any(one != other for one, other in sides)


def test_a_thin_world_has_less_noise_and_a_toxic_one_more_informed_takers() -> None:
    base, thin = Scenario(), Scenario(flow=TakerMix.THIN)
    assert 0.2 < _counted(thin, Noise) / _counted(base, Noise) < 0.4
    assert _counted(Scenario(flow=TakerMix.TOXIC), Informed) > 3 * _counted(base, Informed)


def test_fair_values_fall_with_the_strike_and_end_at_the_payout() -> None:
    true_path = TruePath(SMALL, 9)
    for fairs in true_path.fair_mc:
        assert list(fairs) == sorted(fairs, reverse=True)
    assert set(true_path.fair_mc[-1]) <= {0, PAYOUT_MC}
    assert [fair == PAYOUT_MC for fair in true_path.fair_mc[-1]] == list(true_path.pays)


@cache
def short_lives() -> list[tuple[TruePath, npt.NDArray[np.float64]]]:
    """A thousand short lives, each with its fair values in cents, a row a point of the path."""
    lives = [TruePath(SHORT, seed) for seed in range(1, 1001)]
    return [(one, np.array(one.fair_mc) / 1000) for one in lives]


@pytest.mark.xdist_group("short lives")
def test_a_fair_value_is_the_mean_payout() -> None:
    lives = [fairs for _, fairs in short_lives()]
    for rung in range(SHORT.rungs):
        for point in (0, 80, 150):
            gains = [fairs[-1, rung] - fairs[point, rung] for fairs in lives]
            error = np.std(gains) / np.sqrt(len(gains))
            assert abs(np.mean(gains)) < 4 * error


def test_the_variance_of_the_next_move_matches_numeric_integration() -> None:
    world = sized(SMALL, 60)
    true_path = TruePath(world, 3)
    points = world.steps * GRID
    total_sd = math.sqrt(NATURE.diffusion_variance + NATURE.jumps * NATURE.jump_variance)
    strikes = [total_sd * NormalDist().inv_cdf((rung + 1) / 5) for rung in range(4)]
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights /= weights.sum()
    held = (30, -20, 0, 45)
    known = true_path.move_variances(np.tile(held, (points + 1, 1)))
    moved = NATURE.diffusion_variance * (1 - NATURE.resolved_later) / points
    for point in (0, 1, points // 2, points - 1, *(true_path.jump_points - 1)):
        jumps = [int((true_path.jump_points > at).sum()) for at in (point, point + 1)]
        left = NATURE.diffusion_variance - moved * (point + 1) + NATURE.jump_variance * jumps[1]
        step_sd = math.sqrt(moved + NATURE.jump_variance * (jumps[0] - jumps[1]))
        values = true_path.log_values[point] + step_sd * nodes
        worth = sum(
            qty * np.array([100 * NormalDist().cdf((x - k) / math.sqrt(left)) for x in values])
            for qty, k in zip(held, strikes, strict=True)
        )
        exact = float(weights @ worth**2 - (weights @ worth) ** 2)
        assert known[point] == pytest.approx(exact, rel=2e-4)


def test_before_resolution_the_variance_is_that_of_the_payouts() -> None:
    true_path = TruePath(SMALL, 3)
    fairs = [fair / 1000 for fair in true_path.fair_mc[-2]]
    held = (3, -2, 0, 5)
    # Outcomes by how many rungs pay, with what each is likely to.
    likely = -np.diff([100.0, *fairs, 0.0]) / 100
    paid = np.array([100 * sum(held[:rungs]) for rungs in range(5)])
    exact = float(likely @ paid**2 - (likely @ paid) ** 2)
    every = np.tile(held, (len(true_path.fair_mc) - 1, 1))
    assert true_path.move_variances(every)[-1] == pytest.approx(exact, rel=1e-6)


@pytest.mark.xdist_group("short lives")
def test_the_known_variance_of_inventory_is_its_mean_squared_gain() -> None:
    differences, beforehand = [], []
    for true_path, fairs in short_lives():
        moves = np.diff(fairs, axis=0)
        cheap = np.round(40 - fairs[:-1:20] / 2).astype(int)  # more of what is cheap
        held = np.repeat(cheap, 20, axis=0)[: len(moves)]
        gained, known = float((held * moves).sum()), float(true_path.move_variances(held).sum())
        differences.append(gained**2 - known)
        beforehand.append(known)
    error = np.std(differences) / np.sqrt(len(differences))
    assert abs(np.mean(differences)) < 4 * error < 0.25 * np.mean(beforehand)


@pytest.mark.xdist_group("short lives")
def test_inventory_has_no_expected_gain_for_any_past() -> None:
    lives = [fairs for _, fairs in short_lives()]
    holders = {
        "what rose": lambda before, now: now - before,
        "what is cheap": lambda _, now: 50 - now,
        "what is nearly decided": lambda _, now: (now > 80) * 1.0,
    }
    for held in holders.values():
        gains = [
            sum(
                float(held(fairs[point - 20], fairs[point]) @ (fairs[point + 20] - fairs[point]))
                for point in (20, 60, 100, 140)
            )
            for fairs in lives
        ]
        error = np.std(gains) / np.sqrt(len(gains))
        assert abs(np.mean(gains)) < 4 * error
