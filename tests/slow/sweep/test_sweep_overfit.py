"""How much of the best is the number of trials: worked figures, noise, and merit."""

import math

import numpy as np
import pytest

from bot.lab.evaluate.statistics import best_by_chance, deflated, overfitting, probability_above


def by_mean(rows):
    return rows.mean(axis=-1)


def noise(trials, cases, seed=1):
    return np.random.default_rng(seed).normal(size=(trials, cases))


def test_the_deflated_ratio_reproduces_the_published_example():
    # Bailey and Lopez de Prado (2014): 100 trials with a variance of 1/2 a year, 1250 days, a best
    # of 2.5 a year, skewness -3, kurtosis 10.
    chance = best_by_chance(math.sqrt(0.5 / 250), 100)
    assert chance == pytest.approx(0.1132, abs=5e-5)
    found = probability_above(2.5 / math.sqrt(250), chance, 1250, -3, 10)
    assert found == pytest.approx(0.9004, abs=5e-5)


def test_the_best_by_chance_matches_simulated_trials():
    shown = [noise(50, 1, seed).max() for seed in range(2_000)]
    assert best_by_chance(1.0, 50) == pytest.approx(np.mean(shown), abs=0.05)


def test_more_trials_lower_the_deflated_probability():
    rows = noise(20, 60)
    rows[3] += 0.4
    few, many = (deflated(rows, 3, count) for count in (20, 2_000))
    assert few.probability > many.probability
    assert few.ratio == many.ratio


def test_a_single_trial_has_no_best_by_chance():
    assert best_by_chance(1.0, 1) == 0.0


@pytest.mark.parametrize("best", [[1.0, 1.0, 1.0], [1.0, 2.0]])
def test_constant_gains_or_two_cases_have_no_deflated_ratio(best):
    assert deflated(np.array([best, best[::-1]]), 0, 2) is None


def test_gains_that_differ_only_by_rounding_count_as_constant():
    base = np.array([1.37, 2.51, 4.03, 0.11, 7.77])
    gains = base + 0.1 - base
    assert gains.std() > 0
    assert deflated(np.array([gains, base]), 0, 2) is None


def test_noise_has_an_overfitting_probability_near_one_half():
    found = [overfitting(noise(20, 10, seed), by_mean).probability for seed in range(12)]
    assert 0.35 < np.mean(found) < 0.75


def test_a_consistent_gain_has_an_overfitting_probability_of_zero():
    rows = noise(10, 24)
    rows[4] += 5
    found = overfitting(rows, by_mean)
    assert (found.probability, found.blocks, found.splits) == (0.0, 12, 924)


def test_gains_that_reverse_between_halves_are_overfitting():
    halves = np.repeat([1.0, -1.0], 3)
    rows = np.array([halves, -halves, np.zeros(6)])
    found = overfitting(rows, by_mean)
    assert found.probability == 1.0
    assert found.lost > 0


@pytest.mark.parametrize("shape", [(1, 24), (5, 5)])
def test_too_few_trials_or_cases_give_no_overfitting_probability(shape):
    assert overfitting(noise(*shape), by_mean) is None
