"""The findings as one HTML file that needs nothing else: tables, and plots drawn as SVG here.

Source: strategy, 3, Protocol.
"""

import html
import math
from collections.abc import Sequence
from typing import Final

from bot.lab.evaluate.compare import Claim, Comparison, Line
from bot.lab.evaluate.tables import markdown, worst_cells

_COLOURS: Final = (
    *("#1f4e8c", "#c0392b", "#1e8449", "#8e44ad", "#b9770e", "#117a8b", "#6c3483", "#7f8c8d"),
    *("#d35400", "#2c3e50", "#a04000", "#27ae60", "#943126", "#5d6d7e"),
)
_WIDTH, _HEIGHT, _LEFT, _BELOW = 640, 380, 56, 40
_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
table { border-collapse: collapse; font-size: 12.5px; margin: 0 0 2rem }
td, th { border-bottom: 1px solid #ccc; padding: .2rem .5rem; text-align: right }
td:first-child, td:nth-child(2), th { text-align: left }
td:first-child { white-space: nowrap }
svg { background: #fff; border: 1px solid #ddd; margin: 0 1rem 1rem 0; max-width: 100% }
.worst { background: #fdebd0 }
figure { display: inline-block; margin: 0 }
""".strip()


def page(found: Comparison) -> str:
    """The whole file."""
    title = f"{found.champion} and the others, seeds {found.seeds}"
    figures = [
        f"<figure>{_frontier(found, world)}</figure><figure>{_differences(found, world)}</figure>"
        for world in found.worlds
    ]
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{_text(title)}</title>"
        f"<style>{_STYLE}</style></head><body><h1>{_text(title)}</h1>"
        f"{''.join(figures)}{_tables(found)}</body></html>\n"
    )


def _text(value: str) -> str:
    return html.escape(value)


class _Frame:
    """A plot's area: data in, places in the picture out, with axes and a grid."""

    def __init__(self, xs: Sequence[float], ys: Sequence[float], height: int = _HEIGHT) -> None:
        self.height = height
        self._x_low, self._x_high = _padded(xs)
        self._y_low, self._y_high = _padded(ys)

    def x(self, value: float) -> float:
        """Where a value lies across."""
        share = (value - self._x_low) / (self._x_high - self._x_low)
        return _LEFT + share * (_WIDTH - _LEFT - 150)

    def y(self, value: float) -> float:
        """Where a value lies, downwards."""
        share = (value - self._y_low) / (self._y_high - self._y_low)
        return self.height - _BELOW - share * (self.height - _BELOW - 30)

    def axes(self, across: str, up: str, *, marks_up: bool = True) -> str:
        """Both axes with round marks, and what they count."""
        parts: list[str] = []
        bottom = self.height - _BELOW
        for value in _ticks(self._x_low, self._x_high):
            x = self.x(value)
            parts.append(_line(x, 30, x, bottom, "#eee"))
            parts.append(_label(x, bottom + 16, f"{value:g}", "middle"))
        if marks_up:
            for value in _ticks(self._y_low, self._y_high):
                y = self.y(value)
                parts.append(_line(_LEFT, y, self.x(self._x_high), y, "#eee"))
                parts.append(_label(_LEFT - 6, y + 4, f"{value:g}", "end"))
        parts.append(_label((_LEFT + _WIDTH - 150) / 2, self.height - 6, across, "middle"))
        parts.append(_label(4, 24, up, "start"))
        return "".join(parts)


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min([0.0, *values]), max([0.0, *values])
    room = (high - low) * 0.06 or 1.0
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers within."""
    decade = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(decade * by for by in (1, 2, 5, 10) if (high - low) / (decade * by) <= 6)
    first = math.ceil(low / step)
    count = math.floor(high / step) - first + 1
    return [round((first + place) * step, 9) for place in range(count)]


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' "
        f"stroke-width='{width}'/>"
    )


def _label(x: float, y: float, text: str, anchor: str, colour: str = "#333") -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}' "
        f"font-size='11' font-family='system-ui, sans-serif'>{_text(text)}</text>"
    )


def _svg(height: int, title: str, body: str) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}' "
        f"role='img' aria-label='{_text(title)}'>{_label(_LEFT, 14, title, 'start', '#000')}"
        f"{body}</svg>"
    )


def _frontier(found: Comparison, world: str) -> str:
    """Mean against sd of every setting, a line per entry, the chosen one ringed."""
    lines = [line for line in found.lines if line.world == world]
    points = [point for line in lines for point in line.points]
    frame = _Frame([point.sd for point in points], [point.mean for point in points])
    body = [frame.axes("sd over seeds, $", "mean, $")]
    zero = frame.y(0)
    body.append(_line(_LEFT, zero, _WIDTH - 150, zero, "#999"))
    for place, line in enumerate(lines):
        body.append(_drawn(frame, line, _COLOURS[place % len(_COLOURS)], place))
    return _svg(_HEIGHT, f"Frontiers: {world}", "".join(body))


def _drawn(frame: _Frame, line: Line, colour: str, place: int) -> str:
    points = sorted(line.points, key=lambda point: point.sd)
    path = " ".join(f"{frame.x(p.sd):.1f},{frame.y(p.mean):.1f}" for p in points)
    dots = "".join(
        f"<circle cx='{frame.x(p.sd):.1f}' cy='{frame.y(p.mean):.1f}' r='{5 if p.chosen else 2.5}' "
        f"fill='{'none' if p.chosen else colour}' stroke='{colour}' stroke-width='1.5'/>"
        for p in points
    )
    y = 40 + 15 * place
    legend = _line(_WIDTH - 142, y - 4, _WIDTH - 126, y - 4, colour, 2) + _label(
        _WIDTH - 122, y, line.entry, "start", colour
    )
    return (
        f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='1.5'/>"
        f"{dots}{legend}"
    )


def _differences(found: Comparison, world: str) -> str:
    """The champion's gain over each other at equal sd, with its interval."""
    claims = [claim for claim in found.claims if claim.world == world]
    height = 70 + 18 * len(claims)
    ends = [end for claim in claims for end in (claim.gain.low, claim.gain.high)]
    frame = _Frame(ends, [0.0], height)
    body = [frame.axes(f"gain of {found.champion} at equal sd, $ [95 %]", "", marks_up=False)]
    worst = worst_cells(found.claims) if len(found.worlds) > 1 else set()
    for place, claim in enumerate(claims):
        body.append(_bar(frame, claim, 42 + 18 * place, (world, claim.rival) in worst))
    body.append(_line(frame.x(0), 30, frame.x(0), height - _BELOW, "#333"))
    return _svg(height, f"Gains: {world}", "".join(body))


def _bar(frame: _Frame, claim: Claim, y: float, is_worst: bool) -> str:
    colour = "#1e8449" if claim.holds else "#c0392b" if claim.is_worse else "#7f8c8d"
    low, high, at = (frame.x(each) for each in (claim.gain.low, claim.gain.high, claim.gain.value))
    name = claim.rival + (" (worst cell)" if is_worst else "")
    return (
        _line(low, y, high, y, colour, 2)
        + f"<circle cx='{at:.1f}' cy='{y:.1f}' r='3.5' fill='{colour}'/>"
        + _label(_WIDTH - 146, y + 4, name, "start", colour)
    )


def _tables(found: Comparison) -> str:
    """The Markdown tables as HTML: the same rows, so that page and document say the same."""
    out: list[str] = []
    is_open = False
    for line in markdown(found).splitlines():
        if line.startswith("|"):
            cells = [_cell(each) for each in line.strip("|").split("|")]
            if set(line) <= set("|- "):
                continue
            tag = "td" if is_open else "th"
            style = " class='worst'" if "(worst)" in line else ""
            row = "".join(f"<{tag}>{cell}</{tag}>" for cell in cells)
            out.append(("" if is_open else "<table>") + f"<tr{style}>{row}</tr>")
            is_open = True
            continue
        if is_open:
            out.append("</table>")
            is_open = False
        if line.startswith("### "):
            out.append(f"<h2>{_cell(line[4:])}</h2>")
        elif line:
            out.append(f"<p>{_cell(line)}</p>")
    return "".join(out) + ("</table>" if is_open else "")


def _cell(text: str) -> str:
    return _text(text.strip().replace("**", "").replace("`", ""))
