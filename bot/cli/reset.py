"""`bot reset`: show why the bot is latched, ask, and take the latch away."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_VENUE,
    ConfigPath,
    fail,
    faults_told,
    read_where,
    state_dir_option,
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reset", epilog="Example: bot reset configs/demo.yaml --yes")(reset)


def reset(
    config: ConfigPath,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: the reason was looked at.")
    ] = False,
    json_line: Annotated[
        bool, typer.Option("--json", help="End with the outcome as one line of JSON on stdout.")
    ] = False,
    state_dir: Annotated[
        Path | None, state_dir_option("Where the latch stands, instead of ./state/<name>.")
    ] = None,
) -> None:
    """Show why nothing is quoted, ask, and let the bot quote again; forget its crashes too.
    After books that contradicted each other it opens them anew first, from the venue's truth.

    A bot that runs takes notice within two seconds; one that does not starts normally next time.
    One that was paused too, as `bot cancel-all` does, stays so until `bot resume`.
    Ends with 0 when nothing is latched any more, with 3 when the latch stays or cannot be seen, and
    for a folder that is named and in which no bot has run.
    """
    with faults_told():
        folder = state_dir or read_where(config).state.directory
        from bot.io.state.kill_switch_file import CONTRADICTION, CrashLog, KillSwitchFile
        from bot.io.state.locks import BOT_LOCK
        from bot.io.state.small_files import read_remains

        latch, remains = KillSwitchFile(folder), read_remains(folder)
        record = latch.read_latch()
        if record is None and not (folder / BOT_LOCK).exists():
            if state_dir is not None:
                fail(
                    EXIT_VENUE,
                    f"{folder}: no bot has run here; of several series each has a folder of its "
                    "own",
                )
            typer.echo(
                f"warning: {folder}: no bot has run here; another folder is named with --state-dir",
                err=True,
            )
        if record is not None and record.is_doubt:
            fail(
                EXIT_VENUE, f"{record.reason}; whether anything is latched cannot be told from here"
            )
        if record is not None:
            if not (json_line and yes):
                since = f" since {record.at}" if record.at else ""
                typer.echo(f"latched{since} by {record.by}: {record.reason}", err=json_line)
                if remains is not None:
                    typer.echo(remains.text, err=json_line)
            if not yes:
                _ask(aside=json_line)
        # The latch goes last: where the disk refuses either, the bot is not let go.
        forgot = folder.is_dir() and CrashLog(folder).forget_crashes()
        if record is not None:
            latch.clear()
    reason = "" if record is None else record.reason
    if json_line:
        by = "" if record is None else record.by
        typer.echo(
            json.dumps(
                {
                    "was_latched": record is not None,
                    "by": by,
                    "reason": reason,
                    "crashes": forgot,
                    "rests": "" if remains is None else remains.text,
                }
            )
        )
    elif record is None:
        typer.echo(f"{folder}: nothing is latched")
    else:
        books = ""
        if record.by == CONTRADICTION:
            books = " once its books are opened anew from the venue's truth"
        typer.echo(
            f"the latch is gone: a bot that runs quotes again{books} (one that was paused, after "
            "bot resume), and so does the next start"
        )


def _ask(*, aside: bool) -> None:
    """Go on only if a person says so. aside: ask on stderr, for stdout has the JSON line alone."""
    if not _somebody_is_there():
        fail(EXIT_CONFIGURATION, "nobody to ask here: say --yes once the reason was looked at")
    asked = "Was the reason looked at, and may the bot quote again?"
    if not typer.confirm(asked, err=aside):
        fail(EXIT_VENUE, "the latch stays")


def _somebody_is_there() -> bool:
    return sys.stdin.isatty()
