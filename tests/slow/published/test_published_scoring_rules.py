"""Published numbers of market scoring rules, against the rule that is shipped.

Source: Hanson; Othman, Sandholm, Pennock, Reeves.
"""

import numpy as np
import pytest

from strategies.lmsr import cost, prior_masses, start_of

EIGHT = [0.0] * 8


def loss(sold, bucket=0):
    """Dollars lost if a bucket comes true of which so many shares were sold, b = 100."""
    owed = list(EIGHT)
    owed[bucket] = sold
    return sold - (cost(owed, 100.0) - cost(EIGHT, 100.0))


def test_the_loss_of_one_outcome_is_207_87_below_its_bound_of_207_94():
    assert loss(920.0) == pytest.approx(207.87, abs=0.005)
    assert 100 * np.log(8) == pytest.approx(207.94, abs=0.005)


def test_any_amount_bought_loses_at_most_b_ln_8():
    losses = [loss(sold) for sold in np.linspace(0, 20_000, 2_001)]
    assert losses == sorted(losses)
    assert losses[-1] <= 100 * np.log(8) + 1e-9


def test_any_path_of_trades_loses_at_most_b_ln_8():
    random = np.random.default_rng(3)
    for _ in range(200):
        owed = random.normal(0, 300, 8).cumsum().tolist()
        paid = cost(owed, 100.0) - cost(EIGHT, 100.0)
        assert max(owed) - paid <= 100 * np.log(8) + 1e-9


def price_sum(owed, alpha):
    """What one more share of every bucket costs together, each alone, dollars."""
    step = 1e-5 * sum(owed)
    return sum(
        (
            cost([each + step * (at == bucket) for at, each in enumerate(owed)], 1.0, alpha)
            - cost(owed, 1.0, alpha)
        )
        / step
        for bucket in range(len(owed))
    )


def test_liquidity_sensitive_prices_sum_to_at_most_1_8318():
    bound = 1 + 0.05 * 8 * np.log(8)
    assert bound == pytest.approx(1.8318, abs=5e-5)
    assert price_sum([100.0] * 8, 0.05) == pytest.approx(bound, abs=1e-3)
    random = np.random.default_rng(5)
    for _ in range(300):
        sums = price_sum(random.uniform(0, 1, 8).tolist(), 0.05)
        assert 1 - 1e-3 <= sums <= bound + 1e-3


def test_plain_prices_sum_to_one():
    owed = [3.0, -20.0, 7.0, 0.0]
    step = 1e-5
    moved = [
        cost([each + step * (at == bucket) for at, each in enumerate(owed)], 50.0)
        for bucket in range(4)
    ]
    assert sum(each - cost(owed, 50.0) for each in moved) / step == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_the_first_prices_are_the_prior_plus_alpha_times_its_entropy(alpha):
    masses = np.array(prior_masses([0.9, 0.6, 0.5, 0.2], 0.005))
    owed = start_of(masses.tolist(), 50.0, alpha)
    step = 1e-6
    first = cost(owed, 50.0, alpha)
    prices = [
        (cost([each + step * (at == bucket) for at, each in enumerate(owed)], 50.0, alpha) - first)
        / step
        for bucket in range(5)
    ]
    entropy = -float((masses * np.log(masses)).sum())
    assert prices == pytest.approx(masses + alpha * entropy, abs=1e-6)
