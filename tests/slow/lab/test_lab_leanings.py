"""Markouts by lean, pooled over runs: tables made by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.report import Against, MarkoutReport, ProfitRow
from bot.lab.leanings import HEAD, differences, leaning_rows, pooled


def row(name: str, mean_cents: float, error_cents: float | None = 0.1, qty: int = 10) -> ProfitRow:
    """A group of fills with one markout, against others' mid after ten seconds."""
    mark = MarkoutReport(10, Against.MID, 2, qty, mean_cents, error_cents)
    fair = MarkoutReport(10, Against.FAIR, 2, qty, 77.0, 0.1)
    return ProfitRow(name, 2, qty, 0, 0, 0, 0, 0, (fair, mark))


def test_the_table_shows_each_group_and_with_less_against():
    run = {"lean": (row("against", -0.5, 0.3), row("with", 0.25, 0.4)), "flow": ()}
    rows = [dict(zip(HEAD, each, strict=True)) for each in leaning_rows([run, {}])]
    assert [each["fills by"] for each in rows] == [
        "lean with us",
        "lean against us",
        "lean with us less against us",
    ]
    assert [each["10 s"] for each in rows] == ["+0.25 ±0.78", "-0.50 ±0.59", "+0.75 ±0.98"]
    assert {each["1 s"] for each in rows} == {"-"}


def test_runs_without_fills_make_no_rows():
    assert leaning_rows([{}, {"lean": ()}]) == []


@pytest.mark.parametrize(
    ("errors", "pooled_error"),
    [
        ((0.3, 0.4), math.hypot(0.3, 0.4) / 2),
        ((None, None), math.hypot(1, 1) / 2),  # each run is one cluster, a cent from the mean
        ((0.5, None), math.hypot(0.5, 1) / 2),
    ],
)
def test_two_runs_of_equal_size_are_pooled(errors, pooled_error):
    rows = [row("with", mean, error) for mean, error in zip((1.0, 3.0), errors, strict=True)]
    found = pooled(rows)[10]
    assert (found.fills, found.qty, found.mean_cents) == (4, 20, 2.0)
    assert found.error_cents == pytest.approx(pooled_error)


RUNS = st.lists(
    st.tuples(st.floats(-50, 50), st.none() | st.floats(0, 5), st.integers(1, 1_000)), min_size=1
)


@given(RUNS)
def test_a_pooled_mean_is_weighted_by_shares(runs):
    found = pooled([row("with", *each) for each in runs])[10]
    qty = sum(qty for _, _, qty in runs)
    expected = sum(mean * qty for mean, _, qty in runs) / qty
    assert found.mean_cents == pytest.approx(expected, abs=1e-9)
    assert found.qty == qty


def test_a_difference_without_both_errors_has_none():
    one, other = pooled([row("with", 1.0, None)]), pooled([row("against", 0.5)])
    assert differences(one, other) == {10: (0.5, None)}
