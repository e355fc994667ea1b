"""The assignment of least cost: who serves what, when either may also go without.

Exact for any size, in the cube of it, so meant for the few orders and levels of one side of a
market. Shortest augmenting paths with potentials (Jonker and Volgenant, 1987).
"""

from collections.abc import Sequence


def assign(
    costs: Sequence[Sequence[float]], row_alone: Sequence[float], column_alone: Sequence[float]
) -> list[int | None]:
    """For each row the column that it is given, or None: the total cost is the least there is.

    costs[r][c] >= 0: of giving row r the column c. row_alone[r], column_alone[c]: of leaving it
    without a partner. Of several assignments that cost the same, which one is returned depends on
    nothing but the arguments.
    """
    rows, columns = len(row_alone), len(column_alone)
    # What a choice costs beyond leaving its column alone. The last columns leave a row alone.
    table = [
        [*(cost - column_alone[c] for c, cost in enumerate(costs[r])), *[row_alone[r]] * rows]
        for r in range(rows)
    ]
    row_of: list[int | None] = [None] * (columns + rows)
    row_potential = [0.0] * rows
    column_potential = [0.0] * (columns + rows)
    for new_row in range(rows):
        left = list(range(columns + rows))
        reached: list[tuple[int, int]] = []  # columns, each with its row
        nearest = [float("inf")] * (columns + rows)
        before: list[int | None] = [None] * (columns + rows)  # on the cheapest way to a column
        row: int | None = new_row
        column: int | None = None
        while row is not None:
            for other in left:
                cost = table[row][other] - row_potential[row] - column_potential[other]
                if cost < nearest[other]:
                    nearest[other], before[other] = cost, column
            column = min(left, key=nearest.__getitem__)
            step = nearest[column]
            row_potential[new_row] += step
            for other, its_row in reached:
                row_potential[its_row] += step
                column_potential[other] -= step
            for other in left:
                nearest[other] -= step
            left.remove(column)
            row = row_of[column]
            if row is not None:
                reached.append((column, row))
        while column is not None:
            previous = before[column]
            row_of[column] = new_row if previous is None else row_of[previous]
            column = previous
    column_of = {row: column for column, row in enumerate(row_of[:columns])}
    return [column_of.get(row) for row in range(rows)]
