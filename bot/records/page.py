"""A statement as one HTML file: what it says in tables and in plots."""

from collections.abc import Sequence
from typing import Final

from bot.core.account.markouts import MILLI
from bot.page.plot import Plot, rows_plot, span_of
from bot.page.skeleton import columns, escaped, figure, html_page, panel, table
from bot.records.rows import ProfitRow
from bot.records.shown import HEAD, cells, cents_of, check_lines, head_lines, moved, plain_fill
from bot.records.statement import Statement, StatementLine
from venue.wire.instant import NS_PER_SECOND, from_ns

_HOUR_NS: Final = 3_600 * NS_PER_SECOND
_SHORT_NS: Final = 2 * _HOUR_NS
_PARTS: Final = ("spread", "adverse", "drift", "fees")
_FILLS_SHOWN_MAX: Final = 5_000
_NOTHING: Final = "No rung held or traded anything on this day."
_FILL_COLUMNS: Final = (
    *("at", "rung", "side", "price", "qty", "fee_cents", "cash_cents", "fair_millicents"),
    *("reason", "markout_1s_millicents", "markout_10s_millicents", "markout_60s_millicents"),
    *("markout_300s_millicents", "fill_id"),
)


def page(statement: Statement, profits: Sequence[ProfitRow]) -> str:
    """The whole file. profits: the runs' own accounts through the day, for the first picture."""
    *checks, verdict = check_lines(statement)
    lines = moved(statement)
    figures = (_through_the_day(statement, profits), _by_rung(lines), _holdings(lines))
    body = [
        f"<p class='finding{' good' if statement.closes else ''}'>{escaped(verdict)}</p>",
        *(f"<p>{escaped(line)}</p>" for line in head_lines(statement)[1:]),
        "<ul>",
        *(f"<li>{escaped(line)}</li>" for line in checks),
        "</ul>",
        panel("figures", "Figures", columns(figures, 2)),
        _table(statement),
        _fills(statement),
    ]
    return html_page(head_lines(statement)[0], "".join(body))


def _table(statement: Statement) -> str:
    rows = [cells(line) for line in (*moved(statement), statement.total)]
    note = "Markouts: cents a share against fair, weighted by shares."
    return panel("rungs", "By rung", table(note, HEAD, rows, sums=1))


def _fills(statement: Statement) -> str:
    shown = [plain_fill(told) for told in statement.fills[:_FILLS_SHOWN_MAX]]
    rows = [["" if fill[k] is None else fill[k] for k in _FILL_COLUMNS] for fill in shown]
    left = len(statement.fills) - len(shown)
    more = f"<p>{left} more are in the CSV.</p>" if left else ""
    head = [name.replace("_", " ") for name in _FILL_COLUMNS]
    return panel("fills", "Fills", table("", head, rows, label="Fills") + more)


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
    title = "Profit through the day by its sources"
    if not profits:
        return figure("profit", title, "", "No run kept an account of its profit on this day.")
    found = curves(profits)
    begun_ns, unit_ns, across = statement.from_ns, _HOUR_NS, "hour of the day, UTC"
    span_ns = profits[-1].at_ns - profits[0].at_ns
    if span_ns < _SHORT_NS:
        # Of a short run nothing could be seen on the scale of a day.
        begun_ns, unit_ns = profits[0].at_ns, 60 * NS_PER_SECOND
        across = f"minutes since {from_ns(begun_ns)[11:16]} UTC"
    places = {
        name: [((at_ns - begun_ns) / unit_ns, value) for at_ns, value in points]
        for name, points in found.items()
    }
    whole = 24.0 if begun_ns == statement.from_ns else span_ns / unit_ns
    ups = [value for points in places.values() for _, value in points]
    plot = Plot(span_of([whole]), span_of(ups), 330)
    plot.marks_across(None, across)
    plot.marks_up("$")
    for name, points in places.items():
        plot.trace(f"ink {name}", points)
    plot.names((name, f"ink {name}", points[-1][1], "") for name, points in places.items())
    return figure("profit", title, plot.svg(title), "")


def _by_rung(lines: Sequence[StatementLine]) -> str:
    """A bar a rung for each source, one above the other, and the profit as a mark."""
    title = "Profit by rung: mark; spread, adverse, drift, fees: bars, from above"
    if not lines:
        return figure("rungs", title, "", _NOTHING)
    rows = []
    for line in lines:
        part = cents_of(line)
        bars = (*(part[f"{name}_cents"] / 100 for name in _PARTS[:3]), -part["fees_cents"] / 100)
        rows.append((bars, part["profit_cents"] / 100))
    across = span_of(value for bars, profit in rows for value in (*bars, profit))
    plot = rows_plot(across, "$", _short(lines), 44)
    for place, (bars, profit) in enumerate(rows):
        for at, (name, value) in enumerate(zip(_PARTS, bars, strict=True)):
            top = 0.32 - 0.16 * at - place
            plot.block(f"ink {name}", 0, top, value, top - 0.12, f"{name} {value:+.2f}")
        x = plot.x(profit)
        plot.line("ink profit", x, plot.y(0.42 - place), x, plot.y(-0.42 - place))
    return figure("rungs", title, plot.svg(title), "")


def _holdings(lines: Sequence[StatementLine]) -> str:
    """YES shares less NO shares of each rung, before and after the day."""
    title = "Held before (grey) and after (blue)"
    if not lines:
        return figure("held", title, "", _NOTHING)
    nets = [(line.yes_open - line.no_open, line.yes_close - line.no_close) for line in lines]
    across = span_of(float(value) for pair in nets for value in pair)
    plot = rows_plot(across, "shares, YES less NO", _short(lines), 26)
    for place, (before, after) in enumerate(nets):
        plot.block("ink open", 0, 0.35 - place, before, 0.05 - place, f"before {before:+d}")
        plot.block("ink fair", 0, -0.05 - place, after, -0.35 - place, f"after {after:+d}")
    return figure("held", title, plot.svg(title), "")


def _short(lines: Sequence[StatementLine]) -> list[str]:
    """The rungs' names; without their event's where all are of one."""
    if len({line.event for line in lines}) > 1:
        return [line.name for line in lines]
    return [line.name.removeprefix(f"{line.event}-") for line in lines]
