"""`bot backtest`: recorded markets through the whole trader, under each reading of the queue."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    fail,
    fail_unwritten,
    faults_told,
    interruptible,
    option_of,
    places_for,
    printed_aside,
    tidied,
)
from bot.cli.progress import Meter, progress

if TYPE_CHECKING:
    from bot.config.bot_config import BotConfig
    from bot.lab.backtest.lookahead import LookaheadSign
    from bot.lab.backtest.tapes import Tape
    from bot.lab.exchange.assumptions import Terms
    from bot.lab.exchange.queue_model import QueueModel
    from bot.lab.report.session import Session
    from bot.lab.report.sources import BacktestOutcome, BacktestRun

_EXAMPLE = (
    "\b\nExample: bot backtest --data state/demo-record \\\n"
    "    --config configs/demo.yaml --latency lognormal:30ms:0.5 --guard"
)

_DIED: Final = "no result: a process died; is there enough memory for so many?"
_SHOWN_EVERY: Final = 100
"""Records between two words on how far it is."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("backtest", epilog=_EXAMPLE)(backtest)


def backtest(
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="A tape, a folder of tapes, a journal, Parquet.")
    ],
    config: Annotated[Path, typer.Option(metavar="FILE", help="One series' YAML file.")],
    latency: Annotated[
        str, typer.Option(help="Round trip: 30ms, lognormal:30ms:0.5 or empirical:FILE.")
    ] = "30ms",
    feed: Annotated[str, typer.Option(help="From the venue to us on the channel.")] = "10ms",
    read_lag: Annotated[str, typer.Option(help="Reads show the account of so long ago.")] = "100ms",
    maker_fee: Annotated[str, typer.Option(help="Rate of the maker's fee.")] = "0",
    taker_fee: Annotated[str, typer.Option(help="Rate of the taker's fee.")] = "0.07",
    power: Annotated[
        float, typer.Option(min=0.1, max=20, help="Exponent n of the likely reading.")
    ] = 3.0,
    readings: Annotated[
        str, typer.Option(help="Of the queue: any of averse, likely, kind.")
    ] = "averse,likely,kind",
    index: Annotated[
        bool, typer.Option("--index", help="The recorded index comes as the implied value.")
    ] = False,
    events: Annotated[int, typer.Option(min=1, help="Of each tape the first so many.")] = 10_000,
    records: Annotated[
        int | None, typer.Option(min=1, help="Of each event the first so many records.")
    ] = None,
    faults: Annotated[
        float, typer.Option(min=0, max=0.5, help="Part of all requests that something befalls.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Of latencies and faults.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Processes.")] = 1,
    guard: Annotated[
        bool, typer.Option("--guard", help="First prove that the strategy does not look ahead.")
    ] = False,
    json_line: Annotated[
        bool, typer.Option("--json", help="Everything as one line of JSON on stdout.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A page, as `bot report` makes it.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep all that `bot report` needs here.")
    ] = None,
) -> None:
    """Play recorded tapes through the whole trader in virtual time, by each reading of the queue.

    Ctrl-C ends early with what there is so far; in several processes, once what they have begun is
    played. Ends with 2 for a folder, file or option that cannot be used, and when the strategy does
    not come back; with 4 when the strategy looked ahead, a process died, or after Ctrl-C.
    """
    from bot.lab.backtest.tapes import TapeFault, tidy
    from bot.lab.evaluate.timeout import Stalled
    from bot.lab.exchange.assumptions import Latency, Terms, milliseconds
    from bot.lab.exchange.queue_model import parse_queue_models
    from venue.wire.money import FeeRate

    try:
        terms = Terms(
            latency=option_of("--latency", latency, Latency.parse),
            feed_ns=option_of("--feed", feed, milliseconds),
            read_lag_ns=option_of("--read-lag", read_lag, milliseconds),
            maker_rate=option_of("--maker-fee", maker_fee, FeeRate.parse),
            taker_rate=option_of("--taker-fee", taker_fee, FeeRate.parse),
            power=power,
            with_index=index,
            seed=seed,
            faults=faults,
        )
        with faults_told(), tidied(tidy):
            wanted = option_of("--readings", readings, parse_queue_models)
            most, files = (events, records), (html, save)
            places_for(*files, read=(config,))
            _all(data, config, terms, wanted, most, files, jobs, guard=guard, json_line=json_line)
    except Stalled as fault:
        fail(EXIT_CONFIGURATION, f"no result: {fault}")
    except (TapeFault, ValueError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))


def _all(
    data: Path,
    config: Path,
    terms: "Terms",
    readings: "tuple[QueueModel, ...]",
    most: tuple[int, int | None],
    files: tuple[Path | None, Path | None],
    jobs: int,
    *,
    guard: bool,
    json_line: bool,
) -> None:
    import itertools

    import msgspec

    from bot.lab.backtest import run as tables
    from bot.lab.backtest.lookahead import watched
    from bot.lab.backtest.tapes import read_tapes, tape_folders, warnings, winners
    from bot.lab.report.sources import backtest_runs, broken_off

    tapes = [
        (folder, tape)
        for folder in tape_folders(data)
        for tape in itertools.islice(read_tapes(folder), most[0])
    ]
    notes = [text for folder, _ in tapes[:1] for text in warnings(folder)]
    # How rungs ended is read before anybody watches who opens the data, and told to no trader.
    ends = [winners(tape, folder) for folder, tape in tapes]
    with printed_aside():
        same = _guarded(tapes, config, terms, most[1]) if guard else None
    data_folders = [data, *(folder for folder, _ in tapes)]
    plays = backtest_runs(
        [*zip([tape for _, tape in tapes], ends, strict=True)],
        readings,
        terms,
        most[1],
        reports=files != (None, None),
    )
    asked = interruptible(
        "" if jobs == 1 else "ending: plays that have begun are played to their end"
    )
    with asked as wanted, watched(data_folders, config) as opened, printed_aside():
        came = _played(plays, config, data_folders, wanted, jobs)
    opened += [path for each in came for path in each.opened]
    results = [result for each in came for result in each.results]
    if opened:
        fail(EXIT_LEFT_OVER, f"no result: {opened[0]} was opened while the strategy ran")
    whole = wanted()
    if files != (None, None):
        sessions = [session for each in came for session in each.sessions]
        sessions = sessions if whole else broken_off(sessions)
        _keep(files, sessions, whole=whole)
    if json_line:
        told = {
            "whole": whole,
            "terms": terms,
            "same_answers": same,
            "notes": notes,
            "results": results,
        }
        typer.echo(msgspec.json.encode(told).decode())
    else:
        early = f"ended early: {len(came)} of {len(plays)} plays had begun"
        typer.echo("\n".join([tables.text(results), *notes, *([] if whole else [early])]))
        if same is not None:
            typer.echo(f"guard: {same} answers were the same without the future")
    raise typer.Exit(0 if whole else EXIT_LEFT_OVER)


def _read(config: Path) -> "BotConfig":
    from bot.cli.common import read
    from bot.config.bot_config import finish

    return finish(read(config))


def _guarded(
    tapes: "list[tuple[Path, Tape]]", config: Path, terms: "Terms", records_max: int | None
) -> int:
    """How many answers were the same without the future; ends with 4 at the first that is not."""
    from concurrent.futures.process import BrokenProcessPool

    from bot.lab.backtest.lookahead import PLAYS, lookahead_signs

    same = 0
    with progress("plays", PLAYS * len(tapes)) as meter:
        for number, (folder, tape) in enumerate(tapes):

            def told(plays: int, done: int = number * PLAYS) -> None:
                meter.told(done + plays)

            meter.told(number * PLAYS, f"{tape.event} guard")
            try:
                for found in lookahead_signs(tape, folder, config, terms, records_max, told):
                    if not isinstance(found, int):
                        fail(EXIT_LEFT_OVER, _said(found))
                    same += found
            except BrokenProcessPool:
                fail(EXIT_LEFT_OVER, _DIED)
    return same


def _said(peek: "LookaheadSign") -> str:
    from venue.wire.instant import from_ns

    when = f" at {from_ns(peek.at_ns)}" if peek.at_ns else ""
    return f"no result: the strategy looks ahead on {peek.event}{when}: {peek.found}"


def _played(
    plays: "list[BacktestRun]",
    config: Path,
    data: list[Path],
    wanted: Callable[[], bool],
    jobs: int,
) -> "list[BacktestOutcome]":
    """What came of each, until no more is wanted. data: where none of them may open anything."""
    from concurrent.futures.process import BrokenProcessPool

    from bot.lab.report.sources import run_backtests_apart

    came: list[BacktestOutcome] = []
    with progress("records", sum(play.records for play in plays)) as meter:
        done = 0
        if jobs == 1:
            configured = _read(config)
            for play in plays:
                if wanted():
                    came.append(_played_here(play, configured, wanted, meter, done))
                    done += play.records
            return came
        _read(config)  # what is wrong in it is told once, and before anything is played
        try:
            for play, found in run_backtests_apart(
                plays, config, data, min(jobs, len(plays)), wanted
            ):
                came.append(found)
                done += play.records
                meter.told(done, f"{play.tape.event} {play.reading}")
        except BrokenProcessPool:
            fail(EXIT_LEFT_OVER, _DIED)
    return came


def _played_here(
    play: "BacktestRun", config: "BotConfig", wanted: Callable[[], bool], meter: Meter, done: int
) -> "BacktestOutcome":
    """done: records of the plays before it."""
    from bot.lab.report.sources import played

    def told(through: int) -> bool:
        if through % _SHOWN_EVERY == 0:
            meter.told(done + through)
        return wanted()

    meter.told(done, f"{play.tape.event} {play.reading}")
    came = played(play, config, told)
    meter.told(done + play.records)
    return came


def _keep(
    files: tuple[Path | None, Path | None],
    sessions: "list[Session]",
    *,
    whole: bool,
) -> None:
    """Write the page, and the file for `bot report`; ends with 2 where that cannot be done."""
    import msgspec

    from bot.io.state.atomic_file import replace_named
    from bot.lab.report.page import report
    from bot.lab.report.session import Saved

    html, save = files
    try:
        if html is not None and sessions:
            replace_named(html, report(sessions).encode())
        if save is not None:
            kept = Saved(whole=whole, sessions=sessions)
            replace_named(save, msgspec.json.encode(kept))
    except OSError as fault:
        fail_unwritten(fault, html, save)
