"""The command line of the bot: `bot run`, `bot check` and `bot version`.

Exit codes: 0 ended as asked, 1 a bug, 2 the configuration or an option is wrong, 3 the venue, the
key, its scopes or the state directory stand in the way, 4 stopped with orders left or unknown.
Faults go to stderr, each with what to do.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

if TYPE_CHECKING:
    from bot.config import BotConfig, Draft
    from bot.io.embedded import EmbeddedVenue
    from bot.io.probe import Finding
    from bot.io.runner import Ended
    from bot.io.session import Site

EXIT_CONFIGURATION: Final = 2
EXIT_VENUE: Final = 3

_DURATION: Final = re.compile(r"([0-9]{1,9})(ms|s|m|h)", re.ASCII)
_UNITS_NS: Final = {
    "ms": NS_PER_MS,
    "s": NS_PER_SECOND,
    "m": 60 * NS_PER_SECOND,
    "h": 3600 * NS_PER_SECOND,
}

app = typer.Typer(
    name="bot",
    help="A market maker for strike ladders of binary contracts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="One series' YAML file.")]


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
    run_ns = None if for_ is None else _duration_ns(for_)
    with _faults_told():
        draft = _read(config)
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
    with _faults_told():
        draft = _read(config)
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


def main() -> None:
    """Run the command line and end the process with its exit code."""
    app()


# --- faults ---------------------------------------------------------------------------------------


@contextmanager
def _faults_told() -> Iterator[None]:
    """Turn what a person can mend into a text on stderr and an exit code."""
    from bot.config import ConfigFault
    from bot.io.faults import ShellFault

    try:
        yield
    except ConfigFault as fault:
        _fail(EXIT_CONFIGURATION, str(fault))
    except ShellFault as fault:
        _fail(EXIT_VENUE, str(fault))


def _fail(code: int, message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def _duration_ns(text: str) -> int:
    found = _DURATION.fullmatch(text)
    if found is None or int(found[1]) == 0:
        _fail(EXIT_CONFIGURATION, f"--for {text}: a number and ms, s, m or h, such as 60s")
    return int(found[1]) * _UNITS_NS[found[2]]


# --- run ------------------------------------------------------------------------------------------


def _read(config: Path) -> "Draft":
    """The draft of a configuration; with faults, all of them are told, the strategy's too."""
    from bot.config import finish, read_draft

    draft = read_draft(config)
    if draft.faults:
        finish(draft)
    return draft


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
    import resource

    import anyio
    import msgspec

    from bot.core.trader import Trader
    from bot.io.session import Plan, run_plan
    from bot.io.status import address, listen

    # A dump of our memory would hold the key.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    site, series = _site(config, embedded)
    settings = config.trader
    if first_series and series:
        # A tape brings its own series; the configuration cannot know its name.
        settings = msgspec.structs.replace(settings, series_ticker=series[0])
    page = listen(config.status.host, status_port)
    typer.echo(f"status page: {address(page)}", err=json_line)
    plan = Plan(
        trader=Trader(settings, config.make_strategy),
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
    return anyio.run(run_plan, plan, clock, backend_options={"use_uvloop": True})


def _site(config: "BotConfig", embedded: "EmbeddedVenue | None") -> "tuple[Site, tuple[str, ...]]":
    """Where the venue is and the key to it; waits for an embedded one. The series it named."""
    from bot.config import ExternalSettings
    from bot.io import secret
    from bot.io.embedded import KEY_NAME
    from bot.io.session import Site

    settings = config.venue
    if isinstance(settings, ExternalSettings):
        if settings.key_file is not None:
            key = secret.from_file(settings.key_file, settings.key_name)
            if secret.is_open_to_others(settings.key_file):
                typer.echo(f"warning: {settings.key_file} is readable to others", err=True)
        else:
            assert settings.key_env is not None
            key = secret.from_environment(settings.key_env)
        return Site(settings.base_url, settings.stream_url, key, None), ()
    assert embedded is not None
    ready = embedded.ready()
    key = secret.from_file(Path(ready.keys_file), KEY_NAME)
    return Site(ready.base_url, ready.stream_url, key, embedded), ready.series


def _told(summary: dict[str, object]) -> str:
    """The summary for a person: one line each, empty things left out."""
    return "\n".join(
        f"{name}: {value}" for name, value in summary.items() if value not in (None, [], {})
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
        rest = Rest(site.base_url, site.key, config.trader.pace.requests_in_flight)
        try:
            return await probe(rest, site.stream_url, config.trader.series_ticker)
        finally:
            await rest.drain()

    found = anyio.run(tried, backend_options={"use_uvloop": True})
    return [Finding("configuration", True, f"{draft.source.path}: {config.name}"), *found]
