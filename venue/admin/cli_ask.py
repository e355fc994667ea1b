"""What every operator's command does: ask the venue, tell the reply, end with the exit code.

Exit codes: 0 done, 2 bad options, 3 the venue cannot be reached or refuses the token, 4 refused by
the venue.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from venue.blank import Worded

EXIT_OPTIONS: Final = 2
EXIT_UNREACHABLE: Final = 3
EXIT_REFUSED: Final = 4

DEFAULT_CONTROL: Final = "127.0.0.1:8091"
DEFAULT_TOKEN_FILE: Final = Path("state/venue-control-token")

Control = Annotated[
    str, typer.Option("--control", help="Where the venue's control interface listens.")
]
TokenFile = Annotated[Path, typer.Option("--token-file", help="The file with its token.")]
Json = Annotated[bool, typer.Option("--json", help="Print the reply as one JSON object.")]


class AdminTarget:
    """One venue to ask, and how to tell what it says."""

    def __init__(self, control: str, token_file: Path, as_json: bool) -> None:
        self._control = control
        self._token_file = token_file
        self._as_json = as_json

    def reply(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The reply to one request. Ends the process when there is none."""
        from venue.admin.client import MAY_BE_DONE, ControlClient, Refused, Rejected, Unreachable
        from venue.admin.listener import ControlFault

        try:
            return ControlClient(self._control, self._token_file).ask(method, path, body)
        except (ControlFault, Rejected) as fault:
            end(EXIT_OPTIONS, str(fault))
        except Unreachable as fault:
            end(EXIT_UNREACHABLE, str(fault))
        except Refused as fault:
            end(EXIT_REFUSED, str(fault))
        except KeyboardInterrupt:
            if method != "GET":
                typer.echo(f"interrupted: {MAY_BE_DONE}", err=True)
            raise

    def tell(self, reply: dict[str, Any]) -> None:
        """Print a reply."""
        from venue.admin.shown import lines

        for line in [json.dumps(reply)] if self._as_json else lines(reply):
            typer.echo(line)

    def run(self, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        """Ask and tell."""
        self.tell(self.reply(method, path, body))


def end(code: int, message: str) -> NoReturn:
    """Say why on stderr and end with an exit code."""
    typer.echo(message, err=True)
    raise typer.Exit(code)


def noun(name: str, about: str, example: str) -> typer.Typer:
    """The group of commands about one kind of thing. example: what may follow the program's name
    and the group's."""
    return typer.Typer(
        name=name,
        cls=Worded,
        help=about,
        epilog=f"\b\nExample: venue {name} {example}",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
    )


def given(body: dict[str, Any]) -> dict[str, Any]:
    """The fields that an option was given for."""
    return {name: value for name, value in body.items() if value is not None}


def parts(text: str) -> list[str]:
    """What stands between the commas; nothing of an empty text."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def quoted(name: str) -> str:
    """A name as one segment of a path. Ends the process for one that no path can hold."""
    from urllib.parse import quote

    try:
        return quote(name, safe="")
    except UnicodeEncodeError:
        end(EXIT_OPTIONS, f"{name!a}: accepted is a name in UTF-8")
