"""The figures of hftbacktest's notebook, and the closed form against the exact solution."""

import math

import numpy as np
import pytest

from bot.strategy.pricing import glft


def test_half_spread_and_skew_equal_the_notebook_to_nine_decimals():
    gamma, amplitude, decay, volatility = 0.05, 2.986162360812285, 0.04235741115084049, 10.69
    terms = glft.coefficients(gamma, amplitude, decay, 1, gamma)
    assert abs(glft.half_spread(terms, volatility, 1) - 20.47208533844371) < 1e-9
    assert abs(glft.skew_per_share(terms, volatility) - 9.76326865029227) < 1e-9


def eigensystem(sigma, amplitude, decay, gamma, held_max):
    """Holdings, rates and eigenvectors of the value of holding q, which solves v' = M v with a
    tridiagonal M."""
    held = np.arange(-held_max, held_max + 1)
    eta = amplitude * (1 + gamma / decay) ** -(1 + decay / gamma)
    neighbours = np.eye(len(held), k=1) + np.eye(len(held), k=-1)
    risk = np.diag(decay / 2 * gamma * sigma**2 * held.astype(float) ** 2)
    return held, *np.linalg.eigh(risk - eta * neighbours)


def distances_of(values, decay, gamma):
    """ln(v_q / v_(q+1)) / k + ln(1 + gamma/k) / gamma for every holding."""
    return np.log(values[:-1] / values[1:]) / decay + math.log1p(gamma / decay) / gamma


def exact_bid_distances(sigma, amplitude, decay, gamma, held_max):
    """The best distance of the bid for every holding, far from the end: from the eigenvector of
    the smallest eigenvalue."""
    held, _, vectors = eigensystem(sigma, amplitude, decay, gamma, held_max)
    distances = distances_of(np.abs(vectors[:, 0]), decay, gamma)
    return dict(zip(held[:-1].tolist(), distances.tolist(), strict=True))


def closed_bid_distance(sigma, amplitude, decay, gamma, held):
    terms = glft.coefficients(gamma, amplitude, decay, 1, gamma)
    return glft.bid_distance(terms, sigma, 1, held)


@pytest.mark.parametrize(
    ("held", "exact", "closed"), [(-5, 2.9725, 2.9736), (0, 3.3130, 3.3129), (5, 3.6535, 3.6522)]
)
def test_bid_distances_equal_the_paper(held, exact, closed):
    distances = exact_bid_distances(0.3, 0.9, 0.3, 0.01, 30)
    assert distances[held] == pytest.approx(exact, abs=5.1e-5)
    assert closed_bid_distance(0.3, 0.9, 0.3, 0.01, held) == pytest.approx(closed, abs=5.1e-5)


def test_the_spread_equals_the_paper():
    terms = glft.coefficients(0.01, 0.9, 0.3, 1, 0.01)
    spread = glft.bid_distance(terms, 0.3, 1, 7) + glft.ask_distance(terms, 0.3, 1, 7)
    assert spread == pytest.approx(6.6258, abs=5e-5)
    assert spread == pytest.approx(2 * glft.half_spread(terms, 0.3, 1))


def test_the_exact_distance_is_stationary_at_600_seconds():
    gamma, decay, sigma, amplitude, most = 0.01, 0.3, 0.3, 0.9, 30
    _, rates, vectors = eigensystem(sigma, amplitude, decay, gamma, most)
    values = vectors @ (np.exp(-(rates - rates[0]) * 600) * vectors.sum(axis=0))
    distances = distances_of(values, decay, gamma)
    stationary = exact_bid_distances(sigma, amplitude, decay, gamma, most)
    for q in (-5, 0, 5):
        assert distances[q + most] == pytest.approx(stationary[q], abs=1e-6)


def test_the_closed_form_is_close_near_zero_inventory_and_poor_far_out():
    exact = exact_bid_distances(1.0, 0.2, 0.3, 0.01, 60)
    error = {q: abs(exact[q] - closed_bid_distance(1.0, 0.2, 0.3, 0.01, q)) for q in range(-20, 21)}
    assert 0.02 < max(error[q] for q in range(-5, 6)) < 0.03
    assert error[20] == pytest.approx(1.9, abs=0.05)


def test_coefficients_converge_to_the_limit_without_execution_risk():
    near = glft.coefficients(0.05, 0.02, 0.6, 10, 1e-9)
    limit = glft.coefficients(0.05, 0.02, 0.6, 10, 0.0)
    assert near.c1 == pytest.approx(limit.c1, rel=1e-7)
    assert near.c2 == pytest.approx(limit.c2, rel=1e-7)
    assert limit.c1 == 1 / 0.6
    assert limit.c2 == pytest.approx(math.sqrt(0.05 * math.e / (2 * 0.02 * 10 * 0.6)))
