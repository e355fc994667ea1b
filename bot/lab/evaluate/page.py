"""The findings of an evaluation: Markdown tables, and a page with plots."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from bot.io.state.atomic_file import replace_named
from bot.lab.evaluate.compare import Claim, Comparison, FrontierRow
from bot.lab.evaluate.statistics import Interval
from bot.page.plot import BELOW, TOP, Plot, hue_css, room_for, rows_plot, span_of
from bot.page.skeleton import columns, escaped, figure, html_page, panel, table
from bot.page.text import Income

BEGIN: Final = "<!-- evaluation: begin -->"
END: Final = "<!-- evaluation: end -->"

_INCOME: Final = ("gain", "mean $", "edge $", "q0", "spread", "inventory", "adverse", "early")
"""Beginnings of the heads of columns that hold profit or loss."""

_MANY_WORLDS: Final = 3  # from so many on there is a table at a glance, too
_LINE: Final = 13  # height of the name of a line: a frontier is high enough for all of them


def around(path: Path) -> tuple[str, str]:
    """The text of a file before the first marker and after the second. Raises ValueError without
    markers, and OSError."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path}: no {BEGIN} and {END} to put the tables between")
    return before, after


def write_into(path: Path, found: Comparison) -> None:
    before, after = around(path)
    replace_named(path, f"{before}{BEGIN}\n{markdown(found)}{END}{after}".encode())


# --- tables ---------------------------------------------------------------------------------------


def markdown(found: Comparison) -> str:
    # What a strategy raises may have several lines.
    parts = [*(f"**{' '.join(each.sentence.split())}.**" for each in found.faults), _head(found)]
    if found.claims:
        if len(found.worlds) >= _MANY_WORLDS:
            parts.append(_glance(found))
        parts.append(_claims(found))
    if found.budgets:
        parts.append(_budgets(found))
    if found.advice:
        parts.append(_advice(found))
    for world in found.worlds:
        rows = [_cells(line) for line in found.lines if line.world == world]
        parts.append(markdown_table(world, rows))
    return "\n\n".join(parts) + "\n"


def markdown_table(title: str, rows: Sequence[Mapping[str, object]]) -> str:
    cells = [[" ".join(str(c).split()).replace("|", "/") for c in row.values()] for row in rows]
    lines = [[*rows[0]], *cells]
    drawn = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([f"### {title}", "", drawn[0], f"|{'---|' * len(rows[0])}", *drawn[1:]])


def interval_text(of: Interval, form: str) -> str:
    return f"{of.value:{form}} [{of.low:{form}}, {of.high:{form}}]"


def _head(found: Comparison) -> str:
    if found.variants == len(found.entries):
        tuned = "one setting of each entry, so that none was chosen"
    elif found.tuned_on:
        tuned = f"settings chosen on seeds {found.tuned_on}"
    else:
        tuned = "**settings chosen on the very seeds reported**"
    return (
        f"Seeds {found.seeds}, {tuned}; {len(found.entries)} entries, {found.variants} settings, "
        f"{len(found.worlds)} worlds, {len(found.claims)} claims; code {found.code}."
    )


def _glance(found: Comparison) -> str:
    rows: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for claim in found.claims:
        rows[claim.world][claim.rival] = interval_text(claim.gain, "+.1f")
    for each in found.overall:
        around_zero = len(found.worlds) - each.above - each.below
        rows["mean of the worlds"][each.rival] = interval_text(each.gain, "+.1f")
        counts = f"{each.above}, {around_zero}, {each.below}"
        rows["worlds above, around, below zero"][each.rival] = counts
    title = f"What `{found.champion}` gains at equal sd, $ a life [95 %]"
    return markdown_table(title, [{"world": name, **cells} for name, cells in rows.items()])


def _claims(found: Comparison) -> str:
    worst = _worst_cells(found)
    rows = [
        {
            "world": claim.world + (" (worst)" if (claim.world, claim.rival) in worst else ""),
            "against": claim.rival,
            "at sds": f"{min(claim.sds):.1f}-{max(claim.sds):.1f}",
            "gain $ [95 %]": interval_text(claim.gain, "+.2f"),
            "p, Holm": f"{claim.p:.4f}",
            "better": "yes" if claim.holds else "**no**" if claim.is_worse else "open",
            "chosen sd": f"{claim.sd:.1f}",
            "gain there": interval_text(claim.chosen_gain, "+.2f"),
            "edge/sd gain [95 %]": interval_text(claim.ratio_gain, "+.3f"),
            "seeds won-lost": f"{claim.wins}-{claim.losses}",
            "gain of profits alone $ [95 %]": interval_text(claim.profit_gain, "+.2f"),
        }
        for claim in found.claims
    ]
    return markdown_table(f"`{found.champion}` against each other, at equal sd", rows)


def _worst_cells(found: Comparison) -> set[tuple[str, str]]:
    """The world and rival of the champion's least gain on each rival, by its sds; empty for one
    world."""

    def scaled(claim: Claim) -> float:
        sds = sum(claim.sds)
        return claim.gain.value * len(claim.sds) / sds if sds > 0 else 0.0

    rivals = dict.fromkeys(claim.rival for claim in found.claims if len(found.worlds) > 1)
    least = (min((c for c in found.claims if c.rival == each), key=scaled) for each in rivals)
    return {(claim.world, claim.rival) for claim in least}


def _budgets(found: Comparison) -> str:
    rows = [
        {
            "world": line.world,
            "entry": line.entry,
            "budget $": f"{line.budget}",
            "edge $": f"{line.edge_before:.2f} -> {line.edge_after:.2f}",
            "kept [95 %]": interval_text(line.edge_kept, ".0%"),
            "q05 $": f"{line.q05_before:.2f} -> {line.q05_after:.2f}",
            "q01 $": f"{line.q01_before:.2f} -> {line.q01_after:.2f}",
        }
        for line in found.budgets
    ]
    return markdown_table("What a budget does", rows)


def _advice(found: Comparison) -> str:
    rows = [
        {
            "world": line.world,
            "entry": line.entry,
            "weight": f"{line.weight:g}",
            "change of profit $ [95 %]": interval_text(line.profit, "+.2f"),
            "change of edge $ [95 %]": interval_text(line.edge, "+.2f"),
        }
        for line in found.advice
    ]
    return markdown_table("What a value from outside does", rows)


def _cells(line: FrontierRow) -> dict[str, str]:
    point, means = line.chosen, line.chosen.means
    several = point.seeds > 1  # one run says nothing of how far another one would lie from it
    mark, requests = point.markouts.get("fair_10s"), point.requests_per_fill
    return {
        "entry": line.entry + (f" (latched {point.latched})" if point.latched else ""),
        "at": "" if point.value is None else f"{line.risk} {point.value:g}",
        "mean $": f"{point.mean:.2f}",
        "sd": f"{point.sd:.2f}" if several else "",
        "sd seen": f"{point.seen_sd:.2f}" if several else "",
        "edge $": f"{point.edge:.2f}" + (f" ± {point.edge_error:.2f}" if several else ""),
        "edge/sd": f"{point.ratio:.2f}" if several else "",
        "q05": f"{point.q05:.1f}",
        "q01": f"{point.q01:.1f}",
        **{name: f"{means[name]:.2f}" for name in ("spread", "inventory", "fees", "adverse")},
        "early": f"{means['early']:.2f}",
        "drawdown": f"{means['drawdown']:.1f}",
        "worst case 99 %": f"{point.worst_99:.0f}",
        "mark 10 s c": "" if mark is None else f"{mark:+.2f}",
        "fills": f"{means['fills']:.0f}",
        "requests a fill": "" if requests is None else f"{requests:.1f}",
        "429": f"{means['refused_for_pace']:.1f}",
        "both within 2c": f"{means['uptime']:.1%}",
        "at touch": f"{means['touch_share']:.0%}",
        "waste": f"{means['waste']:.2f}",
    }


# --- the page -------------------------------------------------------------------------------------


def page(found: Comparison) -> str:
    title = f"{found.champion} and the others, seeds {found.seeds}"
    figures: list[str] = []
    for world in found.worlds:
        figures.append(_frontier(found, world))
        if found.claims:
            figures.append(_gains(found, world))
    drawn = panel("figures", "Figures", columns(figures, 2))
    return html_page(title, f"{drawn}{html_tables(markdown(found))}")


def _frontier(found: Comparison, world: str) -> str:
    lines = [line for line in found.lines if line.world == world]
    points = [point for line in lines for point in line.points]
    plot = Plot(
        span_of(point.sd for point in points),
        span_of(point.edge for point in points),
        max(270, TOP + BELOW + _LINE * len(lines)),
        room_for(line.entry for line in lines),
    )
    plot.marks_across(None, "sd over seeds, $")
    plot.marks_up("edge, $")
    ends = []
    for place, line in enumerate(lines):
        css, points = hue_css(place, len(lines)), sorted(line.points, key=lambda point: point.sd)
        plot.trace("ink hue", [(p.sd, p.edge) for p in points], css=css)
        for p in points:
            ring, radius = (" ring", 5.0) if p.chosen else ("", 2.5)
            plot.dot(f"ink hue{ring}", p.sd, p.edge, radius, line.entry, css)
        ends.append((line.entry, "ink hue", points[-1].edge, css))
    plot.names(ends)
    title = f"Frontiers: {world}"
    return figure("frontier", title, plot.svg(title), "")


def _gains(found: Comparison, world: str) -> str:
    worst, rows = _worst_cells(found), []
    for claim in found.claims:
        if claim.world == world:
            name = claim.rival + (" (worst cell)" if (world, claim.rival) in worst else "")
            rows.append((name, name, claim.gain))
    return gains(f"Gains: {world}", f"gain of {found.champion} at equal sd, $ [95 %]", rows)


def gains(title: str, counted: str, rows: Sequence[tuple[str, str, Interval]]) -> str:
    """rows: name, text under the pointer, gain. An infinite end of an interval is drawn to the edge
    of the area."""
    across = span_of(end for _, _, gain in rows for end in (gain.low, gain.value, gain.high))
    plot = rows_plot(across, counted, [name for name, _, _ in rows])
    for place, (_, said, gain) in enumerate(rows):
        style = "good" if gain.low > 0 else "poor" if gain.high < 0 else "open"
        low, high = (plot.x(min(max(end, across[0]), across[1])) for end in (gain.low, gain.high))
        plot.line(f"ink {style}", low, plot.y(-place), high, plot.y(-place))
        plot.dot(f"ink {style}", gain.value, -place, 3.5, said)
    return figure("gains", title, plot.svg(title), "")


def html_tables(text: str) -> str:
    """Markdown tables, headings and lines as HTML. A row with (worst) is marked."""
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
            rows = [
                [Income(cell) if name.startswith(_INCOME) else cell for name, cell in pairs]
                for pairs in (zip(head, row, strict=True) for row in rows)
            ]
            worst = {n for n, row in enumerate(rows) if any("(worst)" in cell for cell in row)}
            words = any(len(row[-1]) > 40 for row in rows)
            out.append(table("", head, rows, words=words, worst=worst, label=label))
        else:
            out += [f"<p>{escaped(_plain(line))}</p>" for line in lines if line]
    return "".join(out)


def _plain(text: str) -> str:
    return text.strip().replace("**", "").replace("`", "")
