"""A sweep: trials are proposed, lived on every case, kept and learned from, round by round.

Every trial has the same cases. A search learns the first part of them alone (`splits`), so that
no proposal knows anything of the cases that judge the choice.
"""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from bot.lab.evaluate.results import RunStore
from bot.lab.evaluate.statistics import Floats, sds
from bot.lab.sweep.space import ROUND, Search, Settings
from bot.lab.sweep.trials import Case, CaseResult, Job, Runner, TrialConfig, TrialFault, code_of

SPLITS: Final = 4
"""Unless said otherwise, and unless there are too few cases for it."""


class Aim(msgspec.Struct, frozen=True):
    """What is sought: the mean over cases of a number, less `risk` times its standard deviation.

    name: of the number in outcomes. sign: -1 where less of it is better. function: what gives the
    number instead of a life, empty for none.
    """

    name: str
    sign: int = 1
    risk: float = 0.0
    function: str = ""

    def score(self, rows: Floats) -> Floats:
        """Of rows by case, a score each. One case has no deviation."""
        means: Floats = rows.mean(axis=-1)
        return means - self.risk * sds(rows)

    @property
    def text(self) -> str:
        name = self.function or self.name
        less = f" - {self.risk:g} x sd" if self.risk else ""
        return f"{'minus ' if self.sign < 0 else ''}mean {name} a case{less}"


class Split(msgspec.Struct, frozen=True):
    """A choice is made by the cases up to `past`, and judged by those from there to `until`."""

    past: int
    until: int


def splits_of(cases: int, wanted: int | None) -> tuple[Split, ...]:
    """Cut the second half of the cases into `wanted` blocks; the past of each is everything before
    it.

    wanted None: SPLITS, or as many as there are cases for. Raises ValueError for more than that.
    """
    first = (cases + 1) // 2
    rest = cases - first
    count = min(SPLITS, rest) if wanted is None else wanted
    if count > rest:
        raise ValueError(f"--splits {count}: {cases} cases allow {rest}")
    ends = [first + rest * place // count for place in range(count + 1)] if count else []
    return tuple(Split(past, until) for past, until in itertools.pairwise(ends))


class Trial(msgspec.Struct, omit_defaults=True):
    """One trial. number: from 1; 0 is the configuration as it stands. values: what is sought, by
    case, empty until all are there. fault: why it has none. latched: lives that a breaker ended."""

    number: int
    settings: Settings
    values: list[float] = []
    latched: int = 0
    fault: str = ""


class SweepResult:
    """One sweep. trials: in the order of their proposal, the configuration as it stands first.
    code: names the code that its lives depend on."""

    def __init__(
        self,
        configured: TrialConfig,
        cases: Sequence[Case],
        aim: Aim,
        splits: Sequence[Split],
        results: Path | None,
    ) -> None:
        """results: where outcomes are kept, and taken from; None: in memory alone. Raises
        StrategyFault for a function to score by that there is not, and ValueError for a file of
        results that holds something else."""
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
        """How many settings were ever tried with this file of results, in this sweep and before,
        the configuration as it stands not counted."""
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
        """Sweep. most: trials at most. progress: called with how many more lives are done. Returns
        True if it came to its end, False where no more was wanted.

        Raises what the runner raises, and TrialFault where the configuration as it stands fails.
        """

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
            raise TrialFault(f"the configuration as it stands: {fault}")
        past = self.splits[0].past if self.splits else len(self.cases)
        while wanted() and len(self.trials) <= most:
            asked = search.propose(min(ROUND, most + 1 - len(self.trials)))
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
        setup, function = self._configured.at(settings), self.aim.function
        code = code_of(setup, function)
        return [Job(setup, settings, case, function, code) for case in self.cases]

    def _live(
        self,
        trials: Sequence[Trial],
        runner: Runner,
        wanted: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> None:
        """Live what is not kept yet, and fill in each trial's result."""
        rows: list[tuple[Trial, list[Job]]] = []
        for trial in trials:
            try:
                rows.append((trial, self._jobs(trial.settings)))
            except TrialFault as fault:
                trial.fault = str(fault)
        jobs = {job.key: job for _, row in rows for job in row}
        outcomes = {key: each for key in jobs if (each := self._store.results.get(key))}
        missing = [job for key, job in jobs.items() if key not in outcomes]
        progress(len(trials) * len(self.cases) - len(missing))
        for job, outcome in runner(missing, wanted=wanted):
            outcomes[job.key] = outcome
            if outcome.lasting:
                self._store.put(job.key, outcome)
            progress(1)
        for trial, row in rows:
            self._tried.add(row[0].trial)
            came = [(job, outcomes[job.key]) for job in row if job.key in outcomes]
            faults = [f"{job.case.name}: {each.fault}" for job, each in came if each.fault]
            if len(came) < len(row):
                continue
            if faults:
                more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
                trial.fault = faults[0] + more
                continue
            trial.values = [self.aim.sign * each.values[self.aim.name] for _, each in came]
            trial.latched = sum(each.values.get("latched", 0) > 0 for _, each in came)
