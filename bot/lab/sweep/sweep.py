"""Runs a sweep round by round, and says what to believe of its trials.

Every trial has the same cases, and every interval resamples cases for both sides at once. A search
learns the first part of the cases alone (`splits`), so no proposal knows the cases that judge the
choice.
"""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from bot.lab.evaluate import statistics as stats
from bot.lab.evaluate.results import RunStore
from bot.lab.evaluate.statistics import DeflatedRatio, Floats, Interval, Ints, Overfitting, sds
from bot.lab.sweep.space import Dimension, Search, Settings
from bot.lab.sweep.trials import (
    Case,
    CaseResult,
    Job,
    Runner,
    StrategyFailed,
    TrialConfig,
    TrialFault,
    code_of,
)

SPLITS: Final = 4  # unless said otherwise, and unless there are too few cases for it


class Aim(msgspec.Struct, frozen=True):
    """The objective: the mean over cases of a number, less `risk` times its standard deviation."""

    name: str  # of the number in outcomes
    sign: int = 1  # -1 where less of it is better
    risk: float = 0.0
    function: str = ""  # what gives the number instead of a life, empty for none

    def score(self, rows: Floats) -> Floats:
        """Of rows by case, a score each. One case has no deviation."""
        means: Floats = rows.mean(axis=-1)
        return means - self.risk * sds(rows)

    @property
    def description(self) -> str:
        name = self.function or self.name
        less = f" - {self.risk:g} x sd" if self.risk else ""
        return f"{'minus ' if self.sign < 0 else ''}mean {name} a case{less}"


class Split(msgspec.Struct, frozen=True):
    """A choice is made by the cases up to `past`, and judged by those from there to `until`."""

    past: int
    until: int


def splits_of(cases: int, wanted: int | None) -> tuple[Split, ...]:
    """Cut the second half of the cases into `wanted` blocks; the past of each is everything before
    it. None: SPLITS, or as many as possible. Raises ValueError for too many."""
    first = (cases + 1) // 2
    rest = cases - first
    count = min(SPLITS, rest) if wanted is None else wanted
    if count > rest:
        raise ValueError(f"--splits {count}: {cases} cases allow {rest}")
    ends = [first + rest * place // count for place in range(count + 1)] if count else []
    return tuple(Split(past, until) for past, until in itertools.pairwise(ends))


class Trial(msgspec.Struct, omit_defaults=True):
    number: int  # from 1; 0 is the base configuration
    settings: Settings
    values: list[float] = []  # the objective, by case, empty until all are there
    latched: int = 0  # lives that a breaker ended
    fault: str = ""  # why it has none
    failed: bool = False  # True if its strategy failed at every decision of every life


class SweepResult:
    """One sweep. trials: in the order of their proposal, the base configuration first.
    code: names the code that its lives depend on."""

    def __init__(
        self,
        configured: TrialConfig,
        cases: Sequence[Case],
        aim: Aim,
        splits: Sequence[Split],
        results: Path | None,
    ) -> None:
        """results: file of outcomes; None: in memory alone. Raises StrategyFault for a missing
        score function, and ValueError for a file that holds something else."""
        self.code = code_of(configured.base, aim.function)
        self.aim = aim
        self.cases = cases
        self.splits = splits
        self.trials: list[Trial] = []
        self._configured = configured
        self._store = RunStore(results, CaseResult)
        self._tried: set[str] = set()

    @property
    def trials_ever(self) -> int:
        """Settings ever tried with this file of results, without the base configuration."""
        named = {key.partition("/")[0] for key in self._store.results} | self._tried
        return len(named - {self._jobs({})[0].trial})

    def run(
        self,
        search: Search,
        most: int,
        runner: Runner,
        wanted: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> bool:
        """most: trials at most. progress: called with how many more runs are done. Returns False if
        no more was wanted. Raises what the runner raises, and where the base configuration fails
        StrategyFailed or TrialFault."""

        def have_lived(settings: Sequence[Settings]) -> bool:
            """Live these; False where not all could be, for no more was wanted."""
            fresh = [Trial(len(self.trials) + place, each) for place, each in enumerate(settings)]
            self._live(fresh, runner, wanted, progress)
            done = [trial for trial in fresh if trial.values or trial.fault]
            self.trials += done
            return len(done) == len(fresh)

        if not have_lived([{}]):
            return False
        if fault := self.trials[0].fault:
            kind = StrategyFailed if self.trials[0].failed else TrialFault
            raise kind(f"the base configuration: {fault}")
        past = self.splits[0].past if self.splits else len(self.cases)
        while wanted() and (left := most + 1 - len(self.trials)) > 0:
            asked = search.propose(min(search.round_size(len(self.cases)), left))
            if not asked:
                return True
            if not have_lived(asked):
                return False
            for trial in self.trials[-len(asked) :]:
                score = None if trial.fault else self.aim.score(np.array(trial.values[:past]))
                search.learn(trial.settings, None if score is None else float(score))
        return len(self.trials) > most

    def _jobs(self, settings: Settings) -> list[Job]:
        """Raises TrialFault."""
        setup, function = self._configured.with_settings(settings), self.aim.function
        code = code_of(setup, function)
        return [Job(setup, settings, case, function, code) for case in self.cases]

    def _live(
        self,
        trials: Sequence[Trial],
        runner: Runner,
        wanted: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> None:
        rows: list[tuple[Trial, list[Job]]] = []
        for trial in trials:
            try:
                rows.append((trial, self._jobs(trial.settings)))
            except TrialFault as fault:
                trial.fault = str(fault)
        # A case is decoded or drawn once for all trials of the round that run on it.
        by_case = zip(*(row for _, row in rows), strict=True)
        jobs = {job.result_key: job for row in by_case for job in row}
        outcomes = {key: each for key in jobs if (each := self._store.results.get(key))}
        missing = [job for key, job in jobs.items() if key not in outcomes]
        progress(len(trials) * len(self.cases) - len(missing))
        for job, outcome in runner(missing, wanted=wanted):
            outcomes[job.result_key] = outcome
            if outcome.lasting:
                self._store.put(job.result_key, outcome)
            progress(1)
        for trial, row in rows:
            self._tried.add(row[0].trial)
            came = [(job, outcomes[job.result_key]) for job in row if job.result_key in outcomes]
            faults = [f"{job.case.name}: {each.fault}" for job, each in came if each.fault]
            if len(came) < len(row):
                continue
            if faults:
                more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
                trial.fault = faults[0] + more
                trial.failed = all(each.failed for _, each in came)
                continue
            trial.values = [self.aim.sign * each.values[self.aim.name] for _, each in came]
            trial.latched = sum(each.values.get("latched", 0) > 0 for _, each in came)


BINS: Final = 8  # in which near values are put together where a key took more of them than that


class TrialRow(msgspec.Struct, frozen=True, kw_only=True):
    """One trial over all cases."""

    number: int
    settings: Settings
    score: float  # the objective
    mean: float
    sd: float
    least: float
    gain: Interval  # of its score over that of the base configuration
    p: float  # of the gain, Holm's over every trial here
    better: int  # better, worse: cases
    worse: int
    latched: int  # lives that a breaker ended


class ForwardTest(msgspec.Struct, frozen=True, kw_only=True):
    """A choice by past cases, and what followed. past_score: of the choice, where it was chosen;
    score and base_score: of the choice and of the base configuration, on what followed."""

    past: str
    after: str
    chosen: int  # number of the trial, 0 for leaving the base configuration
    settings: Settings
    past_score: float
    score: float
    base_score: float


class Marginal(msgspec.Struct, frozen=True, kw_only=True):
    """A key by itself. share: of all variance of scores that lies between these values, None for
    too few trials."""

    key: str
    is_number: bool  # False for names, and for numbers that were listed out of order
    log: bool
    values: list[str]  # as text, in order; of those put together the middle one
    means: list[float]  # means, bests: of the scores there
    bests: list[float]
    share: float | None
    points: list[tuple[str, float]]  # every trial's value and score, in order of proposal


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is reported. followed_gain: of the choices over the base configuration, per
    case that followed; None without splits."""

    aim: str
    how: str
    where: str
    code: str
    whole: bool  # True if the sweep came to its end
    cases: list[str]
    base: TrialRow  # the base configuration
    rows: list[TrialRow]  # the best first
    failed: list[Trial]
    followed: list[ForwardTest]
    followed_gain: Interval | None
    trials_ever: int  # settings that were ever tried with these results
    deflated: DeflatedRatio | None  # of the best trial's numbers
    deflated_gain: DeflatedRatio | None  # of their differences from the base configuration
    overfitting: Overfitting | None
    marginals: list[Marginal]
    trace: list[float]  # the best score so far, trial by trial

    @property
    def best(self) -> TrialRow | None:
        return self.rows[0] if self.rows else None


def findings(
    sweep: SweepResult, dimensions: Sequence[Dimension], *, how: str, where: str, whole: bool
) -> Findings:
    """The first trial is the base configuration."""
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
        aim=aim.description,
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
    drawn: Floats = aim.score(values[places]) - aim.score(base[places])
    return stats.interval(float(aim.score(values) - aim.score(base)), drawn, len(values))


def _followed(
    aim: Aim, trials: Sequence[Trial], nets: Floats, splits: Sequence[Split], names: Sequence[str]
) -> tuple[list[ForwardTest], Interval | None]:
    out: list[ForwardTest] = []
    after: list[Floats] = []
    for split in splits:
        past, later = nets[:, : split.past], nets[:, split.past : split.until]
        # Of equals the first: the base configuration before any other.
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
