"""`bot exit`: preview the exit of one event, ask, and let the running bot carry it out."""

import time
from typing import Annotated, NoReturn

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    confirm,
    exit_on_fault,
    fail,
    read_lenient,
    warn_on_interrupt,
)
from bot.cli.options import ConfigPath, Json, Reason, StateDir, StatusUrl, duration_ns
from bot.cli.running_bot import NO_ANSWER, StatusPage, require_action, require_bot
from bot.core.report import EventReport, ExitPreview, ExitReport, Report
from bot.io.status.control import ExitTerms
from bot.page.text import text_table
from venue.wire.instant import NS_PER_MS
from venue.wire.money import Cents, dollars
from venue.wire.names import fold_ticker

_LOOK_AGAIN_S = 0.5


def exit_event(
    config: ConfigPath,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="Ticker of the event.")],
    within: Annotated[str, typer.Option(metavar="TIME", help="Time it may take: 1s to 24h.")],
    max_cost: Annotated[
        int, typer.Option(metavar="CENTS", help="Most it may cost below fair value, with fees.")
    ],
    preview: Annotated[
        bool, typer.Option("--preview", help="Print what to expect, and do nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the end and print the outcome.")
    ] = False,
    reason: Reason = "asked for at the command line",
    status: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    r"""The bot sells or buys back the inventory of the event: at its own prices first, then by
    crossing, never beyond the cost. Then it quotes nothing there until `bot resume --event`. Needs
    `status.control: true` in the configuration, but for --preview.

    Ends with 0 once the bot has accepted, or with --wait once nothing is left; with 3 if none
    answers or its token cannot be read; with 4 if it refuses, and with --wait if shares are left.

    Example: bot exit configs/paper.yaml AURELIA-VAL-26Q4 \
        --within 10m --max-cost 500 --preview
    """
    ticker, within_ms = fold_ticker(event), duration_ns("--within", within) // NS_PER_MS
    try:
        terms = ExitTerms.checked(within_ms, max_cost)
    except ValueError as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    with exit_on_fault():
        draft = read_lenient(config)
        page = require_bot(draft, status, state_dir)
        report, found = _event_of(page, ticker)
        expected = _previewed(report, found, terms)
        head = f"{ticker}: exit within {within} at a cost of {dollars(max_cost)} at most"
        done: dict[str, object] = {"series": page.series, "event": ticker, "preview": expected}
        if preview or not json_line:
            _say(done, f"{head}\n{preview_text(expected)}", json_line=json_line)
        elif not yes:
            typer.echo(f"{head}\n{preview_text(expected)}", err=True)
        if preview:
            return
        if not yes:
            confirm(
                "Exit the event?",
                "give --yes once you have seen the preview",
                "nothing was asked of the bot",
                on_stderr=json_line,
            )
        with warn_on_interrupt(NO_ANSWER):
            asked = {"event": ticker, **msgspec.structs.asdict(terms)}
            require_action("exit", draft, reason, status, state_dir, asked)
        accepted = {"done": "exit", **done}
        if not wait:
            _say(accepted, f"{ticker}: the exit runs; bot status shows it", json_line=json_line)
            return
        with warn_on_interrupt("the exit goes on; bot status shows it"):
            ended = _await_end(page, ticker, report.now_ns)
    _say(accepted | {"exit": ended}, outcome_text(ticker, ended, expected), json_line=json_line)
    if ended.left_qty:
        raise typer.Exit(EXIT_LEFT_OVER)


def _say(answer: dict[str, object], text: str, *, json_line: bool) -> None:
    typer.echo(msgspec.json.encode(answer).decode() if json_line else text)


def _event_of(page: StatusPage, ticker: str) -> tuple[Report, EventReport]:
    body, _ = page.fetch_status()
    if body.report is None:
        fail(EXIT_VENUE, f"{page.base}: the bot starts, and knows no books yet")
    for each in body.report.events:
        if each.event_ticker == ticker:
            return body.report, each
    _unknown(body.report, ticker)


def _unknown(report: Report, ticker: str) -> NoReturn:
    known = ", ".join(each.event_ticker for each in report.events) or "none"
    fail(EXIT_CONFIGURATION, f"no event {ticker} in {report.series_ticker}; there is {known}")


def _previewed(report: Report, event: EventReport, terms: ExitTerms) -> ExitPreview:
    # With the arithmetic of the trader, which no help text needs.
    from bot.core.quoting.exit import preview, rungs_of

    within_ns, most_cents = terms.within_ms * NS_PER_MS, Cents(terms.max_cost_cents)
    return preview(rungs_of(event), most_cents, within_ns, report.ticks_through)


def _await_end(page: StatusPage, ticker: str, since_ns: int) -> ExitReport:
    """The exit that began since then, once it has ended and nothing of it is live."""
    began = False
    while True:
        _, event = _event_of(page, ticker)
        found = event.exit
        if found is not None and found.began_ns >= since_ns:
            began = True
            if found.over and not any(rung.orders for rung in event.rungs):
                return found
        elif began:
            fail(EXIT_LEFT_OVER, f"{ticker}: another command ended the exit; see the bot's log")
        time.sleep(_LOOK_AGAIN_S)


# --- for a person ---------------------------------------------------------------------------------


def preview_text(expected: ExitPreview) -> str:
    """The table of what an exit can expect."""
    rows: list[tuple[object, ...]] = [
        ("rung", "held", "fair", "touch", "depth", "resting", "cost", "crossing", "cost", "left")
    ]
    rows += [
        (
            each.ticker,
            f"{each.net_qty:+d}",
            "-" if each.fair_cents is None else f"{each.fair_cents:.1f}",
            "-" if each.touch is None else each.touch,
            each.depth_qty,
            each.resting_qty,
            dollars(round(each.resting_cost_cents)),
            each.crossing_qty,
            dollars(round(each.crossing_cost_cents)),
            each.left_qty,
        )
        for each in expected.rungs
    ]
    return (
        f"{text_table(rows)}\nexpected: cost {dollars(round(expected.cost_cents))}, "
        f"{expected.left_qty} of {expected.start_qty} shares left; crossing at once: "
        f"{expected.now_qty} shares, {dollars(round(expected.now_cost_cents))}"
    )


def outcome_text(ticker: str, ended: ExitReport, expected: ExitPreview) -> str:
    """The outcome of an exit, and the expectation, as a table."""
    rows = [
        ("", "exited", "left", "cost"),
        ("outcome", ended.exited_qty, ended.left_qty, dollars(ended.cost_cents)),
        (
            "expected",
            expected.start_qty - expected.left_qty,
            expected.left_qty,
            dollars(round(expected.cost_cents)),
        ),
    ]
    return f"{ticker}: exit is over ({ended.over})\n{text_table(rows)}"
