"""Plots as inline SVG: an area with axes, marks within it, captions next to it.

Every mark of data has the class `mark` and lies within the rectangle `area`. Colours and fonts come
from the style sheet. A drawing is laid out for a phone; on a wider place the style sheet draws its
letters smaller, so that they never meet. `Plot` escapes every text.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from bot.page.skeleton import escaped

WIDTH: Final = 460
LEFT: Final = 50
TOP: Final = 22
BELOW: Final = 34
_APART: Final = 13.0
_RIGHT: Final = 84
LETTER: Final = 7.5  # width of a letter at most, on average


def span_of(values: Iterable[float], *, zero: bool = True) -> tuple[float, float]:
    """Least and greatest finite value, with a margin; never empty. zero: True to include zero."""
    every = [*filter(math.isfinite, values), *((0.0,) if zero else ())]
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    if low == high == 0:
        return 0.0, 1.0
    room = (high - low) * 0.05 or 1.0
    return low - (room if low < 0 or not zero else 0), high + (room if high > 0 or not zero else 0)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """About so many round numbers from low to high."""
    if high <= low:
        return [low]
    decade = 10.0 ** math.floor(math.log10((high - low) / about))
    step = next(
        decade * by for by in (1, 2, 5, 10, 20) if (high - low) / (decade * by) <= about + 1
    )
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    return [round((first + place) * step, 9) for place in range(count)]


def room_for(names: Iterable[str]) -> int:
    """The margin that these names need."""
    return max(_RIGHT, 12 + math.ceil(LETTER * max(map(len, names), default=0)))


def hue_css(place: int, count: int) -> str:
    return f"--hue:{round(250 - 230 * place / max(1, count - 1))}"


class Plot:
    """One drawing. across, up: the values at its edges. left, right: margins for names; the drawing
    is wider than `WIDTH` where one of them takes more than a third of that."""

    def __init__(
        self,
        across: tuple[float, float],
        up: tuple[float, float],
        height: int = 210,
        right: int = _RIGHT,
        left: int = LEFT,
    ) -> None:
        self.height = height
        self.left, self.right = left, right
        self.width = WIDTH + sum(max(0, side - WIDTH // 3) for side in (left, right))
        self._across, self._up = across, up
        self._bottom = height - BELOW
        self._parts = [
            f"<rect class='area' x='{left}' y='{TOP}' width='{self.width - left - right}' "
            f"height='{self._bottom - TOP}'/>"
        ]

    def x(self, value: float) -> float:
        low, high = self._across
        return self.left + (value - low) / (high - low) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        """Downwards."""
        low, high = self._up
        return self._bottom - (value - low) / (high - low) * (self._bottom - TOP)

    # --- axes -------------------------------------------------------------------------------------

    def marks_across(self, marks: Iterable[tuple[float, str]] | None, name: str) -> None:
        """The lower axis, by round numbers unless others are given. name: what it counts."""
        for value, text in _round(self._across, 5) if marks is None else marks:
            x = self.x(value)
            self.line("grid", x, TOP, x, self._bottom)
            self.words(x, self._bottom + 13, text, "middle")
        self.words((self.left + self.width - self.right) / 2, self.height - 4, name, "middle")

    def marks_up(self, name: str, marks: Sequence[tuple[float, str]] | None = None) -> None:
        """The left axis, by round numbers unless others are given; its zero is drawn darker."""
        for value, text in _round(self._up, 4) if marks is None else marks:
            y, style = self.y(value), "zero" if value == 0 and marks is None else "grid"
            self.line(style, self.left, y, self.width - self.right, y)
            self.words(self.left - 6, y + 4, text, "end")
        self.words(4, TOP - 10, name, "start")

    # --- marks ------------------------------------------------------------------------------------

    def line(self, style: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """Between places of the drawing."""
        self._parts.append(
            f"<line class='{style}' x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'/>"
        )

    def trace(
        self,
        style: str,
        points: Iterable[tuple[float, float]],
        *,
        steps: bool = False,
        css: str = "",
    ) -> None:
        """A line through values. steps: each holds until the next."""
        places: list[str] = []
        before = 0.0
        for value, up in points:
            x, y = self.x(value), self.y(up)
            if steps and places:
                places.append(f"{x:.1f},{before:.1f}")
            places.append(f"{x:.1f},{y:.1f}")
            before = y
        css = _style(css)
        self._parts.append(f"<polyline class='mark {style}'{css} points='{' '.join(places)}'/>")

    def band(self, style: str, rows: Sequence[tuple[float, float, float]]) -> None:
        """rows: x, low, high."""
        there = [f"{self.x(x):.1f},{self.y(high):.1f}" for x, _, high in rows]
        back = [f"{self.x(x):.1f},{self.y(low):.1f}" for x, low, _ in reversed(rows)]
        self._parts.append(f"<polygon class='mark {style}' points='{' '.join(there + back)}'/>")

    def block(self, style: str, x1: float, y1: float, x2: float, y2: float, said: str = "") -> None:
        """A rectangle between values. said: shown under the pointer."""
        left, right = sorted((self.x(x1), self.x(x2)))
        top, bottom = sorted((self.y(y1), self.y(y2)))
        self._parts.append(
            f"<rect class='mark {style}' x='{left:.1f}' y='{top:.1f}' "
            f"width='{right - left:.1f}' height='{bottom - top:.1f}'>{_said(said)}</rect>"
        )

    def dot(
        self, style: str, x: float, y: float, radius: float, said: str = "", css: str = ""
    ) -> None:
        self._parts.append(
            f"<circle class='mark {style}'{_style(css)} cx='{self.x(x):.1f}' cy='{self.y(y):.1f}' "
            f"r='{radius:.1f}'>{_said(said)}</circle>"
        )

    def arrow(self, style: str, x: float, y: float, size: float, *, up: bool, said: str) -> None:
        """A triangle, its point up or down."""
        cx, cy, sign = self.x(x), self.y(y), -1 if up else 1
        self._parts.append(
            f"<path class='mark {style}' d='M{cx:.1f} {cy + sign * size:.1f}l{-size:.1f} "
            f"{-sign * 1.7 * size:.1f}h{2 * size:.1f}z'>{_said(said)}</path>"
        )

    def words(self, x: float, y: float, text: str, anchor: str) -> None:
        """anchor: which part of the text is at that place of the drawing."""
        self._parts.append(
            f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{escaped(text)}</text>"
        )

    def names(self, ends: Iterable[tuple[str, str, float, str]]) -> None:
        """Names at the right edge as (text, style, value, css), moved apart where they would meet;
        those that do not fit are left out: the table has them."""
        placed = sorted(ends, key=lambda row: self.y(row[2]))
        most = int((self._bottom - TOP) // _APART)
        placed = placed[:: max(1, -(-len(placed) // max(1, most)))]
        places: list[float] = []
        for _, _, value, _ in placed:
            least = places[-1] + _APART if places else TOP + 6.0
            places.append(max(least, self.y(value) + 4))
        over = places[-1] - self._bottom if places else 0.0
        for at in range(len(places) - 1, -1, -1):
            if over <= 0:
                break
            places[at] -= over
            over = 0.0 if at == 0 else places[at - 1] + _APART - places[at]
        for (text, style, _, css), y in zip(placed, places, strict=True):
            self._parts.append(
                f"<text x='{self.width - self.right + 6}' y='{y:.1f}' class='name {style}'"
                f"{_style(css)}>{escaped(text)}</text>"
            )

    def svg(self, said: str) -> str:
        """The drawing. said: text for screen readers."""
        return (
            f"<svg viewBox='0 0 {self.width} {self.height}' role='img' "
            f"aria-label='{escaped(said)}'>{''.join(self._parts)}</svg>"
        )


def rows_plot(
    across: tuple[float, float], counted: str, names: Sequence[str], row: int = 18
) -> Plot:
    """A row for each name; row n lies at -n, half a unit up and down. row: its height."""
    height = TOP + BELOW + row * len(names)
    plot = Plot(across, (0.5 - len(names), 0.5), height, right=20, left=room_for(names))
    plot.marks_across(None, counted)
    plot.marks_up("", [(-place, name) for place, name in enumerate(names)])
    plot.line("zero", plot.x(0), TOP, plot.x(0), height - BELOW)
    return plot


def _round(span: tuple[float, float], about: int) -> list[tuple[float, str]]:
    return [(value, f"{value:g}") for value in ticks(*span, about)]


def _style(css: str) -> str:
    return f" style='{css}'" if css else ""


def _said(text: str) -> str:
    return f"<title>{escaped(text)}</title>" if text else ""
