"""Expected profit and shortfall of an inventory, against a second account in whole percents."""

import itertools
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.outcome_risk import (
    POINTS_MAX,
    grid_cents,
    netted_risk,
    risk_of,
    shortfall_cents,
)
from bot.core.risk.limits import no_looser
from tests.builders.bot.thin import Thin
from tests.builders.bot.worlds import calm, quoting
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


SIBLINGS = st.lists(
    st.lists(st.tuples(st.integers(-300, 300), st.integers(1, 5)), min_size=1, max_size=4),
    min_size=1,
    max_size=3,
)
"""Profit in cents and weight of each outcome, by event."""


def by_draws(events: list[list[tuple[int, int]]], pct: int) -> list[tuple[int, float]]:
    """The profits together, drawn one by one from equal shares of chance: so many percent by one
    draw for all events."""
    shares = [[cents for cents, weight in each for _ in range(weight)] for each in events]
    apart = [sum(each) for each in itertools.product(*shares)]
    count = math.lcm(*map(len, shares))
    at_once = [sum(each[place * len(each) // count] for each in shares) for place in range(count)]
    return [
        *((cents, (100 - pct) / 100 / len(apart)) for cents in apart),
        *((cents, pct / 100 / count) for cents in at_once),
    ]


@given(SIBLINGS, st.integers(0, 100), st.integers(0, 600))
def test_netted_risk_is_that_of_draws_at_one_rank_and_of_independent_ones(events, pct, limit):
    drawn = by_draws(events, pct)
    held = [tuple(zip(*with_chances(each), strict=True)) for each in events]
    found = netted_risk(held, pct / 100, Cents(limit))
    wanted = [-shortfall_cents(drawn, 0.0), *(shortfall_cents(drawn, at) for at in (0.95, 0.99))]
    cents = (found.expected_cents, found.shortfall_95_cents, found.shortfall_99_cents)
    assert cents == pytest.approx(wanted, abs=0.5 + 1e-6)
    over = sum(chance for profit, chance in drawn if -profit > limit)
    assert found.over_limit_chance == pytest.approx(over, abs=1e-9)


def test_one_draw_nets_a_long_event_against_a_short_one_and_two_draws_do_not():
    long, short = ((-100, 100), (0.5, 0.5)), ((100, -100), (0.5, 0.5))
    both = [netted_risk([long, short], c, Cents(150)) for c in (0.0, 1.0)]
    assert [each.shortfall_95_cents for each in both] == [200, 0]
    assert [each.over_limit_chance for each in both] == [0.25, 0.0]


@given(st.integers(2, 6), st.integers(5_000, 90_000), st.randoms(use_true_random=False))
def test_many_events_are_rounded_by_at_most_half_a_grid_each(count, span, rng):
    events = [
        (sorted(rng.randint(-span, span) for _ in range(8)), (0.125,) * 8) for _ in range(count)
    ]
    grid = grid_cents(events)
    assert grid == 1 or grid <= 2 * span * count // POINTS_MAX + 1
    # Moved by a constant the profits fall into other steps; the shortfall must move with them.
    moved = [([each + grid // 2 for each in cents], chances) for cents, chances in events]
    one, other = (netted_risk(each, 0.0, Cents(0)) for each in (events, moved))
    shift = count * (grid // 2)
    assert abs(one.shortfall_99_cents - shift - other.shortfall_99_cents) <= count * grid + 1


def test_a_rollback_takes_the_correlation_back_and_counts_it_for_no_limit():
    settings = Thin([70]).initial_settings
    other = msgspec.structs.replace(
        settings, risk=msgspec.structs.replace(settings.risk, event_correlation=0.5)
    )
    assert no_looser(settings, other) is settings
    assert no_looser(other, settings) is other


def test_a_binary_market_has_the_risk_of_its_fair_value():
    thin = Thin([50])
    thin.start()
    (event,) = thin.trader.report(thin.now_ns).events
    (rung,) = event.rungs
    binary = msgspec.structs.replace(
        event, implied=None, rungs=(msgspec.structs.replace(rung, strike_text="", fair_cents=30.0),)
    )
    assert binary.chances == pytest.approx((0.7, 0.3))
    unknown = msgspec.structs.replace(binary.rungs[0], fair_cents=None)
    assert msgspec.structs.replace(binary, rungs=(unknown,)).chances is None


def test_a_report_nets_the_events_of_one_company():
    world = quoting(calm(rungs=(2, 3)))
    world.driver.run_until(world.now_ns + 3 * 10**9)
    report = world.process.trader.report(world.now_ns)
    (company,) = report.companies
    held = [(event.outcome_cents, event.chances) for event in report.events]
    limit_cents = world.process.settings.risk.series_loss_cents
    assert company.events == tuple(event.event_ticker for event in report.events)
    assert company.risk == netted_risk(held, 0.0, limit_cents)


def test_a_report_has_the_risk_of_what_is_held_under_its_own_chances():
    world = quoting()
    world.driver.run_until(world.now_ns + 3 * 10**9)
    (event, *_) = world.process.trader.report(world.now_ns).events
    assert event.implied is not None
    limit_cents = next(each.limit for each in event.limits if each.name == "event_loss_cents")
    assert event.risk == risk_of(event.outcome_cents, event.implied.chances, Cents(limit_cents))
