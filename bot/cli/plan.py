"""`bot plan`: what would be sent now, and why, by the bot that runs or by one that began now."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.asking import StatusUrl, running
from bot.cli.common import (
    EXIT_VENUE,
    FILES_OF_A_LOOK,
    ConfigPath,
    duration_ns,
    enough_files,
    fail,
    faults_told,
    keep_memory_private,
    printed_aside,
    read,
    state_dir_option,
)

if TYPE_CHECKING:
    from bot.config.bot_config import BotConfig, Draft
    from bot.core.preview import TraderPlan
    from bot.io.run.dryrun import DryPlan
    from bot.io.run.embedded import EmbeddedVenue

_EXAMPLE: Final = "Example: bot plan configs/demo.yaml --cold"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", epilog=_EXAMPLE)(plan)


def plan(
    config: ConfigPath,
    cold: Annotated[
        bool, typer.Option("--cold", help="Ask no running bot: begin a dry run.")
    ] = False,
    wait: Annotated[
        str, typer.Option(metavar="TIME", help="How long a dry run may take to settle.")
    ] = "20s",
    status: StatusUrl = "",
    state_dir: Annotated[
        Path | None, state_dir_option("Where the journal stands, instead of ./state/<name>.")
    ] = None,
    json_line: Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")] = False,
) -> None:
    """Show what would be sent now, and why: every order to make, move, cancel or leave alone.

    Asks the bot that runs. With none running the trader begins here and now: it reads and listens
    at the venue, and every write is withheld, so that nothing is changed there; the state directory
    is read and not written.

    Ends with 3 when the venue or the key stands in the way, when another bot holds the state
    directory, and when a dry run did not settle in time: what it waits for is told.
    """
    longest_ns = duration_ns("--wait", wait)
    with faults_told():
        draft = read(config)
        page = None if cold else running(draft, status, state_dir)
        if page is not None:
            _tell_running(page.get("/plan.json"), page.base, json_line=json_line)
            return
        if status:
            fail(EXIT_VENUE, f"{status}: no bot answers there; without --status a dry run begins")
        with printed_aside():
            dry = _dry(draft, state_dir or draft.state.directory, longest_ns, cold=cold)
    if json_line:
        import msgspec

        typer.echo(msgspec.json.encode(dry).decode())
    else:
        from bot.cli.plan_text import dry_text

        typer.echo(dry_text(dry))
    if not dry.settled:
        fail(EXIT_VENUE, f"not settled within {wait}: {_waits_for(dry.plan)}")


def _tell_running(body: bytes, base: str, *, json_line: bool) -> None:
    if json_line:
        typer.echo(body.decode())
        return
    import msgspec

    from bot.cli.plan_text import plan_text
    from bot.core.preview import TraderPlan

    try:
        running = msgspec.json.decode(body, type=TraderPlan)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        fail(EXIT_VENUE, f"{base}: not the plan of a bot of this version: {fault}")
    typer.echo(plan_text(running))


def _waits_for(plan: "TraderPlan") -> str:
    if plan.withheld:
        return plan.withheld
    blocked = [
        f"{rung.ticker}: {rung.blocked}"
        for event in plan.events
        for rung in event.rungs
        if rung.blocked
    ]
    return "; ".join(blocked) or "no rung can be quoted"


# --- a dry run ------------------------------------------------------------------------------------


def _dry(draft: "Draft", state: Path, longest_ns: int, *, cold: bool) -> "DryPlan":
    from bot.cli.sites import venue_for_a_moment
    from bot.config.bot_config import finish
    from bot.io.state.locks import held_by_a_bot

    if held_by_a_bot(state):
        advice = (
            "leave out --cold to ask it, or end it first"
            if cold
            else "its page does not answer where it is configured: name it with --status"
        )
        fail(EXIT_VENUE, f"{state}: a bot runs on it; {advice}")
    enough_files(FILES_OF_A_LOOK)
    keep_memory_private()
    with venue_for_a_moment(draft, "plan") as embedded:
        return _planned(finish(draft), embedded, state, longest_ns)


def _planned(
    config: "BotConfig", embedded: "EmbeddedVenue | None", state: Path, longest_ns: int
) -> "DryPlan":
    from bot.cli.sites import site_of
    from bot.core.trader import Trader
    from bot.io import loop
    from bot.io.client.feed import Feed
    from bot.io.client.preflight import obstacles
    from bot.io.client.rest import Rest
    from bot.io.clock import Clock
    from bot.io.journal.journal import left_in
    from bot.io.journal.recovery import NOTHING_LEFT
    from bot.io.logs import SecretRedactor, configure_logs
    from bot.io.run.dryrun import WishesOnly, dry_run
    from bot.io.run.watchdog import StrategyWatchdog
    from bot.io.state.kill_switch_file import KillSwitchFile

    site, _ = site_of(config, embedded)
    masker = SecretRedactor()
    for key in (site.key, *site.others.values()):
        masker.learn(key)
    configure_logs(masker)
    watch = StrategyWatchdog(config.strategy_budget_ns)
    settings = config.trader
    trader = Trader(settings, watch.wrapped(config.make_strategy), WishesOnly(settings.budget))
    latched = KillSwitchFile(state).read_latch()
    memory = NOTHING_LEFT if embedded is not None else left_in(state)

    async def planned() -> "DryPlan":
        in_flight = settings.pace.requests_in_flight
        rest = Rest(site.base_url, site.key, in_flight, others=site.others)
        try:
            for found in await obstacles(rest, settings.series_ticker):
                fail(EXIT_VENUE, f"{found.name}: {found.found}; {found.advice}")
            return await dry_run(
                trader,
                rest,
                lambda tell: Feed(site.stream_url, tell),
                memory,
                watch,
                Clock(),
                longest_ns,
                latched="" if latched is None else latched.reason,
                new_account=embedded is not None,
            )
        finally:
            await rest.drain()

    return loop.run(planned)
