"""Plots as SVG drawn here, and the page around them: one HTML file that needs nothing else.

Texts that come from outside go through `escaped`, which escapes them.
"""

import html
import math
from collections.abc import Iterable, Sequence
from typing import Final

COLOURS: Final = (
    *("#1f4e8c", "#c0392b", "#1e8449", "#8e44ad", "#b9770e", "#117a8b", "#6c3483", "#7f8c8d"),
    *("#d35400", "#2c3e50", "#a04000", "#27ae60", "#943126", "#5d6d7e"),
)
WIDTH, HEIGHT, LEFT, BELOW = 640, 380, 56, 40
"""Of a picture, and of what is left beside and under its area, in its own units."""

RIGHT: Final = 150
"""What is left beside the area for a legend."""

NAMES: Final = WIDTH - RIGHT + 4
"""Where names begin that stand beside the area."""

_MARK: Final = 24
"""What a mark of a legend takes of it."""

_LETTER: Final = 7.5
"""What a letter takes across at most, on average: capitals and figures of the size of `words`."""

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
table { border-collapse: collapse; font-size: 12.5px; margin: 0 0 2rem }
td, th { border-bottom: 1px solid #ccc; padding: .2rem .5rem; text-align: right }
td:first-child, td:nth-child(2), th { text-align: left }
td:first-child, td:nth-child(2) { white-space: nowrap }
svg { background: #fff; border: 1px solid #ddd; margin: 0 1rem 1rem 0 }
.worst { background: #fdebd0 }
figure { display: inline-block; margin: 0; max-width: 100% }
figure, .wide { overflow-x: auto }
h1, p { overflow-wrap: anywhere }
""".strip()


def html_page(title: str, body: str, style: str = "") -> str:
    """The whole file. style: more of it for this page."""
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escaped(title)}</title>"
        f"<style>{STYLE}{style}</style></head><body><h1>{escaped(title)}</h1>"
        f"{body}</body></html>\n"
    )


def escaped(value: str) -> str:
    """A text as HTML shows it."""
    return html.escape(value)


class Frame:
    """A plot's area: data in, places in the picture out, with axes and a grid."""

    def __init__(self, xs: Sequence[float], ys: Sequence[float], height: int = HEIGHT) -> None:
        self.height = height
        self._x_low, self._x_high = _padded(xs)
        self._y_low, self._y_high = _padded(ys)

    def x(self, value: float) -> float:
        """Where a value lies across; at the edge where it lies beyond."""
        value = min(max(value, self._x_low), self._x_high)
        share = (value - self._x_low) / (self._x_high - self._x_low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Where a value lies, downwards."""
        share = (value - self._y_low) / (self._y_high - self._y_low)
        return self.height - BELOW - share * (self.height - BELOW - 30)

    def axes(self, across: str, up: str, *, marks_up: bool = True) -> str:
        """Both axes with round marks, and what they count."""
        parts: list[str] = []
        bottom = self.height - BELOW
        for value in _ticks(self._x_low, self._x_high):
            x = self.x(value)
            parts.append(stroke(x, 30, x, bottom, "#eee"))
            parts.append(words(x, bottom + 16, f"{value:g}", "middle"))
        if marks_up:
            for value in _ticks(self._y_low, self._y_high):
                y = self.y(value)
                parts.append(stroke(LEFT, y, self.x(self._x_high), y, "#eee"))
                parts.append(words(LEFT - 6, y + 4, f"{value:g}", "end"))
        parts.append(words((LEFT + WIDTH - RIGHT) / 2, self.height - 6, across, "middle"))
        parts.append(words(4, 24, up, "start"))
        return "".join(parts)


def _padded(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if math.isfinite(value)]  # an interval may have no ends
    low, high = min([0.0, *known]), max([0.0, *known])
    room = (high - low) * 0.06 or 1.0
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers within."""
    decade = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(decade * by for by in (1, 2, 5, 10) if (high - low) / (decade * by) <= 6)
    first = math.ceil(low / step)
    count = math.floor(high / step) - first + 1
    return [round((first + place) * step, 9) for place in range(count)]


def stroke(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    """A straight line."""
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' "
        f"stroke-width='{width}'/>"
    )


def trace(frame: Frame, points: Iterable[tuple[float, float]], colour: str) -> str:
    """A line through points of the data."""
    path = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in points)
    return f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='1.5'/>"


def words(x: float, y: float, text: str, anchor: str, colour: str = "#333") -> str:
    """A text at a place; anchor: which part of it stands there, start, middle or end."""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}' "
        f"font-size='11' font-family='system-ui, sans-serif'>{escaped(text)}</text>"
    )


def legend(place: int, name: str, colour: str) -> str:
    """A row of a legend beside the area: a mark, and a name. place: from 0 at the top."""
    y = 40 + 15 * place
    mark = stroke(NAMES + 4, y - 4, NAMES + _MARK - 4, y - 4, colour, 2)
    return mark + words(NAMES + _MARK, y, name, "start", colour)


def picture(height: int, title: str, body: str, names: Iterable[str] = ()) -> str:
    """A whole picture with its title, which screen readers say too. names: what stands at `NAMES`
    or in a legend; the picture is as wide as the longest of them takes."""
    longest = max(map(len, names), default=0)
    width = max(WIDTH, NAMES + _MARK + math.ceil(_LETTER * longest))
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' "
        f"role='img' aria-label='{escaped(title)}'>{words(LEFT, 14, title, 'start', '#000')}"
        f"{body}</svg>"
    )
