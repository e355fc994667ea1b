"""One sweep by the options of `bot sweep`: its cases, its search and its goal."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bot.lab.backtest.lookahead import LookaheadFault, watched
from bot.lab.evaluate.scenarios import Scenario, seeds_named, sized, worlds_named
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.progress import RECORD_S, STEP_S
from bot.lab.sweep import trials as lab
from bot.lab.sweep.space import Dimension, Search, size_of, space
from bot.lab.sweep.sweep import Aim, Findings, SweepResult, findings, splits_of

_TRIALS: Final = 40


class SweepPlan:
    """A sweep, checked and ready. most: trials at most, without the base configuration's."""

    def __init__(
        self,
        config: Path,
        over: Sequence[str],
        *,
        data: Path | None = None,
        world: str = "",
        seeds: str = "1-20",
        steps: int = 200,
        how: str = "grid",
        trials: int | None = None,
        search_seed: int = 1,
        objective: str = "net",
        risk: float = 0.0,
        cv_blocks: int | None = None,
        queue_models: Sequence[QueueModel] = (QueueModel.PESSIMISTIC,),
        terms: Terms | None = None,
        events: int = 10_000,
        pieces: int = 1,
        records: int | None = None,
        results: Path | None = None,
        sets: Sequence[str] = (),
    ) -> None:
        """The arguments are the options of `bot sweep`; queue_models: one. Raises ConfigFault,
        TapeFault, SeedFault, StrategyFault, LookaheadFault if the strategy opened the data while it
        was loaded, ModuleNotFoundError without the library of the search, and ValueError."""
        self._dimensions = space(over)
        if (data is None) == (not world):
            raise ValueError("exactly one of --data and --world is needed")
        cell = _scenario(world, steps) if world else None
        if cell is not None:
            cases = lab.seeded(cell, seeds_named(seeds))
        else:
            assert data is not None
            if len(queue_models) != 1:
                text = ",".join(queue_models)
                raise ValueError(f"--queue-model {text}: one of them")
            cases = lab.recorded(
                data,
                queue_models[0],
                terms or Terms(),
                events=events,
                pieces=pieces,
                records=records,
            )
        aim = _aim(objective, risk, lab.IN_WORLDS if data is None else lab.ON_TAPES)
        configured = _trial_config(config, sets, cell, cases, self._dimensions, aim)
        blocks = splits_of(len(cases), cv_blocks)
        self.sweep = SweepResult(configured, cases, aim, blocks, results)
        self._search = Search(how, self._dimensions, search_seed)
        self._how, self._steps = how, steps
        self._where = cell.size_key if cell is not None else str(data)
        self.most = _trials(how, size_of(self._dimensions), trials)

    @property
    def trial_s(self) -> float:
        """About how many seconds one core takes for a trial."""
        return sum(
            case.lines * RECORD_S if isinstance(case, lab.TapeCase) else self._steps * STEP_S
            for case in self.sweep.cases
        )

    def run(
        self, runner: lab.Runner, wanted: Callable[[], bool], progress: Callable[[int], None]
    ) -> bool:
        """As `SweepResult.run`."""
        return self.sweep.run(self._search, self.most, runner, wanted, progress)

    def findings(self, *, whole: bool) -> Findings:
        """What the trials so far show. whole: True if the sweep came to its end."""
        return findings(self.sweep, self._dimensions, how=self._how, where=self._where, whole=whole)


def _scenario(world: str, steps: int) -> Scenario:
    cells = worlds_named(world)
    if len(cells) > 1:
        names = ", ".join(cell.name for cell in cells)
        raise ValueError(f"--world {world}: one at a time: {names}")
    return sized(cells[0], steps)


def _aim(objective: str, risk: float, known: tuple[str, ...]) -> Aim:
    if ":" in objective:
        return Aim(lab.SCORE, risk=risk, function=objective)
    name = objective.removeprefix("-")
    if name not in known:
        raise ValueError(
            f"--objective {objective}: {', '.join(known)}, -NAME to minimise it, "
            "package.module:function or ./file.py:function"
        )
    return Aim(name, -1 if objective.startswith("-") else 1, risk)


def _trial_config(
    config: Path,
    sets: Sequence[str],
    cell: Scenario | None,
    cases: tuple[lab.Case, ...],
    dimensions: tuple[Dimension, ...],
    aim: Aim,
) -> lab.TrialConfig:
    """The configuration, tried once at its ends."""
    data = {path for case in cases if isinstance(case, lab.TapeCase) for path in case.folders}
    with watched([*map(Path, data)], config) as opened:
        configured = lab.TrialConfig(config, cell, sets)
        configured.probe(dimensions, has_runs=not aim.function)
    if opened:
        raise LookaheadFault(f"{opened[0]} was opened while the strategy was loaded")
    return configured


def _trials(how: str, size: int | None, trials: int | None) -> int:
    """How many trials there will be at most. size: of the grid, None if it is not finite."""
    if how == "grid":
        assert size is not None, "a grid has an end"
        if trials is not None and trials < size:
            raise ValueError(f"--trials {trials}: the grid has {size}; --how random or bayes")
        return size
    most = trials or _TRIALS
    return most if size is None else min(most, size)
