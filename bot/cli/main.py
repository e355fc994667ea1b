"""The command line of the bot: `bot run`, `bot check`, `bot version`, and the other subcommands.

Exit codes: 0 ended as asked, 1 a bug, 2 the configuration or an option is wrong, 3 the venue, the
key, its scopes, the state directory or another bot on the account stand in the way, 4 stopped with
orders left or unknown. Faults go to stderr, each with what to do.
"""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bot.cli import (
    backtest,
    calibrate,
    cancel_all,
    completion,
    config,
    evaluate,
    explain,
    export,
    plan,
    pnl,
    reaper,
    record,
    replay,
    report,
    reset,
    simulate,
    statement,
    status,
    steer,
    strategies,
    sweep,
    what_if,
    worst_case,
)
from bot.cli.common import (
    EXIT_CONFIGURATION,
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
    without_faults,
)
from bot.cli.running import Options, run_all, told
from bot.cli.sites import site_of, venue_for_a_moment
from bot.cli.staying_down import nothing_left_behind
from bot.io.signals import last_command, remembered
from venue.cli.groups import CommandGroup

if TYPE_CHECKING:
    from bot.config.bot_config import Draft
    from bot.io.client.preflight import Finding
    from bot.io.run.embedded import EmbeddedVenue

app = typer.Typer(
    name="bot",
    cls=CommandGroup,
    help="A market maker for strike ladders of binary contracts.",
    epilog="Example: bot run configs/demo.yaml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command(epilog="Example: bot version --json")
def version(
    json_line: Annotated[
        bool, typer.Option("--json", help="Print it as one line of JSON on stdout.")
    ] = False,
) -> None:
    """Print the version of this program, of Python, and of the journals that it writes and reads.

    A journal is lived again by the program that wrote it: keep the version beside it.
    """
    import importlib.metadata
    import platform

    from bot.io.journal.records import READABLE, VERSION

    number, python = importlib.metadata.version("laddermaker"), platform.python_version()
    if json_line:
        told = {"bot": number, "python": python, "journal": VERSION, "journals_read": READABLE}
        typer.echo(json.dumps(told))
        return
    typer.echo(f"bot {number}")
    typer.echo(f"python {python}")
    typer.echo(f"journal {VERSION}, reads {', '.join(map(str, READABLE))}")


@app.command(epilog="Example: bot run configs/demo.yaml --for 20s --json")
def run(
    configs: Annotated[
        list[Path], typer.Argument(metavar="CONFIG...", help="One YAML file for each series.")
    ],
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
        int | None,
        typer.Option(
            min=0, max=2**63 - 1, help="Seed of the embedded venue's crowd, instead of its own."
        ),
    ] = None,
    status_port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Status page's port; 0 takes a free one.")
    ] = None,
    state_dir: Annotated[
        Path | None, state_dir_option("Where journal and lock stand, instead of ./state/<name>.")
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="Trade on paper: the venue's market, our orders on a local exchange."
        ),
    ] = False,
    queue_model: Annotated[
        Literal["pessimistic", "expected", "optimistic"] | None,
        typer.Option(help="How the queue is read on paper, instead of paper.queue_model."),
    ] = None,
) -> None:
    """Quote until told to stop (Ctrl-C), then cancel everything and say what was done.

    Several series share the account: one venue, one key, one request bucket, one page.
    SIGUSR1 pauses and SIGUSR2 resumes.

    With --paper no order reaches the venue: it is read by a key with the scope read, and state is
    kept in ./state/<name>-paper. A live bot may trade the series meanwhile.
    """
    if queue_model is not None and not paper:
        fail(EXIT_CONFIGURATION, "--queue-model: only with --paper")
    run_ns = None if for_ is None else duration_ns("--for", for_)
    options = Options(run_ns, json_line, tape, seed, status_port, state_dir, paper, queue_model)
    with remembered():
        with faults_told(), printed_aside() if json_line else nullcontext():
            from bot.config.bot_config import read_draft

            drafts = [read_draft(config) for config in configs]
            # What a paper run left rests here alone; the next one finds it.
            with nullcontext() if paper else nothing_left_behind(drafts, state_dir):
                code, summary = run_all([without_faults(draft) for draft in drafts], options)
        try:
            typer.echo(json.dumps(summary) if json_line else told(summary))
        except OSError:
            if not code:  # else that orders may be left weighs more than a lost summary
                raise
    raise typer.Exit(code)


@app.command(epilog="Example: bot check configs/paper.yaml")
def check(
    config: ConfigPath,
    json_line: Annotated[
        bool, typer.Option("--json", help="Print what was found as one line of JSON.")
    ] = False,
    state_dir: Annotated[
        Path | None, state_dir_option("Where journal and latch stand, instead of ./state/<name>.")
    ] = None,
) -> None:
    """Check the configuration and try the venue, the key and its scopes; change nothing.

    Says too whether the bot is latched, and what a start that was refused left resting.
    """
    with faults_told(), printed_aside():
        draft = read(config)
        enough_files(FILES_OF_A_LOOK)
        keep_memory_private()
        with venue_for_a_moment(draft, "check") as embedded:
            findings = _probe(draft, embedded)
        findings += _kept_down(state_dir or draft.state.directory)
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
    status,
    plan,
    explain,
    record,
    replay,
    report,
    export,
    steer,
    cancel_all,
    reset,
    reaper,
    worst_case,
    pnl,
    statement,
    strategies,
    simulate,
    evaluate,
    what_if,
    backtest,
    sweep,
    calibrate,
    completion,
    config,
):
    _command.register(app)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    with last_command():
        app()


# --- check ----------------------------------------------------------------------------------------


def _kept_down(folder: Path) -> "list[Finding]":
    """The latch of a state directory, and what the newest refused start left resting."""
    from bot.cli.staying_down import CANCEL_ADVICE
    from bot.io.client.preflight import Finding
    from bot.io.state import kill_switch_file as crashes
    from bot.io.state.kill_switch_file import KillSwitchFile
    from bot.io.state.small_files import read_remains

    found = []
    latch, remains = KillSwitchFile(folder).read_latch(), read_remains(folder)
    if latch is not None:
        since = f"latched since {latch.at or 'unknown'} by {latch.by}: {latch.reason}"
        found.append(Finding("latch", False, since, "bot reset CONFIG lets the bot quote again"))
    if remains is not None:
        advice = "" if remains.verified else CANCEL_ADVICE
        found.append(Finding("what rests", remains.verified, remains.text, advice))
    elif latch is not None and latch.by == crashes.BY:
        text = "no list has shown what rests since the last crash"
        found.append(Finding("what rests", False, text, CANCEL_ADVICE))
    return found


def _probe(draft: "Draft", embedded: "EmbeddedVenue | None") -> "list[Finding]":
    from bot.cli.sidecars import refuse_missing
    from bot.config.bot_config import finish
    from bot.io import loop
    from bot.io.client.preflight import Finding, probe
    from bot.io.client.rest import Rest

    config = finish(draft)
    refuse_missing(config)
    site, _ = site_of(config, embedded)

    async def tried() -> list[Finding]:
        in_flight = config.trader.pace.requests_in_flight
        rest = Rest(site.base_url, site.key, in_flight, others=site.others)
        try:
            return await probe(rest, site.stream_url, config.trader.series_ticker)
        finally:
            await rest.drain()

    found = loop.run(tried)
    return [Finding("configuration", True, f"{draft.source.path}: {config.name}"), *found]
