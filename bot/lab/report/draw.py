"""Plots as inline SVG: an area with axes, marks within it, words beside it; colours by class.

Every mark of data has the class `mark` and lies within the rectangle `area`. Colours and fonts are
the style sheet's, so that one drawing serves light and dark. What comes from outside is escaped.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from bot.drawing import escaped

WIDTH: Final = 620
LEFT: Final = 58
TOP: Final = 20
BELOW: Final = 34
_APART: Final = 12.5
_RIGHT: Final = 84
_LETTER: Final = 7
"""What a letter of a name takes across at most, on average."""


def span_of(values: Iterable[float], *, zero: bool = True) -> tuple[float, float]:
    """From the least to the greatest, with zero if wanted, and some room; never empty."""
    every = [*values, *((0.0,) if zero else ())]
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    if low == high == 0:
        return 0.0, 1.0
    room = (high - low) * 0.05 or 1.0
    return low - (room if low < 0 or not zero else 0), high + (room if high > 0 or not zero else 0)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """About so many round numbers within."""
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
    """What to leave at the right edge for such names; not more than a third of the drawing."""
    return max(_RIGHT, min(WIDTH // 3, 12 + _LETTER * max(map(len, names), default=0)))


class Plot:
    """One drawing. across, up: the values at its edges. right: what is left for names there."""

    def __init__(
        self,
        across: tuple[float, float],
        up: tuple[float, float],
        height: int = 230,
        right: int = _RIGHT,
        left: int = LEFT,
    ) -> None:
        self.height = height
        self.left, self.right = left, right
        self._across, self._up = across, up
        self._parts: list[str] = []
        bottom = height - BELOW
        self._parts.append(
            f"<rect class='area' x='{left}' y='{TOP}' width='{WIDTH - left - right}' "
            f"height='{bottom - TOP}'/>"
        )

    def x(self, value: float) -> float:
        """Where a value lies across."""
        low, high = self._across
        return self.left + (value - low) / (high - low) * (WIDTH - self.left - self.right)

    def y(self, value: float) -> float:
        """Where a value lies, downwards."""
        low, high = self._up
        return self.height - BELOW - (value - low) / (high - low) * (self.height - BELOW - TOP)

    # --- axes -------------------------------------------------------------------------------------

    def marks_across(self, marks: Iterable[tuple[float, str]], name: str) -> None:
        """The lower axis: where something is written under it, and what it counts."""
        bottom = self.height - BELOW
        for value, text in marks:
            x = self.x(value)
            self.line("grid", x, TOP, x, bottom)
            self.words(x, bottom + 13, text, "middle")
        self.words((self.left + WIDTH - self.right) / 2, self.height - 4, name, "middle")

    def marks_up(self, name: str, marks: Sequence[tuple[float, str]] | None = None) -> None:
        """The left axis, by round numbers unless others are given; its zero is drawn darker."""
        low, high = self._up
        shown = marks if marks is not None else [(v, f"{v:g}") for v in ticks(low, high, 4)]
        for value, text in shown:
            y = self.y(value)
            self.line("zero" if value == 0 and marks is None else "grid",
                      self.left, y, WIDTH - self.right, y)  # fmt: skip
            self.words(self.left - 6, y + 4, text, "end")
        self.words(4, TOP - 10, name, "start")

    # --- marks ------------------------------------------------------------------------------------

    def line(self, style: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """A straight line between places of the drawing."""
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
        css = f" style='{css}'" if css else ""
        self._parts.append(f"<polyline class='mark {style}'{css} points='{' '.join(places)}'/>")

    def band(self, style: str, rows: Sequence[tuple[float, float, float]]) -> None:
        """What lies between two values, across."""
        there = [f"{self.x(x):.1f},{self.y(high):.1f}" for x, _, high in rows]
        back = [f"{self.x(x):.1f},{self.y(low):.1f}" for x, low, _ in reversed(rows)]
        self._parts.append(f"<polygon class='mark {style}' points='{' '.join(there + back)}'/>")

    def block(self, style: str, x1: float, y1: float, x2: float, y2: float, said: str = "") -> None:
        """A rectangle between values. said: what it says when it is pointed at."""
        left, right = sorted((self.x(x1), self.x(x2)))
        top, bottom = sorted((self.y(y1), self.y(y2)))
        self._parts.append(
            f"<rect class='mark {style}' x='{left:.1f}' y='{top:.1f}' "
            f"width='{right - left:.1f}' height='{bottom - top:.1f}'>{_said(said)}</rect>"
        )

    def dot(self, style: str, x: float, y: float, radius: float, said: str = "") -> None:
        """A round mark at values."""
        self._parts.append(
            f"<circle class='mark {style}' cx='{self.x(x):.1f}' cy='{self.y(y):.1f}' "
            f"r='{radius:.1f}'>{_said(said)}</circle>"
        )

    def arrow(self, style: str, x: float, y: float, size: float, *, up: bool, said: str) -> None:
        """A triangle at values, its point up or down."""
        cx, cy, sign = self.x(x), self.y(y), -1 if up else 1
        self._parts.append(
            f"<path class='mark {style}' d='M{cx:.1f} {cy + sign * size:.1f}l{-size:.1f} "
            f"{-sign * 1.7 * size:.1f}h{2 * size:.1f}z'>{_said(said)}</path>"
        )

    def words(self, x: float, y: float, text: str, anchor: str, style: str = "") -> None:
        """A text at a place of the drawing; anchor: which part of it stands there."""
        named = f" class='{style}'" if style else ""
        self._parts.append(
            f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'{named}>{escaped(text)}</text>"
        )

    def names(self, ends: Iterable[tuple[str, str, float, str]]) -> None:
        """Names at the right edge as (text, style, value, css), moved apart where they would meet;
        those that do not fit are left out: the table has them."""
        placed = sorted(ends, key=lambda row: self.y(row[2]))
        bottom = self.height - BELOW
        most = int((bottom - TOP) // _APART)
        placed = placed[:: max(1, -(-len(placed) // max(1, most)))]
        places: list[float] = []
        for _, _, value, _ in placed:
            least = places[-1] + _APART if places else TOP + 6.0
            places.append(max(least, self.y(value) + 4))
        over = places[-1] - bottom if places else 0.0
        for at in range(len(places) - 1, -1, -1):
            if over <= 0:
                break
            places[at] -= over
            over = 0.0 if at == 0 else places[at - 1] + _APART - places[at]
        for (text, style, _, css), y in zip(placed, places, strict=True):
            drawn = f" style='{css}'" if css else ""
            self._parts.append(
                f"<text x='{WIDTH - self.right + 6}' y='{y:.1f}' class='name {style}'{drawn}>"
                f"{escaped(text)}</text>"
            )

    def svg(self, said: str) -> str:
        """The drawing. said: what a screen reader says of it."""
        return (
            f"<svg viewBox='0 0 {WIDTH} {self.height}' role='img' aria-label='{escaped(said)}'>"
            f"{''.join(self._parts)}</svg>"
        )


def _said(text: str) -> str:
    return f"<title>{escaped(text)}</title>" if text else ""


# --- around the drawings --------------------------------------------------------------------------


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    sums: int = 0,
    words: bool = False,
) -> str:
    """A table whose rows begin with their heading. sums: so many rows at the end are sums. words:
    the last column is text that wraps."""
    wraps = " class='words'" if words else ""
    heads = "".join(
        f"<th scope='col'{wraps if at == len(head) - 1 else ''}>{escaped(each)}</th>"
        for at, each in enumerate(head)
    )
    body = []
    for place, (first, *rest) in enumerate(rows):
        style = " class='sum'" if place >= len(rows) - sums else ""
        cells = "".join(
            f"<td{wraps if at == len(rest) - 1 else ''}>{escaped(str(cell))}</td>"
            for at, cell in enumerate(rest)
        )
        body.append(f"<tr{style}><th scope='row'>{escaped(str(first))}</th>{cells}</tr>")
    return (
        f"<div class='scroll' tabindex='0' role='region' aria-label='{escaped(caption)}'><table>"
        f"<caption>{escaped(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def folded(summary: str, inner: str) -> str:
    """Something that is shown when it is asked for."""
    return f"<details><summary>{escaped(summary)}</summary>{inner}</details>"


def figure(kind: str, title: str, drawn: str, nothing: str, below: str = "") -> str:
    """One plot under its name, or in words why there is none. below: HTML, tables and notes."""
    if drawn:
        label = f"{title}: drawing"
        inner = (
            f"<div class='pane' tabindex='0' role='region' aria-label='{escaped(label)}'>"
            f"{drawn}</div>"
        )
    else:
        inner = f"<p class='nothing'>{escaped(nothing)}</p>"
    beside = f"<div class='beside'>{below}</div>" if below else ""
    state = "drawn" if drawn else "empty"
    return (
        f"<figure class='plot' data-plot='{kind}' data-state='{state}'>"
        f"<figcaption>{escaped(title)}</figcaption><div class='shown'><div>{inner}</div>"
        f"{beside}</div></figure>"
    )
