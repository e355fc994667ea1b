"""`bot sweep`: which values of a configuration's keys earn most on the same worlds or tapes."""

from collections.abc import Iterator
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
    Sets,
    TakerFee,
    WithIndex,
    parsed,
    queue_models,
)
from bot.cli.progress import Terminal, announce
from bot.config.plugins import StrategyFault
from bot.lab import api
from bot.lab.backtest.lookahead import LookaheadFault
from bot.lab.backtest.tapes import TapeFault, tidy
from bot.lab.evaluate.results import NotKept
from bot.lab.evaluate.scenarios import SeedFault
from bot.lab.exchange.assumptions import Latency as LatencyModel
from bot.lab.exchange.assumptions import Terms
from bot.lab.pool import cores
from bot.lab.sweep import trials as lab
from bot.lab.sweep.output import markdown, page
from bot.lab.sweep.plan import SweepPlan
from venue.wire.money import FeeRate

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
    sets: Sets = None,
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
    there. Ends with 2 for a file or option that cannot be used, or a configuration that fails
    before any change; with 3 if the cluster cannot be used, or the strategy failed at every
    decision; with 4 after Ctrl-C, if a process died, or if the strategy opened the tapes while it
    was loaded.

    Example: bot sweep --config configs/demo.yaml --world independent-base \
        --seeds 1-3 --steps 60 --over strategy.params.levels=1,2,3 \
        --over risk.order_qty=20:100:20 --how bayes --trials 6 \
        --results sweep.jsonl --html sweep.html
    """
    with cleanup_on_sigterm(tidy):
        kinds = (TapeFault, SeedFault, StrategyFault, ValueError)
        with exit_on_fault(), _exit_on(*kinds), stdout_to_stderr():
            terms = Terms(
                latency=parsed("--latency", latency, LatencyModel.parse),
                maker_rate=parsed("--maker-fee", maker_fee, FeeRate.parse),
                taker_rate=parsed("--taker-fee", taker_fee, FeeRate.parse),
                with_index=index,
            )
            require_writable(results, html, read=(config,))
            place = world if data is None else data.resolve().name
            results = results_file(results, f"sweep-{config.stem}-{place}.jsonl")
            plan = SweepPlan(
                config,
                over,
                data=data,
                world=world,
                seeds=seeds,
                steps=steps,
                how=how,
                trials=trials,
                search_seed=search_seed,
                objective=objective,
                risk=risk,
                cv_blocks=cv_blocks,
                queue_models=queue_models(queue_model),
                terms=terms,
                events=events,
                pieces=pieces,
                records=records,
                results=results,
                sets=sets or (),
            )
        with _exit_on(lab.TrialFault, NotKept), stdout_to_stderr():
            whole = _run_trials(plan, jobs or cores(), cluster)
    found = plan.findings(whole=whole)
    typer.echo(msgspec.json.encode(found).decode() if json_line else markdown(found))
    write_files((html, lambda: page(found)))
    raise typer.Exit(0 if found.whole else EXIT_LEFT_OVER)


@contextmanager
def _exit_on(*kinds: type[Exception]) -> Iterator[None]:
    """End with 2 for these, or for a library that is not installed; with 3 for the cluster, and for
    a strategy that failed at every decision."""
    try:
        yield
    except ModuleNotFoundError as fault:
        if (fault.name or "").partition(".")[0] not in _LIBRARIES:
            raise
        fail(EXIT_CONFIGURATION, f"{fault.name} is not installed: pip install laddermaker[lab]")
    except (lab.ClusterFault, lab.StrategyFailed) as fault:
        fail(EXIT_VENUE, str(fault))
    except LookaheadFault as fault:
        fail(EXIT_LEFT_OVER, f"no result: {fault}")
    except kinds as fault:
        fail(EXIT_CONFIGURATION, str(fault))


def _run_trials(plan: SweepPlan, jobs: int, cluster: str) -> bool:
    whole = False
    if not cluster:
        announce((plan.most + 1) * plan.trial_s / jobs, _SHORTER)
    runner = lab.cluster(cluster) if cluster else lab.processes(jobs)
    try:
        with runner as run:
            whole = api.run_trials(plan, run, Terminal())
    except lab.RunnerFault as fault:
        typer.echo(str(fault), err=True)
    if not plan.sweep.trials:
        fail(EXIT_LEFT_OVER, "ended before the configuration itself had run on every case")
    return whole
