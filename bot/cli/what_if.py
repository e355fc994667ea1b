"""`bot what-if`: a recorded session with another configuration, against the market it met."""

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
from bot.cli.progress import Terminal
from bot.lab import api
from bot.lab.evaluate.timeout import Stalled
from bot.lab.exchange.assumptions import Terms, milliseconds
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.session import UntilFault


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
        try:
            result = api.what_if(
                journal,
                config=config,
                queue_models=models,
                until=until,
                terms=terms,
                sets=sets or (),
                console=Terminal(quiet=quiet, shorter="--until 10m, --queue-model pessimistic"),
            )
        except Stalled as fault:
            fail(EXIT_CONFIGURATION, f"no result: {fault}")
        except UntilFault as fault:
            fail(EXIT_CONFIGURATION, f"--until {fault}")
    typer.echo(msgspec.json.encode(result.found).decode() if json_line else str(result))
