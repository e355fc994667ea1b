"""Tables and amounts as plain text."""

from collections.abc import Sequence

from venue.wire.money import dollars


class Income(str):
    """An amount of profit or loss as text; a page shows it green, or red where it begins with a
    minus."""

    __slots__ = ()

    @property
    def tone(self) -> str:
        """`gain`, `loss`, or empty for nothing."""
        if not any(digit in self for digit in "123456789"):
            return ""
        return "loss" if self.startswith(("-", "−")) else "gain"


def income(cents: int) -> Income:
    """Profit or loss in cents as dollars."""
    return Income(dollars(cents))


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
