"""`bot config`: show, describe, compare and confirm configuration files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    exit_on_fault,
    fail,
    finished_config,
    stdout_to_stderr,
)
from bot.cli.options import ConfigPath, Json, Sets, StateDir
from bot.config.bot_config import BotConfig
from bot.config.diff import changes
from bot.config.schema import schema_text
from bot.io.state.small_files import confirm as store_confirmation
from bot.page.text import text_table
from venue.cli.groups import NonBlankGroup

_SHOW = "Example: bot config show configs/demo.yaml"
app = typer.Typer(
    name="config",
    cls=NonBlankGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Show, describe, compare and confirm configurations.",
    epilog=_SHOW,
)


@app.command(epilog=_SHOW, short_help="Print every key with its value and where it comes from.")
def show(
    config: ConfigPath,
    given: Annotated[bool, typer.Option("--given", help="Only keys that the file sets.")] = False,
    json_line: Json = False,
) -> None:
    """Print every key with its value in force, where it comes from, and when a change takes effect.

    A change is taken over live, or at a restart. Keys that may hold a secret are not shown.
    Ends with 2 and every fault if the file cannot be used.
    """
    whole = _finished(config)
    rows = [row for row in whole.rows if row.line is not None or not given]
    if json_line:
        keys = [
            {
                "key": row.key,
                "value": row.shown_value,
                "from": "default" if row.line is None else "file",
                "line": row.line,
                "applies": row.applies,
            }
            for row in rows
        ]
        answer: dict[str, Any] = {"file": str(config), "name": whole.name, "digest": whole.digest}
        typer.echo(json.dumps({**answer, "keys": keys}))
        return
    cells = [
        (
            row.key,
            row.shown_value,
            "default" if row.line is None else f"line {row.line}",
            row.applies,
        )
        for row in rows
    ]
    typer.echo(text_table(cells, left=4))
    typer.echo(f"digest {whole.digest}", err=True)


@app.command(epilog="Example: bot config schema > configs/schema.json")
def schema() -> None:
    """Print the JSON Schema of the file, for editors.

    It has names, types, bounds, defaults and meanings, and `x-applies`: live or restart.
    """
    typer.echo(schema_text(), nl=False)


@app.command(
    epilog="Example: bot config diff configs/demo.yaml configs/paper.yaml",
    short_help="Print the keys whose values in force differ.",
)
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="YAML file of one series.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Another one.")],
    json_line: Json = False,
) -> None:
    """Print the keys whose values in force differ, and if a running bot would take them over.

    Ends with 0 if it would take over all of them, with 4 if a key needs a restart, so that it would
    take over none, and with 2 if a file cannot be used.
    """
    before, after = _finished(old), _finished(new)
    found = changes(before.rows, after.rows)
    is_live = all(each.is_live for each in found)
    if json_line:
        rows = [msgspec.structs.asdict(each) for each in found]
        typer.echo(json.dumps({"live": is_live, "changes": rows}))
    else:
        for each in found:
            typer.echo(f"{each}  ({each.applies})")
    raise typer.Exit(0 if is_live else EXIT_LEFT_OVER)


@app.command(
    epilog="Example: bot config confirm configs/demo.yaml --yes",
    short_help="Let a running bot take over a much higher limit.",
)
def confirm(
    config: ConfigPath,
    yes: Annotated[bool, typer.Option("--yes", help="The limits in the file are meant.")] = False,
    sets: Sets = None,
    state_dir: StateDir = None,
) -> None:
    """Let a running bot take over a file that raises a limit more than tenfold, or sets it to 0.

    Without it the bot refuses such a change, and names this command with the --set it runs with,
    which must be the same here. Takes effect within two seconds.
    Ends with 2 without --yes, or if the file cannot be used, and with 3 if no bot has run here.
    """
    whole = _finished(config, sets or ())
    folder = state_dir or whole.state.directory
    for row in whole.rows:
        if row.key.startswith("risk.") and row.line is not None:
            typer.echo(f"{row.key}: {row.shown_value}", err=True)
    if not yes:
        fail(EXIT_CONFIGURATION, "give --yes once you have looked at these limits")
    try:
        store_confirmation(folder, whole.digest)
    except OSError as fault:
        fail(EXIT_VENUE, f"{folder}: {fault.strerror}; no bot has run here")
    typer.echo(f"{config}: confirmed; a running bot takes it over within two seconds")


def _finished(path: Path, sets: Sequence[str] = ()) -> BotConfig:
    with exit_on_fault(), stdout_to_stderr():
        return finished_config(path, sets)
