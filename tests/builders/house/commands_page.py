"""The page docs/commands.md, made from the help of every command; run as a module it prints the
page."""

import sys
from collections.abc import Iterator

import typer
from typer.core import TyperCommand

from bot.cli.main import app as bot
from venue.cli.groups import NonBlankGroup
from venue.cli.main import app as venue

HEAD = """# Commands

Made by `make pages` from the help of the commands, which describes options and exit codes. The
examples run as printed in a folder that has `configs`; some read what others leave there. Those
without a time take a second or two on two idle cores. Work of more than two minutes says so before
it begins, and how to make it shorter.

A venue of its own, with a bot, a paper bot and a reaper, each in a terminal:

```
venue serve --config configs/venue.yaml   # in memory, at http://127.0.0.1:8080/v1
bot run configs/paper.yaml                # quotes there, with a key that the venue wrote
bot run --paper configs/paper.yaml        # its market, our orders on a local exchange: no writes
bot reaper configs/paper.yaml             # cancels every order if the bot dies
```

With `--state DIR` everything that the venue acknowledged survives `kill -9`; `--control` opens it
to the operator's commands.
"""

STOPPED = "until stopped"
TIMES = {
    "bot run": "20 s, as asked",
    "bot record": "10 s, as asked",
    "bot reaper": STOPPED,
    "bot backtest": "15 s",
    "bot evaluate": "10 s",
    "bot sweep": "10 s",
    "bot what-if": "5 s",
    "bot calibrate": "5 s",
    "venue serve": STOPPED,
    "venue check": "a minute",
}
"""Of examples that take longer than about a second."""

_TABLE = "| example | does |\n|---|---|\n"

Command = TyperCommand | NonBlankGroup


def example_of(command: Command) -> str:
    """The example in a command's help, as it is printed."""
    return (command.epilog or "").removeprefix("\b\n").removeprefix("Example: ")


def every(command: Command, words: str) -> Iterator[tuple[str, Command]]:
    """A command and all below it that do something, by the words that call them."""
    if isinstance(command, NonBlankGroup):
        for rows in command.sections().values():
            for name, _ in rows:
                yield from every(command.commands[name], f"{words} {name}")
    else:
        yield words, command


def examples() -> dict[str, str]:
    """The example of every command by the words that call it."""
    return {
        words: example_of(command)
        for app, program in ((bot, "bot"), (venue, "venue"))
        for words, command in every(_group(app), program)
    }


def _group(app: typer.Typer) -> NonBlankGroup:
    group = typer.main.get_command(app)
    assert isinstance(group, NonBlankGroup)
    return group


def page() -> str:
    parts = [HEAD]
    for app, program in ((bot, "bot"), (venue, "venue")):
        group = _group(app)
        for title, rows in group.sections().items():
            parts.append(f"\n## {program}: {title.lower()}\n\n{_TABLE}")
            for name, _ in rows:
                for words, command in every(group.commands[name], f"{program} {name}"):
                    parts.append(_row(words, command))
    return "".join(parts)


def _row(words: str, command: Command) -> str:
    example = " ".join(example_of(command).replace("\\\n", " ").split()).replace("|", "\\|")
    about = (command.help or "").partition("\n")[0]
    time = f" ({TIMES[words]})" if words in TIMES else ""
    return f"| `{example}` | {about.removesuffix('.')}{time} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
