"""The findings of a sweep as one HTML file that needs nothing else: tables, and plots as SVG."""

import math

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
    picture,
    stroke,
    trace,
    words,
)
from bot.lab.evaluate.page import html_tables
from bot.lab.sweep.found import Found, Marginal, Row
from bot.lab.sweep.tables import ROWS_MAX, markdown, settings_told, share_told

_BLUE, _RED, _GREEN = COLOURS[:3]
_GREY = "#7f8c8d"


def page(found: Found) -> str:
    """The whole file."""
    figures = [_search(found), *(_marginal(found, each) for each in found.marginals)]
    figures += [_gains(found)] if found.rows else []
    figures += [_followed(found)] if found.followed and found.rows else []
    body = "".join(f"<figure>{each}</figure>" for each in figures if each)
    return html_page(
        f"Sweep of {found.where}, {found.how}", f"{body}{html_tables(markdown(found))}"
    )


class _Zoomed(Frame):
    """A plot whose upward axis need not begin at zero: scores lie close together."""

    def __init__(self, xs: list[float], ys: list[float]) -> None:
        super().__init__(xs, ys)
        room = (max(ys) - min(ys)) * 0.08 or abs(ys[0]) * 0.1 or 1.0
        self._y_low, self._y_high = min(ys) - room, max(ys) + room


def _dot(frame: Frame, x: float, y: float, colour: str, radius: float = 3) -> str:
    return f"<circle cx='{frame.x(x):.1f}' cy='{frame.y(y):.1f}' r='{radius}' fill='{colour}'/>"


def _level(frame: Frame, y: float, place: int) -> str:
    """The configuration as it stands. place: of its row in the legend."""
    at = frame.y(y)
    line = stroke(LEFT, at, WIDTH - RIGHT, at, _RED)
    return line + words(NAMES, 40 + 15 * place, "as it stands", "start", _RED)


def _search(found: Found) -> str:
    """Scores in the order of the trials, and the best so far."""
    if not found.rows:
        return ""
    rows = sorted(found.rows, key=lambda row: row.number)
    scores = [row.score for row in rows]
    frame = _Zoomed([0.0, float(rows[-1].number)], [*scores, found.base.score])
    body = [frame.axes("trial", "score"), _level(frame, found.base.score, 1)]
    body += [_dot(frame, row.number, row.score, _BLUE) for row in rows]
    steps = zip(rows, found.trace, strict=True)
    body.append(trace(frame, [(row.number, best) for row, best in steps], _GREEN))
    body.append(words(NAMES, 40, "best so far", "start", _GREEN))
    return picture(HEIGHT, "Trials", "".join(body))


def _marginal(found: Found, each: Marginal) -> str:
    """Scores by one key whatever the others were: every trial, the means, the best."""
    places = _places(each)
    points = [(places[text], score) for text, score in each.points]
    frame = _Zoomed([x for x, _ in points], [*(y for _, y in points), found.base.score])
    are_numbers = _are_numbers(each)
    name = f"log10 of {each.key}" if each.log else each.key
    body = [
        frame.axes(name if are_numbers else "", "score"),
        _level(frame, found.base.score, 2),
    ]
    if not are_numbers:
        # Names have places and no numbers: a white strip covers the marks of these.
        top = HEIGHT - BELOW + 2
        body.append(
            f"<rect x='{LEFT}' y='{top}' width='{WIDTH - RIGHT - LEFT}' height='36' fill='#fff'/>"
        )
        body += [words(frame.x(places[value]), top + 14, value, "middle") for value in each.values]
        body.append(words((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, each.key, "middle"))
    body += [_dot(frame, x, y, "#9db4d3", 2.5) for x, y in points]
    rows = [*zip(each.values, each.means, each.bests, strict=True)]
    for colour, line, text, y in (
        (_BLUE, [(places[value], mean) for value, mean, _ in rows], "mean", 40),
        (_GREEN, [(places[value], best) for value, _, best in rows], "best", 55),
    ):
        body.append(trace(frame, line, colour))
        body += [_dot(frame, *point, colour) for point in line]
        body.append(words(NAMES, y, text, "start", colour))
    title = f"{each.key}: variance of scores it explains: {share_told(each)}"
    return picture(HEIGHT, title, "".join(body))


def _are_numbers(each: Marginal) -> bool:
    try:
        return all(math.isfinite(float(text)) for text, _ in each.points)
    except ValueError:
        return False


def _places(each: Marginal) -> dict[str, float]:
    """Where each value stands across."""
    if not _are_numbers(each):
        return {value: float(place) for place, value in enumerate(each.values)}
    values = [text for text, _ in each.points]
    return {text: math.log10(float(text)) if each.log else float(text) for text in values}


def _gains(found: Found) -> str:
    """Gains over the configuration as it stands with their intervals, the best first."""
    rows = found.rows[:ROWS_MAX]
    height = 70 + 18 * len(rows)
    # Of few cases the ends are infinite, the gain is not.
    places = [x for row in rows for x in (row.gain.low, row.gain.value, row.gain.high)]
    frame = Frame(places, [0.0], height)
    body = [frame.axes("gain over the configuration as it stands [95 %]", "", marks_up=False)]
    body += [_bar(frame, row, 42 + 18 * place) for place, row in enumerate(rows)]
    body.append(stroke(frame.x(0), 30, frame.x(0), height - BELOW, "#333"))
    return picture(height, "Gains of the best trials", "".join(body))


def _bar(frame: Frame, row: Row, y: float) -> str:
    gain = row.gain
    colour = _GREEN if gain.low > 0 else _RED if gain.high < 0 else _GREY
    low, high, at = (frame.x(value) for value in (gain.low, gain.high, gain.value))
    name = f"{row.number}: {settings_told(row.settings)}"
    shown = name if len(name) <= 24 else f"{name[:23]}…"
    return (
        stroke(low, y, high, y, colour, 2)
        + f"<circle cx='{at:.1f}' cy='{y:.1f}' r='3.5' fill='{colour}'/>"
        + f"<g><title>{escaped(name)}</title>"
        + words(NAMES, y + 4, shown, "start", colour)
        + "</g>"
    )


def _followed(found: Found) -> str:
    """For each split: what the choice showed where it was chosen, and what followed."""
    rows = found.followed
    scores = [score for row in rows for score in (row.past_score, row.score, row.base_score)]
    frame = Frame([0.0, float(len(rows) + 1)], scores)
    body = [frame.axes("split", "score")]
    for colour, text, y, values in (
        (_GREY, "chosen, in its past", 40, [row.past_score for row in rows]),
        (_GREEN, "chosen, what followed", 55, [row.score for row in rows]),
        (_RED, "as it stands, then", 70, [row.base_score for row in rows]),
    ):
        points = [(float(place), value) for place, value in enumerate(values, 1)]
        body.append(trace(frame, points, colour))
        body += [_dot(frame, *point, colour) for point in points]
        body.append(words(NAMES, y, text, "start", colour))
    return picture(HEIGHT, "What followed each choice", "".join(body))
