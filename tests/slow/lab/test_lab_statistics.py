"""Resampling, frontiers and corrections against values worked out by hand."""

import math

import msgspec
import numpy as np
import pytest

from bot.lab.evaluate import statistics as stats


def test_holm_corrects_p_values_monotonically() -> None:
    corrected = stats.holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert corrected == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})


def test_holm_keeps_a_single_p_value_and_caps_at_one() -> None:
    assert stats.holm({"a": 0.2}) == {"a": 0.2}
    assert stats.holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}


def test_resamples_are_deterministic_and_cover_every_index() -> None:
    places = stats.resamples(10, 500)
    assert places.shape == (500, 10)
    assert (places == stats.resamples(10, 500)).all()
    assert set(np.unique(places)) == set(range(10))


def test_the_interval_of_a_constant_difference_is_a_point() -> None:
    first = np.array([3.0, 5.0, 9.0, 1.0, 6.0])
    found = stats.mean_difference(first, first - 2, stats.resamples(5))
    assert (found.value, found.low, found.high) == (2.0, 2.0, 2.0)
    assert found.p == 1 / 16


def test_the_p_value_of_a_constant_difference_is_limited_by_the_bootstrap() -> None:
    found = stats.mean_difference(np.full(40, 2.0), np.zeros(40), stats.resamples(40))
    assert found.p == pytest.approx(2 / 2001)


@pytest.mark.parametrize("cases", [5, 8, 20])
def test_intervals_of_few_cases_have_their_stated_coverage(cases: int) -> None:
    rng, places = np.random.default_rng(cases), stats.resamples(cases)
    zeros = np.zeros(cases)
    found = [stats.mean_difference(rng.normal(size=cases), zeros, places) for _ in range(2_000)]
    holding = sum(each.low <= 0 <= each.high for each in found) / 2_000
    assert holding == pytest.approx(0.95, abs=0.02)
    assert sum(each.p <= 0.01 for each in found) / 2_000 <= 0.025


def test_fewer_than_five_cases_give_an_infinite_interval_and_a_p_of_one() -> None:
    first, second = np.array([3.0, 5.0, 9.0, 1.0]), np.zeros(4)
    found = stats.mean_difference(first, second, stats.resamples(4))
    assert (found.value, found.low, found.high, found.p) == (4.5, -math.inf, math.inf, 1.0)
    as_json = msgspec.json.encode(found)
    assert b'"low":null' in as_json
    assert msgspec.json.decode(as_json, type=stats.Interval) == found


def test_the_interval_of_a_large_sample_is_the_normal_one() -> None:
    rng = np.random.default_rng(1)
    first = rng.normal(0.3, 1.0, 400)
    found = stats.mean_difference(first, np.zeros(400), stats.resamples(400))
    half = 1.96 * first.std(ddof=1) / 20
    assert found.low == pytest.approx(first.mean() - half, abs=0.02)
    assert found.high == pytest.approx(first.mean() + half, abs=0.02)


def test_equal_means_give_an_interval_around_zero_and_a_large_p() -> None:
    values = np.array([-1.0, 1.0] * 50)
    found = stats.mean_difference(values, np.zeros(100), stats.resamples(100))
    assert found.low < 0 < found.high
    assert found.p > 0.5


@pytest.mark.parametrize(
    ("sd", "sds", "means", "mean"),
    [
        (15.0, [20.0, 10.0, 40.0], [16.0, 10.0, 18.0], 13.0),
        (30.0, [20.0, 10.0, 40.0], [16.0, 10.0, 18.0], 17.0),
        (5.0, [10.0, 20.0], [8.0, 9.0], 4.0),  # half the risk of the first point, half its gain
        (5.0, [10.0], [-8.0], -4.0),
        (50.0, [10.0, 20.0], [8.0, 9.0], 9.0),
        (10.0, [0.0], [0.0], 0.0),
    ],
)
def test_a_frontier_is_linear_from_zero_through_its_points_and_then_flat(
    sd: float, sds: list[float], means: list[float], mean: float
) -> None:
    assert stats.means_at(np.array([sd]), np.array(sds), np.array(means))[0] == mean


def test_a_frontier_gains_nothing_over_itself() -> None:
    rows = np.random.default_rng(2).normal([[1.0], [2.0]], [[3.0], [6.0]], (2, 60))
    same = stats.Sample.of_profits(rows)
    found = stats.difference_at_equal_sd(same, same, [4.0], stats.resamples(60, 200))
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)


def test_a_constant_extra_gain_shows_at_equal_sd() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(5.0, 10.0, 80)
    first, second = np.stack([base + 3.0, 2 * base + 6.0]), np.stack([base, 2 * base])
    sd = float(base.std(ddof=1))
    found = stats.difference_at_equal_sd(
        stats.Sample.of_profits(first),
        stats.Sample.of_profits(second),
        [sd],
        stats.resamples(80, 400),
    )
    assert found.value == pytest.approx(3.0)
    assert found.low > 2.0


def _of_luck(
    rng: np.random.Generator, edges: list[float], sds: list[float], seeds: int
) -> list[stats.Sample]:
    """Strategies of an edge that varies by half a dollar, and holdings that are known to vary."""
    found = []
    for edge, sd in zip(edges, sds, strict=True):
        gained = rng.normal(edge, 0.5, (1, seeds))
        held = rng.uniform(0.5, 1.5, (1, seeds)) * sd**2
        found.append(_of_paths(rng, np.repeat(gained[..., None] / STEPS, STEPS, axis=-1), held))
    return found


STEPS = 20


def _of_paths(
    rng: np.random.Generator, edges: np.ndarray, held: np.ndarray, leaning: float = 0.0
) -> stats.Sample:
    """Lives in steps: an edge in each, then a gain of holdings that nobody foresees; the edge leans
    by so much of what was gained before it. held: variance of what a life gains."""
    moves = rng.normal(0.0, 1.0, edges.shape) * np.sqrt(held / STEPS)[..., None]
    before = moves.cumsum(axis=-1) - moves
    edges = edges + leaning * before
    whole = edges.sum(axis=-1)
    return stats.Sample(
        whole + moves.sum(axis=-1),
        whole,
        held=held,
        edges_by_gains=(edges * before).sum(axis=-1),
        gains=before.mean(axis=-1),
    )


def _of_two(edges: list[float], gains: list[float], held: list[float]) -> stats.Sample:
    """Two lives whose edges came when all was gained."""
    edge, gain = np.array([edges]), np.array([gains])
    return stats.Sample(edge + gain, edge, np.array([held]), edge * gain, gain)


def test_the_gain_at_several_sds_is_the_mean_of_the_gains() -> None:
    rng = np.random.default_rng(7)
    first, second = (
        stats.Sample.of_profits(rng.normal([[mean], [2 * mean]], [[3.0], [6.0]], (2, 50)))
        for mean in (3.0, 2.0)
    )
    places = stats.resamples(50, 200)
    each = [stats.difference_at_equal_sd(first, second, [sd], places) for sd in (2.0, 5.0)]
    both = stats.difference_at_equal_sd(first, second, [2.0, 5.0], places)
    assert both.value == pytest.approx((each[0].value + each[1].value) / 2)
    assert both.high - both.low <= max(one.high - one.low for one in each)


def test_the_luck_of_inventory_does_not_widen_the_interval_of_a_gain() -> None:
    keen = _of_luck(np.random.default_rng(4), [2.0, 1.0], [10.0, 10.0], 100)
    plain = [stats.Sample.of_profits(each.nets) for each in keen]
    places = stats.resamples(100, 400)
    wide = stats.difference_at_equal_sd(plain[0], plain[1], [10.0], places)
    tight = stats.difference_at_equal_sd(keen[0], keen[1], [10.0], places)
    assert wide.high - wide.low > 5 * (tight.high - tight.low)
    assert 0.5 < tight.low < tight.value < tight.high < 1.5


def test_known_variance_distinguishes_equal_edges_at_unequal_risk() -> None:
    calm, wild = _of_luck(np.random.default_rng(5), [2.0, 2.0], [10.0, 13.0], 100)
    places = stats.resamples(100, 400)
    known = stats.ratio_difference(calm, wild, places)
    profits = [stats.Sample.of_profits(each.nets) for each in (calm, wild)]
    seen = stats.ratio_difference(profits[0], profits[1], places)
    assert known.low > 0
    assert seen.high - seen.low > 5 * (known.high - known.low)
    assert known.value == pytest.approx(2 / 10 - 2 / 13, abs=0.015)


def test_the_sd_uses_the_known_variance_of_inventory() -> None:
    rng = np.random.default_rng(6)
    sds = [_of_luck(rng, [2.0], [10.0], 50)[0] for _ in range(200)]
    known = np.array([float(each.sds()[0]) for each in sds])
    seen = np.array([float(stats.Sample.of_profits(each.nets).sds()[0]) for each in sds])
    assert known.mean() == pytest.approx((10**2 + 0.5**2) ** 0.5, abs=0.05)
    assert seen.mean() == pytest.approx(known.mean(), abs=0.3)
    assert seen.std() > 2 * known.std()


def test_the_variance_of_profit_sums_edge_inventory_and_covariance() -> None:
    # Edges vary by 2, what is held gains -3 and 3 beside them and was known to vary by 25.
    sample = _of_two([9.0, 11.0], [-3.0, 3.0], [20.0, 30.0])
    assert sample.sds().tolist() == pytest.approx([(2 + 2 * 6 + 25) ** 0.5])
    assert sample.ratios().tolist() == pytest.approx([10 / 39**0.5])


def test_the_covariance_of_edge_and_gains_is_estimated_with_less_noise() -> None:
    rng, seeds, worlds, leaning = np.random.default_rng(8), 40, 400, 0.03
    known, seen = [], []
    for _ in range(worlds):
        rich = np.repeat(rng.normal(30.0, 7.5, (1, seeds, 1)) / STEPS, STEPS, axis=-1)
        sample = _of_paths(rng, rich, np.full((1, seeds), 64.0), leaning)
        gains = sample.nets - sample.edges
        known.append(float(sample.sds()[0]) ** 2 - sample.edges.var(ddof=1) - 64.0)
        seen.append(2 * float(np.cov(sample.edges[0], gains[0])[0, 1]))
    # Before step i, i steps of variance 64 / STEPS each were gained, and the edge leans on them.
    true = 2 * leaning * 64.0 / STEPS * sum(range(STEPS))
    assert np.mean(known) == pytest.approx(true, abs=4 * np.std(known) / worlds**0.5)
    assert np.mean(seen) == pytest.approx(true, abs=4 * np.std(seen) / worlds**0.5)
    assert np.std(seen) > 1.5 * np.std(known)


def test_the_covariance_of_edge_and_inventory_is_bounded_by_their_sds() -> None:
    # Two seeds: edges -9 and 9, holdings 20 and -20 beside them, that were known to vary by 100.
    sample = _of_two([-9.0, 9.0], [20.0, -20.0], [100.0, 100.0])
    assert sample.sds().tolist() == pytest.approx([162**0.5 - 10])


def test_risk_is_the_sd_of_the_whole_profit() -> None:
    some = _of_two([9.0, 11.0], [-9.0, 9.0], [162.0, 162.0])
    nothing = stats.Sample.of_profits(np.zeros((1, 2)))
    sd = 200**0.5
    found = stats.difference_at_equal_sd(some, nothing, [sd / 2], stats.resamples(2, 50))
    assert found.value == pytest.approx(5.0)
    assert stats.ratio_difference(some, nothing, stats.resamples(2, 50)).value == pytest.approx(
        10 / sd
    )


def test_one_setting_keeps_all_of_its_rows() -> None:
    values = (1.0, 3.0, 5.0, 7.0, 9.0)
    sample = stats.Sample(*(np.array([[value], [value + 1]]) for value in values))
    assert [rows.tolist() for rows in sample.at_setting(1)] == [[[value + 1]] for value in values]


def test_the_ratio_of_constant_profits_is_zero() -> None:
    assert stats.ratios(np.array([[2.0, 2.0]]))[0] == 0.0
    assert stats.ratios(np.array([[1.0, 3.0]]))[0] == pytest.approx(2 / 2**0.5)


def test_signs_count_seeds_without_ties() -> None:
    assert stats.signs(np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 4.0])) == (1, 1)


def test_equal_values_have_zero_sd_despite_rounding() -> None:
    values = np.full(7, 0.1)
    assert values.std(ddof=1) > 0
    assert (stats.ratios(values[None])[0], float(stats.sds(values))) == (0.0, 0.0)
