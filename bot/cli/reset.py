"""`bot reset`: show why the bot is latched, ask, and clear the latch."""

import json
from typing import Annotated

import typer

from bot.cli.common import EXIT_VENUE, confirm, exit_on_fault, fail, read_lenient
from bot.cli.options import ConfigPath, Json, StateDir
from bot.io.state.kill_switch_file import CONTRADICTION, CrashLog, KillSwitchFile
from bot.io.state.locks import BOT_LOCK
from bot.io.state.small_files import read_remains

_NO_BOT = "{}: no bot has run here; name its state directory with --state-dir, one for each series"


def reset(
    config: ConfigPath,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: somebody has looked at the reason.")
    ] = False,
    json_line: Json = False,
    state_dir: StateDir = None,
) -> None:
    """It asks first, unless --yes is given, and forgets the crashes of the bot. After an account
    that contradicted itself, the bot first opens its books again from the venue's account.

    A running bot quotes again within two seconds, a stopped one at its next start. One that was
    paused too, as `bot cancel-all` does, stays paused until `bot resume`.
    Ends with 0 if no latch is left, with 3 if it stays or cannot be read, or if --state-dir names a
    folder in which no bot has run.

    Example: bot reset configs/demo.yaml --yes
    """
    with exit_on_fault():
        folder = state_dir or read_lenient(config).state.directory
        latch, remains = KillSwitchFile(folder), read_remains(folder)
        record = latch.read_latch()
        if record is None and not (folder / BOT_LOCK).exists():
            if state_dir is not None:
                fail(EXIT_VENUE, _NO_BOT.format(folder))
            typer.echo(f"warning: {_NO_BOT.format(folder)}", err=True)
        if record is not None and record.is_doubt:
            fail(EXIT_VENUE, f"{record.reason}; so nobody can say if the bot is latched")
        if record is not None:
            if not (json_line and yes):
                since = f" since {record.at}" if record.at else ""
                typer.echo(f"latched{since} by {record.by}: {record.reason}", err=json_line)
                if remains is not None:
                    typer.echo(remains.text, err=json_line)
            if not yes:
                confirm(
                    "Have you looked at the reason, and may the bot quote again?",
                    "give --yes once you have seen the reason",
                    "the latch stays",
                    on_stderr=json_line,
                )
        # The latch goes last: if the disk refuses either write, the bot stays latched.
        forgot = folder.is_dir() and CrashLog(folder).forget_crashes()
        if record is not None:
            latch.clear()
    if json_line:
        answer = {
            "was_latched": record is not None,
            "by": "" if record is None else record.by,
            "reason": "" if record is None else record.reason,
            "crashes": forgot,
            "rests": "" if remains is None else remains.text,
        }
        typer.echo(json.dumps(answer))
    elif record is None:
        typer.echo(f"{folder}: nothing is latched")
    else:
        books = ""
        if record.by == CONTRADICTION:
            books = " once it has opened its books again from the venue's account"
        typer.echo(
            f"the latch is cleared: a running bot quotes again{books} (a paused one after bot "
            "resume), and so does the next start"
        )
