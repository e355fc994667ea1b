"""Claims about the confidence interval of the difference of two runs, and which runs pair."""

import pytest

from bot.lab.report.page import paired, same_market
from bot.lab.report.sampler import STRETCH_NS
from tests.builders.report.made import BEGUN_NS, moment, session

STRETCH = BEGUN_NS // STRETCH_NS


def test_a_steady_gain_has_an_interval_above_zero():
    first = session(seconds=600, moments=[moment(s, 0) for s in range(600)])
    second = session(seconds=600, moments=[moment(s, 3 * s + 7 * (s % 2)) for s in range(600)])
    found = paired(first, second)
    assert found.blocks == 60
    assert found.difference_cents == pytest.approx(1_790, abs=20)
    assert found.low_cents > 0


def test_too_little_common_time_gives_no_interval():
    first = session(seconds=30, moments=[moment(s) for s in range(30)])
    found = paired(first, first)
    assert found.low_cents is None


def test_short_runs_have_a_difference_without_an_interval():
    first = session(seconds=8, moments=[moment(s, 0) for s in range(9)])
    second = session(seconds=8, moments=[moment(s, 5 * s) for s in range(9)])
    found = paired(first, second)
    assert found.difference_cents == 40
    assert (found.blocks, found.low_cents) == (1, None)


def test_only_runs_that_saw_the_same_trades_are_compared():
    first = session(prints={STRETCH + n: 77 * n for n in range(6)})
    same = session(prints=first.prints, run="cd" * 10)
    other = session(prints={STRETCH + n: 78 * n + 1 for n in range(6)}, run="cd" * 10)
    assert same_market(first, same) == ""
    assert "other prints" in same_market(first, other)
