"""`bot record`: captures a series into a journal without quoting, and writes nothing at the
venue.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.common import (
    FILES_OF_A_RUN,
    ConfigPath,
    duration_ns,
    enough_files,
    faults_told,
    keep_memory_private,
    printed_aside,
    read,
    state_dir_option,
)
from bot.cli.sites import site_of, start_venue
from bot.io.signals import remembered

if TYPE_CHECKING:
    from bot.config.bot_config import BotConfig
    from bot.io.run.recording import Recorded
    from bot.io.run.session import Site

_EXAMPLE: Final = "Example: bot record configs/demo.yaml --for 10s"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("record", epilog=_EXAMPLE)(record)


def record(
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
        int | None,
        typer.Option(
            min=0, max=2**63 - 1, help="Seed of the embedded venue's crowd, instead of its own."
        ),
    ] = None,
    state_dir: Annotated[
        Path | None,
        state_dir_option("Where the journal stands, instead of ./state/<name>-record."),
    ] = None,
) -> None:
    """Record the series' channel, and what the key may read of the account, until told to stop.

    No order is made, changed or cancelled, whatever rests; `bot replay`, `bot export` and `bot
    backtest` read the journal. A bot may trade the series meanwhile, from another state directory.

    Ends with 3 when the venue, the key or the state directory stands in the way, and when the disk
    refuses; with 1 when a part of it ended by itself.
    """
    import msgspec

    run_ns = None if for_ is None else duration_ns("--for", for_)
    with remembered():
        with faults_told(), printed_aside():
            found = _recorded(config, run_ns, (tape, seed), state_dir)
        if json_line:
            typer.echo(msgspec.json.encode(found).decode())
        else:
            for name, value in msgspec.to_builtins(found).items():
                typer.echo(f"{name}: {_told(value)}")
    raise typer.Exit(1 if found.died else 0)


def _told(value: object) -> object:
    """A value of the last words as a person says it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return value


def _recorded(
    path: Path, run_ns: int | None, embedded_on: tuple[Path | None, int | None], to: Path | None
) -> "Recorded":
    import msgspec

    from bot.config.bot_config import finish
    from bot.io import loop
    from bot.io.state.locks import StateDirectory
    from venue.wire.names import fold_ticker

    enough_files(FILES_OF_A_RUN)
    tape, seed = embedded_on
    draft = read(path)
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
        settings = config.trader
        if tape is not None and named:
            # A tape brings its own series; the configuration cannot know its name.
            series = fold_ticker(named[0])
            settings = msgspec.structs.replace(settings, series_ticker=series)
        settings = msgspec.structs.replace(settings, other_series=())
        config = msgspec.structs.replace(config, trader=settings)
        return loop.run(_record, config, site, state.path, run_ns)


async def _record(config: "BotConfig", site: "Site", state: Path, run_ns: int | None) -> "Recorded":
    from bot.io.client.feed import Feed
    from bot.io.client.preflight import series_obstacle
    from bot.io.client.rest import Rest
    from bot.io.clock import Clock
    from bot.io.logs import SecretRedactor, configure_logs
    from bot.io.run.recording import Recording
    from bot.io.run.session import SiteFault

    masker = SecretRedactor()
    for key in (site.key, *site.others.values()):
        masker.learn(key)
    configure_logs(masker, None)
    rest = Rest(site.base_url, site.key, 1, others=site.others)
    if obstacle := await series_obstacle(rest.ask, config.trader.series_ticker):
        await rest.drain()
        raise SiteFault(obstacle)
    recording = Recording(
        config.configured,
        Clock(),
        rest,
        lambda emit: Feed(site.stream_url, emit),
        state,
        segment_bytes=config.state.segment_bytes,
        segments_kept=config.state.segments_kept,
    )
    return await recording.run(run_ns, site.embedded)
