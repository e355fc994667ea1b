"""`bot pause`, `bot resume`, `bot flatten` and `bot reduce`: intervene in the running bot."""

import json
from collections.abc import Callable
from typing import Annotated

import typer

from bot.cli.common import EXIT_CONFIGURATION, exit_on_fault, fail, read_lenient, warn_on_interrupt
from bot.cli.options import ConfigPath, EventAsked, Json, Reason, StateDir, StatusUrl
from bot.cli.running_bot import NO_ANSWER, require_action
from bot.io.status.control import DIVISOR_MAX

OfAccount = Annotated[
    bool,
    typer.Option("--account", help="Of the account: every series of the process."),
]

_REASON = "asked for at the command line"

_HELP = """{about}Needs `status.control: true` in the configuration.

Ends with 0 once the bot has accepted, with 3 if none answers or its token cannot be read, with 4 if
it refuses.

Example: bot {example}
"""


def _action(action: str, about: str, why: str, accepted: str) -> Callable[..., None]:
    """The command of an action. accepted: printed once the bot has accepted it."""

    def ask(
        config: ConfigPath,
        reason: Reason = _REASON,
        event: EventAsked = "",
        account: OfAccount = False,
        status: StatusUrl = "",
        state_dir: StateDir = None,
        json_line: Json = False,
    ) -> None:
        of = _scope(event, account=account)
        with exit_on_fault(), warn_on_interrupt(NO_ANSWER):
            page = require_action(action, read_lenient(config), reason, status, state_dir, of)
        _say_done({"done": action, "series": page.series} | of, accepted, json_line=json_line)

    example = f'{action} configs/paper.yaml --reason "{why}"'
    ask.__doc__ = _HELP.format(about=about, example=example)
    return ask


def _scope(event: str, *, account: bool) -> dict[str, object]:
    """What a command is about, if not the whole series."""
    if event and account:
        fail(EXIT_CONFIGURATION, "--event or --account, not both")
    return {"event": event} if event else {"account": True} if account else {}


def _say_done(done: dict[str, object], accepted: str, *, json_line: bool) -> None:
    scope = done.get("event") or ("the account" if "account" in done else "")
    if "account" in done:
        accepted = accepted.replace("bot resume", "bot resume --account")
    typer.echo(json.dumps(done) if json_line else (f"{scope}: " if scope else "") + accepted)


pause = _action(
    "pause",
    "The bot stays paused, whatever happens, until `bot resume`. ",
    "the venue behaves oddly",
    "everything is cancelled and nothing new sent until bot resume; bot status shows what still "
    "rests",
)
resume = _action(
    "resume",
    "Ends a pause, a flatten and a reduction of the series and its events; with --account those of "
    "the account too. ",
    "looked at, all is well",
    "quotes again, as far as nothing else restricts it",
)
flatten = _action(
    "flatten",
    "",
    "results tonight",
    "only inventory is reduced from now on; bot resume quotes both sides again",
)


def reduce(
    config: ConfigPath,
    divisor: Annotated[
        int, typer.Option(min=2, max=DIVISOR_MAX, help="Each size is divided by this.")
    ] = 2,
    reason: Reason = _REASON,
    event: EventAsked = "",
    account: OfAccount = False,
    status: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    of = _scope(event, account=account) | {"size_divisor": divisor}
    with exit_on_fault(), warn_on_interrupt(NO_ANSWER):
        page = require_action("reduce", read_lenient(config), reason, status, state_dir, of)
    accepted = f"sizes are divided by {divisor} until bot resume"
    _say_done({"done": "reduce", "series": page.series} | of, accepted, json_line=json_line)


reduce.__doc__ = _HELP.format(
    about="Quotes go on, on both sides, until `bot resume`. ",
    example="reduce configs/paper.yaml --divisor 4 --account",
)
