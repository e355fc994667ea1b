"""`bot backtest`: recorded markets through the whole trader, under each queue model."""

import itertools
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    cleanup_on_sigterm,
    exit_on_fault,
    fail,
    finished_config,
    interruptible,
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
    TakerFee,
    WithIndex,
    parsed,
    queue_models,
)
from bot.cli.progress import RECORD_S, ShowProgress, announce, progress
from bot.config.bot_config import BotConfig
from bot.lab.backtest import run as tables
from bot.lab.backtest.lookahead import PLAYS, LookaheadSign, lookahead_signs, watched
from bot.lab.backtest.tapes import (
    Tape,
    TapeFault,
    read_tapes,
    tape_folders,
    tidy,
    warnings,
    winners,
)
from bot.lab.evaluate.timeout import Stalled
from bot.lab.exchange.assumptions import Latency as LatencyModel
from bot.lab.exchange.assumptions import Terms, milliseconds
from bot.lab.pool import cores
from bot.lab.report.page import report
from bot.lab.report.session import Saved
from bot.lab.report.sources import (
    BacktestOutcome,
    BacktestRun,
    backtest_runs,
    broken_off,
    played,
    run_backtests_apart,
)
from venue.wire.instant import from_ns
from venue.wire.money import FeeRate

_DIED: Final = "no result: a process died; is there enough memory for so many?"
_GUARD_RUNS: Final = 2.5
"""A proof that the strategy does not look ahead: a whole run and three cut ones."""

_SHOWN_EVERY: Final = 100
"""Records between two updates of the progress."""


def backtest(
    data: Annotated[
        Path,
        typer.Option(metavar="DIR", help="A tape, a folder of tapes, a journal, or Parquet."),
    ],
    config: ConfigFile,
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
    be used, and if the strategy does not return; with 4 if the strategy looked ahead, a process
    died, or after Ctrl-C.

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
            tapes = [
                (folder, tape)
                for folder in tape_folders(data)
                for tape in itertools.islice(read_tapes(folder), events)
            ]
            # Outcomes are read before file access is watched, and no trader sees them.
            ends = [winners(tape, folder) for folder, tape in tapes]
            count = sum(len(tape.records[:records]) for _, tape in tapes)
            jobs = jobs or cores()
            runs = len(models) / jobs + (_GUARD_RUNS if guard else 0)
            announce(count * RECORD_S * runs, "--records N, one --queue-model, more --jobs")
            with stdout_to_stderr():
                same = _prove_no_lookahead(tapes, config, terms, records) if guard else None
            plays = backtest_runs(
                [*zip([tape for _, tape in tapes], ends, strict=True)],
                models,
                terms,
                records,
                reports=html is not None or save is not None,
            )
            folders = [data, *(folder for folder, _ in tapes)]
            came, whole = _play_all(plays, config, folders, min(jobs, len(plays)))
            sessions = [session for each in came for session in each.sessions]
            sessions = sessions if whole else broken_off(sessions)
            write_files(
                (html if sessions else None, lambda: report(sessions)),
                (save, lambda: msgspec.json.encode(Saved(whole=whole, sessions=sessions))),
            )
    except Stalled as fault:
        fail(EXIT_CONFIGURATION, f"no result: {fault}")
    except (TapeFault, ValueError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    notes = [text for folder, _ in tapes[:1] for text in warnings(folder)]
    results = [result for each in came for result in each.results]
    if json_line:
        answer = {
            "whole": whole,
            "terms": terms,
            "same_answers": same,
            "notes": notes,
            "results": results,
        }
        typer.echo(msgspec.json.encode(answer).decode())
    else:
        early = [] if whole else [f"ended early: {len(came)} of {len(plays)} runs had begun"]
        typer.echo("\n".join([tables.text(results), *notes, *early]))
        if same is not None:
            typer.echo(f"guard: {same} answers were the same without the future")
    raise typer.Exit(0 if whole else EXIT_LEFT_OVER)


def _prove_no_lookahead(
    tapes: list[tuple[Path, Tape]], config: Path, terms: Terms, records_max: int | None
) -> int:
    """How many answers were the same without the future; ends with 4 at the first that differs."""
    same = 0
    with progress("runs", PLAYS * len(tapes)) as show:
        for number, (folder, tape) in enumerate(tapes):

            def through(plays: int, done: int = number * PLAYS) -> None:
                show(done + plays)

            show(number * PLAYS, f"{tape.event} guard")
            try:
                for found in lookahead_signs(tape, folder, config, terms, records_max, through):
                    if isinstance(found, LookaheadSign):
                        when = f" at {from_ns(found.at_ns)}" if found.at_ns else ""
                        where = f"on {found.event}{when}: {found.found}"
                        fail(EXIT_LEFT_OVER, f"no result: the strategy looks ahead {where}")
                    same += found
            except BrokenProcessPool:
                fail(EXIT_LEFT_OVER, _DIED)
    return same


def _play_all(
    plays: list[BacktestRun], config: Path, folders: list[Path], jobs: int
) -> tuple[list[BacktestOutcome], bool]:
    """What came of each run, and True if none was left out. Ends with 4 if a strategy opened a file
    of the data."""
    ending = "" if jobs == 1 else "ending: runs that have begun are finished"
    with (
        interruptible(ending) as wanted,
        watched(folders, config) as opened,
        stdout_to_stderr(),
        progress("records", sum(play.records for play in plays)) as show,
    ):
        configured = finished_config(config)  # its faults are printed before anything runs
        came: list[BacktestOutcome] = []
        done = 0
        if jobs == 1:
            for play in plays:
                if wanted():
                    came.append(_play_here(play, configured, wanted, show, done))
                    done += play.records
        else:
            try:
                for play, found in run_backtests_apart(plays, config, folders, jobs, wanted):
                    came.append(found)
                    done += play.records
                    show(done, f"{play.tape.event} {play.reading.name.lower()}")
            except BrokenProcessPool:
                fail(EXIT_LEFT_OVER, _DIED)
    files = [*opened, *(path for each in came for path in each.opened)]
    if files:
        fail(EXIT_LEFT_OVER, f"no result: {files[0]} was opened while the strategy ran")
    return came, wanted()


def _play_here(
    play: BacktestRun, config: BotConfig, wanted: Callable[[], bool], show: ShowProgress, done: int
) -> BacktestOutcome:
    """done: records of the runs before it."""

    def through(records: int) -> bool:
        if records % _SHOWN_EVERY == 0:
            show(done + records)
        return wanted()

    show(done, f"{play.tape.event} {play.reading.name.lower()}")
    came = played(play, config, through)
    show(done + play.records)
    return came
