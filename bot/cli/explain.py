"""`bot explain`: why an order stands where it does, from the frame that was seen to the token."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_VENUE,
    ConfigPath,
    duration_ns,
    fail,
    faults_told,
    printed_aside,
    read,
    state_dir_option,
)

if TYPE_CHECKING:
    from bot.lab.explain import Decision, Explainer
    from bot.lab.order_histories import OrderHistories, OrderHistory, OrderRequest
    from bot.lab.session import Run

_EXAMPLE: Final = "Example: bot explain configs/demo.yaml --rung 206.25B"
_ORDER_HELP: Final = "Its id, ours or the venue's, or what only one begins with; left out: a list."
_AT_HELP: Final = "With --rung: 2026-11-21T21:38:43Z, or 90s after the start; else the end."
_LISTED: Final = 40


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", epilog=_EXAMPLE)(explain)


def explain(
    config: ConfigPath,
    order: Annotated[str | None, typer.Argument(metavar="[ORDER]", help=_ORDER_HELP)] = None,
    every: Annotated[
        bool, typer.Option("--every", help="Every change of it, not its first and last alone.")
    ] = False,
    rung: Annotated[
        str, typer.Option(metavar="TICKER", help="What was believed and wanted of this rung.")
    ] = "",
    at: Annotated[str, typer.Option(metavar="TIME", help=_AT_HELP)] = "",
    state_dir: Annotated[
        Path | None, state_dir_option("Where the journal stands, instead of ./state/<name>.")
    ] = None,
    json_line: Annotated[bool, typer.Option("--json", help="One line of JSON on stdout.")] = False,
) -> None:
    """Live the run of an order again and tell why it was made, changed and cancelled.

    Of each change: the frame and the belief, the fair value, how far what is held moved the quote,
    what the limits left, what was planned and why, and the token. The run may be over or still
    going on, and is not touched; without ORDER its newest orders are listed.

    Ends with 2 when there is no such order, or when several begin so; with 3 when there is no
    journal, and when its run cannot be lived again: what the journal says by itself is told then.
    """
    if rung and order is not None:
        fail(EXIT_CONFIGURATION, "ORDER and --rung: one of them")
    if at and not rung:
        fail(EXIT_CONFIGURATION, "--at is for --rung")
    with faults_told():
        from bot.lab.order_histories import OrderNotFound, read_order_histories

        draft = read(config)
        told = read_order_histories(state_dir or draft.state.directory)
        for damage in told.damage:
            typer.echo(f"warning: {damage}", err=True)
        if rung:
            _tell_rung(told, config.parent, rung, at, json_line=json_line)
        elif order is None:
            _tell_list(told, json_line=json_line)
        else:
            try:
                life = told.find(order)
            except OrderNotFound as fault:
                fail(EXIT_CONFIGURATION, str(fault))
            _tell_order(told, config.parent, life, every=every, json_line=json_line)


# --- an order -------------------------------------------------------------------------------------


def _tell_order(
    told: "OrderHistories", folder: Path, life: "OrderHistory", *, every: bool, json_line: bool
) -> None:
    from bot.cli.explain_text import decision_text, life_text

    choices = [deed for deed in life.deeds if deed.is_choice]
    if not every and len(choices) > 2:
        choices = [choices[0], choices[-1]]
    found: list[tuple[OrderRequest, Decision]] = []
    faults: list[str] = []
    for run in told.runs:
        mine = [deed for deed in choices if deed.run == run.started.boot_nonce]
        if mine:
            fault = _decisions(run, folder, life, mine, found)
            faults += [fault] if fault else []
    if not choices or any(not deed.run for deed in choices):
        faults.append(_GONE)
    if json_line:
        import msgspec

        rows = [{"deed": deed, "decision": decision} for deed, decision in found]
        line = {"order": life, "decisions": rows, "faults": faults}
        typer.echo(msgspec.json.encode(line).decode())
    else:
        parts = [life_text(life)]
        parts += [decision_text(decision, deed, life) for deed, decision in found]
        typer.echo("\n\n".join(parts))
    if faults:
        fail(EXIT_VENUE, "\n".join(faults))


_GONE: Final = (
    "the beginning of the run that placed it is no longer kept, so that run cannot be lived again; "
    "state.journal_segments_kept says how much is. Of an order that rests, `bot plan` tells why"
)


def _decisions(
    run: "Run",
    folder: Path,
    life: "OrderHistory",
    deeds: "list[OrderRequest]",
    found: "list[tuple[OrderRequest, Decision]]",
) -> str:
    """Add what was decided of these requests of one run; why the rest cannot be told, else ""."""
    from bot.io.journal.records import JournalFault

    try:
        with printed_aside():
            found.extend(_explainer(run, folder).of_deeds(life, deeds))
    except JournalFault as fault:
        return str(fault)
    return ""


def _explainer(run: "Run", folder: Path) -> "Explainer":
    from bot.config.strategies import Makers
    from bot.lab.explain import Explainer

    return Explainer(run, Makers(folder))


# --- a rung ---------------------------------------------------------------------------------------


def _tell_rung(
    told: "OrderHistories", folder: Path, ticker: str, at: str, *, json_line: bool
) -> None:
    from bot.cli.explain_text import decision_text

    run, at_ns = _moment(told, at)
    with printed_aside():
        explainer = _explainer(run, folder)
        decision = explainer.of_rung(ticker, at_ns)
    if decision is None:
        known = ", ".join(explainer.tickers) or "none yet at that time"
        fail(EXIT_CONFIGURATION, f"--rung {ticker}: no rung of that name alone; there are {known}")
    if json_line:
        import msgspec

        typer.echo(msgspec.json.encode(decision).decode())
    else:
        typer.echo(decision_text(decision))


def _moment(told: "OrderHistories", at: str) -> "tuple[Run, int]":
    """The run that a time falls into, and the time."""
    from venue.wire import instant

    if not told.runs:
        fail(EXIT_VENUE, _GONE)
    newest = told.runs[-1]
    if not at:
        return newest, 2**63 - 1
    if at[:1].isdigit() and at[-1:] in "smh" and "T" not in at:
        return newest, newest.begun_ns + duration_ns("--at", at)
    try:
        at_ns = instant.to_ns(at)
    except ValueError:
        fail(EXIT_CONFIGURATION, f"--at {at}: a time such as 2026-11-21T21:38:43Z, or 90s")
    for run in reversed(told.runs):
        if run.begun_ns <= at_ns:
            return run, at_ns
    began = instant.from_ns(told.runs[0].begun_ns)
    fail(EXIT_CONFIGURATION, f"--at {at}: the journal begins at {began}")


# --- all of them ----------------------------------------------------------------------------------


def _tell_list(told: "OrderHistories", *, json_line: bool) -> None:
    from bot.cli.explain_text import row_text

    newest = told.orders[-_LISTED:]
    if json_line:
        import msgspec

        typer.echo(msgspec.json.encode(newest).decode())
        return
    if not newest:
        typer.echo("no order in the journal")
    for life in newest:
        typer.echo(row_text(life))
    if len(told.orders) > len(newest):
        typer.echo(f"the newest {len(newest)} of {len(told.orders)} orders", err=True)
