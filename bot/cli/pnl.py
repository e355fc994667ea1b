"""`bot pnl`: the attribution of a run's profit, from its journal."""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer

from bot.cli.common import EXIT_VENUE, exit_on_fault, fail, read_config, stdout_to_stderr
from bot.cli.options import ConfigPath, Json, StateDir, StatusUrl
from bot.cli.progress import announce
from bot.cli.running_bot import require_bot
from bot.config.bot_config import Draft, finish
from bot.config.strategies import Makers
from bot.core.report import Report
from bot.io.metrics.profits import markout_text, plain_profit, plain_shadow
from bot.lab.progress import replay_s
from bot.lab.replay import replayer_of
from bot.lab.session import newest_run
from bot.lab.shadow import shadow_reports
from bot.page.text import text_table
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import dollars


class By(StrEnum):
    RUNG = "rung"
    SIDE = "side"
    LEVEL = "level"
    STRATEGY = "strategy"
    REASON = "reason"
    LEAN = "lean"
    FLOW = "flow"


def pnl(
    config: ConfigPath,
    by: Annotated[list[By] | None, typer.Option(help="Dimension; may be repeated.")] = None,
    shadow: Annotated[
        bool, typer.Option("--shadow", help="Also run the configuration's candidates.")
    ] = False,
    state_dir: StateDir = None,
    running: Annotated[
        bool, typer.Option("--running", help="Ask the running bot's status page instead.")
    ] = False,
    status: StatusUrl = "",
    json_line: Json = False,
) -> None:
    """Replays the newest run of the state directory, finished or not; the journal is only read.
    With --shadow the candidates run on it too, even if they did not then. Once the journal no
    longer holds the beginning of a run, only --running can ask for it.

    Ends with 3 if there is no journal, if another program wrote it, or if no bot answers.

    Example: bot pnl configs/demo.yaml --by rung
    """
    names = [each.value for each in by or (By.SIDE, By.LEAN)]
    with exit_on_fault():
        draft = read_config(config)
        if running or status:
            report = _ask_bot(draft, status)
        else:
            with stdout_to_stderr():
                run = newest_run(state_dir or draft.state.directory)
                announce(replay_s(run.paths), "--running, if the bot runs")
                again = replayer_of(run, Makers(config.parent))
                for _ in again.steps():
                    pass
                report = again.trader.report(again.until_ns)
                if shadow:
                    whole = finish(draft)
                    scores = shadow_reports(run, whole.shadows, whole.trader)
                    report = msgspec.structs.replace(report, shadows=scores)
    shadows = [plain_shadow(each, names) for each in (report.shadows if shadow else ())]
    profit = None if report.profit is None else plain_profit(report.profit, names)
    if json_line:
        answer = {
            "series": report.series_ticker,
            "seconds": round((report.now_ns - report.started_ns) / NS_PER_SECOND, 3),
            "pnl_cents": report.pnl_cents,
            "profit": profit,
            "shadows": shadows,
        }
        typer.echo(json.dumps(answer))
        return
    if profit is None:
        typer.echo("the run ended before it had read its account: nothing to attribute")
        return
    typer.echo(profit_text(profit))
    for each in shadows:
        stopped = f", stopped: {each['stopped']}" if each["stopped"] else ""
        typer.echo(
            f"\n{each['name']} ({each['strategy']}), queue {each['bound']}: {each['decisions']} "
            f"decisions, {each['same']} the same as the live one's{stopped}"
        )
        typer.echo(profit_text(each["profit"]))


def _ask_bot(draft: Draft, status: str) -> Report:
    page = require_bot(draft, status)
    report = page.fetch_status()[0].report
    if report is None:
        fail(EXIT_VENUE, f"{page.base}: the bot is only starting")
    return report


# --- text -----------------------------------------------------------------------------------------

_PARTS = ("profit", "spread", "adverse", "drift", "fees")
_HORIZONS_S = (1, 10, 60, 300)


def profit_text(profit: Any) -> str:
    """A table: dollars, and markouts against fair in cents a share, with half the 95 % interval."""
    rows = [
        ("", "fills", "shares", *_PARTS, *(f"{horizon} s" for horizon in _HORIZONS_S)),
        *_rows([profit["total"]]),
    ]
    for name, by in profit["by"].items():
        rows += [(f"by {name}",), *_rows(by)]
    return (
        f"{text_table(rows)}\nrealised {dollars(profit['realised_cents'])}, settled "
        f"{dollars(profit['settled_cents'])}, open {dollars(profit['open_cents'])}; markouts in "
        "cents a share against fair, with half their 95 % interval"
    )


def _rows(rows: Iterable[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    for row in rows:
        money = (dollars(row[f"{part}_cents"]) for part in _PARTS)
        found = {each["horizon_s"]: each for each in row["markouts"] if each["against"] == "fair"}
        markouts = (_markout(found.get(horizon_s)) for horizon_s in _HORIZONS_S)
        yield row["name"], str(row["fills"]), str(row["qty"]), *money, *markouts


def _markout(each: dict[str, Any] | None) -> str:
    return "-" if each is None else markout_text(each["mean_cents"], each["error_cents"])
