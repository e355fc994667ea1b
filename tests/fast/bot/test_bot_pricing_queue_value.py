"""The value of a queue position for strategies, and the rates of a touch."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.strategy.api import Print
from bot.strategy.pricing.queue_value import QueueRates, TouchRates, fill_chance, queue_value
from tests.builders.bot.planned import ASK, BID
from venue.wire.money import BookSide, Price, Qty

EXAMPLE = QueueRates(1.0, 0.02, 0.05, 0.05)


def recursive_value(ahead: int, rates: QueueRates, edge: float, loss: float) -> float:
    """The recursion from the front of the queue backward, step by step."""
    alpha = beta = 0.0
    for q in range(ahead + 1):
        served = rates.trades_per_s + q * rates.cancels_per_s
        total = served + rates.away_per_s + rates.through_per_s
        alpha = served / total * (alpha if q else 1.0)
        beta = (rates.through_per_s + served * (beta if q else 0.0)) / total
    return alpha * edge - beta * (loss - edge)


@pytest.mark.parametrize(("ahead", "worth"), [(0, 0.43), (5, 0.18), (20, -0.11), (80, -0.24)])
def test_the_queue_value_equals_the_published_figures(ahead: int, worth: float) -> None:
    assert queue_value(ahead, EXAMPLE, 0.5, 1.0) == pytest.approx(worth, abs=0.005)


@example(0, 17.0, 1.192092896e-07, 1.0, 2.0, 0.0, 2.0)
@given(
    st.integers(0, 300),
    st.floats(0.001, 50),
    st.floats(0, 2),
    st.floats(0.001, 2),
    st.floats(0.001, 2),
    st.floats(-1, 3),
    st.floats(0, 5),
)
def test_the_closed_form_equals_the_recursion(
    ahead, trades, cancels, away, through, edge, loss
) -> None:
    rates = QueueRates(trades, cancels, away, through)
    assert queue_value(ahead, rates, edge, loss) == pytest.approx(
        recursive_value(ahead, rates, edge, loss), abs=1e-6
    )


@pytest.mark.parametrize("ahead", [0, 5, 20, 80])
def test_the_queue_value_equals_a_simulation(ahead: int) -> None:
    paths = 40_000
    random = np.random.default_rng(7)
    before = np.full(paths, ahead)
    worth = np.zeros(paths)
    alive = np.ones(paths, dtype=bool)
    while alive.any():
        at = before[alive]
        served = EXAMPLE.trades_per_s + at * EXAMPLE.cancels_per_s
        total = served + EXAMPLE.away_per_s + EXAMPLE.through_per_s
        drawn = random.random(len(at)) * total
        moved, run_over = drawn >= served, drawn >= served + EXAMPLE.away_per_s
        filled = ~moved & (at == 0)
        index = np.flatnonzero(alive)
        worth[index[filled]] = 0.5
        worth[index[run_over]] = 0.5 - 1.0
        before[index] -= 1
        alive[index[moved | filled]] = False
    error = worth.std() / np.sqrt(paths)
    assert abs(worth.mean() - queue_value(ahead, EXAMPLE, 0.5, 1.0)) < 4 * error


@given(st.floats(0, 1_000), st.floats(0, 1_000))
def test_fewer_shares_ahead_are_never_worth_less(one: float, other: float) -> None:
    near, far = sorted((one, other))
    assert queue_value(near, EXAMPLE, 0.5, 1.0) >= queue_value(far, EXAMPLE, 0.5, 1.0) - 1e-9


@pytest.mark.parametrize(
    ("rates", "chance"),
    [
        (QueueRates(1.0, 0.1, 0.0, 0.0), 1.0),
        (QueueRates(0.0, 0.1, 0.1, 0.1), 0.0),
        (QueueRates(1.0, 0.0, 0.5, 0.5), 0.5**4),
        (QueueRates(1.0, 1e-12, 0.5, 0.5), 0.5**4),
    ],
    ids=["it never moves", "nothing trades", "nobody cancels", "hardly anybody cancels"],
)
def test_the_fill_probability_in_extreme_cases(rates: QueueRates, chance: float) -> None:
    assert fill_chance(3, rates) == pytest.approx(chance)


def rates_of(side: BookSide = BID) -> TouchRates:
    return TouchRates(side, EXAMPLE, prior_s=1e-9, half_life_s=1e9)


def traded(qty: int, taker: BookSide) -> tuple[Print, ...]:
    return (Print(Price(50), Qty(qty), taker, 0.0),)


def test_the_initial_rates_are_the_prior() -> None:
    assert TouchRates(BID, EXAMPLE, 60.0, 600.0).current() == EXAMPLE


def test_only_trades_against_the_side_count() -> None:
    bids, asks = rates_of(BID), rates_of(ASK)
    for each in (bids, asks):
        each.on_view(((Price(50), Qty(40)),), (), 0.0)
        each.on_view(((Price(50), Qty(40)),), traded(20, ASK), 10.0)
    assert bids.current().trades_per_s == pytest.approx(2.0)
    assert asks.current().trades_per_s == pytest.approx(0.0, abs=1e-6)


def test_a_drop_beyond_the_trades_counts_as_cancels() -> None:
    rates = rates_of()
    rates.on_view(((Price(50), Qty(40)),), (), 0.0)
    rates.on_view(((Price(50), Qty(10)),), traded(20, ASK), 10.0)
    assert rates.current().cancels_per_s == pytest.approx(10 / 400)


@pytest.mark.parametrize(
    ("side", "later", "away", "through"),
    [(BID, 51, 0.1, 0.0), (BID, 49, 0.0, 0.1), (ASK, 49, 0.1, 0.0), (ASK, 51, 0.0, 0.1)],
)
def test_a_touch_that_improves_moved_away_and_one_that_falls_back_traded_through(
    side, later, away, through
) -> None:
    rates = rates_of(side)
    rates.on_view(((Price(50), Qty(40)),), (), 0.0)
    rates.on_view(((Price(later), Qty(40)),), (), 10.0)
    assert rates.current().away_per_s == pytest.approx(away, abs=1e-6)
    assert rates.current().through_per_s == pytest.approx(through, abs=1e-6)


def test_an_empty_side_changes_no_rate() -> None:
    rates = rates_of()
    rates.on_view(((Price(50), Qty(40)),), (), 0.0)
    rates.on_view((), (), 10.0)
    rates.on_view(((Price(30), Qty(40)),), (), 20.0)
    assert rates.current().through_per_s == pytest.approx(0.0, abs=1e-6)


def test_observations_decay_by_half_in_a_half_life() -> None:
    rates = TouchRates(BID, EXAMPLE, prior_s=100.0, half_life_s=10.0)
    rates.on_view(((Price(50), Qty(40)),), (), 0.0)
    rates.on_view(((Price(50), Qty(40)),), traded(1_000, ASK), 0.0)
    rates.on_view(((Price(50), Qty(40)),), (), 10.0)
    assert rates.current().trades_per_s == pytest.approx((500 + 100) / (10 + 100))
