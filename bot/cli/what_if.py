"""`bot what-if`: a recorded session with another configuration, against the market it met."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.common import EXIT_CONFIGURATION, fail, faults_told, option_of, printed_aside
from bot.cli.progress import progress

if TYPE_CHECKING:
    from bot.lab.exchange.assumptions import Terms
    from bot.lab.exchange.queue_model import QueueModel
    from bot.lab.session import Run
    from bot.lab.what_if.compare import WhatIfResult

_EXAMPLE: Final = "Example: bot what-if state/demo --set strategy.params.levels=3"
_CONFIG_HELP: Final = "Another configuration file, instead of what the session had."
_BOUNDS: Final = {"averse": ("averse",), "likely": ("likely",), "both": ("averse", "likely")}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("what-if", epilog=_EXAMPLE)(what_if)


def what_if(
    journal: Annotated[
        Path, typer.Argument(metavar="STATE_DIR|JOURNAL", help="A state directory, or a segment.")
    ],
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A key of the YAML; may be repeated."),
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help=_CONFIG_HELP)] = None,
    bound: Annotated[
        str, typer.Option(metavar="averse|likely|both", help="How queues are read.")
    ] = "both",
    until: Annotated[
        str, typer.Option(metavar="TIME|ENTRY", help="Up to there, as of `bot replay`.")
    ] = "",
    read_lag: Annotated[str, typer.Option(help="Reads show the account of so long ago.")] = "100ms",
    power: Annotated[
        float, typer.Option(min=0.1, max=20, help="Exponent n of the likely bound.")
    ] = 3.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the round trips that are drawn.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    json_line: Annotated[
        bool, typer.Option("--json", help="Everything as one line of JSON on stdout.")
    ] = False,
) -> None:
    """Trade a recorded session once more with other keys, or another file, and show what differs.

    Beside what happened stand the model on the unchanged configuration, and so its own error, and
    the model on the changed one. The newest run in a state directory, or the one that a segment
    belongs to; it is not touched.

    Ends with 2 for a key, value, file or option that cannot be used, and when the strategy does not
    come back; with 3 when there is no journal, when it is damaged, or when its run cannot be lived
    again.
    """
    from bot.lab.evaluate.timeout import Stalled
    from bot.lab.exchange.assumptions import Terms, milliseconds
    from bot.lab.exchange.queue_model import QueueModel
    from bot.lab.session import runs_meant

    if bound not in _BOUNDS:
        fail(EXIT_CONFIGURATION, f"--bound {bound}: averse, likely or both")
    readings = [QueueModel(name) for name in _BOUNDS[bound]]
    lag_ns = option_of("--read-lag", read_lag, milliseconds)
    terms = Terms(read_lag_ns=lag_ns, power=power, seed=seed)
    with faults_told(), printed_aside():
        (run,) = runs_meant(journal, every=False)
        try:
            found = _compared(run, sets or [], config, until, (terms, readings), quiet=quiet)
        except Stalled as fault:
            fail(EXIT_CONFIGURATION, f"no result: {fault}")
    if json_line:
        import msgspec

        typer.echo(msgspec.json.encode(found).decode())
    else:
        from bot.lab.what_if.compare import text

        typer.echo(text(found))


def _compared(
    run: "Run",
    sets: list[str],
    config: Path | None,
    until: str,
    how: "tuple[Terms, list[QueueModel]]",
    *,
    quiet: bool,
) -> "WhatIfResult":
    import msgspec

    from bot.cli.replay import until_of
    from bot.config.strategies import Makers
    from bot.lab.replay import replayer_of
    from bot.lab.what_if.changes import Trial
    from bot.lab.what_if.compare import compare

    stop = until_of(until, run)
    folder = Path() if config is None else config.parent
    again = replayer_of(run, Makers(folder))
    had = run.started.configured
    assert had is not None  # else it could not have been made
    # A tape brings a series of its own, whatever the file says.
    settings = msgspec.structs.replace(had.settings, series_ticker=again.trader.series_ticker)
    had = msgspec.structs.replace(had, settings=settings)
    trial = Trial(sets, config, folder)
    with progress("events", quiet=quiet) as meter:

        def told(what: str, done: int, of: int) -> None:
            meter.told(done, what, of or None)

        return compare(run, again, had, trial, Makers(folder), *how, stop, told)
