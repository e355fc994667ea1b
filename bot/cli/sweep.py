"""`bot sweep`: which values of a configuration's keys earn most on the same worlds or tapes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    fail,
    fail_unwritten,
    faults_told,
    interruptible,
    option_of,
    places_for,
    printed_aside,
    tidied,
)
from bot.cli.progress import progress

if TYPE_CHECKING:
    from bot.lab.evaluate.scenarios import Scenario
    from bot.lab.sweep.space import Dimension, Search
    from bot.lab.sweep.sweep import Aim, Findings, SweepResult
    from bot.lab.sweep.trials import Case

_EXAMPLE = (
    "\b\nExample: bot sweep --config configs/demo.yaml --world independent-base \\\n"
    "    --seeds 1-3 --steps 60 --over strategy.params.levels=1,2,3 \\\n"
    "    --over risk.order_qty=20:100:20 --how bayes --trials 6 \\\n"
    "    --results sweep.jsonl --html sweep.html"
)
_TRIALS: Final = 40
_LIBRARIES: Final = ("optuna", "distributed", "dask")


_Over = Annotated[
    list[str],
    typer.Option(
        metavar="KEY=VALUES",
        help="A key of the file: 1,2,3 or 0.5:3:0.5 (low, high, step) or 0.5:3.0 or "
        "0.01:10:log or 0.01:10:log:7 (points). May be given several times.",
    ),
]
_Data = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Tapes: a tape's folder, or one of tapes.")
]
_Objective = Annotated[
    str,
    typer.Option(
        help="A number of each life, -NAME for less of it; or package.module:function, "
        "./file.py:function."
    ),
]
_Reading = Annotated[str, typer.Option(help="On tapes, of the queue: averse, likely or kind.")]
_Latency = Annotated[str, typer.Option(help="On tapes, of a request, as for `bot backtest`.")]
_Splits = Annotated[
    int | None, typer.Option(min=0, help="Blocks that follow a choice; 0 for none.")
]
_Records = Annotated[
    int | None, typer.Option(min=1, help="Of each piece the first so many records.")
]
_Pieces = Annotated[
    int, typer.Option(min=1, max=100, help="Equal times that each event is cut into.")
]
_Trials = Annotated[
    int | None, typer.Option(min=1, max=100_000, help="At most; without a grid 40.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep", epilog=_EXAMPLE)(sweep)


def sweep(
    config: Annotated[Path, typer.Option(metavar="FILE", help="One series' YAML file.")],
    over: _Over,
    data: _Data = None,
    world: Annotated[
        str, typer.Option(metavar="NAME", help="A world of `bot evaluate`, instead of tapes.")
    ] = "",
    seeds: Annotated[str, typer.Option(metavar="A-B", help="Of the world.")] = "1-20",
    steps: Annotated[int, typer.Option(min=40, max=100_000, help="Of a life in it.")] = 200,
    how: Annotated[str, typer.Option(help="grid, random or bayes.")] = "grid",
    trials: _Trials = None,
    search_seed: Annotated[int, typer.Option(min=0, help="Of what is drawn by the search.")] = 1,
    objective: _Objective = "net",
    risk: Annotated[
        float,
        typer.Option("--lambda", min=0, max=1_000, help="Times the sd is taken off the mean."),
    ] = 0.0,
    splits: _Splits = None,
    reading: _Reading = "averse",
    latency: _Latency = "30ms",
    maker_fee: Annotated[str, typer.Option(help="On tapes, the maker's rate.")] = "0",
    taker_fee: Annotated[str, typer.Option(help="On tapes, the taker's rate.")] = "0.07",
    index: Annotated[
        bool, typer.Option("--index", help="The recorded index comes as the implied value.")
    ] = False,
    events: Annotated[int, typer.Option(min=1, help="Of each tape the first so many.")] = 10_000,
    pieces: _Pieces = 1,
    records: _Records = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Processes.")] = 1,
    cluster: Annotated[
        str, typer.Option(metavar="ADDRESS", help="A Dask scheduler's: tcp://HOST:PORT.")
    ] = "",
    results: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep lives here, and go on from it.")
    ] = None,
    json_line: Annotated[
        bool, typer.Option("--json", help="Everything as one line of JSON on stdout.")
    ] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="A page with plots.")] = None,
) -> None:
    """Try settings on the same seeds or recorded events; tell what chance allows of the best.

    Ctrl-C ends early with the trials so far, and --results goes on from there. Ends with 2 for a
    file or option that cannot be used, or a configuration that fails as it stands; with 3 when the
    cluster cannot be used; with 4 after Ctrl-C, when a process died, or when the strategy opened
    the tapes as it was loaded.
    """
    from bot.lab.backtest.tapes import tidy
    from bot.lab.sweep.space import space
    from bot.lab.sweep.sweep import findings

    tape = (reading, latency, maker_fee, taker_fee, index)
    with tidied(tidy), faults_told(), _options_told(), printed_aside():
        dimensions = space(over)
        cell, cases = _cases(data, world, seeds, steps, tape, (events, pieces, records))
        aim = _aim(objective, risk, data)
        prepared = _prepared(config, cell, cases, dimensions, aim, splits, (results, html))
        search = _search(dimensions, how, trials, search_seed)
    with tidied(tidy), _ends_told(), printed_aside():
        whole = _swept(prepared, search, jobs, cluster)
    where = cell.size_key if cell is not None else str(data)
    found = findings(prepared, dimensions, how=how, where=where, whole=whole)
    _tell(found, html, json_line=json_line)
    raise typer.Exit(0 if found.whole else EXIT_LEFT_OVER)


@contextmanager
def _options_told() -> Iterator[None]:
    """What is wrong with what was asked for, as a text on stderr and an exit code."""
    from bot.config.plugins import StrategyFault
    from bot.lab.backtest.tapes import TapeFault
    from bot.lab.evaluate.scenarios import SeedFault

    try:
        with _libraries_told():
            yield
    except (TapeFault, SeedFault, StrategyFault, ValueError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))


@contextmanager
def _ends_told() -> Iterator[None]:
    """What keeps a sweep from going on, likewise."""
    from bot.lab.evaluate.results import NotKept
    from bot.lab.sweep.trials import ClusterFault, TrialFault

    try:
        with _libraries_told():
            yield
    except (TrialFault, NotKept) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    except ClusterFault as fault:
        fail(EXIT_VENUE, str(fault))


@contextmanager
def _libraries_told() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as fault:
        if (fault.name or "").partition(".")[0] not in _LIBRARIES:
            raise
        fail(EXIT_CONFIGURATION, f"{fault.name} is not installed: pip install laddermaker[lab]")


def _cases(
    data: Path | None,
    world: str,
    seeds: str,
    steps: int,
    tape: tuple[str, str, str, str, bool],
    parts: tuple[int, int, int | None],
) -> "tuple[Scenario | None, tuple[Case, ...]]":
    from bot.lab.evaluate.scenarios import seeds_named, sized, worlds_named
    from bot.lab.exchange.assumptions import Latency, Terms
    from bot.lab.exchange.queue_model import parse_queue_models
    from bot.lab.sweep.trials import recorded, seeded
    from venue.wire.money import FeeRate

    if (data is None) == (not world):
        raise ValueError("exactly one of --data and --world is wanted")
    if data is None:
        cells = worlds_named(world)
        if len(cells) > 1:
            names = ", ".join(cell.name for cell in cells)
            raise ValueError(f"--world {world}: one at a time: {names}")
        cell = sized(cells[0], steps)
        return cell, seeded(cell, seeds_named(seeds))
    reading, latency, maker_fee, taker_fee, index = tape
    (read, *others) = option_of("--reading", reading, parse_queue_models)
    if others:
        raise ValueError(f"--reading {reading}: one of them")
    terms = Terms(
        latency=option_of("--latency", latency, Latency.parse),
        maker_rate=option_of("--maker-fee", maker_fee, FeeRate.parse),
        taker_rate=option_of("--taker-fee", taker_fee, FeeRate.parse),
        with_index=index,
    )
    events, pieces, records = parts
    found = recorded(data, read, terms, events=events, pieces=pieces, records=records)
    return None, found


def _aim(objective: str, risk: float, data: Path | None) -> "Aim":
    from bot.lab.sweep.sweep import Aim
    from bot.lab.sweep.trials import IN_WORLDS, ON_TAPES, SCORE

    if ":" in objective:
        return Aim(SCORE, risk=risk, function=objective)
    name, known = objective.removeprefix("-"), IN_WORLDS if data is None else ON_TAPES
    if name not in known:
        raise ValueError(
            f"--objective {objective}: {', '.join(known)}, -NAME for less of it, "
            "package.module:function or ./file.py:function"
        )
    return Aim(name, -1 if objective.startswith("-") else 1, risk)


def _prepared(
    config: Path,
    cell: "Scenario | None",
    cases: "tuple[Case, ...]",
    dimensions: "tuple[Dimension, ...]",
    aim: "Aim",
    splits: int | None,
    files: tuple[Path | None, Path | None],
) -> "SweepResult":
    """files: that of results, and the page."""
    from bot.lab.backtest.lookahead import watched
    from bot.lab.sweep.sweep import SweepResult, splits_of
    from bot.lab.sweep.trials import TapeCase, TrialConfig

    places_for(*files, read=(config,))
    data = {path for case in cases if isinstance(case, TapeCase) for path in case.folders}
    with watched([*map(Path, data)], config) as opened:
        configured = TrialConfig(config, cell)
        configured.probe(dimensions, has_runs=not aim.function)
    if opened:
        fail(EXIT_LEFT_OVER, f"no result: {opened[0]} was opened while the strategy was loaded")
    return SweepResult(configured, cases, aim, splits_of(len(cases), splits), files[0])


def _search(
    dimensions: "tuple[Dimension, ...]", how: str, trials: int | None, seed: int
) -> "tuple[Search, int]":
    """What proposes, and how many trials there will be at most."""
    from bot.lab.sweep.space import Search, size_of

    search, size = Search(how, dimensions, seed), size_of(dimensions)
    if how == "grid":
        assert size is not None, "a grid has an end"
        if trials is not None and trials < size:
            raise ValueError(f"--trials {trials}: the grid has {size}; --how random or bayes")
        return search, size
    most = trials or _TRIALS
    return search, most if size is None else min(most, size)


def _swept(sweep: "SweepResult", search: "tuple[Search, int]", jobs: int, cluster: str) -> bool:
    """Sweep with a meter on stderr; True if it came to its end."""
    from bot.lab.sweep import trials

    whole, lives = False, 0
    runner = trials.cluster(cluster) if cluster else trials.processes(jobs)
    with (
        interruptible() as wanted,
        progress("lives", (search[1] + 1) * len(sweep.cases)) as meter,
    ):

        def told(more: int) -> None:
            nonlocal lives
            lives += more
            meter.told(lives, f"{len(sweep.trials)} trials")

        try:
            with runner as run:
                whole = sweep.run(*search, run, wanted, told)
        except trials.RunnerFault as fault:
            typer.echo(str(fault), err=True)
    if not sweep.trials:
        fail(EXIT_LEFT_OVER, "ended before the base configuration was lived on every case")
    return whole


def _tell(found: "Findings", html: Path | None, *, json_line: bool) -> None:
    import msgspec

    from bot.io.state.atomic_file import replace_named
    from bot.lab.sweep.output import markdown, page

    typer.echo(msgspec.json.encode(found).decode() if json_line else markdown(found))
    if html is not None:
        try:
            replace_named(html, page(found).encode())
        except OSError as fault:
            fail_unwritten(fault, html)
