"""`bot calibrate`: how good the fair curve is on recorded ladders."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bot.cli.common import EXIT_CONFIGURATION, fail
from bot.cli.options import Json, WithIndex
from bot.cli.progress import progress
from bot.lab.backtest.tapes import TapeFault
from bot.lab.calibrate import Calibration
from bot.lab.calibrate import calibrate as calibrated
from bot.page.text import text_table


def calibrate(
    tape: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a recorded tape.")],
    every: Annotated[
        float,
        typer.Option(
            min=1, max=31_536_000, metavar="SECONDS", help="Time between forecasts of a ladder."
        ),
    ] = 60.0,
    index: WithIndex = False,
    json_line: Json = False,
) -> None:
    """Brier score and reliability of the curve, against the last trade and the raw mid price, and
    how far each was off from the next trade.

    Ends with 2 for a folder that holds no tape of trades or best prices.

    Example: bot calibrate tapes/kxinxu-2026-01 --every 300 --json
    """
    try:
        with progress("records") as show:
            found = calibrated(tape, every, with_index=index, progress=show)
    except (TapeFault, ValueError, OSError, msgspec.MsgspecError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    typer.echo(msgspec.json.encode(found).decode() if json_line else _text(found))


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
