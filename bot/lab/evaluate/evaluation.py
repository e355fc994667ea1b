"""One evaluation: its strategies, worlds and seeds, what is stored of it, and its tables."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot.lab.evaluate.compare import Comparison, compare
from bot.lab.evaluate.entries import entries_named
from bot.lab.evaluate.results import RunStore, Task, code_digest, run_tasks, tasks_of
from bot.lab.evaluate.run import RunMetrics
from bot.lab.evaluate.scenarios import (
    blocks_named,
    is_held_out,
    log_opening,
    sized,
    worlds_named,
)

_HOLDOUT_LOG: Final = Path("docs/holdout.md")


class Evaluation:
    """total: simulations wanted. missing: those of them that are not stored yet. reported, tuned:
    the seeds of the tables, and those on which settings are chosen."""

    def __init__(
        self,
        strategies: str,
        worlds: str,
        seeds: str,
        *,
        tune: str = "",
        steps: int = 600,
        baselines: bool = True,
        results: Path | None = None,
        holdout: bool = False,
    ) -> None:
        """The texts are those of `bot evaluate`. Raises StrategyFault, SeedFault, and ValueError
        for unknown worlds and for a file of results that holds something else."""
        self._folder = Path.cwd()
        self._entries = entries_named(strategies, baselines=baselines)
        self._worlds = tuple(sized(cell, steps) for cell in worlds_named(worlds))
        self.reported, self.tuned = blocks_named(seeds, tune, holdout=holdout)
        self._make_each()
        self._store = RunStore(results, RunMetrics)
        for block in (self.reported, self.tuned):
            if block is not None and is_held_out(block):
                now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
                log_opening(_HOLDOUT_LOG, now, block, strategies, worlds, code_digest())
        every = [*(self.tuned or ()), *self.reported]
        wanted = tasks_of(self._entries, self._worlds, every, self._folder)
        self.total = len(wanted)
        self.missing = [task for key, task in wanted.items() if key not in self._store.results]

    @property
    def left(self) -> list[Task]:
        """The simulations that have not run yet."""
        return [task for task in self.missing if task.result_key not in self._store.results]

    def _make_each(self) -> None:
        """Make each strategy once, so that a wrong parameter is found before anything runs."""
        for entry in self._entries:
            for params in entry.settings() if entry.plugin else ():
                entry.maker(params, self._folder)

    def run(self, jobs: int, wanted: Callable[[], bool] = lambda: True) -> Iterator[Task]:
        """Run what is missing; each once its result is stored. Raises as `run_tasks` does."""
        yield from run_tasks(self._store, self.missing, jobs, wanted)

    def comparison(self, reported: range | None = None, tuned: range | None = None) -> Comparison:
        """What the stored results come to. reported, tuned: instead of all seeds, where not all
        simulations ran."""
        if reported is None:
            reported, tuned = self.reported, self.tuned
        return compare(self._store, self._entries, self._worlds, reported, tuned, self._folder)
