"""Reservation values: their closed forms, and the effect of more YES inventory."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.strategy.pricing.cara import cara_worth, tilted
from bot.strategy.pricing.probit import probit, slope
from bot.strategy.pricing.skew import (
    CURVE_STEP,
    Linear,
    Matrix,
    Rule,
    c_by_meaning,
    c_of_aversion,
    covariance,
    covariance_times,
    flow_of,
    local_matrix,
    root,
    time_factor,
)
from tests.builders.scale import cases

curves = st.lists(st.floats(0.005, 0.995), min_size=1, max_size=12).map(
    lambda chances: sorted(chances, reverse=True)
)
alphas = st.sampled_from([0.0, 0.3, 0.5, 1.0])
rules = st.sampled_from([Rule.LOCAL, Rule.ERGODIC, Rule.QUAD])


def matrix_of(rule: Rule, chances: Sequence[float], alpha: float) -> Matrix:
    """What a linear rule multiplies the holdings by."""
    if rule is Rule.LOCAL:
        return local_matrix(chances, alpha)
    matrix = covariance(chances, alpha)
    return root(matrix) if rule is Rule.ERGODIC else matrix


def ergodic_matrix(covariance_rate: Matrix, flows: Sequence[float]) -> Matrix:
    """G = D^-1/2 (D^1/2 V D^1/2)^1/2 D^-1/2, the solution of G D G = V: the skew of rung values
    per unit of sqrt(gamma).

    covariance_rate: V, cents squared per second. flows: D's diagonal, each above 0 (`flow_of`).
    """
    roots = np.sqrt(np.array(flows, dtype=float))
    inner = root(covariance_rate * np.outer(roots, roots))
    found: Matrix = inner / np.outer(roots, roots)
    return found


def held_of(data: st.DataObject, count: int) -> list[int]:
    return data.draw(st.lists(st.integers(-500, 500), min_size=count, max_size=count))


def test_the_covariance_is_that_of_the_outcomes_by_enumeration():
    chances, masses = [0.8, 0.5, 0.1], [0.2, 0.3, 0.4, 0.1]
    found = covariance(chances)
    for i, j in itertools.product(range(3), repeat=2):
        both = sum(m for bucket, m in enumerate(masses) if i < bucket and j < bucket)
        assert found[i, j] == pytest.approx(both - chances[i] * chances[j])


@settings(deadline=None)
@given(curves, alphas)
def test_no_portfolio_has_a_negative_variance(chances, alpha):
    assert np.linalg.eigvalsh(covariance(chances, alpha)).min() > -1e-12


@settings(deadline=None)
@given(curves, alphas)
def test_the_root_squared_is_the_covariance(chances, alpha):
    matrix = covariance(chances, alpha)
    found = root(matrix)
    assert np.allclose(found @ found, matrix, atol=1e-9)
    assert np.allclose(found, found.T)


@settings(deadline=None)
@given(curves, alphas, st.data())
def test_covariance_times_equals_the_matrix_product(chances, alpha, data):
    held = held_of(data, len(chances))
    by_matrix = covariance(chances, alpha) @ np.array(held, dtype=float)
    assert covariance_times(chances, held, alpha) == pytest.approx(by_matrix.tolist(), abs=1e-9)


def test_one_asset_has_the_skew_of_gueant_lehalle_and_fernandez_tapia():
    # r moves by sqrt(gamma sigma^2 e / (2 z A k)) a share held.
    gamma, sigma, lot, a, k = 0.01, 0.3, 1.0, 0.9, 0.3
    matrix = ergodic_matrix(np.array([[sigma**2]]), [flow_of(lot, a, k)])
    published = math.sqrt(gamma * sigma**2 * math.e / (2 * lot * a * k))
    assert math.sqrt(gamma) * matrix[0, 0] == pytest.approx(published, rel=1e-12)


@settings(deadline=None)
@given(curves, st.data())
def test_the_ergodic_matrix_solves_its_equation(chances, data):
    count = len(chances)
    flows = data.draw(st.lists(st.floats(0.01, 10), min_size=count, max_size=count))
    rate = 1e4 * covariance(chances) / 86_400
    found = ergodic_matrix(rate, flows)
    assert np.allclose(found @ np.diag(flows) @ found, rate, atol=1e-9)


def test_with_equal_flows_the_exact_form_is_a_multiple_of_the_root():
    chances, gamma, horizon_s = [0.8, 0.55, 0.2], 1e-4, 5 * 86_400.0
    flow = flow_of(10, 0.02, 0.6)
    rate = 1e4 * covariance(chances) / horizon_s
    exact = math.sqrt(gamma) * ergodic_matrix(rate, [flow] * 3)
    c = c_of_aversion(Rule.ERGODIC, gamma, flow, horizon_s)
    assert c is not None
    assert np.allclose(exact, c * root(covariance(chances)), rtol=1e-9)


@settings(deadline=None)
@given(curves)
def test_the_local_rule_couples_rungs_by_the_correlation_of_their_payoffs(chances):
    matrix = local_matrix(chances)
    slopes = np.array([slope(probit(100 * chance)) / slope(0.0) for chance in chances])
    root_of_ties = matrix / np.outer(slopes, slopes)
    joint = covariance(chances)
    sds = np.sqrt(np.diag(joint))
    assert np.allclose(root_of_ties @ root_of_ties, joint / np.outer(sds, sds), atol=1e-9)
    alone = local_matrix(chances, alpha=0.0)
    assert np.allclose(alone, np.diag(slopes**2), atol=1e-9)


def test_the_local_rule_is_exact_for_moves_and_flows_by_slope():
    chances, gamma, horizon_s = [0.8, 0.55, 0.2], 1e-4, 5 * 86_400.0
    slopes = np.array([slope(probit(100 * chance)) for chance in chances])
    joint = covariance(chances)
    sds = np.sqrt(np.diag(joint))
    rate = joint / np.outer(sds, sds) * np.outer(slopes, slopes) / horizon_s
    flow = flow_of(10, 0.02, 0.6)
    flows = flow * (slope(0.0) / slopes) ** 2
    exact = math.sqrt(gamma) * ergodic_matrix(rate, flows.tolist())
    c = c_of_aversion(Rule.LOCAL, gamma, flow, horizon_s)
    assert c is not None
    assert np.allclose(exact, c * local_matrix(chances), rtol=1e-9)


@pytest.mark.parametrize("rule", Rule)
def test_q_half_lots_of_a_50_cent_rung_move_it_by_the_half_spread(rule):
    c = c_by_meaning(rule, 2.0, 10, 7)
    if rule is Rule.CARA:
        # Exactly so for few shares: the tilt bends as they grow.
        moved = 100 * (0.5 - tilted([0.5], [0.07], c)[0])
        assert 1_000 * moved == pytest.approx(2.0, rel=1e-3)
    elif rule is Rule.QUAD:
        assert c * covariance([0.5])[0, 0] * 70 == pytest.approx(2.0)
    else:
        chances = [0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
        assert c * matrix_of(rule, chances, 1.0)[3, 3] * 70 == pytest.approx(2.0, rel=0.1)


def test_cara_equals_quad_for_small_inventory():
    chances, held, c = [0.8, 0.5, 0.2], [3.0, -2.0, 1.0], 0.01
    exact = [100 * (s - t) for s, t in zip(chances, tilted(chances, held, c), strict=True)]
    linear = [c * moved for moved in covariance_times(chances, held)]
    assert exact == pytest.approx(linear, rel=0.02)


@given(st.floats(0.02, 0.98), st.floats(0.001, 0.2), st.integers(-300, 300), st.integers(1, 50))
def test_a_cara_order_at_its_worth_leaves_exponential_utility_unchanged(chance, c, held, size):
    gamma = c / 1e4
    (value,) = tilted([chance], [held], c)
    for sign in (1, -1):
        paid = cara_worth(100 * value, sign, c, 0, size)
        wealth = [sign * size * -paid, sign * size * (100 - paid)]
        before = (1 - chance) + chance * math.exp(-gamma * 100 * held)
        after = (1 - chance) * math.exp(-gamma * wealth[0])
        after += chance * math.exp(-gamma * (100 * held + wealth[1]))
        assert after == pytest.approx(before, rel=1e-6)


@given(st.floats(0.02, 0.98), st.floats(0.001, 0.2), st.integers(1, 50), st.integers(1, 50))
def test_a_second_cara_order_is_worth_the_same_once_the_first_has_filled(chance, c, first, second):
    for sign in (1, -1):
        (after,) = tilted([chance], [sign * first], c)
        behind = cara_worth(100 * chance, sign, c, first, second)
        assert behind == pytest.approx(cara_worth(100 * after, sign, c, 0, second), abs=1e-4)


@settings(deadline=None)
@given(curves, st.floats(0.001, 5), st.data())
def test_cara_values_fall_with_the_strike_and_stay_within_0_and_100(chances, c, data):
    held = data.draw(
        st.lists(st.integers(-100_000, 100_000), min_size=len(chances), max_size=len(chances))
    )
    size = data.draw(st.integers(1, 1_000))
    values = [100 * chance for chance in tilted(chances, held, c)]
    assert values == sorted(values, reverse=True)
    for sign in (1, -1):
        worths = [cara_worth(value, sign, c, 0, size) for value in values]
        assert all(0 < worth < 100 for worth in worths)
        assert all(low >= high - 1e-9 for low, high in itertools.pairwise(worths))
    assert all(
        cara_worth(value, 1, c, 0, size) <= cara_worth(value, -1, c, 0, size) for value in values
    )


@pytest.mark.parametrize(
    ("left_s", "full_s", "factor"),
    [(100.0, 0.0, 1.0), (100.0, 100.0, 1.0), (25.0, 100.0, 2.0), (1.0, 1e6, 4.0), (0.0, 1.0, 4.0)],
)
def test_less_time_left_skews_more_by_the_root_up_to_four_times(left_s, full_s, factor):
    assert time_factor(left_s, full_s) == factor


@settings(deadline=None)
@given(curves, rules, alphas, st.data())
def test_linear_shifts_equal_the_matrix_product(chances, rule, alpha, data):
    held = held_of(data, len(chances))
    linear = Linear(rule, alpha)
    assert linear.update_curve(chances)
    matrix = matrix_of(rule, chances, alpha)
    assert linear.shifts(held) == pytest.approx((matrix @ np.array(held)).tolist(), abs=1e-9)
    assert linear.diagonal == pytest.approx(matrix.diagonal().tolist())


def test_the_matrix_is_recomputed_once_a_value_has_moved_by_a_cent():
    linear = Linear(Rule.ERGODIC)
    assert linear.update_curve([0.7, 0.5, 0.3])
    assert not linear.update_curve([0.7, 0.5 + 0.9 * CURVE_STEP, 0.3])
    assert linear.update_curve([0.7, 0.5 + 1.1 * CURVE_STEP, 0.3])
    assert linear.update_curve([0.7, 0.5])


def random_curves(rng: np.random.Generator, count: int, rungs: int) -> Matrix:
    """Curves of one length: some smooth, some with rungs side by side, some near the edges."""
    masses = rng.gamma(rng.choice([0.05, 0.3, 1.0], size=(count, 1)), size=(count, rungs + 1))
    masses += 1e-6
    masses /= masses.sum(axis=1, keepdims=True)
    found: Matrix = 1 - np.cumsum(masses, axis=1)[:, :-1]
    return found


def roots_of(joint: Matrix, alpha: float) -> Matrix:
    joint = alpha * joint + (1 - alpha) * joint * np.eye(joint.shape[1])
    values, vectors = np.linalg.eigh(joint)
    scaled = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
    found: Matrix = scaled @ np.swapaxes(vectors, 1, 2)
    return found


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_more_yes_inventory_raises_no_value_under_the_linear_rules(alpha):
    """No entry of a covariance or of its root is negative."""
    rng = np.random.default_rng(5)
    left = cases(1_000_000, quick=20_000)
    while left > 0:
        count = min(left, 5_000)
        curve = random_curves(rng, count, int(rng.integers(1, 13)))
        left -= count
        low, high = curve[:, :, None], curve[:, None, :]
        joint = np.minimum(low, high) * (1 - np.maximum(low, high))
        assert (joint >= 0).all()
        assert roots_of(joint, alpha).min() > -1e-9
        logits = np.log(curve / (1 - curve))
        ties = np.exp(-0.5 * np.abs(logits[:, :, None] - logits[:, None, :]))
        assert roots_of(ties, alpha).min() > -1e-9


def test_more_yes_inventory_raises_no_value_under_cara():
    rng = np.random.default_rng(6)
    left = cases(1_000_000, quick=100_000)
    while left > 0:
        count = min(left, 50_000)
        rungs = int(rng.integers(1, 13))
        curve = random_curves(rng, count, rungs)
        held = rng.integers(-500, 500, (count, rungs)).astype(float)
        more = held.copy()
        more[np.arange(count), rng.integers(0, rungs, count)] += rng.integers(1, 500, count)
        left -= count
        before, after = (tilts(curve, shares, 0.05) for shares in (held, more))
        assert (after <= before + 1e-9).all()


def tilts(curve: Matrix, held: Matrix, c: float) -> Matrix:
    """`tilted` for many curves at once; the two are compared below."""
    edges = np.concatenate([np.ones((len(curve), 1)), curve, np.zeros((len(curve), 1))], axis=1)
    won = np.concatenate([np.zeros((len(curve), 1)), np.cumsum(held, axis=1)], axis=1)
    logs = np.log(np.maximum(edges[:, :-1] - edges[:, 1:], 1e-9)) - c / 100 * won
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    above = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    found: Matrix = above[:, 1:] / above[:, :1]
    return found


def test_vectorised_tilts_equal_single_tilts():
    rng = np.random.default_rng(7)
    curve = random_curves(rng, 200, 6)
    held = rng.integers(-200, 200, (200, 6)).astype(float)
    many = tilts(curve, held, 0.05)
    for row, chances, shares in zip(many, curve, held, strict=True):
        assert tilted(chances.tolist(), shares.tolist(), 0.05) == pytest.approx(
            row.tolist(), abs=1e-8
        )
