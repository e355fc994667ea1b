"""How much of the best is the number of trials: worked figures, noise, and merit."""

import math

import numpy as np
import pytest

from bot.lab.evaluate.statistics import best_by_chance, deflated, overfitting, probability_above


def by_mean(rows):
    """Score by the mean alone."""
    return rows.mean(axis=-1)


def noise(trials, cases, seed=1):
    """Results without merit."""
    return np.random.default_rng(seed).normal(size=(trials, cases))


def test_the_worked_figures_of_the_deflated_ratio_come_out():
    # Bailey and Lopez de Prado (2014): 100 trials with a variance of 1/2 a year, 1250 days, a best
    # of 2.5 a year, skewness -3, kurtosis 10.
    chance = best_by_chance(math.sqrt(0.5 / 250), 100)
    assert chance == pytest.approx(0.1132, abs=5e-5)
    found = probability_above(2.5 / math.sqrt(250), chance, 1250, -3, 10)
    assert found == pytest.approx(0.9004, abs=5e-5)


def test_what_the_best_shows_by_chance_is_what_simulated_trials_show():
    shown = [noise(50, 1, seed).max() for seed in range(2_000)]
    assert best_by_chance(1.0, 50) == pytest.approx(np.mean(shown), abs=0.05)


def test_more_trials_deflate_the_same_results_more():
    rows = noise(20, 60)
    rows[3] += 0.4
    few, many = (deflated(rows, 3, count) for count in (20, 2_000))
    assert few.probability > many.probability
    assert few.ratio == many.ratio


def test_a_single_trial_is_measured_against_nothing():
    assert best_by_chance(1.0, 1) == 0.0


@pytest.mark.parametrize("best", [[1.0, 1.0, 1.0], [1.0, 2.0]])
def test_nothing_is_said_where_nothing_varies_or_of_two_cases(best):
    assert deflated(np.array([best, best[::-1]]), 0, 2) is None


def test_gains_that_differ_by_rounding_alone_do_not_vary():
    base = np.array([1.37, 2.51, 4.03, 0.11, 7.77])
    gains = base + 0.1 - base
    assert gains.std() > 0
    assert deflated(np.array([gains, base]), 0, 2) is None


def test_the_best_of_noise_is_in_the_worse_half_elsewhere_about_as_often_as_not():
    found = [overfitting(noise(20, 10, seed), by_mean).probability for seed in range(12)]
    assert 0.35 < np.mean(found) < 0.75


def test_merit_that_is_there_in_every_case_is_never_called_overfitting():
    rows = noise(10, 24)
    rows[4] += 5
    found = overfitting(rows, by_mean)
    assert (found.probability, found.blocks, found.splits) == (0.0, 12, 924)


def test_what_gains_in_one_half_what_it_loses_in_the_other_is_called_overfitting():
    halves = np.repeat([1.0, -1.0], 3)
    rows = np.array([halves, -halves, np.zeros(6)])
    found = overfitting(rows, by_mean)
    assert found.probability == 1.0
    assert found.lost > 0


@pytest.mark.parametrize("shape", [(1, 24), (5, 5)])
def test_too_few_trials_or_cases_are_not_spoken_of(shape):
    assert overfitting(noise(*shape), by_mean) is None
