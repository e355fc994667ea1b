"""A statement as one HTML file that needs nothing else: what it says in a table, and in
pictures.
"""

from collections.abc import Sequence
from typing import Final

from bot.core.profit.markouts import MILLI
from bot.drawing import (
    BELOW,
    COLOURS,
    HEIGHT,
    LEFT,
    NAMES,
    RIGHT,
    WIDTH,
    Frame,
    escaped,
    html_page,
    legend,
    picture,
    stroke,
    trace,
    words,
)
from bot.records.rows import ProfitRow
from bot.records.shown import HEAD, cells, cents_of, check_lines, head_lines, moved, plain_fill
from bot.records.statement import Line, Statement
from venue.wire.instant import NS_PER_SECOND, from_ns

_HOUR_NS: Final = 3_600 * NS_PER_SECOND
_SHORT_NS: Final = 2 * _HOUR_NS
_PARTS: Final = ("spread", "adverse", "drift", "fees")
_FILLS_SHOWN_MAX: Final = 5_000
_STYLE: Final = """
.open { background: #c0392b; color: #fff; padding: .3rem .6rem }
.well { background: #1e8449; color: #fff; padding: .3rem .6rem }
tr.total td { font-weight: bold }
""".strip()
_FILL_COLUMNS: Final = (
    *("at", "rung", "side", "price", "qty", "fee_cents", "cash_cents", "fair_millicents"),
    *("reason", "markout_1s_millicents", "markout_10s_millicents", "markout_60s_millicents"),
    *("markout_300s_millicents", "fill_id"),
)


def page(statement: Statement, profits: Sequence[ProfitRow]) -> str:
    """The whole file. profits: the runs' own accounts through the day, for the first picture."""
    *checks, verdict = check_lines(statement)
    figures = (
        _through_the_day(statement, profits),
        _by_rung(moved(statement)),
        _holdings(moved(statement)),
    )
    body = [
        f"<p class='{'well' if statement.closes else 'open'}'>{escaped(verdict)}</p>",
        *(f"<p>{escaped(line)}</p>" for line in head_lines(statement)[1:]),
        "<ul>",
        *(f"<li>{escaped(line)}</li>" for line in checks),
        "</ul>",
        *(f"<figure>{figure}</figure>" for figure in figures),
        _table(statement),
        _fills(statement),
    ]
    return html_page(head_lines(statement)[0], "".join(body), _STYLE)


# --- tables ---------------------------------------------------------------------------------------


def _row(tag: str, row: Sequence[object], style: str = "") -> str:
    inner = "".join(f"<{tag}>{escaped('' if c is None else str(c))}</{tag}>" for c in row)
    return f"<tr{style}>{inner}</tr>"


def _table(statement: Statement) -> str:
    rows = [_row("th", HEAD), *(_row("td", cells(line)) for line in moved(statement))]
    rows.append(_row("td", cells(statement.total), " class='total'"))
    note = "Markouts: cents a share against fair, weighted by shares."
    return f"<h2>By rung</h2><div class='wide'><table>{''.join(rows)}</table></div><p>{note}</p>"


def _fills(statement: Statement) -> str:
    shown = [plain_fill(told) for told in statement.fills[:_FILLS_SHOWN_MAX]]
    rows = [_row("th", [name.replace("_", " ") for name in _FILL_COLUMNS])]
    rows += [_row("td", [fill[name] for name in _FILL_COLUMNS]) for fill in shown]
    left = len(statement.fills) - len(shown)
    more = f"<p>{left} more are in the CSV.</p>" if left else ""
    return f"<h2>Fills</h2><div class='wide'><table>{''.join(rows)}</table></div>{more}"


# --- pictures -------------------------------------------------------------------------------------


def curves(profits: Sequence[ProfitRow]) -> dict[str, list[tuple[int, float]]]:
    """Profit and its parts through the day in dollars, from 0 at the first: what each run has added
    since the one before it; fees count below zero."""
    names = ("profit", *_PARTS)
    out: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
    sums = dict.fromkeys(names, 0)
    before: dict[str, int] | None = None
    started_ns = None
    for row in profits:
        now = {name: getattr(row, name) for name in ("profit", "spread", "adverse", "drift")}
        now["fees"] = -MILLI * row.fees_cents
        if before is not None:
            # A new run counts from nothing.
            last = before if row.started_ns == started_ns else dict.fromkeys(names, 0)
            for name in names:
                sums[name] += now[name] - last[name]
        before, started_ns = now, row.started_ns
        for name in names:
            out[name].append((row.at_ns, sums[name] / (100 * MILLI)))
    return out


def _through_the_day(statement: Statement, profits: Sequence[ProfitRow]) -> str:
    found = curves(profits)
    begun_ns, unit_ns, across = statement.from_ns, _HOUR_NS, "hour of the day, UTC"
    span_ns = profits[-1].at_ns - profits[0].at_ns if profits else 0
    if profits and span_ns < _SHORT_NS:
        # Of a short run nothing could be seen on the scale of a day.
        begun_ns, unit_ns = profits[0].at_ns, 60 * NS_PER_SECOND
        across = f"minutes since {from_ns(begun_ns)[11:16]} UTC"
    places = {
        name: [((at_ns - begun_ns) / unit_ns, value) for at_ns, value in points]
        for name, points in found.items()
    }
    ups = [value for points in places.values() for _, value in points]
    whole = 24.0 if begun_ns == statement.from_ns else span_ns / unit_ns
    frame = Frame([0.0, whole], ups)
    body = [frame.axes(across, "$")]
    body.append(stroke(LEFT, frame.y(0), WIDTH - RIGHT, frame.y(0), "#999"))
    for place, (name, points) in enumerate(places.items()):
        body.append(trace(frame, points, COLOURS[place]))
        body.append(legend(place, name, COLOURS[place]))
    return picture(HEIGHT, "Profit through the day by its sources", "".join(body))


def _by_rung(lines: Sequence[Line]) -> str:
    """A bar a rung for each source, beside each other, and the profit as a mark."""
    parts = [cents_of(line) for line in lines]
    rows = [
        [
            *(part[f"{name}_cents"] / 100 for name in _PARTS[:3]),
            -part["fees_cents"] / 100,
            part["profit_cents"] / 100,
        ]
        for part in parts
    ]
    height = 80 + 44 * len(lines)
    frame = Frame([value for row in rows for value in row], [0.0], height)
    body = [frame.axes("$", "", marks_up=False)]
    names = _short(lines)
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        top = 42 + 44 * place
        for at, value in enumerate(row[:4]):
            y = top + 7 * at
            body.append(stroke(frame.x(0), y, frame.x(value), y, COLOURS[at + 1], 5))
        x = frame.x(row[4])
        body.append(stroke(x, top - 4, x, top + 26, COLOURS[0], 2))
        body.append(words(NAMES, top + 14, name, "start"))
    body.append(stroke(frame.x(0), 30, frame.x(0), height - BELOW, "#333"))
    title = "Profit by rung: mark; spread, adverse, drift, fees: bars, from above"
    return picture(height, title, "".join(body), names)


def _holdings(lines: Sequence[Line]) -> str:
    """YES shares less NO shares of each rung, before and after the day."""
    height = 80 + 26 * len(lines)
    nets = [(line.yes_open - line.no_open, line.yes_close - line.no_close) for line in lines]
    frame = Frame([float(value) for pair in nets for value in pair], [0.0], height)
    body = [frame.axes("shares, YES less NO", "", marks_up=False)]
    names = _short(lines)
    for place, (name, (before, after)) in enumerate(zip(names, nets, strict=True)):
        y = 42 + 26 * place
        body.append(stroke(frame.x(0), y, frame.x(before), y, COLOURS[7], 6))
        body.append(stroke(frame.x(0), y + 8, frame.x(after), y + 8, COLOURS[0], 6))
        body.append(words(NAMES, y + 8, name, "start"))
    body.append(stroke(frame.x(0), 30, frame.x(0), height - BELOW, "#333"))
    return picture(height, "Held before (grey) and after (blue)", "".join(body), names)


def _short(lines: Sequence[Line]) -> list[str]:
    """The rungs' names; without their event's where all are of one."""
    if len({line.event for line in lines}) > 1:
        return [line.name for line in lines]
    return [line.name.removeprefix(f"{line.event}-") for line in lines]
