"""`bot resume`: have the running bot quote again.

Source: docs/operations.md, Asking a running bot.
"""

import json
from typing import Annotated

import typer

from bot.commands.asking import Reason, StateDir, StatusUrl, ask_for
from bot.commands.common import ConfigPath, faults_told, read

_EXAMPLE = 'Example: bot resume configs/demo.yaml --reason "looked at, all is well"'


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resume", epilog=_EXAMPLE)(resume)


def resume(
    config: ConfigPath,
    reason: Reason = "asked for at the command line",
    status: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")] = False,
) -> None:
    """Have the running bot quote again after a pause or a flatten.

    Wants `status.control: true` in the configuration. Ends with 0 once the bot was told, with 3
    when none answers or its token cannot be read, with 4 when it refuses.
    """
    with faults_told():
        page = ask_for("resume", read(config), reason, status, state_dir)
    if json_line:
        typer.echo(json.dumps({"done": "resume", "series": page.series}))
    else:
        typer.echo("the bot quotes again")
