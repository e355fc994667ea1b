"""How the result of a sweep hangs on each key: from the file in which `bot sweep` keeps its lives.

Every mark is a trial: the mean of one number over the cases that all trials have. The line joins
the means over trials that took the same value, whatever their other keys were: it is no optimum,
and no interval; `bot sweep --html` tells what chance allows.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bot.lab.evaluate.results import Lines
from bot.lab.report.relive import ReportFault
from bot.lab.sweep.sweep import LifeRecord
from bot.page.plot import Plot, span_of
from bot.page.skeleton import figure, table

NUMBER: Final = "net"
"""What is shown, of all that a life is told in, where it has that: dollars of profit."""

KEYS_MAX: Final = 12


class Tried(msgspec.Struct, frozen=True):
    """One trial. settings: value by key, as text. mean: of the number over the cases."""

    settings: Mapping[str, str]
    mean: float


class Sensitivity(msgspec.Struct, frozen=True):
    """The trials of a file. number: what was looked at; cases: over how many it is the mean.
    damage: what to tell of lines that are not as they were written."""

    source: str
    number: str
    cases: int
    left_out: int
    tried: tuple[Tried, ...]
    damage: str = ""


def sensitivity_of(path: Path) -> Sensitivity:
    """What a file of `bot sweep --results` holds. Trials that lack a case that others have are left
    out, and counted; so are those that were lived for another number, such as a function's.

    Raises ReportFault when it cannot be read, or holds no trial.
    """
    try:
        if not path.is_file():
            raise ReportFault(f"{path}: no such file; `bot sweep --results FILE` makes one")
        lines = Lines(path, LifeRecord)
    except OSError as fault:
        raise ReportFault(f"{path}: {fault.strerror}") from None
    except ValueError:
        raise ReportFault(f"{path}: no trial of `bot sweep` in it") from None
    trials: dict[str, dict[str, LifeRecord]] = {}
    for key, each in lines.kept.items():
        trial, _, rest = key.partition("/")
        case, _, _ = rest.rpartition("/")  # of one case lived by two programs the later counts
        if not each.outcome.fault and each.outcome.values:
            trials.setdefault(trial, {})[case] = each
    if not trials:
        raise ReportFault(f"{path}: no trial of `bot sweep` in it")
    number = _number([next(iter(lives.values())) for lives in trials.values()])
    told = [
        lives
        for lives in trials.values()
        if all(number in each.outcome.values for each in lives.values())
    ]
    cases = dict.fromkeys(case for lives in told for case in lives)
    whole = [lives for lives in told if len(lives) == len(cases)]
    tried = tuple(
        Tried(
            {key: value for each in lives.values() for key, value in each.settings.items()},
            sum(each.outcome.values[number] for each in lives.values()) / len(lives),
        )
        for lives in whole
    )
    left_out = len(trials) - len(whole)
    return Sensitivity(path.name, number, len(cases), left_out, tried, lines.damage)


def _number(firsts: Sequence[LifeRecord]) -> str:
    """`NUMBER` where any trial has it; else the first number of the first of them."""
    if any(NUMBER in each.outcome.values for each in firsts):
        return NUMBER
    return next(iter(firsts[0].outcome.values))


def figures(found: Sensitivity) -> list[str]:
    """A plot for each key that took more than one value; one that says why where there is none."""
    keys = dict.fromkeys(key for each in found.tried for key in each.settings)
    moved = [key for key in keys if len({each.settings.get(key) for each in found.tried}) > 1]
    if not moved:
        nothing = "No key took more than one value in the trials that have every case."
        return [figure("sensitivity", "Sensitivity", "", nothing)]
    up = span_of([each.mean for each in found.tried], zero=False)
    return [_figure(found, key, up) for key in moved[:KEYS_MAX]]


def _figure(found: Sensitivity, key: str, up: tuple[float, float]) -> str:
    rows: dict[str, list[float]] = {}
    for each in found.tried:
        if key in each.settings:
            rows.setdefault(each.settings[key], []).append(each.mean)
    values = _ordered(list(rows))
    plot = Plot((-0.5, len(values) - 0.5), up, height=200, right=20)
    every = max(1, -(-len(values) // 8))
    plot.marks_across(
        [(place, value) for place, value in enumerate(values) if place % every == 0], key
    )
    plot.marks_up(f"{found.number}, mean of {found.cases}")
    means = [sum(rows[value]) / len(rows[value]) for value in values]
    for place, value in enumerate(values):
        for mean in rows[value]:
            plot.dot("trial", place, mean, 3, f"{key}={value}: {mean:.3f}")
    plot.trace("curve", enumerate(means))
    told = [
        (value, len(rows[value]), f"{mean:.3f}", f"{max(rows[value]):.3f}")
        for value, mean in zip(values, means, strict=True)
    ]
    below = table(f"{found.number} by {key}", ("value", "trials", "mean", "best"), told)
    said = f"{key}: " + ", ".join(f"{row[0]} gives {row[2]} on average" for row in told)
    return figure("sensitivity", key, plot.svg(said), "", below)


def _ordered(values: Sequence[str]) -> list[str]:
    """Numbers by size, where all of them are numbers; else as they came."""
    try:
        return sorted(values, key=float)
    except ValueError:
        return list(values)
