"""`bot calibrate`: how good the fair curve is on recorded ladders."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import msgspec
import typer

from bot.cli.common import EXIT_CONFIGURATION, exit_on_fault, fail, stdout_to_stderr
from bot.cli.options import Json, RunConfig, WithIndex, duration_ns
from bot.cli.progress import progress
from bot.lab.backtest.tapes import TapeFault
from bot.lab.calibrate import Calibration
from bot.lab.calibrate import calibrate as calibrated
from bot.page.text import text_table
from venue.wire.instant import NS_PER_SECOND

if TYPE_CHECKING:
    from bot.core import messages as m
    from bot.lab.live_scores import LiveScore


def calibrate(
    tape: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a recorded tape.")],
    every: Annotated[
        float,
        typer.Option(
            min=1, max=31_536_000, metavar="SECONDS", help="Time between forecasts of a ladder."
        ),
    ] = 60.0,
    index: WithIndex = False,
    live: Annotated[
        bool,
        typer.Option("--live", help="FOLDER is a state directory: score what its runs forecast."),
    ] = False,
    horizons: Annotated[
        str,
        typer.Option(metavar="TIMES", help="With --live: how long before each event resolves."),
    ] = "168h,24h,1h",
    config: RunConfig = None,
    json_line: Json = False,
) -> None:
    """Brier score and reliability of the curve, against the last trade and the raw mid price, and
    how far each was off from the next trade.

    With --live, Brier and log score of our fair value, the market's mid and every source of values
    from outside, over the events of all runs whose outcome they learned.

    Ends with 2 for a folder that holds no tape of trades or best prices, or without such an event.
    With --live, with 3 if there is no journal or a run cannot be replayed.

    Example: bot calibrate tapes/kxinxu-2026-01 --every 300 --json
    """
    if live:
        with exit_on_fault():
            _calibrate_live(tape, horizons, config, json_line=json_line)
        return
    try:
        with progress("records") as show:
            found = calibrated(tape, every, with_index=index, progress=show)
    except (TapeFault, ValueError, OSError, msgspec.MsgspecError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    typer.echo(msgspec.json.encode(found).decode() if json_line else _text(found))


def _calibrate_live(state: Path, horizons: str, config: Path | None, *, json_line: bool) -> None:
    from bot.config.strategies import Makers
    from bot.lab.live_scores import LiveScores
    from bot.lab.replay import replayer_of
    from bot.lab.session import runs_meant

    asked_s = [duration_ns("--horizons", each) // NS_PER_SECOND for each in horizons.split(",")]
    gathered, makers = LiveScores(asked_s), Makers(Path() if config is None else config.parent)
    with progress("events") as show, stdout_to_stderr():
        for run in runs_meant(state, every=True):
            replayer = replayer_of(run, makers)
            gathered.begin_run()
            for step in replayer.steps():
                event = cast("m.Event", step.placed.entry.message)
                gathered.on_step(replayer.trader, event, step.effects, step.at_ns)
                show(replayer.entries)
    found = gathered.scores()
    if json_line:
        typer.echo(msgspec.json.encode({"scores": found}).decode())
    elif found:
        typer.echo(_live_text(found))
    if not found:
        fail(EXIT_CONFIGURATION, f"{state}: no event that was forecast has a known outcome")


def _live_text(found: "Sequence[LiveScore]") -> str:
    rows: list[tuple[str, ...]] = [
        ("before", "forecast", "rungs", "events", "Brier", "fair value's", "log score", "its")
    ]
    for each in found:
        hours = f"{each.horizon_s / 3600:g} h"
        brier = f"{each.brier:.4f}", f"{each.fair_brier:.4f}"
        log_score = f"{each.log_score:.4f}", f"{each.fair_log_score:.4f}"
        counts = str(each.forecasts), str(each.events)
        rows.append((hours, each.way, *counts, *brier, *log_score))
    return text_table(rows)


def _text(found: Calibration) -> str:
    scores: list[tuple[str, ...]] = [("forecast", "Brier", "worse than the curve by, 95 %")]
    for score in found.scores:
        interval = f"{score.worse_by:+.4f} too few events"
        if score.low is not None:
            interval = f"{score.worse_by:+.4f} [{score.low:+.4f}, {score.high:+.4f}]"
        scores.append((score.way, f"{score.brier:.4f}", interval))
    prints: list[tuple[str, ...]] = [("next trade", "rms, cents", "mean error", "trades")]
    for each in found.next_prints:
        errors = f"{each.rms_cents:.2f}", f"{each.mean_abs_cents:.2f}"
        prints.append((each.way, *errors, str(each.count)))
    bins: list[tuple[str, ...]] = [("fair curve", "forecasts", "mean", "came true")]
    for row in found.scores[0].bins:
        cells = (str(row.count), f"{row.mean:.3f}", f"{row.came:.3f}")
        bins.append((f"{row.low:.1f} to {row.high:.1f}", *cells))
    tables: list[list[tuple[str, ...]]] = [scores, bins]
    if found.next_prints:
        tables.insert(1, prints)
    head = f"{found.tape}: {found.forecasts} forecasts of {found.events} events"
    return "\n\n".join([head, *(text_table(rows) for rows in tables)])
