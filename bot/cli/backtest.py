"""`bot backtest`: recorded markets through the whole trader, under each queue model."""

from concurrent.futures.process import BrokenProcessPool
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
    QueuePower,
    ReadLag,
    Sets,
    TakerFee,
    WithIndex,
    parsed,
    queue_models,
)
from bot.cli.progress import Terminal
from bot.lab import api
from bot.lab.backtest.lookahead import LookaheadFault
from bot.lab.backtest.tapes import TapeFault, tidy
from bot.lab.evaluate.timeout import Stalled
from bot.lab.exchange.assumptions import Latency as LatencyModel
from bot.lab.exchange.assumptions import Terms, milliseconds
from bot.lab.pool import cores
from venue.wire.money import FeeRate

_SHORTER: Final = "--records N, one --queue-model, more --jobs"


def backtest(
    data: Annotated[
        Path,
        typer.Option(metavar="DIR", help="A tape, a folder of tapes, a journal, or Parquet."),
    ],
    config: ConfigFile,
    sets: Sets = None,
    latency: Latency = "30ms",
    feed_latency: Annotated[
        str, typer.Option(help="Latency of the streamed feed, from the venue to us.")
    ] = "10ms",
    read_lag: ReadLag = "100ms",
    maker_fee: MakerFee = "0",
    taker_fee: TakerFee = "0.07",
    queue_model: Annotated[
        str, typer.Option(help="Queue models, by comma: pessimistic, expected, optimistic.")
    ] = "pessimistic,expected,optimistic",
    power: QueuePower = 3.0,
    index: WithIndex = False,
    events: Events = 10_000,
    records: Annotated[
        int | None, typer.Option(min=1, help="Records of each event, from the first.")
    ] = None,
    faults: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of requests that a fault strikes.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of latencies and faults.")] = 1,
    jobs: AllCores = None,
    guard: Annotated[
        bool, typer.Option("--guard", help="First prove that the strategy does not look ahead.")
    ] = False,
    json_line: Json = False,
    html: Html = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the runs for `bot report` here.")
    ] = None,
) -> None:
    r"""Runs in virtual time, once under each queue model: who cancels ahead of us is unknown, and
    pessimistic and optimistic bound it.

    Ctrl-C ends early with the results so far. Ends with 2 for a folder, file or option that cannot
    be used, and if the strategy does not return; with 3 if it failed at every decision; with 4 if
    it looked ahead, a process died, or after Ctrl-C.

    Example: bot backtest --data mine/tape --config mine/bot.yaml \
        --latency lognormal:30ms:0.5 --records 1000 --guard
    """
    try:
        terms = Terms(
            latency=parsed("--latency", latency, LatencyModel.parse),
            feed_ns=parsed("--feed-latency", feed_latency, milliseconds),
            read_lag_ns=parsed("--read-lag", read_lag, milliseconds),
            maker_rate=parsed("--maker-fee", maker_fee, FeeRate.parse),
            taker_rate=parsed("--taker-fee", taker_fee, FeeRate.parse),
            power=power,
            with_index=index,
            seed=seed,
            faults=faults,
        )
        with exit_on_fault(), cleanup_on_sigterm(tidy):
            models = queue_models(queue_model)
            require_writable(html, save, read=(config,))
            with stdout_to_stderr():
                result = api.backtest(
                    None,
                    data,
                    config,
                    queue_models=models,
                    terms=terms,
                    events=events,
                    records=records,
                    jobs=jobs or cores(),
                    guard=guard,
                    sampled=html is not None or save is not None,
                    sets=sets or (),
                    console=Terminal(shorter=_SHORTER),
                )
            write_files((html if result.sessions else None, result.html), (save, result.saved))
    except (Stalled, LookaheadFault) as fault:
        looked = isinstance(fault, LookaheadFault)
        fail(EXIT_LEFT_OVER if looked else EXIT_CONFIGURATION, f"no result: {fault}")
    except BrokenProcessPool:
        fail(EXIT_LEFT_OVER, "no result: a process died; is there enough memory for so many?")
    except (TapeFault, ValueError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    typer.echo(msgspec.json.encode(result.found).decode() if json_line else str(result))
    if not result.found.whole:
        raise typer.Exit(EXIT_LEFT_OVER)
    if why := result.found.strategy_fault:
        fail(EXIT_VENUE, f"the strategy failed at every decision, so nothing was quoted: {why}")
