"""The command line of the bot: `bot run`, `bot check`, `bot version`, and those of bot/commands.

Exit codes: 0 ended as asked, 1 a bug, 2 the configuration or an option is wrong, 3 the venue, the
key, its scopes, the state directory or another bot on the account stand in the way, 4 stopped with
orders left or unknown. Faults go to stderr, each with what to do.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.commands import (
    calibrate,
    cancel_all,
    evaluate,
    pnl,
    reaper,
    reset,
    simulate,
    strategies,
    worst_case,
)
from bot.commands.common import (
    EXIT_VENUE,
    ConfigPath,
    duration_ns,
    faults_told,
    keep_memory_private,
    key_of,
    read,
)

if TYPE_CHECKING:
    from bot.config import BotConfig, Draft
    from bot.io.embedded import EmbeddedVenue
    from bot.io.probe import Finding
    from bot.io.runner import Ended
    from bot.io.session import Site

app = typer.Typer(
    name="bot",
    help="A market maker for strike ladders of binary contracts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def version() -> None:
    """Print the version."""
    import importlib.metadata

    typer.echo(f"bot {importlib.metadata.version('laddermaker')}")


@app.command(epilog="Example: bot run configs/demo.yaml --for 60s --json")
def run(
    config: ConfigPath,
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Stop after 500ms, 60s, 5m or 1h.")
    ] = None,
    json_line: Annotated[
        bool, typer.Option("--json", help="End with the summary as one line of JSON on stdout.")
    ] = False,
    tape: Annotated[
        Path | None, typer.Option(help="Let the embedded venue follow the tape in this folder.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the embedded venue's crowd, instead of its own.")
    ] = None,
    status_port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Status page's port; 0 takes a free one.")
    ] = None,
    state_dir: Annotated[
        Path | None, typer.Option(help="Where journal and lock stand, instead of ./state/<name>.")
    ] = None,
) -> None:
    """Quote until told to stop (Ctrl-C), then cancel everything and say what was done.

    SIGUSR1 pauses and SIGUSR2 resumes.
    """
    run_ns = None if for_ is None else duration_ns("--for", for_)
    with faults_told():
        draft = read(config)
        ended, summary = _run(draft, run_ns, json_line, tape, seed, status_port, state_dir)
    typer.echo(json.dumps(summary) if json_line else _told(summary))
    raise typer.Exit(int(ended.exit_code))


@app.command(epilog="Example: bot check configs/paper.yaml")
def check(
    config: ConfigPath,
    json_line: Annotated[
        bool, typer.Option("--json", help="Print what was found as one line of JSON.")
    ] = False,
) -> None:
    """Check the configuration and try the venue, the key and its scopes; change nothing."""
    with faults_told():
        draft = read(config)
        with tempfile.TemporaryDirectory(prefix="bot-check-") as folder:
            embedded = _start_venue(draft, Path(folder), None, None)
            try:
                findings = _probe(draft, embedded)
            finally:
                if embedded is not None:
                    embedded.stop()
    well = all(finding.well for finding in findings)
    if json_line:
        rows = [
            {"name": f.name, "well": f.well, "found": f.found, "advice": f.advice} for f in findings
        ]
        typer.echo(json.dumps({"well": well, "findings": rows}))
    else:
        for finding in findings:
            advice = f"; {finding.advice}" if finding.advice else ""
            sign = "ok  " if finding.well else "FAIL"
            typer.echo(f"{sign} {finding.name}: {finding.found}{advice}", err=not finding.well)
    raise typer.Exit(0 if well else EXIT_VENUE)


for _command in (
    calibrate,
    cancel_all,
    evaluate,
    pnl,
    reaper,
    reset,
    simulate,
    strategies,
    worst_case,
):
    _command.register(app)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    app()


# --- run ------------------------------------------------------------------------------------------


def _start_venue(
    draft: "Draft", state: Path, seed: int | None, tape: Path | None
) -> "EmbeddedVenue | None":
    """Start the embedded venue, if that is what is wanted, and do not wait for it."""
    from bot.config import ConfigFault, EmbeddedSettings
    from bot.io.embedded import EmbeddedVenue

    settings = draft.venue
    if isinstance(settings, EmbeddedSettings):
        return EmbeddedVenue.start(settings.config, state, seed, tape)
    if seed is not None or tape is not None:
        raise ConfigFault(["--seed and --tape are for the embedded venue; this one is external"])
    return None


def _run(
    draft: "Draft",
    run_ns: int | None,
    json_line: bool,
    tape: Path | None,
    seed: int | None,
    status_port: int | None,
    state_dir: Path | None,
) -> "tuple[Ended, dict[str, object]]":
    from bot.io.clock import Clock
    from bot.io.statedir import StateDirectory

    clock = Clock()
    state = StateDirectory.open(state_dir or draft.state.directory)
    try:
        embedded = _start_venue(draft, state.path, seed, tape)
        try:
            # The strategy, the trader and the libraries load while the venue opens.
            from bot.config import finish
            from bot.io.summary import summary_of

            config = finish(draft)
            ended = _trade(
                config,
                clock,
                state.path,
                embedded,
                run_ns=run_ns,
                json_line=json_line,
                first_series=tape is not None,
                status_port=config.status.port if status_port is None else status_port,
            )
        finally:
            if embedded is not None:
                embedded.stop()
    finally:
        state.close()
    return ended, summary_of(ended, clock.process_start_ns())


def _trade(
    config: "BotConfig",
    clock: Any,
    state: Path,
    embedded: "EmbeddedVenue | None",
    *,
    run_ns: int | None,
    json_line: bool,
    first_series: bool,
    status_port: int,
) -> "Ended":
    import anyio
    import msgspec

    from bot.core.trader import Trader
    from bot.io.session import Plan, run_plan
    from bot.io.status import address, listen
    from bot.io.watched import Watch

    keep_memory_private()
    site, series = _site(config, embedded)
    settings = config.trader
    if first_series and series:
        # A tape brings its own series; the configuration cannot know its name.
        settings = msgspec.structs.replace(settings, series_ticker=series[0])
    watch = Watch(config.strategy_budget_ns)
    shadows = tuple(
        msgspec.structs.replace(each, make_strategy=watch.wrapped(each.make_strategy, tells=False))
        for each in config.shadows
    )
    page = listen(config.status.host, status_port)
    typer.echo(f"status page: {address(page)}", err=json_line)
    plan = Plan(
        trader=Trader(settings, watch.wrapped(config.make_strategy), candidates=shadows),
        watch=watch,
        requests_in_flight=settings.pace.requests_in_flight,
        site=site,
        state=state,
        segment_bytes=config.state.segment_bytes,
        segments_kept=config.state.segments_kept,
        page=page,
        allowed_hosts=config.status.allowed_hosts,
        live_table=sys.stdout.isatty() and not json_line,
        run_ns=run_ns,
    )
    with _account_held(site, state):
        return anyio.run(run_plan, plan, clock, backend_options={"use_uvloop": True})


@contextmanager
def _account_held(site: "Site", state: Path) -> Iterator[None]:
    """Keep other bots of this host off the account; an embedded venue's is new and nobody else's.

    Raises AccountFault when another bot holds it.
    """
    if site.embedded is not None:
        yield
        return
    from bot.io.accountlock import AccountLock

    lock = AccountLock.take(site.base_url, site.key, state)
    try:
        yield
    finally:
        lock.close()


def _site(config: "BotConfig", embedded: "EmbeddedVenue | None") -> "tuple[Site, tuple[str, ...]]":
    """Where the venue is and the key to it; waits for an embedded one. The series it named."""
    from bot.config import ExternalSettings
    from bot.core.messages import Key
    from bot.io import secret
    from bot.io.embedded import KEY_NAME
    from bot.io.session import Site

    settings = config.venue
    if isinstance(settings, ExternalSettings):
        others = {
            name: key_of(place)
            for name, place in ((Key.READ, settings.read_key), (Key.STANDBY, settings.standby_key))
            if place is not None
        }
        return Site(settings.base_url, settings.stream_url, key_of(settings), None, others), ()
    assert embedded is not None
    ready = embedded.ready()
    key = secret.from_file(Path(ready.keys_file), KEY_NAME)
    return Site(ready.base_url, ready.stream_url, key, embedded), ready.series


def _told(summary: dict[str, object]) -> str:
    """The summary for a person: one line each, empty things and what `bot pnl` tells left out."""
    return "\n".join(
        f"{name}: {value}"
        for name, value in summary.items()
        if value not in (None, [], {}) and name not in ("profit", "shadows")
    )


# --- check ----------------------------------------------------------------------------------------


def _probe(draft: "Draft", embedded: "EmbeddedVenue | None") -> "list[Finding]":
    import anyio

    from bot.config import finish
    from bot.io.probe import Finding, probe
    from bot.io.rest import Rest

    config = finish(draft)
    site, _ = _site(config, embedded)

    async def tried() -> list[Finding]:
        in_flight = config.trader.pace.requests_in_flight
        rest = Rest(site.base_url, site.key, in_flight, others=site.others)
        try:
            return await probe(rest, site.stream_url, config.trader.series_ticker)
        finally:
            await rest.drain()

    found = anyio.run(tried, backend_options={"use_uvloop": True})
    return [Finding("configuration", True, f"{draft.source.path}: {config.name}"), *found]
