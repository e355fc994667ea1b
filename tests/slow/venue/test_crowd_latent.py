"""The value behind a ladder, and fair prices from it."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venue.crowd.latent import GRID_NS, LatentValue, fair_cents, remaining_sd, stream
from venue.crowd.settings import CrowdSettings
from venue.wire.instant import NS_PER_SECOND

HOUR_NS = 3600 * NS_PER_SECOND
STILL = CrowdSettings(volatility_per_sqrt_hour=0, jumps_per_hour=0)


def latent(settings=None, name="acme", start_ns=0):
    return LatentValue(settings or CrowdSettings(), name, math.log(200), start_ns)


@given(st.lists(st.integers(1, 20 * NS_PER_SECOND), max_size=20))
def test_a_path_does_not_depend_on_how_often_it_is_advanced(pauses):
    often, once = latent(), latent()
    now_ns = 0
    for pause_ns in pauses:
        now_ns += pause_ns
        often.advance(now_ns)
    once.advance(now_ns)
    assert often.at(now_ns) == once.at(now_ns)
    assert often.mood == once.mood


def test_two_companies_have_different_paths():
    first, second = latent(name="acme"), latent(name="bolt")
    first.advance(HOUR_NS)
    second.advance(HOUR_NS)
    assert first.at(HOUR_NS) != second.at(HOUR_NS)


def test_a_past_value_stays_what_it_was():
    path = latent()
    seen = {}
    for second in range(60):
        path.advance(second * NS_PER_SECOND)
        seen[second] = path.at(second * NS_PER_SECOND)
    assert [path.at(second * NS_PER_SECOND) for second in range(60)] == list(seen.values())


def test_a_value_before_the_kept_past_is_the_oldest_kept_value():
    path = latent()
    path.advance(2 * HOUR_NS)
    assert path.at(0) == path.at(HOUR_NS)


def test_diffusion_has_the_standard_deviation_of_its_setting():
    settings = CrowdSettings(volatility_per_sqrt_hour=0.01, jumps_per_hour=0, reversion_hours=0)
    moves = []
    for seed in range(60):
        path = latent(settings.model_copy(update={"seed": seed}))
        path.advance(HOUR_NS // 4)
        moves.append(path.at(HOUR_NS // 4) - math.log(200))
    assert statistics.pstdev(moves) == pytest.approx(0.01 / 2, rel=0.3)


def test_without_volatility_and_jumps_the_value_stays():
    path = latent(STILL)
    assert not path.advance(HOUR_NS)
    assert path.at(HOUR_NS) == math.log(200)


def test_advance_reports_jumps():
    path = latent(CrowdSettings(volatility_per_sqrt_hour=0, jumps_per_hour=60, jump_sd=0.1))
    jumps = sum(path.advance(step * GRID_NS) for step in range(1, 4 * 600))
    assert 3 <= jumps <= 25


def test_the_jump_rate_does_not_change_the_diffusion():
    quiet = latent(CrowdSettings(jumps_per_hour=0, reversion_hours=0))
    loud = latent(CrowdSettings(jumps_per_hour=1000, jump_sd=0, reversion_hours=0))
    quiet.advance(HOUR_NS)
    loud.advance(HOUR_NS)
    assert quiet.at(HOUR_NS) == loud.at(HOUR_NS)


def test_between_jumps_the_value_reverts_toward_its_start():
    settings = CrowdSettings(
        volatility_per_sqrt_hour=0, jumps_per_hour=60, jump_sd=0.1, reversion_hours=1
    )
    path, before = latent(settings), 0.0
    for step in range(1, 2_000):
        jumped = path.advance(step * GRID_NS)
        distance = abs(path.at(step * GRID_NS) - math.log(200))
        assert jumped or distance < before or distance == 0
        before = distance
    assert before > 0


@given(st.floats(0.01, 0.5), st.floats(-1, 1), st.floats(0, 0.5))
def test_fair_value_never_rises_with_the_strike(sd, strike, further):
    assert fair_cents(0.0, strike + further, sd) <= fair_cents(0.0, strike, sd)


def test_fair_value_is_50_at_the_money_and_clamped_at_both_ends():
    assert fair_cents(1.0, 1.0, 0.1) == 50.0
    assert fair_cents(1.0, 9.0, 0.1) == 0.5
    assert fair_cents(9.0, 1.0, 0.1) == 99.5


def test_the_remaining_deviation_falls_to_nearly_nothing_at_the_end():
    settings = CrowdSettings()
    days = [90, 40, 7, 1]
    left = [remaining_sd(settings, day * 24 * HOUR_NS) for day in days]
    assert left == sorted(left, reverse=True)
    assert 0 < remaining_sd(settings, 0) < left[-1] / 100
    assert remaining_sd(settings, -HOUR_NS) == remaining_sd(settings, 0)


def test_a_random_stream_depends_on_its_seed_and_name_alone():
    assert stream(1, "a", "b").random() == stream(1, "a", "b").random()
    assert stream(1, "a", "b").random() != stream(1, "a", "c").random()
    assert stream(1, "a").random() != stream(2, "a").random()
