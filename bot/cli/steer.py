"""`bot pause`, `bot resume` and `bot flatten`: ask something of the running bot."""

import json
from typing import Annotated, Final, NamedTuple

import typer

from bot.cli.asking import MAY_BE_TOLD, Reason, StateDir, StatusUrl, ask_for
from bot.cli.common import ConfigPath, acting, faults_told, read_where


class _Word(NamedTuple):
    """What may be asked. does: its help; told: what a person reads once the bot was told."""

    name: str
    does: str
    why: str
    told: str


_WORDS: Final = (
    _Word(
        "pause",
        "Have the running bot cancel everything and stand still until it is resumed.",
        "the venue behaves oddly",
        "the bot pauses: it cancels everything, and sends nothing new until bot resume; bot status "
        "tells what rests still",
    ),
    _Word(
        "resume",
        "Have the running bot quote again after a pause or a flatten.",
        "looked at, all is well",
        "the bot quotes again",
    ),
    _Word(
        "flatten",
        "Have the running bot quote only what shrinks what it holds, and pause once nothing is "
        "left.",
        "results tonight",
        "the bot only shrinks what it holds from now on; bot resume quotes both ways again",
    ),
)

_ENDS: Final = (
    "Wants `status.control: true` in the configuration. Ends with 0 once the bot was told, with 3 "
    "when none answers or its token cannot be read, with 4 when it refuses."
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for word in _WORDS:
        example = f'Example: bot {word.name} configs/paper.yaml --reason "{word.why}"'
        _add(app, word, example)


def _add(app: typer.Typer, word: _Word, example: str) -> None:
    @app.command(word.name, help=f"{word.does}\n\n{_ENDS}", epilog=example)
    def ask(
        config: ConfigPath,
        reason: Reason = "asked for at the command line",
        status: StatusUrl = "",
        state_dir: StateDir = None,
        json_line: Annotated[
            bool, typer.Option("--json", help="One line of JSON on stdout.")
        ] = False,
    ) -> None:
        with faults_told(), acting(MAY_BE_TOLD):
            page = ask_for(word.name, read_where(config), reason, status, state_dir)
        said = json.dumps({"done": word.name, "series": page.series})
        typer.echo(said if json_line else word.told)
