"""`bot config`: what a configuration file says key by key, what it may say, what is other in
two.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    ConfigPath,
    fail,
    faults_told,
    printed_aside,
    read,
    state_dir_option,
)
from venue.cli.groups import NonBlankGroup

if TYPE_CHECKING:
    from bot.config.bot_config import BotConfig

_EXAMPLE = "Example: bot config show configs/demo.yaml"

Json = Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(cls=NonBlankGroup, no_args_is_help=True, rich_markup_mode=None)
    group.command("show", epilog=_EXAMPLE)(show)
    group.command("schema", epilog="Example: bot config schema > configs/schema.json")(schema)
    group.command("diff", epilog="Example: bot config diff configs/demo.yaml configs/paper.yaml")(
        diff
    )
    group.command("confirm", epilog="Example: bot config confirm configs/demo.yaml --yes")(confirm)
    about = "Show, describe and compare configuration files."
    app.add_typer(group, name="config", help=about, epilog=_EXAMPLE)


def show(
    config: ConfigPath,
    given: Annotated[bool, typer.Option("--given", help="Only what the file itself says.")] = False,
    json_line: Json = False,
) -> None:
    """Print every key with its value in force, where that comes from, and when a change of it takes
    effect: live, or at a restart.

    Ends with 2 and every fault when the file cannot be used. Keys that may hold a secret are not
    shown.
    """
    whole = _whole(config)
    rows = [row for row in whole.rows if row.line is not None or not given]
    if json_line:
        told: dict[str, Any] = {"file": str(config), "name": whole.name, "digest": whole.digest}
        told["keys"] = [
            {
                "key": row.key,
                "value": row.shown_value,
                "from": "default" if row.line is None else "file",
                "line": row.line,
                "applies": row.applies,
            }
            for row in rows
        ]
        typer.echo(json.dumps(told))
        return
    width = max((len(row.key) for row in rows), default=0)
    value_width = max((len(row.shown_value) for row in rows), default=0)
    for row in rows:
        origin = "default" if row.line is None else f"line {row.line}"
        typer.echo(
            f"{row.key:<{width}}  {row.shown_value:<{value_width}}  {origin:<8}  {row.applies}"
        )
    typer.echo(f"digest {whole.digest}", err=True)


def schema() -> None:
    """Print the JSON Schema of the file, for editors: names, types, bounds, defaults, meanings, and
    `x-applies`, live or restart."""
    from bot.config.schema import schema_text

    typer.echo(schema_text(), nl=False)


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="One series' YAML file.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Another one.")],
    json_line: Json = False,
) -> None:
    """Print the keys whose values in force differ, and whether a running bot would take each over.

    Ends with 0 when it would take over all of it, with 4 when some key takes a restart, so that it
    would take over nothing, and with 2 when a file cannot be used.
    """
    from bot.config.diff import changes

    before, after = _whole(old), _whole(new)
    found = changes(before.rows, after.rows)
    if json_line:
        names = ("key", "old", "new", "line", "applies")
        told = [{name: getattr(each, name) for name in names} for each in found]
        typer.echo(json.dumps({"live": all(each.is_live for each in found), "changes": told}))
    else:
        for each in found:
            typer.echo(f"{each}  ({each.applies})")
    raise typer.Exit(0 if all(each.is_live for each in found) else EXIT_LEFT_OVER)


def confirm(
    config: ConfigPath,
    yes: Annotated[bool, typer.Option("--yes", help="The limits in the file are meant.")] = False,
    state_dir: Annotated[
        Path | None, state_dir_option("The running bot's, instead of ./state/<name>.")
    ] = None,
) -> None:
    """Have a running bot take this file over although a limit grows to more than ten times its
    value, or goes to 0: such a change is refused until it is confirmed. Within two seconds.

    Ends with 2 without --yes, or when the file cannot be used, and with 3 when no bot has run here.
    """
    from bot.io.state.small_files import confirm as keep

    whole = _whole(config)
    folder = state_dir or whole.state.directory
    limits = [row for row in whole.rows if row.key.startswith("risk.") and row.line is not None]
    for row in limits:
        typer.echo(f"{row.key}: {row.shown_value}", err=True)
    if not yes:
        fail(EXIT_CONFIGURATION, "say --yes once these limits were looked at")
    try:
        keep(folder, whole.digest)
    except OSError as fault:
        fail(EXIT_VENUE, f"{folder}: {fault.strerror}; no bot has run here")
    typer.echo(f"{config}: confirmed; a bot that runs takes it over within two seconds")


def _whole(path: Path) -> "BotConfig":
    with faults_told(), printed_aside():
        from bot.config.bot_config import finish

        return finish(read(path))
