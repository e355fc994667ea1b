"""`bot pause`: have the running bot pull every quote and stand still.

Source: docs/operations.md, Asking a running bot.
"""

import json
from typing import Annotated

import typer

from bot.commands.asking import Reason, StateDir, StatusUrl, ask_for
from bot.commands.common import ConfigPath, faults_told, read

_EXAMPLE = 'Example: bot pause configs/demo.yaml --reason "the venue behaves oddly"'


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("pause", epilog=_EXAMPLE)(pause)


def pause(
    config: ConfigPath,
    reason: Reason = "asked for at the command line",
    status: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")] = False,
) -> None:
    """Have the running bot cancel everything and stand still until it is resumed.

    Wants `status.control: true` in the configuration. Ends with 0 once the bot was told, with 3
    when none answers or its token cannot be read, with 4 when it refuses.
    """
    with faults_told():
        page = ask_for("pause", read(config), reason, status, state_dir)
    if json_line:
        typer.echo(json.dumps({"done": "pause", "series": page.series}))
    else:
        typer.echo(
            "the bot pauses: everything is cancelled, and nothing new is sent until bot resume"
        )
