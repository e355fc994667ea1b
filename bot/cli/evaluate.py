"""`bot evaluate`: strategies in seeded worlds with the whole trader, and what chance allows."""

from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    fail,
    fail_unwritten,
    require_writable,
    stdout_to_stderr,
    write_files,
)
from bot.cli.options import Html, Jobs, Json, Results
from bot.cli.progress import Terminal
from bot.config.plugins import StrategyFault
from bot.lab import api
from bot.lab.evaluate import page
from bot.lab.evaluate.evaluation import Evaluation
from bot.lab.evaluate.results import NotKept
from bot.lab.evaluate.scenarios import SeedFault


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
    jobs: Jobs = 2,
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
            asked = Evaluation(
                strategies,
                worlds,
                seeds,
                tune=tune,
                steps=steps,
                baselines=baselines,
                results=results,
                holdout=holdout,
            )
    except (StrategyFault, SeedFault, ValueError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    _simulate(asked, jobs, results)
    found = asked.comparison()
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


def _simulate(asked: Evaluation, jobs: int, results: Path | None) -> None:
    """Run the missing trials. Ends with 2 for a strategy that cannot run, with 4 if not all ran."""
    wanted = asked.total
    typer.echo(
        f"{wanted} simulations, {wanted - len(asked.missing)} of them saved before", err=True
    )
    why = "ended early"
    with stdout_to_stderr():
        try:
            api.run_simulations(asked, jobs, Terminal())
        except (StrategyFault, NotKept) as fault:
            fail(EXIT_CONFIGURATION, str(fault))
        except BrokenProcessPool:
            why = "a process died; is there enough memory for so many?"
    if asked.left:
        there = f"saved in {results}; the same command continues from there"
        if results is None:
            there = "lost; --results FILE would have saved them"
        ran = wanted - len(asked.left)
        fail(EXIT_LEFT_OVER, f"{why}: {ran} of {wanted} simulations ran and are {there}")
