"""`bot plan`: what would be sent now, and why, by the running bot or by one that starts now."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bot.cli.common import (
    EXIT_VENUE,
    FILES_OF_A_LOOK,
    exit_on_fault,
    fail,
    keep_memory_private,
    log_without,
    read_config,
    require_open_files,
    stdout_to_stderr,
)
from bot.cli.options import ConfigPath, Json, StateDir, StatusUrl, duration_ns
from bot.cli.plan_text import dry_text, plan_text
from bot.cli.running_bot import find_bot
from bot.cli.site import site_of, temporary_venue
from bot.config.bot_config import BotConfig, Draft, finish
from bot.core.preview import TraderPlan
from bot.core.trader import Trader
from bot.io import loop
from bot.io.adapter import connect
from bot.io.client.preflight import obstacles
from bot.io.clock import Clock
from bot.io.journal.journal import left_in
from bot.io.journal.recovery import NOTHING_LEFT
from bot.io.run.dryrun import DryPlan, WishesOnly, dry_run
from bot.io.run.embedded import EmbeddedVenue
from bot.io.run.watchdog import StrategyWatchdog
from bot.io.state.kill_switch_file import KillSwitchFile
from bot.io.state.locks import held_by_a_bot


def plan(
    config: ConfigPath,
    cold: Annotated[
        bool, typer.Option("--cold", help="Ask no running bot: start a dry run.")
    ] = False,
    wait: Annotated[
        str, typer.Option(metavar="TIME", help="How long a dry run may take to settle.")
    ] = "20s",
    status: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    """Lists every order to create, amend, cancel or keep, as the running bot would. If none runs, a
    dry run starts here: it reads the venue and sends no write; the state directory is only read.

    Ends with 3 if the venue or the key is the obstacle, if another bot holds the state directory,
    and if a dry run did not settle in time: the reason is printed.

    Example: bot plan configs/demo.yaml --cold
    """
    longest_ns = duration_ns("--wait", wait)
    with exit_on_fault():
        draft = read_config(config)
        page = None if cold else find_bot(draft, status, state_dir)
        if page is not None:
            _print_plan(page.fetch_path("/plan.json"), page.base, json_line=json_line)
            return
        if status:
            fail(EXIT_VENUE, f"{status}: no bot answers there; without --status a dry run starts")
        state = state_dir or draft.state.directory
        if held_by_a_bot(state):
            advice = (
                "leave out --cold to ask it, or end it first"
                if cold
                else "its page does not answer where it is configured: name it with --status"
            )
            fail(EXIT_VENUE, f"{state}: a bot runs on it; {advice}")
        with stdout_to_stderr():
            dry = _dry_run(draft, state, longest_ns)
    typer.echo(msgspec.json.encode(dry).decode() if json_line else dry_text(dry))
    if not dry.settled:
        fail(EXIT_VENUE, f"not settled within {wait}: {_obstacle(dry.plan)}")


def _print_plan(body: bytes, base: str, *, json_line: bool) -> None:
    if json_line:
        typer.echo(body.decode())
        return
    try:
        found = msgspec.json.decode(body, type=TraderPlan)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        fail(EXIT_VENUE, f"{base}: not the plan of a bot of this version: {fault}")
    typer.echo(plan_text(found))


def _obstacle(plan: TraderPlan) -> str:
    if plan.withheld:
        return plan.withheld
    blocked = [
        f"{rung.ticker}: {rung.blocked}"
        for event in plan.events
        for rung in event.rungs
        if rung.blocked
    ]
    return "; ".join(blocked) or "no rung can be quoted"


def _dry_run(draft: Draft, state: Path, longest_ns: int) -> DryPlan:
    require_open_files(FILES_OF_A_LOOK)
    keep_memory_private()
    with temporary_venue(draft, "plan") as embedded:
        return _dry_run_at(finish(draft), embedded, state, longest_ns)


def _dry_run_at(
    config: BotConfig, embedded: EmbeddedVenue | None, state: Path, longest_ns: int
) -> DryPlan:
    site, _ = site_of(config, embedded)
    log_without(*site.address.secrets)
    watch = StrategyWatchdog(config.strategy_budget_ns)
    settings = config.trader
    trader = Trader(settings, watch.wrapped(config.make_strategy), WishesOnly(settings.budget))
    latch = KillSwitchFile(state).read_latch()
    memory = NOTHING_LEFT if embedded is not None else left_in(state)

    async def planned() -> DryPlan:
        in_flight = settings.pace.requests_in_flight
        connection = connect(site.adapter, site.address, in_flight)
        try:
            for found in await obstacles(connection, site.address, settings.series_ticker):
                fail(EXIT_VENUE, f"{found.name}: {found.found}; {found.advice}")
            return await dry_run(
                trader,
                connection,
                memory,
                watch,
                Clock(),
                longest_ns,
                latched="" if latch is None else latch.reason,
                new_account=embedded is not None,
            )
        finally:
            await connection.requests.drain()

    return loop.run(planned)
