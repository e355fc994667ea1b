"""`bot pause`, `bot resume` and `bot flatten`: intervene in the running bot."""

import json
from collections.abc import Callable

import typer

from bot.cli.common import exit_on_fault, read_lenient, warn_on_interrupt
from bot.cli.options import ConfigPath, EventAsked, Json, Reason, StateDir, StatusUrl
from bot.cli.running_bot import NO_ANSWER, require_action

_HELP = """{about}Needs `status.control: true` in the configuration.

Ends with 0 once the bot has accepted, with 3 if none answers or its token cannot be read, with 4 if
it refuses.

Example: bot {action} configs/paper.yaml --reason "{why}"
"""


def _action(action: str, about: str, why: str, accepted: str) -> Callable[..., None]:
    """The command of an action. accepted: printed once the bot has accepted it."""

    def ask(
        config: ConfigPath,
        reason: Reason = "asked for at the command line",
        event: EventAsked = "",
        status: StatusUrl = "",
        state_dir: StateDir = None,
        json_line: Json = False,
    ) -> None:
        of = {"event": event} if event else {}
        with exit_on_fault(), warn_on_interrupt(NO_ANSWER):
            page = require_action(action, read_lenient(config), reason, status, state_dir, of)
        done = {"done": action, "series": page.series} | of
        typer.echo(json.dumps(done) if json_line else (f"{event}: " if event else "") + accepted)

    ask.__doc__ = _HELP.format(about=about, action=action, why=why)
    return ask


pause = _action(
    "pause",
    "The bot stays paused, whatever happens, until `bot resume`. ",
    "the venue behaves oddly",
    "everything is cancelled and nothing new sent until bot resume; bot status shows what still "
    "rests",
)
resume = _action(
    "resume", "", "looked at, all is well", "quotes again, as far as nothing else restricts it"
)
flatten = _action(
    "flatten",
    "",
    "results tonight",
    "only inventory is reduced from now on; bot resume quotes both sides again",
)
