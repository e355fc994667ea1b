"""The findings as one HTML file that needs nothing else: tables, and plots drawn as SVG here."""

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
from bot.lab.evaluate.compare import Claim, Comparison, Line
from bot.lab.evaluate.tables import markdown, worst_cells


def page(found: Comparison) -> str:
    """The whole file."""
    title = f"{found.champion} and the others, seeds {found.seeds}"
    figures: list[str] = []
    for world in found.worlds:
        figures.append(f"<figure>{_frontier(found, world)}</figure>")
        if found.claims:
            figures.append(f"<figure>{_differences(found, world)}</figure>")
    return html_page(title, f"{''.join(figures)}{html_tables(markdown(found))}")


def _frontier(found: Comparison, world: str) -> str:
    """Edge against sd of every setting, a line per entry, the chosen one ringed."""
    lines = [line for line in found.lines if line.world == world]
    points = [point for line in lines for point in line.points]
    frame = Frame([point.sd for point in points], [point.edge for point in points])
    body = [frame.axes("sd over seeds, $", "edge, $")]
    zero = frame.y(0)
    body.append(stroke(LEFT, zero, WIDTH - RIGHT, zero, "#999"))
    for place, line in enumerate(lines):
        body.append(_drawn(frame, line, COLOURS[place % len(COLOURS)], place))
    names = [line.entry for line in lines]
    return picture(HEIGHT, f"Frontiers: {world}", "".join(body), names)


def _drawn(frame: Frame, line: Line, colour: str, place: int) -> str:
    points = sorted(line.points, key=lambda point: point.sd)
    path = trace(frame, [(p.sd, p.edge) for p in points], colour)
    dots = "".join(
        f"<circle cx='{frame.x(p.sd):.1f}' cy='{frame.y(p.edge):.1f}' r='{5 if p.chosen else 2.5}' "
        f"fill='{'none' if p.chosen else colour}' stroke='{colour}' stroke-width='1.5'/>"
        for p in points
    )
    return f"{path}{dots}{legend(place, line.entry, colour)}"


def _differences(found: Comparison, world: str) -> str:
    """The champion's gain over each other at equal sd, over its frontier, with its interval."""
    claims = [claim for claim in found.claims if claim.world == world]
    height = 70 + 18 * len(claims)
    gains = [claim.gain for claim in claims]  # of few seeds the ends are infinite, the gain is not
    places = [x for gain in gains for x in (gain.low, gain.value, gain.high)]
    frame = Frame(places, [0.0], height)
    body = [frame.axes(f"gain of {found.champion} at equal sd, $ [95 %]", "", marks_up=False)]
    worst = worst_cells(found.claims) if len(found.worlds) > 1 else set()
    names = [
        f"{claim.rival} (worst cell)" if (world, claim.rival) in worst else claim.rival
        for claim in claims
    ]
    for place, (claim, name) in enumerate(zip(claims, names, strict=True)):
        body.append(_bar(frame, claim, 42 + 18 * place, name))
    body.append(stroke(frame.x(0), 30, frame.x(0), height - BELOW, "#333"))
    return picture(height, f"Gains: {world}", "".join(body), names)


def _bar(frame: Frame, claim: Claim, y: float, name: str) -> str:
    colour = "#1e8449" if claim.holds else "#c0392b" if claim.is_worse else "#7f8c8d"
    low, high, at = (frame.x(each) for each in (claim.gain.low, claim.gain.high, claim.gain.value))
    return (
        stroke(low, y, high, y, colour, 2)
        + f"<circle cx='{at:.1f}' cy='{y:.1f}' r='3.5' fill='{colour}'/>"
        + words(NAMES, y + 4, name, "start", colour)
    )


def html_tables(text: str) -> str:
    """Markdown tables, headings and lines as HTML: the same rows, so that page and document say
    the same. A row with (worst) in it is marked."""
    out: list[str] = []
    is_open = False
    for line in text.splitlines():
        if line.startswith("|"):
            cells = [_cell(each) for each in line.strip("|").split("|")]
            if set(line) <= set("|- "):
                continue
            tag = "td" if is_open else "th"
            style = " class='worst'" if "(worst)" in line else ""
            row = "".join(f"<{tag}>{cell}</{tag}>" for cell in cells)
            out.append(("" if is_open else "<div class='wide'><table>") + f"<tr{style}>{row}</tr>")
            is_open = True
            continue
        if is_open:
            out.append("</table></div>")
            is_open = False
        if line.startswith("### "):
            out.append(f"<h2>{_cell(line[4:])}</h2>")
        elif line:
            out.append(f"<p>{_cell(line)}</p>")
    return "".join(out) + ("</table></div>" if is_open else "")


def _cell(text: str) -> str:
    return escaped(text.strip().replace("**", "").replace("`", ""))
