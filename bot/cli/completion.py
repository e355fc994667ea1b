"""`bot completion`: the script that lets a shell complete commands, options and files."""

from enum import StrEnum
from typing import Annotated

import typer

_EXAMPLE = (
    "\b\nExample: bot completion bash \\\n    > ~/.local/share/bash-completion/completions/bot"
)


class CompletionShell(StrEnum):
    """The shells that a script is made for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("completion", epilog=_EXAMPLE)(completion)


def completion(
    shell: Annotated[CompletionShell, typer.Argument(help="The shell that shall complete.")],
) -> None:
    """Print the completion script of a shell, for a file that it reads when it starts.

    bash: ~/.local/share/bash-completion/completions/bot. zsh: _bot in a folder of its fpath. fish:
    ~/.config/fish/completions/bot.fish.
    """
    # What `--show-completion` prints, for a shell that is named instead of guessed.
    from typer._completion_shared import get_completion_script

    typer.echo(
        get_completion_script(prog_name="bot", complete_var="_BOT_COMPLETE", shell=shell.value)
    )
