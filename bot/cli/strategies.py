"""`bot strategies`: what there is to quote with, and what each of them can be told."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.common import EXIT_CONFIGURATION, fail, printed_aside

if TYPE_CHECKING:
    from bot.strategy.api import Strategy

_EXAMPLE = "Example: bot strategies ladder_joint"
_NAME_HELP = "A name of the list, package.module:Class, or ./file.py."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("strategies", epilog=_EXAMPLE)(strategies)


def strategies(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help=_NAME_HELP)] = None,
    json_line: Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")] = False,
) -> None:
    """List the strategies; with NAME its parameters: default, what is accepted, unit, meaning.

    Ends with 2 when there is none of that name, or when it cannot be used.
    """
    from bot.config.plugins import StrategyFault, find_strategy, listed_strategies, tried

    if name is not None:
        try:
            with printed_aside():
                found = tried(find_strategy(name, Path()))
        except StrategyFault as fault:
            text = str(fault)
            fail(EXIT_CONFIGURATION, text if name in text else f"{name}: {text}")
        _tell_one(name, found, json_line=json_line)
        return
    with printed_aside():
        rows = listed_strategies()
    if json_line:
        names = ("name", "source", "about", "fault")
        typer.echo(json.dumps([{key: getattr(row, key) for key in names} for row in rows]))
        return
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        given = "" if row.source == "strategies" else f" ({row.source})"
        typer.echo(f"{row.name:<{width}}  {row.fault or row.about}{given}")


def _tell_one(name: str, found: "type[Strategy]", *, json_line: bool) -> None:
    from bot.config.plugins import about, parameters_of

    params = parameters_of(found)
    if json_line:
        told: dict[str, Any] = {"name": name, "about": about(found)}
        told["params"] = [
            {
                "name": each.name,
                "default": each.default,
                "accepted": each.accepted,
                "unit": each.unit,
                "about": each.about,
            }
            for each in params
        ]
        typer.echo(json.dumps(told))
        return
    typer.echo(f"{name}: {about(found)}")
    for each in params:
        default = "to be given" if each.is_required else f"default {each.default}"
        unit = f", {each.unit}" if each.unit else ""
        typer.echo(f"  {each.name}: {default}{unit} ({each.accepted})")
        if each.about:
            typer.echo(f"      {each.about}")
