"""`bot status`: what a running bot is doing, as a table in the terminal."""

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.asking import StateDir, StatusUrl, page_of
from bot.cli.common import EXIT_VENUE, ConfigPath, fail, faults_told, read_where

if TYPE_CHECKING:
    from bot.core.report import Report

_EXAMPLE = "Example: bot status configs/demo.yaml || echo not well"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status", epilog=_EXAMPLE)(status)


def status(
    config: ConfigPath,
    page: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Annotated[
        bool, typer.Option("--json", help="The whole picture as one line of JSON on stdout.")
    ] = False,
) -> None:
    """Show what the running bot quotes, holds and believes, and whether it is well; why it is
    paused or only flattens, and what is wrong with the newest change of its configuration.

    Ends with 0 when it quotes or was told to pause. Ends with 3 when it does not do its work, as
    the last line then says: it starts, is latched, hears nothing, no rung can be quoted, or its
    strategy is at fault on every event; and when no bot answers there.
    """
    with faults_told():
        found = page_of(read_where(config), page, state_dir)
    body = found.get("/status.json")
    report, age_ms, unhealthy, paused, notice = _read(body, found.base)
    if json_line:
        typer.echo(body.decode())
    elif report is not None:
        _show(report, age_ms, paused, notice, found.base)
    if unhealthy:
        fail(EXIT_VENUE, f"not well: {unhealthy}")


def _read(body: bytes, base: str) -> "tuple[Report | None, int, str, str, str]":
    """The picture, its age in milliseconds, why the bot is not well, why it is paused, and what is
    to be known of how it began; ends with 3 for a page of another version."""
    import msgspec

    from bot.core.report import Report

    try:
        parts = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        report = msgspec.json.decode(parts["report"], type=Report | None)
        age_ms = msgspec.json.decode(parts["age_ms"], type=int | None)
        unhealthy = msgspec.json.decode(parts["unhealthy"], type=str)
        paused = msgspec.json.decode(parts["paused"], type=str)
        notice = msgspec.json.decode(parts.get("notice", b'""'), type=str)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError) as fault:
        fail(EXIT_VENUE, f"{base}: not the status of a bot of this version: {fault}")
    return report, age_ms or 0, unhealthy, paused, notice


def _show(report: "Report", age_ms: int, paused: str, notice: str, base: str) -> None:
    from rich.console import Console

    from bot.io.run.terminal import picture
    from bot.io.status.snapshot import Snapshot
    from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

    seconds = max(1.0, (report.now_ns - report.started_ns) / NS_PER_SECOND)
    per_second = sum(report.counters.requests.values()) / seconds
    now_ns = report.now_ns + age_ms * NS_PER_MS
    shown = Snapshot(now_ns, report.now_ns, report, paused, notice)
    console = Console()
    with console.capture() as drawn:
        console.print(picture(shown, [], base, per_second))
    typer.echo(drawn.get(), nl=False)
