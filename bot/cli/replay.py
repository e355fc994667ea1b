"""`bot replay`: replay a journalled run and stop at the first effect that differs."""

from collections.abc import Iterator
from typing import Annotated, Final

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    exit_on_fault,
    fail,
    stdout_to_stderr,
)
from bot.cli.options import JournalPath, Json, Quiet, RunConfig, Until
from bot.cli.progress import Terminal
from bot.core import messages as m
from bot.lab import api
from bot.lab.replay import Difference, Replayed
from bot.lab.session import Placed, UntilFault
from venue.wire import instant

_WHY: Final = (
    "either another program or configuration wrote this journal (`bot version` prints this one's), "
    "or a decision depended on something outside it: a clock, chance, the order of a set"
)


def replay(
    journal: JournalPath,
    config: RunConfig = None,
    until: Until = "",
    every: Annotated[
        bool, typer.Option("--all", help="Every run of the journal, not only the newest.")
    ] = False,
    no_notes: Annotated[
        bool, typer.Option("--no-notes", help="Skip notes: another release may word them.")
    ] = False,
    quiet: Quiet = False,
    json_line: Json = False,
) -> None:
    """The recorded events go into a new trader. A run may be finished or not; the journal is only
    read. Stops at the first difference and shows both effects, the frame before and the last
    events. --json prints a line for each run.

    Ends with 0 if nothing differs, with 4 if something does, with 2 for a wrong option, and with 3
    if there is no journal, if it is damaged, or if its run cannot be replayed.

    Example: bot replay state/demo --until 90s
    """
    worst = 0
    with exit_on_fault():
        runs = api.replays(
            journal,
            config=config,
            until=until,
            every=every,
            notes=not no_notes,
            console=Terminal(quiet=quiet),
        )
        while (found := _next(runs)) is not None:
            if json_line:
                plain = msgspec.to_builtins(found)
                plain["events_per_second"] = found.events_per_second
                typer.echo(msgspec.json.encode(plain).decode())
            else:
                typer.echo(_text(found))
            code = EXIT_VENUE if found.damage else 0
            worst = max(worst, code if found.difference is None else EXIT_LEFT_OVER)
    if worst:
        raise typer.Exit(worst)


def _next(runs: Iterator[Replayed]) -> Replayed | None:
    with stdout_to_stderr():
        try:
            return next(runs, None)
        except UntilFault as fault:
            fail(EXIT_CONFIGURATION, f"--until {fault}")


# --- text -----------------------------------------------------------------------------------------


def _text(found: Replayed) -> str:
    first, last = found.segments[0], found.segments[-1]
    until = instant.from_ns(found.until_ns) if found.events else "-"
    lines = [
        f"run {found.nonce}, {first if first == last else f'{first} to {last}'}, "
        f"version {found.version}",
        f"{found.events} events and {found.effects} effects compared, up to {until}: "
        + ("no difference" if found.difference is None else "a difference"),
        f"{found.events_per_second:,} events a second of processor time; the trader was "
        f"{found.phase}" + ("" if found.ended else ", the end of the run was not reached"),
    ]
    if not found.notes:
        lines.append("notes were skipped: no decision depends on them")
    if found.unwritten:
        lines.append(f"the journal ends before {found.unwritten} effects of its last event")
    if found.damage:
        lines.append(found.damage)
    if found.difference is not None:
        lines += _difference(found.difference)
    return "\n".join(lines)


def _difference(differs: Difference) -> list[str]:
    at = differs.before[-1]
    lines = [
        "",
        f"effect {differs.nth} of event {at.number}, {_where(at)}",
        f"  then   {_effect(differs.then)}",
        f"  now    {_effect(differs.now)}",
        *(f"         {field}" for field in differs.fields),
    ]
    if differs.raised:
        lines.append(f"  raised {differs.raised}")
    if differs.frame is not None:
        lines.append(f"  frame  {_event(differs.frame)}")
    return [*lines, "  the last events:", *(f"    {_event(each)}" for each in differs.before), _WHY]


def _effect(effect: m.Effect | None) -> str:
    return "no further effect" if effect is None else _clipped(repr(effect))


def _event(placed: Placed) -> str:
    return f"{placed.number}: {_clipped(repr(placed.entry.message), 300)}, {_where(placed)}"


def _where(placed: Placed) -> str:
    place = placed.place
    return f"{place.segment}:{place.entry}, {instant.from_ns(placed.entry.at_ns)}"


def _clipped(text: str, most: int = 1_200) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
