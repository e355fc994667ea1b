"""The findings of a sweep for people: as Markdown, and as one HTML file with plots and the same
tables. What failed is shown, too, and what not to believe."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from bot.lab.evaluate.page import gains, html_tables
from bot.lab.evaluate.statistics import Interval
from bot.lab.sweep.findings import Findings, Marginal, Row
from bot.lab.sweep.overfit import DeflatedRatio
from bot.lab.sweep.space import Settings
from bot.page.plot import Plot, room_for, span_of
from bot.page.skeleton import columns, figure, html_page, panel

ROWS_MAX: Final = 20
"""Of the table of trials and of the plot of gains; JSON has them all."""


def markdown(found: Findings) -> str:
    """Every table."""
    parts = [_summary(found), _trials(found), _followed(found), _belief(found)]
    if found.marginals:
        head = "key|variance it explains|best value by mean|its mean|means by value"
        parts.append(_table("Keys", head, map(_key, found.marginals)))
    if found.failed:
        rows = [(each.number, _named(each.settings), each.fault) for each in found.failed]
        parts.append(_table("Trials that failed", "#|settings|why", rows))
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(title: str, head: str, rows: Iterable[Sequence[object]]) -> str:
    """head: cells with | between. A fault may have several lines, and the sign of a cell in it."""
    cells = [[" ".join(str(cell).split()).replace("|", "/") for cell in row] for row in rows]
    heads = head.split("|")
    lines = [heads, ["---"] * len(heads), *cells]
    return "\n".join([f"### {title}\n", *(f"| {' | '.join(line)} |" for line in lines)])


def _named(settings: Settings) -> str:
    named = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in settings.items())
    return named or "as it stands"


def _share(each: Marginal) -> str:
    return "too few trials to say" if each.share is None else f"{each.share:.0%}"


def _interval(each: Interval) -> str:
    return f"{each.value:+.4g} [{each.low:+.4g}, {each.high:+.4g}]"


def _summary(found: Findings) -> str:
    lines = [
        f"{found.how}: {len(found.rows)} trials on {len(found.cases)} cases of {found.where} "
        f"({found.cases[0]}..{found.cases[-1]}); sought: {found.aim}; code {found.code}."
    ]
    if not found.whole:
        lines.append("**Ended early: these are the trials so far.**")
    best = found.best
    if best is None:
        lines.append("No trial has a result.")
    else:
        lines.append(
            f"Best: {_named(best.settings)}: {best.score:.4g}, over the configuration as it "
            f"stands {_interval(best.gain)}, chosen on the very cases that this is said of."
        )
    return "\n".join(lines)


def _trials(found: Findings) -> str:
    shown = found.rows[:ROWS_MAX]
    title = "Trials" + (f", the best {len(shown)}" if len(shown) < len(found.rows) else "")
    head = "#|settings|score|gain [95 %]|p, Holm|mean|sd|least|cases better-worse|latched"
    rows = [_cells(row, len(found.cases)) for row in (found.base, *shown)]
    return _table(title, head, rows)


def _cells(row: Row, cases: int) -> Sequence[object]:
    is_base = row.number == 0
    return (
        row.number,
        _named(row.settings),
        f"{row.score:.4g}",
        "" if is_base else _interval(row.gain),
        "" if is_base else f"{row.p:.4f}",
        f"{row.mean:.4g}",
        f"{row.sd:.4g}" if cases > 1 else "",  # one case says nothing of another
        f"{row.least:.4g}",
        "" if is_base else f"{row.better}-{row.worse}",
        row.latched,
    )


def _followed(found: Findings) -> str:
    gain = found.followed_gain
    if gain is None:
        return "No splits: **nothing here is of cases not chosen by.**"
    if found.best is None:
        return ""
    rows = [
        (
            each.past,
            f"{each.chosen}: {_named(each.settings)}",
            f"{each.past_score:.4g}",
            each.after,
            f"{each.score:.4g}",
            f"{each.base_score:.4g}",
        )
        for each in found.followed
    ]
    head = "chosen on|settings|score there|what followed|score|as it stands"
    return (
        f"{_table('What followed each choice', head, rows)}\n\n"
        f"Over all that followed, the choices gained {_interval(gain)} over the configuration "
        f"as it stands, p {gain.p:.4f}."
    )


def _belief(found: Findings) -> str:
    if found.best is None:
        return ""
    rows = [
        _deflated("its results", found.deflated),
        _deflated("its gains over the configuration as it stands", found.deflated_gain),
    ]
    head = "of|mean/sd|best of so many by chance|deflated Sharpe ratio|trials ever"
    over = found.overfitting
    if over is None:
        last = "Probability of overfitting: too few cases or trials to say."
    else:
        last = (
            f"Probability of overfitting: {over.probability:.0%} of {over.splits} ways to choose "
            f"by one half of {over.blocks} blocks of cases; what was chosen lost "
            f"{round(over.lost, 6) + 0:.4g} on the other half."
        )
    return f"{_table('What to believe of the best', head, rows)}\n\n{last}"


def _deflated(name: str, each: DeflatedRatio | None) -> Sequence[object]:
    if each is None:
        return (name, "", "", "too few cases, or nothing varies", "")
    numbers = (each.ratio, each.by_chance, each.probability)
    return (name, *(f"{number:.3f}" for number in numbers), each.trials)


def _key(each: Marginal) -> Sequence[object]:
    best = max(range(len(each.means)), key=each.means.__getitem__)
    pairs = zip(each.values, each.means, strict=True)
    means = ", ".join(f"{value}: {mean:.4g}" for value, mean in pairs)
    return (each.key, _share(each), each.values[best], f"{each.means[best]:.4g}", means)


# --- the page -------------------------------------------------------------------------------------


def page(found: Findings) -> str:
    """The whole file."""
    if found.best is None:
        figures = [figure("trials", "Trials", "", "No trial has a result.")]
    else:
        figures = [_search(found), *(_marginal(found, each) for each in found.marginals)]
        figures.append(_gains(found))
        figures += [_splits(found)] if found.followed else []
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


def _traces(
    plot: Plot, xs: Sequence[float], lines: Sequence[tuple[str, str, Sequence[float]]]
) -> None:
    """Lines of (style, name, values), with a dot at each value and the name at the end."""
    for style, _, values in lines:
        points = list(zip(xs, values, strict=True))
        plot.trace(style, points)
        for x, y in points:
            plot.dot(style, x, y, 3)
    plot.names((name, style, values[-1], "") for style, name, values in lines)


def _search(found: Findings) -> str:
    """Scores in the order of the trials, and the best so far."""
    rows = sorted(found.rows, key=lambda row: row.number)
    base, last = found.base.score, float(rows[-1].number)
    plot = _scores([0.0, last], [*(row.score for row in rows), base])
    plot.marks_across(None, "trial")
    plot.trace("ink poor", [(0.0, base), (last, base)])
    for row in rows:
        plot.dot("trial", row.number, row.score, 3, _named(row.settings))
    steps = zip(rows, found.trace, strict=True)
    plot.trace("ink good", [(row.number, best) for row, best in steps])
    plot.names(
        [("best so far", "ink good", found.trace[-1], ""), ("as it stands", "ink poor", base, "")]
    )
    return figure("trials", "Trials", plot.svg("Trials"), "")


def _marginal(found: Findings, each: Marginal) -> str:
    """Scores by one key whatever the others were: every trial, the means, the best."""
    base = found.base.score
    if each.is_number:
        places = {x: math.log10(float(x)) if each.log else float(x) for x, _ in each.points}
    else:
        places = {value: float(place) for place, value in enumerate(each.values)}
    plot = _scores(places.values(), [*(y for _, y in each.points), base])
    if each.is_number:
        plot.marks_across(None, f"log10 of {each.key}" if each.log else each.key)
    else:
        plot.marks_across([(place, value) for value, place in places.items()], each.key)
    for text, score in each.points:
        plot.dot("trial", places[text], score, 2.5, text)
    xs = [places[value] for value in each.values]
    as_it_stands = ("ink poor", "as it stands", [base] * len(xs))
    lines = [as_it_stands, ("ink fair", "mean", each.means), ("ink good", "best", each.bests)]
    _traces(plot, xs, lines)
    title = f"{each.key}: variance of scores it explains: {_share(each)}"
    return figure("marginal", title, plot.svg(title), "")


def _gains(found: Findings) -> str:
    """Gains over the configuration as it stands with their intervals, the best first."""
    rows = []
    for row in found.rows[:ROWS_MAX]:
        name = f"{row.number}: {_named(row.settings)}"
        style = "good" if row.gain.low > 0 else "poor" if row.gain.high < 0 else "open"
        rows.append((name if len(name) <= 24 else f"{name[:23]}…", name, row.gain, style))
    counted = "gain over the configuration as it stands [95 %]"
    return gains("Gains of the best trials", counted, rows)


def _splits(found: Findings) -> str:
    """For each split: what the choice showed where it was chosen, and what followed."""
    rows = found.followed
    scores = [score for row in rows for score in (row.past_score, row.score, row.base_score)]
    plot = _scores([len(rows) + 1.0], scores, zero=True)
    plot.marks_across(None, "split")
    lines = [
        ("ink open", "chosen, in its past", [row.past_score for row in rows]),
        ("ink good", "chosen, what followed", [row.score for row in rows]),
        ("ink poor", "as it stands, then", [row.base_score for row in rows]),
    ]
    _traces(plot, [float(place) for place in range(1, len(rows) + 1)], lines)
    title = "What followed each choice"
    return figure("followed", title, plot.svg(title), "")
