"""The findings of a sweep as one HTML file: plots, and the tables of its text."""

import math
from collections.abc import Iterable

from bot.lab.evaluate.page import gains, html_tables
from bot.lab.sweep.found import Found, Marginal
from bot.lab.sweep.tables import ROWS_MAX, markdown, settings_told, share_told
from bot.page.plot import Plot, room_for, span_of
from bot.page.skeleton import columns, figure, html_page, panel


def page(found: Found) -> str:
    """The whole file."""
    figures = [_search(found), *(_marginal(found, each) for each in found.marginals)]
    figures += [_gains(found)] if found.rows else []
    figures += [_followed(found)] if found.followed and found.rows else []
    drawn = panel("figures", "Figures", columns(figures, 2))
    return html_page(
        f"Sweep of {found.where}, {found.how}", f"{drawn}{html_tables(markdown(found))}"
    )


def _scores(xs: Iterable[float], ys: Iterable[float], *, zero: bool = False) -> Plot:
    """A plot of scores, which lie close together: its upward axis need not begin at zero."""
    plot = Plot(
        span_of(xs, zero=zero), span_of(ys, zero=zero), 330, room_for(["chosen, what followed"])
    )
    plot.marks_up("score")
    return plot


def _trace(plot: Plot, style: str, points: list[tuple[float, float]]) -> None:
    plot.trace(style, points)
    for x, y in points:
        plot.dot(style, x, y, 3)


def _search(found: Found) -> str:
    """Scores in the order of the trials, and the best so far."""
    if not found.rows:
        return figure("trials", "Trials", "", "No trial has a result.")
    rows = sorted(found.rows, key=lambda row: row.number)
    base, last = found.base.score, float(rows[-1].number)
    plot = _scores([0.0, last], [*(row.score for row in rows), base])
    plot.marks_across(None, "trial")
    plot.trace("ink poor", [(0.0, base), (last, base)])
    for row in rows:
        plot.dot("trial", row.number, row.score, 3, settings_told(row.settings))
    steps = zip(rows, found.trace, strict=True)
    plot.trace("ink good", [(row.number, best) for row, best in steps])
    plot.names(
        [("best so far", "ink good", found.trace[-1], ""), ("as it stands", "ink poor", base, "")]
    )
    return figure("trials", "Trials", plot.svg("Trials"), "")


def _marginal(found: Found, each: Marginal) -> str:
    """Scores by one key whatever the others were: every trial, the means, the best."""
    places, base = _places(each), found.base.score
    plot = _scores(places.values(), [*(y for _, y in each.points), base])
    if _are_numbers(each):
        plot.marks_across(None, f"log10 of {each.key}" if each.log else each.key)
    else:
        plot.marks_across([(places[value], value) for value in each.values], each.key)
    ends = min(places.values()), max(places.values())
    plot.trace("ink poor", [(end, base) for end in ends])
    for text, score in each.points:
        plot.dot("trial", places[text], score, 2.5, text)
    names = [("as it stands", "ink poor", base, "")]
    for style, name, values in (("ink fair", "mean", each.means), ("ink good", "best", each.bests)):
        points = [(places[x], y) for x, y in zip(each.values, values, strict=True)]
        _trace(plot, style, points)
        names.append((name, style, values[-1], ""))
    plot.names(names)
    title = f"{each.key}: variance of scores it explains: {share_told(each)}"
    return figure("marginal", title, plot.svg(title), "")


def _are_numbers(each: Marginal) -> bool:
    try:
        return all(math.isfinite(float(text)) for text, _ in each.points)
    except ValueError:
        return False


def _places(each: Marginal) -> dict[str, float]:
    """Where each value lies across."""
    if not _are_numbers(each):
        return {value: float(place) for place, value in enumerate(each.values)}
    values = [text for text, _ in each.points]
    return {text: math.log10(float(text)) if each.log else float(text) for text in values}


def _gains(found: Found) -> str:
    """Gains over the configuration as it stands with their intervals, the best first."""
    rows = []
    for row in found.rows[:ROWS_MAX]:
        name = f"{row.number}: {settings_told(row.settings)}"
        style = "good" if row.gain.low > 0 else "poor" if row.gain.high < 0 else "open"
        rows.append((name if len(name) <= 24 else f"{name[:23]}…", name, row.gain, style))
    counted = "gain over the configuration as it stands [95 %]"
    return gains("Gains of the best trials", counted, rows)


def _followed(found: Found) -> str:
    """For each split: what the choice showed where it was chosen, and what followed."""
    rows = found.followed
    scores = [score for row in rows for score in (row.past_score, row.score, row.base_score)]
    plot = _scores([len(rows) + 1.0], scores, zero=True)
    plot.marks_across(None, "split")
    names = []
    for style, text, values in (
        ("ink open", "chosen, in its past", [row.past_score for row in rows]),
        ("ink good", "chosen, what followed", [row.score for row in rows]),
        ("ink poor", "as it stands, then", [row.base_score for row in rows]),
    ):
        _trace(plot, style, [(float(place), value) for place, value in enumerate(values, 1)])
        names.append((text, style, values[-1], ""))
    plot.names(names)
    title = "What followed each choice"
    return figure("followed", title, plot.svg(title), "")
