"""The findings of a sweep as Markdown, and as one HTML file with plots and the same tables."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from bot.lab.evaluate.page import gains, html_tables, interval_text, markdown_table
from bot.lab.evaluate.statistics import DeflatedRatio
from bot.lab.sweep.space import Settings
from bot.lab.sweep.sweep import Findings, Marginal, TrialRow
from bot.page.plot import Plot, room_for, span_of
from bot.page.skeleton import columns, figure, html_page, panel

ROWS_MAX: Final = 20  # of the table of trials and of the plot of gains; JSON has them all


def markdown(found: Findings) -> str:
    parts = [_summary(found)]
    shown = found.rows[:ROWS_MAX]
    title = "Trials" + (f", the best {len(shown)}" if len(shown) < len(found.rows) else "")
    rows = [_cells(row, len(found.cases)) for row in (found.base, *shown)]
    parts.append(markdown_table(title, rows))
    if found.followed_gain is None:
        parts.append("No splits: **nothing here is of cases not chosen by.**")
    elif found.best is not None:
        parts.append(_followed(found))
    if found.best is not None:
        parts.append(_belief(found))
    if found.marginals:
        parts.append(markdown_table("Keys", [_key(each) for each in found.marginals]))
    if found.failed:
        failed = [
            {"#": each.number, "settings": _named(each.settings), "why": each.fault}
            for each in found.failed
        ]
        parts.append(markdown_table("Trials that failed", failed))
    return "\n\n".join(parts) + "\n"


def _named(settings: Settings) -> str:
    named = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in settings.items())
    return named or "base"


def _share(each: Marginal) -> str:
    return "too few trials to say" if each.share is None else f"{each.share:.0%}"


def _summary(found: Findings) -> str:
    lines = [
        f"{found.how}: {len(found.rows)} trials on {len(found.cases)} cases of {found.where} "
        f"({found.cases[0]}..{found.cases[-1]}); objective: {found.aim}; code {found.code}."
    ]
    if not found.whole:
        lines.append("**Ended early: these are the trials so far.**")
    best = found.best
    if best is None:
        lines.append("No trial has a result.")
    else:
        lines.append(
            f"Best: {_named(best.settings)}: {best.score:.4g}, over the base "
            f"configuration {interval_text(best.gain, '+.4g')}, chosen on these very cases."
        )
    return "\n".join(lines)


def _cells(row: TrialRow, cases: int) -> dict[str, object]:
    is_base = row.number == 0
    return {
        "#": row.number,
        "settings": _named(row.settings),
        "score": f"{row.score:.4g}",
        "gain [95 %]": "" if is_base else interval_text(row.gain, "+.4g"),
        "p, Holm": "" if is_base else f"{row.p:.4f}",
        "mean": f"{row.mean:.4g}",
        "sd": f"{row.sd:.4g}" if cases > 1 else "",  # one case says nothing of another
        "least": f"{row.least:.4g}",
        "cases better-worse": "" if is_base else f"{row.better}-{row.worse}",
        "latched": row.latched,
    }


def _followed(found: Findings) -> str:
    gain = found.followed_gain
    assert gain is not None
    rows = [
        {
            "chosen on": each.past,
            "settings": f"{each.chosen}: {_named(each.settings)}",
            "score there": f"{each.past_score:.4g}",
            "what followed": each.after,
            "score": f"{each.score:.4g}",
            "base": f"{each.base_score:.4g}",
        }
        for each in found.followed
    ]
    return (
        f"{markdown_table('What followed each choice', rows)}\n\nOver all that followed, the "
        f"choices gained {interval_text(gain, '+.4g')} over the base configuration, "
        f"p {gain.p:.4f}."
    )


def _belief(found: Findings) -> str:
    rows = [
        _deflated("its results", found.deflated),
        _deflated("its gains over the base configuration", found.deflated_gain),
    ]
    over, last = found.overfitting, "too few cases or trials to say."
    if over is not None:
        last = (
            f"{over.probability:.0%} of {over.splits} ways to choose by one half of {over.blocks} "
            "blocks of cases; what was chosen lost "
            f"{round(over.lost, 6) + 0:.4g} on the other half."
        )
    table = markdown_table("What to believe of the best", rows)
    return f"{table}\n\nProbability of overfitting: {last}"


def _deflated(name: str, each: DeflatedRatio | None) -> dict[str, object]:
    nothing = "too few cases, or nothing varies"
    return {
        "of": name,
        "mean/sd": f"{each.ratio:.3f}" if each else "",
        "best of so many by chance": f"{each.by_chance:.3f}" if each else "",
        "deflated Sharpe ratio": f"{each.probability:.3f}" if each else nothing,
        "trials ever": each.trials if each else "",
    }


def _key(each: Marginal) -> dict[str, object]:
    mean, best = max(zip(each.means, each.values, strict=True), key=lambda pair: pair[0])
    pairs = zip(each.values, each.means, strict=True)
    return {
        "key": each.key,
        "variance it explains": _share(each),
        "best value by mean": best,
        "its mean": f"{mean:.4g}",
        "means by value": ", ".join(f"{value}: {mean:.4g}" for value, mean in pairs),
    }


# --- the page -------------------------------------------------------------------------------------


def page(found: Findings) -> str:
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
        span_of(xs, zero=zero), span_of(ys, zero=zero), 270, room_for(["chosen, what followed"])
    )
    plot.marks_up("score")
    return plot


def _traces(
    plot: Plot, xs: Sequence[float], lines: Sequence[tuple[str, str, Sequence[float]]]
) -> None:
    for style, _, values in lines:
        points = list(zip(xs, values, strict=True))
        plot.trace(style, points)
        for x, y in points:
            plot.dot(style, x, y, 3)
    plot.names((name, style, values[-1], "") for style, name, values in lines)


def _search(found: Findings) -> str:
    rows = sorted(found.rows, key=lambda row: row.number)
    base, last = found.base.score, float(rows[-1].number)
    plot = _scores([0.0, last], [*(row.score for row in rows), base])
    plot.marks_across(None, "trial")
    plot.trace("ink base", [(0.0, base), (last, base)])
    for row in rows:
        plot.dot("trial", row.number, row.score, 3, _named(row.settings))
    steps = zip(rows, found.trace, strict=True)
    plot.trace("ink good", [(row.number, best) for row, best in steps])
    plot.names([("best so far", "ink good", found.trace[-1], ""), ("base", "ink base", base, "")])
    return figure("trials", "Trials", plot.svg("Trials"), "")


def _marginal(found: Findings, each: Marginal) -> str:
    """Scores by one key whatever the others were: every trial, the means, the best."""
    base = found.base.score
    if each.is_number:
        places = {x: math.log10(float(x)) if each.log else float(x) for x, _ in each.points}
    else:
        places = {value: float(place) for place, value in enumerate(each.values)}
    plot = _scores(places.values(), [*(y for _, y in each.points), base])
    named = [(place, value) for value, place in places.items()]
    axis = f"log10 of {each.key}" if each.is_number and each.log else each.key
    plot.marks_across(None if each.is_number else named, axis)
    for text, score in each.points:
        plot.dot("trial", places[text], score, 2.5, text)
    xs = [places[value] for value in each.values]
    base_line = ("ink base", "base", [base] * len(xs))
    lines = [base_line, ("ink fair", "mean", each.means), ("ink good", "best", each.bests)]
    _traces(plot, xs, lines)
    title = f"{each.key}: variance of scores it explains: {_share(each)}"
    return figure("marginal", title, plot.svg(title), "")


def _gains(found: Findings) -> str:
    rows = []
    for row in found.rows[:ROWS_MAX]:
        name = f"{row.number}: {_named(row.settings)}"
        rows.append((name if len(name) <= 24 else f"{name[:23]}…", name, row.gain))
    counted = "gain over the base configuration [95 %]"
    return gains("Gains of the best trials", counted, rows)


def _splits(found: Findings) -> str:
    rows = found.followed
    scores = [score for row in rows for score in (row.past_score, row.score, row.base_score)]
    plot = _scores([len(rows) + 1.0], scores, zero=True)
    plot.marks_across(None, "split")
    lines = [
        ("ink open", "chosen, in its past", [row.past_score for row in rows]),
        ("ink good", "chosen, what followed", [row.score for row in rows]),
        ("ink base", "base, then", [row.base_score for row in rows]),
    ]
    _traces(plot, [float(place) for place in range(1, len(rows) + 1)], lines)
    title = "What followed each choice"
    return figure("followed", title, plot.svg(title), "")
