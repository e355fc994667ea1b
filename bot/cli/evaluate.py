"""`bot evaluate`: strategies in seeded worlds with the whole trader, and what chance allows."""

from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    fail,
    fail_unwritten,
    require_writable,
    results_file,
    stdout_to_stderr,
    write_files,
)
from bot.cli.options import AllCores, Html, Json, Results
from bot.cli.progress import Terminal
from bot.config.plugins import StrategyFault
from bot.lab import api
from bot.lab.evaluate import page
from bot.lab.evaluate.evaluation import Evaluation
from bot.lab.evaluate.results import NotKept
from bot.lab.evaluate.scenarios import SeedFault
from bot.lab.pool import cores

_SEEDS, _STEPS = "1-100", 600
_QUICK_SEEDS, _QUICK_STEPS = "1-6", 100


def evaluate(
    strategies: Annotated[
        str,
        typer.Option(
            help="By comma; the first is compared with the others: names, all, ablations, outside, "
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
    result, if a strategy raised or its answer was invalid, with 3 if one did at every decision;
    with 4 after Ctrl-C or if a process died.

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
        results = results_file(results, "evaluate.jsonl")
        with stdout_to_stderr():
            asked = Evaluation(
                strategies,
                worlds,
                seeds or _SEEDS,
                tune=tune,
                steps=steps or _STEPS,
                baselines=baselines,
                results=results,
                holdout=holdout,
            )
    except (StrategyFault, SeedFault, ValueError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    early = _simulate(asked, jobs or cores(), results, quick=quick)
    reported, tuned = asked.reported, asked.tuned
    if early:
        reported, tuned = _complete(reported, tuned, {task.seed for task in asked.left})
        if not reported:
            fail(EXIT_LEFT_OVER, f"{early}; no seed is complete yet")
    found = asked.comparison(reported, tuned)
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
        is_useless = any(each.always for each in found.faults)
        code = EXIT_VENUE if is_useless else EXIT_CONFIGURATION
        fail(code, "\n".join(each.sentence for each in found.faults))


def _complete(reported: range, tuned: range | None, left: set[int]) -> tuple[range, range | None]:
    """The seeds that can be reported, and those that chose the settings, while the seeds in `left`
    are not complete. They run in order, the tuning seeds first: until these are complete, they are
    reported themselves."""
    if tuned is not None and left.intersection(tuned):
        reported, tuned = tuned, None
    return reported[: next((at for at, seed in enumerate(reported) if seed in left), None)], tuned


def _simulate(asked: Evaluation, jobs: int, results: Path | None, *, quick: bool) -> str:
    """Run the missing simulations. Returns why not all ran, empty if they did. Ends with 2 for a
    strategy that cannot run."""
    wanted, missing = asked.total, len(asked.missing)
    typer.echo(f"{wanted} simulations, {wanted - missing} of them saved before", err=True)
    why = "ended early"
    shorter = f"{'' if quick else '--quick, '}fewer --seeds or --steps, more --jobs"
    with stdout_to_stderr():
        try:
            api.run_simulations(asked, jobs, Terminal(shorter=shorter))
        except (StrategyFault, NotKept) as fault:
            fail(EXIT_CONFIGURATION, str(fault))
        except BrokenProcessPool:
            why = "a process died; is there enough memory for so many?"
    if not asked.left:
        return ""
    there = f"saved in {results}; the same command continues from there"
    if results is None:
        there = "lost; --results FILE would have saved them"
    return f"{why}: {wanted - len(asked.left)} of {wanted} simulations ran and are {there}"
