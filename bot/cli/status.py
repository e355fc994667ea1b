"""`bot status`: what a running bot is doing, as a table in the terminal."""

import typer
from rich.console import Console

from bot.cli.common import EXIT_VENUE, exit_on_fault, fail, read_lenient
from bot.cli.options import ConfigPath, Json, StateDir, StatusUrl
from bot.cli.running_bot import StatusBody, require_bot
from bot.core.report import Report
from bot.io.run.terminal import picture
from bot.io.status.snapshot import Snapshot
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND


def status(
    config: ConfigPath, page: StatusUrl = "", state_dir: StateDir = None, json_line: Json = False
) -> None:
    """Also why it is paused or only flattens, and the fault in the newest change of its
    configuration.

    Ends with 0 if it quotes or was asked to pause. Ends with 3 if it does not, and says why in the
    last line: it starts, is latched, its feed is stale, no rung can be quoted, its strategy fails
    on every event, or no bot answers.

    Example: bot status configs/demo.yaml || echo not well
    """
    with exit_on_fault():
        found = require_bot(read_lenient(config), page, state_dir)
    shown, body = found.fetch_status()
    if json_line:
        typer.echo(body.decode())
    elif shown.report is not None:
        _print_table(shown, shown.report, found.base)
    if shown.unhealthy:
        fail(EXIT_VENUE, f"not well: {shown.unhealthy}")


def _print_table(shown: StatusBody, report: Report, base: str) -> None:
    seconds = max(1.0, (report.now_ns - report.started_ns) / NS_PER_SECOND)
    per_second = sum(report.counters.requests.values()) / seconds
    now_ns = report.now_ns + (shown.age_ms or 0) * NS_PER_MS
    snapshot = Snapshot(now_ns, report.now_ns, report, shown.notice)
    console = Console()
    with console.capture() as drawn:
        console.print(picture(snapshot, [], base, per_second))
    typer.echo(drawn.get(), nl=False)
