"""`bot version` and `bot completion`."""

import importlib.metadata
import json
import platform
from enum import StrEnum
from typing import Annotated

import typer

# What `--show-completion` prints, for a shell that is named instead of guessed.
from typer._completion_shared import get_completion_script

from bot.cli.options import Json
from bot.io.journal.records import READABLE, VERSION


class CompletionShell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def version(json_line: Json = False) -> None:
    """Keep the version with each journal: only the same version replays it.

    Example: bot version --json
    """
    number, python = importlib.metadata.version("laddermaker"), platform.python_version()
    if json_line:
        found = {"bot": number, "python": python, "journal": VERSION, "journals_read": READABLE}
        typer.echo(json.dumps(found))
        return
    typer.echo(f"bot {number}")
    typer.echo(f"python {python}")
    typer.echo(f"journal {VERSION}, reads {', '.join(map(str, READABLE))}")


def completion(
    shell: Annotated[CompletionShell, typer.Argument(help="The shell to complete in.")],
) -> None:
    r"""Save it where the shell reads it at its start.

    bash: ~/.local/share/bash-completion/completions/bot. zsh: _bot in a folder of its fpath. fish:
    ~/.config/fish/completions/bot.fish.

    Example: bot completion bash \
        > ~/.local/share/bash-completion/completions/bot
    """
    typer.echo(
        get_completion_script(prog_name="bot", complete_var="_BOT_COMPLETE", shell=shell.value)
    )
