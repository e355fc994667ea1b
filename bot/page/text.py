"""Tables and amounts as plain text."""

from collections.abc import Sequence


def dollars(cents: int) -> str:
    """Cents as dollars, such as -$12.05."""
    sign = "-" if cents < 0 else ""
    return f"{sign}${abs(cents) // 100}.{abs(cents) % 100:02d}"


def text_table(rows: Sequence[Sequence[object]], *, left: int = 1, indent: str = "") -> str:
    """Rows in aligned columns. left: how many columns are aligned to the left."""
    cells = [[str(cell) for cell in row] for row in rows]
    most = max(map(len, cells), default=0)
    widths = [max(len(row[at]) for row in cells if at < len(row)) for at in range(most)]
    return "\n".join(
        (
            indent
            + "  ".join(
                cell.ljust(width) if at < left else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=False))
            )
        ).rstrip()
        for row in cells
    )
