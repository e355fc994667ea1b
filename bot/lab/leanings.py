"""Markouts of our fills as rows for a person: by what others showed just before each, and by the
setting that priced the order."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bot.core.account.lean import Leaning
from bot.core.account.markouts import HORIZONS_S
from bot.core.report import Against, MarkoutReport, ProfitRow
from bot.io.metrics.profits import markout_text

_LEANS: Final = ("lean", "flow")
_SETTING: Final = "strategy"
SPLITS: Final = (*_LEANS, _SETTING)
"""The dimensions of a profit account that are shown: lean of the book, flow of the takers, and the
strategy or its variant where there are several."""

HEAD: Final = ("fills by", "fills", "shares", *(f"{horizon} s" for horizon in HORIZONS_S))

Split = Mapping[str, Sequence[ProfitRow]]
"""The rows of one run by dimension."""


def leaning_rows(runs: Sequence[Split]) -> list[tuple[str, ...]]:
    """Rows under `HEAD`: markouts against others' mid in cents a share, pooled over the runs, and
    the difference of `with` and `against`. No row of a group without fills."""
    rows = []
    for name in _LEANS:
        groups: dict[Leaning, dict[int, MarkoutReport]] = {}
        for leaning in Leaning:
            found = [row for run in runs for row in run.get(name, ()) if row.name == leaning]
            if not found:
                continue
            marks = groups[leaning] = pooled(found)
            rows.append(_row(f"{name} {_SAID[leaning]}", found, marks))
        if Leaning.WITH in groups and Leaning.AGAINST in groups:
            gap = differences(groups[Leaning.WITH], groups[Leaning.AGAINST])
            cells = (_cell(gap.get(horizon)) for horizon in HORIZONS_S)
            rows.append((f"{name} with us less against us", "", "", *cells))
    settings: dict[str, list[ProfitRow]] = {}
    for run in runs:
        for row in run.get(_SETTING, ()):
            settings.setdefault(row.name, []).append(row)
    if len(settings) > 1:
        rows += [_row(f"by {name}", each, pooled(each)) for name, each in sorted(settings.items())]
    return rows


def _row(
    name: str, found: Sequence[ProfitRow], marks: Mapping[int, MarkoutReport]
) -> tuple[str, ...]:
    fills, qty = sum(row.fills for row in found), sum(row.qty for row in found)
    return name, f"{fills:,}", f"{qty:,}", *_cells(marks)


def pooled(rows: Iterable[ProfitRow]) -> dict[int, MarkoutReport]:
    """The markouts against others' mid of several rows, of runs that are independent, by horizon.

    A run whose markouts are all of one stretch of time has no error of its own: it counts as one
    cluster.
    """
    found: dict[int, list[MarkoutReport]] = {}
    for row in rows:
        for each in row.markouts:
            if each.against is Against.MID:
                found.setdefault(each.horizon_s, []).append(each)
    return {horizon_s: _pool(each) for horizon_s, each in sorted(found.items())}


def differences(
    one: Mapping[int, MarkoutReport], other: Mapping[int, MarkoutReport]
) -> dict[int, tuple[float, float | None]]:
    """By horizon the mean of `one` less that of `other`, and the standard error as if the two were
    independent; None where one of them has none."""
    found = {}
    for horizon_s in one.keys() & other.keys():
        mine, theirs = one[horizon_s], other[horizon_s]
        error = None
        if mine.error_cents is not None and theirs.error_cents is not None:
            error = math.hypot(mine.error_cents, theirs.error_cents)
        found[horizon_s] = mine.mean_cents - theirs.mean_cents, error
    return found


_SAID: Final = {
    Leaning.WITH: "with us",
    Leaning.NEUTRAL: "neutral",
    Leaning.AGAINST: "against us",
    Leaning.UNKNOWN: "unknown",
}


def _pool(rows: Sequence[MarkoutReport]) -> MarkoutReport:
    if len(rows) == 1:
        return rows[0]
    qty = sum(each.qty for each in rows)
    mean = sum(each.qty * each.mean_cents for each in rows) / qty
    parts = [
        each.qty * (each.mean_cents - mean if each.error_cents is None else each.error_cents)
        for each in rows
    ]
    fills = sum(each.fills for each in rows)
    error = math.hypot(*parts) / qty
    return MarkoutReport(rows[0].horizon_s, Against.MID, fills, qty, mean, error)


def _cells(marks: Mapping[int, MarkoutReport]) -> Iterable[str]:
    for horizon_s in HORIZONS_S:
        each = marks.get(horizon_s)
        yield _cell(None if each is None else (each.mean_cents, each.error_cents))


def _cell(mark: tuple[float, float | None] | None) -> str:
    return "-" if mark is None else markout_text(*mark)
