"""`bot reaper`: the process beside the bot that cancels everything when the bot is silent."""

import contextlib
import json
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    FILES_OF_A_LOOK,
    ConfigPath,
    enough_files,
    external,
    fail,
    faults_told,
    keep_memory_private,
    key_of,
    read_where,
    state_dir_option,
)
from bot.io.signals import remembered, stopping

if TYPE_CHECKING:
    from bot.config.bot_config import ExternalSettings, ReaperSettings
    from bot.core.execution.cancel_all import SweepSettings
    from bot.io.secret import Secret
    from venue.wire.names import Ticker


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reaper", epilog="Example: bot reaper configs/paper.yaml")(reaper)


def reaper(
    config: ConfigPath,
    url: Annotated[
        str | None,
        typer.Option(
            help="The bot's status page, such as http://127.0.0.1:8090/healthz, where the state "
            "directory is not shared; no latch can be set then."
        ),
    ] = None,
    state_dir: Annotated[
        Path | None, state_dir_option("The state directory of the bot, instead of ./state/<name>.")
    ] = None,
    now: Annotated[
        bool, typer.Option("--now", help="Latch and cancel everything at once, beat or no beat.")
    ] = False,
    json_line: Annotated[
        bool, typer.Option("--json", help="End with the state of things as one line of JSON.")
    ] = False,
) -> None:
    """Watch the bot; when its heartbeat stops, latch it and cancel everything, again and again.

    Uses the key under `reaper` in CONFIG. Runs until it is told to stop (Ctrl-C), and outlives its
    terminal. Ends with 0, or with 4 when it was stopped before it had shown that nothing rests.
    """
    from bot.config.bot_config import FOR_THE_REAPER

    if url is not None:
        _refuse_no_address(url)
    # What tells a bot something, SIGHUP above all, ends nobody who guards it.
    with remembered():
        with faults_told():
            draft = read_where(config, FOR_THE_REAPER)
            settings = external(draft)
            if draft.reaper is None:
                fail(
                    EXIT_CONFIGURATION,
                    f"{config}: reaper: missing; name a key of its own there: key_file or key_env",
                )
            own = key_of(draft.reaper)
            _refuse_the_bots_key(settings, own)
            folder = state_dir or draft.state.directory
            series = draft.file.series
            phase, clean = _watch(settings, draft.reaper, own, url, folder, series, at_once=now)
        code = 0 if clean else EXIT_LEFT_OVER
        if json_line:
            typer.echo(json.dumps({"exit_code": code, "phase": phase, "clean": clean}))
        elif not clean:
            typer.echo("stopped before it was shown that nothing rests: bot cancel-all --verify")
    raise typer.Exit(code)


def _refuse_no_address(url: str) -> None:
    """End with 2 for what can be no status page: it would never be heard, and so never guarded."""
    from bot.config.secrets import names_a_host

    try:
        address = urllib.parse.urlsplit(url)
        is_one = address.scheme in ("http", "https") and address.port != 0 and names_a_host(address)
    except ValueError:  # of a port that can be none
        is_one = False
    if not is_one:
        such = "http://127.0.0.1:8090/healthz"
        fail(EXIT_CONFIGURATION, f"--url {url}: accepted: an address such as {such}")


def _refuse_the_bots_key(settings: "ExternalSettings", own: "Secret") -> None:
    """A key that is revoked with the bot's, or throttled by it, is no second key.

    Where the bot's own key cannot be read from here, the lock of a bot that runs tells.
    """
    import hmac

    from bot.io.faults import OperatorError
    from bot.io.secret import SecretFault
    from bot.io.state.locks import holder_of

    same = False
    try:
        same = hmac.compare_digest(key_of(settings).reveal(), own.reveal())
    except SecretFault:
        with contextlib.suppress(OperatorError):
            same = holder_of(settings.base_url, own) is not None
    if same:
        fail(
            EXIT_CONFIGURATION,
            "reaper: its key is the bot's own; make a second key of the same account "
            "with the scopes read and trade",
        )


def _watch(
    settings: "ExternalSettings",
    told: "ReaperSettings",
    own: "Secret",
    url: str | None,
    folder: Path,
    series: str,
    *,
    at_once: bool,
) -> tuple[str, bool]:
    """Watch until told to stop. What the reaper was doing then, and whether nothing rests."""
    from bot.core.execution.cancel_all import SweepSettings
    from bot.io import loop
    from bot.io.logs import SecretRedactor, configure_logs
    from bot.io.state.locks import REAPER_LOCK, StateDirectory
    from venue.wire.instant import NS_PER_SECOND
    from venue.wire.names import fold_ticker

    enough_files(FILES_OF_A_LOOK)
    keep_memory_private()
    masker = SecretRedactor()
    masker.learn(own)
    configure_logs(masker)
    wanted = SweepSettings(deadline_ns=60 * NS_PER_SECOND)
    held = None if url is not None else StateDirectory.open(folder, REAPER_LOCK, "reaper")
    try:
        shared = None if held is None else held.path
        return loop.run(
            _run, settings.base_url, own, url, shared, told.after_ns, wanted, at_once,
            fold_ticker(series),
        )  # fmt: skip
    finally:
        if held is not None:
            held.close()


async def _run(
    base_url: str,
    own: "Secret",
    url: str | None,
    folder: Path | None,
    after_ns: int,
    wanted: "SweepSettings",
    at_once: bool,
    series: "Ticker",
) -> tuple[str, bool]:
    from bot.core.messages import Rejected
    from bot.io.client.rest import Rest
    from bot.io.client.sockets import client_beside
    from bot.io.clock import Clock
    from bot.io.run.reaper import (
        Reaper,
        ReaperFault,
        file_source,
        heart_in,
        key_trouble,
        page_source,
    )
    from bot.io.state.kill_switch_file import KillSwitchFile

    rest = Rest(base_url, own, wanted.requests_in_flight, sane_only=False)
    async with client_beside() as client:
        if folder is not None:
            source, latch = file_source(folder), KillSwitchFile(folder)
        else:
            assert url is not None
            source, latch = page_source(client, url), None
        heart = None if folder is None else heart_in(folder)
        watching = Reaper(source, rest, Clock(), latch, after_ns, wanted, heart, series)
        if at_once:
            await watching.latch_first()
        trouble = await key_trouble(rest)
        if isinstance(trouble, Rejected) and trouble.status:
            await rest.drain()
            raise ReaperFault(
                f"reaper: the venue refuses its key: {trouble.status} {trouble.code}; "
                "it needs the scopes read and trade"
            )
        with stopping(lambda _: watching.stop()):
            await watching.run(at_once=at_once)
    return watching.phase.value, watching.clean
