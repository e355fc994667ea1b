"""Claims about the assignment of least cost: exact, lawful, the same every time."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.planning.diff import assign


def total(costs, row_alone, column_alone, chosen) -> float:
    used = {column for column in chosen if column is not None}
    rows = sum(
        row_alone[row] if column is None else costs[row][column]
        for row, column in enumerate(chosen)
    )
    return rows + sum(cost for column, cost in enumerate(column_alone) if column not in used)


def least(costs, row_alone, column_alone) -> float:
    """The least cost by trying everything."""
    rows, columns = len(row_alone), len(column_alone)
    options: list[Any] = [*range(columns), *(None for _ in range(rows))]
    return min(
        total(costs, row_alone, column_alone, chosen)
        for chosen in itertools.permutations(options, rows)
    )


@st.composite
def cases(draw):
    rows, columns = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    cost = st.one_of(st.integers(0, 5).map(float), st.floats(0, 9, allow_nan=False))
    line = st.lists(cost, min_size=columns, max_size=columns)
    return (
        draw(st.lists(line, min_size=rows, max_size=rows)),
        draw(st.lists(cost, min_size=rows, max_size=rows)),
        draw(line),
    )


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(cases())
def test_no_assignment_costs_less(case):
    chosen = assign(*case)
    given_away = [column for column in chosen if column is not None]
    assert len(given_away) == len(set(given_away))
    assert abs(total(*case, chosen) - least(*case)) < 1e-9


def test_a_row_goes_alone_where_that_is_cheaper():
    assert assign([[5.0]], [1.0], [1.0]) == [None]
    assert assign([[1.5]], [1.0], [1.0]) == [0]


def test_one_gives_way_where_both_together_gain():
    assert assign([[0.0, 1.0], [1.0, 9.0]], [20.0, 20.0], [20.0, 20.0]) == [1, 0]


def test_nothing_is_assigned_to_nothing():
    assert assign([], [], [3.0]) == []
    assert assign([[], []], [1.0, 1.0], []) == [None, None]
