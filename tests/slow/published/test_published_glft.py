"""The figures of hftbacktest's notebook, and the closed form against the exact solution."""

import math

import numpy as np
import pytest

from bot.strategy.pricing import glft


def test_the_notebook_s_half_spread_and_skew_come_out_to_nine_places():
    gamma, amplitude, decay, volatility = 0.05, 2.986162360812285, 0.04235741115084049, 10.69
    terms = glft.coefficients(gamma, amplitude, decay, 1, gamma)
    assert abs(glft.half_spread(terms, volatility, 1) - 20.47208533844371) < 1e-9
    assert abs(glft.skew_per_share(terms, volatility) - 9.76326865029227) < 1e-9


def exact_bid_distances(sigma, amplitude, decay, gamma, held_max):
    """The best distance of the bid for every holding, far from the end.

    The value of holding q solves v' = M v with a tridiagonal M; far from the end it is the
    eigenvector of the smallest eigenvalue, and the distance of the bid the ratio of neighbours:
    ln(v_q / v_(q+1)) / k + ln(1 + gamma/k) / gamma.
    """
    held = np.arange(-held_max, held_max + 1)
    eta = amplitude * (1 + gamma / decay) ** -(1 + decay / gamma)
    beside = np.eye(len(held), k=1) + np.eye(len(held), k=-1)
    matrix = np.diag(decay / 2 * gamma * sigma**2 * held.astype(float) ** 2) - eta * beside
    _, vectors = np.linalg.eigh(matrix)
    lowest = np.abs(vectors[:, 0])
    apart = np.log(lowest[:-1] / lowest[1:]) / decay + math.log1p(gamma / decay) / gamma
    return dict(zip(held[:-1].tolist(), apart.tolist(), strict=True))


def closed_bid_distance(sigma, amplitude, decay, gamma, held):
    terms = glft.coefficients(gamma, amplitude, decay, 1, gamma)
    return glft.bid_distance(terms, sigma, 1, held)


@pytest.mark.parametrize(
    ("held", "exact", "closed"), [(-5, 2.9725, 2.9736), (0, 3.3130, 3.3129), (5, 3.6535, 3.6522)]
)
def test_the_distances_of_the_paper_s_parameters_come_out(held, exact, closed):
    distances = exact_bid_distances(0.3, 0.9, 0.3, 0.01, 30)
    assert distances[held] == pytest.approx(exact, abs=5.1e-5)
    assert closed_bid_distance(0.3, 0.9, 0.3, 0.01, held) == pytest.approx(closed, abs=5.1e-5)


def test_the_spread_of_the_paper_s_parameters_comes_out():
    terms = glft.coefficients(0.01, 0.9, 0.3, 1, 0.01)
    spread = glft.bid_distance(terms, 0.3, 1, 7) + glft.ask_distance(terms, 0.3, 1, 7)
    assert spread == pytest.approx(6.6258, abs=5e-5)
    assert spread == pytest.approx(2 * glft.half_spread(terms, 0.3, 1))


def test_the_exact_distance_is_the_same_at_the_paper_s_horizon_of_600_seconds():
    gamma, decay, sigma, amplitude, most = 0.01, 0.3, 0.3, 0.9, 30
    held = np.arange(-most, most + 1)
    eta = amplitude * (1 + gamma / decay) ** -(1 + decay / gamma)
    beside = np.eye(len(held), k=1) + np.eye(len(held), k=-1)
    matrix = np.diag(decay / 2 * gamma * sigma**2 * held.astype(float) ** 2) - eta * beside
    rates, vectors = np.linalg.eigh(matrix)
    start = vectors @ (np.exp(-(rates - rates[0]) * 600) * vectors.sum(axis=0))
    apart = np.log(start[:-1] / start[1:]) / decay + math.log1p(gamma / decay) / gamma
    stationary = exact_bid_distances(sigma, amplitude, decay, gamma, most)
    for q in (-5, 0, 5):
        assert apart[q + most] == pytest.approx(stationary[q], abs=1e-6)


def test_the_closed_form_is_good_near_no_holding_and_poor_far_out_where_moves_are_large():
    exact = exact_bid_distances(1.0, 0.2, 0.3, 0.01, 60)
    error = {q: abs(exact[q] - closed_bid_distance(1.0, 0.2, 0.3, 0.01, q)) for q in range(-20, 21)}
    assert 0.02 < max(error[q] for q in range(-5, 6)) < 0.03
    assert error[20] == pytest.approx(1.9, abs=0.05)


def test_the_limit_of_no_execution_risk_is_approached_from_above_zero():
    near = glft.coefficients(0.05, 0.02, 0.6, 10, 1e-9)
    limit = glft.coefficients(0.05, 0.02, 0.6, 10, 0.0)
    assert near.c1 == pytest.approx(limit.c1, rel=1e-7)
    assert near.c2 == pytest.approx(limit.c2, rel=1e-7)
    assert limit.c1 == 1 / 0.6
    assert limit.c2 == pytest.approx(math.sqrt(0.05 * math.e / (2 * 0.02 * 10 * 0.6)))
