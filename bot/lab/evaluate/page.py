"""The findings of an evaluation as one HTML file: plots, and the tables of the document."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from bot.lab.evaluate.compare import Comparison, Line
from bot.lab.evaluate.statistics import Interval
from bot.lab.evaluate.tables import markdown, worst_cells
from bot.page.plot import BELOW, TOP, Plot, hue_css, room_for, rows_plot, span_of
from bot.page.skeleton import columns, escaped, figure, html_page, panel, table

_LINE: Final = 13
"""Height that the name of a line takes: a frontier is high enough for all of them."""


def page(found: Comparison) -> str:
    """The whole file."""
    title = f"{found.champion} and the others, seeds {found.seeds}"
    figures: list[str] = []
    for world in found.worlds:
        figures.append(_frontier(found, world))
        if found.claims:
            figures.append(_differences(found, world))
    drawn = panel("figures", "Figures", columns(figures, 2))
    return html_page(title, f"{drawn}{html_tables(markdown(found))}")


def _frontier(found: Comparison, world: str) -> str:
    """Edge against sd of every setting, a line per entry, the chosen one ringed."""
    lines = [line for line in found.lines if line.world == world]
    points = [point for line in lines for point in line.points]
    plot = Plot(
        span_of(point.sd for point in points),
        span_of(point.edge for point in points),
        max(330, TOP + BELOW + _LINE * len(lines)),
        room_for(line.entry for line in lines),
    )
    plot.marks_across(None, "sd over seeds, $")
    plot.marks_up("edge, $")
    plot.names(_drawn(plot, line, hue_css(n, len(lines))) for n, line in enumerate(lines))
    title = f"Frontiers: {world}"
    return figure("frontier", title, plot.svg(title), "")


def _drawn(plot: Plot, line: Line, css: str) -> tuple[str, str, float, str]:
    """Draw the settings of an entry; returns the name at the end of their line."""
    points = sorted(line.points, key=lambda point: point.sd)
    plot.trace("ink hue", [(p.sd, p.edge) for p in points], css=css)
    for p in points:
        ring, radius = (" ring", 5.0) if p.chosen else ("", 2.5)
        plot.dot(f"ink hue{ring}", p.sd, p.edge, radius, line.entry, css)
    return line.entry, "ink hue", points[-1].edge, css


def _differences(found: Comparison, world: str) -> str:
    """The champion's gain over each other at equal sd, over its frontier, with its interval."""
    worst = worst_cells(found.claims) if len(found.worlds) > 1 else set()
    rows = []
    for claim in found.claims:
        if claim.world == world:
            name = claim.rival + (" (worst cell)" if (world, claim.rival) in worst else "")
            style = "good" if claim.holds else "poor" if claim.is_worse else "open"
            rows.append((name, name, claim.gain, style))
    return gains(f"Gains: {world}", f"gain of {found.champion} at equal sd, $ [95 %]", rows)


def gains(title: str, counted: str, rows: Sequence[tuple[str, str, Interval, str]]) -> str:
    """A row for each gain as (name, what it says when it is pointed at, gain, style), with its
    interval. The ends are infinite where there are few cases; the line then ends with the area."""
    across = span_of(end for _, _, gain, _ in rows for end in (gain.low, gain.value, gain.high))
    plot = rows_plot(across, counted, [name for name, _, _, _ in rows])
    for place, (_, said, gain, style) in enumerate(rows):
        low, high = (plot.x(min(max(end, across[0]), across[1])) for end in (gain.low, gain.high))
        plot.line(f"ink {style}", low, plot.y(-place), high, plot.y(-place))
        plot.dot(f"ink {style}", gain.value, -place, 3.5, said)
    return figure("gains", title, plot.svg(title), "")


def html_tables(text: str) -> str:
    """Markdown tables, headings and lines as HTML: the same rows, so that page and document say
    the same. A row with (worst) in it is marked."""
    above, *sections = f"\n{text}".split("\n### ")
    inner = [_blocks("Findings", above)]
    for place, section in enumerate(sections):
        head, _, rest = section.partition("\n")
        inner.append(panel(f"table{place}", _plain(head), _blocks(_plain(head), rest)))
    return "".join(inner)


def _blocks(label: str, text: str) -> str:
    out: list[str] = []
    for is_table, lines in groupby(text.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            head, _, *rows = [[_plain(c) for c in line.strip("|").split("|")] for line in lines]
            worst = {n for n, row in enumerate(rows) if any("(worst)" in cell for cell in row)}
            words = any(len(row[-1]) > 40 for row in rows)
            out.append(table("", head, rows, words=words, worst=worst, label=label))
        else:
            out += [f"<p>{escaped(_plain(line))}</p>" for line in lines if line]
    return "".join(out)


def _plain(text: str) -> str:
    return text.strip().replace("**", "").replace("`", "")
