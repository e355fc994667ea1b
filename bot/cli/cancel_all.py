"""`bot cancel-all`: cancel what rests on the account by hand, and prove that nothing is left."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    exit_on_fault,
    external_venue,
    fail,
    key_of,
    prepare_look,
    read_lenient,
    warn_on_interrupt,
)
from bot.cli.options import ConfigPath, Json, Reason, StateDir, StatusUrl, duration_ns
from bot.cli.running_bot import NO_ANSWER, find_bot, token_of
from bot.config.bot_config import Draft, EmbeddedSettings, ExternalSettings
from bot.core.execution.cancel_all import (
    CancelAll,
    CancelsAcknowledged,
    Clean,
    KeyRefused,
    Overdue,
    SweepSettings,
    Verdict,
)
from bot.core.messages import Key
from bot.core.settings import BudgetSettings
from bot.io import loop
from bot.io.adapter import VenueAdapter, VenueAddress, adapter_named, read_key
from bot.io.clock import Clock
from bot.io.faults import OperatorError
from bot.io.run.reaper import sweep
from bot.io.secret import Secret, SecretFault
from bot.io.state.locks import holder_of
from bot.io.state.small_files import keep_remains, read_remains
from venue.wire.instant import NS_PER_MS
from venue.wire.names import Ticker, fold_ticker


def cancel_all(
    config: ConfigPath,
    verify: Annotated[
        bool, typer.Option("--verify", help="Repeat until two whole lists show nothing resting.")
    ] = False,
    whole: Annotated[
        bool,
        typer.Option("--all/--series", help="The whole account, or only this file's series."),
    ] = True,
    deadline: Annotated[
        str, typer.Option(metavar="TIME", help="Timeout, as 30s or 5m: then list the orders left.")
    ] = "60s",
    reaper_key: Annotated[
        bool,
        typer.Option("--reaper-key", help="Use the reaper's key, if the bot's own is refused."),
    ] = False,
    reason: Reason = "cancel-all at the command line",
    status: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    """Also orders that another program placed. A running bot with open controls is first asked to
    cancel everything and to pause, so that it does not quote again; on an embedded venue that is
    all there is to do.

    Ends with 0 if nothing rests or, without --verify, if every cancel was answered; with 4 and the
    exact list if orders may be left; with 3 if the venue or the key is the obstacle.

    Example: bot cancel-all configs/paper.yaml --verify --deadline 60s
    """
    deadline_ns = duration_ns("--deadline", deadline)
    with exit_on_fault():
        draft = read_lenient(config)
        with warn_on_interrupt(NO_ANSWER):
            paused = _pause_bot(draft, reason, status, state_dir, whole=whole, quiet=json_line)
        if paused and isinstance(draft.venue, EmbeddedSettings):
            if json_line:
                typer.echo(json.dumps({"exit_code": 0, "bot_paused": True, "verified": False}))
            return
        settings = external_venue(draft)
        # The reaper's key has both scopes; the bot may have a separate key for reads.
        place = None if reaper_key else settings.read_key
        if not reaper_key:
            key = key_of(settings.key)
            if not paused:
                _warn_of_a_bot(settings, key)
        elif draft.reaper is None:
            text = f"{config}: no reaper is described there, so there is no key of its own"
            fail(EXIT_CONFIGURATION, text)
        else:
            key = key_of(draft.reaper.key)
        others = {} if place is None else {Key.READ: key_of(place)}
        adapter = adapter_named(settings.adapter)
    address = VenueAddress(settings.base_url, settings.stream_url, key, others)
    series = None if whole else fold_ticker(draft.file.series)
    wanted = sweep_settings(draft, series, deadline_ns, verify=verify)
    with warn_on_interrupt("orders may rest, and cancels may be in flight; run it again"):
        verdict = _sweep(adapter, address, wanted, quiet=json_line)
    code, text, fields = _outcome(verdict, reaper_key=reaper_key)
    _clear_remains(state_dir or draft.state.directory, verdict)
    if json_line:
        typer.echo(json.dumps({"exit_code": code, "bot_paused": paused, **fields}))
    else:
        typer.echo(text, err=bool(code))
    raise typer.Exit(code)


def sweep_settings(
    draft: Draft,
    series: Ticker | None,
    deadline_ns: int,
    *,
    known: frozenset[str] | None = None,
    verify: bool = True,
) -> SweepSettings:
    """How to cancel, within the request budget of a configuration. series: None for the whole
    account. known: ids of orders and markets to cancel as well."""
    return SweepSettings(
        series_ticker=series,
        known=known,
        verify=verify,
        deadline_ns=deadline_ns,
        requests_in_flight=draft.file.throttle.requests_in_flight,
        read_lag_ns=draft.file.staleness.read_lag_ms * NS_PER_MS,
        budget=BudgetSettings(**draft.file.budget.model_dump()),
    )


def _pause_bot(
    draft: Draft,
    reason: str,
    status: str,
    state_dir: Path | None,
    *,
    whole: bool,
    quiet: bool,
) -> bool:
    """True if a running bot has accepted to cancel everything and pause, or is paused already. One
    that cannot be asked, or refuses, is no obstacle to cancelling: that is printed.

    whole: all series that it trades, for each would quote again; else this file's alone.
    """
    try:
        token = token_of(draft, state_dir)
        page = None if token is None else find_bot(draft, status, state_dir)
        if token is None or page is None:
            return False
        asked = page._replace(series="") if whole else page
        refusal = asked.request_action("cancel-all", {"reason": reason}, token)
        was_paused = bool(refusal) and page.is_paused()
    except SecretFault as fault:
        typer.echo(f"warning: the running bot cannot be asked: {fault}", err=True)
        return False
    except typer.Exit:  # the reason is printed already
        return False
    if refusal and not was_paused:
        typer.echo(f"warning: the running bot at {page.base}: {refusal}", err=True)
        return False
    if not quiet:
        done = refusal or "it cancels everything and pauses"
        typer.echo(f"the bot at {page.base}: {done}; bot resume lets it go on")
    return True


def _warn_of_a_bot(settings: ExternalSettings, key: Secret) -> None:
    """Warn of a bot that trades the account: it would quote again while orders are cancelled."""
    try:
        holder = holder_of(settings.base_url, key)
    except OperatorError as fault:  # no obstacle to cancelling
        typer.echo(f"warning: cannot see if a bot trades this account: {fault}", err=True)
        return
    if holder is None:
        return
    pause = f"kill -USR1 {holder.pid}" if holder.pid else "kill -USR1 with its process id"
    typer.echo(
        f"warning: {holder.description()} trades this account and will quote again; "
        f"pause it with: {pause}",
        err=True,
    )


def _sweep(
    adapter: VenueAdapter,
    address: VenueAddress,
    wanted: SweepSettings,
    *,
    quiet: bool,
) -> Verdict:
    prepare_look(address.secrets)

    async def swept() -> Verdict:
        client = adapter.order_client(address, wanted.requests_in_flight, sane_only=False)
        progress = (lambda _: None) if quiet else _progress()
        try:
            return await sweep(client, Clock(), wanted, progress, reads=read_key(address))
        finally:
            await client.drain()

    return loop.run(swept)


def _progress() -> Callable[[CancelAll], None]:
    printed = ""

    def show(sweeper: CancelAll) -> None:
        nonlocal printed
        line = f"found {sweeper.found}, cancelled {sweeper.cancelled}, left {sweeper.open_count}"
        if not (sweeper.listed or sweeper.found):
            line = "no list of the account yet"  # so nobody knows how much is left
        elif sweeper.halted:
            line += "; the venue is halted and takes no cancels: retrying every 5 s"
        elif sweeper.verifying:
            line += "; reading the list of resting orders"
        if line != printed:
            printed = line
            typer.echo(line, err=True)

    return show


def _outcome(verdict: Verdict, *, reaper_key: bool) -> tuple[int, str, dict[str, object]]:
    match verdict:
        case Clean():
            text = f"nothing rests, as two lists have shown; {_cancelled(verdict.cancelled)}"
            return 0, text, {"verified": True, "cancelled": verdict.cancelled, "left": []}
        case CancelsAcknowledged():
            text = f"{_cancelled(verdict.cancelled)}; not verified: --verify reads the account"
            return 0, text, {"verified": False, "cancelled": verdict.cancelled, "left": []}
        case KeyRefused():
            refused = f"{verdict.status} {verdict.code}"
            text = f"the venue refuses the key: {refused}; see --reaper-key"
            if reaper_key:
                text = f"the venue refuses the reaper's key: {refused}; its file needs a new one"
            code = EXIT_VENUE
            fields: dict[str, object] = {"verified": False, "refused": refused}
        case Overdue(listed=False):
            text = "the account could not be read, so nobody knows what rests; look at the venue"
            code = EXIT_VENUE
            fields = {"verified": False, "cancelled": verdict.cancelled, "listed": False}
        case Overdue():
            rest = "time is over and these may rest:"
            if not verdict.left:
                rest = "time is over before it was verified"
            text, code = f"{_cancelled(verdict.cancelled)}; {rest}", EXIT_LEFT_OVER
            fields = {"verified": False, "cancelled": verdict.cancelled, "listed": True}
    rows = [f"  {e.order_id} {e.ticker} {e.remaining_qty} shares: {e.why}" for e in verdict.left]
    left = [msgspec.structs.asdict(each) for each in verdict.left]
    return code, "\n".join([text, *rows]), {**fields, "left": left}


def _clear_remains(folder: Path, verdict: Verdict) -> None:
    """Record for `bot check` and `bot reset` that what a refused start left is gone."""
    remains = read_remains(folder)
    if remains is not None and isinstance(verdict, Clean):
        at = time.strftime("%H:%M:%S", time.gmtime())
        text = f"nothing of ours rests, as a list at {at} UTC showed (bot cancel-all)"
        keep_remains(folder, msgspec.structs.replace(remains, verified=True, text=text))


def _cancelled(count: int) -> str:
    return f"{count} {'order' if count == 1 else 'orders'} cancelled"
