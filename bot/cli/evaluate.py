"""`bot evaluate`: strategies in seeded worlds with the whole trader, and what chance allows."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    fail,
    fail_unwritten,
    interruptible,
    places_for,
    printed_aside,
)
from bot.cli.progress import progress

if TYPE_CHECKING:
    from bot.lab.evaluate.compare import Comparison
    from bot.lab.evaluate.entries import Contender
    from bot.lab.evaluate.results import RunStore, Task
    from bot.lab.evaluate.run import RunMetrics

_EXAMPLE = (
    "\b\nExample: bot evaluate --strategies ladder_joint,glft --worlds base \\\n"
    "    --no-baselines --seeds 1-2 --steps 60 --html evaluation.html"
)
_HOLDOUT_LOG = Path("docs/holdout.md")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("evaluate", epilog=_EXAMPLE)(evaluate)


def evaluate(
    strategies: Annotated[
        str,
        typer.Option(
            help="By comma, the first is compared with the others: names, all, ablations, "
            "NAME:1.2 at one value of its risk parameter, NAME@30 under a budget of $30, "
            "package.module:Class, ./file.py:Class."
        ),
    ] = "ladder_joint",
    worlds: Annotated[str, typer.Option(help="By comma: base, all, or names of cells.")] = "base",
    seeds: Annotated[str, typer.Option(metavar="A-B", help="Seeds that are reported.")] = "1-100",
    tune: Annotated[
        str, typer.Option(metavar="A-B", help="Seeds on which settings are chosen.")
    ] = "",
    steps: Annotated[int, typer.Option(min=40, max=100_000, help="Steps of a life.")] = 600,
    baselines: Annotated[
        bool, typer.Option(help="Show the baselines beside what was asked for.")
    ] = True,
    results: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep lives here, and go on from it.")
    ] = None,
    json_line: Annotated[
        bool, typer.Option("--json", help="Everything as one line of JSON on stdout.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the same here, indented.")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="A page with plots.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Put the tables between its markers.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Processes.")] = 2,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Open seeds 9001-9999; logged in docs/holdout.md.")
    ] = False,
) -> None:
    """Live through every strategy, setting, world and seed; report gains at equal risk.

    Ends with 2 for names or seeds that cannot be, for the holdout without its flag, and, once all
    is told, when a strategy raised or answered nonsense; with 4 after Ctrl-C, or when a process
    died: --results goes on from there.
    """
    from bot.config.plugins import StrategyFault
    from bot.lab.evaluate.entries import entries_named
    from bot.lab.evaluate.results import RunStore, code_digest, tasks_of
    from bot.lab.evaluate.run import RunMetrics
    from bot.lab.evaluate.scenarios import (
        SeedFault,
        blocks_named,
        is_held_out,
        log_opening,
        sized,
        worlds_named,
    )

    _places(results, save, html, markdown)
    try:
        with printed_aside():
            entries = entries_named(strategies, baselines=baselines)
        cells = tuple(sized(cell, steps) for cell in worlds_named(worlds))
        reported, tuned = blocks_named(seeds, tune, holdout=holdout)
        with printed_aside():
            _proven(entries)
        lives = RunStore(results, RunMetrics)
        for block in (reported, tuned):
            if block is not None and is_held_out(block):
                log_opening(_HOLDOUT_LOG, _today(), block, strategies, worlds, code_digest())
    except (StrategyFault, SeedFault, ValueError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    wanted = tasks_of(entries, cells, [*(tuned or ()), *reported], Path.cwd())
    missing = [task for key, task in wanted.items() if key not in lives.results]
    _live_through(lives, missing, len(wanted), jobs, results)
    from bot.lab.evaluate.compare import compare

    found = compare(lives, entries, cells, reported, tuned, Path.cwd())
    _tell(found, save, html, markdown, json_line=json_line)
    if found.faults:
        fail(EXIT_CONFIGURATION, "\n".join(each.sentence for each in found.faults))


def _today() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")


def _proven(entries: "Iterable[Contender]") -> None:
    """Make each strategy once: a wrong parameter is told before anything is lived."""
    for entry in entries:
        for params in entry.settings() if entry.plugin else ():
            entry.maker(params, Path.cwd())


def _places(
    results: Path | None, save: Path | None, html: Path | None, markdown: Path | None
) -> None:
    """End with 2 for a file that could not be written in the end."""
    from bot.lab.evaluate.page import around

    if markdown is not None:
        try:
            around(markdown)
        except (OSError, ValueError) as fault:
            fail(EXIT_CONFIGURATION, str(fault))
    places_for(results, save, html, markdown)


def _live_through(
    lives: "RunStore[RunMetrics]",
    missing: "list[Task]",
    wanted: int,
    jobs: int,
    results: Path | None,
) -> None:
    """Live what is missing, told on stderr; ends with 2 for a strategy that cannot live, with 4
    where not all of it was lived."""
    from concurrent.futures.process import BrokenProcessPool

    from bot.config.plugins import StrategyFault
    from bot.lab.evaluate.results import NotKept, run_tasks

    kept = wanted - len(missing)
    typer.echo(f"{wanted} lives, {kept} of them kept from before", err=True)
    done, why = 0, "ended early"
    asked = "ending: lives that have begun are lived to their end"
    with interruptible(asked) as is_more, progress("lives", len(missing)) as meter, printed_aside():
        try:
            for done, task in enumerate(run_tasks(lives, missing, jobs, is_more), 1):
                meter.told(done, f"{task.world.name} seed {task.seed}")
        except (StrategyFault, NotKept) as fault:
            fail(EXIT_CONFIGURATION, str(fault))
        except BrokenProcessPool:
            why = "a process died; is there enough memory for so many?"
    if done < len(missing):
        there = f"kept in {results}, and the same command goes on from there"
        if results is None:
            there = "lived, and lost: --results FILE would have kept them"
        fail(EXIT_LEFT_OVER, f"{why}: {kept + done} of {wanted} lives are {there}")


def _tell(
    found: "Comparison",
    save: Path | None,
    html: Path | None,
    markdown: Path | None,
    *,
    json_line: bool,
) -> None:
    import msgspec

    from bot.io.state.atomic_file import replace_named
    from bot.lab.evaluate import page

    as_json = msgspec.json.encode(found)
    typer.echo(as_json.decode() if json_line else page.markdown(found))
    try:
        if save is not None:
            replace_named(save, msgspec.json.format(as_json) + b"\n")
        if html is not None:
            replace_named(html, page.page(found).encode())
        if markdown is not None:
            page.write_into(markdown, found)
    except OSError as fault:
        fail_unwritten(fault, save, html, markdown)
