"""`bot sweep`: which values of a configuration's keys earn most on the same worlds or tapes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    cleanup_on_sigterm,
    exit_on_fault,
    fail,
    interruptible,
    require_writable,
    results_file,
    stdout_to_stderr,
    write_files,
)
from bot.cli.options import (
    AllCores,
    ConfigFile,
    Events,
    Html,
    Json,
    Latency,
    MakerFee,
    Results,
    TakerFee,
    WithIndex,
    parsed,
    queue_models,
)
from bot.cli.progress import RECORD_S, STEP_S, announce, progress
from bot.config.plugins import StrategyFault
from bot.lab.backtest.lookahead import watched
from bot.lab.backtest.tapes import TapeFault, tidy
from bot.lab.evaluate.results import NotKept
from bot.lab.evaluate.scenarios import Scenario, SeedFault, seeds_named, sized, worlds_named
from bot.lab.exchange.assumptions import Latency as LatencyModel
from bot.lab.exchange.assumptions import Terms
from bot.lab.pool import cores
from bot.lab.sweep import trials as lab
from bot.lab.sweep.output import markdown, page
from bot.lab.sweep.space import Dimension, Search, size_of, space
from bot.lab.sweep.sweep import Aim, SweepResult, findings, splits_of
from venue.wire.money import FeeRate

_TRIALS: Final = 40
_LIBRARIES: Final = ("optuna", "distributed", "dask")
_SHORTER: Final = "fewer --seeds or --steps, --records N, --how random --trials N, more --jobs"


def sweep(
    config: ConfigFile,
    over: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=VALUES",
            help="A key of the file and its values: 1,2,3 or 0.5:3:0.5 (low, high, step) or "
            "0.5:3.0 or 0.01:10:log or 0.01:10:log:7 (points). May be repeated.",
        ),
    ],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A tape, or a folder of tapes.")
    ] = None,
    world: Annotated[
        str, typer.Option(metavar="NAME", help="A world of `bot evaluate`, instead of tapes.")
    ] = "",
    seeds: Annotated[str, typer.Option(metavar="A-B", help="Seeds of the world.")] = "1-20",
    steps: Annotated[
        int, typer.Option(min=40, max=100_000, help="Steps of a simulation in the world.")
    ] = 200,
    how: Annotated[str, typer.Option(help="Search method: grid, random or bayes.")] = "grid",
    trials: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="Trials at most; 40 but for a grid.")
    ] = None,
    search_seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 1,
    objective: Annotated[
        str,
        typer.Option(
            help="The figure of a simulation to maximise, -NAME to minimise it; or "
            "package.module:function, ./file.py:function."
        ),
    ] = "net",
    risk: Annotated[
        float,
        typer.Option("--lambda", min=0, max=1_000, help="Standard deviations taken off the mean."),
    ] = 0.0,
    cv_blocks: Annotated[
        int | None, typer.Option(min=0, help="Blocks of the forward test; 0 for none.")
    ] = None,
    queue_model: Annotated[
        str, typer.Option(help="On tapes: pessimistic, expected or optimistic.")
    ] = "pessimistic",
    latency: Latency = "30ms",
    maker_fee: MakerFee = "0",
    taker_fee: TakerFee = "0.07",
    index: WithIndex = False,
    events: Events = 10_000,
    pieces: Annotated[
        int, typer.Option(min=1, max=100, help="Equal spans that each event is cut into.")
    ] = 1,
    records: Annotated[
        int | None, typer.Option(min=1, help="Records of each span, from the first.")
    ] = None,
    jobs: AllCores = None,
    cluster: Annotated[
        str, typer.Option(metavar="ADDRESS", help="A Dask scheduler, such as tcp://HOST:PORT.")
    ] = "",
    results: Results = None,
    json_line: Json = False,
    html: Html = None,
) -> None:
    r"""Every trial runs on the same seeds or recorded events; the result shows how much of the best
    gain is chance.

    Each result is saved. Ctrl-C ends early with the trials so far; the same command continues from
    there. Ends with 2 for a
    file or option that cannot be used, or a configuration that fails before any change; with 3 if
    the cluster cannot be used; with 4 after Ctrl-C, if a process died, or if the strategy opened
    the tapes while it was loaded.

    Example: bot sweep --config configs/demo.yaml --world independent-base \
        --seeds 1-3 --steps 60 --over strategy.params.levels=1,2,3 \
        --over risk.order_qty=20:100:20 --how bayes --trials 6 \
        --results sweep.jsonl --html sweep.html
    """
    with cleanup_on_sigterm(tidy):
        kinds = (TapeFault, SeedFault, StrategyFault, ValueError)
        with exit_on_fault(), _exit_on(*kinds), stdout_to_stderr():
            dimensions = space(over)
            if (data is None) == (not world):
                raise ValueError("exactly one of --data and --world is needed")
            cell = _scenario(world, steps) if world else None
            if cell is not None:
                cases = lab.seeded(cell, seeds_named(seeds))
            else:
                assert data is not None
                models = queue_models(queue_model)
                if len(models) != 1:
                    raise ValueError(f"--queue-model {queue_model}: one of them")
                terms = Terms(
                    latency=parsed("--latency", latency, LatencyModel.parse),
                    maker_rate=parsed("--maker-fee", maker_fee, FeeRate.parse),
                    taker_rate=parsed("--taker-fee", taker_fee, FeeRate.parse),
                    with_index=index,
                )
                cases = lab.recorded(
                    data, models[0], terms, events=events, pieces=pieces, records=records
                )
            aim = _aim(objective, risk, lab.IN_WORLDS if data is None else lab.ON_TAPES)
            require_writable(results, html, read=(config,))
            place = world if data is None else data.resolve().name
            results = results_file(results, f"sweep-{config.stem}-{place}.jsonl")
            configured = _trial_config(config, cell, cases, dimensions, aim)
            blocks = splits_of(len(cases), cv_blocks)
            prepared = SweepResult(configured, cases, aim, blocks, results)
            search = Search(how, dimensions, search_seed)
            most = _trials(how, size_of(dimensions), trials)
        jobs = jobs or cores()
        if not cluster:
            announce((most + 1) * _trial_s(cases, steps) / jobs, _SHORTER)
        with _exit_on(lab.TrialFault, NotKept), stdout_to_stderr():
            whole = _run_trials(prepared, search, most, jobs, cluster)
    where = cell.size_key if cell is not None else str(data)
    found = findings(prepared, dimensions, how=how, where=where, whole=whole)
    typer.echo(msgspec.json.encode(found).decode() if json_line else markdown(found))
    write_files((html, lambda: page(found)))
    raise typer.Exit(0 if found.whole else EXIT_LEFT_OVER)


@contextmanager
def _exit_on(*kinds: type[Exception]) -> Iterator[None]:
    """End with 2 for these, or for a library that is not installed; with 3 for the cluster."""
    try:
        yield
    except ModuleNotFoundError as fault:
        if (fault.name or "").partition(".")[0] not in _LIBRARIES:
            raise
        fail(EXIT_CONFIGURATION, f"{fault.name} is not installed: pip install laddermaker[lab]")
    except lab.ClusterFault as fault:
        fail(EXIT_VENUE, str(fault))
    except kinds as fault:
        fail(EXIT_CONFIGURATION, str(fault))


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
    cell: Scenario | None,
    cases: tuple[lab.Case, ...],
    dimensions: tuple[Dimension, ...],
    aim: Aim,
) -> lab.TrialConfig:
    """The configuration, tried once at its ends. Ends with 4 if its strategy opened the data."""
    data = {path for case in cases if isinstance(case, lab.TapeCase) for path in case.folders}
    with watched([*map(Path, data)], config) as opened:
        configured = lab.TrialConfig(config, cell)
        configured.probe(dimensions, has_runs=not aim.function)
    if opened:
        fail(EXIT_LEFT_OVER, f"no result: {opened[0]} was opened while the strategy was loaded")
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


def _trial_s(cases: Sequence[lab.Case], steps: int) -> float:
    """About how many seconds one core takes for a trial. steps: of a case in a world."""
    return sum(
        case.lines * RECORD_S if isinstance(case, lab.TapeCase) else steps * STEP_S
        for case in cases
    )


def _run_trials(sweep: SweepResult, search: Search, most: int, jobs: int, cluster: str) -> bool:
    whole, simulations = False, 0
    runner = lab.cluster(cluster) if cluster else lab.processes(jobs)
    total = (most + 1) * len(sweep.cases)
    with interruptible() as wanted, progress("simulations", total) as show:

        def done(more: int) -> None:
            nonlocal simulations
            simulations += more
            show(simulations, f"{len(sweep.trials)} trials")

        try:
            with runner as run:
                whole = sweep.run(search, most, run, wanted, done)
        except lab.RunnerFault as fault:
            typer.echo(str(fault), err=True)
    if not sweep.trials:
        fail(EXIT_LEFT_OVER, "ended before the configuration itself had run on every case")
    return whole
