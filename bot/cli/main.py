"""The command line of the bot: the table of its commands. Only the one asked for is loaded.

A new command is one file in this folder and one row in the table. Exit codes: docs/operations.md.
"""

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer._click.shell_completion import CompletionItem

from bot.cli.common import warn_renamed
from bot.io.signals import last_command
from venue.cli.groups import CommandGroup, Version


class Row(NamedTuple):
    """One command. summary: the first sentence of its help, at most 64 characters. module: its file
    here and the name in it; empty where both are named as the command is."""

    name: str
    summary: str
    module: str = ""


GROUPS: Final = {
    "Begin": (
        Row("init", "Write a configuration and a strategy that run, and a tape.", "starter:init"),
        Row("new-strategy", "Write a strategy that quotes.", "starter:new_strategy"),
    ),
    "Trade": (
        Row("run", "Quote until stopped, then cancel every order."),
        Row("check", "Check the configuration, the venue, the key and its scopes."),
        Row("plan", "Show which requests would be sent now, and why."),
        Row("record", "Record a series into a journal without trading."),
    ),
    "Watch and intervene": (
        Row("status", "Show the running bot's quotes, inventory and faults."),
        Row("incident", "Report a night: what rests, who did what, what to do."),
        Row("pause", "Cancel everything and send nothing new until resumed.", "steer:pause"),
        Row("resume", "Quote again after a pause or a flatten.", "steer:resume"),
        Row("flatten", "Quote only what reduces the inventory; pause once flat.", "steer:flatten"),
        Row("reduce", "Divide each size until resumed.", "steer:reduce"),
        Row("exit", "Exit one event, in bounded time at a bounded cost.", "exit_event:exit_event"),
        Row("budget", "Show the loss budgets of the account, or raise one."),
        Row("value", "Set, clear and show values from outside.", "value:app"),
        Row("cancel-all", "Cancel every resting order of the account, and prove it."),
        Row("reset", "Clear the latch of a stopped bot, after showing its reason."),
        Row("reaper", "Watch a bot; cancel everything when its heartbeat stops."),
        Row("worst-case", "Show what each event may lose, outcome by outcome."),
    ),
    "Look back": (
        Row("pnl", "Attribute the profit of a run: spread, adverse moves, fees."),
        Row("compare", "Compare split variants with the series' own setting."),
        Row("statement", "State one day from the records, closing to the cent."),
        Row("explain", "Explain why an order was made, changed or cancelled."),
        Row("report", "Report a run or a backtest as one HTML page; compare two."),
        Row("replay", "Replay a run and compare every effect, to the byte."),
        Row("export", "Export a journal as tables: books, trades, requests, fills."),
    ),
    "Research": (
        Row("strategies", "List the strategies, or the parameters of one."),
        Row("backtest", "Backtest the whole trader on recorded tapes."),
        Row("evaluate", "Compare strategies at equal risk in seeded worlds."),
        Row("sweep", "Search the settings that earn most, corrected for chance."),
        Row("what-if", "Rerun a recorded session with another configuration."),
        Row("calibrate", "Score the fair curve on a recorded ladder."),
        Row("simulate", "Simulate trader and venue under seeded faults."),
    ),
    "This program": (
        Row("config", "Show, describe, compare and confirm configurations.", "config:app"),
        Row("version", "Print the versions of the bot, Python and journals.", "program:version"),
        Row("completion", "Print the completion script of a shell.", "program:completion"),
    ),
}
COMMANDS: Final = {row.name: row for rows in GROUPS.values() for row in rows}

RENAMED_OPTIONS: Final = {
    ("backtest", "--readings"): "--queue-model",
    ("backtest", "--feed"): "--feed-latency",
    ("sweep", "--reading"): "--queue-model",
    ("sweep", "--splits"): "--cv-blocks",
    ("what-if", "--bound"): "--queue-model",
}
"""Options by their names of version 0.1, which are accepted in this one."""


@cache
def _load(name: str) -> Any:
    """The command or group of commands of this name. Raises KeyError.

    The help of a function is its summary and docstring, whose last paragraph is an example.
    """
    row = COMMANDS[name]
    module, _, attribute = (row.module or name.replace("-", "_")).partition(":")
    found = getattr(import_module(f"bot.cli.{module}"), attribute or module)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    about, _, example = (inspect.getdoc(found) or "").rpartition("Example: ")
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, help=f"{row.summary}\n\n{about}", epilog=example_text(example))(found)
    return typer.main.get_command(single)


def example_text(example: str) -> str:
    """An example as the last paragraph of a help; one of several lines keeps its line breaks."""
    return f"\b\nExample: {example}" if "\n" in example else f"Example: {example}"


class _LazyCommands(Mapping[str, Any]):
    def __getitem__(self, name: str) -> Any:
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class CommandTable(CommandGroup):
    """The root group: loads a command when it is called, prints its help in groups."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _LazyCommands()  # type: ignore[assignment]

    def sections(self) -> Mapping[str, list[tuple[str, str]]]:
        """The table, without loading a command."""
        return {title: [(row.name, row.summary) for row in rows] for title, rows in GROUPS.items()}

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        rows = [row for row in COMMANDS.values() if row.name.startswith(incomplete)]
        return [CompletionItem(row.name, help=row.summary) for row in rows]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command, with options of version 0.1 under their new names."""
        name, *words = args
        return super().resolve_command(ctx, [name, *(_renamed(name, word) for word in words)])


def _renamed(command: str, word: str) -> str:
    option, equals, value = word.partition("=")
    new = RENAMED_OPTIONS.get((command, option))
    if new is None:
        return word
    warn_renamed(option, new)
    return f"{new}{equals}{value}"


app = typer.Typer(
    name="bot",
    cls=CommandTable,
    help="A market maker for strike ladders of binary contracts.",
    epilog=example_text("bot run configs/demo.yaml"),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _begin(version: Version = False) -> None: ...


def main() -> None:
    with last_command():
        app()
