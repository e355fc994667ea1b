"""From trials to findings: the table, what followed each choice, and what to believe of the best.

Everything is paired: trials are compared case by case with the configuration as it stands, and
every interval resamples cases for both at once.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from bot.lab.evaluate import statistics as stats
from bot.lab.evaluate.statistics import DeflatedRatio, Floats, Interval, Ints, Overfitting
from bot.lab.sweep.space import Dimension, Settings
from bot.lab.sweep.sweep import Aim, Split, SweepResult, Trial

BINS: Final = 8
"""In which near values are put together where a key took more of them than that."""


class TrialRow(msgspec.Struct, frozen=True, kw_only=True):
    """One trial over all cases. score: what is sought. gain: of its score over that of the
    configuration as it stands. p: of the gain, Holm's over every trial here. better, worse: cases.
    latched: lives that a breaker ended."""

    number: int
    settings: Settings
    score: float
    mean: float
    sd: float
    least: float
    gain: Interval
    p: float
    better: int
    worse: int
    latched: int


class ForwardTest(msgspec.Struct, frozen=True, kw_only=True):
    """A choice by past cases, and what followed. chosen: number of the trial, 0 for leaving the
    configuration as it stands. past_score: of the choice, where it was chosen; score and
    base_score: of the choice and of the configuration as it stands, on what followed."""

    past: str
    after: str
    chosen: int
    settings: Settings
    past_score: float
    score: float
    base_score: float


class Marginal(msgspec.Struct, frozen=True, kw_only=True):
    """A key by itself. is_number: False for names, and for numbers that were listed out of order.
    values: as text, in order; of those put together the middle one. means, bests: of the scores
    there. share: of all variance of scores that lies between these values, None for too few trials.
    points: every trial's value and score, in order of proposal."""

    key: str
    is_number: bool
    log: bool
    values: list[str]
    means: list[float]
    bests: list[float]
    share: float | None
    points: list[tuple[str, float]]


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is reported. rows: the best first. base: the configuration as it stands.

    whole: True if the sweep came to its end. trace: the best score so far, trial by trial.
    followed_gain: of what was chosen over the configuration as it stands, a case, over everything
    that followed; None without splits. deflated: of the best trial's numbers; deflated_gain: of
    their differences from the configuration as it stands. trials_ever: settings that were ever
    tried with these results.
    """

    aim: str
    how: str
    where: str
    code: str
    whole: bool
    cases: list[str]
    base: TrialRow
    rows: list[TrialRow]
    failed: list[Trial]
    followed: list[ForwardTest]
    followed_gain: Interval | None
    trials_ever: int
    deflated: DeflatedRatio | None
    deflated_gain: DeflatedRatio | None
    overfitting: Overfitting | None
    marginals: list[Marginal]
    trace: list[float]

    @property
    def best(self) -> TrialRow | None:
        return self.rows[0] if self.rows else None


def findings(
    sweep: SweepResult, dimensions: Sequence[Dimension], *, how: str, where: str, whole: bool
) -> Findings:
    """What there is to be said of the trials that are there; the first one is the configuration as
    it stands."""
    aim, names = sweep.aim, [case.name for case in sweep.cases]
    trials = [trial for trial in sweep.trials if not trial.fault]
    nets: Floats = np.array([trial.values for trial in trials])
    scores, places = aim.score(nets), stats.resamples(len(names))
    gains = [_gain(aim, row, nets[0], places) for row in nets]
    corrected = stats.holm(dict(enumerate(gain.p for gain in gains[1:])))
    rows = []
    for place, (trial, row) in enumerate(zip(trials, nets, strict=True)):
        better, worse = stats.signs(row, nets[0])
        rows.append(
            TrialRow(
                number=trial.number,
                settings=trial.settings,
                score=float(scores[place]),
                mean=float(row.mean()),
                sd=float(stats.sds(row)),
                least=float(row.min()),
                gain=gains[place],
                p=corrected.get(place - 1, gains[place].p),
                better=better,
                worse=worse,
                latched=trial.latched,
            )
        )
    best = int(np.argmax(scores[1:])) if len(rows) > 1 else None
    followed, gain = _followed(aim, trials, nets, sweep.splits, names)
    ever, overs = sweep.trials_ever, nets[1:] - nets[0]
    return Findings(
        aim=aim.text,
        how=how,
        where=where,
        code=sweep.code,
        whole=whole,
        cases=names,
        base=rows[0],
        rows=sorted(rows[1:], key=lambda row: (-row.score, row.number)),
        failed=[trial for trial in sweep.trials if trial.fault],
        followed=followed,
        followed_gain=gain,
        trials_ever=ever,
        deflated=None if best is None else stats.deflated(nets[1:], best, ever),
        deflated_gain=None if best is None else stats.deflated(overs, best, ever),
        overfitting=stats.overfitting(nets, aim.score),
        marginals=[_marginal(each, trials[1:], scores[1:]) for each in dimensions if rows[1:]],
        trace=np.maximum.accumulate(scores[1:]).tolist(),
    )


def _gain(aim: Aim, values: Floats, base: Floats, places: Ints) -> Interval:
    """What values score over those of the configuration as it stands."""
    drawn: Floats = aim.score(values[places]) - aim.score(base[places])
    return stats.interval(float(aim.score(values) - aim.score(base)), drawn, len(values))


def _followed(
    aim: Aim, trials: Sequence[Trial], nets: Floats, splits: Sequence[Split], names: Sequence[str]
) -> tuple[list[ForwardTest], Interval | None]:
    """Each choice with what followed, and the gain over all that did."""
    out: list[ForwardTest] = []
    after: list[Floats] = []
    for split in splits:
        past, later = nets[:, : split.past], nets[:, split.past : split.until]
        # Of equals the first: the configuration as it stands before any other.
        chosen = int(np.argmax(aim.score(past)))
        after.append(later[[chosen, 0]])
        out.append(
            ForwardTest(
                past=_span(names[: split.past]),
                after=_span(names[split.past : split.until]),
                chosen=trials[chosen].number,
                settings=trials[chosen].settings,
                past_score=float(aim.score(past[chosen])),
                score=float(aim.score(later[chosen])),
                base_score=float(aim.score(later[0])),
            )
        )
    if not after:
        return out, None
    chosen_row, base_row = np.concatenate(after, axis=1)
    return out, _gain(aim, chosen_row, base_row, stats.resamples(len(chosen_row)))


def _span(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}..{names[-1]}"


def _marginal(each: Dimension, trials: Sequence[Trial], scores: Floats) -> Marginal:
    """Scores by the values of one key, whatever the others were."""
    texts = [trial.settings[each.key] for trial in trials]
    tried = [value for value in each.values if value in texts]
    tried = tried or sorted(set(texts), key=float)
    is_number = each.ordered or not each.values
    bins = min(BINS, len(tried)) if is_number else len(tried)
    together = [part.tolist() for part in np.array_split(np.array(tried), bins)]
    rows = [scores[np.isin(texts, values)] for values in together]
    return Marginal(
        key=each.key,
        is_number=is_number,
        log=each.log,
        values=[values[len(values) // 2] for values in together],
        means=[float(row.mean()) for row in rows],
        bests=[float(row.max()) for row in rows],
        share=_explained(rows, scores),
        points=[(text, float(score)) for text, score in zip(texts, scores, strict=True)],
    )


def _explained(rows: Sequence[Floats], scores: Floats) -> float | None:
    """The share of variance between groups, adjusted for their number; never below 0."""
    count, groups = len(scores), len(rows)
    total = float(((scores - scores.mean()) ** 2).sum())
    if count <= groups or total == 0.0:
        return None
    within = sum(float(((row - row.mean()) ** 2).sum()) for row in rows)
    return max(0.0, 1 - within / (count - groups) / (total / (count - 1)))
