"""`bot replay`: replay a journalled run and stop at the first effect that differs."""

from collections.abc import Iterator
from pathlib import Path
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
from bot.cli.progress import Terminal, progress
from bot.config.strategies import Makers
from bot.core import messages as m
from bot.lab import api
from bot.lab.replay import Difference, Replayed
from bot.lab.session import Placed, Run, UntilFault, runs_meant, until_named
from bot.lab.session import Until as StopAt
from bot.lab.writes import OrderWrite, WriteDifference, WriteMatch, WriteReplayer, WriteReport
from venue.wire import instant
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

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
    writes: Annotated[
        bool,
        typer.Option("--writes", help="Compare only the writes, with those that it sends now."),
    ] = False,
    quiet: Quiet = False,
    json_line: Json = False,
) -> None:
    """The recorded events go into a new trader. A run may be finished or not; the journal is only
    read. Stops at the first difference and shows both effects, the frame before and the last
    events. --json prints a line for each run.

    --writes goes on after a difference, also with a journal of an earlier version: each decision
    starts from the orders that the run had.

    Ends with 0 if nothing differs, with 4 if something does, with 2 for a wrong option, and with 3
    if there is no journal, if it is damaged, or if its run cannot be replayed.

    Example: bot replay state/demo --until 90s
    """
    worst = 0
    with exit_on_fault():
        if writes:
            raise typer.Exit(
                _compare_writes(journal, config, until, every=every, quiet=quiet, json=json_line)
            )
        runs = api.replays(
            journal,
            config=config,
            until=until,
            every=every,
            notes=not no_notes,
            console=Terminal(quiet=quiet, shorter="--until 10m replays the first ten minutes"),
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


def _compare_writes(
    journal: Path, config: Path | None, until: str, *, every: bool, quiet: bool, json: bool
) -> int:
    """Print how the writes of the runs compare; returns the exit code."""
    worst, makers = 0, Makers(Path() if config is None else config.parent)
    meant = runs_meant(journal, every=every)
    for run in meant:
        try:
            stop = until_named(until, run, meant)
        except UntilFault as fault:
            fail(EXIT_CONFIGURATION, f"--until {fault}")
        worst = max(worst, _compare_run(run, makers, stop, quiet=quiet, json=json))
    return worst


def _compare_run(run: Run, makers: Makers, stop: StopAt, *, quiet: bool, json: bool) -> int:
    with stdout_to_stderr():
        replayer = WriteReplayer(run, makers)
    with progress("events", quiet=quiet) as show, stdout_to_stderr():
        found = replayer.compare(stop, show)
    typer.echo(msgspec.json.encode(found).decode() if json else _writes_text(found, run.begun_ns))
    if found.differences or found.overtaken:
        return EXIT_LEFT_OVER
    return EXIT_VENUE if found.damage else 0


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


# --- writes ---------------------------------------------------------------------------------------

_KINDS: Final = ("create", "amend", "cancel")
_EXAMPLES: Final = 3  # differences shown of each kind


def _writes_text(found: WriteReport, begun_ns: int) -> str:
    first, last = found.segments[0], found.segments[-1]
    lines = [
        f"run {found.nonce}, {first if first == last else f'{first} to {last}'}, "
        f"version {found.version}: {found.writes} writes, {found.reads_then} reads; now "
        f"{found.reads_now} reads",
        f"{'':<14}{'writes':>8}" + "".join(f"{kind + 's':>9}" for kind in _KINDS),
    ]
    spans = {WriteMatch.EARLIER: found.earlier_ns, WriteMatch.LATER: found.later_ns}
    for match, counts in found.counts.items():
        row = f"{match:<14}{sum(counts.values()):>8}"
        row += "".join(f"{counts.get(kind, 0):>9}" for kind in _KINDS)
        if apart_ns := spans.get(match):
            half = apart_ns[len(apart_ns) // 2] / NS_PER_MS
            row += f"  half by {half:,.0f} ms, at most {apart_ns[-1] / NS_PER_MS:,.0f} ms"
        lines.append(row)
    if found.overtaken:
        lines.append(f"{found.overtaken} equal writes left in another order within their market")
    if found.unfollowed:
        lines.append(f"{found.unfollowed} writes of the run could not be repeated")
    if found.damage:
        lines.append(found.damage)
    for match in WriteMatch:
        shown = [each for each in found.differences if each.match is match][:_EXAMPLES]
        lines += [f"{match}:"] if shown else []
        for each in shown:
            lines += _write_difference(each, begun_ns)
    return "\n".join(lines)


def _write_difference(each: WriteDifference, begun_ns: int) -> list[str]:
    lines = [f"  {each.place.segment}:{each.place.entry}"]
    if each.then is not None:
        lines.append(f"    then  {_write(each.then, begun_ns)}")
    if each.now is not None:
        lasted = f", for {each.lasted_ns / NS_PER_SECOND:.1f} s" if each.lasted_ns else ""
        lines.append(f"    now   {_write(each.now, begun_ns)}{lasted}")
    return lines


def _write(write: OrderWrite, begun_ns: int) -> str:
    at_s = (write.at_ns - begun_ns) / NS_PER_SECOND
    qty = f" of {write.qty}" if write.qty else ""
    order = f", order {write.order_id}" if write.order_id else ""
    return (
        f"{at_s:.3f} s  {write.kind} {write.ticker} {write.side} {write.price}{qty}{order}: "
        f"{write.why}"
    )
