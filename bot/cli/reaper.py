"""`bot reaper`: a second process that cancels everything when the bot's heartbeat stops."""

import contextlib
import hmac
import json
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    exit_on_fault,
    external_venue,
    fail,
    key_of,
    prepare_look,
    read_lenient,
)
from bot.cli.options import ConfigPath, Json, Logs, StateDir
from bot.io.signals import remembered, stopping

if TYPE_CHECKING:
    from bot.config.bot_config import Draft, ExternalSettings
    from bot.io.secret import Secret

# The rest is imported within: signals must be deferred before anything heavy loads.


def reaper(
    config: ConfigPath,
    url: Annotated[
        str | None,
        typer.Option(
            help="The bot's status page, such as http://127.0.0.1:8090/healthz, if the state "
            "directory is not shared; then the reaper can set no latch."
        ),
    ] = None,
    state_dir: StateDir = None,
    now: Annotated[
        bool, typer.Option("--now", help="Latch and cancel everything at once.")
    ] = False,
    logs: Logs = "auto",
    json_line: Json = False,
) -> None:
    """It latches the bot and cancels again and again until a list shows that nothing rests. Uses
    the key under `reaper` in CONFIG. Runs until stopped (Ctrl-C), and survives its terminal.

    Ends with 0, or with 4 if stopped before it had shown that nothing rests.

    Example: bot reaper configs/paper.yaml
    """
    from bot.config.bot_config import FOR_THE_REAPER

    if url is not None:
        _require_address(url)
    with remembered():  # a SIGHUP meant for a bot must not end its guard
        with exit_on_fault():
            draft = read_lenient(config, FOR_THE_REAPER)
            settings = external_venue(draft)
            if draft.reaper is None:
                fail(
                    EXIT_CONFIGURATION,
                    f"{config}: reaper: missing; name a key of its own there: key_file or key_env",
                )
            own = key_of(draft.reaper.key)
            _require_second_key(settings, own)
            folder = state_dir or draft.state.directory
            phase, clean = _watch(draft, settings, own, url, folder, logs, at_once=now)
        code = 0 if clean else EXIT_LEFT_OVER
        if json_line:
            typer.echo(json.dumps({"exit_code": code, "phase": phase, "clean": clean}))
        elif not clean:
            typer.echo(
                "stopped before a list had shown that nothing rests: bot cancel-all --verify"
            )
    raise typer.Exit(code)


def _require_address(url: str) -> None:
    """End with 2 for a text that is no address: no heartbeat would ever be read there."""
    from bot.config.secrets import names_a_host

    try:
        address = urllib.parse.urlsplit(url)
        is_one = address.scheme in ("http", "https") and address.port != 0 and names_a_host(address)
    except ValueError:  # for an impossible port
        is_one = False
    if not is_one:
        such = "http://127.0.0.1:8090/healthz"
        fail(EXIT_CONFIGURATION, f"--url {url}: accepted: an address such as {such}")


def _require_second_key(settings: "ExternalSettings", own: "Secret") -> None:
    """End with 2 if the reaper's key is the bot's: it would be revoked and throttled with it.

    Where the bot's key cannot be read, the account lock of a running bot shows which one it is.
    """
    from bot.io.faults import OperatorError
    from bot.io.secret import SecretFault
    from bot.io.state.locks import holder_of

    same = False
    try:
        same = hmac.compare_digest(key_of(settings.key).reveal(), own.reveal())
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
    draft: "Draft",
    settings: "ExternalSettings",
    own: "Secret",
    url: str | None,
    folder: Path,
    logs: str,
    *,
    at_once: bool,
) -> tuple[str, bool]:
    """Watch until stopped. The phase of the reaper then, and True if nothing rests."""
    from bot.core.execution.cancel_all import SweepSettings
    from bot.core.messages import Rejected
    from bot.io import loop
    from bot.io.adapter import VenueAddress, adapter_named
    from bot.io.client.sockets import client_beside
    from bot.io.clock import Clock
    from bot.io.logs import LogForm
    from bot.io.run.reaper import (
        Reaper,
        ReaperFault,
        file_source,
        heart_in,
        key_trouble,
        page_source,
    )
    from bot.io.state.kill_switch_file import KillSwitchFile
    from bot.io.state.locks import REAPER_LOCK, StateDirectory
    from venue.wire.instant import NS_PER_SECOND
    from venue.wire.names import fold_ticker

    assert draft.reaper is not None
    after_ns = draft.reaper.after_ns
    prepare_look([own], LogForm(logs))
    wanted = SweepSettings(deadline_ns=60 * NS_PER_SECOND)
    adapter = adapter_named(settings.adapter)
    held = None if url is not None else StateDirectory.open(folder, REAPER_LOCK, "reaper")

    async def watched() -> tuple[str, bool]:
        address = VenueAddress(settings.base_url, settings.stream_url, own)
        requests = adapter.order_client(address, wanted.requests_in_flight, sane_only=False)
        async with client_beside() as client:
            if held is not None:
                source, latch = file_source(held.path), KillSwitchFile(held.path)
            else:
                assert url is not None
                source, latch = page_source(client, url), None
            heart = None if held is None else heart_in(held.path)
            series = fold_ticker(draft.file.series)
            watching = Reaper(source, requests, Clock(), latch, after_ns, wanted, heart, series)
            if at_once:
                await watching.latch_first()
            trouble = await key_trouble(requests)
            if isinstance(trouble, Rejected):
                await requests.drain()
                raise ReaperFault(
                    f"reaper: the venue refuses its key: {trouble.status} {trouble.code}; "
                    "it needs the scopes read and trade"
                )
            with stopping(lambda _: watching.stop()):
                await watching.run(at_once=at_once)
        return watching.phase.value, watching.clean

    try:
        return loop.run(watched)
    finally:
        if held is not None:
            held.close()
