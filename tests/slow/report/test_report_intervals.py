"""Claims about what chance allows of the difference of two runs, and which of them pair."""

import pytest

from bot.lab.report.page import paired, same_market
from bot.lab.report.sampler import STRETCH_NS
from tests.builders.report.made import BEGUN_NS, moment, session

STRETCH = BEGUN_NS // STRETCH_NS


def test_a_steady_gain_over_the_other_run_excludes_no_difference():
    first = session(seconds=600, moments=[moment(s, 0) for s in range(600)])
    second = session(seconds=600, moments=[moment(s, 3 * s + 7 * (s % 2)) for s in range(600)])
    found = paired(first, second)
    assert found.blocks == 60
    assert found.difference_cents == pytest.approx(1_790, abs=20)
    assert found.low_cents > 0


def test_too_little_time_in_common_gives_no_interval():
    first = session(seconds=30, moments=[moment(s) for s in range(30)])
    found = paired(first, first)
    assert found.low_cents is None


def test_runs_too_short_for_two_blocks_still_tell_what_they_differ_by():
    first = session(seconds=8, moments=[moment(s, 0) for s in range(9)])
    second = session(seconds=8, moments=[moment(s, 5 * s) for s in range(9)])
    found = paired(first, second)
    assert found.difference_cents == 40
    assert (found.blocks, found.low_cents) == (1, None)


def test_runs_that_saw_the_same_prints_met_the_same_market():
    seen = {STRETCH + n: 77 * n for n in range(6)}
    assert same_market(session(prints=seen), session(prints=seen, run="cd" * 10)) == ""


def test_runs_that_saw_other_prints_did_not():
    first = session(prints={STRETCH + n: 77 * n for n in range(6)})
    second = session(prints={STRETCH + n: 78 * n + 1 for n in range(6)}, run="cd" * 10)
    assert "other prints" in same_market(first, second)
