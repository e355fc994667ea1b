"""`bot evaluate`: strategies in seeded worlds with the whole trader, and what chance allows."""

from collections.abc import Iterable
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    fail,
    fail_unwritten,
    interruptible,
    require_writable,
    results_file,
    stdout_to_stderr,
    write_files,
)
from bot.cli.options import AllCores, Html, Json, Results
from bot.cli.progress import STEP_S, announce, progress
from bot.config.plugins import StrategyFault
from bot.lab.evaluate import page
from bot.lab.evaluate.compare import compare
from bot.lab.evaluate.entries import Contender, entries_named
from bot.lab.evaluate.results import NotKept, RunStore, Task, code_digest, run_tasks, tasks_of
from bot.lab.evaluate.run import RunMetrics
from bot.lab.evaluate.scenarios import (
    SeedFault,
    blocks_named,
    is_held_out,
    log_opening,
    sized,
    worlds_named,
)
from bot.lab.pool import cores

_HOLDOUT_LOG: Final = Path("docs/holdout.md")

_SEEDS, _STEPS = "1-100", 600
_QUICK_SEEDS, _QUICK_STEPS = "1-6", 100


def evaluate(
    strategies: Annotated[
        str,
        typer.Option(
            help="By comma; the first is compared with the others: names, all, ablations, "
            "NAME:1.2 at one value of its risk parameter, NAME@30 under a budget of $30, "
            "package.module:Class, ./file.py:Class."
        ),
    ] = "ladder_joint",
    worlds: Annotated[str, typer.Option(help="By comma: base, all, or names of worlds.")] = "base",
    seeds: Annotated[
        str, typer.Option(metavar="A-B", help="Seeds that are reported; 1-100 otherwise.")
    ] = "",
    tune: Annotated[
        str, typer.Option(metavar="A-B", help="Seeds on which settings are chosen.")
    ] = "",
    steps: Annotated[
        int | None,
        typer.Option(min=40, max=100_000, help="Steps of a simulation; 600 otherwise."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Seeds 1-6 of 100 steps: minutes, and wide intervals.")
    ] = False,
    baselines: Annotated[bool, typer.Option(help="Include the baselines.")] = True,
    results: Results = None,
    json_line: Json = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the JSON here, indented.")
    ] = None,
    html: Html = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Put the tables between its markers.")
    ] = None,
    jobs: AllCores = None,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Open seeds 9001-9999; logged in docs/holdout.md.")
    ] = False,
) -> None:
    r"""Simulates every strategy, setting, world and seed with the whole trader. Each result is
    saved, and a simulation that was saved does not run again.

    Ctrl-C prints the tables of the seeds that are complete; the same command continues from there.
    Ends with 2 for unknown names or seeds, for the holdout without its flag and, after printing the
    result, if a strategy raised or its answer was invalid; with 4 after Ctrl-C or if a process
    died.

    Example: bot evaluate --strategies ladder_joint,glft --worlds base \
        --no-baselines --seeds 1-2 --steps 60 --html evaluation.html
    """
    if markdown is not None:
        try:
            page.around(markdown)
        except (OSError, ValueError) as fault:
            fail(EXIT_CONFIGURATION, str(fault))
    require_writable(results, save, html, markdown)
    if quick:
        seeds, steps = seeds or _QUICK_SEEDS, steps or _QUICK_STEPS
    try:
        with stdout_to_stderr():
            entries = entries_named(strategies, baselines=baselines)
        cells = tuple(sized(cell, steps or _STEPS) for cell in worlds_named(worlds))
        reported, tuned = blocks_named(seeds or _SEEDS, tune, holdout=holdout)
        with stdout_to_stderr():
            _make_each(entries)
        results = results_file(results, "evaluate.jsonl")
        stored = RunStore(results, RunMetrics)
        for block in (reported, tuned):
            if block is not None and is_held_out(block):
                now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
                log_opening(_HOLDOUT_LOG, now, block, strategies, worlds, code_digest())
    except (StrategyFault, SeedFault, ValueError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    wanted = tasks_of(entries, cells, [*(tuned or ()), *reported], Path.cwd())
    missing = [task for key, task in wanted.items() if key not in stored.results]
    jobs = jobs or cores()
    announce(
        sum(task.world.steps for task in missing) * STEP_S / jobs,
        f"{'' if quick else '--quick, '}fewer --seeds or --steps, more --jobs",
    )
    early = _simulate(stored, missing, len(wanted), jobs, results)
    if early:
        left = {task.seed for key, task in wanted.items() if key not in stored.results}
        reported, tuned = _complete(reported, tuned, left)
        if not reported:
            fail(EXIT_LEFT_OVER, f"{early}; no seed is complete yet")
    found = compare(stored, entries, cells, reported, tuned, Path.cwd())
    as_json = msgspec.json.encode(found)
    typer.echo(as_json.decode() if json_line else page.markdown(found))
    if early:
        fail(EXIT_LEFT_OVER, f"{early}; the tables are of the complete seeds, no file was written")
    write_files(
        (save, lambda: msgspec.json.format(as_json) + b"\n"), (html, lambda: page.page(found))
    )
    if markdown is not None:
        try:
            page.write_into(markdown, found)
        except OSError as fault:
            fail_unwritten(fault, save, html, markdown)
    if found.faults:
        fail(EXIT_CONFIGURATION, "\n".join(each.sentence for each in found.faults))


def _make_each(entries: Iterable[Contender]) -> None:
    """Make each strategy once, so that a wrong parameter is found before anything runs."""
    for entry in entries:
        for params in entry.settings() if entry.plugin else ():
            entry.maker(params, Path.cwd())


def _complete(reported: range, tuned: range | None, left: set[int]) -> tuple[range, range | None]:
    """The seeds that can be reported, and those that chose the settings, while the seeds in `left`
    are not complete. They run in order, the tuning seeds first: until these are complete, they are
    reported themselves."""
    if tuned is not None and left.intersection(tuned):
        reported, tuned = tuned, None
    return reported[: next((at for at, seed in enumerate(reported) if seed in left), None)], tuned


def _simulate(
    stored: RunStore[RunMetrics],
    missing: list[Task],
    wanted: int,
    jobs: int,
    results: Path | None,
) -> str:
    """Run the missing simulations. Returns why not all ran, empty if they did. Ends with 2 for a
    strategy that cannot run."""
    had = wanted - len(missing)
    typer.echo(f"{wanted} simulations, {had} of them saved before", err=True)
    done, why = 0, "ended early"
    ending = "ending: simulations that have begun are finished"
    with (
        interruptible(ending) as is_more,
        progress("simulations", len(missing)) as show,
        stdout_to_stderr(),
    ):
        try:
            for done, task in enumerate(run_tasks(stored, missing, jobs, is_more), 1):
                show(done, f"{task.world.name} seed {task.seed}")
        except (StrategyFault, NotKept) as fault:
            fail(EXIT_CONFIGURATION, str(fault))
        except BrokenProcessPool:
            why = "a process died; is there enough memory for so many?"
    if done == len(missing):
        return ""
    there = f"saved in {results}; the same command continues from there"
    if results is None:
        there = "lost; --results FILE would have saved them"
    return f"{why}: {had + done} of {wanted} simulations ran and are {there}"
