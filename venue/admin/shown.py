"""A reply of the operator's interface as people read it: aligned lines, nothing that could move a
terminal's cursor."""

from typing import Any

_GAP = "  "


def lines(reply: dict[str, Any]) -> list[str]:
    """One line per field; a reply that is one list of rows, as a table under its fields' names."""
    if len(reply) == 1:
        (rows,) = reply.values()
        if isinstance(rows, list):
            return _table(rows)
    width = max(map(len, reply), default=0)
    return [f"{name:<{width}}{_GAP}{_text(value)}" for name, value in reply.items()]


def _table(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["none"]
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([_text(row.get(name)) for name in names] for row in rows)]
    numeric = [all(_is_number(row.get(name)) for row in rows) for name in names]
    widths = [max(len(row[at]) for row in cells) for at in range(len(names))]
    return [
        _GAP.join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _text(value: object) -> str:
    if value is None or value in ([], ""):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(_text(part) for part in value)
    text = str(value)
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
