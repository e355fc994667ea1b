"""The assignment of least cost: who serves what, when either may also go without.

Pure arithmetic on costs; exact for any size, in the cube of it, so meant for the few orders and
levels of one side of a rung. Shortest augmenting paths with potentials; of one or two rows each way
is tried before.
"""

from collections.abc import Sequence
from typing import Final

_FAR: Final = float("inf")
_FEW: Final = 2
_SAME: Final = 1e-9
"""Costs that differ by no more than this may differ by how they were added up alone."""


def assign(
    costs: Sequence[Sequence[float]], row_alone: Sequence[float], column_alone: Sequence[float]
) -> list[int | None]:
    """For each row the column that it is given, or None: the total cost is the least there is.

    costs[r][c] >= 0: of giving row r the column c. row_alone[r], column_alone[c]: of leaving it
    without a partner. Of several assignments that cost the same, which one is returned depends on
    nothing but the arguments.
    """
    rows, columns = len(row_alone), len(column_alone)
    if 0 < rows <= _FEW and (chosen := _of_few(costs, row_alone, column_alone)) is not None:
        return chosen
    size = rows + columns
    # Every row has a column of its own to be alone in, and every column a row.
    square = [
        [*costs[r], *(row_alone[r] if c == r else _FAR for c in range(rows))] for r in range(rows)
    ]
    for c in range(columns):
        alone = [column_alone[c] if k == c else _FAR for k in range(columns)]
        square.append([*alone, *(0.0 for _ in range(rows))])
    taken = _matched(square, size)
    return [taken[r] if taken[r] < columns else None for r in range(rows)]


def _of_few(
    costs: Sequence[Sequence[float]], row_alone: Sequence[float], column_alone: Sequence[float]
) -> list[int | None] | None:
    """The same for up to two rows, nearly all that there ever are: each pair is tried. None where
    two ways cost about the same: then `_matched` says which it is to be, of few as of many."""
    # What a row costs more than if all columns were alone, by itself and with each of them.
    lines: list[list[tuple[float, int | None]]] = []
    for row, alone in zip(costs, row_alone, strict=True):
        line: list[tuple[float, int | None]] = [(alone, None)]
        for column, cost in enumerate(row):
            line.append((cost - column_alone[column], column))
        lines.append(line)
    if len(lines) < _FEW:
        lines.append([(0.0, None)])
    least = second = _FAR
    chosen: list[int | None] = [None, None]
    for cost, one in lines[0]:
        for beside, other in lines[1]:
            if one is None or one != other:
                both = cost + beside
                if both < least:
                    least, second, chosen = both, least, [one, other]
                elif both < second:
                    second = both
    return chosen[: len(costs)] if second - least > _SAME else None


def _matched(square: list[list[float]], size: int) -> list[int]:
    """The column of each row of a square matrix; some finite assignment exists."""
    row_of = [size] * (size + 1)  # by column; the last column is where a new row starts
    row_potential = [0.0] * (size + 1)
    column_potential = [0.0] * (size + 1)
    for row in range(size):
        row_of[size] = row
        way = _augment(square, size, row_of, row_potential, column_potential)
        column = way[0]
        while column != size:
            before = way[1][column]
            row_of[column] = row_of[before]
            column = before
    out = [0] * size
    for column in range(size):
        out[row_of[column]] = column
    return out


def _augment(
    square: list[list[float]],
    size: int,
    row_of: list[int],
    row_potential: list[float],
    column_potential: list[float],
) -> tuple[int, list[int]]:
    """The cheapest way from the row at column `size` to a free column: its end, and the column
    before each on the way."""
    nearest = [_FAR] * size
    before = [size] * size
    done = [False] * (size + 1)
    column = size
    while row_of[column] != size:
        done[column] = True
        row = row_of[column]
        step, following = _FAR, size
        for other in range(size):
            if done[other]:
                continue
            cost = square[row][other] - row_potential[row] - column_potential[other]
            if cost < nearest[other]:
                nearest[other], before[other] = cost, column
            if nearest[other] < step:
                step, following = nearest[other], other
        for other in range(size + 1):
            if done[other]:
                row_potential[row_of[other]] += step
                column_potential[other] -= step
            elif other < size:
                nearest[other] -= step
        column = following
        if row_of[column] == size:
            break
    return column, before
