"""`bot check`: try what a start needs, and change nothing."""

import json
import time
from pathlib import Path

import msgspec
import typer

from bot.cli.common import (
    EXIT_VENUE,
    FILES_OF_A_LOOK,
    exit_on_fault,
    keep_memory_private,
    read_config,
    require_open_files,
    stdout_to_stderr,
)
from bot.cli.options import ConfigPath, Json, StateDir
from bot.cli.refused_start import CANCEL_ADVICE
from bot.cli.sidecars import require_secrets
from bot.cli.site import site_of, temporary_venue
from bot.config.bot_config import Draft, finish
from bot.io import loop
from bot.io.adapter import connect
from bot.io.client.preflight import Finding, probe
from bot.io.run.embedded import EmbeddedVenue
from bot.io.state.kill_switch_file import BY as CRASH_LOOP
from bot.io.state.kill_switch_file import KillSwitchFile
from bot.io.state.small_files import read_remains


def check(config: ConfigPath, json_line: Json = False, state_dir: StateDir = None) -> None:
    """Nothing is changed. It also says whether the bot is latched, which orders a refused start
    left resting, the next date of each event and how many rungs each variant of the strategy
    covers; it warns of dates and variants of what is not listed.

    Ends with 3 when something is not well.

    Example: bot check configs/paper.yaml
    """
    with exit_on_fault(), stdout_to_stderr():
        draft = read_config(config)
        require_open_files(FILES_OF_A_LOOK)
        keep_memory_private()
        with temporary_venue(draft, "check") as embedded:
            findings = _probe(draft, embedded)
        findings += _latch(state_dir or draft.state.directory)
    well = all(finding.well for finding in findings)
    if json_line:
        rows = [msgspec.structs.asdict(each) for each in findings]
        typer.echo(json.dumps({"well": well, "findings": rows}))
    else:
        for finding in findings:
            advice = f"; {finding.advice}" if finding.advice else ""
            sign = "FAIL" if not finding.well else "warn" if finding.is_warning else "ok  "
            typer.echo(f"{sign} {finding.name}: {finding.found}{advice}", err=not finding.well)
    raise typer.Exit(0 if well else EXIT_VENUE)


def _probe(draft: Draft, embedded: EmbeddedVenue | None) -> list[Finding]:
    config = finish(draft)
    require_secrets(config)
    site, _ = site_of(config, embedded)

    async def probed() -> list[Finding]:
        in_flight = config.trader.pace.requests_in_flight
        connection = connect(site.adapter, site.address, in_flight)
        try:
            series, calendar = config.trader.series_ticker, config.trader.calendar
            variants = [each.variant for each in config.choice.variants]
            now_ns = time.time_ns()
            return await probe(connection, site.address, series, calendar, variants, now_ns)
        finally:
            await connection.requests.drain()

    return [
        Finding("configuration", True, f"{draft.source.path}: {config.name}"),
        *loop.run(probed),
    ]


def _latch(folder: Path) -> list[Finding]:
    found = []
    latch, remains = KillSwitchFile(folder).read_latch(), read_remains(folder)
    if latch is not None:
        since = f"latched since {latch.at or 'unknown'} by {latch.by}: {latch.reason}"
        found.append(Finding("latch", False, since, "bot reset CONFIG lets the bot quote again"))
    if remains is not None:
        advice = "" if remains.verified else CANCEL_ADVICE
        found.append(Finding("what rests", remains.verified, remains.text, advice))
    elif latch is not None and latch.by == CRASH_LOOP:
        text = "no list since the last crash has shown what rests"
        found.append(Finding("what rests", False, text, CANCEL_ADVICE))
    return found
