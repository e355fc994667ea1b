"""`bot record`: record a series into a journal; nothing is written at the venue."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bot.cli.common import (
    FILES_OF_A_RUN,
    exit_on_fault,
    keep_memory_private,
    log_without,
    read_config,
    require_open_files,
    stdout_to_stderr,
)
from bot.cli.options import ConfigPath, Json, RunFor, StateDir, VenueSeed, VenueTape, duration_ns
from bot.cli.site import site_of, start_venue
from bot.io.signals import remembered

if TYPE_CHECKING:
    from bot.config.bot_config import BotConfig
    from bot.io.run.recording import Recorded
    from bot.io.run.session import Site

# The rest is imported within: signals must be deferred before anything heavy loads.


def record(
    config: ConfigPath,
    for_: RunFor = None,
    json_line: Json = False,
    tape: VenueTape = None,
    seed: VenueSeed = None,
    state_dir: StateDir = None,
) -> None:
    """Records the streamed feed, and what the key may read of the account, until stopped, into
    ./state/<name>-record. No order is created, amended or cancelled. `bot replay`, `bot export` and
    `bot backtest` read the journal. A bot may trade the series meanwhile.

    Ends with 3 if the venue, the key, the state directory or the disk is the obstacle; with 1 if a
    part of it ended by itself.

    Example: bot record configs/demo.yaml --for 10s
    """
    import msgspec

    run_ns = None if for_ is None else duration_ns("--for", for_)
    with remembered():
        with exit_on_fault(), stdout_to_stderr():
            found = record_series(config, run_ns, tape, seed, state_dir)
        if json_line:
            typer.echo(msgspec.json.encode(found).decode())
        else:
            for name, value in msgspec.to_builtins(found).items():
                typer.echo(f"{name}: {_text(value)}")
    raise typer.Exit(1 if found.died else 0)


def _text(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return value


def record_series(
    path: Path, run_ns: int | None, tape: Path | None, seed: int | None, to: Path | None
) -> "Recorded":
    """Record until stopped. to: the state directory, if not the default one."""
    import msgspec

    from bot.config.bot_config import finish
    from bot.io import loop
    from bot.io.state.locks import StateDirectory
    from venue.wire.names import fold_ticker

    require_open_files(FILES_OF_A_RUN)
    draft = read_config(path)
    folder = draft.state.directory
    if not folder.name:  # as of `state.dir: .`
        folder = folder.absolute()
    with ExitStack() as held:
        state = StateDirectory.open(to or folder.parent / f"{folder.name}-record")
        held.callback(state.close)
        embedded = start_venue(draft, state.path, seed, tape)
        if embedded is not None:
            held.callback(embedded.stop_child)
        config = finish(draft)
        keep_memory_private()
        site, named = site_of(config, embedded)
        settings = msgspec.structs.replace(config.trader, other_series=())
        if tape is not None and named:  # a tape has a series of its own
            settings = msgspec.structs.replace(settings, series_ticker=fold_ticker(named[0]))
        config = msgspec.structs.replace(config, trader=settings)
        return loop.run(_recorded, config, site, state.path, run_ns)


async def _recorded(
    config: "BotConfig", site: "Site", state: Path, run_ns: int | None
) -> "Recorded":
    from bot.io.adapter import ask, connect, read_key
    from bot.io.client.preflight import series_obstacle
    from bot.io.clock import Clock
    from bot.io.run.recording import Recording
    from bot.io.run.session import SiteFault

    log_without(*site.address.secrets)
    connection = connect(site.adapter, site.address, 1)

    reads = partial(ask, connection.requests, key=read_key(site.address))
    if obstacle := await series_obstacle(reads, config.trader.series_ticker):
        await connection.requests.drain()
        raise SiteFault(obstacle)
    recording = Recording(
        config.configured,
        Clock(),
        connection,
        state,
        segment_bytes=config.state.segment_bytes,
        segments_kept=config.state.segments_kept,
    )
    return await recording.run(run_ns, site.embedded)
