"""`bot report`: a run, or a backtest, as one HTML page; two of them compared."""

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_VENUE,
    exit_on_fault,
    fail,
    require_writable,
    stdout_to_stderr,
    write_files,
)
from bot.cli.options import Html, Json, Quiet, RunConfig
from bot.cli.progress import announce, progress
from bot.config.strategies import Makers
from bot.io.journal.records import JournalFault
from bot.lab.progress import replay_s
from bot.lab.report.page import compared, pairs, plain_pair, said
from bot.lab.report.page import report as reported
from bot.lab.report.session import Session, filled, final_cents, findings, plain, span_text
from bot.lab.report.sources import NoSource, ReportFault, sessions_of
from bot.lab.session import newest_run
from venue.wire.money import dollars

_SOURCE: Final = "STATE_DIR|JOURNAL|RESULT"
_SOURCE_HELP: Final = "A state directory, a segment, or a file that `bot backtest --save` wrote."


def report(
    source: Annotated[
        Path | None, typer.Argument(metavar=f"[{_SOURCE}]", help=_SOURCE_HELP)
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="A B", help="Compare two of these, instead of one."),
    ] = None,
    html: Html = None,
    config: RunConfig = None,
    quiet: Quiet = False,
    json_line: Json = False,
) -> None:
    """Replays the newest run and reports its profit, inventory, quotes and requests, and what was
    rejected. The page is one file without any outside address. The run may be finished or not; the
    journal is only read. A run that cannot be replayed to its end is reported up to there.

    Ends with 2 for a wrong option or configuration; with 3 if there is nothing to report, or if the
    run cannot be replayed to its end.

    Example: bot report state/demo --html report.html
    """
    if (source is None) == (compare is None):
        fail(EXIT_CONFIGURATION, f"{_SOURCE}, or --compare A B: one of them")
    paths = [source] if compare is None else [*compare]
    require_writable(html, read=(*paths, config))
    with exit_on_fault(), stdout_to_stderr():
        try:
            makers = Makers(Path() if config is None else config.parent)
            found = []
            for path in paths:
                assert path is not None
                if not quiet:
                    _announce(path)
                with progress("events", quiet=quiet) as show:
                    found.append(sessions_of(path, makers, partial(show, what=str(path))))
            paired = pairs(found[0], found[1]) if compare is not None else []
            page = partial(reported, found[0]) if compare is None else partial(compared, *found)
            write_files((html, page))
        except NoSource as fault:
            fail(EXIT_VENUE, str(fault))
        except ReportFault as fault:
            fail(EXIT_CONFIGURATION, str(fault))
    if json_line:
        line: dict[str, Any] = {"sessions": [plain(each) for each in found[0]]}
        if paired:
            rows = [{"pair": name} | plain_pair(one, other) for name, one, other in paired]
            line = {"pairs": rows}
        typer.echo(msgspec.json.encode(line).decode())
    else:
        for each in (session for sessions in found for session in sessions):
            typer.echo(session_text(each))
        for name, one, other in paired:
            typer.echo(f"{name}: {said(one, other)}")
    # A backtest that was ended early is whole as a file, and says so itself.
    if any(each.damage and not each.is_backtest for sessions in found for each in sessions):
        raise typer.Exit(EXIT_VENUE)


def _announce(path: Path) -> None:
    """Print how long a journal's replay takes, if that is long; faults are found by the replay."""
    with suppress(JournalFault, OSError):
        if path.is_dir():
            announce(replay_s(newest_run(path).paths), "report a shorter run")


def session_text(session: Session) -> str:
    totals = final_cents(session)
    bound = f", queue {session.bound}" if session.bound else ""
    lines = [f"{session.name}{bound}: {span_text(session.seconds)}, {session.events:,} events"]
    profit = f"profit {dollars(session.pnl_cents)}"
    if totals:
        profit = ", ".join(f"{name} {dollars(cents)}" for name, cents in totals.items())
    lines.append(f"  {profit}; {filled(session)[0]} fills")
    sent = ", ".join(f"{row.sent} {kind}s" for kind, row in session.answers.items())
    rejected = sum(session.refused.values())
    lines.append(f"  {sent or 'no request'}; {rejected} rejected")
    lines += [f"  {line}" for line in findings(session)]
    return "\n".join(lines)
