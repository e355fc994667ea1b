"""Expected profit and shortfall of an inventory, against a second account in whole percents."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.outcome_risk import risk_of, shortfall_cents
from tests.builders.bot.worlds import quoting
from venue.wire.money import Cents

OUTCOMES = st.lists(
    st.tuples(st.integers(-100_000, 100_000), st.integers(0, 100)), min_size=1, max_size=12
).filter(lambda outcomes: sum(weight for _, weight in outcomes) > 0)
"""Profit in cents and weight of each outcome."""


def with_chances(outcomes: list[tuple[int, int]]) -> list[tuple[int, float]]:
    total = sum(weight for _, weight in outcomes)
    return [(cents, weight / total) for cents, weight in outcomes]


@given(OUTCOMES, st.integers(0, 99))
def test_shortfall_is_the_mean_of_the_worst_of_equal_shares_of_chance(outcomes, level_pct):
    total = sum(weight for _, weight in outcomes)
    # Each outcome as 100 losses a unit of weight: the tail is a whole number of these.
    losses = sorted((-cents for cents, weight in outcomes for _ in range(weight)), reverse=True)
    tail = total * (100 - level_pct)
    kept = [min(100, max(0, tail - 100 * place)) for place in range(total)]
    mean = sum(loss * count for loss, count in zip(losses, kept, strict=True)) / tail
    found = shortfall_cents(with_chances(outcomes), level_pct / 100)
    assert math.isclose(found, mean, rel_tol=1e-9, abs_tol=1e-4)


@given(OUTCOMES)
def test_shortfall_lies_between_the_mean_loss_and_the_worst_case(outcomes):
    cents, chances = zip(*with_chances(outcomes), strict=True)
    risk = risk_of(cents, chances, Cents(0))
    assert -risk.expected_cents <= risk.shortfall_95_cents <= risk.shortfall_99_cents
    assert risk.shortfall_99_cents <= -min(cents)


@given(OUTCOMES, st.integers(0, 100_000), st.integers(0, 100_000))
def test_a_higher_limit_is_exceeded_no_more_often(outcomes, limit, more):
    cents, chances = zip(*with_chances(outcomes), strict=True)
    low = risk_of(cents, chances, Cents(limit)).over_limit_chance
    assert risk_of(cents, chances, Cents(limit + more)).over_limit_chance <= low <= 1


def test_an_outcome_at_the_edge_of_the_tail_counts_in_part():
    risk = risk_of((-1_000, -500, 100), (0.02, 0.06, 0.92), Cents(500))
    assert risk.expected_cents == 42
    assert risk.shortfall_95_cents == 700
    assert risk.shortfall_99_cents == 1_000
    assert risk.over_limit_chance == pytest.approx(0.02)


def test_outcomes_without_their_chances_are_refused():
    with pytest.raises(ValueError):
        risk_of((1, 2), (1.0,), Cents(0))


def test_a_report_has_the_risk_of_what_is_held_under_its_own_chances():
    world = quoting()
    world.driver.run_until(world.now_ns + 3 * 10**9)
    (event, *_) = world.process.trader.report(world.now_ns).events
    assert event.implied is not None
    limit_cents = next(each.limit for each in event.limits if each.name == "event_loss_cents")
    assert event.risk == risk_of(event.outcome_cents, event.implied.chances, Cents(limit_cents))
