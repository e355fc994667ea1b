"""`bot what-if`: a recorded session with another configuration, against the market it met."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bot.cli.common import EXIT_CONFIGURATION, exit_on_fault, fail, stdout_to_stderr
from bot.cli.options import (
    JournalPath,
    Json,
    QueuePower,
    Quiet,
    ReadLag,
    Sets,
    Until,
    parsed,
    queue_models,
)
from bot.cli.progress import progress
from bot.cli.replay import stop_at
from bot.config.strategies import Makers
from bot.lab.evaluate.timeout import Stalled
from bot.lab.exchange.assumptions import Terms, milliseconds
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.replay import replayer_of
from bot.lab.session import Run, runs_meant
from bot.lab.what_if.changes import Trial
from bot.lab.what_if.compare import WhatIfResult, compare, text


def what_if(
    journal: JournalPath,
    sets: Sets = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another configuration, whole.")
    ] = None,
    queue_model: Annotated[
        str, typer.Option(metavar="NAME", help="pessimistic, expected, or both.")
    ] = "both",
    until: Until = "",
    read_lag: ReadLag = "100ms",
    power: QueuePower = 3.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the latencies.")] = 1,
    quiet: Quiet = False,
    json_line: Json = False,
) -> None:
    """Compares three results: what happened, the model with the unchanged configuration, whose
    difference is the model error, and the model with the changed one. The journal is only read.

    Ends with 2 for a key, value, file or option that cannot be used, and if the strategy does not
    return; with 3 if there is no journal, if it is damaged, or if its run cannot be replayed.

    Example: bot what-if state/demo --set strategy.params.levels=3
    """
    models = queue_models("pessimistic,expected" if queue_model == "both" else queue_model)
    if QueueModel.OPTIMISTIC in models:
        fail(EXIT_CONFIGURATION, f"--queue-model {queue_model}: pessimistic, expected or both")
    lag_ns = parsed("--read-lag", read_lag, milliseconds)
    terms = Terms(read_lag_ns=lag_ns, power=power, seed=seed)
    with exit_on_fault(), stdout_to_stderr():
        (run,) = runs_meant(journal, every=False)
        try:
            folder = Path() if config is None else config.parent
            trial = Trial(sets or [], config, folder)
            found = _compare(run, trial, Makers(folder), until, (terms, models), quiet=quiet)
        except Stalled as fault:
            fail(EXIT_CONFIGURATION, f"no result: {fault}")
    typer.echo(msgspec.json.encode(found).decode() if json_line else text(found))


def _compare(
    run: Run,
    trial: Trial,
    makers: Makers,
    until: str,
    how: tuple[Terms, Sequence[QueueModel]],
    *,
    quiet: bool,
) -> WhatIfResult:
    stop = stop_at(until, run)
    again = replayer_of(run, makers)
    had = run.started.configured
    assert had is not None  # else it could not be replayed
    # A tape has a series of its own, whatever the file says.
    settings = msgspec.structs.replace(had.settings, series_ticker=again.trader.series_ticker)
    had = msgspec.structs.replace(had, settings=settings)
    with progress("events", quiet=quiet) as show:

        def through(what: str, done: int, of: int) -> None:
            show(done, what, of or None)

        return compare(run, again, had, trial, makers, *how, stop, through)
