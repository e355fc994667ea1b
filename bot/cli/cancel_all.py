"""`bot cancel-all`: cancel what rests on the account by hand, and prove that nothing is left."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.asking import (
    MAY_BE_TOLD,
    Reason,
    StateDir,
    StatusUrl,
    running,
    stands_still,
    token_of,
    told,
)
from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_LEFT_OVER,
    EXIT_VENUE,
    FILES_OF_A_LOOK,
    ConfigPath,
    acting,
    duration_ns,
    enough_files,
    external,
    fail,
    faults_told,
    keep_memory_private,
    key_of,
    read_where,
)

if TYPE_CHECKING:
    from bot.config.bot_config import Draft, ExternalSettings
    from bot.core.execution.cancel_all import CancelAll, Left, SweepSettings, Verdict
    from bot.io.secret import Secret


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "cancel-all", epilog="Example: bot cancel-all configs/paper.yaml --verify --deadline 60s"
    )(cancel_all)


def cancel_all(
    config: ConfigPath,
    verify: Annotated[
        bool, typer.Option("--verify", help="Repeat until two whole lists show nothing resting.")
    ] = False,
    whole: Annotated[
        bool,
        typer.Option("--all/--series", help="The whole account, or this file's series alone."),
    ] = True,
    deadline: Annotated[
        str, typer.Option(metavar="TIME", help="Give up and name what is left after 30s or 5m.")
    ] = "60s",
    reaper_key: Annotated[
        bool,
        typer.Option("--reaper-key", help="Use the reaper's key, where the bot's own is refused."),
    ] = False,
    reason: Reason = "cancel-all at the command line",
    status: StatusUrl = "",
    state_dir: StateDir = None,
    json_line: Annotated[
        bool, typer.Option("--json", help="End with the outcome as one line of JSON on stdout.")
    ] = False,
) -> None:
    """Cancel every resting order, whoever placed it.

    A bot that runs is asked first to cancel everything and to pause, if its controls are open, so
    that it does not quote again; on an embedded venue that is all there is to do.

    Ends with 0 when nothing rests or, without --verify, when every cancel was answered; with 4 and
    the exact list when orders may be left; with 3 when the venue or the key stands in the way.
    """
    deadline_ns = duration_ns("--deadline", deadline)
    with faults_told():
        draft = read_where(config)
        with acting(MAY_BE_TOLD):
            paused = _ask_the_bot(draft, reason, status, state_dir, whole=whole, quiet=json_line)
        from bot.config.bot_config import EmbeddedSettings

        if paused and isinstance(draft.venue, EmbeddedSettings):
            if json_line:
                typer.echo(json.dumps({"exit_code": 0, "bot_paused": True, "verified": False}))
            return
        settings = external(draft)
        if reaper_key and draft.reaper is None:
            fail(
                EXIT_CONFIGURATION,
                f"{config}: no reaper is described there, so there is no key of its own",
            )
        if reaper_key and draft.reaper is not None:
            key = key_of(draft.reaper)
        else:
            key = key_of(settings)
            if not paused:
                _warn_of_a_bot(settings, key)
        # The reaper's key has both scopes; beside the bot's own there may be one for reads.
        place = None if reaper_key else settings.read_key
        read_key = None if place is None else key_of(place)
    from bot.core.execution.cancel_all import SweepSettings
    from bot.core.settings import BudgetSettings
    from venue.wire.instant import NS_PER_MS
    from venue.wire.names import fold_ticker

    wanted = SweepSettings(
        series_ticker=None if whole else fold_ticker(draft.file.series),
        verify=verify,
        deadline_ns=deadline_ns,
        requests_in_flight=draft.file.throttle.requests_in_flight,
        read_lag_ns=draft.file.staleness.read_lag_ms * NS_PER_MS,
        budget=BudgetSettings(**draft.file.budget.model_dump()),
    )
    with acting("orders may rest, and cancels may be under way; run it again"):
        verdict = _swept(settings, key, read_key, wanted, quiet=json_line)
    code, text, shown = _told(verdict, reaper_key=reaper_key)
    _prove_remains(state_dir or draft.state.directory, verdict)
    if json_line:
        typer.echo(json.dumps({"exit_code": code, "bot_paused": paused, **shown}))
    else:
        typer.echo(text, err=bool(code))
    raise typer.Exit(code)


def _ask_the_bot(
    draft: "Draft",
    reason: str,
    status: str,
    state_dir: Path | None,
    *,
    whole: bool,
    quiet: bool,
) -> bool:
    """Whether a bot runs and has been asked to cancel everything and pause, or stands still
    already. One that cannot be asked, or refuses, stands in the way of nothing: it is told.

    whole: every series that it trades, for each would quote again; else this file's alone.
    """
    from bot.io.secret import SecretFault

    try:
        token = token_of(draft, state_dir)
        page = None if token is None else running(draft, status, state_dir)
        if token is None or page is None:
            return False
        asked = page._replace(series="") if whole else page
        refusal = told(asked, "cancel-all", reason, token)
        still = bool(refusal) and stands_still(page)
    except SecretFault as fault:
        typer.echo(f"warning: the running bot cannot be asked: {fault}", err=True)
        return False
    except typer.Exit:  # what is in the way was said, and is none of the venue's business
        return False
    if refusal and not still:
        typer.echo(f"warning: the running bot at {page.base}: {refusal}", err=True)
        return False
    if refusal and not quiet:
        typer.echo(f"the bot at {page.base}: {refusal}; bot resume lets it go on")
    elif not quiet:
        typer.echo(
            f"the bot at {page.base} cancels everything and pauses; bot resume lets it go on"
        )
    return True


def _warn_of_a_bot(settings: "ExternalSettings", key: "Secret") -> None:
    """A bot that goes on quoting makes this a race; it is the person's to decide."""
    from bot.io.faults import OperatorError
    from bot.io.state.locks import holder_of

    try:
        holder = holder_of(settings.base_url, key)
    except OperatorError as fault:
        # Nothing of this may stand in the way of cancelling.
        typer.echo(f"warning: cannot see whether a bot trades this account: {fault}", err=True)
        return
    if holder is None:
        return
    pause = f"kill -USR1 {holder.pid}" if holder.pid else "kill -USR1 with its process id"
    typer.echo(
        f"warning: {holder.description()} trades this account and will quote again; "
        f"pause it with: {pause}",
        err=True,
    )


def _swept(
    settings: "ExternalSettings",
    key: "Secret",
    read_key: "Secret | None",
    wanted: "SweepSettings",
    *,
    quiet: bool,
) -> "Verdict":
    from bot.core.messages import Key
    from bot.io import loop
    from bot.io.client.rest import Rest
    from bot.io.clock import Clock
    from bot.io.logs import SecretRedactor, configure_logs
    from bot.io.run.reaper import sweep

    enough_files(FILES_OF_A_LOOK)
    keep_memory_private()
    masker = SecretRedactor()
    others = {} if read_key is None else {Key.READ: read_key}
    for each in (key, *others.values()):
        masker.learn(each)
    configure_logs(masker)

    async def swept() -> "Verdict":
        most = wanted.requests_in_flight
        rest = Rest(settings.base_url, key, most, others=others, sane_only=False)
        try:
            return await sweep(rest, Clock(), wanted, (lambda _: None) if quiet else _Progress())
        finally:
            await rest.drain()

    return loop.run(swept)


class _Progress:
    """Tells how far the sweep is, a line whenever it changes."""

    def __init__(self) -> None:
        self._said = ""

    def __call__(self, sweeper: "CancelAll") -> None:
        line = f"found {sweeper.found}, cancelled {sweeper.cancelled}, left {sweeper.open_count}"
        if not (sweeper.listed or sweeper.found):
            line = "no list of the account yet"  # so how much is left is not known
        elif sweeper.halted:
            line += "; the venue is halted and takes no cancels, asked again every 5 s"
        elif sweeper.verifying:
            line += "; reading what rests"
        if line != self._said:
            self._said = line
            typer.echo(line, err=True)


def _told(verdict: "Verdict", *, reaper_key: bool) -> tuple[int, str, dict[str, object]]:
    """Exit code, text for a person, and fields of the JSON line."""
    from bot.core.execution.cancel_all import CancelsAcknowledged, Clean, KeyRefused, Overdue

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
                text = f"the venue refuses the reaper's key: {refused}; its file wants a new one"
            fields = {"verified": False, "refused": refused}
            return EXIT_VENUE, _listed(text, verdict.left), {**fields, "left": _rows(verdict.left)}
        case Overdue(listed=False):
            text = "the account could not be read, so nobody knows what rests; see the venue"
            fields = {"verified": False, "cancelled": verdict.cancelled, "listed": False}
            return EXIT_VENUE, _listed(text, verdict.left), {**fields, "left": _rows(verdict.left)}
        case Overdue():
            text = f"{_cancelled(verdict.cancelled)}; time is over and these may rest:"
            if not verdict.left:
                text = f"{_cancelled(verdict.cancelled)}; time is over before it was verified"
            fields = {"verified": False, "cancelled": verdict.cancelled, "listed": True}
            return (
                EXIT_LEFT_OVER,
                _listed(text, verdict.left),
                {**fields, "left": _rows(verdict.left)},
            )


def _prove_remains(folder: Path, verdict: "Verdict") -> None:
    """What a refused start left is gone now: `bot check` and `bot reset` are to say so."""
    import time

    import msgspec

    from bot.core.execution.cancel_all import Clean
    from bot.io.state.small_files import keep_remains, read_remains

    remains = read_remains(folder)
    if remains is not None and isinstance(verdict, Clean):
        at = time.strftime("%H:%M:%S", time.gmtime())
        text = f"nothing of ours rests, as a list at {at} UTC showed (bot cancel-all)"
        keep_remains(folder, msgspec.structs.replace(remains, verified=True, text=text))


def _cancelled(count: int) -> str:
    return f"{count} {'order' if count == 1 else 'orders'} cancelled"


def _listed(text: str, left: "tuple[Left, ...]") -> str:
    rows = [
        f"  {each.order_id} {each.ticker} {each.remaining_qty} shares: {each.why}" for each in left
    ]
    return "\n".join([text, *rows])


def _rows(left: "tuple[Left, ...]") -> list[dict[str, object]]:
    import msgspec

    return [msgspec.structs.asdict(each) for each in left]
