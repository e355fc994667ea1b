"""`bot evaluate`: strategies in seeded worlds with the whole trader, and what chance allows."""

from collections.abc import Iterable
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    fail,
    fail_unwritten,
    interruptible,
    require_writable,
    stdout_to_stderr,
    write_files,
)
from bot.cli.options import AllCores, Html, Json, Results
from bot.cli.progress import progress
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

_HOLDOUT_LOG = Path("docs/holdout.md")


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
    seeds: Annotated[str, typer.Option(metavar="A-B", help="Seeds that are reported.")] = "1-100",
    tune: Annotated[
        str, typer.Option(metavar="A-B", help="Seeds on which settings are chosen.")
    ] = "",
    steps: Annotated[int, typer.Option(min=40, max=100_000, help="Steps of a simulation.")] = 600,
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
    r"""Simulates every strategy, setting, world and seed with the whole trader.

    Ends with 2 for unknown names or seeds, for the holdout without its flag and, after printing the
    result, if a strategy raised or its answer was invalid; with 4 after Ctrl-C or if a process
    died: --results continues from there.

    Example: bot evaluate --strategies ladder_joint,glft --worlds base \
        --no-baselines --seeds 1-2 --steps 60 --html evaluation.html
    """
    if markdown is not None:
        try:
            page.around(markdown)
        except (OSError, ValueError) as fault:
            fail(EXIT_CONFIGURATION, str(fault))
    require_writable(results, save, html, markdown)
    try:
        with stdout_to_stderr():
            entries = entries_named(strategies, baselines=baselines)
        cells = tuple(sized(cell, steps) for cell in worlds_named(worlds))
        reported, tuned = blocks_named(seeds, tune, holdout=holdout)
        with stdout_to_stderr():
            _make_each(entries)
        stored = RunStore(results, RunMetrics)
        for block in (reported, tuned):
            if block is not None and is_held_out(block):
                now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
                log_opening(_HOLDOUT_LOG, now, block, strategies, worlds, code_digest())
    except (StrategyFault, SeedFault, ValueError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    wanted = tasks_of(entries, cells, [*(tuned or ()), *reported], Path.cwd())
    missing = [task for key, task in wanted.items() if key not in stored.results]
    _simulate(stored, missing, len(wanted), jobs or cores(), results)
    found = compare(stored, entries, cells, reported, tuned, Path.cwd())
    as_json = msgspec.json.encode(found)
    typer.echo(as_json.decode() if json_line else page.markdown(found))
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


def _simulate(
    stored: RunStore[RunMetrics],
    missing: list[Task],
    wanted: int,
    jobs: int,
    results: Path | None,
) -> None:
    """Run the missing trials. Ends with 2 for a strategy that cannot run, with 4 if not all ran."""
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
    if done < len(missing):
        there = f"saved in {results}; the same command continues from there"
        if results is None:
            there = "lost; --results FILE would have saved them"
        fail(EXIT_LEFT_OVER, f"{why}: {had + done} of {wanted} simulations ran and are {there}")
