"""`bot replay`: lives a journalled run again and stops at the first effect that differs."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    duration_ns,
    fail,
    faults_told,
    printed_aside,
)
from bot.cli.progress import is_watched, progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.core import messages as m
    from bot.lab.replay import Difference, Replayed
    from bot.lab.session import Placed, Run, Until

_EXAMPLE: Final = "Example: bot replay state/demo --until 90s"
_UNTIL_HELP: Final = (
    "Stop there: 90s after the start, 2026-11-21T21:38:43Z, the number of an event, or an entry "
    "such as journal-00000003.log:1234."
)
_CONFIG_HELP: Final = "The file that the run had, for strategies in files of its folder."
_PLACE: Final = re.compile(r"(journal-[0-9]{8,18}\.(?:log|arc)):([0-9]{1,12})", re.ASCII)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", epilog=_EXAMPLE)(replay)


def replay(
    journal: Annotated[
        Path, typer.Argument(metavar="STATE_DIR|JOURNAL", help="A state directory, or a segment.")
    ],
    config: Annotated[Path | None, typer.Option(metavar="FILE", help=_CONFIG_HELP)] = None,
    until: Annotated[str, typer.Option(metavar="TIME|ENTRY", help=_UNTIL_HELP)] = "",
    every: Annotated[
        bool, typer.Option("--all", help="Every run that is kept, not the newest alone.")
    ] = False,
    no_notes: Annotated[
        bool, typer.Option("--no-notes", help="Leave notes out: another release may word them.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    json_line: Annotated[
        bool, typer.Option("--json", help="One line of JSON on stdout for each run.")
    ] = False,
) -> None:
    """Feed a run's recorded events to the trader once more and compare every effect, to the byte.

    The newest run in a state directory, or the one that a segment belongs to; it may be over or
    still going on, and is not touched. Stops at the first difference and shows both sides, the
    frame before it and the last events.

    Ends with 0 when nothing differs, with 4 when something does, with 2 for a wrong option, and
    with 3 when there is no journal, when it is damaged, or when it cannot be lived again.
    """
    from bot.config.strategies import Makers
    from bot.lab.replay import replay as replayed
    from bot.lab.replay import replayer_of
    from bot.lab.session import entries_of, runs_meant

    worst, makers = 0, Makers(Path() if config is None else config.parent)
    with faults_told():
        meant = runs_meant(journal, every=every)
        for run in meant:
            stop = until_of(until, run, meant)
            with printed_aside():
                again = replayer_of(run, makers, notes=not no_notes)
            entries = entries_of(run) if is_watched() and not quiet else None
            with progress("entries", entries, quiet=quiet) as meter, printed_aside():
                found = replayed(again, stop, meter.told)
            typer.echo(_line(found) if json_line else _text(found))
            worst = max(worst, _code(found))
    if worst:
        raise typer.Exit(worst)


def _code(found: "Replayed") -> int:
    if found.difference is not None:
        return EXIT_LEFT_OVER
    return EXIT_VENUE if found.damage else 0


def until_of(text: str, run: "Run", runs: "Sequence[Run]" = ()) -> "Until":
    """Where to stop; ends with 2 for a text that is none of the four, and for a segment that
    neither the run nor any of `runs` has."""
    from bot.io.journal.journal import number_of
    from bot.lab.progress import is_whole
    from bot.lab.session import TO_THE_END, Place, Until
    from venue.wire import instant

    if not text:
        return TO_THE_END
    named = _PLACE.fullmatch(text)
    if named is not None:
        kept = [path for each in (runs or (run,)) for path in each.paths]
        if number_of(Path(named[1])) not in [number_of(path) for path in kept]:
            some = f"{kept[0].name} to {kept[-1].name}"
            fail(EXIT_CONFIGURATION, f"--until {text}: no such segment; lived again are {some}")
        return Until(place=Place(named[1], int(named[2])))
    if is_whole(text):
        return Until(number=int(text))
    if text[-1:] in "smh" and "T" not in text:
        return Until(at_ns=run.begun_ns + duration_ns("--until", text))
    try:
        return Until(at_ns=instant.to_ns(text))
    except ValueError:
        fail(EXIT_CONFIGURATION, f"--until {text}: {_UNTIL_HELP.removeprefix('Stop there: ')}")


# --- what is said ---------------------------------------------------------------------------------


def _line(found: "Replayed") -> str:
    import msgspec

    plain = msgspec.to_builtins(found) | {"events_per_second": found.events_per_second}
    return msgspec.json.encode(plain).decode()


def _text(found: "Replayed") -> str:
    from venue.wire import instant

    runs_from, runs_to = found.segments[0], found.segments[-1]
    where = runs_from if runs_from == runs_to else f"{runs_from} to {runs_to}"
    until = instant.from_ns(found.until_ns) if found.events else "-"
    lines = [
        f"run {found.nonce}, {where}, version {found.version}",
        f"{found.events} events and {found.effects} effects compared, up to {until}: "
        + ("no difference" if found.difference is None else "a difference"),
        f"{found.events_per_second:,} events a second of processor time; the trader was "
        f"{found.phase}" + ("" if found.ended else ", the end of the run was not reached"),
    ]
    if not found.notes:
        lines.append("notes were left out: no answer hangs on them")
    if found.unwritten:
        lines.append(f"the journal ends before {found.unwritten} effects of its last event")
    if found.damage:
        lines.append(found.damage)
    if found.difference is not None:
        lines += _difference(found.difference)
    return "\n".join(lines)


_WHY: Final = (
    "either another program or configuration wrote this journal (`bot version` says which one "
    "this is), or something decided by what is not in it: a clock, chance, the order of a set"
)


def _difference(differs: "Difference") -> list[str]:
    at = differs.before[-1]
    lines = [
        "",
        f"effect {differs.nth} of event {at.number}, {_where(at)}",
        f"  then   {_side(differs.then)}",
        f"  now    {_side(differs.now)}",
        *(f"         {field}" for field in differs.fields),
    ]
    if differs.raised:
        lines.append(f"  raised {differs.raised}")
    if differs.frame is not None:
        lines.append(f"  frame  {_happened(differs.frame)}")
    lines.append("  the last events:")
    lines += [f"    {_happened(each)}" for each in differs.before]
    lines.append(_WHY)
    return lines


def _side(effect: "m.Effect | None") -> str:
    return "no further effect" if effect is None else _clipped(repr(effect))


def _happened(happened: "Placed") -> str:
    return f"{happened.number}: {_clipped(repr(happened.entry.message), 300)}, {_where(happened)}"


def _where(happened: "Placed") -> str:
    from venue.wire import instant

    place = happened.place
    return f"{place.segment}:{place.entry}, {instant.from_ns(happened.entry.at_ns)}"


def _clipped(text: str, most: int = 1_200) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
