"""`bot budget`: how far the loss budgets are used, and more for one of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    exit_on_fault,
    fail,
    read_lenient,
    warn_on_interrupt,
)
from bot.cli.options import ConfigPath, Json, Reason, StateDir, StatusUrl
from bot.cli.running_bot import NO_ANSWER, find_bot, require_action
from bot.core.report import LossBudgetReport
from bot.core.settings import BudgetPeriod
from bot.io.run.terminal import loss_budget_text
from venue.wire.instant import second_of
from venue.wire.limits import NOTIONAL_CENTS_MAX
from venue.wire.money import dollars

if TYPE_CHECKING:
    from bot.config.bot_config import Draft


def budget(
    config: ConfigPath,
    raised: Annotated[
        BudgetPeriod | None,
        typer.Option("--raise", help="Give this budget more for the rest of its period."),
    ] = None,
    by_cents: Annotated[
        int,
        typer.Option(
            "--by",
            metavar="CENTS",
            min=0,
            max=NOTIONAL_CENTS_MAX,
            help="With --raise: how much more.",
        ),
    ] = 0,
    reason: Reason = "",
    page: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    """Without a running bot it shows what the journal kept. Raising needs a running one, and
    `status.control: true` in the configuration; the reason is kept with the budget.

    Ends with 0; with 2 if an option is missing, with 3 if raising finds no running bot, with 4 if
    the bot refuses.

    Example: bot budget configs/demo.yaml
    """
    with exit_on_fault(), warn_on_interrupt(NO_ANSWER):
        draft = read_lenient(config)
        if raised is None:
            if by_cents or reason:
                fail(EXIT_CONFIGURATION, "--by and --reason: only with --raise")
            _show(_budgets(draft, page, state_dir), json_line=json_line)
            return
        if not by_cents:
            fail(EXIT_CONFIGURATION, "--by: missing; accepted: cents above 0")
        more = {"period": raised.value, "cents": by_cents}
        found = require_action("raise-budget", draft, reason, page, state_dir, more)
    done = {"done": "raise-budget", "series": found.series, **more}
    text = f"the budget of the {raised} has {dollars(by_cents)} more; a latch stays until bot reset"
    typer.echo(json.dumps(done) if json_line else text)


def _budgets(draft: "Draft", page: str, state_dir: Path | None) -> Sequence[LossBudgetReport]:
    """By the running bot, else by the journal of the last run."""
    from bot.config.bot_config import in_ns
    from bot.core.risk.loss_budgets import LossBudgets
    from bot.core.settings import LossBudgetSettings
    from bot.io.journal.journal import left_in

    running = find_bot(draft, page, state_dir)
    if running is not None:
        shown, _ = running.fetch_status()
        return () if shown.report is None else shown.report.loss_budgets
    kept = left_in(state_dir or draft.state.directory).losses
    budgets = LossBudgets(LossBudgetSettings(**in_ns(draft.file.loss_budgets)))
    budgets.restore(kept, 0 if kept is None else kept.at_ns)
    return budgets.rows()


def _show(budgets: Sequence[LossBudgetReport], *, json_line: bool) -> None:
    if json_line:
        typer.echo(msgspec.json.encode(budgets).decode())
        return
    if not budgets:
        typer.echo("no loss budget has been judged yet; the section loss_budgets sets them")
    for each in budgets:
        typer.echo(loss_budget_text(each))
        for raised in each.raises:
            more = f"raised by {dollars(raised.cents)} at {second_of(raised.at_ns)}"
            typer.echo(f"  {more}: {raised.reason}")
