"""`bot report`: a run, or a backtest, as one HTML page; two of them side by side."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_VENUE,
    fail,
    fail_unwritten,
    faults_told,
    places_for,
    printed_aside,
)
from bot.cli.progress import progress

if TYPE_CHECKING:
    from bot.lab.report.session import Session

_EXAMPLE: Final = "Example: bot report state/demo --html report.html"
_SOURCE: Final = "STATE_DIR|JOURNAL|RESULT"
_SOURCE_HELP: Final = "A state directory, a segment, or a file that `bot backtest --save` wrote."
_CONFIG_HELP: Final = "The file that the run had, for strategies in files of its folder."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", epilog=_EXAMPLE)(report)


def report(
    source: Annotated[
        Path | None, typer.Argument(metavar=f"[{_SOURCE}]", help=_SOURCE_HELP)
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="A B", help="Two of these beside each other, instead of one."),
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the page here.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help=_CONFIG_HELP)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    json_line: Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")] = False,
) -> None:
    """Live the newest run again and tell what it earned, held, quoted, asked and was refused.

    The page is one file without any outside address. The run may be over or still going on, and is
    not touched; one that cannot be lived to its end is told up to there.

    Ends with 2 for a wrong option or configuration; with 3 when there is nothing to report of, or
    when its run cannot be lived again to its end.
    """
    from bot.config.strategies import Makers
    from bot.lab.report.page import compared, pairs
    from bot.lab.report.page import report as reported
    from bot.lab.report.sources import NoSource, ReportFault, sessions_of

    if (source is None) == (compare is None):
        fail(EXIT_CONFIGURATION, f"{_SOURCE}, or --compare A B: one of them")
    places_for(html, read=(source, *(compare or ()), config))
    with faults_told(), printed_aside():
        try:
            makers = Makers(Path() if config is None else config.parent)
            found = []
            for path in [source] if compare is None else compare:
                assert path is not None
                with progress("events", quiet=quiet) as meter:
                    found.append(sessions_of(path, makers, partial(meter.told, what=str(path))))
            paired = pairs(found[0], found[1]) if compare is not None else []
            if html is not None:
                _write(html, reported(found[0]) if compare is None else compared(*found))
        except NoSource as fault:
            fail(EXIT_VENUE, str(fault))
        except ReportFault as fault:
            fail(EXIT_CONFIGURATION, str(fault))
    _tell(found, paired, json_line=json_line)
    if any(map(_cut_short, (each for sessions in found for each in sessions))):
        raise typer.Exit(EXIT_VENUE)


def _write(path: Path, page: str) -> None:
    from bot.io.state.atomic_file import replace_named

    try:
        replace_named(path, page.encode())
    except OSError as fault:
        fail_unwritten(fault, path)


def _cut_short(session: "Session") -> bool:
    """Whether it is a run of which the end could not be told. A backtest that was broken off has
    said so itself, and its file is whole."""
    return not session.is_backtest and bool(session.damage)


# --- what is said ---------------------------------------------------------------------------------


def _tell(
    found: "Sequence[Sequence[Session]]",
    paired: "Sequence[tuple[str, Session, Session]]",
    *,
    json_line: bool,
) -> None:
    import msgspec

    from bot.lab.report.page import plain_pair, said
    from bot.lab.report.session import plain

    if json_line:
        line: dict[str, Any] = (
            {"pairs": [{"pair": name} | plain_pair(one, other) for name, one, other in paired]}
            if paired
            else {"sessions": [plain(each) for each in found[0]]}
        )
        typer.echo(msgspec.json.encode(line).decode())
        return
    for sessions in found:
        for each in sessions:
            typer.echo(_text(each))
    for name, one, other in paired:
        typer.echo(f"{name}: {said(one, other)}")


def _text(session: "Session") -> str:
    from bot.lab.report.session import dollars, filled, final_cents, findings, span_text

    totals = final_cents(session)
    bound = f", queue {session.bound}" if session.bound else ""
    lines = [
        f"{session.name}{bound}: lived {span_text(session.seconds)}, {session.events:,} events"
    ]
    if totals:
        parts = ", ".join(f"{name} {dollars(cents)}" for name, cents in totals.items())
        lines.append(f"  {parts}; {filled(session)[0]} fills")
    else:
        profit = dollars(session.pnl_cents)
        lines.append(f"  profit {profit}; {filled(session)[0]} fills")
    sent = ", ".join(f"{row.sent} {kind}s" for kind, row in session.answers.items())
    refused = sum(session.refused.values())
    lines.append(f"  {sent or 'no request'}; {refused} refused")
    lines += [f"  {line}" for line in findings(session)]
    return "\n".join(lines)
