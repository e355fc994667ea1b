"""`bot strategies`: the strategies there are, and the parameters of one."""

import json
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bot.cli.common import EXIT_CONFIGURATION, fail, stdout_to_stderr
from bot.cli.options import Json
from bot.config.plugins import (
    StrategyFault,
    about,
    find_strategy,
    listed_strategies,
    parameters_of,
    tried,
)
from bot.strategy.api import Strategy

_NAME_HELP = "A name of the list, package.module:Class, or ./file.py."


def strategies(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help=_NAME_HELP)] = None,
    json_line: Json = False,
) -> None:
    """Of each parameter: its default, the accepted values, unit and meaning.

    Ends with 2 for an unknown name, or if the strategy cannot be loaded.

    Example: bot strategies ladder_joint
    """
    if name is not None:
        try:
            with stdout_to_stderr():
                found = tried(find_strategy(name, Path()))
        except StrategyFault as fault:
            text = str(fault)
            fail(EXIT_CONFIGURATION, text if name in text else f"{name}: {text}")
        _print_parameters(name, found, json_line=json_line)
        return
    with stdout_to_stderr():
        rows = listed_strategies()
    if json_line:
        typer.echo(json.dumps([msgspec.structs.asdict(row) for row in rows]))
        return
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        source = "" if row.source == "strategies" else f" ({row.source})"
        typer.echo(f"{row.name:<{width}}  {row.fault or row.about}{source}")


def _print_parameters(name: str, found: type[Strategy], *, json_line: bool) -> None:
    params = parameters_of(found)
    if json_line:
        rows = [msgspec.structs.asdict(each) for each in params]
        typer.echo(json.dumps({"name": name, "about": about(found), "params": rows}))
        return
    typer.echo(f"{name}: {about(found)}")
    for each in params:
        default = "required" if each.is_required else f"default {each.default}"
        unit = f", {each.unit}" if each.unit else ""
        typer.echo(f"  {each.name}: {default}{unit} ({each.accepted})")
        if each.about:
            typer.echo(f"      {each.about}")
