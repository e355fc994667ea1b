"""`bot pnl`: where the profit of a run comes from, told from its journal."""

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.asking import page_of
from bot.cli.common import (
    EXIT_VENUE,
    ConfigPath,
    fail,
    faults_told,
    printed_aside,
    read,
    state_dir_option,
)
from venue.wire.instant import NS_PER_SECOND

if TYPE_CHECKING:
    from bot.core.report import Report
    from bot.io.metrics.profits import ShownReport

_EXAMPLE = "Example: bot pnl configs/demo.yaml --by rung"


class By(StrEnum):
    """What the rows are told by."""

    RUNG = "rung"
    SIDE = "side"
    LEVEL = "level"
    STRATEGY = "strategy"
    REASON = "reason"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("pnl", epilog=_EXAMPLE)(pnl)


def pnl(
    config: ConfigPath,
    by: Annotated[list[By] | None, typer.Option(help="Rows to tell; may be given again.")] = None,
    shadow: Annotated[
        bool, typer.Option("--shadow", help="Let the configuration's candidates live it too.")
    ] = False,
    state_dir: Annotated[
        Path | None, state_dir_option("Where the journal stands, instead of ./state/<name>.")
    ] = None,
    running: Annotated[
        bool, typer.Option("--running", help="Ask the running bot's status page instead.")
    ] = False,
    status: Annotated[
        str, typer.Option(metavar="URL", help="The page to ask, if not the configured one.")
    ] = "",
    json_line: Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")] = False,
) -> None:
    """Live the newest run in the state directory again and tell its account of profit.

    The run may be over or still going on, and is not touched. With --shadow the candidates of the
    configuration run beside it, whether they did then or not. A run whose beginning the journal no
    longer keeps can only be asked while it goes on, with --running. Ends with 3 when there is no
    journal, when another program wrote it, and when no bot answers.
    """
    names = [each.value for each in by or (By.SIDE,)]
    if running or status:
        told = _asked(config, names, status, shadow=shadow)
    else:
        told = _told_again(config, names, state_dir, shadow=shadow)
    if json_line:
        typer.echo(json.dumps(told))
        return
    if told["profit"] is None:
        typer.echo("the run never opened its books")
        return
    typer.echo(_account(told["profit"]))
    for each in told["shadows"]:
        stopped = f", stopped: {each['stopped']}" if each["stopped"] else ""
        typer.echo(
            f"\n{each['name']} ({each['strategy']}), queue {each['bound']}: asked "
            f"{each['decisions']} times, as the live one {each['same']}{stopped}"
        )
        typer.echo(_account(each["profit"]))


def _asked(config: Path, by: list[str], status: str, *, shadow: bool) -> dict[str, Any]:
    """The account of the running bot, as its status page has it; ends with 3 without an answer."""
    import msgspec

    from bot.io.metrics.profits import StatusReport

    with faults_told():
        page = page_of(read(config), status)
    try:
        shown = msgspec.json.decode(page.get("/status.json"), type=StatusReport).report
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        fail(EXIT_VENUE, f"{page.base}: not the status of a bot of this version: {fault}")
    if shown is None:
        fail(EXIT_VENUE, f"{page.base}: the bot is only starting")
    return _accounts(shown, by, shadow=shadow)


def _told_again(
    config: Path, by: list[str], state_dir: Path | None, *, shadow: bool
) -> dict[str, Any]:
    with faults_told(), printed_aside():
        import msgspec

        from bot.config.bot_config import finish
        from bot.config.strategies import Makers
        from bot.lab.replay import replayer_of
        from bot.lab.session import newest_run
        from bot.lab.shadow import shadow_reports

        draft = read(config)
        run = newest_run(state_dir or draft.state.directory)
        again = replayer_of(run, Makers(config.parent))
        for _ in again.steps():
            pass
        report = again.trader.report(again.until_ns)
        if shadow:
            whole = finish(draft)
            scores = shadow_reports(run, whole.shadows, whole.trader)
            report = msgspec.structs.replace(report, shadows=scores)
    return _accounts(report, by, shadow=shadow)


def _accounts(report: "Report | ShownReport", by: list[str], *, shadow: bool) -> dict[str, Any]:
    from bot.io.metrics.profits import plain_profit, plain_shadow

    shadows = report.shadows if shadow else ()
    return {
        "series": report.series_ticker,
        "seconds": round((report.now_ns - report.started_ns) / NS_PER_SECOND, 3),
        "pnl_cents": report.pnl_cents,
        "profit": None if report.profit is None else plain_profit(report.profit, by),
        "shadows": [plain_shadow(each, by) for each in shadows],
    }


# --- for a person ---------------------------------------------------------------------------------

_HEAD = ("", "fills", "shares", "profit", "spread", "adverse", "drift", "fees")
_HORIZONS_S = (1, 10, 60, 300)


def _account(profit: dict[str, Any]) -> str:
    """A table: dollars, and markouts against fair in cents a share with their standard error."""
    head = (*_HEAD, *(f"{horizon} s" for horizon in _HORIZONS_S))
    lines = [head, *_rows([profit["total"]])]
    for name, rows in profit["by"].items():
        lines += [(f"by {name}",), *_rows(rows)]
    widths = [max(len(line[at]) for line in lines if at < len(line)) for at in range(len(head))]
    table = "\n".join(
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    )
    return (
        f"{table}\nrealised {_dollars(profit['realised_cents'])}, settled "
        f"{_dollars(profit['settled_cents'])}, open {_dollars(profit['open_cents'])}; markouts in "
        "cents a share against fair"
    )


def _rows(rows: Iterable[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    for row in rows:
        parts = ("profit", "spread", "adverse", "drift", "fees")
        money = (_dollars(row[f"{part}_cents"]) for part in parts)
        markouts = {
            each["horizon_s"]: each for each in row["markouts"] if each["against"] == "fair"
        }
        told = (_markout(markouts.get(horizon_s)) for horizon_s in _HORIZONS_S)
        yield row["name"], str(row["fills"]), str(row["qty"]), *money, *told


def _markout(each: dict[str, Any] | None) -> str:
    if each is None:
        return "-"
    error = each["error_cents"]
    return f"{each['mean_cents']:+.2f}" + ("" if error is None else f" ±{error:.2f}")


def _dollars(cents: int) -> str:
    sign = "-" if cents < 0 else ""
    return f"{sign}${abs(cents) // 100}.{abs(cents) % 100:02d}"
