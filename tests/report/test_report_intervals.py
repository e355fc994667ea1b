"""Claims about what chance allows: intervals over stretches of time, and runs that pair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.report import Against
from bot.lab.report.intervals import markouts, paired, same_market
from bot.lab.report.watch import STRETCH_NS, Thinned
from tests.report.made import BEGUN_NS, fill, moment, session

STRETCH = BEGUN_NS // STRETCH_NS


def test_the_mean_lies_within_its_interval():
    fills = [fill(n, [(1, 50_000 + 1_000 * (n % 7))]) for n in range(1, 80, 2)]
    (point,) = markouts(fills, Against.FAIR)
    assert point.stretches == len(fills)
    assert point.low_cents < point.mean_cents < point.high_cents
    assert point.mean_cents == pytest.approx(sum(n % 7 for n in range(1, 80, 2)) / len(fills))


def test_fills_of_one_stretch_are_no_evidence_of_their_own():
    fills = [fill(n, [(300, 51_000)]) for n in (1, 3, 5, 7)]
    (point,) = markouts(fills, Against.FAIR)
    assert (point.fills, point.stretches) == (4, 1)
    assert point.low_cents is None


@pytest.mark.parametrize(("count", "is_told"), [(2, False), (4, False), (5, True)])
def test_of_fewer_than_five_stretches_no_interval_is_told(count, is_told):
    (point,) = markouts([fill(2 * n, [(1, 50_000 + 100 * n)]) for n in range(count)], Against.FAIR)
    assert point.stretches == count
    assert (point.low_cents is not None, point.high_cents is not None) == (is_told, is_told)


def test_a_sale_gains_by_a_falling_value():
    (point,) = markouts([fill(2, [(1, 48_000)])], Against.FAIR)
    assert point.mean_cents == 2.0


def test_the_same_fills_give_the_same_interval():
    fills = [fill(n, [(1, 50_000 + 100 * n)]) for n in range(40)]
    assert markouts(fills, Against.FAIR) == markouts(fills, Against.FAIR)


def test_a_steady_gain_over_the_other_run_excludes_no_difference():
    first = session(seconds=600, moments=[moment(s, 0) for s in range(600)])
    second = session(seconds=600, moments=[moment(s, 3 * s + 7 * (s % 2)) for s in range(600)])
    found = paired(first, second)
    assert found.blocks == 60
    assert found.difference_dollars == pytest.approx(17.9, abs=0.2)
    assert found.interval.low > 0


def test_too_little_time_in_common_gives_no_interval():
    first = session(seconds=30, moments=[moment(s) for s in range(30)])
    found = paired(first, first)
    assert found.interval is None


def test_runs_too_short_for_two_blocks_still_tell_what_they_differ_by():
    first = session(seconds=8, moments=[moment(s, 0) for s in range(9)])
    second = session(seconds=8, moments=[moment(s, 5 * s) for s in range(9)])
    found = paired(first, second)
    assert found.difference_dollars == pytest.approx(0.40)
    assert (found.blocks, found.interval) == (1, None)


def test_runs_that_saw_the_same_prints_met_the_same_market():
    seen = {STRETCH + n: 77 * n for n in range(6)}
    assert same_market(session(prints=seen), session(prints=seen, run="cd" * 10)) == ""


def test_runs_that_saw_other_prints_did_not():
    first = session(prints={STRETCH + n: 77 * n for n in range(6)})
    second = session(prints={STRETCH + n: 78 * n + 1 for n in range(6)}, run="cd" * 10)
    assert "other prints" in same_market(first, second)


@given(count=st.integers(0, 500), most=st.integers(2, 50))
def test_what_is_thinned_is_bounded_and_keeps_the_first(count, most):
    kept: Thinned[int] = Thinned(most, 1)
    for at_ns in range(1, count + 1):
        if kept.is_due(at_ns):
            kept.add(at_ns, at_ns)
    assert len(kept.kept) <= most
    assert kept.kept[:1] == [1][:count]
    assert all(after - before <= kept.every_ns
               for before, after in zip(kept.kept, kept.kept[1:], strict=False))  # fmt: skip
