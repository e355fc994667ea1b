"""`bot calibrate`: how good the fair curve is on recorded ladders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.common import EXIT_CONFIGURATION, fail
from bot.cli.progress import progress

if TYPE_CHECKING:
    from bot.lab.calibrate import Calibration

_EXAMPLE = "Example: bot calibrate tapes/kxinxu-2026-01 --every 300 --json"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("calibrate", epilog=_EXAMPLE)(calibrate)


def calibrate(
    tape: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a recorded tape.")],
    every: Annotated[
        float,
        typer.Option(
            min=1, max=31_536_000, metavar="SECONDS", help="Between two forecasts of a ladder."
        ),
    ] = 60.0,
    index: Annotated[
        bool,
        typer.Option("--index", help="Take the recorded index for the implied value of the feed."),
    ] = False,
    json_line: Annotated[
        bool, typer.Option("--json", help="The result as one line of JSON on stdout.")
    ] = False,
) -> None:
    """Judge the fair curve on a recorded ladder of executions or best prices.

    Brier score and reliability of the curve against the last trade and the raw middle, and how far
    each was off from the next trade. Exit code 2 for a folder that is no such tape.
    """
    import msgspec

    from bot.lab.backtest.tapes import TapeFault
    from bot.lab.calibrate import calibrate as calibrated

    try:
        with progress("records") as meter:
            found = calibrated(tape, every, with_index=index, progress=meter.told)
    except (TapeFault, ValueError, OSError, msgspec.MsgspecError) as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    typer.echo(msgspec.json.encode(found).decode() if json_line else _text(found))


def _text(found: "Calibration") -> str:
    lines = [
        f"{found.tape}: {found.forecasts} forecasts of {found.events} events",
        "",
        f"{'way':<12} {'Brier':>8} {'more than the curve, 95 %':>32}",
    ]
    for score in found.scores:
        interval = f"{score.worse_by:+.4f} too few events"
        if score.low is not None:
            interval = f"{score.worse_by:+.4f} [{score.low:+.4f}, {score.high:+.4f}]"
        lines.append(f"{score.way:<12} {score.brier:8.4f} {interval:>32}")
    if found.next_prints:
        lines += ["", f"{'next trade':<12} {'rms, cents':>11} {'mean error':>11} {'trades':>8}"]
        lines += [
            f"{row.way:<12} {row.rms_cents:11.2f} {row.mean_abs_cents:11.2f} {row.count:8d}"
            for row in found.next_prints
        ]
    lines += ["", f"{'fair curve':<12} {'forecasts':>9} {'mean':>7} {'came':>7}"]
    lines += [
        f"{row.low:.1f} to {row.high:.1f}   {row.count:9d} {row.mean:7.3f} {row.came:7.3f}"
        for row in found.scores[0].bins
    ]
    return "\n".join(lines)
