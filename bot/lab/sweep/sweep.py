"""A sweep: trials are proposed, lived on every case, kept and learned from, round by round.

Every trial sees the same cases. What a search learns is of the first past alone (`splits`), so that
no proposal knows anything of what is reported as what followed.
"""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from bot.lab.evaluate.results import Lines
from bot.lab.evaluate.statistics import Floats, sds
from bot.lab.sweep.cases import Case
from bot.lab.sweep.configured import Configured, TrialFault
from bot.lab.sweep.lives import Job, Outcome, code_of
from bot.lab.sweep.runners import Runner
from bot.lab.sweep.search import ROUND, Search
from bot.lab.sweep.setup import Setup
from bot.lab.sweep.space import Settings

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
        if not self.risk or rows.shape[-1] < 2:
            return means
        scored: Floats = means - self.risk * sds(rows)
        return scored

    @property
    def told(self) -> str:
        """The same in words."""
        name = self.function or self.name
        less = f" - {self.risk:g} x sd" if self.risk else ""
        return f"{'minus ' if self.sign < 0 else ''}mean {name} a case{less}"


class Split(msgspec.Struct, frozen=True):
    """Cases up to `past` are known, those from there to `until` follow."""

    past: int
    until: int


def splits_of(cases: int, wanted: int | None) -> tuple[Split, ...]:
    """The first half of the cases is past to all; the other half follows in `wanted` blocks, and
    the past of each is everything before it.

    wanted None: SPLITS, or as many as there are cases for. Raises ValueError for more than that.
    """
    first = (cases + 1) // 2
    rest = cases - first
    count = min(SPLITS, rest) if wanted is None else wanted
    if count > rest:
        raise ValueError(f"--splits {count}: {cases} cases allow {rest}")
    ends = [first + rest * place // count for place in range(count + 1)] if count else []
    return tuple(Split(past, until) for past, until in itertools.pairwise(ends))


class Trial(msgspec.Struct):
    """One trial. number: from 1; 0 is the configuration as it stands. values: what is sought, by
    case, empty until all are there. fault: why it has none."""

    number: int
    settings: Settings
    values: list[float] = []
    latched: int = 0
    fault: str = ""


class Kept(msgspec.Struct, frozen=True):
    """An outcome with its name, and the settings for whoever reads the file."""

    key: str
    settings: Settings
    outcome: Outcome


class Sweep:
    """One sweep. trials: in the order of their proposal, the configuration as it stands first.
    code: what names the code that its lives hang on. damage: what to tell of lines of `results`
    that are not as they were written; empty where there are none."""

    def __init__(
        self,
        configured: Configured,
        cases: Sequence[Case],
        aim: Aim,
        splits: Sequence[Split],
        results: Path | None,
    ) -> None:
        """results: where outcomes are kept, and taken from; None: in memory alone. Raises
        FunctionFault for a function to score by that there is not, and ValueError for a file of
        results that holds something else."""
        self.code = code_of(configured.base, aim.function)
        self.aim = aim
        self.cases = cases
        self.splits = splits
        self.trials: list[Trial] = []
        self._configured = configured
        self._kept = Lines(results, Kept)
        self.damage = self._kept.damage
        self._lived: dict[str, None] = {}

    @property
    def trials_ever(self) -> int:
        """Settings that were ever lived into this file, this sweep's and all before it; the
        configuration as it stands is none of them."""
        base = self._job(self._configured.base, {}, self.cases[0]).trial
        named = (key.partition("/")[0] for key in [*self._kept.kept, *self._lived])
        return len(dict.fromkeys(name for name in named if name != base))

    def run(
        self,
        search: Search,
        most: int,
        runner: Runner,
        wanted: Callable[[], bool],
        told: Callable[[int], None],
    ) -> bool:
        """Sweep. most: trials at most. told: how many more lives need not be waited for. Whether
        it came to its end: False where no more was wanted.

        Raises RunnerFault, OtherCode, and TrialFault where the configuration as it stands fails.
        """
        base = Trial(0, {})
        self._live([base], [self._configured.base], runner, wanted, told)
        if base.fault:
            raise TrialFault(f"the configuration as it stands: {base.fault}")
        if not base.values:
            return False
        self.trials.append(base)
        while wanted() and len(self.trials) <= most:
            asked = search.propose(min(ROUND, most + 1 - len(self.trials)))
            if not asked:
                return True
            fresh = [Trial(len(self.trials) + place, each) for place, each in enumerate(asked)]
            self._live(fresh, [self._setup(each) for each in fresh], runner, wanted, told)
            whole = [trial for trial in fresh if trial.values or trial.fault]
            self.trials += whole
            if len(whole) < len(fresh):
                return False
            for trial in fresh:
                search.learn(trial.settings, None if trial.fault else self._learned(trial))
        return len(self.trials) > most

    def _setup(self, trial: Trial) -> Setup | None:
        try:
            return self._configured.at(trial.settings)
        except TrialFault as fault:
            trial.fault = str(fault)
            return None

    def _learned(self, trial: Trial) -> float:
        """What a search may know of a trial."""
        past = self.splits[0].past if self.splits else len(self.cases)
        return float(self.aim.score(np.array(trial.values[:past])))

    def _live(
        self,
        trials: Sequence[Trial],
        setups: Sequence[Setup | None],
        runner: Runner,
        wanted: Callable[[], bool],
        told: Callable[[int], None],
    ) -> None:
        """Live what is not kept yet, and put into each trial what came of it."""
        rows = [
            (trial, [self._job(setup, trial.settings, case) for case in self.cases])
            for trial, setup in zip(trials, setups, strict=True)
            if setup is not None
        ]
        known: dict[str, Outcome] = {}
        missing: dict[str, Job] = {}
        for _, jobs in rows:
            for job in jobs:
                kept = self._kept.kept.get(job.key)
                if kept is None:
                    missing[job.key] = job
                else:
                    known[job.key] = kept.outcome
        told(len(known) + len(self.cases) * (len(trials) - len(rows)))
        for job, outcome in runner.outcomes([*missing.values()], wanted):
            known[job.key] = outcome
            if outcome.lasting:
                self._kept.put(Kept(job.key, job.settings, outcome))
            told(1)
        for trial, jobs in rows:
            self._lived[jobs[0].trial] = None
            self._name(jobs)
            self._put(trial, [known[job.key] for job in jobs if job.key in known])

    def _name(self, jobs: Sequence[Job]) -> None:
        """Have what was kept say these settings, too: the same life may have been kept under other
        keys, or under none as that of the configuration as it stands."""
        for job in jobs:
            kept = self._kept.kept.get(job.key)
            if kept is not None and job.settings.keys() - kept.settings.keys():
                self._kept.put(Kept(job.key, job.settings | kept.settings, kept.outcome))

    def _put(self, trial: Trial, outcomes: Sequence[Outcome]) -> None:
        if len(outcomes) < len(self.cases):
            return
        faults = [
            f"{case.name}: {outcome.fault}"
            for case, outcome in zip(self.cases, outcomes, strict=True)
            if outcome.fault
        ]
        if faults:
            trial.fault = faults[0] + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else "")
            return
        trial.values = [self.aim.sign * each.values[self.aim.name] for each in outcomes]
        trial.latched = sum(each.values.get("latched", 0) > 0 for each in outcomes)

    def _job(self, setup: Setup, settings: Settings, case: Case) -> Job:
        function = self.aim.function
        return Job(setup, settings, case, function, code_of(setup, function))
