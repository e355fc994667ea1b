"""The findings of a sweep as text: Markdown, what failed included, and what not to believe."""

from collections.abc import Sequence
from typing import Final

from bot.lab.evaluate.statistics import Interval
from bot.lab.sweep.found import Found, Marginal, Row
from bot.lab.sweep.overfit import Deflated
from bot.lab.sweep.space import Settings

ROWS_MAX: Final = 20
"""Of the table of trials; JSON has them all."""

_HEAD: Final = (
    *("#", "settings", "score", "gain [95 %]", "p, Holm", "mean", "sd", "least"),
    *("cases better-worse", "latched"),
)


def markdown(found: Found) -> str:
    """Every table."""
    parts = [_summary(found), _trials(found), _followed(found), _belief(found), _keys(found)]
    if found.failed:
        parts.append(_failed(found))
    return "\n\n".join(part for part in parts if part) + "\n"


def settings_told(settings: Settings) -> str:
    """Settings in a line."""
    told = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in settings.items())
    return told or "as it stands"


def share_told(each: Marginal) -> str:
    """How much of the variance of scores a key explains."""
    return "too few trials to say" if each.share is None else f"{each.share:.0%}"


def interval_told(each: Interval) -> str:
    """An estimate with its interval."""
    return f"{each.value:+.4g} [{each.low:+.4g}, {each.high:+.4g}]"


def _summary(found: Found) -> str:
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
            f"Best: {settings_told(best.settings)}: {best.score:.4g}, over the configuration as it "
            f"stands {interval_told(best.gain)}, chosen on the very cases that this is said of."
        )
    return "\n".join(lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _trials(found: Found) -> str:
    shown = found.rows[:ROWS_MAX]
    title = "### Trials" + (f", the best {len(shown)}" if len(shown) < len(found.rows) else "")
    cases = len(found.cases)
    return f"{title}\n\n{_table(_HEAD, [_cells(row, cases) for row in [found.base, *shown]])}"


def _cells(row: Row, cases: int) -> list[str]:
    is_base = row.number == 0
    return [
        str(row.number),
        settings_told(row.settings),
        f"{row.score:.4g}",
        "" if is_base else interval_told(row.gain),
        "" if is_base else f"{row.p:.4f}",
        f"{row.mean:.4g}",
        f"{row.sd:.4g}" if cases > 1 else "",  # one case says nothing of another
        f"{row.least:.4g}",
        "" if is_base else f"{row.better}-{row.worse}",
        str(row.latched),
    ]


def _followed(found: Found) -> str:
    if not found.followed or found.best is None:
        return "" if found.followed else "No splits: **nothing here is of cases not chosen by.**"
    head = ("chosen on", "settings", "score there", "what followed", "score", "as it stands")
    rows = [
        [
            each.past,
            f"{each.chosen}: {settings_told(each.settings)}",
            f"{each.past_score:.4g}",
            each.after,
            f"{each.score:.4g}",
            f"{each.base_score:.4g}",
        ]
        for each in found.followed
    ]
    gain = found.followed_gain
    assert gain is not None, "splits have a gain"
    return (
        f"### What followed each choice\n\n{_table(head, rows)}\n\n"
        f"Over all that followed, the choices gained {interval_told(gain)} over the configuration "
        f"as it stands, p {gain.p:.4f}."
    )


def _belief(found: Found) -> str:
    if found.best is None:
        return ""
    lines = ["### What to believe of the best", ""]
    rows = [
        _deflated("its results", found.deflated),
        _deflated("its gains over the configuration as it stands", found.deflated_gain),
    ]
    head = ("of", "mean/sd", "best of so many by chance", "deflated Sharpe ratio", "trials ever")
    lines += [_table(head, [row for row in rows if row]), ""]
    over = found.overfitting
    if over is None:
        lines.append("Probability of overfitting: too few cases or trials to say.")
    else:
        lines.append(
            f"Probability of overfitting: {over.probability:.0%} of {over.splits} ways to choose "
            f"by one half of {over.blocks} blocks of cases; what was chosen lost "
            f"{round(over.lost, 6) + 0:.4g} on the other half."
        )
    return "\n".join(lines)


def _deflated(name: str, each: Deflated | None) -> list[str]:
    if each is None:
        return [name, "", "", "too few cases, or nothing varies", ""]
    return [
        name,
        f"{each.ratio:.3f}",
        f"{each.by_chance:.3f}",
        f"{each.probability:.3f}",
        str(each.trials),
    ]


def _keys(found: Found) -> str:
    if not found.marginals:
        return ""
    head = ("key", "variance it explains", "best value by mean", "its mean", "means by value")
    return f"### Keys\n\n{_table(head, [_key(each) for each in found.marginals])}"


def _key(each: Marginal) -> list[str]:
    best = max(range(len(each.means)), key=each.means.__getitem__)
    pairs = zip(each.values, each.means, strict=True)
    return [
        each.key,
        share_told(each),
        each.values[best],
        f"{each.means[best]:.4g}",
        ", ".join(f"{value}: {mean:.4g}" for value, mean in pairs),
    ]


def _failed(found: Found) -> str:
    rows = [
        # What a strategy or a function raises may have several lines.
        [
            str(each.number),
            settings_told(each.settings),
            " ".join(each.fault.split()).replace("|", "/"),
        ]
        for each in found.failed
    ]
    return f"### Trials that failed\n\n{_table(('#', 'settings', 'why'), rows)}"
